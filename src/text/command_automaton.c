// command_automaton.c: nodes of templates -> states and edges.
//
// in: a compiled grammar. out: an automaton with calls. Each rule and list is built once for each
// set of domains that a block allows, since that decides which of a list's values may stand.
#include "text/command_automaton_states.h"

#include <stdio.h>
#include <string.h>

#include "text/command_number_words.h"

enum { MAX_EDGES = 4000000, MAX_RANGE_VALUES = 20001, MAX_WORD_NUMBER = 100 };

typedef struct builder {
    kz_command_automaton *automaton;
    uint32_t state_capacity, edge_capacity, call_capacity;
    const kz_command_block *block; // whose sentences are built
} builder;

// ---- states and edges; edges hang in a chain at their state until they are sorted

static kazeia_status grow(const kazeia_allocator *allocator, uint32_t count, uint32_t *capacity,
                          size_t bytes_each, void **memory) {
    if (count < *capacity) {
        return KAZEIA_OK;
    }
    const uint32_t larger = *capacity == 0 ? 1024 : *capacity * 2;
    KZ_TRY(kz_realloc(allocator, *capacity, larger, bytes_each, "command automaton", memory));
    *capacity = larger;
    return KAZEIA_OK;
}

static kazeia_status add_state(builder *b, uint32_t *out_state) {
    kz_command_automaton *a = b->automaton;
    void *memory = a->states;
    KZ_TRY(grow(&a->allocator, a->state_count, &b->state_capacity, sizeof *a->states, &memory));
    a->states = memory;
    a->states[a->state_count].first_edge = KZ_NO_EDGE;
    *out_state = a->state_count++;
    return KAZEIA_OK;
}

static kazeia_status add_edge(builder *b, uint32_t from, kz_edge_kind kind, uint32_t label,
                              uint32_t to) {
    kz_command_automaton *a = b->automaton;
    void *memory = a->edges;
    if (a->edge_count == MAX_EDGES) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: its automaton needs more than %d edges",
                       a->grammar->file, MAX_EDGES);
    }
    KZ_TRY(grow(&a->allocator, a->edge_count, &b->edge_capacity, sizeof *a->edges, &memory));
    a->edges = memory;
    a->edges[a->edge_count] = (kz_automaton_edge){
        .kind = kind, .label = label, .to = to, .next = a->states[from].first_edge};
    a->states[from].first_edge = a->edge_count++;
    return KAZEIA_OK;
}

// A chain of bytes from one state to another; none is an empty edge.
static kazeia_status add_text(builder *b, const char *bytes, size_t count, uint32_t from,
                              uint32_t to) {
    if (count == 0) {
        return add_edge(b, from, KZ_EDGE_EMPTY, 0, to);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t next = to;
        if (i + 1 < count) {
            KZ_TRY(add_state(b, &next));
        }
        KZ_TRY(add_edge(b, from, KZ_EDGE_BYTE, (unsigned char)bytes[i], next));
        from = next;
    }
    return KAZEIA_OK;
}

// The same, sharing the beginning with texts that were added from `from` before.
static kazeia_status add_to_trie(builder *b, const char *bytes, size_t count, uint32_t from,
                                 uint32_t to) {
    size_t i = 0;
    while (i + 1 < count) {
        uint32_t e = b->automaton->states[from].first_edge;
        const kz_automaton_edge *edges = b->automaton->edges;
        while (e != KZ_NO_EDGE && (edges[e].kind != KZ_EDGE_BYTE || edges[e].to == to ||
                                   edges[e].label != (unsigned char)bytes[i])) {
            e = edges[e].next;
        }
        if (e == KZ_NO_EDGE) {
            break;
        }
        from = edges[e].to;
        i++;
    }
    return add_text(b, bytes + i, count - i, from, to);
}

// ---- nodes

static kazeia_status build(builder *b, const kz_command_node *node, uint32_t from, uint32_t to);

static kazeia_status build_sequence(builder *b, const kz_command_node *node, uint32_t from,
                                    uint32_t to) {
    for (uint32_t i = 0; i < node->child_count; i++) {
        uint32_t next = to;
        if (i + 1 < node->child_count) {
            KZ_TRY(add_state(b, &next));
        }
        KZ_TRY(build(b, node->children[i], from, next));
        from = next;
    }
    return node->child_count == 0 ? add_edge(b, from, KZ_EDGE_EMPTY, 0, to) : KAZEIA_OK;
}

// A state for each choice of items already taken.
static kazeia_status build_permutation(builder *b, const kz_command_node *node, uint32_t from,
                                       uint32_t to) {
    const uint32_t all = (1u << node->child_count) - 1;
    uint32_t states[1u << KZ_MAX_PERMUTED];
    for (uint32_t taken = 0; taken <= all; taken++) {
        KZ_TRY(add_state(b, &states[taken]));
    }
    KZ_TRY(add_edge(b, from, KZ_EDGE_EMPTY, 0, states[0]));
    for (uint32_t taken = 0; taken < all; taken++) {
        for (uint32_t i = 0; i < node->child_count; i++) {
            if ((taken & (1u << i)) == 0) {
                KZ_TRY(build(b, node->children[i], states[taken], states[taken | (1u << i)]));
            }
        }
    }
    return add_edge(b, states[all], KZ_EDGE_EMPTY, 0, to);
}

static kazeia_status build_number(builder *b, int32_t number, bool is_half, uint32_t from,
                                  uint32_t to) {
    static const char points[] = {',', '.'};
    char text[KZ_NUMBER_WORDS_BYTES];
    if (is_half) {
        for (size_t i = 0; i < sizeof points; i++) {
            const int count = snprintf(text, sizeof text, "%d%c5", number, points[i]);
            KZ_TRY(add_to_trie(b, text, (size_t)count, from, to));
        }
        return KAZEIA_OK;
    }
    const int count = snprintf(text, sizeof text, "%d", number);
    KZ_TRY(add_to_trie(b, text, (size_t)count, from, to));
    if (number < 0 || number > MAX_WORD_NUMBER) {
        return KAZEIA_OK;
    }
    // Masculine and feminine: "un" and "une" minute.
    for (int form = 0; form < 2; form++) {
        const size_t bytes =
            kz_number_words_write(b->automaton->grammar->language, number, form, text);
        if (bytes > 0) {
            KZ_TRY(add_to_trie(b, text, bytes, from, to));
        }
    }
    return KAZEIA_OK;
}

// A range of more values than anyone says is left out, as wildcards are.
static kazeia_status build_range(builder *b, const kz_command_list *list, uint32_t from,
                                 uint32_t to) {
    if (((int64_t)list->to - list->from) / list->step >= MAX_RANGE_VALUES) {
        return KAZEIA_OK;
    }
    for (int64_t number = list->from; number <= list->to; number += list->step) {
        KZ_TRY(build_number(b, (int32_t)number, false, from, to));
        if (list->has_halves && number < list->to) {
            KZ_TRY(build_number(b, (int32_t)number, true, from, to));
        }
    }
    return KAZEIA_OK;
}

static bool may_stand(const kz_command_block *block, const kz_command_value *value) {
    return value->domain == 0 || ((block->domains == 0 || (value->domain & block->domains) != 0) &&
                                  (value->domain & block->other_domains) == 0);
}

static kazeia_status build_list(builder *b, const kz_command_list *list, uint32_t from,
                                uint32_t to) {
    if (list->kind == KZ_LIST_RANGE) {
        return build_range(b, list, from, to);
    }
    for (uint32_t i = 0; i < list->value_count; i++) {
        const kz_command_value *value = &list->values[i];
        if (!may_stand(b->block, value)) {
            continue;
        }
        KZ_TRY(value->in->kind == KZ_NODE_CHUNK && !value->in->is_optional
                   ? add_to_trie(b, value->in->text.bytes, value->in->text.count, from, to)
                   : build(b, value->in, from, to));
    }
    return KAZEIA_OK; // no edge at all for a wildcard
}

// ---- calls

// What is called: a rule or a list, built for a block's domains.
static kazeia_status find_call(builder *b, const void *called, bool is_rule, uint32_t *out_entry) {
    kz_command_automaton *a = b->automaton;
    void *memory = a->calls;
    for (uint32_t i = 0; i < a->call_count; i++) {
        const kz_automaton_call *call = &a->calls[i];
        if (call->called == called && call->domains == b->block->domains &&
            call->other_domains == b->block->other_domains) {
            *out_entry = call->entry;
            return KAZEIA_OK;
        }
    }
    uint32_t exit_state;
    KZ_TRY(add_state(b, out_entry));
    KZ_TRY(add_state(b, &exit_state));
    KZ_TRY(add_edge(b, exit_state, KZ_EDGE_RETURN, 0, 0));
    KZ_TRY(grow(&a->allocator, a->call_count, &b->call_capacity, sizeof *a->calls, &memory));
    a->calls = memory;
    a->calls[a->call_count++] =
        (kz_automaton_call){called, b->block->domains, b->block->other_domains, *out_entry};
    // Rules do not loop (command_measure.c), so the recursion ends.
    return is_rule ? build(b, ((const kz_command_rule *)called)->body, *out_entry, exit_state)
                   : build_list(b, called, *out_entry, exit_state);
}

static kazeia_status build_call(builder *b, const kz_command_node *node, uint32_t from,
                                uint32_t to) {
    const bool is_rule = node->kind == KZ_NODE_RULE;
    uint32_t entry;
    KZ_TRY(find_call(b, is_rule ? (const void *)node->rule : (const void *)node->list, is_rule,
                     &entry));
    return add_edge(b, from, KZ_EDGE_CALL, entry, to);
}

static kazeia_status build(builder *b, const kz_command_node *node, uint32_t from, uint32_t to) {
    if (node->is_optional) {
        KZ_TRY(add_edge(b, from, KZ_EDGE_EMPTY, 0, to));
    }
    switch (node->kind) {
    case KZ_NODE_CHUNK:
        return add_text(b, node->text.bytes, node->text.count, from, to);
    case KZ_NODE_SEQUENCE:
        return build_sequence(b, node, from, to);
    case KZ_NODE_PERMUTATION:
        return build_permutation(b, node, from, to);
    case KZ_NODE_LIST:
    case KZ_NODE_RULE:
        return build_call(b, node, from, to);
    case KZ_NODE_ALTERNATIVES:
        break;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        KZ_TRY(build(b, node->children[i], from, to));
    }
    return KAZEIA_OK;
}

// Greetings and small talk are left to the language model when only the sound resembles one: they
// are short, so that noise resembles them more than anything else, and nothing is to be done.
static bool is_small_talk(const kz_command_block *block) {
    return strcmp(block->intent, "HassRespond") == 0;
}

static kazeia_status build_sentences(builder *b) {
    kz_command_automaton *a = b->automaton;
    KZ_TRY(add_state(b, &a->start));
    KZ_TRY(add_state(b, &a->end));
    for (uint32_t i = 0; i < a->grammar->sentence_count; i++) {
        const kz_command_sentence *sentence = &a->grammar->sentences[i];
        if (!sentence->measure.is_dead && !sentence->block->is_dead &&
            !is_small_talk(sentence->block)) {
            b->block = sentence->block;
            KZ_TRY(build(b, sentence->body, a->start, a->end));
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_command_automaton_create(const kz_command_grammar *grammar,
                                          const kazeia_allocator *allocator,
                                          kz_command_automaton **out_automaton) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_command_automaton), "command automaton", &memory));
    builder b = {.automaton = memory};
    b.automaton->allocator = own;
    b.automaton->grammar = grammar;
    const kazeia_status status = build_sentences(&b);
    if (status != KAZEIA_OK) {
        kz_command_automaton_destroy(b.automaton);
        return status;
    }
    *out_automaton = b.automaton;
    return KAZEIA_OK;
}

void kz_command_automaton_destroy(kz_command_automaton *automaton) {
    if (automaton != NULL) {
        const kazeia_allocator allocator = automaton->allocator;
        kz_free(&allocator, automaton->states);
        kz_free(&allocator, automaton->edges);
        kz_free(&allocator, automaton->calls);
        kz_free(&allocator, automaton);
    }
}

uint32_t kz_command_automaton_state_count(const kz_command_automaton *automaton) {
    return automaton->state_count;
}
