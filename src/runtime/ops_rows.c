// ops_rows.c: the ops that treat each row alone: embedding, sums, norms, activations.
//   in   rows of f32
//   out  rows of f32, or quantised as they are made
// A row that is to be quantised is first made in the thread's scratch, so that it never leaves the
// nearest cache in between.
#include "runtime/row_job.h"

#define ROW_GRAIN_ELEMENTS 16384 // smaller pieces are not worth another thread's wake-up

_Static_assert(KZ_COLUMN_LIMIT * sizeof(float) <= KZ_KERNEL_SCRATCH_BYTES,
               "a row that is to be quantised fits the scratch");

kz_quantise_kernel kz_row_quantise(const kz_kernels *kernels, kz_type type) {
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
    const kz_row_job *job = context;
    const kz_quantise_kernel quantise = kz_row_quantise(job->kernels, job->out->type);
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

size_t kz_row_grain(const kz_operand *out) {
    // A guard against dividing by 0 only: checked values have columns.
    return ROW_GRAIN_ELEMENTS / (out->columns ? out->columns : 1) + 1;
}

void kz_run_rows(kz_call *call, kz_row_job *job) {
    job->kernels = call->kernels;
    kz_call_run(call, make_rows, job, job->out->rows, kz_row_grain(job->out));
}

// The id is below the table's rows: check_embed compares the input's limit with them, and the call
// its elements with the limit.
static void make_embedding(const kz_row_job *job, size_t row, float *out) {
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
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_embedding,
                      .embed = embed_kernel(call->kernels, operands[1]->type)};
    kz_run_rows(call, &job);
}

// b may be a weight in rows: positions that are added, one row a token.
static void make_sum(const kz_row_job *job, size_t row, float *out) {
    job->kernels->add(kz_row_of(job->a, row), kz_row_of(job->b, row), job->out->columns, out);
}

void kz_op_add(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_sum};
    kz_run_rows(call, &job);
}

static void make_rms_norm(const kz_row_job *job, size_t row, float *out) {
    job->kernels->rms_norm(kz_row_of(job->a, row), job->b->bytes, job->out->columns,
                           job->instruction->floats[0], out);
}

void kz_op_rms_norm(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_rms_norm};
    kz_run_rows(call, &job);
}

static void make_layer_norm(const kz_row_job *job, size_t row, float *out) {
    job->kernels->layer_norm(kz_row_of(job->a, row), job->b->bytes, job->c->bytes,
                             job->out->columns, job->instruction->floats[0], out);
}

void kz_op_layer_norm(kz_call *call, const kz_instruction *instruction,
                      kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .c = operands[2],
                      .out = operands[3],
                      .make = make_layer_norm};
    kz_run_rows(call, &job);
}

static void make_head_norms(const kz_row_job *job, size_t row, float *out) {
    const size_t head_dim = (size_t)job->instruction->ints[0];
    const float *x = kz_row_of(job->a, row);
    for (size_t column = 0; column < job->out->columns; column += head_dim) {
        job->kernels->rms_norm(x + column, job->b->bytes, head_dim, job->instruction->floats[0],
                               out + column);
    }
}

void kz_op_head_rms_norm(kz_call *call, const kz_instruction *instruction,
                         kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_head_norms};
    kz_run_rows(call, &job);
}

static void quantise_rows(void *context, size_t row, size_t row_end, void *scratch) {
    (void)scratch;
    const kz_row_job *job = context;
    const kz_quantise_kernel quantise = kz_row_quantise(job->kernels, job->out->type);
    for (; row < row_end; row++) {
        quantise(kz_row_of(job->a, row), job->out->columns,
                 (uint8_t *)job->out->bytes + row * job->out->stride);
    }
}

void kz_op_quantise(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {
        .kernels = call->kernels, .instruction = instruction, .a = operands[0], .out = operands[1]};
    kz_call_run(call, quantise_rows, &job, job.out->rows, kz_row_grain(job.out));
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

static void make_activation(const kz_row_job *job, size_t row, float *out) {
    job->activate(kz_row_of(job->a, row), job->out->columns, out);
}

void kz_op_activate(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {
        .instruction = instruction,
        .a = operands[0],
        .out = operands[1],
        .make = make_activation,
        .activate = kz_op_activate_kernel(call->kernels, (kz_activation)instruction->ints[0])};
    kz_run_rows(call, &job);
}

// A row of x is gate | up, the halves of one joined product.
static void make_gate(const kz_row_job *job, size_t row, float *out) {
    const float *gate = kz_row_of(job->a, row);
    job->gate(gate, gate + job->out->columns, job->out->columns, out);
}

void kz_op_gate(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    const bool is_silu = instruction->ints[0] == KZ_ACTIVATION_SILU;
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .out = operands[1],
                      .make = make_gate,
                      .gate = is_silu ? call->kernels->gate_silu : call->kernels->gate_gelu_tanh};
    kz_run_rows(call, &job);
}
