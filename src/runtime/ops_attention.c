// ops_attention.c: rotations, cache rows and attention.
//   in   q, k, v rows; cache states; row tables
//   out  rotated rows, written cache rows, attended rows
#include <math.h>

#include "runtime/execute.h"

// A few tokens must still spread over all threads: each token and kv head is a chunk.
#define EXACT_TOKENS_PER_CHUNK 1
#define BULK_TOKENS_PER_CHUNK 128 // query rows that share one packing of keys and values
#define FULL_TOKENS_PER_CHUNK 384
#define ROPE_GRAIN_ELEMENTS 16384

// --- Rotation -----------------------------------------------------------------------------------

static void fill_rotation(kz_rotation *rotation, const float *inv_freq, const int32_t *positions,
                          size_t tokens) {
    for (size_t t = 0; t < tokens; t++) {
        for (size_t i = 0; i < rotation->half; i++) {
            // The angle is a float product, as in the reference implementations: double would
            // differ from them at large positions.
            const float angle = (float)positions[t] * inv_freq[i];
            rotation->cosine[t * rotation->half + i] = cosf(angle);
            rotation->sine[t * rotation->half + i] = sinf(angle);
        }
    }
    rotation->positions = positions;
}

// All layers of a call share the positions, so cosines and sines are computed once a call.
static kz_rotation *rotation_for(kz_call *call, uint32_t tensor) {
    size_t i = 0;
    // Ends: see note_rotation in context.c.
    while (call->rotations[i].tensor != tensor) {
        i++; // the context made one for every inv_freq of the program
    }
    return &call->rotations[i];
}

typedef struct rope_job {
    const kz_operand *x;
    const kz_rotation *rotation;
    size_t head_dim, rotary;
    kz_rope_kernel kernel;
} rope_job;

static void rotate_rows(void *context, size_t row, size_t row_end, void *scratch) {
    (void)scratch;
    const rope_job *job = context;
    for (; row < row_end; row++) {
        float *x = (float *)((uint8_t *)job->x->bytes + row * job->x->stride);
        const size_t place = row * job->rotation->half;
        for (size_t column = 0; column < job->x->columns; column += job->head_dim) {
            job->kernel(x + column, job->rotary, job->rotation->cosine + place,
                        job->rotation->sine + place);
        }
    }
}

void kz_op_rope(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    const kz_operand *positions = operands[1];
    const kz_operand *inv_freq = operands[2];
    kz_rotation *rotation = rotation_for(call, inv_freq->tensor_index);
    // All layers name the same input, so its address tells whether the tables are filled. Positions
    // have an element for each row of x (check_ops_cache.c).
    if (rotation->positions != positions->bytes) {
        fill_rotation(rotation, inv_freq->bytes, positions->bytes, operands[0]->rows);
    }
    rope_job job = {.x = operands[0],
                    .rotation = rotation,
                    .head_dim = (size_t)instruction->ints[0],
                    .rotary = (size_t)instruction->ints[1],
                    .kernel = instruction->ints[2] == 0 ? call->kernels->rope_split
                                                        : call->kernels->rope_pairs};
    kz_call_run(call, rotate_rows, &job, job.x->rows,
                ROPE_GRAIN_ELEMENTS / (job.x->columns + 1) + 1);
}

// --- Cache --------------------------------------------------------------------------------------

typedef struct write_job {
    const kz_operand *x, *table, *sequences, *positions, *state;
    kz_cache_write_kernel kernel;
} write_job;

// Rows of a call go to different cache rows as long as no sequence has a position twice: threads
// may write them in any order.
static void write_rows(void *context, size_t row, size_t row_end, void *scratch) {
    (void)scratch;
    const write_job *job = context;
    const int32_t *table = job->table->bytes;
    const int32_t *sequences = job->sequences->bytes;
    const int32_t *positions = job->positions->bytes;
    for (; row < row_end; row++) {
        const size_t place = (size_t)sequences[row] * job->table->columns + (size_t)positions[row];
        job->kernel((const float *)((const uint8_t *)job->x->bytes + row * job->x->stride),
                    job->state->state->heads, job->state->state->head_dim,
                    (uint8_t *)job->state->bytes + (size_t)table[place] * job->state->stride);
    }
}

static kz_cache_write_kernel write_kernel(const kz_kernels *kernels, kz_type type) {
    switch (type) {
    case KZ_F32:
        return kernels->cache_write_f32;
    case KZ_F16:
        return kernels->cache_write_f16;
    default:
        return kernels->cache_write_i8;
    }
}

void kz_op_cache_write(kz_call *call, const kz_instruction *instruction,
                       kz_operand *const *operands) {
    (void)instruction;
    write_job job = {.x = operands[0],
                     .table = operands[1],
                     .sequences = operands[2],
                     .positions = operands[3],
                     .state = operands[4],
                     .kernel = write_kernel(call->kernels, operands[4]->type)};
    kz_call_run(call, write_rows, &job, job.x->rows,
                ROPE_GRAIN_ELEMENTS / (job.x->columns + 1) + 1);
}

// --- Attention ----------------------------------------------------------------------------------

typedef struct attention_job {
    kz_attention attention;
    kz_attention_kernel kernel;
    size_t tokens, tokens_per_chunk;
} attention_job;

// Chunks are numbered token block first, so that threads share the present keys in the cache.
static void attend(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    const attention_job *job = context;
    for (; chunk < chunk_end; chunk++) {
        const size_t token = chunk / job->attention.kv_heads * job->tokens_per_chunk;
        const size_t left = job->tokens - token;
        const size_t count = left < job->tokens_per_chunk ? left : job->tokens_per_chunk;
        job->kernel(&job->attention, chunk % job->attention.kv_heads, token, token + count,
                    scratch);
    }
}

static kz_attention_kernel attention_kernel(const kz_kernels *kernels, kz_type type, bool is_bulk) {
    switch (type) {
    case KZ_F32:
        return is_bulk ? kernels->attention_bulk_f32 : kernels->attention_f32;
    case KZ_F16:
        return is_bulk ? kernels->attention_bulk_f16 : kernels->attention_f16;
    default:
        return is_bulk ? kernels->attention_bulk_i8 : kernels->attention_i8;
    }
}

void kz_op_attention(kz_call *call, const kz_instruction *instruction,
                     kz_operand *const *operands) {
    const kz_operand *q = operands[0], *keys = operands[1], *table = operands[3];
    // By the call's tokens alone: threads or load may not change which sums are made.
    const bool is_bulk = q->rows > KZ_EXACT_TOKENS;
    attention_job job = {
        .attention = {.q = q->bytes,
                      .q_stride = q->stride,
                      .keys = keys->bytes,
                      .values = operands[2]->bytes,
                      .row_bytes = keys->stride,
                      .head_bytes = kz_state_head_bytes(keys->state),
                      .heads = (size_t)instruction->ints[0],
                      .kv_heads = keys->state->heads,
                      .head_dim = keys->state->head_dim,
                      .row_table = table->bytes,
                      .row_table_columns = table->columns,
                      .sequences = operands[4]->bytes,
                      .positions = operands[5]->bytes,
                      .window = (size_t)instruction->ints[1],
                      .scale = instruction->floats[0],
                      .out = operands[6]->bytes,
                      .out_stride = operands[6]->stride},
        .kernel = attention_kernel(call->kernels, keys->type, is_bulk),
        .tokens = q->rows,
        .tokens_per_chunk = is_bulk ? BULK_TOKENS_PER_CHUNK : EXACT_TOKENS_PER_CHUNK,
    };
    const size_t blocks = (q->rows + job.tokens_per_chunk - 1) / job.tokens_per_chunk;
    kz_call_run(call, attend, &job, blocks * job.attention.kv_heads, 1);
}

typedef struct full_job {
    kz_attention_full attention;
    kz_attention_full_kernel kernel;
    size_t heads;
} full_job;

static void attend_fully(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    const full_job *job = context;
    for (; chunk < chunk_end; chunk++) {
        const size_t token = chunk / job->heads * FULL_TOKENS_PER_CHUNK;
        const size_t left = job->attention.tokens - token;
        const size_t count = left < FULL_TOKENS_PER_CHUNK ? left : FULL_TOKENS_PER_CHUNK;
        job->kernel(&job->attention, chunk % job->heads, token, token + count, scratch);
    }
}

void kz_op_attention_full(kz_call *call, const kz_instruction *instruction,
                          kz_operand *const *operands) {
    const kz_operand *q = operands[0], *k = operands[1], *v = operands[2], *out = operands[3];
    const size_t heads = (size_t)instruction->ints[0];
    full_job job = {.attention = {.q = q->bytes,
                                  .k = k->bytes,
                                  .v = v->bytes,
                                  .q_stride = q->stride,
                                  .k_stride = k->stride,
                                  .v_stride = v->stride,
                                  .tokens = q->rows,
                                  .head_dim = q->columns / heads,
                                  .scale = instruction->floats[0],
                                  .out = out->bytes,
                                  .out_stride = out->stride},
                    .kernel = call->kernels->attention_full,
                    .heads = heads};
    const size_t blocks = (q->rows + FULL_TOKENS_PER_CHUNK - 1) / FULL_TOKENS_PER_CHUNK;
    kz_call_run(call, attend_fully, &job, blocks * heads, 1);
}
