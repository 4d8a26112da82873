// matmul_a8_tile.h: KZ_A8 activations times Q8_0, Q4_0 or Q4_1 panels.
//
// in: matmul_tile.h included before. out: the matmul_a8_* kernels. A block of 32 k is an exact
// integer dot product (simd_*.h); its scaling is one multiplication d * scale and one fused
// multiply-add, the same for every tile and instruction set, so all of them agree to the last bit.
#include <string.h>

#include "kernels/rows.h"

// Bytes before the values of a record: f16 d[2][16], and m[2][16] for Q4_1.
SIMD_INLINE size_t a8_scale_bytes(kz_type type) {
    return type == KZ_Q4_1 ? 128 : 64;
}

SIMD_INLINE size_t a8_record_bytes(kz_type type) {
    return type == KZ_Q8_0 ? KZ_RECORD_Q8_0 : type == KZ_Q4_0 ? KZ_RECORD_Q4_0 : KZ_RECORD_Q4_1;
}

SIMD_INLINE vint four_activations(const int8_t *q) {
    int32_t four;
    memcpy(&four, q, sizeof four);
    return i_set(four);
}

// One load of 64 weight bytes against all tokens of the tile. `low` k come first.
SIMD_INLINE void a8_step(kz_type type, int tokens, const int8_t *const q[], size_t k, vint weights,
                         int p, vint dots[][SIMD_A8_TOKENS]) {
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        const vint x = four_activations(q[t] + k);
        dots[p][t] = type == KZ_Q8_0 ? i_bytes_step(dots[p][t], weights, x)
                                     : i_nibbles_step(dots[p][t], weights, x);
    }
}

// dots[p][t] of block `block`; `values` is its first group in panel 0.
SIMD_INLINE void a8_dots(kz_type type, int panels, int tokens, const uint8_t *values,
                         size_t panel_bytes, const kz_a8_row x[], size_t block,
                         vint dots[][SIMD_A8_TOKENS]) {
    const int8_t *q[SIMD_A8_TOKENS];
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        // Instructions that take unsigned weights have an offset to pay back. Q4_1's nibbles are
        // unsigned by themselves; its minimum is added after scaling.
        const vint start = type == KZ_Q8_0   ? i_bytes_begin(x[t].sum[block])
                           : type == KZ_Q4_0 ? i_nibbles_begin(x[t].sum[block])
                                             : i_zero();
        q[t] = x[t].q + block * KZ_BLOCK;
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            dots[p][t] = start;
        }
    }
    const size_t groups = type == KZ_Q8_0 ? 8 : 4;
    SIMD_UNROLL
    for (size_t group = 0; group < groups; group++) {
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            const uint8_t *from = values + (size_t)p * panel_bytes + group * 64;
            if (type == KZ_Q8_0) {
                a8_step(type, tokens, q, group * 4, i_bytes_load(from), p, dots);
            } else {
                const vint both = i_load(from);
                a8_step(type, tokens, q, group * 8, i_low_nibbles(both), p, dots);
                a8_step(type, tokens, q, group * 8 + 4, i_high_nibbles(both), p, dots);
            }
        }
    }
}

// sums[p][t] += the block's scaled dot products.
SIMD_INLINE void a8_block(kz_type type, int panels, int tokens, const uint8_t *record,
                          size_t panel_bytes, const kz_a8_row x[], size_t block,
                          vfloat sums[][SIMD_A8_TOKENS]) {
    vint dots[SIMD_A8_PANELS][SIMD_A8_TOKENS];
    const size_t half = block % 2;
    const size_t value_bytes = type == KZ_Q8_0 ? 512 : 256;
    a8_dots(type, panels, tokens, record + a8_scale_bytes(type) + half * value_bytes, panel_bytes,
            x, block, dots);
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        const uint16_t *scales = (const uint16_t *)(const void *)(record + (size_t)p * panel_bytes);
        const vfloat d = v_load_f16(scales + half * KZ_PANEL_ROWS);
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            const float scale = x[t].scale[block];
            const int32_t sum = x[t].sum[block];
            const vint dot = type == KZ_Q8_0   ? dots[p][t]
                             : type == KZ_Q4_0 ? i_nibbles_end(dots[p][t], -8 * sum)
                                               : i_nibbles_end(dots[p][t], 0);
            // d * scale is rounded first, then fused: the order that all variants share.
            sums[p][t] = v_fma(v_from_ints(dot), v_mul(d, v_set(scale)), sums[p][t]);
            if (type == KZ_Q4_1) {
                const vfloat m = v_load_f16(scales + (2 + half) * KZ_PANEL_ROWS);
                sums[p][t] = v_fma(m, v_set(scale * (float)sum), sums[p][t]);
            }
        }
    }
}

// A few records ahead, so that a single token's pass over the weights runs at memory speed.
SIMD_INLINE void a8_prefetch(kz_type type, const uint8_t *record) {
    SIMD_UNROLL
    for (size_t line = 0; line < a8_record_bytes(type); line += 64) {
        // Beyond the last panel it asks for what is no weight: a prefetch never faults.
        _mm_prefetch((const char *)record + 4096 + line, _MM_HINT_T0);
    }
}

SIMD_INLINE void a8_tile(kz_type type, int panels, int tokens, const kz_matmul *matmul,
                         size_t panel, size_t token) {
    const size_t records = kz_a8_padded(matmul->columns) / KZ_RECORD_COLUMNS;
    const size_t panel_bytes = records * a8_record_bytes(type);
    const uint8_t *record = (const uint8_t *)matmul->weights + panel * panel_bytes;
    kz_a8_row x[SIMD_A8_TOKENS];
    vfloat sums[SIMD_A8_PANELS][SIMD_A8_TOKENS];
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        const char *row = (const char *)matmul->x + (token + (size_t)t) * matmul->x_stride;
        x[t] = kz_a8_row_of(row, matmul->columns);
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            sums[p][t] = v_zero();
        }
    }
    for (size_t i = 0; i < records; i++, record += a8_record_bytes(type)) {
        if (tokens == 1) {
            a8_prefetch(type, record);
        }
        a8_block(type, panels, tokens, record, panel_bytes, x, 2 * i, sums);
        a8_block(type, panels, tokens, record, panel_bytes, x, 2 * i + 1, sums);
    }
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            finish_panel(matmul, panel + (size_t)p, token + (size_t)t, sums[p][t]);
        }
    }
}

// Tokens whose activations stay in the second cache while all panels pass: a multiple of any tile.
#define A8_TOKENS_AT_ONCE 192

SIMD_INLINE void a8_some_tokens(kz_type type, const kz_matmul *matmul, size_t panel,
                                size_t panel_end, size_t token, size_t token_end) {
#define A8_TILE(panels, tokens) a8_tile(type, panels, tokens, matmul, panel, t)
    // A single token is bound by memory: one panel after the other is read in order, and several at
    // once would only be more streams.
    for (; token_end - token > 1 && panel_end - panel >= SIMD_A8_PANELS; panel += SIMD_A8_PANELS) {
        size_t t = token;
        TILE_TOKENS(A8_TILE, SIMD_A8_PANELS, SIMD_A8_TOKENS, t, token_end);
    }
    for (; panel < panel_end; panel++) {
        size_t t = token;
        TILE_TOKENS(A8_TILE, 1, SIMD_A8_TOKENS, t, token_end);
    }
#undef A8_TILE
}

SIMD_INLINE void a8_matmul(kz_type type, const kz_matmul *matmul, size_t panel, size_t panel_end,
                           size_t token, size_t token_end) {
    for (size_t t = token; t < token_end; t += A8_TOKENS_AT_ONCE) {
        const size_t left = token_end - t;
        a8_some_tokens(type, matmul, panel, panel_end, t,
                       t + (left < A8_TOKENS_AT_ONCE ? left : A8_TOKENS_AT_ONCE));
    }
}

void KZ_NAME(kz_matmul_a8_q8_0)(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                size_t token, size_t token_end) {
    a8_matmul(KZ_Q8_0, matmul, panel, panel_end, token, token_end);
}

void KZ_NAME(kz_matmul_a8_q4_0)(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                size_t token, size_t token_end) {
    a8_matmul(KZ_Q4_0, matmul, panel, panel_end, token, token_end);
}

void KZ_NAME(kz_matmul_a8_q4_1)(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                size_t token, size_t token_end) {
    a8_matmul(KZ_Q4_1, matmul, panel, panel_end, token, token_end);
}
