// command_automaton_states.h: what an automaton of commands is made of. Inside text/ only.
#ifndef KZ_TEXT_COMMAND_AUTOMATON_STATES_H
#define KZ_TEXT_COMMAND_AUTOMATON_STATES_H

#include "text/command_automaton.h"
#include "text/command_compiled.h"

#define KZ_NO_EDGE UINT32_MAX

typedef enum kz_edge_kind {
    KZ_EDGE_EMPTY, // to `to`, reading nothing
    KZ_EDGE_BYTE,  // reads the byte `label`
    KZ_EDGE_CALL,  // walks the automaton that begins at state `label`, then goes to `to`
    KZ_EDGE_RETURN // the end of what was called
} kz_edge_kind;

typedef struct kz_automaton_edge {
    uint32_t kind, label, to;
    uint32_t next; // of the same state; KZ_NO_EDGE: the last
} kz_automaton_edge;

typedef struct kz_automaton_state {
    uint32_t first_edge;
} kz_automaton_state;

// A rule or list that was built, and for which domains.
typedef struct kz_automaton_call {
    const void *called;
    uint64_t domains, other_domains;
    uint32_t entry;
} kz_automaton_call;

struct kz_command_automaton {
    kazeia_allocator allocator;
    const kz_command_grammar *grammar;
    kz_automaton_state *states;
    kz_automaton_edge *edges;
    kz_automaton_call *calls;
    uint32_t state_count, edge_count, call_count;
    uint32_t start, end;
};

#endif
