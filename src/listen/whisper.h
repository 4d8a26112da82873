// whisper.h: the listening stage: samples in, what was said out.
//
// Drives a program with the ability "listen" (docs/abilities.md). feed collects samples; next
// transcribes one window of at most 30 s; longer sound is cut at the quietest place of a window's
// last 5 s. The encoder's output of a window stays in the session until the next window. All memory
// is taken at creation. One thread at a time; cancel may come from any.
#ifndef KZ_LISTEN_WHISPER_H
#define KZ_LISTEN_WHISPER_H

#include "runtime/context.h"
#include "runtime/load.h"
#include "runtime/pool.h"

typedef struct kz_whisper kz_whisper;

typedef struct kz_whisper_settings {
    const char *languages; // listen/languages.h; NULL: "auto"
    bool has_guards;
    uint64_t memory_limit; // 0: none
} kz_whisper_settings;

// Pointers are valid until the stage's next call.
typedef struct kz_heard {
    const char *text;
    // "" when guards are on, nothing was heard and the language was not given.
    const char *language;
    const int32_t *tokens; // text ids, without prompt and end-of-text
    size_t token_count;
    float avg_logprob;     // mean over the tokens, end-of-text included; 0 when nothing was decoded
    float no_speech_prob;  // 1 when the sound itself could not be speech
    double start_s, end_s; // since creation or reset
} kz_heard;

KAZEIA_MUST_CHECK kazeia_status kz_whisper_create(kz_program *program, kz_pool *pool,
                                                  const kz_whisper_settings *settings,
                                                  const kazeia_allocator *allocator,
                                                  kz_whisper **out_whisper);
void kz_whisper_destroy(kz_whisper *whisper);
// What the session that kz_whisper_create makes for a program takes.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_plan(kz_program *program, kz_memory_plan *out_plan);

KAZEIA_MUST_CHECK kazeia_status kz_whisper_feed(kz_whisper *whisper, const float *samples,
                                                size_t count, size_t *out_taken);
KAZEIA_MUST_CHECK kazeia_status kz_whisper_finish(kz_whisper *whisper);
// KAZEIA_OK: one window; KAZEIA_NEEDS_INPUT; KAZEIA_DONE: all windows given, feed begins anew.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_next(kz_whisper *whisper, kz_heard *out_heard);
void kz_whisper_cancel(kz_whisper *whisper);
void kz_whisper_reset(kz_whisper *whisper);

#endif
