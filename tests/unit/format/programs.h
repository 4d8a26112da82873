// programs.h: what the tests of format share: a small program that uses every op, and a way to mend
// the checksums of a damaged one, so that damage reaches the checks behind them.
#ifndef KZ_TEST_FORMAT_PROGRAMS_H
#define KZ_TEST_FORMAT_PROGRAMS_H

#include "format/program.h"

#define SAMPLE_VALUES 64
#define SAMPLE_INSTRUCTIONS 32

typedef struct sample_method {
    kz_symbol symbols[KZ_SYMBOL_LIMIT];
    kz_value values[SAMPLE_VALUES];
    uint32_t inputs[8];
    uint32_t outputs[8];
    kz_instruction instructions[SAMPLE_INSTRUCTIONS];
} sample_method;

// Everything a test may change before it checks or writes the description. Points into itself.
typedef struct sample_program {
    kz_program_description description;
    kz_metadata metadata[6];
    kz_tensor tensors[32];
    kz_state states[5];
    kz_method methods[3]; // "forward", "encode" and "signal"
    sample_method parts[3];
    uint8_t *weights; // tensors' bytes one after the other
    size_t weight_bytes;
} sample_program;

// Fills everything; ends the test program when memory is missing.
void sample_program_make(sample_program *sample);
void sample_program_clear(sample_program *sample);

// The n-th instruction with `op` in a method of the sample.
kz_instruction *sample_find(sample_program *sample, uint32_t method, kz_op op, uint32_t n);
// The value called `name` (inputs, outputs).
kz_value *sample_value(sample_program *sample, uint32_t method, const char *name);

// Makes the checksums of header and tables, and the id, right again. Leaves bytes alone that are no
// program file any more. True when the header could be mended.
bool program_image_mend(uint8_t *bytes, size_t count);

// True when two descriptions are equal in all that is written (contexts' file names aside).
bool descriptions_equal(const kz_program_description *a, const kz_program_description *b);

#endif
