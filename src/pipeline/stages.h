// stages.h: the three abilities as tables of functions.
//
// The pipeline knows no model: real stages are plugged in by api/, scripted ones by tests. Each
// table has the verbs of all stages (design: feed never blocks and may take less than given; next
// does a bounded piece of work and returns KAZEIA_OK, KAZEIA_NEEDS_INPUT, KAZEIA_DONE or
// KAZEIA_CANCELLED; cancel may come from any thread and lasts until reset or end_turn; reset makes
// the stage new without allocating). `self` is what each function gets first. The functions run on
// the turn's thread but cancel; a function that fails sets the sentence.
#ifndef KZ_PIPELINE_STAGES_H
#define KZ_PIPELINE_STAGES_H

#include "text/utterance.h"

// Samples -> what was said. feed: f32 mono at the stage's rate. next: one window; its pointers are
// valid until the stage's next call. DONE ends a turn, after which feed begins the next.
typedef struct kz_listen_table {
    void *self;
    kazeia_status (*feed)(void *self, const float *samples, size_t count, size_t *out_taken);
    kazeia_status (*next)(void *self, kz_utterance *out_utterance);
    kazeia_status (*finish)(void *self);
    void (*cancel)(void *self);
    kazeia_status (*reset)(void *self);
} kz_listen_table;

// A question -> a reply, both UTF-8. next: whole characters, up to `capacity` bytes.
typedef struct kz_think_table {
    void *self;
    kazeia_status (*feed)(void *self, const char *text, size_t bytes, size_t *out_taken);
    kazeia_status (*next)(void *self, char *out, size_t capacity, size_t *out_bytes);
    kazeia_status (*finish)(void *self);
    void (*cancel)(void *self);
    // Ends the turn in whatever state it is, and a cancellation with it; the conversation goes on
    // from there. A reply that has begun ends after its first `heard_bytes` bytes, SIZE_MAX: where
    // it is; one that has not is dropped with its question. Earlier turns stay as they are.
    kazeia_status (*end_turn)(void *self, size_t heard_bytes);
} kz_think_table;

// Text as it is written -> f32 mono samples. After DONE only reset leads on.
typedef struct kz_speak_table {
    void *self;
    kazeia_status (*feed)(void *self, const char *text, size_t bytes, size_t *out_taken);
    kazeia_status (*next)(void *self, float *out_samples, size_t capacity, size_t *out_count);
    kazeia_status (*finish)(void *self);
    void (*cancel)(void *self);
    kazeia_status (*reset)(void *self);
    // Of the text fed since the last reset, the bytes up to the end of the last sentence whose
    // sound `next` has begun to give. From the thread of `next`.
    size_t (*begun_bytes)(const void *self);
    // The language (ISO 639-1) of the text that comes, given before a reply's first text. A stage
    // that does not speak it goes on as it is. NULL: the stage has one language.
    void (*set_language)(void *self, const char *language);
} kz_speak_table;

#endif
