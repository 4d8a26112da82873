// numbers.c: the table of spelled numbers, and larger ones put together from it.
//
// in:  a speller, at creation; then numbers. out: words.
// Every form has two rows of a thousand: n and n thousand. Ordinals keep the cardinal before their
// last group ("mille deux-cent-unième").
#include "text/numbers.h"

#include <string.h>

#include "base/text_buffer.h"

// Scales: million, milliard, billion. Five groups and three scale words of WORD_BYTES fit
// KZ_NUMBER_BYTES.
enum { GROUP = 1000, SCALES = 3, WORD_BYTES = 80, TABLE_BYTES = 8 * 1024 * 1024 };

struct kz_numbers {
    kazeia_allocator allocator;
    kz_text_buffer words;                       // all strings, each with its NUL
    uint32_t ones[KZ_NUMBER_FORMS][GROUP];      // offsets in `words`
    uint32_t thousands[KZ_NUMBER_FORMS][GROUP]; // of n thousand
    uint32_t one_behind[KZ_NUMBER_FORMS];       // 1 behind a thousand: "unième", and not "premier"
    char single[SCALES][WORD_BYTES];            // "un million", "un milliard" ...
    char plural[SCALES][WORD_BYTES];            // "millions", "milliards" ...
    char joiner;
};

// ---- creation -----------------------------------------------------------------------------------

static void replace(char *text, const kz_number_correction *row) {
    char *found = strstr(text, row->spelled);
    if (found == NULL) {
        return;
    }
    const size_t old_count = strlen(row->spelled), new_count = strlen(row->right);
    const size_t rest = strlen(found + old_count) + 1;
    // A correction that does not fit is one of the table's own mistakes; the text stays as it was.
    if ((size_t)(found - text) + new_count + rest <= WORD_BYTES) {
        memmove(found + new_count, found + old_count, rest);
        memcpy(found, row->right, new_count);
    }
}

static kazeia_status spell(kz_speller *speller, const kz_number_rules *rules, uint64_t value,
                           char out[WORD_BYTES]) {
    KZ_TRY(kz_speller_write(speller, value, out, WORD_BYTES));
    for (const kz_number_correction *row = rules->corrections; row->spelled != NULL; row++) {
        replace(out, row);
    }
    for (char *c = out; *c != '\0' && value < GROUP * GROUP; c++) {
        *c = *c == ' ' ? rules->joiner : *c;
    }
    return KAZEIA_OK;
}

static kazeia_status keep(kz_numbers *numbers, const char *words, uint32_t *out_offset) {
    *out_offset = (uint32_t)numbers->words.count;
    return kz_text_buffer_append(&numbers->words, words, strlen(words) + 1);
}

static kazeia_status fill_form(kz_numbers *numbers, kz_speller *speller,
                               const kz_number_rules *rules, kz_number_form form) {
    char words[WORD_BYTES];
    KZ_TRY(kz_speller_select(speller, rules->rule_sets[form]));
    for (uint64_t n = 0; n < GROUP; n++) {
        KZ_TRY(spell(speller, rules, n, words));
        KZ_TRY(keep(numbers, words, &numbers->ones[form][n]));
        KZ_TRY(spell(speller, rules, n * GROUP, words));
        KZ_TRY(keep(numbers, words, &numbers->thousands[form][n]));
    }
    KZ_TRY(spell(speller, rules, GROUP + 1, words));
    const char *thousand = numbers->words.bytes + numbers->thousands[KZ_CARDINAL][1];
    const size_t count = strlen(thousand);
    if (strncmp(words, thousand, count) != 0 || words[count] != rules->joiner) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "spoken: '%s' found for 1001; expected '%s' at its front", words, thousand);
    }
    return keep(numbers, words + count + 1, &numbers->one_behind[form]);
}

// The plural is what follows "two " in "two millions".
static kazeia_status learn_scales(kz_numbers *numbers, kz_speller *speller,
                                  const kz_number_rules *rules) {
    uint64_t scale = GROUP;
    KZ_TRY(kz_speller_select(speller, rules->rule_sets[KZ_CARDINAL]));
    for (size_t i = 0; i < SCALES; i++) {
        char words[WORD_BYTES];
        scale *= GROUP;
        KZ_TRY(spell(speller, rules, scale, numbers->single[i]));
        KZ_TRY(spell(speller, rules, 2 * scale, words));
        const char *space = strchr(words, ' ');
        if (space == NULL) {
            return kz_fail(KAZEIA_UNSUPPORTED, "spoken: '%s' found for %llu; expected two words",
                           words, (unsigned long long)(2 * scale));
        }
        memcpy(numbers->plural[i], space + 1, strlen(space));
    }
    return KAZEIA_OK;
}

static kazeia_status fill(kz_numbers *numbers, const kz_number_rules *rules) {
    kz_speller *speller = NULL;
    KZ_TRY(kz_speller_open(rules->locale, &speller));
    numbers->joiner = rules->joiner;
    kazeia_status status =
        kz_text_buffer_init(&numbers->words, &numbers->allocator, 64 * 1024, TABLE_BYTES);
    for (int form = 0; form < KZ_NUMBER_FORMS && status == KAZEIA_OK; form++) {
        status = fill_form(numbers, speller, rules, (kz_number_form)form);
    }
    if (status == KAZEIA_OK) {
        status = learn_scales(numbers, speller, rules);
    }
    kz_speller_close(speller);
    return status;
}

kazeia_status kz_numbers_create(const kz_number_rules *rules, const kazeia_allocator *allocator,
                                kz_numbers **out_numbers) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    void *place = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof(kz_numbers), "numbers in words", &place));
    kz_numbers *numbers = place;
    memset(numbers, 0, sizeof *numbers);
    numbers->allocator = memory;
    const kazeia_status status = fill(numbers, rules);
    if (status != KAZEIA_OK) {
        kz_numbers_destroy(numbers);
        return status;
    }
    *out_numbers = numbers;
    return KAZEIA_OK;
}

void kz_numbers_destroy(kz_numbers *numbers) {
    if (numbers != NULL) {
        const kazeia_allocator memory = numbers->allocator;
        kz_text_buffer_clear(&numbers->words);
        kz_free(&memory, numbers);
    }
}

// ---- writing ------------------------------------------------------------------------------------

// Room is sure: at most eight parts, each less than WORD_BYTES with its joiner.
static size_t append(char *out, size_t count, char joiner, const char *words) {
    if (count > 0) {
        out[count++] = joiner;
    }
    const size_t added = strlen(words);
    memcpy(out + count, words, added + 1);
    return count + added;
}

static size_t append_scales(const kz_numbers *numbers, uint64_t millions, char *out) {
    static const uint64_t divisors[SCALES] = {1, GROUP, GROUP * GROUP};
    size_t count = 0;
    for (size_t i = SCALES; i-- > 0;) {
        const uint64_t group = millions / divisors[i] % GROUP;
        if (group == 1) {
            count = append(out, count, ' ', numbers->single[i]);
        } else if (group > 1) {
            count =
                append(out, count, ' ', numbers->words.bytes + numbers->ones[KZ_CARDINAL][group]);
            count = append(out, count, ' ', numbers->plural[i]);
        }
    }
    return count;
}

size_t kz_numbers_write(const kz_numbers *numbers, kz_number_form form, uint64_t value,
                        char out[KZ_NUMBER_BYTES]) {
    const bool is_ordinal = form == KZ_ORDINAL || form == KZ_ORDINAL_FEMININE;
    if (value >= (is_ordinal ? GROUP * GROUP : KZ_NUMBER_LIMIT)) {
        return 0;
    }
    const uint64_t ones = value % GROUP, thousands = value / GROUP % GROUP;
    const char *words = numbers->words.bytes;
    size_t count = append_scales(numbers, value / (GROUP * GROUP), out);
    if (thousands > 0) {
        // "deux millionième" is out of reach, but "trois millième" and "vingt-et-un mille une" are
        // not: the last group alone has the form.
        const kz_number_form last = ones == 0 && is_ordinal ? form : KZ_CARDINAL;
        count = append(out, count, ' ', words + numbers->thousands[last][thousands]);
    }
    if (ones > 0 || value == 0) {
        count = append(out, count, thousands > 0 ? numbers->joiner : ' ',
                       words + (value > 1 && ones == 1 ? numbers->one_behind[form]
                                                       : numbers->ones[form][ones]));
    }
    return count;
}
