// spoken_signs.c: signs: which are words, which are pauses, which are nothing.
//
// in:  a character that is no letter or digit. out: words or punctuation.
#include <string.h>

#include "text/spoken_words.h"

static bool is_digit(uint32_t c) {
    return c >= '0' && c <= '9';
}

static bool is_money(uint32_t c) {
    return c == '$' || c == 0x20ac || c == 0xa3;
}

// ---- dashes -------------------------------------------------------------------------------------

// Behind a number and before another: a range, or a difference in an equation.
static size_t read_range(kz_words *w, size_t at, size_t length) {
    const size_t next = kz_words_skip_space(w, at + length);
    const size_t before = kz_words_back_space(w, at);
    const uint32_t first = kz_words_char(w, next);
    const bool is_apart = before < at && next > at + length;
    if (w->number_end == SIZE_MAX || w->number_end != before ||
        (!is_digit(first) && !is_money(first)) || (before < at) != (next > at + length)) {
        return 0;
    }
    kz_words_say(w, is_apart && w->has_equation ? w->language->minus : w->language->to);
    return next - at;
}

static size_t read_dash(kz_words *w, size_t at) {
    const uint32_t before = kz_words_char_before(w, at);
    const uint32_t next = kz_words_char(w, at + 1);
    const size_t range = read_range(w, at, 1);
    if (range > 0) {
        return range;
    }
    const bool is_free = before == 0 || strchr(" (/=<>*+[:,", (int)(before < 0x80 ? before : 'a'));
    if (is_free &&
        (is_digit(next) || is_money(next) || (w->has_equation && before != ' ' && next != ' '))) {
        kz_words_say(w, w->language->minus);
        return 1;
    }
    if (w->has_equation && before == ' ' && next == ' ') {
        kz_words_say(w, w->language->minus);
        return 1;
    }
    // "Covid-19": the hyphen parts a name and its number.
    kz_words_put(w, is_digit(next) || (is_digit(before) && kz_char_is_alnum(next)) ? ' ' : '-');
    return 1;
}

// ---- signs of every language --------------------------------------------------------------------

// Quotation marks: the words stay. Brackets are pauses.
static const uint32_t silent_signs[] = {'"',    0xab,   0xbb,   0x201c, 0x201d, 0x201e, 0x2018,
                                        0x2039, 0x203a, '`',    0xae,   0x2122, 0x200d, 0xfe0f,
                                        '\\',   '^',    0x2020, 0x2021, '_'};
static const uint32_t pause_signs[] = {'(',    ')',    '[',    ']',    '{',    '}',    '|',
                                       0x2022, 0xb7,   0x2192, 0x21d2, 0x2794, 0x279c, 0x27a1,
                                       0x2190, 0x2194, 0x21d4, 0x25ba, 0x25b6, 0x2193, 0x2191};

static bool is_one_of(const uint32_t *set, size_t count, uint32_t c) {
    for (size_t i = 0; i < count; i++) {
        if (set[i] == c) {
            return true;
        }
    }
    return false;
}

static uint32_t superscript_digit(uint32_t c) {
    static const uint32_t low[] = {0x2070, 0xb9, 0xb2, 0xb3};
    for (uint32_t i = 0; i < 4; i++) {
        if (low[i] == c) {
            return i;
        }
    }
    return c >= 0x2074 && c <= 0x2079 ? c - 0x2070 : UINT32_MAX;
}

// "10⁶", "5²"; a footnote's mark was dropped by the cleaner.
static size_t read_power(kz_words *w, size_t at) {
    const kz_spoken_language *l = w->language;
    uint32_t value = 0;
    size_t end = at, digits = 0;
    while (digits < 6) {
        const kz_utf8_char c = kz_utf8_read_last(w->segment + end, w->count - end);
        const uint32_t digit = c.length > 0 ? superscript_digit(c.code_point) : UINT32_MAX;
        if (digit == UINT32_MAX) {
            break;
        }
        value = value * 10 + digit;
        end += c.length;
        digits++;
    }
    if (digits == 0) {
        return 0;
    }
    if (value == 2 || value == 3) {
        kz_words_say(w, value == 2 ? l->squared : l->cubed);
    } else {
        kz_words_say(w, l->power);
        kz_words_say_number(w, KZ_CARDINAL, value);
    }
    return end - at;
}

// "CO₂": digits below the line are digits.
static size_t read_subscript(kz_words *w, size_t at) {
    const kz_utf8_char c = kz_utf8_read_last(w->segment + at, w->count - at);
    if (c.code_point < 0x2080 || c.code_point > 0x2089) {
        return 0;
    }
    kz_words_say_number(w, KZ_CARDINAL, c.code_point - 0x2080);
    return c.length;
}

static size_t read_hash(kz_words *w, size_t at) {
    const uint32_t before = kz_words_char_before(w, at);
    const uint32_t next = kz_words_char(w, at + 1);
    if (kz_char_is_alnum(before)) {
        kz_words_say(w, w->language->sharp);
    } else if (is_digit(next)) {
        kz_words_say(w, w->language->number);
    } else if (kz_char_is_alnum(next)) {
        kz_words_say(w, w->language->hashtag);
    } else {
        kz_words_say(w, w->language->sharp);
    }
    return 1;
}

// A number, a bracket, or a letter alone.
static bool is_operand(const kz_words *w, size_t start, size_t end) {
    const uint32_t before = kz_words_char_before(w, end), first = kz_words_char(w, start);
    return is_digit(before) || is_digit(first) || before == ')' || first == '(' || first == '-' ||
           (end > start &&
            end == start + kz_utf8_read_last(w->segment + start, end - start).length);
}

static bool is_sign_met(const kz_words *w, kz_condition when, size_t at, size_t length) {
    const size_t next = kz_words_skip_space(w, at + length);
    const size_t before = kz_words_back_space(w, at);
    switch (when) {
    case KZ_BEFORE_NUMBER:
        return is_digit(kz_words_char(w, next));
    case KZ_AFTER_NUMBER:
        return is_digit(kz_words_char_before(w, before)) || w->number_end == before;
    case KZ_NOT_AFTER_NUMBER:
        return !is_digit(kz_words_char_before(w, before));
    case KZ_IN_WORDS:
        return kz_char_is_alnum(kz_words_char_before(w, before)) &&
               kz_char_is_alnum(kz_words_char(w, next));
    case KZ_IN_NUMBERS:
        return is_digit(kz_words_char_before(w, before)) && is_digit(kz_words_char(w, next));
    case KZ_IN_FORMULA:
        return is_operand(w, kz_words_word_start(w, before), before) ||
               is_operand(w, next, kz_words_word_end(w, next));
    default:
        return true;
    }
}

// "fois/jour" is per day, "et/ou" two words, "Tél / Fax" has a pause.
static size_t read_slash(kz_words *w, size_t at) {
    char next[KZ_WORDS_WORD_BYTES];
    if (w->segment[at] != '/') {
        return 0;
    }
    kz_words_word(w, at + 1, next);
    if (at > 0 && w->segment[at - 1] == ' ') {
        kz_words_pause(w);
    } else if (kz_words_is_listed(w->language->per_nouns, next)) {
        kz_words_say(w, w->language->per);
    } else {
        kz_words_put(w, ' ');
    }
    return 1;
}

// "->" and "=>".
static size_t read_arrow(kz_words *w, size_t at) {
    const size_t length = (w->segment[at] == '=' || w->segment[at] == '-') &&
                                  (w->segment[at + 1] == '>' ||
                                   (w->segment[at + 1] == '-' && w->segment[at + 2] == '>'))
                              ? 2 + (w->segment[at + 1] == '-')
                              : 0;
    if (length > 0) {
        kz_words_pause(w);
    }
    return length;
}

static size_t read_listed(kz_words *w, size_t at, kz_utf8_char c) {
    for (const kz_spoken_sign *row = w->language->signs; row->sign != 0; row++) {
        if (row->sign != c.code_point || !is_sign_met(w, row->when, at, c.length)) {
            continue;
        }
        if (row->spoken[0] == ',') {
            kz_words_pause(w);
        } else {
            kz_words_say(w, row->spoken);
        }
        return c.length;
    }
    return 0;
}

static size_t read_other(kz_words *w, kz_utf8_char c) {
    const uint32_t sign = c.code_point;
    if (is_one_of(silent_signs, sizeof silent_signs / sizeof silent_signs[0], sign)) {
        w->is_space_owed = w->is_space_owed || sign == '_' || sign == '\\';
        return c.length;
    }
    if (is_one_of(pause_signs, sizeof pause_signs / sizeof pause_signs[0], sign)) {
        kz_words_pause(w);
        return c.length;
    }
    kz_words_put(w, sign);
    return c.length;
}

size_t kz_words_read_sign(kz_words *w, size_t at) {
    const kz_utf8_char c = kz_utf8_read_last(w->segment + at, w->count - at);
    size_t taken = 0;
    if (c.code_point == ' ') {
        kz_words_put(w, ' ');
        return 1;
    }
    taken = read_arrow(w, at);
    if (taken > 0) {
        return taken;
    }
    if (c.code_point == '-' || c.code_point == '#') {
        return c.code_point == '-' ? read_dash(w, at) : read_hash(w, at);
    }
    if (c.code_point == 0x2013 || c.code_point == 0x2014) {
        taken = read_range(w, at, c.length);
        if (taken == 0) {
            kz_words_pause(w);
            taken = c.length;
        }
        return taken;
    }
    if (c.code_point == '+' || c.code_point == '(') {
        taken = kz_words_read_phone(w, at);
    } else {
        taken = kz_words_read_money_sign(w, at);
    }
    taken = taken > 0 ? taken : kz_words_read_fraction_sign(w, at);
    taken = taken > 0 ? taken : read_power(w, at);
    taken = taken > 0 ? taken : read_subscript(w, at);
    taken = taken > 0 ? taken : kz_words_read_abbreviation(w, at);
    taken = taken > 0 ? taken : read_listed(w, at, c);
    taken = taken > 0 ? taken : read_slash(w, at);
    return taken > 0 ? taken : read_other(w, c);
}
