// sentence_words.c: the tables of abbreviations and sentence beginnings, French and English.
//
// in: one word. out: a rule. A word that is in no table is judged by its shape: one capital letter
// is an initial, letters between dots are an acronym. Tables hold only what shape and the next
// letter cannot decide: an unknown abbreviation before a small letter is never cut anyway.
#include "text/sentence_words.h"

#include <string.h>

// Longer than any row of the tables; a longer word folds to nothing and so is in none.
#define MAX_WORD_BYTES 32

typedef struct abbreviation {
    const char *word; // small letters
    kz_stop_rule rule;
    bool needs_capital; // only when written with a first capital: "Me." and not "me."
} abbreviation;

// Both languages. Words that are also common nouns only bind to a digit or a small letter.
static const abbreviation shared_abbreviations[] = {
    // Titles and references that always have something behind them are NEVER; units, months and
    // days may end a sentence before a capital; CAPITAL and STARTER differ in whether names follow
    // them often.
    {"dr", KZ_STOP_NEVER, false},     {"st", KZ_STOP_STARTER, true},
    {"p", KZ_STOP_NEVER, false},      {"pp", KZ_STOP_NEVER, false},
    {"cf", KZ_STOP_NEVER, false},     {"vs", KZ_STOP_NEVER, false},
    {"tel", KZ_STOP_NEVER, false},    {"n.b", KZ_STOP_NEVER, false},
    {"p.s", KZ_STOP_NEVER, false},    {"p.-s", KZ_STOP_NEVER, false},
    {"prof", KZ_STOP_NEVER, true},    {"lt", KZ_STOP_NEVER, true},
    {"etc", KZ_STOP_CAPITAL, false},  {"no", KZ_STOP_CAPITAL, false},
    {"fig", KZ_STOP_NUMERAL, false},  {"vol", KZ_STOP_NUMERAL, false},
    {"art", KZ_STOP_NUMERAL, false},  {"max", KZ_STOP_CAPITAL, false},
    {"min", KZ_STOP_CAPITAL, false},  {"sec", KZ_STOP_CAPITAL, false},
    {"ed", KZ_STOP_CAPITAL, false},   {"ch", KZ_STOP_CAPITAL, false},
    {"al", KZ_STOP_CAPITAL, false},   {"tab", KZ_STOP_NUMERAL, false},
    {"a.m", KZ_STOP_CAPITAL, false},  {"p.m", KZ_STOP_CAPITAL, false},
    {"sept", KZ_STOP_CAPITAL, false}, {"oct", KZ_STOP_CAPITAL, false},
    {"nov", KZ_STOP_CAPITAL, false},  {"mar", KZ_STOP_CAPITAL, false},
    {"inc", KZ_STOP_STARTER, false},  {"ltd", KZ_STOP_STARTER, false},
    {"co", KZ_STOP_STARTER, true},    {"corp", KZ_STOP_STARTER, false},
    {"jr", KZ_STOP_STARTER, false},   {"sr", KZ_STOP_STARTER, false},
    {"ph.d", KZ_STOP_STARTER, false}, {"nb", KZ_STOP_NEVER, false},
};

static const abbreviation french_abbreviations[] = {
    // "M." and "Me." are titles only with a capital: "dis-le-moi." and "50 m." end in the same
    // letters.
    {"m", KZ_STOP_NEVER, true},           {"mm", KZ_STOP_NEVER, true},
    {"mme", KZ_STOP_NEVER, false},        {"mmes", KZ_STOP_NEVER, false},
    {"mlle", KZ_STOP_NEVER, false},       {"mlles", KZ_STOP_NEVER, false},
    {"mgr", KZ_STOP_NEVER, false},        {"me", KZ_STOP_NEVER, true},
    {"mes", KZ_STOP_NEVER, true},         {"pr", KZ_STOP_NEVER, false},
    {"drs", KZ_STOP_NEVER, false},        {"dre", KZ_STOP_NEVER, false},
    {"pre", KZ_STOP_NEVER, false},        {"ste", KZ_STOP_NEVER, false},
    {"bd", KZ_STOP_NEVER, false},         {"bld", KZ_STOP_NEVER, false},
    {"boul", KZ_STOP_NEVER, false},       {"av", KZ_STOP_NEVER, false},
    {"apr", KZ_STOP_NEVER, false},        {"ap", KZ_STOP_NEVER, false},
    {"env", KZ_STOP_NEVER, false},        {"tél", KZ_STOP_NEVER, false},
    {"réf", KZ_STOP_NEVER, false},        {"ref", KZ_STOP_NEVER, false},
    {"c.-à-d", KZ_STOP_NEVER, false},     {"c-à-d", KZ_STOP_NEVER, false},
    {"càd", KZ_STOP_NEVER, false},        {"c.à.d", KZ_STOP_NEVER, false},
    {"gén", KZ_STOP_NEVER, false},        {"rte", KZ_STOP_NEVER, false},
    {"chem", KZ_STOP_NEVER, false},       {"imp", KZ_STOP_NEVER, false},
    {"fg", KZ_STOP_NEVER, false},         {"pl", KZ_STOP_NEVER, false},
    {"sq", KZ_STOP_NEVER, false},         {"all", KZ_STOP_NEVER, false},
    {"résid", KZ_STOP_NEVER, false},      {"bât", KZ_STOP_NEVER, false},
    {"esc", KZ_STOP_NEVER, false},        {"cdt", KZ_STOP_NEVER, true},
    {"cne", KZ_STOP_NEVER, true},         {"col", KZ_STOP_NEVER, true},
    {"sgt", KZ_STOP_NEVER, true},         {"cap", KZ_STOP_NEVER, true},
    {"vve", KZ_STOP_NEVER, false},        {"dir", KZ_STOP_CAPITAL, false},
    {"ex", KZ_STOP_STARTER, false},       {"chap", KZ_STOP_NUMERAL, false},
    {"sect", KZ_STOP_NUMERAL, false},     {"par", KZ_STOP_NUMERAL, false},
    {"al", KZ_STOP_CAPITAL, false},       {"ann", KZ_STOP_NUMERAL, false},
    {"éd", KZ_STOP_CAPITAL, false},       {"coll", KZ_STOP_CAPITAL, false},
    {"trad", KZ_STOP_CAPITAL, false},     {"suiv", KZ_STOP_CAPITAL, false},
    {"num", KZ_STOP_CAPITAL, false},      {"n", KZ_STOP_CAPITAL, false},
    {"hab", KZ_STOP_CAPITAL, false},      {"s.v.p", KZ_STOP_CAPITAL, false},
    {"r.-v", KZ_STOP_CAPITAL, false},     {"janv", KZ_STOP_CAPITAL, false},
    {"févr", KZ_STOP_CAPITAL, false},     {"fév", KZ_STOP_CAPITAL, false},
    {"avr", KZ_STOP_CAPITAL, false},      {"juill", KZ_STOP_CAPITAL, false},
    {"juil", KZ_STOP_CAPITAL, false},     {"déc", KZ_STOP_CAPITAL, false},
    {"lun", KZ_STOP_CAPITAL, false},      {"mer", KZ_STOP_CAPITAL, false},
    {"jeu", KZ_STOP_CAPITAL, false},      {"ven", KZ_STOP_CAPITAL, false},
    {"sam", KZ_STOP_CAPITAL, false},      {"dim", KZ_STOP_CAPITAL, false},
    {"adr", KZ_STOP_NEVER, false},        {"dép", KZ_STOP_CAPITAL, false},
    {"dépt", KZ_STOP_CAPITAL, false},     {"sté", KZ_STOP_NEVER, false},
    {"cie", KZ_STOP_STARTER, false},      {"j.-c", KZ_STOP_CAPITAL, false},
    {"st", KZ_STOP_NEVER, false},         {"av.j.-c", KZ_STOP_CAPITAL, false},
    {"apr.j.-c", KZ_STOP_CAPITAL, false},
};

static const abbreviation english_abbreviations[] = {
    // Ranks and titles need their capital, since "rep.", "hon." and "gov." also end plain words.
    {"mr", KZ_STOP_NEVER, false},     {"mrs", KZ_STOP_NEVER, false},
    {"ms", KZ_STOP_NEVER, false},     {"messrs", KZ_STOP_NEVER, false},
    {"rev", KZ_STOP_NEVER, true},     {"hon", KZ_STOP_NEVER, true},
    {"gen", KZ_STOP_NEVER, true},     {"col", KZ_STOP_NEVER, true},
    {"sgt", KZ_STOP_NEVER, true},     {"capt", KZ_STOP_NEVER, true},
    {"cmdr", KZ_STOP_NEVER, true},    {"maj", KZ_STOP_NEVER, true},
    {"gov", KZ_STOP_NEVER, true},     {"sen", KZ_STOP_NEVER, true},
    {"rep", KZ_STOP_NEVER, true},     {"pres", KZ_STOP_NEVER, true},
    {"supt", KZ_STOP_NEVER, true},    {"fr", KZ_STOP_NEVER, true},
    {"mt", KZ_STOP_NEVER, true},      {"ft", KZ_STOP_STARTER, false},
    {"e.g", KZ_STOP_NEVER, false},    {"i.e", KZ_STOP_NEVER, false},
    {"eg", KZ_STOP_NEVER, false},     {"ie", KZ_STOP_NEVER, false},
    {"a.k.a", KZ_STOP_NEVER, false},  {"viz", KZ_STOP_NEVER, false},
    {"approx", KZ_STOP_NEVER, false}, {"ave", KZ_STOP_STARTER, false},
    {"rd", KZ_STOP_STARTER, true},    {"blvd", KZ_STOP_STARTER, false},
    {"ln", KZ_STOP_STARTER, true},    {"hwy", KZ_STOP_STARTER, false},
    {"bros", KZ_STOP_STARTER, false}, {"esq", KZ_STOP_STARTER, false},
    {"dept", KZ_STOP_STARTER, false}, {"univ", KZ_STOP_STARTER, false},
    {"est", KZ_STOP_CAPITAL, false},  {"ext", KZ_STOP_CAPITAL, false},
    {"eds", KZ_STOP_CAPITAL, false},  {"nos", KZ_STOP_CAPITAL, false},
    {"jan", KZ_STOP_CAPITAL, false},  {"feb", KZ_STOP_CAPITAL, false},
    {"apr", KZ_STOP_CAPITAL, false},  {"jun", KZ_STOP_CAPITAL, false},
    {"jul", KZ_STOP_CAPITAL, false},  {"aug", KZ_STOP_CAPITAL, false},
    {"sep", KZ_STOP_CAPITAL, false},  {"dec", KZ_STOP_CAPITAL, false},
    {"mon", KZ_STOP_CAPITAL, false},  {"tue", KZ_STOP_CAPITAL, false},
    {"tues", KZ_STOP_CAPITAL, false}, {"wed", KZ_STOP_CAPITAL, false},
    {"thu", KZ_STOP_CAPITAL, false},  {"thurs", KZ_STOP_CAPITAL, false},
    {"fri", KZ_STOP_CAPITAL, false},  {"sat", KZ_STOP_CAPITAL, false},
    {"sun", KZ_STOP_CAPITAL, false},  {"b.c", KZ_STOP_CAPITAL, false},
    {"a.d", KZ_STOP_CAPITAL, false},  {"oz", KZ_STOP_CAPITAL, false},
    {"lb", KZ_STOP_CAPITAL, false},   {"lbs", KZ_STOP_CAPITAL, false},
};

// Words that begin sentences and hardly ever names, between spaces; an apostrophe closes an elided
// word. The second half, after '|', also begins surnames ("Le Goff").
static const char french_starters[] =
    " il elle ils elles on nous vous je tu j' c' ce cela ça cet cette ces c'est puis ensuite mais "
    "donc "
    "or ainsi alors enfin après avant quand si pour dans et ou où car pourquoi comment combien "
    "quel "
    "quelle quels quelles qui que qu' s' n' t' y son sa ses mon ma mes notre votre leur leurs ton "
    "ta "
    "tes chaque aucun aucune tout toute tous toutes voici voilà merci oui non ne pas plus depuis "
    "pendant comme lorsque aussi en à chez sans avec sur | le la les l' un une des du de d' au "
    "aux ";
static const char english_starters[] =
    " he she it they we you i this that these those there but and then so however when if what who "
    "why how where my his her our their your its no yes please for with after before as at in on "
    "since while | the a an ";

static size_t lower_word(kz_text_view word, char out[MAX_WORD_BYTES + 1]) {
    // Folded as in the streams, so that capitals, accents in two parts and the curly apostrophe
    // find the same row.
    const size_t count = kz_text_fold(word.bytes, word.count, out, MAX_WORD_BYTES);
    out[count == SIZE_MAX ? 0 : count] = '\0';
    return count == SIZE_MAX ? 0 : count;
}

static const abbreviation *find_abbreviation(const abbreviation *table, size_t count,
                                             const char *word, bool is_capital) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i].word, word) == 0 && (is_capital || !table[i].needs_capital)) {
            return &table[i];
        }
    }
    return NULL;
}

static bool is_french(const char *language) {
    return strncmp(language, "fr", 2) == 0;
}

#define TABLE_AND_COUNT(table) (table), sizeof(table) / sizeof((table)[0])

static const abbreviation *look_up(const char *language, const char *word, bool is_capital) {
    const abbreviation *own =
        is_french(language)
            ? find_abbreviation(TABLE_AND_COUNT(french_abbreviations), word, is_capital)
            : find_abbreviation(TABLE_AND_COUNT(english_abbreviations), word, is_capital);
    // The language's own row first: "col." is a rank in both, but "st." differs.
    return own != NULL ? own
                       : find_abbreviation(TABLE_AND_COUNT(shared_abbreviations), word, is_capital);
}

// Single letters between dots, hyphens allowed: "O.N.U", "J.-P". One letter alone is an initial.
static bool is_dotted_letters(kz_text_view word, size_t *out_letters) {
    bool wants_letter = true;
    *out_letters = 0;
    for (size_t at = 0; at < word.count;) {
        const kz_utf8_char c = kz_utf8_read_last(word.bytes + at, word.count - at);
        at += c.length;
        if (c.code_point == '.' && !wants_letter) {
            wants_letter = true;
            // "J.-P.": the hyphen joins two initials.
        } else if (c.code_point == '-' && (*out_letters > 0)) {
            wants_letter = true;
        } else if (wants_letter && c.is_valid && kz_char_is_letter(c.code_point)) {
            wants_letter = false;
            (*out_letters)++;
        } else {
            return false;
        }
    }
    return *out_letters > 0 && !wants_letter;
}

kz_stop_rule kz_abbreviation_rule(const char *language, kz_text_view word, bool follows_number) {
    char lower[MAX_WORD_BYTES + 1];
    const kz_utf8_char first = kz_utf8_read_last(word.bytes, word.count);
    const bool is_capital = word.count > 0 && first.is_valid && kz_char_is_upper(first.code_point);
    if (lower_word(word, lower) == 0) {
        return KZ_STOP_ANY;
    }
    // A single letter after a number is a unit: "5 m." ends a sentence, "M. Dupont" does not.
    const abbreviation *known =
        follows_number && word.count == first.length ? NULL : look_up(language, lower, is_capital);
    if (known != NULL) {
        return known->rule;
    }
    size_t letters;
    if (!is_dotted_letters(word, &letters)) {
        return KZ_STOP_ANY;
    }
    if (letters > 1) {
        return KZ_STOP_STARTER;
    }
    // One capital is an initial, before a name: only a word that can be no name ends the sentence.
    return is_capital && !follows_number ? KZ_STOP_PRONOUN : KZ_STOP_ANY;
}

bool kz_word_starts_sentence(const char *language, kz_text_view word, kz_stop_rule rule) {
    // A space on both sides, as in the lists, so that only whole words are found.
    char key[MAX_WORD_BYTES + 3] = " ";
    if (rule == KZ_STOP_NUMERAL) {
        size_t numerals = 0;
        while (numerals < word.count && strchr("IVXLCDM", word.bytes[numerals]) != NULL) {
            numerals++;
        }
        return numerals < word.count;
    }
    const size_t count = lower_word(word, key + 1);
    if (count == 0) {
        return false;
    }
    memcpy(key + 1 + count, " ", 2);
    const char *list = is_french(language) ? french_starters : english_starters;
    const char *found = strstr(list, key);
    return found != NULL && (rule != KZ_STOP_PRONOUN || found < strchr(list, '|'));
}
