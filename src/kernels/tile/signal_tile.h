// signal_tile.h: what voices and voice activity compute on signals, sixteen lanes at a time.
//
// in: simd_*.h and math_tile.h included before. out: one kernel a slot. An element's result does
// not depend on its place in a row: what is left over after whole groups goes through the same
// operations. Errors, measured against double: sin and cos 3e-7 for |x| up to 1e4, tanh and elu
// 3e-7 absolute, sigmoid and exp 4e-7 relative.
#include "kernels/variants.h"

void KZ_NAME(kz_mul)(const float *a, const float *b, size_t count, float *out) {
    SIMD_FOR_LANES(i, n, count) {
        v_store_some(out + i, v_mul(v_load_some(a + i, n), v_load_some(b + i, n)), n);
    }
}

// sin(x - turns * pi) where |x - turns * pi| <= pi / 2. pi is taken off in three parts, the first
// short enough for turns times it to be exact, the products fused. The polynomial is Taylor's of
// degree 11 (error 6e-8 at its ends).
SIMD_INLINE vfloat v_sine_of_rest(vfloat x, vfloat turns) {
    vfloat r = v_fnma(turns, v_set(3.140625f), x);
    r = v_fnma(turns, v_set(9.67653585e-4f), r);
    r = v_fnma(turns, v_set(5.12668814e-12f), r);
    const vfloat square = v_mul(r, r);
    vfloat p = v_fma(square, v_set(-1.0f / 39916800.0f), v_set(1.0f / 362880.0f));
    p = v_fma(p, square, v_set(-1.0f / 5040.0f));
    p = v_fma(p, square, v_set(1.0f / 120.0f));
    p = v_fma(p, square, v_set(-1.0f / 6.0f));
    return v_fma(v_mul(r, square), p, r);
}

#define SIMD_TURNS_OF_ONE 0.318309886f // 1 / pi

// -1 for odd, 1 for even whole numbers.
SIMD_INLINE vfloat v_parity(vfloat whole) {
    const vfloat half = v_mul(whole, v_set(0.5f));
    const vfloat rest = v_abs(v_sub(half, v_round(half)));
    return v_fnma(rest, v_set(4.0f), v_set(1.0f));
}

SIMD_INLINE vfloat v_sin(vfloat x) {
    const vfloat turns = v_round(v_mul(x, v_set(SIMD_TURNS_OF_ONE)));
    return v_mul(v_sine_of_rest(x, turns), v_parity(turns));
}

// cos(x) = sin(x + pi / 2): half a turn more.
SIMD_INLINE vfloat v_cos(vfloat x) {
    const vfloat turns = v_round(v_fma(x, v_set(SIMD_TURNS_OF_ONE), v_set(0.5f)));
    return v_mul(v_sine_of_rest(x, v_sub(turns, v_set(0.5f))), v_parity(turns));
}

SIMD_INLINE vfloat v_sigmoid(vfloat x) {
    return v_times_sigmoid(v_set(1.0f), x);
}

SIMD_INLINE vfloat v_tanh(vfloat x) {
    return v_fma(v_sigmoid(v_add(x, x)), v_set(2.0f), v_set(-1.0f));
}

// Of NaN and a number, max and min give the second operand: x stands there.
SIMD_INLINE vfloat v_positive(vfloat x) {
    return v_max(v_zero(), x);
}

SIMD_INLINE vfloat v_negative(vfloat x) {
    return v_min(v_zero(), x);
}

SIMD_INLINE vfloat v_elu(vfloat x, float a) {
    const vfloat fall = v_sub(v_exp(v_negative(x)), v_set(1.0f));
    return v_fma(fall, v_set(a), v_positive(x));
}

// One loop for each function, so that the choice is made once a row.
#define SIMD_MAP(formula)                           \
    do {                                            \
        SIMD_FOR_LANES(i, n, count) {               \
            const vfloat v = v_load_some(x + i, n); \
            v_store_some(out + i, formula, n);      \
        }                                           \
    } while (0)

void KZ_NAME(kz_map)(kz_map function, float a, float b, const float *x, size_t count, float *out) {
    switch (function) {
    case KZ_MAP_RELU:
        SIMD_MAP(v_positive(v));
        return;
    case KZ_MAP_LEAKY_RELU:
        SIMD_MAP(v_fma(v_negative(v), v_set(a), v_positive(v)));
        return;
    case KZ_MAP_SIGMOID:
        SIMD_MAP(v_sigmoid(v));
        return;
    case KZ_MAP_TANH:
        SIMD_MAP(v_tanh(v));
        return;
    case KZ_MAP_ELU:
        SIMD_MAP(v_elu(v, a));
        return;
    case KZ_MAP_EXP:
        SIMD_MAP(v_exp(v));
        return;
    case KZ_MAP_SIN:
        SIMD_MAP(v_sin(v));
        return;
    case KZ_MAP_COS:
        SIMD_MAP(v_cos(v));
        return;
    case KZ_MAP_CLAMP:
        SIMD_MAP(v_min(v_set(b), v_max(v_set(a), v)));
        return;
    case KZ_MAP_SCALE:
        SIMD_MAP(v_fma(v, v_set(a), v_set(b)));
        return;
    default:
        // Logarithms and roots stand at the edges of models: a few rows.
        kz_map__ref(function, a, b, x, count, out);
    }
}

#undef SIMD_MAP

// The square needs no parity.
void KZ_NAME(kz_snake)(const float *x, const float *alpha, const float *beta, size_t count,
                       float *out) {
    SIMD_FOR_LANES(i, n, count) {
        const vfloat a = v_load_some(x + i, n);
        const vfloat angle = v_mul(a, v_load_some(alpha + i, n));
        const vfloat turns = v_round(v_mul(angle, v_set(SIMD_TURNS_OF_ONE)));
        const vfloat sine = v_sine_of_rest(angle, turns);
        v_store_some(out + i, v_fma(v_mul(sine, sine), v_load_some(beta + i, n), a), n);
    }
}

void KZ_NAME(kz_scale_shift)(const float *x, const float *gamma, const float *beta, size_t count,
                             float *out) {
    SIMD_FOR_LANES(i, n, count) {
        const vfloat factor = v_add(v_set(1.0f), v_load_some(gamma + i, n));
        v_store_some(out + i, v_fma(v_load_some(x + i, n), factor, v_load_some(beta + i, n)), n);
    }
}

void KZ_NAME(kz_centre)(const float *x, const float *mean, const float *factor, size_t count,
                        float *out) {
    SIMD_FOR_LANES(i, n, count) {
        const vfloat centred = v_sub(v_load_some(x + i, n), v_load_some(mean + i, n));
        v_store_some(out + i, v_mul(centred, v_load_some(factor + i, n)), n);
    }
}

#define TAP_VECTORS 4 // sums in registers while the taps pass

void KZ_NAME(kz_depthwise)(const float *x, size_t stride, const float *weights, const float *bias,
                           size_t taps, size_t columns, float *out) {
    size_t column = 0;
    for (; column + (size_t)16 * TAP_VECTORS <= columns; column += (size_t)16 * TAP_VECTORS) {
        vfloat sums[TAP_VECTORS];
        SIMD_UNROLL
        for (size_t v = 0; v < TAP_VECTORS; v++) {
            sums[v] = bias ? v_load(bias + column + 16 * v) : v_zero();
        }
        for (size_t j = 0; j < taps; j++) {
            const float *row = (const float *)((const uint8_t *)x + j * stride) + column;
            const float *weight = weights + j * columns + column;
            SIMD_UNROLL
            for (size_t v = 0; v < TAP_VECTORS; v++) {
                sums[v] = v_fma(v_load(weight + 16 * v), v_load(row + 16 * v), sums[v]);
            }
        }
        SIMD_UNROLL
        for (size_t v = 0; v < TAP_VECTORS; v++) {
            v_store(out + column + 16 * v, sums[v]);
        }
    }
    SIMD_FOR_LANES(i, n, columns - column) {
        const size_t c = column + i;
        vfloat sum = bias ? v_load_some(bias + c, n) : v_zero();
        for (size_t j = 0; j < taps; j++) {
            const float *row = (const float *)((const uint8_t *)x + j * stride);
            sum = v_fma(v_load_some(weights + j * columns + c, n), v_load_some(row + c, n), sum);
        }
        v_store_some(out + c, sum, n);
    }
}

void KZ_NAME(kz_lstm_cell)(const float *input, const float *forget, const float *cell,
                           const float *output, size_t count, float *c, float *out_h) {
    SIMD_FOR_LANES(i, n, count) {
        const vfloat kept = v_mul(v_sigmoid(v_load_some(forget + i, n)), v_load_some(c + i, n));
        const vfloat fresh = v_tanh(v_load_some(cell + i, n));
        const vfloat next = v_fma(v_sigmoid(v_load_some(input + i, n)), fresh, kept);
        v_store_some(c + i, next, n);
        const vfloat open = v_sigmoid(v_load_some(output + i, n));
        v_store_some(out_h + i, v_mul(open, v_tanh(next)), n);
    }
}

// Rows whose moments are taken together: few enough for their sums to be exact to a float's last
// bits, and for them to lie in the first cache for the second pass.
#define SIMD_MOMENT_ROWS ((size_t)32)

// Of up to SIMD_MOMENT_ROWS rows: what their means have beyond the first row, which keeps all
// digits of columns far from zero, and the sums of squares around the means.
SIMD_INLINE void moments_of_block(const float *x, size_t stride, size_t rows, size_t columns,
                                  float *out_means, float *out_squares) {
    const vfloat share = v_set(1.0f / (float)rows);
    SIMD_FOR_LANES(c, n, columns) {
        const uint8_t *first = (const uint8_t *)(x + c);
        const vfloat base = v_load_some(x + c, n);
        vfloat sum = v_zero();
        vfloat squares = v_zero();
        for (size_t row = 1; row < rows; row++) {
            const vfloat value = v_load_some((const float *)(first + row * stride), n);
            sum = v_add(sum, v_sub(value, base));
        }
        const vfloat mean = v_mul(sum, share);
        for (size_t row = 0; row < rows; row++) {
            const vfloat value = v_load_some((const float *)(first + row * stride), n);
            const vfloat rest = v_sub(v_sub(value, base), mean);
            squares = v_fma(rest, rest, squares);
        }
        v_store_some(out_means + c, mean, n);
        v_store_some(out_squares + c, squares, n);
    }
}

// Blocks are joined in double (Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm
// for Computing Sample Variances", 1979).
void KZ_NAME(kz_column_moments)(const float *x, size_t stride, size_t rows, size_t columns,
                                float *out_mean, float *out_variance) {
    double means[64] = {0};
    double squares[64] = {0};
    for (size_t row = 0; row < rows; row += SIMD_MOMENT_ROWS) {
        const size_t left = rows - row;
        const size_t count = left < SIMD_MOMENT_ROWS ? left : SIMD_MOMENT_ROWS;
        const double share = (double)count / (double)(row + count);
        const float *block = (const float *)((const uint8_t *)x + row * stride);
        float block_means[64], block_squares[64];
        moments_of_block(block, stride, count, columns, block_means, block_squares);
        for (size_t c = 0; c < columns; c++) {
            const double step = (double)block[c] + (double)block_means[c] - means[c];
            squares[c] += (double)block_squares[c] + step * step * (double)row * share;
            means[c] += step * share;
        }
    }
    for (size_t c = 0; c < columns; c++) {
        out_mean[c] = (float)means[c];
        out_variance[c] = (float)(squares[c] / (double)rows);
    }
}
