// check_matmul.c: matrix products against sums in double: see checks.h.
//
// The weights are decoded by kz_layout_unpack_row and the activations by KZ_A8's formula, so that
// only the kernel's own rounding is left; it may be a small part of the sum of absolute products.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "checks.h"

#define SPARE 5 // guard floats between the rows of an output

typedef struct matmul_case {
    kz_type type;
    kz_matmul matmul;
    size_t tokens;
    float *x;       // what the kernel sees, decoded: [tokens][columns]
    float *weights; // decoded: [rows][columns]
} matmul_case;

static void decode_a8(const void *rows, size_t tokens, size_t columns, float *out_x) {
    for (size_t t = 0; t < tokens; t++) {
        const char *bytes = (const char *)rows + t * kz_a8_row_bytes(columns);
        const kz_a8_row row = kz_a8_row_of(bytes, columns);
        for (size_t k = 0; k < columns; k++) {
            out_x[t * columns + k] = row.scale[k / KZ_BLOCK] * (float)row.q[k];
        }
    }
}

// Bias, residual and activation change with `number`.
static matmul_case make_case(case_random *random, kz_type type, case_kind kind, size_t rows,
                             size_t columns, size_t tokens, size_t number) {
    matmul_case made = {.type = type, .tokens = tokens};
    const size_t panel_bytes = kz_layout_panel_bytes(type, columns);
    made.x = case_floats(random, tokens * columns, 2.0f);
    if (kind == CASE_EXTREME) { // all activations become +127 or -127
        for (size_t i = 0; i < tokens * columns; i++) {
            made.x[i] = (i / columns + number) % 2 == 0 ? 1.5f : -1.5f;
        }
    }
    made.matmul.x = made.x;
    made.matmul.x_stride = columns * sizeof(float);
    made.matmul.weights = case_weights(random, type, kind, rows, columns);
    made.weights = case_memory(rows * columns * sizeof(float));
    for (size_t r = 0; r < rows; r++) {
        const char *panel = (const char *)made.matmul.weights + r / KZ_PANEL_ROWS * panel_bytes;
        kz_layout_unpack_row(type, panel, r % KZ_PANEL_ROWS, columns, made.weights + r * columns);
    }
    if (case_is_quantised(type)) {
        made.matmul.x = case_a8_rows(made.x, tokens, columns);
        made.matmul.x_stride = kz_a8_row_bytes(columns);
        decode_a8(made.matmul.x, tokens, columns, made.x);
    }
    made.matmul.rows = rows;
    made.matmul.columns = columns;
    made.matmul.bias = number % 2 == 1 ? case_floats(random, rows, 1.0f) : NULL;
    made.matmul.residual = number % 3 == 1 ? case_floats(random, tokens * (rows + 3), 1.0f) : NULL;
    made.matmul.residual_stride = (rows + 3) * sizeof(float);
    made.matmul.activation = (kz_activation)(number % KZ_ACTIVATION_COUNT);
    made.matmul.out_stride = (rows + SPARE) * sizeof(float);
    made.matmul.out = guarded_floats((tokens + 1) * (rows + SPARE));
    return made;
}

static void free_case(matmul_case *made) {
    if (made->matmul.x != made->x) {
        free((void *)made->matmul.x);
    }
    free(made->x);
    free(made->weights);
    free((void *)made->matmul.weights);
    free((void *)made->matmul.bias);
    free((void *)made->matmul.residual);
    free(made->matmul.out);
}

static const float *residual_of(const kz_matmul *m, size_t token) {
    return (const float *)((const char *)m->residual + token * m->residual_stride);
}

static void check_value(const kz_kernel_variant *variant, const matmul_case *made, size_t token,
                        size_t row, float found) {
    const kz_matmul *m = &made->matmul;
    double sum = m->bias != NULL ? m->bias[row] : 0.0;
    double size = fabs(sum);
    for (size_t k = 0; k < m->columns; k++) {
        const double product =
            (double)made->x[token * m->columns + k] * made->weights[row * m->columns + k];
        sum += product;
        size += fabs(product);
    }
    if (case_has_minimum(made->type)) {
        size *= 4.0; // d * q and the minimum are added on their own and may cancel
    }
    const double residual = m->residual != NULL ? residual_of(m, token)[row] : 0.0;
    const double expected = check_activation(m->activation, sum) + residual;
    const double tolerance = (2e-6 + 2e-8 * (double)m->columns) * size + 2e-6 * (1.0 + fabs(sum)) +
                             1e-7 * fabs(residual);
    char what[128];
    snprintf(what, sizeof what, "N %zu K %zu T %zu activation %d, token %zu row %zu", m->rows,
             m->columns, made->tokens, (int)m->activation, token, row);
    expect_close(variant, what, found, expected, tolerance);
}

// Values inside the range are right, all else is untouched.
static void check_range(const kz_kernel_variant *variant, const matmul_case *made, size_t panel,
                        size_t panel_end, size_t token, size_t token_end) {
    const kz_matmul *m = &made->matmul;
    const size_t width = m->rows + SPARE;
    for (size_t t = 0; t < made->tokens + 1; t++) {
        for (size_t r = 0; r < width; r++) {
            const float found = m->out[t * width + r];
            const bool is_inside = t >= token && t < token_end && r >= panel * KZ_PANEL_ROWS &&
                                   r < panel_end * KZ_PANEL_ROWS && r < m->rows;
            if (is_inside) {
                check_value(variant, made, t, r, found);
            } else if (!is_guard(found)) {
                fail_msg("%s: N %zu K %zu T %zu: wrote outside, at token %zu row %zu",
                         variant->name, m->rows, m->columns, made->tokens, t, r);
            }
        }
    }
}

static size_t panel_count(const kz_matmul *m) {
    return (m->rows + KZ_PANEL_ROWS - 1) / KZ_PANEL_ROWS;
}

// One panel and one token a call gives the same bits as one call, for order-exact slots.
static void check_cuts(const kz_kernel_variant *variant, const matmul_case *made) {
    const kz_matmul *m = &made->matmul;
    kz_matmul cut = *m;
    const size_t width = m->rows + SPARE;
    cut.out = guarded_floats((made->tokens + 1) * width);
    for (size_t p = 0; p < panel_count(m); p++) {
        for (size_t t = 0; t < made->tokens; t++) {
            ((kz_matmul_kernel)variant->function)(&cut, p, p + 1, t, t + 1);
        }
    }
    const bool is_same = memcmp(cut.out, m->out, made->tokens * width * sizeof(float)) == 0;
    free(cut.out);
    if (!is_same) {
        fail_msg("%s: N %zu K %zu T %zu: the result depends on the cut", variant->name, m->rows,
                 m->columns, made->tokens);
    }
}

static const kz_kernel_variant *reference_of(kz_kernel_slot slot) {
    size_t i = 0;
    while (kz_kernel_variants[i].slot != slot || kz_kernel_variants[i].level != KZ_CPU_REF) {
        i++;
    }
    return &kz_kernel_variants[i];
}

// Integer dot products are exact and floats are added in one order: all instruction sets give the
// reference's bits, in bulk too. Activations are approximated, so they are left out.
static void check_equality(const kz_kernel_variant *variant, const matmul_case *made) {
    kz_matmul plain = made->matmul;
    plain.activation = KZ_ACTIVATION_NONE;
    kz_matmul expected = plain;
    const size_t floats = (made->tokens + 1) * (plain.rows + SPARE);
    plain.out = guarded_floats(floats);
    expected.out = guarded_floats(floats);
    ((kz_matmul_kernel)variant->function)(&plain, 0, panel_count(&plain), 0, made->tokens);
    const kz_any_kernel reference = reference_of(variant->slot)->function;
    ((kz_matmul_kernel)reference)(&expected, 0, panel_count(&plain), 0, made->tokens);
    for (size_t i = 0; i < floats; i++) {
        if (kz_bits_from_float(plain.out[i]) != kz_bits_from_float(expected.out[i])) {
            fail_msg("%s: N %zu K %zu T %zu: token %zu row %zu is %.9g, the reference's %.9g",
                     variant->name, plain.rows, plain.columns, made->tokens,
                     i / (plain.rows + SPARE), i % (plain.rows + SPARE), (double)plain.out[i],
                     (double)expected.out[i]);
        }
    }
    free(plain.out);
    free(expected.out);
}

static void check_case(const kz_kernel_variant *variant, matmul_case *made) {
    const kz_matmul_kernel kernel = (kz_matmul_kernel)variant->function;
    const size_t panels = panel_count(&made->matmul);
    kernel(&made->matmul, 0, panels, 0, made->tokens);
    check_range(variant, made, 0, panels, 0, made->tokens);
    if (case_is_quantised(made->type)) {
        check_equality(variant, made);
    }
    if (!case_slot_starts(variant->slot, "matmul_bulk")) {
        check_cuts(variant, made);
    }
    if (panels > 2 && made->tokens > 2) {
        free(made->matmul.out);
        made->matmul.out = guarded_floats((made->tokens + 1) * (made->matmul.rows + SPARE));
        kernel(&made->matmul, 1, panels - 1, 1, made->tokens - 1);
        check_range(variant, made, 1, panels - 1, 1, made->tokens - 1);
    }
}

static void put_not_finite(matmul_case *made, size_t token, size_t column, float value) {
    const size_t columns = made->matmul.columns;
    made->x[token * columns + column] = value;
    if (case_is_quantised(made->type)) {
        free((void *)made->matmul.x);
        made->matmul.x = case_a8_rows(made->x, made->tokens, columns);
    }
}

// A value that is not finite shows in every row of its token and in no other token.
static void check_not_finite(const kz_kernel_variant *variant, case_random *random, float value) {
    const size_t tokens = case_slot_starts(variant->slot, "matmul_bulk") ? 17 : 5;
    const kz_type type = case_matmul_type(variant->slot);
    const size_t columns = case_columns(type, 96);
    matmul_case made = make_case(random, type, CASE_RANDOM, 33, columns, tokens, 0);
    put_not_finite(&made, 1, 40, value);
    ((kz_matmul_kernel)variant->function)(&made.matmul, 0, panel_count(&made.matmul), 0, tokens);
    for (size_t t = 0; t < tokens; t++) {
        for (size_t r = 0; r < made.matmul.rows; r++) {
            const float found = made.matmul.out[t * (made.matmul.rows + SPARE) + r];
            if (isfinite(found) != (t != 1)) {
                fail_msg("%s: %g in token 1: token %zu row %zu is %g", variant->name, (double)value,
                         t, r, (double)found);
            }
        }
    }
    free_case(&made);
}

void check_matmul(const kz_kernel_variant *variant) {
    static const size_t rows[] = {1, 15, 16, 17, 33, 64, 81};
    static const size_t quantised_columns[] = {32, 64, 96, 160, 576, 640, 1024};
    static const size_t float_columns[] = {1, 2, 3, 31, 64, 97, 256, 577, 768};
    static const size_t tokens[] = {1, 2, 3, 5, 6, 7, 11, 12, 13, 16};
    static const size_t bulk_tokens[] = {17, 23, 24, 25, 201};
    const kz_type type = case_matmul_type(variant->slot);
    const bool is_bulk = case_slot_starts(variant->slot, "matmul_bulk");
    const bool is_a8 = case_is_quantised(type);
    const size_t column_count = is_a8 ? 7 : 9;
    const size_t token_count = is_bulk ? 5 : 10;
    case_random random = {12345};
    size_t number = 0;
    for (size_t c = 0; c < column_count; c++) {
        for (size_t t = 0; t < token_count; t++, number++) {
            const size_t columns =
                is_a8 ? case_columns(type, quantised_columns[c]) : float_columns[c];
            matmul_case made = make_case(&random, type, (case_kind)(number % 3), rows[number % 7],
                                         columns, is_bulk ? bulk_tokens[t] : tokens[t], number);
            check_case(variant, &made);
            free_case(&made);
        }
    }
    for (size_t t = 1; t <= 40 && is_a8; t++) { // every way to cut tokens into tiles
        matmul_case made = make_case(&random, type, (case_kind)(t % 3), rows[t % 7],
                                     case_columns(type, 64 * (1 + t % 4)), t, t);
        check_equality(variant, &made);
        free_case(&made);
    }
    check_not_finite(variant, &random, NAN);
    check_not_finite(variant, &random, INFINITY);
}
