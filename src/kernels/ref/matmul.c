// matmul.c: the plain matrix products: what the fast kernels are measured against.
//
// in: kz_matmul, panels, tokens. out: the rows' outputs. One token and one panel at a time, k
// ascending, so a result never depends on the cut. Integer products are exact; the scaled block
// sums and everything of float weights are added in float, as the fast kernels do.
#include <string.h>

#include "base/half.h"
#include "kernels/ref/scalar.h"
#include "kernels/variants.h"

typedef void (*sum_panel)(const void *x, const void *panel, size_t columns, float out_sums[16]);

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

static void matmul_with(const kz_matmul *matmul, size_t panel_bytes, sum_panel sum, size_t panel,
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

// The integer dot products of one block of 32 with signed bytes.
static void dot_bytes(const int8_t *q, const int8_t *groups, int32_t out_dots[16]) {
    memset(out_dots, 0, KZ_PANEL_ROWS * sizeof *out_dots);
    for (size_t k = 0; k < KZ_BLOCK; k++) {
        const int8_t *group = groups + k / 4 * 64 + k % 4;
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            out_dots[r] += q[k] * group[4 * r];
        }
    }
}

// The nibbles count as 0..15; what they are offset by is settled by the caller, with the sum of the
// activations.
static void dot_nibbles(const int8_t *q, const uint8_t *groups, int32_t out_dots[16]) {
    memset(out_dots, 0, KZ_PANEL_ROWS * sizeof *out_dots);
    for (size_t k = 0; k < KZ_BLOCK; k++) {
        const uint8_t *group = groups + k / 8 * 64 + k % 4;
        const int shift = k % 8 < 4 ? 0 : 4;
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            out_dots[r] += q[k] * ((group[4 * r] >> shift) & 15);
        }
    }
}

static void sum_q8_0(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    const kz_a8_row row = kz_a8_row_of(x, columns);
    const size_t blocks = kz_a8_padded(columns) / KZ_BLOCK;
    for (size_t b = 0; b < blocks; b++) {
        const uint8_t *record = (const uint8_t *)panel + b / 2 * KZ_RECORD_Q8_0;
        const uint16_t *d = (const uint16_t *)record + b % 2 * KZ_PANEL_ROWS;
        int32_t dots[KZ_PANEL_ROWS];
        dot_bytes(row.q + b * KZ_BLOCK, (const int8_t *)record + 64 + b % 2 * 512, dots);
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            out_sums[r] += kz_float_from_f16(d[r]) * row.scale[b] * (float)dots[r];
        }
    }
}

static void sum_q4_0(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    const kz_a8_row row = kz_a8_row_of(x, columns);
    const size_t blocks = kz_a8_padded(columns) / KZ_BLOCK;
    for (size_t b = 0; b < blocks; b++) {
        const uint8_t *record = (const uint8_t *)panel + b / 2 * KZ_RECORD_Q4_0;
        const uint16_t *d = (const uint16_t *)record + b % 2 * KZ_PANEL_ROWS;
        // sum of q (w - 8) = sum of q w - 8 sum of q: both sides are exact integers.
        const int32_t offset = 8 * row.sum[b];
        int32_t dots[KZ_PANEL_ROWS];
        dot_nibbles(row.q + b * KZ_BLOCK, record + 64 + b % 2 * 256, dots);
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            const float dot = (float)(dots[r] - offset);
            out_sums[r] += kz_float_from_f16(d[r]) * row.scale[b] * dot;
        }
    }
}

static void sum_q4_1(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    const kz_a8_row row = kz_a8_row_of(x, columns);
    const size_t blocks = kz_a8_padded(columns) / KZ_BLOCK;
    for (size_t b = 0; b < blocks; b++) {
        const uint8_t *record = (const uint8_t *)panel + b / 2 * KZ_RECORD_Q4_1;
        const uint16_t *d = (const uint16_t *)record + b % 2 * KZ_PANEL_ROWS;
        const uint16_t *m = d + 2 * KZ_PANEL_ROWS;
        int32_t dots[KZ_PANEL_ROWS];
        dot_nibbles(row.q + b * KZ_BLOCK, record + 128 + b % 2 * 256, dots);
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            out_sums[r] += kz_float_from_f16(d[r]) * row.scale[b] * (float)dots[r];
            // m is added to each of the block's weights, so it meets the sum of the activations.
            out_sums[r] += kz_float_from_f16(m[r]) * (row.scale[b] * (float)row.sum[b]);
        }
    }
}

void kz_matmul_f32_f32__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                            size_t token_end) {
    matmul_with(matmul, matmul->columns * KZ_PANEL_ROWS * 4, sum_f32, panel, panel_end, token,
                token_end);
}

void kz_matmul_f32_f16__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                            size_t token_end) {
    matmul_with(matmul, matmul->columns * KZ_PANEL_ROWS * 2, sum_f16, panel, panel_end, token,
                token_end);
}

void kz_matmul_f32_bf16__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                             size_t token_end) {
    const size_t padded = (matmul->columns + 1) / 2 * 2;
    matmul_with(matmul, padded * KZ_PANEL_ROWS * 2, sum_bf16, panel, panel_end, token, token_end);
}

void kz_matmul_a8_q8_0__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                            size_t token_end) {
    const size_t records = kz_a8_padded(matmul->columns) / KZ_RECORD_COLUMNS;
    matmul_with(matmul, records * KZ_RECORD_Q8_0, sum_q8_0, panel, panel_end, token, token_end);
}

void kz_matmul_a8_q4_0__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                            size_t token_end) {
    const size_t records = kz_a8_padded(matmul->columns) / KZ_RECORD_COLUMNS;
    matmul_with(matmul, records * KZ_RECORD_Q4_0, sum_q4_0, panel, panel_end, token, token_end);
}

void kz_matmul_a8_q4_1__ref(const kz_matmul *matmul, size_t panel, size_t panel_end, size_t token,
                            size_t token_end) {
    const size_t records = kz_a8_padded(matmul->columns) / KZ_RECORD_COLUMNS;
    matmul_with(matmul, records * KZ_RECORD_Q4_1, sum_q4_1, panel, panel_end, token, token_end);
}
