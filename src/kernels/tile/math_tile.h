// math_tile.h: exp, erf and the activations, sixteen lanes at a time.
//
// in: a simd_*.h included before. out: functions of vfloat. NaN stays NaN; infinities give what
// libm gives. Errors, measured against double: exp 2e-7 relative; gelu 3e-7 of max(1, |x|); the
// others 4e-7 relative.
#include "format/program.h"

#define KZ_PASTE_(name, isa) name##__##isa
#define KZ_PASTE(name, isa) KZ_PASTE_(name, isa)
// The variant's name of a kernel; the including file defines KZ_ISA.
#define KZ_NAME(name) KZ_PASTE(name, KZ_ISA)

// Loops over registers must unroll wholly: an array of vectors with a variable index would live in
// memory.
#ifdef __clang__
#define SIMD_UNROLL _Pragma("unroll")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 16")
#endif

// exp(x) = 2^n * exp(r), |r| <= ln 2 / 2. The polynomial is Taylor's of degree 7, its last term
// folded into the lower ones with Chebyshev's T7 (error 2e-9). ln 2 is taken off in two parts, the
// first short enough for n times it to be exact. Beyond the clamps the result is 0 or infinity.
SIMD_INLINE vfloat v_exp(vfloat x) {
    // x stands second in both: of NaN and a number these operations give the second operand, so NaN
    // passes the clamps.
    const vfloat clamped = v_min(v_set(89.0f), v_max(v_set(-104.0f), x));
    const vfloat n = v_round(v_mul(clamped, v_set(1.44269504f)));
    vfloat r = v_fma(n, v_set(-0.693359375f), clamped);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    vfloat p = v_fma(r, v_set(1.0f / 720.0f), v_set(8.375039e-3f));
    p = v_fma(p, r, v_set(1.0f / 24.0f));
    p = v_fma(p, r, v_set(0.16666416f));
    p = v_fma(p, r, v_set(0.5f));
    p = v_fma(v_mul(r, r), p, r);
    return v_scale(v_add(p, v_set(1.0f)), n);
}

// Abramowitz and Stegun 7.1.26: 1 - t (a1 + ... + a5 t^4) exp(-x^2), t = 1 / (1 + 0.3275911 |x|).
SIMD_INLINE vfloat v_erf(vfloat x) {
    const vfloat size = v_abs(x);
    const vfloat t = v_div(v_set(1.0f), v_fma(size, v_set(0.3275911f), v_set(1.0f)));
    vfloat p = v_fma(t, v_set(1.061405429f), v_set(-1.453152027f));
    p = v_fma(p, t, v_set(1.421413741f));
    p = v_fma(p, t, v_set(-0.284496736f));
    p = v_fma(p, t, v_set(0.254829592f));
    const vfloat fall = v_exp(v_sub(v_zero(), v_mul(size, size)));
    return v_with_sign(v_sub(v_set(1.0f), v_mul(v_mul(p, t), fall)), x);
}

SIMD_INLINE vfloat v_gelu(vfloat x) {
    const vfloat erf = v_erf(v_mul(x, v_set(0.70710678f)));
    return v_mul(v_mul(x, v_set(0.5f)), v_add(v_set(1.0f), erf));
}

// x / (1 + exp(-z))
SIMD_INLINE vfloat v_times_sigmoid(vfloat x, vfloat z) {
    return v_div(x, v_add(v_set(1.0f), v_exp(v_sub(v_zero(), z))));
}

SIMD_INLINE vfloat v_silu(vfloat x) {
    return v_times_sigmoid(x, x);
}

// (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y)), y = sqrt(2 / pi) * (x + 0.044715 x^3).
SIMD_INLINE vfloat v_gelu_tanh(vfloat x) {
    const vfloat cubic = v_fma(v_mul(v_mul(x, x), x), v_set(0.044715f), x);
    return v_times_sigmoid(x, v_mul(cubic, v_set(1.59576912f)));
}

SIMD_INLINE vfloat v_activate(kz_activation activation, vfloat x) {
    switch (activation) {
    case KZ_ACTIVATION_GELU:
        return v_gelu(x);
    case KZ_ACTIVATION_GELU_TANH:
        return v_gelu_tanh(x);
    case KZ_ACTIVATION_SILU:
        return v_silu(x);
    default:
        return x;
    }
}

// Applies `statement` to 16 lanes at a time; `count` lanes, at index `i`, `n` of them in use.
#define SIMD_FOR_LANES(i, n, count) \
    for (size_t i = 0, n; i < (count) && ((n = (count)-i < 16 ? (count)-i : 16), 1); i += 16)
