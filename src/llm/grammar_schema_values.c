// grammar_schema_values.c: strings, numbers and listed values of a JSON schema -> nodes.
//   in   the parts of a schema
//   out  nodes
// Bounds of numbers become digits: for each count of digits, the numbers from one bound to the
// other. A number with bounds has no exponent, since its digits would no longer tell its size.
#include <math.h>
#include <string.h>

#include "base/number_text.h"
#include "llm/grammar_schema.h"
#include "text/utf8.h"

#define DIGIT_LIMIT 18u
#define LARGEST 999999999999999999 // of DIGIT_LIMIT digits
#define FRACTION_DIGITS 17u

// --- Strings ------------------------------------------------------------------------------------
static uint32_t quote(kz_schema *schema, uint32_t node) {
    kz_node_list parts = {0};
    kz_list_add(schema->builder, &parts, kz_build_text(schema->builder, "\""));
    kz_list_add(schema->builder, &parts, node);
    kz_list_add(schema->builder, &parts, kz_build_text(schema->builder, "\""));
    return kz_build_sequence(schema->builder, &parts);
}

// The rule of a format that is checked; NULL for others, which are annotations.
static const char *find_format(const kz_schema *schema, uint32_t value) {
    static const char *const formats[] = {"date", "time", "date-time", "uuid"};
    for (size_t i = 0; value != KZ_JSON_NONE && i < sizeof formats / sizeof formats[0]; i++) {
        const kz_json_value *found = &schema->tree.values[value];
        if (found->kind == KZ_JSON_STRING &&
            strcmp(kz_json_string(&schema->tree, found->text), formats[i]) == 0) {
            return formats[i];
        }
    }
    return NULL;
}

kazeia_status kz_schema_string(kz_schema *schema, const kz_schema_parts *parts,
                               uint32_t *out_node) {
    uint32_t pattern = 0, format = 0, least = 0, most = 0, node = KZ_GRAMMAR_EMPTY;
    KZ_TRY(kz_schema_only_member(schema, parts, "pattern", &pattern));
    KZ_TRY(kz_schema_only_member(schema, parts, "format", &format));
    KZ_TRY(kz_schema_count(schema, parts, "minLength", true, 0, &least));
    KZ_TRY(kz_schema_count(schema, parts, "maxLength", false, KZ_REPEAT_FOR_EVER, &most));
    const char *form = find_format(schema, format);
    const bool is_bounded = least > 0 || most != KZ_REPEAT_FOR_EVER;
    if ((pattern != KZ_JSON_NONE) + (form != NULL) + is_bounded > 1) {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, parts->values[0],
                                "has more than one of pattern, format and length; one is "
                                "supported");
    }
    if (pattern != KZ_JSON_NONE) {
        KZ_TRY(kz_schema_pattern(schema, pattern, &node));
    } else if (form) {
        node = kz_schema_prelude_node(schema, form);
    } else if (least > most) {
        *out_node = kz_build_class(schema->builder, NULL, 0, false);
        return KAZEIA_OK;
    } else if (is_bounded) {
        node = kz_build_repeat(schema->builder, kz_schema_prelude_node(schema, "plain_char"), least,
                               most);
    } else {
        *out_node = kz_schema_prelude_node(schema, "string");
        return KAZEIA_OK;
    }
    *out_node = quote(schema, node);
    return KAZEIA_OK;
}

// --- Digits -------------------------------------------------------------------------------------
static uint32_t build_digits(kz_grammar_builder *builder, char low, char high) {
    return kz_build_range(builder, (uint8_t)low, (uint8_t)high);
}

static uint32_t build_any_digits(kz_grammar_builder *builder, uint32_t least, uint32_t most) {
    return kz_build_repeat(builder, build_digits(builder, '0', '9'), least, most);
}

static uint32_t build_between(kz_grammar_builder *builder, const char *low, const char *high,
                              uint32_t count);

static uint32_t build_first_digit(kz_grammar_builder *builder, char digit, const char *low,
                                  const char *high, uint32_t tail) {
    kz_node_list parts = {0};
    kz_list_add(builder, &parts, build_digits(builder, digit, digit));
    kz_list_add(builder, &parts, build_between(builder, low, high, tail));
    return kz_build_sequence(builder, &parts);
}

// Texts of `count` digits from `low` to `high`.
static uint32_t build_between(kz_grammar_builder *builder, const char *low, const char *high,
                              uint32_t count) {
    static const char zeros[] = "000000000000000000", nines[] = "999999999999999999";
    kz_node_list choices = {0};
    char first = low[0], last = high[0];
    if (count == 0) {
        return KZ_GRAMMAR_EMPTY;
    }
    if (first == last) {
        return build_first_digit(builder, first, low + 1, high + 1, count - 1);
    }
    if (memcmp(low + 1, zeros, count - 1) != 0) {
        kz_list_add(builder, &choices,
                    build_first_digit(builder, first++, low + 1, nines, count - 1));
    }
    if (memcmp(high + 1, nines, count - 1) != 0) {
        kz_list_add(builder, &choices,
                    build_first_digit(builder, last--, zeros, high + 1, count - 1));
    }
    if (first <= last) {
        kz_node_list parts = {0};
        kz_list_add(builder, &parts, build_digits(builder, first, last));
        if (count > 1) {
            kz_list_add(builder, &parts, build_any_digits(builder, count - 1, count - 1));
        }
        kz_list_add(builder, &choices, kz_build_sequence(builder, &parts));
    }
    return kz_build_choice(builder, &choices);
}

static uint32_t write_digits(int64_t number, char out[DIGIT_LIMIT + 1]) {
    char reversed[DIGIT_LIMIT];
    uint32_t count = 0;
    do {
        reversed[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0 && count < DIGIT_LIMIT);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = reversed[count - 1 - i];
    }
    out[count] = '\0';
    return count;
}

// Whole numbers from `low` >= 0 to `high` <= LARGEST, without zeros in front; none when low > high.
static uint32_t build_whole(kz_grammar_builder *builder, int64_t low, int64_t high) {
    kz_node_list choices = {0};
    int64_t first = 0, last = 9; // of the numbers with `count` digits
    for (uint32_t count = 1; count <= DIGIT_LIMIT && low <= high; count++) {
        const int64_t from = low > first ? low : first, to = high < last ? high : last;
        if (from <= to) {
            char low_digits[DIGIT_LIMIT + 1], high_digits[DIGIT_LIMIT + 1];
            write_digits(from, low_digits);
            write_digits(to, high_digits);
            kz_list_add(builder, &choices, build_between(builder, low_digits, high_digits, count));
        }
        first = last + 1;
        last = count < DIGIT_LIMIT ? last * 10 + 9 : last;
    }
    return kz_build_choice(builder, &choices);
}

// --- Numbers ------------------------------------------------------------------------------------
// What a number's size may be; the ends may be left out.
typedef struct number_span {
    int64_t low, high;
    bool leaves_low, leaves_high;
} number_span;

static kazeia_status read_bound(const kz_schema *schema, uint32_t part, const char *key,
                                bool *out_is_there, double *out_bound, uint32_t *out_value) {
    const uint32_t value = kz_json_member(&schema->tree, part, key);
    *out_is_there = value != KZ_JSON_NONE;
    if (!*out_is_there) {
        return KAZEIA_OK;
    }
    *out_value = value;
    if (schema->tree.values[value].kind != KZ_JSON_NUMBER ||
        !kz_number_read(kz_json_string(&schema->tree, schema->tree.values[value].text),
                        out_bound) ||
        fabs(*out_bound) > 1e15) {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, value,
                                "is no number from -1e15 to 1e15");
    }
    return KAZEIA_OK;
}

static void raise_low(number_span *span, int64_t low, bool leaves) {
    if (low > span->low || (low == span->low && leaves)) {
        span->low = low;
        span->leaves_low = leaves;
    }
}

static void lower_high(number_span *span, int64_t high, bool leaves) {
    if (high < span->high || (high == span->high && leaves)) {
        span->high = high;
        span->leaves_high = leaves;
    }
}

static kazeia_status read_part_bounds(const kz_schema *schema, uint32_t part, bool is_integer,
                                      number_span *span) {
    static const struct {
        const char *key;
        bool is_low, leaves;
    } bounds[] = {{"minimum", true, false},
                  {"exclusiveMinimum", true, true},
                  {"maximum", false, false},
                  {"exclusiveMaximum", false, true}};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        bool is_there = false;
        double bound = 0;
        uint32_t value = 0;
        KZ_TRY(read_bound(schema, part, bounds[i].key, &is_there, &bound, &value));
        if (!is_there) {
            continue;
        }
        const bool is_whole = bound == floor(bound);
        if (!is_whole && !is_integer) {
            return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, value,
                                    "is no whole number, the only bounds that are supported");
        }
        if (bounds[i].is_low) {
            raise_low(span, (int64_t)ceil(bound), bounds[i].leaves && is_whole);
        } else {
            lower_high(span, (int64_t)floor(bound), bounds[i].leaves && is_whole);
        }
    }
    return KAZEIA_OK;
}

static uint32_t build_fraction(kz_grammar_builder *builder, bool is_zero, bool is_optional) {
    kz_node_list parts = {0};
    kz_list_add(builder, &parts, kz_build_text(builder, "."));
    if (is_zero) {
        kz_list_add(builder, &parts,
                    kz_build_repeat(builder, kz_build_text(builder, "0"), 1, FRACTION_DIGITS));
    } else if (is_optional) {
        kz_list_add(builder, &parts, build_any_digits(builder, 1, FRACTION_DIGITS));
    } else { // more than nothing
        kz_list_add(builder, &parts,
                    kz_build_repeat(builder, kz_build_text(builder, "0"), 0, FRACTION_DIGITS / 2));
        kz_list_add(builder, &parts, build_digits(builder, '1', '9'));
        kz_list_add(builder, &parts, build_any_digits(builder, 0, FRACTION_DIGITS / 2));
    }
    const uint32_t fraction = kz_build_sequence(builder, &parts);
    return is_optional ? kz_build_repeat(builder, fraction, 0, 1) : fraction;
}

static void add_pair(kz_grammar_builder *builder, kz_node_list *choices, uint32_t whole,
                     uint32_t fraction) {
    kz_node_list parts = {0};
    kz_list_add(builder, &parts, whole);
    kz_list_add(builder, &parts, fraction);
    kz_list_add(builder, choices, kz_build_sequence(builder, &parts));
}

// Digits of the sizes within the span, low >= 0.
static uint32_t build_sizes(kz_grammar_builder *builder, number_span span, bool is_integer) {
    kz_node_list choices = {0};
    if (is_integer) {
        return build_whole(builder, span.low + span.leaves_low, span.high - span.leaves_high);
    }
    if (span.low < span.high && span.leaves_low) {
        add_pair(builder, &choices, build_whole(builder, span.low, span.low),
                 build_fraction(builder, false, false));
    }
    add_pair(builder, &choices, build_whole(builder, span.low + span.leaves_low, span.high - 1),
             build_fraction(builder, false, true));
    if (!span.leaves_high && span.low <= span.high && !(span.low == span.high && span.leaves_low)) {
        add_pair(builder, &choices, build_whole(builder, span.high, span.high),
                 kz_build_repeat(builder, build_fraction(builder, true, false), 0, 1));
    }
    return kz_build_choice(builder, &choices);
}

kazeia_status kz_schema_number(kz_schema *schema, const kz_schema_parts *parts, bool is_integer,
                               uint32_t *out_node) {
    kz_grammar_builder *builder = schema->builder;
    number_span span = {-LARGEST, LARGEST, false, false};
    for (uint32_t i = 0; i < parts->count; i++) {
        KZ_TRY(read_part_bounds(schema, parts->values[i], is_integer, &span));
    }
    if (span.low == -LARGEST && span.high == LARGEST) {
        *out_node = kz_schema_prelude_node(schema, is_integer ? "integer" : "number");
        return KAZEIA_OK;
    }
    kz_node_list choices = {0};
    if (span.high >= 0) {
        const bool crosses = span.low < 0;
        const number_span sizes = {crosses ? 0 : span.low, span.high, !crosses && span.leaves_low,
                                   span.leaves_high};
        kz_list_add(builder, &choices, build_sizes(builder, sizes, is_integer));
    }
    if (span.low < 0) {
        // An integer is never "-0"; a fraction may begin so.
        const int64_t nearest = is_integer && span.high >= 0 ? 1 : 0;
        const bool crosses = span.high > 0 || (is_integer && span.high == 0);
        const number_span sizes = {crosses ? nearest : -span.high, -span.low,
                                   !crosses && span.leaves_high, span.leaves_low};
        kz_node_list negative = {0};
        kz_list_add(builder, &negative, kz_build_text(builder, "-"));
        kz_list_add(builder, &negative, build_sizes(builder, sizes, is_integer));
        kz_list_add(builder, &choices, kz_build_sequence(builder, &negative));
    }
    *out_node = kz_build_choice(builder, &choices);
    return KAZEIA_OK;
}

// --- Listed values ------------------------------------------------------------------------------
static size_t escape_byte(uint8_t byte, char out[8]) {
    static const char digits[] = "0123456789abcdef";
    static const char specials[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = byte != 0 ? strchr(specials, byte) : NULL;
    if (found) {
        out[0] = '\\';
        out[1] = letters[found - specials];
        return 2;
    }
    if (byte >= 0x20) {
        out[0] = (char)byte;
        return 1;
    }
    memcpy(out, "\\u00", 4);
    out[4] = digits[byte >> 4];
    out[5] = digits[byte & 15];
    return 6;
}

uint32_t kz_schema_quoted(kz_schema *schema, const char *text, size_t count) {
    kz_node_list parts = {0};
    char escaped[256];
    size_t used = 0;
    escaped[used++] = '"';
    for (size_t i = 0; i < count; i++) {
        if (used + 8 > sizeof escaped) {
            kz_list_add(schema->builder, &parts, kz_build_bytes(schema->builder, escaped, used));
            used = 0;
        }
        used += escape_byte((uint8_t)text[i], escaped + used);
    }
    escaped[used++] = '"';
    kz_list_add(schema->builder, &parts, kz_build_bytes(schema->builder, escaped, used));
    return kz_build_sequence(schema->builder, &parts);
}

uint32_t kz_schema_literal(kz_schema *schema, uint32_t value) {
    static const char *const words[] = {"null", "false", "true"};
    kz_grammar_builder *builder = schema->builder;
    const kz_json_value *found = &schema->tree.values[value];
    const char *text = kz_json_string(&schema->tree, found->text);
    if (found->kind <= KZ_JSON_TRUE) {
        return kz_build_text(builder, words[found->kind]);
    }
    if (found->kind == KZ_JSON_NUMBER) {
        return kz_build_bytes(builder, text, found->text.count);
    }
    if (found->kind == KZ_JSON_STRING) {
        return kz_schema_quoted(schema, text, found->text.count);
    }
    const bool is_object = found->kind == KZ_JSON_OBJECT;
    kz_node_list parts = {0};
    kz_list_add(builder, &parts, kz_build_text(builder, is_object ? "{" : "["));
    for (uint32_t i = found->child; i != KZ_JSON_NONE; i = schema->tree.values[i].next) {
        const kz_json_text key = schema->tree.values[i].key;
        if (i != found->child) {
            kz_list_add(builder, &parts, kz_schema_prelude_node(schema, "comma"));
        }
        if (is_object) {
            kz_list_add(builder, &parts,
                        kz_schema_quoted(schema, kz_json_string(&schema->tree, key), key.count));
            kz_list_add(builder, &parts, kz_schema_prelude_node(schema, "colon"));
        }
        kz_list_add(builder, &parts, kz_schema_literal(schema, i));
    }
    kz_list_add(builder, &parts, kz_build_text(builder, is_object ? "}" : "]"));
    return kz_build_sequence(builder, &parts);
}
