// quant_encode.c: floats -> row form, with the block scales that lose least.
//
// in:  one row of floats
// out: plain 16-bit elements, or blocks of 32 with f16 scales
// For the 4-bit types a few clippings of the block's range are tried; each gives integers, the
// integers give the scale (and minimum) of least squares in closed form, and the best one is
// rounded to f16 and the integers taken once more for the rounded scale. Rounding adds and
// subtracts 1.5 * 2^23, which compilers turn into vector code where lrintf would be a call an
// element; sums run over eight lanes in a fixed order, so that the bytes do not depend on the
// compiler.
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

static void write_nibbles(const float q[KZ_BLOCK], uint8_t *out_bytes) {
    for (size_t i = 0; i < KZ_BLOCK / 2; i++) {
        // As GGUF has it: element i and i + 16 share a byte.
        out_bytes[i] = (uint8_t)((int)q[i] | (int)q[i + 16] << 4);
    }
}

// Sums over a block for integers l = round(inverse * (x - zero)) within [least, greatest].
typedef struct fit_sums {
    float l, ll, xl;
} fit_sums;

static fit_sums sum_fit(const float *values, float zero, float inverse, float least,
                        float greatest) {
    float l_lanes[LANES] = {0};
    float ll_lanes[LANES] = {0};
    float xl_lanes[LANES] = {0};
    for (size_t i = 0; i < KZ_BLOCK; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            const float x = values[i + lane];
            const float l = round_even(clamp((x - zero) * inverse, least, greatest));
            l_lanes[lane] += l;
            ll_lanes[lane] += l * l;
            xl_lanes[lane] += x * l;
        }
    }
    return (fit_sums){add_lanes(l_lanes), add_lanes(ll_lanes), add_lanes(xl_lanes)};
}

// Steps from zero to the block's largest value: 8 clips nothing, fewer waste the end of the range,
// more clip the largest value. The last ones give it the positive end, 7.
static const float q4_0_steps[] = {8.0f, 7.4f,  7.7f,  8.3f,  8.6f,  9.0f,  9.4f,
                                   9.8f, -6.7f, -7.0f, -7.3f, -7.7f, -8.1f, -8.6f};

// Least squares for x = d * l gives d = xl / ll, and takes xl^2 / ll from the squared error.
static float search_q4_0_scale(const float *values, float largest) {
    float best_gain = 0.0f;
    float best_scale = 0.0f;
    for (size_t i = 0; i < sizeof q4_0_steps / sizeof q4_0_steps[0]; i++) {
        const fit_sums sums = sum_fit(values, 0.0f, -q4_0_steps[i] / largest, -8.0f, 7.0f);
        const float gain = sums.ll > 0.0f ? sums.xl / sums.ll * sums.xl : 0.0f;
        if (gain > best_gain) {
            best_gain = gain;
            best_scale = sums.xl / sums.ll;
        }
    }
    return best_scale;
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
    float q[KZ_BLOCK];
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        q[i] = round_even(clamp(values[i] * inverse, -8.0f, 7.0f)) + 8.0f;
    }
    write_u16(out_block, scale);
    write_nibbles(q, out_block + 2);
    return true;
}

// Steps of 1/15 of the range that are cut off at its two ends before the integers are taken.
static const float q4_1_cuts[][2] = {{0.0f, 0.0f}, {0.4f, 0.4f}, {0.8f, 0.8f}, {1.3f, 1.3f},
                                     {0.5f, 0.0f}, {0.0f, 0.5f}, {1.2f, 0.2f}, {0.2f, 1.2f},
                                     {2.0f, 0.4f}, {0.4f, 2.0f}, {2.0f, 2.0f}, {-0.3f, -0.3f},
                                     {0.9f, 0.1f}, {0.1f, 0.9f}};

typedef struct line_fit {
    float scale, minimum;
} line_fit;

// Least squares for x = d * l + m over n values: with D = n * ll - l^2 and C = n * xl - x * l, d is
// C / D, m is (x - d * l) / n, and C^2 / D is what the line takes from the squared error, times n.
static line_fit search_q4_1_line(const float *values, float sum, float least, float range) {
    line_fit best = {0.0f, sum / KZ_BLOCK};
    float best_gain = 0.0f;
    const float step = range / 15.0f;
    for (size_t i = 0; i < sizeof q4_1_cuts / sizeof q4_1_cuts[0]; i++) {
        const float low = q4_1_cuts[i][0];
        const float kept = 15.0f - low - q4_1_cuts[i][1];
        const fit_sums sums =
            sum_fit(values, least + low * step, 15.0f / (kept * step), 0.0f, 15.0f);
        const float determinant = KZ_BLOCK * sums.ll - sums.l * sums.l;
        const float covariance = KZ_BLOCK * sums.xl - sum * sums.l;
        const float gain = determinant > 0.0f ? covariance / determinant * covariance : 0.0f;
        if (gain > best_gain) {
            best_gain = gain;
            best.scale = covariance / determinant;
            best.minimum = (sum - best.scale * sums.l) / KZ_BLOCK;
        }
    }
    return best;
}

// Values around their middle: sums of products lose no digits to a common offset.
static float centre_block(const float *values, float middle, float out_centred[KZ_BLOCK]) {
    float lanes[LANES] = {0};
    for (size_t i = 0; i < KZ_BLOCK; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            out_centred[i + lane] = values[i + lane] - middle;
            lanes[lane] += out_centred[i + lane];
        }
    }
    return add_lanes(lanes);
}

static bool encode_q4_1_block(const float *values, uint8_t *out_block) {
    float least, greatest;
    find_range(values, &least, &greatest);
    if (!is_finite_block(values) || -least > F16_LARGEST || greatest > F16_LARGEST) {
        return false;
    }
    const float middle = least + (greatest - least) / 2.0f;
    const float range = greatest - least;
    float centred[KZ_BLOCK];
    const float sum = centre_block(values, middle, centred);
    // A block of equal values has no slope: its mean is all there is to say.
    line_fit line = {0.0f, sum / KZ_BLOCK};
    if (kz_float_from_f16(kz_f16_from_float(range / 15.0f)) != 0.0f) {
        line = search_q4_1_line(centred, sum, least - middle, range);
    }
    const uint16_t scale = kz_f16_from_float(line.scale);
    const uint16_t minimum = kz_f16_from_float(line.minimum + middle);
    const float inverse = inverse_of(kz_float_from_f16(scale));
    const float zero = kz_float_from_f16(minimum);
    float q[KZ_BLOCK];
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        q[i] = round_even(clamp((values[i] - zero) * inverse, 0.0f, 15.0f));
    }
    write_u16(out_block, scale);
    write_u16(out_block + 2, minimum);
    write_nibbles(q, out_block + 4);
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
