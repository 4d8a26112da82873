// test_signal_columns.c: recurrence and what is reduced over the rows, against formulas in double.
//
// in:  programs of one op, made here
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "op_run.h"

#define WIDTH 133 // more than two chunks of columns
#define EPSILON 1e-3f

static op_run run;
static double expected[OP_RUN_FLOATS];
static const uint32_t sizes[] = {1, 2, 5, OP_RUN_ROWS};

// --- Columns ------------------------------------------------------------------------------------

static void moments(const float *weights, size_t rows, size_t c, double *mean, double *variance) {
    *mean = 0.0;
    *variance = 0.0;
    for (size_t t = 0; t < rows; t++) {
        const double weight = weights ? (double)weights[t * WIDTH + c] : 1.0 / (double)rows;
        *mean += weight * (double)run.x[t * WIDTH + c];
    }
    for (size_t t = 0; t < rows; t++) {
        const double weight = weights ? (double)weights[t * WIDTH + c] : 1.0 / (double)rows;
        *variance += weight * pow((double)run.x[t * WIDTH + c] - *mean, 2.0);
    }
}

// Column 0 is constant, and column 1 lies far from zero.
static void shape_columns(void) {
    for (size_t t = 0; t < OP_RUN_ROWS; t++) {
        run.x[t * WIDTH] = 3.0f;
        run.x[t * WIDTH + 1] += 1000.0f;
    }
}

static void columns_are_normalised(void **state) {
    (void)state;
    op_run_begin(&run, 31);
    shape_columns();
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    tiny_add(run.method, KZ_OP_COLUMN_NORM, (uint32_t[]){x, op_run_output(&run, run.t, WIDTH)}, 2)
        ->floats[0] = EPSILON;
    op_run_open(&run, 3);
    for (size_t i = 0; i < 4; i++) {
        for (size_t c = 0; c < WIDTH; c++) {
            double mean, variance;
            moments(NULL, sizes[i], c, &mean, &variance);
            for (size_t t = 0; t < sizes[i]; t++) {
                expected[t * WIDTH + c] =
                    ((double)run.x[t * WIDTH + c] - mean) / sqrt(variance + (double)EPSILON);
            }
        }
        op_run_call(&run, sizes[i], run.x, NULL, run.out);
        // A mean of a thousand is a float: half a unit in its last place is 3e-5.
        op_run_expect("column_norm", run.out, expected, (size_t)sizes[i] * WIDTH, 1e-4);
    }
    op_run_call(&run, 0, run.x, NULL, run.out);
    op_run_close(&run);
}

static void check_pool(bool is_weighted) {
    op_run_begin(&run, 33);
    shape_columns();
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    const uint32_t weights =
        is_weighted ? op_run_input(&run, "weights", run.t, WIDTH) : KZ_NO_VALUE;
    tiny_add(run.method, KZ_OP_COLUMN_POOL,
             (uint32_t[]){x, weights, op_run_output(&run, kz_dim_constant(1), 2 * WIDTH)}, 3)
        ->floats[0] = EPSILON;
    op_run_open(&run, 3);
    for (size_t i = 0; i < 4; i++) {
        for (size_t c = 0; c < WIDTH; c++) {
            double total = 0.0, mean, variance;
            for (size_t t = 0; t < sizes[i]; t++) {
                run.y[t * WIDTH + c] = fabsf(tiny_random(&run.builder)) + 0.01f;
                total += (double)run.y[t * WIDTH + c];
            }
            for (size_t t = 0; t < sizes[i]; t++) {
                run.y[t * WIDTH + c] /= (float)total;
            }
            moments(is_weighted ? run.y : NULL, sizes[i], c, &mean, &variance);
            expected[c] = mean;
            expected[WIDTH + c] = sqrt(fmax(variance, (double)EPSILON));
        }
        op_run_call(&run, sizes[i], run.x, run.y, run.out);
        op_run_expect("column_pool", run.out, expected, (size_t)2 * WIDTH, 2e-6);
    }
    memset(expected, 0, (size_t)2 * WIDTH * sizeof *expected);
    op_run_call(&run, 0, run.x, run.y, run.out);
    op_run_expect("column_pool of nothing", run.out, expected, (size_t)2 * WIDTH, 0.0);
    op_run_close(&run);
}

static void columns_are_pooled(void **state) {
    (void)state;
    check_pool(false);
    check_pool(true);
}

static void columns_have_a_softmax(void **state) {
    (void)state;
    op_run_begin(&run, 35);
    shape_columns();
    const uint32_t x = op_run_input(&run, "x", run.t, WIDTH);
    tiny_add(run.method, KZ_OP_COLUMN_SOFTMAX, (uint32_t[]){x, op_run_output(&run, run.t, WIDTH)},
             2);
    op_run_open(&run, 3);
    for (size_t i = 0; i < 4; i++) {
        for (size_t c = 0; c < WIDTH; c++) {
            double total = 0.0;
            for (size_t t = 0; t < sizes[i]; t++) {
                expected[t * WIDTH + c] = exp((double)run.x[t * WIDTH + c] - (double)run.x[c]);
                total += expected[t * WIDTH + c];
            }
            for (size_t t = 0; t < sizes[i]; t++) {
                expected[t * WIDTH + c] /= total;
            }
        }
        op_run_call(&run, sizes[i], run.x, NULL, run.out);
        op_run_expect("column_softmax", run.out, expected, (size_t)sizes[i] * WIDTH, 1e-6);
    }
    op_run_close(&run);
}

// --- LSTM ---------------------------------------------------------------------------------------

typedef struct lstm_case {
    kz_type type;
    uint32_t hidden;
    bool is_reversed, is_output_second, has_states;
    double tolerance;
} lstm_case;

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

// One row; h and c [hidden] are those before and after it.
static void step_plainly(const lstm_case *lstm, const float *weights, const float *x, double *h,
                         double *c) {
    static double gates[4 * 512];
    const size_t hidden = lstm->hidden;
    for (size_t n = 0; n < 4 * hidden; n++) {
        gates[n] = (double)x[n];
        for (size_t k = 0; k < hidden; k++) {
            gates[n] += (double)weights[n * hidden + k] * h[k];
        }
    }
    const double *forget = gates + (lstm->is_output_second ? 2 : 1) * hidden;
    const double *cell = gates + (lstm->is_output_second ? 3 : 2) * hidden;
    const double *output = gates + (lstm->is_output_second ? 1 : 3) * hidden;
    for (size_t n = 0; n < hidden; n++) {
        c[n] = sigmoid(forget[n]) * c[n] + sigmoid(gates[n]) * tanh(cell[n]);
        h[n] = sigmoid(output[n]) * tanh(c[n]);
    }
}

static uint32_t make_lstm(const lstm_case *lstm) {
    const uint32_t hidden = lstm->hidden;
    op_run_begin(&run, 37);
    const uint32_t x = op_run_input(&run, "x", run.t, 4 * hidden);
    const uint32_t weight = tiny_matrix(&run.builder, "weight", lstm->type, 4 * hidden, hidden,
                                        2.0f / sqrtf((float)hidden));
    uint32_t h = KZ_NO_VALUE, c = KZ_NO_VALUE;
    if (lstm->has_states) {
        h = tiny_state_value(run.method, tiny_state(&run.builder, "h", KZ_F32, 1, 1, hidden));
        c = tiny_state_value(run.method, tiny_state(&run.builder, "c", KZ_F32, 1, 1, hidden));
    }
    // Into the second half of a joined value, as one direction of two.
    const uint32_t both = op_run_output(&run, run.t, 2 * hidden);
    kz_instruction *op = tiny_add(run.method, KZ_OP_LSTM,
                                  (uint32_t[]){x, tiny_weight_value(run.method, weight), h, c,
                                               tiny_view(run.method, both, hidden, hidden)},
                                  5);
    op->ints[0] = lstm->is_reversed;
    op->ints[1] = lstm->is_output_second;
    op_run_open(&run, 2);
    return weight;
}

static void check_lstm(const lstm_case *lstm) {
    static double h[512], c[512];
    static float found[OP_RUN_FLOATS];
    const uint32_t weight = make_lstm(lstm);
    const size_t hidden = lstm->hidden;
    const uint32_t rows = (uint32_t)(OP_RUN_FLOATS / (4 * hidden)) < OP_RUN_ROWS
                              ? (uint32_t)(OP_RUN_FLOATS / (4 * hidden))
                              : OP_RUN_ROWS;
    memset(h, 0, sizeof h);
    memset(c, 0, sizeof c);
    for (int call = 0; call < 2; call++) {
        if (!lstm->has_states) {
            memset(h, 0, sizeof h);
            memset(c, 0, sizeof c);
        }
        for (size_t i = 0; i < rows; i++) {
            const size_t row = lstm->is_reversed ? rows - 1 - i : i;
            step_plainly(lstm, run.builder.floats[weight], run.x + row * 4 * hidden, h, c);
            memcpy(expected + row * hidden, h, hidden * sizeof *h);
        }
        op_run_call(&run, rows, run.x, NULL, run.out);
        for (size_t i = 0; i < rows * hidden; i++) {
            found[i] = run.out[i / hidden * 2 * hidden + hidden + i % hidden];
        }
        op_run_expect("lstm", found, expected, rows * hidden, lstm->tolerance);
    }
    op_run_close(&run);
}

static void an_lstm_is_its_formula(void **state) {
    (void)state;
    static const lstm_case cases[] = {
        {KZ_F32, 32, false, false, false, 1e-5}, {KZ_F32, 48, true, true, false, 1e-5},
        {KZ_F32, 128, false, true, true, 1e-5},  {KZ_F32, 21, true, false, true, 1e-5},
        {KZ_F16, 96, false, false, true, 1e-5},  {KZ_BF16, 40, true, true, false, 1e-5},
        {KZ_Q8_0, 64, false, false, true, 2e-4}, {KZ_Q4_0, 96, true, true, false, 2e-4},
        {KZ_F32, 256, false, false, true, 1e-5}, // large enough for all threads
        {KZ_Q8_0, 512, false, true, true, 2e-4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_lstm(&cases[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_normalised),
        cmocka_unit_test(columns_are_pooled),
        cmocka_unit_test(columns_have_a_softmax),
        cmocka_unit_test(an_lstm_is_its_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
