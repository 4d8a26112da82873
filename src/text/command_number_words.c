// command_number_words.c: small numbers in words.
//
// in: 0 to 100. out: the usual spelling, hyphens below a hundred, "vingt et un" without.
#include "text/command_number_words.h"

#include <stdio.h>
#include <string.h>

static const char *const french_units[] = {"zéro",   "un",    "deux",     "trois",    "quatre",
                                           "cinq",   "six",   "sept",     "huit",     "neuf",
                                           "dix",    "onze",  "douze",    "treize",   "quatorze",
                                           "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf"};
static const char *const french_tens[] = {
    "",          "",         "vingt",    "trente",       "quarante",
    "cinquante", "soixante", "soixante", "quatre-vingt", "quatre-vingt"};
static const char *const english_units[] = {
    "zero",     "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const english_tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                           "fifty", "sixty", "seventy", "eighty", "ninety"};

static int write_french(int32_t number, bool is_feminine, char *out) {
    // From 60 and from 80 on, twenty units follow.
    const int32_t ten = number / 10, base = ten == 7 || ten == 9 ? 10 * (ten - 1) : 10 * ten;
    const int32_t unit = number - base;
    const char *one = is_feminine ? "une" : "un";
    if (number == 100) {
        return snprintf(out, KZ_NUMBER_WORDS_BYTES, "cent");
    }
    if (number < 20) {
        return snprintf(out, KZ_NUMBER_WORDS_BYTES, "%s", number == 1 ? one : french_units[number]);
    }
    if (unit == 0) {
        return snprintf(out, KZ_NUMBER_WORDS_BYTES, "%s%s", french_tens[ten], ten == 8 ? "s" : "");
    }
    const bool has_and = (unit == 1 || unit == 11) && base < 80;
    return snprintf(out, KZ_NUMBER_WORDS_BYTES, has_and ? "%s et %s" : "%s-%s", french_tens[ten],
                    unit == 1 ? one : french_units[unit]);
}

static int write_english(int32_t number, char *out) {
    if (number == 100) {
        return snprintf(out, KZ_NUMBER_WORDS_BYTES, "one hundred");
    }
    if (number < 20) {
        return snprintf(out, KZ_NUMBER_WORDS_BYTES, "%s", english_units[number]);
    }
    return number % 10 == 0 ? snprintf(out, KZ_NUMBER_WORDS_BYTES, "%s", english_tens[number / 10])
                            : snprintf(out, KZ_NUMBER_WORDS_BYTES, "%s-%s",
                                       english_tens[number / 10], english_units[number % 10]);
}

size_t kz_number_words_write(const char *language, int32_t number, int form,
                             char out[KZ_NUMBER_WORDS_BYTES]) {
    const bool is_french = strcmp(language, "fr") == 0;
    const bool has_feminine =
        is_french && number % 10 == 1 && number != 11 && number / 10 != 7 && number / 10 != 9;
    if (number < 0 || number > 100 || (form == 1 && !has_feminine)) {
        return 0;
    }
    const int count = is_french ? write_french(number, form == 1, out) : write_english(number, out);
    return count < 0 ? 0 : (size_t)count;
}
