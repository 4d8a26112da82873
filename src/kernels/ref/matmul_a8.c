// matmul_a8.c: KZ_A8 activations times quantised panels, plainly.
//
// in: kz_matmul, panels, tokens. out: the rows' outputs. A block's product of 32 k is an exact
// integer; then, in this order, the weights' scale times the activations' is rounded, times the
// integer, and added to the sum; a minimum times (scale * sum of the block's activations) is added
// after. Both additions are fused with their multiplication, as in the fast kernels, so that all
// give the same bits. Products of an f16 and a small integer scale (K types) are exact, so their
// order does not matter.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/ref/matmul_panels.h"
#include "kernels/rows.h"

static void add_product(float a, float b, float *sum) {
    *sum = fmaf(a, b, *sum);
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
            add_product(kz_float_from_f16(d[r]) * row.scale[b], (float)dots[r], &out_sums[r]);
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
            add_product(kz_float_from_f16(d[r]) * row.scale[b], dot, &out_sums[r]);
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
            add_product(kz_float_from_f16(d[r]) * row.scale[b], (float)dots[r], &out_sums[r]);
            // m is added to each of the block's weights, so it meets the sum of the activations.
            add_product(kz_float_from_f16(m[r]), row.scale[b] * (float)row.sum[b], &out_sums[r]);
        }
    }
}

// The integers of a block of 32 k, without offset.
typedef uint8_t block_integers[KZ_BLOCK][KZ_PANEL_ROWS];

// `groups` are four groups of nibbles.
static void take_nibbles(const uint8_t *groups, block_integers out) {
    for (size_t k = 0; k < KZ_BLOCK; k++) {
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            const uint8_t pair = groups[k / 8 * 64 + 4 * r + k % 4];
            out[k][r] = k % 8 < 4 ? pair & 15 : pair >> 4;
        }
    }
}

// `bits` are eight words of 64 bits, one for each four k.
static void add_fifth_bits(const uint8_t *bits, block_integers out) {
    for (size_t k = 0; k < KZ_BLOCK; k++) {
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            const size_t bit = 4 * r + k % 4;
            const int is_set = bits[k / 4 * 8 + bit / 8] >> bit % 8 & 1;
            out[k][r] = (uint8_t)(out[k][r] | is_set << 4);
        }
    }
}

// `pairs` are two groups of 16 k.
static void add_pairs(const uint8_t *pairs, block_integers out) {
    for (size_t k = 0; k < KZ_BLOCK; k++) {
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            const int upper = pairs[k / 16 * 64 + 4 * r + k % 4] >> 2 * (k / 4 % 4) & 3;
            out[k][r] = (uint8_t)(out[k][r] | upper << 4);
        }
    }
}

static void dot_integers(const int8_t *q, block_integers weights, size_t k, size_t k_end,
                         int32_t out_dots[16]) {
    memset(out_dots, 0, KZ_PANEL_ROWS * sizeof *out_dots);
    for (; k < k_end; k++) {
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            out_dots[r] += q[k] * weights[k][r];
        }
    }
}

// Q5_0 and Q5_1.
static void sum_q5(kz_type type, const void *x, const void *panel, size_t columns,
                   float out_sums[16]) {
    const bool has_minimum = type == KZ_Q5_1;
    const size_t record_bytes = has_minimum ? KZ_RECORD_Q5_1 : KZ_RECORD_Q5_0;
    const kz_a8_row row = kz_a8_row_of(x, columns);
    for (size_t b = 0; b < kz_a8_padded(columns) / KZ_BLOCK; b++) {
        const uint8_t *record = (const uint8_t *)panel + b / 2 * record_bytes;
        const uint16_t *d = (const uint16_t *)record + b % 2 * KZ_PANEL_ROWS;
        const uint16_t *m = d + 2 * KZ_PANEL_ROWS;
        const uint8_t *values = record + (has_minimum ? 128 : 64);
        const int32_t offset = has_minimum ? 0 : 16 * row.sum[b];
        block_integers weights;
        int32_t dots[KZ_PANEL_ROWS];
        take_nibbles(values + b % 2 * 256, weights);
        add_fifth_bits(values + 512 + b % 2 * 64, weights);
        dot_integers(row.q + b * KZ_BLOCK, weights, 0, KZ_BLOCK, dots);
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            add_product(kz_float_from_f16(d[r]) * row.scale[b], (float)(dots[r] - offset),
                        &out_sums[r]);
            if (has_minimum) {
                add_product(kz_float_from_f16(m[r]), row.scale[b] * (float)row.sum[b],
                            &out_sums[r]);
            }
        }
    }
}

static void sum_q5_0(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    sum_q5(KZ_Q5_0, x, panel, columns, out_sums);
}

static void sum_q5_1(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    sum_q5(KZ_Q5_1, x, panel, columns, out_sums);
}

static void sum_iq4_nl(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    const kz_a8_row row = kz_a8_row_of(x, columns);
    for (size_t b = 0; b < kz_a8_padded(columns) / KZ_BLOCK; b++) {
        const uint8_t *record = (const uint8_t *)panel + b / 2 * KZ_RECORD_IQ4_NL;
        const uint16_t *d = (const uint16_t *)record + b % 2 * KZ_PANEL_ROWS;
        block_integers indices;
        take_nibbles(record + 64 + b % 2 * 256, indices);
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            int32_t dot = 0;
            for (size_t k = 0; k < KZ_BLOCK; k++) {
                dot += row.q[b * KZ_BLOCK + k] * kz_iq4_nl_values[indices[k][r]];
            }
            add_product(kz_float_from_f16(d[r]) * row.scale[b], (float)dot, &out_sums[r]);
        }
    }
}

// Number b of eight in six bits: `low` is [4][16] nibbles, `high` [2][16] pairs.
static float six_bits_of(const uint8_t *low, const uint8_t *high, size_t b, size_t row) {
    const int nibble = low[b % 4 * KZ_PANEL_ROWS + row] >> b / 4 * 4 & 15;
    return (float)(nibble | (high[b / 4 * KZ_PANEL_ROWS + row] >> b % 4 * 2 & 3) << 4);
}

// Sub-block b (0..7) of a record of Q4_K or Q5_K, which is block `block` of the row.
static void add_k_block(kz_type type, const kz_a8_row *row, size_t block, const uint8_t *record,
                        size_t b, float sums[16]) {
    const uint16_t *d = (const uint16_t *)record;
    const uint16_t *dmin = d + KZ_PANEL_ROWS;
    const uint8_t *scales = record + 64; // sl 64 bytes, ml 64, sh 32, mh 32
    const uint8_t *part = record + 256 + b / 2 * (type == KZ_Q5_K ? 640 : 512);
    block_integers weights;
    int32_t dots[KZ_PANEL_ROWS];
    take_nibbles(part + b % 2 * 256, weights);
    if (type == KZ_Q5_K) {
        add_fifth_bits(part + 512 + b % 2 * 64, weights);
    }
    dot_integers(row->q + block * KZ_BLOCK, weights, 0, KZ_BLOCK, dots);
    const float scaled_sum = row->scale[block] * (float)row->sum[block];
    for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
        const float scale = kz_float_from_f16(d[r]) * six_bits_of(scales, scales + 128, b, r);
        const float minimum =
            kz_float_from_f16(dmin[r]) * six_bits_of(scales + 64, scales + 160, b, r);
        add_product(scale * row->scale[block], (float)dots[r], &sums[r]);
        add_product(-minimum, scaled_sum, &sums[r]);
    }
}

static void sum_k(kz_type type, const void *x, const void *panel, size_t columns,
                  float out_sums[16]) {
    const size_t record_bytes = type == KZ_Q5_K ? KZ_RECORD_Q5_K : KZ_RECORD_Q4_K;
    const kz_a8_row row = kz_a8_row_of(x, columns);
    for (size_t b = 0; b < columns / KZ_BLOCK; b++) {
        const uint8_t *record = (const uint8_t *)panel + b / 8 * record_bytes;
        add_k_block(type, &row, b, record, b % 8, out_sums);
    }
}

static void sum_q4_k(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    sum_k(KZ_Q4_K, x, panel, columns, out_sums);
}

static void sum_q5_k(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    sum_k(KZ_Q5_K, x, panel, columns, out_sums);
}

// Two sub-blocks of 16 k a block: |sum| <= 2 x 128 x 16 x 32 x 127 is below 2^24, exact in a float.
static void sum_q6_k(const void *x, const void *panel, size_t columns, float out_sums[16]) {
    const kz_a8_row row = kz_a8_row_of(x, columns);
    for (size_t b = 0; b < columns / KZ_BLOCK; b++) {
        const uint8_t *record = (const uint8_t *)panel + b / 8 * KZ_RECORD_Q6_K;
        const uint16_t *d = (const uint16_t *)record;
        const int8_t *sc = (const int8_t *)record + 64 + b % 8 * 2 * KZ_PANEL_ROWS;
        const uint8_t *part = record + 320 + b % 8 / 2 * 768;
        block_integers weights;
        int32_t first[KZ_PANEL_ROWS];
        int32_t second[KZ_PANEL_ROWS];
        take_nibbles(part + b % 2 * 256, weights);
        add_pairs(part + 512 + b % 2 * 128, weights);
        dot_integers(row.q + b * KZ_BLOCK, weights, 0, KZ_BLOCK / 2, first);
        dot_integers(row.q + b * KZ_BLOCK, weights, KZ_BLOCK / 2, KZ_BLOCK, second);
        for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
            const int32_t dot =
                sc[r] * (first[r] - 32 * row.half[b]) +
                sc[KZ_PANEL_ROWS + r] * (second[r] - 32 * (row.sum[b] - row.half[b]));
            add_product(kz_float_from_f16(d[r]) * row.scale[b], (float)dot, &out_sums[r]);
        }
    }
}

// A kernel of one type: the name as kernels.def has it, that of format/quant.h, and the sum.
#define A8_KERNEL(name, type, sum)                                                                 \
    void kz_matmul_a8_##name##__ref(const kz_matmul *matmul, size_t panel, size_t panel_end,       \
                                    size_t token, size_t token_end) {                              \
        kz_ref_matmul(matmul, kz_layout_panel_bytes(type, matmul->columns), sum, panel, panel_end, \
                      token, token_end);                                                           \
    }

A8_KERNEL(q8_0, KZ_Q8_0, sum_q8_0)
A8_KERNEL(q4_0, KZ_Q4_0, sum_q4_0)
A8_KERNEL(q4_1, KZ_Q4_1, sum_q4_1)
A8_KERNEL(q5_0, KZ_Q5_0, sum_q5_0)
A8_KERNEL(q5_1, KZ_Q5_1, sum_q5_1)
A8_KERNEL(iq4_nl, KZ_IQ4_NL, sum_iq4_nl)
A8_KERNEL(q4_k, KZ_Q4_K, sum_q4_k)
A8_KERNEL(q5_k, KZ_Q5_K, sum_q5_k)
A8_KERNEL(q6_k, KZ_Q6_K, sum_q6_k)
