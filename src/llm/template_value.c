// template_value.c: memory, values and strings of a rendering.
//   in   see template_value.h
//   out  likewise
#include "llm/template_value.h"

#include <string.h>

#include "text/utf8.h"

#define BYTES_PER_WORK 16u // text goes through memchr and memcpy: cheaper than an instruction

// --- Memory -------------------------------------------------------------------------------------

kazeia_status kz_heap_take(kz_heap *heap, size_t count, size_t bytes_each, void **out_memory) {
    size_t bytes = 0;
    // Room for the sum and for rounding: the heap's size is below half of what can be counted.
    if (!kz_size_mul(count, bytes_each, &bytes) || bytes > heap->size ||
        ((bytes + 7) & ~(size_t)7) > heap->high - heap->low) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY,
                       "the rendering needs more than its %zu bytes of memory", heap->size);
    }
    heap->high -= (bytes + 7) & ~(size_t)7;
    memset(heap->memory + heap->high, 0, bytes);
    *out_memory = heap->memory + heap->high;
    return kz_heap_work(heap, bytes / BYTES_PER_WORK);
}

kazeia_status kz_heap_work(kz_heap *heap, uint64_t units) {
    if (units > heap->work) {
        heap->work = 0;
        return kz_fail(KAZEIA_BAD_ARGUMENT, "the rendering takes too many steps");
    }
    heap->work -= units;
    return KAZEIA_OK;
}

// --- Values -------------------------------------------------------------------------------------

kz_variant kz_variant_none(void) {
    return (kz_variant){.kind = KZ_VARIANT_NONE};
}

kz_variant kz_variant_bool(bool is_true) {
    return (kz_variant){.kind = KZ_VARIANT_BOOL, .integer = is_true};
}

kz_variant kz_variant_integer(int64_t integer) {
    return (kz_variant){.kind = KZ_VARIANT_INTEGER, .integer = integer};
}

kz_variant kz_variant_text(const char *text, size_t count, uint32_t source) {
    return (kz_variant){
        .kind = KZ_VARIANT_STRING, .count = (uint32_t)count, .source = source, .text = text};
}

kz_variant kz_variant_list(const kz_variant *items, size_t count) {
    return (kz_variant){.kind = KZ_VARIANT_LIST, .count = (uint32_t)count, .items = items};
}

const char *kz_variant_kind_name(const kz_variant *value) {
    static const char *const names[] = {
        [KZ_VARIANT_UNDEFINED] = "undefined",
        [KZ_VARIANT_MISSING] = "undefined",
        [KZ_VARIANT_NONE] = "None",
        [KZ_VARIANT_BOOL] = "bool",
        [KZ_VARIANT_INTEGER] = "int",
        [KZ_VARIANT_BIG] = "large int",
        [KZ_VARIANT_REAL] = "float",
        [KZ_VARIANT_STRING] = "str",
        [KZ_VARIANT_LIST] = "list",
        [KZ_VARIANT_TUPLE] = "tuple",
        [KZ_VARIANT_MAP] = "dict",
        [KZ_VARIANT_NAMESPACE] = "namespace",
        [KZ_VARIANT_MACRO] = "macro",
        [KZ_VARIANT_METHOD] = "method",
    };
    return names[value->kind];
}

bool kz_variant_is_list(const kz_variant *value) {
    return value->kind == KZ_VARIANT_LIST || value->kind == KZ_VARIANT_TUPLE;
}

bool kz_variant_is_number(const kz_variant *value) {
    return value->kind == KZ_VARIANT_BOOL || value->kind == KZ_VARIANT_INTEGER ||
           value->kind == KZ_VARIANT_REAL;
}

double kz_variant_as_real(const kz_variant *value) {
    return value->kind == KZ_VARIANT_REAL ? value->real : (double)value->integer;
}

bool kz_variant_is_true(const kz_variant *value) {
    switch (value->kind) {
    case KZ_VARIANT_UNDEFINED:
    case KZ_VARIANT_MISSING:
    case KZ_VARIANT_NONE:
        return false;
    case KZ_VARIANT_BOOL:
    case KZ_VARIANT_INTEGER:
        return value->integer != 0;
    case KZ_VARIANT_REAL:
        return value->real != 0;
    case KZ_VARIANT_STRING:
    case KZ_VARIANT_LIST:
    case KZ_VARIANT_TUPLE:
    case KZ_VARIANT_MAP:
        return value->count > 0;
    default:
        return true;
    }
}

static bool is_text(const kz_variant *value, const char *text, size_t count) {
    return value->kind == KZ_VARIANT_STRING && value->count == count &&
           memcmp(value->text, text, count) == 0;
}

bool kz_variant_spells(const kz_variant *value, const char *text) {
    return is_text(value, text, strlen(text));
}

bool kz_variant_same_text(const kz_variant *a, const kz_variant *b) {
    return b->kind == KZ_VARIANT_STRING && is_text(a, b->text, b->count);
}

static const kz_entry *entries_of(const kz_variant *value, uint32_t *out_count) {
    const bool is_space = value->kind == KZ_VARIANT_NAMESPACE;
    *out_count = is_space ? value->space->count : value->count;
    return is_space ? value->space->entries : value->entries;
}

const kz_variant *kz_variant_find(const kz_variant *map, const char *key, size_t count) {
    if (map->kind != KZ_VARIANT_MAP && map->kind != KZ_VARIANT_NAMESPACE) {
        return NULL;
    }
    uint32_t entry_count = 0;
    const kz_entry *entries = entries_of(map, &entry_count);
    for (uint32_t i = 0; i < entry_count; i++) {
        if (is_text(&entries[i].key, key, count)) {
            return &entries[i].value;
        }
    }
    return NULL;
}

kazeia_status kz_variant_set(kz_heap *heap, const kz_variant *space, const kz_variant *key,
                             const kz_variant *value) {
    if (space->kind != KZ_VARIANT_NAMESPACE) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a member of a %s is set; expected a namespace",
                       kz_variant_kind_name(space));
    }
    kz_namespace *members = space->space;
    for (uint32_t i = 0; i < members->count; i++) {
        if (kz_variant_same_text(&members->entries[i].key, key)) {
            members->entries[i].value = *value;
            return KAZEIA_OK;
        }
    }
    if (members->count == members->capacity) {
        kz_entry *larger = NULL;
        const uint32_t capacity = members->capacity * 2 + 4;
        KZ_TRY(kz_heap_take(heap, capacity, sizeof *larger, (void **)&larger));
        if (members->count) {
            memcpy(larger, members->entries, members->count * sizeof *larger);
        }
        members->entries = larger;
        members->capacity = capacity;
    }
    members->entries[members->count++] = (kz_entry){*key, *value};
    return KAZEIA_OK;
}

// --- Comparing ----------------------------------------------------------------------------------

static kazeia_status equal_at(kz_heap *heap, const kz_variant *a, const kz_variant *b,
                              uint32_t depth, bool *out_is_equal);

static kazeia_status lists_equal(kz_heap *heap, const kz_variant *a, const kz_variant *b,
                                 uint32_t depth, bool *out_is_equal) {
    *out_is_equal = a->count == b->count;
    for (uint32_t i = 0; i < a->count && *out_is_equal; i++) {
        KZ_TRY(equal_at(heap, &a->items[i], &b->items[i], depth + 1, out_is_equal));
    }
    return KAZEIA_OK;
}

static kazeia_status maps_equal(kz_heap *heap, const kz_variant *a, const kz_variant *b,
                                uint32_t depth, bool *out_is_equal) {
    *out_is_equal = a->count == b->count;
    for (uint32_t i = 0; i < a->count && *out_is_equal; i++) {
        const kz_variant *key = &a->entries[i].key;
        KZ_TRY(kz_heap_work(heap, b->count));
        const kz_variant *other =
            key->kind == KZ_VARIANT_STRING ? kz_variant_find(b, key->text, key->count) : NULL;
        *out_is_equal = other != NULL;
        if (other) {
            KZ_TRY(equal_at(heap, &a->entries[i].value, other, depth + 1, out_is_equal));
        }
    }
    return KAZEIA_OK;
}

static bool is_nothing(const kz_variant *value) {
    return value->kind == KZ_VARIANT_UNDEFINED || value->kind == KZ_VARIANT_MISSING;
}

static kazeia_status equal_at(kz_heap *heap, const kz_variant *a, const kz_variant *b,
                              uint32_t depth, bool *out_is_equal) {
    if (depth > KZ_VARIANT_DEPTH) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "values nested deeper than %u compared",
                       KZ_VARIANT_DEPTH);
    }
    KZ_TRY(kz_heap_work(heap, 1 + a->count / BYTES_PER_WORK));
    if (kz_variant_is_number(a) && kz_variant_is_number(b)) {
        *out_is_equal = a->kind == KZ_VARIANT_REAL || b->kind == KZ_VARIANT_REAL
                            ? kz_variant_as_real(a) == kz_variant_as_real(b)
                            : a->integer == b->integer;
        return KAZEIA_OK;
    }
    *out_is_equal = false;
    if (is_nothing(a) && is_nothing(b)) {
        *out_is_equal = true;
    } else if (a->kind == b->kind && a->kind == KZ_VARIANT_NONE) {
        *out_is_equal = true;
    } else if (a->kind == b->kind && (a->kind == KZ_VARIANT_STRING || a->kind == KZ_VARIANT_BIG)) {
        *out_is_equal = a->count == b->count && memcmp(a->text, b->text, a->count) == 0;
    } else if (a->kind == b->kind && kz_variant_is_list(a)) {
        return lists_equal(heap, a, b, depth, out_is_equal);
    } else if (a->kind == b->kind && a->kind == KZ_VARIANT_MAP) {
        return maps_equal(heap, a, b, depth, out_is_equal);
    } else if (a->kind == b->kind && a->kind == KZ_VARIANT_NAMESPACE) {
        *out_is_equal = a->space == b->space;
    } else if (a->kind == b->kind && a->kind == KZ_VARIANT_MACRO) {
        *out_is_equal = a->integer == b->integer;
    }
    return KAZEIA_OK;
}

kazeia_status kz_variant_equal(kz_heap *heap, const kz_variant *a, const kz_variant *b,
                               bool *out_is_equal) {
    return equal_at(heap, a, b, 0, out_is_equal);
}

kazeia_status kz_variant_compare(kz_heap *heap, const kz_variant *a, const kz_variant *b,
                                 int *out_order) {
    if (kz_variant_is_number(a) && kz_variant_is_number(b)) {
        const double x = kz_variant_as_real(a), y = kz_variant_as_real(b);
        *out_order = (x > y) - (x < y);
        if (a->kind != KZ_VARIANT_REAL && b->kind != KZ_VARIANT_REAL) {
            *out_order = (a->integer > b->integer) - (a->integer < b->integer);
        }
        return KAZEIA_OK;
    }
    if (a->kind != KZ_VARIANT_STRING || b->kind != KZ_VARIANT_STRING) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a %s and a %s are put in order",
                       kz_variant_kind_name(a), kz_variant_kind_name(b));
    }
    // The order of UTF-8 bytes is that of code points.
    const uint32_t shorter = a->count < b->count ? a->count : b->count;
    KZ_TRY(kz_heap_work(heap, 1 + shorter / BYTES_PER_WORK));
    const int order = memcmp(a->text, b->text, shorter);
    *out_order = order ? (order > 0) - (order < 0) : (a->count > b->count) - (a->count < b->count);
    return KAZEIA_OK;
}

// --- Elements -----------------------------------------------------------------------------------

static kazeia_status take_keys(kz_heap *heap, const kz_variant *map, kz_variant **out_items) {
    KZ_TRY(kz_heap_take(heap, map->count, sizeof **out_items, (void **)out_items));
    for (uint32_t i = 0; i < map->count; i++) {
        (*out_items)[i] = map->entries[i].key;
    }
    return KAZEIA_OK;
}

static kazeia_status take_characters(kz_heap *heap, const kz_variant *string,
                                     kz_variant **out_items, uint32_t *out_count) {
    // A character has a byte at least.
    KZ_TRY(kz_heap_take(heap, string->count, sizeof **out_items, (void **)out_items));
    *out_count = 0;
    for (uint32_t at = 0; at < string->count;) {
        const uint32_t length = kz_utf8_read_last(string->text + at, string->count - at).length;
        KZ_TRY(kz_string_cut(heap, string, at, at + length, &(*out_items)[*out_count]));
        ++*out_count;
        at += length;
    }
    return KAZEIA_OK;
}

kazeia_status kz_variant_elements(kz_heap *heap, const kz_variant *value,
                                  const kz_variant **out_items, uint32_t *out_count) {
    kz_variant *items = NULL;
    *out_count = 0;
    *out_items = NULL;
    switch (value->kind) {
    case KZ_VARIANT_UNDEFINED:
    case KZ_VARIANT_MISSING:
        return KAZEIA_OK;
    case KZ_VARIANT_LIST:
    case KZ_VARIANT_TUPLE:
        *out_items = value->items;
        *out_count = value->count;
        return kz_heap_work(heap, 1);
    case KZ_VARIANT_MAP:
        KZ_TRY(take_keys(heap, value, &items));
        *out_items = items;
        *out_count = value->count;
        return KAZEIA_OK;
    case KZ_VARIANT_STRING:
        KZ_TRY(take_characters(heap, value, &items, out_count));
        *out_items = items;
        return KAZEIA_OK;
    default:
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a %s has no elements to go over",
                       kz_variant_kind_name(value));
    }
}

// --- Strings ------------------------------------------------------------------------------------

void kz_string_begin(kz_string_builder *builder, kz_heap *heap) {
    *builder = (kz_string_builder){.heap = heap, .start = heap->low, .status = KAZEIA_OK};
}

static kazeia_status add_span(kz_string_builder *builder, uint32_t end, uint32_t source) {
    // Contents of messages are kept apart: two halves of two replies are no whole reply.
    if (builder->span_count && source < KZ_FROM_MESSAGE &&
        builder->spans[builder->span_count - 1].source == source) {
        builder->spans[builder->span_count - 1].end = end;
        return KAZEIA_OK;
    }
    if (builder->span_count == builder->span_capacity) {
        kz_span *larger = NULL;
        const uint32_t capacity = builder->span_capacity * 2 + 4;
        KZ_TRY(kz_heap_take(builder->heap, capacity, sizeof *larger, (void **)&larger));
        if (builder->span_count) {
            memcpy(larger, builder->spans, builder->span_count * sizeof *larger);
        }
        builder->spans = larger;
        builder->span_capacity = capacity;
    }
    builder->spans[builder->span_count++] = (kz_span){end, source};
    return KAZEIA_OK;
}

static kazeia_status put_bytes(kz_string_builder *builder, const char *text, size_t count,
                               uint32_t source) {
    kz_heap *heap = builder->heap;
    if (count > heap->high - heap->low || heap->low - builder->start + count > UINT32_MAX) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY,
                       "the rendering needs more than its %zu bytes of memory", heap->size);
    }
    memcpy(heap->memory + heap->low, text, count);
    heap->low += count;
    KZ_TRY(kz_heap_work(heap, 1 + count / BYTES_PER_WORK));
    return add_span(builder, (uint32_t)(heap->low - builder->start), source);
}

void kz_string_put(kz_string_builder *builder, const char *text, size_t count, uint32_t source) {
    if (builder->status == KAZEIA_OK && count > 0) {
        builder->status = put_bytes(builder, text, count, source);
    }
}

// The first span that ends after `from`.
static uint32_t find_span(const kz_variant *value, uint32_t from) {
    uint32_t low = 0, high = value->span_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (value->spans[middle].end > from) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

uint32_t kz_string_source(const kz_variant *value, uint32_t at) {
    if (value->span_count == 0) {
        return value->source;
    }
    const uint32_t span = find_span(value, at);
    return value->spans[span < value->span_count ? span : span - 1].source;
}

void kz_string_put_part(kz_string_builder *builder, const kz_variant *value, uint32_t from,
                        uint32_t to) {
    if (value->span_count == 0) {
        kz_string_put(builder, value->text + from, to - from, value->source);
        return;
    }
    for (uint32_t i = find_span(value, from); i < value->span_count && from < to; i++) {
        const uint32_t end = value->spans[i].end < to ? value->spans[i].end : to;
        kz_string_put(builder, value->text + from, end - from, value->spans[i].source);
        from = end;
    }
}

kazeia_status kz_string_end(kz_string_builder *builder, kz_variant *out_value) {
    KZ_TRY(builder->status);
    const char *text = (const char *)builder->heap->memory + builder->start;
    *out_value = kz_variant_text(text, builder->heap->low - builder->start, KZ_FROM_TEMPLATE);
    if (builder->span_count == 1) {
        out_value->source = builder->spans[0].source;
    } else {
        out_value->spans = builder->spans;
        out_value->span_count = builder->span_count;
    }
    return KAZEIA_OK;
}

static kazeia_status cut_spans(kz_heap *heap, const kz_variant *value, uint32_t from, uint32_t to,
                               kz_variant *out_value) {
    const uint32_t first = find_span(value, from);
    const uint32_t last = find_span(value, to - 1);
    if (first == last) {
        out_value->source = value->spans[first].source;
        return KAZEIA_OK;
    }
    kz_span *spans = NULL;
    KZ_TRY(kz_heap_take(heap, last - first + 1, sizeof *spans, (void **)&spans));
    for (uint32_t i = first; i <= last; i++) {
        const uint32_t end = value->spans[i].end < to ? value->spans[i].end : to;
        spans[i - first] = (kz_span){end - from, value->spans[i].source};
    }
    out_value->spans = spans;
    out_value->span_count = last - first + 1;
    return KAZEIA_OK;
}

kazeia_status kz_string_cut(kz_heap *heap, const kz_variant *value, uint32_t from, uint32_t to,
                            kz_variant *out_value) {
    if (from == 0 && to == value->count) {
        *out_value = *value;
        return KAZEIA_OK;
    }
    const kz_variant whole = *value; // out_value may be the same
    *out_value = kz_variant_text(whole.text + from, to - from, whole.source);
    return whole.span_count && from < to ? cut_spans(heap, &whole, from, to, out_value) : KAZEIA_OK;
}
