// rows_tile.h: norms, softmax, activations, gates, rotary positions, quantisation, cache rows.
//
// in: simd_*.h and math_tile.h included before. out: one kernel a slot. What is left over after
// whole groups of 16 lanes is loaded and stored in part, so nothing beyond an array is touched.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/rows.h"
#include "kernels/variants.h"

void KZ_NAME(kz_rms_norm)(const float *x, const float *weight, size_t columns, float epsilon,
                          float *out) {
    vfloat squares = v_zero();
    SIMD_FOR_LANES(i, n, columns) {
        const vfloat a = v_load_some(x + i, n);
        squares = v_fma(a, a, squares);
    }
    const vfloat factor = v_set(1.0f / sqrtf(v_sum(squares) / (float)columns + epsilon));
    SIMD_FOR_LANES(i, n, columns) {
        const vfloat scaled = v_mul(v_load_some(x + i, n), factor);
        v_store_some(out + i, v_mul(scaled, v_load_some(weight + i, n)), n);
    }
}

static float mean_of(const float *x, size_t columns) {
    vfloat sum = v_zero();
    SIMD_FOR_LANES(i, n, columns) {
        sum = v_add(sum, v_load_some(x + i, n));
    }
    return v_sum(sum) / (float)columns;
}

void KZ_NAME(kz_layer_norm)(const float *x, const float *weight, const float *bias, size_t columns,
                            float epsilon, float *out) {
    const float mean = mean_of(x, columns);
    vfloat squares = v_zero();
    SIMD_FOR_LANES(i, n, columns) {
        // The mean stands in for what is beyond the row, so that it adds nothing.
        float lanes[16];
        v_store(lanes, v_set(mean));
        memcpy(lanes, x + i, n * sizeof *x);
        const vfloat a = v_sub(v_load(lanes), v_set(mean));
        squares = v_fma(a, a, squares);
    }
    const vfloat factor = v_set(1.0f / sqrtf(v_sum(squares) / (float)columns + epsilon));
    SIMD_FOR_LANES(i, n, columns) {
        // Centred before it is scaled: the one-step form x * f - mean * f cancels digits.
        const vfloat centred = v_mul(v_sub(v_load_some(x + i, n), v_set(mean)), factor);
        const vfloat scaled = v_fma(centred, v_load_some(weight + i, n), v_load_some(bias + i, n));
        v_store_some(out + i, scaled, n);
    }
}

void KZ_NAME(kz_add)(const float *a, const float *b, size_t count, float *out) {
    SIMD_FOR_LANES(i, n, count) {
        v_store_some(out + i, v_add(v_load_some(a + i, n), v_load_some(b + i, n)), n);
    }
}

// Elementwise kernels of one and of two arrays.
#define SIMD_ACTIVATE(name, formula)                                  \
    void KZ_NAME(name)(const float *x, size_t count, float *out) {    \
        SIMD_FOR_LANES(i, n, count) {                                 \
            v_store_some(out + i, formula(v_load_some(x + i, n)), n); \
        }                                                             \
    }
#define SIMD_GATE(name, formula)                                                       \
    void KZ_NAME(name)(const float *gate, const float *up, size_t count, float *out) { \
        SIMD_FOR_LANES(i, n, count) {                                                  \
            const vfloat open = formula(v_load_some(gate + i, n));                     \
            v_store_some(out + i, v_mul(open, v_load_some(up + i, n)), n);             \
        }                                                                              \
    }

SIMD_ACTIVATE(kz_gelu, v_gelu)
SIMD_ACTIVATE(kz_gelu_tanh, v_gelu_tanh)
SIMD_ACTIVATE(kz_silu, v_silu)
SIMD_GATE(kz_gate_gelu_tanh, v_gelu_tanh)
SIMD_GATE(kz_gate_silu, v_silu)

void KZ_NAME(kz_rope_split)(float *head, size_t rotary, const float *cosine, const float *sine) {
    float *other = head + rotary / 2;
    SIMD_FOR_LANES(i, n, rotary / 2) {
        const vfloat a = v_load_some(head + i, n);
        const vfloat b = v_load_some(other + i, n);
        const vfloat c = v_load_some(cosine + i, n);
        const vfloat s = v_load_some(sine + i, n);
        v_store_some(head + i, v_sub(v_mul(a, c), v_mul(b, s)), n);
        v_store_some(other + i, v_add(v_mul(b, c), v_mul(a, s)), n);
    }
}

// The bits of the largest magnitude; they order as integers, infinity and NaN above all numbers.
SIMD_INLINE vint magnitude_bits(vfloat a) {
    return v_bits(v_abs(a));
}

// Sets the factor for a row whose largest magnitude has `bits`; the factor is 0 and the integers
// are zeros where there is no scale: see ref/quantise.c.
static float scale_of(int32_t bits, float *out_inverse) {
    const float largest = kz_float_from_bits((uint32_t)bits);
    const float inverse = 127.0f / largest;
    *out_inverse = 0.0f;
    if (bits >= 0x7f800000) {
        return NAN;
    }
    if (isinf(inverse)) {
        return 0.0f;
    }
    *out_inverse = inverse;
    return largest / 127.0f;
}

// The planes of a KZ_A8 row that is being written.
typedef struct row_planes {
    int8_t *q;
    float *scale;
    int32_t *sum, *half;
} row_planes;

static row_planes planes_at(size_t columns, void *row) {
    const size_t blocks = kz_a8_padded(columns) / KZ_BLOCK;
    int8_t *q = row;
    float *scale = (float *)(q + blocks * KZ_BLOCK);
    int32_t *sum = (int32_t *)(scale + blocks);
    return (row_planes){.q = q, .scale = scale, .sum = sum, .half = sum + blocks};
}

// 32 values; what the integers leave of them, into the same registers.
static void quantise_block(vfloat *a, vfloat *b, size_t block, const row_planes *row) {
    int8_t *q = row->q + block * KZ_BLOCK;
    float inverse;
    const float scale = scale_of(i_max_of(i_max(magnitude_bits(*a), magnitude_bits(*b))), &inverse);
    row->scale[block] = scale;
    if (inverse == 0.0f) {
        memset(q, 0, KZ_BLOCK);
        row->sum[block] = 0;
        row->half[block] = 0;
        // NaN where the scale is, as the reference's difference.
        *a = v_sub(*a, v_set(scale * 0.0f));
        *b = v_sub(*b, v_set(scale * 0.0f));
        return;
    }
    // |x| <= largest, so the product is at most 127 and a rounding: it fits a byte.
    const vint first = v_to_ints(v_mul(*a, v_set(inverse)));
    const vint second = v_to_ints(v_mul(*b, v_set(inverse)));
    v_store_i8(q, first);
    v_store_i8(q + 16, second);
    row->half[block] = i_sum(first);
    row->sum[block] = row->half[block] + i_sum(second);
    *a = v_sub(*a, v_mul(v_set(scale), v_from_ints(first)));
    *b = v_sub(*b, v_mul(v_set(scale), v_from_ints(second)));
}

// Into one row, or with `rest` also what that leaves into a second one.
static inline void quantise_row(const float *x, size_t columns, void *out_row, void *out_rest) {
    const row_planes row = planes_at(columns, out_row);
    const row_planes rest = planes_at(columns, out_rest ? out_rest : out_row);
    const size_t whole = columns / KZ_BLOCK * KZ_BLOCK;
    const size_t bytes = kz_a8_row_bytes(columns);
    memset(row.q + whole, 0, bytes - whole);
    if (out_rest) {
        memset(rest.q + whole, 0, bytes - whole);
    }
    for (size_t k = 0; k < columns; k += KZ_BLOCK) {
        // A short block goes through a copy with zeros behind it.
        float last[KZ_BLOCK] = {0.0f};
        const float *from = x + k;
        if (k == whole) {
            memcpy(last, from, (columns - whole) * sizeof *x);
            from = last;
        }
        vfloat a = v_load(from);
        vfloat b = v_load(from + 16);
        quantise_block(&a, &b, k / KZ_BLOCK, &row);
        if (out_rest) {
            quantise_block(&a, &b, k / KZ_BLOCK, &rest);
        }
    }
}

void KZ_NAME(kz_quantise_a8)(const float *x, size_t columns, void *out_row) {
    quantise_row(x, columns, out_row, NULL);
}

void KZ_NAME(kz_quantise_a16)(const float *x, size_t columns, void *out_row) {
    quantise_row(x, columns, out_row, (uint8_t *)out_row + kz_a8_row_bytes(columns));
}

void KZ_NAME(kz_cache_write_f16)(const float *x, size_t heads, size_t head_dim, void *out_row) {
    const size_t count = heads * head_dim;
    uint16_t *row = out_row;
    SIMD_FOR_LANES(i, n, count) {
        // The store is of 16 lanes always; only those of the row are copied out.
        uint16_t halves[16];
        v_store_f16(halves, v_load_some(x + i, n));
        memcpy(row + i, halves, n * sizeof *row);
    }
}

static void write_i8_head(const float *x, size_t head_dim, int8_t *out_head) {
    vint bits = i_zero();
    float inverse;
    SIMD_FOR_LANES(i, n, head_dim) {
        bits = i_max(bits, magnitude_bits(v_load_some(x + i, n)));
    }
    const float scale = scale_of(i_max_of(bits), &inverse);
    memcpy(out_head, &scale, sizeof scale);
    if (inverse == 0.0f) {
        memset(out_head + sizeof scale, 0, head_dim);
        return;
    }
    SIMD_FOR_LANES(i, n, head_dim) {
        int8_t bytes[16];
        v_store_i8(bytes, v_to_ints(v_mul(v_load_some(x + i, n), v_set(inverse))));
        memcpy(out_head + sizeof scale + i, bytes, n);
    }
}

void KZ_NAME(kz_cache_write_i8)(const float *x, size_t heads, size_t head_dim, void *out_row) {
    for (size_t h = 0; h < heads; h++) {
        write_i8_head(x + h * head_dim, head_dim,
                      (int8_t *)out_row + h * (sizeof(float) + head_dim));
    }
}
