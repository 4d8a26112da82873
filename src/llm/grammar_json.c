// grammar_json.c: JSON text -> a tree of values.
//   in   text
//   out  values
#include "llm/grammar_json.h"

#include <string.h>

#include "text/utf8.h"

#define VALUE_LIMIT (1u << 18)

typedef struct json_reader {
    kz_json_tree *tree;
    const char *text;
    size_t count, place;
    uint32_t depth;
} json_reader;

static kazeia_status refuse(const json_reader *reader, kazeia_status status, const char *why) {
    uint32_t line = 1;
    size_t start = 0;
    for (size_t i = 0; i < reader->place; i++) {
        if (reader->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    return kz_fail(status, "schema: line %u, column %zu: %s", line, reader->place - start + 1, why);
}

static void skip_space(json_reader *reader) {
    while (reader->place < reader->count && reader->text[reader->place] != '\0' &&
           strchr(" \t\r\n", reader->text[reader->place])) {
        reader->place++;
    }
}

static bool take(json_reader *reader, const char *word) {
    const size_t count = strlen(word);
    if (reader->count - reader->place < count ||
        memcmp(reader->text + reader->place, word, count) != 0) {
        return false;
    }
    reader->place += count;
    return true;
}

static char peek(const json_reader *reader) {
    return reader->place < reader->count ? reader->text[reader->place] : '\0';
}

// Room was taken for every byte of the text twice: no escape is longer undone.
static void put(json_reader *reader, const char *bytes, size_t count) {
    memcpy(reader->tree->bytes + reader->tree->byte_count, bytes, count);
    reader->tree->byte_count += (uint32_t)count;
}

static kazeia_status read_unit(json_reader *reader, uint32_t *out_unit) {
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++, reader->place++) {
        const char digit = peek(reader);
        const char small = (char)(digit | 32);
        if (digit >= '0' && digit <= '9') {
            unit = unit * 16 + (uint32_t)(digit - '0');
        } else if (small >= 'a' && small <= 'f') {
            unit = unit * 16 + (uint32_t)(small - 'a') + 10;
        } else {
            return refuse(reader, KAZEIA_BAD_FILE, "four hexadecimal digits expected after '\\u'");
        }
    }
    *out_unit = unit;
    return KAZEIA_OK;
}

static kazeia_status read_escape(json_reader *reader) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char letter = peek(reader);
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    if (found) {
        reader->place++;
        put(reader, &meanings[found - letters], 1);
        return KAZEIA_OK;
    }
    uint32_t unit = 0, low = 0;
    char bytes[4];
    if (!take(reader, "u")) {
        return refuse(reader, KAZEIA_BAD_FILE, "no such escape");
    }
    KZ_TRY(read_unit(reader, &unit));
    if (unit >= 0xd800 && unit < 0xdc00 && take(reader, "\\u")) {
        KZ_TRY(read_unit(reader, &low));
        unit = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff)
                                             : 0xd800;
    }
    if (unit == 0 || (unit >= 0xd800 && unit < 0xe000)) {
        return refuse(reader, KAZEIA_BAD_FILE,
                      "the escape names no character that a text may have");
    }
    put(reader, bytes, kz_utf8_write(unit, bytes));
    return KAZEIA_OK;
}

static kazeia_status read_text(json_reader *reader, kz_json_text *out_text) {
    const uint32_t first = reader->tree->byte_count;
    if (!take(reader, "\"")) {
        return refuse(reader, KAZEIA_BAD_FILE, "a string expected");
    }
    while (!take(reader, "\"")) {
        if (take(reader, "\\")) {
            KZ_TRY(read_escape(reader));
            continue;
        }
        const kz_utf8_char read =
            kz_utf8_read_last(reader->text + reader->place, reader->count - reader->place);
        if (!read.is_valid || read.code_point < 0x20) {
            return refuse(reader, KAZEIA_BAD_FILE,
                          "a string does not end, or has a byte that is no text");
        }
        put(reader, reader->text + reader->place, read.length);
        reader->place += read.length;
    }
    *out_text = (kz_json_text){first, reader->tree->byte_count - first};
    put(reader, "", 1);
    return KAZEIA_OK;
}

static bool take_digits(json_reader *reader) {
    const size_t start = reader->place;
    while (peek(reader) >= '0' && peek(reader) <= '9') {
        reader->place++;
    }
    return reader->place > start;
}

static kazeia_status read_number(json_reader *reader, kz_json_text *out_text) {
    const size_t start = reader->place;
    take(reader, "-");
    bool is_number = take(reader, "0") || take_digits(reader);
    if (is_number && take(reader, ".")) {
        is_number = take_digits(reader);
    }
    if (is_number && (take(reader, "e") || take(reader, "E"))) {
        is_number = take(reader, "+") || take(reader, "-") || true;
        is_number = take_digits(reader);
    }
    if (!is_number) {
        return refuse(reader, KAZEIA_BAD_FILE, "a value expected");
    }
    *out_text = (kz_json_text){reader->tree->byte_count, (uint32_t)(reader->place - start)};
    put(reader, reader->text + start, reader->place - start);
    put(reader, "", 1);
    return KAZEIA_OK;
}

static kazeia_status add_value(json_reader *reader, uint32_t parent, kz_json_text key,
                               uint32_t *out_value) {
    kz_json_tree *tree = reader->tree;
    if (tree->count == VALUE_LIMIT) {
        return refuse(reader, KAZEIA_UNSUPPORTED, "more than 262144 values");
    }
    if (tree->count == tree->capacity) {
        const uint32_t larger = tree->capacity < 64 ? 64 : tree->capacity * 2;
        KZ_TRY(kz_realloc(&tree->allocator, tree->capacity, larger, sizeof *tree->values, "schema",
                          (void **)&tree->values));
        tree->capacity = larger;
    }
    tree->values[tree->count] =
        (kz_json_value){.key = key, .child = KZ_JSON_NONE, .next = KZ_JSON_NONE, .parent = parent};
    *out_value = tree->count++;
    return KAZEIA_OK;
}

static kazeia_status read_value(json_reader *reader, uint32_t parent, kz_json_text key,
                                uint32_t *out_value);

static kazeia_status read_members(json_reader *reader, uint32_t container, bool is_object) {
    const char *end = is_object ? "}" : "]";
    uint32_t last = KZ_JSON_NONE;
    skip_space(reader);
    if (take(reader, end)) {
        return KAZEIA_OK;
    }
    for (uint32_t i = 0;; i++) {
        kz_json_text key = {0, 0};
        uint32_t value = 0;
        skip_space(reader);
        if (is_object) {
            KZ_TRY(read_text(reader, &key));
            skip_space(reader);
            if (!take(reader, ":")) {
                return refuse(reader, KAZEIA_BAD_FILE, "':' expected");
            }
        }
        KZ_TRY(read_value(reader, container, key, &value));
        kz_json_value *values = reader->tree->values;
        values[value].index = i;
        values[container].child_count++;
        *(last == KZ_JSON_NONE ? &values[container].child : &values[last].next) = value;
        last = value;
        skip_space(reader);
        if (take(reader, end)) {
            return KAZEIA_OK;
        }
        if (!take(reader, ",")) {
            return refuse(reader, KAZEIA_BAD_FILE,
                          is_object ? "',' or '}' expected" : "',' or ']' expected");
        }
    }
}

static kazeia_status read_container(json_reader *reader, uint32_t value, bool is_object) {
    if (reader->depth == KZ_GRAMMAR_NESTING_LIMIT) {
        return refuse(reader, KAZEIA_UNSUPPORTED, "more than 100 brackets within brackets");
    }
    reader->tree->values[value].kind = is_object ? KZ_JSON_OBJECT : KZ_JSON_ARRAY;
    reader->depth++;
    KZ_TRY(read_members(reader, value, is_object));
    reader->depth--;
    return KAZEIA_OK;
}

static kazeia_status read_value(json_reader *reader, uint32_t parent, kz_json_text key,
                                uint32_t *out_value) {
    static const char *const words[] = {"null", "false", "true"}; // in the order of kz_json_kind
    uint32_t value = 0;
    kz_json_text text = {0, 0};
    skip_space(reader);
    KZ_TRY(add_value(reader, parent, key, &value));
    *out_value = value;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (take(reader, words[i])) {
            reader->tree->values[value].kind = (kz_json_kind)i;
            return KAZEIA_OK;
        }
    }
    if (take(reader, "{")) {
        return read_container(reader, value, true);
    }
    if (take(reader, "[")) {
        return read_container(reader, value, false);
    }
    const bool is_string = peek(reader) == '"';
    KZ_TRY(is_string ? read_text(reader, &text) : read_number(reader, &text));
    reader->tree->values[value].kind = is_string ? KZ_JSON_STRING : KZ_JSON_NUMBER;
    reader->tree->values[value].text = text;
    return KAZEIA_OK;
}

kazeia_status kz_json_tree_read(const char *text, size_t bytes, const kazeia_allocator *allocator,
                                kz_json_tree *out_tree) {
    json_reader reader = {.tree = out_tree, .text = text, .count = bytes};
    uint32_t value = 0;
    *out_tree = (kz_json_tree){.allocator = kz_allocator_or_default(allocator)};
    if (bytes > KZ_GRAMMAR_TEXT_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "schema: it has %zu bytes; at most %zu are read", bytes,
                       KZ_GRAMMAR_TEXT_LIMIT);
    }
    KZ_TRY(kz_alloc(&out_tree->allocator, bytes * 2 + 1, 1, "schema", (void **)&out_tree->bytes));
    KZ_TRY(read_value(&reader, KZ_JSON_NONE, (kz_json_text){0, 0}, &value));
    skip_space(&reader);
    return reader.place == bytes ? KAZEIA_OK
                                 : refuse(&reader, KAZEIA_BAD_FILE, "the end of the text expected");
}

void kz_json_tree_clear(kz_json_tree *tree) {
    kz_free(&tree->allocator, tree->values);
    kz_free(&tree->allocator, tree->bytes);
}

const char *kz_json_string(const kz_json_tree *tree, kz_json_text text) {
    return tree->bytes + text.first;
}

uint32_t kz_json_member(const kz_json_tree *tree, uint32_t object, const char *key) {
    uint32_t found = KZ_JSON_NONE;
    if (object == KZ_JSON_NONE || tree->values[object].kind != KZ_JSON_OBJECT) {
        return KZ_JSON_NONE;
    }
    for (uint32_t i = tree->values[object].child; i != KZ_JSON_NONE; i = tree->values[i].next) {
        const kz_json_text text = tree->values[i].key;
        if (text.count == strlen(key) && memcmp(kz_json_string(tree, text), key, text.count) == 0) {
            found = i;
        }
    }
    return found;
}
