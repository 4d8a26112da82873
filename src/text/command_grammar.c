// command_grammar.c: the file's layout -> a compiled grammar.
//
// in: a YAML tree. out: rules, lists, blocks and sentences, all names resolved, all sizes proven.
// Unknown keys are refused: a misspelled `sentence:` that is silently skipped costs its writer an
// evening. `example` and `metadata` are for people and are let through.
#include "text/command_grammar.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_map.h"
#include "base/number_text.h"
#include "text/command_compiled.h"

#define MEMORY_LIMIT ((size_t)256 << 20)

typedef struct grammar_reader {
    kz_command_grammar *grammar;
    const kz_yaml_node *root;
    const kz_yaml_node *intents, *lists, *rules, *skip_words, *responses;
} grammar_reader;

static kazeia_status take(grammar_reader *r, size_t count, size_t bytes_each, void **out_memory) {
    return kz_command_arena_take(&r->grammar->arena, count, bytes_each, out_memory);
}

// Fails on a key that is not in `known`, a list of words between spaces.
static kazeia_status check_keys(const kz_yaml_node *map, const char *known, const char *what) {
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

// The map's own place is told: what is missing has none.
static kazeia_status need(const kz_yaml_node *map, const char *key, kz_yaml_kind kind,
                          const kz_yaml_node **out_child) {
    *out_child = kz_yaml_find(map, key);
    if (*out_child == NULL) {
        return kz_command_fail(&map->place, KAZEIA_BAD_FILE, "the key '%s' is missing", key);
    }
    return kz_yaml_expect(*out_child, kind, key);
}

// NULL when the key is missing.
static kazeia_status look_for(const kz_yaml_node *map, const char *key, kz_yaml_kind kind,
                              const kz_yaml_node **out_child) {
    *out_child = kz_yaml_find(map, key);
    return *out_child == NULL ? KAZEIA_OK : kz_yaml_expect(*out_child, kind, key);
}

static bool read_number(const kz_yaml_node *node, double *out_number) {
    // Quoted digits are text. A scalar of YAML may hold a NUL: its bytes must be all of it.
    return node->kind == KZ_YAML_SCALAR && !node->is_quoted &&
           strlen(node->text.bytes) == node->text.count &&
           kz_number_read(node->text.bytes, out_number);
}

static kazeia_status read_integer(const kz_yaml_node *map, const char *key, int32_t fallback,
                                  int32_t *out_value) {
    const kz_yaml_node *node = kz_yaml_find(map, key);
    // A million is far beyond any slot, and all arithmetic on it fits 32 bits.
    double number = fallback;
    if (node != NULL &&
        (!read_number(node, &number) || number != floor(number) || fabs(number) > 1000000)) {
        return kz_command_fail(&node->place, KAZEIA_BAD_FILE,
                               "'%s' is no whole number from -1,000,000 to 1,000,000", key);
    }
    *out_value = (int32_t)number;
    return KAZEIA_OK;
}

// ---- values: a slot's value from the file, as JSON when it is a list

static kazeia_status write_json_list(grammar_reader *r, const kz_yaml_node *list,
                                     const char **out_text) {
    void *memory;
    size_t capacity = 3, used = 0;
    for (const kz_yaml_node *item = list->first; item != NULL; item = item->next) {
        KZ_TRY(kz_yaml_expect(item, KZ_YAML_SCALAR, "an item of this list"));
        // Six for a byte that becomes \u0000; quotes and a comma. No overflow: the file is at most
        // 4 MB.
        capacity += item->text.count * 6 + 3;
    }
    KZ_TRY(take(r, capacity, 1, &memory));
    char *json = memory;
    json[used++] = '[';
    for (const kz_yaml_node *item = list->first; item != NULL; item = item->next) {
        used += (size_t)snprintf(json + used, capacity - used, "%s\"", used > 1 ? "," : "");
        for (size_t i = 0; i < item->text.count; i++) {
            const unsigned char c = (unsigned char)item->text.bytes[i];
            const char *form = c < 0x20 ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c";
            used += (size_t)snprintf(json + used, capacity - used, form, c);
        }
        json[used++] = '"';
    }
    memcpy(json + used, "]", 2);
    *out_text = json;
    return KAZEIA_OK;
}

// A list's text is JSON, since a slot has one text and a program that reads it needs the borders.
static kazeia_status read_slot_value(grammar_reader *r, const kz_yaml_node *node,
                                     kz_slot_kind *out_kind, const char **out_text,
                                     double *out_number) {
    if (node->kind == KZ_YAML_LIST) {
        *out_kind = KZ_SLOT_LIST;
        return write_json_list(r, node, out_text);
    }
    KZ_TRY(kz_yaml_expect(node, KZ_YAML_SCALAR, "a slot's value"));
    *out_kind = read_number(node, out_number) ? KZ_SLOT_NUMBER : KZ_SLOT_TEXT;
    *out_text = node->text.bytes;
    return KAZEIA_OK;
}

// ---- lists and rules

static kazeia_status read_list_value(grammar_reader *r, const kz_yaml_node *item,
                                     kz_command_value *value) {
    // A bare value stands for itself, as it was said.
    if (item->kind == KZ_YAML_SCALAR) {
        value->kind = KZ_SLOT_TEXT;
        return kz_command_template_parse(r->grammar, item, &value->in);
    }
    const kz_yaml_node *in;
    KZ_TRY(check_keys(item, " in out metadata ", "a list's value"));
    KZ_TRY(need(item, "in", KZ_YAML_SCALAR, &in));
    KZ_TRY(kz_command_template_parse(r->grammar, in, &value->in));
    const kz_yaml_node *out = kz_yaml_find(item, "out");
    return out == NULL ? KAZEIA_OK
                       : read_slot_value(r, out, &value->kind, &value->text, &value->number);
}

static kazeia_status read_values(grammar_reader *r, const kz_yaml_node *values,
                                 kz_command_list *list) {
    void *memory;
    KZ_TRY(kz_yaml_expect(values, KZ_YAML_LIST, "values"));
    KZ_TRY(take(r, values->count, sizeof(kz_command_value), &memory));
    list->values = memory;
    for (const kz_yaml_node *item = values->first; item != NULL; item = item->next) {
        KZ_TRY(read_list_value(r, item, &list->values[list->value_count++]));
    }
    return KAZEIA_OK;
}

static kazeia_status read_range(const kz_yaml_node *range, kz_command_list *list) {
    const kz_yaml_node *node;
    int32_t multiplier;
    list->kind = KZ_LIST_RANGE;
    KZ_TRY(check_keys(range, " from to step type fractions multiplier ", "a range"));
    KZ_TRY(need(range, "from", KZ_YAML_SCALAR, &node));
    KZ_TRY(need(range, "to", KZ_YAML_SCALAR, &node));
    KZ_TRY(read_integer(range, "from", 0, &list->from));
    KZ_TRY(read_integer(range, "to", 0, &list->to));
    KZ_TRY(read_integer(range, "step", 1, &list->step));
    KZ_TRY(read_integer(range, "multiplier", 1, &multiplier));
    list->multiplier = multiplier;
    if (list->from > list->to || list->step < 1) {
        return kz_command_fail(
            &range->place, KAZEIA_BAD_FILE,
            "the range runs from %d to %d by %d, expected from <= to and step >= 1", list->from,
            list->to, list->step);
    }
    KZ_TRY(look_for(range, "fractions", KZ_YAML_SCALAR, &node));
    list->has_halves = node != NULL;
    if (node != NULL && strcmp(node->text.bytes, "halves") != 0) {
        return kz_command_fail(&node->place, KAZEIA_UNSUPPORTED,
                               "fractions are '%.60s', only 'halves' are read", node->text.bytes);
    }
    return KAZEIA_OK;
}

static kazeia_status read_list(grammar_reader *r, const kz_yaml_node *node, kz_command_list *list) {
    KZ_TRY(check_keys(node, " values range wildcard ", "a list"));
    const kz_yaml_node *values = kz_yaml_find(node, "values");
    const kz_yaml_node *range = kz_yaml_find(node, "range");
    const kz_yaml_node *wildcard = kz_yaml_find(node, "wildcard");
    // Checked by the count, as no other key got past check_keys.
    if (node->count != 1) {
        return kz_command_fail(&node->place, KAZEIA_BAD_FILE,
                               "the list '%s' needs one of values, range, wildcard", list->name);
    }
    if (values != NULL) {
        return read_values(r, values, list);
    }
    if (range != NULL) {
        return read_range(range, list);
    }
    // The last of three: `node` has exactly one key.
    list->kind = KZ_LIST_WILDCARD;
    KZ_TRY(kz_yaml_expect(wildcard, KZ_YAML_SCALAR, "wildcard"));
    return strcmp(wildcard->text.bytes, "true") == 0
               ? KAZEIA_OK
               : kz_command_fail(&wildcard->place, KAZEIA_BAD_FILE, "wildcard must be true");
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Names first, so that templates may refer to what stands further down.
static kazeia_status name_lists_and_rules(grammar_reader *r) {
    kz_command_grammar *g = r->grammar;
    void *memory;
    KZ_TRY(take(r, r->lists == NULL ? 0 : r->lists->count, sizeof(kz_command_list), &memory));
    g->lists = memory;
    KZ_TRY(take(r, r->rules == NULL ? 0 : r->rules->count, sizeof(kz_command_rule), &memory));
    g->rules = memory;
    for (const kz_yaml_node *n = r->lists == NULL ? NULL : r->lists->first; n != NULL;
         n = n->next) {
        g->lists[g->list_count++] = (kz_command_list){.name = n->key, .source = n};
    }
    for (const kz_yaml_node *n = r->rules == NULL ? NULL : r->rules->first; n != NULL;
         n = n->next) {
        g->rules[g->rule_count++] = (kz_command_rule){.name = n->key, .source = n};
    }
    // Templates look names up by halving; YAML keys are unique, so the order is one.
    qsort(g->lists, g->list_count, sizeof(kz_command_list), compare_names);
    qsort(g->rules, g->rule_count, sizeof(kz_command_rule), compare_names);
    return KAZEIA_OK;
}

static kazeia_status read_lists_and_rules(grammar_reader *r) {
    kz_command_grammar *g = r->grammar;
    KZ_TRY(name_lists_and_rules(r));
    for (uint32_t i = 0; i < g->rule_count; i++) {
        KZ_TRY(kz_command_template_parse(g, g->rules[i].source, &g->rules[i].body));
    }
    for (uint32_t i = 0; i < g->list_count; i++) {
        KZ_TRY(read_list(r, g->lists[i].source, &g->lists[i]));
    }
    return KAZEIA_OK;
}

static int compare_longest_first(const void *a, const void *b) {
    const size_t left = ((const kz_text_view *)a)->count, right = ((const kz_text_view *)b)->count;
    return left < right ? 1 : left > right ? -1 : 0;
}

static kazeia_status read_skip_words(grammar_reader *r) {
    kz_command_grammar *g = r->grammar;
    if (r->skip_words == NULL) {
        return KAZEIA_OK;
    }
    void *memory;
    KZ_TRY(take(r, r->skip_words->count, sizeof(kz_text_view), &memory));
    g->skip_words = memory;
    for (const kz_yaml_node *n = r->skip_words->first; n != NULL; n = n->next) {
        KZ_TRY(kz_yaml_expect(n, KZ_YAML_SCALAR, "a skip word"));
        KZ_TRY(kz_command_fold(&g->arena, n->text, &g->skip_words[g->skip_count]));
        // A word of signs alone folds to nothing and would be found everywhere.
        g->skip_count += g->skip_words[g->skip_count].count > 0;
    }
    // The longest first, so that "s'il te plaît bien" is not left with a rest.
    qsort(g->skip_words, g->skip_count, sizeof(kz_text_view), compare_longest_first);
    return KAZEIA_OK;
}

// ---- intents

static kazeia_status read_fixed_slots(grammar_reader *r, const kz_yaml_node *entry,
                                      kz_command_block *block) {
    const kz_yaml_node *slots;
    void *memory;
    KZ_TRY(look_for(entry, "slots", KZ_YAML_MAP, &slots));
    if (slots == NULL) {
        return KAZEIA_OK;
    }
    KZ_TRY(take(r, slots->count, sizeof(kz_command_slot), &memory));
    block->slots = memory;
    for (const kz_yaml_node *n = slots->first; n != NULL; n = n->next) {
        kz_command_slot *slot = &block->slots[block->slot_count++];
        slot->name = n->key;
        slot->said = "";
        KZ_TRY(read_slot_value(r, n, &slot->kind, &slot->text, &slot->number));
    }
    return KAZEIA_OK;
}

static kazeia_status read_response(grammar_reader *r, const kz_yaml_node *entry,
                                   kz_command_block *block) {
    const kz_yaml_node *key, *intents, *intent = NULL, *text = NULL;
    KZ_TRY(look_for(entry, "response", KZ_YAML_SCALAR, &key));
    // "default" may be missing; a key that the writer named must be there.
    block->response_key = key == NULL ? "default" : key->text.bytes;
    if (r->responses != NULL) {
        KZ_TRY(need(r->responses, "intents", KZ_YAML_MAP, &intents));
        KZ_TRY(look_for(intents, block->intent, KZ_YAML_MAP, &intent));
    }
    if (intent != NULL) {
        KZ_TRY(look_for(intent, block->response_key, KZ_YAML_SCALAR, &text));
    }
    if (text == NULL) {
        return key == NULL
                   ? KAZEIA_OK
                   : kz_command_fail(&key->place, KAZEIA_BAD_FILE,
                                     "the response '%.60s' of '%.60s' is not under responses",
                                     block->response_key, block->intent);
    }
    void *memory;
    KZ_TRY(take(r, 1, sizeof(kz_command_response), &memory));
    KZ_TRY(kz_command_response_parse(&r->grammar->arena, text, memory));
    block->response = memory;
    return KAZEIA_OK;
}

// The sentences of one block lie side by side.
typedef struct block_sentences {
    const kz_command_grammar *grammar;
    const kz_command_block *block;
    const kz_command_sentence *sentences;
    uint32_t count;
} block_sentences;

static bool block_has_slot(const void *context, const char *name) {
    const block_sentences *own = context;
    for (uint32_t i = 0; i < own->block->slot_count; i++) {
        if (strcmp(own->block->slots[i].name, name) == 0) {
            return true;
        }
    }
    // A name that no template uses has no number, and no sentence fills it.
    uint32_t slot = 0;
    while (slot < own->grammar->slot_count && strcmp(own->grammar->slot_names[slot], name) != 0) {
        slot++;
    }
    for (uint32_t i = 0; slot < own->grammar->slot_count && i < own->count; i++) {
        if (own->sentences[i].measure.slots[slot / 8] & (1u << (slot % 8))) {
            return true;
        }
    }
    return false;
}

static kazeia_status read_sentence(grammar_reader *r, const kz_yaml_node *node,
                                   const kz_command_block *block) {
    kz_command_grammar *g = r->grammar;
    kz_command_sentence *sentence = &g->sentences[g->sentence_count];
    KZ_TRY(kz_command_template_parse(g, node, &sentence->body));
    KZ_TRY(kz_command_measure(g, node, sentence->body, &sentence->measure));
    // Wildcards and optional parts only: every transcript would be this command.
    if (sentence->measure.is_nullable) {
        return kz_command_fail(&node->place, KAZEIA_BAD_FILE,
                               "the sentence '%.200s' may be empty: silence would match it",
                               node->text.bytes);
    }
    sentence->text = node->text.bytes;
    sentence->block = block;
    // The matcher takes its states once, for the sentence that needs the most.
    g->sets = sentence->measure.sets > g->sets ? sentence->measure.sets : g->sets;
    g->sentence_count++;
    return KAZEIA_OK;
}

// Ignoring the condition would run commands that the file forbids.
static kazeia_status refuse_context(const kz_yaml_node *entry) {
    static const char *const keys[] = {"requires_context", "excludes_context"};
    for (size_t i = 0; i < 2; i++) {
        const kz_yaml_node *found = kz_yaml_find(entry, keys[i]);
        if (found != NULL) {
            return kz_command_fail(&found->key_place, KAZEIA_UNSUPPORTED,
                                   "'%s' is not handled: write the sentences without it", keys[i]);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status read_block(grammar_reader *r, const char *intent, const kz_yaml_node *entry) {
    const kz_yaml_node *sentences;
    void *memory;
    KZ_TRY(kz_yaml_expect(entry, KZ_YAML_MAP, "an entry of data"));
    KZ_TRY(refuse_context(entry));
    KZ_TRY(check_keys(entry, " sentences slots response example metadata ", "an entry of data"));
    KZ_TRY(need(entry, "sentences", KZ_YAML_LIST, &sentences));
    KZ_TRY(take(r, 1, sizeof(kz_command_block), &memory));
    kz_command_block *block = memory;
    block->intent = intent;
    KZ_TRY(read_fixed_slots(r, entry, block));
    KZ_TRY(read_response(r, entry, block));
    // Checked after its sentences are read: a response may name any slot that one of them fills.
    block_sentences own = {r->grammar, block, &r->grammar->sentences[r->grammar->sentence_count],
                           sentences->count};
    for (const kz_yaml_node *n = sentences->first; n != NULL; n = n->next) {
        KZ_TRY(read_sentence(r, n, block));
    }
    return block->response == NULL
               ? KAZEIA_OK
               : kz_command_response_check(block->response, block_has_slot, &own);
}

// Visits every entry of every intent.
static kazeia_status for_each_entry(grammar_reader *r,
                                    kazeia_status (*visit)(grammar_reader *r, const char *intent,
                                                           const kz_yaml_node *entry)) {
    for (const kz_yaml_node *intent = r->intents->first; intent != NULL; intent = intent->next) {
        const kz_yaml_node *entries;
        KZ_TRY(check_keys(intent, " data ", "an intent"));
        KZ_TRY(need(intent, "data", KZ_YAML_LIST, &entries));
        for (const kz_yaml_node *entry = entries->first; entry != NULL; entry = entry->next) {
            KZ_TRY(visit(r, intent->key, entry));
        }
    }
    return KAZEIA_OK;
}

// Malformed entries count as none here; read_block reports them.
static kazeia_status count_sentences(grammar_reader *r, const char *intent,
                                     const kz_yaml_node *entry) {
    (void)intent;
    const kz_yaml_node *sentences =
        entry->kind == KZ_YAML_MAP ? kz_yaml_find(entry, "sentences") : NULL;
    r->grammar->sentence_count += sentences == NULL ? 0 : sentences->count;
    return KAZEIA_OK;
}

static kazeia_status read_sections(grammar_reader *r) {
    const kz_yaml_node *language;
    KZ_TRY(check_keys(r->root,
                      " language intents lists expansion_rules skip_words responses metadata ",
                      "the file"));
    KZ_TRY(need(r->root, "language", KZ_YAML_SCALAR, &language));
    KZ_TRY(need(r->root, "intents", KZ_YAML_MAP, &r->intents));
    KZ_TRY(look_for(r->root, "lists", KZ_YAML_MAP, &r->lists));
    KZ_TRY(look_for(r->root, "expansion_rules", KZ_YAML_MAP, &r->rules));
    KZ_TRY(look_for(r->root, "skip_words", KZ_YAML_LIST, &r->skip_words));
    KZ_TRY(look_for(r->root, "responses", KZ_YAML_MAP, &r->responses));
    r->grammar->language = language->text.bytes;
    // Number words and plurals are per language: a third would be matched by English rules without
    // a word.
    if (strcmp(r->grammar->language, "fr") != 0 && strcmp(r->grammar->language, "en") != 0) {
        return kz_command_fail(&language->place, KAZEIA_UNSUPPORTED,
                               "the language is '%.20s', expected fr or en", r->grammar->language);
    }
    return KAZEIA_OK;
}

static kazeia_status read_grammar(grammar_reader *r, const void *bytes, size_t count) {
    void *memory;
    KZ_TRY(kz_yaml_read(&r->grammar->arena, r->grammar->file, bytes, count, &r->root));
    KZ_TRY(read_sections(r));
    KZ_TRY(read_lists_and_rules(r));
    KZ_TRY(read_skip_words(r));
    // Counted first: blocks point into the array, which must not move.
    KZ_TRY(for_each_entry(r, count_sentences));
    KZ_TRY(take(r, r->grammar->sentence_count, sizeof(kz_command_sentence), &memory));
    r->grammar->sentences = memory;
    // Counted up again while the array is filled: measures must only see what is there.
    r->grammar->sentence_count = 0;
    KZ_TRY(for_each_entry(r, read_block));
    if (r->grammar->sentence_count == 0) {
        return kz_command_fail(&r->intents->place, KAZEIA_BAD_FILE, "there is no sentence in it");
    }
    return KAZEIA_OK;
}

kazeia_status kz_command_grammar_read(const void *bytes, size_t count, const char *name,
                                      const kazeia_allocator *allocator,
                                      kz_command_grammar **out_grammar) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    const kz_text_view file = {name, strlen(name)};
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_command_grammar), "command grammar", &memory));
    grammar_reader reader = {.grammar = memory};
    kz_command_arena_init(&reader.grammar->arena, &own, MEMORY_LIMIT);
    kazeia_status status =
        kz_command_arena_copy(&reader.grammar->arena, file, &reader.grammar->file);
    if (status == KAZEIA_OK) {
        status = read_grammar(&reader, bytes, count);
    }
    if (status != KAZEIA_OK) {
        kz_command_grammar_close(reader.grammar);
        return status;
    }
    *out_grammar = reader.grammar;
    return KAZEIA_OK;
}

kazeia_status kz_command_grammar_open(const char *path, const kazeia_allocator *allocator,
                                      kz_command_grammar **out_grammar) {
    kz_file_map map;
    KZ_TRY(kz_file_map_open(path, &map));
    const kazeia_status status =
        kz_command_grammar_read(map.bytes, map.size, path, allocator, out_grammar);
    // Safe: the arena holds copies of every text.
    kz_file_map_close(&map);
    return status;
}

void kz_command_grammar_close(kz_command_grammar *grammar) {
    if (grammar != NULL) {
        const kazeia_allocator allocator = grammar->arena.allocator;
        kz_command_arena_clear(&grammar->arena);
        kz_free(&allocator, grammar);
    }
}

const char *kz_command_grammar_language(const kz_command_grammar *grammar) {
    return grammar->language;
}

uint32_t kz_command_grammar_sentence_count(const kz_command_grammar *grammar) {
    return grammar->sentence_count;
}
