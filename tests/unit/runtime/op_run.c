// op_run.c: see op_run.h.
//
// in:  a method of one op or a few
// out: what it computes
#include "op_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void op_run_begin(op_run *run, uint64_t seed) {
    memset(run, 0, sizeof *run);
    tiny_builder_init(&run->builder, seed);
    run->method = tiny_begin_method(&run->builder, "run");
    run->t = kz_dim_symbol(tiny_symbol(run->method, "t", OP_RUN_ROWS));
    for (size_t i = 0; i < OP_RUN_FLOATS; i++) {
        run->x[i] = 2.0f * tiny_random(&run->builder);
        run->y[i] = tiny_random(&run->builder);
    }
}

uint32_t op_run_input(op_run *run, const char *name, kz_dim rows, uint32_t columns) {
    return tiny_input(run->method, name, KZ_F32, 0, 2, rows, kz_dim_constant(columns));
}

uint32_t op_run_output(op_run *run, kz_dim rows, uint32_t columns) {
    return tiny_output(run->method, "out", rows, columns);
}

void op_run_open(op_run *run, uint32_t threads) {
    if (tiny_write(&run->builder, &run->bytes, &run->count) != KAZEIA_OK ||
        kz_program_open_memory(run->bytes, run->count, NULL, &run->program) != KAZEIA_OK ||
        kz_pool_create(threads, NULL, &run->pool) != KAZEIA_OK ||
        kz_context_create(run->program, run->pool, KZ_PRIORITY_SPEAK, 0, NULL, &run->context) !=
            KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
}

void op_run_call(op_run *run, uint32_t t, const void *x, const void *y, float *out) {
    const uint32_t symbols[KZ_SYMBOL_LIMIT] = {t};
    const void *inputs[] = {x, y};
    void *outputs[] = {out};
    if (kz_context_run(run->context, 0, symbols, inputs, outputs) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
}

void op_run_close(op_run *run) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_context_destroy(run->context);
    kz_pool_destroy(run->pool);
    kz_program_release(run->program);
    kz_free_aligned(&memory, run->bytes);
    tiny_builder_clear(&run->builder);
}

void op_run_expect(const char *what, const float *found, const double *expected, size_t count,
                   double tolerance) {
    for (size_t i = 0; i < count; i++) {
        const double allowed = tolerance * fmax(1.0, fabs(expected[i]));
        if (!(fabs((double)found[i] - expected[i]) <= allowed)) {
            fail_msg("%s: element %zu of %zu is %.9g, expected %.9g", what, i, count,
                     (double)found[i], expected[i]);
        }
    }
}
