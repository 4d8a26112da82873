// numbers.h: whole numbers in words, as a language's rules spell them.
//
// in:  a language's rule sets, as ICU's rule-based number format names them, and a number
// out: its words
//
// ICU allocates while it formats, which a running stream must not. So creation spells 0 to 999 and
// their thousands once in every form, and learns the words for millions and more; a larger number
// is put together from these. What ICU spells wrong is corrected by a table of the language.
#ifndef KZ_TEXT_NUMBERS_H
#define KZ_TEXT_NUMBERS_H

#include "base/alloc.h"

// Cardinals reach to KZ_NUMBER_LIMIT - 1, ordinals to 999,999.
#define KZ_NUMBER_LIMIT UINT64_C(1000000000000000)
// Bytes of the longest number with its NUL. Creation refuses a language whose words are longer.
#define KZ_NUMBER_BYTES 768

typedef enum kz_number_form {
    KZ_CARDINAL,
    KZ_CARDINAL_FEMININE,
    KZ_ORDINAL,
    KZ_ORDINAL_FEMININE,
    KZ_NUMBER_FORMS
} kz_number_form;

// Text in ICU's spelling and what is said instead; ends with a row of NULL.
typedef struct kz_number_correction {
    const char *spelled, *right;
} kz_number_correction;

typedef struct kz_number_rules {
    const char *locale;
    const char *rule_sets[KZ_NUMBER_FORMS]; // as "%spellout-cardinal"
    char joiner;                            // what stands for a space below a million
    const kz_number_correction *corrections;
} kz_number_rules;

typedef struct kz_numbers kz_numbers;

// UNSUPPORTED when this build has no ICU or ICU lacks a rule set, OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_numbers_create(const kz_number_rules *rules,
                                                  const kazeia_allocator *allocator,
                                                  kz_numbers **out_numbers);
// NULL is fine.
void kz_numbers_destroy(kz_numbers *numbers);

// Writes the words and a NUL; returns the bytes without it, 0 when the number is out of range.
size_t kz_numbers_write(const kz_numbers *numbers, kz_number_form form, uint64_t value,
                        char out[KZ_NUMBER_BYTES]);

// ---- numbers_icu.c or numbers_missing.c

// Whether this build has ICU.
bool kz_speller_is_built(void);

typedef struct kz_speller kz_speller;

KAZEIA_MUST_CHECK kazeia_status kz_speller_open(const char *locale, kz_speller **out_speller);
void kz_speller_close(kz_speller *speller);
KAZEIA_MUST_CHECK kazeia_status kz_speller_select(kz_speller *speller, const char *rule_set);
// UTF-8 with a NUL.
KAZEIA_MUST_CHECK kazeia_status kz_speller_write(kz_speller *speller, uint64_t value, char *out,
                                                 size_t capacity);

#endif
