// ops_linear.c: the matrix product, cut into chunks of panels and tokens.
//   in   activations [T][K], packed weights [N][K]
//   out  [T][N]
// Decoding cuts by panels alone: each thread reads its own long stretch of weights once. Bulk calls
// keep a few panels in the cache while the tokens stream past them.
//
// KZ_A16 rows are pairs of KZ_A8 rows: the kernels see twice as many tokens, and their products are
// added in pairs, so that the weights are still read once.
#include <string.h>

#include "format/layout.h"
#include "runtime/execute.h"

#define BULK_PANELS 4       // panels of one bulk chunk
#define CHUNKS_PER_THREAD 4 // decode: enough that a busy core's share can move

// Of one piece of a product of KZ_A16 rows: both fit a thread's scratch.
#define PAIR_TOKENS ((size_t)512)
#define PAIR_FLOATS (KZ_KERNEL_SCRATCH_BYTES / sizeof(float))

_Static_assert(2 * PAIR_TOKENS * KZ_PANEL_ROWS <= PAIR_FLOATS, "a piece holds a panel at least");

typedef struct linear_job {
    kz_matmul matmul;
    kz_matmul_kernel kernel;
    kz_activate_kernel activate; // KZ_A16: what the kernel leaves to the sum of the pairs, or NULL
    size_t panel_bytes;
    size_t panel_count, panels_per_chunk;
    size_t token_count;
} linear_job;

typedef struct linear_kernels {
    kz_matmul_kernel exact, bulk;
} linear_kernels;

// By the weight's type; check_linear has seen to it that x is in the form that these kernels read.
static linear_kernels kernels_for(const kz_kernels *kernels, kz_type type) {
    switch (type) {
    case KZ_F32:
        return (linear_kernels){kernels->matmul_f32_f32, kernels->matmul_bulk_f32_f32};
    case KZ_F16:
        return (linear_kernels){kernels->matmul_f32_f16, kernels->matmul_bulk_f32_f16};
    case KZ_BF16:
        return (linear_kernels){kernels->matmul_f32_bf16, kernels->matmul_bulk_f32_bf16};
    case KZ_Q4_0:
        return (linear_kernels){kernels->matmul_a8_q4_0, kernels->matmul_bulk_a8_q4_0};
    case KZ_Q4_1:
        return (linear_kernels){kernels->matmul_a8_q4_1, kernels->matmul_bulk_a8_q4_1};
    case KZ_Q5_0:
        return (linear_kernels){kernels->matmul_a8_q5_0, kernels->matmul_bulk_a8_q5_0};
    case KZ_Q5_1:
        return (linear_kernels){kernels->matmul_a8_q5_1, kernels->matmul_bulk_a8_q5_1};
    case KZ_IQ4_NL:
        return (linear_kernels){kernels->matmul_a8_iq4_nl, kernels->matmul_bulk_a8_iq4_nl};
    case KZ_Q4_K:
        return (linear_kernels){kernels->matmul_a8_q4_k, kernels->matmul_bulk_a8_q4_k};
    case KZ_Q5_K:
        return (linear_kernels){kernels->matmul_a8_q5_k, kernels->matmul_bulk_a8_q5_k};
    case KZ_Q6_K:
        return (linear_kernels){kernels->matmul_a8_q6_k, kernels->matmul_bulk_a8_q6_k};
    default:
        return (linear_kernels){kernels->matmul_a8_q8_0, kernels->matmul_bulk_a8_q8_0};
    }
}

kz_matmul_kernel kz_op_exact_matmul(const kz_kernels *kernels, kz_type type) {
    return kernels_for(kernels, type).exact;
}

kz_matmul_kernel kz_op_bulk_matmul(const kz_kernels *kernels, kz_type type) {
    return kernels_for(kernels, type).bulk;
}

static void run_linear(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    (void)scratch;
    const linear_job *job = context;
    size_t panel = chunk * job->panels_per_chunk;
    size_t panel_end = chunk_end * job->panels_per_chunk;
    panel_end = panel_end < job->panel_count ? panel_end : job->panel_count;
    // All tokens in one chunk: the kernel keeps as many of them in the cache as its blocking wants,
    // while the chunk's weights are read once.
    job->kernel(&job->matmul, panel, panel_end, 0, job->token_count);
}

// out = activation(a + b + bias) + residual for the output columns [column, column + count) of one
// token; a and b are the products of its two rows.
static void add_pair(const linear_job *job, size_t token, size_t column, size_t count, float *a,
                     const float *b) {
    const kz_matmul *matmul = &job->matmul;
    float *out = (float *)((uint8_t *)matmul->out + token * matmul->out_stride) + column;
    for (size_t i = 0; i < count; i++) {
        a[i] += b[i];
    }
    for (size_t i = 0; matmul->bias && i < count; i++) {
        a[i] += matmul->bias[column + i];
    }
    if (job->activate) {
        job->activate(a, count, a);
    }
    if (!matmul->residual) {
        memcpy(out, a, count * sizeof *out);
        return;
    }
    const float *residual =
        (const float *)((const uint8_t *)matmul->residual + token * matmul->residual_stride) +
        column;
    for (size_t i = 0; i < count; i++) {
        out[i] = a[i] + residual[i];
    }
}

// Panels [panel, panel_end) for tokens [token, token_end), their products in `products`.
static void multiply_pairs(const linear_job *job, size_t panel, size_t panel_end, size_t token,
                           size_t token_end, float *products) {
    const size_t column = panel * KZ_PANEL_ROWS;
    const size_t end = panel_end * KZ_PANEL_ROWS;
    const size_t count = (end < job->matmul.rows ? end : job->matmul.rows) - column;
    const kz_matmul piece = {
        .x = (const uint8_t *)job->matmul.x + token * job->matmul.x_stride,
        .x_stride = kz_a8_row_bytes(job->matmul.columns),
        .weights = (const uint8_t *)job->matmul.weights + panel * job->panel_bytes,
        .columns = job->matmul.columns,
        .rows = count,
        .out = products,
        .out_stride = count * sizeof *products,
    };
    job->kernel(&piece, 0, panel_end - panel, 0, 2 * (token_end - token));
    for (size_t t = token; t < token_end; t++) {
        float *pair = products + 2 * (t - token) * count;
        add_pair(job, t, column, count, pair, pair + count);
    }
}

static void run_linear_pairs(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    const linear_job *job = context;
    size_t panel = chunk * job->panels_per_chunk;
    size_t panel_end = chunk_end * job->panels_per_chunk;
    panel_end = panel_end < job->panel_count ? panel_end : job->panel_count;
    const size_t tokens = job->token_count < PAIR_TOKENS ? job->token_count : PAIR_TOKENS;
    const size_t panels = PAIR_FLOATS / (2 * tokens * KZ_PANEL_ROWS);
    for (size_t next; panel < panel_end; panel = next) {
        next = panel + panels < panel_end ? panel + panels : panel_end;
        for (size_t token = 0; token < job->token_count; token += tokens) {
            const size_t left = job->token_count - token;
            multiply_pairs(job, panel, next, token, token + (left < tokens ? left : tokens),
                           scratch);
        }
    }
}

static size_t choose_panels_per_chunk(const kz_call *call, size_t panels, bool is_bulk) {
    if (is_bulk) {
        return BULK_PANELS;
    }
    const size_t chunks = kz_pool_thread_count(call->pool) * (size_t)CHUNKS_PER_THREAD;
    // At least one: a weight has rows (check_tables.c).
    return (panels + chunks - 1) / chunks;
}

void kz_op_linear(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    const kz_operand *x = operands[0];
    const kz_operand *weight = operands[1];
    const kz_operand *bias = operands[2];
    const kz_operand *residual = operands[3];
    const kz_operand *out = operands[4];
    // A symbol may be 0: there is nothing to read or write.
    if (x->rows == 0) {
        return;
    }
    const linear_kernels kernels = kernels_for(call->kernels, weight->type);
    const bool is_bulk = x->rows > KZ_EXACT_TOKENS;
    linear_job job = {
        .matmul = {.x = x->bytes,
                   .x_stride = x->stride,
                   .weights = weight->bytes,
                   .columns = weight->columns,
                   .rows = weight->rows,
                   .bias = bias ? bias->bytes : NULL,
                   .residual = residual ? residual->bytes : NULL,
                   .residual_stride = residual ? residual->stride : 0,
                   .out = out->bytes,
                   .out_stride = out->stride,
                   .activation = (kz_activation)instruction->ints[0]},
        .kernel = is_bulk ? kernels.bulk : kernels.exact,
        .panel_count = (weight->rows + KZ_PANEL_ROWS - 1) / KZ_PANEL_ROWS,
        .activate = kz_op_activate_kernel(call->kernels, (kz_activation)instruction->ints[0]),
        .panel_bytes = kz_layout_panel_bytes(weight->type, weight->columns),
        .token_count = x->rows,
    };
    job.panels_per_chunk = choose_panels_per_chunk(call, job.panel_count, is_bulk);
    const size_t chunks = (job.panel_count + job.panels_per_chunk - 1) / job.panels_per_chunk;
    kz_call_run(call, x->type == KZ_A16 ? run_linear_pairs : run_linear, &job, chunks, 1);
}
