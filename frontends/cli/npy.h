// npy.h: rows of numbers as a NumPy file.
//
// in:  rows of float32; a file to read
// out: a .npy file of format version 1.0, little-endian, C order; rows of one
// source: NumPy's document NEP 1, "A Simple File Format for NumPy Arrays"
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include <stddef.h>
#include <stdio.h>

#include "new_file.h"

// Writes the header of an array [rows][columns]; the rows follow with cli_npy_row.
kazeia_status cli_npy_header(cli_new_file *file, size_t rows, size_t columns,
                             cli_sentence *out_sentence);
kazeia_status cli_npy_row(cli_new_file *file, const float *values, size_t columns,
                          cli_sentence *out_sentence);

// A file that is read row by row. A shape of more than two dimensions has as many rows as its last
// dimension leaves.
typedef struct cli_npy_reader {
    FILE *stream; // NULL: closed
    const char *path;
    size_t rows, columns; // of at least 1
} cli_npy_reader;

// BAD_FILE for what is no array of little-endian float32 in C order, or is not as long as its
// header says; NOT_FOUND or IO for the path. Close in any case.
kazeia_status cli_npy_open(const char *path, cli_npy_reader *out_reader,
                           cli_sentence *out_sentence);
// The next row, [columns]; there are `rows` of them.
kazeia_status cli_npy_next(cli_npy_reader *reader, float *out_values, cli_sentence *out_sentence);
void cli_npy_close(cli_npy_reader *reader);

#endif
