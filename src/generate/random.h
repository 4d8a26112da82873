// random.h: a small random number generator whose sequence is part of what a seed promises.
//
// PCG-XSH-RR 64/32 (M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
// Algorithms for Random Number Generation", 2014) with its usual increment.
#ifndef KZ_GENERATE_RANDOM_H
#define KZ_GENERATE_RANDOM_H

#include <stdint.h>

// The caller's memory; one thread at a time. Copying it repeats the sequence from there.
typedef struct kz_random {
    uint64_t state;
} kz_random;

#define KZ_RANDOM_STREAM 1442695040888963407u

// 32 random bits.
static inline uint32_t kz_random_next(kz_random *random) {
    const uint64_t old = random->state;
    random->state = old * 6364136223846793005u + KZ_RANDOM_STREAM;
    const uint32_t folded = (uint32_t)(((old >> 18) ^ old) >> 27);
    const uint32_t turn = (uint32_t)(old >> 59);
    return (folded >> turn) | (folded << ((32 - turn) & 31));
}

// The seeding of PCG's own pcg32_srandom_r. Any seed is as good as another.
static inline void kz_random_seed(kz_random *random, uint64_t seed) {
    random->state = 0;
    kz_random_next(random);
    random->state += seed;
    kz_random_next(random);
}

// 53 random bits in [0, 1): every value is a multiple of 2^-53, so that a double holds it exactly.
// Takes two numbers of the sequence.
static inline double kz_random_unit(kz_random *random) {
    const uint64_t high = kz_random_next(random) >> 5;
    const uint64_t low = kz_random_next(random) >> 6;
    return (double)((high << 26) | low) * (1.0 / 9007199254740992.0);
}

#endif
