// half.h: IEEE binary16 and bfloat16 to and from binary32, bit-exact, round to nearest even.
//
// Of numbers the results are those of the processor's own conversions (F16C's vcvtph2ps and
// vcvtps2ph), signs of zero, subnormals and infinities included, whatever the machine: exported
// files depend on them. A NaN stays one.
#ifndef KZ_BASE_HALF_H
#define KZ_BASE_HALF_H

#include <stdint.h>
#include <string.h>

// The float whose bits these are, and back.
static inline float kz_float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t kz_bits_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Scaling by 2^112 moves the binary16 exponent to binary32's place and normalises subnormals.
static inline float kz_float_from_f16(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13;
    if ((half & 0x7c00u) == 0x7c00u) {
        return kz_float_from_bits(sign | 0x7f800000u | magnitude);
    }
    const float scaled = kz_float_from_bits(magnitude) * kz_float_from_bits(0x77800000u);
    return kz_float_from_bits(sign | kz_bits_from_float(scaled));
}

// Above 65504 and its rounding comes infinity. The constants are exponents of binary32: 0x47800000
// is 2^16, the first that is too large, 0x38800000 is 2^-14, the least normal binary16.
static inline uint16_t kz_f16_from_float(float value) {
    const uint32_t bits = kz_bits_from_float(value);
    const uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    }
    if (magnitude >= 0x47800000u) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) { // subnormal: adding 0.5 lets the adder do the rounding
        const float shifted = kz_float_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (kz_bits_from_float(shifted) - 0x3f000000u));
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

// bfloat16 is the upper half of a binary32.
static inline float kz_float_from_bf16(uint16_t brain) {
    return kz_float_from_bits((uint32_t)brain << 16);
}

// Rounding may carry into the exponent, up to infinity: that is what the standard asks for.
static inline uint16_t kz_bf16_from_float(float value) {
    const uint32_t bits = kz_bits_from_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#endif
