// check_attention_full.c: an encoder's attention against softmax in double: see checks.h.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checks.h"

#define HEADS 3
#define SPARE 6 // guard floats after a token's heads

static const float *row_of(const float *base, size_t stride, size_t token) {
    return (const float *)((const char *)base + token * stride);
}

// One query's output, for the head at `offset`.
static void expect_token(const kz_attention_full *a, size_t offset, size_t token,
                         double *out_values) {
    const float *q = row_of(a->q, a->q_stride, token) + offset;
    double *scores = case_memory(a->tokens * sizeof *scores);
    double largest = -INFINITY;
    double total = 0.0;
    for (size_t i = 0; i < a->tokens; i++) {
        const float *key = row_of(a->k, a->k_stride, i) + offset;
        for (size_t d = 0; d < a->head_dim; d++) {
            scores[i] += (double)a->scale * q[d] * key[d];
        }
        largest = fmax(largest, scores[i]);
    }
    for (size_t i = 0; i < a->tokens; i++) {
        scores[i] = exp(scores[i] - largest);
        total += scores[i];
    }
    memset(out_values, 0, a->head_dim * sizeof *out_values);
    for (size_t i = 0; i < a->tokens; i++) {
        const float *value = row_of(a->v, a->v_stride, i) + offset;
        for (size_t d = 0; d < a->head_dim; d++) {
            out_values[d] += scores[i] / total * value[d];
        }
    }
    free(scores);
}

static void check_token(const kz_kernel_variant *variant, const kz_attention_full *a, size_t head,
                        size_t token, bool is_asked) {
    const size_t width = HEADS * a->head_dim + SPARE;
    double *expected = case_memory(a->head_dim * sizeof *expected);
    expect_token(a, head * a->head_dim, token, expected);
    for (size_t i = 0; i < width; i++) {
        const float found = a->out[token * width + i];
        char what[96];
        snprintf(what, sizeof what, "%zu tokens, head %zu x %zu, token %zu element %zu", a->tokens,
                 head, a->head_dim, token, i);
        if (is_asked && i / a->head_dim == head) {
            expect_close(variant, what, found, expected[i % a->head_dim], 2e-5);
        } else if (!is_guard(found)) {
            fail_msg("%s: %s: written, but not asked for", variant->name, what);
        }
    }
    free(expected);
}

// Head 1 of 3, all tokens but the first and the last when there are more than four.
static void check_shape(const kz_kernel_variant *variant, case_random *random, size_t tokens,
                        size_t head_dim) {
    const size_t width = HEADS * head_dim + SPARE;
    const size_t stride = width * sizeof(float);
    float *q = case_floats(random, tokens * width, 2.0f);
    float *k = case_floats(random, tokens * width, 2.0f);
    float *v = case_floats(random, tokens * width, 1.0f);
    void *scratch = case_memory(KZ_KERNEL_SCRATCH_BYTES);
    memset(scratch, 0xff, KZ_KERNEL_SCRATCH_BYTES);
    const size_t first = tokens > 4 ? 1 : 0;
    const kz_attention_full a = {.q = q,
                                 .k = k,
                                 .v = v,
                                 .q_stride = stride,
                                 .k_stride = stride,
                                 .v_stride = stride,
                                 .tokens = tokens,
                                 .head_dim = head_dim,
                                 .scale = 0.2f,
                                 .out = guarded_floats(tokens * width),
                                 .out_stride = stride};
    ((kz_attention_full_kernel)variant->function)(&a, 1, first, tokens - first, scratch);
    for (size_t t = 0; t < tokens; t++) {
        check_token(variant, &a, 1, t, t >= first && t < tokens - first);
    }
    k[(tokens - 1) * width + head_dim] = NAN;
    ((kz_attention_full_kernel)variant->function)(&a, 1, first, tokens - first, scratch);
    if (!isnan(a.out[first * width + head_dim])) {
        fail_msg("%s: a key of NaN does not show", variant->name);
    }
    free(q);
    free(k);
    free(v);
    free(a.out);
    free(scratch);
}

void check_attention_full(const kz_kernel_variant *variant) {
    static const size_t tokens[] = {1, 2, 11, 12, 13, 16, 17, 100, 255, 256, 257, 300};
    static const size_t head_dims[] = {64, 16, 8, 80, 128};
    case_random random = {99};
    for (size_t i = 0; i < 12; i++) {
        check_shape(variant, &random, tokens[i], head_dims[i % 5]);
        check_shape(variant, &random, tokens[i], 64);
    }
}
