// ops_signal_lstm.c: a long short-term memory, row after row.
//   in   [T][4 * H]: the gates' share of the input, biases included
//   out  [T][H], and the states after the last row
// Each row needs the one before it, so only the product with h is cut for threads, and only where
// its weights are large. Quantised weights meet h in 16 bits: what 8 would lose comes back in every
// row.
#include <string.h>

#include "format/layout.h"
#include "runtime/row_job.h"

#define GATES ((size_t)4)
#define POOL_BYTES ((size_t)512 * 1024) // weights from which on waking other threads pays

typedef struct lstm_job {
    kz_matmul matmul;
    kz_matmul_kernel kernel;
    kz_quantise_kernel quantise; // of h; NULL: weights of floats
    size_t panel_count, panels_per_chunk;
    size_t tokens;                                       // rows that h becomes: 1, or 2 parts
    _Alignas(64) uint8_t parts[2 * (KZ_LSTM_LIMIT * 2)]; // h, quantised
    _Alignas(64) float gates[2 * GATES * KZ_LSTM_LIMIT]; // [tokens][4 * H]
    _Alignas(64) float zeros[KZ_LSTM_LIMIT];             // h before the first row
    _Alignas(64) float memory[KZ_LSTM_LIMIT];            // c, when no state holds it
} lstm_job;

static void multiply_panels(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    (void)scratch;
    const lstm_job *job = context;
    const size_t end = chunk_end * job->panels_per_chunk;
    job->kernel(&job->matmul, chunk * job->panels_per_chunk,
                end < job->panel_count ? end : job->panel_count, 0, job->tokens);
}

// gates = x + weights h.
static void multiply(kz_call *call, lstm_job *job, const float *x, const float *h) {
    const size_t count = job->matmul.rows;
    job->matmul.x = h;
    job->matmul.residual = job->quantise ? NULL : x;
    if (job->quantise) {
        job->quantise(h, job->matmul.columns, job->parts);
        job->matmul.x = job->parts;
    }
    if (job->panels_per_chunk == job->panel_count) {
        multiply_panels(job, 0, 1, NULL);
    } else {
        const size_t chunks =
            (job->panel_count + job->panels_per_chunk - 1) / job->panels_per_chunk;
        kz_call_run(call, multiply_panels, job, chunks, 1);
    }
    if (job->quantise) {
        call->kernels->add(job->gates, job->gates + count, count, job->gates);
        call->kernels->add(job->gates, x, count, job->gates);
    }
}

static void prepare(const kz_call *call, const kz_operand *weight, lstm_job *job) {
    const size_t hidden = weight->columns;
    const bool is_quantised = kz_type_block_elements(weight->type) > 1;
    const size_t panels = (weight->rows + KZ_PANEL_ROWS - 1) / KZ_PANEL_ROWS;
    const bool is_large = panels * kz_layout_panel_bytes(weight->type, hidden) >= POOL_BYTES;
    const size_t threads = is_large ? kz_pool_thread_count(call->pool) : 1;
    job->kernel = kz_op_exact_matmul(call->kernels, weight->type);
    job->quantise = is_quantised ? call->kernels->quantise_a16 : NULL;
    job->tokens = is_quantised ? 2 : 1;
    job->panel_count = panels;
    job->panels_per_chunk = (panels + threads - 1) / threads;
    job->matmul = (kz_matmul){.weights = weight->bytes,
                              .x_stride = kz_a8_row_bytes(hidden),
                              .columns = hidden,
                              .rows = weight->rows,
                              .out = job->gates,
                              .out_stride = weight->rows * sizeof(float)};
    memset(job->zeros, 0, sizeof job->zeros);
    memset(job->memory, 0, sizeof job->memory);
}

_Static_assert(2 * (KZ_LSTM_LIMIT + KZ_LSTM_LIMIT / KZ_BLOCK * 12) <= 4 * KZ_LSTM_LIMIT,
               "two parts of h fit");

void kz_op_lstm(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    const kz_operand *x = operands[0];
    const kz_operand *out = operands[4];
    const size_t hidden = out->columns;
    const bool is_reversed = instruction->ints[0] != 0;
    const bool is_output_second = instruction->ints[1] != 0;
    lstm_job job;
    prepare(call, operands[1], &job);
    const float *const forget = job.gates + (is_output_second ? 2 : 1) * hidden;
    const float *const output = job.gates + (is_output_second ? 1 : 3) * hidden;
    const float *const cell = forget + hidden; // behind forget in both orders
    const float *h = operands[2] ? operands[2]->bytes : job.zeros;
    float *const c = operands[3] ? operands[3]->bytes : job.memory;
    for (size_t i = 0; i < x->rows && !(call->cancel && atomic_load(call->cancel)); i++) {
        const size_t row = is_reversed ? x->rows - 1 - i : i;
        float *const next = (float *)((uint8_t *)out->bytes + row * out->stride);
        multiply(call, &job, kz_row_of(x, row), h);
        call->kernels->lstm_cell(job.gates, forget, cell, output, hidden, c, next);
        h = next;
    }
    if (operands[2] && x->rows > 0) {
        memcpy(operands[2]->bytes, h, hidden * sizeof *h);
    }
}
