// simd_neon.h: sixteen lanes in four registers, for Advanced SIMD and its dot products.
//
// in: an including file, compiled with the dot product extension when it defines SIMD_DOTPROD. out:
// the same types and operations as x86/simd_avx512.h, which explains them, in the order of
// additions of x86/simd_avx2.h: a kernel gives the same bits here as with AVX2. Registers hold as
// many floats in all as AVX2's, so tiles have its sizes.
#ifndef KZ_KERNELS_ARM_SIMD_NEON_H
#define KZ_KERNELS_ARM_SIMD_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD_INLINE static inline __attribute__((always_inline, unused))

#define SIMD_F32_PANELS 1
#define SIMD_F32_TOKENS 6
#define SIMD_A8_PANELS 1
#ifdef SIMD_DOTPROD
#define SIMD_A8_TOKENS 3
#else
#define SIMD_A8_TOKENS 2 // sums of 16 bits take twice the registers
#endif
#define SIMD_BULK_PANELS 1
#define SIMD_BULK_TOKENS 3
#define SIMD_SCORES 4
#define SIMD_HEADS 2
#define SIMD_VECTORS 2

typedef struct vfloat {
    float32x4_t part[4];
} vfloat;

typedef struct vint {
    int32x4_t part[4];
} vint;

// Defines a function by one operation on each of the four parts.
#define SIMD_OF_ONE(type, name, from, operation)                                         \
    SIMD_INLINE type name(from a) {                                                      \
        return (type){{operation(a.part[0]), operation(a.part[1]), operation(a.part[2]), \
                       operation(a.part[3])}};                                           \
    }
#define SIMD_OF_TWO(type, name, operation)                                                 \
    SIMD_INLINE type name(type a, type b) {                                                \
        return (type){{operation(a.part[0], b.part[0]), operation(a.part[1], b.part[1]),   \
                       operation(a.part[2], b.part[2]), operation(a.part[3], b.part[3])}}; \
    }

// Of NaN and a number the second operand, as x86 has it; ARM's own maximum gives NaN.
SIMD_INLINE float32x4_t larger(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

SIMD_INLINE float32x4_t smaller(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

SIMD_OF_TWO(vfloat, v_add, vaddq_f32)
SIMD_OF_TWO(vfloat, v_sub, vsubq_f32)
SIMD_OF_TWO(vfloat, v_mul, vmulq_f32)
SIMD_OF_TWO(vfloat, v_div, vdivq_f32)
SIMD_OF_TWO(vfloat, v_max, larger)
SIMD_OF_TWO(vfloat, v_min, smaller)
SIMD_OF_TWO(vint, i_add, vaddq_s32)
SIMD_OF_TWO(vint, i_max, vmaxq_s32)
SIMD_OF_TWO(vint, i_and, vandq_s32)
SIMD_OF_TWO(vint, i_or, vorrq_s32)
SIMD_OF_ONE(vfloat, v_round, vfloat, vrndnq_f32)
SIMD_OF_ONE(vfloat, v_abs, vfloat, vabsq_f32)
SIMD_OF_ONE(vint, v_to_ints, vfloat, vcvtnq_s32_f32)
SIMD_OF_ONE(vfloat, v_from_ints, vint, vcvtq_f32_s32)
SIMD_OF_ONE(vint, v_bits, vfloat, vreinterpretq_s32_f32)
SIMD_OF_ONE(vfloat, v_of_bits, vint, vreinterpretq_f32_s32)

SIMD_INLINE vfloat v_set(float value) {
    const float32x4_t four = vdupq_n_f32(value);
    return (vfloat){{four, four, four, four}};
}

SIMD_INLINE vfloat v_zero(void) {
    return v_set(0.0f);
}

SIMD_INLINE vfloat v_load(const float *from) {
    return (vfloat){
        {vld1q_f32(from), vld1q_f32(from + 4), vld1q_f32(from + 8), vld1q_f32(from + 12)}};
}

SIMD_INLINE void v_store(float *to, vfloat a) {
    vst1q_f32(to, a.part[0]);
    vst1q_f32(to + 4, a.part[1]);
    vst1q_f32(to + 8, a.part[2]);
    vst1q_f32(to + 12, a.part[3]);
}

#include "kernels/tile/ends_tile.h"

SIMD_INLINE vfloat v_load_f16(const uint16_t *from) {
    const float16x8_t first = vreinterpretq_f16_u16(vld1q_u16(from));
    const float16x8_t second = vreinterpretq_f16_u16(vld1q_u16(from + 8));
    return (vfloat){{vcvt_f32_f16(vget_low_f16(first)), vcvt_high_f32_f16(first),
                     vcvt_f32_f16(vget_low_f16(second)), vcvt_high_f32_f16(second)}};
}

SIMD_INLINE void v_store_f16(uint16_t *to, vfloat a) {
    const float16x8_t first = vcvt_high_f16_f32(vcvt_f16_f32(a.part[0]), a.part[1]);
    const float16x8_t second = vcvt_high_f16_f32(vcvt_f16_f32(a.part[2]), a.part[3]);
    vst1q_u16(to, vreinterpretq_u16_f16(first));
    vst1q_u16(to + 8, vreinterpretq_u16_f16(second));
}

SIMD_INLINE vfloat v_load_i8(const int8_t *from) {
    const int8x16_t bytes = vld1q_s8(from);
    const int16x8_t first = vmovl_s8(vget_low_s8(bytes));
    const int16x8_t second = vmovl_high_s8(bytes);
    return v_from_ints((vint){{vmovl_s16(vget_low_s16(first)), vmovl_high_s16(first),
                               vmovl_s16(vget_low_s16(second)), vmovl_high_s16(second)}});
}

SIMD_INLINE vfloat v_load_u8(const uint8_t *from) {
    const uint8x16_t bytes = vld1q_u8(from);
    const uint16x8_t first = vmovl_u8(vget_low_u8(bytes));
    const uint16x8_t second = vmovl_high_u8(bytes);
    return (vfloat){
        {vcvtq_f32_u32(vmovl_u16(vget_low_u16(first))), vcvtq_f32_u32(vmovl_high_u16(first)),
         vcvtq_f32_u32(vmovl_u16(vget_low_u16(second))), vcvtq_f32_u32(vmovl_high_u16(second))}};
}

// The narrowing keeps the low byte: the values fit one.
SIMD_INLINE void v_store_i8(int8_t *to, vint a) {
    const int16x8_t first = vmovn_high_s32(vmovn_s32(a.part[0]), a.part[1]);
    const int16x8_t second = vmovn_high_s32(vmovn_s32(a.part[2]), a.part[3]);
    vst1q_s8(to, vmovn_high_s16(vmovn_s16(first), second));
}

SIMD_INLINE vint i_load(const void *from) {
    const uint8_t *bytes = from;
    return (vint){
        {vreinterpretq_s32_u8(vld1q_u8(bytes)), vreinterpretq_s32_u8(vld1q_u8(bytes + 16)),
         vreinterpretq_s32_u8(vld1q_u8(bytes + 32)), vreinterpretq_s32_u8(vld1q_u8(bytes + 48))}};
}

SIMD_INLINE void i_store(void *to, vint a) {
    uint8_t *bytes = to;
    vst1q_u8(bytes, vreinterpretq_u8_s32(a.part[0]));
    vst1q_u8(bytes + 16, vreinterpretq_u8_s32(a.part[1]));
    vst1q_u8(bytes + 32, vreinterpretq_u8_s32(a.part[2]));
    vst1q_u8(bytes + 48, vreinterpretq_u8_s32(a.part[3]));
}

SIMD_INLINE vint i_set(int32_t value) {
    const int32x4_t four = vdupq_n_s32(value);
    return (vint){{four, four, four, four}};
}

SIMD_INLINE vint i_zero(void) {
    return i_set(0);
}

SIMD_INLINE int32x4_t upper_half(int32x4_t pairs) {
    return vshlq_n_s32(pairs, 16);
}

SIMD_OF_ONE(vint, i_upper_halves, vint, upper_half)

SIMD_INLINE vfloat v_bf16_first(const uint16_t *from) {
    return v_of_bits(i_upper_halves(i_load(from)));
}

SIMD_INLINE vfloat v_bf16_second(const uint16_t *from) {
    return v_of_bits(i_and(i_load(from), i_set((int32_t)0xffff0000u)));
}

SIMD_INLINE vfloat v_fma(vfloat a, vfloat b, vfloat c) {
    return (vfloat){
        {vfmaq_f32(c.part[0], a.part[0], b.part[0]), vfmaq_f32(c.part[1], a.part[1], b.part[1]),
         vfmaq_f32(c.part[2], a.part[2], b.part[2]), vfmaq_f32(c.part[3], a.part[3], b.part[3])}};
}

SIMD_INLINE vfloat v_fnma(vfloat a, vfloat b, vfloat c) {
    return (vfloat){
        {vfmsq_f32(c.part[0], a.part[0], b.part[0]), vfmsq_f32(c.part[1], a.part[1], b.part[1]),
         vfmsq_f32(c.part[2], a.part[2], b.part[2]), vfmsq_f32(c.part[3], a.part[3], b.part[3])}};
}

SIMD_INLINE vfloat v_with_sign(vfloat magnitude, vfloat sign) {
    const vint bits = i_and(v_bits(sign), i_set((int32_t)0x80000000u));
    return v_of_bits(i_or(v_bits(magnitude), bits));
}

// 2^n for a whole n in -127..127 (-127 gives 0).
SIMD_INLINE float32x4_t power_of_two(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

// In two halves of n, so that neither factor leaves the range of exponents.
SIMD_INLINE float32x4_t scale_part(float32x4_t a, float32x4_t n) {
    const int32x4_t whole = vcvtnq_s32_f32(n);
    const int32x4_t first = vshrq_n_s32(whole, 1);
    const int32x4_t second = vsubq_s32(whole, first);
    return vmulq_f32(vmulq_f32(a, power_of_two(first)), power_of_two(second));
}

SIMD_OF_TWO(vfloat, v_scale, scale_part)

SIMD_INLINE float v_max_of(vfloat a) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.part[0], a.part[1]), vmaxq_f32(a.part[2], a.part[3])));
}

// The four parts' sums, lane by lane.
SIMD_INLINE float32x4_t sum_of_parts(vfloat a) {
    return vaddq_f32(vaddq_f32(a.part[0], a.part[2]), vaddq_f32(a.part[1], a.part[3]));
}

SIMD_INLINE float v_sum(vfloat a) {
    const float32x4_t four = sum_of_parts(a);
    return vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
}

SIMD_INLINE int32_t i_sum(vint a) {
    return vaddvq_s32(vaddq_s32(vaddq_s32(a.part[0], a.part[1]), vaddq_s32(a.part[2], a.part[3])));
}

SIMD_INLINE int32_t i_max_of(vint a) {
    return vmaxvq_s32(vmaxq_s32(vmaxq_s32(a.part[0], a.part[1]), vmaxq_s32(a.part[2], a.part[3])));
}

SIMD_INLINE int32x4_t high_nibbles(int32x4_t a) {
    return vreinterpretq_s32_u8(vshrq_n_u8(vreinterpretq_u8_s32(a), 4));
}

SIMD_OF_ONE(vint, i_high_nibbles, vint, high_nibbles)

SIMD_INLINE vint i_low_nibbles(vint a) {
    return i_and(a, i_set(0x0f0f0f0f));
}

// `a` with 16 added to each byte whose bit is set; `places` says which byte of `bits` has it.
SIMD_INLINE int32x4_t with_fifth_bits(int32x4_t a, uint8x16_t bits, uint8x16_t places) {
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    const uint8x16_t is_set = vtstq_u8(vqtbl1q_u8(bits, places), bit);
    return vreinterpretq_s32_u8(vbslq_u8(vdupq_n_u8(16), is_set, vreinterpretq_u8_s32(a)));
}

SIMD_INLINE vint i_with_fifth_bits(vint a, const uint8_t *bits) {
    const uint8x8_t eight = vld1_u8(bits);
    const uint8x16_t all = vcombine_u8(eight, eight);
    const uint8x16_t places = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    return (vint){{with_fifth_bits(a.part[0], all, places),
                   with_fifth_bits(a.part[1], all, vaddq_u8(places, vdupq_n_u8(2))),
                   with_fifth_bits(a.part[2], all, vaddq_u8(places, vdupq_n_u8(4))),
                   with_fifth_bits(a.part[3], all, vaddq_u8(places, vdupq_n_u8(6)))}};
}

// Bits 2 i and 2 i + 1 of each byte as bits 4 and 5, and others.
SIMD_INLINE uint8x16_t pair_in_place(uint8x16_t pairs, size_t i) {
    return i == 0   ? vshlq_n_u8(pairs, 4)
           : i == 1 ? vshlq_n_u8(pairs, 2)
           : i == 2 ? pairs
                    : vshrq_n_u8(pairs, 2);
}

SIMD_INLINE int32x4_t with_pairs(int32x4_t a, int32x4_t pairs, size_t i) {
    const uint8x16_t upper = pair_in_place(vreinterpretq_u8_s32(pairs), i);
    return vorrq_s32(a, vreinterpretq_s32_u8(vandq_u8(upper, vdupq_n_u8(0x30))));
}

SIMD_INLINE vint i_with_pairs(vint a, vint pairs, size_t i) {
    return (vint){{with_pairs(a.part[0], pairs.part[0], i), with_pairs(a.part[1], pairs.part[1], i),
                   with_pairs(a.part[2], pairs.part[2], i),
                   with_pairs(a.part[3], pairs.part[3], i)}};
}

SIMD_INLINE vint i_spread_pairs(const uint8_t *sixteen) {
    const int32x4_t bytes = vreinterpretq_s32_u8(vld1q_u8(sixteen));
    const int32x4_t none = vdupq_n_s32(0);
    return (vint){{with_pairs(none, bytes, 0), with_pairs(none, bytes, 1),
                   with_pairs(none, bytes, 2), with_pairs(none, bytes, 3)}};
}

SIMD_INLINE vint i_table(const int8_t *sixteen) {
    const int32x4_t table = vreinterpretq_s32_s8(vld1q_s8(sixteen));
    return (vint){{table, table, table, table}};
}

SIMD_INLINE int32x4_t look_up(int32x4_t table, int32x4_t indices) {
    const int8x16_t entries = vreinterpretq_s8_s32(table);
    return vreinterpretq_s32_s8(vqtbl1q_s8(entries, vreinterpretq_u8_s32(indices)));
}

SIMD_OF_TWO(vint, i_look_up, look_up)

// Multiplications are of signed bytes: weights up to 63 are both.
#define SIMD_SIGNED_OFFSET 0
#define SIMD_LANE_PRODUCTS 1 // that a step adds to a lane of 16 bits

SIMD_INLINE vint i_signed(vint bytes) {
    return bytes;
}

#ifdef SIMD_DOTPROD

typedef vint vsteps;

// Sixteen activations and which four of them.
typedef struct vfour {
    int8x16_t sixteen;
    size_t lane; // 0..3, a constant
} vfour;

SIMD_INLINE vfour i_four(const int8_t *q, size_t group) {
    return (vfour){vld1q_s8(q + group / 4 * 16), group % 4};
}

SIMD_INLINE int32x4_t dot_part(int32x4_t sums, int32x4_t weights, vfour x) {
    const int8x16_t bytes = vreinterpretq_s8_s32(weights);
    return x.lane == 0   ? vdotq_laneq_s32(sums, bytes, x.sixteen, 0)
           : x.lane == 1 ? vdotq_laneq_s32(sums, bytes, x.sixteen, 1)
           : x.lane == 2 ? vdotq_laneq_s32(sums, bytes, x.sixteen, 2)
                         : vdotq_laneq_s32(sums, bytes, x.sixteen, 3);
}

SIMD_INLINE vsteps i_unsigned_step(vsteps steps, vint weights, vfour x) {
    return (vint){
        {dot_part(steps.part[0], weights.part[0], x), dot_part(steps.part[1], weights.part[1], x),
         dot_part(steps.part[2], weights.part[2], x), dot_part(steps.part[3], weights.part[3], x)}};
}

SIMD_INLINE vsteps i_steps_begin(vint dots) {
    return dots;
}

SIMD_INLINE vint i_steps_end(vint dots, vsteps steps) {
    (void)dots;
    return steps;
}

#else

// Sums of 16 bits, one for each byte of weights.
typedef struct vsteps {
    int16x8_t part[8];
} vsteps;

typedef int8x16_t vfour; // four times

SIMD_INLINE vfour i_four(const int8_t *q, size_t group) {
    int32_t four;
    memcpy(&four, q + 4 * group, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

SIMD_INLINE vsteps i_unsigned_step(vsteps steps, vint weights, vfour x) {
    for (int i = 0; i < 4; i++) {
        const int8x16_t bytes = vreinterpretq_s8_s32(weights.part[i]);
        steps.part[2 * i] = vmlal_s8(steps.part[2 * i], vget_low_s8(bytes), vget_low_s8(x));
        steps.part[2 * i + 1] = vmlal_high_s8(steps.part[2 * i + 1], bytes, x);
    }
    return steps;
}

SIMD_INLINE vsteps i_steps_begin(vint dots) {
    (void)dots;
    const int16x8_t zero = vdupq_n_s16(0);
    return (vsteps){{zero, zero, zero, zero, zero, zero, zero, zero}};
}

SIMD_INLINE vint i_steps_end(vint dots, vsteps steps) {
    for (int i = 0; i < 4; i++) {
        const int32x4_t pairs = vpaddlq_s16(steps.part[2 * i]);
        const int32x4_t rows = vpaddq_s32(pairs, vpaddlq_s16(steps.part[2 * i + 1]));
        dots.part[i] = vaddq_s32(dots.part[i], rows);
    }
    return dots;
}

#endif

SIMD_INLINE vsteps i_signed_step(vsteps steps, vint weights, vfour x) {
    return i_unsigned_step(steps, weights, x);
}

SIMD_INLINE vfloat v_sums(const vfloat rows[16]) {
    vfloat sums;
    for (int i = 0; i < 4; i++) {
        const vfloat *r = rows + 4 * i;
        // Halves of eight lanes are added across before they are added to each other.
        const float32x4_t a = vpaddq_f32(vaddq_f32(r[0].part[0], r[0].part[2]),
                                         vaddq_f32(r[1].part[0], r[1].part[2]));
        const float32x4_t b = vpaddq_f32(vaddq_f32(r[2].part[0], r[2].part[2]),
                                         vaddq_f32(r[3].part[0], r[3].part[2]));
        const float32x4_t c = vpaddq_f32(vaddq_f32(r[0].part[1], r[0].part[3]),
                                         vaddq_f32(r[1].part[1], r[1].part[3]));
        const float32x4_t d = vpaddq_f32(vaddq_f32(r[2].part[1], r[2].part[3]),
                                         vaddq_f32(r[3].part[1], r[3].part[3]));
        sums.part[i] = vaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d));
    }
    return sums;
}

// out[i] = column i of the 4 x 4 floats.
SIMD_INLINE void transpose_four(float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d,
                                float32x4_t out[4]) {
    const float64x2_t even_top = vreinterpretq_f64_f32(vtrn1q_f32(a, b));
    const float64x2_t odd_top = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
    const float64x2_t even_bottom = vreinterpretq_f64_f32(vtrn1q_f32(c, d));
    const float64x2_t odd_bottom = vreinterpretq_f64_f32(vtrn2q_f32(c, d));
    out[0] = vreinterpretq_f32_f64(vtrn1q_f64(even_top, even_bottom));
    out[1] = vreinterpretq_f32_f64(vtrn1q_f64(odd_top, odd_bottom));
    out[2] = vreinterpretq_f32_f64(vtrn2q_f64(even_top, even_bottom));
    out[3] = vreinterpretq_f32_f64(vtrn2q_f64(odd_top, odd_bottom));
}

SIMD_INLINE void v_transpose(vfloat rows[16]) {
    vfloat columns[16];
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const vfloat *r = rows + 4 * j;
            float32x4_t square[4];
            transpose_four(r[0].part[i], r[1].part[i], r[2].part[i], r[3].part[i], square);
            for (int k = 0; k < 4; k++) {
                columns[4 * i + k].part[j] = square[k];
            }
        }
    }
    for (int i = 0; i < 16; i++) {
        rows[i] = columns[i];
    }
}

// Asks for a line that will be read soon, into the first and into the second cache.
SIMD_INLINE void simd_ask_near(const void *line) {
    __builtin_prefetch(line, 0, 3);
}

SIMD_INLINE void simd_ask_far(const void *line) {
    __builtin_prefetch(line, 0, 2);
}

// What the end of a kernel owes to code that follows: nothing.
SIMD_INLINE void simd_leave(void) {
}

#endif
