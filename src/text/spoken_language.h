// spoken_language.h: all that differs from one language to the next when a text is spoken.
//
// A language is one constant of this type in a file of its own and one row in spoken_words.c. Lists
// are words between spaces, in small letters: " un deux ". Tables end with a row of NULL or 0.
#ifndef KZ_TEXT_SPOKEN_LANGUAGE_H
#define KZ_TEXT_SPOKEN_LANGUAGE_H

#include "text/numbers.h"

// What must stand beside a text for its row to hold.
typedef enum kz_condition {
    KZ_ALWAYS,
    KZ_EXACT,          // always, in just these capitals and small letters
    KZ_BEFORE_CAPITAL, // exact; a word with a capital follows
    KZ_BEFORE_NUMBER,  // a digit or a numeral follows, after a space or none
    KZ_AFTER_NUMBER,   // a number stands before
    KZ_NOT_AFTER_NUMBER,
    KZ_AFTER_WORD, // exact; a word with a capital stands before: "Oak St."
    KZ_IN_WORDS,   // a letter or digit on both sides
    KZ_IN_NUMBERS, // a digit on both sides
    KZ_IN_FORMULA  // a digit or a letter alone on one side
} kz_condition;

typedef struct kz_unit {
    const char *symbol;
    const char *one, *many;
    bool is_feminine;
} kz_unit;

typedef struct kz_currency {
    const char *symbol;
    const char *one, *many;
    const char *cent, *cents; // NULL: none in use, the fraction is a decimal
    bool is_feminine;
} kz_currency;

// "M" in "1,2 M€".
typedef struct kz_scale {
    const char *symbol;
    const char *one, *many;
} kz_scale;

typedef struct kz_spoken_abbreviation {
    const char *written; // small letters also match with a first capital, unless exact
    const char *spoken;
    kz_condition when;
} kz_spoken_abbreviation;

typedef struct kz_spoken_sign {
    uint32_t sign;
    const char *spoken; // "," is a pause, "" is nothing
    kz_condition when;
} kz_spoken_sign;

typedef struct kz_ordinal_suffix {
    const char *suffix;
    const char *ending; // put behind the words, for the plural
    bool is_feminine;
    const char *instead; // the whole reading, as "second" for 2nd; NULL: the number's
} kz_ordinal_suffix;

typedef struct kz_fraction_name {
    uint32_t denominator;
    const char *one, *many;
} kz_fraction_name;

typedef struct kz_spoken_language {
    const char *code; // ISO 639-1
    kz_number_rules numbers;

    // How numbers are written and read.
    char decimal_mark, group_mark;
    bool has_space_groups;      // "1 234"
    bool has_digit_decimals;    // "point one four", and not "virgule quatorze"
    bool is_singular_below_two; // "1,5 litre"
    bool has_year_pairs;        // "nineteen ninety-nine"
    bool has_oh;                // "twenty-three oh five"
    bool has_hour_names;        // "quatorze heures trente"
    bool has_month_first;       // "July fourth"; 07/14 is a date
    bool has_digit_phones;      // digit by digit
    bool has_half_behind;       // "deux tasses et demie", and not "two and a half cups"
    bool has_regnal_ordinals;   // "the eighth"
    const char *decimal_word, *dot_word, *minus, *plus, *to, *over, *per, *per_many, *zero, *oh;
    const char *squared, *cubed, *power;
    const char *hashtag, *number, *sharp, *version;
    const char *hour, *hours;                 // with has_hour_names
    const char *even_hour;                    // "o'clock", said after an hour alone
    const char *of, *of_elided;               // "millions d'euros"
    const char *vowel_words;                  // elide although no vowel is written; or NULL
    const char *vowels;                       // letters that elide
    const char *hundred, *thousand;           // with has_year_pairs
    const char *per_nouns;                    // what "/" means per: "fois/jour"
    const char *the, *of_month;               // with has_month_first: "the first of May"
    const char *half, *half_feminine;         // before a noun; "-" at the end joins them
    const char *and_half, *and_half_feminine; // after a whole number
    const kz_fraction_name *fractions;
    const char *part_ending;       // plural of other parts: "huitième" + "s"
    const char *pairs;             // " 24/7 ": two numbers beside each other; or NULL
    const char *mark_denominators; // " 10 20 ": marks, read with `over`
    const char *thousand_word;     // a written word that takes the number's short form, or NULL
    const kz_number_correction *thousand_corrections; // that form: "quatre-vingts" is "-vingt"

    const kz_ordinal_suffix *ordinals;
    const kz_unit *units;
    const kz_currency *currencies;
    const kz_scale *scales;
    const kz_spoken_abbreviation *abbreviations;
    const kz_spoken_sign *signs;
    const char *const *phones; // patterns: d digit, _ one separator all along, | a group's end
    const char *months[12];
    const char *month_abbreviations[12]; // lists, with and without the dot
    const char *day_periods;             // list of what may follow a time: " a.m. p.m. am pm "
    const char *years_before;            // with has_year_pairs: words before a year
    const char *date_before;             // words that make "10/12" a date

    // Addresses.
    const char *at, *address_dot, *slash, *dash, *underscore, *colon, *question, *equals,
        *ampersand, *tilde;
    const char *percent;

    // Words.
    const char *feminine_nouns, *masculine_nouns; // singular; masculine ones beat the endings
    const char *feminine_endings;                 // list, longest match not needed
    const char *common_adjectives;   // of both genders; the noun that counts stands behind
    const char *nouns_before_number; // "page 1": the number is a name, and masculine
    const char *roman_before;        // words before a cardinal numeral
    const char *regnal_names;
    const char *roman_suffixes;       // list, for "XXIe"
    const char *roman_first_suffixes; // of "I" alone, for "Ier"; or NULL
    const char *read_acronyms, *spelled_acronyms;
    const char *capital_words; // short words that are written in capitals for stress
} kz_spoken_language;

extern const kz_spoken_language kz_spoken_french;
extern const kz_spoken_language kz_spoken_english;

#endif
