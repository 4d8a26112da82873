// numbers_missing.c: stands for numbers_icu.c in a build without ICU: refuses with a sentence.
#include "text/numbers.h"

bool kz_speller_is_built(void) {
    return false;
}

static kazeia_status refuse(void) {
    return kz_fail(KAZEIA_UNSUPPORTED, "spoken: this build cannot put numbers in words; it was "
                                       "configured without ICU (Debian's libicu-dev)");
}

kazeia_status kz_speller_open(const char *locale, kz_speller **out_speller) {
    (void)locale;
    *out_speller = NULL;
    return refuse();
}

void kz_speller_close(kz_speller *speller) {
    (void)speller;
}

kazeia_status kz_speller_select(kz_speller *speller, const char *rule_set) {
    (void)speller;
    (void)rule_set;
    return refuse();
}

kazeia_status kz_speller_write(kz_speller *speller, uint64_t value, char *out, size_t capacity) {
    (void)speller;
    (void)value;
    (void)out;
    (void)capacity;
    return refuse();
}
