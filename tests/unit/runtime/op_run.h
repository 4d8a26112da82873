// op_run.h: programs of one method, opened and run by the tests of single ops.
//
// in:  a tiny_builder's method, filled by a test
// out: its outputs, for sizes and threads that the test chooses
#ifndef KZ_TEST_RUNTIME_OP_RUN_H
#define KZ_TEST_RUNTIME_OP_RUN_H

#include "runtime/tails.h"
#include "tiny_builder.h"

#define OP_RUN_ROWS 64 // greatest T
#define OP_RUN_FLOATS 32768

typedef struct op_run {
    tiny_builder builder;
    tiny_method *method;
    kz_dim t; // symbol 0
    uint8_t *bytes;
    size_t count;
    kz_program *program;
    kz_pool *pool;
    kz_context *context;
    float x[OP_RUN_FLOATS], y[OP_RUN_FLOATS]; // inputs, random after op_run_begin
    float out[OP_RUN_FLOATS];
} op_run;

// An empty method "run" whose first symbol is T.
void op_run_begin(op_run *run, uint64_t seed);
// The next input [rows][columns] and the output.
uint32_t op_run_input(op_run *run, const char *name, kz_dim rows, uint32_t columns);
uint32_t op_run_output(op_run *run, kz_dim rows, uint32_t columns);
// Writes, opens, makes a pool of `threads`; a refusal ends the test.
void op_run_open(op_run *run, uint32_t threads);
// One call with T rows: inputs x and y, output `out`.
void op_run_call(op_run *run, uint32_t t, const void *x, const void *y, float *out);
void op_run_close(op_run *run);
// Fails unless |found - expected| <= tolerance * max(1, |expected|) for each element.
void op_run_expect(const char *what, const float *found, const double *expected, size_t count,
                   double tolerance);

#endif
