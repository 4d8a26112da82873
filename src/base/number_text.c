// number_text.c: real numbers to and from text with a decimal point, whatever the caller's locale.
//   in   text, or a double
//   out  a double, or text
// The C library does the rounding in both directions; only its decimal sign is exchanged.
#include "base/number_text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The sign that strtod and printf use now. Some locales have one of several bytes; those that this
// looks for have one, and any other leaves the text as it is.
static char decimal_sign(void) {
    const char *sign = localeconv()->decimal_point;
    return sign[0] != '\0' && sign[1] == '\0' ? sign[0] : '.';
}

static void exchange(char *text, char from, char to) {
    char *place = strchr(text, from);
    if (place != NULL) {
        *place = to;
    }
}

bool kz_number_read(const char *text, double *out_number) {
    char local[KZ_NUMBER_BYTES];
    const size_t count = strlen(text);
    // strspn shuts out what strtod would take besides: spaces, "nan", "inf", hexadecimal.
    if (count == 0 || count >= sizeof local || strspn(text, "+-.0123456789eE") != count) {
        return false;
    }
    memcpy(local, text, count + 1);
    exchange(local, '.', decimal_sign());
    char *end = NULL;
    const double number = strtod(local, &end);
    if (*end != '\0' || !isfinite(number)) {
        return false;
    }
    *out_number = number;
    return true;
}

void kz_number_write(double number, int precision, char out[KZ_NUMBER_BYTES]) {
    (void)snprintf(out, KZ_NUMBER_BYTES, "%.*g", precision, number);
    exchange(out, decimal_sign(), '.');
}
