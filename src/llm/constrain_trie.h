// constrain_trie.h: a vocabulary's token bytes as a trie in one array.
//
// in:  token ids with their bytes
// out: nodes in the order of a depth-first walk: a node's children follow it, `end` skips them
//
// Two forests lie behind each other: all tokens, and those that are not plain. A plain token is of
// whole characters that may stand in a JSON string as they are, at most KZ_PLAIN_CHARACTERS: states
// that take any such text need not look at each of them (constrain.c).
#ifndef KZ_LLM_CONSTRAIN_TRIE_H
#define KZ_LLM_CONSTRAIN_TRIE_H

#include "text/tokenizer.h"

#define KZ_PLAIN_CHARACTERS 16u

typedef struct kz_trie_node {
    uint32_t end;         // the node behind the subtree
    uint32_t first_token; // in `tokens`; up to that of the next node: those that end here
    uint32_t depth : 24;  // 1 at a root
    uint32_t byte : 8;
} kz_trie_node;

typedef struct kz_byte_trie {
    kazeia_allocator allocator;
    kz_trie_node *nodes; // [node_count + 1]
    uint32_t node_count;
    uint32_t rest;        // the first node of the second forest
    uint32_t *tokens;     // ids in the order of their bytes
    uint32_t token_count; // of the first forest
    uint32_t depth;       // of the longest token
    uint32_t *plain;      // [(vocabulary + 31) / 32] bits of the plain tokens
} kz_byte_trie;

// Tokens that are special, empty, from `vocabulary` on or among `stops` [(vocabulary + 31) / 32
// bits] are left out.
KAZEIA_MUST_CHECK kazeia_status kz_byte_trie_create(const kz_tokenizer *tokenizer,
                                                    const uint32_t *stops, uint32_t vocabulary,
                                                    const kazeia_allocator *allocator,
                                                    kz_byte_trie *out_trie);
// Zeros are fine.
void kz_byte_trie_clear(kz_byte_trie *trie);

#endif
