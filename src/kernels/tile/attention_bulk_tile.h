// attention_bulk_tile.h: attention of many tokens: over the cache and over an encoder's own tokens.
//
// in: attention_tile.h and matmul_f32_tile.h included before. out: the attention_bulk_* kernels and
// attention_full. Keys of a chunk of rows are transposed into panels [head_dim][16 rows], values
// packed into panels [row][16 elements], both as floats and once for all tokens and query heads;
// scores and sums are then f32_tile products, joined to the chunks before (the blocking of
// FlashAttention, Dao et al. 2022). What a token may not see gets the weight 0 (so a value that is
// not finite may show in earlier tokens of the same call).
// A score is one chain over the head, where attention_tile.h adds sixteen: prefill and decoding
// differ in rounding (6e-7 of the largest output), the price of sums without reductions. How the
// tokens of a call are cut changes no bit: chunks begin at multiples of their size, and a hidden
// row adds 0.
#define BULK_ROWS 256                    // rows of a chunk, at most
#define BULK_SCORE_STEP (BULK_ROWS + 16) // apart from each other's sets of the first cache
#define BULK_ROWS_A_TILE 2               // asked for ahead
#define BULK_HEAD_DIM 256                // larger heads run the order-exact kernel
#define BULK_STATES 4096                 // tokens x query heads whose softmax is kept at once
#define BULK_PACKED_FLOATS (32 * 1024)   // keys, and as many values, of a chunk

// Rows of the cache that the next chunk will need.
typedef struct rows_ahead {
    const uint8_t *keys, *values; // of the kv head in row 0
    size_t row_bytes, head_bytes;
    const int32_t *rows;
    size_t count;
} rows_ahead;

typedef struct bulk_scratch {
    float keys[BULK_PACKED_FLOATS];   // [rows / 16][head_dim][16]
    float values[BULK_PACKED_FLOATS]; // [head_dim / 16][rows][16]
    float scores[SIMD_F32_TOKENS][BULK_SCORE_STEP];
    // A tile's tokens side by side: where they lie, they compete for few sets of the first cache.
    float queries[SIMD_F32_TOKENS][BULK_HEAD_DIM + 16];
    float key_scales[BULK_ROWS], value_scales[BULK_ROWS]; // i8
    kz_part_softmax running[BULK_STATES];                 // [query head][token]
    rows_ahead ahead;
} bulk_scratch;

_Static_assert(sizeof(bulk_scratch) <= KZ_KERNEL_SCRATCH_BYTES, "the scratch is large enough");

// Rows of a chunk: a multiple of 16 that fits the packed arrays.
static size_t bulk_rows(size_t head_dim) {
    const size_t rows = BULK_PACKED_FLOATS / head_dim / 16 * 16;
    return rows < BULK_ROWS ? rows : BULK_ROWS;
}

// 16 rows of keys, transposed.
SIMD_INLINE void pack_keys(kz_type type, const uint8_t *const rows[16], size_t head_dim,
                           float *out_panel) {
    for (size_t d = 0; d < head_dim; d += 16) {
        vfloat square[16];
        SIMD_UNROLL
        for (int i = 0; i < 16; i++) {
            square[i] = kv_load(type, rows[i], d);
        }
        v_transpose(square);
        SIMD_UNROLL
        for (int i = 0; i < 16; i++) {
            v_store(out_panel + (d + (size_t)i) * 16, square[i]);
        }
    }
}

SIMD_INLINE void pack_values(kz_type type, const uint8_t *row, size_t head_dim, size_t panel_floats,
                             float *out_row) {
    for (size_t d = 0; d < head_dim; d += 16) {
        v_store(out_row + d / 16 * panel_floats, kv_load(type, row, d));
    }
}

// A cache's rows come from far away, and a head's lie apart, which processors do not foresee: each
// register tile asks for a few, so that none waits.
static void ask_ahead(rows_ahead *ahead) {
    for (int i = 0; i < BULK_ROWS_A_TILE && ahead->count > 0; i++) {
        const size_t at = (size_t)*ahead->rows * ahead->row_bytes;
        ask_head(ahead->keys + at, ahead->head_bytes);
        ask_head(ahead->values + at, ahead->head_bytes);
        ahead->rows++;
        ahead->count--;
    }
}

// One head's queries and outputs: what the blocks below work on. Token t sees the rows
// [end - window, end) where end = positions[t] + 1; all `everything` rows when positions is NULL.
typedef struct bulk_head {
    const char *q;
    size_t q_stride;
    char *out;
    size_t out_stride;
    const int32_t *positions;
    size_t window, everything;
    size_t head_dim;
    float scale;
    bool has_scales; // rows have them, in the scratch
} bulk_head;

// Rows of the chunk, counted from its first.
typedef struct column_range {
    size_t first, end;
} column_range;

static size_t seen_end(const bulk_head *head, size_t token) {
    return head->positions == NULL ? head->everything : (size_t)head->positions[token] + 1;
}

// An encoder's token sees everything, from row 0 on.
static size_t seen_first(const bulk_head *head, size_t token) {
    return head->positions == NULL ? 0 : first_seen(seen_end(head, token), head->window);
}

// scores[t][i] of the tile's queries with `panels` x 16 rows of the chunk, from column i on.
SIMD_INLINE void bulk_scores(int panels, int tokens, const bulk_head *head, size_t column,
                             bulk_scratch *scratch) {
    const size_t panel_floats = head->head_dim * 16;
    vfloat sums[SIMD_F32_PANELS][SIMD_F32_TOKENS];
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            sums[p][t] = v_zero();
        }
    }
    f32_tile(KZ_F32, panels, tokens, scratch->queries, sizeof scratch->queries[0],
             (const char *)(scratch->keys + column / 16 * panel_floats),
             panel_floats * sizeof(float), head->head_dim, sums);
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        const size_t at = column + 16 * (size_t)p;
        vfloat scale = v_set(head->scale);
        if (head->has_scales) {
            scale = v_mul(scale, v_load(scratch->key_scales + at));
        }
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            v_store(scratch->scores[t] + at, v_mul(sums[p][t], scale));
        }
    }
}

// out[t] = out[t] * factors[t].before + factors[t].part * (scores[t] . values), for `panels` x 16
// elements.
SIMD_INLINE void bulk_sums(int panels, int tokens, const bulk_head *head, size_t token,
                           column_range columns, size_t at, const join_factors *factors,
                           bulk_scratch *scratch) {
    const size_t panel_floats = bulk_rows(head->head_dim) * 16;
    const float *values = scratch->values + at / 16 * panel_floats + columns.first * 16;
    vfloat sums[SIMD_F32_PANELS][SIMD_F32_TOKENS];
    float *out = (float *)(head->out + token * head->out_stride) + at;
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            sums[p][t] = v_zero();
        }
    }
    f32_tile(KZ_F32, panels, tokens, scratch->scores[0] + columns.first, sizeof scratch->scores[0],
             (const char *)values, panel_floats * sizeof(float), columns.end - columns.first, sums);
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        // The output rows themselves hold the running sums: no second copy of [tokens][head_dim].
        float *to = (float *)((char *)out + (size_t)t * head->out_stride);
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            const vfloat before = v_mul(v_load(to + 16 * p), v_set(factors[t].before));
            v_store(to + 16 * p, v_fma(sums[p][t], v_set(factors[t].part), before));
        }
    }
}

// -inf for those of the columns, of the chunk from `row` on, that the token does not see.
static void hide(const bulk_head *head, size_t token, size_t row, column_range columns,
                 float *scores) {
    const size_t first = seen_first(head, token);
    const size_t end = seen_end(head, token);
    for (size_t i = columns.first; i < columns.end && row + i < first; i++) {
        scores[i] = -INFINITY;
    }
    for (size_t i = end > row + columns.first ? end - row : columns.first; i < columns.end; i++) {
        scores[i] = -INFINITY;
    }
}

// Of the chunk [row, row + count), what any of `tokens` tokens sees; none: first >= end. It begins
// at a whole vector.
static column_range seen_columns(const bulk_head *head, size_t token, size_t tokens, size_t row,
                                 size_t count) {
    size_t first = SIZE_MAX;
    size_t end = 0;
    for (size_t t = token; t < token + tokens; t++) {
        const size_t token_first = seen_first(head, t);
        const size_t token_end = seen_end(head, t);
        first = token_first < first ? token_first : first;
        end = token_end > end ? token_end : end;
    }
    return (column_range){first > row ? (first - row) / 16 * 16 : 0, end <= row          ? 0
                                                                     : end - row < count ? end - row
                                                                                         : count};
}

// Scores of whole vectors of columns: what `whole` has beyond the chunk is of copies of its last
// row.
SIMD_INLINE void score_tokens(int tokens, const bulk_head *head, size_t token, column_range whole,
                              bulk_scratch *scratch) {
    for (int t = 0; t < tokens; t++) {
        memcpy(scratch->queries[t], head->q + (token + (size_t)t) * head->q_stride,
               head->head_dim * sizeof(float));
    }
    size_t i = whole.first;
    for (; i + 16 * SIMD_F32_PANELS <= whole.end; i += 16 * SIMD_F32_PANELS) {
        ask_ahead(&scratch->ahead);
        bulk_scores(SIMD_F32_PANELS, tokens, head, i, scratch);
    }
    for (; i < whole.end; i += 16) {
        bulk_scores(1, tokens, head, i, scratch);
    }
}

// `tokens` tokens from `token` with rows [row, row + count); `running` is the first token's.
SIMD_INLINE void bulk_tile(int tokens, const bulk_head *head, size_t token, size_t row,
                           size_t count, kz_part_softmax *running, bulk_scratch *scratch) {
    const column_range seen = seen_columns(head, token, (size_t)tokens, row, count);
    if (seen.first >= seen.end) {
        return;
    }
    const column_range whole = {seen.first, (seen.end + 15) / 16 * 16};
    const float *value_scales = head->has_scales ? scratch->value_scales + seen.first : NULL;
    float largest[SIMD_F32_TOKENS];
    join_factors factors[SIMD_F32_TOKENS];
    score_tokens(tokens, head, token, whole, scratch);
    // Maxima of all tokens first: none waits for its own.
    for (int t = 0; t < tokens; t++) {
        hide(head, token + (size_t)t, row, whole, scratch->scores[t]);
        largest[t] = largest_score(scratch->scores[t] + seen.first, whole.end - seen.first);
    }
    for (int t = 0; t < tokens; t++) {
        factors[t] =
            join_softmax(&running[t], soften_from(largest[t], scratch->scores[t] + seen.first,
                                                  whole.end - seen.first, value_scales));
    }
    size_t at = 0;
    for (; at + 16 * SIMD_F32_PANELS <= head->head_dim; at += 16 * SIMD_F32_PANELS) {
        ask_ahead(&scratch->ahead);
        bulk_sums(SIMD_F32_PANELS, tokens, head, token, seen, at, factors, scratch);
    }
    for (; at < head->head_dim; at += 16) {
        bulk_sums(1, tokens, head, token, seen, at, factors, scratch);
    }
}

// All tokens of a head with the packed chunk.
static void bulk_chunk(const bulk_head *head, size_t token, size_t token_end, size_t row,
                       size_t count, kz_part_softmax *running, bulk_scratch *scratch) {
    const size_t begin = token;
#define BULK_TILE(panels, tokens) \
    bulk_tile(tokens, head, token, row, count, running + (token - begin), scratch)
    TILE_TOKENS(BULK_TILE, 1, SIMD_F32_TOKENS, token, token_end);
#undef BULK_TILE
}

// Running sums begin at zero, in the output's own memory.
static void bulk_begin(const bulk_head *head, size_t token, size_t token_end,
                       kz_part_softmax *out_running) {
    for (size_t t = token; t < token_end; t++) {
        memset(head->out + t * head->out_stride, 0, head->head_dim * sizeof(float));
        out_running[t - token] = (kz_part_softmax){-INFINITY, 0.0f};
    }
}

static void bulk_end(const bulk_head *head, size_t token, size_t token_end,
                     const kz_part_softmax *running) {
    for (size_t t = token; t < token_end; t++) {
        divide((float *)(head->out + t * head->out_stride), head->head_dim,
               running[t - token].total);
    }
}

static bulk_head cache_head(kz_type type, const kz_attention *a, size_t head) {
    const size_t offset = head * a->head_dim * sizeof(float);
    return (bulk_head){(const char *)a->q + offset,
                       a->q_stride,
                       (char *)a->out + offset,
                       a->out_stride,
                       a->positions,
                       a->window,
                       0,
                       a->head_dim,
                       a->scale,
                       type == KZ_I8};
}

// Packs `count` rows of the cache; keys are filled up to 16 with the last row, which is then
// hidden.
SIMD_INLINE void pack_cache(kz_type type, const kz_attention *a, size_t kv_head,
                            const int32_t *rows, size_t count, bulk_scratch *out_scratch) {
    const size_t panel_floats = bulk_rows(a->head_dim) * 16;
    for (size_t i = 0; i < count; i += 16) {
        const uint8_t *keys[16];
        for (size_t j = 0; j < 16; j++) {
            const size_t row = (size_t)rows[i + j < count ? i + j : count - 1];
            const size_t at = row * a->row_bytes + kv_head * a->head_bytes;
            keys[j] = a->keys + at;
            if (type == KZ_I8) {
                memcpy(&out_scratch->key_scales[i + j], a->keys + at, sizeof(float));
                memcpy(&out_scratch->value_scales[i + j], a->values + at, sizeof(float));
            }
            if (i + j < count) {
                pack_values(type, a->values + at, a->head_dim, panel_floats,
                            out_scratch->values + (i + j) * 16);
            }
        }
        pack_keys(type, keys, a->head_dim, out_scratch->keys + i * a->head_dim);
    }
}

// Tokens [token, token_end) of one sequence, at most BULK_STATES / group of them.
SIMD_INLINE void attend_run(kz_type type, const kz_attention *a, size_t kv_head, size_t token,
                            size_t token_end, bulk_scratch *scratch) {
    const size_t group = a->heads / a->kv_heads;
    const size_t tokens = token_end - token;
    const int32_t *rows = a->row_table + (size_t)a->sequences[token] * a->row_table_columns;
    size_t first = SIZE_MAX;
    size_t end = 0;
    for (size_t t = token; t < token_end; t++) {
        const size_t token_rows = (size_t)a->positions[t] + 1;
        const size_t token_first = first_seen(token_rows, a->window);
        end = token_rows > end ? token_rows : end;
        first = token_first < first ? token_first : first;
    }
    for (size_t h = 0; h < group; h++) {
        const bulk_head head = cache_head(type, a, kv_head * group + h);
        bulk_begin(&head, token, token_end, scratch->running + h * tokens);
    }
    const size_t step = bulk_rows(a->head_dim);
    for (size_t row = first / step * step; row < end; row += step) {
        const size_t count = end - row < step ? end - row : step;
        const size_t left = end - row - count;
        pack_cache(type, a, kv_head, rows + row, count, scratch);
        scratch->ahead = (rows_ahead){a->keys + kv_head * a->head_bytes,
                                      a->values + kv_head * a->head_bytes,
                                      a->row_bytes,
                                      a->head_bytes,
                                      rows + row + count,
                                      left < step ? left : step};
        for (size_t h = 0; h < group; h++) {
            const bulk_head head = cache_head(type, a, kv_head * group + h);
            bulk_chunk(&head, token, token_end, row, count, scratch->running + h * tokens, scratch);
        }
    }
    for (size_t h = 0; h < group; h++) {
        const bulk_head head = cache_head(type, a, kv_head * group + h);
        bulk_end(&head, token, token_end, scratch->running + h * tokens);
    }
}

// Runs of one sequence go to attend_run, however short: a token's sums may not depend on the range.
SIMD_INLINE void attend_bulk(kz_type type, kz_attention_kernel exact, const kz_attention *a,
                             size_t kv_head, size_t token, size_t token_end, void *scratch) {
    const size_t group = a->heads / a->kv_heads;
    if (!is_fit(a) || a->head_dim > BULK_HEAD_DIM || group > 64) {
        exact(a, kv_head, token, token_end, scratch);
        return;
    }
    // scratch->running holds BULK_STATES, one for each token and query head; groups of up to 64
    // heads leave room for 64 tokens at least.
    const size_t most = BULK_STATES / group;
    while (token < token_end) {
        size_t end = token + 1;
        while (end < token_end && end - token < most && a->sequences[end] == a->sequences[token]) {
            end++;
        }
        attend_run(type, a, kv_head, token, end, scratch);
        token = end;
    }
}

#define BULK_KERNEL(name, type)                                                               \
    void KZ_NAME(kz_attention_bulk_##name)(const kz_attention *attention, size_t kv_head,     \
                                           size_t token, size_t token_end, void *scratch) {   \
        attend_bulk(type, KZ_NAME(kz_attention_##name), attention, kv_head, token, token_end, \
                    scratch);                                                                 \
    }

BULK_KERNEL(f32, KZ_F32)
BULK_KERNEL(f16, KZ_F16)
BULK_KERNEL(i8, KZ_I8)

static void pack_tokens(const kz_attention_full *a, size_t head, size_t row, size_t count,
                        bulk_scratch *out_scratch) {
    const size_t offset = head * a->head_dim * sizeof(float);
    const size_t panel_floats = bulk_rows(a->head_dim) * 16;
    for (size_t i = 0; i < count; i += 16) {
        const uint8_t *keys[16];
        for (size_t j = 0; j < 16; j++) {
            // Panels have 16 rows: the last row stands in for those that are missing, which stay
            // hidden.
            const size_t at = row + (i + j < count ? i + j : count - 1);
            keys[j] = (const uint8_t *)a->k + at * a->k_stride + offset;
            if (i + j < count) {
                pack_values(KZ_F32, (const uint8_t *)a->v + at * a->v_stride + offset, a->head_dim,
                            panel_floats, out_scratch->values + (i + j) * 16);
            }
        }
        pack_keys(KZ_F32, keys, a->head_dim, out_scratch->keys + i * a->head_dim);
    }
}

void KZ_NAME(kz_attention_full)(const kz_attention_full *attention, size_t head, size_t token,
                                size_t token_end, void *scratch) {
    const kz_attention_full *a = attention;
    const size_t offset = head * a->head_dim * sizeof(float);
    bulk_scratch *bulk = scratch;
    if (a->head_dim % 16 != 0 || a->head_dim > BULK_HEAD_DIM) {
        kz_attention_full__ref(a, head, token, token_end, scratch);
        return;
    }
    const bulk_head one = {(const char *)a->q + offset,
                           a->q_stride,
                           (char *)a->out + offset,
                           a->out_stride,
                           NULL,
                           0,
                           a->tokens,
                           a->head_dim,
                           a->scale,
                           false};
    const size_t step = bulk_rows(a->head_dim);
    bulk->ahead.count = 0; // rows of all heads are but activations, near by
    while (token < token_end) {
        const size_t left = token_end - token;
        // One head at a time, so every state is a token's.
        const size_t end = token + (left < BULK_STATES ? left : BULK_STATES);
        bulk_begin(&one, token, end, bulk->running);
        for (size_t row = 0; row < a->tokens; row += step) {
            const size_t count = a->tokens - row < step ? a->tokens - row : step;
            pack_tokens(a, head, row, count, bulk);
            bulk_chunk(&one, token, end, row, count, bulk->running, bulk);
        }
        bulk_end(&one, token, end, bulk->running);
        token = end;
    }
}
