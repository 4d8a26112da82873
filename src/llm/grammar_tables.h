// grammar_tables.h: a compiled grammar as the constraint reads it.
//
// An automaton per rule, all in the same arrays: a state's byte edges have disjoint ranges in
// ascending order; a call edge runs the automaton at `entry` and goes on at `target`. Every state
// can reach an end of its rule, every call can return: what is begun can always be finished.
#ifndef KZ_LLM_GRAMMAR_TABLES_H
#define KZ_LLM_GRAMMAR_TABLES_H

#include "llm/grammar.h"

typedef struct kz_grammar_edge {
    uint8_t low, high;
    uint32_t target;
} kz_grammar_edge;

typedef struct kz_grammar_call {
    uint32_t entry, target; // states
} kz_grammar_call;

typedef struct kz_grammar_state {
    uint32_t first_edge, first_call; // up to those of the next state
    bool is_end;                     // the rule may end here
} kz_grammar_state;

struct kz_grammar {
    kazeia_allocator allocator;
    kz_grammar_state *states; // [state_count + 1]
    kz_grammar_edge *edges;
    kz_grammar_call *calls;
    uint32_t state_count, edge_count, call_count;
    uint32_t root; // state
};

#endif
