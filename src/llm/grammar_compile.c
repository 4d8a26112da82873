// grammar_compile.c: nondeterministic automatons -> the tables of a grammar.
//   in   checked rules
//   out  for each rule that is called, a deterministic automaton (subset construction); a call is
//        a letter of its own
// Within a rule there is then one state for each text, so that what a token may do is worked out
// once for each state. Subsets keep only states that have letters or end the rule.
#include <stdlib.h>
#include <string.h>

#include "llm/grammar_nfa.h"
#include "llm/grammar_tables.h"

#define WORK_LIMIT ((uint64_t)100 * 1000 * 1000) // edges looked at: less than a second
#define MEMBER_LIMIT (1u << 23)                  // states in all subsets of one rule
#define SLOT_COUNT (KZ_GRAMMAR_STATE_LIMIT * 2)

typedef struct growing {
    void *elements;
    uint32_t count, capacity;
} growing;

typedef struct subset {
    uint32_t first, count; // in members
} subset;

typedef struct letter {
    uint32_t rule;   // of a call; 0 for bytes
    uint32_t target; // state of the nondeterministic automaton
    uint8_t low, high;
} letter;

typedef struct compiler {
    kz_grammar_builder *builder;
    kz_nfa nfa;
    growing states, edges, calls; // the tables
    growing subsets, members;     // of the present rule
    growing letters, letter_calls;
    uint32_t *slots;     // [SLOT_COUNT] state + 1; up to `base`: left by an earlier rule, empty
    uint32_t *seen;      // [KZ_GRAMMAR_STATE_LIMIT] stamps
    uint32_t *waiting;   // [KZ_GRAMMAR_STATE_LIMIT]
    uint32_t *collected; // [KZ_GRAMMAR_STATE_LIMIT] the subset that is being made
    uint32_t collected_count, stamp;
    uint32_t *entries; // [rule_count] state + 1
    uint32_t *rules;   // [rule_count] rules to compile, in order of discovery
    uint32_t rule_count;
    uint32_t base;  // first state of the present rule
    uint32_t state; // the one that gets its edges
    uint64_t work;
} compiler;

static kazeia_status refuse_limit(const compiler *compile) {
    return kz_builder_refuse(compile->builder, KAZEIA_UNSUPPORTED, compile->nfa.rule,
                             "makes the grammar larger than 131072 states or 1048576 edges");
}

// A place for one more element.
static kazeia_status grow(compiler *compile, growing *array, uint32_t limit, size_t bytes_each) {
    if (array->count == limit) {
        return refuse_limit(compile);
    }
    if (array->count == array->capacity) {
        uint32_t larger = array->capacity < 64 ? 64 : array->capacity * 2;
        larger = larger > limit ? limit : larger;
        KZ_TRY(kz_realloc(&compile->builder->allocator, array->capacity, larger, bytes_each,
                          "grammar", &array->elements));
        array->capacity = larger;
    }
    array->count++;
    return KAZEIA_OK;
}

static kz_grammar_state *state_at(const compiler *compile, uint32_t state) {
    return (kz_grammar_state *)compile->states.elements + state;
}

// --- Subsets ------------------------------------------------------------------------------------
// Adds what `state` reaches by edges of nothing.
static void collect(compiler *compile, uint32_t state) {
    const kz_nfa *nfa = &compile->nfa;
    uint32_t count = 0;
    if (compile->seen[state] == compile->stamp) {
        return;
    }
    compile->seen[state] = compile->stamp;
    compile->waiting[count++] = state;
    while (count > 0) {
        const uint32_t next = compile->waiting[--count];
        bool matters = next == nfa->end;
        for (uint32_t i = nfa->states[next]; i != 0; i = nfa->edges[i - 1].next) {
            const kz_nfa_edge *edge = &nfa->edges[i - 1];
            matters = matters || edge->kind != KZ_EDGE_NOTHING;
            compile->work++;
            if (edge->kind == KZ_EDGE_NOTHING && compile->seen[edge->target] != compile->stamp) {
                compile->seen[edge->target] = compile->stamp;
                compile->waiting[count++] = edge->target;
            }
        }
        if (matters) {
            compile->collected[compile->collected_count++] = next;
        }
    }
}

static void begin_subset(compiler *compile) {
    compile->stamp++;
    compile->collected_count = 0;
}

static int compare_numbers(const void *left, const void *right) {
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static uint32_t hash_collected(const compiler *compile) {
    uint64_t hash = 1469598103934665603u;
    for (uint32_t i = 0; i < compile->collected_count; i++) {
        hash = (hash ^ compile->collected[i]) * 1099511628211u;
    }
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static bool is_collected(const compiler *compile, uint32_t index) {
    const subset *set = (const subset *)compile->subsets.elements + index;
    return set->count == compile->collected_count &&
           memcmp((const uint32_t *)compile->members.elements + set->first, compile->collected,
                  set->count * sizeof(uint32_t)) == 0;
}

static kazeia_status add_subset(compiler *compile) {
    const uint32_t first = compile->members.count;
    for (uint32_t i = 0; i < compile->collected_count; i++) {
        KZ_TRY(grow(compile, &compile->members, MEMBER_LIMIT, sizeof(uint32_t)));
        ((uint32_t *)compile->members.elements)[compile->members.count - 1] = compile->collected[i];
    }
    KZ_TRY(grow(compile, &compile->subsets, KZ_GRAMMAR_STATE_LIMIT, sizeof(subset)));
    ((subset *)compile->subsets.elements)[compile->subsets.count - 1] =
        (subset){first, compile->collected_count};
    return grow(compile, &compile->states, KZ_GRAMMAR_STATE_LIMIT, sizeof(kz_grammar_state));
}

// The state of the subset that was collected, a new one or one that is there.
static kazeia_status end_subset(compiler *compile, uint32_t *out_state) {
    qsort(compile->collected, compile->collected_count, sizeof(uint32_t), compare_numbers);
    uint32_t slot = hash_collected(compile) % SLOT_COUNT;
    while (compile->slots[slot] > compile->base) {
        *out_state = compile->slots[slot] - 1;
        if (is_collected(compile, *out_state - compile->base)) {
            return KAZEIA_OK;
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
    KZ_TRY(add_subset(compile));
    *out_state = compile->base + compile->subsets.count - 1;
    compile->slots[slot] = *out_state + 1;
    return compile->work > WORK_LIMIT ? refuse_limit(compile) : KAZEIA_OK;
}

// --- Edges --------------------------------------------------------------------------------------
static kazeia_status add_edge(compiler *compile, uint8_t low, uint8_t high, uint32_t target) {
    kz_grammar_edge *edges = compile->edges.elements;
    const uint32_t count = compile->edges.count;
    const uint32_t first = state_at(compile, compile->state)->first_edge;
    if (count > first && edges[count - 1].high + 1 == low && edges[count - 1].target == target) {
        edges[count - 1].high = high;
        return KAZEIA_OK;
    }
    KZ_TRY(grow(compile, &compile->edges, KZ_GRAMMAR_EDGE_LIMIT, sizeof *edges));
    ((kz_grammar_edge *)compile->edges.elements)[count] = (kz_grammar_edge){low, high, target};
    return KAZEIA_OK;
}

static kazeia_status gather_letters(compiler *compile, subset set, bool *out_is_end) {
    const kz_nfa *nfa = &compile->nfa;
    compile->letters.count = 0;
    compile->letter_calls.count = 0;
    *out_is_end = false;
    for (uint32_t i = 0; i < set.count; i++) {
        const uint32_t state = ((const uint32_t *)compile->members.elements)[set.first + i];
        *out_is_end = *out_is_end || state == nfa->end;
        for (uint32_t j = nfa->states[state]; j != 0; j = nfa->edges[j - 1].next) {
            const kz_nfa_edge *edge = &nfa->edges[j - 1];
            if (edge->kind != KZ_EDGE_NOTHING) {
                growing *letters =
                    edge->kind == KZ_EDGE_CALL ? &compile->letter_calls : &compile->letters;
                KZ_TRY(grow(compile, letters, KZ_GRAMMAR_EDGE_LIMIT, sizeof(letter)));
                ((letter *)letters->elements)[letters->count - 1] =
                    (letter){edge->rule, edge->target, edge->low, edge->high};
            }
        }
    }
    return KAZEIA_OK;
}

// Edges for each stretch of bytes between two places where some edge begins or ends.
static kazeia_status add_byte_edges(compiler *compile) {
    const letter *letters = compile->letters.elements;
    bool is_border[257] = {[0] = true, [256] = true};
    for (uint32_t i = 0; i < compile->letters.count; i++) {
        is_border[letters[i].low] = true;
        is_border[letters[i].high + 1] = true;
    }
    for (uint32_t low = 0, high = 0; low < 256; low = high) {
        for (high = low + 1; !is_border[high]; high++) {
        }
        begin_subset(compile);
        for (uint32_t i = 0; i < compile->letters.count; i++) {
            compile->work++;
            if (letters[i].low <= low && low <= letters[i].high) {
                collect(compile, letters[i].target);
            }
        }
        if (compile->collected_count > 0) {
            uint32_t target = 0;
            KZ_TRY(end_subset(compile, &target));
            KZ_TRY(add_edge(compile, (uint8_t)low, (uint8_t)(high - 1), target));
        }
    }
    return KAZEIA_OK;
}

static int compare_letters(const void *left, const void *right) {
    const letter *a = left, *b = right;
    return (a->rule > b->rule) - (a->rule < b->rule);
}

static void want_rule(compiler *compile, uint32_t rule) {
    if (compile->entries[rule] == 0) {
        compile->entries[rule] = UINT32_MAX; // until it has its automaton
        compile->rules[compile->rule_count++] = rule;
    }
}

// A call for each rule that is named; `entry` is the rule until all have their automatons.
static kazeia_status add_call_edges(compiler *compile) {
    letter *calls = compile->letter_calls.elements;
    const uint32_t count = compile->letter_calls.count;
    if (count > 0) {
        qsort(calls, count, sizeof *calls, compare_letters);
    }
    for (uint32_t i = 0; i < count;) {
        const uint32_t rule = calls[i].rule;
        uint32_t target = 0;
        begin_subset(compile);
        for (; i < count && calls[i].rule == rule; i++) {
            collect(compile, calls[i].target);
        }
        KZ_TRY(end_subset(compile, &target));
        KZ_TRY(grow(compile, &compile->calls, KZ_GRAMMAR_EDGE_LIMIT, sizeof(kz_grammar_call)));
        ((kz_grammar_call *)compile->calls.elements)[compile->calls.count - 1] =
            (kz_grammar_call){rule, target};
        want_rule(compile, rule);
    }
    return KAZEIA_OK;
}

// --- Rules --------------------------------------------------------------------------------------
static kazeia_status compile_state(compiler *compile, uint32_t index) {
    const uint32_t state = compile->base + index;
    bool is_end = false;
    compile->state = state;
    state_at(compile, state)->first_edge = compile->edges.count;
    state_at(compile, state)->first_call = compile->calls.count;
    KZ_TRY(gather_letters(compile, ((subset *)compile->subsets.elements)[index], &is_end));
    state_at(compile, state)->is_end = is_end;
    KZ_TRY(add_byte_edges(compile));
    return add_call_edges(compile);
}

static kazeia_status compile_rule(compiler *compile, uint32_t rule) {
    uint32_t start = 0;
    kz_nfa_build(&compile->nfa, rule);
    KZ_TRY(compile->nfa.status);
    compile->subsets.count = 0;
    compile->members.count = 0;
    compile->base = compile->states.count;
    begin_subset(compile);
    collect(compile, 0);
    KZ_TRY(end_subset(compile, &start));
    compile->entries[rule] = start + 1;
    for (uint32_t i = 0; i < compile->subsets.count; i++) {
        KZ_TRY(compile_state(compile, i));
    }
    return KAZEIA_OK;
}

static kazeia_status take_memory(compiler *compile) {
    const kazeia_allocator *allocator = &compile->builder->allocator;
    const uint32_t rules = compile->builder->rule_count;
    struct {
        uint32_t **array;
        size_t count;
    } wanted[] = {{&compile->slots, SLOT_COUNT},
                  {&compile->seen, KZ_GRAMMAR_STATE_LIMIT},
                  {&compile->waiting, KZ_GRAMMAR_STATE_LIMIT},
                  {&compile->collected, KZ_GRAMMAR_STATE_LIMIT},
                  {&compile->entries, rules},
                  {&compile->rules, rules}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        KZ_TRY(kz_alloc(allocator, wanted[i].count, sizeof(uint32_t), "grammar",
                        (void **)wanted[i].array));
    }
    return KAZEIA_OK;
}

static void free_work(compiler *compile) {
    const kazeia_allocator *allocator = &compile->builder->allocator;
    void *arrays[] = {compile->slots,
                      compile->seen,
                      compile->waiting,
                      compile->collected,
                      compile->entries,
                      compile->rules,
                      compile->subsets.elements,
                      compile->members.elements,
                      compile->letters.elements,
                      compile->letter_calls.elements};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        kz_free(allocator, arrays[i]);
    }
    kz_nfa_clear(&compile->nfa);
}

static kazeia_status compile_all(compiler *compile, uint32_t root) {
    KZ_TRY(take_memory(compile));
    want_rule(compile, root);
    for (uint32_t i = 0; i < compile->rule_count; i++) {
        KZ_TRY(compile_rule(compile, compile->rules[i]));
    }
    // The state behind the last one, whose beginnings are the last one's ends.
    KZ_TRY(grow(compile, &compile->states, KZ_GRAMMAR_STATE_LIMIT + 1, sizeof(kz_grammar_state)));
    *state_at(compile, compile->states.count - 1) =
        (kz_grammar_state){compile->edges.count, compile->calls.count, false};
    kz_grammar_call *calls = compile->calls.elements;
    for (uint32_t i = 0; i < compile->calls.count; i++) {
        calls[i].entry = compile->entries[calls[i].entry] - 1;
    }
    return KAZEIA_OK;
}

static kazeia_status make_grammar(compiler *compile, uint32_t root, kz_grammar **out_grammar) {
    kz_grammar *grammar = NULL;
    KZ_TRY(compile_all(compile, root));
    KZ_TRY(
        kz_alloc(&compile->builder->allocator, 1, sizeof *grammar, "grammar", (void **)&grammar));
    *grammar = (kz_grammar){.allocator = compile->builder->allocator,
                            .states = compile->states.elements,
                            .edges = compile->edges.elements,
                            .calls = compile->calls.elements,
                            .state_count = compile->states.count - 1,
                            .edge_count = compile->edges.count,
                            .call_count = compile->calls.count,
                            .root = compile->entries[root] - 1};
    *out_grammar = grammar;
    return KAZEIA_OK;
}

kazeia_status kz_grammar_finish(kz_grammar_builder *builder, uint32_t root,
                                kz_grammar **out_grammar) {
    compiler compile = {.builder = builder, .nfa = {.builder = builder}};
    KZ_TRY(builder->status);
    KZ_TRY(kz_grammar_check(builder, root));
    const kazeia_status status = make_grammar(&compile, root, out_grammar);
    if (status != KAZEIA_OK) {
        kz_free(&builder->allocator, compile.states.elements);
        kz_free(&builder->allocator, compile.edges.elements);
        kz_free(&builder->allocator, compile.calls.elements);
    }
    free_work(&compile);
    return status;
}

void kz_grammar_destroy(kz_grammar *grammar) {
    if (!grammar) {
        return;
    }
    const kazeia_allocator allocator = grammar->allocator;
    kz_free(&allocator, grammar->states);
    kz_free(&allocator, grammar->edges);
    kz_free(&allocator, grammar->calls);
    kz_free(&allocator, grammar);
}
