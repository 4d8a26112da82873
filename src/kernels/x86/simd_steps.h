// simd_steps.h: what AVX2 and AVX512 lanes have alike.
//
// in: an including file that has vint and i_set. out: the activations of a step, and what is said
// to the processor.
#ifndef KZ_KERNELS_X86_SIMD_STEPS_H
#define KZ_KERNELS_X86_SIMD_STEPS_H

typedef vint vsteps;
typedef vint vfour;

// Four activations of group `group` of a block, repeated as the steps take them.
SIMD_INLINE vfour i_four(const int8_t *q, size_t group) {
    int32_t four;
    memcpy(&four, q + 4 * group, sizeof four);
    return i_set(four);
}

// Asks for a line that will be read soon, into the first and into the second cache.
SIMD_INLINE void simd_ask_near(const void *line) {
    _mm_prefetch(line, _MM_HINT_T0);
}

SIMD_INLINE void simd_ask_far(const void *line) {
    _mm_prefetch(line, _MM_HINT_T1);
}

// Ends a kernel: code without AVX would run slower while the upper halves are in use. Compilers
// leave it out where the last call is one of their own functions.
SIMD_INLINE void simd_leave(void) {
    _mm256_zeroupper();
}

#endif
