// quant_encode.c: floats -> row form, with the block scales that lose least.
//
// in:  one row of floats
// out: plain 16-bit elements, or blocks of 32 with f16 scales
// For the 4-bit types a few clippings of the block's range are tried; each gives integers, the
// integers give the scale (and minimum) of least squares in closed form, and the best one is
// rounded to f16 and the integers taken once more for the rounded scale. The search runs on the
// block as 16-bit integers: eight fit a vector of the plainest machine, and their sums are the same
// in whatever order a compiler adds them, so that the bytes do not depend on it. Rounding of floats
// adds and subtracts 1.5 * 2^23, which compilers turn into vector code where lrintf would be a call
// an element.
#include "format/quant.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

#define LANES 8
#define ROUNDER 12582912.0f // 1.5 * 2^23: adding it leaves no bits for a fraction
#define F16_LARGEST 65504.0f

static void write_u16(uint8_t *out, uint16_t value) {
    memcpy(out, &value, sizeof value);
}

static float round_even(float value) {
    return (value + ROUNDER) - ROUNDER;
}

// Comparisons are written so that NaN ends at a limit; blocks with NaN were refused before.
static float clamp(float value, float least, float greatest) {
    const float raised = value > least ? value : least;
    return raised < greatest ? raised : greatest;
}

// One fixed tree of additions, so that bytes do not depend on how a compiler sums.
static float add_lanes(const float lanes[LANES]) {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// False when a value is not finite: x - x is 0 for finite x only.
static bool is_finite_block(const float *values) {
    float lanes[LANES] = {0};
    for (size_t i = 0; i < KZ_BLOCK; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            lanes[lane] += values[i + lane] - values[i + lane];
        }
    }
    return add_lanes(lanes) == 0.0f;
}

static void find_range(const float *values, float *out_least, float *out_greatest) {
    float least[LANES];
    float greatest[LANES];
    memcpy(least, values, sizeof least);
    memcpy(greatest, values, sizeof greatest);
    for (size_t i = LANES; i < KZ_BLOCK; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            const float value = values[i + lane];
            least[lane] = value < least[lane] ? value : least[lane];
            greatest[lane] = value > greatest[lane] ? value : greatest[lane];
        }
    }
    *out_least = least[0];
    *out_greatest = greatest[0];
    for (size_t lane = 1; lane < LANES; lane++) {
        *out_least = least[lane] < *out_least ? least[lane] : *out_least;
        *out_greatest = greatest[lane] > *out_greatest ? greatest[lane] : *out_greatest;
    }
}

// 1 / scale, and 0 for a scale that f16 cannot tell from zero: the whole block is then zeros.
static float inverse_of(float scale) {
    return scale != 0.0f ? 1.0f / scale : 0.0f;
}

// --- 8 bits -------------------------------------------------------------------------------------

static bool encode_q8_0_block(const float *values, uint8_t *out_block) {
    float least, greatest;
    find_range(values, &least, &greatest);
    const float largest = -least > greatest ? -least : greatest;
    if (!is_finite_block(values) || largest / 127.0f > F16_LARGEST) {
        return false;
    }
    const uint16_t scale = kz_f16_from_float(largest / 127.0f);
    // By the scale as it is stored, not as it was computed: the integers then fit what a reader
    // multiplies.
    const float inverse = inverse_of(kz_float_from_f16(scale));
    write_u16(out_block, scale);
    int8_t *q = (int8_t *)(out_block + 2);
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        // The rounded scale may be smaller than the exact one: the clamp keeps 127 from becoming
        // 128.
        q[i] = (int8_t)(int)round_even(clamp(values[i] * inverse, -127.0f, 127.0f));
    }
    return true;
}

// --- 4 bits -------------------------------------------------------------------------------------

// The nibbles of round((x - zero) * inverse), from `least` on 16 of them.
static void write_nibbles(const float *values, float zero, float inverse, float least,
                          uint8_t *out_bytes) {
    int32_t q[KZ_BLOCK];
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        const float steps = (values[i] - zero) * inverse;
        q[i] = (int32_t)(round_even(clamp(steps, least, least + 15.0f)) - least);
    }
    for (size_t i = 0; i < KZ_BLOCK / 2; i++) {
        // As GGUF has it: element i and i + 16 share a byte.
        out_bytes[i] = (uint8_t)(q[i] | q[i + 16] << 4);
    }
}

// Sums over a block for the integers l nearest to (x - zero) * factor within [least, greatest].
typedef struct fit_sums {
    int32_t l, ll, xl;
} fit_sums;

// One candidate for a block of integers x: l = (x - zero) * factor / 2^16, in steps of 1/2^bits
// before it is rounded. 16 bits hold every product's upper half, so that a vector takes eight
// values at once, and integer sums are the same in any order.
typedef struct candidate {
    int16_t zero, factor;
} candidate;

// Right shifts of negative numbers are arithmetic with every compiler that builds this.
static inline fit_sums sum_fit(const int16_t x[KZ_BLOCK], candidate with, int bits, int16_t least,
                               int16_t greatest) {
    int16_t l[KZ_BLOCK];
    const int16_t half = (int16_t)(1 << (bits - 1));
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        const int16_t above = (int16_t)(x[i] - with.zero);
        const int16_t steps = (int16_t)((int32_t)above * with.factor >> 16);
        const int16_t nearest = (int16_t)((int16_t)(steps + half) >> bits);
        const int16_t raised = nearest > least ? nearest : least;
        l[i] = raised < greatest ? raised : greatest;
    }
    // Apart from the loop above: compilers have one instruction for a sum of such products.
    fit_sums sums = {0, 0, 0};
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        sums.l += l[i];
        sums.ll += (int32_t)l[i] * l[i];
        sums.xl += (int32_t)x[i] * l[i];
    }
    return sums;
}

// Integers for the search alone: what they round away, 2^-15 of the block's largest value, moves a
// scale by less than f16 tells apart.
static void scale_block(const float *values, float zero, float factor, float half,
                        int16_t out[KZ_BLOCK]) {
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        out[i] = (int16_t)(int32_t)((values[i] - zero) * factor + half);
    }
}

// Steps from zero to the block's largest value, which is -32767 in `x`: 8 clips nothing, fewer
// waste the end of the range, more clip the largest value. A greedy choice among steps from 6.2 to
// 11.5, of both signs, on normal and Laplacian values; a ninth one gains less than 0.1 % of the
// error.
#define Q4_0_BITS 10
#define Q4_0_FACTOR(steps) ((int16_t)((steps) * (1 << (Q4_0_BITS + 1)) + 0.5))
static const int16_t q4_0_factors[] = {Q4_0_FACTOR(8.0), Q4_0_FACTOR(8.3), Q4_0_FACTOR(7.0),
                                       Q4_0_FACTOR(8.6), Q4_0_FACTOR(7.7), Q4_0_FACTOR(8.9),
                                       Q4_0_FACTOR(7.3), Q4_0_FACTOR(6.3)};

// Least squares for x = d * l gives d = xl / ll, and takes xl^2 / ll from the squared error.
static float search_q4_0_scale(const float *values, float largest) {
    int16_t x[KZ_BLOCK];
    scale_block(values, 0.0f, -32767.0f / largest, 0.0f, x);
    // 0 / 1 is what no candidate gives: the largest value alone makes every ll at least 36.
    int64_t best_xl = 0, best_ll = 1;
    for (size_t i = 0; i < sizeof q4_0_factors / sizeof q4_0_factors[0]; i++) {
        const fit_sums sums = sum_fit(x, (candidate){0, q4_0_factors[i]}, Q4_0_BITS, -8, 7);
        // Fractions are compared by products: 23 bits squared times 11 bits fit 64.
        if ((int64_t)sums.xl * sums.xl * best_ll > best_xl * best_xl * sums.ll) {
            best_xl = sums.xl;
            best_ll = sums.ll;
        }
    }
    return (float)best_xl / (float)best_ll * (largest / -32767.0f);
}

static bool encode_q4_0_block(const float *values, uint8_t *out_block) {
    float least, greatest;
    find_range(values, &least, &greatest);
    // With its sign: -8 is the end of the range that has one step more, so the largest value gets
    // it.
    const float largest = -least > greatest ? least : greatest;
    if (!is_finite_block(values) || fabsf(largest) / 7.0f > F16_LARGEST) {
        return false;
    }
    // A block that f16 cannot tell from zero is all zeros: the search divides by its largest value.
    const bool is_zero = kz_float_from_f16(kz_f16_from_float(largest / 8.0f)) == 0.0f;
    const uint16_t scale = is_zero ? 0 : kz_f16_from_float(search_q4_0_scale(values, largest));
    const float inverse = inverse_of(kz_float_from_f16(scale));
    write_u16(out_block, scale);
    write_nibbles(values, 0.0f, inverse, -8.0f, out_block + 2);
    return true;
}

// Steps of 1/15 of the range that are cut off at its two ends before the integers are taken. The
// range is 16383 in `x`, so that a cut below 0 stays in 16 bits.
#define Q4_1_BITS 8
#define Q4_1_RANGE 16383
#define Q4_1_STEP (Q4_1_RANGE / 15.0)
#define Q4_1_CUT(low, high)                                                                    \
    {                                                                                          \
        (int16_t)((low)*Q4_1_STEP),                                                            \
            (int16_t)(65536.0 * (1 << Q4_1_BITS) / Q4_1_STEP * 15.0 / (15.0 - (low) - (high))) \
    }
static const candidate q4_1_cuts[] = {Q4_1_CUT(0.0, 0.0), Q4_1_CUT(0.4, 0.4), Q4_1_CUT(0.8, 0.8),
                                      Q4_1_CUT(1.3, 1.3), Q4_1_CUT(0.5, 0.0), Q4_1_CUT(0.0, 0.5),
                                      Q4_1_CUT(1.2, 0.2), Q4_1_CUT(0.2, 1.2), Q4_1_CUT(2.0, 0.4),
                                      Q4_1_CUT(0.4, 2.0), Q4_1_CUT(2.0, 2.0), Q4_1_CUT(-0.3, -0.3),
                                      Q4_1_CUT(0.9, 0.1), Q4_1_CUT(0.1, 0.9)};

typedef struct line_fit {
    float scale, minimum;
} line_fit;

// Least squares for x = d * l + m over n values: with D = n * ll - l^2 and C = n * xl - x * l, d is
// C / D, m is (x - d * l) / n, and C^2 / D is what the line takes from the squared error, times n.
static line_fit search_q4_1_line(const int16_t x[KZ_BLOCK], int32_t sum) {
    line_fit best = {0.0f, (float)sum / KZ_BLOCK};
    double best_squared = 0.0, best_determinant = 1.0;
    for (size_t i = 0; i < sizeof q4_1_cuts / sizeof q4_1_cuts[0]; i++) {
        const fit_sums sums = sum_fit(x, q4_1_cuts[i], Q4_1_BITS, 0, 15);
        const double determinant = (double)(KZ_BLOCK * sums.ll - sums.l * sums.l);
        const double covariance = (double)(KZ_BLOCK * (int64_t)sums.xl - (int64_t)sum * sums.l);
        // By products, as above; 74 bits fit no integer.
        if (covariance * covariance * best_determinant > best_squared * determinant) {
            best_squared = covariance * covariance;
            best_determinant = determinant;
            best.scale = (float)(covariance / determinant);
            best.minimum = ((float)sum - best.scale * (float)sums.l) / KZ_BLOCK;
        }
    }
    return best;
}

// The line of a block that has a range, in the block's own unit.
static line_fit fit_q4_1_block(const float *values, float least, float range) {
    int16_t x[KZ_BLOCK];
    int32_t sum = 0;
    scale_block(values, least, Q4_1_RANGE / range, 0.5f, x);
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        sum += x[i];
    }
    const line_fit line = search_q4_1_line(x, sum);
    const float unit = range / Q4_1_RANGE;
    return (line_fit){line.scale * unit, line.minimum * unit + least};
}

static bool encode_q4_1_block(const float *values, uint8_t *out_block) {
    float least, greatest;
    find_range(values, &least, &greatest);
    if (!is_finite_block(values) || -least > F16_LARGEST || greatest > F16_LARGEST) {
        return false;
    }
    const float range = greatest - least;
    // A block of values that f16 cannot tell apart has no slope: its middle is all there is to say.
    line_fit line = {0.0f, least + range / 2.0f};
    if (kz_float_from_f16(kz_f16_from_float(range / 15.0f)) != 0.0f) {
        line = fit_q4_1_block(values, least, range);
    }
    const uint16_t scale = kz_f16_from_float(line.scale);
    const uint16_t minimum = kz_f16_from_float(line.minimum);
    const float inverse = inverse_of(kz_float_from_f16(scale));
    write_u16(out_block, scale);
    write_u16(out_block + 2, minimum);
    write_nibbles(values, kz_float_from_f16(minimum), inverse, 0.0f, out_block + 4);
    return true;
}

// --- Rows ---------------------------------------------------------------------------------------

static bool encode_f16(const float *values, size_t columns, uint8_t *out_row) {
    bool fits = true;
    for (size_t i = 0; i < columns; i++) {
        const uint16_t half = kz_f16_from_float(values[i]);
        // A finite value that becomes infinity does not fit; infinity itself does.
        fits = fits && ((half & 0x7fffu) != 0x7c00u || isinf(values[i]));
        write_u16(out_row + 2 * i, half);
    }
    return fits;
}

static bool encode_bf16(const float *values, size_t columns, uint8_t *out_row) {
    for (size_t i = 0; i < columns; i++) {
        write_u16(out_row + 2 * i, kz_bf16_from_float(values[i]));
    }
    return true;
}

typedef bool (*block_encoder)(const float *values, uint8_t *out_block);

static bool encode_blocks(kz_type type, block_encoder encode, const float *values, size_t columns,
                          uint8_t *out_row) {
    // columns is a multiple of 32: the exporter's formats pass refuses every other.
    for (size_t i = 0; i < columns; i += KZ_BLOCK, out_row += kz_type_block_bytes(type)) {
        if (!encode(values + i, out_row)) {
            return false;
        }
    }
    return true;
}

bool kz_quant_can_encode(kz_type type) {
    return type == KZ_F32 || type == KZ_F16 || type == KZ_BF16 || type == KZ_Q8_0 ||
           type == KZ_Q4_0 || type == KZ_Q4_1;
}

bool kz_quant_encode_row(kz_type type, const float *values, size_t columns, void *out_row) {
    switch (type) {
    case KZ_F32:
        memcpy(out_row, values, columns * sizeof(float));
        return true;
    case KZ_F16:
        return encode_f16(values, columns, out_row);
    case KZ_BF16:
        return encode_bf16(values, columns, out_row);
    case KZ_Q8_0:
        return encode_blocks(type, encode_q8_0_block, values, columns, out_row);
    case KZ_Q4_0:
        return encode_blocks(type, encode_q4_0_block, values, columns, out_row);
    case KZ_Q4_1:
        return encode_blocks(type, encode_q4_1_block, values, columns, out_row);
    default:
        return false;
    }
}
