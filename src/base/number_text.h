// number_text.h: real numbers to and from text with a decimal point, whatever the caller's locale.
//
// A library runs inside programs that have called setlocale: where LC_NUMERIC is French, strtod
// stops at the point of "20.5" and printf writes a comma.
#ifndef KZ_BASE_NUMBER_TEXT_H
#define KZ_BASE_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define KZ_NUMBER_BYTES 64 // room for any number that kz_number_write makes, its NUL included

// The whole of `text` as a finite number: digits, sign, point and exponent only; at most
// KZ_NUMBER_BYTES - 1 bytes. False for anything else; *out_number is then untouched.
bool kz_number_read(const char *text, double *out_number);

// As printf's "%.*g".
void kz_number_write(double number, int precision, char out[KZ_NUMBER_BYTES]);

#endif
