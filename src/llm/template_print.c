// template_print.c: values -> text, as Python writes them.
//   in   a value
//   out  a string of str() or json.dumps()
// Numbers follow Python's repr: the fewest digits that give the same double back, an exponent below
// 1e-4 and from 1e16 on, and ".0" behind a whole one.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number_text.h"
#include "llm/template_value.h"
#include "text/utf8.h"

typedef struct printing {
    kz_string_builder out;
    const kz_json_style *style; // NULL: Python's repr
    uint32_t depth;
    uint32_t source; // of what is not copied from a string
} printing;

static void put(printing *printer, const char *text) {
    kz_string_put(&printer->out, text, strlen(text), printer->source);
}

static void fail(printing *printer, const char *why) {
    if (printer->out.status == KAZEIA_OK) {
        printer->out.status = kz_fail(KAZEIA_BAD_ARGUMENT, "%s", why);
    }
}

// --- Numbers ------------------------------------------------------------------------------------

// Digits without point and zeros at the ends, and the place of the point behind them: 0.digits
// times ten to *out_place.
static void split_number(const char *written, char *digits, int *out_place) {
    size_t count = 0;
    int place = 0, exponent = 0;
    bool is_fraction = false;
    for (; *written && *written != 'e'; written++) {
        if (*written == '.') {
            is_fraction = true;
        } else if (*written != '-') {
            const bool is_leading_zero = count == 0 && *written == '0';
            if (!is_leading_zero) {
                digits[count++] = *written;
            }
            place += is_fraction ? -is_leading_zero : !is_leading_zero;
        }
    }
    if (*written == 'e') {
        (void)sscanf(written + 1, "%d", &exponent);
    }
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    digits[count] = '\0';
    *out_place = place + exponent;
}

static void put_real(printing *printer, double value) {
    char written[KZ_NUMBER_BYTES], digits[KZ_NUMBER_BYTES], text[2 * KZ_NUMBER_BYTES];
    int place = 0;
    double again = 0;
    if (!isfinite(value)) {
        const bool is_json = printer->style != NULL;
        put(printer, isnan(value)  ? (is_json ? "NaN" : "nan")
                     : value > 0.0 ? (is_json ? "Infinity" : "inf")
                                   : (is_json ? "-Infinity" : "-inf"));
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        kz_number_write(value, precision, written);
        if (kz_number_read(written, &again) && again == value) {
            break;
        }
    }
    split_number(written, digits, &place);
    const int count = (int)strlen(digits);
    put(printer, signbit(value) ? "-" : "");
    if (count == 0) {
        (void)snprintf(text, sizeof text, "0.0");
    } else if (place > 16 || place < -3) {
        (void)snprintf(text, sizeof text, "%.1s%s%se%c%02d", digits, count > 1 ? "." : "",
                       digits + 1, place > 0 ? '+' : '-', place > 0 ? place - 1 : 1 - place);
    } else if (place <= 0) {
        (void)snprintf(text, sizeof text, "0.%.*s%s", -place, "0000", digits);
    } else if (count <= place) {
        (void)snprintf(text, sizeof text, "%s%.*s.0", digits, place - count, "0000000000000000");
    } else {
        (void)snprintf(text, sizeof text, "%.*s.%s", place, digits, digits + place);
    }
    put(printer, text);
}

// --- Strings ------------------------------------------------------------------------------------

// Copies bytes that need no escape in one piece, then says the next one's escape with `escape`,
// which returns how many bytes it stands for, 0 for a plain one.
static void put_escaped(printing *printer, const kz_variant *string,
                        uint32_t (*escape)(const kz_variant *string, uint32_t at, char quote,
                                           const kz_json_style *style, char out[16]),
                        char quote) {
    uint32_t plain = 0;
    for (uint32_t at = 0; at < string->count;) {
        char escaped[16];
        const uint32_t taken = escape(string, at, quote, printer->style, escaped);
        if (taken == 0) {
            at++;
            continue;
        }
        kz_string_put(&printer->out, string->text + plain, at - plain, printer->source);
        put(printer, escaped);
        at += taken;
        plain = at;
    }
    kz_string_put(&printer->out, string->text + plain, string->count - plain, printer->source);
}

static uint32_t escape_json(const kz_variant *string, uint32_t at, char quote,
                            const kz_json_style *style, char out[16]) {
    static const char special[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf";
    const uint8_t byte = (uint8_t)string->text[at];
    const char *place = byte ? strchr(special, byte) : NULL;
    (void)quote;
    if (place) {
        (void)snprintf(out, 16, "\\%c", letters[place - special]);
        return 1;
    }
    if (byte < 0x20) {
        (void)snprintf(out, 16, "\\u%04x", byte);
        return 1;
    }
    if (byte < 0x80 || !style->is_ascii) {
        return 0;
    }
    const kz_utf8_char c = kz_utf8_read_last(string->text + at, string->count - at);
    if (c.code_point < 0x10000) {
        (void)snprintf(out, 16, "\\u%04x", c.code_point);
    } else {
        const uint32_t rest = c.code_point - 0x10000;
        (void)snprintf(out, 16, "\\u%04x\\u%04x", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    }
    return c.length;
}

// Python escapes what it holds for unprintable: controls, spaces but the usual one, the soft
// hyphen.
static uint32_t escape_python(const kz_variant *string, uint32_t at, char quote,
                              const kz_json_style *style, char out[16]) {
    const uint8_t byte = (uint8_t)string->text[at];
    (void)style;
    if (byte == '\n' || byte == '\r' || byte == '\t') {
        (void)snprintf(out, 16, "\\%c", byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't');
        return 1;
    }
    if (byte == '\\' || byte == (uint8_t)quote) {
        (void)snprintf(out, 16, "\\%c", byte);
        return 1;
    }
    if (byte >= 0x20 && byte < 0x7f) {
        return 0;
    }
    const kz_utf8_char c = kz_utf8_read_last(string->text + at, string->count - at);
    const bool is_hidden = c.code_point < 0xa1 || c.code_point == 0xad ||
                           (c.code_point >= 0x2000 && kz_char_is_space(c.code_point)) ||
                           (c.code_point >= 0x200b && c.code_point <= 0x200f) ||
                           c.code_point == 0xfeff;
    if (!is_hidden) {
        return 0;
    }
    (void)snprintf(out, 16, c.code_point < 0x100 ? "\\x%02x" : "\\u%04x", c.code_point);
    return c.length;
}

static void put_string(printing *printer, const kz_variant *string) {
    const bool is_json = printer->style != NULL;
    const bool has_single = memchr(string->text, '\'', string->count) != NULL;
    const bool has_double = memchr(string->text, '"', string->count) != NULL;
    const char quote = is_json || (has_single && !has_double) ? '"' : '\'';
    const char quotes[2] = {quote, '\0'};
    put(printer, quotes);
    put_escaped(printer, string, is_json ? escape_json : escape_python, quote);
    put(printer, quotes);
}

// --- Lists and maps -----------------------------------------------------------------------------

static void put_value(printing *printer, const kz_variant *value);

static void put_line_end(printing *printer) {
    if (printer->style && printer->style->indent >= 0) {
        put(printer, "\n");
        for (uint64_t i = 0; i < printer->depth * (uint64_t)printer->style->indent; i++) {
            put(printer, " ");
        }
    }
}

static void put_separator(printing *printer, uint32_t i) {
    if (i > 0) {
        put(printer, printer->style ? printer->style->item_separator : ", ");
    }
    put_line_end(printer);
}

static void put_key(printing *printer, const kz_variant *key) {
    kz_variant text = *key;
    const bool is_word = key->kind != KZ_VARIANT_STRING && printer->style != NULL;
    // JSON's keys are strings: Python writes other simple ones in quotes.
    if (is_word && (key->kind == KZ_VARIANT_MAP || kz_variant_is_list(key))) {
        fail(printer, "tojson: a key that is no string");
        return;
    }
    put(printer, is_word ? "\"" : "");
    put_value(printer, &text);
    put(printer, is_word ? "\"" : "");
    put(printer, printer->style ? printer->style->key_separator : ": ");
}

static void put_list(printing *printer, const kz_variant *list) {
    const bool is_tuple = list->kind == KZ_VARIANT_TUPLE && !printer->style;
    put(printer, is_tuple ? "(" : "[");
    printer->depth++;
    for (uint32_t i = 0; i < list->count && printer->out.status == KAZEIA_OK; i++) {
        put_separator(printer, i);
        put_value(printer, &list->items[i]);
    }
    printer->depth--;
    if (list->count) {
        put_line_end(printer);
    }
    put(printer, is_tuple ? (list->count == 1 ? ",)" : ")") : "]");
}

// The next entry in the order of keys after `last` (NULL: the first): looked for anew each time,
// since few maps are sorted and those are small.
static const kz_entry *next_sorted(printing *printer, const kz_variant *map, const kz_entry *last) {
    const kz_entry *least = NULL;
    for (uint32_t i = 0; i < map->count && printer->out.status == KAZEIA_OK; i++) {
        const kz_entry *entry = &map->entries[i];
        int after_last = 1, before_least = -1;
        if (last) {
            printer->out.status =
                kz_variant_compare(printer->out.heap, &entry->key, &last->key, &after_last);
        }
        if (least && printer->out.status == KAZEIA_OK) {
            printer->out.status =
                kz_variant_compare(printer->out.heap, &entry->key, &least->key, &before_least);
        }
        least = after_last > 0 && before_least < 0 ? entry : least;
    }
    return least;
}

static void put_map(printing *printer, const kz_variant *map) {
    const bool is_sorted = printer->style && printer->style->is_sorted;
    const kz_entry *entry = NULL;
    put(printer, "{");
    printer->depth++;
    for (uint32_t i = 0; i < map->count && printer->out.status == KAZEIA_OK; i++) {
        entry = is_sorted ? next_sorted(printer, map, entry) : &map->entries[i];
        if (!entry) {
            break;
        }
        put_separator(printer, i);
        put_key(printer, &entry->key);
        put_value(printer, &entry->value);
    }
    printer->depth--;
    if (map->count) {
        put_line_end(printer);
    }
    put(printer, "}");
}

static void put_word(printing *printer, const kz_variant *value) {
    char digits[32];
    const bool is_json = printer->style != NULL;
    switch (value->kind) {
    case KZ_VARIANT_NONE:
        put(printer, is_json ? "null" : "None");
        return;
    case KZ_VARIANT_BOOL:
        put(printer, value->integer ? (is_json ? "true" : "True") : (is_json ? "false" : "False"));
        return;
    case KZ_VARIANT_INTEGER:
        (void)snprintf(digits, sizeof digits, "%" PRId64, value->integer);
        put(printer, digits);
        return;
    case KZ_VARIANT_BIG:
        kz_string_put(&printer->out, value->text, value->count, printer->source);
        return;
    case KZ_VARIANT_REAL:
        put_real(printer, value->real);
        return;
    case KZ_VARIANT_UNDEFINED:
    case KZ_VARIANT_MISSING:
        if (is_json) {
            fail(printer, "tojson: an undefined value");
        } else if (printer->depth) {
            put(printer, "Undefined");
        }
        return;
    default:
        fail(printer, "a namespace, macro or method is printed");
    }
}

static void put_value(printing *printer, const kz_variant *value) {
    if (printer->out.status != KAZEIA_OK) {
        return;
    }
    if (printer->depth > KZ_VARIANT_DEPTH) {
        fail(printer, "a value nested too deep is printed");
    } else if (value->kind == KZ_VARIANT_STRING) {
        put_string(printer, value);
    } else if (kz_variant_is_list(value)) {
        put_list(printer, value);
    } else if (value->kind == KZ_VARIANT_MAP) {
        put_map(printer, value);
    } else {
        put_word(printer, value);
    }
    if (printer->out.status == KAZEIA_OK) {
        printer->out.status = kz_heap_work(printer->out.heap, 1);
    }
}

// What a list or map holds is content; numbers and words spell no token, but digits out of content
// beside a template's own text might.
kazeia_status kz_variant_to_string(kz_heap *heap, const kz_variant *value, kz_variant *out_string) {
    if (value->kind == KZ_VARIANT_STRING) {
        *out_string = *value;
        return KAZEIA_OK;
    }
    printing printer = {.source = KZ_FROM_CONTENT};
    kz_string_begin(&printer.out, heap);
    put_value(&printer, value);
    return kz_string_end(&printer.out, out_string);
}

kazeia_status kz_variant_to_json(kz_heap *heap, const kz_variant *value, const kz_json_style *style,
                                 kz_variant *out_string) {
    printing printer = {.style = style, .source = KZ_FROM_CONTENT};
    kz_string_begin(&printer.out, heap);
    put_value(&printer, value);
    return kz_string_end(&printer.out, out_string);
}
