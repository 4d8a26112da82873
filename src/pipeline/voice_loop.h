// voice_loop.h: one turn of a spoken conversation, from the person's samples to the reply's.
//
// The loop is the caller's memory: init, set the tables and the matcher, run turns, clear. It takes
// all memory at init; turns take none.
#ifndef KZ_PIPELINE_VOICE_LOOP_H
#define KZ_PIPELINE_VOICE_LOOP_H

#include <stdatomic.h>

#include "base/text_buffer.h"
#include "base/thread.h"
#include "pipeline/stages.h"
#include "pipeline/turn.h"
#include "text/command_grammar.h"

#define KZ_VOICE_LOOP_SAMPLES 2048 // of the reply, handed over at once

// Receives the reply's samples as they are ready, 1 to KZ_VOICE_LOOP_SAMPLES at once, on the turn's
// thread.
typedef kazeia_status (*kz_samples_sink)(void *context, const float *samples, size_t count);

typedef struct kz_voice_loop {
    // Set by the caller between init and the first turn; the stages must outlive the loop.
    kz_listen_table listen;
    kz_think_table think;
    kz_speak_table speak;
    kz_command_matcher *matcher; // NULL: no commands
    // What is no command as text may be one as sound: asked with the window that was heard last
    // still in the listen stage. NULL: text only. Also settles questions that were asked back.
    kazeia_status (*hear_command)(void *context, const char *transcript,
                                  kz_command_result *out_result);
    // Carries a command out before its answer is spoken: `reply` [capacity] holds the grammar's
    // answer and may be written anew. NULL: nobody does.
    kazeia_status (*carry_out)(void *context, const kz_command_result *command, char *reply,
                               size_t capacity);
    void *command_context;
    // Results of the last turn.
    kz_text_buffer transcript, reply;
    char language[16]; // of the last window with words
    kz_command_result command;
    kz_turn turn;
    uint64_t spoken_count; // samples handed over
    size_t heard_bytes;    // of the reply: to the end of the last sentence with samples among them
    // Of the present turn.
    kz_samples_sink sink;
    void *sink_context;
    size_t given_bytes;  // of the reply, taken by the voice
    bool has_asked;      // the think stage has text of this turn
    bool is_reply_whole; // nothing will be added to the reply
    bool is_voice_told;  // the voice knows that
    float sound[KZ_VOICE_LOOP_SAMPLES];
    size_t sound_count;
    // Between the turn's thread and those that cancel.
    kz_mutex lock;
    bool has_lock, is_running;
    atomic_bool is_cancelled;
} kz_voice_loop;

// The struct is all zeros first. Takes 512 KB for transcript and reply, 256 KB each: a turn whose
// texts are longer fails with OUT_OF_MEMORY. After a failure clear is still due.
KAZEIA_MUST_CHECK kazeia_status kz_voice_loop_init(kz_voice_loop *loop,
                                                   const kazeia_allocator *allocator);
// Between turns only; the stages are left alone.
void kz_voice_loop_clear(kz_voice_loop *loop);

// Runs one turn to its end: f32 mono samples at the listen stage's rate in, the reply through
// `sink` (NULL: it is dropped), all else in the loop's fields. Whatever it returns, the stages are
// ready for the next turn. When that is not KAZEIA_OK, the language model remembers of this turn
// only what was heard: the sentences whose samples had begun to be handed over, and nothing when
// its reply had not begun. A status of the sink's ends the turn and is passed on.
KAZEIA_MUST_CHECK kazeia_status kz_voice_loop_turn(kz_voice_loop *loop, const float *samples,
                                                   size_t count, kz_samples_sink sink,
                                                   void *context);
// From any thread: the turn that is running ends with KAZEIA_CANCELLED, if it is not over first.
// Between turns it does nothing. Waits for no stage's work.
void kz_voice_loop_cancel(kz_voice_loop *loop);

#endif
