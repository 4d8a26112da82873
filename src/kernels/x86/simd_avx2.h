// simd_avx2.h: sixteen lanes in two registers, for AVX2 and AVX-VNNI.
//
// in: an including file compiled with AVX2, FMA and F16C, and -mavxvnni when it defines
// SIMD_AVXVNNI. out: the same types and operations as simd_avx512.h, which explains them.
#ifndef KZ_KERNELS_X86_SIMD_AVX2_H
#define KZ_KERNELS_X86_SIMD_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD_INLINE static inline __attribute__((always_inline, unused))

// Register tiles, chosen so that accumulators and operands fit 16 registers of half a vfloat.
#define SIMD_F32_PANELS 1
#define SIMD_F32_TOKENS 6
#define SIMD_A8_PANELS 1
#define SIMD_A8_TOKENS 2
#define SIMD_SCORES 4
#define SIMD_HEADS 2
#define SIMD_VECTORS 2

typedef struct vfloat {
    __m256 low, high;
} vfloat;

typedef struct vint {
    __m256i low, high;
} vint;

// Defines v_name(a, b) by one 256-bit operation on both halves.
#define SIMD_PAIR(type, name, operation)                                   \
    SIMD_INLINE type name(type a, type b) {                                \
        return (type){operation(a.low, b.low), operation(a.high, b.high)}; \
    }

SIMD_PAIR(vfloat, v_add, _mm256_add_ps)
SIMD_PAIR(vfloat, v_sub, _mm256_sub_ps)
SIMD_PAIR(vfloat, v_mul, _mm256_mul_ps)
SIMD_PAIR(vfloat, v_div, _mm256_div_ps)
SIMD_PAIR(vfloat, v_max, _mm256_max_ps)
SIMD_PAIR(vfloat, v_min, _mm256_min_ps)
SIMD_PAIR(vint, i_add, _mm256_add_epi32)
SIMD_PAIR(vint, i_max, _mm256_max_epi32)
SIMD_PAIR(vint, i_and, _mm256_and_si256)
SIMD_PAIR(vint, i_or, _mm256_or_si256)

SIMD_INLINE vfloat v_set(float value) {
    return (vfloat){_mm256_set1_ps(value), _mm256_set1_ps(value)};
}

SIMD_INLINE vfloat v_zero(void) {
    return v_set(0.0f);
}

SIMD_INLINE vfloat v_load(const float *from) {
    return (vfloat){_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}

SIMD_INLINE void v_store(float *to, vfloat a) {
    _mm256_storeu_ps(to, a.low);
    _mm256_storeu_ps(to + 8, a.high);
}

#include "kernels/tile/ends_tile.h"

SIMD_INLINE vfloat v_load_f16(const uint16_t *from) {
    const __m128i *halves = (const __m128i *)(const void *)from;
    return (vfloat){_mm256_cvtph_ps(_mm_loadu_si128(halves)),
                    _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
}

SIMD_INLINE void v_store_f16(uint16_t *to, vfloat a) {
    __m128i *halves = (__m128i *)(void *)to;
    _mm_storeu_si128(halves, _mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(halves + 1, _mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT));
}

SIMD_INLINE vfloat v_load_i8(const int8_t *from) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    return (vfloat){_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                    _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}

SIMD_INLINE vfloat v_load_u8(const uint8_t *from) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    return (vfloat){_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
                    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
}

// The values fit a byte, so the saturating packs are exact.
SIMD_INLINE void v_store_i8(int8_t *to, vint a) {
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xd8);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
}

SIMD_INLINE vint i_load(const void *from) {
    const __m256i *halves = from;
    return (vint){_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
}

SIMD_INLINE vint i_set(int32_t value) {
    return (vint){_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
}

SIMD_INLINE vint i_zero(void) {
    return i_set(0);
}

SIMD_INLINE vint v_bits(vfloat a) {
    return (vint){_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)};
}

SIMD_INLINE vfloat v_of_bits(vint a) {
    return (vfloat){_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)};
}

SIMD_INLINE vfloat v_bf16_first(const uint16_t *from) {
    const vint pairs = i_load(from);
    return v_of_bits((vint){_mm256_slli_epi32(pairs.low, 16), _mm256_slli_epi32(pairs.high, 16)});
}

SIMD_INLINE vfloat v_bf16_second(const uint16_t *from) {
    return v_of_bits(i_and(i_load(from), i_set((int32_t)0xffff0000u)));
}

SIMD_INLINE vfloat v_fma(vfloat a, vfloat b, vfloat c) {
    return (vfloat){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

SIMD_INLINE vfloat v_fnma(vfloat a, vfloat b, vfloat c) {
    return (vfloat){_mm256_fnmadd_ps(a.low, b.low, c.low),
                    _mm256_fnmadd_ps(a.high, b.high, c.high)};
}

SIMD_INLINE vfloat v_round(vfloat a) {
    return (vfloat){_mm256_round_ps(a.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                    _mm256_round_ps(a.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

SIMD_INLINE vfloat v_abs(vfloat a) {
    return v_of_bits(i_and(v_bits(a), i_set(0x7fffffff)));
}

SIMD_INLINE vfloat v_with_sign(vfloat magnitude, vfloat sign) {
    const vint bits = i_and(v_bits(sign), i_set((int32_t)0x80000000u));
    return (vfloat){_mm256_or_ps(magnitude.low, _mm256_castsi256_ps(bits.low)),
                    _mm256_or_ps(magnitude.high, _mm256_castsi256_ps(bits.high))};
}

SIMD_INLINE vint v_to_ints(vfloat a) {
    return (vint){_mm256_cvtps_epi32(a.low), _mm256_cvtps_epi32(a.high)};
}

SIMD_INLINE vfloat v_from_ints(vint a) {
    return (vfloat){_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)};
}

// 2^n for a whole n in -127..127 (-127 gives 0).
SIMD_INLINE __m256 power_of_two(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

// In two halves of n, so that neither factor leaves the range of exponents.
SIMD_INLINE __m256 scale_half(__m256 a, __m256 n) {
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i first = _mm256_srai_epi32(whole, 1);
    const __m256i second = _mm256_sub_epi32(whole, first);
    return _mm256_mul_ps(_mm256_mul_ps(a, power_of_two(first)), power_of_two(second));
}

SIMD_INLINE vfloat v_scale(vfloat a, vfloat n) {
    return (vfloat){scale_half(a.low, n.low), scale_half(a.high, n.high)};
}

SIMD_INLINE float v_max_of(vfloat a) {
    const __m256 eight = _mm256_max_ps(a.low, a.high);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

SIMD_INLINE float v_sum(vfloat a) {
    const __m256 eight = _mm256_add_ps(a.low, a.high);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

SIMD_INLINE int32_t i_sum(vint a) {
    const __m256i eight = _mm256_add_epi32(a.low, a.high);
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

SIMD_INLINE int32_t i_max_of(vint a) {
    const __m256i eight = _mm256_max_epi32(a.low, a.high);
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

SIMD_INLINE void i_store(void *to, vint a) {
    __m256i *halves = to;
    _mm256_storeu_si256(halves, a.low);
    _mm256_storeu_si256(halves + 1, a.high);
}

SIMD_INLINE vint i_low_nibbles(vint a) {
    return i_and(a, i_set(0x0f0f0f0f));
}

SIMD_INLINE vint i_high_nibbles(vint a) {
    return i_low_nibbles((vint){_mm256_srli_epi16(a.low, 4), _mm256_srli_epi16(a.high, 4)});
}

// 16 in each byte whose bit is set among the 32 at `bits`.
SIMD_INLINE __m256i sixteens_of_bits(const uint8_t *bits) {
    int32_t word;
    memcpy(&word, bits, sizeof word);
    // Each byte gets the byte that has its bit, then compares that bit alone.
    const __m256i places =
        _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
    const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(word), places);
    const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
    return _mm256_and_si256(is_set, _mm256_set1_epi8(16));
}

SIMD_INLINE vint i_with_fifth_bits(vint a, const uint8_t *bits) {
    return i_or(a, (vint){sixteens_of_bits(bits), sixteens_of_bits(bits + 4)});
}

SIMD_INLINE __m256i pair_in_place(__m256i pairs, size_t i) {
    return i == 0   ? _mm256_slli_epi16(pairs, 4)
           : i == 1 ? _mm256_slli_epi16(pairs, 2)
           : i == 2 ? pairs
                    : _mm256_srli_epi16(pairs, 2);
}

SIMD_INLINE vint i_with_pairs(vint a, vint pairs, size_t i) {
    const vint upper = {pair_in_place(pairs.low, i), pair_in_place(pairs.high, i)};
    return i_or(a, i_and(upper, i_set(0x30303030)));
}

SIMD_INLINE vint i_spread_pairs(const uint8_t *sixteen) {
    const __m256i bytes =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)sixteen));
    const vint turned = {_mm256_sllv_epi32(bytes, _mm256_set_epi32(2, 2, 2, 2, 4, 4, 4, 4)),
                         _mm256_srlv_epi32(bytes, _mm256_set_epi32(2, 2, 2, 2, 0, 0, 0, 0))};
    return i_and(turned, i_set(0x30303030));
}

SIMD_INLINE vint i_table(const int8_t *sixteen) {
    const __m256i table =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)sixteen));
    return (vint){table, table};
}

SIMD_INLINE vint i_look_up(vint table, vint indices) {
    return (vint){_mm256_shuffle_epi8(table.low, indices.low),
                  _mm256_shuffle_epi8(table.high, indices.high)};
}

#include "kernels/x86/simd_steps.h"

#ifdef SIMD_AVXVNNI

#define SIMD_SIGNED_OFFSET 128
#define SIMD_LANE_PRODUCTS 1

SIMD_INLINE vint i_signed(vint bytes) {
    const __m256i flip = _mm256_set1_epi8(-128);
    return (vint){_mm256_xor_si256(bytes.low, flip), _mm256_xor_si256(bytes.high, flip)};
}

SIMD_INLINE vsteps i_unsigned_step(vsteps steps, vint weights, vfour x) {
    return (vint){_mm256_dpbusd_avx_epi32(steps.low, weights.low, x.low),
                  _mm256_dpbusd_avx_epi32(steps.high, weights.high, x.high)};
}

SIMD_INLINE vsteps i_signed_step(vsteps steps, vint weights, vfour x) {
    return i_unsigned_step(steps, weights, x);
}

SIMD_INLINE vsteps i_steps_begin(vint dots) {
    return dots;
}

SIMD_INLINE vint i_steps_end(vint dots, vsteps steps) {
    (void)dots;
    return steps;
}

#else

#define SIMD_SIGNED_OFFSET 0
#define SIMD_LANE_PRODUCTS 2 // that a step adds to a lane of 16 bits

SIMD_INLINE vint i_signed(vint bytes) {
    return bytes;
}

// The weights' signs move to the activations; 2 x 128 x 127 does not saturate 16 bits, so one step
// fits. -128 stays -128 under abs, which the multiplication reads as the unsigned 128 that is
// meant.
SIMD_INLINE __m256i signed_products(__m256i steps, __m256i weights, __m256i x) {
    const __m256i words =
        _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(x, weights));
    return _mm256_add_epi16(steps, words);
}

SIMD_INLINE vsteps i_signed_step(vsteps steps, vint weights, vfour x) {
    return (vint){signed_products(steps.low, weights.low, x.low),
                  signed_products(steps.high, weights.high, x.high)};
}

// Steps are summed in 16 bits and widened at their end: as many as fit for the largest weight, 8
// for 15 (8 x 2 x 15 x 127 = 30,480), 4 for 31, 2 for 63.
SIMD_INLINE vsteps i_steps_begin(vint dots) {
    (void)dots;
    return i_zero();
}

SIMD_INLINE vsteps i_unsigned_step(vsteps steps, vint weights, vfour x) {
    return (vint){_mm256_add_epi16(steps.low, _mm256_maddubs_epi16(weights.low, x.low)),
                  _mm256_add_epi16(steps.high, _mm256_maddubs_epi16(weights.high, x.high))};
}

SIMD_INLINE vint i_steps_end(vint dots, vsteps steps) {
    const __m256i ones = _mm256_set1_epi16(1);
    return i_add(dots,
                 (vint){_mm256_madd_epi16(steps.low, ones), _mm256_madd_epi16(steps.high, ones)});
}

#endif

// The sums of eight rows' sixteen lanes.
SIMD_INLINE __m256 sums_of_eight(const vfloat rows[8]) {
    __m256 quads[2]; // each 128-bit part: partial sums of four rows
    for (int i = 0; i < 2; i++) {
        __m256 r[4];
        for (int j = 0; j < 4; j++) {
            r[j] = _mm256_add_ps(rows[4 * i + j].low, rows[4 * i + j].high);
        }
        quads[i] = _mm256_hadd_ps(_mm256_hadd_ps(r[0], r[1]), _mm256_hadd_ps(r[2], r[3]));
    }
    return _mm256_add_ps(_mm256_permute2f128_ps(quads[0], quads[1], 0x20),
                         _mm256_permute2f128_ps(quads[0], quads[1], 0x31));
}

SIMD_INLINE vfloat v_sums(const vfloat rows[16]) {
    return (vfloat){sums_of_eight(rows), sums_of_eight(rows + 8)};
}

// Transposes 4 x 4 floats in each 128-bit part.
SIMD_INLINE void transpose_parts(__m256 r[4]) {
    const __m256 a = _mm256_unpacklo_ps(r[0], r[1]);
    const __m256 b = _mm256_unpackhi_ps(r[0], r[1]);
    const __m256 c = _mm256_unpacklo_ps(r[2], r[3]);
    const __m256 d = _mm256_unpackhi_ps(r[2], r[3]);
    r[0] = _mm256_shuffle_ps(a, c, 0x44);
    r[1] = _mm256_shuffle_ps(a, c, 0xee);
    r[2] = _mm256_shuffle_ps(b, d, 0x44);
    r[3] = _mm256_shuffle_ps(b, d, 0xee);
}

// out[i] = column i of the 8 x 8 floats.
SIMD_INLINE void transpose_eight(const __m256 rows[8], __m256 out[8]) {
    __m256 top[4] = {rows[0], rows[1], rows[2], rows[3]};
    __m256 bottom[4] = {rows[4], rows[5], rows[6], rows[7]};
    transpose_parts(top);
    transpose_parts(bottom);
    for (int i = 0; i < 4; i++) {
        out[i] = _mm256_permute2f128_ps(top[i], bottom[i], 0x20);
        out[4 + i] = _mm256_permute2f128_ps(top[i], bottom[i], 0x31);
    }
}

SIMD_INLINE void v_transpose(vfloat rows[16]) {
    __m256 quarters[2][2][8]; // [half of the columns][half of the rows]
    __m256 columns[8];
    for (int half = 0; half < 2; half++) {
        for (int part = 0; part < 2; part++) {
            for (int i = 0; i < 8; i++) {
                const vfloat row = rows[8 * part + i];
                columns[i] = half == 0 ? row.low : row.high;
            }
            transpose_eight(columns, quarters[half][part]);
        }
    }
    for (int i = 0; i < 16; i++) {
        rows[i] = (vfloat){quarters[i / 8][0][i % 8], quarters[i / 8][1][i % 8]};
    }
}

#endif
