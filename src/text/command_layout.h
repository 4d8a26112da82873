// command_layout.h: where the parts of a command grammar stand, whatever its layout.
//
// in:  one YAML or JSON file, or a folder. out: its parts as YAML nodes, and one row for each block
// of sentences. Three layouts are read:
//
//   one file     `language, intents: NAME: data: [...], lists, expansion_rules, skip_words,
//                responses`, as Home Assistant's custom sentences
//   grammar.json `language, skip_words, rules, lists, blocks: [{intent, combo, sentences, ...}]`
//   a folder     `intents.yaml`, `sentences/_common.yaml`, `sentences/INTENT/COMBINATION.yaml`,
//                `rules/*.yaml`, `lists/*.yaml`, `lists/LANGUAGE/*.yaml`, `responses/*.yaml`, as
//                Home Assistant's intents are kept
//
// JSON is read by the YAML reader, since YAML contains it.
#ifndef KZ_TEXT_COMMAND_LAYOUT_H
#define KZ_TEXT_COMMAND_LAYOUT_H

#include "text/command_yaml.h"

enum { KZ_LAYOUT_MAPS = 128 }; // files of rules, of lists, of responses

// Maps of one kind, in the order in which they were read; of two entries with one name the later
// one counts.
typedef struct kz_layout_maps {
    const kz_yaml_node *items[KZ_LAYOUT_MAPS];
    uint32_t count;
} kz_layout_maps;

// Sentences of one intent that share slots, conditions and a response.
typedef struct kz_layout_block {
    const char *intent;
    const kz_yaml_node *entry; // a map that holds `sentences`
    bool needs_area;           // as intents.yaml says; the entry may say it as well
} kz_layout_block;

typedef struct kz_command_layout {
    const kz_yaml_node *language; // a scalar
    const kz_yaml_node *place;    // what "there is no sentence in it" is said of
    const kz_yaml_node *skip_words;
    kz_layout_maps rules, lists;
    kz_layout_maps responses; // intent -> key -> text
    // Not the one-file layout: responses may be missing, or Jinja, which is passed over.
    bool is_upstream;
    kz_layout_block *blocks;
    uint32_t block_count, block_capacity;
} kz_command_layout;

// Both put all nodes and texts into the arena; failures name file, line and column.
KAZEIA_MUST_CHECK kazeia_status kz_command_layout_read(kz_command_arena *arena, const char *file,
                                                       const void *bytes, size_t count,
                                                       kz_command_layout *out_layout);
KAZEIA_MUST_CHECK kazeia_status kz_command_layout_read_folder(kz_command_arena *arena,
                                                              const char *folder,
                                                              kz_command_layout *out_layout);

// Fails on a key that is not in `known`, a list of words between spaces.
KAZEIA_MUST_CHECK kazeia_status kz_yaml_check_keys(const kz_yaml_node *map, const char *known,
                                                   const char *what);
// The child of that kind; the map's own place is told where it is missing.
KAZEIA_MUST_CHECK kazeia_status kz_yaml_need(const kz_yaml_node *map, const char *key,
                                             kz_yaml_kind kind, const kz_yaml_node **out_child);
// NULL when the key is missing.
KAZEIA_MUST_CHECK kazeia_status kz_yaml_look_for(const kz_yaml_node *map, const char *key,
                                                 kz_yaml_kind kind, const kz_yaml_node **out_child);

#endif
