// grammar_schema.h: what the files that read a JSON schema share.
//
// in:  a tree of JSON
// out: rules in a builder
//
// Schemas that must hold at once (a schema, what it refers to, its allOf, one branch of each anyOf)
// are kept as a list of parts; the rule of a list is made once and its body later, from a list of
// work, so that schemas may refer to each other and to themselves.
#ifndef KZ_LLM_GRAMMAR_SCHEMA_H
#define KZ_LLM_GRAMMAR_SCHEMA_H

#include "llm/grammar_build.h"
#include "llm/grammar_json.h"

#define KZ_SCHEMA_PART_LIMIT 16u
#define KZ_SCHEMA_PATH_BYTES 160u

// Schemas that hold at once, as values of the tree.
typedef struct kz_schema_parts {
    uint32_t values[KZ_SCHEMA_PART_LIMIT];
    uint32_t count;
    bool is_impossible; // one of them is `false`
} kz_schema_parts;

typedef struct kz_schema_work {
    kz_schema_parts parts;
    uint32_t rule;
} kz_schema_work;

typedef struct kz_schema {
    kz_grammar_builder *builder;
    kz_json_tree tree;
    kz_schema_work *work; // rules that were asked for, in order
    uint32_t work_count, work_capacity;
    uint32_t *rule_of_value; // [tree.count] rule + 1 of a list with one part
} kz_schema;

// The place of a value as a JSON pointer, cut in front when it is long.
void kz_schema_path(const kz_schema *schema, uint32_t value, char out[KZ_SCHEMA_PATH_BYTES]);
// A sentence with the value's place in front.
kazeia_status kz_schema_refuse(const kz_schema *schema, kazeia_status status, uint32_t value,
                               const char *why);

// Adds a schema to the parts; more than fit are refused.
kazeia_status kz_schema_add_part(const kz_schema *schema, kz_schema_parts *parts, uint32_t value);
// A node that names the rule of the parts (none: any value).
kazeia_status kz_schema_value_node(kz_schema *schema, const kz_schema_parts *parts,
                                   uint32_t *out_node);
// A node that names a rule of the prelude.
uint32_t kz_schema_prelude_node(kz_schema *schema, const char *name);

// The member `key` in the only part that has it; KZ_JSON_NONE when none has. UNSUPPORTED when two
// do.
kazeia_status kz_schema_only_member(const kz_schema *schema, const kz_schema_parts *parts,
                                    const char *key, uint32_t *out_value);
// The largest (or smallest) of the counts that the parts state, else `otherwise`.
kazeia_status kz_schema_count(const kz_schema *schema, const kz_schema_parts *parts,
                              const char *key, bool wants_largest, uint32_t otherwise,
                              uint32_t *out_count);

// Nodes for one type of the parts, all of whose references and choices are resolved.
kazeia_status kz_schema_string(kz_schema *schema, const kz_schema_parts *parts, uint32_t *out_node);
kazeia_status kz_schema_number(kz_schema *schema, const kz_schema_parts *parts, bool is_integer,
                               uint32_t *out_node);
kazeia_status kz_schema_array(kz_schema *schema, const kz_schema_parts *parts, uint32_t *out_node);
kazeia_status kz_schema_object(kz_schema *schema, const kz_schema_parts *parts, uint32_t *out_node);
// The JSON text of a value, compact.
uint32_t kz_schema_literal(kz_schema *schema, uint32_t value);
// A string's JSON text with its quotes.
uint32_t kz_schema_quoted(kz_schema *schema, const char *text, size_t count);
// The characters of a JSON string that a pattern allows; `value` is the pattern's.
kazeia_status kz_schema_pattern(kz_schema *schema, uint32_t value, uint32_t *out_node);

#endif
