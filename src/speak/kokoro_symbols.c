// kokoro_symbols.c: IPA as espeak-ng writes it -> the ids that a Kokoro was trained on.
//
// in:  IPA and marks (text/phonemes.h), the characters of a program
// out: ids
// A rule replaces a few IPA characters by others; the longest that fits is taken, and its result is
// not looked at again. What no rule names stands for itself.
#include "speak/kokoro_symbols.h"

#include <stdlib.h>
#include <string.h>

typedef struct kz_kokoro_rule {
    const char *ipa;
    const char *symbols; // at most two characters
} kokoro_rule;

// One character for a sound that slides; U+0361 is espeak-ng's tie bar.
#define TIE "\u0361"
#define SYLLABIC "\u0329"
#define NASAL "\u0303"

// All languages but English; nasal vowels stay a letter and a tilde.
static const kokoro_rule general_rules[] = {
    {"a" TIE "ɪ", "I"}, {"a" TIE "ʊ", "W"}, {"d" TIE "z", "ʣ"}, {"d" TIE "ʒ", "ʤ"},
    {"e" TIE "ɪ", "A"}, {"o" TIE "ʊ", "O"}, {"ə" TIE "ʊ", "Q"}, {"s" TIE "s", "S"},
    {"t" TIE "s", "ʦ"}, {"t" TIE "ʃ", "ʧ"}, {"ɔ" TIE "ɪ", "Y"}, {TIE, ""},
    {"-", ""},
};

// What both kinds of English share. Sounds of foreign words become the nearest English ones.
#define ENGLISH_RULES                                                                             \
    {"ʔˌn" SYLLABIC, "tn"}, {"ʔn" SYLLABIC, "tn"}, {"a" TIE "ɪ", "I"}, {"a" TIE "ʊ", "W"},        \
        {"d" TIE "ʒ", "ʤ"}, {"e" TIE "ɪ", "A"}, {"e", "A"}, {"t" TIE "ʃ", "ʧ"},                   \
        {"ɔ" TIE "ɪ", "Y"}, {"ə" TIE "l", "ᵊl"}, {"ʲ", ""}, {"ʲo", "jɔ"}, {"ʲə", "jə"},           \
        {"r", "ɹ"}, {"x", "k"}, {"ç", "k"}, {"ɐ", "ə"}, {"ɬ", "l"}, {NASAL, ""}, {"o", "ɔ"},      \
        {"ɾ", "T"}, {"ʔ", "t"}, {"n" SYLLABIC, "ᵊn"}, {"l" SYLLABIC, "ᵊl"}, {"m" SYLLABIC, "ᵊm"}, \
        {"ɹ" SYLLABIC, "ᵊɹ"}, {SYLLABIC, ""}, {"-", ""}, {TIE, ""}, {                             \
        "ɚ", "əɹ"                                                                               \
    }

static const kokoro_rule american_rules[] = {
    ENGLISH_RULES, {"o" TIE "ʊ", "O"}, {"ɜːɹ", "ɜɹ"}, {"ɜː", "ɜɹ"}, {"ɪə", "iə"}, {"ː", ""},
};

static const kokoro_rule british_rules[] = {
    ENGLISH_RULES, {"e" TIE "ə", "ɛː"}, {"i" TIE "ə", "ɪə"}, {"iə", "ɪə"}, {"ə" TIE "ʊ", "Q"},
};

#define RULES(table) table, sizeof table / sizeof table[0]

// espeak-ng names its voices after files: "en" is the British one.
static const kz_kokoro_language languages[] = {
    {"fr", "fr", RULES(general_rules)},    {"en-us", "en-us", RULES(american_rules)},
    {"en-gb", "en", RULES(british_rules)}, {"es", "es", RULES(general_rules)},
    {"it", "it", RULES(general_rules)},    {"pt-br", "pt-br", RULES(general_rules)},
    {"hi", "hi", RULES(general_rules)},
};

bool kz_kokoro_is_language(const char *wanted, const char *language) {
    const size_t length = strlen(wanted);
    return strncmp(wanted, language, length) == 0 &&
           (language[length] == '\0' || language[length] == '-');
}

const kz_kokoro_language *kz_kokoro_find_language(const char *name) {
    for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++) {
        if (strcmp(languages[i].name, name) == 0) {
            return &languages[i];
        }
    }
    return NULL;
}

// --- The characters of a program ----------------------------------------------------------------

static int compare_symbols(const void *a, const void *b) {
    const uint32_t first = ((const kz_kokoro_symbol *)a)->code_point;
    const uint32_t second = ((const kz_kokoro_symbol *)b)->code_point;
    return (first > second) - (first < second);
}

int32_t kz_kokoro_symbol_id(const kz_kokoro_symbols *symbols, uint32_t code_point) {
    const kz_kokoro_symbol wanted = {code_point, 0};
    const kz_kokoro_symbol *found =
        bsearch(&wanted, symbols->symbols, symbols->count, sizeof wanted, compare_symbols);
    return found == NULL ? -1 : found->id;
}

static kazeia_status read_symbol(const char *text, int64_t id, int64_t id_count,
                                 kz_kokoro_symbol *out_symbol) {
    const kz_utf8_char c = kz_utf8_read_last(text, strlen(text));
    if (!c.is_valid || c.length != strlen(text)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: speak.symbols has '%.16s', expected one character", text);
    }
    if (id < 0 || id >= id_count) {
        return kz_fail(KAZEIA_BAD_FILE, "program: the id of '%s' is %lld, expected 0 to %lld", text,
                       (long long)id, (long long)id_count - 1);
    }
    *out_symbol = (kz_kokoro_symbol){c.code_point, (int32_t)id};
    return KAZEIA_OK;
}

static kazeia_status check_symbols(kz_kokoro_symbols *symbols) {
    qsort(symbols->symbols, symbols->count, sizeof symbols->symbols[0], compare_symbols);
    for (size_t i = 1; i < symbols->count; i++) {
        if (symbols->symbols[i].code_point == symbols->symbols[i - 1].code_point) {
            return kz_fail(KAZEIA_BAD_FILE, "program: speak.symbols has U+%04X twice",
                           symbols->symbols[i].code_point);
        }
    }
    symbols->space = kz_kokoro_symbol_id(symbols, ' ');
    return symbols->space >= 0 ? KAZEIA_OK
                               : kz_fail(KAZEIA_BAD_FILE, "program: speak.symbols has no space");
}

kazeia_status kz_kokoro_symbols_read(const kz_program *program, int64_t id_count,
                                     kz_kokoro_symbols *out_symbols) {
    const char *const *texts = NULL;
    const int64_t *ids = NULL;
    size_t count = 0, id_list_count = 0;
    if (!kz_program_strings(program, "speak.symbols", &texts, &count) ||
        !kz_program_integers(program, "speak.symbol_codes", &ids, &id_list_count)) {
        return kz_fail(KAZEIA_BAD_FILE, "program: speak.symbols or speak.symbol_codes is missing");
    }
    if (count != id_list_count || count > KZ_KOKORO_MOST_SYMBOLS) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: %zu symbols and %zu codes, expected as many of both, at most %u",
                       count, id_list_count, KZ_KOKORO_MOST_SYMBOLS);
    }
    out_symbols->count = count;
    for (size_t i = 0; i < count; i++) {
        KZ_TRY(read_symbol(texts[i], ids[i], id_count, &out_symbols->symbols[i]));
    }
    return check_symbols(out_symbols);
}

// --- From IPA to ids ----------------------------------------------------------------------------

// The longest rule that fits; NULL when none does.
static const kokoro_rule *find_rule(const kz_kokoro_language *language, kz_text_view rest,
                                    size_t *out_length) {
    const kokoro_rule *best = NULL;
    *out_length = 0;
    for (size_t i = 0; i < language->rule_count; i++) {
        const size_t length = strlen(language->rules[i].ipa);
        if (length > *out_length && length <= rest.count &&
            memcmp(language->rules[i].ipa, rest.bytes, length) == 0) {
            best = &language->rules[i];
            *out_length = length;
        }
    }
    return best;
}

// The ids of characters that stand for themselves; at most two.
static size_t write_ids(const kz_kokoro_symbols *symbols, kz_text_view text, int32_t out_ids[2]) {
    size_t written = 0;
    for (size_t at = 0; at < text.count && written < 2;) {
        const kz_utf8_char c = kz_utf8_read_last(text.bytes + at, text.count - at);
        const int32_t id = kz_kokoro_symbol_id(symbols, c.code_point);
        if (id >= 0) {
            out_ids[written++] = id;
        }
        at += c.length;
    }
    return written;
}

size_t kz_kokoro_symbols_of(const kz_kokoro_symbols *symbols, const kz_kokoro_language *language,
                            kz_text_view ipa, size_t capacity, int32_t *out_ids,
                            size_t *out_taken) {
    size_t count = 0, at = 0;
    while (at < ipa.count && capacity - count >= 2) {
        const kz_text_view rest = {ipa.bytes + at, ipa.count - at};
        size_t length = 0;
        const kokoro_rule *rule = find_rule(language, rest, &length);
        kz_text_view text = {rest.bytes, 0};
        if (rule != NULL) {
            text = (kz_text_view){rule->symbols, strlen(rule->symbols)};
        } else {
            length = kz_utf8_read_last(rest.bytes, rest.count).length;
            text.count = length;
        }
        count += write_ids(symbols, text, out_ids + count);
        at += length;
    }
    *out_taken = at;
    return count;
}
