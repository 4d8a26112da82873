// grammar_build.c: rules as they are read.
//   in   calls of the readers
//   out  nodes, ranges, bytes and rules, in four growing arrays
// Indices instead of pointers, so that arrays may move while they grow.
#include "llm/grammar_build.h"

#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

#define RANGE_LIMIT (1u << 19)
#define BYTE_LIMIT (1u << 23)
#define HIGHEST_CHARACTER 0x10ffffu

// Room for `more` elements behind `count`; false after a failure.
static bool reserve(kz_grammar_builder *builder, void **array, uint32_t count, uint32_t more,
                    uint32_t *capacity, size_t bytes_each, uint32_t limit, const char *what) {
    if (builder->status != KAZEIA_OK) {
        return false;
    }
    if (more > limit - count) {
        builder->status = kz_fail(KAZEIA_UNSUPPORTED, "%s: it needs more than %u %s",
                                  builder->source, limit, what);
        return false;
    }
    if (count + more <= *capacity) {
        return true;
    }
    uint32_t larger = *capacity < 64 ? 64 : *capacity * 2;
    larger = larger < count + more ? count + more : larger;
    larger = larger > limit ? limit : larger;
    builder->status =
        kz_realloc(&builder->allocator, *capacity, larger, bytes_each, "grammar", array);
    if (builder->status == KAZEIA_OK) {
        *capacity = larger;
    }
    return builder->status == KAZEIA_OK;
}

static uint32_t add_node(kz_grammar_builder *builder, kz_grammar_node node) {
    if (!reserve(builder, (void **)&builder->nodes, builder->node_count, 1, &builder->node_capacity,
                 sizeof *builder->nodes, KZ_GRAMMAR_NODE_LIMIT, "pieces")) {
        return KZ_GRAMMAR_EMPTY;
    }
    builder->nodes[builder->node_count] = node;
    return builder->node_count++;
}

// --- Rules --------------------------------------------------------------------------------------
static uint32_t hash_name(const char *name, size_t count) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    }
    return hash % KZ_RULE_HASH_SLOTS;
}

uint32_t kz_builder_find_rule(const kz_grammar_builder *builder, const char *name, size_t count) {
    uint32_t rule = builder->slots[hash_name(name, count)];
    for (; rule != 0; rule = builder->rules[rule - 1].next_same_hash) {
        const kz_grammar_rule *found = &builder->rules[rule - 1];
        if (found->name_bytes == count && memcmp(builder->bytes + found->name, name, count) == 0) {
            return rule - 1;
        }
    }
    return KZ_NO_RULE;
}

static uint32_t copy_bytes(kz_grammar_builder *builder, const char *bytes, size_t count) {
    if (count > BYTE_LIMIT ||
        !reserve(builder, (void **)&builder->bytes, builder->byte_count, (uint32_t)count,
                 &builder->byte_capacity, 1, BYTE_LIMIT, "bytes of text")) {
        return 0;
    }
    if (count > 0) {
        memcpy(builder->bytes + builder->byte_count, bytes, count);
    }
    builder->byte_count += (uint32_t)count;
    return builder->byte_count - (uint32_t)count;
}

static uint32_t add_rule(kz_grammar_builder *builder, const char *name, size_t count) {
    const uint32_t place = copy_bytes(builder, name, count);
    if (!reserve(builder, (void **)&builder->rules, builder->rule_count, 1, &builder->rule_capacity,
                 sizeof *builder->rules, KZ_GRAMMAR_RULE_LIMIT, "rules")) {
        return KZ_NO_RULE;
    }
    builder->rules[builder->rule_count] =
        (kz_grammar_rule){.name = place, .name_bytes = (uint32_t)count, .body = UINT32_MAX};
    return builder->rule_count++;
}

uint32_t kz_builder_rule(kz_grammar_builder *builder, const char *name, size_t count) {
    const uint32_t found = kz_builder_find_rule(builder, name, count);
    if (found != KZ_NO_RULE) {
        return found;
    }
    const uint32_t rule = add_rule(builder, name, count);
    if (rule != KZ_NO_RULE) {
        uint32_t *slot = &builder->slots[hash_name(name, count)];
        builder->rules[rule].next_same_hash = *slot;
        *slot = rule + 1;
    }
    return rule;
}

uint32_t kz_builder_hidden_rule(kz_grammar_builder *builder, const char *label) {
    return add_rule(builder, label, strlen(label));
}

kazeia_status kz_builder_refuse(const kz_grammar_builder *builder, kazeia_status status,
                                uint32_t rule, const char *why) {
    const kz_grammar_rule *found = &builder->rules[rule];
    // A sentence has no room for a name of a megabyte.
    const int bytes = found->name_bytes < 200 ? (int)found->name_bytes : 200;
    const char *name = builder->bytes + found->name;
    if (found->line == 0) {
        return kz_fail(status, "%s: '%.*s' %s", builder->source, bytes, name, why);
    }
    return kz_fail(status, "%s: line %u, column %u: rule '%.*s' %s", builder->source, found->line,
                   found->column, bytes, name, why);
}

// --- Nodes --------------------------------------------------------------------------------------
uint32_t kz_build_bytes(kz_grammar_builder *builder, const char *bytes, size_t count) {
    if (count == 0) {
        return KZ_GRAMMAR_EMPTY;
    }
    const uint32_t place = copy_bytes(builder, bytes, count);
    return add_node(builder, (kz_grammar_node){
                                 .kind = KZ_NODE_BYTES, .first = place, .count = (uint32_t)count});
}

uint32_t kz_build_text(kz_grammar_builder *builder, const char *text) {
    return kz_build_bytes(builder, text, strlen(text));
}

static int compare_ranges(const void *left, const void *right) {
    const kz_char_range *a = left;
    const kz_char_range *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

static size_t join_ranges(kz_char_range *ranges, size_t count) {
    size_t kept = 0;
    qsort(ranges, count, sizeof *ranges, compare_ranges);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && ranges[i].low <= ranges[kept - 1].high + 1) {
            if (ranges[i].high > ranges[kept - 1].high) {
                ranges[kept - 1].high = ranges[i].high;
            }
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    return kept;
}

static void put_range(kz_grammar_builder *builder, uint32_t low, uint32_t high) {
    if (low > high || !reserve(builder, (void **)&builder->ranges, builder->range_count, 1,
                               &builder->range_capacity, sizeof *builder->ranges, RANGE_LIMIT,
                               "ranges of characters")) {
        return;
    }
    builder->ranges[builder->range_count++] = (kz_char_range){low, high};
}

uint32_t kz_build_class(kz_grammar_builder *builder, kz_char_range *ranges, size_t count,
                        bool is_negated) {
    const uint32_t first = builder->range_count;
    const size_t kept = count > 0 ? join_ranges(ranges, count) : 0;
    uint32_t next = 0; // of a negated class: the first character that is not looked at yet
    for (size_t i = 0; i < kept; i++) {
        if (!is_negated) {
            put_range(builder, ranges[i].low, ranges[i].high);
        } else if (ranges[i].low > next) {
            put_range(builder, next, ranges[i].low - 1);
        }
        next = ranges[i].high + 1;
    }
    if (is_negated) {
        put_range(builder, next, HIGHEST_CHARACTER);
    }
    return add_node(builder, (kz_grammar_node){.kind = KZ_NODE_CLASS,
                                               .first = first,
                                               .count = builder->range_count - first});
}

uint32_t kz_build_range(kz_grammar_builder *builder, uint32_t low, uint32_t high) {
    kz_char_range range = {low, high};
    return kz_build_class(builder, &range, 1, false);
}

uint32_t kz_build_rule(kz_grammar_builder *builder, uint32_t rule) {
    return add_node(builder, (kz_grammar_node){.kind = KZ_NODE_RULE, .first = rule});
}

uint32_t kz_build_repeat(kz_grammar_builder *builder, uint32_t child, uint32_t least,
                         uint32_t most) {
    if (child == KZ_GRAMMAR_EMPTY || (least == 1 && most == 1)) {
        return child;
    }
    return add_node(
        builder,
        (kz_grammar_node){.kind = KZ_NODE_REPEAT, .first = child, .count = least, .most = most});
}

void kz_list_add(kz_grammar_builder *builder, kz_node_list *list, uint32_t node) {
    if (node == KZ_GRAMMAR_EMPTY) {
        node = add_node(builder, (kz_grammar_node){.kind = KZ_NODE_EMPTY});
    }
    if (builder->status != KAZEIA_OK) {
        return;
    }
    if (list->count++ == 0) {
        list->first = node;
    } else {
        builder->nodes[list->last].next = node;
    }
    list->last = node;
}

uint32_t kz_build_sequence(kz_grammar_builder *builder, const kz_node_list *list) {
    if (list->count <= 1) {
        return list->count == 0 ? KZ_GRAMMAR_EMPTY : list->first;
    }
    return add_node(builder, (kz_grammar_node){.kind = KZ_NODE_SEQUENCE, .first = list->first});
}

uint32_t kz_build_choice(kz_grammar_builder *builder, const kz_node_list *list) {
    if (list->count == 0) {
        return kz_build_class(builder, NULL, 0, false);
    }
    if (list->count == 1) {
        return list->first;
    }
    return add_node(builder, (kz_grammar_node){.kind = KZ_NODE_CHOICE, .first = list->first});
}

// --- The builder --------------------------------------------------------------------------------
void kz_builder_init(kz_grammar_builder *builder, const char *source,
                     const kazeia_allocator *allocator) {
    memset(builder, 0, sizeof *builder);
    builder->allocator = kz_allocator_or_default(allocator);
    builder->source = source;
    add_node(builder, (kz_grammar_node){.kind = KZ_NODE_EMPTY}); // KZ_GRAMMAR_EMPTY
}

void kz_builder_clear(kz_grammar_builder *builder) {
    kz_free(&builder->allocator, builder->nodes);
    kz_free(&builder->allocator, builder->ranges);
    kz_free(&builder->allocator, builder->bytes);
    kz_free(&builder->allocator, builder->rules);
}
