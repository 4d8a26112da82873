// penalty.c: penalties and biases on a row of logits.
//   in   logits, the tokens so far
//   out  logits
// The window is counted anew for each row: thousands of additions are nothing beside a token, and
// there is no state that a rewind, a fork or a forgotten draft could leave wrong.
#include "generate/penalty.h"

#include <math.h>

kazeia_status kz_penalties_check(const kz_penalties *penalties, uint32_t vocabulary) {
    if (!(penalties->repetition >= 0.0f) || !isfinite(penalties->repetition)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "sampling: repetition penalty is %g, expected over 0",
                       (double)penalties->repetition);
    }
    if (!isfinite(penalties->frequency) || !isfinite(penalties->presence)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "sampling: frequency and presence penalty are %g and %g, expected numbers",
                       (double)penalties->frequency, (double)penalties->presence);
    }
    for (size_t i = 0; i < penalties->bias_count; i++) {
        const kz_bias *bias = &penalties->biases[i];
        if (bias->token < 0 || (uint32_t)bias->token >= vocabulary || isnan(bias->value)) {
            return kz_fail(KAZEIA_BAD_ARGUMENT,
                           "sampling: bias %zu is %g for token %d, expected a number for a token "
                           "of 0 to %u",
                           i, (double)bias->value, bias->token, vocabulary - 1);
        }
    }
    return KAZEIA_OK;
}

static bool has_repetition(const kz_penalties *penalties) {
    return penalties->repetition != 0.0f && penalties->repetition != 1.0f;
}

bool kz_penalties_need_counts(const kz_penalties *penalties) {
    return has_repetition(penalties) || penalties->frequency != 0.0f || penalties->presence != 0.0f;
}

static float penalised(const kz_penalties *penalties, float logit, uint32_t times) {
    if (has_repetition(penalties)) {
        logit = logit < 0.0f ? logit * penalties->repetition : logit / penalties->repetition;
    }
    return logit - penalties->frequency * (float)times - penalties->presence;
}

static bool is_token(int32_t id, uint32_t vocabulary) {
    return id >= 0 && (uint32_t)id < vocabulary;
}

// A token is penalised at its first place in the window and its count cleared there, so that the
// table is zeros again at the end.
static void penalise_window(const kz_penalties *penalties, const int32_t *ids, size_t count,
                            uint32_t *counts, float *logits, uint32_t vocabulary) {
    for (size_t i = 0; i < count; i++) {
        if (is_token(ids[i], vocabulary)) {
            counts[ids[i]]++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (is_token(ids[i], vocabulary) && counts[ids[i]] > 0) {
            logits[ids[i]] = penalised(penalties, logits[ids[i]], counts[ids[i]]);
            counts[ids[i]] = 0;
        }
    }
}

void kz_penalties_apply(const kz_penalties *penalties, const int32_t *ids, size_t count,
                        uint32_t *counts, float *logits, uint32_t vocabulary) {
    for (size_t i = 0; i < penalties->bias_count; i++) {
        logits[penalties->biases[i].token] += penalties->biases[i].value;
    }
    if (!kz_penalties_need_counts(penalties)) {
        return;
    }
    const size_t window =
        penalties->window && penalties->window < count ? penalties->window : count;
    penalise_window(penalties, ids + (count - window), window, counts, logits, vocabulary);
}
