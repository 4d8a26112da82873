// numbers.c: numbers as people type them, read strictly.
//
// in:  a whole argument
// out: its value; false when it is anything but a number in range
//
// strtoull takes signs, spaces and hexadecimal, and strtod takes "nan": an option shall not.
#include "numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cli_read_whole(const char *text, uint64_t *out_value) {
    uint64_t value = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        const unsigned digit = (unsigned)*text - '0';
        // Below '0' the difference wraps to a large number, so one comparison is enough.
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out_value = value;
    return true;
}

bool cli_read_bytes(const char *text, uint64_t *out_value) {
    static const char UNITS[] = "KMG";
    char digits[24];
    const size_t length = strlen(text);
    if (length == 0 || length >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, length + 1);
    const char *unit = strchr(UNITS, digits[length - 1]);
    const unsigned shift = unit == NULL ? 0 : 10 * (unsigned)(unit - UNITS + 1);
    if (unit != NULL) {
        digits[length - 1] = '\0';
    }
    uint64_t value = 0;
    // A shift must lose no bit.
    if (!cli_read_whole(digits, &value) || value > UINT64_MAX >> shift) {
        return false;
    }
    *out_value = value << shift;
    return true;
}

bool cli_read_real(const char *text, double *out_value) {
    if (*text == '\0' || strspn(text, "0123456789.eE+-") != strlen(text)) {
        return false;
    }
    char *end = NULL;
    // The program never calls setlocale, so the decimal sign is a point.
    const double value = strtod(text, &end);
    if (*end != '\0' || !isfinite(value)) {
        return false;
    }
    *out_value = value;
    return true;
}
