// grammar_gbnf.c: GBNF -> rules.
//   in   text as llama.cpp's grammars/README.md describes it
//   out  nodes and rules in a builder
// A reader by recursive descent over bytes; only its line and column make it know where a line
// ends. As there, a rule's body may go on after a line's end inside brackets and after "::=" and
// "|".
#include <string.h>

#include "llm/grammar_build.h"
#include "text/utf8.h"

#define CLASS_RANGE_LIMIT 512u // ranges in one pair of brackets
#define REPETITION_LIMIT 8u    // signs of repetition behind one element

typedef struct gbnf_reader {
    kz_grammar_builder *builder;
    const char *text;
    size_t count, place;
    uint32_t line;
    size_t line_start;
    uint32_t depth;
    kz_char_range ranges[CLASS_RANGE_LIMIT];
} gbnf_reader;

static uint32_t column_of(const gbnf_reader *reader) {
    return (uint32_t)(reader->place - reader->line_start) + 1;
}

static kazeia_status refuse(const gbnf_reader *reader, kazeia_status status, const char *why) {
    return kz_fail(status, "grammar: line %u, column %u: %s", reader->line, column_of(reader), why);
}

static kazeia_status refuse_byte(const gbnf_reader *reader, const char *expected) {
    if (reader->place == reader->count) {
        return kz_fail(KAZEIA_BAD_FILE, "grammar: line %u, column %u: the text ends; %s expected",
                       reader->line, column_of(reader), expected);
    }
    const kz_utf8_char found =
        kz_utf8_read_last(reader->text + reader->place, reader->count - reader->place);
    return kz_fail(KAZEIA_BAD_FILE, "grammar: line %u, column %u: found '%.*s'; %s expected",
                   reader->line, column_of(reader), (int)found.length, reader->text + reader->place,
                   expected);
}

static char peek(const gbnf_reader *reader) {
    return reader->place < reader->count ? reader->text[reader->place] : '\0';
}

static bool take(gbnf_reader *reader, char byte) {
    if (reader->place < reader->count && reader->text[reader->place] == byte) {
        reader->place++;
        return true;
    }
    return false;
}

static void skip_space(gbnf_reader *reader, bool with_lines) {
    while (reader->place < reader->count) {
        const char byte = reader->text[reader->place];
        if (byte == '#') {
            const char *end =
                memchr(reader->text + reader->place, '\n', reader->count - reader->place);
            reader->place = end ? (size_t)(end - reader->text) : reader->count;
        } else if (byte == ' ' || byte == '\t' || (byte == '\r' && with_lines)) {
            reader->place++;
        } else if (byte == '\n' && with_lines) {
            reader->line_start = ++reader->place;
            reader->line++;
        } else {
            break;
        }
    }
}

static bool is_name_byte(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

static size_t read_name(gbnf_reader *reader, const char **out_name) {
    const size_t start = reader->place;
    while (is_name_byte(peek(reader))) {
        reader->place++;
    }
    *out_name = reader->text + start;
    return reader->place - start;
}

static kazeia_status read_hex(gbnf_reader *reader, uint32_t digits, uint32_t *out_character) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < digits; i++) {
        const char digit = peek(reader);
        if (digit >= '0' && digit <= '9') {
            value = value * 16 + (uint32_t)(digit - '0');
        } else if ((digit | 32) >= 'a' && (digit | 32) <= 'f') {
            value = value * 16 + (uint32_t)((digit | 32) - 'a') + 10;
        } else {
            return refuse_byte(reader, "a hexadecimal digit");
        }
        reader->place++;
    }
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
        return refuse(reader, KAZEIA_BAD_FILE, "the escape names no character");
    }
    *out_character = value;
    return KAZEIA_OK;
}

static kazeia_status read_escape(gbnf_reader *reader, uint32_t *out_character) {
    static const struct {
        char letter;
        uint32_t character;
    } plain[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}, {'"', '"'},
                 {'[', '['},  {']', ']'},  {'-', '-'},  {'^', '^'}};
    static const struct {
        char letter;
        uint32_t digits;
    } hex[] = {{'x', 2}, {'u', 4}, {'U', 8}};
    const char letter = peek(reader);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (letter == plain[i].letter) {
            reader->place++;
            *out_character = plain[i].character;
            return KAZEIA_OK;
        }
    }
    for (size_t i = 0; i < sizeof hex / sizeof hex[0]; i++) {
        if (letter == hex[i].letter) {
            reader->place++;
            return read_hex(reader, hex[i].digits, out_character);
        }
    }
    return refuse_byte(reader, "one of n r t x u U \\ \" [ ] - ^ after '\\'");
}

// One character of a literal or class, escapes undone.
static kazeia_status read_character(gbnf_reader *reader, uint32_t *out_character) {
    if (peek(reader) == '\n' || reader->place == reader->count) {
        return refuse(reader, KAZEIA_BAD_FILE, "a literal or class does not end on its line");
    }
    if (take(reader, '\\')) {
        return read_escape(reader, out_character);
    }
    const kz_utf8_char found =
        kz_utf8_read_last(reader->text + reader->place, reader->count - reader->place);
    if (!found.is_valid) {
        return refuse(reader, KAZEIA_BAD_FILE, "the bytes are not UTF-8");
    }
    reader->place += found.length;
    *out_character = found.code_point;
    return KAZEIA_OK;
}

static kazeia_status read_literal(gbnf_reader *reader, uint32_t *out_node) {
    kz_node_list parts = {0};
    char text[256];
    size_t count = 0;
    reader->place++;
    while (!take(reader, '"')) {
        uint32_t character = 0;
        KZ_TRY(read_character(reader, &character));
        if (count + 4 > sizeof text) {
            kz_list_add(reader->builder, &parts, kz_build_bytes(reader->builder, text, count));
            count = 0;
        }
        count += kz_utf8_write(character, text + count);
    }
    if (count > 0) {
        kz_list_add(reader->builder, &parts, kz_build_bytes(reader->builder, text, count));
    }
    *out_node = kz_build_sequence(reader->builder, &parts);
    return KAZEIA_OK;
}

static kazeia_status read_class(gbnf_reader *reader, uint32_t *out_node) {
    reader->place++;
    const bool is_negated = take(reader, '^');
    size_t count = 0;
    while (!take(reader, ']')) {
        kz_char_range range = {0, 0};
        if (count == CLASS_RANGE_LIMIT) {
            return refuse(reader, KAZEIA_UNSUPPORTED, "a class has more than 512 ranges");
        }
        KZ_TRY(read_character(reader, &range.low));
        range.high = range.low;
        // A hyphen in front of the bracket stands for itself.
        if (peek(reader) == '-' && reader->place + 1 < reader->count &&
            reader->text[reader->place + 1] != ']') {
            reader->place++;
            KZ_TRY(read_character(reader, &range.high));
        }
        if (range.high < range.low) {
            return refuse(reader, KAZEIA_BAD_FILE, "a range ends before it begins");
        }
        reader->ranges[count++] = range;
    }
    *out_node = kz_build_class(reader->builder, reader->ranges, count, is_negated);
    return KAZEIA_OK;
}

static kazeia_status read_count(gbnf_reader *reader, uint32_t *out_count) {
    uint32_t count = 0;
    if (peek(reader) < '0' || peek(reader) > '9') {
        return refuse_byte(reader, "a number of repetitions");
    }
    while (peek(reader) >= '0' && peek(reader) <= '9') {
        count = count * 10 + (uint32_t)(peek(reader) - '0');
        if (count > KZ_GRAMMAR_REPEAT_LIMIT) {
            return refuse(reader, KAZEIA_UNSUPPORTED, "more than 100000 repetitions");
        }
        reader->place++;
    }
    *out_count = count;
    return KAZEIA_OK;
}

// {m}, {m,}, {m,n}
static kazeia_status read_counts(gbnf_reader *reader, uint32_t *out_least, uint32_t *out_most) {
    skip_space(reader, false);
    KZ_TRY(read_count(reader, out_least));
    *out_most = *out_least;
    skip_space(reader, false);
    if (take(reader, ',')) {
        skip_space(reader, false);
        *out_most = KZ_REPEAT_FOR_EVER;
        if (peek(reader) != '}') {
            KZ_TRY(read_count(reader, out_most));
            skip_space(reader, false);
        }
    }
    if (*out_most < *out_least) {
        return refuse(reader, KAZEIA_BAD_FILE, "the most repetitions are fewer than the least");
    }
    return take(reader, '}') ? KAZEIA_OK : refuse_byte(reader, "'}'");
}

static kazeia_status read_repetition(gbnf_reader *reader, uint32_t *node) {
    for (uint32_t i = 0;; i++) {
        uint32_t least = 0, most = KZ_REPEAT_FOR_EVER;
        skip_space(reader, reader->depth > 0);
        if (take(reader, '+')) {
            least = 1;
        } else if (take(reader, '?')) {
            most = 1;
        } else if (take(reader, '{')) {
            KZ_TRY(read_counts(reader, &least, &most));
        } else if (!take(reader, '*')) {
            return KAZEIA_OK;
        }
        if (i == REPETITION_LIMIT) {
            return refuse(reader, KAZEIA_UNSUPPORTED, "more than 8 repetitions of repetitions");
        }
        *node = kz_build_repeat(reader->builder, *node, least, most);
    }
}

static kazeia_status read_choice(gbnf_reader *reader, uint32_t *out_node);

static kazeia_status read_group(gbnf_reader *reader, uint32_t *out_node) {
    if (reader->depth == KZ_GRAMMAR_NESTING_LIMIT) {
        return refuse(reader, KAZEIA_UNSUPPORTED, "more than 100 brackets within brackets");
    }
    reader->place++;
    reader->depth++;
    skip_space(reader, true);
    KZ_TRY(read_choice(reader, out_node));
    skip_space(reader, true);
    reader->depth--;
    return take(reader, ')') ? KAZEIA_OK : refuse_byte(reader, "')'");
}

static kazeia_status read_mention(gbnf_reader *reader, uint32_t *out_node) {
    const char *name = NULL;
    const uint32_t line = reader->line, column = column_of(reader);
    const size_t count = read_name(reader, &name);
    kz_grammar_builder *builder = reader->builder;
    const uint32_t rule = kz_builder_rule(builder, name, count);
    *out_node = kz_build_rule(builder, rule);
    if (builder->status == KAZEIA_OK) {
        builder->nodes[*out_node].line = line;
        builder->nodes[*out_node].column = column;
        if (builder->rules[rule].line == 0) {
            builder->rules[rule].line = line;
            builder->rules[rule].column = column;
        }
    }
    return builder->status;
}

// False, and OK, where no element begins.
static kazeia_status read_element(gbnf_reader *reader, uint32_t *out_node, bool *out_is_one) {
    const char byte = peek(reader);
    *out_is_one = true;
    if (byte == '"') {
        return read_literal(reader, out_node);
    }
    if (byte == '[') {
        return read_class(reader, out_node);
    }
    if (byte == '(') {
        return read_group(reader, out_node);
    }
    if (byte == '.') {
        reader->place++;
        *out_node = kz_build_class(reader->builder, NULL, 0, true);
        return KAZEIA_OK;
    }
    *out_is_one = is_name_byte(byte);
    return *out_is_one ? read_mention(reader, out_node) : KAZEIA_OK;
}

static kazeia_status read_sequence(gbnf_reader *reader, uint32_t *out_node) {
    kz_node_list parts = {0};
    for (;;) {
        uint32_t node = KZ_GRAMMAR_EMPTY;
        bool is_one = false;
        KZ_TRY(read_element(reader, &node, &is_one));
        if (!is_one) {
            break;
        }
        KZ_TRY(read_repetition(reader, &node));
        KZ_TRY(reader->builder->status);
        if (node != KZ_GRAMMAR_EMPTY) {
            kz_list_add(reader->builder, &parts, node);
        }
    }
    *out_node = kz_build_sequence(reader->builder, &parts);
    return reader->builder->status;
}

static kazeia_status read_choice(gbnf_reader *reader, uint32_t *out_node) {
    kz_node_list choices = {0};
    do {
        uint32_t node = KZ_GRAMMAR_EMPTY;
        skip_space(reader, true);
        KZ_TRY(read_sequence(reader, &node));
        kz_list_add(reader->builder, &choices, node);
        skip_space(reader, reader->depth > 0);
    } while (take(reader, '|'));
    *out_node = kz_build_choice(reader->builder, &choices);
    return reader->builder->status;
}

static kazeia_status read_rule(gbnf_reader *reader) {
    const char *name = NULL;
    const uint32_t line = reader->line, column = column_of(reader);
    const size_t count = read_name(reader, &name);
    if (count == 0) {
        return refuse_byte(reader, "the name of a rule");
    }
    skip_space(reader, false);
    if (!take(reader, ':') || !take(reader, ':') || !take(reader, '=')) {
        return refuse_byte(reader, "'::='");
    }
    const uint32_t rule = kz_builder_rule(reader->builder, name, count);
    KZ_TRY(reader->builder->status);
    if (reader->builder->rules[rule].body != UINT32_MAX) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "grammar: line %u, column %u: rule '%.*s' is defined a second time", line,
                       column, (int)(count < 100 ? count : 100), name);
    }
    uint32_t body = KZ_GRAMMAR_EMPTY;
    KZ_TRY(read_choice(reader, &body));
    reader->builder->rules[rule].body = body;
    reader->builder->rules[rule].line = line;
    reader->builder->rules[rule].column = column;
    if (peek(reader) != '\n' && peek(reader) != '\r' && reader->place < reader->count) {
        return refuse_byte(reader, "the end of the rule");
    }
    return KAZEIA_OK;
}

kazeia_status kz_gbnf_read(kz_grammar_builder *builder, const char *text, size_t bytes) {
    gbnf_reader reader = {.builder = builder, .text = text, .count = bytes, .line = 1};
    if (bytes > KZ_GRAMMAR_TEXT_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "grammar: it has %zu bytes; at most %zu are read", bytes,
                       KZ_GRAMMAR_TEXT_LIMIT);
    }
    for (skip_space(&reader, true); reader.place < reader.count; skip_space(&reader, true)) {
        KZ_TRY(read_rule(&reader));
    }
    return builder->status;
}

kazeia_status kz_grammar_compile_gbnf(const char *text, size_t bytes,
                                      const kazeia_allocator *allocator, kz_grammar **out_grammar) {
    kz_grammar_builder builder;
    kz_builder_init(&builder, "grammar", allocator);
    kazeia_status status = builder.status;
    if (status == KAZEIA_OK) {
        status = kz_gbnf_read(&builder, text, bytes);
    }
    if (status == KAZEIA_OK) {
        const uint32_t root = kz_builder_find_rule(&builder, "root", 4);
        status = root == KZ_NO_RULE
                     ? kz_fail(KAZEIA_BAD_FILE, "grammar: it has no rule 'root'; one expected")
                     : kz_grammar_finish(&builder, root, out_grammar);
    }
    kz_builder_clear(&builder);
    return status;
}
