// spoken_numbers.c: numerals, their agreement with the noun behind, ordinals and fractions.
//
// in:  a digit of the segment. out: words.
#include <string.h>

#include "text/spoken_words.h"

// A group has three digits; whole numbers and fractions at most 15, which the words reach.
enum {
    MOST_DIGITS = 15,
    MOST_GROUPS = 6,
    GROUP_DIGITS = 3,
    READ_FRACTION_DIGITS = 6,
    MOST_DENOMINATOR = 100,
    MOST_ORDINAL = 999999
};

// ---- reading numerals ---------------------------------------------------------------------------

// "1 234", "1.234.567" in French, "1,234" in English: three digits behind each sign, and none more.
static size_t skip_groups(const kz_words *w, size_t end, char sign) {
    // Bounded: with more groups than this it is no number, and each would be read again and again.
    for (size_t i = 0;
         i < MOST_GROUPS && w->segment[end] == sign && kz_words_digits(w, end + 1) == GROUP_DIGITS;
         i++) {
        end += 1 + GROUP_DIGITS;
    }
    return end;
}

static bool has_version_before(const kz_words *w, size_t at) {
    const uint32_t before = kz_words_char_before(w, kz_words_back_space(w, at));
    return kz_char_is_letter(before) && at > 1 && kz_words_back_space(w, at) > 0 &&
           kz_char_is_upper(kz_words_char(w, kz_words_word_start(w, kz_words_back_space(w, at)))) &&
           kz_words_word_start(w, kz_words_back_space(w, at)) > 0;
}

static size_t whole_end(const kz_words *w, size_t at) {
    const kz_spoken_language *l = w->language;
    const size_t digits = kz_words_digits(w, at);
    const size_t end = at + digits;
    if (digits > GROUP_DIGITS || w->segment[at] == '0') {
        return end;
    }
    const size_t spaced = l->has_space_groups ? skip_groups(w, end, ' ') : end;
    if (spaced > end) {
        return spaced;
    }
    // "Python 3.125" is a version in a language whose groups have points.
    return l->group_mark == '.' && has_version_before(w, at) ? end
                                                             : skip_groups(w, end, l->group_mark);
}

static void read_fraction(const kz_words *w, kz_numeral *numeral) {
    const size_t at = numeral->end;
    const char mark = w->segment[at];
    if (mark != w->language->decimal_mark && mark != '.') {
        return;
    }
    const size_t digits = kz_words_digits(w, at + 1);
    // "1,2,3" is a list.
    if (digits == 0 || (mark == ',' && w->segment[at + 1 + digits] == ',' &&
                        kz_words_digits(w, at + 2 + digits) > 0)) {
        return;
    }
    numeral->mark = mark;
    numeral->fraction = at + 1;
    numeral->fraction_digits = digits < MOST_DIGITS ? digits : MOST_DIGITS;
    numeral->end = at + 1 + numeral->fraction_digits;
}

bool kz_words_numeral(const kz_words *w, size_t at, kz_numeral *out) {
    const size_t digits = kz_words_digits(w, at);
    *out = (kz_numeral){.end = at};
    if (digits == 0) {
        return false;
    }
    const size_t end = whole_end(w, at);
    size_t count = 0;
    for (size_t i = at; i < end && count <= MOST_DIGITS; i++) {
        if (w->segment[i] >= '0' && w->segment[i] <= '9') {
            out->whole = out->whole * 10 + (uint64_t)(w->segment[i] - '0');
            count++;
        }
    }
    if (count > MOST_DIGITS) {
        out->is_long = true;
        out->end = at + (digits < MOST_DIGITS ? digits : MOST_DIGITS);
        return true;
    }
    while (digits > 1 && out->zeros + 1 < digits && w->segment[at + out->zeros] == '0') {
        out->zeros++;
    }
    out->end = end;
    read_fraction(w, out);
    return true;
}

// ---- saying numbers -----------------------------------------------------------------------------

void kz_words_say_number(kz_words *w, kz_number_form form, uint64_t value) {
    char text[KZ_NUMBER_BYTES];
    const size_t count = kz_numbers_write(w->numbers, form, value, text);
    kz_words_say_count(w, text, count);
}

void kz_words_say_digits(kz_words *w, size_t at, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t digit = kz_words_value(w, at + i, 1);
        kz_words_say_number(w, KZ_CARDINAL, digit);
    }
}

void kz_words_say_padded(kz_words *w, size_t at, size_t digits) {
    uint64_t value = 0;
    size_t zeros = 0;
    while (zeros < digits && w->segment[at + zeros] == '0') {
        kz_words_say(w, w->language->zero);
        zeros++;
    }
    if (digits - zeros > MOST_DIGITS) {
        kz_words_say_digits(w, at + zeros, digits - zeros);
        return;
    }
    for (size_t i = zeros; i < digits; i++) {
        value = value * 10 + kz_words_value(w, at + i, 1);
    }
    if (zeros < digits) {
        kz_words_say_number(w, KZ_CARDINAL, value);
    }
}

static void say_fraction(kz_words *w, const kz_numeral *n, bool is_decimal) {
    const kz_spoken_language *l = w->language;
    const bool is_mark = n->mark == l->decimal_mark || is_decimal;
    kz_words_say(w, is_mark ? l->decimal_word : l->dot_word);
    if (l->has_digit_decimals || n->fraction_digits > READ_FRACTION_DIGITS) {
        kz_words_say_digits(w, n->fraction, n->fraction_digits);
    } else {
        kz_words_say_padded(w, n->fraction, n->fraction_digits);
    }
}

void kz_words_say_numeral(kz_words *w, const kz_numeral *n, bool is_feminine, bool is_decimal) {
    for (size_t i = 0; i < n->zeros; i++) {
        kz_words_say(w, w->language->zero);
    }
    // Of "00" one zero is the number itself.
    const bool is_fem = is_feminine && n->fraction_digits == 0;
    kz_words_say_number(w, is_fem ? KZ_CARDINAL_FEMININE : KZ_CARDINAL, n->whole);
    if (n->fraction_digits > 0) {
        say_fraction(w, n, is_decimal);
    }
}

bool kz_words_is_singular(const kz_words *w, const kz_numeral *n) {
    return w->language->is_singular_below_two ? n->whole < 2
                                              : n->whole == 1 && n->fraction_digits == 0;
}

// ---- agreement ----------------------------------------------------------------------------------

static bool has_ending(const char *list, const char *word) {
    const size_t count = strlen(word);
    for (const char *at = list + 1; *at != '\0';) {
        const size_t length = strcspn(at, " ");
        if (length < count && memcmp(word + count - length, at, length) == 0) {
            return true;
        }
        at += length + 1;
    }
    return false;
}

// Of "15-20 minutes" and "2 ou 21 pages" the noun stands behind the second number.
static size_t skip_second_number(const kz_words *w, size_t at) {
    size_t sign = kz_words_skip_space(w, at);
    const uint32_t c = kz_words_char(w, sign);
    if (c != '-' && c != 0x2013) {
        return at;
    }
    sign = kz_words_skip_space(w, sign + (c == '-' ? 1 : 3));
    return kz_words_digits(w, sign) > 0 ? whole_end(w, sign) : at;
}

static void drop_plural(const kz_spoken_language *l, char *noun) {
    const size_t count = strlen(noun);
    if (count > 3 && noun[count - 1] == 's' && !kz_words_is_listed(l->feminine_nouns, noun) &&
        !kz_words_is_listed(l->masculine_nouns, noun)) {
        noun[count - 1] = '\0';
    }
}

bool kz_words_noun_is_feminine(const kz_words *w, size_t at) {
    const kz_spoken_language *l = w->language;
    char noun[KZ_WORDS_WORD_BYTES];
    if (l->feminine_nouns == NULL) {
        return false;
    }
    at = skip_second_number(w, at);
    if (w->segment[at] != ' ') {
        return false;
    }
    // A name is no noun that is counted: "13001 Marseille".
    if (kz_char_is_upper(kz_words_char(w, at + 1))) {
        return false;
    }
    kz_words_word(w, at + 1, noun);
    // "1 demi-sœur": the gender is the second word's.
    const size_t hyphen = kz_words_word_end(w, at + 1);
    if (w->segment[hyphen] == '-' && kz_words_is_listed(" demi mini micro grand ex ", noun)) {
        kz_words_word(w, hyphen + 1, noun);
    }
    drop_plural(l, noun);
    if (kz_words_is_listed(l->common_adjectives, noun) && w->segment[hyphen] == ' ') {
        kz_words_word(w, hyphen + 1, noun);
        drop_plural(l, noun);
    }
    if (kz_words_is_listed(l->masculine_nouns, noun)) {
        return false;
    }
    return kz_words_is_listed(l->feminine_nouns, noun) || has_ending(l->feminine_endings, noun);
}

static bool is_name_of_number(const kz_words *w, size_t at) {
    char before[KZ_WORDS_WORD_BYTES];
    kz_words_word_before(w, at, before);
    return w->language->nouns_before_number != NULL &&
           kz_words_is_listed(w->language->nouns_before_number, before);
}

// "80 mille": the number stands before a numeral that is written as a word.
static bool read_before_thousand(kz_words *w, const kz_numeral *n) {
    const kz_spoken_language *l = w->language;
    char word[KZ_WORDS_WORD_BYTES], text[KZ_NUMBER_BYTES];
    kz_words_word(w, kz_words_skip_space(w, n->end), word);
    if (l->thousand_word == NULL || strcmp(word, l->thousand_word) != 0 || n->fraction_digits > 0) {
        return false;
    }
    size_t count = kz_numbers_write(w->numbers, KZ_CARDINAL, n->whole, text);
    for (const kz_number_correction *row = l->thousand_corrections; row->spelled != NULL; row++) {
        const size_t length = strlen(row->spelled);
        if (count >= length && strcmp(text + count - length, row->spelled) == 0) {
            count -= length - strlen(row->right);
        }
    }
    kz_words_say_count(w, text, count);
    return true;
}

size_t kz_words_read_plain(kz_words *w, size_t at) {
    kz_numeral n;
    if (!kz_words_numeral(w, at, &n)) {
        return 0;
    }
    const uint32_t before = kz_words_char_before(w, at);
    if (n.is_long || (before >= '0' && before <= '9')) {
        kz_words_say_digits(w, at, n.end - at < MOST_DIGITS ? kz_words_digits(w, at) : MOST_DIGITS);
        return n.is_long ? n.end - at : kz_words_digits(w, at);
    }
    // Postcodes and codes with a zero in front are said digit by digit.
    if (n.zeros > 0 && n.fraction_digits == 0 && n.end - at > 4) {
        kz_words_say_digits(w, at, n.end - at);
        return n.end - at;
    }
    if (!read_before_thousand(w, &n)) {
        const bool is_feminine = !is_name_of_number(w, at) && kz_words_noun_is_feminine(w, n.end);
        kz_words_say_numeral(w, &n, is_feminine, false);
    }
    return n.end - at;
}

// ---- ordinals and fractions ---------------------------------------------------------------------

size_t kz_words_read_ordinal(kz_words *w, size_t at) {
    kz_numeral n;
    if (!kz_words_numeral(w, at, &n) || n.fraction_digits > 0 || n.whole > MOST_ORDINAL) {
        return 0;
    }
    const size_t digits = n.end - at;
    for (const kz_ordinal_suffix *row = w->language->ordinals; row->suffix != NULL; row++) {
        const size_t length = kz_words_match(w, at + digits, row->suffix, false);
        if (length == 0 || kz_words_is_alnum(w, at + digits + length)) {
            continue;
        }
        if (row->instead != NULL) {
            kz_words_say(w, row->instead);
        } else {
            kz_words_say_number(w, row->is_feminine ? KZ_ORDINAL_FEMININE : KZ_ORDINAL, n.whole);
        }
        for (const char *c = row->ending; *c != '\0'; c++) {
            w->is_word_end = false;
            kz_words_put(w, (unsigned char)*c);
        }
        w->is_word_end = true;
        return digits + length;
    }
    return 0;
}

static void say_part(kz_words *w, uint32_t numerator, uint32_t denominator) {
    const kz_spoken_language *l = w->language;
    kz_words_say_number(w, KZ_CARDINAL, numerator);
    for (const kz_fraction_name *row = l->fractions; row->denominator != 0; row++) {
        if (row->denominator == denominator) {
            kz_words_say(w, numerator > 1 ? row->many : row->one);
            return;
        }
    }
    kz_words_say_number(w, KZ_ORDINAL, denominator);
    for (const char *c = numerator > 1 ? l->part_ending : ""; *c != '\0'; c++) {
        w->is_word_end = false;
        kz_words_put(w, (unsigned char)*c);
    }
    w->is_word_end = true;
}

// "un demi-litre", "une demi-heure", "half an hour"; the joint takes the space with it. Returns the
// bytes of that space.
static size_t say_half(kz_words *w, size_t end) {
    const kz_spoken_language *l = w->language;
    char noun[KZ_WORDS_WORD_BYTES];
    const kz_unit *unit = NULL;
    const size_t at = kz_words_skip_space(w, end);
    kz_words_word(w, at, noun);
    const size_t unit_length = at > end ? kz_words_match_unit(w, at, &unit) : 0;
    const bool is_unit = unit_length > 0;
    const bool has_noun = at > end && (is_unit || noun[0] != '\0') &&
                          !kz_words_is_listed(" de du des d of the a an and et ou or ", noun);
    const bool is_feminine = is_unit ? unit->is_feminine : kz_words_noun_is_feminine(w, end);
    if (!has_noun) {
        say_part(w, 1, 2);
        return 0;
    }
    const bool is_elided =
        noun[0] != '\0' && l->vowel_words != NULL &&
        (strchr(l->vowels, noun[0]) != NULL || kz_words_is_listed(l->vowel_words, noun));
    kz_words_say(w, is_feminine || is_elided ? l->half_feminine : l->half);
    if (w->previous == '-') {
        w->is_word_end = false;
        if (is_unit) {
            kz_words_say(w, unit->one);
            return at + unit_length - end;
        }
        return at - end;
    }
    return 0;
}

static bool is_mark(const kz_words *w, size_t at, size_t digits) {
    return kz_words_is_listed_count(w->language->mark_denominators, w->segment + at, digits);
}

// The noun behind a number, put out with it; returns the bytes with the space before.
static size_t say_counted_noun(kz_words *w, size_t end, bool *out_is_feminine) {
    const kz_unit *unit = NULL;
    const size_t at = kz_words_skip_space(w, end);
    const size_t length = at > end ? kz_words_match_unit(w, at, &unit) : 0;
    *out_is_feminine = length > 0 ? unit->is_feminine : kz_words_noun_is_feminine(w, end);
    if (length > 0) {
        kz_words_say(w, unit->many);
        return at + length - end;
    }
    const size_t word_end = kz_words_word_end(w, at);
    // A word longer than any noun stays where it is.
    if (at == end || word_end == at || word_end - at >= KZ_WORDS_WORD_BYTES ||
        kz_char_is_upper(kz_words_char(w, at))) {
        return 0;
    }
    kz_words_say_count(w, w->segment + at, word_end - at);
    return word_end - end;
}

// "2 1/2 tasses": "deux tasses et demie" or "two and a half cups".
static size_t say_mixed(kz_words *w, size_t at, uint32_t whole, uint32_t above, uint32_t below,
                        size_t end) {
    const kz_spoken_language *l = w->language;
    bool is_feminine = kz_words_noun_is_feminine(w, end);
    kz_words_say_number(w, is_feminine ? KZ_CARDINAL_FEMININE : KZ_CARDINAL, whole);
    if (above == 1 && below == 2) {
        const size_t noun = l->has_half_behind ? say_counted_noun(w, end, &is_feminine) : 0;
        kz_words_say(w, is_feminine ? l->and_half_feminine : l->and_half);
        return end + noun - at;
    }
    kz_words_say(w, l->ampersand);
    say_part(w, above, below);
    return end - at;
}

static size_t read_simple_fraction(const kz_words *w, size_t at, uint32_t *out_numerator,
                                   uint32_t *out_denominator) {
    const size_t above = kz_words_digits(w, at);
    if (above == 0 || above > 3 || w->segment[at + above] != '/') {
        return 0;
    }
    const size_t below_at = at + above + 1;
    const size_t below = kz_words_digits(w, below_at);
    if (below == 0 || below > 3 || kz_words_is_letter(w, below_at + below) ||
        w->segment[below_at + below] == '/') {
        return 0;
    }
    *out_numerator = kz_words_value(w, at, above);
    *out_denominator = kz_words_value(w, below_at, below);
    return above + 1 + below;
}

static const struct fraction_sign {
    uint32_t sign;
    uint8_t above, below;
} fraction_signs[] = {
    {0xbd, 1, 2},   {0xbc, 1, 4},   {0xbe, 3, 4},   {0x2153, 1, 3}, {0x2154, 2, 3}, {0x2155, 1, 5},
    {0x2156, 2, 5}, {0x2157, 3, 5}, {0x2158, 4, 5}, {0x2159, 1, 6}, {0x215a, 5, 6}, {0x215b, 1, 8},
    {0x215c, 3, 8}, {0x215d, 5, 8}, {0x215e, 7, 8}, {0x2150, 1, 7}, {0x2151, 1, 9}, {0x2152, 1, 10},
};

static const struct fraction_sign *find_fraction_sign(uint32_t sign) {
    for (size_t i = 0; i < sizeof fraction_signs / sizeof fraction_signs[0]; i++) {
        if (fraction_signs[i].sign == sign) {
            return &fraction_signs[i];
        }
    }
    return NULL;
}

// "2½", "2 1/2": a whole number and a part below one.
static size_t read_mixed(kz_words *w, size_t at, size_t digits) {
    uint32_t above = 0, below = 0;
    const size_t part = kz_words_skip_space(w, at + digits);
    if (digits > 3) {
        return 0;
    }
    const uint32_t whole = kz_words_value(w, at, digits);
    const kz_utf8_char c = kz_utf8_read_last(w->segment + part, w->count - part);
    const struct fraction_sign *sign = find_fraction_sign(c.code_point);
    if (sign != NULL) {
        return say_mixed(w, at, whole, sign->above, sign->below, part + c.length);
    }
    const size_t taken = part > at + digits ? read_simple_fraction(w, part, &above, &below) : 0;
    return taken > 0 && above < below && below < 10
               ? say_mixed(w, at, whole, above, below, part + taken)
               : 0;
}

size_t kz_words_read_fraction(kz_words *w, size_t at) {
    const kz_spoken_language *l = w->language;
    uint32_t above = 0, below = 0;
    const size_t digits = kz_words_digits(w, at);
    const size_t mixed = read_mixed(w, at, digits);
    if (mixed > 0) {
        return mixed;
    }
    const size_t taken = read_simple_fraction(w, at, &above, &below);
    if (taken == 0) {
        return 0;
    }
    const size_t slash = at + digits + 1;
    if (l->pairs != NULL && kz_words_is_listed_count(l->pairs, w->segment + at, taken)) {
        kz_words_say_number(w, KZ_CARDINAL, above);
        kz_words_say_number(w, KZ_CARDINAL, below);
        return taken;
    }
    if (is_mark(w, slash, at + taken - slash) || below > MOST_DENOMINATOR || above > below ||
        below < 2 || w->segment[at] == '0' || w->segment[slash] == '0') {
        kz_words_say_padded(w, at, digits);
        kz_words_say(w, l->over);
        kz_words_say_padded(w, slash, at + taken - slash);
        return taken;
    }
    if (above == 1 && below == 2) {
        return taken + say_half(w, at + taken);
    }
    say_part(w, above, below);
    return taken;
}

size_t kz_words_read_fraction_sign(kz_words *w, size_t at) {
    const kz_utf8_char c = kz_utf8_read_last(w->segment + at, w->count - at);
    const struct fraction_sign *sign = find_fraction_sign(c.code_point);
    if (sign == NULL) {
        return 0;
    }
    if (sign->above == 1 && sign->below == 2) {
        return c.length + say_half(w, at + c.length);
    }
    say_part(w, sign->above, sign->below);
    return c.length;
}
