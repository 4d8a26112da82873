// grammar_regex.c: a schema's `pattern` -> nodes.
//   in   a regular expression: the part of ECMA 262 that has a meaning for whole texts
//   out  nodes for the characters between the quotes of a JSON string
// Handled: literals, ., classes, \d \w \s and their opposites, \n \r \t \f \v \xHH \uHHHH, groups,
// |, * + ? {m,n} (lazy or not), ^ at the beginning and $ at the end. What looks around, back or for
// words is refused by name. Characters that a JSON string escapes are allowed in their short
// escape, or \u00XX.
#include <string.h>

#include "llm/grammar_schema.h"
#include "text/utf8.h"

#define RANGE_LIMIT 256u

typedef struct regex_reader {
    kz_schema *schema;
    uint32_t value;
    const char *text;
    size_t count, place;
    uint32_t depth;
} regex_reader;

typedef struct range_list {
    kz_char_range ranges[RANGE_LIMIT];
    uint32_t count;
} range_list;

static kazeia_status refuse(const regex_reader *reader, kazeia_status status, const char *why) {
    char path[KZ_SCHEMA_PATH_BYTES];
    kz_schema_path(reader->schema, reader->value, path);
    return kz_fail(status, "schema: '%s': character %zu: %s", path, reader->place + 1, why);
}

static char peek(const regex_reader *reader) {
    return reader->place < reader->count ? reader->text[reader->place] : '\0';
}

static bool take(regex_reader *reader, char byte) {
    if (peek(reader) == byte && reader->place < reader->count) {
        reader->place++;
        return true;
    }
    return false;
}

// --- Characters as JSON writes them -------------------------------------------------------------
static void add_raw(const kz_char_range *range, kz_char_range *raw, uint32_t *count) {
    // What a JSON string may hold as it is: all but control characters, the quote, the backslash.
    static const kz_char_range allowed[] = {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0x10ffff}};
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        const uint32_t low = range->low > allowed[i].low ? range->low : allowed[i].low;
        const uint32_t high = range->high < allowed[i].high ? range->high : allowed[i].high;
        if (low <= high) {
            raw[(*count)++] = (kz_char_range){low, high};
        }
    }
}

static void add_escaped(regex_reader *reader, uint32_t character, kz_node_list *choices) {
    const char byte = (char)character;
    kz_grammar_builder *builder = reader->schema->builder;
    kz_node_list parts = {0};
    // kz_schema_quoted puts quotes around it; here they are in the text already.
    static const char specials[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    static const char digits[] = "0123456789abcdef";
    const char *found = byte != '\0' ? strchr(specials, byte) : NULL;
    if (found) {
        const char escape[2] = {'\\', letters[found - specials]};
        kz_list_add(builder, &parts, kz_build_bytes(builder, escape, sizeof escape));
    } else if (byte != '\0') {
        const char escape[6] = {
            '\\', 'u', '0', '0', digits[character >> 4 & 1], digits[character & 15]};
        kz_list_add(builder, &parts, kz_build_bytes(builder, escape, sizeof escape));
    }
    if (parts.count > 0) {
        kz_list_add(builder, choices, kz_build_sequence(builder, &parts));
    }
}

static bool holds(const kz_char_range *ranges, size_t count, uint32_t character) {
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].low <= character && character <= ranges[i].high) {
            return true;
        }
    }
    return false;
}

// A node for one character of the class, as JSON writes it. Ranges need not be in order.
static uint32_t build_characters(regex_reader *reader, range_list *list, bool is_negated) {
    kz_grammar_builder *builder = reader->schema->builder;
    // The class itself is built for its sorted, joined, negated ranges.
    const uint32_t class = kz_build_class(builder, list->ranges, list->count, is_negated);
    kz_char_range raw[3 * RANGE_LIMIT + 6];
    kz_node_list choices = {0};
    uint32_t raw_count = 0;
    if (builder->status != KAZEIA_OK) {
        return KZ_GRAMMAR_EMPTY;
    }
    const kz_char_range *ranges = builder->ranges + builder->nodes[class].first;
    const uint32_t count = builder->nodes[class].count;
    for (uint32_t i = 0; i < count; i++) {
        add_raw(&ranges[i], raw, &raw_count);
    }
    uint8_t escaped[34];
    uint32_t escaped_count = 0;
    for (uint32_t character = 0; character <= '\\'; character++) {
        if ((character < 0x20 || character == '"' || character == '\\') &&
            holds(ranges, count, character)) {
            escaped[escaped_count++] = (uint8_t)character;
        }
    }
    if (raw_count > 0) {
        kz_list_add(builder, &choices, kz_build_class(builder, raw, raw_count, false));
    }
    for (uint32_t i = 0; i < escaped_count; i++) {
        add_escaped(reader, escaped[i], &choices);
    }
    return kz_build_choice(builder, &choices);
}

static kazeia_status add_range(const regex_reader *reader, range_list *list, uint32_t low,
                               uint32_t high) {
    if (low > high) {
        return refuse(reader, KAZEIA_BAD_FILE, "a range ends before it begins");
    }
    if (list->count == RANGE_LIMIT) {
        return refuse(reader, KAZEIA_UNSUPPORTED, "a class has more than 256 ranges");
    }
    list->ranges[list->count++] = (kz_char_range){low, high};
    return KAZEIA_OK;
}

// \d \w \s, and in capitals all other characters; false for another letter.
static bool find_named(char letter, const kz_char_range **out_ranges, size_t *out_count) {
    static const kz_char_range digit[] = {{'0', '9'}};
    static const kz_char_range word[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const kz_char_range space[] = {
        {'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
        {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
    static const struct {
        char letter;
        const kz_char_range *ranges;
        size_t count;
    } named[] = {{'d', digit, 1}, {'w', word, 4}, {'s', space, 10}};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if ((letter | 32) == named[i].letter) {
            *out_ranges = named[i].ranges;
            *out_count = named[i].count;
            return true;
        }
    }
    return false;
}

static kazeia_status add_named(const regex_reader *reader, char letter, range_list *list) {
    const kz_char_range *ranges = NULL;
    size_t count = 0;
    uint32_t next = 0;
    find_named(letter, &ranges, &count);
    for (size_t i = 0; i < count; i++) {
        if ((letter & 32) != 0) {
            KZ_TRY(add_range(reader, list, ranges[i].low, ranges[i].high));
        } else {
            KZ_TRY(add_range(reader, list, next, ranges[i].low - 1));
        }
        next = ranges[i].high + 1;
    }
    return (letter & 32) != 0 ? KAZEIA_OK : add_range(reader, list, next, 0x10ffff);
}

static kazeia_status read_hex(regex_reader *reader, uint32_t digits, uint32_t *out_character) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < digits; i++, reader->place++) {
        const char digit = peek(reader), small = (char)(digit | 32);
        if (digit >= '0' && digit <= '9') {
            value = value * 16 + (uint32_t)(digit - '0');
        } else if (small >= 'a' && small <= 'f') {
            value = value * 16 + (uint32_t)(small - 'a') + 10;
        } else {
            return refuse(reader, KAZEIA_BAD_FILE, "a hexadecimal digit expected");
        }
    }
    *out_character = value;
    return KAZEIA_OK;
}

// After the backslash, a character that stands for one.
static kazeia_status read_escape(regex_reader *reader, bool is_in_class, uint32_t *out_character) {
    static const char letters[] = "nrtfv", meanings[] = "\n\r\t\f\v";
    const char letter = peek(reader);
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') || (letter & 0x80) != 0;
    if (found || (is_in_class && letter == 'b')) {
        reader->place++;
        *out_character = found ? (uint8_t)meanings[found - letters] : '\b';
        return KAZEIA_OK;
    }
    if (letter == 'x' || letter == 'u') {
        reader->place++;
        return read_hex(reader, letter == 'x' ? 2 : 4, out_character);
    }
    if (is_plain || reader->place == reader->count) {
        return refuse(reader, KAZEIA_UNSUPPORTED,
                      "this escape is not supported (looking back, for words or for properties of "
                      "characters)");
    }
    reader->place++;
    *out_character = (uint8_t)letter;
    return KAZEIA_OK;
}

static kazeia_status read_character(regex_reader *reader, uint32_t *out_character) {
    const kz_utf8_char read =
        kz_utf8_read_last(reader->text + reader->place, reader->count - reader->place);
    reader->place += read.length;
    *out_character = read.code_point;
    return KAZEIA_OK;
}

// --- Elements -----------------------------------------------------------------------------------
// One end of a range, or a named class; *out_is_one false: the latter.
static kazeia_status read_class_end(regex_reader *reader, range_list *list, bool *out_is_one,
                                    uint32_t *out_character) {
    const kz_char_range *ranges = NULL;
    size_t count = 0;
    *out_is_one = true;
    if (!take(reader, '\\')) {
        return read_character(reader, out_character);
    }
    if (find_named(peek(reader), &ranges, &count)) {
        *out_is_one = false;
        return add_named(reader, reader->text[reader->place++], list);
    }
    return read_escape(reader, true, out_character);
}

static kazeia_status read_class(regex_reader *reader, uint32_t *out_node) {
    range_list list = {.count = 0};
    const bool is_negated = take(reader, '^');
    while (!take(reader, ']')) {
        uint32_t low = 0, high = 0;
        bool is_one = false, is_range = false;
        if (reader->place == reader->count) {
            return refuse(reader, KAZEIA_BAD_FILE, "']' expected");
        }
        KZ_TRY(read_class_end(reader, &list, &is_one, &low));
        high = low;
        is_range = is_one && peek(reader) == '-' && reader->place + 1 < reader->count &&
                   reader->text[reader->place + 1] != ']';
        if (is_range) {
            reader->place++;
            KZ_TRY(read_class_end(reader, &list, &is_range, &high));
            if (!is_range) {
                return refuse(reader, KAZEIA_BAD_FILE, "a range ends with a class");
            }
        }
        if (is_one) {
            KZ_TRY(add_range(reader, &list, low, high));
        }
    }
    *out_node = build_characters(reader, &list, is_negated);
    return KAZEIA_OK;
}

static kazeia_status read_choice(regex_reader *reader, uint32_t *out_node);

static kazeia_status read_group(regex_reader *reader, uint32_t *out_node) {
    if (take(reader, '?') && !take(reader, ':')) {
        return refuse(reader, KAZEIA_UNSUPPORTED,
                      "only plain groups and (?: ) are supported, no looking around, no names");
    }
    if (reader->depth == KZ_GRAMMAR_NESTING_LIMIT) {
        return refuse(reader, KAZEIA_UNSUPPORTED, "more than 100 groups within groups");
    }
    reader->depth++;
    KZ_TRY(read_choice(reader, out_node));
    reader->depth--;
    return take(reader, ')') ? KAZEIA_OK : refuse(reader, KAZEIA_BAD_FILE, "')' expected");
}

static kazeia_status read_element(regex_reader *reader, uint32_t *out_node) {
    range_list list = {.count = 0};
    bool is_one = false;
    uint32_t character = 0;
    if (take(reader, '(')) {
        return read_group(reader, out_node);
    }
    if (take(reader, '[')) {
        return read_class(reader, out_node);
    }
    if (take(reader, '.')) {
        static const kz_char_range breaks[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
        memcpy(list.ranges, breaks, sizeof breaks);
        list.count = 3;
        *out_node = build_characters(reader, &list, true);
        return KAZEIA_OK;
    }
    if (strchr("*+?{^$", peek(reader))) {
        return refuse(reader, KAZEIA_UNSUPPORTED,
                      "this sign is not supported here (^ stands at the beginning, $ at the end, "
                      "repetition behind something)");
    }
    const bool is_escape = peek(reader) == '\\';
    const kz_char_range *ranges = NULL;
    size_t count = 0;
    if (is_escape && reader->place + 1 < reader->count &&
        !find_named(reader->text[reader->place + 1], &ranges, &count)) {
        reader->place++;
        is_one = true;
        KZ_TRY(read_escape(reader, false, &character));
    } else {
        KZ_TRY(read_class_end(reader, &list, &is_one, &character));
    }
    if (is_one) {
        KZ_TRY(add_range(reader, &list, character, character));
    }
    *out_node = build_characters(reader, &list, false);
    return KAZEIA_OK;
}

static kazeia_status read_count(regex_reader *reader, uint32_t *out_count) {
    uint32_t count = 0;
    if (peek(reader) < '0' || peek(reader) > '9') {
        return refuse(reader, KAZEIA_BAD_FILE, "a number of repetitions expected");
    }
    for (; peek(reader) >= '0' && peek(reader) <= '9'; reader->place++) {
        count = count * 10 + (uint32_t)(peek(reader) - '0');
        if (count > KZ_GRAMMAR_REPEAT_LIMIT) {
            return refuse(reader, KAZEIA_UNSUPPORTED, "more than 100000 repetitions");
        }
    }
    *out_count = count;
    return KAZEIA_OK;
}

static kazeia_status read_repetition(regex_reader *reader, uint32_t *node) {
    uint32_t least = 0, most = KZ_REPEAT_FOR_EVER;
    if (take(reader, '+')) {
        least = 1;
    } else if (take(reader, '?')) {
        most = 1;
    } else if (take(reader, '{')) {
        KZ_TRY(read_count(reader, &least));
        most = least;
        if (take(reader, ',')) {
            most = KZ_REPEAT_FOR_EVER;
            if (peek(reader) != '}') {
                KZ_TRY(read_count(reader, &most));
            }
        }
        if (!take(reader, '}') || most < least) {
            return refuse(reader, KAZEIA_BAD_FILE, "{m}, {m,} or {m,n} expected, m up to n");
        }
    } else if (!take(reader, '*')) {
        return KAZEIA_OK;
    }
    take(reader, '?'); // a lazy repetition matches the same texts
    *node = kz_build_repeat(reader->schema->builder, *node, least, most);
    return KAZEIA_OK;
}

static kazeia_status read_sequence(regex_reader *reader, uint32_t *out_node) {
    kz_node_list parts = {0};
    while (reader->place < reader->count && peek(reader) != '|' && peek(reader) != ')') {
        uint32_t node = KZ_GRAMMAR_EMPTY;
        if (peek(reader) == '$' && reader->place + 1 == reader->count) {
            break;
        }
        KZ_TRY(read_element(reader, &node));
        KZ_TRY(read_repetition(reader, &node));
        KZ_TRY(reader->schema->builder->status);
        kz_list_add(reader->schema->builder, &parts, node);
    }
    *out_node = kz_build_sequence(reader->schema->builder, &parts);
    return KAZEIA_OK;
}

static kazeia_status read_choice(regex_reader *reader, uint32_t *out_node) {
    kz_node_list choices = {0};
    do {
        uint32_t node = KZ_GRAMMAR_EMPTY;
        KZ_TRY(read_sequence(reader, &node));
        kz_list_add(reader->schema->builder, &choices, node);
    } while (take(reader, '|'));
    *out_node = kz_build_choice(reader->schema->builder, &choices);
    return reader->schema->builder->status;
}

static uint32_t build_anything(regex_reader *reader) {
    range_list none = {.count = 0};
    return kz_build_repeat(reader->schema->builder, build_characters(reader, &none, true), 0,
                           KZ_REPEAT_FOR_EVER);
}

// A '|' outside groups splits the anchors too: "^a|b$" means (^a)|(b$), which is refused.
static bool has_top_choice(const char *text, size_t count) {
    int depth = 0;
    bool is_in_class = false;
    for (size_t i = 0; i < count; i++) {
        if (text[i] == '\\') {
            i++;
        } else if (is_in_class) {
            is_in_class = text[i] != ']';
        } else if (text[i] == '[') {
            is_in_class = true;
        } else if (text[i] == '|' && depth == 0) {
            return true;
        } else {
            depth += (text[i] == '(') - (text[i] == ')');
        }
    }
    return false;
}

kazeia_status kz_schema_pattern(kz_schema *schema, uint32_t value, uint32_t *out_node) {
    const kz_json_value *found = &schema->tree.values[value];
    regex_reader reader = {.schema = schema,
                           .value = value,
                           .text = kz_json_string(&schema->tree, found->text),
                           .count = found->text.count};
    kz_node_list parts = {0};
    uint32_t node = KZ_GRAMMAR_EMPTY;
    if (found->kind != KZ_JSON_STRING) {
        return kz_schema_refuse(schema, KAZEIA_BAD_FILE, value, "is no string");
    }
    const bool has_choice = has_top_choice(reader.text, reader.count);
    const bool begins = take(&reader, '^');
    if (!begins) {
        kz_list_add(schema->builder, &parts, build_anything(&reader));
    }
    KZ_TRY(read_choice(&reader, &node));
    const bool ends = take(&reader, '$');
    if (reader.place < reader.count) {
        return refuse(&reader, KAZEIA_BAD_FILE, "a ')' that opens nowhere");
    }
    if (has_choice && (begins || ends)) {
        return refuse(&reader, KAZEIA_UNSUPPORTED,
                      "^ or $ beside '|' belongs to one choice only; put the choice in brackets");
    }
    kz_list_add(schema->builder, &parts, node);
    if (!ends) {
        kz_list_add(schema->builder, &parts, build_anything(&reader));
    }
    *out_node = kz_build_sequence(schema->builder, &parts);
    return schema->builder->status;
}
