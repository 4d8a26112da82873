// grammar_json.h: JSON text -> a tree of values, for schemas.
//
// in:  text, any bytes
// out: values in an array, children in the text's order; strings are decoded, numbers keep their
//      spelling
//
// The base has a JSON writer and nothing else in the runtime reads JSON, so a small reader does:
// the core library takes no JSON library for one option.
#ifndef KZ_LLM_GRAMMAR_JSON_H
#define KZ_LLM_GRAMMAR_JSON_H

#include "llm/grammar.h"

#define KZ_JSON_NONE UINT32_MAX

typedef enum kz_json_kind {
    KZ_JSON_NULL,
    KZ_JSON_FALSE,
    KZ_JSON_TRUE,
    KZ_JSON_NUMBER,
    KZ_JSON_STRING,
    KZ_JSON_ARRAY,
    KZ_JSON_OBJECT,
} kz_json_kind;

typedef struct kz_json_text {
    uint32_t first, count; // in `bytes`, with a NUL behind it
} kz_json_text;

typedef struct kz_json_value {
    kz_json_kind kind;
    kz_json_text text;            // of a string or number
    kz_json_text key;             // of an object's member
    uint32_t child, next, parent; // values, or KZ_JSON_NONE
    uint32_t child_count, index;  // index: among its parent's children
} kz_json_value;

typedef struct kz_json_tree {
    kazeia_allocator allocator;
    kz_json_value *values; // value 0 is the outermost
    uint32_t count, capacity;
    char *bytes; // [text bytes * 2 + 1]
    uint32_t byte_count;
} kz_json_tree;

// BAD_FILE with line and column. On failure the tree may only be cleared.
KAZEIA_MUST_CHECK kazeia_status kz_json_tree_read(const char *text, size_t bytes,
                                                  const kazeia_allocator *allocator,
                                                  kz_json_tree *out_tree);
// Zeros are fine.
void kz_json_tree_clear(kz_json_tree *tree);

// The member with this key, the last of several; KZ_JSON_NONE when there is none or `object` is
// none.
uint32_t kz_json_member(const kz_json_tree *tree, uint32_t object, const char *key);
const char *kz_json_string(const kz_json_tree *tree, kz_json_text text);

#endif
