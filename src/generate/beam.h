// beam.h: the token sequences of a trie that a session finds most likely.
//
// in:  a session, a trie of what may be said, sequences for the beams
// out: finished sequences with their log-probabilities, best first
//
// A score is  lp + end - weight * (prior + prior_end):  lp the log-probability of the tokens, end
// the log-mass of all terminators behind them, and the priors the same of the same tokens in
// sequences that the caller sets up to be given nothing to go by (kz_session_set_input), so that
// what the model would have said anyway counts less. A prior hangs on the tokens alone: the trie
// keeps it for each node, and what is known is not computed again.
//
// All log-probabilities are natural ones over the whole vocabulary. Each step is one call of the
// step method for all beams and their unknown priors.
#ifndef KZ_GENERATE_BEAM_H
#define KZ_GENERATE_BEAM_H

#include "generate/session.h"
#include "generate/stop.h"

#define KZ_BEAM_WIDTH_LIMIT 16u
#define KZ_BEAM_FOUND_LIMIT 64u

typedef struct kz_beam kz_beam;

// What is known of a node without hearing anything.
typedef struct kz_beam_prior {
    float sum;     // log-probability of the node's tokens
    float end;     // log-mass of terminators behind them
    bool is_known; // `end`, and `sum` of all children
} kz_beam_prior;

typedef struct kz_beam_search {
    const kz_token_trie *trie; // node 0 is before any token
    // The node's prior, which the search fills in; it stays the trie's.
    kz_beam_prior *(*prior)(void *context, uint32_t node);
    void *prior_context;
    // Sequences [first, first + width) are the beams', [first + width, first + 2 * width) those of
    // their priors, which are asked for nothing by the inputs that the caller gave them.
    uint32_t first_sequence;
    const int32_t *prompt; // [prompt_count] at least one token
    uint32_t prompt_count;
    const int64_t *terminators;
    uint32_t terminator_count;
    float prior_weight;
    // What cannot win any more is dropped: hypotheses this far below the best finished one, or
    // `rise` below one that the sequence goes on behind (its end below `end_floor`); and those
    // `spread` below the best of their step.
    float margin, rise, end_floor, spread;
    // While nothing above `floor` is finished, the search ends without a result when the best
    // hypothesis of a step is below `floor`, and `floor_rise` more for each token before it up to
    // `floor_top`: nothing of the trie was heard.
    float floor, floor_rise, floor_top;
    uint32_t token_limit; // longest sequence behind the prompt
} kz_beam_search;

typedef struct kz_beam_found {
    uint32_t node;
    float log_probability, end; // of the tokens; of the terminators
    float score;
} kz_beam_found;

// What a search cost: tokens computed for beams, and for priors.
typedef struct kz_beam_cost {
    uint32_t steps, beam_tokens, prior_tokens;
} kz_beam_cost;

// Memory for searches of up to `width` beams in sessions of this vocabulary. OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_beam_create(uint32_t width, uint32_t vocabulary,
                                               const kazeia_allocator *allocator,
                                               kz_beam **out_beam);
// NULL is fine.
void kz_beam_destroy(kz_beam *beam);

// Searches; the sequences are emptied first and left as they are. *out_found is the beam's memory
// until its next search. Fails as the session's calls do; allocates nothing.
KAZEIA_MUST_CHECK kazeia_status kz_beam_run(kz_beam *beam, kz_session *session,
                                            const kz_beam_search *search,
                                            const kz_beam_found **out_found, uint32_t *out_count,
                                            kz_beam_cost *out_cost);

#endif
