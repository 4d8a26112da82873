// sampler.h: one token out of a row of logits.
//
// Order: temperature, top-k, top-p, min-p, then a draw; the meaning of each is that of Hugging
// Face's processors (ties at the border of top-k are all kept; top-p keeps the most probable tokens
// until they hold top_p; min-p compares with the most probable one and comes last). Penalties
// change the logits before the sampler sees them (generate/penalty.h).
#ifndef KZ_GENERATE_SAMPLER_H
#define KZ_GENERATE_SAMPLER_H

#include "base/alloc.h"
#include "generate/random.h"

typedef struct kz_sampling {
    float temperature; // 0: greedy, the rest is then ignored
    uint32_t top_k;    // 0: off
    float top_p;       // (0, 1]; 1: off
    float min_p;       // [0, 1]; 0: off
    uint64_t seed;     // of the draws (generate/random.h)
} kz_sampling;

typedef struct kz_candidate {
    int32_t token;
    float score;        // logit / temperature
    double probability; // among those that are kept
} kz_candidate;

typedef struct kz_sampler kz_sampler;

// BAD_ARGUMENT says which number is out of its range: temperature >= 0, top_p in (0, 1], min_p in
// [0, 1].
KAZEIA_MUST_CHECK kazeia_status kz_sampling_check(const kz_sampling *sampling);

// `vocabulary`: length of the rows. Takes 16 bytes a token, none for a greedy sampler; sampling
// does not allocate. Fails as kz_sampling_check does, or with OUT_OF_MEMORY. One thread at a time.
KAZEIA_MUST_CHECK kazeia_status kz_sampler_create(const kz_sampling *sampling, uint32_t vocabulary,
                                                  const kazeia_allocator *allocator,
                                                  kz_sampler **out_sampler);
// NULL is fine.
void kz_sampler_destroy(kz_sampler *sampler);
// Starts the random numbers again from the seed.
void kz_sampler_reset(kz_sampler *sampler);
// Where the random numbers stand. Setting it repeats the draws from there.
kz_random kz_sampler_random(const kz_sampler *sampler);
void kz_sampler_set_random(kz_sampler *sampler, kz_random random);

// Chooses a token for one row, `logits` [vocabulary], which is only read. Of equally good ones a
// greedy choice takes the lowest id. BAD_FILE when no logit is a number (weights that overflow).
// NaN counts as -infinity.
KAZEIA_MUST_CHECK kazeia_status kz_sampler_pick(kz_sampler *sampler, const float *logits,
                                                int32_t *out_token);
// The tokens that a draw would choose among, with their probabilities, in no promised order; valid
// until the sampler's next call. For temperatures over 0.
KAZEIA_MUST_CHECK kazeia_status kz_sampler_candidates(kz_sampler *sampler, const float *logits,
                                                      const kz_candidate **out_candidates,
                                                      size_t *out_count);

// The largest logit's id, the lowest of equals; -1 when none is a number.
int32_t kz_logits_best(const float *logits, size_t count);
// Natural log softmax of `token` (< count). Exponentials are good to 2e-7 of themselves and summed
// in double. -infinity for a token that cannot be, and when no logit is a number.
double kz_logits_log_probability(const float *logits, size_t count, int32_t token);
// Natural log of the sum of all e^logit, to the same precision: what a logit must be less of to be
// its log softmax. Infinite when a logit is, or when none is a number.
double kz_logits_log_sum(const float *logits, size_t count);

#endif
