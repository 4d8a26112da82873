// matmul.c: the plain matrix products: what the fast kernels are measured against.
//
// in: kz_matmul, panels, tokens. out: the rows' outputs. One token and one panel at a time, k
// ascending, so a result never depends on the cut. The sums of quantised panels are those of
// matmul_a8.c; float weights are added in float, as the fast kernels do.
#include "base/half.h"
#include "kernels/ref/matmul_panels.h"
#include "kernels/ref/scalar.h"

// bias, activation, residual and the store, for the rows that exist.
// The activation comes before the residual, as ops.def defines LINEAR.
static void finish_panel(const kz_matmul *matmul, size_t panel, size_t token, const float *sums) {
    const size_t row = panel * KZ_PANEL_ROWS;
    const size_t left = matmul->rows - row;
    const size_t count = left < KZ_PANEL_ROWS ? left : KZ_PANEL_ROWS;
    float *out = (float *)((char *)matmul->out + token * matmul->out_stride) + row;
    const float *residual = NULL;
    if (matmul->residual != NULL) {
        residual =
            (const float *)((const char *)matmul->residual + token * matmul->residual_stride) + row;
    }
    for (size_t r = 0; r < count; r++) {
        const float biased = sums[r] + (matmul->bias != NULL ? matmul->bias[row + r] : 0.0f);
        const float activated = kz_scalar_activate(matmul->activation, biased);
        out[r] = activated + (residual != NULL ? residual[r] : 0.0f);
    }
}

void kz_ref_matmul(const kz_matmul *matmul, size_t panel_bytes, kz_ref_sum_panel sum, size_t panel,
                   size_t panel_end, size_t token, size_t token_end) {
    for (size_t p = panel; p < panel_end; p++) {
        const uint8_t *weights = (const uint8_t *)matmul->weights + p * panel_bytes;
        for (size_t t = token; t < token_end; t++) {
            // Each pair of token and panel starts from zero and carries nothing to the next: that
            // is why no cut of the work changes a bit.
            float sums[KZ_PANEL_ROWS] = {0.0f};
            sum((const uint8_t *)matmul->x + t * matmul->x_stride, weights, matmul->columns, sums);
            finish_panel(matmul, p, t, sums);
        }
    }
}

static void sum_f32(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    const float *values = x;
    const float *weights = panel; // [k][16]
    for (size_t k = 0; k < columns; k++) {
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            out_sums[r] += values[k] * weights[k * KZ_PANEL_ROWS + r];
        }
    }
}

static void sum_f16(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    const float *values = x;
    const uint16_t *weights = panel; // [k][16]
    for (size_t k = 0; k < columns; k++) {
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            out_sums[r] += values[k] * kz_float_from_f16(weights[k * KZ_PANEL_ROWS + r]);
        }
    }
}

static void sum_bf16(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    const float *values = x;
    const uint16_t *weights = panel; // [k / 2][16][2]
    for (size_t k = 0; k < columns; k++) {
        const uint16_t *pairs = weights + k / 2 * 2 * KZ_PANEL_ROWS + k % 2;
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            out_sums[r] += values[k] * kz_float_from_bf16(pairs[2 * r]);
        }
    }
}

void kz_matmul_f32_f32__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                            size_t token_end) {
    kz_ref_matmul(matmul, matmul->columns * KZ_PANEL_ROWS * 4, sum_f32, panel, panel_end, token,
                  token_end);
}

void kz_matmul_f32_f16__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                            size_t token_end) {
    kz_ref_matmul(matmul, matmul->columns * KZ_PANEL_ROWS * 2, sum_f16, panel, panel_end, token,
                  token_end);
}

void kz_matmul_f32_bf16__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                             size_t token_end) {
    const size_t padded = (matmul->columns + 1) / 2 * 2;
    kz_ref_matmul(matmul, padded * KZ_PANEL_ROWS * 2, sum_bf16, panel, panel_end, token, token_end);
}
