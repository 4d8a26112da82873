// spoken_letters.c: abbreviations, numerals of letters, acronyms, words in capitals.
//
// in:  a letter at the start of a word. out: the word as it is said.
// Whether capitals are spelled follows from lists, then from the line (a line in capitals is
// shouted and not spelled), then from whether the letters can be pronounced.
#include <string.h>

#include "text/spoken_words.h"

// Capitals above LONGEST_SPELLED are a word, unless no vowel is among them.
enum { SHORT_CAPITALS = 3, LONGEST_SPELLED = 4, MOST_NUMERAL = 15, MOST_CAPITALS = 12 };

// ---- abbreviations ------------------------------------------------------------------------------

static bool follows_number(const kz_words *w, size_t at) {
    const uint32_t before = kz_words_char_before(w, kz_words_back_space(w, at));
    return before >= '0' && before <= '9';
}

static bool follows_capital_word(const kz_words *w, size_t at) {
    const size_t end = kz_words_back_space(w, at);
    const size_t start = kz_words_word_start(w, end);
    return start < end && kz_char_is_upper(kz_words_char(w, start));
}

static bool is_condition_met(const kz_words *w, kz_condition when, size_t at, size_t end) {
    const size_t next = kz_words_skip_space(w, end);
    const uint32_t c = kz_words_char(w, next);
    switch (when) {
    case KZ_ALWAYS:
    case KZ_EXACT:
        return true;
    case KZ_BEFORE_CAPITAL:
        return next > end && kz_char_is_upper(c);
    case KZ_BEFORE_NUMBER:
        return (c >= '0' && c <= '9') || kz_words_roman_value(w, next, kz_words_word_end(w, next));
    case KZ_AFTER_NUMBER:
        return follows_number(w, at);
    case KZ_NOT_AFTER_NUMBER:
        return !follows_number(w, at);
    case KZ_AFTER_WORD:
        return follows_capital_word(w, at);
    case KZ_IN_NUMBERS:
        return follows_number(w, at) && c >= '0' && c <= '9';
    case KZ_IN_WORDS:
    case KZ_IN_FORMULA:
        return true;
    }
    return false;
}

static bool is_exact(kz_condition when) {
    return when == KZ_EXACT || when == KZ_BEFORE_CAPITAL || when == KZ_AFTER_WORD;
}

static bool starts_sentence(const kz_words *w) {
    return w->previous == 0 || w->previous == '.' || w->previous == '!' || w->previous == '?';
}

static void say_abbreviation(kz_words *w, const char *spoken, bool is_capital) {
    char first[5] = {0};
    const kz_utf8_char c = kz_utf8_read(spoken, strlen(spoken));
    // A capital of ASCII stays one; others are not heard.
    if (is_capital && c.code_point >= 'a' && c.code_point <= 'z') {
        first[0] = (char)(c.code_point - 'a' + 'A');
        kz_words_say(w, first);
        w->is_word_end = false;
        for (const char *rest = spoken + 1; *rest != '\0';) {
            const kz_utf8_char next = kz_utf8_read(rest, strlen(rest));
            kz_words_put(w, next.code_point);
            rest += next.length;
        }
        w->is_word_end = true;
        return;
    }
    kz_words_say(w, spoken);
}

size_t kz_words_read_abbreviation(kz_words *w, size_t at) {
    const kz_spoken_abbreviation *best = NULL;
    size_t longest = 0;
    // A part of a name of code, as in "nb_max", is none.
    const uint32_t before = at > 0 ? kz_words_char_before(w, at) : ' ';
    if (kz_char_is_alnum(before) || before == '_' || w->segment[kz_words_word_end(w, at)] == '_') {
        return 0;
    }
    const char lower = (char)(w->segment[at] | 0x20);
    for (const kz_spoken_abbreviation *row = w->language->abbreviations; row->written != NULL;
         row++) {
        const size_t length = (row->written[0] | 0x20) == lower
                                  ? kz_words_match(w, at, row->written, !is_exact(row->when))
                                  : 0;
        const bool is_whole =
            length > 0 && (!kz_char_is_alnum(kz_words_char_before(w, at + length)) ||
                           !kz_words_is_alnum(w, at + length));
        if (length > longest && is_whole && is_condition_met(w, row->when, at, at + length)) {
            longest = length;
            best = row;
        }
    }
    if (best == NULL) {
        return 0;
    }
    const char first = w->segment[at];
    say_abbreviation(w, best->spoken, first >= 'A' && first <= 'Z' && starts_sentence(w));
    // The dot may have been the sentence's as well.
    if (w->segment[at + longest - 1] == '.' && kz_words_ends_here(w, at + longest)) {
        kz_words_put(w, '.');
    }
    return longest;
}

// ---- numerals of letters ------------------------------------------------------------------------

static uint32_t numeral_letter(char c) {
    static const char letters[] = "IVXLCDM";
    static const uint32_t values[] = {1, 5, 10, 50, 100, 500, 1000};
    const char *found = c == '\0' ? NULL : strchr(letters, c);
    return found == NULL ? 0 : values[found - letters];
}

static size_t write_numeral(uint32_t value, char out[MOST_NUMERAL + 1]) {
    static const struct {
        uint32_t value;
        const char *letters;
    } rows[] = {{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"},
                {90, "XC"},  {50, "L"},   {40, "XL"}, {10, "X"},   {9, "IX"},
                {5, "V"},    {4, "IV"},   {1, "I"}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        while (value >= rows[i].value && count + 2 <= MOST_NUMERAL) {
            memcpy(out + count, rows[i].letters, strlen(rows[i].letters));
            count += strlen(rows[i].letters);
            value -= rows[i].value;
        }
    }
    out[count] = '\0';
    return count;
}

// Only the one right way of writing is a numeral: "IIII" and "VX" are letters.
uint32_t kz_words_roman_value(const kz_words *w, size_t at, size_t end) {
    char written[MOST_NUMERAL + 1];
    uint32_t value = 0;
    if (end <= at || end - at > MOST_NUMERAL - 2) {
        return 0;
    }
    for (size_t i = at; i < end; i++) {
        const uint32_t letter = numeral_letter(w->segment[i]);
        const uint32_t next = i + 1 < end ? numeral_letter(w->segment[i + 1]) : 0;
        if (letter == 0) {
            return 0;
        }
        value = letter < next ? value - letter : value + letter;
    }
    if (value == 0 || value >= 4000) {
        return 0;
    }
    const size_t count = write_numeral(value, written);
    return count == end - at && memcmp(written, w->segment + at, count) == 0 ? value : 0;
}

// "Vers" and "Dire" are words: only the first has such an ending.
static bool has_roman_suffix(const kz_words *w, uint32_t value, size_t at, size_t end) {
    const kz_spoken_language *l = w->language;
    return kz_words_is_listed_count(l->roman_suffixes, w->segment + at, end - at) ||
           (value == 1 && l->roman_first_suffixes != NULL &&
            kz_words_is_listed_count(l->roman_first_suffixes, w->segment + at, end - at));
}

// "XXIe", "Ier", "IIIrd": a numeral with an ordinal's ending in small letters.
static size_t read_roman_ordinal(kz_words *w, size_t at, size_t end) {
    size_t capitals = at;
    while (capitals < end && numeral_letter(w->segment[capitals]) > 0) {
        capitals++;
    }
    const uint32_t value = kz_words_roman_value(w, at, capitals);
    if (value == 0 || capitals == end || !has_roman_suffix(w, value, capitals, end)) {
        return 0;
    }
    // "Ce", "De", "Le", "Me" are words; of single letters only I, V and X count centuries.
    if (capitals - at == 1 && strchr("IVX", w->segment[at]) == NULL) {
        return 0;
    }
    const bool is_first_feminine =
        value == 1 && memcmp(w->segment + capitals, "er", 2) != 0 && w->segment[capitals] == 'r';
    kz_words_say_number(w, is_first_feminine ? KZ_ORDINAL_FEMININE : KZ_ORDINAL, value);
    if (w->segment[end - 1] == 's' && w->segment[end - 2] != 'm') {
        w->is_word_end = false;
        kz_words_put(w, 's');
        w->is_word_end = true;
    }
    return end - at;
}

// A name with a capital that does not begin the sentence: "Vatican II", "Apollo XIII".
static bool follows_name(const kz_words *w, size_t at) {
    const size_t end = kz_words_back_space(w, at);
    const size_t start = kz_words_word_start(w, end);
    return end < at && start < end && kz_char_is_upper(kz_words_char(w, start)) &&
           kz_char_is_lower(kz_words_char_before(w, end));
}

static bool is_small_numeral(const kz_words *w, size_t at, size_t end) {
    // "LVIII", but not "XL".
    const char *letters = end - at > 2 ? "IVXL" : "IVX";
    return end - at >= 2 && strspn(w->segment + at, letters) >= end - at;
}

size_t kz_words_read_roman(kz_words *w, size_t at) {
    char before[KZ_WORDS_WORD_BYTES];
    const size_t end = kz_words_word_end(w, at);
    if (numeral_letter(w->segment[at]) == 0 ||
        (at > 0 && kz_char_is_alnum(kz_words_char_before(w, at)))) {
        return 0;
    }
    const size_t ordinal = read_roman_ordinal(w, at, end);
    const uint32_t value = ordinal > 0 ? 0 : kz_words_roman_value(w, at, end);
    if (value == 0 || w->segment[end] == '\'' || kz_words_digits(w, end) > 0) {
        return ordinal;
    }
    // "chap. II"
    const size_t behind = kz_words_back_space(w, at);
    const bool is_short = behind > 0 && w->segment[behind - 1] == '.';
    kz_words_word_before(w, is_short ? behind - 1 : at, before);
    const bool is_part = kz_words_is_listed(w->language->roman_before, before);
    const bool is_regnal =
        follows_name(w, at) && kz_words_is_listed(w->language->regnal_names, before);
    if (!is_part && !is_regnal &&
        !(is_small_numeral(w, at, end) &&
          (follows_name(w, at) || w->segment[at - (at > 0)] == '-'))) {
        return 0;
    }
    if (is_regnal && w->language->has_regnal_ordinals) {
        kz_words_say(w, w->language->the);
        kz_words_say_number(w, KZ_ORDINAL, value);
    } else {
        kz_words_say_number(w, KZ_CARDINAL, value);
    }
    return end - at;
}

// ---- initials -----------------------------------------------------------------------------------

// "S.N.C.F.", "J.-C.", "J. R. Dupont": letters, the dots not said.
size_t kz_words_read_initials(kz_words *w, size_t at) {
    size_t end = at, letters = 0;
    if (at > 0 && kz_char_is_alnum(kz_words_char_before(w, at))) {
        return 0;
    }
    while (letters < MOST_CAPITALS && w->segment[end] >= 'A' && w->segment[end] <= 'Z' &&
           w->segment[end + 1] == '.') {
        const bool is_joined = w->segment[end + 2] == '-' && w->segment[end + 3] >= 'A' &&
                               w->segment[end + 3] <= 'Z' && w->segment[end + 4] == '.';
        letters++;
        end += is_joined ? 3 : 2;
    }
    const bool is_initial =
        letters == 1 && w->segment[end] == ' ' && kz_char_is_upper(kz_words_char(w, end + 1));
    if (letters < 2 && !is_initial) {
        return 0;
    }
    for (size_t i = at; i < end; i++) {
        if (w->segment[i] >= 'A' && w->segment[i] <= 'Z') {
            kz_words_say_count(w, w->segment + i, 1);
        }
    }
    if (kz_words_ends_here(w, end)) {
        kz_words_put(w, '.');
    }
    return end - at;
}

// ---- capitals -----------------------------------------------------------------------------------

static bool is_vowel(char c) {
    return strchr("AEIOUYaeiouy", c) != NULL && c != '\0';
}

// Consonants that may begin or end a syllable together; any one alone may.
static const char openings[] = " BL BR CH CL CR DR FL FR GL GN GR PH PL PR PS QU RH SC SH SK SL SM "
                               "SN SP ST SW TH TR VR WH WR CHR SCR STR SPR THR SPL ";
static const char closings[] =
    " CK CT FF FT GH LD LF LK LL LM LS LT MP MS ND NG NK NS NT RB RC RD RK "
    "RL RM RN RS RT RD SH SK SM SP SS ST TH TS TZ ZZ CH RCH NCH PS CS KS "
    "RTS NTS NDS MPS NCE NGS RKS RDS ";

static bool is_pronounceable(const char *letters, size_t count) {
    size_t run = 0;
    bool has_vowel = false;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && !is_vowel(letters[i])) {
            run++;
            continue;
        }
        if (i == count) {
            return has_vowel &&
                   (run < 2 || kz_words_is_listed_count(closings, letters + count - run, run));
        }
        const bool is_opening = !has_vowel;
        has_vowel = true;
        if ((is_opening && run > 1 && !kz_words_is_listed_count(openings, letters, run)) ||
            run > 3) {
            return false;
        }
        run = 0;
    }
    return false;
}

static bool is_all_capitals(const kz_words *w, size_t at, size_t end, bool *out_is_ascii) {
    *out_is_ascii = true;
    for (size_t i = at; i < end;) {
        const kz_utf8_char c = kz_utf8_read_last(w->segment + i, end - i);
        if (!kz_char_is_upper(c.code_point)) {
            return false;
        }
        *out_is_ascii = *out_is_ascii && c.code_point < 0x80;
        i += c.length;
    }
    return end > at;
}

bool kz_words_is_spelled(const kz_words *w, size_t at, size_t end) {
    char word[KZ_WORDS_WORD_BYTES];
    bool is_ascii;
    const size_t count = end - at;
    if (count < 2 || count > MOST_CAPITALS || !is_all_capitals(w, at, end, &is_ascii) ||
        !is_ascii) {
        return false;
    }
    kz_words_word(w, at, word);
    word[count] = '\0';
    const kz_spoken_language *l = w->language;
    if (kz_words_is_listed(l->read_acronyms, word)) {
        return false;
    }
    if (kz_words_is_listed(l->spelled_acronyms, word)) {
        return true;
    }
    const bool can_be_said = is_pronounceable(w->segment + at, count);
    if (w->is_capitals || count > LONGEST_SPELLED || kz_words_is_listed(l->capital_words, word)) {
        return !can_be_said && !kz_words_is_listed(l->capital_words, word) &&
               count <= LONGEST_SPELLED + 1;
    }
    return count <= SHORT_CAPITALS || !can_be_said;
}

void kz_words_spell(kz_words *w, size_t at, size_t end) {
    for (size_t i = at; i < end;) {
        const kz_utf8_char c = kz_utf8_read_last(w->segment + i, end - i);
        char letter[5] = {0};
        const bool is_small = c.code_point >= 'a' && c.code_point <= 'z';
        kz_utf8_write(is_small ? c.code_point - 32 : c.code_point, letter);
        kz_words_say(w, letter);
        i += c.length;
    }
}

// Whether a line is shouted: of its words of two and more letters three in four are in capitals.
bool kz_words_is_capitals(const kz_words *w) {
    size_t capitals = 0, others = 0;
    for (size_t at = 0; at < w->count;) {
        bool is_ascii;
        const size_t end = kz_words_word_end(w, at);
        if (end == at) {
            at += kz_utf8_read_last(w->segment + at, w->count - at).length;
            continue;
        }
        if (end - at > 1 && is_all_capitals(w, at, end, &is_ascii)) {
            capitals++;
        } else if (end - at > 1) {
            others++;
        }
        at = end;
    }
    // A few acronyms in a short sentence are not shouted.
    return capitals > 1 && capitals >= 3 * others;
}

static bool is_beside_digit(const kz_words *w, size_t at, size_t end) {
    const uint32_t before = kz_words_char_before(w, at);
    const size_t hyphen = end + (w->segment[end] == '-');
    return (before >= '0' && before <= '9') || kz_words_digits(w, hyphen) > 0;
}

static void copy_small(kz_words *w, size_t at, size_t end) {
    const bool is_first = starts_sentence(w);
    for (size_t i = at; i < end;) {
        const kz_utf8_char c = kz_utf8_read_last(w->segment + i, end - i);
        kz_words_put(w, i == at && is_first ? c.code_point : kz_char_lower(c.code_point));
        i += c.length;
    }
}

size_t kz_words_read_word(kz_words *w, size_t at) {
    bool is_ascii;
    const size_t end = kz_words_word_end(w, at);
    // "PDFs": the plural's s is not a letter of the acronym.
    const bool is_plural =
        end - at > 2 && w->segment[end - 1] == 's' && kz_words_is_spelled(w, at, end - 1);
    const size_t letters_end = end - is_plural;
    // Behind digits, and not inside a word that is read in parts.
    const uint32_t before = kz_words_char_before(w, at);
    w->is_space_owed = w->is_space_owed || (before >= '0' && before <= '9');
    const bool is_capital = is_all_capitals(w, at, letters_end, &is_ascii);
    const bool is_code =
        is_capital && is_ascii && end - at <= SHORT_CAPITALS && is_beside_digit(w, at, end);
    if (kz_words_is_spelled(w, at, letters_end) || (is_code && end - at > 1)) {
        kz_words_spell(w, at, letters_end);
        return end - at;
    }
    char word[KZ_WORDS_WORD_BYTES];
    kz_words_word(w, at, word);
    if (is_capital && end - at > 1 && !kz_words_is_listed(w->language->read_acronyms, word)) {
        copy_small(w, at, end);
    } else {
        kz_words_copy(w, at, end - at);
    }
    return end - at;
}
