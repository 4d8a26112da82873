// attention_tile.h: attention over the cache, a token at a time: the order-exact kernels.
//
// in: math_tile.h included before. out: the attention_* kernels and what attention_bulk_tile.h
// shares: kv_load, soften. All query heads of a kv head go together, so that each key and value is
// read once (and once more from L1). Rows are taken in chunks of CHUNK_ROWS that begin at multiples
// of it, with a running maximum; nothing depends on the other tokens of the call, and the bulk
// kernels repeat these very sums. Head sizes
// that are no multiple of 16 are too rare for code of their own: they run the reference.
#include <math.h>
#include <string.h>

#include "kernels/variants.h"

#define CHUNK_ROWS 64

typedef void (*attention_fallback)(const kz_attention *attention, size_t kv_head, size_t token,
                                   size_t token_end, void *scratch);

// 16 elements from `at` of one cached head, as floats.
SIMD_INLINE vfloat kv_load(kz_type type, const uint8_t *head, size_t at) {
    if (type == KZ_F32) {
        return v_load((const float *)(const void *)head + at);
    }
    if (type == KZ_F16) {
        return v_load_f16((const uint16_t *)(const void *)head + at);
    }
    float scale;
    memcpy(&scale, head, sizeof scale);
    return v_mul(v_load_i8((const int8_t *)head + sizeof scale + at), v_set(scale));
}

// Sums relative to exp(largest), as in ref/attention.c.
typedef struct running_softmax {
    float largest;
    float total;
} running_softmax;

_Static_assert(KZ_HEAD_GROUP_LIMIT * sizeof(running_softmax) <= KZ_KERNEL_SCRATCH_BYTES,
               "the scratch holds every query head of a kv head");

// Scores (already scaled, [count], a multiple of 16) become weights; returns the factor that brings
// older sums to the new maximum.
static float soften(running_softmax *running, float *scores, size_t count) {
    // v_max gives its second operand where the first is NaN: a NaN score is passed over here, and
    // its own weight carries it into the total.
    vfloat most = v_set(running->largest);
    for (size_t i = 0; i < count; i += 16) {
        most = v_max(v_load(scores + i), most);
    }
    const float largest = v_max_of(most);
    const float factor = largest == -INFINITY ? 1.0f : expf(running->largest - largest);
    // A maximum of -inf would make -inf - -inf; any number gives the weights 0 that are meant.
    const vfloat base = v_set(largest == -INFINITY ? 0.0f : largest);
    vfloat total = v_zero();
    for (size_t i = 0; i < count; i += 16) {
        const vfloat weights = v_exp(v_sub(v_load(scores + i), base));
        v_store(scores + i, weights);
        total = v_add(total, weights);
    }
    running->largest = largest;
    running->total = running->total * factor + v_sum(total);
    return factor;
}

typedef struct attention_chunk {
    const uint8_t *keys[CHUNK_ROWS]; // this kv head in each row; beyond `count` the last row again
    const uint8_t *values[CHUNK_ROWS];
    size_t hidden; // leading rows that the token does not see
    size_t count;
} attention_chunk;

static void find_rows(const kz_attention *attention, size_t kv_head, const int32_t *rows,
                      size_t hidden, size_t count, attention_chunk *out_chunk) {
    out_chunk->hidden = hidden;
    out_chunk->count = count;
    // A score tile reads whole groups of rows. The last row again is safe to read and cheaper than
    // a test; its scores become -inf.
    for (size_t i = 0; i < CHUNK_ROWS; i++) {
        const size_t row = (size_t)rows[i < count ? i : count - 1];
        const size_t at = row * attention->row_bytes + kv_head * attention->head_bytes;
        out_chunk->keys[i] = attention->keys + at;
        out_chunk->values[i] = attention->values + at;
    }
}

// Scores of `queries` (1, 2 or 4) query heads with 16 / queries rows: 16 sums of products side by
// side, then one reduction. A score is the same whatever tile it is made in. `q` is the first
// query, the next `q_step` floats further; scores of a query are `score_step` floats from the last
// one's.
SIMD_INLINE void score_tile(kz_type type, int queries, const float *q, size_t q_step,
                            size_t head_dim, float scale, const uint8_t *const keys[],
                            size_t score_step, float *scores) {
    const int rows = 16 / queries;
    vfloat sums[16];
    float lanes[16]; // [queries][rows]
    SIMD_UNROLL
    for (int i = 0; i < 16; i++) {
        sums[i] = v_zero();
    }
    for (size_t d = 0; d < head_dim; d += 16) {
        vfloat query[4];
        SIMD_UNROLL
        for (int h = 0; h < queries; h++) {
            query[h] = v_load(q + (size_t)h * q_step + d);
        }
        SIMD_UNROLL
        for (int r = 0; r < rows; r++) {
            const vfloat key = kv_load(type, keys[r], d);
            SIMD_UNROLL
            for (int h = 0; h < queries; h++) {
                sums[h * rows + r] = v_fma(query[h], key, sums[h * rows + r]);
            }
        }
    }
    v_store(lanes, v_mul(v_sums(sums), v_set(scale)));
    SIMD_UNROLL
    for (int h = 0; h < queries; h++) {
        memcpy(scores + (size_t)h * score_step, lanes + h * rows, (size_t)rows * sizeof *scores);
    }
}

// All scores of `heads` heads with a chunk, -inf beyond its rows.
SIMD_INLINE void score_chunk(kz_type type, int heads, const float *q, size_t head_dim, float scale,
                             const attention_chunk *chunk, float *scores) {
    const size_t rows = (size_t)(16 / heads);
    for (size_t i = 0; i < chunk->count; i += rows) {
        score_tile(type, heads, q, head_dim, head_dim, scale, chunk->keys + i, CHUNK_ROWS,
                   scores + i);
    }
    for (int h = 0; h < heads; h++) {
        for (size_t i = 0; i < chunk->hidden; i++) {
            scores[h * CHUNK_ROWS + (int)i] = -INFINITY;
        }
        for (size_t i = chunk->count; i < CHUNK_ROWS; i++) {
            scores[h * CHUNK_ROWS + (int)i] = -INFINITY;
        }
    }
}

// sums[h] = sums[h] * factors[h] + weights[h] . values, for `heads` heads and `vectors` x 16
// elements from `at`.
SIMD_INLINE void value_tile(kz_type type, int heads, int vectors, const float *weights,
                            const float *factors, const attention_chunk *chunk, size_t head_dim,
                            size_t at, float *sums) {
    vfloat held[SIMD_HEADS][SIMD_VECTORS];
    SIMD_UNROLL
    for (int h = 0; h < heads; h++) {
        SIMD_UNROLL
        for (int v = 0; v < vectors; v++) {
            const vfloat old = v_load(sums + (size_t)h * head_dim + at + 16 * (size_t)v);
            held[h][v] = v_mul(old, v_set(factors[h]));
        }
    }
    // Hidden rows are left out, not multiplied by 0: 0 x infinity would show.
    for (size_t i = chunk->hidden; i < chunk->count; i++) {
        SIMD_UNROLL
        for (int v = 0; v < vectors; v++) {
            const vfloat value = kv_load(type, chunk->values[i], at + 16 * (size_t)v);
            SIMD_UNROLL
            for (int h = 0; h < heads; h++) {
                held[h][v] = v_fma(v_set(weights[h * CHUNK_ROWS + (int)i]), value, held[h][v]);
            }
        }
    }
    SIMD_UNROLL
    for (int h = 0; h < heads; h++) {
        SIMD_UNROLL
        for (int v = 0; v < vectors; v++) {
            v_store(sums + (size_t)h * head_dim + at + 16 * (size_t)v, held[h][v]);
        }
    }
}

SIMD_INLINE void add_values(kz_type type, int heads, const float *weights, const float *factors,
                            const attention_chunk *chunk, size_t head_dim, float *sums) {
    size_t at = 0;
    for (; at + 16 * SIMD_VECTORS <= head_dim; at += 16 * SIMD_VECTORS) {
        value_tile(type, heads, SIMD_VECTORS, weights, factors, chunk, head_dim, at, sums);
    }
    for (; at < head_dim; at += 16) {
        value_tile(type, heads, 1, weights, factors, chunk, head_dim, at, sums);
    }
}

// `heads` query heads over one chunk.
SIMD_INLINE void attend_chunk(kz_type type, int heads, const float *q, size_t head_dim, float scale,
                              const attention_chunk *chunk, running_softmax *running, float *sums) {
    float scores[4 * CHUNK_ROWS]; // [heads][CHUNK_ROWS]
    float factors[4];             // [heads]
    score_chunk(type, heads, q, head_dim, scale, chunk, scores);
    for (int h = 0; h < heads; h++) {
        factors[h] = soften(&running[h], scores + h * CHUNK_ROWS, CHUNK_ROWS);
    }
    for (int h = 0; h < heads; h += SIMD_HEADS) {
        const int together = heads - h < SIMD_HEADS ? heads - h : SIMD_HEADS;
        add_values(type, together, scores + h * CHUNK_ROWS, factors + h, chunk, head_dim,
                   sums + (size_t)h * head_dim);
    }
}

// The first cache index that a token at `end` - 1 sees.
static size_t first_seen(size_t end, size_t window) {
    return window > 0 && end > window ? end - window : 0;
}

// A quotient, as in ref/attention.c: a product with the reciprocal rounds otherwise.
static void divide(float *sums, size_t count, float total) {
    for (size_t i = 0; i < count; i += 16) {
        v_store(sums + i, v_div(v_load(sums + i), v_set(total)));
    }
}

// `running` [group] is given so that any number of query heads shares one pass over the rows.
SIMD_INLINE void attend_token(kz_type type, const kz_attention *a, size_t kv_head, size_t token,
                              running_softmax *running) {
    const size_t group = a->heads / a->kv_heads;
    const size_t head_dim = a->head_dim;
    const size_t first = kv_head * group * head_dim;
    const float *q = (const float *)((const char *)a->q + token * a->q_stride) + first;
    float *sums = (float *)((char *)a->out + token * a->out_stride) + first;
    const int32_t *rows = a->row_table + (size_t)a->sequences[token] * a->row_table_columns;
    const size_t end = (size_t)a->positions[token] + 1;
    memset(sums, 0, group * head_dim * sizeof *sums);
    for (size_t h = 0; h < group; h++) {
        running[h] = (running_softmax){-INFINITY, 0.0f};
    }
    // Chunks begin at multiples of CHUNK_ROWS whatever the window: a row is always in the same
    // place of the same chunk, so decoding and prefill add in the same order.
    const size_t first_row = first_seen(end, a->window);
    for (size_t i = first_row / CHUNK_ROWS * CHUNK_ROWS; i < end; i += CHUNK_ROWS) {
        attention_chunk chunk;
        find_rows(a, kv_head, rows + i, first_row > i ? first_row - i : 0,
                  end - i < CHUNK_ROWS ? end - i : CHUNK_ROWS, &chunk);
        size_t h = 0;
        for (; h + 4 <= group; h += 4) {
            attend_chunk(type, 4, q + h * head_dim, head_dim, a->scale, &chunk, running + h,
                         sums + h * head_dim);
        }
        for (; h + 2 <= group; h += 2) {
            attend_chunk(type, 2, q + h * head_dim, head_dim, a->scale, &chunk, running + h,
                         sums + h * head_dim);
        }
        for (; h < group; h++) {
            attend_chunk(type, 1, q + h * head_dim, head_dim, a->scale, &chunk, running + h,
                         sums + h * head_dim);
        }
    }
    for (size_t h = 0; h < group; h++) {
        divide(sums + h * head_dim, head_dim, running[h].total);
    }
}

SIMD_INLINE void attend(kz_type type, attention_fallback fallback, const kz_attention *a,
                        size_t kv_head, size_t token, size_t token_end, void *scratch) {
    if (a->head_dim % 16 != 0) {
        fallback(a, kv_head, token, token_end, scratch);
        return;
    }
    for (size_t t = token; t < token_end; t++) {
        attend_token(type, a, kv_head, t, scratch);
    }
}

void KZ_NAME(kz_attention_f32)(const kz_attention *attention, size_t kv_head, size_t token,
                               size_t token_end, void *scratch) {
    attend(KZ_F32, kz_attention_f32__ref, attention, kv_head, token, token_end, scratch);
}

void KZ_NAME(kz_attention_f16)(const kz_attention *attention, size_t kv_head, size_t token,
                               size_t token_end, void *scratch) {
    attend(KZ_F16, kz_attention_f16__ref, attention, kv_head, token, token_end, scratch);
}

void KZ_NAME(kz_attention_i8)(const kz_attention *attention, size_t kv_head, size_t token,
                              size_t token_end, void *scratch) {
    attend(KZ_I8, kz_attention_i8__ref, attention, kv_head, token, token_end, scratch);
}

// A row of nothing but -inf becomes zeros.
void KZ_NAME(kz_softmax)(float *x, size_t count, float scale) {
    vfloat most = v_set(-INFINITY);
    vfloat total = v_zero();
    SIMD_FOR_LANES(i, n, count) {
        // -inf where the row has ended, so that the padding is never the maximum.
        float lanes[16];
        v_store(lanes, v_set(-INFINITY));
        memcpy(lanes, x + i, n * sizeof *x);
        most = v_max(v_load(lanes), most);
    }
    const float largest = v_max_of(most);
    const vfloat base = v_set(largest == -INFINITY ? 0.0f : largest);
    SIMD_FOR_LANES(i, n, count) {
        float lanes[16] = {0.0f};
        const vfloat distance = v_sub(v_load_some(x + i, n), base);
        v_store(lanes, v_exp(v_mul(distance, v_set(scale))));
        v_store_some(x + i, v_load(lanes), n);
        total = v_add(total, v_load_some(lanes, n));
    }
    const float sum = v_sum(total);
    const vfloat inverse = v_set(sum == 0.0f ? 0.0f : 1.0f / sum);
    SIMD_FOR_LANES(i, n, count) {
        v_store_some(x + i, v_mul(v_load_some(x + i, n), inverse), n);
    }
}
