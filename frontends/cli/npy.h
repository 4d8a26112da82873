// npy.h: rows of numbers as a NumPy file.
//
// in:  rows of float32
// out: a .npy file of format version 1.0, little-endian, C order
// source: NumPy's document NEP 1, "A Simple File Format for NumPy Arrays"
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include "new_file.h"

// Writes the header of an array [rows][columns]; the rows follow with cli_npy_row.
kazeia_status cli_npy_header(cli_new_file *file, size_t rows, size_t columns,
                             cli_sentence *out_sentence);
kazeia_status cli_npy_row(cli_new_file *file, const float *values, size_t columns,
                          cli_sentence *out_sentence);

#endif
