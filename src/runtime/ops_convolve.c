// ops_convolve.c: a convolution as a matrix product whose windows never lie in memory as a whole.
//   in   rows [T][C], packed weights [N][kernel * C]
//   out  [windows][N]
// UNFOLD and LINEAR compute the same; a long signal's windows would take `kernel` times its memory
// and pass through it twice. Here a thread puts some windows together in its scratch and multiplies
// them while they are in the cache.
#include "format/layout.h"
#include "runtime/row_job.h"

#define CHUNK_ROWS ((size_t)256) // windows: enough that weights are read from the second cache

typedef struct convolve_job {
    kz_row_job windows;
    kz_operand window; // what a row of windows would be: type and columns
    kz_matmul matmul;
    kz_matmul_kernel kernel;
    size_t panel_count, chunk_rows, row_count;
} convolve_job;

static void convolve_chunks(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    const convolve_job *job = context;
    for (; chunk < chunk_end; chunk++) {
        const size_t first = chunk * job->chunk_rows;
        const size_t left = job->row_count - first;
        const size_t count = left < job->chunk_rows ? left : job->chunk_rows;
        kz_matmul matmul = job->matmul;
        for (size_t i = 0; i < count; i++) {
            kz_unfold_row(&job->windows, first + i, (uint8_t *)scratch + i * matmul.x_stride);
        }
        matmul.x = scratch;
        matmul.out = (float *)((uint8_t *)matmul.out + first * matmul.out_stride);
        if (matmul.residual) {
            matmul.residual =
                (const float *)((const uint8_t *)matmul.residual + first * matmul.residual_stride);
        }
        job->kernel(&matmul, 0, job->panel_count, 0, count);
    }
}

void kz_op_convolve(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    const kz_operand *weight = operands[1], *bias = operands[2], *residual = operands[3];
    const kz_operand *out = operands[4];
    const size_t columns = weight->columns;
    if (out->rows == 0) {
        return;
    }
    convolve_job job = {
        .windows = {.kernels = call->kernels, .instruction = instruction, .a = operands[0]},
        .window = {.type = operands[0]->type, .columns = columns},
        .matmul = {.x_stride = operands[0]->type == KZ_F32 ? columns * sizeof(float)
                                                           : kz_a8_row_bytes(columns),
                   .weights = weight->bytes,
                   .columns = columns,
                   .rows = weight->rows,
                   .bias = bias ? bias->bytes : NULL,
                   .residual = residual ? residual->bytes : NULL,
                   .residual_stride = residual ? residual->stride : 0,
                   .out = out->bytes,
                   .out_stride = out->stride},
        .panel_count = (weight->rows + KZ_PANEL_ROWS - 1) / KZ_PANEL_ROWS,
        .row_count = out->rows,
    };
    job.windows.out = &job.window;
    // By all rows, not by a chunk's: no cut may change a result.
    job.kernel = out->rows > KZ_EXACT_TOKENS ? kz_op_bulk_matmul(call->kernels, weight->type)
                                             : kz_op_exact_matmul(call->kernels, weight->type);
    const size_t room = KZ_KERNEL_SCRATCH_BYTES / job.matmul.x_stride;
    job.chunk_rows = room < CHUNK_ROWS ? room : CHUNK_ROWS;
    const size_t chunks = (out->rows + job.chunk_rows - 1) / job.chunk_rows;
    kz_call_run(call, convolve_chunks, &job, chunks, 1);
}
