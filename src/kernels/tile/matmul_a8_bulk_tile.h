// matmul_a8_bulk_tile.h: KZ_A8 activations times quantised panels, many tokens at a time.
//
// in: matmul_tile.h and matmul_a8_types.h included before, vpdpbusd. out: matmul_bulk_a8_* kernels,
// bit-equal to those of matmul_a8_tile.h: the same operations on the same numbers. Two panels are
// unpacked to bytes and float scales, 512 k at a time, and stay in the nearest cache while all
// tokens pass. That pays for the K types (Q4_K some 5 % faster than unpacking in each tile, Q5_K
// 10, Q6_K 20); types with less to unpack lose by the larger loads there. An including file that
// defines SIMD_BULK_ALL gets kernels for all types with something to unpack.
#include <string.h>

#define BULK_BLOCKS 16
#define BULK_TOKENS_AT_ONCE 192 // a multiple of any tile

typedef struct a8_bulk_panel {
    uint8_t values[BULK_BLOCKS][8 * 64]; // 8 groups of four k of 16 rows
    float scales[BULK_BLOCKS][KZ_PANEL_ROWS];
    float minima[BULK_BLOCKS][KZ_PANEL_ROWS];
    float halves[BULK_BLOCKS][2][KZ_PANEL_ROWS];
} a8_bulk_panel;

typedef struct a8_bulk_chunk {
    a8_bulk_panel panels[SIMD_BULK_PANELS];
    float sums[SIMD_BULK_PANELS][BULK_TOKENS_AT_ONCE][KZ_PANEL_ROWS];
} a8_bulk_chunk;

// `b` is a block of the record, and `b % 2` a constant.
SIMD_INLINE void a8_bulk_open_block(kz_type type, const uint8_t *record, const a8_sixes *sixes,
                                    size_t b, size_t to, a8_bulk_panel *out) {
    const uint8_t *part = record + a8_scale_bytes(type) + b / 2 * a8_part_bytes(type);
    a8_store_scales(type, record, sixes, b, out->scales[to], out->minima[to]);
    if (a8_has_halves(type)) {
        v_store(out->halves[to][0], a8_half_scale(record, b, 0));
        v_store(out->halves[to][1], a8_half_scale(record, b, 1));
    }
    SIMD_UNROLL
    for (size_t group = 0; group < 8; group++) {
        i_store(out->values[to] + 64 * group, a8_weights(type, part, b % 2 * 8 + group));
    }
}

SIMD_INLINE void a8_bulk_open(kz_type type, const uint8_t *record, size_t blocks,
                              a8_bulk_panel *out) {
    for (size_t block = 0; block < blocks; block += a8_record_blocks(type)) {
        a8_sixes sixes;
        a8_open_record(type, record, &sixes);
        for (size_t b = 0; b < a8_record_blocks(type); b += 2) {
            a8_bulk_open_block(type, record, &sixes, b, block + b, out);
            a8_bulk_open_block(type, record, &sixes, b + 1, block + b + 1, out);
        }
        record += a8_record_bytes(type);
    }
}

// dots[p][t] of `count` groups from `group` of block `at` of the chunk; starts[t] begins them.
SIMD_INLINE void a8_bulk_dots(int panels, int tokens, const a8_bulk_panel *opened, size_t at,
                              const int8_t *const q[], const int32_t starts[], size_t group,
                              size_t count, vint dots[][SIMD_BULK_TOKENS]) {
    SIMD_UNROLL
    for (int i = 0; i < panels * tokens; i++) {
        dots[i / tokens][i % tokens] = i_set(starts[i % tokens]);
    }
    SIMD_UNROLL
    for (size_t g = group; g < group + count; g++) {
        vint weights[SIMD_BULK_PANELS];
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            weights[p] = i_load(opened[p].values[at] + 64 * g);
        }
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            const vfour x = i_four(q[t], g);
            SIMD_UNROLL
            for (int p = 0; p < panels; p++) {
                dots[p][t] = i_unsigned_step(dots[p][t], weights[p], x);
            }
        }
    }
}

// The integers of a block as floats, exactly.
SIMD_INLINE void a8_bulk_products(kz_type type, int panels, int tokens, const a8_bulk_panel *opened,
                                  size_t at, const kz_a8_row x[], size_t block,
                                  vfloat products[][SIMD_BULK_TOKENS]) {
    const size_t parts = a8_has_halves(type) ? 2 : 1;
    const int8_t *q[SIMD_BULK_TOKENS];
    int32_t starts[2][SIMD_BULK_TOKENS];
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        const int32_t first = a8_has_halves(type) ? x[t].half[block] : x[t].sum[block];
        q[t] = x[t].q + block * KZ_BLOCK;
        starts[0][t] = -a8_offset(type) * first;
        starts[1][t] = -a8_offset(type) * (x[t].sum[block] - first);
    }
    SIMD_UNROLL
    for (size_t i = 0; i < parts; i++) {
        vint dots[SIMD_BULK_PANELS][SIMD_BULK_TOKENS];
        a8_bulk_dots(panels, tokens, opened, at, q, starts[i], i * 4, 8 / parts, dots);
        SIMD_UNROLL
        for (int j = 0; j < panels * tokens; j++) {
            const int p = j / tokens;
            const vfloat dot = v_from_ints(dots[p][j % tokens]);
            vfloat *product = &products[p][j % tokens];
            *product = parts == 1 ? dot
                       : i == 0   ? v_mul(dot, v_load(opened[p].halves[at][0]))
                                  : v_fma(dot, v_load(opened[p].halves[at][1]), *product);
        }
    }
}

// sums[p][t] += block `at` of the chunk, which is block `block` of the row.
SIMD_INLINE void a8_bulk_block(kz_type type, int panels, int tokens, const a8_bulk_panel *opened,
                               size_t at, const kz_a8_row x[], size_t block,
                               vfloat sums[][SIMD_BULK_TOKENS]) {
    vfloat products[SIMD_BULK_PANELS][SIMD_BULK_TOKENS];
    a8_bulk_products(type, panels, tokens, opened, at, x, block, products);
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        const vfloat d = v_load(opened[p].scales[at]);
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            const float scale = x[t].scale[block];
            sums[p][t] = v_fma(products[p][t], v_mul(d, v_set(scale)), sums[p][t]);
            if (a8_has_minimum(type)) {
                const float offset = scale * (float)x[t].sum[block];
                sums[p][t] = v_fma(v_load(opened[p].minima[at]), v_set(offset), sums[p][t]);
            }
        }
    }
}

// Blocks [block, block + blocks) of tokens [token, token + tokens); `place` is the first one's in
// the chunk's sums.
SIMD_INLINE void a8_bulk_tile(kz_type type, int panels, int tokens, const kz_matmul *matmul,
                              size_t token, size_t place, size_t block, size_t blocks,
                              a8_bulk_chunk *chunk) {
    vfloat sums[SIMD_BULK_PANELS][SIMD_BULK_TOKENS];
    kz_a8_row x[SIMD_BULK_TOKENS];
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        const char *row = (const char *)matmul->x + (token + (size_t)t) * matmul->x_stride;
        x[t] = kz_a8_row_of(row, matmul->columns);
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            sums[p][t] = v_load(chunk->sums[p][place + (size_t)t]);
        }
    }
    for (size_t at = 0; at < blocks; at++) {
        a8_bulk_block(type, panels, tokens, chunk->panels, at, x, block + at, sums);
    }
    SIMD_UNROLL
    for (int i = 0; i < panels * tokens; i++) {
        v_store(chunk->sums[i / tokens][place + (size_t)(i % tokens)],
                sums[i / tokens][i % tokens]);
    }
}

// Blocks [block, block + blocks) of all tokens. Halves need a register more for each product.
SIMD_INLINE void a8_bulk_tokens(kz_type type, int panels, const kz_matmul *matmul, size_t token,
                                size_t tokens, size_t block, size_t blocks, a8_bulk_chunk *chunk) {
    const size_t most = a8_has_halves(type) ? SIMD_BULK_TOKENS * 2 / 3 : SIMD_BULK_TOKENS;
    size_t place = 0;
#define BULK_TILE(panels, tokens) \
    a8_bulk_tile(type, panels, tokens, matmul, token + place, place, block, blocks, chunk)
    TILE_TOKENS(BULK_TILE, panels, most, place, tokens);
#undef BULK_TILE
}

// One or two panels for up to BULK_TOKENS_AT_ONCE tokens.
SIMD_INLINE void a8_bulk_panels(kz_type type, const kz_matmul *matmul, size_t panel, size_t panels,
                                size_t token, size_t tokens, a8_bulk_chunk *chunk) {
    const size_t all = kz_a8_padded(matmul->columns) / KZ_BLOCK;
    const size_t record_bytes = a8_record_bytes(type);
    const size_t panel_bytes = all / a8_record_blocks(type) * record_bytes;
    const uint8_t *weights = (const uint8_t *)matmul->weights + panel * panel_bytes;
    memset(chunk->sums, 0, sizeof chunk->sums);
    for (size_t block = 0; block < all; block += BULK_BLOCKS) {
        const size_t blocks = all - block < BULK_BLOCKS ? all - block : BULK_BLOCKS;
        const uint8_t *record = weights + block / a8_record_blocks(type) * record_bytes;
        for (size_t p = 0; p < panels; p++) {
            a8_bulk_open(type, record + p * panel_bytes, blocks, &chunk->panels[p]);
        }
        if (panels == 1) {
            a8_bulk_tokens(type, 1, matmul, token, tokens, block, blocks, chunk);
        } else {
            a8_bulk_tokens(type, SIMD_BULK_PANELS, matmul, token, tokens, block, blocks, chunk);
        }
    }
    for (size_t t = 0; t < tokens; t++) {
        for (size_t p = 0; p < panels; p++) {
            finish_panel(matmul, panel + p, token + t, v_load(chunk->sums[p][t]));
        }
    }
}

SIMD_INLINE void a8_bulk_matmul(kz_type type, const kz_matmul *matmul, size_t panel,
                                size_t panel_end, size_t token, size_t token_end) {
    // Some 52 KB of stack: products are given no scratch.
    _Alignas(64) a8_bulk_chunk chunk;
    for (size_t t = token; t < token_end; t += BULK_TOKENS_AT_ONCE) {
        const size_t left = token_end - t;
        const size_t tokens = left < BULK_TOKENS_AT_ONCE ? left : BULK_TOKENS_AT_ONCE;
        for (size_t p = panel; p < panel_end; p += SIMD_BULK_PANELS) {
            a8_bulk_panels(type, matmul, p, panel_end - p < SIMD_BULK_PANELS ? 1 : SIMD_BULK_PANELS,
                           t, tokens, &chunk);
        }
    }
    simd_leave();
}

#define BULK_KERNEL(name, type)                                                                \
    void KZ_NAME(kz_matmul_bulk_a8_##name)(const kz_matmul *matmul, size_t panel,              \
                                           size_t panel_end, size_t token, size_t token_end) { \
        a8_bulk_matmul(type, matmul, panel, panel_end, token, token_end);                      \
    }

#ifdef SIMD_BULK_ALL
BULK_KERNEL(q4_0, KZ_Q4_0)
BULK_KERNEL(q4_1, KZ_Q4_1)
BULK_KERNEL(q5_0, KZ_Q5_0)
BULK_KERNEL(q5_1, KZ_Q5_1)
BULK_KERNEL(iq4_nl, KZ_IQ4_NL)
#endif
BULK_KERNEL(q4_k, KZ_Q4_K)
BULK_KERNEL(q5_k, KZ_Q5_K)
BULK_KERNEL(q6_k, KZ_Q6_K)
#undef BULK_KERNEL
