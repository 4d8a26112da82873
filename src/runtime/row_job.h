// row_job.h: work whose rows are made one by one. Inside runtime/ only.
//
//   in   operands, and a function that makes one row from them
//   out  rows of f32, or quantised as they are made
#ifndef KZ_RUNTIME_ROW_JOB_H
#define KZ_RUNTIME_ROW_JOB_H

#include "runtime/execute.h"

typedef struct kz_row_job kz_row_job;
// Makes row `row` of job->out, as f32 at `out`. Rows are made by several threads at once.
typedef void (*kz_row_maker)(const kz_row_job *job, size_t row, float *out);

// Filled in by an op; `kernels` is set by kz_run_rows.
struct kz_row_job {
    const kz_kernels *kernels;
    const kz_instruction *instruction;
    const kz_operand *a, *b, *c, *d, *out;
    kz_row_maker make;
    kz_activate_kernel activate;
    kz_gate_kernel gate;
    kz_embed_kernel embed;
};

static inline const float *kz_row_of(const kz_operand *operand, size_t row) {
    return (const float *)((const uint8_t *)operand->bytes + row * operand->stride);
}

// Row `row` of what UNFOLD makes of job->a, at `out`, as job->out's type has it: KZ_A8 and KZ_A16
// of rows that are so already, f32 of f32. job->instruction has UNFOLD's ints, job->out its
// columns.
void kz_unfold_row(const kz_row_job *job, size_t row, void *out);

// What makes rows of `type` from f32 ones; NULL for rows that stay f32.
kz_quantise_kernel kz_row_quantise(const kz_kernels *kernels, kz_type type);
// Rows that one thread takes at a time.
size_t kz_row_grain(const kz_operand *out);
// Makes all rows of job->out. A row that is to be quantised has KZ_COLUMN_LIMIT columns at most.
void kz_run_rows(kz_call *call, kz_row_job *job);

#endif
