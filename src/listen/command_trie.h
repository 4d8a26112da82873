// command_trie.h: the sentences of a command grammar as tokens of a recogniser, a node at a time.
//
// in:  a grammar's automaton, the recogniser's tokenizer
// out: a trie that grows where it is looked at, with a prior for each node
//
// A sentence is written as the recogniser writes one: a space before it, its first letter large.
// Each word is one way of tokens, the tokenizer's own; a sentence that ends in % may end in %. too.
#ifndef KZ_LISTEN_COMMAND_TRIE_H
#define KZ_LISTEN_COMMAND_TRIE_H

#include "base/alloc.h"
#include "generate/beam.h"
#include "listen/priors.h"
#include "text/command_automaton.h"
#include "text/tokenizer.h"

typedef struct kz_command_trie kz_command_trie;

// Takes all its memory here (some 30 MB, of which only what is used is touched). The automaton
// and the priors must outlive it; the tokenizer is this trie's alone while it works. A node begins
// with the prior that is known of its tokens.
KAZEIA_MUST_CHECK kazeia_status kz_command_trie_create(const kz_command_automaton *automaton,
                                                       kz_tokenizer *tokenizer, kz_priors *priors,
                                                       const kazeia_allocator *allocator,
                                                       kz_command_trie **out_trie);
// NULL is fine.
void kz_command_trie_destroy(kz_command_trie *trie);

// For a beam: valid as long as the trie.
kz_token_trie kz_command_trie_table(kz_command_trie *trie);
kz_beam_prior *kz_command_trie_prior(void *trie, uint32_t node);

// What went wrong while nodes were looked at, since the last reset: OUT_OF_MEMORY when its room is
// used up.
kazeia_status kz_command_trie_status(const kz_command_trie *trie);
// Forgets all nodes but the root; what was learnt of their priors is kept.
void kz_command_trie_reset(kz_command_trie *trie);
// Gives the priors what was learnt.
void kz_command_trie_keep_priors(kz_command_trie *trie);
// Whether less than half of the room is left: a search needs some.
bool kz_command_trie_is_half_full(const kz_command_trie *trie);
uint32_t kz_command_trie_node_count(const kz_command_trie *trie);

// The text of a node without the space before it, into `out` (NUL-terminated, cut at `capacity`).
void kz_command_trie_text(const kz_command_trie *trie, uint32_t node, char *out, size_t capacity);

#endif
