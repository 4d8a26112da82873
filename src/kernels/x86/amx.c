// amx.c: bulk products of KZ_A8 activations with quantised panels on AMX-INT8.
//
// in: kz_matmul, panels, tokens. out: the rows' outputs, equal to the last bit to those of
// matmul_a8_tile.h: the tiles only do the exact integer part, 16 tokens x 16 rows x 32 k at a time,
// and the scaling is the same operations. Tokens that do not fill a tile run the AVX512-VNNI kernel
// for that reason. A block's product is stored and scaled while the next one is multiplied: storing
// and scaling, not multiplying, are what bounds the speed. Q6_K has two scales in a block, so it
// would be stored twice, and gains nothing over matmul_a8_bulk_tile.h. Tiles are configured at the
// start of a call and released at its end, so no thread keeps them between calls.
#define KZ_ISA amx
#include <string.h>

#include "kernels/x86/simd_avx512.h"

#include "kernels/tile/math_tile.h"

#include "kernels/tile/matmul_a8_types.h"
#include "kernels/tile/matmul_tile.h"

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

// A panel's chunk as the tiles take it. Values lie as in a Q8_0 record, whose own are not copied.
typedef struct amx_weights {
    int8_t unpacked[CHUNK_BLOCKS * BLOCK_BYTES];
    float scales[CHUNK_BLOCKS][KZ_PANEL_ROWS];
    float minima[CHUNK_BLOCKS][KZ_PANEL_ROWS]; // negative ones of types that subtract them
    const int8_t *values;
    size_t record_bytes; // from the values of two blocks to those of the next two
} amx_weights;

// What all panels of a group need of a chunk.
typedef struct amx_chunk {
    amx_weights weights[GROUP_PANELS];
    float sums[GROUP_PANELS][GROUP_TOKENS][KZ_PANEL_ROWS];
    int32_t products[2][AMX_TOKENS][KZ_PANEL_ROWS];
    float scales[CHUNK_BLOCKS][AMX_TOKENS];
    float offsets[CHUNK_BLOCKS][AMX_TOKENS]; // scale * sum of the block
} amx_chunk;

// Block `b` of a record to signed bytes. `b % 2` is a constant.
SIMD_INLINE void unpack_block(kz_type type, const uint8_t *record, size_t b, int8_t *out) {
    const uint8_t *part = record + a8_scale_bytes(type) + b / 2 * a8_part_bytes(type);
    const vint offset = _mm512_set1_epi8((char)a8_offset(type));
    SIMD_UNROLL
    for (size_t group = 0; group < 8; group++) {
        const vint q = a8_weights(type, part, b % 2 * 8 + group);
        i_store(out + 64 * group, _mm512_sub_epi8(q, offset));
    }
}

// `records` is the chunk's first record, `blocks` a multiple of a record's.
SIMD_INLINE void open_weights(kz_type type, const uint8_t *records, size_t blocks,
                              amx_weights *out) {
    for (size_t block = 0; block < blocks; block += a8_record_blocks(type)) {
        const uint8_t *record = records + block / a8_record_blocks(type) * a8_record_bytes(type);
        a8_sixes sixes;
        a8_open_record(type, record, &sixes);
        for (size_t b = 0; b < a8_record_blocks(type); b++) {
            a8_store_scales(type, record, &sixes, b, out->scales[block + b],
                            out->minima[block + b]);
        }
        for (size_t b = 0; type != KZ_Q8_0 && b < a8_record_blocks(type); b += 2) {
            int8_t *to = out->unpacked + (block + b) * BLOCK_BYTES;
            unpack_block(type, record, b, to);
            unpack_block(type, record, b + 1, to + BLOCK_BYTES);
        }
    }
    out->values = type == KZ_Q8_0 ? (const int8_t *)records + 64 : out->unpacked;
    out->record_bytes = type == KZ_Q8_0 ? KZ_RECORD_Q8_0 : 2 * BLOCK_BYTES;
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
        if (a8_has_minimum(type)) {
            const vint sum = _mm512_maskz_loadu_epi32(lanes_below(blocks), row.sum + block);
            sums[t] = v_mul(scales[t], v_from_ints(sum));
        }
    }
    v_transpose(scales);
    SIMD_UNROLL
    for (size_t b = 0; b < CHUNK_BLOCKS; b++) {
        v_store(out_chunk->scales[b], scales[b]);
    }
    if (a8_has_minimum(type)) {
        v_transpose(sums);
        SIMD_UNROLL
        for (size_t b = 0; b < CHUNK_BLOCKS; b++) {
            v_store(out_chunk->offsets[b], sums[b]);
        }
    }
}

// Multiplies block `block` of the chunk into products[odd]; tile numbers are part of the
// instruction. Two sets of tiles take turns, so that storing one product does not hold up the next
// one.
#define MULTIPLY_BLOCK(sums, x_tile, w_tile, block, odd)                                       \
    do {                                                                                       \
        TILE_FENCE();                                                                          \
        _tile_zero(sums);                                                                      \
        _tile_loadd(x_tile, q + (block)*KZ_BLOCK, x_stride);                                   \
        _tile_loadd(w_tile,                                                                    \
                    weights->values + (block) / 2 * weights->record_bytes + (odd)*BLOCK_BYTES, \
                    64);                                                                       \
        _tile_dpbssd(sums, x_tile, w_tile);                                                    \
        _tile_stored(sums, chunk->products[odd], 64);                                          \
        TILE_FENCE();                                                                          \
    } while (0)

// sums[t] += the block's scaled products.
SIMD_INLINE void scale_block(kz_type type, const amx_weights *weights, const amx_chunk *chunk,
                             size_t block, vfloat sums[16]) {
    const vfloat d = v_load(weights->scales[block]);
    const size_t odd = block % 2;
    SIMD_UNROLL
    for (size_t t = 0; t < AMX_TOKENS; t++) {
        const vfloat product = v_from_ints(i_load(chunk->products[odd][t]));
        sums[t] = v_fma(product, v_mul(d, v_set(chunk->scales[block][t])), sums[t]);
    }
    if (a8_has_minimum(type)) {
        const vfloat minimum = v_load(weights->minima[block]);
        SIMD_UNROLL
        for (size_t t = 0; t < AMX_TOKENS; t++) {
            sums[t] = v_fma(minimum, v_set(chunk->offsets[block][t]), sums[t]);
        }
    }
}

// One chunk of one panel for 16 tokens; `q` is the first token's activations of the chunk. `blocks`
// is even.
SIMD_INLINE void amx_tile(kz_type type, const amx_weights *weights, const int8_t *q,
                          size_t x_stride, size_t blocks, amx_chunk *chunk,
                          float (*held)[KZ_PANEL_ROWS]) {
    vfloat sums[16];
    SIMD_UNROLL
    for (size_t t = 0; t < AMX_TOKENS; t++) {
        sums[t] = v_load(held[t]);
    }
    MULTIPLY_BLOCK(0, 1, 2, 0, 0);
    for (size_t block = 0; block < blocks; block += 2) {
        MULTIPLY_BLOCK(3, 4, 5, block + 1, 1);
        scale_block(type, weights, chunk, block, sums);
        if (block + 2 < blocks) {
            MULTIPLY_BLOCK(0, 1, 2, block + 2, 0);
        }
        scale_block(type, weights, chunk, block + 1, sums);
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
    const size_t record_bytes = a8_record_bytes(type);
    const size_t panel_bytes =
        kz_a8_padded(matmul->columns) / KZ_BLOCK / a8_record_blocks(type) * record_bytes;
    for (size_t p = 0; p < panels; p++) {
        const uint8_t *records = (const uint8_t *)matmul->weights + (panel + p) * panel_bytes;
        open_weights(type, records + block / a8_record_blocks(type) * record_bytes, blocks,
                     &chunk->weights[p]);
    }
    for (size_t t = 0; t < tokens; t += AMX_TOKENS) {
        const int8_t *q = (const int8_t *)matmul->x + (token + t) * matmul->x_stride;
        gather_scales(type, matmul, token + t, block, blocks, chunk);
        for (size_t p = 0; p < panels; p++) {
            amx_tile(type, &chunk->weights[p], q + block * KZ_BLOCK, matmul->x_stride, blocks,
                     chunk, &chunk->sums[p][t]);
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
    // Some 80 KB of stack: products are given no scratch, and a tile reaches vector registers
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
        _mm256_zeroupper();
    }
    if (whole_end < token_end) {
        // Fewer than 16 tokens: a tile would multiply mostly padding.
        rest(matmul, panel, panel_end, whole_end, token_end);
    }
}

#define AMX_KERNEL(name, type)                                                                    \
    void kz_matmul_bulk_a8_##name##__amx(const kz_matmul *matmul, size_t panel, size_t panel_end, \
                                         size_t token, size_t token_end) {                        \
        amx_matmul(type, kz_matmul_a8_##name##__avx512vnni, matmul, panel, panel_end, token,      \
                   token_end);                                                                    \
    }

AMX_KERNEL(q8_0, KZ_Q8_0)
AMX_KERNEL(q4_0, KZ_Q4_0)
AMX_KERNEL(q4_1, KZ_Q4_1)
AMX_KERNEL(q5_0, KZ_Q5_0)
AMX_KERNEL(q5_1, KZ_Q5_1)
AMX_KERNEL(iq4_nl, KZ_IQ4_NL)
AMX_KERNEL(q4_k, KZ_Q4_K)
AMX_KERNEL(q5_k, KZ_Q5_K)
