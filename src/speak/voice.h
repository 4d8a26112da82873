// voice.h: what every voice can do: one table of functions, and the way from a name to an open
// voice.
//
// A voice is a stage (design: feed, next, finish, cancel, reset). Text is fed as a stream of
// sentences, each ended by '\n'; a voice starts to speak at a sentence's end, at `finish`, or when
// what waits is longer than it takes at once.
//
//   feed    takes what there is room for (*out_taken, maybe 0) and never blocks. BAD_ARGUMENT after
//           finish, CANCELLED after cancel.
//   next    does a bounded piece of work. OK: *out_count samples (maybe 0: call again).
//           NEEDS_INPUT: no whole sentence waits. DONE: all is spoken after finish. CANCELLED.
//           Anything else is a failure; reset is then the only way on. No allocation.
//   finish  says that no more text comes.
//   cancel  from any thread; the running next ends within 50 ms, and every later one is CANCELLED.
//   reset   makes the voice new, without allocation; no other call may run meanwhile.
//
// feed, finish and next may run on two threads. Samples are mono floats in [-1, 1] at the voice's
// own rate: resampling is the caller's, who knows the device.
#ifndef KZ_SPEAK_VOICE_H
#define KZ_SPEAK_VOICE_H

#include "base/alloc.h"

typedef struct kz_voice_table kz_voice_table;

// The first member of every voice.
typedef struct kz_voice {
    const kz_voice_table *table;
    uint32_t sample_rate_hz;
} kz_voice;

typedef struct kz_voice_options {
    const char *language; // for voices whose name does not say it; NULL: none given
    float speed;          // 1 is normal; 0 counts as 1; voices state their limits
} kz_voice_options;

struct kz_voice_table {
    const char *kind; // the part of the name before ':', as "espeak"
    // `speaker` is the part after ':', "" when there is none.
    kazeia_status (*open)(const char *speaker, const kz_voice_options *options,
                          const kazeia_allocator *allocator, kz_voice **out_voice);
    kazeia_status (*feed)(kz_voice *voice, const char *text, size_t count, size_t *out_taken);
    kazeia_status (*next)(kz_voice *voice, float *out_samples, size_t capacity, size_t *out_count);
    void (*finish)(kz_voice *voice);
    void (*cancel)(kz_voice *voice);
    void (*reset)(kz_voice *voice);
    void (*close)(kz_voice *voice);
    // Speaks another language (an ISO 639-1 code) from the next text on; only between reset and
    // feed. NOT_FOUND or UNSUPPORTED leave the voice as it was. NULL: the voice has one language.
    kazeia_status (*set_language)(kz_voice *voice, const char *language);
};

// Opens a built-in voice by its name, as "espeak:fr". NOT_FOUND when no kind of voice has the name;
// `options` may be NULL.
KAZEIA_MUST_CHECK kazeia_status kz_voice_open(const char *name, const kz_voice_options *options,
                                              const kazeia_allocator *allocator,
                                              kz_voice **out_voice);
// Whether the name is a built-in voice's (else it may be a program file's).
bool kz_voice_is_built_in(const char *name);
// NULL is fine.
void kz_voice_close(kz_voice *voice);

#endif
