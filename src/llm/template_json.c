// template_json.c: JSON text -> values.
//   in   a JSON text of a caller
//   out  values in the rendering's memory
// Strings without escapes lie where the text has them; the others are written anew. Lists and maps
// are counted before they are filled (count_elements), so that each is one piece of memory.
#include <string.h>

#include "base/number_text.h"
#include "llm/template_value.h"
#include "text/utf8.h"

typedef struct json_reader {
    kz_heap *heap;
    const char *text;
    size_t count, at;
    const char *what;
} json_reader;

static kazeia_status fail_here(const json_reader *reader, const char *expected) {
    return kz_fail(KAZEIA_BAD_ARGUMENT, "%s: no JSON at byte %zu of %zu: expected %s", reader->what,
                   reader->at, reader->count, expected);
}

static void skip_space(json_reader *reader) {
    while (reader->at < reader->count && strchr(" \t\r\n", reader->text[reader->at]) &&
           reader->text[reader->at] != '\0') {
        reader->at++;
    }
}

static char next_char(const json_reader *reader) {
    return reader->at < reader->count ? reader->text[reader->at] : '\0';
}

static bool take_char(json_reader *reader, char wanted) {
    skip_space(reader);
    if (reader->at < reader->count && reader->text[reader->at] == wanted) {
        reader->at++;
        return true;
    }
    return false;
}

// --- Strings ------------------------------------------------------------------------------------

static bool read_hex(json_reader *reader, uint32_t *out_unit) {
    uint32_t unit = 0;
    if (reader->count - reader->at < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        const char c = reader->text[reader->at++];
        const char lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9') {
            unit = unit * 16 + (uint32_t)(c - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            unit = unit * 16 + (uint32_t)(lower - 'a' + 10);
        } else {
            return false;
        }
    }
    *out_unit = unit;
    return true;
}

// A lone surrogate becomes U+FFFD, as UTF-8 has no other way to say it.
static kazeia_status put_unicode(json_reader *reader, kz_string_builder *builder) {
    uint32_t code_point = 0, low = 0;
    char bytes[4];
    if (!read_hex(reader, &code_point)) {
        return fail_here(reader, "four hexadecimal digits");
    }
    if (code_point >= 0xd800 && code_point < 0xdc00 && reader->count - reader->at >= 6 &&
        reader->text[reader->at] == '\\' && reader->text[reader->at + 1] == 'u') {
        const size_t back = reader->at;
        reader->at += 2;
        if (read_hex(reader, &low) && low >= 0xdc00 && low < 0xe000) {
            code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
        } else {
            reader->at = back;
        }
    }
    kz_string_put(builder, bytes, kz_utf8_write(code_point, bytes), KZ_FROM_CONTENT);
    return KAZEIA_OK;
}

static kazeia_status put_escape(json_reader *reader, kz_string_builder *builder) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char letter = next_char(reader);
    const char *place = letter ? strchr(letters, letter) : NULL;
    reader->at++;
    if (letter == 'u') {
        return put_unicode(reader, builder);
    }
    if (!place) {
        return fail_here(reader, "an escape");
    }
    kz_string_put(builder, meanings + (place - letters), 1, KZ_FROM_CONTENT);
    return KAZEIA_OK;
}

// The bytes up to the next quote or backslash.
static size_t count_plain(const json_reader *reader) {
    size_t at = reader->at;
    while (at < reader->count && reader->text[at] != '"' && reader->text[at] != '\\') {
        at++;
    }
    return at - reader->at;
}

static kazeia_status read_escaped(json_reader *reader, kz_variant *out_value) {
    kz_string_builder builder;
    kz_string_begin(&builder, reader->heap);
    while (reader->at < reader->count) {
        const size_t plain = count_plain(reader);
        kz_string_put(&builder, reader->text + reader->at, plain, KZ_FROM_CONTENT);
        reader->at += plain;
        if (take_char(reader, '"')) {
            KZ_TRY(kz_string_end(&builder, out_value));
            // An empty string has no span to tell by.
            out_value->source = KZ_FROM_CONTENT;
            return KAZEIA_OK;
        }
        reader->at++;
        KZ_TRY(put_escape(reader, &builder));
    }
    return fail_here(reader, "the end of a string");
}

// Behind the opening quote.
static kazeia_status read_string(json_reader *reader, kz_variant *out_value) {
    const size_t plain = count_plain(reader);
    if (reader->at + plain < reader->count && reader->text[reader->at + plain] == '"') {
        *out_value = kz_variant_text(reader->text + reader->at, plain, KZ_FROM_CONTENT);
        reader->at += plain + 1;
        return KAZEIA_OK;
    }
    return read_escaped(reader, out_value);
}

// --- Numbers and words --------------------------------------------------------------------------

static bool read_integer(const char *digits, size_t count, int64_t *out_integer) {
    const bool is_negative = digits[0] == '-';
    int64_t value = 0;
    for (size_t i = is_negative; i < count; i++) {
        const int64_t digit = digits[i] - '0';
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) {
            return false;
        }
    }
    // Counted downwards, since the least number has no positive one.
    return is_negative ? (*out_integer = value, true)
                       : !__builtin_sub_overflow((int64_t)0, value, out_integer);
}

static kazeia_status read_number(json_reader *reader, kz_variant *out_value) {
    const char *from = reader->text + reader->at;
    size_t count = 0, digits = 0;
    bool is_real = false;
    while (reader->at + count < reader->count && from[count] &&
           strchr("+-.eE0123456789", from[count])) {
        is_real = is_real || strchr(".eE", from[count]);
        digits += from[count] >= '0' && from[count] <= '9';
        count++;
    }
    char copy[KZ_NUMBER_BYTES];
    if (digits == 0 || (!is_real && digits + (from[0] == '-') != count)) {
        return fail_here(reader, "a value");
    }
    reader->at += count;
    if (!is_real) {
        *out_value = (kz_variant){.kind = KZ_VARIANT_BIG, .count = (uint32_t)count, .text = from};
        int64_t integer = 0;
        if (read_integer(from, count, &integer)) {
            *out_value = kz_variant_integer(integer);
        }
        return KAZEIA_OK;
    }
    out_value->kind = KZ_VARIANT_REAL;
    if (count < sizeof copy) {
        memcpy(copy, from, count);
        copy[count] = '\0';
    }
    if (count >= sizeof copy || !kz_number_read(copy, &out_value->real)) {
        return fail_here(reader, "a number that a double can hold");
    }
    return KAZEIA_OK;
}

static kazeia_status read_word(json_reader *reader, kz_variant *out_value) {
    static const char *const words[] = {"null", "true", "false"};
    for (size_t i = 0; i < 3; i++) {
        const size_t count = strlen(words[i]);
        if (reader->count - reader->at >= count &&
            memcmp(reader->text + reader->at, words[i], count) == 0) {
            reader->at += count;
            *out_value = i == 0 ? kz_variant_none() : kz_variant_bool(i == 1);
            return KAZEIA_OK;
        }
    }
    return read_number(reader, out_value);
}

// --- Lists and maps -----------------------------------------------------------------------------

// How many commas of this level there are up to the closing bracket, and one: an upper bound of the
// elements. Each level looks through its inner ones again; the depth is bounded.
static size_t count_elements(const json_reader *reader) {
    size_t count = 1, depth = 0;
    bool is_string = false;
    for (size_t at = reader->at; at < reader->count; at++) {
        const char c = reader->text[at];
        if (is_string) {
            at += c == '\\';
            is_string = c != '"';
        } else if (c == '"') {
            is_string = true;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (c == ']' || c == '}') {
            if (depth-- == 0) {
                break;
            }
        } else {
            count += c == ',' && depth == 0;
        }
    }
    return count;
}

static kazeia_status read_value(json_reader *reader, uint32_t depth, kz_variant *out_value);

static kazeia_status read_list(json_reader *reader, uint32_t depth, kz_variant *out_value) {
    kz_variant *items = NULL;
    const size_t room = count_elements(reader);
    uint32_t count = 0;
    KZ_TRY(kz_heap_take(reader->heap, room, sizeof *items, (void **)&items));
    if (!take_char(reader, ']')) {
        do {
            KZ_TRY(read_value(reader, depth + 1, &items[count++]));
        } while (count < room && take_char(reader, ','));
        if (!take_char(reader, ']')) {
            return fail_here(reader, "',' or ']'");
        }
    }
    *out_value = kz_variant_list(items, count);
    return KAZEIA_OK;
}

// Of two entries with one key the last counts, at the first one's place, as Python reads it.
static kazeia_status add_entry(json_reader *reader, kz_entry *entries, uint32_t *count,
                               const kz_entry *entry) {
    KZ_TRY(kz_heap_work(reader->heap, *count / 8));
    for (uint32_t i = 0; i < *count; i++) {
        if (kz_variant_same_text(&entries[i].key, &entry->key)) {
            entries[i].value = entry->value;
            return KAZEIA_OK;
        }
    }
    entries[(*count)++] = *entry;
    return KAZEIA_OK;
}

static kazeia_status read_map(json_reader *reader, uint32_t depth, kz_variant *out_value) {
    kz_entry *entries = NULL;
    const size_t room = count_elements(reader);
    size_t left = room;
    uint32_t count = 0;
    KZ_TRY(kz_heap_take(reader->heap, room, sizeof *entries, (void **)&entries));
    if (!take_char(reader, '}')) {
        do {
            kz_entry entry = {0};
            if (!take_char(reader, '"')) {
                return fail_here(reader, "a key in quotes");
            }
            KZ_TRY(read_string(reader, &entry.key));
            if (!take_char(reader, ':')) {
                return fail_here(reader, "':'");
            }
            KZ_TRY(read_value(reader, depth + 1, &entry.value));
            KZ_TRY(add_entry(reader, entries, &count, &entry));
        } while (--left > 0 && take_char(reader, ','));
        if (!take_char(reader, '}')) {
            return fail_here(reader, "',' or '}'");
        }
    }
    *out_value = (kz_variant){.kind = KZ_VARIANT_MAP, .count = count, .entries = entries};
    return KAZEIA_OK;
}

static kazeia_status read_value(json_reader *reader, uint32_t depth, kz_variant *out_value) {
    if (depth > KZ_VARIANT_DEPTH) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "%s: JSON nested deeper than %u at byte %zu",
                       reader->what, KZ_VARIANT_DEPTH, reader->at);
    }
    KZ_TRY(kz_heap_work(reader->heap, 1));
    skip_space(reader);
    switch (next_char(reader)) {
    case '{':
        reader->at++;
        return read_map(reader, depth, out_value);
    case '[':
        reader->at++;
        return read_list(reader, depth, out_value);
    case '"':
        reader->at++;
        return read_string(reader, out_value);
    default:
        return read_word(reader, out_value);
    }
}

kazeia_status kz_variant_from_json(kz_heap *heap, const char *text, size_t count, const char *what,
                                   kz_variant *out_value) {
    json_reader reader = {.heap = heap, .text = text, .count = count, .what = what};
    if (count > UINT32_MAX / 2) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "%s: %zu bytes of JSON are too many", what, count);
    }
    KZ_TRY(read_value(&reader, 0, out_value));
    skip_space(&reader);
    return reader.at == count ? KAZEIA_OK : fail_here(&reader, "the end");
}
