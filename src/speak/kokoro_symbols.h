// kokoro_symbols.h: IPA as espeak-ng writes it -> the ids that a Kokoro was trained on.
//
// A Kokoro reads single characters: most are IPA, some stand for a whole diphthong or affricate,
// the rest is punctuation. Which characters there are, and their ids, is in the program:
//
//   speak.symbols        strings, one character each
//   speak.symbol_codes   integers, their ids, in the same order
//
// How a language's IPA becomes such characters is here, by the conventions of those who trained the
// model (the package misaki, whose tables for espeak-ng these are in other words).
#ifndef KZ_SPEAK_KOKORO_SYMBOLS_H
#define KZ_SPEAK_KOKORO_SYMBOLS_H

#include "runtime/load.h"
#include "text/utf8.h"

#define KZ_KOKORO_MOST_SYMBOLS 1024u // of a program

// How a language is read.
typedef struct kz_kokoro_language {
    const char *name;         // as programs name it: "fr", "en-us", "en-gb"
    const char *espeak_voice; // whose IPA it is
    const struct kz_kokoro_rule *rules;
    size_t rule_count;
} kz_kokoro_language;

// Whether `language` is `wanted` or a kind of it: "en-gb" is "en".
bool kz_kokoro_is_language(const char *wanted, const char *language);
// NULL when there is no such language.
const kz_kokoro_language *kz_kokoro_find_language(const char *name);

typedef struct kz_kokoro_symbol {
    uint32_t code_point;
    int32_t id;
} kz_kokoro_symbol;

// A value of its own: nothing of it belongs to the program.
typedef struct kz_kokoro_symbols {
    kz_kokoro_symbol symbols[KZ_KOKORO_MOST_SYMBOLS]; // ascending code points
    size_t count;
    int32_t space; // the id of ' '
} kz_kokoro_symbols;

// BAD_FILE says what is missing or wrong; ids are within [0, id_count), and ' ' is among them.
KAZEIA_MUST_CHECK kazeia_status kz_kokoro_symbols_read(const kz_program *program, int64_t id_count,
                                                       kz_kokoro_symbols *out_symbols);

// The id of one character; -1 when the program does not have it.
int32_t kz_kokoro_symbol_id(const kz_kokoro_symbols *symbols, uint32_t code_point);
// The ids of some IPA into `out_ids`; characters that the program does not know are left out.
// Returns how many; *out_taken is how many bytes of the IPA they stand for: all of them, unless
// there are more than `capacity`, at least 2, ids.
size_t kz_kokoro_symbols_of(const kz_kokoro_symbols *symbols, const kz_kokoro_language *language,
                            kz_text_view ipa, size_t capacity, int32_t *out_ids, size_t *out_taken);

#endif
