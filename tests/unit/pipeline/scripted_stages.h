// scripted_stages.h: stages that follow a script, for tests of the pipeline without model or audio.
//
// Each counts its calls and can fail, wait for a cancellation, or work in small pieces. A wait ends
// with KAZEIA_CANCELLED as soon as the stage is cancelled, as a real stage's work does; until then
// it reports that it waits through `waiting`, so that a test can cancel in that moment.
#ifndef KZ_TEST_PIPELINE_SCRIPTED_STAGES_H
#define KZ_TEST_PIPELINE_SCRIPTED_STAGES_H

#include <stdatomic.h>

#include "pipeline/stages.h"

#define SCRIPT_BYTES 8192
#define SAMPLES_PER_BYTE 3 // of scripted speech

typedef enum script_moment {
    MOMENT_NEVER,
    MOMENT_LISTEN_FEED,
    MOMENT_LISTEN,
    MOMENT_THINK_FEED,
    MOMENT_PREFILL,
    MOMENT_DECODE,
    MOMENT_SPEAK_FEED,
    MOMENT_SPEAK,
    MOMENT_SINK,
    MOMENT_COUNT
} script_moment;

// What goes wrong or waits, and where; shared by the stages of one conversation.
typedef struct script_trouble {
    script_moment waits_at; // until cancelled
    script_moment fails_at; // with KAZEIA_IO
    atomic_int waiting;     // the moment that has been reached and waits
} script_trouble;

// Hears its texts, one window after the other.
typedef struct script_listener {
    script_trouble *trouble;
    const char *texts[4];  // up to the first NULL
    size_t window_samples; // a window; 0: takes all at once
    size_t held_samples, window;
    bool is_finished;
    atomic_bool is_cancelled;
    uint32_t resets;
} script_listener;

// Replies with its reply, some bytes a call. Its memory of the conversation is `history`: what was
// asked and what is left of each reply, as "question>reply;".
typedef struct script_thinker {
    script_trouble *trouble;
    const char *reply;
    size_t bytes_per_call;
    size_t prefill_calls; // that give no bytes first
    char history[SCRIPT_BYTES];
    char question[SCRIPT_BYTES];
    size_t calls, given;
    bool is_finished;
    atomic_bool is_cancelled;
    uint32_t asked, ends;
} script_thinker;

// Records the text it is fed, each feed between bars; speaks a line when it is whole, in pieces.
typedef struct script_voice {
    script_trouble *trouble;
    size_t room;             // bytes that a feed takes at most; 0: all
    size_t samples_per_call; // 0: as many as fit
    bool gives_nothing;      // every sentence is KAZEIA_OK with 0 samples
    char fed[SCRIPT_BYTES];  // all that was fed
    size_t fed_count, spoken_bytes, samples_left;
    bool is_finished;
    atomic_bool is_cancelled;
    uint32_t resets;
} script_voice;

kz_listen_table script_listener_table(script_listener *listener);
kz_think_table script_thinker_table(script_thinker *thinker);
kz_speak_table script_voice_table(script_voice *voice);

// Waits or fails when `moment` is the trouble's; `is_cancelled` ends the wait.
kazeia_status script_reach(script_trouble *trouble, script_moment moment,
                           atomic_bool *is_cancelled);

#endif
