// template_value.h: the values that a chat template computes with, and the memory they live in.
//
// in:  JSON, constants of the template
// out: values; strings that know where each of their bytes comes from
//
// A string's bytes come from the template, from somebody's content, or from the content of one
// message of the conversation. Only template bytes may spell special tokens; a message whose whole
// content is printed may be printed by its own token ids. Cutting and joining keep the origin.
#ifndef KZ_LLM_TEMPLATE_VALUE_H
#define KZ_LLM_TEMPLATE_VALUE_H

#include "base/alloc.h"
#include "format/chat_template.h"

// --- Memory -------------------------------------------------------------------------------------

// One block, taken at creation: text grows from its low end, all else from its high end. A
// rendering starts where the last one started, so nothing is freed singly. `work` counts down:
// whoever walks over n elements or bytes pays for them, so a hostile template ends.
typedef struct kz_heap {
    uint8_t *memory;
    size_t low, high, size; // free: low to high
    uint64_t work;
} kz_heap;

// `count` zeroed elements, aligned to 8. OUT_OF_MEMORY with what is there and what was asked.
KAZEIA_MUST_CHECK kazeia_status kz_heap_take(kz_heap *heap, size_t count, size_t bytes_each,
                                             void **out_memory);
// BAD_ARGUMENT when the rendering has worked too long.
KAZEIA_MUST_CHECK kazeia_status kz_heap_work(kz_heap *heap, uint64_t units);

// --- Values -------------------------------------------------------------------------------------

typedef enum kz_variant_kind {
    KZ_VARIANT_UNDEFINED,
    KZ_VARIANT_MISSING, // an argument that was not passed; reads as undefined
    KZ_VARIANT_NONE,
    KZ_VARIANT_BOOL,
    KZ_VARIANT_INTEGER,
    KZ_VARIANT_BIG, // an integer beyond 64 bits, as its digits
    KZ_VARIANT_REAL,
    KZ_VARIANT_STRING,
    KZ_VARIANT_LIST,
    KZ_VARIANT_TUPLE, // a list that is printed in round brackets
    KZ_VARIANT_MAP,
    KZ_VARIANT_NAMESPACE,
    KZ_VARIANT_MACRO,
    KZ_VARIANT_METHOD, // map.items, not called: true, and nothing more
} kz_variant_kind;

#define KZ_FROM_TEMPLATE 0u
#define KZ_FROM_CONTENT 1u
#define KZ_FROM_MESSAGE 2u // and more: content of message (source - KZ_FROM_MESSAGE)

typedef struct kz_span {
    uint32_t end; // of the bytes that come from `source`, which begin where the last span ends
    uint32_t source;
} kz_span;

typedef struct kz_variant kz_variant;
typedef struct kz_entry kz_entry;
typedef struct kz_namespace kz_namespace;

struct kz_variant {
    uint8_t kind;
    uint32_t count;      // bytes, elements, entries
    uint32_t source;     // of all bytes of a string without spans
    uint32_t span_count; // 0: one source
    union {
        int64_t integer; // BOOL and MACRO (its first instruction) too
        double real;
        const char *text; // STRING, BIG; not NUL-terminated
        const kz_variant *items;
        const kz_entry *entries;
        kz_namespace *space;
    };
    const kz_span *spans;
};

struct kz_entry {
    kz_variant key, value;
};

struct kz_namespace {
    kz_entry *entries;
    uint32_t count, capacity;
};

kz_variant kz_variant_none(void);
kz_variant kz_variant_bool(bool is_true);
kz_variant kz_variant_integer(int64_t integer);
kz_variant kz_variant_text(const char *text, size_t count, uint32_t source);
kz_variant kz_variant_list(const kz_variant *items, size_t count);

// "str", "list": for sentences.
const char *kz_variant_kind_name(const kz_variant *value);
bool kz_variant_is_list(const kz_variant *value);   // or a tuple
bool kz_variant_is_number(const kz_variant *value); // an integer, real or bool
double kz_variant_as_real(const kz_variant *value); // of a number
// What `if` asks. A namespace, macro and method are true.
bool kz_variant_is_true(const kz_variant *value);
// The bytes of a string are those of a C string.
bool kz_variant_spells(const kz_variant *value, const char *text);
bool kz_variant_same_text(const kz_variant *a, const kz_variant *b);
// As Python's ==; numbers of all kinds compare with each other.
KAZEIA_MUST_CHECK kazeia_status kz_variant_equal(kz_heap *heap, const kz_variant *a,
                                                 const kz_variant *b, bool *out_is_equal);
// -1, 0, 1 of two numbers or two strings (by code points); BAD_ARGUMENT for all else.
KAZEIA_MUST_CHECK kazeia_status kz_variant_compare(kz_heap *heap, const kz_variant *a,
                                                   const kz_variant *b, int *out_order);
// The value of a string key of a map or namespace, or NULL.
const kz_variant *kz_variant_find(const kz_variant *map, const char *key, size_t count);
// Adds or replaces. BAD_ARGUMENT when `space` is no namespace.
KAZEIA_MUST_CHECK kazeia_status kz_variant_set(kz_heap *heap, const kz_variant *space,
                                               const kz_variant *key, const kz_variant *value);
// What a loop goes over: elements of a list, keys of a map, characters of a string, nothing of
// undefined. BAD_ARGUMENT for all else.
KAZEIA_MUST_CHECK kazeia_status kz_variant_elements(kz_heap *heap, const kz_variant *value,
                                                    const kz_variant **out_items,
                                                    uint32_t *out_count);

// --- Building strings ---------------------------------------------------------------------------

// One at a time: the text grows at the heap's low end. The first failure is kept; end returns it.
typedef struct kz_string_builder {
    kz_heap *heap;
    size_t start;
    kz_span *spans;
    uint32_t span_count, span_capacity;
    kazeia_status status;
} kz_string_builder;

void kz_string_begin(kz_string_builder *builder, kz_heap *heap);
void kz_string_put(kz_string_builder *builder, const char *text, size_t count, uint32_t source);
// Bytes `from` to `to` of a string.
void kz_string_put_part(kz_string_builder *builder, const kz_variant *value, uint32_t from,
                        uint32_t to);
KAZEIA_MUST_CHECK kazeia_status kz_string_end(kz_string_builder *builder, kz_variant *out_value);
// Where byte `at` comes from; at the end: the last one.
uint32_t kz_string_source(const kz_variant *value, uint32_t at);
// Bytes `from` to `to` without copying them.
KAZEIA_MUST_CHECK kazeia_status kz_string_cut(kz_heap *heap, const kz_variant *value, uint32_t from,
                                              uint32_t to, kz_variant *out_value);

// --- To text and from it ------------------------------------------------------------------------

// As Python's str(): a string is itself, undefined is empty, None, True, 1.0, ['a', {'b': 1}].
KAZEIA_MUST_CHECK kazeia_status kz_variant_to_string(kz_heap *heap, const kz_variant *value,
                                                     kz_variant *out_string);

typedef struct kz_json_style {
    int indent; // spaces a level; -1: one line
    bool is_ascii;
    bool is_sorted;
    const char *item_separator, *key_separator; // NUL-terminated
} kz_json_style;

// As Python's json.dumps; the result is content. BAD_ARGUMENT for what JSON cannot say.
KAZEIA_MUST_CHECK kazeia_status kz_variant_to_json(kz_heap *heap, const kz_variant *value,
                                                   const kz_json_style *style,
                                                   kz_variant *out_string);
// Values of a JSON text; strings are content. The text must outlive them. BAD_ARGUMENT says where.
KAZEIA_MUST_CHECK kazeia_status kz_variant_from_json(kz_heap *heap, const char *text, size_t count,
                                                     const char *what, kz_variant *out_value);

#define KZ_VARIANT_DEPTH 64u // lists and maps in each other, where something goes through them

#endif
