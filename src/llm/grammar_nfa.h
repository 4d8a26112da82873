// grammar_nfa.h: one rule as a nondeterministic automaton over bytes.
//
// in:  a rule's nodes, checked; rules that are inlined are copied in
// out: states with edges of bytes, of nothing and of calls; state 0 begins, `end` ends
//
// Characters are spelled in UTF-8, surrogates left out. Every state can reach the end: what no text
// matches is not built. The first failure is kept in `status`.
#ifndef KZ_LLM_GRAMMAR_NFA_H
#define KZ_LLM_GRAMMAR_NFA_H

#include "llm/grammar_build.h"

typedef enum kz_nfa_edge_kind { KZ_EDGE_BYTES, KZ_EDGE_NOTHING, KZ_EDGE_CALL } kz_nfa_edge_kind;

typedef struct kz_nfa_edge {
    kz_nfa_edge_kind kind;
    uint8_t low, high; // KZ_EDGE_BYTES
    uint32_t rule;     // KZ_EDGE_CALL
    uint32_t target;
    uint32_t next; // edge + 1
} kz_nfa_edge;

typedef struct kz_nfa {
    const kz_grammar_builder *builder;
    uint32_t rule;
    kazeia_status status;
    uint32_t *states; // edge + 1
    uint32_t state_count, state_capacity;
    kz_nfa_edge *edges;
    uint32_t edge_count, edge_capacity;
    uint32_t end;
} kz_nfa;

// Begins as zeros but for `builder`; the memory of the last rule is used again.
void kz_nfa_build(kz_nfa *nfa, uint32_t rule);
void kz_nfa_clear(kz_nfa *nfa);

#endif
