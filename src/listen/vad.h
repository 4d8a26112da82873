// vad.h: voice activity: samples in, the spans in which somebody speaks out.
//
// Drives a program with the ability "vad" (docs/abilities.md), a window of some 30 ms at a time;
// listen/vad_rule.h makes spans of its probabilities. All memory is taken at creation. feed and
// finish may run on one thread and the functions that judge on another; cancel may come from any;
// all else from one at a time.
#ifndef KZ_LISTEN_VAD_H
#define KZ_LISTEN_VAD_H

#include "listen/vad_rule.h"
#include "runtime/context.h"

#define KZ_VAD_RATE_HZ 16000u
#define KZ_VAD_HELD_MS 31000u // sound that may be fed ahead, as the recogniser holds
#define KZ_VAD_MOST_HANG_OVER_MS 20000u

typedef struct kz_vad kz_vad;

// As listen/vad_rule.h, in ms.
typedef struct kz_vad_settings {
    float threshold;        // 0.15 to 1
    uint32_t min_speech_ms; // at most 2000
    uint32_t pre_roll_ms;   // at most 2000
    uint32_t hang_over_ms;  // at most KZ_VAD_MOST_HANG_OVER_MS
    uint64_t memory_limit;  // 0: none
} kz_vad_settings;

// BAD_FILE names the metadata or method that is not as docs/abilities.md says; UNSUPPORTED a method
// that is missing; BAD_ARGUMENT a setting; OUT_OF_MEMORY, also when the program needs more than the
// limit. Retains the program; the pool must outlive it.
KAZEIA_MUST_CHECK kazeia_status kz_vad_create(kz_program *program, kz_pool *pool,
                                              const kz_vad_settings *settings,
                                              const kazeia_allocator *allocator, kz_vad **out_vad);
// NULL is fine. No other call may be running.
void kz_vad_destroy(kz_vad *vad);

// f32 mono at KZ_VAD_RATE_HZ. Takes what there is room for; BAD_ARGUMENT after finish until DONE.
KAZEIA_MUST_CHECK kazeia_status kz_vad_feed(kz_vad *vad, const float *samples, size_t count,
                                            size_t *out_taken);
void kz_vad_finish(kz_vad *vad);
// From any thread.
void kz_vad_cancel(kz_vad *vad);
// As new: drops what was fed, ends a cancellation, and times begin at 0 again.
void kz_vad_reset(kz_vad *vad);

// --- Spans alone --------------------------------------------------------------------------------

// KAZEIA_OK: a span, in seconds since creation or reset; KAZEIA_NEEDS_INPUT; KAZEIA_DONE: all given
// after finish, and feed begins anew, with silence before it; CANCELLED until reset.
KAZEIA_MUST_CHECK kazeia_status kz_vad_next(kz_vad *vad, double *out_start_s, double *out_end_s);

// --- Spans and their sound ----------------------------------------------------------------------

// The speech that goes on, or has just ended, as far as it is known. Positions are samples since
// the turn began (creation, reset or DONE).
typedef struct kz_vad_news {
    bool is_speech;
    bool is_over; // else its end moves on with the next call
    kz_vad_span span;
} kz_vad_news;

// Judges at most half a second, and no further than to the end of a span; the statuses are those of
// kz_vad_next. Sound stays until it is forgotten: a caller who forgets nothing gets NEEDS_INPUT
// while feed takes nothing.
KAZEIA_MUST_CHECK kazeia_status kz_vad_judge(kz_vad *vad, kz_vad_news *out_news);
// Copies samples [from, from + count) of a span that was told and not forgotten.
void kz_vad_copy(const kz_vad *vad, uint64_t from, size_t count, float *out_samples);
// Sound before `position` is dropped, but none that may be in a span that was not told yet.
void kz_vad_forget(kz_vad *vad, uint64_t position);
// Where the turn began, in samples since creation or reset.
uint64_t kz_vad_turn_start(const kz_vad *vad);

#endif
