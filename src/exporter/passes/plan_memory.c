// plan_memory.c: a place in the arena for every value that lives there.
//   in   values and the instructions that write and read them
//   out  offsets, and the arena's size at the symbols' maxima
// Largest first, each at the lowest place that no value alive at the same time takes: simple, and
// within a few percent of the lower bound on chains of layers.
#include <stdlib.h>
#include <string.h>

#include "exporter/passes/passes.h"

typedef struct live_range {
    uint32_t value;
    size_t first, last; // instructions, both inclusive
    uint64_t bytes;
    uint64_t offset;
    bool is_used;
} live_range;

// A view keeps its parent's memory alive.
static uint32_t stored_value(const kz_graph_method *method, uint32_t value) {
    return method->values[value].kind == KZ_VALUE_VIEW ? method->values[value].index : value;
}

static void find_ranges(const kz_graph_method *method, live_range *ranges) {
    uint32_t maxima[KZ_SYMBOL_LIMIT] = {0};
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        maxima[i] = method->symbols[i].maximum;
    }
    for (size_t i = 0; i < method->value_count; i++) {
        const kz_value *value = &method->values[i];
        ranges[i] = (live_range){.value = (uint32_t)i};
        if (value->kind == KZ_VALUE_ARENA) {
            const uint64_t bytes = kz_value_bytes(value, maxima, method->symbol_count);
            // A size that does not fit 64 bits wraps here; kz_check_description refuses the value
            // itself.
            ranges[i].bytes = (bytes + KZ_ALIGNMENT - 1) / KZ_ALIGNMENT * KZ_ALIGNMENT;
        }
    }
    for (size_t i = 0; i < method->instruction_count; i++) {
        const kz_instruction *instruction = &method->instructions[i];
        const uint32_t count = kz_op_find((uint32_t)instruction->op)->operand_count;
        for (uint32_t j = 0; j < count; j++) {
            if (instruction->operands[j] == KZ_NO_VALUE) {
                continue;
            }
            live_range *range = &ranges[stored_value(method, instruction->operands[j])];
            // Instructions are walked in order, so the last use is simply the latest seen.
            range->first = range->is_used ? range->first : i;
            range->last = i;
            range->is_used = true;
        }
    }
}

static int compare_sizes(const void *left, const void *right) {
    const live_range *a = left, *b = right;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    // qsort is not stable: without a second key equal sizes would make the file depend on the C
    // library.
    return a->value < b->value ? -1 : a->value > b->value;
}

static bool overlap(const live_range *a, const live_range *b) {
    return a->first <= b->last && b->first <= a->last;
}

// The lowest offset at which `range` meets none of the `placed_count` ranges before it.
static uint64_t find_place(const live_range *ranges, size_t placed_count, const live_range *range) {
    uint64_t offset = 0;
    bool has_moved = true;
    // A move may run into a range that was passed before; offsets only rise, so it ends.
    while (has_moved) {
        has_moved = false;
        for (size_t i = 0; i < placed_count; i++) {
            const live_range *other = &ranges[i];
            if (overlap(other, range) && offset < other->offset + other->bytes &&
                other->offset < offset + range->bytes) {
                offset = other->offset + other->bytes;
                has_moved = true;
            }
        }
    }
    return offset;
}

static kazeia_status plan_method(kz_graph_method *method) {
    live_range *ranges = NULL;
    const kazeia_allocator *allocator = &method->graph->memory.allocator;
    KZ_TRY(
        kz_alloc(allocator, method->value_count, sizeof *ranges, "live ranges", (void **)&ranges));
    find_ranges(method, ranges);
    qsort(ranges, method->value_count, sizeof *ranges, compare_sizes);
    // Sorted by size: from the first 0 on there is nothing to place.
    for (size_t i = 0; i < method->value_count && ranges[i].bytes; i++) {
        ranges[i].offset = find_place(ranges, i, &ranges[i]);
        method->values[ranges[i].value].offset = ranges[i].offset;
        const uint64_t end = ranges[i].offset + ranges[i].bytes;
        method->arena_bytes = end > method->arena_bytes ? end : method->arena_bytes;
    }
    kz_free(allocator, ranges);
    return KAZEIA_OK;
}

kazeia_status kz_pass_plan_memory(kz_graph *graph) {
    for (size_t i = 0; i < graph->method_count; i++) {
        KZ_TRY(plan_method(&graph->methods[i]));
    }
    return KAZEIA_OK;
}
