// test_signal.c: the ops that see a signal along its rows, against their formulas in double; and a
// signal in pieces against the whole, bit for bit.
//
// in:  programs of one op or a few, made here
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op_run.h"

#define WIDTH 37 // no multiple of a vector
#define LIMIT 1e-6

static op_run run;
static double expected[OP_RUN_FLOATS];
static const uint32_t sizes[] = {0, 1, 2, 5, OP_RUN_ROWS};

// --- Element by element -------------------------------------------------------------------------

static double mapped(kz_map function, double a, double b, double x) {
    switch (function) {
    case KZ_MAP_RELU:
        return fmax(x, 0.0);
    case KZ_MAP_LEAKY_RELU:
        return x < 0.0 ? a * x : x;
    case KZ_MAP_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case KZ_MAP_TANH:
        return tanh(x);
    case KZ_MAP_ELU:
        return x < 0.0 ? a * expm1(x) : x;
    case KZ_MAP_EXP:
        return exp(x);
    case KZ_MAP_SIN:
        return sin(x);
    case KZ_MAP_COS:
        return cos(x);
    case KZ_MAP_CLAMP:
        return fmin(fmax(x, a), b);
    case KZ_MAP_LOG:
        return log(fmax(x, a));
    case KZ_MAP_SQRT:
        return sqrt(x + a);
    default:
        return a * x + b;
    }
}

static void check_map(kz_map function, float a, float b) {
    op_run_begin(&run, 3);
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    kz_instruction *map =
        tiny_add(run.method, KZ_OP_MAP, (uint32_t[]){x, op_run_output(&run, run.t, WIDTH)}, 2);
    map->ints[0] = (int32_t)function;
    map->floats[0] = a;
    map->floats[1] = b;
    op_run_open(&run, 2);
    for (size_t i = 0; i < (size_t)OP_RUN_ROWS * WIDTH; i++) {
        expected[i] = mapped(function, (double)a, (double)b, (double)run.x[i]);
    }
    op_run_call(&run, OP_RUN_ROWS, run.x, NULL, run.out);
    op_run_expect("map", run.out, expected, (size_t)OP_RUN_ROWS * WIDTH, LIMIT);
    op_run_close(&run);
}

static void maps_are_their_formulas(void **state) {
    (void)state;
    for (int function = KZ_MAP_RELU; function < KZ_MAP_COUNT; function++) {
        check_map((kz_map)function, function == KZ_MAP_SQRT ? 2.5f : 0.25f, 0.75f);
    }
    check_map(KZ_MAP_CLAMP, -0.5f, 1.25f);
}

typedef enum mul_case { MUL_ROWS, MUL_ROW, MUL_VECTOR } mul_case;

static void check_mul(mul_case kind) {
    op_run_begin(&run, 5);
    const uint32_t a = op_run_input(&run, "a", run.t, WIDTH);
    const uint32_t vector = tiny_vector(&run.builder, "b", WIDTH, 0.0f, 2.0f);
    const uint32_t b =
        kind == MUL_VECTOR
            ? tiny_weight_value(run.method, vector)
            : op_run_input(&run, "b", kind == MUL_ROW ? kz_dim_constant(1) : run.t, WIDTH);
    tiny_add(run.method, KZ_OP_MUL, (uint32_t[]){a, b, op_run_output(&run, run.t, WIDTH)}, 3);
    op_run_open(&run, 2);
    const float *factors = kind == MUL_VECTOR ? run.builder.floats[vector] : run.y;
    for (size_t i = 0; i < (size_t)OP_RUN_ROWS * WIDTH; i++) {
        expected[i] = (double)run.x[i] * (double)factors[kind == MUL_ROWS ? i : i % WIDTH];
    }
    for (size_t i = 0; i < 5; i++) {
        op_run_call(&run, sizes[i], run.x, run.y, run.out);
        op_run_expect("mul", run.out, expected, (size_t)sizes[i] * WIDTH, LIMIT);
    }
    op_run_close(&run);
}

static void products_take_rows_a_row_or_a_vector(void **state) {
    (void)state;
    check_mul(MUL_ROWS);
    check_mul(MUL_ROW);
    check_mul(MUL_VECTOR);
}

static void snake_is_its_formula(void **state) {
    (void)state;
    op_run_begin(&run, 7);
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    const uint32_t alpha = tiny_vector(&run.builder, "alpha", WIDTH, 0.0f, 3000.0f);
    const uint32_t beta = tiny_vector(&run.builder, "beta", WIDTH, 1.0f, 0.5f);
    tiny_add(run.method, KZ_OP_SNAKE,
             (uint32_t[]){x, tiny_weight_value(run.method, alpha),
                          tiny_weight_value(run.method, beta), op_run_output(&run, run.t, WIDTH)},
             4);
    op_run_open(&run, 2);
    for (size_t i = 0; i < (size_t)OP_RUN_ROWS * WIDTH; i++) {
        // The angle as the op has it: at thousands of turns its rounding would be all that is seen.
        const float angle = run.builder.floats[alpha][i % WIDTH] * run.x[i];
        expected[i] = (double)run.x[i] +
                      pow(sin((double)angle), 2.0) * (double)run.builder.floats[beta][i % WIDTH];
    }
    op_run_call(&run, OP_RUN_ROWS, run.x, NULL, run.out);
    op_run_expect("snake", run.out, expected, (size_t)OP_RUN_ROWS * WIDTH, LIMIT);
    op_run_close(&run);
}

static void check_scale_shift(bool is_one_row) {
    op_run_begin(&run, 9);
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    const uint32_t both =
        op_run_input(&run, "both", is_one_row ? kz_dim_constant(1) : run.t, 2 * WIDTH);
    tiny_add(run.method, KZ_OP_SCALE_SHIFT,
             (uint32_t[]){x, both, op_run_output(&run, run.t, WIDTH)}, 3);
    op_run_open(&run, 2);
    for (size_t i = 0; i < (size_t)OP_RUN_ROWS * WIDTH; i++) {
        const float *row = run.y + (is_one_row ? 0 : i / WIDTH * 2 * WIDTH);
        expected[i] =
            (double)run.x[i] * (1.0 + (double)row[i % WIDTH]) + (double)row[WIDTH + i % WIDTH];
    }
    op_run_call(&run, OP_RUN_ROWS, run.x, run.y, run.out);
    op_run_expect("scale_shift", run.out, expected, (size_t)OP_RUN_ROWS * WIDTH, LIMIT);
    op_run_close(&run);
}

static void scale_shift_is_its_formula(void **state) {
    (void)state;
    check_scale_shift(true);
    check_scale_shift(false);
}

static void magnitude_is_its_formula(void **state) {
    (void)state;
    op_run_begin(&run, 11);
    const uint32_t x = op_run_input(&run, "x", run.t, 2 * WIDTH);
    tiny_add(run.method, KZ_OP_MAGNITUDE, (uint32_t[]){x, op_run_output(&run, run.t, WIDTH)}, 2)
        ->floats[0] = 0.01f;
    op_run_open(&run, 2);
    for (size_t i = 0; i < (size_t)OP_RUN_ROWS * WIDTH; i++) {
        const float *row = run.x + i / WIDTH * 2 * WIDTH;
        const double a = (double)row[i % WIDTH], b = (double)row[WIDTH + i % WIDTH];
        expected[i] = sqrt(a * a + b * b + 0.01);
    }
    op_run_call(&run, OP_RUN_ROWS, run.x, NULL, run.out);
    op_run_expect("magnitude", run.out, expected, (size_t)OP_RUN_ROWS * WIDTH, LIMIT);
    op_run_close(&run);
}

// --- Rows from elsewhere ------------------------------------------------------------------------

// One row beside rows of another value, each a view of the output.
static void copies_join_values(void **state) {
    (void)state;
    op_run_begin(&run, 13);
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    const uint32_t one = op_run_input(&run, "one", kz_dim_constant(1), 3);
    const uint32_t out = op_run_output(&run, run.t, WIDTH + 3);
    tiny_add(run.method, KZ_OP_COPY, (uint32_t[]){x, tiny_view(run.method, out, 0, WIDTH)}, 2);
    tiny_add(run.method, KZ_OP_COPY, (uint32_t[]){one, tiny_view(run.method, out, WIDTH, 3)}, 2);
    op_run_open(&run, 2);
    for (size_t i = 0; i < (size_t)OP_RUN_ROWS * (WIDTH + 3); i++) {
        const size_t row = i / (WIDTH + 3), c = i % (WIDTH + 3);
        expected[i] = (double)(c < WIDTH ? run.x[row * WIDTH + c] : run.y[c - WIDTH]);
    }
    for (size_t i = 0; i < 5; i++) {
        op_run_call(&run, sizes[i], run.x, run.y, run.out);
        op_run_expect("copy", run.out, expected, (size_t)sizes[i] * (WIDTH + 3), 0.0);
    }
    op_run_close(&run);
}

// The place of x that stands at `place` of the padded signal, or -1 for zeros.
static ptrdiff_t padded_place(kz_pad mode, ptrdiff_t place, ptrdiff_t rows) {
    if (place >= 0 && place < rows) {
        return place;
    }
    if (mode == KZ_PAD_ZERO || rows == 0) {
        return -1;
    }
    if (mode == KZ_PAD_REPLICATE || rows == 1) {
        return place < 0 ? 0 : rows - 1;
    }
    while (place < 0 || place >= rows) {
        place = place < 0 ? -place : 2 * (rows - 1) - place;
    }
    return place;
}

static void check_pad(kz_pad mode) {
    const int left = 3, right = 4;
    const kz_dim rows = {.scale = {1}, .offset = left + right, .divisor = 1};
    op_run_begin(&run, 15);
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    kz_instruction *pad =
        tiny_add(run.method, KZ_OP_PAD, (uint32_t[]){x, op_run_output(&run, rows, WIDTH)}, 2);
    pad->ints[0] = (int32_t)mode;
    pad->ints[1] = left;
    pad->ints[2] = right;
    op_run_open(&run, 2);
    for (size_t i = 0; i < 5; i++) {
        const size_t out_rows = sizes[i] + (size_t)(left + right);
        for (size_t k = 0; k < out_rows * WIDTH; k++) {
            const ptrdiff_t place =
                padded_place(mode, (ptrdiff_t)(k / WIDTH) - left, (ptrdiff_t)sizes[i]);
            expected[k] = place < 0 ? 0.0 : (double)run.x[(size_t)place * WIDTH + k % WIDTH];
        }
        op_run_call(&run, sizes[i], run.x, NULL, run.out);
        op_run_expect("pad", run.out, expected, out_rows * WIDTH, 0.0);
    }
    op_run_close(&run);
}

static void pads_are_torchs(void **state) {
    (void)state;
    check_pad(KZ_PAD_ZERO);
    check_pad(KZ_PAD_REFLECT);
    check_pad(KZ_PAD_REPLICATE);
}

static void gathered_rows_are_checked_in_each_call(void **state) {
    (void)state;
    static const int32_t picks[] = {4, 0, 0, 2, 4, 1, 3};
    op_run_begin(&run, 17);
    const kz_dim picked = kz_dim_symbol(tiny_symbol(run.method, "picked", 7));
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    const uint32_t index =
        tiny_input(run.method, "index", KZ_I32, OP_RUN_ROWS, 1, picked, kz_dim_constant(1));
    tiny_add(run.method, KZ_OP_GATHER, (uint32_t[]){x, index, op_run_output(&run, picked, WIDTH)},
             3);
    op_run_open(&run, 2);
    for (size_t i = 0; i < (size_t)7 * WIDTH; i++) {
        expected[i] = (double)run.x[(size_t)picks[i / WIDTH] * WIDTH + i % WIDTH];
    }
    const void *inputs[] = {run.x, picks};
    void *outputs[] = {run.out};
    assert_int_equal(kz_context_run(run.context, 0, (uint32_t[]){5, 7}, inputs, outputs),
                     KAZEIA_OK);
    op_run_expect("gather", run.out, expected, (size_t)7 * WIDTH, 0.0);
    assert_int_equal(kz_context_run(run.context, 0, (uint32_t[]){4, 7}, inputs, outputs),
                     KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "'index'[0] is 4, expected 0 or more and below 4"));
    assert_int_equal(kz_context_run(run.context, 0, (uint32_t[]){0, 0}, inputs, outputs),
                     KAZEIA_OK);
    op_run_close(&run);
}

// --- Windows ------------------------------------------------------------------------------------

// Element c of x[place], zero outside.
static double padded_x(ptrdiff_t place, size_t rows, size_t columns, size_t c) {
    return place < 0 || (size_t)place >= rows ? 0.0 : (double)run.x[(size_t)place * columns + c];
}

// `x_type` is f32, or that of the windows: x is quantised before it is repeated.
static void check_unfold(kz_type x_type, kz_type type, int kernel, int stride, int dilation,
                         int left, int right) {
    enum { CHANNELS = 32 };
    op_run_begin(&run, 19);
    kz_dim rows;
    assert_true(
        kz_dim_window(&run.t, left + right - dilation * (kernel - 1), (uint32_t)stride, &rows));
    const uint32_t columns = (uint32_t)kernel * CHANNELS;
    const uint32_t x = op_run_input(&run, "x", run.t, CHANNELS);
    // Quantised rows can be seen through a product only.
    const uint32_t weight =
        tiny_matrix(&run.builder, "weight", type == KZ_F32 ? KZ_F32 : KZ_Q8_0, 16, columns, 1.0f);
    const uint32_t unfolded = tiny_rows(run.method, type, rows, columns);
    uint32_t source = x;
    if (x_type != KZ_F32) {
        source = tiny_rows(run.method, x_type, run.t, CHANNELS);
        tiny_add(run.method, KZ_OP_QUANTISE, (uint32_t[]){x, source}, 2);
    }
    kz_instruction *op = tiny_add(run.method, KZ_OP_UNFOLD, (uint32_t[]){source, unfolded}, 2);
    const int ints[] = {kernel, stride, dilation, left, right};
    memcpy(op->ints, ints, sizeof ints);
    tiny_add(run.method, KZ_OP_LINEAR,
             (uint32_t[]){unfolded, tiny_weight_value(run.method, weight), KZ_NO_VALUE, KZ_NO_VALUE,
                          op_run_output(&run, rows, 16)},
             5);
    op_run_open(&run, 2);
    for (size_t i = 0; i < 5; i++) {
        const size_t out_rows = (size_t)kz_dim_value(&rows, &sizes[i], 1);
        for (size_t k = 0; k < out_rows * 16; k++) {
            const float *row = run.builder.floats[weight] + k % 16 * columns;
            expected[k] = 0.0;
            for (size_t j = 0; j < columns; j++) {
                const ptrdiff_t place =
                    (ptrdiff_t)(k / 16) * stride - left + (ptrdiff_t)(j / CHANNELS) * dilation;
                expected[k] += padded_x(place, sizes[i], CHANNELS, j % CHANNELS) * (double)row[j];
            }
        }
        op_run_call(&run, sizes[i], run.x, NULL, run.out);
        op_run_expect("unfold", run.out, expected, out_rows * 16,
                      type == KZ_F32   ? 1e-5
                      : type == KZ_A16 ? 1e-3
                                       : 0.1);
    }
    op_run_close(&run);
}

static void windows_step_dilate_and_pad(void **state) {
    (void)state;
    static const kz_type types[][2] = {
        {KZ_F32, KZ_F32}, {KZ_F32, KZ_A8}, {KZ_F32, KZ_A16}, {KZ_A8, KZ_A8}, {KZ_A16, KZ_A16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        check_unfold(types[i][0], types[i][1], 3, 1, 1, 1, 1);
        check_unfold(types[i][0], types[i][1], 3, 2, 1, 0, 1);
        check_unfold(types[i][0], types[i][1], 7, 1, 3, 18, 0);
        check_unfold(types[i][0], types[i][1], 4, 3, 2, 1, 5);
        check_unfold(types[i][0], types[i][1], 1, 5, 1, 0, 0);
    }
}

static void check_fold(int kernel, int stride, int left, int right, bool has_bias) {
    enum { CHANNELS = 19 };
    const int added = kernel - stride - left - right;
    op_run_begin(&run, 21);
    kz_dim rows;
    assert_true(kz_dim_stretch(&run.t, (uint32_t)stride, added, &rows));
    const uint32_t columns = (uint32_t)kernel * CHANNELS;
    const uint32_t x = op_run_input(&run, "x", run.t, columns);
    const uint32_t bias = tiny_vector(&run.builder, "bias", CHANNELS, 0.0f, 1.0f);
    kz_instruction *op =
        tiny_add(run.method, KZ_OP_FOLD,
                 (uint32_t[]){x, has_bias ? tiny_weight_value(run.method, bias) : KZ_NO_VALUE,
                              op_run_output(&run, rows, CHANNELS)},
                 3);
    const int ints[] = {kernel, stride, left, right};
    memcpy(op->ints, ints, sizeof ints);
    op_run_open(&run, 2);
    for (size_t i = 0; i < 5; i++) {
        const ptrdiff_t out_rows = (ptrdiff_t)sizes[i] * stride + added;
        for (size_t k = 0; k < (size_t)out_rows * CHANNELS; k++) {
            expected[k] = has_bias ? (double)run.builder.floats[bias][k % CHANNELS] : 0.0;
        }
        for (size_t k = 0; k < (size_t)sizes[i] * columns; k++) {
            const ptrdiff_t row =
                (ptrdiff_t)(k / columns) * stride + (ptrdiff_t)(k % columns / CHANNELS) - left;
            if (row >= 0 && row < out_rows) {
                expected[(size_t)row * CHANNELS + k % CHANNELS] += (double)run.x[k];
            }
        }
        op_run_call(&run, sizes[i], run.x, NULL, run.out);
        op_run_expect("fold", run.out, expected, (size_t)out_rows * CHANNELS, LIMIT);
    }
    op_run_close(&run);
}

static void folds_are_transposed_convolutions(void **state) {
    (void)state;
    check_fold(4, 4, 0, 0, true);
    check_fold(8, 4, 2, 2, true);
    check_fold(7, 3, 0, 4, false);
    check_fold(3, 2, 1, 0, false);
    check_fold(5, 5, 0, 0, false);
    check_fold(5, 1, 2, 2, true);
    check_fold(6, 2, 0, 0, true);
}

static void check_depthwise(int kernel, int dilation, int left, int right, int multiplier,
                            bool has_bias) {
    const kz_dim rows = {
        .scale = {1}, .offset = left + right - dilation * (kernel - 1), .divisor = 1};
    op_run_begin(&run, 23);
    const uint32_t columns = (uint32_t)multiplier * 100;
    const uint32_t x = op_run_input(&run, "x", run.t, 100);
    const uint32_t taps = tiny_table(&run.builder, "taps", (uint32_t)(kernel * multiplier), 100);
    const uint32_t bias = tiny_vector(&run.builder, "bias", columns, 0.0f, 1.0f);
    kz_instruction *op =
        tiny_add(run.method, KZ_OP_DEPTHWISE,
                 (uint32_t[]){x, tiny_weight_value(run.method, taps),
                              has_bias ? tiny_weight_value(run.method, bias) : KZ_NO_VALUE,
                              op_run_output(&run, rows, columns)},
                 4);
    const int ints[] = {kernel, dilation, left, right, multiplier};
    memcpy(op->ints, ints, sizeof ints);
    op_run_open(&run, 2);
    for (size_t i = 0; i < 5; i++) {
        const size_t count = (size_t)((int)sizes[i] + rows.offset) * columns;
        for (size_t k = 0; k < count; k++) {
            const size_t m = k % columns / 100, c = k % 100;
            expected[k] = has_bias ? (double)run.builder.floats[bias][k % columns] : 0.0;
            for (int j = 0; j < kernel; j++) {
                const ptrdiff_t place = (ptrdiff_t)(k / columns) - left + j * dilation;
                const float *tap =
                    run.builder.floats[taps] + (m * (size_t)kernel + (size_t)j) * 100;
                expected[k] += (double)tap[c] * padded_x(place, sizes[i], 100, c);
            }
        }
        op_run_call(&run, sizes[i], run.x, NULL, run.out);
        op_run_expect("depthwise", run.out, expected, count, 2 * LIMIT);
    }
    op_run_close(&run);
}

static void channels_are_convolved_alone(void **state) {
    (void)state;
    check_depthwise(7, 1, 6, 0, 1, true);
    check_depthwise(3, 2, 2, 2, 1, false);
    check_depthwise(3, 9, 18, 0, 2, true);
    check_depthwise(4, 1, 0, 3, 3, true);
    check_depthwise(1, 1, 2, 1, 1, false);
}

// --- In pieces ----------------------------------------------------------------------------------

// A causal stack: by channel, dense, up by two with overlap, recurrent. C_IN channels to C_OUT.
enum { C_IN = 32, C_OUT = 16, UP = 2 };

static uint32_t joined(uint32_t x, kz_type type, kz_dim rows, uint32_t tail, uint32_t columns,
                       const char *name) {
    const uint32_t state = tiny_state(&run.builder, name, KZ_F32, tail, 1, columns);
    kz_dim longer;
    assert_true(kz_dim_window(&rows, (int32_t)tail, 1, &longer));
    const uint32_t out = tiny_rows(run.method, type, longer, columns);
    tiny_add(run.method, KZ_OP_JOIN_TAIL, (uint32_t[]){x, tiny_state_value(run.method, state), out},
             3);
    return out;
}

static uint32_t dense(uint32_t x, kz_dim rows, kz_type type, const char *name, uint32_t columns_in,
                      uint32_t columns) {
    const uint32_t weight = tiny_matrix(&run.builder, name, type, columns, columns_in, 0.3f);
    const uint32_t out = tiny_rows(run.method, KZ_F32, rows, columns);
    tiny_add(run.method, KZ_OP_LINEAR,
             (uint32_t[]){x, tiny_weight_value(run.method, weight), KZ_NO_VALUE, KZ_NO_VALUE, out},
             5);
    return out;
}

static uint32_t add_causal(uint32_t x) {
    const uint32_t long_x = joined(x, KZ_F32, run.t, 12, C_IN, "tail.depthwise");
    const uint32_t taps = tiny_table(&run.builder, "taps", 7, C_IN);
    const uint32_t mixed = tiny_rows(run.method, KZ_F32, run.t, C_IN);
    kz_instruction *depthwise =
        tiny_add(run.method, KZ_OP_DEPTHWISE,
                 (uint32_t[]){long_x, tiny_weight_value(run.method, taps), KZ_NO_VALUE, mixed}, 4);
    const int ints[] = {7, 2, 0, 0, 1};
    memcpy(depthwise->ints, ints, sizeof ints);
    const uint32_t long_mixed = joined(mixed, KZ_A8, run.t, 4, C_IN, "tail.dense");
    const uint32_t unfolded = tiny_rows(run.method, KZ_A8, run.t, 3 * C_IN);
    kz_instruction *unfold =
        tiny_add(run.method, KZ_OP_UNFOLD, (uint32_t[]){long_mixed, unfolded}, 2);
    const int window[] = {3, 1, 2, 0, 0};
    memcpy(unfold->ints, window, sizeof window);
    return dense(unfolded, run.t, KZ_Q8_0, "dense", 3 * C_IN, C_OUT);
}

static void make_stream(uint32_t threads, kz_type recurrent) {
    const kz_dim twice = {.scale = {UP}, .divisor = 1};
    op_run_begin(&run, 25);
    const uint32_t low = add_causal(op_run_input(&run, "x", run.t, C_IN));
    const uint32_t alpha = tiny_vector(&run.builder, "alpha", C_OUT, 1.0f, 0.5f);
    const uint32_t waved = tiny_rows(run.method, KZ_F32, run.t, C_OUT);
    tiny_add(run.method, KZ_OP_SNAKE,
             (uint32_t[]){low, tiny_weight_value(run.method, alpha),
                          tiny_weight_value(run.method, alpha), waved},
             4);
    // A kernel of two strides needs the row before; its first and last halves are left out.
    const kz_dim longer = {.scale = {1}, .offset = 1, .divisor = 1};
    const uint32_t long_low = joined(waved, KZ_F32, run.t, 1, C_OUT, "tail.up");
    const uint32_t spread = dense(long_low, longer, KZ_F32, "up", C_OUT, (uint32_t)2 * UP * 4 * 32);
    const uint32_t up = tiny_rows(run.method, KZ_F32, twice, 4 * 32);
    kz_instruction *fold =
        tiny_add(run.method, KZ_OP_FOLD, (uint32_t[]){spread, KZ_NO_VALUE, up}, 3);
    const int ints[] = {2 * UP, UP, UP, UP};
    memcpy(fold->ints, ints, sizeof ints);
    const uint32_t weight = tiny_matrix(&run.builder, "recurrent", recurrent, 4 * 32, 32, 0.3f);
    const uint32_t h = tiny_state(&run.builder, "h", KZ_F32, 1, 1, 32);
    const uint32_t c = tiny_state(&run.builder, "c", KZ_F32, 1, 2, 16);
    tiny_add(run.method, KZ_OP_LSTM,
             (uint32_t[]){up, tiny_weight_value(run.method, weight),
                          tiny_state_value(run.method, h), tiny_state_value(run.method, c),
                          op_run_output(&run, twice, 32)},
             5);
    op_run_open(&run, threads);
}

enum { STREAM_ROWS = 15, STREAM_OUT = UP * 32 }; // few enough for exact products

static void run_in_pieces(uint32_t piece, float *out) {
    for (uint32_t t = 0; t < STREAM_ROWS; t += piece) {
        const uint32_t count = STREAM_ROWS - t < piece ? STREAM_ROWS - t : piece;
        op_run_call(&run, count, run.x + (size_t)t * C_IN, NULL, out + (size_t)t * STREAM_OUT);
    }
}

static void pieces_give_the_bits_of_the_whole(void **state) {
    (void)state;
    static const uint32_t pieces[] = {1, 2, 3, 7, STREAM_ROWS};
    static const kz_type types[] = {KZ_F32, KZ_Q8_0};
    static float whole[STREAM_ROWS * STREAM_OUT];
    for (size_t type = 0; type < 2; type++) {
        make_stream(1, types[type]);
        run_in_pieces(STREAM_ROWS, whole);
        op_run_close(&run);
        assert_true(fabsf(whole[STREAM_OUT]) > 1e-4f); // there is a signal to compare
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            make_stream(threads, types[type]);
            for (size_t i = 0; i < 5; i++) {
                kz_tails_reset(run.context);
                run_in_pieces(pieces[i], run.out);
                assert_memory_equal(run.out, whole, sizeof whole);
            }
            op_run_close(&run);
        }
    }
}

static void tails_are_saved_and_restored(void **state) {
    (void)state;
    static float first[STREAM_ROWS * STREAM_OUT], second[STREAM_ROWS * STREAM_OUT];
    make_stream(1, KZ_F32);
    const size_t bytes = kz_tails_bytes(run.context);
    assert_int_equal(bytes, (12 * C_IN + 4 * C_IN + C_OUT + 32 + 32) * sizeof(float));
    void *saved = malloc(bytes);
    assert_non_null(saved);
    run_in_pieces(3, second); // from zeros
    kz_tails_save(run.context, saved);
    run_in_pieces(3, first);
    assert_memory_not_equal(first, second, sizeof first);
    kz_tails_restore(run.context, saved);
    run_in_pieces(3, second);
    assert_memory_equal(first, second, sizeof first);
    // A call of no rows changes nothing.
    kz_tails_restore(run.context, saved);
    op_run_call(&run, 0, run.x, NULL, run.out);
    run_in_pieces(3, second);
    assert_memory_equal(first, second, sizeof first);
    free(saved);
    op_run_close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_their_formulas),
        cmocka_unit_test(products_take_rows_a_row_or_a_vector),
        cmocka_unit_test(snake_is_its_formula),
        cmocka_unit_test(scale_shift_is_its_formula),
        cmocka_unit_test(magnitude_is_its_formula),
        cmocka_unit_test(copies_join_values),
        cmocka_unit_test(pads_are_torchs),
        cmocka_unit_test(gathered_rows_are_checked_in_each_call),
        cmocka_unit_test(windows_step_dilate_and_pad),
        cmocka_unit_test(folds_are_transposed_convolutions),
        cmocka_unit_test(channels_are_convolved_alone),
        cmocka_unit_test(pieces_give_the_bits_of_the_whole),
        cmocka_unit_test(tails_are_saved_and_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
