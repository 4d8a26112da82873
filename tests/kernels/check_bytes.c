// check_bytes.c: quantised activations, cache rows and embedding: see checks.h.
//
// These results have one right value each, so every variant gives the reference's bytes (NaN only
// has to be NaN); the reference in turn is held to the formula.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "checks.h"

#define SPARE 64

typedef void (*write_bytes)(const kz_kernel_variant *variant, const float *x, size_t count,
                            void *out_bytes);

static void write_activation(const kz_kernel_variant *variant, const float *x, size_t count,
                             void *out) {
    ((kz_quantise_kernel)variant->function)(x, count, out);
}

// One head of all elements, so that odd sizes are covered.
static void write_cache(const kz_kernel_variant *variant, const float *x, size_t count, void *out) {
    ((kz_cache_write_kernel)variant->function)(x, 1, count, out);
}

static void write_two_heads(const kz_kernel_variant *variant, const float *x, size_t count,
                            void *out) {
    ((kz_cache_write_kernel)variant->function)(x, 2, count / 2, out);
}

static bool is_quantise(kz_kernel_slot slot) {
    return slot == KZ_SLOT_quantise_a8 || slot == KZ_SLOT_quantise_a16;
}

static const kz_kernel_variant *reference_of(kz_kernel_slot slot) {
    for (size_t i = 0; i < kz_kernel_variant_count; i++) {
        if (kz_kernel_variants[i].slot == slot && kz_kernel_variants[i].level == KZ_CPU_REF) {
            return &kz_kernel_variants[i];
        }
    }
    fail_msg("%s has no reference", kz_kernel_slot_name(slot));
    return NULL;
}

static size_t written_bytes(kz_kernel_slot slot, size_t count, size_t heads) {
    switch (slot) {
    case KZ_SLOT_quantise_a8:
        return kz_a8_row_bytes(count);
    case KZ_SLOT_quantise_a16:
        return kz_a16_row_bytes(count);
    case KZ_SLOT_cache_write_f32:
        return count * 4;
    case KZ_SLOT_cache_write_f16:
        return count * 2;
    default:
        return count / heads * heads + heads * sizeof(float);
    }
}

// Largest values, equal ones, zeros, halves that round to even, values too small for a scale.
static void fill_values(case_random *random, size_t number, size_t count, float *out_x) {
    static const float sizes[] = {1.0f, 1e-3f, 500.0f, 1e-38f, 1e-42f, 0.0f, 3e38f};
    for (size_t i = 0; i < count; i++) {
        out_x[i] = sizes[number % 7] * case_float(random);
        if (number % 5 == 4) {
            out_x[i] = (float)((int)case_below(random, 511) - 255) * 0.5f;
        }
    }
    if (number % 5 == 4) {
        out_x[0] = 127.0f;
    }
}

static void compare(const kz_kernel_variant *variant, write_bytes write, const float *x,
                    size_t count, size_t bytes) {
    uint8_t *found = case_memory(bytes + SPARE);
    uint8_t *expected = case_memory(bytes + SPARE);
    memset(found, 0xa5, bytes + SPARE);
    memset(expected, 0xa5, bytes + SPARE);
    write(variant, x, count, found);
    write(reference_of(variant->slot), x, count, expected);
    for (size_t i = 0; i < bytes + SPARE; i++) {
        if (found[i] != expected[i]) {
            fail_msg("%s: %zu values: byte %zu of %zu is %d, expected %d", variant->name, count, i,
                     bytes, found[i], expected[i]);
        }
    }
    free(found);
    free(expected);
}

// What the row decodes to is within half a step of what went in.
static void check_a8_row(const kz_kernel_variant *variant, const void *bytes, const float *x,
                         size_t count) {
    const kz_a8_row row = kz_a8_row_of(bytes, count);
    for (size_t k = 0; k < kz_a8_padded(count); k++) {
        const double scale = row.scale[k / KZ_BLOCK];
        const double value = k < count ? x[k] : 0.0;
        expect_close(variant, "half a step", scale * row.q[k], value, scale * 0.50001 + 4e-37);
        assert_true(row.q[k] != -128);
        assert_true(k < count || row.q[k] == 0);
    }
    for (size_t b = 0; b < kz_a8_padded(count) / KZ_BLOCK; b++) {
        int32_t sum = 0;
        for (size_t i = 0; i < KZ_BLOCK; i++) {
            sum += row.q[b * KZ_BLOCK + i];
            if (i == KZ_BLOCK / 2 - 1) {
                assert_int_equal(sum, row.half[b]);
            }
        }
        assert_int_equal(sum, row.sum[b]);
    }
}

// The second row of KZ_A16 holds what the first one leaves.
static void check_activation_formula(const kz_kernel_variant *variant, const float *x,
                                     size_t count) {
    char *bytes = case_memory(written_bytes(variant->slot, count, 1));
    ((kz_quantise_kernel)variant->function)(x, count, bytes);
    check_a8_row(variant, bytes, x, count);
    if (variant->slot == KZ_SLOT_quantise_a16) {
        const kz_a8_row row = kz_a8_row_of(bytes, count);
        float *left = case_memory(count * sizeof *left);
        for (size_t k = 0; k < count; k++) {
            left[k] = x[k] - row.scale[k / KZ_BLOCK] * (float)row.q[k];
        }
        check_a8_row(variant, bytes + kz_a8_row_bytes(count), left, count);
        free(left);
    }
    free(bytes);
}

static void check_i8_formula(const kz_kernel_variant *variant, const float *x, size_t count) {
    int8_t *head = case_memory(count + sizeof(float));
    float scale;
    ((kz_cache_write_kernel)variant->function)(x, 1, count, head);
    memcpy(&scale, head, sizeof scale);
    for (size_t i = 0; i < count; i++) {
        expect_close(variant, "half a step", (double)scale * head[sizeof scale + i], x[i],
                     scale * 0.50001 + 4e-37);
    }
    free(head);
}

// A block with a value that is not finite has the scale NaN and no other block has.
static void check_not_finite(const kz_kernel_variant *variant, case_random *random, float value) {
    float *x = case_floats(random, 96, 1.0f);
    void *bytes = case_memory(kz_a16_row_bytes(96));
    x[40] = value;
    if (is_quantise(variant->slot)) {
        ((kz_quantise_kernel)variant->function)(x, 96, bytes);
        const kz_a8_row row = kz_a8_row_of(bytes, 96);
        assert_true(isfinite(row.scale[0]) && isnan(row.scale[1]) && isfinite(row.scale[2]));
        if (variant->slot == KZ_SLOT_quantise_a16) {
            const kz_a8_row rest = kz_a8_row_of((char *)bytes + kz_a8_row_bytes(96), 96);
            assert_true(isfinite(rest.scale[0]) && isnan(rest.scale[1]) && isfinite(rest.scale[2]));
        }
    } else if (variant->slot == KZ_SLOT_cache_write_i8) {
        float scale;
        ((kz_cache_write_kernel)variant->function)(x, 1, 96, bytes);
        memcpy(&scale, bytes, sizeof scale);
        assert_true(isnan(scale));
    } else if (variant->slot == KZ_SLOT_cache_write_f16) {
        uint16_t half;
        ((kz_cache_write_kernel)variant->function)(x, 1, 96, bytes);
        memcpy(&half, (char *)bytes + 80, sizeof half);
        assert_false(isfinite(kz_float_from_f16(half)));
    }
    free(x);
    free(bytes);
}

static void check_embed(const kz_kernel_variant *variant) {
    case_random random = {31};
    const kz_type type = case_matmul_type(variant->slot);
    static const size_t sizes[] = {32, 64, 96, 576};
    for (size_t c = 0; c < 4; c++) {
        const size_t columns = case_columns(type, sizes[c]);
        const size_t panel_bytes = kz_layout_panel_bytes(type, columns);
        char *weights = case_weights(&random, type, (case_kind)(c % 3), 35, columns);
        float *expected = case_memory(columns * sizeof(float));
        for (size_t row = 0; row < 35; row++) {
            float *out = guarded_floats(columns + SPARE);
            ((kz_embed_kernel)variant->function)(weights, columns, row, 2.0f, out);
            kz_layout_unpack_row(type, weights + row / KZ_PANEL_ROWS * panel_bytes,
                                 row % KZ_PANEL_ROWS, columns, expected);
            for (size_t k = 0; k < columns; k++) {
                expect_close(variant, "embedding", out[k], 2.0 * expected[k], 0.0);
            }
            assert_true(is_guard(out[columns]));
            free(out);
        }
        free(expected);
        free(weights);
    }
}

static void check_written(const kz_kernel_variant *variant) {
    static const size_t counts[] = {1, 2, 16, 31, 32, 33, 63, 64, 65, 96, 100, 576};
    const bool is_activation = is_quantise(variant->slot);
    case_random random = {32};
    for (size_t i = 0; i < 84; i++) {
        const size_t count = counts[i % 12];
        float *x = case_memory(count * sizeof *x);
        fill_values(&random, i, count, x);
        compare(variant, is_activation ? write_activation : write_cache, x, count,
                written_bytes(variant->slot, count, 1));
        if (is_activation) {
            check_activation_formula(variant, x, count);
        } else if (count % 2 == 0) {
            compare(variant, write_two_heads, x, count, written_bytes(variant->slot, count, 2));
        }
        if (variant->slot == KZ_SLOT_cache_write_i8) {
            check_i8_formula(variant, x, count);
        }
        free(x);
    }
    check_not_finite(variant, &random, NAN);
    check_not_finite(variant, &random, -INFINITY);
}

void check_bytes(const kz_kernel_variant *variant) {
    if (case_slot_starts(variant->slot, "embed")) {
        check_embed(variant);
    } else {
        check_written(variant);
    }
}
