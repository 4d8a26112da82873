// check_signal.c: what voices compute on signals, element by element and by column: see checks.h.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checks.h"

#define SPARE 16
#define TAPS 7

// Arrays of one row; each output has SPARE guards on both sides of [count].
typedef struct signal_case {
    size_t count;
    float *inputs[4];  // [count] each
    float *rows;       // [TAPS][count]
    float *weights;    // [TAPS][count]
    float *guarded[2]; // [SPARE + count + SPARE]
    float *out[2];
    double *expected[2]; // [count] each
    double tolerance;    // of max(1, |expected|)
} signal_case;

static signal_case make_case(case_random *random, size_t count, float size) {
    signal_case signal = {.count = count, .tolerance = 1e-6};
    for (size_t i = 0; i < 4; i++) {
        signal.inputs[i] = case_floats(random, count, i == 0 ? size : 1.5f);
    }
    signal.rows = case_floats(random, TAPS * count, 2.0f);
    signal.weights = case_floats(random, TAPS * count, 1.0f);
    for (size_t i = 0; i < 2; i++) {
        signal.guarded[i] = guarded_floats(count + 2 * (size_t)SPARE);
        signal.out[i] = signal.guarded[i] + SPARE;
        signal.expected[i] = case_memory(count * sizeof(double));
    }
    return signal;
}

static void free_case(signal_case *signal) {
    for (size_t i = 0; i < 4; i++) {
        free(signal->inputs[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        free(signal->guarded[i]);
        free(signal->expected[i]);
    }
    free(signal->rows);
    free(signal->weights);
}

static void compare(const kz_kernel_variant *variant, const signal_case *signal, size_t outputs) {
    for (size_t o = 0; o < outputs; o++) {
        for (size_t i = 0; i < signal->count; i++) {
            char what[96];
            const double expected = signal->expected[o][i];
            snprintf(what, sizeof what, "output %zu, element %zu of %zu, x %g", o, i, signal->count,
                     (double)signal->inputs[0][i]);
            expect_close(variant, what, signal->out[o][i], expected,
                         signal->tolerance * fmax(1.0, fabs(expected)));
        }
        for (size_t i = 0; i < SPARE; i++) {
            assert_true(is_guard(signal->guarded[o][i]));
            assert_true(is_guard(signal->out[o][signal->count + i]));
        }
    }
}

static double mapped(kz_map function, double a, double b, double x) {
    // fmin and fmax would lose a NaN.
    switch (function) {
    case KZ_MAP_RELU:
        return x < 0.0 ? 0.0 : x;
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
        return x < a ? a : x > b ? b : x;
    case KZ_MAP_LOG:
        return log(x < a ? a : x);
    case KZ_MAP_SQRT:
        return sqrt(x + a);
    default:
        return a * x + b;
    }
}

static void run_map(const kz_kernel_variant *variant, signal_case *signal, kz_map function) {
    const float a = function == KZ_MAP_SQRT ? 200.0f : 0.3f, b = 0.9f;
    for (size_t i = 0; i < signal->count; i++) {
        signal->expected[0][i] =
            mapped(function, (double)a, (double)b, (double)signal->inputs[0][i]);
    }
    ((kz_map_kernel)variant->function)(function, a, b, signal->inputs[0], signal->count,
                                       signal->out[0]);
}

static void run_snake(const kz_kernel_variant *variant, signal_case *signal) {
    float *const *in = signal->inputs;
    for (size_t i = 0; i < signal->count; i++) {
        const float angle = in[1][i] * in[0][i];
        signal->expected[0][i] = (double)in[0][i] + pow(sin((double)angle), 2.0) * (double)in[2][i];
    }
    ((kz_snake_kernel)variant->function)(in[0], in[1], in[2], signal->count, signal->out[0]);
}

// mul, scale_shift, centre, magnitude.
static void run_plain(const kz_kernel_variant *variant, signal_case *signal) {
    float *const *in = signal->inputs;
    for (size_t i = 0; i < signal->count; i++) {
        const double x = in[0][i], y = in[1][i], z = in[2][i];
        signal->expected[0][i] = variant->slot == KZ_SLOT_mul           ? x * y
                                 : variant->slot == KZ_SLOT_scale_shift ? x * (1.0 + y) + z
                                 : variant->slot == KZ_SLOT_centre      ? (x - y) * z
                                                                        : sqrt(x * x + y * y + 0.5);
    }
    if (variant->slot == KZ_SLOT_mul) {
        ((kz_add_kernel)variant->function)(in[0], in[1], signal->count, signal->out[0]);
    } else if (variant->slot == KZ_SLOT_scale_shift) {
        ((kz_scale_shift_kernel)variant->function)(in[0], in[1], in[2], signal->count,
                                                   signal->out[0]);
    } else if (variant->slot == KZ_SLOT_centre) {
        ((kz_centre_kernel)variant->function)(in[0], in[1], in[2], signal->count, signal->out[0]);
    } else {
        ((kz_magnitude_kernel)variant->function)(in[0], in[1], 0.5f, signal->count, signal->out[0]);
    }
    // Sums of rounded products: what cancels was as large as x.
    signal->tolerance = 5e-6;
}

static void run_depthwise(const kz_kernel_variant *variant, signal_case *signal, size_t taps,
                          bool has_bias) {
    const size_t count = signal->count;
    for (size_t c = 0; c < count; c++) {
        signal->expected[0][c] = has_bias ? (double)signal->inputs[1][c] : 0.0;
        for (size_t j = 0; j < taps; j++) {
            signal->expected[0][c] +=
                (double)signal->weights[j * count + c] * (double)signal->rows[j * count + c];
        }
    }
    signal->tolerance = 2e-6;
    ((kz_depthwise_kernel)variant->function)(signal->rows, count * sizeof(float), signal->weights,
                                             has_bias ? signal->inputs[1] : NULL, taps, count,
                                             signal->out[0]);
}

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static void run_cell(const kz_kernel_variant *variant, signal_case *signal) {
    float *const *in = signal->inputs;
    for (size_t i = 0; i < signal->count; i++) {
        const double before = signal->rows[i];
        const double c = sigmoid(in[1][i]) * before + sigmoid(in[0][i]) * tanh(in[2][i]);
        signal->expected[0][i] = c;
        signal->expected[1][i] = sigmoid(in[3][i]) * tanh(c);
        signal->out[0][i] = signal->rows[i];
    }
    ((kz_lstm_cell_kernel)variant->function)(in[0], in[1], in[2], in[3], signal->count,
                                             signal->out[0], signal->out[1]);
}

// Columns that lie far from zero, one of them constant.
static void run_moments(const kz_kernel_variant *variant, signal_case *signal) {
    const size_t count = signal->count;
    for (size_t c = 0; c < count; c++) {
        double mean = 0.0, variance = 0.0;
        for (size_t j = 0; j < TAPS; j++) {
            signal->rows[j * count + c] = c == 0 ? 7.0f : signal->rows[j * count + c] + 300.0f;
            mean += (double)signal->rows[j * count + c] / TAPS;
        }
        for (size_t j = 0; j < TAPS; j++) {
            variance += pow((double)signal->rows[j * count + c] - mean, 2.0) / TAPS;
        }
        signal->expected[0][c] = mean;
        signal->expected[1][c] = variance;
    }
    ((kz_column_moments_kernel)variant->function)(signal->rows, count * sizeof(float), TAPS, count,
                                                  signal->out[0], signal->out[1]);
}

// The first input's element 0 is `extreme`, where that is not 0.
static void check_case(const kz_kernel_variant *variant, case_random *random, size_t count,
                       float size, float extreme) {
    for (int part = 1; part < (variant->slot == KZ_SLOT_map ? KZ_MAP_COUNT : 2); part++) {
        signal_case signal = make_case(random, count, size);
        const bool is_cell = variant->slot == KZ_SLOT_lstm_cell;
        if (extreme != 0.0f) {
            signal.inputs[0][count / 2] = extreme;
        }
        switch (variant->slot) {
        case KZ_SLOT_map:
            run_map(variant, &signal, (kz_map)part);
            break;
        case KZ_SLOT_snake:
            run_snake(variant, &signal);
            break;
        case KZ_SLOT_lstm_cell:
            run_cell(variant, &signal);
            break;
        default:
            run_plain(variant, &signal);
        }
        compare(variant, &signal, is_cell ? 2 : 1);
        free_case(&signal);
    }
}

static void check_columns(const kz_kernel_variant *variant, case_random *random, size_t count) {
    for (size_t taps = 0; taps <= TAPS; taps++) {
        signal_case signal = make_case(random, count, 1.0f);
        if (variant->slot == KZ_SLOT_depthwise) {
            run_depthwise(variant, &signal, taps, taps % 2 == 0);
            compare(variant, &signal, 1);
        } else if (count <= 64) {
            run_moments(variant, &signal);
            compare(variant, &signal, 2);
        }
        free_case(&signal);
    }
}

// Angles of many turns, where the sine must still be right.
static void check_turns(const kz_kernel_variant *variant, case_random *random) {
    for (int part = 0; part < 2; part++) {
        signal_case signal = make_case(random, 40000, 1e4f);
        if (variant->slot == KZ_SLOT_snake) {
            for (size_t i = 0; i < signal.count; i++) {
                signal.inputs[1][i] = 1.0f;
            }
            run_snake(variant, &signal);
        } else {
            run_map(variant, &signal, part == 0 ? KZ_MAP_SIN : KZ_MAP_COS);
        }
        compare(variant, &signal, 1);
        free_case(&signal);
    }
}

void check_signal(const kz_kernel_variant *variant) {
    static const size_t counts[] = {1, 2, 15, 16, 17, 31, 33, 64, 100, 127, 576, 2049};
    case_random random = {2025};
    const bool is_column =
        variant->slot == KZ_SLOT_depthwise || variant->slot == KZ_SLOT_column_moments;
    for (size_t i = 0; i < 12; i++) {
        if (is_column) {
            check_columns(variant, &random, counts[i]);
        } else {
            check_case(variant, &random, counts[i], i % 2 == 0 ? 3.0f : 60.0f, 0.0f);
        }
    }
    if (!is_column) {
        check_case(variant, &random, 50, 3.0f, NAN);
        check_case(variant, &random, 50, 3.0f, INFINITY);
        check_case(variant, &random, 50, 3.0f, -INFINITY);
    }
    if (variant->slot == KZ_SLOT_map || variant->slot == KZ_SLOT_snake) {
        check_turns(variant, &random);
    }
}

bool is_signal_slot(kz_kernel_slot slot) {
    return slot >= KZ_SLOT_mul && slot <= KZ_SLOT_column_moments;
}
