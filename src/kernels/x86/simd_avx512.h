// simd_avx512.h: sixteen lanes in one register: what the *_tile.h kernels are written in.
//
// in: an including file compiled with AVX512 F, BW, VL, DQ and VNNI. out: vfloat, vint and the
// operations on them; simd_avx2.h offers the same with two registers for sixteen lanes, so one text
// of a kernel serves both. A `count` is the number of lanes in use, 1..16.
#ifndef KZ_KERNELS_X86_SIMD_AVX512_H
#define KZ_KERNELS_X86_SIMD_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD_INLINE static inline __attribute__((always_inline, unused))

// Register tiles, chosen so that accumulators and operands fit 32 registers.
#define SIMD_F32_PANELS 2
#define SIMD_F32_TOKENS 12
#define SIMD_A8_PANELS 2
#define SIMD_A8_TOKENS 6
#define SIMD_BULK_PANELS 2
#define SIMD_BULK_TOKENS 6
#define SIMD_SCORES 16 // attention: sums of scores in registers
#define SIMD_HEADS 4   // attention: query heads times vectors of a value in registers
#define SIMD_VECTORS 4

typedef __m512 vfloat;
typedef __m512i vint;

SIMD_INLINE __mmask16 lanes_below(size_t count) {
    return (__mmask16)((1u << count) - 1u);
}

SIMD_INLINE vfloat v_zero(void) {
    return _mm512_setzero_ps();
}

SIMD_INLINE vfloat v_set(float value) {
    return _mm512_set1_ps(value);
}

SIMD_INLINE vfloat v_load(const float *from) {
    return _mm512_loadu_ps(from);
}

// Lanes that are masked out are not read: nothing beyond an array can fault.
SIMD_INLINE vfloat v_load_some(const float *from, size_t count) {
    return _mm512_maskz_loadu_ps(lanes_below(count), from);
}

SIMD_INLINE void v_store(float *to, vfloat a) {
    _mm512_storeu_ps(to, a);
}

SIMD_INLINE void v_store_some(float *to, vfloat a, size_t count) {
    _mm512_mask_storeu_ps(to, lanes_below(count), a);
}

SIMD_INLINE vfloat v_load_f16(const uint16_t *from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
}

SIMD_INLINE void v_store_f16(uint16_t *to, vfloat a) {
    const __m256i halves = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256((__m256i *)(void *)to, halves);
}

SIMD_INLINE vfloat v_load_i8(const int8_t *from) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from)));
}

SIMD_INLINE vfloat v_load_u8(const uint8_t *from) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from)));
}

// The conversion keeps the low byte: the values fit one.
SIMD_INLINE void v_store_i8(int8_t *to, vint a) {
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(a));
}

// [16][2] bf16 pairs: the first or the second of each pair.
SIMD_INLINE vfloat v_bf16_first(const uint16_t *from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(from), 16));
}

SIMD_INLINE vfloat v_bf16_second(const uint16_t *from) {
    const vint high = _mm512_set1_epi32((int)0xffff0000u);
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(from), high));
}

SIMD_INLINE vfloat v_add(vfloat a, vfloat b) {
    return _mm512_add_ps(a, b);
}

SIMD_INLINE vfloat v_sub(vfloat a, vfloat b) {
    return _mm512_sub_ps(a, b);
}

SIMD_INLINE vfloat v_mul(vfloat a, vfloat b) {
    return _mm512_mul_ps(a, b);
}

SIMD_INLINE vfloat v_div(vfloat a, vfloat b) {
    return _mm512_div_ps(a, b);
}

// a * b + c, rounded once.
SIMD_INLINE vfloat v_fma(vfloat a, vfloat b, vfloat c) {
    return _mm512_fmadd_ps(a, b, c);
}

// c - a * b, rounded once.
SIMD_INLINE vfloat v_fnma(vfloat a, vfloat b, vfloat c) {
    return _mm512_fnmadd_ps(a, b, c);
}

// Of NaN and a number, max and min give the second operand.
SIMD_INLINE vfloat v_max(vfloat a, vfloat b) {
    return _mm512_max_ps(a, b);
}

SIMD_INLINE vfloat v_min(vfloat a, vfloat b) {
    return _mm512_min_ps(a, b);
}

SIMD_INLINE vfloat v_round(vfloat a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SIMD_INLINE vfloat v_abs(vfloat a) {
    return _mm512_abs_ps(a);
}

// `magnitude`, which is not negative, with the sign of `sign`.
SIMD_INLINE vfloat v_with_sign(vfloat magnitude, vfloat sign) {
    return _mm512_or_ps(magnitude, _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
}

// a * 2^n for a whole n in -150..128.
SIMD_INLINE vfloat v_scale(vfloat a, vfloat n) {
    return _mm512_scalef_ps(a, n);
}

SIMD_INLINE vint v_bits(vfloat a) {
    return _mm512_castps_si512(a);
}

SIMD_INLINE float v_max_of(vfloat a) {
    return _mm512_reduce_max_ps(a);
}

SIMD_INLINE float v_sum(vfloat a) {
    return _mm512_reduce_add_ps(a);
}

SIMD_INLINE vint i_zero(void) {
    return _mm512_setzero_si512();
}

SIMD_INLINE vint i_set(int32_t value) {
    return _mm512_set1_epi32(value);
}

SIMD_INLINE vint i_load(const void *from) {
    return _mm512_loadu_si512(from);
}

SIMD_INLINE vint i_add(vint a, vint b) {
    return _mm512_add_epi32(a, b);
}

SIMD_INLINE vint i_max(vint a, vint b) {
    return _mm512_max_epi32(a, b);
}

SIMD_INLINE vint i_and(vint a, vint b) {
    return _mm512_and_si512(a, b);
}

SIMD_INLINE int32_t i_sum(vint a) {
    return _mm512_reduce_add_epi32(a);
}

SIMD_INLINE int32_t i_max_of(vint a) {
    return _mm512_reduce_max_epi32(a);
}

SIMD_INLINE vfloat v_from_ints(vint a) {
    return _mm512_cvtepi32_ps(a);
}

// Rounds to nearest even.
SIMD_INLINE vint v_to_ints(vfloat a) {
    return _mm512_cvtps_epi32(a);
}

SIMD_INLINE void i_store(void *to, vint a) {
    _mm512_storeu_si512(to, a);
}

SIMD_INLINE vint i_or(vint a, vint b) {
    return _mm512_or_si512(a, b);
}

SIMD_INLINE vint i_low_nibbles(vint a) {
    return _mm512_and_si512(a, _mm512_set1_epi8(15));
}

SIMD_INLINE vint i_high_nibbles(vint a) {
    return _mm512_and_si512(_mm512_srli_epi16(a, 4), _mm512_set1_epi8(15));
}

// `a` with 16 added to each byte whose bit is set among the 64 at `bits`. The bytes are below 16.
SIMD_INLINE vint i_with_fifth_bits(vint a, const uint8_t *bits) {
    uint64_t mask;
    memcpy(&mask, bits, sizeof mask);
    return _mm512_mask_add_epi8(a, (__mmask64)mask, a, _mm512_set1_epi8(16));
}

// `a` with bits 2 i and 2 i + 1 of each byte of `pairs` as its bits 4 and 5. i is 0..3, a constant.
SIMD_INLINE vint i_with_pairs(vint a, vint pairs, size_t i) {
    const vint upper = i == 0   ? _mm512_slli_epi16(pairs, 4)
                       : i == 1 ? _mm512_slli_epi16(pairs, 2)
                       : i == 2 ? pairs
                                : _mm512_srli_epi16(pairs, 2);
    return _mm512_ternarylogic_epi32(a, upper, _mm512_set1_epi8(0x30), 0xf8); // a | (upper & 0x30)
}

// 16 bytes to 64: byte 16 i + r has bits 2 i and 2 i + 1 of byte r as its bits 4 and 5.
SIMD_INLINE vint i_spread_pairs(const uint8_t *sixteen) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)sixteen);
    // Rotating words moves other bits across the edges of bytes, but none that is kept.
    const vint turns = _mm512_set_epi32(2, 2, 2, 2, 0, 0, 0, 0, -2, -2, -2, -2, -4, -4, -4, -4);
    const vint turned = _mm512_rorv_epi32(_mm512_broadcast_i32x4(bytes), turns);
    return _mm512_and_si512(turned, _mm512_set1_epi8(0x30));
}

// A table of 16 bytes, and its entries at indices 0..15, a byte each.
SIMD_INLINE vint i_table(const int8_t *sixteen) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)sixteen));
}

SIMD_INLINE vint i_look_up(vint table, vint indices) {
    return _mm512_shuffle_epi8(table, indices);
}

// Dot products of 64 weight bytes (16 rows x 4 k) with four activation bytes, repeated. vpdpbusd
// takes unsigned weights: signed ones are offset by SIMD_SIGNED_OFFSET, which whoever begins the
// sums pays back.
#define SIMD_SIGNED_OFFSET 128
#define SIMD_LANE_PRODUCTS 1 // lanes of 32 bits hold any number

#include "kernels/x86/simd_steps.h"

SIMD_INLINE vint i_signed(vint bytes) {
    return _mm512_xor_si512(bytes, _mm512_set1_epi8(-128));
}

SIMD_INLINE vsteps i_signed_step(vsteps steps, vint weights, vfour x) {
    return _mm512_dpbusd_epi32(steps, weights, x);
}

// Weights are summed in steps between a begin and an end: other instruction sets have
// narrower sums there.
SIMD_INLINE vsteps i_steps_begin(vint dots) {
    return dots;
}

SIMD_INLINE vsteps i_unsigned_step(vsteps steps, vint weights, vfour x) {
    return _mm512_dpbusd_epi32(steps, weights, x);
}

SIMD_INLINE vint i_steps_end(vint dots, vsteps steps) {
    (void)dots;
    return steps;
}

// out[i] = sum of rows[i].
SIMD_INLINE vfloat v_sums(const vfloat rows[16]) {
    vfloat quads[4]; // each 128-bit part: partial sums of four rows
    for (int i = 0; i < 4; i++) {
        const vfloat *r = rows + 4 * i;
        const vfloat a =
            _mm512_add_ps(_mm512_unpacklo_ps(r[0], r[1]), _mm512_unpackhi_ps(r[0], r[1]));
        const vfloat b =
            _mm512_add_ps(_mm512_unpacklo_ps(r[2], r[3]), _mm512_unpackhi_ps(r[2], r[3]));
        const __m512d c = _mm512_castps_pd(a);
        const __m512d d = _mm512_castps_pd(b);
        quads[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(c, d)),
                                 _mm512_castpd_ps(_mm512_unpackhi_pd(c, d)));
    }
    const vfloat low = _mm512_add_ps(_mm512_shuffle_f32x4(quads[0], quads[1], 0x44),
                                     _mm512_shuffle_f32x4(quads[0], quads[1], 0xee));
    const vfloat high = _mm512_add_ps(_mm512_shuffle_f32x4(quads[2], quads[3], 0x44),
                                      _mm512_shuffle_f32x4(quads[2], quads[3], 0xee));
    return _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88),
                         _mm512_shuffle_f32x4(low, high, 0xdd));
}

// Transposes 16 x 16 floats in place.
SIMD_INLINE void v_transpose(vfloat rows[16]) {
    vfloat quads[16]; // quads[4 i + j], part p: column 4 p + j of rows 4 i .. 4 i + 3
    for (int i = 0; i < 4; i++) {
        const vfloat *r = rows + 4 * i;
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1]));
        const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3]));
        const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));
        quads[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        quads[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        quads[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        quads[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    for (int j = 0; j < 4; j++) {
        const vfloat a = _mm512_shuffle_f32x4(quads[j], quads[4 + j], 0x88);
        const vfloat b = _mm512_shuffle_f32x4(quads[j], quads[4 + j], 0xdd);
        const vfloat c = _mm512_shuffle_f32x4(quads[8 + j], quads[12 + j], 0x88);
        const vfloat d = _mm512_shuffle_f32x4(quads[8 + j], quads[12 + j], 0xdd);
        rows[j] = _mm512_shuffle_f32x4(a, c, 0x88);
        rows[4 + j] = _mm512_shuffle_f32x4(b, d, 0x88);
        rows[8 + j] = _mm512_shuffle_f32x4(a, c, 0xdd);
        rows[12 + j] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

#endif
