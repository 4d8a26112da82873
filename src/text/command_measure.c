// command_measure.c: proves that a template is finite and small enough, and where a match may
// begin.
//
// in: nodes, with rules and lists by reference. out: measures; those of rules and lists are kept,
// so that each is measured once. The recursion follows rules, and is bounded before it can go deep.
#include <string.h>

#include "text/command_compiled.h"

typedef struct measurer {
    const kz_command_grammar *grammar;
    const kz_yaml_node *source;
    uint32_t depth;
} measurer;

static void add_first(kz_node_measure *measure, unsigned char byte) {
    measure->first[byte / 8] |= (uint8_t)(1u << (byte % 8));
}

static void merge_first(kz_node_measure *into, const kz_node_measure *from) {
    for (size_t i = 0; i < sizeof into->first; i++) {
        into->first[i] |= from->first[i];
    }
}

// Spaces at the start match nothing at the start of a word, so the first byte is that of the first
// letter, and a chunk of spaces alone may match nothing.
static kz_node_measure measure_chunk(const kz_command_node *node) {
    kz_node_measure measure = {.nodes = 1, .depth = 1, .sets = 0};
    size_t at = 0;
    while (at < node->text.count && node->text.bytes[at] == ' ') {
        at++;
    }
    measure.is_nullable = at == node->text.count;
    if (!measure.is_nullable) {
        add_first(&measure, (unsigned char)node->text.bytes[at]);
    }
    return measure;
}

static void add_size(kz_node_measure *into, const kz_node_measure *child) {
    for (size_t i = 0; i < sizeof into->slots; i++) {
        into->slots[i] |= child->slots[i];
    }
    into->nodes += child->nodes;
    into->depth = child->depth + 1 > into->depth ? child->depth + 1 : into->depth;
    // The most of any child, not the sum: a child gives its sets back before the next one runs.
    into->sets = child->sets > into->sets ? child->sets : into->sets;
}

// Only while all before it may be empty can a child's beginning be the sequence's.
static void add_in_sequence(kz_node_measure *into, const kz_node_measure *child, bool is_first) {
    if (into->is_nullable) {
        merge_first(into, child);
        into->begins_wild = into->begins_wild || child->begins_wild;
    }
    into->ends_wild = child->ends_wild || (child->is_nullable && into->ends_wild);
    into->is_only_wild = child->is_only_wild && is_first;
    into->is_nullable = into->is_nullable && child->is_nullable;
    into->is_dead = into->is_dead || child->is_dead;
}

// Any child may begin or end a match, and a choice is only wild when all of its children are.
static void add_in_choice(kz_node_measure *into, const kz_node_measure *child, bool is_first) {
    merge_first(into, child);
    into->begins_wild = into->begins_wild || child->begins_wild;
    into->ends_wild = into->ends_wild || child->ends_wild;
    into->is_only_wild = child->is_only_wild && (is_first || into->is_only_wild);
    into->is_nullable = into->is_nullable || child->is_nullable;
    into->is_dead = child->is_dead && (is_first || into->is_dead);
}

static kazeia_status measure_node(measurer *m, const kz_command_node *node,
                                  kz_node_measure *out_measure);

static kazeia_status measure_children(measurer *m, const kz_command_node *node,
                                      kz_node_measure *out) {
    // A permutation begins like a choice: any of its items may come first.
    const bool is_choice = node->kind != KZ_NODE_SEQUENCE;
    *out = (kz_node_measure){.nodes = 1, .depth = 1, .is_nullable = !is_choice};
    bool all_nullable = true, any_dead = false;
    for (uint32_t i = 0; i < node->child_count; i++) {
        kz_node_measure child;
        KZ_TRY(measure_node(m, node->children[i], &child));
        all_nullable = all_nullable && child.is_nullable;
        any_dead = any_dead || child.is_dead;
        add_size(out, &child);
        if (is_choice) {
            add_in_choice(out, &child, i == 0);
        } else {
            add_in_sequence(out, &child, i == 0);
        }
    }
    if (node->kind == KZ_NODE_PERMUTATION) {
        // Each item runs once for every set of others that may have been taken before it: 2^(n-1)
        // times. At most 16, and nodes are below a million here, so 64 bits hold it.
        out->nodes *= (uint64_t)1 << (node->child_count - 1);
        // One set for each choice of items taken, and two for the alternating ones of a sequence
        // (command_match.c).
        out->sets += 1u << node->child_count;
        out->is_nullable = all_nullable;
        out->is_dead = any_dead;
    }
    out->sets += node->kind == KZ_NODE_SEQUENCE ? 2 : 0;
    out->is_nullable = out->is_nullable || node->is_optional;
    out->is_dead = out->is_dead && !node->is_optional;
    return KAZEIA_OK;
}

static kazeia_status measure_values(measurer *m, kz_command_list *list) {
    list->measure = (kz_node_measure){.nodes = 1, .depth = 1, .is_dead = list->value_count == 0};
    for (uint32_t i = 0; i < list->value_count; i++) {
        kz_node_measure child;
        KZ_TRY(measure_node(m, list->values[i].in, &child));
        add_size(&list->measure, &child);
        add_in_choice(&list->measure, &child, i == 0);
    }
    list->measure.sets += 1;
    return KAZEIA_OK;
}

static kazeia_status measure_list(measurer *m, kz_command_list *list) {
    if (list->state == KZ_MEASURED) {
        return KAZEIA_OK;
    }
    // Met again while it is being measured: it contains itself.
    if (list->state == KZ_MEASURING) {
        return kz_command_fail(&list->source->place, KAZEIA_BAD_FILE,
                               "the list '%s' leads back to itself", list->name);
    }
    list->state = KZ_MEASURING;
    if (list->kind == KZ_LIST_VALUES) {
        KZ_TRY(measure_values(m, list));
    } else {
        const bool is_wild = list->kind == KZ_LIST_WILDCARD;
        list->measure = (kz_node_measure){.nodes = 1,
                                          .depth = 1,
                                          .begins_wild = is_wild,
                                          .ends_wild = is_wild,
                                          .is_only_wild = is_wild};
        // Digits, number words, anything at all: the first byte excludes nothing.
        memset(list->measure.first, 0xff, sizeof list->measure.first);
    }
    list->state = KZ_MEASURED;
    return KAZEIA_OK;
}

static kazeia_status measure_rule(measurer *m, kz_command_rule *rule) {
    if (rule->state == KZ_MEASURED) {
        return KAZEIA_OK;
    }
    if (rule->state == KZ_MEASURING) {
        return kz_command_fail(&rule->source->place, KAZEIA_BAD_FILE,
                               "the expansion rule '%s' leads back to itself", rule->name);
    }
    rule->state = KZ_MEASURING;
    KZ_TRY(measure_node(m, rule->body, &rule->measure));
    rule->state = KZ_MEASURED;
    return KAZEIA_OK;
}

static kazeia_status measure_kind(measurer *m, const kz_command_node *node, kz_node_measure *out) {
    switch (node->kind) {
    case KZ_NODE_CHUNK:
        *out = measure_chunk(node);
        return KAZEIA_OK;
    case KZ_NODE_LIST:
        KZ_TRY(measure_list(m, node->list));
        *out = node->list->measure;
        // The slot belongs to the place that names the list, not to the list, which others may name
        // differently.
        out->slots[node->slot / 8] |= (uint8_t)(1u << (node->slot % 8));
        break;
    case KZ_NODE_RULE:
        KZ_TRY(measure_rule(m, node->rule));
        *out = node->rule->measure;
        out->sets++;
        break;
    default:
        return measure_children(m, node, out);
    }
    out->depth++;
    return KAZEIA_OK;
}

static kazeia_status measure_node(measurer *m, const kz_command_node *node,
                                  kz_node_measure *out_measure) {
    const kz_command_place *place = &m->source->place;
    // Before the descent, so that recursion ends whatever the file says; the matcher then recurses
    // no deeper than what was measured.
    if (++m->depth > 4 * KZ_MAX_TEMPLATE_DEPTH) {
        return kz_command_fail(place, KAZEIA_BAD_FILE, "rules and groups lie deeper than %d levels",
                               4 * KZ_MAX_TEMPLATE_DEPTH);
    }
    KZ_TRY(measure_kind(m, node, out_measure));
    m->depth--;
    // After each node, so that no sum of children is far above the limits when it is added.
    if (out_measure->nodes > KZ_MAX_TEMPLATE_NODES || out_measure->sets > KZ_MAX_MATCH_SETS ||
        out_measure->depth > 4 * KZ_MAX_TEMPLATE_DEPTH) {
        return kz_command_fail(
            place, KAZEIA_BAD_FILE,
            "with its rules followed it has %llu parts in %u levels, expected at most %d in %d",
            (unsigned long long)out_measure->nodes, out_measure->depth, KZ_MAX_TEMPLATE_NODES,
            4 * KZ_MAX_TEMPLATE_DEPTH);
    }
    return KAZEIA_OK;
}

kazeia_status kz_command_measure(const kz_command_grammar *grammar, const kz_yaml_node *source,
                                 const kz_command_node *node, kz_node_measure *out_measure) {
    measurer m = {grammar, source, 0};
    return measure_node(&m, node, out_measure);
}
