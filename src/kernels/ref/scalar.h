// scalar.h: the formulas of one element, shared by the reference kernels.
//
// in: a float (or a block of integers). out: a float. They call libm, which is exact to a unit in
// the last place or so; fast kernels approximate and are tested against these.
#ifndef KZ_KERNELS_REF_SCALAR_H
#define KZ_KERNELS_REF_SCALAR_H

#include <math.h>

#include "format/program.h"
#include "kernels/rows.h"

// x * (1 + erf(x / sqrt 2)) / 2, the exact form (Hendrycks and Gimpel, "Gaussian Error Linear
// Units", 2016).
static inline float kz_scalar_gelu(float x) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

// The same paper's approximation: the argument of tanh is sqrt(2 / pi) * (x + 0.044715 x^3).
static inline float kz_scalar_gelu_tanh(float x) {
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

// x times its logistic sigmoid; also called swish.
static inline float kz_scalar_silu(float x) {
    return x / (1.0f + expf(-x));
}

// KZ_ACTIVATION_NONE gives x.
static inline float kz_scalar_activate(kz_activation activation, float x) {
    switch (activation) {
    case KZ_ACTIVATION_GELU:
        return kz_scalar_gelu(x);
    case KZ_ACTIVATION_GELU_TANH:
        return kz_scalar_gelu_tanh(x);
    case KZ_ACTIVATION_SILU:
        return kz_scalar_silu(x);
    default:
        return x;
    }
}

// The sums that stand beside a block of q [KZ_BLOCK] in a KZ_A8 row: of all, and of half of it.
static inline int32_t kz_a8_block_sum(const int8_t *q, size_t count) {
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += q[i];
    }
    return sum;
}

#endif
