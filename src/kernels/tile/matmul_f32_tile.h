// matmul_f32_tile.h: f32 activations times f32, f16 or bf16 panels.
//
// in: matmul_tile.h included before. out: the matmul_f32_* kernels and f32_tile, which attention
// uses too. A tile keeps SIMD_F32_PANELS panels x SIMD_F32_TOKENS tokens of sums in registers over
// all of k; each sum is one chain of fused multiply-adds with k ascending.
#include <string.h>

#include "format/quant.h"

// Rows that lie a multiple of 1 KB apart compete for few sets of the first cache: a full tile of
// such rows works on copies of this many columns (even, as bf16 pairs need).
#define F32_STRETCH 256

SIMD_INLINE vfloat load_weights(kz_type type, const char *panel, size_t k) {
    if (type == KZ_F32) {
        return v_load((const float *)panel + k * KZ_PANEL_ROWS);
    }
    const uint16_t *halves = (const uint16_t *)panel;
    if (type == KZ_F16) {
        return v_load_f16(halves + k * KZ_PANEL_ROWS);
    }
    const uint16_t *pairs = halves + k / 2 * 2 * KZ_PANEL_ROWS;
    return k % 2 == 0 ? v_bf16_first(pairs) : v_bf16_second(pairs);
}

// sums[p][t] += x[t][k] * panel p's weights[k]
SIMD_INLINE void f32_step(kz_type type, int panels, int tokens, const float *const x[],
                          const char *weights, size_t panel_bytes, size_t k,
                          vfloat sums[][SIMD_F32_TOKENS]) {
    vfloat w[SIMD_F32_PANELS];
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        w[p] = load_weights(type, weights + (size_t)p * panel_bytes, k);
    }
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        const vfloat value = v_set(x[t][k]);
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            sums[p][t] = v_fma(value, w[p], sums[p][t]);
        }
    }
}

// `count` steps of k from the first of `rows` and `weights`.
SIMD_INLINE void f32_steps(kz_type type, int panels, int tokens, const float *const rows[],
                           const char *weights, size_t panel_bytes, size_t count,
                           vfloat sums[][SIMD_F32_TOKENS]) {
    // Two steps a turn, so that both halves of a bf16 pair come from one load.
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        f32_step(type, panels, tokens, rows, weights, panel_bytes, k, sums);
        f32_step(type, panels, tokens, rows, weights, panel_bytes, k + 1, sums);
    }
    if (k < count) {
        f32_step(type, panels, tokens, rows, weights, panel_bytes, k, sums);
    }
}

// f32_steps over all of `columns`, a stretch at a time, on copies of the rows' stretches.
SIMD_INLINE void f32_stretches(kz_type type, int panels, int tokens, const float *const rows[],
                               const char *weights, size_t panel_bytes, size_t columns,
                               vfloat sums[][SIMD_F32_TOKENS]) {
    // 16 more than a stretch: the copies must not lie 1 KB apart themselves.
    float copies[SIMD_F32_TOKENS][F32_STRETCH + 16];
    const float *copied[SIMD_F32_TOKENS];
    const size_t weight_bytes = type == KZ_F32 ? 4 : 2;
    for (size_t k = 0; k < columns; k += F32_STRETCH) {
        const size_t count = columns - k < F32_STRETCH ? columns - k : F32_STRETCH;
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            memcpy(copies[t], rows[t] + k, count * sizeof(float));
            copied[t] = copies[t];
        }
        f32_steps(type, panels, tokens, copied, weights + k * KZ_PANEL_ROWS * weight_bytes,
                  panel_bytes, count, sums);
    }
}

// sums[p][t] += all of x[t] times panel p.
SIMD_INLINE void f32_tile(kz_type type, int panels, int tokens, const void *x, size_t x_stride,
                          const char *weights, size_t panel_bytes, size_t columns,
                          vfloat sums[][SIMD_F32_TOKENS]) {
    const float *rows[SIMD_F32_TOKENS];
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        rows[t] = (const float *)((const char *)x + (size_t)t * x_stride);
    }
    if (tokens == SIMD_F32_TOKENS && x_stride % 1024 == 0 && columns > F32_STRETCH) {
        f32_stretches(type, panels, tokens, rows, weights, panel_bytes, columns, sums);
    } else {
        f32_steps(type, panels, tokens, rows, weights, panel_bytes, columns, sums);
    }
}

SIMD_INLINE void f32_matmul_tile(kz_type type, int panels, int tokens, const kz_matmul *matmul,
                                 size_t panel_bytes, size_t panel, size_t token) {
    vfloat sums[SIMD_F32_PANELS][SIMD_F32_TOKENS];
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            sums[p][t] = v_zero();
        }
    }
    f32_tile(type, panels, tokens, (const char *)matmul->x + token * matmul->x_stride,
             matmul->x_stride, (const char *)matmul->weights + panel * panel_bytes, panel_bytes,
             matmul->columns, sums);
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            finish_panel(matmul, panel + (size_t)p, token + (size_t)t, sums[p][t]);
        }
    }
}

// Tokens whose activations stay in the second cache while all panels pass: a multiple of any tile.
#define F32_TOKENS_AT_ONCE 96

SIMD_INLINE void f32_some_tokens(kz_type type, size_t panel_bytes, const kz_matmul *matmul,
                                 size_t panel, size_t panel_end, size_t token, size_t token_end) {
#define F32_TILE(panels, tokens) \
    f32_matmul_tile(type, panels, tokens, matmul, panel_bytes, panel, t)
    for (; panel_end - panel >= SIMD_F32_PANELS; panel += SIMD_F32_PANELS) {
        size_t t = token;
        TILE_TOKENS(F32_TILE, SIMD_F32_PANELS, SIMD_F32_TOKENS, t, token_end);
    }
    for (; SIMD_F32_PANELS > 1 && panel < panel_end; panel++) {
        size_t t = token;
        TILE_TOKENS(F32_TILE, 1, SIMD_F32_TOKENS, t, token_end);
    }
#undef F32_TILE
}

SIMD_INLINE void f32_matmul(kz_type type, size_t panel_bytes, const kz_matmul *matmul, size_t panel,
                            size_t panel_end, size_t token, size_t token_end) {
    for (size_t t = token; t < token_end; t += F32_TOKENS_AT_ONCE) {
        const size_t left = token_end - t;
        f32_some_tokens(type, panel_bytes, matmul, panel, panel_end, t,
                        t + (left < F32_TOKENS_AT_ONCE ? left : F32_TOKENS_AT_ONCE));
    }
    simd_leave();
}

void KZ_NAME(kz_matmul_f32_f32)(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                size_t token, size_t token_end) {
    const size_t panel_bytes = matmul->columns * KZ_PANEL_ROWS * sizeof(float);
    f32_matmul(KZ_F32, panel_bytes, matmul, panel, panel_end, token, token_end);
}

void KZ_NAME(kz_matmul_f32_f16)(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                size_t token, size_t token_end) {
    const size_t panel_bytes = matmul->columns * KZ_PANEL_ROWS * sizeof(uint16_t);
    f32_matmul(KZ_F16, panel_bytes, matmul, panel, panel_end, token, token_end);
}

void KZ_NAME(kz_matmul_f32_bf16)(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                 size_t token, size_t token_end) {
    const size_t padded = (matmul->columns + 1) / 2 * 2;
    const size_t panel_bytes = padded * KZ_PANEL_ROWS * sizeof(uint16_t);
    f32_matmul(KZ_BF16, panel_bytes, matmul, panel, panel_end, token, token_end);
}
