// test_signal_source.c: convolutions without windows in memory, against UNFOLD and LINEAR bit for
// bit; sines, polar forms and adapted norms against their formulas in double.
//
// in:  programs of one op or a few, made here
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "op_run.h"

#define CHANNELS 32
#define FILTERS 21 // no multiple of a panel
#define PI 3.14159265358979323846

static op_run run;
static double expected[OP_RUN_FLOATS];
static float both[2][OP_RUN_FLOATS];
static const uint32_t sizes[] = {0, 1, 2, 5, OP_RUN_ROWS};

// --- Convolutions -------------------------------------------------------------------------------

typedef struct convolution {
    kz_type weight;
    int ints[5]; // kernel, stride, dilation, left, right
    bool has_residual;
} convolution;

static kz_dim windows_of(const convolution *c) {
    kz_dim rows;
    const int *ints = c->ints;
    assert_true(kz_dim_window(&run.t, ints[3] + ints[4] - ints[2] * (ints[0] - 1),
                              (uint32_t)ints[1], &rows));
    return rows;
}

// The same product in one op or in two.
static void run_convolution(const convolution *c, bool is_one, uint32_t threads, float *out) {
    op_run_begin(&run, 5);
    const kz_dim rows = windows_of(c);
    const kz_type type = c->weight == KZ_Q8_0 ? KZ_A8 : KZ_F32;
    const uint32_t columns = (uint32_t)c->ints[0] * CHANNELS;
    uint32_t x = op_run_input(&run, "x", run.t, CHANNELS);
    const uint32_t added = op_run_input(&run, "y", rows, FILTERS);
    const uint32_t weight = tiny_weight_value(
        run.method, tiny_matrix(&run.builder, "weight", c->weight, FILTERS, columns, 1.0f));
    const uint32_t bias =
        tiny_weight_value(run.method, tiny_vector(&run.builder, "bias", FILTERS, 0.0f, 1.0f));
    const uint32_t result = op_run_output(&run, rows, FILTERS);
    const uint32_t residual = c->has_residual ? added : KZ_NO_VALUE;
    if (type == KZ_A8) {
        const uint32_t quantised = tiny_rows(run.method, KZ_A8, run.t, CHANNELS);
        tiny_add(run.method, KZ_OP_QUANTISE, (uint32_t[]){x, quantised}, 2);
        x = quantised;
    }
    if (!is_one) {
        const uint32_t windows = tiny_rows(run.method, type, rows, columns);
        memcpy(tiny_add(run.method, KZ_OP_UNFOLD, (uint32_t[]){x, windows}, 2)->ints, c->ints,
               sizeof c->ints);
        x = windows;
    }
    kz_instruction *op = tiny_add(run.method, is_one ? KZ_OP_CONVOLVE : KZ_OP_LINEAR,
                                  (uint32_t[]){x, weight, bias, residual, result}, 5);
    if (is_one) {
        memcpy(op->ints, c->ints, sizeof c->ints);
    }
    op_run_open(&run, threads);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        op_run_call(&run, sizes[i], run.x, run.y, out);
        out += kz_dim_value(&rows, &sizes[i], 1) * FILTERS;
    }
    op_run_close(&run);
}

static void convolutions_are_unfolded_products(void **state) {
    (void)state;
    static const convolution cases[] = {
        {KZ_F32, {3, 1, 1, 1, 1}, true},    {KZ_Q8_0, {3, 1, 1, 1, 1}, true},
        {KZ_F32, {7, 1, 3, 9, 9}, false},   {KZ_Q8_0, {7, 1, 3, 9, 9}, false},
        {KZ_F16, {5, 2, 1, 2, 2}, false},   {KZ_Q8_0, {12, 6, 1, 3, 7}, true},
        {KZ_Q8_0, {11, 1, 5, 25, 25}, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(both, 0, sizeof both);
        run_convolution(&cases[i], true, 3, both[0]);
        run_convolution(&cases[i], false, 1, both[1]);
        assert_memory_equal(both[0], both[1], sizeof both[0]);
        assert_true(both[0][0] != 0.0f);
    }
}

// --- Sources ------------------------------------------------------------------------------------

enum { STRETCH = 5, HARMONICS = 3 };

// The phase of harmonic h at row `row`, in turns.
static double phase_at(const float *hz, uint32_t t, size_t row, int h) {
    double phases[OP_RUN_ROWS];
    double sum = 0.0;
    for (uint32_t i = 0; i < t; i++) {
        const double turns = (double)hz[i] * h / 1000.0;
        sum += (turns - floor(turns)) * STRETCH;
        phases[i] = sum;
    }
    const double place = fmin(fmax(((double)row + 0.5) / STRETCH - 0.5, 0.0), (double)(t - 1));
    const size_t low = (size_t)place;
    const size_t high = low + 1 < t ? low + 1 : low;
    return phases[low] + (place - (double)low) * (phases[high] - phases[low]);
}

static void sines_follow_the_pitch(void **state) {
    (void)state;
    op_run_begin(&run, 7);
    kz_dim rows;
    assert_true(kz_dim_stretch(&run.t, STRETCH, 0, &rows));
    const uint32_t x = op_run_input(&run, "x", run.t, 1);
    kz_instruction *op =
        tiny_add(run.method, KZ_OP_SINES, (uint32_t[]){x, op_run_output(&run, rows, HARMONICS)}, 2);
    op->ints[0] = STRETCH;
    op->ints[1] = HARMONICS;
    op->floats[0] = 1000.0f;
    op->floats[1] = 10.0f;
    op_run_open(&run, 2);
    for (uint32_t i = 0; i < OP_RUN_ROWS; i++) {
        run.x[i] = i % 7 == 3 ? 10.0f : 150.0f + 90.0f * run.x[i];
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t count = (size_t)sizes[i] * STRETCH * HARMONICS;
        for (size_t k = 0; k < count; k++) {
            const size_t row = k / HARMONICS;
            const bool is_voiced = run.x[row / STRETCH] > 10.0f;
            const int h = (int)(k % HARMONICS) + 1;
            expected[k] = is_voiced ? sin(2.0 * PI * phase_at(run.x, sizes[i], row, h)) : 0.0;
        }
        op_run_call(&run, sizes[i], run.x, NULL, run.out);
        op_run_expect("sines", run.out, expected, count, 2e-6);
    }
    op_run_close(&run);
}

static void polar_forms_rest_where_there_is_nothing(void **state) {
    (void)state;
    static const float rest[4] = {0.5f, -3.0f, 2.0f, 1.0f};
    static const float x[3][8] = {{1.0f, -1.0f, 0.0f, 1e-6f, 1.0f, 0.0f, -2.0f, 0.0f},
                                  {0.0f, 0.0f, 1e-7f, -1e-3f, 0.0f, -1e-9f, 0.0f, -1e-3f},
                                  {-3.0f, -3.0f, 4.0f, NAN, 4.0f, -1e-12f, -3.0f, 1.0f}};
    static const double magnitudes[3][4] = {
        {1.41421356, 1.0, 2.0, 1e-6}, {0.0, 1e-9, 1e-7, 1.41421356e-3}, {5.0, 3.0, 5.0, 0.0}};
    static const double phases[3][4] = {{PI / 4, PI, -PI / 2, 1.0},
                                        {0.5, -3.0, 2.0, -3 * PI / 4},
                                        {2.21429744, -PI, -0.64350111, 0.0}};
    op_run_begin(&run, 9);
    const uint32_t in = op_run_input(&run, "x", run.t, 8);
    const uint32_t weight =
        tiny_weight_value(run.method, tiny_constant(&run.builder, "rest", rest, 4));
    tiny_add(run.method, KZ_OP_POLAR, (uint32_t[]){in, weight, op_run_output(&run, run.t, 8)}, 3)
        ->floats[0] = 1e-5f;
    op_run_open(&run, 1);
    op_run_call(&run, 3, x, NULL, run.out);
    for (size_t i = 0; i < 12; i++) {
        const float *row = run.out + i / 4 * 8;
        if (i == 11) { // what is no number shows
            assert_true(isnan(row[3]) && isnan(row[7]));
            continue;
        }
        assert_float_equal(row[i % 4], magnitudes[i / 4][i % 4], 1e-6);
        assert_float_equal(row[4 + i % 4], phases[i / 4][i % 4], 1e-6);
    }
    op_run_close(&run);
}

// --- Norms that are adapted ---------------------------------------------------------------------

enum { WIDTH = 70 }; // more than a chunk of columns, no multiple of a vector

static double active(double y, double alpha, double beta, bool has_alpha) {
    const double wave = sin(alpha * y);
    return has_alpha ? y + wave * wave * beta : y < 0.0 ? 0.2 * y : y;
}

// The norm of a column in double, scaled and shifted.
static double adapted(size_t t, size_t row, size_t c) {
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < t; i++) {
        mean += (double)run.x[i * WIDTH + c] / (double)t;
    }
    for (size_t i = 0; i < t; i++) {
        variance += pow((double)run.x[i * WIDTH + c] - mean, 2.0) / (double)t;
    }
    const double normed = ((double)run.x[row * WIDTH + c] - mean) / sqrt(variance + 1e-5);
    return normed * (1.0 + (double)run.y[c]) + (double)run.y[WIDTH + c];
}

static void check_adapted(bool has_alpha) {
    op_run_begin(&run, 13);
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    const uint32_t wish = op_run_input(&run, "y", kz_dim_constant(1), 2 * WIDTH);
    const uint32_t fit = tiny_rows(run.method, KZ_F32, kz_dim_constant(1), 3 * WIDTH);
    const uint32_t alpha = tiny_vector(&run.builder, "alpha", WIDTH, 1.0f, 0.5f);
    const uint32_t beta = tiny_vector(&run.builder, "beta", WIDTH, 1.0f, 0.5f);
    const uint32_t first = has_alpha ? tiny_weight_value(run.method, alpha) : KZ_NO_VALUE;
    const uint32_t second = has_alpha ? tiny_weight_value(run.method, beta) : KZ_NO_VALUE;
    tiny_add(run.method, KZ_OP_COLUMN_FIT, (uint32_t[]){x, wish, fit}, 3)->floats[0] = 1e-5f;
    tiny_add(run.method, KZ_OP_ADAPT,
             (uint32_t[]){x, fit, first, second, op_run_output(&run, run.t, WIDTH)}, 5)
        ->floats[0] = 0.2f;
    op_run_open(&run, 2);
    for (size_t i = 0; i < OP_RUN_ROWS * WIDTH; i++) {
        run.x[i] += 30.0f; // far from zero
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < (size_t)sizes[i] * WIDTH; k++) {
            const size_t c = k % WIDTH;
            expected[k] =
                active(adapted(sizes[i], k / WIDTH, c), (double)run.builder.floats[alpha][c],
                       (double)run.builder.floats[beta][c], has_alpha);
        }
        op_run_call(&run, sizes[i], run.x, run.y, run.out);
        op_run_expect("adapt", run.out, expected, (size_t)sizes[i] * WIDTH, 1e-4);
    }
    op_run_close(&run);
}

static void columns_are_fitted_and_adapted(void **state) {
    (void)state;
    check_adapted(true);
    check_adapted(false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_unfolded_products),
        cmocka_unit_test(columns_are_fitted_and_adapted),
        cmocka_unit_test(sines_follow_the_pitch),
        cmocka_unit_test(polar_forms_rest_where_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
