// command_yaml.c: libyaml's events -> a tree.
//
// in: bytes. out: nodes. Events and not libyaml's documents, so that limits are checked while the
// tree grows and a hostile file is left early.
#include "text/command_yaml.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

// Bounds for a hostile file, far above what the grammar of a household has.
enum { MAX_FILE_BYTES = 4 << 20, MAX_NODES = 400000, MAX_LEVELS = 24, MAX_KEYS = 2000 };

kazeia_status kz_command_fail(const kz_command_place *place, kazeia_status status,
                              const char *format, ...) {
    char sentence[KZ_SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    // Formatted first: its arguments may quote the file, whose place goes in front.
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return kz_fail(status, "%s:%u:%u: %s", place->file, place->line, place->column, sentence);
}

const char *kz_yaml_kind_name(kz_yaml_kind kind) {
    static const char *const names[] = {"a text", "a list", "a map"};
    return names[kind];
}

kazeia_status kz_yaml_expect(const kz_yaml_node *node, kz_yaml_kind kind, const char *what) {
    if (node->kind != kind) {
        return kz_command_fail(&node->place, KAZEIA_BAD_FILE, "%s is %s, expected %s", what,
                               kz_yaml_kind_name(node->kind), kz_yaml_kind_name(kind));
    }
    return KAZEIA_OK;
}

// A list's items have no key, hence the test for NULL.
const kz_yaml_node *kz_yaml_find(const kz_yaml_node *map, const char *key) {
    for (const kz_yaml_node *child = map->first; child != NULL; child = child->next) {
        if (child->key != NULL && strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

typedef struct tree_builder {
    kz_command_arena *arena;
    const char *file;
    kz_yaml_node *stack[MAX_LEVELS];
    uint32_t level;
    uint32_t node_count;
    kz_yaml_node *root;
    const char *key; // waiting for its value
    kz_command_place key_place;
} tree_builder;

static kz_command_place place_of(const tree_builder *builder, yaml_mark_t mark) {
    return (kz_command_place){builder->file, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

// Looked for along the map: MAX_KEYS keeps the square of it small.
static kazeia_status check_new_key(const kz_yaml_node *map, const char *key,
                                   const kz_command_place *place) {
    if (map->count >= MAX_KEYS) {
        return kz_command_fail(place, KAZEIA_BAD_FILE, "more than %d keys in one map", MAX_KEYS);
    }
    if (kz_yaml_find(map, key) != NULL) {
        return kz_command_fail(place, KAZEIA_BAD_FILE, "the key '%s' stands here twice", key);
    }
    return KAZEIA_OK;
}

static kazeia_status add_node(tree_builder *b, kz_yaml_kind kind, yaml_mark_t mark,
                              kz_yaml_node **out_node) {
    const kz_command_place place = place_of(b, mark);
    if (++b->node_count > MAX_NODES) {
        return kz_command_fail(&place, KAZEIA_BAD_FILE, "more than %d values", MAX_NODES);
    }
    void *memory;
    KZ_TRY(kz_command_arena_take(b->arena, 1, sizeof(kz_yaml_node), &memory));
    kz_yaml_node *node = memory;
    node->kind = kind;
    node->place = place;
    *out_node = node;
    // A second root cannot come: a second document is refused when it begins.
    if (b->level == 0) {
        b->root = node;
        return KAZEIA_OK;
    }
    kz_yaml_node *parent = b->stack[b->level - 1];
    node->key = b->key;
    node->key_place = b->key_place;
    b->key = NULL;
    if (parent->last == NULL) {
        parent->first = node;
    } else {
        parent->last->next = node;
    }
    parent->last = node;
    parent->count++;
    return KAZEIA_OK;
}

static bool expects_key(const tree_builder *b) {
    return b->level > 0 && b->stack[b->level - 1]->kind == KZ_YAML_MAP && b->key == NULL;
}

static kazeia_status add_scalar(tree_builder *b, const yaml_event_t *event) {
    const kz_text_view text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const kz_command_place place = place_of(b, event->start_mark);
    // From here on every text is a C string.
    if (memchr(text.bytes, '\0', text.count) != NULL) {
        return kz_command_fail(&place, KAZEIA_BAD_FILE, "a text holds a NUL character");
    }
    const char *copy;
    KZ_TRY(kz_command_arena_copy(b->arena, text, &copy));
    if (expects_key(b)) {
        b->key = copy;
        b->key_place = place;
        return check_new_key(b->stack[b->level - 1], copy, &place);
    }
    kz_yaml_node *node;
    KZ_TRY(add_node(b, KZ_YAML_SCALAR, event->start_mark, &node));
    node->text = (kz_text_view){copy, text.count};
    // Quoted digits are text, as YAML means it.
    node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->is_single_line = event->start_mark.line == event->end_mark.line;
    return KAZEIA_OK;
}

static kazeia_status open_collection(tree_builder *b, const yaml_event_t *event) {
    const kz_command_place place = place_of(b, event->start_mark);
    const bool is_map = event->type == YAML_MAPPING_START_EVENT;
    if (expects_key(b)) {
        return kz_command_fail(&place, KAZEIA_BAD_FILE, "a key is %s, expected a text",
                               kz_yaml_kind_name(is_map ? KZ_YAML_MAP : KZ_YAML_LIST));
    }
    if (b->level == MAX_LEVELS) {
        return kz_command_fail(&place, KAZEIA_BAD_FILE, "nested deeper than %d levels", MAX_LEVELS);
    }
    kz_yaml_node *node;
    KZ_TRY(add_node(b, is_map ? KZ_YAML_MAP : KZ_YAML_LIST, event->start_mark, &node));
    b->stack[b->level++] = node;
    return KAZEIA_OK;
}

// Aliases can make a file of a kilobyte a tree of gigabytes.
static kazeia_status refuse(const tree_builder *b, const yaml_event_t *event, const char *what) {
    const kz_command_place place = place_of(b, event->start_mark);
    return kz_command_fail(&place, KAZEIA_UNSUPPORTED, "%s", what);
}

static kazeia_status take_event(tree_builder *b, const yaml_event_t *event) {
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor != NULL ? refuse(b, event, "anchors (&) are not read")
                                                 : add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return open_collection(b, event);
    case YAML_SEQUENCE_END_EVENT:
    // libyaml pairs starts and ends, so the level does not fall below 0.
    case YAML_MAPPING_END_EVENT:
        b->level--;
        return KAZEIA_OK;
    case YAML_ALIAS_EVENT:
        return refuse(b, event, "aliases (*) are not read: write the value out");
    case YAML_DOCUMENT_START_EVENT:
        return b->root != NULL ? refuse(b, event, "a second document begins here, expected one")
                               : KAZEIA_OK;
    default:
        return KAZEIA_OK;
    }
}

static kazeia_status fail_parse(const tree_builder *b, const yaml_parser_t *parser) {
    kz_command_place place = place_of(b, parser->problem_mark);
    if (parser->error == YAML_MEMORY_ERROR) {
        return kz_command_fail(&place, KAZEIA_OUT_OF_MEMORY, "no memory to read the YAML");
    }
    return kz_command_fail(&place, KAZEIA_BAD_FILE, "the YAML is broken: %s",
                           parser->problem == NULL ? "unknown problem" : parser->problem);
}

static kazeia_status read_events(tree_builder *b, yaml_parser_t *parser) {
    for (bool is_end = false; !is_end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            return fail_parse(b, parser);
        }
        is_end = event.type == YAML_STREAM_END_EVENT;
        // The event's texts were copied; it is freed on failure, too.
        const kazeia_status status = take_event(b, &event);
        yaml_event_delete(&event);
        KZ_TRY(status);
    }
    return KAZEIA_OK;
}

kazeia_status kz_yaml_read(kz_command_arena *arena, const char *file, const void *bytes,
                           size_t count, const kz_yaml_node **out_root) {
    tree_builder builder = {.arena = arena, .file = file};
    if (count > MAX_FILE_BYTES) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: it has %zu bytes, expected at most %d", file, count,
                       MAX_FILE_BYTES);
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "%s: no memory for the YAML reader", file);
    }
    // An empty file has no bytes to point to, which libyaml takes for a mistake of its caller.
    yaml_parser_set_input_string(&parser, count > 0 ? bytes : (const void *)"", count);
    kazeia_status status = read_events(&builder, &parser);
    yaml_parser_delete(&parser);
    if (status == KAZEIA_OK && builder.root == NULL) {
        status = kz_fail(KAZEIA_BAD_FILE, "%s: it is empty, expected commands", file);
    }
    *out_root = builder.root;
    return status;
}
