// loop.h: the token loop that every generating stage uses.
//
// One turn of the loop: logits of the newest token, an optional processor (suppression, penalties),
// the sampler, the stop rule. The chosen token is handed out at once and computed at the beginning
// of the next turn, so that the first token is not delayed and the last one costs nothing.
#ifndef KZ_GENERATE_LOOP_H
#define KZ_GENERATE_LOOP_H

#include "generate/sampler.h"
#include "generate/session.h"
#include "generate/stop.h"

// Changes `logits` [vocabulary] in place before the choice, -INFINITY for a token that must not
// come; `step` counts the tokens chosen since kz_loop_start.
typedef struct kz_logits_processor {
    void *context;
    void (*process)(void *context, uint32_t step, float *logits, size_t vocabulary);
} kz_logits_processor;

// The caller's memory: zeros, then what is to be used. All pointers must outlive the loop.
typedef struct kz_loop {
    kz_session *session;
    uint32_t sequence;
    kz_sampler *sampler;
    kz_stop_rule stop;             // judge NULL: nothing ends it
    kz_logits_processor processor; // process NULL: none
    const kz_token_mask *mask;     // NULL: every token is allowed
    bool has_log_probability;      // whether to work it out for each token (a pass over the row)
                                   // Written by the loop:
    uint32_t step;                 // tokens chosen since kz_loop_start
    bool has_pending;              // `pending` was chosen and is not computed yet
    int32_t pending;
    // Of the last token, natural, after processor and mask; only with has_log_probability.
    double log_probability;
} kz_loop;

// Computes the prompt's `count` >= 1 tokens behind what the sequence holds. On failure the sequence
// is as before.
KAZEIA_MUST_CHECK kazeia_status kz_loop_start(kz_loop *loop, const int32_t *ids, size_t count);
// Chooses the next token. On KZ_STOP_END it is the token that ended the reply and is not pending.
// On failure the loop may be called again or left; a pending token stays so. CANCELLED after
// kz_session_cancel; BAD_ARGUMENT when the context is full; BAD_FILE when no logit is a number, or
// processor and mask leave no token.
KAZEIA_MUST_CHECK kazeia_status kz_loop_next(kz_loop *loop, int32_t *out_token,
                                             kz_stop_action *out_action);

#endif
