// ops_attention.c: rotations, cache rows and attention.
//   in   q, k, v rows; cache states; row tables
//   out  rotated rows, written cache rows, attended rows
#include <math.h>

#include "runtime/execute.h"

// Query rows that share one packing of keys and values: multiples of what kernels hold in
// registers.
#define BULK_TOKENS_MOST 96
#define BULK_TOKENS_LEAST 12
// Pairs of a query and a key element in a chunk: some milliseconds of one thread.
#define BULK_PRODUCTS_PER_CHUNK ((size_t)96 << 20)
// Parts from which on a chunk takes all kv heads of one.
#define WHOLE_ROW_CHUNKS 4
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
    kz_attention_part_kernel part_kernel;
    kz_attention_join_kernel join_kernel;
    size_t tokens, tokens_per_chunk;
    size_t heads_per_chunk; // kv heads
    size_t most_parts;      // of a token
    float *parts;           // [token][most_parts][kv head] of kz_attention_part_floats
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

static float *parts_of(const attention_job *job, size_t token, size_t part, size_t kv_head) {
    const size_t place = (token * job->most_parts + part) * job->attention.kv_heads + kv_head;
    return job->parts + place * kz_attention_part_floats(&job->attention);
}

// Chunks are [token][part][group of kv heads].
static void attend_parts(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    (void)scratch;
    const attention_job *job = context;
    const size_t groups = job->attention.kv_heads / job->heads_per_chunk;
    for (; chunk < chunk_end; chunk++) {
        const size_t kv_head = chunk % groups * job->heads_per_chunk;
        const size_t part = chunk / groups % job->most_parts;
        const size_t token = chunk / groups / job->most_parts;
        const kz_part_range parts = kz_attention_parts(&job->attention, token);
        if (parts.first + part < parts.end) {
            job->part_kernel(&job->attention, token, parts.first + part, kv_head,
                             kv_head + job->heads_per_chunk, parts_of(job, token, part, kv_head));
        }
    }
}

static void join_parts(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    (void)scratch;
    const attention_job *job = context;
    for (; chunk < chunk_end; chunk++) {
        const size_t kv_head = chunk % job->attention.kv_heads;
        const size_t token = chunk / job->attention.kv_heads;
        const kz_part_range parts = kz_attention_parts(&job->attention, token);
        job->join_kernel(&job->attention, kv_head, token, parts.end - parts.first,
                         parts_of(job, token, 0, kv_head));
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

static kz_attention_part_kernel part_kernel(const kz_kernels *kernels, kz_type type) {
    switch (type) {
    case KZ_F32:
        return kernels->attention_part_f32;
    case KZ_F16:
        return kernels->attention_part_f16;
    default:
        return kernels->attention_part_i8;
    }
}

static size_t find_most_parts(const attention_job *job) {
    size_t most = 0;
    for (size_t t = 0; t < job->tokens; t++) {
        const kz_part_range parts = kz_attention_parts(&job->attention, t);
        most = parts.end - parts.first > most ? parts.end - parts.first : most;
    }
    return most;
}

// Whether parts are chunks of their own, joined later; the result is the same either way. It lets
// threads share a long context however few its kv heads are, and reads the cache in order.
static bool shares_parts(const kz_call *call, const attention_job *job) {
    const size_t floats = job->most_parts * kz_attention_part_floats(&job->attention);
    return job->most_parts > 1 &&
           job->tokens * job->attention.kv_heads * floats <= call->part_floats;
}

static void run_exact(kz_call *call, attention_job *job) {
    const size_t chunks = job->tokens * job->attention.kv_heads;
    job->most_parts = find_most_parts(job);
    job->parts = call->parts;
    if (!shares_parts(call, job)) {
        kz_call_run(call, attend, job, chunks, 1);
        return;
    }
    // Whole rows where there are parts enough to share: the cache is then read as it lies.
    job->heads_per_chunk =
        job->tokens * job->most_parts >= WHOLE_ROW_CHUNKS ? job->attention.kv_heads : 1;
    kz_call_run(call, attend_parts, job, chunks / job->heads_per_chunk * job->most_parts, 1);
    kz_call_run(call, join_parts, job, chunks, 1);
}

// A chunk takes some milliseconds, however deep the cache is: a stop is seen between chunks.
static size_t bulk_tokens_per_chunk(const attention_job *job) {
    const kz_attention *attention = &job->attention;
    const size_t width = attention->heads / attention->kv_heads * attention->head_dim;
    const size_t products =
        find_most_parts(job) * kz_attention_part_rows(attention->head_dim) * width;
    const size_t tokens =
        BULK_PRODUCTS_PER_CHUNK / products / BULK_TOKENS_LEAST * BULK_TOKENS_LEAST;
    return tokens > BULK_TOKENS_MOST    ? BULK_TOKENS_MOST
           : tokens < BULK_TOKENS_LEAST ? BULK_TOKENS_LEAST
                                        : tokens;
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
        .part_kernel = part_kernel(call->kernels, keys->type),
        .join_kernel = call->kernels->attention_join,
        .tokens = q->rows,
        .tokens_per_chunk = 1, // a few tokens must still spread over all threads
    };
    if (!is_bulk) {
        run_exact(call, &job);
        return;
    }
    job.tokens_per_chunk = bulk_tokens_per_chunk(&job);
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
