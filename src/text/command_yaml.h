// command_yaml.h: a YAML document as a small tree that remembers where everything stood.
//
// in:  bytes of a file. out: nodes in an arena. Anchors and aliases are refused: with them a small
// file can stand for a huge tree. libyaml takes its own memory from malloc while it reads.
#ifndef KZ_TEXT_COMMAND_YAML_H
#define KZ_TEXT_COMMAND_YAML_H

#include "text/command_arena.h"

// Where something stands, for sentences.
typedef struct kz_command_place {
    const char *file;
    uint32_t line, column; // from 1
} kz_command_place;

typedef enum kz_yaml_kind { KZ_YAML_SCALAR, KZ_YAML_LIST, KZ_YAML_MAP } kz_yaml_kind;

// A value of the document; all pointers lie in the arena.
typedef struct kz_yaml_node {
    kz_yaml_kind kind;
    bool is_quoted;      // a scalar between quotes is always text
    bool is_single_line; // a scalar whose bytes stand in the file as they are
    kz_command_place place;
    kz_text_view text; // scalar, NUL-terminated
    const char *key;   // inside a map
    kz_command_place key_place;
    uint32_t count; // children
    struct kz_yaml_node *first, *last, *next;
} kz_yaml_node;

// `file` must live as long as the arena. Limits: 4 MB, 400,000 nodes, 24 levels, 2,000 keys a map.
// BAD_FILE names file, line and column; OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_yaml_read(kz_command_arena *arena, const char *file,
                                             const void *bytes, size_t count,
                                             const kz_yaml_node **out_root);

// The child under `key`, or NULL.
const kz_yaml_node *kz_yaml_find(const kz_yaml_node *map, const char *key);
const char *kz_yaml_kind_name(kz_yaml_kind kind);
// BAD_FILE with a sentence when the node is of another kind.
KAZEIA_MUST_CHECK kazeia_status kz_yaml_expect(const kz_yaml_node *node, kz_yaml_kind kind,
                                               const char *what);

// kz_fail with "file:line:column: " in front.
kazeia_status kz_command_fail(const kz_command_place *place, kazeia_status status,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
