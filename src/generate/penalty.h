// penalty.h: what a text has said already, held against saying it again; and biases.
//
//   in   a row of logits, the tokens so far
//   out  the row, changed in place
//
// Order: biases; repetition (Hugging Face's RepetitionPenaltyLogitsProcessor: once for each
// distinct token, a logit below 0 is multiplied, any other divided); frequency and presence
// (logit - frequency * times - presence, as OpenAI's API defines them). All of them come before the
// temperature.
#ifndef KZ_GENERATE_PENALTY_H
#define KZ_GENERATE_PENALTY_H

#include "base/status.h"

typedef struct kz_bias {
    int32_t token;
    float value; // added to the logit; -infinity forbids the token
} kz_bias;

typedef struct kz_penalties {
    float repetition;          // over 0; 1 and 0: off
    float frequency, presence; // 0: off
    uint32_t window;           // the newest tokens that count; 0: all
    const kz_bias *biases;     // [bias_count], the caller's
    size_t bias_count;
} kz_penalties;

// BAD_ARGUMENT says which number is out of its range, or which bias has no token below
// `vocabulary`.
KAZEIA_MUST_CHECK kazeia_status kz_penalties_check(const kz_penalties *penalties,
                                                   uint32_t vocabulary);
// Whether the tokens so far change anything: only then is a table of counts needed.
bool kz_penalties_need_counts(const kz_penalties *penalties);
// Changes `logits` [vocabulary]. `ids` [count]: the tokens so far, prompt included, in order; those
// that are no token of the vocabulary do not count. `counts` [vocabulary] is zeros before and
// after; it may be NULL where none are needed.
void kz_penalties_apply(const kz_penalties *penalties, const int32_t *ids, size_t count,
                        uint32_t *counts, float *logits, uint32_t vocabulary);

#endif
