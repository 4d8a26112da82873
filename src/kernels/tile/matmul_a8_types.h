// matmul_a8_types.h: what the quantised types differ in: how a record gives four k of 16 rows as
// bytes, and the scales and minima of a block.
//
// in: a simd_*.h and math_tile.h included before; `type` is a constant of the caller. out: the
// integers as dot instructions take them, floats. A K type's record holds 8 blocks of 32 k, others
// 2; a record's blocks lie in parts of two.
#include "kernels/rows.h"

SIMD_INLINE bool a8_is_k(kz_type type) {
    return type == KZ_Q4_K || type == KZ_Q5_K || type == KZ_Q6_K;
}

SIMD_INLINE bool a8_has_minimum(kz_type type) {
    return type == KZ_Q4_1 || type == KZ_Q5_1 || type == KZ_Q4_K || type == KZ_Q5_K;
}

// A scale for each half of a block.
SIMD_INLINE bool a8_has_halves(kz_type type) {
    return type == KZ_Q6_K;
}

SIMD_INLINE bool a8_has_fifth_bits(kz_type type) {
    return type == KZ_Q5_0 || type == KZ_Q5_1 || type == KZ_Q5_K;
}

SIMD_INLINE bool a8_is_signed(kz_type type) {
    return type == KZ_Q8_0 || type == KZ_IQ4_NL;
}

SIMD_INLINE size_t a8_record_blocks(kz_type type) {
    return a8_is_k(type) ? 8 : 2;
}

// Bytes before the first part: scales of all kinds.
SIMD_INLINE size_t a8_scale_bytes(kz_type type) {
    return type == KZ_Q6_K ? 320 : a8_is_k(type) ? 256 : a8_has_minimum(type) ? 128 : 64;
}

// 64 k of 16 rows: bytes, or nibbles and what belongs to them.
SIMD_INLINE size_t a8_part_bytes(kz_type type) {
    return type == KZ_Q8_0 ? 1024 : type == KZ_Q6_K ? 768 : a8_has_fifth_bits(type) ? 640 : 512;
}

SIMD_INLINE size_t a8_record_bytes(kz_type type) {
    return a8_scale_bytes(type) + a8_record_blocks(type) / 2 * a8_part_bytes(type);
}

// What is to be subtracted from each of a8_weights' bytes.
SIMD_INLINE int32_t a8_offset(kz_type type) {
    return a8_is_signed(type) ? SIMD_SIGNED_OFFSET
           : type == KZ_Q4_0  ? 8
           : type == KZ_Q5_0  ? 16
           : type == KZ_Q6_K  ? 32
                              : 0;
}

// Products of the largest weight with 127 that 16 bits hold the sum of: 4 x 63 x 127 = 32,004.
SIMD_INLINE size_t a8_products_most(kz_type type) {
    return a8_is_signed(type) ? 2 : type == KZ_Q6_K ? 4 : a8_has_fifth_bits(type) ? 8 : 16;
}

// Steps of four k that i_steps_begin may be followed by: those of a block at most.
SIMD_INLINE size_t a8_steps_most(kz_type type) {
    const size_t steps = a8_products_most(type) / SIMD_LANE_PRODUCTS;
    return steps < 8 ? steps : 8;
}

// Group `group` (0..15, a constant) of four k of a part. The two groups of a nibble pair share
// their load, which the compiler sees.
SIMD_INLINE vint a8_weights(kz_type type, const uint8_t *part, size_t group) {
    if (type == KZ_Q8_0) {
        return i_signed(i_load(part + 64 * group));
    }
    const vint both = i_load(part + group / 2 * 64);
    const vint q = group % 2 == 0 ? i_low_nibbles(both) : i_high_nibbles(both);
    if (a8_has_fifth_bits(type)) {
        return i_with_fifth_bits(q, part + 512 + 8 * group);
    }
    if (type == KZ_Q6_K) {
        return i_with_pairs(q, i_load(part + 512 + group / 4 * 64), group % 4);
    }
    return type == KZ_IQ4_NL ? i_look_up(i_signed(i_table(kz_iq4_nl_values)), q) : q;
}

// The six-bit numbers of a record of Q4_K or Q5_K, a byte each.
typedef struct a8_sixes {
    uint8_t scales[8][KZ_PANEL_ROWS], minima[8][KZ_PANEL_ROWS];
} a8_sixes;

// `low` is [4][16] nibbles, `high` [2][16] bytes of four pairs.
SIMD_INLINE void open_sixes(const uint8_t *low, const uint8_t *high,
                            uint8_t out[8][KZ_PANEL_ROWS]) {
    const vint nibbles = i_load(low);
    i_store(out, i_or(i_low_nibbles(nibbles), i_spread_pairs(high)));
    i_store(out + 4, i_or(i_high_nibbles(nibbles), i_spread_pairs(high + KZ_PANEL_ROWS)));
}

// Once a record; other types have nothing to prepare.
SIMD_INLINE void a8_open_record(kz_type type, const uint8_t *record, a8_sixes *out_sixes) {
    if (a8_is_k(type) && a8_has_minimum(type)) {
        open_sixes(record + 64, record + 192, out_sixes->scales);
        open_sixes(record + 128, record + 224, out_sixes->minima);
    }
}

SIMD_INLINE const uint16_t *a8_f16(const uint8_t *record, size_t index) {
    return (const uint16_t *)(const void *)record + index * KZ_PANEL_ROWS;
}

// The scale of block `b` of a record. A product of f16 and six bits is exact.
SIMD_INLINE vfloat a8_scale(kz_type type, const uint8_t *record, const a8_sixes *sixes, size_t b) {
    if (!a8_is_k(type)) {
        return v_load_f16(a8_f16(record, b));
    }
    const vfloat d = v_load_f16(a8_f16(record, 0));
    return type == KZ_Q6_K ? d : v_mul(d, v_load_u8(sixes->scales[b]));
}

// Q6_K's scale of half `half` of block `b`.
SIMD_INLINE vfloat a8_half_scale(const uint8_t *record, size_t b, size_t half) {
    return v_load_i8((const int8_t *)record + 64 + (2 * b + half) * KZ_PANEL_ROWS);
}

// The size of the minimum: added in the types of 32, subtracted in the K types.
SIMD_INLINE vfloat a8_minimum(kz_type type, const uint8_t *record, const a8_sixes *sixes,
                              size_t b) {
    if (!a8_is_k(type)) {
        return v_load_f16(a8_f16(record, 2 + b));
    }
    return v_mul(v_load_f16(a8_f16(record, 1)), v_load_u8(sixes->minima[b]));
}

// `sum` plus the minimum times `offset`, the activations' scale times their sum.
SIMD_INLINE vfloat a8_add_minimum(kz_type type, vfloat minimum, float offset, vfloat sum) {
    return a8_is_k(type) ? v_fnma(minimum, v_set(offset), sum) : v_fma(minimum, v_set(offset), sum);
}

// The scale of block `b` and what a chunk of bulk products adds as its minimum, of either sign.
SIMD_INLINE void a8_store_scales(kz_type type, const uint8_t *record, const a8_sixes *sixes,
                                 size_t b, float out_scale[KZ_PANEL_ROWS],
                                 float out_minimum[KZ_PANEL_ROWS]) {
    v_store(out_scale, a8_scale(type, record, sixes, b));
    if (a8_has_minimum(type)) {
        const vfloat minimum = a8_minimum(type, record, sixes, b);
        v_store(out_minimum, a8_is_k(type) ? v_sub(v_zero(), minimum) : minimum);
    }
}
