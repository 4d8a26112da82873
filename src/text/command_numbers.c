// command_numbers.c: numbers in words by recursive descent over three tables.
//
// in: folded text (small letters, NFC, ' for the apostrophe). out: all readings of a prefix.
// Spelled lists of all numbers would be simpler and a hundred times larger; this reads what both
// spelling reforms and both Frances write.
#include "text/command_numbers.h"

#include <string.h>

typedef struct number_word {
    const char *word; // '-' stands for a hyphen or a space
    int32_t value;
    int32_t last_addend; // tens: the largest number that may follow
} number_word;

typedef struct number_language {
    const number_word *units; // 0 to 19
    size_t unit_count;
    const number_word *tens;
    size_t ten_count;
    const char *and_word; // between tens and one, or after hundreds
    const char *hundreds[2];
    const char *thousand;
    bool has_bare_hundred; // "cent" alone is 100; English says "one hundred"
} number_language;

// Also beyond nine: "soixante-dix-sept" is read as soixante and dix-sept.
static const number_word french_units[] = {
    {"zéro", 0, 0},      {"un", 1, 0},     {"une", 1, 0},       {"deux", 2, 0},
    {"trois", 3, 0},     {"quatre", 4, 0}, {"cinq", 5, 0},      {"six", 6, 0},
    {"sept", 7, 0},      {"huit", 8, 0},   {"neuf", 9, 0},      {"dix", 10, 0},
    {"onze", 11, 0},     {"douze", 12, 0}, {"treize", 13, 0},   {"quatorze", 14, 0},
    {"quinze", 15, 0},   {"seize", 16, 0}, {"dix-sept", 17, 0}, {"dix-huit", 18, 0},
    {"dix-neuf", 19, 0},
};
static const number_word french_tens[] = {
    {"vingt", 20, 9},         {"trente", 30, 9},        {"quarante", 40, 9}, {"cinquante", 50, 9},
    {"soixante", 60, 19},     {"septante", 70, 9},      {"huitante", 80, 9}, {"octante", 80, 9},
    {"quatre-vingt", 80, 19}, {"quatre-vingts", 80, 0}, {"nonante", 90, 9},
};
static const number_word english_units[] = {
    {"zero", 0, 0},      {"one", 1, 0},      {"a", 1, 0},          {"two", 2, 0},
    {"three", 3, 0},     {"four", 4, 0},     {"five", 5, 0},       {"six", 6, 0},
    {"seven", 7, 0},     {"eight", 8, 0},    {"nine", 9, 0},       {"ten", 10, 0},
    {"eleven", 11, 0},   {"twelve", 12, 0},  {"thirteen", 13, 0},  {"fourteen", 14, 0},
    {"fifteen", 15, 0},  {"sixteen", 16, 0}, {"seventeen", 17, 0}, {"eighteen", 18, 0},
    {"nineteen", 19, 0},
};
static const number_word english_tens[] = {
    {"twenty", 20, 9}, {"thirty", 30, 9},  {"forty", 40, 9},  {"fifty", 50, 9},
    {"sixty", 60, 9},  {"seventy", 70, 9}, {"eighty", 80, 9}, {"ninety", 90, 9},
};

#define TABLE(table) (table), sizeof(table) / sizeof((table)[0])

static const number_language french = {
    TABLE(french_units), TABLE(french_tens), "et", {"cents", "cent"}, "mille", true};
static const number_language english = {TABLE(english_units),   TABLE(english_tens), "and",
                                        {"hundred", "hundred"}, "thousand",          false};

typedef struct readings {
    kz_number_reading *list;
    size_t count;
} readings;

static void add_reading(readings *found, size_t length, int32_t value) {
    for (size_t i = 0; i < found->count; i++) {
        if (found->list[i].length == length && found->list[i].value == value) {
            return;
        }
    }
    if (found->count < KZ_NUMBER_READINGS) {
        // Further ones are dropped: the array is the caller's.
        found->list[found->count++] = (kz_number_reading){(uint32_t)length, value};
    }
}

// The spelling of 1990 has hyphens throughout, the one before only below a hundred.
static bool is_gap(kz_text_view text, size_t at) {
    return at < text.count && (text.bytes[at] == ' ' || text.bytes[at] == '-');
}

// Bytes of `word` at `at`, 0 when it does not stand there.
static size_t match_word(kz_text_view text, size_t at, const char *word) {
    size_t i = 0;
    for (; word[i] != '\0'; i++) {
        if (at + i >= text.count ||
            (word[i] == '-' ? !is_gap(text, at + i) : text.bytes[at + i] != word[i])) {
            return 0;
        }
    }
    return i;
}

// The gap before an addend, with "et" when `takes_and` and it is there.
static size_t match_gap(kz_text_view text, size_t at, const char *and_word, bool takes_and) {
    if (!is_gap(text, at)) {
        return 0;
    }
    const size_t and_length = takes_and ? match_word(text, at + 1, and_word) : 0;
    return and_length > 0 && is_gap(text, at + 1 + and_length) ? and_length + 2 : 1;
}

static void read_units(const number_language *language, kz_text_view text, size_t at, int32_t base,
                       int32_t last, readings *found) {
    for (size_t i = 0; i < language->unit_count; i++) {
        const number_word *unit = &language->units[i];
        const bool fits =
            // After tens or hundreds: no "vingt-zéro", and no "twenty a".
            base == 0 || (unit->value >= 1 && unit->value <= last && strcmp(unit->word, "a") != 0);
        const size_t length = fits ? match_word(text, at, unit->word) : 0;
        if (length > 0) {
            add_reading(found, at + length, base + unit->value);
        }
    }
}

static void read_below_100(const number_language *language, kz_text_view text, size_t at,
                           int32_t base, readings *found) {
    // New readings go behind those that are there; the count alone comes back.
    readings own = {found->list, found->count};
    read_units(language, text, at, base, 19, &own);
    for (size_t i = 0; i < language->ten_count; i++) {
        const number_word *ten = &language->tens[i];
        const size_t length = match_word(text, at, ten->word);
        if (length == 0) {
            continue;
        }
        add_reading(&own, at + length, base + ten->value);
        // "vingt et un", but never "twenty and one"; English takes its "and" after the hundreds.
        const size_t gap = match_gap(text, at + length, language->and_word, language == &french);
        if (gap > 0 && ten->last_addend > 0) {
            read_units(language, text, at + length + gap, base + ten->value, ten->last_addend,
                       &own);
        }
    }
    found->count = own.count;
}

// `base` hundreds end at `at`: the number itself and with what follows.
static void finish_hundreds(const number_language *language, kz_text_view text, size_t at,
                            int32_t base, readings *found) {
    add_reading(found, at, base);
    const size_t gap = match_gap(text, at, language->and_word, language == &english);
    if (gap > 0) {
        read_below_100(language, text, at + gap, base, found);
    }
}

static void read_below_1000(const number_language *language, kz_text_view text, size_t at,
                            int32_t base, readings *found) {
    read_below_100(language, text, at, base, found);
    // Both forms: where "cents" stands, the reading by "cent" leaves an s that nothing matches, and
    // falls away by itself.
    for (size_t form = 0; form < 2; form++) {
        const char *hundred = language->hundreds[form];
        const size_t bare = language->has_bare_hundred ? match_word(text, at, hundred) : 0;
        if (bare > 0) {
            finish_hundreds(language, text, at + bare, base + 100, found);
        }
        for (size_t i = 0; i < language->unit_count; i++) {
            const number_word *unit = &language->units[i];
            const size_t length =
                unit->value >= 1 && unit->value <= 9 ? match_word(text, at, unit->word) : 0;
            const size_t end = length > 0 && is_gap(text, at + length) ? at + length + 1 : 0;
            const size_t word = end > 0 ? match_word(text, end, hundred) : 0;
            if (word > 0) {
                finish_hundreds(language, text, end + word, base + unit->value * 100, found);
            }
        }
    }
}

static void finish_thousands(const number_language *language, kz_text_view text, size_t at,
                             int32_t base, readings *found) {
    add_reading(found, at, base);
    const size_t gap = match_gap(text, at, language->and_word, language == &english);
    if (gap > 0) {
        read_below_1000(language, text, at + gap, base, found);
    }
}

size_t kz_number_words_read(const char *language, kz_text_view text,
                            kz_number_reading out_readings[KZ_NUMBER_READINGS]) {
    const number_language *words = strncmp(language, "fr", 2) == 0 ? &french : &english;
    readings found = {out_readings, 0};
    read_below_1000(words, text, 0, 0, &found);
    // Readings that thousands add lie behind it and are not multiplied again.
    const size_t small_count = found.count;
    for (size_t i = 0; i < small_count; i++) {
        const size_t at = out_readings[i].length;
        const size_t word = is_gap(text, at) ? match_word(text, at + 1, words->thousand) : 0;
        if (word > 0 && out_readings[i].value > 0) {
            finish_thousands(words, text, at + 1 + word, out_readings[i].value * 1000, &found);
        }
    }
    const size_t bare = words->has_bare_hundred ? match_word(text, 0, words->thousand) : 0;
    if (bare > 0) {
        finish_thousands(words, text, bare, 1000, &found);
    }
    return found.count;
}
