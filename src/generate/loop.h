// loop.h: the token loop that every generating stage uses.
//
// One turn of the loop: logits of the newest token, penalties, an optional processor (suppression),
// a mask, the sampler, the stop rule. The chosen token is handed out at once and computed at the
// beginning of the next turn, so that the first token is not delayed and the last one costs
// nothing.
//
// With a draft, tokens that are guessed from the text so far (generate/lookup.h) are computed
// together with the chosen one. Each turn still chooses one token in the same way; where it is the
// guessed one, its successor's logits are there already. So the text is the same with and without,
// greedy or drawn: the step method's results do not depend on how many tokens a call holds.
#ifndef KZ_GENERATE_LOOP_H
#define KZ_GENERATE_LOOP_H

#include "generate/penalty.h"
#include "generate/sampler.h"
#include "generate/session.h"
#include "generate/stop.h"

#define KZ_DRAFT_LIMIT 15u // guessed tokens at once: with the chosen one they are 16

// Changes `logits` [vocabulary] in place before the choice, -INFINITY for a token that must not
// come; `step` counts the tokens chosen since kz_loop_start.
typedef struct kz_logits_processor {
    void *context;
    void (*process)(void *context, uint32_t step, float *logits, size_t vocabulary);
} kz_logits_processor;

// Guessed tokens on their way. The caller's memory: zeros, then `limit` and `logits`.
typedef struct kz_draft {
    uint32_t limit; // most guessed tokens at once, up to KZ_DRAFT_LIMIT; 0: none
    float *logits;  // [limit + 1][vocabulary]
    uint32_t room;  // set before each kz_loop_next: guessed tokens that would be of use
                    // Written by the loop:
    int32_t tokens[KZ_DRAFT_LIMIT];
    uint32_t rows;                // of logits that wait, one more than tokens; 0: there is no draft
    uint32_t row;                 // that chooses next; the tokens before it are confirmed
    uint32_t length, least_match; // of the next draft, by how the last ones did
    uint64_t drafted, confirmed;  // tokens since kz_loop_start
} kz_draft;

// The caller's memory: zeros, then what is to be used. All pointers must outlive the loop.
typedef struct kz_loop {
    kz_session *session;
    uint32_t sequence;
    kz_sampler *sampler;
    kz_stop_rule stop;             // judge NULL: nothing ends it
    kz_logits_processor processor; // process NULL: none
    const kz_token_mask *mask;     // NULL: every token is allowed
    bool has_log_probability;      // whether to work it out for each token (a pass over the row)
    // The sequence's tokens, for penalties and drafts: [session limit + 1]. The caller writes the
    // prompt's and their count before kz_loop_start; the loop adds those that it chooses. NULL:
    // neither is used.
    int32_t *ids;
    size_t id_count;
    const kz_penalties *penalties; // NULL: none
    uint32_t *counts;              // [vocabulary] zeros, where the penalties need them
    kz_draft draft;
    // Written by the loop:
    uint32_t step;    // tokens chosen since kz_loop_start
    bool has_pending; // `pending` was chosen and is not computed yet
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
// Tokens of the sequence that are computed and chosen: its length but for guesses.
uint32_t kz_loop_length(const kz_loop *loop);
// Ends the loop: the pending token and guesses are forgotten, the sequence is what was computed of
// the text.
void kz_loop_leave(kz_loop *loop);

#endif
