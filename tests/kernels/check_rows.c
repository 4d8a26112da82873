// check_rows.c: norms, softmax, activations, gates, sums and rotary positions: see checks.h.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checks.h"

#define SPARE 16

double check_activation(kz_activation activation, double x) {
    switch (activation) {
    case KZ_ACTIVATION_GELU:
        return x * (1.0 + erf(x / sqrt(2.0))) / 2.0;
    case KZ_ACTIVATION_GELU_TANH:
        return x * (1.0 + tanh(sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x))) /
               2.0;
    case KZ_ACTIVATION_SILU:
        return x / (1.0 + exp(-x));
    default:
        return x;
    }
}

// One row's arrays; `out` has SPARE guards on both sides of [count].
typedef struct row_case {
    float *x, *y, *z;
    float *guarded;
    float *out;
    double *expected, *tolerance;
    size_t count;
} row_case;

static row_case make_row(case_random *random, size_t count, float size) {
    row_case row = {.count = count};
    row.x = case_floats(random, count, size);
    row.y = case_floats(random, count, 1.5f);
    row.z = case_floats(random, count, 1.5f);
    row.guarded = guarded_floats(count + 2 * SPARE);
    row.out = row.guarded + SPARE;
    row.expected = case_memory(count * sizeof(double));
    row.tolerance = case_memory(count * sizeof(double));
    return row;
}

static void free_row(row_case *row) {
    void *used[] = {row->x, row->y, row->z, row->guarded, row->expected, row->tolerance};
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
        free(used[i]);
    }
}

static void check_row(const kz_kernel_variant *variant, const row_case *row) {
    for (size_t i = 0; i < row->count; i++) {
        char what[96];
        snprintf(what, sizeof what, "element %zu of %zu, x %g", i, row->count, (double)row->x[i]);
        expect_close(variant, what, row->out[i], row->expected[i], row->tolerance[i]);
    }
    for (size_t i = 0; i < SPARE; i++) {
        if (!is_guard(row->guarded[i]) || !is_guard(row->out[row->count + i])) {
            fail_msg("%s: %zu elements: wrote outside", variant->name, row->count);
        }
    }
}

static void run_norm(const kz_kernel_variant *variant, row_case *row) {
    const bool is_layer = variant->slot == KZ_SLOT_layer_norm;
    const double n = (double)row->count;
    double mean = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < row->count; i++) {
        mean += is_layer ? row->x[i] / n : 0.0;
    }
    for (size_t i = 0; i < row->count; i++) {
        squares += (row->x[i] - mean) * (row->x[i] - mean) / n;
    }
    const double factor = 1.0 / sqrt(squares + 1e-5f);
    for (size_t i = 0; i < row->count; i++) {
        const double scaled = (row->x[i] - mean) * factor * row->y[i];
        row->expected[i] = scaled + (is_layer ? row->z[i] : 0.0);
        row->tolerance[i] = 2e-6 * (fabs(scaled) + fabs(mean * factor * row->y[i]) + 1.0);
    }
    if (is_layer) {
        ((kz_layer_norm_kernel)variant->function)(row->x, row->y, row->z, row->count, 1e-5f,
                                                  row->out);
    } else {
        ((kz_rms_norm_kernel)variant->function)(row->x, row->y, row->count, 1e-5f, row->out);
    }
}

static kz_activation activation_of(kz_kernel_slot slot) {
    switch (slot) {
    case KZ_SLOT_gelu:
        return KZ_ACTIVATION_GELU;
    case KZ_SLOT_gelu_tanh:
    case KZ_SLOT_gate_gelu_tanh:
        return KZ_ACTIVATION_GELU_TANH;
    default:
        return KZ_ACTIVATION_SILU;
    }
}

static void run_activation(const kz_kernel_variant *variant, row_case *row) {
    const bool is_gate = case_slot_starts(variant->slot, "gate_");
    for (size_t i = 0; i < row->count; i++) {
        const double up = is_gate ? row->y[i] : 1.0;
        row->expected[i] = check_activation(activation_of(variant->slot), row->x[i]) * up;
        row->tolerance[i] = 1e-6 * fmax(1.0, fabs(row->x[i])) * fmax(1.0, fabs(up));
    }
    if (is_gate) {
        ((kz_gate_kernel)variant->function)(row->x, row->y, row->count, row->out);
    } else {
        ((kz_activate_kernel)variant->function)(row->x, row->count, row->out);
    }
}

static void run_add(const kz_kernel_variant *variant, row_case *row) {
    for (size_t i = 0; i < row->count; i++) {
        row->expected[i] = row->x[i] + row->y[i];
    }
    ((kz_add_kernel)variant->function)(row->x, row->y, row->count, row->out);
}

static void run_softmax(const kz_kernel_variant *variant, row_case *row) {
    double largest = -INFINITY;
    double total = 0.0;
    for (size_t i = 0; i < row->count; i++) {
        largest = fmax(largest, row->x[i]);
    }
    for (size_t i = 0; i < row->count; i++) {
        row->expected[i] = exp(0.5 * (row->x[i] - largest));
        total += row->expected[i];
    }
    for (size_t i = 0; i < row->count; i++) {
        row->expected[i] /= total;
        row->tolerance[i] = 1e-6 + 4e-6 * row->expected[i];
    }
    memcpy(row->out, row->x, row->count * sizeof(float));
    ((kz_softmax_kernel)variant->function)(row->out, row->count, 0.5f);
}

// Rotates the row's first even part; y and z stand for cosine and sine.
static void run_rope(const kz_kernel_variant *variant, row_case *row) {
    const size_t pairs = row->count / 2;
    const bool is_split = variant->slot == KZ_SLOT_rope_split;
    for (size_t i = 0; i < row->count; i++) {
        row->expected[i] = row->x[i];
    }
    for (size_t i = 0; i < pairs; i++) {
        const size_t first = is_split ? i : 2 * i;
        const size_t second = is_split ? i + pairs : 2 * i + 1;
        const double a = row->x[first];
        const double b = row->x[second];
        row->expected[first] = a * row->y[i] - b * row->z[i];
        row->expected[second] = b * row->y[i] + a * row->z[i];
        row->tolerance[first] = 1e-6 * (fabs(a) + fabs(b));
        row->tolerance[second] = row->tolerance[first];
    }
    memcpy(row->out, row->x, row->count * sizeof(float));
    ((kz_rope_kernel)variant->function)(row->out, 2 * pairs, row->y, row->z);
}

static void run_slot(const kz_kernel_variant *variant, row_case *row) {
    switch (variant->slot) {
    case KZ_SLOT_rms_norm:
    case KZ_SLOT_layer_norm:
        run_norm(variant, row);
        break;
    case KZ_SLOT_add:
        run_add(variant, row);
        break;
    case KZ_SLOT_softmax:
        run_softmax(variant, row);
        break;
    case KZ_SLOT_rope_split:
    case KZ_SLOT_rope_pairs:
        run_rope(variant, row);
        break;
    default:
        run_activation(variant, row);
    }
}

// Not finite in, not finite out, and what libm gives where one element is one result.
static void check_not_finite(const kz_kernel_variant *variant, case_random *random) {
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        row_case row = make_row(random, 50, 3.0f);
        row.x[20] = values[i];
        run_slot(variant, &row);
        const bool is_row =
            variant->slot == KZ_SLOT_rms_norm || variant->slot == KZ_SLOT_layer_norm;
        if (variant->slot == KZ_SLOT_softmax || !is_row) {
            // Of a softmax, NaN and infinity leave nothing that is a number.
            row.tolerance[20] = 0.0;
            for (size_t k = 0; variant->slot == KZ_SLOT_softmax && i < 2 && k < row.count; k++) {
                row.expected[k] = NAN;
            }
            check_row(variant, &row);
        } else if (isfinite(row.out[20])) {
            fail_msg("%s: %g does not show", variant->name, (double)values[i]);
        }
        free_row(&row);
    }
}

// Activations over the whole range that matters, and where exp leaves its own.
static void check_sweep(const kz_kernel_variant *variant, case_random *random) {
    row_case row = make_row(random, 40000, 1.0f);
    for (size_t i = 0; i < row.count; i++) {
        row.x[i] = ((float)i - 20000.0f) * (i % 2 == 0 ? 0.0006f : 0.006f);
    }
    run_slot(variant, &row);
    check_row(variant, &row);
    free_row(&row);
}

static void check_all_hidden(const kz_kernel_variant *variant) {
    float x[20];
    for (size_t i = 0; i < 20; i++) {
        x[i] = -INFINITY;
    }
    ((kz_softmax_kernel)variant->function)(x, 20, 1.0f);
    for (size_t i = 0; i < 20; i++) {
        assert_true(x[i] == 0.0f);
    }
}

void check_rows(const kz_kernel_variant *variant) {
    static const size_t counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 576, 2049};
    case_random random = {2024};
    for (size_t i = 0; i < 12; i++) {
        row_case row = make_row(&random, counts[i], i % 2 == 0 ? 3.0f : 60.0f);
        run_slot(variant, &row);
        check_row(variant, &row);
        free_row(&row);
    }
    check_not_finite(variant, &random);
    const bool is_activation =
        case_slot_starts(variant->slot, "g") || variant->slot == KZ_SLOT_silu;
    if (is_activation) {
        check_sweep(variant, &random);
    }
    if (variant->slot == KZ_SLOT_softmax) {
        check_all_hidden(variant);
    }
}
