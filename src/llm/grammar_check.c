// grammar_check.c: rules as read -> rules that can be compiled.
//   in   a builder's rules, the root
//   out  names resolved, left recursion and endless rules refused, what is inlined decided
// Small rules are inlined, since what a token may do within one automaton is worked out once for
// all its uses, and what leaves it must be looked at each time (constrain.c). A loop is not copied:
// its states are worth sharing. Both searches for cycles take rules away that lead nowhere, so that
// no recursion is as deep as a hostile chain of rules is long.
#include "llm/grammar_build.h"

#define INLINE_SIZE 12u        // of any rule
#define INLINE_FINITE_SIZE 48u // of one without a loop
#define INLINE_ONCE_SIZE 200u  // of one that is named once
#define INLINING_SIZE 20000u   // of a rule that takes others in
#define SIZE_LIMIT (1u << 24)  // sizes stay at this

typedef struct rule_link {
    uint32_t from, to;
} rule_link;

typedef struct checker {
    kz_grammar_builder *builder;
    rule_link *links; // [node_count]
    uint32_t link_count;
    uint32_t *first_caller; // [rule_count + 1] into callers
    uint32_t *callers;      // [node_count]
    uint32_t *out_degree;   // [rule_count]
    uint32_t *order;        // [rule_count] callees before callers
    uint32_t order_count;
} checker;

static const kz_grammar_node *node_at(const kz_grammar_builder *builder, uint32_t node) {
    return &builder->nodes[node];
}

static kazeia_status check_names(const kz_grammar_builder *builder) {
    for (uint32_t i = 0; i < builder->rule_count; i++) {
        if (builder->rules[i].body == UINT32_MAX) {
            return kz_builder_refuse(builder, KAZEIA_BAD_FILE, i,
                                     "is named here and defined nowhere");
        }
    }
    return KAZEIA_OK;
}

// --- What rules reach ---------------------------------------------------------------------------
// Calls of `node`'s rules: each once for each mention. `leftmost`: only those before which nothing
// need stand.
static void gather_links(checker *check, uint32_t from, uint32_t node, bool leftmost);

static bool is_nullable(const kz_grammar_builder *builder, uint32_t node);

static void gather_children(checker *check, uint32_t from, const kz_grammar_node *parent,
                            bool leftmost) {
    for (uint32_t child = parent->first; child != 0; child = check->builder->nodes[child].next) {
        gather_links(check, from, child, leftmost);
        if (leftmost && parent->kind == KZ_NODE_SEQUENCE && !is_nullable(check->builder, child)) {
            return;
        }
    }
}

static void gather_links(checker *check, uint32_t from, uint32_t node, bool leftmost) {
    const kz_grammar_node *found = node_at(check->builder, node);
    switch (found->kind) {
    case KZ_NODE_RULE:
        if (!leftmost || check->builder->rules[found->first].is_productive) {
            check->links[check->link_count++] = (rule_link){from, found->first};
        }
        break;
    case KZ_NODE_REPEAT:
        if (found->most > 0) {
            gather_links(check, from, found->first, leftmost);
        }
        break;
    case KZ_NODE_SEQUENCE:
    case KZ_NODE_CHOICE:
        gather_children(check, from, found, leftmost);
        break;
    default:
        break;
    }
}

// Links come in blocks of their caller, which is how the work list below reads them.
static void mark_reachable(checker *check, uint32_t root) {
    kz_grammar_builder *builder = check->builder;
    uint32_t *waiting = check->order;
    uint32_t count = 0;
    builder->rules[root].is_reachable = true;
    waiting[count++] = root;
    while (count > 0) {
        const uint32_t rule = waiting[--count];
        const uint32_t first = check->link_count;
        gather_links(check, rule, builder->rules[rule].body, false);
        for (uint32_t i = first; i < check->link_count; i++) {
            kz_grammar_rule *callee = &builder->rules[check->links[i].to];
            callee->mentions++;
            if (!callee->is_reachable) {
                callee->is_reachable = true;
                waiting[count++] = check->links[i].to;
            }
        }
    }
}

// --- Empty and endless rules --------------------------------------------------------------------
static bool is_nullable(const kz_grammar_builder *builder, uint32_t node) {
    const kz_grammar_node *found = node_at(builder, node);
    const bool wants_all = found->kind == KZ_NODE_SEQUENCE;
    switch (found->kind) {
    case KZ_NODE_EMPTY:
        return true;
    case KZ_NODE_RULE:
        return builder->rules[found->first].is_nullable;
    case KZ_NODE_REPEAT:
        return found->count == 0 || is_nullable(builder, found->first);
    case KZ_NODE_SEQUENCE:
    case KZ_NODE_CHOICE:
        for (uint32_t child = found->first; child != 0; child = builder->nodes[child].next) {
            if (is_nullable(builder, child) != wants_all) {
                return !wants_all;
            }
        }
        return wants_all;
    default:
        return false;
    }
}

// True when some text matches the node.
bool kz_node_is_productive(const kz_grammar_builder *builder, uint32_t node) {
    const kz_grammar_node *found = node_at(builder, node);
    const bool wants_all = found->kind == KZ_NODE_SEQUENCE;
    switch (found->kind) {
    case KZ_NODE_CLASS:
        return found->count > 0;
    case KZ_NODE_RULE:
        return builder->rules[found->first].is_productive;
    case KZ_NODE_REPEAT:
        return found->count == 0 || kz_node_is_productive(builder, found->first);
    case KZ_NODE_SEQUENCE:
    case KZ_NODE_CHOICE:
        for (uint32_t child = found->first; child != 0; child = builder->nodes[child].next) {
            if (kz_node_is_productive(builder, child) != wants_all) {
                return !wants_all;
            }
        }
        return wants_all;
    default:
        return true;
    }
}

static bool learn(kz_grammar_builder *builder, uint32_t rule) {
    kz_grammar_rule *found = &builder->rules[rule];
    const bool was_nullable = found->is_nullable, was_productive = found->is_productive;
    found->is_nullable = was_nullable || is_nullable(builder, found->body);
    found->is_productive = was_productive || kz_node_is_productive(builder, found->body);
    return found->is_nullable != was_nullable || found->is_productive != was_productive;
}

// Passes in both directions until nothing is learned: chains of rules are mostly written in one.
static void find_productive(kz_grammar_builder *builder) {
    for (bool has_learned = true; has_learned;) {
        has_learned = false;
        for (uint32_t i = 0; i < builder->rule_count; i++) {
            has_learned |= learn(builder, i);
        }
        for (uint32_t i = builder->rule_count; has_learned && i-- > 0;) {
            learn(builder, i);
        }
    }
}

// --- Cycles -------------------------------------------------------------------------------------
// Places of each callee's callers, by counting.
static void sort_by_callee(checker *check) {
    const uint32_t rules = check->builder->rule_count;
    for (uint32_t i = 0; i <= rules; i++) {
        check->first_caller[i] = 0;
    }
    for (uint32_t i = 0; i < check->link_count; i++) {
        check->first_caller[check->links[i].to]++;
    }
    for (uint32_t i = 0, sum = 0; i <= rules; i++) {
        sum += check->first_caller[i];
        check->first_caller[i] = sum;
    }
    for (uint32_t i = check->link_count; i-- > 0;) {
        check->callers[--check->first_caller[check->links[i].to]] = check->links[i].from;
    }
}

// Puts into `order` every rule whose links lead to rules in `order` only; cycles, and what leads
// to them, stay out.
static void take_away_ends(checker *check) {
    const uint32_t rules = check->builder->rule_count;
    sort_by_callee(check);
    check->order_count = 0;
    for (uint32_t i = 0; i < rules; i++) {
        check->out_degree[i] = 0;
    }
    for (uint32_t i = 0; i < check->link_count; i++) {
        check->out_degree[check->links[i].from]++;
    }
    for (uint32_t i = 0; i < rules; i++) {
        if (check->out_degree[i] == 0) {
            check->order[check->order_count++] = i;
        }
    }
    for (uint32_t i = 0; i < check->order_count; i++) {
        const uint32_t callee = check->order[i];
        for (uint32_t j = check->first_caller[callee]; j < check->first_caller[callee + 1]; j++) {
            if (--check->out_degree[check->callers[j]] == 0) {
                check->order[check->order_count++] = check->callers[j];
            }
        }
    }
}

// A rule on a cycle: from one that is left, always on to another that is left.
static uint32_t find_cycle(checker *check) {
    uint32_t *onward = check->order; // a rule that is left behind each that is left
    uint32_t rule = 0;
    for (uint32_t i = 0; i < check->link_count; i++) {
        if (check->out_degree[check->links[i].to] > 0) {
            onward[check->links[i].from] = check->links[i].to;
        }
    }
    while (check->out_degree[rule] == 0) {
        rule++;
    }
    for (uint32_t step = 0; step < check->builder->rule_count; step++) {
        rule = onward[rule];
    }
    return rule;
}

static kazeia_status refuse_left_recursion(checker *check) {
    const kz_grammar_builder *builder = check->builder;
    check->link_count = 0;
    for (uint32_t i = 0; i < builder->rule_count; i++) {
        if (builder->rules[i].is_reachable && builder->rules[i].is_productive) {
            gather_links(check, i, builder->rules[i].body, true);
        }
    }
    take_away_ends(check);
    if (check->order_count < builder->rule_count) {
        return kz_builder_refuse(
            builder, KAZEIA_BAD_FILE, find_cycle(check),
            "begins with itself (left recursion); let it end with itself instead");
    }
    return KAZEIA_OK;
}

// --- Inlining -----------------------------------------------------------------------------------
static uint32_t capped(uint64_t size) {
    return size < SIZE_LIMIT ? (uint32_t)size : SIZE_LIMIT;
}

static uint32_t measure_class(const kz_grammar_builder *builder, const kz_grammar_node *node) {
    const bool is_ascii =
        node->count == 0 || builder->ranges[node->first + node->count - 1].high < 0x80;
    return is_ascii ? 1 : capped(8 + (uint64_t)node->count);
}

// About the states that a node takes; `has_loop` is set when it or a rule in it has one.
static uint32_t measure(const kz_grammar_builder *builder, uint32_t node, bool inlines,
                        bool *has_loop) {
    const kz_grammar_node *found = node_at(builder, node);
    uint64_t size = 1;
    switch (found->kind) {
    case KZ_NODE_BYTES:
        return found->count;
    case KZ_NODE_CLASS:
        return measure_class(builder, found);
    case KZ_NODE_RULE:
        if (inlines && builder->rules[found->first].is_inlined) {
            *has_loop = *has_loop || builder->rules[found->first].has_loop;
            size = builder->rules[found->first].size;
        }
        return capped(size);
    case KZ_NODE_REPEAT:
        *has_loop = *has_loop || found->most == KZ_REPEAT_FOR_EVER;
        size += measure(builder, found->first, inlines, has_loop);
        return capped(
            size * (found->most == KZ_REPEAT_FOR_EVER ? (uint64_t)found->count + 1 : found->most));
    default:
        break;
    }
    for (uint32_t child = found->kind == KZ_NODE_EMPTY ? 0 : found->first; child != 0;
         child = builder->nodes[child].next) {
        size += measure(builder, child, inlines, has_loop);
    }
    return capped(size);
}

static void measure_rule(kz_grammar_builder *builder, uint32_t rule, uint32_t root) {
    kz_grammar_rule *found = &builder->rules[rule];
    found->size = measure(builder, found->body, true, &found->has_loop);
    if (found->size > INLINING_SIZE) {
        found->calls_all = true;
        found->size = measure(builder, found->body, false, &found->has_loop);
    }
    const bool is_small = found->size <= INLINE_SIZE ||
                          (found->size <= INLINE_FINITE_SIZE && !found->has_loop) ||
                          (found->size <= INLINE_ONCE_SIZE && found->mentions == 1);
    found->is_inlined = is_small && !found->is_called && !found->calls_all && rule != root;
}

// Callees first. Rules on a cycle, and those that lead to one, keep their own automatons.
static void choose_inlined(checker *check, uint32_t root) {
    kz_grammar_builder *builder = check->builder;
    check->link_count = 0;
    for (uint32_t i = 0; i < builder->rule_count; i++) {
        gather_links(check, i, builder->rules[i].body, false);
    }
    take_away_ends(check);
    for (uint32_t i = 0; i < check->order_count; i++) {
        measure_rule(builder, check->order[i], root);
    }
    for (uint32_t i = 0; i < builder->rule_count; i++) {
        bool has_loop = false;
        kz_grammar_rule *rule = &builder->rules[i];
        rule->calls_all =
            rule->calls_all || (check->out_degree[i] > 0 &&
                                measure(builder, rule->body, true, &has_loop) > INLINING_SIZE);
    }
}

// --- All checks ---------------------------------------------------------------------------------
static kazeia_status take_memory(checker *check) {
    const kazeia_allocator *allocator = &check->builder->allocator;
    const uint32_t nodes = check->builder->node_count, rules = check->builder->rule_count;
    KZ_TRY(kz_alloc(allocator, nodes, sizeof *check->links, "grammar", (void **)&check->links));
    KZ_TRY(kz_alloc(allocator, nodes, sizeof(uint32_t), "grammar", (void **)&check->callers));
    KZ_TRY(kz_alloc(allocator, (size_t)rules + 1, sizeof(uint32_t), "grammar",
                    (void **)&check->first_caller));
    KZ_TRY(kz_alloc(allocator, rules, sizeof(uint32_t), "grammar", (void **)&check->out_degree));
    return kz_alloc(allocator, rules, sizeof(uint32_t), "grammar", (void **)&check->order);
}

static kazeia_status check_rules(checker *check, uint32_t root) {
    kz_grammar_builder *builder = check->builder;
    KZ_TRY(check_names(builder));
    KZ_TRY(take_memory(check));
    mark_reachable(check, root);
    find_productive(builder);
    if (!builder->rules[root].is_productive) {
        return kz_builder_refuse(builder, KAZEIA_BAD_FILE, root, "can never end");
    }
    KZ_TRY(refuse_left_recursion(check));
    choose_inlined(check, root);
    return KAZEIA_OK;
}

kazeia_status kz_grammar_check(kz_grammar_builder *builder, uint32_t root) {
    checker check = {.builder = builder};
    const kazeia_status status = check_rules(&check, root);
    kz_free(&builder->allocator, check.links);
    kz_free(&builder->allocator, check.callers);
    kz_free(&builder->allocator, check.first_caller);
    kz_free(&builder->allocator, check.out_degree);
    kz_free(&builder->allocator, check.order);
    return status;
}
