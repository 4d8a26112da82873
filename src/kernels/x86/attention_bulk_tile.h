// attention_bulk_tile.h: attention of many tokens: over the cache and over an encoder's own tokens.
//
// in: attention_tile.h and matmul_f32_tile.h included before. out: the attention_bulk_* kernels and
// attention_full. Values of a chunk of rows are packed into panels [row][16 elements], as floats;
// sums are then f32_tile products of the part, joined to the parts before it (the blocking of
// FlashAttention, Dao et al. 2022). Consecutive tokens of one sequence share the chunk; what a
// token may not see gets the weight 0 (so a value that is not finite may show in earlier tokens of
// the same call).
// Over the cache the sums are those of attention_tile.h to the last bit: quantised activations
// magnify any difference between prefill and decoding, layer by layer. That costs a reduction for
// each 16 scores. The encoder has nothing to agree with: its keys are transposed into panels
// [head_dim][16 rows] and its scores are f32_tile products too.
#define BULK_ROWS 256                    // rows of a chunk, at most
#define BULK_SCORE_ROWS 32               // rows whose keys stay in the first cache for a tile
#define BULK_SCORE_STEP (BULK_ROWS + 16) // apart from each other's sets of the first cache
#define BULK_HEAD_DIM 256                // larger heads run the order-exact kernel
#define BULK_STATES 4096                 // tokens x query heads whose softmax is kept at once
#define BULK_PACKED_FLOATS (32 * 1024)   // keys, and as many values, of a chunk

_Static_assert(BULK_PACKED_FLOATS >= KZ_PART_ROWS * 128, "a part is packed at once");

typedef struct bulk_scratch {
    float keys[BULK_PACKED_FLOATS];   // [rows][head_dim]; an encoder's: [rows / 16][head_dim][16]
    float values[BULK_PACKED_FLOATS]; // [head_dim / 16][rows][16]
    float scores[SIMD_F32_TOKENS][BULK_SCORE_STEP];
    // A tile's tokens side by side: where they lie, they compete for few sets of the first cache.
    float queries[SIMD_F32_TOKENS][BULK_HEAD_DIM];
    float key_scales[BULK_ROWS], value_scales[BULK_ROWS]; // i8
    kz_part_softmax running[BULK_STATES];                 // [query head][token]
} bulk_scratch;

_Static_assert(sizeof(bulk_scratch) <= KZ_KERNEL_SCRATCH_BYTES, "the scratch is large enough");

// Rows of a chunk: a multiple of 16 that fits the packed arrays.
static size_t bulk_rows(size_t head_dim) {
    const size_t rows = BULK_PACKED_FLOATS / head_dim / 16 * 16;
    return rows < BULK_ROWS ? rows : BULK_ROWS;
}

// 16 rows of keys, transposed.
// The encoder's keys only: see the opening.
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

static size_t seen_end(const bulk_head *head, size_t token) {
    return head->positions == NULL ? head->everything : (size_t)head->positions[token] + 1;
}

// An encoder's token sees everything, from row 0 on.
static size_t seen_first(const bulk_head *head, size_t token) {
    return head->positions == NULL ? 0 : first_seen(seen_end(head, token), head->window);
}

// scores[t][0..columns) for rows of the chunk; columns is a multiple of 16.
SIMD_INLINE void bulk_scores(int panels, int tokens, const bulk_head *head, size_t token,
                             const float *keys, float (*scores)[BULK_SCORE_STEP]) {
    const size_t panel_bytes = head->head_dim * 16 * sizeof(float);
    vfloat sums[SIMD_F32_PANELS][SIMD_F32_TOKENS];
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            sums[p][t] = v_zero();
        }
    }
    f32_tile(KZ_F32, panels, tokens, head->q + token * head->q_stride, head->q_stride,
             (const char *)keys, panel_bytes, head->head_dim, sums);
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            v_store(scores[t] + 16 * p, v_mul(sums[p][t], v_set(head->scale)));
        }
    }
}

// out[t] = out[t] * factors[t].before + factors[t].part * (scores[t] . values), for `panels` x 16
// elements.
SIMD_INLINE void bulk_sums(int panels, int tokens, const bulk_head *head, size_t token,
                           const float *values, size_t panel_floats, size_t columns, size_t at,
                           const join_factors *factors, float (*scores)[BULK_SCORE_STEP]) {
    vfloat sums[SIMD_F32_PANELS][SIMD_F32_TOKENS];
    float *out = (float *)(head->out + token * head->out_stride) + at;
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            sums[p][t] = v_zero();
        }
    }
    f32_tile(KZ_F32, panels, tokens, scores, sizeof scores[0],
             (const char *)(values + at / 16 * panel_floats), panel_floats * sizeof(float), columns,
             sums);
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

// `count` queries [count][head_dim] with packed rows [row, row_end), summed as attention_tile.h
// does.
SIMD_INLINE void exact_scores(int count, const bulk_head *head, const float *queries, size_t row,
                              size_t row_end, const float *keys, float *scores) {
    const size_t rows = (size_t)(16 / count);
    for (size_t i = row; i < row_end; i += rows) {
        const uint8_t *row_keys[16];
        SIMD_UNROLL
        for (size_t r = 0; r < rows; r++) {
            row_keys[r] = (const uint8_t *)(keys + (i + r) * head->head_dim);
        }
        score_tile(KZ_F32, count, queries, head->head_dim, head->head_dim, head->scale, row_keys,
                   BULK_SCORE_STEP, scores + i);
    }
}

// The tokens of a tile, four, two and one at a time.
static void score_tokens(int tokens, const bulk_head *head, size_t token, size_t columns,
                         bulk_scratch *scratch) {
    float *queries = scratch->queries[0]; // [tokens][head_dim]
    for (int t = 0; t < tokens; t++) {
        memcpy(queries + (size_t)t * head->head_dim, head->q + (token + (size_t)t) * head->q_stride,
               head->head_dim * sizeof(float));
    }
    for (size_t row = 0; row < columns; row += BULK_SCORE_ROWS) {
        const size_t row_end = row + BULK_SCORE_ROWS < columns ? row + BULK_SCORE_ROWS : columns;
        int t = 0;
        for (; t + 4 <= tokens; t += 4) {
            exact_scores(4, head, queries + (size_t)t * head->head_dim, row, row_end, scratch->keys,
                         scratch->scores[t]);
        }
        for (; t + 2 <= tokens; t += 2) {
            exact_scores(2, head, queries + (size_t)t * head->head_dim, row, row_end, scratch->keys,
                         scratch->scores[t]);
        }
        for (; t < tokens; t++) {
            exact_scores(1, head, queries + (size_t)t * head->head_dim, row, row_end, scratch->keys,
                         scratch->scores[t]);
        }
    }
}

// -inf for the rows of the chunk [row, row + columns) that the token does not see.
static void hide(const bulk_head *head, size_t token, size_t row, size_t columns, float *scores) {
    const size_t first = seen_first(head, token);
    const size_t end = seen_end(head, token);
    for (size_t i = 0; i < columns && row + i < first; i++) {
        scores[i] = -INFINITY;
    }
    for (size_t i = end > row ? end - row : 0; i < columns; i++) {
        scores[i] = -INFINITY;
    }
}

// `tokens` tokens from `token` with rows [row, row + count); `running` is the first token's.
SIMD_INLINE void bulk_tile(int tokens, const bulk_head *head, size_t token, size_t row,
                           size_t count, kz_part_softmax *running, bulk_scratch *scratch) {
    // What any of the tile's tokens sees. What one of them alone does not see is hidden from it
    // below.
    size_t first = SIZE_MAX;
    size_t end = 0;
    for (int t = 0; t < tokens; t++) {
        const size_t token_first = seen_first(head, token + (size_t)t);
        const size_t token_end = seen_end(head, token + (size_t)t);
        first = token_first < first ? token_first : first;
        end = token_end > end ? token_end : end;
    }
    if (first >= row + count || end <= row) {
        return;
    }
    const size_t used = end - row < count ? end - row : count;
    // Scores are made in groups of 16 rows. Those beyond `used` are of copies of the last row or
    // of later rows: hidden from every token, and left out of the value sums.
    const size_t columns = (used + 15) / 16 * 16;
    const size_t key_floats = head->head_dim * 16;
    const size_t panel_floats = bulk_rows(head->head_dim) * 16;
    const bool has_scales = head->has_scales;
    join_factors factors[SIMD_F32_TOKENS];
    size_t i = 0;
    if (head->positions != NULL) {
        score_tokens(tokens, head, token, columns, scratch);
        i = columns;
    }
    for (; i + 16 * SIMD_F32_PANELS <= columns; i += 16 * SIMD_F32_PANELS) {
        // Scores of a token lie BULK_SCORE_STEP apart, so a pointer to column i is an array of such
        // rows again.
        bulk_scores(SIMD_F32_PANELS, tokens, head, token, scratch->keys + i / 16 * key_floats,
                    (float(*)[BULK_SCORE_STEP])(scratch->scores[0] + i));
    }
    for (; i < columns; i += 16) {
        bulk_scores(1, tokens, head, token, scratch->keys + i / 16 * key_floats,
                    (float(*)[BULK_SCORE_STEP])(scratch->scores[0] + i));
    }
    for (int t = 0; t < tokens; t++) {
        if (has_scales) {
            scale_scores(scratch->scores[t], columns, scratch->key_scales);
        }
        hide(head, token + (size_t)t, row, columns, scratch->scores[t]);
        factors[t] = join_softmax(&running[t], soften(scratch->scores[t], columns,
                                                      has_scales ? scratch->value_scales : NULL));
    }
    for (i = 0; i + 16 * SIMD_F32_PANELS <= head->head_dim; i += 16 * SIMD_F32_PANELS) {
        bulk_sums(SIMD_F32_PANELS, tokens, head, token, scratch->values, panel_floats, used, i,
                  factors, scratch->scores);
    }
    for (; i < head->head_dim; i += 16) {
        bulk_sums(1, tokens, head, token, scratch->values, panel_floats, used, i, factors,
                  scratch->scores);
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

// Packs `count` rows of the cache, filled up to 16 with the last row, which is then hidden.
SIMD_INLINE void pack_cache(kz_type type, const kz_attention *a, size_t kv_head,
                            const int32_t *rows, size_t count, bulk_scratch *out_scratch) {
    const size_t panel_floats = bulk_rows(a->head_dim) * 16;
    for (size_t i = 0; i < (count + 15) / 16 * 16; i++) {
        const size_t row = (size_t)rows[i < count ? i : count - 1];
        const size_t at = row * a->row_bytes + kv_head * a->head_bytes;
        if (type == KZ_I8) {
            memcpy(&out_scratch->key_scales[i], a->keys + at, sizeof(float));
            memcpy(&out_scratch->value_scales[i], a->values + at, sizeof(float));
        }
        for (size_t d = 0; d < a->head_dim; d += 16) {
            // Converted to floats once for all tokens and all query heads of the run.
            v_store(out_scratch->keys + i * a->head_dim + d, kv_load(type, a->keys + at, d));
        }
        if (i < count) {
            pack_values(type, a->values + at, a->head_dim, panel_floats,
                        out_scratch->values + i * 16);
        }
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
    // The parts that decoding meets: maxima and sums are then equal to the bit.
    const size_t step = kz_attention_part_rows(a->head_dim);
    for (size_t row = first / step * step; row < end; row += step) {
        const size_t count = end - row < step ? end - row : step;
        pack_cache(type, a, kv_head, rows + row, count, scratch);
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

// Runs of one sequence go to attend_run; short ones gain nothing from packing.
SIMD_INLINE void attend_bulk(kz_type type, kz_attention_kernel exact, const kz_attention *a,
                             size_t kv_head, size_t token, size_t token_end, void *scratch) {
    const size_t group = a->heads / a->kv_heads;
    const bool is_packed = is_fit(a) && a->head_dim <= BULK_HEAD_DIM && group <= 64;
    // scratch->running holds BULK_STATES, one for each token and query head; groups of up to 64
    // heads leave room for 64 tokens at least.
    const size_t most = is_packed ? BULK_STATES / group : SIZE_MAX;
    while (token < token_end) {
        size_t end = token + 1;
        while (end < token_end && end - token < most && a->sequences[end] == a->sequences[token]) {
            end++;
        }
        if (is_packed && end - token >= 4) {
            attend_run(type, a, kv_head, token, end, scratch);
        } else {
            exact(a, kv_head, token, end, scratch);
        }
        token = end;
    }
}

void KZ_NAME(kz_attention_bulk_f32)(const kz_attention *attention, size_t kv_head, size_t token,
                                    size_t token_end, void *scratch) {
    attend_bulk(KZ_F32, KZ_NAME(kz_attention_f32), attention, kv_head, token, token_end, scratch);
}

void KZ_NAME(kz_attention_bulk_f16)(const kz_attention *attention, size_t kv_head, size_t token,
                                    size_t token_end, void *scratch) {
    attend_bulk(KZ_F16, KZ_NAME(kz_attention_f16), attention, kv_head, token, token_end, scratch);
}

void KZ_NAME(kz_attention_bulk_i8)(const kz_attention *attention, size_t kv_head, size_t token,
                                   size_t token_end, void *scratch) {
    attend_bulk(KZ_I8, KZ_NAME(kz_attention_i8), attention, kv_head, token, token_end, scratch);
}

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
