// numbers_icu.c: spells numbers with ICU's rule-based number format.
//
// in:  a locale, the name of a rule set, a number. out: UTF-8.
// Used at creation only, since ICU allocates behind the caller's back.
#include <unicode/unum.h>
#include <unicode/ustring.h>

#include "text/numbers.h"

enum { UNITS = 256 };

// The handle is ICU's own: this type is never defined.
static UNumberFormat *format_of(kz_speller *speller) {
    return (UNumberFormat *)speller;
}

bool kz_speller_is_built(void) {
    return true;
}

kazeia_status kz_speller_open(const char *locale, kz_speller **out_speller) {
    UErrorCode error = U_ZERO_ERROR;
    UNumberFormat *format = unum_open(UNUM_SPELLOUT, NULL, 0, locale, NULL, &error);
    if (U_FAILURE(error)) {
        return kz_fail(KAZEIA_UNSUPPORTED, "spoken: ICU cannot spell numbers for '%s': %s", locale,
                       u_errorName(error));
    }
    *out_speller = (kz_speller *)format;
    return KAZEIA_OK;
}

void kz_speller_close(kz_speller *speller) {
    unum_close(format_of(speller));
}

kazeia_status kz_speller_select(kz_speller *speller, const char *rule_set) {
    UErrorCode error = U_ZERO_ERROR;
    UChar name[UNITS];
    u_strFromUTF8(name, UNITS, NULL, rule_set, -1, &error);
    unum_setTextAttribute(format_of(speller), UNUM_DEFAULT_RULESET, name, -1, &error);
    if (U_FAILURE(error)) {
        return kz_fail(KAZEIA_UNSUPPORTED, "spoken: ICU has no rule set '%s': %s", rule_set,
                       u_errorName(error));
    }
    return KAZEIA_OK;
}

kazeia_status kz_speller_write(kz_speller *speller, uint64_t value, char *out, size_t capacity) {
    UErrorCode error = U_ZERO_ERROR;
    UChar words[UNITS];
    unum_formatInt64(format_of(speller), (int64_t)value, words, UNITS, NULL, &error);
    u_strToUTF8(out, (int32_t)capacity, NULL, words, -1, &error);
    // A text that fills the buffer has no NUL behind it: a warning to ICU, an error here.
    if (U_FAILURE(error) || error == U_STRING_NOT_TERMINATED_WARNING) {
        return kz_fail(KAZEIA_UNSUPPORTED, "spoken: ICU cannot spell %llu: %s",
                       (unsigned long long)value, u_errorName(error));
    }
    return KAZEIA_OK;
}
