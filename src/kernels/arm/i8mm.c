// i8mm.c: bulk products of KZ_A8 activations with quantised panels by ARM's 8-bit matrix products.
//
// in: kz_matmul, panels, tokens. out: the rows' outputs, equal to the last bit to those of
// matmul_a8_tile.h: smmla only does the exact integer part, 2 tokens x 2 rows x 8 k at a time, and
// the scaling is the same operations. Weights and activations are laid out anew for a chunk of 256
// k, pairs of rows and of tokens with 8 k each, which all panels or tokens of a group then share.
// Sums stay in smmla's order, (token 0: row 0, row 1; token 1: row 0, row 1), until they are
// outputs. Tokens that a tile of four lacks are zeros. The order-exact kernels stay sdot's: a
// single token would leave half of each product unused.
#define KZ_ISA i8mm
#include <string.h>

#include "kernels/arm/simd_neon.h"

#include "kernels/tile/math_tile.h"

#include "kernels/tile/matmul_a8_types.h"
#include "kernels/tile/matmul_tile.h"

#define CHUNK_BLOCKS 8  // k in a chunk: 256, a record of the K types
#define GROUP_PANELS 4  // panels that share the packed activations
#define GROUP_TOKENS 64 // tokens that share the unpacked weights
#define QUAD 4
#define GROUP_TILES (GROUP_TOKENS / QUAD)
#define PAIRS 4 // of rows in half a panel: a tile is of 8 rows and 4 tokens

// Factors of rows as the products have them: (row 0, row 1, row 0, row 1) of each pair.
typedef float row_factors[2][PAIRS][4]; // [half of the panel]

// A panel's chunk.
typedef struct mm_weights {
    int8_t values[CHUNK_BLOCKS][2][4][PAIRS][16]; // [half of the panel][8 k][pair]
    row_factors scales[CHUNK_BLOCKS];
    row_factors minima[CHUNK_BLOCKS];    // negative ones of types that subtract them
    row_factors halves[CHUNK_BLOCKS][2]; // scales of half a block
} mm_weights;

// What four tokens' activations are in a chunk; the factors are (token 0, token 0, token 1, token
// 1).
typedef struct mm_tokens {
    int8_t q[CHUNK_BLOCKS][4][2][16]; // [8 k][pair]
    float scales[CHUNK_BLOCKS][2][4];
    float offsets[CHUNK_BLOCKS][2][4]; // scale * sum of the block
} mm_tokens;

typedef float mm_sums[2][2][PAIRS][4]; // [half of the panel][pair of tokens][pair of rows]

typedef struct mm_group {
    mm_weights weights[GROUP_PANELS];
    mm_tokens tokens[GROUP_TILES];
    mm_sums sums[GROUP_PANELS][GROUP_TILES];
} mm_group;

static void store_row_factors(vfloat rows, row_factors out) {
    for (int i = 0; i < 4; i++) {
        const float64x2_t four = vreinterpretq_f64_f32(rows.part[i]);
        vst1q_f32(out[i / 2][i % 2 * 2], vreinterpretq_f32_f64(vzip1q_f64(four, four)));
        vst1q_f32(out[i / 2][i % 2 * 2 + 1], vreinterpretq_f32_f64(vzip2q_f64(four, four)));
    }
}

// Groups 2 `step` and 2 `step` + 1 of block `b % 2` of a part, as signed bytes, two rows together.
SIMD_INLINE void unpack_step(kz_type type, const uint8_t *part, size_t b, size_t step,
                             int8_t (*out)[4][PAIRS][16]) {
    const int8x16_t offset = vdupq_n_s8((int8_t)a8_offset(type));
    const vint first = a8_weights(type, part, b % 2 * 8 + 2 * step);
    const vint second = a8_weights(type, part, b % 2 * 8 + 2 * step + 1);
    SIMD_UNROLL
    for (int i = 0; i < 4; i++) {
        int8_t(*pairs)[16] = &out[i / 2][step][i % 2 * 2];
        const int8x16_t top = vreinterpretq_s8_s32(vzip1q_s32(first.part[i], second.part[i]));
        const int8x16_t bottom = vreinterpretq_s8_s32(vzip2q_s32(first.part[i], second.part[i]));
        vst1q_s8(pairs[0], vsubq_s8(top, offset));
        vst1q_s8(pairs[1], vsubq_s8(bottom, offset));
    }
}

// Block `b` of a record, as block `to` of the chunk. `b % 2` is a constant.
SIMD_INLINE void unpack_block(kz_type type, const uint8_t *record, const a8_sixes *sixes, size_t b,
                              size_t to, mm_weights *out) {
    const uint8_t *part = record + a8_scale_bytes(type) + b / 2 * a8_part_bytes(type);
    float scale[KZ_PANEL_ROWS];
    float minimum[KZ_PANEL_ROWS];
    a8_store_scales(type, record, sixes, b, scale, minimum);
    store_row_factors(v_load(scale), out->scales[to]);
    if (a8_has_minimum(type)) {
        store_row_factors(v_load(minimum), out->minima[to]);
    }
    if (a8_has_halves(type)) {
        store_row_factors(a8_half_scale(record, b, 0), out->halves[to][0]);
        store_row_factors(a8_half_scale(record, b, 1), out->halves[to][1]);
    }
    SIMD_UNROLL
    for (size_t step = 0; step < 4; step++) {
        unpack_step(type, part, b, step, out->values[to]);
    }
}

SIMD_INLINE void unpack_weights(kz_type type, const uint8_t *record, size_t blocks,
                                mm_weights *out) {
    for (size_t block = 0; block < blocks; block += a8_record_blocks(type)) {
        a8_sixes sixes;
        a8_open_record(type, record, &sixes);
        for (size_t b = 0; b < a8_record_blocks(type); b += 2) {
            unpack_block(type, record, &sixes, b, block + b, out);
            unpack_block(type, record, &sixes, b + 1, block + b + 1, out);
        }
        record += a8_record_bytes(type);
    }
}

// Two tokens' activations of one block, 8 k of each together.
static void pack_block(const int8_t *first, const int8_t *second, int8_t (*out)[2][16]) {
    for (size_t i = 0; i < 2; i++) {
        const int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(first + 16 * i));
        const int64x2_t b = vreinterpretq_s64_s8(vld1q_s8(second + 16 * i));
        vst1q_s8(out[2 * i][0], vreinterpretq_s8_s64(vzip1q_s64(a, b)));
        vst1q_s8(out[2 * i + 1][0], vreinterpretq_s8_s64(vzip2q_s64(a, b)));
    }
}

// Pair `pair` of a tile: tokens `first` and `second`, blocks [block, block + blocks) of their rows.
static void pack_pair(const kz_a8_row *first, const kz_a8_row *second, size_t block, size_t blocks,
                      size_t pair, mm_tokens *out) {
    for (size_t b = 0; b < blocks; b++) {
        const size_t at = block + b;
        float *scales = out->scales[b][pair];
        float *offsets = out->offsets[b][pair];
        pack_block(first->q + at * KZ_BLOCK, second->q + at * KZ_BLOCK,
                   (int8_t(*)[2][16]) & out->q[b][0][pair]);
        scales[0] = scales[1] = first->scale[at];
        scales[2] = scales[3] = second->scale[at];
        offsets[0] = offsets[1] = first->scale[at] * (float)first->sum[at];
        offsets[2] = offsets[3] = second->scale[at] * (float)second->sum[at];
    }
}

static kz_a8_row row_at(const kz_matmul *matmul, size_t token) {
    return kz_a8_row_of((const char *)matmul->x + token * matmul->x_stride, matmul->columns);
}

// Tokens that are missing in the last tile repeat the last one: nobody reads their sums.
static void pack_tokens(const kz_matmul *matmul, size_t token, size_t tokens, size_t block,
                        size_t blocks, mm_tokens *out) {
    const size_t last = token + tokens - 1;
    for (size_t t = 0; t < tokens; t += 2) {
        const kz_a8_row first = row_at(matmul, token + t);
        const kz_a8_row second = row_at(matmul, t + 1 < tokens ? token + t + 1 : last);
        pack_pair(&first, &second, block, blocks, t / 2 % 2, &out[t / QUAD]);
    }
    if ((tokens - 1) / 2 % 2 == 0) {
        const kz_a8_row row = row_at(matmul, last);
        pack_pair(&row, &row, block, blocks, 1, &out[(tokens - 1) / QUAD]);
    }
}

// dots[t][r] of steps [step, step + count) of a block.
SIMD_INLINE void mm_dots(const int8_t (*q)[2][16], const int8_t (*w)[PAIRS][16], size_t step,
                         size_t count, int32x4_t dots[2][PAIRS]) {
    SIMD_UNROLL
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        dots[i / PAIRS][i % PAIRS] = vdupq_n_s32(0);
    }
    SIMD_UNROLL
    for (size_t s = step; s < step + count; s++) {
        const int8x16_t x[2] = {vld1q_s8(q[s][0]), vld1q_s8(q[s][1])};
        SIMD_UNROLL
        for (size_t r = 0; r < PAIRS; r++) {
            const int8x16_t weights = vld1q_s8(w[s][r]);
            dots[0][r] = vmmlaq_s32(dots[0][r], x[0], weights);
            dots[1][r] = vmmlaq_s32(dots[1][r], x[1], weights);
        }
    }
}

// The integers of a block as floats, exactly.
SIMD_INLINE void mm_products(kz_type type, const mm_weights *weights, const mm_tokens *tokens,
                             size_t block, size_t half, float32x4_t products[2][PAIRS]) {
    const size_t parts = a8_has_halves(type) ? 2 : 1;
    SIMD_UNROLL
    for (size_t part = 0; part < parts; part++) {
        int32x4_t dots[2][PAIRS];
        mm_dots(tokens->q[block], weights->values[block][half], part * 2, 4 / parts, dots);
        SIMD_UNROLL
        for (size_t i = 0; i < 2 * PAIRS; i++) {
            const size_t r = i % PAIRS;
            const float32x4_t dot = vcvtq_f32_s32(dots[i / PAIRS][r]);
            float32x4_t *product = &products[i / PAIRS][r];
            const float *scale = weights->halves[block][part][half][r];
            *product = parts == 1  ? dot
                       : part == 0 ? vmulq_f32(dot, vld1q_f32(scale))
                                   : vfmaq_f32(*product, dot, vld1q_f32(scale));
        }
    }
}

// sums += the block's scaled products.
SIMD_INLINE void mm_block(kz_type type, const mm_weights *weights, const mm_tokens *tokens,
                          size_t block, size_t half, float32x4_t sums[2][PAIRS]) {
    float32x4_t products[2][PAIRS];
    mm_products(type, weights, tokens, block, half, products);
    SIMD_UNROLL
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        const size_t t = i / PAIRS;
        const size_t r = i % PAIRS;
        const float32x4_t d = vld1q_f32(weights->scales[block][half][r]);
        const float32x4_t factor = vmulq_f32(d, vld1q_f32(tokens->scales[block][t]));
        sums[t][r] = vfmaq_f32(sums[t][r], products[t][r], factor);
        if (a8_has_minimum(type)) {
            const float32x4_t minimum = vld1q_f32(weights->minima[block][half][r]);
            sums[t][r] = vfmaq_f32(sums[t][r], minimum, vld1q_f32(tokens->offsets[block][t]));
        }
    }
}

// Four tokens with half a panel.
SIMD_INLINE void mm_tile(kz_type type, const mm_weights *weights, const mm_tokens *tokens,
                         size_t blocks, size_t half, float held[2][PAIRS][4]) {
    float32x4_t sums[2][PAIRS];
    SIMD_UNROLL
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        sums[i / PAIRS][i % PAIRS] = vld1q_f32(held[i / PAIRS][i % PAIRS]);
    }
    for (size_t block = 0; block < blocks; block++) {
        mm_block(type, weights, tokens, block, half, sums);
    }
    SIMD_UNROLL
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        vst1q_f32(held[i / PAIRS][i % PAIRS], sums[i / PAIRS][i % PAIRS]);
    }
}

// Sums of token `t` of a tile, in the order of the rows.
static vfloat token_sums(const mm_sums sums, size_t t) {
    vfloat rows;
    for (size_t i = 0; i < 4; i++) {
        const float(*pairs)[4] = &sums[i / 2][t / 2][i % 2 * 2];
        rows.part[i] = vcombine_f32(vld1_f32(&pairs[0][t % 2 * 2]), vld1_f32(&pairs[1][t % 2 * 2]));
    }
    return rows;
}

// A chunk of a group: up to GROUP_PANELS panels and GROUP_TOKENS tokens.
SIMD_INLINE void mm_group_chunk(kz_type type, const kz_matmul *matmul, size_t panel, size_t panels,
                                size_t token, size_t tokens, size_t block, size_t blocks,
                                mm_group *group) {
    const size_t record_bytes = a8_record_bytes(type);
    const size_t panel_bytes =
        kz_a8_padded(matmul->columns) / KZ_BLOCK / a8_record_blocks(type) * record_bytes;
    const uint8_t *records = (const uint8_t *)matmul->weights + panel * panel_bytes +
                             block / a8_record_blocks(type) * record_bytes;
    pack_tokens(matmul, token, tokens, block, blocks, group->tokens);
    for (size_t p = 0; p < panels; p++) {
        mm_weights *weights = &group->weights[p];
        unpack_weights(type, records + p * panel_bytes, blocks, weights);
        for (size_t half = 0; half < 2; half++) {
            for (size_t tile = 0; tile * QUAD < tokens; tile++) {
                mm_tile(type, weights, &group->tokens[tile], blocks, half,
                        group->sums[p][tile][half]);
            }
        }
    }
}

SIMD_INLINE void mm_groups(kz_type type, const kz_matmul *matmul, size_t panel, size_t panels,
                           size_t token, size_t tokens, mm_group *group) {
    const size_t all = kz_a8_padded(matmul->columns) / KZ_BLOCK;
    memset(group->sums, 0, sizeof group->sums);
    for (size_t block = 0; block < all; block += CHUNK_BLOCKS) {
        const size_t left = all - block;
        mm_group_chunk(type, matmul, panel, panels, token, tokens, block,
                       left < CHUNK_BLOCKS ? left : CHUNK_BLOCKS, group);
    }
    for (size_t t = 0; t < tokens; t++) {
        for (size_t p = 0; p < panels; p++) {
            const float(*sums)[2][PAIRS][4] = (const float(*)[2][PAIRS][4])group->sums[p][t / QUAD];
            finish_panel(matmul, panel + p, token + t, token_sums(sums, t % QUAD));
        }
    }
}

SIMD_INLINE void mm_matmul(kz_type type, const kz_matmul *matmul, size_t panel, size_t panel_end,
                           size_t token, size_t token_end) {
    // Some 75 KB of stack: products are given no scratch.
    _Alignas(64) mm_group group;
    for (size_t t = token; t < token_end; t += GROUP_TOKENS) {
        const size_t tokens = token_end - t < GROUP_TOKENS ? token_end - t : GROUP_TOKENS;
        for (size_t p = panel; p < panel_end; p += GROUP_PANELS) {
            const size_t panels = panel_end - p < GROUP_PANELS ? panel_end - p : GROUP_PANELS;
            mm_groups(type, matmul, p, panels, t, tokens, &group);
        }
    }
}

#define I8MM_KERNEL(name, type)                                                                    \
    void kz_matmul_bulk_a8_##name##__i8mm(const kz_matmul *matmul, size_t panel, size_t panel_end, \
                                          size_t token, size_t token_end) {                        \
        mm_matmul(type, matmul, panel, panel_end, token, token_end);                               \
    }

I8MM_KERNEL(q8_0, KZ_Q8_0)
I8MM_KERNEL(q4_0, KZ_Q4_0)
I8MM_KERNEL(q4_1, KZ_Q4_1)
I8MM_KERNEL(q5_0, KZ_Q5_0)
I8MM_KERNEL(q5_1, KZ_Q5_1)
I8MM_KERNEL(iq4_nl, KZ_IQ4_NL)
I8MM_KERNEL(q4_k, KZ_Q4_K)
I8MM_KERNEL(q5_k, KZ_Q5_K)
I8MM_KERNEL(q6_k, KZ_Q6_K)
