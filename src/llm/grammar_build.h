// grammar_build.h: rules as they are read: trees of choices, sequences and repetitions.
//
// in:  calls of a reader of GBNF, of a schema, of a pattern
// out: nodes and rules, which grammar_check.c judges and grammar_compile.c turns into automatons
//
// The first failure is kept in `status` and later calls do nothing of use, so that readers look at
// it once in a while and at their end. A node has one parent: nodes are linked by `next`.
#ifndef KZ_LLM_GRAMMAR_BUILD_H
#define KZ_LLM_GRAMMAR_BUILD_H

#include "llm/grammar.h"

#define KZ_REPEAT_FOR_EVER UINT32_MAX
#define KZ_NO_RULE UINT32_MAX
#define KZ_GRAMMAR_EMPTY 0u // the node of the empty text; never linked into a list

typedef enum kz_grammar_node_kind {
    KZ_NODE_EMPTY,
    KZ_NODE_BYTES,    // first: offset into bytes, count
    KZ_NODE_CLASS,    // first: offset into ranges, count; none: no character at all
    KZ_NODE_SEQUENCE, // first: child, the others by `next`
    KZ_NODE_CHOICE,   // the same
    KZ_NODE_REPEAT,   // first: child; count: least, most
    KZ_NODE_RULE,     // first: rule
} kz_grammar_node_kind;

typedef struct kz_grammar_node {
    kz_grammar_node_kind kind;
    uint32_t first, count, most;
    uint32_t next;         // 0: the last child
    uint32_t line, column; // KZ_NODE_RULE: where the rule is named; line 0: unknown
} kz_grammar_node;

// Code points, both ends included.
typedef struct kz_char_range {
    uint32_t low, high;
} kz_char_range;

typedef struct kz_grammar_rule {
    uint32_t name, name_bytes; // in `bytes`
    uint32_t body;             // node; UINT32_MAX while it is only named
    uint32_t line, column;     // of the definition or the first mention; line 0: made by a schema
    bool is_called;            // keeps an automaton of its own, however small it is
    uint32_t next_same_hash;   // rule + 1
    // Written by grammar_check.c:
    bool is_reachable, is_productive, is_nullable;
    bool is_inlined;   // wherever it is named, but in a rule that calls_all
    bool calls_all;    // it would grow too large with other rules' bodies in it
    bool has_loop;     // an unbounded repetition, inlined rules included
    uint32_t size;     // states, about
    uint32_t mentions; // in reachable rules
} kz_grammar_rule;

#define KZ_RULE_HASH_SLOTS 4096u

typedef struct kz_grammar_builder {
    kazeia_allocator allocator;
    kazeia_status status;
    kz_grammar_node *nodes;
    uint32_t node_count, node_capacity;
    kz_char_range *ranges;
    uint32_t range_count, range_capacity;
    char *bytes;
    uint32_t byte_count, byte_capacity;
    kz_grammar_rule *rules;
    uint32_t rule_count, rule_capacity;
    uint32_t slots[KZ_RULE_HASH_SLOTS]; // rule + 1
    const char *source;                 // "grammar" or "schema", for sentences
} kz_grammar_builder;

// Children of a sequence or choice while they are collected; begins as zeros.
typedef struct kz_node_list {
    uint32_t first, last, count;
} kz_node_list;

void kz_builder_init(kz_grammar_builder *builder, const char *source,
                     const kazeia_allocator *allocator);
void kz_builder_clear(kz_grammar_builder *builder);

// The rule of this name, made without a body where there is none yet.
uint32_t kz_builder_rule(kz_grammar_builder *builder, const char *name, size_t count);
// KZ_NO_RULE when there is none.
uint32_t kz_builder_find_rule(const kz_grammar_builder *builder, const char *name, size_t count);
// A rule that no text can name.
uint32_t kz_builder_hidden_rule(kz_grammar_builder *builder, const char *label);
// A sentence that names the rule and where it is; returns `status`.
kazeia_status kz_builder_refuse(const kz_grammar_builder *builder, kazeia_status status,
                                uint32_t rule, const char *why);

uint32_t kz_build_bytes(kz_grammar_builder *builder, const char *bytes, size_t count);
uint32_t kz_build_text(kz_grammar_builder *builder, const char *text);
// Sorts and joins the ranges in place; `is_negated`: all characters but these.
uint32_t kz_build_class(kz_grammar_builder *builder, kz_char_range *ranges, size_t count,
                        bool is_negated);
uint32_t kz_build_range(kz_grammar_builder *builder, uint32_t low, uint32_t high);
uint32_t kz_build_rule(kz_grammar_builder *builder, uint32_t rule);
uint32_t kz_build_repeat(kz_grammar_builder *builder, uint32_t child, uint32_t least,
                         uint32_t most);
void kz_list_add(kz_grammar_builder *builder, kz_node_list *list, uint32_t node);
uint32_t kz_build_sequence(kz_grammar_builder *builder, const kz_node_list *list);
// Of no child: what cannot be.
uint32_t kz_build_choice(kz_grammar_builder *builder, const kz_node_list *list);

// Reads GBNF rules into the builder. Names must be resolved after it (kz_grammar_check does).
kazeia_status kz_gbnf_read(kz_grammar_builder *builder, const char *text, size_t bytes);
// Refuses unknown names, left recursion, rules that cannot end; decides what is inlined.
kazeia_status kz_grammar_check(kz_grammar_builder *builder, uint32_t root);
// True when some text matches the node; known after kz_grammar_check.
bool kz_node_is_productive(const kz_grammar_builder *builder, uint32_t node);
// Checks and compiles.
kazeia_status kz_grammar_finish(kz_grammar_builder *builder, uint32_t root,
                                kz_grammar **out_grammar);

#endif
