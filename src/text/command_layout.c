// command_layout.c: a file or a folder -> the parts of a grammar.
//
// in: bytes or a path. out: nodes by kind. Unknown keys are refused: a misspelled `sentence:` that
// is silently skipped costs its writer an evening. A folder's files are visited in the order of
// their names, so that the same folder is the same grammar on every file system.
#include "text/command_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_map.h"
#include "base/file_system.h"

enum { MAX_FOLDER_ENTRIES = 4096, MAX_BLOCKS = 100000, PATH_BYTES = 4096 };

kazeia_status kz_yaml_check_keys(const kz_yaml_node *map, const char *known, const char *what) {
    char word[64];
    KZ_TRY(kz_yaml_expect(map, KZ_YAML_MAP, what));
    for (const kz_yaml_node *child = map->first; child != NULL; child = child->next) {
        // With a space on both sides, so that "in" is not found in "intents". A key that does not
        // fit is no known one.
        const int length = snprintf(word, sizeof word, " %s ", child->key);
        if (length < 0 || (size_t)length >= sizeof word || strstr(known, word) == NULL) {
            return kz_command_fail(&child->key_place, KAZEIA_BAD_FILE,
                                   "unknown key '%.60s' in %s, expected one of:%s", child->key,
                                   what, known);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_yaml_need(const kz_yaml_node *map, const char *key, kz_yaml_kind kind,
                           const kz_yaml_node **out_child) {
    *out_child = kz_yaml_find(map, key);
    if (*out_child == NULL) {
        return kz_command_fail(&map->place, KAZEIA_BAD_FILE, "the key '%s' is missing", key);
    }
    return kz_yaml_expect(*out_child, kind, key);
}

kazeia_status kz_yaml_look_for(const kz_yaml_node *map, const char *key, kz_yaml_kind kind,
                               const kz_yaml_node **out_child) {
    *out_child = kz_yaml_find(map, key);
    return *out_child == NULL ? KAZEIA_OK : kz_yaml_expect(*out_child, kind, key);
}

static kazeia_status add_map(kz_layout_maps *maps, const kz_yaml_node *map) {
    if (map == NULL) {
        return KAZEIA_OK;
    }
    if (maps->count == KZ_LAYOUT_MAPS) {
        return kz_command_fail(&map->place, KAZEIA_BAD_FILE, "more than %d files of one kind",
                               KZ_LAYOUT_MAPS);
    }
    maps->items[maps->count++] = map;
    return KAZEIA_OK;
}

// The old array stays in the arena, as the children of a template do.
static kazeia_status add_block(kz_command_arena *arena, kz_command_layout *layout,
                               const char *intent, const kz_yaml_node *entry, bool needs_area) {
    if (layout->block_count == MAX_BLOCKS) {
        return kz_command_fail(&entry->place, KAZEIA_BAD_FILE, "more than %d blocks", MAX_BLOCKS);
    }
    if (layout->block_count == layout->block_capacity) {
        const uint32_t capacity = layout->block_capacity == 0 ? 64 : layout->block_capacity * 2;
        void *memory;
        KZ_TRY(kz_command_arena_take(arena, capacity, sizeof(kz_layout_block), &memory));
        if (layout->block_count > 0) {
            memcpy(memory, layout->blocks, layout->block_count * sizeof(kz_layout_block));
        }
        layout->blocks = memory;
        layout->block_capacity = capacity;
    }
    layout->blocks[layout->block_count++] = (kz_layout_block){intent, entry, needs_area};
    return KAZEIA_OK;
}

static kazeia_status add_data(kz_command_arena *arena, kz_command_layout *layout,
                              const char *intent, const kz_yaml_node *entries, bool needs_area) {
    for (const kz_yaml_node *entry = entries->first; entry != NULL; entry = entry->next) {
        KZ_TRY(kz_yaml_expect(entry, KZ_YAML_MAP, "an entry of data"));
        KZ_TRY(add_block(arena, layout, intent, entry, needs_area));
    }
    return KAZEIA_OK;
}

// ---- one file

static kazeia_status read_intents(kz_command_arena *arena, const kz_yaml_node *root,
                                  kz_command_layout *layout) {
    const kz_yaml_node *intents, *lists, *rules, *responses, *by_intent = NULL;
    KZ_TRY(kz_yaml_check_keys(root,
                              " language intents lists expansion_rules skip_words responses "
                              "metadata ",
                              "the file"));
    KZ_TRY(kz_yaml_need(root, "intents", KZ_YAML_MAP, &intents));
    KZ_TRY(kz_yaml_look_for(root, "lists", KZ_YAML_MAP, &lists));
    KZ_TRY(kz_yaml_look_for(root, "expansion_rules", KZ_YAML_MAP, &rules));
    KZ_TRY(kz_yaml_look_for(root, "responses", KZ_YAML_MAP, &responses));
    if (responses != NULL) {
        KZ_TRY(kz_yaml_need(responses, "intents", KZ_YAML_MAP, &by_intent));
    }
    KZ_TRY(add_map(&layout->lists, lists));
    KZ_TRY(add_map(&layout->rules, rules));
    KZ_TRY(add_map(&layout->responses, by_intent));
    layout->place = intents;
    for (const kz_yaml_node *intent = intents->first; intent != NULL; intent = intent->next) {
        const kz_yaml_node *entries;
        KZ_TRY(kz_yaml_check_keys(intent, " data ", "an intent"));
        KZ_TRY(kz_yaml_need(intent, "data", KZ_YAML_LIST, &entries));
        KZ_TRY(add_data(arena, layout, intent->key, entries, false));
    }
    return KAZEIA_OK;
}

static kazeia_status read_blocks(kz_command_arena *arena, const kz_yaml_node *root,
                                 kz_command_layout *layout) {
    const kz_yaml_node *blocks, *rules, *lists, *responses;
    KZ_TRY(kz_yaml_check_keys(root, " language skip_words rules lists blocks responses metadata ",
                              "the file"));
    KZ_TRY(kz_yaml_need(root, "blocks", KZ_YAML_LIST, &blocks));
    KZ_TRY(kz_yaml_look_for(root, "rules", KZ_YAML_MAP, &rules));
    KZ_TRY(kz_yaml_look_for(root, "lists", KZ_YAML_MAP, &lists));
    KZ_TRY(kz_yaml_look_for(root, "responses", KZ_YAML_MAP, &responses));
    KZ_TRY(add_map(&layout->rules, rules));
    KZ_TRY(add_map(&layout->lists, lists));
    KZ_TRY(add_map(&layout->responses, responses));
    layout->place = blocks;
    layout->is_upstream = true;
    for (const kz_yaml_node *entry = blocks->first; entry != NULL; entry = entry->next) {
        const kz_yaml_node *intent;
        KZ_TRY(kz_yaml_expect(entry, KZ_YAML_MAP, "a block"));
        KZ_TRY(kz_yaml_need(entry, "intent", KZ_YAML_SCALAR, &intent));
        KZ_TRY(add_block(arena, layout, intent->text.bytes, entry, false));
    }
    return KAZEIA_OK;
}

kazeia_status kz_command_layout_read(kz_command_arena *arena, const char *file, const void *bytes,
                                     size_t count, kz_command_layout *out_layout) {
    const kz_yaml_node *root;
    *out_layout = (kz_command_layout){.language = NULL};
    KZ_TRY(kz_yaml_read(arena, file, bytes, count, &root));
    KZ_TRY(kz_yaml_expect(root, KZ_YAML_MAP, "the file"));
    KZ_TRY(kz_yaml_need(root, "language", KZ_YAML_SCALAR, &out_layout->language));
    KZ_TRY(kz_yaml_look_for(root, "skip_words", KZ_YAML_LIST, &out_layout->skip_words));
    // Each layout has a part that the other one lacks.
    return kz_yaml_find(root, "blocks") != NULL ? read_blocks(arena, root, out_layout)
                                                : read_intents(arena, root, out_layout);
}

// ---- a folder

typedef struct folder_reader {
    kz_command_arena *arena;
    kz_command_layout *layout;
    const char *folder;
    const kz_yaml_node *intents; // of intents.yaml
} folder_reader;

typedef struct folder_names {
    kz_command_arena *arena;
    const char *path;
    const char **items; // [MAX_FOLDER_ENTRIES]
    uint32_t count;
} folder_names;

static kazeia_status add_name(void *context, const char *name) {
    folder_names *names = context;
    if (names->count == MAX_FOLDER_ENTRIES) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: more than %d files in one folder", names->path,
                       MAX_FOLDER_ENTRIES);
    }
    const kz_text_view text = {name, strlen(name)};
    return kz_command_arena_copy(names->arena, text, &names->items[names->count++]);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names in a folder, sorted; none when it is missing.
static kazeia_status list_folder(const folder_reader *r, const char *path,
                                 folder_names *out_names) {
    void *memory;
    *out_names = (folder_names){.arena = r->arena, .path = path};
    if (kz_path_query(path, NULL) != KZ_PATH_FOLDER) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_command_arena_take(r->arena, MAX_FOLDER_ENTRIES, sizeof(const char *), &memory));
    out_names->items = memory;
    KZ_TRY(kz_folder_list(path, add_name, out_names));
    qsort(out_names->items, out_names->count, sizeof(const char *), compare_names);
    return KAZEIA_OK;
}

static kazeia_status join(const folder_reader *r, const char *folder, const char *name,
                          const char **out_path) {
    char path[PATH_BYTES];
    const int count = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (count < 0 || (size_t)count >= sizeof path) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "%.200s: a path of more than %d bytes", folder,
                       PATH_BYTES - 1);
    }
    return kz_command_arena_copy(r->arena, (kz_text_view){path, (size_t)count}, out_path);
}

static bool is_yaml(const char *name) {
    const size_t count = strlen(name);
    return count > 5 && strcmp(name + count - 5, ".yaml") == 0;
}

static kazeia_status read_file(const folder_reader *r, const char *path,
                               const kz_yaml_node **out_root) {
    kz_file_map map;
    KZ_TRY(kz_file_map_open(path, &map));
    const kazeia_status status = kz_yaml_read(r->arena, path, map.bytes, map.size, out_root);
    kz_file_map_close(&map);
    KZ_TRY(status);
    return kz_yaml_expect(*out_root, KZ_YAML_MAP, "the file");
}

// All YAML files of a folder, each with the map `key` (and inside it `inner`, unless NULL).
static kazeia_status read_maps(const folder_reader *r, const char *name, const char *key,
                               const char *inner, kz_layout_maps *maps) {
    const char *folder, *path;
    folder_names names;
    KZ_TRY(join(r, r->folder, name, &folder));
    KZ_TRY(list_folder(r, folder, &names));
    for (uint32_t i = 0; i < names.count; i++) {
        const kz_yaml_node *root, *map;
        if (!is_yaml(names.items[i])) {
            continue;
        }
        KZ_TRY(join(r, folder, names.items[i], &path));
        KZ_TRY(read_file(r, path, &root));
        KZ_TRY(kz_yaml_need(root, key, KZ_YAML_MAP, &map));
        if (inner != NULL) {
            KZ_TRY(kz_yaml_need(map, inner, KZ_YAML_MAP, &map));
        }
        KZ_TRY(add_map(maps, map));
    }
    return KAZEIA_OK;
}

static const kz_yaml_node *find_combination(const folder_reader *r, const char *intent,
                                            const char *combination) {
    const kz_yaml_node *found = kz_yaml_find(r->intents, intent);
    const kz_yaml_node *all = found == NULL ? NULL : kz_yaml_find(found, "slot_combinations");
    return all == NULL ? NULL : kz_yaml_find(all, combination);
}

static kazeia_status read_sentences(const folder_reader *r, const char *path, const char *intent,
                                    const kz_yaml_node *combination) {
    const kz_yaml_node *root, *entries, *area = NULL;
    KZ_TRY(read_file(r, path, &root));
    KZ_TRY(kz_yaml_check_keys(root, " language data metadata ", "the file"));
    KZ_TRY(kz_yaml_need(root, "data", KZ_YAML_LIST, &entries));
    if (combination != NULL) {
        area = kz_yaml_find(combination, "context_area");
    }
    const bool needs_area =
        area != NULL && area->kind == KZ_YAML_SCALAR && strcmp(area->text.bytes, "true") == 0;
    return add_data(r->arena, r->layout, intent, entries, needs_area);
}

// Those that intents.yaml names, in its order: the order decides between equal readings.
static kazeia_status read_named_sentences(const folder_reader *r, const char *sentences) {
    for (const kz_yaml_node *intent = r->intents->first; intent != NULL; intent = intent->next) {
        const kz_yaml_node *all = kz_yaml_find(intent, "slot_combinations");
        const char *folder, *path;
        KZ_TRY(join(r, sentences, intent->key, &folder));
        for (const kz_yaml_node *c = all == NULL ? NULL : all->first; c != NULL; c = c->next) {
            char name[256];
            const int count = snprintf(name, sizeof name, "%s.yaml", c->key);
            if (count < 0 || (size_t)count >= sizeof name) {
                continue; // no file system has such a name
            }
            KZ_TRY(join(r, folder, name, &path));
            if (kz_path_query(path, NULL) == KZ_PATH_FILE) {
                KZ_TRY(read_sentences(r, path, intent->key, c));
            }
        }
    }
    return KAZEIA_OK;
}

// A person's own files come after them.
static kazeia_status read_other_sentences(const folder_reader *r, const char *sentences,
                                          const char *intent) {
    const char *folder, *path, *combination;
    folder_names names;
    KZ_TRY(join(r, sentences, intent, &folder));
    KZ_TRY(list_folder(r, folder, &names));
    for (uint32_t i = 0; i < names.count; i++) {
        const kz_text_view stem = {names.items[i],
                                   is_yaml(names.items[i]) ? strlen(names.items[i]) - 5 : 0};
        KZ_TRY(kz_command_arena_copy(r->arena, stem, &combination));
        if (stem.count > 0 && find_combination(r, intent, combination) == NULL) {
            KZ_TRY(join(r, folder, names.items[i], &path));
            KZ_TRY(read_sentences(r, path, intent, NULL));
        }
    }
    return KAZEIA_OK;
}

static kazeia_status read_all_sentences(const folder_reader *r) {
    const char *sentences;
    folder_names names;
    KZ_TRY(join(r, r->folder, "sentences", &sentences));
    KZ_TRY(read_named_sentences(r, sentences));
    KZ_TRY(list_folder(r, sentences, &names));
    for (uint32_t i = 0; i < names.count; i++) {
        if (!is_yaml(names.items[i])) {
            KZ_TRY(read_other_sentences(r, sentences, names.items[i]));
        }
    }
    return KAZEIA_OK;
}

static kazeia_status read_common(const folder_reader *r) {
    const kz_yaml_node *root;
    const char *path;
    KZ_TRY(join(r, r->folder, "sentences/_common.yaml", &path));
    KZ_TRY(read_file(r, path, &root));
    r->layout->place = root;
    KZ_TRY(kz_yaml_need(root, "language", KZ_YAML_SCALAR, &r->layout->language));
    return kz_yaml_look_for(root, "skip_words", KZ_YAML_LIST, &r->layout->skip_words);
}

kazeia_status kz_command_layout_read_folder(kz_command_arena *arena, const char *folder,
                                            kz_command_layout *out_layout) {
    folder_reader r = {.arena = arena, .layout = out_layout, .folder = folder};
    const char *path;
    char own[64];
    *out_layout = (kz_command_layout){.is_upstream = true};
    KZ_TRY(read_common(&r));
    KZ_TRY(join(&r, folder, "intents.yaml", &path));
    KZ_TRY(read_file(&r, path, &r.intents));
    KZ_TRY(read_maps(&r, "rules", "expansion_rules", NULL, &out_layout->rules));
    KZ_TRY(read_maps(&r, "lists", "lists", NULL, &out_layout->lists));
    // The language's own lists win over the shared ones.
    snprintf(own, sizeof own, "lists/%.40s", out_layout->language->text.bytes);
    KZ_TRY(read_maps(&r, own, "lists", NULL, &out_layout->lists));
    KZ_TRY(read_maps(&r, "responses", "responses", "intents", &out_layout->responses));
    return read_all_sentences(&r);
}
