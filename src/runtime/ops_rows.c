// ops_rows.c: the ops that treat each row alone: embedding, sums, norms, activations, unfolding.
//   in   rows of f32
//   out  rows of f32, or quantised as they are made
// A row that is to be quantised is first made in the thread's scratch, so that it never leaves the
// nearest cache in between.
#include <string.h>

#include "runtime/execute.h"

#define ROW_GRAIN_ELEMENTS 16384 // smaller pieces are not worth another thread's wake-up

_Static_assert(KZ_COLUMN_LIMIT * sizeof(float) <= KZ_KERNEL_SCRATCH_BYTES,
               "a row that is to be quantised fits the scratch");

typedef struct row_job row_job;
// Makes row `row` of job->out, as f32 at `out`.
typedef void (*row_maker)(const row_job *job, size_t row, float *out);

struct row_job {
    const kz_kernels *kernels;
    const kz_instruction *instruction;
    const kz_operand *a, *b, *c, *out;
    row_maker make;
    kz_activate_kernel activate;
    kz_gate_kernel gate;
    kz_embed_kernel embed;
};

static const float *row_of(const kz_operand *operand, size_t row) {
    return (const float *)((const uint8_t *)operand->bytes + row * operand->stride);
}

// NULL for rows that stay f32.
static kz_quantise_kernel quantise_kernel(const kz_kernels *kernels, kz_type type) {
    switch (type) {
    case KZ_A8:
        return kernels->quantise_a8;
    case KZ_A16:
        return kernels->quantise_a16;
    default:
        return NULL;
    }
}

static void make_rows(void *context, size_t row, size_t row_end, void *scratch) {
    const row_job *job = context;
    const kz_quantise_kernel quantise = quantise_kernel(job->kernels, job->out->type);
    for (; row < row_end; row++) {
        uint8_t *out = (uint8_t *)job->out->bytes + row * job->out->stride;
        if (quantise) {
            // KZ_COLUMN_LIMIT keeps the row within the thread's scratch.
            job->make(job, row, scratch);
            quantise(scratch, job->out->columns, out);
        } else {
            job->make(job, row, (float *)out);
        }
    }
}

static void run_rows(kz_call *call, row_job *job) {
    // A guard against dividing by 0 only: checked values have columns.
    const size_t columns = job->out->columns ? job->out->columns : 1;
    job->kernels = call->kernels;
    kz_call_run(call, make_rows, job, job->out->rows, ROW_GRAIN_ELEMENTS / columns + 1);
}

// The id is below the table's rows: check_embed compares the input's limit with them, and the call
// its elements with the limit.
static void make_embedding(const row_job *job, size_t row, float *out) {
    const int32_t token = ((const int32_t *)job->a->bytes)[row];
    job->embed(job->b->bytes, job->b->columns, (size_t)token, job->instruction->floats[0], out);
}

static kz_embed_kernel embed_kernel(const kz_kernels *kernels, kz_type type) {
    switch (type) {
    case KZ_F32:
        return kernels->embed_f32;
    case KZ_F16:
        return kernels->embed_f16;
    case KZ_BF16:
        return kernels->embed_bf16;
    case KZ_Q4_0:
        return kernels->embed_q4_0;
    case KZ_Q4_1:
        return kernels->embed_q4_1;
    case KZ_Q5_0:
        return kernels->embed_q5_0;
    case KZ_Q5_1:
        return kernels->embed_q5_1;
    case KZ_IQ4_NL:
        return kernels->embed_iq4_nl;
    case KZ_Q4_K:
        return kernels->embed_q4_k;
    case KZ_Q5_K:
        return kernels->embed_q5_k;
    case KZ_Q6_K:
        return kernels->embed_q6_k;
    default:
        return kernels->embed_q8_0;
    }
}

void kz_op_embed(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    row_job job = {.instruction = instruction,
                   .a = operands[0],
                   .b = operands[1],
                   .out = operands[2],
                   .make = make_embedding,
                   .embed = embed_kernel(call->kernels, operands[1]->type)};
    run_rows(call, &job);
}

// b may be a weight in rows: positions that are added, one row a token.
static void make_sum(const row_job *job, size_t row, float *out) {
    job->kernels->add(row_of(job->a, row), row_of(job->b, row), job->out->columns, out);
}

void kz_op_add(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    row_job job = {.instruction = instruction,
                   .a = operands[0],
                   .b = operands[1],
                   .out = operands[2],
                   .make = make_sum};
    run_rows(call, &job);
}

static void make_rms_norm(const row_job *job, size_t row, float *out) {
    job->kernels->rms_norm(row_of(job->a, row), job->b->bytes, job->out->columns,
                           job->instruction->floats[0], out);
}

void kz_op_rms_norm(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    row_job job = {.instruction = instruction,
                   .a = operands[0],
                   .b = operands[1],
                   .out = operands[2],
                   .make = make_rms_norm};
    run_rows(call, &job);
}

static void make_layer_norm(const row_job *job, size_t row, float *out) {
    job->kernels->layer_norm(row_of(job->a, row), job->b->bytes, job->c->bytes, job->out->columns,
                             job->instruction->floats[0], out);
}

void kz_op_layer_norm(kz_call *call, const kz_instruction *instruction,
                      kz_operand *const *operands) {
    row_job job = {.instruction = instruction,
                   .a = operands[0],
                   .b = operands[1],
                   .c = operands[2],
                   .out = operands[3],
                   .make = make_layer_norm};
    run_rows(call, &job);
}

static void make_head_norms(const row_job *job, size_t row, float *out) {
    const size_t head_dim = (size_t)job->instruction->ints[0];
    const float *x = row_of(job->a, row);
    for (size_t column = 0; column < job->out->columns; column += head_dim) {
        job->kernels->rms_norm(x + column, job->b->bytes, head_dim, job->instruction->floats[0],
                               out + column);
    }
}

void kz_op_head_rms_norm(kz_call *call, const kz_instruction *instruction,
                         kz_operand *const *operands) {
    row_job job = {.instruction = instruction,
                   .a = operands[0],
                   .b = operands[1],
                   .out = operands[2],
                   .make = make_head_norms};
    run_rows(call, &job);
}

static void quantise_rows(void *context, size_t row, size_t row_end, void *scratch) {
    (void)scratch;
    const row_job *job = context;
    const kz_quantise_kernel quantise = quantise_kernel(job->kernels, job->out->type);
    for (; row < row_end; row++) {
        quantise(row_of(job->a, row), job->out->columns,
                 (uint8_t *)job->out->bytes + row * job->out->stride);
    }
}

void kz_op_quantise(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    row_job job = {
        .kernels = call->kernels, .instruction = instruction, .a = operands[0], .out = operands[1]};
    kz_call_run(call, quantise_rows, &job, job.out->rows,
                ROW_GRAIN_ELEMENTS / (job.out->columns + 1) + 1);
}

kz_activate_kernel kz_op_activate_kernel(const kz_kernels *kernels, kz_activation activation) {
    switch (activation) {
    case KZ_ACTIVATION_GELU:
        return kernels->gelu;
    case KZ_ACTIVATION_GELU_TANH:
        return kernels->gelu_tanh;
    case KZ_ACTIVATION_SILU:
        return kernels->silu;
    default:
        return NULL;
    }
}

static void make_activation(const row_job *job, size_t row, float *out) {
    job->activate(row_of(job->a, row), job->out->columns, out);
}

void kz_op_activate(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    row_job job = {.instruction = instruction,
                   .a = operands[0],
                   .out = operands[1],
                   .make = make_activation,
                   .activate =
                       kz_op_activate_kernel(call->kernels, (kz_activation)instruction->ints[0])};
    run_rows(call, &job);
}

// A row of x is gate | up, the halves of one joined product.
static void make_gate(const row_job *job, size_t row, float *out) {
    const float *gate = row_of(job->a, row);
    job->gate(gate, gate + job->out->columns, job->out->columns, out);
}

void kz_op_gate(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    const bool is_silu = instruction->ints[0] == KZ_ACTIVATION_SILU;
    row_job job = {.instruction = instruction,
                   .a = operands[0],
                   .out = operands[1],
                   .make = make_gate,
                   .gate = is_silu ? call->kernels->gate_silu : call->kernels->gate_gelu_tanh};
    run_rows(call, &job);
}

static void make_unfolded(const row_job *job, size_t row, float *out) {
    const size_t kernel = (size_t)job->instruction->ints[0];
    const size_t stride = (size_t)job->instruction->ints[1];
    const size_t dilation = (size_t)job->instruction->ints[2];
    const size_t padding = (size_t)job->instruction->ints[3];
    const size_t channels = job->a->columns;
    for (size_t j = 0; j < kernel; j++) {
        const size_t place = row * stride + j * dilation;
        // Places count from the first padding row, so that they never go below zero.
        if (place < padding || place - padding >= job->a->rows) {
            memset(out + j * channels, 0, channels * sizeof *out);
        } else {
            memcpy(out + j * channels, row_of(job->a, place - padding), channels * sizeof *out);
        }
    }
}

void kz_op_unfold(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    row_job job = {
        .instruction = instruction, .a = operands[0], .out = operands[1], .make = make_unfolded};
    run_rows(call, &job);
}
