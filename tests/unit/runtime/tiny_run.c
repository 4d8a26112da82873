// tiny_run.c: a tiny llama, opened, and one call over it.
//
// in:  a tiny llama, ids
// out: hidden rows, logits
#include "tiny_run.h"

#include <stdio.h>
#include <stdlib.h>

static void require(kazeia_status status) {
    if (status != KAZEIA_OK) {
        fprintf(stderr, "tiny run: %s\n", kazeia_last_error());
        abort();
    }
}

void tiny_run_open(tiny_run *run, const tiny_llama *llama, uint32_t threads, kz_priority priority) {
    const tiny_llama_shape *shape = &llama->shape;
    *run = (tiny_run){.llama = llama};
    require(kz_program_open_memory(llama->bytes, llama->count, NULL, &run->program));
    require(kz_pool_create(threads, NULL, &run->pool));
    require(kz_context_create(run->program, run->pool, priority, 0, NULL, &run->context));
    require(kz_cache_rows_create(shape->rows, shape->sequences, shape->context, NULL, &run->rows));
    require(kz_program_require_method(run->program, "kv_forward", &run->step));
    require(kz_program_require_method(run->program, "logits", &run->logits));
    if (shape->has_prefill) {
        require(kz_program_require_method(run->program, "prefill_forward", &run->prefill));
    }
}

void tiny_run_close(tiny_run *run) {
    kz_cache_rows_destroy(run->rows);
    kz_context_destroy(run->context);
    kz_pool_destroy(run->pool);
    kz_program_release(run->program);
}

kazeia_status tiny_run_call(tiny_run *run, uint32_t method, uint32_t sequence, const int32_t *ids,
                            uint32_t count, float *out_hidden) {
    int32_t positions[TINY_PREFILL], sequences[TINY_PREFILL];
    const uint32_t length = kz_cache_rows_length(run->rows, sequence);
    KZ_TRY(kz_cache_rows_extend(run->rows, sequence, count));
    for (uint32_t i = 0; i < count; i++) {
        positions[i] = (int32_t)(length + i);
        sequences[i] = (int32_t)sequence;
    }
    const uint32_t symbols[] = {count, run->llama->shape.sequences};
    const void *inputs[] = {ids, positions, sequences, kz_cache_rows_table(run->rows)};
    void *outputs[] = {out_hidden};
    const kazeia_status status = kz_context_run(run->context, method, symbols, inputs, outputs);
    if (status != KAZEIA_OK) {
        kz_cache_rows_trim(run->rows, sequence, length);
    }
    return status;
}

void tiny_run_logits(tiny_run *run, const float *hidden, uint32_t count, float *out_logits) {
    const void *inputs[] = {hidden};
    void *outputs[] = {out_logits};
    require(kz_context_run(run->context, run->logits, &count, inputs, outputs));
}

void tiny_ids(uint32_t vocabulary, uint32_t seed, int32_t *out_ids, size_t count) {
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        out_ids[i] = (int32_t)((state >> 8) % vocabulary);
    }
}
