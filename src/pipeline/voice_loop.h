// voice_loop.h: one turn of a spoken conversation, from the person's samples to the reply's.
#ifndef KZ_PIPELINE_VOICE_LOOP_H
#define KZ_PIPELINE_VOICE_LOOP_H

#include <stdatomic.h>

#include "base/text_buffer.h"
#include "pipeline/stages.h"
#include "pipeline/turn.h"
#include "text/command_grammar.h"

// Receives the reply's samples as they are ready.
typedef kazeia_status (*kz_samples_sink)(void *context, const float *samples, size_t count);

typedef struct kz_voice_loop {
    kz_listen_table listen;
    kz_think_table think;
    kz_speak_table speak;
    kz_command_matcher *matcher; // NULL: no commands
    kz_text_buffer transcript, reply;
    char language[16];
    kz_command_result command;
    atomic_bool is_cancelled;
    // Of the present turn:
    kz_turn turn;
    const float *samples;
    size_t sample_count;
    kz_samples_sink sink;
    void *sink_context;
    uint64_t spoken_count; // samples handed over
    bool has_asked;        // the think stage has the transcript
} kz_voice_loop;

// Takes the tables (copied) and all memory. The stages must outlive the loop.
KAZEIA_MUST_CHECK kazeia_status kz_voice_loop_init(kz_voice_loop *loop,
                                                   const kazeia_allocator *allocator);
void kz_voice_loop_clear(kz_voice_loop *loop);

// Runs one turn to its end. On KAZEIA_CANCELLED the stages are ready for the next turn and the
// language model remembers only what was handed over as sound.
KAZEIA_MUST_CHECK kazeia_status kz_voice_loop_turn(kz_voice_loop *loop, const float *samples,
                                                   size_t count, kz_samples_sink sink,
                                                   void *context);
// From any thread.
void kz_voice_loop_cancel(kz_voice_loop *loop);

#endif
