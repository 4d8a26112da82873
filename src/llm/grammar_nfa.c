// grammar_nfa.c: a rule's nodes -> a nondeterministic automaton.
//   in   nodes
//   out  states and edges, Thompson's way
// A node is built from a given state and returns the state behind it; nothing built later leads
// into a state that was given, so that choices may all begin at it.
#include "llm/grammar_nfa.h"

#include "text/utf8.h"

typedef struct utf8_class {
    uint32_t end;
    uint32_t any[3]; // states from which 1, 2, 3 continuation bytes lead to the end; 0: none yet
} utf8_class;

static bool reserve(kz_nfa *nfa, void **array, uint32_t count, uint32_t *capacity, uint32_t limit,
                    size_t bytes_each) {
    if (nfa->status != KAZEIA_OK) {
        return false;
    }
    if (count == limit) {
        nfa->status = kz_builder_refuse(nfa->builder, KAZEIA_UNSUPPORTED, nfa->rule,
                                        "needs more than 131072 states");
        return false;
    }
    if (count < *capacity) {
        return true;
    }
    uint32_t larger = *capacity < 64 ? 64 : *capacity * 2;
    larger = larger > limit ? limit : larger;
    nfa->status =
        kz_realloc(&nfa->builder->allocator, *capacity, larger, bytes_each, "grammar", array);
    if (nfa->status == KAZEIA_OK) {
        *capacity = larger;
    }
    return nfa->status == KAZEIA_OK;
}

static uint32_t add_state(kz_nfa *nfa) {
    if (!reserve(nfa, (void **)&nfa->states, nfa->state_count, &nfa->state_capacity,
                 KZ_GRAMMAR_STATE_LIMIT, sizeof *nfa->states)) {
        return 0;
    }
    nfa->states[nfa->state_count] = 0;
    return nfa->state_count++;
}

static void add_edge(kz_nfa *nfa, uint32_t from, kz_nfa_edge edge) {
    if (!reserve(nfa, (void **)&nfa->edges, nfa->edge_count, &nfa->edge_capacity,
                 KZ_GRAMMAR_EDGE_LIMIT, sizeof *nfa->edges)) {
        return;
    }
    edge.next = nfa->states[from];
    nfa->edges[nfa->edge_count++] = edge;
    nfa->states[from] = nfa->edge_count;
}

static void add_bytes(kz_nfa *nfa, uint32_t from, uint8_t low, uint8_t high, uint32_t target) {
    add_edge(nfa, from,
             (kz_nfa_edge){.kind = KZ_EDGE_BYTES, .low = low, .high = high, .target = target});
}

static void add_nothing(kz_nfa *nfa, uint32_t from, uint32_t target) {
    add_edge(nfa, from, (kz_nfa_edge){.kind = KZ_EDGE_NOTHING, .target = target});
}

// --- Characters ---------------------------------------------------------------------------------
// The state from which any `count` continuation bytes lead to the end.
static uint32_t any_tail(kz_nfa *nfa, utf8_class *class, uint32_t count) {
    if (count == 0) {
        return class->end;
    }
    if (class->any[count - 1] == 0) {
        const uint32_t behind = any_tail(nfa, class, count - 1);
        const uint32_t state = add_state(nfa);
        class->any[count - 1] = state;
        add_bytes(nfa, state, 0x80, 0xbf, behind);
    }
    return class->any[count - 1];
}

static bool is_all(const uint8_t *bytes, uint32_t count, uint8_t byte) {
    for (uint32_t i = 0; i < count; i++) {
        if (bytes[i] != byte) {
            return false;
        }
    }
    return true;
}

static void add_sequences(kz_nfa *nfa, utf8_class *class, uint32_t from, const uint8_t *low,
                          const uint8_t *high, uint32_t count);

static void add_one_lead(kz_nfa *nfa, utf8_class *class, uint32_t from, uint8_t lead,
                         const uint8_t *low, const uint8_t *high, uint32_t tail) {
    const uint32_t state = add_state(nfa);
    add_bytes(nfa, from, lead, lead, state);
    add_sequences(nfa, class, state, low, high, tail);
}

// Byte sequences of one length from `low` to `high`, as numbers: the first and the last lead byte
// may allow only some tails, those between allow all.
static void add_sequences(kz_nfa *nfa, utf8_class *class, uint32_t from, const uint8_t *low,
                          const uint8_t *high, uint32_t count) {
    static const uint8_t lowest[3] = {0x80, 0x80, 0x80}, highest[3] = {0xbf, 0xbf, 0xbf};
    uint8_t first = low[0], last = high[0];
    const uint32_t tail = count - 1;
    if (first == last && tail > 0 &&
        !(is_all(low + 1, tail, 0x80) && is_all(high + 1, tail, 0xbf))) {
        add_one_lead(nfa, class, from, first, low + 1, high + 1, tail);
        return;
    }
    if (!is_all(low + 1, tail, 0x80)) {
        add_one_lead(nfa, class, from, first++, low + 1, highest, tail);
    }
    if (!is_all(high + 1, tail, 0xbf)) {
        add_one_lead(nfa, class, from, last--, lowest, high + 1, tail);
    }
    if (first <= last) {
        const uint32_t target = any_tail(nfa, class, tail);
        add_bytes(nfa, from, first, last, target);
    }
}

static void add_characters(kz_nfa *nfa, utf8_class *class, uint32_t from, uint32_t low,
                           uint32_t high) {
    // Where the length of a character's bytes changes, and around the surrogates.
    static const kz_char_range blocks[] = {
        {0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, 0x10ffff}};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        const uint32_t first = low > blocks[i].low ? low : blocks[i].low;
        const uint32_t last = high < blocks[i].high ? high : blocks[i].high;
        if (first <= last) {
            char low_bytes[4], high_bytes[4];
            const size_t count = kz_utf8_write(first, low_bytes);
            kz_utf8_write(last, high_bytes);
            add_sequences(nfa, class, from, (const uint8_t *)low_bytes, (const uint8_t *)high_bytes,
                          (uint32_t)count);
        }
    }
}

// --- Nodes --------------------------------------------------------------------------------------
static uint32_t build(kz_nfa *nfa, uint32_t node, uint32_t from);

static uint32_t build_class(kz_nfa *nfa, const kz_grammar_node *node, uint32_t from) {
    utf8_class class = {.end = add_state(nfa)};
    for (uint32_t i = 0; i < node->count; i++) {
        const kz_char_range *range = &nfa->builder->ranges[node->first + i];
        add_characters(nfa, &class, from, range->low, range->high);
    }
    return class.end;
}

static uint32_t build_bytes(kz_nfa *nfa, const kz_grammar_node *node, uint32_t from) {
    for (uint32_t i = 0; i < node->count; i++) {
        const uint8_t byte = (uint8_t)nfa->builder->bytes[node->first + i];
        const uint32_t target = add_state(nfa);
        add_bytes(nfa, from, byte, byte, target);
        from = target;
    }
    return from;
}

static uint32_t build_choice(kz_nfa *nfa, const kz_grammar_node *node, uint32_t from) {
    const uint32_t end = add_state(nfa);
    for (uint32_t child = node->first; child != 0; child = nfa->builder->nodes[child].next) {
        if (kz_node_is_productive(nfa->builder, child)) {
            const uint32_t behind = build(nfa, child, from);
            add_nothing(nfa, behind, end);
        }
    }
    return end;
}

// Each copy begins at a state of its own, so that a body that matches nothing adds some, too, and
// meets the limit.
static uint32_t build_again(kz_nfa *nfa, uint32_t child, uint32_t from) {
    const uint32_t start = add_state(nfa);
    add_nothing(nfa, from, start);
    return build(nfa, child, start);
}

static uint32_t build_repeat(kz_nfa *nfa, const kz_grammar_node *node, uint32_t from) {
    const uint32_t child = node->first;
    if (node->most == 0 || !kz_node_is_productive(nfa->builder, child)) {
        return from;
    }
    for (uint32_t i = 0; i < node->count && nfa->status == KAZEIA_OK; i++) {
        from = build_again(nfa, child, from);
    }
    if (node->most == KZ_REPEAT_FOR_EVER) {
        const uint32_t loop = add_state(nfa);
        add_nothing(nfa, from, loop);
        const uint32_t behind = build(nfa, child, loop);
        add_nothing(nfa, behind, loop);
        return loop;
    }
    const uint32_t end = add_state(nfa);
    for (uint32_t i = node->count; i < node->most && nfa->status == KAZEIA_OK; i++) {
        add_nothing(nfa, from, end);
        from = build_again(nfa, child, from);
    }
    add_nothing(nfa, from, end);
    return end;
}

static uint32_t build_rule(kz_nfa *nfa, const kz_grammar_node *node, uint32_t from) {
    const kz_grammar_rule *rule = &nfa->builder->rules[node->first];
    if (rule->is_inlined && !nfa->builder->rules[nfa->rule].calls_all) {
        return build(nfa, rule->body, from);
    }
    const uint32_t target = add_state(nfa);
    add_edge(nfa, from, (kz_nfa_edge){.kind = KZ_EDGE_CALL, .rule = node->first, .target = target});
    return target;
}

static uint32_t build(kz_nfa *nfa, uint32_t node, uint32_t from) {
    const kz_grammar_node *found = &nfa->builder->nodes[node];
    if (nfa->status != KAZEIA_OK) {
        return from;
    }
    switch (found->kind) {
    case KZ_NODE_BYTES:
        return build_bytes(nfa, found, from);
    case KZ_NODE_CLASS:
        return build_class(nfa, found, from);
    case KZ_NODE_CHOICE:
        return build_choice(nfa, found, from);
    case KZ_NODE_REPEAT:
        return build_repeat(nfa, found, from);
    case KZ_NODE_RULE:
        return build_rule(nfa, found, from);
    case KZ_NODE_SEQUENCE:
        for (uint32_t child = found->first; child != 0; child = nfa->builder->nodes[child].next) {
            from = build(nfa, child, from);
        }
        return from;
    case KZ_NODE_EMPTY:
        break;
    }
    return from;
}

void kz_nfa_build(kz_nfa *nfa, uint32_t rule) {
    nfa->rule = rule;
    nfa->state_count = 0;
    nfa->edge_count = 0;
    nfa->end = build(nfa, nfa->builder->rules[rule].body, add_state(nfa));
}

void kz_nfa_clear(kz_nfa *nfa) {
    kz_free(&nfa->builder->allocator, nfa->states);
    kz_free(&nfa->builder->allocator, nfa->edges);
}
