// command_template.c: one sentence template -> a tree of nodes.
//
// in: a scalar of the file, and the grammar's rules and lists by name. out: nodes in the arena.
// Recursive descent; the depth is bounded, and an error names the column inside the template.
#include <stdlib.h>
#include <string.h>

#include "text/command_compiled.h"

typedef struct template_parser {
    kz_command_grammar *grammar;
    const kz_yaml_node *source;
    const char *bytes;
    size_t count, at;
    uint32_t depth;
} template_parser;

// Column of byte `at`: only known when the scalar stands in one line of the file as it is.
static kz_command_place place_at(const template_parser *p, size_t at) {
    kz_command_place place = p->source->place;
    // An escaped or folded scalar has other columns in the file than in its text; the scalar's own
    // place is told then.
    if (p->source->is_single_line) {
        place.column += p->source->is_quoted;
        for (size_t i = 0; i < at; i++) {
            place.column += ((unsigned char)p->bytes[i] & 0xc0u) != 0x80u;
        }
    }
    return place;
}

static kazeia_status fail_at(const template_parser *p, size_t at, const char *what) {
    const kz_command_place place = place_at(p, at);
    return kz_command_fail(&place, KAZEIA_BAD_FILE, "%s in template '%.200s'", what, p->bytes);
}

static kazeia_status new_node(template_parser *p, kz_node_kind kind, kz_command_node **out_node) {
    void *memory;
    KZ_TRY(kz_command_arena_take(&p->grammar->arena, 1, sizeof(kz_command_node), &memory));
    *out_node = memory;
    (*out_node)->kind = kind;
    return KAZEIA_OK;
}

// The old array stays in the arena: at most as much as the new one, and all dies with the grammar.
// Children are doubled when their count is a power of two.
static kazeia_status add_child(template_parser *p, kz_command_node *node, kz_command_node *child) {
    const uint32_t count = node->child_count;
    if ((count & (count - 1)) == 0) {
        void *memory;
        KZ_TRY(kz_command_arena_take(&p->grammar->arena, count == 0 ? 1 : (size_t)count * 2,
                                     sizeof(kz_command_node *), &memory));
        if (count > 0) {
            memcpy(memory, node->children, count * sizeof(kz_command_node *));
        }
        node->children = memory;
    }
    node->children[node->child_count++] = child;
    return KAZEIA_OK;
}

// ---- text

static size_t collapse(char *text, size_t count) {
    size_t used = 0;
    for (size_t i = 0; i < count;) {
        const kz_utf8_char c = kz_utf8_read_last(text + i, count - i);
        if (kz_char_is_space(c.code_point)) {
            // In place: collapsed text is never ahead of what is read.
            if (used == 0 || text[used - 1] != ' ') {
                text[used++] = ' ';
            }
        } else {
            memmove(text + used, text + i, c.length);
            used += c.length;
        }
        i += c.length;
    }
    return used;
}

static kazeia_status fold_chunk(kz_command_arena *arena, kz_text_view text, kz_text_view *out) {
    void *memory;
    const size_t capacity = text.count * 3 + 4; // a small letter has at most 3 bytes more
    KZ_TRY(kz_command_arena_take(arena, capacity, 1, &memory));
    const size_t count = kz_text_fold(text.bytes, text.count, memory, capacity);
    // The capacity is enough by the bound above, so SIZE_MAX does not come; an empty chunk is the
    // safe reading of it.
    *out = (kz_text_view){memory, count == SIZE_MAX ? 0 : collapse(memory, count)};
    return KAZEIA_OK;
}

static kz_text_view trim(kz_text_view text) {
    while (text.count > 0 && text.bytes[0] == ' ') {
        text.bytes++;
        text.count--;
    }
    while (text.count > 0 && text.bytes[text.count - 1] == ' ') {
        text.count--;
    }
    return text;
}

kazeia_status kz_command_fold(kz_command_arena *arena, kz_text_view text,
                              kz_text_view *out_folded) {
    KZ_TRY(fold_chunk(arena, text, out_folded));
    *out_folded = trim(*out_folded);
    return KAZEIA_OK;
}

static uint32_t count_chars(kz_text_view text) {
    uint32_t chars = 0;
    for (size_t i = 0; i < text.count; i++) {
        chars += ((unsigned char)text.bytes[i] & 0xc0u) != 0x80u;
    }
    return chars;
}

static kazeia_status make_chunk(template_parser *p, kz_text_view raw, kz_command_node **out_node) {
    KZ_TRY(new_node(p, KZ_NODE_CHUNK, out_node));
    KZ_TRY(fold_chunk(&p->grammar->arena, raw, &(*out_node)->text));
    (*out_node)->literal_chars = count_chars(trim((*out_node)->text));
    return KAZEIA_OK;
}

static kazeia_status parse_text(template_parser *p, kz_command_node **out_node) {
    void *memory;
    size_t end = p->at;
    // Never the NUL, which strchr would find: the reader of the file refuses it.
    while (end < p->count && strchr("()[]{}<>|;", p->bytes[end]) == NULL) {
        end += p->bytes[end] == '\\' && end + 1 < p->count ? 2 : 1;
    }
    KZ_TRY(kz_command_arena_take(&p->grammar->arena, end - p->at + 1, 1, &memory));
    char *raw = memory;
    size_t used = 0;
    while (p->at < end) {
        p->at += p->bytes[p->at] == '\\' && p->at + 1 < end;
        raw[used++] = p->bytes[p->at++];
    }
    return make_chunk(p, (kz_text_view){raw, used}, out_node);
}

// ---- lists and rules

static bool is_same(const char *name, kz_text_view text) {
    return strlen(name) == text.count && memcmp(name, text.bytes, text.count) == 0;
}

// A list or rule and a wanted name: both structs begin with their name. As strcmp orders, since the
// tables are sorted by it; the wanted name has no NUL to compare by.
static int compare_name(const void *wanted, const void *named) {
    const kz_text_view *text = wanted;
    const char *name = *(const char *const *)named;
    const size_t length = strlen(name);
    const int order = memcmp(text->bytes, name, text->count < length ? text->count : length);
    return order != 0 ? order : text->count < length ? -1 : text->count > length;
}

static kazeia_status find_slot(template_parser *p, size_t at, kz_text_view name,
                               uint32_t *out_slot) {
    kz_command_grammar *g = p->grammar;
    for (*out_slot = 0; *out_slot < g->slot_count; (*out_slot)++) {
        if (is_same(g->slot_names[*out_slot], name)) {
            return KAZEIA_OK;
        }
    }
    // Slots are bits of a fixed set in each measure.
    if (g->slot_count == KZ_MAX_SLOT_NAMES) {
        return fail_at(p, at, "more than 256 slot names");
    }
    return kz_command_arena_copy(&g->arena, name, &g->slot_names[g->slot_count++]);
}

static kazeia_status fail_unknown(const template_parser *p, size_t at, const char *what,
                                  kz_text_view name) {
    const kz_command_place place = place_at(p, at);
    return kz_command_fail(&place, KAZEIA_BAD_FILE, "%s '%.*s' is not in this file", what,
                           (int)(name.count < 100 ? name.count : 100), name.bytes);
}

// The text up to `closing`, which is consumed.
static kazeia_status read_reference(template_parser *p, char closing, kz_text_view *out_text) {
    const size_t start = ++p->at;
    const char *end = memchr(p->bytes + start, closing, p->count - start);
    if (end == NULL) {
        return fail_at(p, start - 1,
                       closing == '}' ? "a { that is not closed" : "a < that is not closed");
    }
    *out_text = (kz_text_view){p->bytes + start, (size_t)(end - p->bytes) - start};
    p->at = start + out_text->count + 1;
    return KAZEIA_OK;
}

static bool read_range_number(kz_text_view *text, int32_t *out_number) {
    char *end;
    // The scalar ends with a NUL, so strtol stops there at the latest.
    const long number = strtol(text->bytes, &end, 10);
    if (end == text->bytes || number < -1000000 || number > 1000000) {
        return false;
    }
    text->count -= (size_t)(end - text->bytes);
    text->bytes = end;
    *out_number = (int32_t)number;
    return true;
}

// "N..M" or "N..M,step". Only up to the colon; what stands behind it is the slot's name and was
// read before.
static bool read_inline_range(kz_text_view text, kz_command_list *list) {
    list->step = 1;
    if (!read_range_number(&text, &list->from) || text.count < 2 ||
        memcmp(text.bytes, "..", 2) != 0) {
        return false;
    }
    text = (kz_text_view){text.bytes + 2, text.count - 2};
    if (!read_range_number(&text, &list->to)) {
        return false;
    }
    if (text.count > 1 && text.bytes[0] == ',') {
        text = (kz_text_view){text.bytes + 1, text.count - 1};
        if (!read_range_number(&text, &list->step)) {
            return false;
        }
    }
    return text.count > 0 && text.bytes[0] == ':' && list->from <= list->to && list->step > 0;
}

static kazeia_status make_inline_range(template_parser *p, size_t at, kz_text_view text,
                                       kz_command_node *node) {
    void *memory;
    KZ_TRY(kz_command_arena_take(&p->grammar->arena, 1, sizeof(kz_command_list), &memory));
    node->list = memory;
    node->list->kind = KZ_LIST_RANGE;
    node->list->multiplier = 1;
    node->list->source = p->source;
    if (!read_inline_range(text, node->list)) {
        return fail_at(p, at, "a range that is not {N..M:slot} or {N..M,step:slot}");
    }
    return KAZEIA_OK;
}

static kazeia_status parse_list(template_parser *p, kz_command_node **out_node) {
    const size_t at = p->at;
    kz_text_view text = {NULL, 0};
    KZ_TRY(read_reference(p, '}', &text));
    KZ_TRY(new_node(p, KZ_NODE_LIST, out_node));
    const char *colon = memchr(text.bytes, ':', text.count);
    kz_text_view name = text, slot = text;
    if (colon != NULL) {
        name.count = (size_t)(colon - text.bytes);
        slot = (kz_text_view){colon + 1, text.count - name.count - 1};
    }
    if (slot.count == 0 || slot.bytes[0] == '@') {
        return fail_at(p, at, "a { } without a slot's name");
    }
    KZ_TRY(find_slot(p, at, slot, &(*out_node)->slot));
    // No list can have such a name by accident: digits begin a range.
    if (name.count > 0 &&
        (name.bytes[0] == '-' || (name.bytes[0] >= '0' && name.bytes[0] <= '9'))) {
        return make_inline_range(p, at, text, *out_node);
    }
    (*out_node)->list = bsearch(&name, p->grammar->lists, p->grammar->list_count,
                                sizeof(kz_command_list), compare_name);
    if ((*out_node)->list != NULL) {
        return KAZEIA_OK;
    }
    return fail_unknown(p, at, "the list", name);
}

static kazeia_status parse_rule(template_parser *p, kz_command_node **out_node) {
    const size_t at = p->at;
    kz_text_view name = {NULL, 0};
    KZ_TRY(read_reference(p, '>', &name));
    KZ_TRY(new_node(p, KZ_NODE_RULE, out_node));
    (*out_node)->rule = bsearch(&name, p->grammar->rules, p->grammar->rule_count,
                                sizeof(kz_command_rule), compare_name);
    if ((*out_node)->rule != NULL) {
        return KAZEIA_OK;
    }
    return fail_unknown(p, at, "the expansion rule", name);
}

// ---- groups

static kazeia_status parse_group(template_parser *p, char closing, kz_command_node **out_node);

static kazeia_status parse_part(template_parser *p, kz_command_node **out_node) {
    switch (p->bytes[p->at]) {
    case '(':
        return parse_group(p, ')', out_node);
    case '[':
        return parse_group(p, ']', out_node);
    case '{':
        return parse_list(p, out_node);
    case '<':
        return parse_rule(p, out_node);
    case '}':
    case '>':
        return fail_at(p, p->at, "a closing sign that nothing opened");
    default:
        return parse_text(p, out_node);
    }
}

static kazeia_status parse_sequence(template_parser *p, kz_command_node **out_node) {
    KZ_TRY(new_node(p, KZ_NODE_SEQUENCE, out_node));
    while (p->at < p->count && strchr(")]|;", p->bytes[p->at]) == NULL) {
        kz_command_node *part;
        KZ_TRY(parse_part(p, &part));
        KZ_TRY(add_child(p, *out_node, part));
    }
    // One child needs no sequence, and each sequence costs the matcher two sets.
    if ((*out_node)->child_count == 1) {
        *out_node = (*out_node)->children[0];
    }
    return KAZEIA_OK;
}

// A permuted item stands between spaces. The space node is used twice; nodes are never changed
// after parsing, so sharing is safe.
static kazeia_status pad_item(template_parser *p, kz_command_node **item) {
    kz_command_node *padded, *space;
    KZ_TRY(new_node(p, KZ_NODE_SEQUENCE, &padded));
    KZ_TRY(make_chunk(p, (kz_text_view){" ", 1}, &space));
    KZ_TRY(add_child(p, padded, space));
    KZ_TRY(add_child(p, padded, *item));
    KZ_TRY(add_child(p, padded, space));
    *item = padded;
    return KAZEIA_OK;
}

// Five items have 32 sets of taken ones; each more would double that.
static kazeia_status finish_permutation(template_parser *p, size_t at, kz_command_node *group) {
    group->kind = KZ_NODE_PERMUTATION;
    if (group->child_count > KZ_MAX_PERMUTED) {
        return fail_at(p, at, "more than 5 items in any order");
    }
    for (uint32_t i = 0; i < group->child_count; i++) {
        KZ_TRY(pad_item(p, &group->children[i]));
    }
    return KAZEIA_OK;
}

// Items up to `closing` (0: the template's end), all parted by | or all by ;.
static kazeia_status parse_group(template_parser *p, char closing, kz_command_node **out_node) {
    const size_t start = p->at;
    char separator = '\0';
    kz_command_node *group, *item;
    if (++p->depth > KZ_MAX_TEMPLATE_DEPTH) {
        return fail_at(p, start, "groups nested deeper than 64");
    }
    p->at += closing != '\0';
    KZ_TRY(new_node(p, KZ_NODE_ALTERNATIVES, &group));
    for (;;) {
        KZ_TRY(parse_sequence(p, &item));
        KZ_TRY(add_child(p, group, item));
        // At the end of the template '\0' also equals the closing sign of the outermost group.
        const char next = p->at < p->count ? p->bytes[p->at] : '\0';
        if (next == closing) {
            break;
        }
        if (next != '|' && next != ';') {
            return next == '\0' ? fail_at(p, start, "a group that is not closed")
                                : fail_at(p, p->at, "a closing sign that nothing opened");
        }
        if (separator != '\0' && separator != next) {
            return fail_at(p, p->at, "| and ; mixed in one group");
        }
        separator = next;
        p->at++;
    }
    p->at += closing != '\0';
    p->depth--;
    group->is_optional = closing == ']';
    *out_node = group->child_count == 1 && !group->is_optional ? item : group;
    return separator == ';' ? finish_permutation(p, start, group) : KAZEIA_OK;
}

kazeia_status kz_command_template_parse(kz_command_grammar *grammar, const kz_yaml_node *source,
                                        kz_command_node **out_node) {
    KZ_TRY(kz_yaml_expect(source, KZ_YAML_SCALAR, "a template"));
    template_parser parser = {grammar, source, source->text.bytes, source->text.count, 0, 0};
    return parse_group(&parser, '\0', out_node);
}

kazeia_status kz_command_template_literal(kz_command_grammar *grammar, const kz_yaml_node *source,
                                          kz_command_node **out_node) {
    kz_text_view text;
    template_parser parser = {grammar, source, source->text.bytes, source->text.count, 0, 0};
    KZ_TRY(kz_command_fold(&grammar->arena, source->text, &text));
    return make_chunk(&parser, text, out_node);
}
