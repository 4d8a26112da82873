// stop.h: the tables of functions by which others steer the token loop.
//
// The loop knows ids only. What an id means (a stop token, a letter of a JSON document, a word of a
// command) is known to the stage that fills these tables.
#ifndef KZ_GENERATE_STOP_H
#define KZ_GENERATE_STOP_H

#include "base/status.h"

// The verdict on a token that was just chosen.
typedef enum kz_stop_action {
    KZ_STOP_CONTINUE, // the token belongs to the reply
    KZ_STOP_HOLD,     // it may be the beginning of an end: keep it back until the next verdict
    KZ_STOP_END,      // the reply ends before this token
} kz_stop_action;

// Judges each chosen token once, in order, on the loop's thread.
typedef struct kz_stop_rule {
    void *context;
    kz_stop_action (*judge)(void *context, int32_t token);
} kz_stop_rule;

// Which tokens may come next (a grammar, say).
typedef struct kz_token_mask {
    void *context;
    // One bit a token of the vocabulary, token t's being bit t % 32 of word t / 32; it stays until
    // `advance`. NULL: every token may come. Asked for once a step.
    const uint32_t *(*allowed)(void *context);
    // The token was chosen. Not called for the token that ends a reply.
    void (*advance)(void *context, int32_t token);
} kz_token_mask;

typedef struct kz_token_child {
    int32_t token;
    uint32_t node;
} kz_token_child;

// The token sequences that a grammar can say, as a trie; node 0 is the root.
typedef struct kz_token_trie {
    void *context;
    // Writes at most `capacity` children; returns how many the node has.
    size_t (*children)(void *context, uint32_t node, kz_token_child *out_children, size_t capacity);
    bool (*is_end)(void *context, uint32_t node);
} kz_token_trie;

// The plain rule: any of these ids ends the reply.
typedef struct kz_stop_tokens {
    const int64_t *ids;
    size_t count;
} kz_stop_tokens;

// `tokens` must outlive the rule.
kz_stop_rule kz_stop_rule_tokens(kz_stop_tokens *tokens);

#endif
