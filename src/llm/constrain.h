// constrain.h: a grammar over a model's tokens: which may come next, and may the text end here.
//
// in:  a grammar, a tokenizer's token bytes, the ids that end a reply, the tokens that were chosen
// out: a kz_token_mask for the token loop
//
// A token may come when all its bytes continue the text within the grammar; the tokens' borders and
// the characters' need not agree. Control, unknown, unused and empty tokens never may; a stop token
// may exactly where the grammar may end. The mask is a walk of a trie of the vocabulary. The walk
// is remembered for each state of an automaton, so that most steps only join what is known
// (constrain.c).
//
// All memory is taken at creation: 8 MB for a vocabulary of 49,152 tokens, 17 MB for one of
// 151,936. Bounded: nesting KZ_CONSTRAIN_DEPTH (deeper nesting is not allowed), and what a step may
// look at; beyond it, and where no token of the vocabulary continues the text, the mask is empty
// and kz_constrain_check tells why.
//
// One thread at a time.
#ifndef KZ_LLM_CONSTRAIN_H
#define KZ_LLM_CONSTRAIN_H

#include "generate/stop.h"
#include "llm/grammar.h"
#include "text/tokenizer.h"

#define KZ_CONSTRAIN_DEPTH 1000u // rules within rules

typedef struct kz_constrain kz_constrain;

// `stops` [stop_count] is copied; `vocabulary` is the length of a row of logits: masks have that
// many bits, and ids from it on never may come. Grammar and tokenizer must outlive the constraint.
// BAD_FILE when the vocabulary has no token that may begin, UNSUPPORTED when the grammar's
// beginning is over a limit, both as kz_constrain_check; OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_constrain_create(const kz_grammar *grammar,
                                                    const kz_tokenizer *tokenizer,
                                                    const int64_t *stops, size_t stop_count,
                                                    uint32_t vocabulary,
                                                    const kazeia_allocator *allocator,
                                                    kz_constrain **out_constrain);
// NULL is fine.
void kz_constrain_destroy(kz_constrain *constrain);
// Back to the beginning of a text; what was learned is kept.
void kz_constrain_reset(kz_constrain *constrain);

// The table for kz_loop.mask; its context is `constrain`.
kz_token_mask kz_constrain_mask(kz_constrain *constrain);
// True when the text so far is whole: a stop token may come.
bool kz_constrain_is_complete(const kz_constrain *constrain);
// OK; or, after a mask was empty, the failure with its sentence set again: to be asked when the
// loop fails, whose own sentence knows no grammar.
KAZEIA_MUST_CHECK kazeia_status kz_constrain_check(const kz_constrain *constrain);
// Takes `count` bytes of text as if they were tokens. False when the grammar does not allow them,
// or after a failure: only a reset helps then.
bool kz_constrain_feed(kz_constrain *constrain, const char *bytes, size_t count);

#endif
