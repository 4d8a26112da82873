// matmul_tile.h: what the tiles of float and quantised weights share: sums to outputs, and the cut
// of a call into register tiles.
//
// in: simd_*.h and math_tile.h included before. out: finish_panel and TILE_TOKENS. The sum of an
// output goes through the same operations in the same order in every tile, so no cut changes a bit.
#include "kernels/variants.h"

// Once a tile is seldom: inlined, the activations would be repeated in every tile's code.
static __attribute__((noinline)) void finish_panel(const kz_matmul *matmul, size_t panel,
                                                   size_t token, vfloat sums) {
    const size_t row = panel * KZ_PANEL_ROWS;
    const size_t left = matmul->rows - row;
    // The last panel's padding rows have sums too; there is no output for them.
    const size_t count = left < KZ_PANEL_ROWS ? left : KZ_PANEL_ROWS;
    float *out = (float *)((char *)matmul->out + token * matmul->out_stride) + row;
    if (matmul->bias != NULL) {
        sums = v_add(sums, v_load_some(matmul->bias + row, count));
    }
    sums = v_activate(matmul->activation, sums);
    if (matmul->residual != NULL) {
        const char *residual = (const char *)matmul->residual + token * matmul->residual_stride;
        sums = v_add(sums, v_load_some((const float *)residual + row, count));
    }
    v_store_some(out, sums, count);
}

// Runs TILE(panels, tokens) over tokens [token, token_end): as many tiles of `most` as fit, then 4,
// 2 and 1, all with constant sizes so that each becomes straight code. `token` is left at
// token_end.
#define TILE_TOKENS(TILE, panels, most, token, token_end)                \
    do {                                                                 \
        for (; (token_end) - (token) >= (most); (token) += (most)) {     \
            TILE(panels, most);                                          \
        }                                                                \
        for (; (most) > 4 && (token_end) - (token) >= 4; (token) += 4) { \
            TILE(panels, (most) > 4 ? 4 : 1);                            \
        }                                                                \
        for (; (most) > 2 && (token_end) - (token) >= 2; (token) += 2) { \
            TILE(panels, (most) > 2 ? 2 : 1);                            \
        }                                                                \
        for (; (token_end) - (token) >= 1; (token)++) {                  \
            TILE(panels, 1);                                             \
        }                                                                \
    } while (0)
