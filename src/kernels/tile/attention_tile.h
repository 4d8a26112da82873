// attention_tile.h: attention over the cache, a token at a time: the order-exact kernels.
//
// in: math_tile.h included before. out: the attention_* kernels, and what attention_bulk_tile.h
// shares: kv_load, score_tile, soften, join. Rows are taken in parts (kernels.h), each with a
// maximum of its own; nothing depends on the other tokens of the call, nor on which thread does a
// part. Query heads of a kv head go together, so that a key is read and converted once for four of
// them. Decoding a long context is bound by memory: the kv heads of a part are done together, block
// of rows by block, and the next block is asked for meanwhile. An i8 head's scale is taken out of
// its sums. Head sizes that are no multiple of 16 are too rare for code of their own: they run the
// reference.
#include <math.h>
#include <string.h>

#include "kernels/variants.h"

#define PART_ROWS_MOST 256
#define HEADS_AT_ONCE 4
#define BLOCK_ROWS 16
#define UNITS_MOST 16
#define UNIT_SCORES ((size_t)HEADS_AT_ONCE * PART_ROWS_MOST)

_Static_assert(PART_ROWS_MOST >= KZ_PART_ROWS, "a part fits the arrays");

// `count` rows, filled up to a whole block.
SIMD_INLINE size_t block_end(size_t count) {
    return (count + BLOCK_ROWS - 1) / BLOCK_ROWS * BLOCK_ROWS;
}

// 16 elements from `at` of one cached head, as floats; an i8 head's without their scale.
SIMD_INLINE vfloat kv_load(kz_type type, const uint8_t *head, size_t at) {
    if (type == KZ_F32) {
        return v_load((const float *)(const void *)head + at);
    }
    if (type == KZ_F16) {
        return v_load_f16((const uint16_t *)(const void *)head + at);
    }
    return v_load_i8((const int8_t *)head + sizeof(float) + at);
}

// Bytes of 16 elements.
#define VECTOR_BYTES(type) ((type) == KZ_F32 ? 64 : (type) == KZ_F16 ? 32 : 16)

// Asks for a head that is read soon. It goes to the second cache: what the first cache holds is in
// use.
SIMD_INLINE void ask_head(const uint8_t *head, size_t head_bytes) {
    for (size_t b = 0; b < head_bytes; b += 64) {
        simd_ask_far(head + b);
    }
}

// Of `count` scores, a multiple of 16.
SIMD_INLINE float largest_score(const float *scores, size_t count) {
    // v_max gives its second operand where the first is NaN: a NaN score is passed over here, and
    // its own weight carries it into the total.
    vfloat most = v_set(-INFINITY);
    for (size_t i = 0; i < count; i += 16) {
        most = v_max(v_load(scores + i), most);
    }
    return v_max_of(most);
}

// Scores (already scaled, [count], a multiple of 16), of which `largest` is the maximum, become
// weights, times `scales` where values have some (NULL: none). Returns maximum and total of the
// weights themselves.
SIMD_INLINE kz_part_softmax soften_from(float largest, float *scores, size_t count,
                                        const float *scales) {
    // A maximum of -inf would make -inf - -inf; any number gives the weights 0 that are meant.
    const vfloat base = v_set(largest == -INFINITY ? 0.0f : largest);
    vfloat total = v_zero();
    for (size_t i = 0; i < count; i += 16) {
        const vfloat weights = v_exp(v_sub(v_load(scores + i), base));
        v_store(scores + i, scales ? v_mul(weights, v_load(scales + i)) : weights);
        total = v_add(total, weights);
    }
    return (kz_part_softmax){largest, v_sum(total)};
}

SIMD_INLINE kz_part_softmax soften(float *scores, size_t count) {
    return soften_from(largest_score(scores, count), scores, count, NULL);
}

// What brings the sums so far and a part's to their common maximum.
typedef struct join_factors {
    float before, part;
} join_factors;

// Adds a part to the running maximum and total.
SIMD_INLINE join_factors join_softmax(kz_part_softmax *running, kz_part_softmax part) {
    const float largest = part.largest > running->largest ? part.largest : running->largest;
    join_factors factors = {1.0f, 1.0f}; // one of them remains: exp(0)
    if (running->largest < largest) {
        factors.before = expf(running->largest - largest);
    }
    if (part.largest < largest) {
        factors.part = expf(part.largest - largest);
    }
    running->total = fmaf(part.total, factors.part, running->total * factors.before);
    running->largest = largest;
    return factors;
}

SIMD_INLINE void join_sums(float *sums, const float *part, size_t count, join_factors factors) {
    for (size_t i = 0; i < count; i += 16) {
        const vfloat before = v_mul(v_load(sums + i), v_set(factors.before));
        v_store(sums + i, v_fma(v_load(part + i), v_set(factors.part), before));
    }
}

// A quotient, as in ref/attention.c: a product with the reciprocal rounds otherwise.
static void divide(float *sums, size_t count, float total) {
    for (size_t i = 0; i < count; i += 16) {
        v_store(sums + i, v_div(v_load(sums + i), v_set(total)));
    }
}

// The rows of a part, the heads [kv_head, kv_head_end) of each.
typedef struct attention_part {
    const uint8_t *keys, *values; // of kv head 0; row i's are `at[i]` bytes further
    size_t at[PART_ROWS_MOST + 2 * BLOCK_ROWS];
    size_t head_bytes;
    size_t hidden; // leading rows that the token does not see
    size_t count;
} attention_part;

// The first cache index that a token at `end` - 1 sees.
static size_t first_seen(size_t end, size_t window) {
    return window > 0 && end > window ? end - window : 0;
}

// Parts begin at multiples of their size whatever the window: a row is always in the same place of
// the same part, so tokens in company and tokens alone add in the same order.
static void open_part(const kz_attention *a, size_t token, size_t part, attention_part *out_part) {
    const int32_t *rows = a->row_table + (size_t)a->sequences[token] * a->row_table_columns;
    const size_t end = (size_t)a->positions[token] + 1;
    const size_t first = part * kz_attention_part_rows(a->head_dim);
    const size_t left = end - first;
    const size_t count =
        left < kz_attention_part_rows(a->head_dim) ? left : kz_attention_part_rows(a->head_dim);
    const size_t seen = first_seen(end, a->window);
    out_part->keys = a->keys;
    out_part->values = a->values;
    out_part->head_bytes = a->head_bytes;
    out_part->hidden = seen > first ? seen - first : 0;
    out_part->count = count;
    // Tiles read whole blocks of rows. The last row again is safe to read and cheaper than a test;
    // its scores become -inf.
    for (size_t i = 0; i < block_end(count) + BLOCK_ROWS; i++) {
        out_part->at[i] = (size_t)rows[first + (i < count ? i : count - 1)] * a->row_bytes;
    }
}

// Query heads that are done together, all of one kv head.
typedef struct head_unit {
    const float *q;           // [heads][head_dim]
    float *sums;              // [heads][head_dim]
    kz_part_softmax *softmax; // [heads]
    size_t offset;            // of the kv head in a row
    int heads;                // 1 to HEADS_AT_ONCE
} head_unit;

// Multiplies what `heads` query heads have for a block of rows, scores or weights, by the scales of
// the block's i8 heads.
SIMD_INLINE void scale_block(int heads, const uint8_t *rows, const size_t *at, float *values) {
    float scales[BLOCK_ROWS];
    for (size_t i = 0; i < BLOCK_ROWS; i++) {
        memcpy(scales + i, rows + at[i], sizeof *scales);
    }
    SIMD_UNROLL
    for (int h = 0; h < heads; h++) {
        float *own = values + h * PART_ROWS_MOST;
        v_store(own, v_mul(v_load(own), v_load(scales)));
    }
}

// Rows that a score tile of `queries` takes: three queries leave four of its sixteen sums unused.
#define TILE_ROWS(queries) ((queries) == 3 ? 4 : 16 / (queries))

// sums[h * TILE_ROWS + r] of rows [row, row + count), lane by lane.
SIMD_INLINE void score_rows(kz_type type, int queries, const float *q, size_t q_step,
                            size_t head_dim, const uint8_t *const keys[], int row, int count,
                            vfloat sums[16]) {
    vfloat held[16]; // [queries][count]: a constant index each, so registers
    SIMD_UNROLL
    for (int i = 0; i < queries * count; i++) {
        held[i] = v_zero();
    }
    for (size_t d = 0; d < head_dim; d += 16) {
        vfloat query[HEADS_AT_ONCE];
        SIMD_UNROLL
        for (int h = 0; h < queries; h++) {
            query[h] = v_load(q + (size_t)h * q_step + d);
        }
        SIMD_UNROLL
        for (int r = 0; r < count; r++) {
            const vfloat key = kv_load(type, keys[row + r], d);
            SIMD_UNROLL
            for (int h = 0; h < queries; h++) {
                held[h * count + r] = v_fma(query[h], key, held[h * count + r]);
            }
        }
    }
    SIMD_UNROLL
    for (int i = 0; i < queries * count; i++) {
        sums[i / count * TILE_ROWS(queries) + row + i % count] = held[i];
    }
}

// Scores of `queries` (1 to 4) query heads with TILE_ROWS rows: 16 sums of products side by side,
// then one reduction. A score is the same whatever tile it is made in, and however many of its sums
// are in registers at once. `q` is the first query, the next `q_step` floats further; scores of a
// query are `score_step` floats from the last one's.
SIMD_INLINE void score_tile(kz_type type, int queries, const float *q, size_t q_step,
                            size_t head_dim, float scale, const uint8_t *const keys[],
                            size_t score_step, float *scores) {
    const int rows = TILE_ROWS(queries);
    const int together = queries * rows <= SIMD_SCORES ? rows : SIMD_SCORES / queries;
    vfloat sums[16];
    float lanes[16]; // [queries][rows]
    SIMD_UNROLL
    for (int i = queries * rows; i < 16; i++) {
        sums[i] = v_zero(); // those that three queries leave unused
    }
    // Not unrolled: sums that are done belong on the stack, not in registers.
    for (int row = 0; row < rows; row += together) {
        score_rows(type, queries, q, q_step, head_dim, keys, row, together, sums);
    }
    v_store(lanes, v_mul(v_sums(sums), v_set(scale)));
    SIMD_UNROLL
    for (int h = 0; h < queries; h++) {
        memcpy(scores + (size_t)h * score_step, lanes + h * rows, (size_t)rows * sizeof *scores);
    }
}

// Scores of a unit with a block of rows, `scores` [heads][PART_ROWS_MOST]. The rows of the next
// block are asked for one by one in between: many at once would wait for each other.
SIMD_INLINE void score_block(kz_type type, int heads, const head_unit *unit, size_t head_dim,
                             float scale, size_t head_bytes, const uint8_t *keys, const size_t *at,
                             const uint8_t *ahead, const size_t *ahead_at, float *scores) {
    const size_t rows = (size_t)TILE_ROWS(heads);
    for (size_t i = 0; i < BLOCK_ROWS; i += rows) {
        const uint8_t *tile[16];
        SIMD_UNROLL
        for (size_t r = 0; r < rows; r++) {
            tile[r] = keys + at[i + r];
            ask_head(ahead + ahead_at[i + r], head_bytes);
        }
        score_tile(type, heads, unit->q, head_dim, head_dim, scale, tile, PART_ROWS_MOST,
                   scores + i);
    }
    if (type == KZ_I8) {
        scale_block(heads, keys, at, scores);
    }
}

// Calls `function` with the unit's number of heads as a constant.
#define FOR_HEADS(unit, function, type, ...)      \
    do {                                          \
        switch ((unit)->heads) {                  \
        case 4:                                   \
            function(type, 4, unit, __VA_ARGS__); \
            break;                                \
        case 3:                                   \
            function(type, 3, unit, __VA_ARGS__); \
            break;                                \
        case 2:                                   \
            function(type, 2, unit, __VA_ARGS__); \
            break;                                \
        default:                                  \
            function(type, 1, unit, __VA_ARGS__); \
            break;                                \
        }                                         \
    } while (0)

// All scores of the units with a part, [unit][HEADS_AT_ONCE][PART_ROWS_MOST], block by block, so
// that the rows are read as they lie. The last block asks for the first values.
SIMD_INLINE void score_part(kz_type type, const kz_attention *a, const head_unit *units,
                            size_t count, const attention_part *part, float *scores) {
    const size_t columns = block_end(part->count);
    for (size_t i = 0; i < columns; i += BLOCK_ROWS) {
        const bool is_last = i + BLOCK_ROWS == columns;
        const uint8_t *ahead = is_last ? part->values : part->keys;
        for (size_t u = 0; u < count; u++) {
            const head_unit *unit = units + u;
            FOR_HEADS(unit, score_block, type, a->head_dim, a->scale, part->head_bytes,
                      part->keys + unit->offset, part->at + i, ahead + unit->offset,
                      part->at + (is_last ? 0 : i + BLOCK_ROWS), scores + u * UNIT_SCORES + i);
        }
    }
}

// Scores of one head become weights; those of rows that are not seen count nothing.
SIMD_INLINE kz_part_softmax soften_part(const attention_part *part, float *scores) {
    const size_t columns = block_end(part->count);
    for (size_t i = 0; i < part->hidden; i++) {
        scores[i] = -INFINITY;
    }
    for (size_t i = part->count; i < columns; i++) {
        scores[i] = -INFINITY;
    }
    return soften(scores, columns);
}

// sums[h] += weights[h] . values, for `heads` heads and `vectors` x 16 elements, over `rows` rows.
SIMD_INLINE void value_tile(kz_type type, int heads, int vectors, const float *weights,
                            const uint8_t *values, const size_t *at, size_t rows, size_t head_dim,
                            size_t column, float *sums) {
    vfloat held[SIMD_HEADS][SIMD_VECTORS];
    SIMD_UNROLL
    for (int h = 0; h < heads; h++) {
        SIMD_UNROLL
        for (int v = 0; v < vectors; v++) {
            held[h][v] = v_load(sums + (size_t)h * head_dim + column + 16 * (size_t)v);
        }
    }
    for (size_t i = 0; i < rows; i++) {
        SIMD_UNROLL
        for (int v = 0; v < vectors; v++) {
            if (v * VECTOR_BYTES(type) % 64 == 0) {
                simd_ask_far(values + at[i + BLOCK_ROWS] +
                             (column + 16 * (size_t)v) * (VECTOR_BYTES(type) / 16));
            }
            const vfloat value = kv_load(type, values + at[i], column + 16 * (size_t)v);
            SIMD_UNROLL
            for (int h = 0; h < heads; h++) {
                held[h][v] = v_fma(v_set(weights[h * PART_ROWS_MOST + (int)i]), value, held[h][v]);
            }
        }
    }
    SIMD_UNROLL
    for (int h = 0; h < heads; h++) {
        SIMD_UNROLL
        for (int v = 0; v < vectors; v++) {
            v_store(sums + (size_t)h * head_dim + column + 16 * (size_t)v, held[h][v]);
        }
    }
}

SIMD_INLINE void add_values(kz_type type, int heads, const float *weights, const uint8_t *values,
                            const size_t *at, size_t rows, size_t head_dim, float *sums) {
    size_t column = 0;
    for (; column + 16 * SIMD_VECTORS <= head_dim; column += 16 * SIMD_VECTORS) {
        value_tile(type, heads, SIMD_VECTORS, weights, values, at, rows, head_dim, column, sums);
    }
    for (; column < head_dim; column += 16) {
        value_tile(type, heads, 1, weights, values, at, rows, head_dim, column, sums);
    }
}

// Adds rows [row, row_end) of a block to a unit's sums. An i8 head's scales go to the weights.
SIMD_INLINE void add_block(kz_type type, int heads, const head_unit *unit, size_t head_dim,
                           const uint8_t *values, const size_t *at, size_t row, size_t row_end,
                           float *weights) {
    if (type == KZ_I8) {
        scale_block(heads, values, at, weights);
    }
    SIMD_UNROLL
    for (int h = 0; h < heads; h += SIMD_HEADS) {
        const int together = heads - h < SIMD_HEADS ? heads - h : SIMD_HEADS;
        add_values(type, together, weights + h * PART_ROWS_MOST + row, values, at + row,
                   row_end - row, head_dim, unit->sums + (size_t)h * head_dim);
    }
}

// The units' sums over a part. Rows that are not seen are left out, not multiplied by 0: 0 x
// infinity would show.
SIMD_INLINE void add_part(kz_type type, const kz_attention *a, const head_unit *units, size_t count,
                          const attention_part *part, float *scores) {
    for (size_t i = part->hidden / BLOCK_ROWS * BLOCK_ROWS; i < part->count; i += BLOCK_ROWS) {
        const size_t left = part->count - i;
        const size_t row = part->hidden > i ? part->hidden - i : 0;
        const size_t row_end = left < BLOCK_ROWS ? left : BLOCK_ROWS;
        for (size_t u = 0; u < count; u++) {
            const head_unit *unit = units + u;
            const uint8_t *values = part->values + unit->offset;
            FOR_HEADS(unit, add_block, type, a->head_dim, values, part->at + i, row, row_end,
                      scores + u * UNIT_SCORES + i);
        }
    }
}

// `count` units, at most UNITS_MOST, over a part.
SIMD_INLINE void attend_units(kz_type type, const kz_attention *a, const head_unit *units,
                              size_t count, const attention_part *part) {
    float scores[UNITS_MOST * UNIT_SCORES];
    score_part(type, a, units, count, part, scores);
    for (size_t u = 0; u < count; u++) {
        for (int h = 0; h < units[u].heads; h++) {
            units[u].softmax[h] =
                soften_part(part, scores + u * UNIT_SCORES + (size_t)h * PART_ROWS_MOST);
        }
        memset(units[u].sums, 0, (size_t)units[u].heads * a->head_dim * sizeof(float));
    }
    add_part(type, a, units, count, part, scores);
}

// A part of the query heads of some kv heads, as kernels.h lays it out.
SIMD_INLINE void attend_part(kz_type type, const kz_attention *a, size_t token, size_t part,
                             size_t kv_head, size_t kv_head_end, float *out_parts) {
    const size_t group = a->heads / a->kv_heads;
    const float *q = (const float *)((const char *)a->q + token * a->q_stride);
    head_unit units[UNITS_MOST];
    size_t count = 0;
    attention_part rows;
    open_part(a, token, part, &rows);
    for (; kv_head < kv_head_end; kv_head++, out_parts += kz_attention_part_floats(a)) {
        for (size_t h = 0; h < group; h += HEADS_AT_ONCE) {
            if (count == UNITS_MOST) {
                attend_units(type, a, units, count, &rows);
                count = 0;
            }
            units[count++] = (head_unit){
                .q = q + (kv_head * group + h) * a->head_dim,
                .sums = out_parts + h * a->head_dim,
                .softmax = (kz_part_softmax *)(void *)(out_parts + group * a->head_dim) + h,
                .offset = kv_head * a->head_bytes,
                .heads = group - h < HEADS_AT_ONCE ? (int)(group - h) : HEADS_AT_ONCE};
        }
    }
    attend_units(type, a, units, count, &rows);
}

// What runs here and not in the reference, which all kernels of a shape must agree on.
static bool is_fit(const kz_attention *a) {
    const size_t part_bytes = kz_attention_part_floats(a) * sizeof(float);
    return a->head_dim % 16 == 0 && 2 * part_bytes <= KZ_KERNEL_SCRATCH_BYTES;
}

// Part after part, joined as the join kernel does.
static void attend_tokens(kz_attention_part_kernel attend, const kz_attention *a, size_t kv_head,
                          size_t token, size_t token_end, void *scratch) {
    const size_t group = a->heads / a->kv_heads;
    const size_t d = a->head_dim;
    float *part = scratch;
    kz_part_softmax *softmax = (kz_part_softmax *)(void *)(part + group * d);
    kz_part_softmax *running = softmax + group;
    for (size_t t = token; t < token_end; t++) {
        float *out = (float *)((char *)a->out + t * a->out_stride) + kv_head * group * d;
        const kz_part_range parts = kz_attention_parts(a, t);
        memset(out, 0, group * d * sizeof *out);
        for (size_t h = 0; h < group; h++) {
            running[h] = (kz_part_softmax){-INFINITY, 0.0f};
        }
        for (size_t p = parts.first; p < parts.end; p++) {
            attend(a, t, p, kv_head, kv_head + 1, part);
            for (size_t h = 0; h < group; h++) {
                join_sums(out + h * d, part + h * d, d, join_softmax(&running[h], softmax[h]));
            }
        }
        for (size_t h = 0; h < group; h++) {
            divide(out + h * d, d, running[h].total);
        }
    }
}

void KZ_NAME(kz_attention_join)(const kz_attention *attention, size_t kv_head, size_t token,
                                size_t part_count, const float *parts) {
    const kz_attention *a = attention;
    const size_t group = a->heads / a->kv_heads;
    const size_t d = a->head_dim;
    float *out = (float *)((char *)a->out + token * a->out_stride) + kv_head * group * d;
    if (!is_fit(a)) {
        kz_attention_join__ref(a, kv_head, token, part_count, parts);
        return;
    }
    memset(out, 0, group * d * sizeof *out);
    for (size_t h = 0; h < group; h++) {
        kz_part_softmax running = {-INFINITY, 0.0f};
        for (size_t p = 0; p < part_count; p++) {
            const float *part = parts + p * a->kv_heads * kz_attention_part_floats(a);
            kz_part_softmax softmax;
            memcpy(&softmax, part + group * d + 2 * h, sizeof softmax);
            join_sums(out + h * d, part + h * d, d, join_softmax(&running, softmax));
        }
        divide(out + h * d, d, running.total);
    }
}

#define ATTENTION_KERNELS(name, type)                                                              \
    void KZ_NAME(kz_attention_part_##name)(const kz_attention *attention, size_t token,            \
                                           size_t part, size_t kv_head, size_t kv_head_end,        \
                                           float *out_parts) {                                     \
        if (is_fit(attention)) {                                                                   \
            attend_part(type, attention, token, part, kv_head, kv_head_end, out_parts);            \
        } else {                                                                                   \
            kz_attention_part_##name##__ref(attention, token, part, kv_head, kv_head_end,          \
                                            out_parts);                                            \
        }                                                                                          \
    }                                                                                              \
    void KZ_NAME(kz_attention_##name)(const kz_attention *attention, size_t kv_head, size_t token, \
                                      size_t token_end, void *scratch) {                           \
        if (is_fit(attention)) {                                                                   \
            attend_tokens(KZ_NAME(kz_attention_part_##name), attention, kv_head, token, token_end, \
                          scratch);                                                                \
        } else {                                                                                   \
            kz_attention_##name##__ref(attention, kv_head, token, token_end, scratch);             \
        }                                                                                          \
    }

ATTENTION_KERNELS(f32, KZ_F32)
ATTENTION_KERNELS(f16, KZ_F16)
ATTENTION_KERNELS(i8, KZ_I8)

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
