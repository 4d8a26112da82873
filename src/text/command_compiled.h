// command_compiled.h: a compiled command grammar, as its reader makes it and its matcher walks it.
//
// A template is a tree of nodes; rules and lists are shared, not copied, so that a grammar whose
// full language has 10^12 sentences takes no more memory than its file. The reader proves before
// anything is matched that rules do not loop, and how deep and how large the tree is when they are
// followed.
#ifndef KZ_TEXT_COMMAND_COMPILED_H
#define KZ_TEXT_COMMAND_COMPILED_H

#include "text/command_grammar.h"
#include "text/command_home.h"
#include "text/command_yaml.h"

enum {
    KZ_MAX_TEMPLATE_DEPTH = 64,      // groups, rules and lists inside each other
    KZ_MAX_TEMPLATE_NODES = 1000000, // of one sentence, rules and lists followed
    KZ_MAX_PERMUTED = 5,             // items of one (a;b)
    KZ_MAX_SLOT_NAMES = 256,
    KZ_MAX_MATCH_SETS = 300 // state sets that a sentence needs at once
};

// What a node matches.
typedef enum kz_node_kind {
    KZ_NODE_CHUNK,        // text
    KZ_NODE_SEQUENCE,     // children one after the other
    KZ_NODE_ALTERNATIVES, // one child
    KZ_NODE_PERMUTATION,  // all children in any order
    KZ_NODE_LIST,         // a slot
    KZ_NODE_RULE
} kz_node_kind;

typedef struct kz_command_node kz_command_node;
typedef struct kz_command_rule kz_command_rule;
typedef struct kz_command_list kz_command_list;

// A part of a template, in the grammar's arena as all below.
struct kz_command_node {
    kz_node_kind kind;
    bool is_optional;
    uint32_t child_count;
    kz_command_node **children;
    kz_text_view text;      // CHUNK: folded, with its spaces
    uint32_t literal_chars; // CHUNK: without spaces at the ends
    uint32_t slot;          // LIST: index of grammar->slot_names
    kz_command_list *list;  // LIST
    kz_command_rule *rule;  // RULE
};

// What is known of a node before matching.
typedef struct kz_node_measure {
    uint64_t nodes; // with rules and lists followed
    uint32_t depth;
    uint32_t sets;    // state sets the matcher needs at once
    bool is_nullable; // may match nothing
    bool is_dead;     // matches no text at all: it needs a list that is empty
    bool begins_wild, ends_wild, is_only_wild;
    uint8_t first[32];                    // bit set: bytes a match may begin with
    uint8_t slots[KZ_MAX_SLOT_NAMES / 8]; // bit set: slots a match may fill
} kz_node_measure;

// MEASURING marks what is being followed: to meet it again is a loop.
typedef enum kz_measure_state { KZ_NOT_MEASURED, KZ_MEASURING, KZ_MEASURED } kz_measure_state;

// A template with a name, measured once however often it is used.
struct kz_command_rule {
    const char *name; // first: names are searched by it
    uint32_t order;   // second: of two with one name the later one counts
    const kz_yaml_node *source;
    kz_command_node *body;
    kz_measure_state state;
    kz_node_measure measure;
};

// One value of a list: what is said for it, and what it stands for.
typedef struct kz_command_value {
    kz_command_node *in;
    kz_slot_kind kind;
    const char *text; // NULL: as said
    double number;
    uint64_t domain; // bit of grammar->domains; 0: none
} kz_command_value;

typedef enum kz_list_kind { KZ_LIST_VALUES, KZ_LIST_RANGE, KZ_LIST_WILDCARD } kz_list_kind;

// What a slot may be. VALUES use `values`, RANGE the numbers from `from` to `to` by `step`, halves
// between them with has_halves, each times `multiplier`; WILDCARD is any words.
struct kz_command_list {
    const char *name;           // first: names are searched by it
    uint32_t order;             // second: of two with one name the later one counts
    const kz_yaml_node *source; // NULL: the home's
    kz_list_kind kind;
    uint32_t value_count;
    kz_command_value *values;
    int32_t from, to, step;
    bool has_halves;
    double multiplier;
    kz_measure_state state;
    kz_node_measure measure;
};

// A piece of a response: text, or a placeholder. Group 0 is always said; another group only when
// all its placeholders have a value.
typedef struct kz_response_part {
    uint32_t group;
    bool is_slot;
    const char *text;              // the text, or the slot's name
    const char *singular, *plural; // unit words, or NULL
} kz_response_part;

typedef struct kz_command_response {
    const kz_yaml_node *source;
    uint32_t part_count;
    kz_response_part *parts;
} kz_command_response;

// Sentences of one intent that share fixed slots and a response.
typedef struct kz_command_block {
    const char *intent;
    const char *response_key;
    const kz_command_response *response; // NULL: none
    bool is_own_response;                // the file's, not a shipped one
    uint32_t slot_count;
    kz_command_slot *slots; // fixed
    // Conditions: a value with a domain must have one of these (0: any), and none of those.
    uint64_t domains, other_domains;
    bool is_dead; // a condition that nothing in this home meets
} kz_command_block;

// One template of the file.
typedef struct kz_command_sentence {
    const char *text; // as written
    const kz_command_block *block;
    kz_command_node *body;
    kz_node_measure measure;
    kz_command_place place;
} kz_command_sentence;

// Everything lies in the arena, so that closing is one call.
struct kz_command_grammar {
    kz_command_arena arena;
    const char *file;
    const char *language;
    uint32_t rule_count, list_count, sentence_count, skip_count, slot_count, domain_count;
    const char *domains[KZ_MAX_DOMAINS];
    const char *context_area; // NULL: not known
    kz_command_rule *rules;   // by name
    kz_command_list *lists;   // by name
    const char *slot_names[KZ_MAX_SLOT_NAMES];
    kz_command_sentence *sentences;
    kz_command_block *blocks;
    uint32_t block_count;
    kz_text_view *skip_words; // folded, longest first
    uint32_t sets;            // the most that a sentence needs
};

// ---- command_template.c

// Parses a template. Names must be in grammar->rules and lists already.
KAZEIA_MUST_CHECK kazeia_status kz_command_template_parse(kz_command_grammar *grammar,
                                                          const kz_yaml_node *source,
                                                          kz_command_node **out_node);
// A node that matches a scalar's text as it stands, whatever signs are in it.
KAZEIA_MUST_CHECK kazeia_status kz_command_template_literal(kz_command_grammar *grammar,
                                                            const kz_yaml_node *source,
                                                            kz_command_node **out_node);
// Folded text with single spaces and none at the ends, in the arena.
KAZEIA_MUST_CHECK kazeia_status kz_command_fold(kz_command_arena *arena, kz_text_view text,
                                                kz_text_view *out_folded);

// ---- command_measure.c

// Measures a sentence's body; fails at `source` when it loops, is too deep or too large.
KAZEIA_MUST_CHECK kazeia_status kz_command_measure(const kz_command_grammar *grammar,
                                                   const kz_yaml_node *source,
                                                   const kz_command_node *node,
                                                   kz_node_measure *out_measure);

// ---- command_guard.c

// Whether a command is about a lock, a door or an alarm; `domains` are those of what it names.
bool kz_command_is_guarded(const kz_command_grammar *grammar, uint64_t domains,
                           const kz_command_result *result);

// ---- command_response.c

// Cuts a response into its parts; BAD_FILE at the place of what is wrong.
KAZEIA_MUST_CHECK kazeia_status kz_command_response_parse(kz_command_arena *arena,
                                                          const kz_yaml_node *source,
                                                          kz_command_response *out_response);
// BAD_FILE when a placeholder is neither the clock's nor among the slots that `has_slot` knows.
KAZEIA_MUST_CHECK kazeia_status kz_command_response_check(const kz_command_response *response,
                                                          bool (*has_slot)(const void *context,
                                                                           const char *name),
                                                          const void *context);
// Writes the response, NUL-terminated and cut at `capacity`; returns the bytes written.
size_t kz_command_response_render(const kz_command_response *response, const char *language,
                                  const kz_command_result *result, const kz_command_clock *clock,
                                  char *out, size_t capacity);
// The confirmation that is shipped for an intent and response key; NULL: none.
const char *kz_command_shipped_response(const char *language, const char *intent, const char *key);
// A number as it is written in `language`: no fraction when it has none.
void kz_command_number_text(double number, const char *language, char *out, size_t capacity);

#endif
