// whisper.h: the listening stage: samples in, what was said out.
//
// Drives a program with the ability "listen" (docs/abilities.md). feed collects samples; next
// transcribes one window of at most 30 s; longer sound is cut at the quietest place of a window's
// last 5 s. The encoder's output of a window stays in the session until the next window. All memory
// is taken at creation. feed and finish may run on one thread and next on another; cancel may come
// from any; all else from one at a time.
#ifndef KZ_LISTEN_WHISPER_H
#define KZ_LISTEN_WHISPER_H

#include "runtime/context.h"
#include "runtime/load.h"
#include "runtime/pool.h"

typedef struct kz_whisper kz_whisper;

// The strings may go after creation.
typedef struct kz_whisper_settings {
    const char *languages; // listen/languages.h; NULL: "auto"
    bool has_guards;       // listen/sound.h before decoding, listen/guards.h after it
    bool fits_context;     // the encoder sees a short sound and some silence, not the whole window
    uint64_t memory_limit; // 0: none
} kz_whisper_settings;

// What was heard in one window. Pointers are valid until the stage's next call.
typedef struct kz_heard {
    const char *text; // UTF-8, trimmed; "" when nothing was heard or the program has no vocabulary
    // ISO code; "" when guards are on, nothing was heard and the language was not given.
    const char *language;
    const int32_t *tokens; // text ids, without prompt and end-of-text
    size_t token_count;
    float avg_logprob;     // mean over the tokens, end-of-text included; 0 when nothing was decoded
    float no_speech_prob;  // 1 when the sound itself could not be speech
    double start_s, end_s; // since creation or reset
} kz_heard;

// BAD_FILE names the metadata or the method that is not as docs/abilities.md says; UNSUPPORTED a
// method that is missing, or a build without the spectrum's library; BAD_ARGUMENT a language that
// the program lacks; OUT_OF_MEMORY, also for a session over the limit. Retains the program; the
// pool must outlive the stage.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_create(kz_program *program, kz_pool *pool,
                                                  const kz_whisper_settings *settings,
                                                  const kazeia_allocator *allocator,
                                                  kz_whisper **out_whisper);
// NULL is fine. No other call may be running.
void kz_whisper_destroy(kz_whisper *whisper);
// What the session that kz_whisper_create makes for a program takes.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_plan(kz_program *program, kz_memory_plan *out_plan);

// f32 mono at 16 kHz. Takes what fits in the 31 s that the stage holds; BAD_ARGUMENT, without
// touching *out_taken, after finish until next has given DONE.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_feed(kz_whisper *whisper, const float *samples,
                                                size_t count, size_t *out_taken);
KAZEIA_MUST_CHECK kazeia_status kz_whisper_finish(kz_whisper *whisper);
// KAZEIA_OK: one window; KAZEIA_NEEDS_INPUT: not more than 30 s and no finish yet; KAZEIA_DONE: all
// windows given, feed begins anew; CANCELLED until reset. After a failure the window is still
// there.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_next(kz_whisper *whisper, kz_heard *out_heard);
// From any thread.
void kz_whisper_cancel(kz_whisper *whisper);
// As new: drops what was fed, ends a cancellation, and times begin at 0 again.
void kz_whisper_reset(kz_whisper *whisper);

#endif
