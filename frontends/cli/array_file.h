// array_file.h: whole arrays of numbers as NumPy files.
//
// in:  float32 or int32 values in memory; a file
// out: a .npy file of one or two dimensions; the values of one
//
// npy.h has the row by row form for arrays that are too large for memory.
#ifndef CLI_ARRAY_FILE_H
#define CLI_ARRAY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"

// An array in memory. `values` are of 4 bytes each, malloc's.
typedef struct cli_array {
    void *values; // [rows * columns]
    size_t rows, columns, capacity;
    bool is_integer;
    bool is_flat; // one dimension: columns is 1
} cli_array;

// More rows of `columns` values; the first call fixes the columns.
kazeia_status cli_array_append(cli_array *array, const void *values, size_t rows, size_t columns,
                               cli_sentence *out_sentence);
void cli_array_clear(cli_array *array);
kazeia_status cli_array_write(const cli_array *array, const char *path, cli_sentence *out_sentence);
// An array of one or two dimensions in C order, float32, or int32 or int64 whose values fit.
// BAD_FILE for another one or another kind than asked for. Clear it with cli_array_clear.
kazeia_status cli_array_read(const char *path, bool is_integer, cli_array *out_array,
                             cli_sentence *out_sentence);

#endif
