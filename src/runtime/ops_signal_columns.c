// ops_signal_columns.c: the ops that reduce each column over all rows.
//   in   rows of f32
//   out  rows of f32
// Work is cut by columns alone and sums run over the rows in order, in double: they do not depend
// on the threads.
#include <math.h>
#include <string.h>

#include "runtime/row_job.h"

#define CHUNK_COLUMNS ((size_t)64) // 256 bytes of each row: whole cache lines

typedef struct column_job {
    const kz_kernels *kernels;
    const kz_operand *x, *weights, *out;
    float epsilon;
} column_job;

static float *out_row(const kz_operand *operand, size_t row) {
    return (float *)((uint8_t *)operand->bytes + row * operand->stride);
}

static size_t columns_from(const column_job *job, size_t column) {
    const size_t left = job->x->columns - column;
    return left < CHUNK_COLUMNS ? left : CHUNK_COLUMNS;
}

static void run_columns(kz_call *call, column_job *job, kz_chunk_function function) {
    job->kernels = call->kernels;
    kz_call_run(call, function, job, (job->x->columns + CHUNK_COLUMNS - 1) / CHUNK_COLUMNS, 1);
}

static void norm_columns(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    (void)scratch;
    const column_job *job = context;
    float mean[CHUNK_COLUMNS];
    float factor[CHUNK_COLUMNS];
    for (; chunk < chunk_end; chunk++) {
        const size_t column = chunk * CHUNK_COLUMNS;
        const size_t count = columns_from(job, column);
        job->kernels->column_moments(kz_row_of(job->x, 0) + column, job->x->stride, job->x->rows,
                                     count, mean, factor);
        for (size_t c = 0; c < count; c++) {
            factor[c] = 1.0f / sqrtf(factor[c] + job->epsilon);
        }
        for (size_t row = 0; row < job->x->rows; row++) {
            job->kernels->centre(kz_row_of(job->x, row) + column, mean, factor, count,
                                 out_row(job->out, row) + column);
        }
    }
}

void kz_op_column_norm(kz_call *call, const kz_instruction *instruction,
                       kz_operand *const *operands) {
    column_job job = {.x = operands[0], .out = operands[1], .epsilon = instruction->floats[0]};
    if (job.x->rows > 0) {
        run_columns(call, &job, norm_columns);
    }
}

static void fit_columns(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    (void)scratch;
    const column_job *job = context;
    const size_t columns = job->x->columns;
    const float *const gamma = kz_row_of(job->weights, 0);
    const float *const beta = gamma + columns;
    float *const means = out_row(job->out, 0);
    float variance[CHUNK_COLUMNS];
    for (; chunk < chunk_end; chunk++) {
        const size_t column = chunk * CHUNK_COLUMNS;
        const size_t count = columns_from(job, column);
        job->kernels->column_moments(kz_row_of(job->x, 0) + column, job->x->stride, job->x->rows,
                                     count, means + column, variance);
        for (size_t c = 0; c < count; c++) {
            const size_t place = column + c;
            means[columns + place] = (1.0f + gamma[place]) / sqrtf(variance[c] + job->epsilon);
            means[2 * columns + place] = beta[place];
        }
    }
}

void kz_op_column_fit(kz_call *call, const kz_instruction *instruction,
                      kz_operand *const *operands) {
    column_job job = {.x = operands[0],
                      .weights = operands[1],
                      .out = operands[2],
                      .epsilon = instruction->floats[0]};
    if (job.x->rows > 0) {
        run_columns(call, &job, fit_columns);
    } else {
        memset(job.out->bytes, 0, job.out->columns * sizeof(float));
    }
}

// Mean and variance of up to CHUNK_COLUMNS columns whose rows count by their weights.
static void weighted_moments(const column_job *job, size_t column, size_t count, float *mean,
                             float *variance) {
    double sums[CHUNK_COLUMNS] = {0};
    double squares[CHUNK_COLUMNS] = {0};
    for (size_t row = 0; row < job->x->rows; row++) {
        const float *x = kz_row_of(job->x, row) + column;
        const float *weights = kz_row_of(job->weights, row) + column;
        for (size_t c = 0; c < count; c++) {
            sums[c] += (double)x[c] * (double)weights[c];
        }
    }
    // Around the mean: sums of squares alone would cancel.
    for (size_t row = 0; row < job->x->rows; row++) {
        const float *x = kz_row_of(job->x, row) + column;
        const float *weights = kz_row_of(job->weights, row) + column;
        for (size_t c = 0; c < count; c++) {
            const double difference = (double)x[c] - sums[c];
            squares[c] += difference * difference * (double)weights[c];
        }
    }
    for (size_t c = 0; c < count; c++) {
        mean[c] = (float)sums[c];
        variance[c] = (float)squares[c];
    }
}

static void pool_columns(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    (void)scratch;
    const column_job *job = context;
    float *const means = out_row(job->out, 0);
    float *const deviations = means + job->x->columns;
    for (; chunk < chunk_end; chunk++) {
        const size_t column = chunk * CHUNK_COLUMNS;
        const size_t count = columns_from(job, column);
        if (job->weights) {
            weighted_moments(job, column, count, means + column, deviations + column);
        } else {
            job->kernels->column_moments(kz_row_of(job->x, 0) + column, job->x->stride,
                                         job->x->rows, count, means + column, deviations + column);
        }
        for (size_t c = column; c < column + count; c++) {
            // Written so that NaN passes.
            deviations[c] = sqrtf(deviations[c] < job->epsilon ? job->epsilon : deviations[c]);
        }
    }
}

void kz_op_column_pool(kz_call *call, const kz_instruction *instruction,
                       kz_operand *const *operands) {
    column_job job = {.x = operands[0],
                      .weights = operands[1],
                      .out = operands[2],
                      .epsilon = instruction->floats[0]};
    if (job.x->rows == 0) {
        memset(job.out->bytes, 0, job.out->columns * sizeof(float));
        return;
    }
    run_columns(call, &job, pool_columns);
}

// out = e^(x - greatest), their sums into `sums`.
static void exponentials(const column_job *job, size_t column, size_t count, const float *greatest,
                         double *sums) {
    for (size_t row = 0; row < job->x->rows; row++) {
        const float *x = kz_row_of(job->x, row) + column;
        float *out = out_row(job->out, row) + column;
        for (size_t c = 0; c < count; c++) {
            out[c] = x[c] - greatest[c];
        }
        job->kernels->map(KZ_MAP_EXP, 0.0f, 0.0f, out, count, out);
        for (size_t c = 0; c < count; c++) {
            sums[c] += (double)out[c];
        }
    }
}

static void softmax_columns(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    (void)scratch;
    const column_job *job = context;
    for (; chunk < chunk_end; chunk++) {
        const size_t column = chunk * CHUNK_COLUMNS;
        const size_t count = columns_from(job, column);
        float greatest[CHUNK_COLUMNS];
        double sums[CHUNK_COLUMNS] = {0};
        memcpy(greatest, kz_row_of(job->x, 0) + column, count * sizeof *greatest);
        for (size_t row = 1; row < job->x->rows; row++) {
            const float *x = kz_row_of(job->x, row) + column;
            for (size_t c = 0; c < count; c++) {
                greatest[c] = x[c] > greatest[c] ? x[c] : greatest[c];
            }
        }
        exponentials(job, column, count, greatest, sums);
        for (size_t row = 0; row < job->x->rows; row++) {
            float *out = out_row(job->out, row) + column;
            for (size_t c = 0; c < count; c++) {
                out[c] *= (float)(1.0 / sums[c]);
            }
        }
    }
}

void kz_op_column_softmax(kz_call *call, const kz_instruction *instruction,
                          kz_operand *const *operands) {
    (void)instruction;
    column_job job = {.x = operands[0], .out = operands[1]};
    if (job.x->rows > 0) {
        run_columns(call, &job, softmax_columns);
    }
}
