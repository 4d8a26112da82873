// stages.h: the three abilities as tables of functions.
//
// The pipeline knows no model: real stages are plugged in by api/, scripted ones by tests. Each
// table has the verbs of all stages (design: feed never blocks and may take less than given; next
// does a bounded piece of work and returns KAZEIA_OK, KAZEIA_NEEDS_INPUT, KAZEIA_DONE or
// KAZEIA_CANCELLED; cancel may come from any thread; reset makes the stage new without allocating).
#ifndef KZ_PIPELINE_STAGES_H
#define KZ_PIPELINE_STAGES_H

#include "text/utterance.h"

typedef struct kz_listen_table {
    void *self;
    kazeia_status (*feed)(void *self, const float *samples, size_t count, size_t *out_taken);
    kazeia_status (*next)(void *self, kz_utterance *out_utterance);
    kazeia_status (*finish)(void *self);
    void (*cancel)(void *self);
    kazeia_status (*reset)(void *self);
} kz_listen_table;

typedef struct kz_think_table {
    void *self;
    kazeia_status (*feed)(void *self, const char *text, size_t bytes, size_t *out_taken);
    kazeia_status (*next)(void *self, char *out, size_t capacity, size_t *out_bytes);
    kazeia_status (*finish)(void *self);
    void (*cancel)(void *self);
    // Ends the last reply where it stopped being heard; the conversation goes on from there.
    kazeia_status (*keep_heard)(void *self, size_t bytes);
} kz_think_table;

typedef struct kz_speak_table {
    void *self;
    kazeia_status (*feed)(void *self, const char *text, size_t bytes, size_t *out_taken);
    kazeia_status (*next)(void *self, float *out_samples, size_t capacity, size_t *out_count);
    kazeia_status (*finish)(void *self);
    void (*cancel)(void *self);
    kazeia_status (*reset)(void *self);
} kz_speak_table;

#endif
