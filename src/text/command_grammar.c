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
#include "base/file_system.h"
#include "base/number_text.h"
#include "text/command_compiled.h"
#include "text/command_home.h"
#include "text/command_layout.h"

#define MEMORY_LIMIT ((size_t)256 << 20)

typedef struct grammar_reader {
    kz_command_grammar *grammar;
    kz_command_layout layout;
    kz_command_home home;
    uint64_t home_domains; // of all values
} grammar_reader;

static kazeia_status take(grammar_reader *r, size_t count, size_t bytes_each, void **out_memory) {
    return kz_command_arena_take(&r->grammar->arena, count, bytes_each, out_memory);
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
    KZ_TRY(kz_yaml_check_keys(item, " in out metadata ", "a list's value"));
    KZ_TRY(kz_yaml_need(item, "in", KZ_YAML_SCALAR, &in));
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
    KZ_TRY(kz_yaml_check_keys(range, " from to step type fractions multiplier ", "a range"));
    KZ_TRY(kz_yaml_need(range, "from", KZ_YAML_SCALAR, &node));
    KZ_TRY(kz_yaml_need(range, "to", KZ_YAML_SCALAR, &node));
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
    KZ_TRY(kz_yaml_look_for(range, "fractions", KZ_YAML_SCALAR, &node));
    list->has_halves = node != NULL;
    if (node != NULL && strcmp(node->text.bytes, "halves") != 0) {
        return kz_command_fail(&node->place, KAZEIA_UNSUPPORTED,
                               "fractions are '%.60s', only 'halves' are read", node->text.bytes);
    }
    return KAZEIA_OK;
}

static kazeia_status read_list(grammar_reader *r, const kz_yaml_node *node, kz_command_list *list) {
    KZ_TRY(kz_yaml_check_keys(node, " values range wildcard ", "a list"));
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

// Both structs begin with a name and an order.
typedef struct named {
    const char *name;
    uint32_t order;
} named;

// Of two with one name the later one stands first.
static int compare_names(const void *a, const void *b) {
    const named *left = a, *right = b;
    const int order = strcmp(left->name, right->name);
    return order != 0 ? order : left->order < right->order ? 1 : -1;
}

// Sorts by name and keeps the last read of each name; returns the count.
static uint32_t sort_names(void *items, uint32_t count, size_t bytes_each) {
    char *bytes = items;
    uint32_t kept = 0;
    // Templates look names up by halving.
    qsort(items, count, bytes_each, compare_names);
    for (uint32_t i = 0; i < count; i++) {
        const named *item = (const void *)(bytes + i * bytes_each);
        const named *last = (const void *)(bytes + (kept - 1) * bytes_each);
        if (kept == 0 || strcmp(item->name, last->name) != 0) {
            memmove(bytes + kept++ * bytes_each, item, bytes_each);
        }
    }
    return kept;
}

static uint32_t count_entries(const kz_layout_maps *maps) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < maps->count; i++) {
        count += maps->items[i]->count;
    }
    return count;
}

// What the home fills; a file that has a list of that name keeps it where the home has none.
static const char *const home_lists[] = {"area", "floor", "name"};
#define HOME_LISTS (sizeof home_lists / sizeof home_lists[0])

// Names first, so that templates may refer to what stands further down.
static kazeia_status name_lists(grammar_reader *r) {
    kz_command_grammar *g = r->grammar;
    const kz_layout_maps *maps = &r->layout.lists;
    void *memory;
    KZ_TRY(take(r, count_entries(maps) + HOME_LISTS, sizeof(kz_command_list), &memory));
    g->lists = memory;
    for (uint32_t i = 0; i < HOME_LISTS; i++) {
        g->lists[i] = (kz_command_list){.name = home_lists[i], .order = i};
    }
    g->list_count = HOME_LISTS;
    for (uint32_t i = 0; i < maps->count; i++) {
        for (const kz_yaml_node *n = maps->items[i]->first; n != NULL; n = n->next) {
            g->lists[g->list_count] =
                (kz_command_list){.name = n->key, .order = g->list_count, .source = n};
            g->list_count++;
        }
    }
    g->list_count = sort_names(g->lists, g->list_count, sizeof(kz_command_list));
    return KAZEIA_OK;
}

static kazeia_status name_rules(grammar_reader *r) {
    kz_command_grammar *g = r->grammar;
    const kz_layout_maps *maps = &r->layout.rules;
    void *memory;
    KZ_TRY(take(r, count_entries(maps), sizeof(kz_command_rule), &memory));
    g->rules = memory;
    for (uint32_t i = 0; i < maps->count; i++) {
        for (const kz_yaml_node *n = maps->items[i]->first; n != NULL; n = n->next) {
            g->rules[g->rule_count] =
                (kz_command_rule){.name = n->key, .order = g->rule_count, .source = n};
            g->rule_count++;
        }
    }
    g->rule_count = sort_names(g->rules, g->rule_count, sizeof(kz_command_rule));
    return KAZEIA_OK;
}

// ---- the home's names

// A bit for each domain, in the order of appearance; 0 for none.
static kazeia_status find_domain(grammar_reader *r, const kz_command_place *place, const char *name,
                                 uint64_t *out_bit) {
    kz_command_grammar *g = r->grammar;
    uint32_t domain = 0;
    *out_bit = 0;
    if (name[0] == '\0') {
        return KAZEIA_OK;
    }
    while (domain < g->domain_count && strcmp(g->domains[domain], name) != 0) {
        domain++;
    }
    if (domain == KZ_MAX_DOMAINS) {
        return kz_command_fail(place, KAZEIA_BAD_FILE, "more than %d domains", KZ_MAX_DOMAINS);
    }
    if (domain == g->domain_count) {
        g->domains[g->domain_count++] = name;
    }
    *out_bit = (uint64_t)1 << domain;
    return KAZEIA_OK;
}

static kazeia_status add_home_value(grammar_reader *r, kz_command_list *list,
                                    const kz_yaml_node *name, const char *domain) {
    kz_command_value *value = &list->values[list->value_count];
    KZ_TRY(kz_command_template_literal(r->grammar, name, &value->in));
    // A name of spaces would be found everywhere.
    if (value->in->literal_chars == 0) {
        return kz_command_fail(&name->place, KAZEIA_BAD_FILE, "a name without a letter");
    }
    value->kind = KZ_SLOT_TEXT;
    value->text = name->text.bytes;
    list->value_count++;
    return find_domain(r, &name->place, domain, &value->domain);
}

static kazeia_status fill_home_list(grammar_reader *r, kz_command_list *list) {
    const kz_command_home *home = &r->home;
    const bool is_name = strcmp(list->name, "name") == 0;
    const kz_yaml_node *texts = strcmp(list->name, "area") == 0 ? home->areas : home->floors;
    const uint32_t count = is_name ? home->entity_count : texts == NULL ? 0 : texts->count;
    void *memory;
    KZ_TRY(take(r, count, sizeof(kz_command_value), &memory));
    list->values = memory;
    for (uint32_t i = 0; is_name && i < count; i++) {
        KZ_TRY(add_home_value(r, list, home->entities[i].name, home->entities[i].domain));
    }
    for (const kz_yaml_node *n = is_name || texts == NULL ? NULL : texts->first; n != NULL;
         n = n->next) {
        KZ_TRY(add_home_value(r, list, n, ""));
    }
    return KAZEIA_OK;
}

static bool is_filled_by_home(const grammar_reader *r, const kz_command_list *list) {
    const kz_command_home *home = &r->home;
    return list->source == NULL || (strcmp(list->name, "name") == 0 && home->entity_count > 0) ||
           (strcmp(list->name, "area") == 0 && home->areas != NULL && home->areas->count > 0) ||
           (strcmp(list->name, "floor") == 0 && home->floors != NULL && home->floors->count > 0);
}

static kazeia_status read_lists_and_rules(grammar_reader *r) {
    kz_command_grammar *g = r->grammar;
    KZ_TRY(name_lists(r));
    KZ_TRY(name_rules(r));
    for (uint32_t i = 0; i < g->rule_count; i++) {
        KZ_TRY(kz_command_template_parse(g, g->rules[i].source, &g->rules[i].body));
    }
    for (uint32_t i = 0; i < g->list_count; i++) {
        KZ_TRY(is_filled_by_home(r, &g->lists[i]) ? fill_home_list(r, &g->lists[i])
                                                  : read_list(r, g->lists[i].source, &g->lists[i]));
    }
    return KAZEIA_OK;
}

static int compare_longest_first(const void *a, const void *b) {
    const size_t left = ((const kz_text_view *)a)->count, right = ((const kz_text_view *)b)->count;
    return left < right ? 1 : left > right ? -1 : 0;
}

static kazeia_status read_skip_words(grammar_reader *r) {
    kz_command_grammar *g = r->grammar;
    if (r->layout.skip_words == NULL) {
        return KAZEIA_OK;
    }
    void *memory;
    KZ_TRY(take(r, r->layout.skip_words->count, sizeof(kz_text_view), &memory));
    g->skip_words = memory;
    for (const kz_yaml_node *n = r->layout.skip_words->first; n != NULL; n = n->next) {
        KZ_TRY(kz_yaml_expect(n, KZ_YAML_SCALAR, "a skip word"));
        KZ_TRY(kz_command_fold(&g->arena, n->text, &g->skip_words[g->skip_count]));
        // A word of signs alone folds to nothing and would be found everywhere.
        g->skip_count += g->skip_words[g->skip_count].count > 0;
    }
    // The longest first, so that "s'il te plaît bien" is not left with a rest.
    qsort(g->skip_words, g->skip_count, sizeof(kz_text_view), compare_longest_first);
    return KAZEIA_OK;
}

// ---- blocks

static kazeia_status add_fixed_slot(grammar_reader *r, kz_command_block *block, const char *name,
                                    const kz_yaml_node *value) {
    kz_command_slot *slot = &block->slots[block->slot_count++];
    slot->name = name;
    slot->said = "";
    return read_slot_value(r, value, &slot->kind, &slot->text, &slot->number);
}

// `inferred_domain: light` is a short form of the slot domain.
static kazeia_status read_fixed_slots(grammar_reader *r, const kz_yaml_node *entry,
                                      kz_command_block *block) {
    const kz_yaml_node *slots, *domain;
    void *memory;
    KZ_TRY(kz_yaml_look_for(entry, "slots", KZ_YAML_MAP, &slots));
    KZ_TRY(kz_yaml_look_for(entry, "inferred_domain", KZ_YAML_SCALAR, &domain));
    // Two more: the domain, and the area that add_area puts behind.
    KZ_TRY(take(r, (slots == NULL ? 0 : slots->count) + 2, sizeof(kz_command_slot), &memory));
    block->slots = memory;
    for (const kz_yaml_node *n = slots == NULL ? NULL : slots->first; n != NULL; n = n->next) {
        KZ_TRY(add_fixed_slot(r, block, n->key, n));
    }
    return domain == NULL ? KAZEIA_OK : add_fixed_slot(r, block, "domain", domain);
}

// ---- conditions

static kazeia_status add_domains(grammar_reader *r, const kz_yaml_node *node, uint64_t *domains) {
    uint64_t bit;
    if (node->kind == KZ_YAML_MAP) {
        const kz_yaml_node *value;
        KZ_TRY(kz_yaml_check_keys(node, " value ", "a condition on the domain"));
        KZ_TRY(kz_yaml_need(node, "value", KZ_YAML_SCALAR, &value));
        node = value;
    }
    if (node->kind == KZ_YAML_SCALAR) {
        KZ_TRY(find_domain(r, &node->place, node->text.bytes, &bit));
        *domains |= bit;
        return KAZEIA_OK;
    }
    for (const kz_yaml_node *n = node->first; n != NULL; n = n->next) {
        KZ_TRY(kz_yaml_expect(n, KZ_YAML_SCALAR, "a domain"));
        KZ_TRY(find_domain(r, &n->place, n->text.bytes, &bit));
        *domains |= bit;
    }
    return KAZEIA_OK;
}

static bool is_true(const kz_yaml_node *node) {
    return node != NULL && node->kind == KZ_YAML_SCALAR && strcmp(node->text.bytes, "true") == 0;
}

// The general form knows any key; two of them can be decided by text: the domain of what is named,
// and the place of the speaker with `slot: true`. A key that is passed over would let commands run
// that the file forbids.
static kazeia_status read_conditions(grammar_reader *r, const kz_yaml_node *conditions,
                                     bool is_excluding, kz_command_block *block,
                                     bool *out_needs_area) {
    for (const kz_yaml_node *n = conditions == NULL ? NULL : conditions->first; n != NULL;
         n = n->next) {
        const bool is_area = strcmp(n->key, "area") == 0 && !is_excluding &&
                             n->kind == KZ_YAML_MAP && is_true(kz_yaml_find(n, "slot"));
        if (strcmp(n->key, "domain") == 0) {
            KZ_TRY(add_domains(r, n, is_excluding ? &block->other_domains : &block->domains));
        } else if (is_area) {
            *out_needs_area = true;
        } else {
            return kz_command_fail(&n->key_place, KAZEIA_UNSUPPORTED,
                                   "a condition on '%.60s' is not handled, only domain and, with "
                                   "slot: true, area",
                                   n->key);
        }
    }
    return KAZEIA_OK;
}

static uint64_t home_domains(const grammar_reader *r) {
    uint64_t domains = 0;
    for (uint32_t i = 0; i < r->grammar->list_count; i++) {
        for (uint32_t v = 0; v < r->grammar->lists[i].value_count; v++) {
            domains |= r->grammar->lists[i].values[v].domain;
        }
    }
    return domains;
}

// The speaker's place is a slot of the result, unless the sentence names another.
static void add_area(const grammar_reader *r, kz_command_block *block) {
    const char *area = r->grammar->context_area;
    block->is_dead = block->is_dead || area == NULL;
    if (area != NULL) {
        block->slots[block->slot_count++] =
            (kz_command_slot){.name = "area", .kind = KZ_SLOT_TEXT, .text = area, .said = ""};
    }
}

static kazeia_status read_context(grammar_reader *r, const kz_layout_block *source,
                                  kz_command_block *block) {
    const kz_yaml_node *entry = source->entry, *node;
    bool needs_area = source->needs_area || is_true(kz_yaml_find(entry, "context_area"));
    if ((node = kz_yaml_find(entry, "name_domains")) != NULL) {
        KZ_TRY(add_domains(r, node, &block->domains));
    }
    KZ_TRY(kz_yaml_look_for(entry, "requires_context", KZ_YAML_MAP, &node));
    KZ_TRY(read_conditions(r, node, false, block, &needs_area));
    KZ_TRY(kz_yaml_look_for(entry, "excludes_context", KZ_YAML_MAP, &node));
    KZ_TRY(read_conditions(r, node, true, block, &needs_area));
    block->is_dead = block->domains != 0 && (block->domains & r->home_domains) == 0;
    if (needs_area) {
        add_area(r, block);
    }
    return KAZEIA_OK;
}

// ---- responses

// Upstream's own responses are Jinja programs over the state of the house, which no text decides;
// the shipped one is said instead.
static bool is_jinja(const kz_yaml_node *text) {
    return strstr(text->text.bytes, "{{") != NULL || strstr(text->text.bytes, "{%") != NULL;
}

// The text of an intent's response in the files read last to first; NULL when there is none.
static kazeia_status find_response(const grammar_reader *r, const char *intent, const char *key,
                                   const kz_yaml_node **out_text) {
    const kz_layout_maps *maps = &r->layout.responses;
    *out_text = NULL;
    for (uint32_t i = maps->count; i > 0 && *out_text == NULL; i--) {
        const kz_yaml_node *of_intent;
        KZ_TRY(kz_yaml_look_for(maps->items[i - 1], intent, KZ_YAML_MAP, &of_intent));
        if (of_intent != NULL) {
            KZ_TRY(kz_yaml_look_for(of_intent, key, KZ_YAML_SCALAR, out_text));
        }
    }
    if (*out_text != NULL && r->layout.is_upstream && is_jinja(*out_text)) {
        *out_text = NULL;
    }
    return KAZEIA_OK;
}

static kazeia_status parse_response(grammar_reader *r, const kz_yaml_node *text,
                                    kz_command_block *block) {
    void *memory;
    KZ_TRY(take(r, 1, sizeof(kz_command_response), &memory));
    KZ_TRY(kz_command_response_parse(&r->grammar->arena, text, memory));
    block->response = memory;
    return KAZEIA_OK;
}

// "default" may be missing; a key that the writer named must be there, unless one is shipped or
// the layout keeps responses elsewhere.
static kazeia_status read_response(grammar_reader *r, const kz_yaml_node *entry,
                                   kz_command_block *block) {
    const kz_yaml_node *key, *text;
    KZ_TRY(kz_yaml_look_for(entry, "response", KZ_YAML_SCALAR, &key));
    block->response_key = key == NULL ? "default" : key->text.bytes;
    KZ_TRY(find_response(r, block->intent, block->response_key, &text));
    if (text != NULL) {
        block->is_own_response = true;
        return parse_response(r, text, block);
    }
    const char *shipped =
        kz_command_shipped_response(r->grammar->language, block->intent, block->response_key);
    if (shipped != NULL) {
        void *memory;
        KZ_TRY(take(r, 1, sizeof(kz_yaml_node), &memory));
        kz_yaml_node *source = memory;
        source->place = entry->place;
        source->text = (kz_text_view){shipped, strlen(shipped)};
        return parse_response(r, source, block);
    }
    return key == NULL || r->layout.is_upstream
               ? KAZEIA_OK
               : kz_command_fail(&key->place, KAZEIA_BAD_FILE,
                                 "the response '%.60s' of '%.60s' is not under responses",
                                 block->response_key, block->intent);
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
    sentence->place = node->place;
    // The matcher takes its states once, for the sentence that needs the most.
    g->sets = sentence->measure.sets > g->sets ? sentence->measure.sets : g->sets;
    g->sentence_count++;
    return KAZEIA_OK;
}

static kazeia_status read_block(grammar_reader *r, const kz_layout_block *source,
                                kz_command_block *block) {
    const kz_yaml_node *entry = source->entry, *sentences;
    KZ_TRY(kz_yaml_check_keys(entry,
                              " intent combo sentences slots response example metadata "
                              "inferred_domain name_domains context_area requires_context "
                              "excludes_context ",
                              "a block of sentences"));
    KZ_TRY(kz_yaml_need(entry, "sentences", KZ_YAML_LIST, &sentences));
    block->intent = source->intent;
    KZ_TRY(read_fixed_slots(r, entry, block));
    KZ_TRY(read_context(r, source, block));
    KZ_TRY(read_response(r, entry, block));
    // Checked after its sentences are read: a response may name any slot that one of them fills.
    block_sentences own = {r->grammar, block, &r->grammar->sentences[r->grammar->sentence_count],
                           sentences->count};
    for (const kz_yaml_node *n = sentences->first; n != NULL; n = n->next) {
        KZ_TRY(read_sentence(r, n, block));
    }
    // A shipped response may name slots that other sentences of its intent fill.
    return block->response == NULL || !block->is_own_response
               ? KAZEIA_OK
               : kz_command_response_check(block->response, block_has_slot, &own);
}

// Malformed entries count as none here; read_block reports them.
static uint32_t count_sentences(const kz_command_layout *layout) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < layout->block_count; i++) {
        const kz_yaml_node *sentences = kz_yaml_find(layout->blocks[i].entry, "sentences");
        count += sentences == NULL ? 0 : sentences->count;
    }
    return count;
}

static kazeia_status read_language(grammar_reader *r) {
    const kz_yaml_node *language = r->layout.language;
    r->grammar->language = language->text.bytes;
    // Number words and plurals are per language: a third would be matched by English rules without
    // a word.
    if (strcmp(r->grammar->language, "fr") != 0 && strcmp(r->grammar->language, "en") != 0) {
        return kz_command_fail(&language->place, KAZEIA_UNSUPPORTED,
                               "the language is '%.20s', expected fr or en", r->grammar->language);
    }
    return KAZEIA_OK;
}

static kazeia_status compile(grammar_reader *r) {
    kz_command_grammar *g = r->grammar;
    void *memory;
    KZ_TRY(read_language(r));
    KZ_TRY(read_lists_and_rules(r));
    KZ_TRY(read_skip_words(r));
    r->home_domains = home_domains(r);
    // Counted first: sentences point at blocks and blocks at sentences, which must not move.
    KZ_TRY(take(r, count_sentences(&r->layout), sizeof(kz_command_sentence), &memory));
    g->sentences = memory;
    KZ_TRY(take(r, r->layout.block_count, sizeof(kz_command_block), &memory));
    g->blocks = memory;
    for (uint32_t i = 0; i < r->layout.block_count; i++) {
        KZ_TRY(read_block(r, &r->layout.blocks[i], &g->blocks[i]));
        g->block_count++;
    }
    if (g->sentence_count == 0) {
        return kz_command_fail(&r->layout.place->place, KAZEIA_BAD_FILE,
                               "there is no sentence in it");
    }
    return KAZEIA_OK;
}

// ---- opening

// What is to be read: bytes, or a folder.
typedef struct grammar_source {
    const void *bytes; // NULL: `name` is a folder
    size_t count;
    const char *name;
} grammar_source;

static kazeia_status read_source(grammar_reader *r, const grammar_source *source,
                                 const kz_command_home_file *home) {
    kz_command_grammar *g = r->grammar;
    const char *home_name = NULL;
    KZ_TRY(kz_command_arena_copy(&g->arena, (kz_text_view){source->name, strlen(source->name)},
                                 &g->file));
    if (home != NULL) {
        KZ_TRY(kz_command_arena_copy(&g->arena, (kz_text_view){home->name, strlen(home->name)},
                                     &home_name));
        KZ_TRY(kz_command_home_read(&g->arena, home_name, home->bytes, home->count, &r->home));
    }
    g->context_area = r->home.context_area;
    KZ_TRY(source->bytes == NULL ? kz_command_layout_read_folder(&g->arena, g->file, &r->layout)
                                 : kz_command_layout_read(&g->arena, g->file, source->bytes,
                                                          source->count, &r->layout));
    return compile(r);
}

static kazeia_status open_source(const grammar_source *source, const kz_command_home_file *home,
                                 const kazeia_allocator *allocator,
                                 kz_command_grammar **out_grammar) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory, *reader_memory = NULL;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_command_grammar), "command grammar", &memory));
    kz_command_grammar *grammar = memory;
    kz_command_arena_init(&grammar->arena, &own, MEMORY_LIMIT);
    // In the arena: its maps of files are too large for a stack.
    kazeia_status status =
        kz_command_arena_take(&grammar->arena, 1, sizeof(grammar_reader), &reader_memory);
    if (status == KAZEIA_OK) {
        grammar_reader *reader = reader_memory;
        reader->grammar = grammar;
        status = read_source(reader, source, home);
    }
    if (status != KAZEIA_OK) {
        kz_command_grammar_close(grammar);
        return status;
    }
    *out_grammar = grammar;
    return KAZEIA_OK;
}

kazeia_status kz_command_grammar_read_for(const void *bytes, size_t count, const char *name,
                                          const kz_command_home_file *home,
                                          const kazeia_allocator *allocator,
                                          kz_command_grammar **out_grammar) {
    // An empty file has no bytes to point to.
    const grammar_source source = {bytes == NULL ? "" : bytes, count, name};
    return open_source(&source, home, allocator, out_grammar);
}

kazeia_status kz_command_grammar_read(const void *bytes, size_t count, const char *name,
                                      const kazeia_allocator *allocator,
                                      kz_command_grammar **out_grammar) {
    return kz_command_grammar_read_for(bytes, count, name, NULL, allocator, out_grammar);
}

kazeia_status kz_command_grammar_open_for(const char *path, const kz_command_home_file *home,
                                          const kazeia_allocator *allocator,
                                          kz_command_grammar **out_grammar) {
    kz_file_map map;
    if (kz_path_query(path, NULL) == KZ_PATH_FOLDER) {
        const grammar_source folder = {NULL, 0, path};
        return open_source(&folder, home, allocator, out_grammar);
    }
    KZ_TRY(kz_file_map_open(path, &map));
    const kazeia_status status =
        kz_command_grammar_read_for(map.bytes, map.size, path, home, allocator, out_grammar);
    // Safe: the arena holds copies of every text.
    kz_file_map_close(&map);
    return status;
}

kazeia_status kz_command_grammar_open(const char *path, const kazeia_allocator *allocator,
                                      kz_command_grammar **out_grammar) {
    return kz_command_grammar_open_for(path, NULL, allocator, out_grammar);
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
