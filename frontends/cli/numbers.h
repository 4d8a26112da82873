// numbers.h: numbers as people type them, read strictly.
//
// in:  a whole argument
// out: its value; false when it is anything but a number in range
#ifndef CLI_NUMBERS_H
#define CLI_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

// Decimal digits only.
bool cli_read_whole(const char *text, uint64_t *out_value);
// Digits, and K, M or G behind them for powers of 1024.
bool cli_read_bytes(const char *text, uint64_t *out_value);
// A finite decimal number with a point, as "0.7" or "1e-3".
bool cli_read_real(const char *text, double *out_value);

#endif
