// amx.c: bulk products of KZ_A8 activations with Q8_0, Q4_0 and Q4_1 panels on AMX-INT8.
//
// in: kz_matmul, panels, tokens. out: the rows' outputs, equal to the last bit to those of
// matmul_a8_tile.h: the tiles only do the exact integer part, 16 tokens x 16 rows x 32 k at a time,
// and the scaling is the same two operations. Tokens that do not fill a tile run the AVX512-VNNI
// kernel for that reason. A block's product is stored and scaled while the next one is multiplied:
// scaling, not multiplying, is what bounds the speed. Tiles are configured at the start of a call
// and released at its end, so no thread keeps them between calls.
#define KZ_ISA amx
#include <string.h>

#include "kernels/x86/simd_avx512.h"

#include "kernels/x86/math_tile.h"

#include "kernels/rows.h"
#include "kernels/x86/matmul_tile.h"

#define AMX_TOKENS 16
// A token's scales of a chunk are one vector, so that transposing those of a tile is square.
#define CHUNK_BLOCKS 16  // k in a chunk: 512
#define GROUP_PANELS 4   // panels whose chunk is unpacked together
#define GROUP_TOKENS 128 // tokens that share an unpacked chunk
#define BLOCK_BYTES 512  // 16 rows x 32 k as bytes: half of a Q8_0 record's values

// The compiler does not know that tile instructions touch memory: without this it moves stores and
// loads across them.
#define TILE_FENCE() __asm__ volatile("" ::: "memory")

// The 64 bytes that ldtilecfg reads (Intel's Software Developer's Manual, "LDTILECFG").
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

// Tiles 0 and 3: sums; 1 and 4: 16 tokens x 32 activations; 2 and 5: 8 groups of 16 rows x 4
// weights.
static void configure_tiles(void) {
    static const uint8_t rows[] = {16, 16, 8, 16, 16, 8};
    static const uint8_t row_bytes[] = {64, 32, 64, 64, 32, 64};
    tile_config config;
    memset(&config, 0, sizeof config);
    config.palette = 1;
    for (size_t i = 0; i < sizeof rows; i++) {
        config.rows[i] = rows[i];
        config.row_bytes[i] = row_bytes[i];
    }
    TILE_FENCE();
    _tile_loadconfig(&config);
}

// What all panels of a group need of a chunk.
typedef struct amx_chunk {
    int8_t values[GROUP_PANELS][CHUNK_BLOCKS * BLOCK_BYTES]; // unpacked nibbles (4-bit types only)
    float sums[GROUP_PANELS][GROUP_TOKENS][KZ_PANEL_ROWS];
    int32_t products[2][AMX_TOKENS][KZ_PANEL_ROWS];
    float scales[CHUNK_BLOCKS][AMX_TOKENS];
    float offsets[CHUNK_BLOCKS][AMX_TOKENS]; // scale * sum of the block (Q4_1)
} amx_chunk;

// Where the chunk's blocks of one panel are: values `stride` apart by record of two blocks.
typedef struct amx_panel {
    const uint8_t *records; // first record of the chunk
    size_t record_bytes;
    const int8_t *values;
    size_t value_stride;
} amx_panel;

// Nibbles to signed bytes in the order of a Q8_0 record; Q4_0's become q - 8.
SIMD_INLINE void unpack_record(kz_type type, const uint8_t *nibbles, int8_t *out_values) {
    const vint offset = _mm512_set1_epi8(type == KZ_Q4_0 ? 8 : 0);
    for (size_t group = 0; group < 8; group++) {
        const vint both = i_load(nibbles + 64 * group);
        _mm512_store_si512(out_values + 128 * group, _mm512_sub_epi8(i_low_nibbles(both), offset));
        _mm512_store_si512(out_values + 128 * group + 64,
                           _mm512_sub_epi8(i_high_nibbles(both), offset));
    }
}

SIMD_INLINE amx_panel open_panel(kz_type type, const uint8_t *records, size_t blocks,
                                 int8_t *unpacked) {
    // A Q8_0 record's groups are a B tile as they lie (format/layout.h): nothing is unpacked.
    if (type == KZ_Q8_0) {
        return (amx_panel){records, KZ_RECORD_Q8_0, (const int8_t *)records + 64, KZ_RECORD_Q8_0};
    }
    const size_t record_bytes = type == KZ_Q4_0 ? KZ_RECORD_Q4_0 : KZ_RECORD_Q4_1;
    const size_t scale_bytes = type == KZ_Q4_0 ? 64 : 128;
    for (size_t i = 0; i < blocks / 2; i++) {
        unpack_record(type, records + i * record_bytes + scale_bytes,
                      unpacked + i * 2 * BLOCK_BYTES);
    }
    return (amx_panel){records, record_bytes, unpacked, 2 * BLOCK_BYTES};
}

// The chunk's activation scales of 16 tokens, [block][token].
SIMD_INLINE void gather_scales(kz_type type, const kz_matmul *matmul, size_t token, size_t block,
                               size_t blocks, amx_chunk *out_chunk) {
    vfloat scales[16];
    vfloat sums[16];
    SIMD_UNROLL
    for (size_t t = 0; t < AMX_TOKENS; t++) {
        const char *bytes = (const char *)matmul->x + (token + t) * matmul->x_stride;
        const kz_a8_row row = kz_a8_row_of(bytes, matmul->columns);
        // Lanes beyond the chunk are zeros, and no block ever asks for them.
        scales[t] = v_load_some(row.scale + block, blocks);
        if (type == KZ_Q4_1) {
            const vint sum = _mm512_maskz_loadu_epi32(lanes_below(blocks), row.sum + block);
            sums[t] = v_mul(scales[t], v_from_ints(sum));
        }
    }
    v_transpose(scales);
    SIMD_UNROLL
    for (size_t b = 0; b < CHUNK_BLOCKS; b++) {
        v_store(out_chunk->scales[b], scales[b]);
    }
    if (type == KZ_Q4_1) {
        v_transpose(sums);
        SIMD_UNROLL
        for (size_t b = 0; b < CHUNK_BLOCKS; b++) {
            v_store(out_chunk->offsets[b], sums[b]);
        }
    }
}

// Multiplies block `block` of the chunk into products[odd]; tile numbers are part of the
// instruction.
// Two sets of tiles take turns, so that storing one product does not hold up the next one.
#define MULTIPLY_BLOCK(sums, x_tile, weights, block, odd)                                       \
    do {                                                                                        \
        TILE_FENCE();                                                                           \
        _tile_zero(sums);                                                                       \
        _tile_loadd(x_tile, q + (block)*KZ_BLOCK, x_stride);                                    \
        _tile_loadd(weights,                                                                    \
                    panel->values + (block) / 2 * panel->value_stride + (odd)*BLOCK_BYTES, 64); \
        _tile_dpbssd(sums, x_tile, weights);                                                    \
        _tile_stored(sums, chunk->products[odd], 64);                                           \
        TILE_FENCE();                                                                           \
    } while (0)

// sums[t] += the block's scaled products.
SIMD_INLINE void scale_block(kz_type type, const amx_panel *panel, const amx_chunk *chunk,
                             size_t block, vfloat sums[16]) {
    const size_t odd = block % 2;
    const uint8_t *record = panel->records + block / 2 * panel->record_bytes;
    const uint16_t *halves = (const uint16_t *)(const void *)record;
    const vfloat d = v_load_f16(halves + odd * KZ_PANEL_ROWS);
    SIMD_UNROLL
    for (size_t t = 0; t < AMX_TOKENS; t++) {
        const vfloat product = v_from_ints(i_load(chunk->products[odd][t]));
        sums[t] = v_fma(product, v_mul(d, v_set(chunk->scales[block][t])), sums[t]);
    }
    if (type == KZ_Q4_1) {
        const vfloat m = v_load_f16(halves + (2 + odd) * KZ_PANEL_ROWS);
        SIMD_UNROLL
        for (size_t t = 0; t < AMX_TOKENS; t++) {
            sums[t] = v_fma(m, v_set(chunk->offsets[block][t]), sums[t]);
        }
    }
}

// One chunk of one panel for 16 tokens; `q` is the first token's activations of the chunk. `blocks`
// is even.
SIMD_INLINE void amx_tile(kz_type type, const amx_panel *panel, const int8_t *q, size_t x_stride,
                          size_t blocks, amx_chunk *chunk, float (*held)[KZ_PANEL_ROWS]) {
    vfloat sums[16];
    SIMD_UNROLL
    for (size_t t = 0; t < AMX_TOKENS; t++) {
        sums[t] = v_load(held[t]);
    }
    MULTIPLY_BLOCK(0, 1, 2, 0, 0);
    for (size_t block = 0; block < blocks; block += 2) {
        MULTIPLY_BLOCK(3, 4, 5, block + 1, 1);
        scale_block(type, panel, chunk, block, sums);
        if (block + 2 < blocks) {
            MULTIPLY_BLOCK(0, 1, 2, block + 2, 0);
        }
        scale_block(type, panel, chunk, block + 1, sums);
    }
    SIMD_UNROLL
    for (size_t t = 0; t < AMX_TOKENS; t++) {
        v_store(held[t], sums[t]);
    }
}

// Blocks [block, block + blocks) of a group of panels and tokens.
SIMD_INLINE void amx_group_chunk(kz_type type, const kz_matmul *matmul, size_t panel, size_t panels,
                                 size_t token, size_t tokens, size_t block, size_t blocks,
                                 amx_chunk *chunk) {
    const size_t record_bytes = type == KZ_Q8_0   ? KZ_RECORD_Q8_0
                                : type == KZ_Q4_0 ? KZ_RECORD_Q4_0
                                                  : KZ_RECORD_Q4_1;
    const size_t panel_bytes = kz_a8_padded(matmul->columns) / KZ_RECORD_COLUMNS * record_bytes;
    amx_panel opened[GROUP_PANELS];
    for (size_t p = 0; p < panels; p++) {
        const uint8_t *records = (const uint8_t *)matmul->weights + (panel + p) * panel_bytes;
        opened[p] = open_panel(type, records + block / 2 * record_bytes, blocks, chunk->values[p]);
    }
    for (size_t t = 0; t < tokens; t += AMX_TOKENS) {
        const int8_t *q = (const int8_t *)matmul->x + (token + t) * matmul->x_stride;
        gather_scales(type, matmul, token + t, block, blocks, chunk);
        for (size_t p = 0; p < panels; p++) {
            amx_tile(type, &opened[p], q + block * KZ_BLOCK, matmul->x_stride, blocks, chunk,
                     &chunk->sums[p][t]);
        }
    }
}

SIMD_INLINE void amx_group(kz_type type, const kz_matmul *matmul, size_t panel, size_t panels,
                           size_t token, size_t tokens, amx_chunk *chunk) {
    const size_t all = kz_a8_padded(matmul->columns) / KZ_BLOCK;
    memset(chunk->sums, 0, sizeof chunk->sums);
    for (size_t block = 0; block < all; block += CHUNK_BLOCKS) {
        const size_t left = all - block;
        amx_group_chunk(type, matmul, panel, panels, token, tokens, block,
                        left < CHUNK_BLOCKS ? left : CHUNK_BLOCKS, chunk);
    }
    for (size_t t = 0; t < tokens; t++) {
        for (size_t p = 0; p < panels; p++) {
            finish_panel(matmul, panel + p, token + t, v_load(chunk->sums[p][t]));
        }
    }
}

SIMD_INLINE void amx_matmul(kz_type type, kz_matmul_kernel rest, const kz_matmul *matmul,
                            size_t panel, size_t panel_end, size_t token, size_t token_end) {
    // Some 68 KB of stack: products are given no scratch, and a tile reaches vector registers
    // through memory only.
    _Alignas(64) amx_chunk chunk;
    const size_t whole_end = token + (token_end - token) / AMX_TOKENS * AMX_TOKENS;
    if (whole_end > token) {
        configure_tiles();
    }
    for (size_t t = token; t < whole_end; t += GROUP_TOKENS) {
        const size_t tokens = whole_end - t < GROUP_TOKENS ? whole_end - t : GROUP_TOKENS;
        for (size_t p = panel; p < panel_end; p += GROUP_PANELS) {
            const size_t panels = panel_end - p < GROUP_PANELS ? panel_end - p : GROUP_PANELS;
            amx_group(type, matmul, p, panels, t, tokens, &chunk);
        }
    }
    if (whole_end > token) {
        _tile_release();
    }
    if (whole_end < token_end) {
        // Fewer than 16 tokens: a tile would multiply mostly padding.
        rest(matmul, panel, panel_end, whole_end, token_end);
    }
}

void kz_matmul_bulk_a8_q8_0__amx(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                 size_t token, size_t token_end) {
    amx_matmul(KZ_Q8_0, kz_matmul_a8_q8_0__avx512vnni, matmul, panel, panel_end, token, token_end);
}

void kz_matmul_bulk_a8_q4_0__amx(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                 size_t token, size_t token_end) {
    amx_matmul(KZ_Q4_0, kz_matmul_a8_q4_0__avx512vnni, matmul, panel, panel_end, token, token_end);
}

void kz_matmul_bulk_a8_q4_1__amx(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                 size_t token, size_t token_end) {
    amx_matmul(KZ_Q4_1, kz_matmul_a8_q4_1__avx512vnni, matmul, panel, panel_end, token, token_end);
}
