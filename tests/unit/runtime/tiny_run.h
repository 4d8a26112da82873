// tiny_run.h: a tiny llama, opened, with a context and cache rows, and one call over them.
#ifndef KZ_TEST_RUNTIME_TINY_RUN_H
#define KZ_TEST_RUNTIME_TINY_RUN_H

#include "runtime/cache_rows.h"
#include "runtime/context.h"
#include "tiny_llama.h"

typedef struct tiny_run {
    kz_program *program;
    kz_pool *pool;
    kz_context *context;
    kz_cache_rows *rows;
    const tiny_llama *llama;
    uint32_t prefill, step, logits; // methods
} tiny_run;

// Ends the test program on failure.
void tiny_run_open(tiny_run *run, const tiny_llama *llama, uint32_t threads, kz_priority priority);
void tiny_run_close(tiny_run *run);
// Appends `count` tokens to `sequence` in one call of `method`; hidden is [count][hidden]. On
// failure the sequence is as before.
kazeia_status tiny_run_call(tiny_run *run, uint32_t method, uint32_t sequence, const int32_t *ids,
                            uint32_t count, float *out_hidden);
// Logits of up to 8 hidden rows.
void tiny_run_logits(tiny_run *run, const float *hidden, uint32_t count, float *out_logits);
// `count` ids of a fixed sequence.
void tiny_ids(uint32_t vocabulary, uint32_t seed, int32_t *out_ids, size_t count);

#endif
