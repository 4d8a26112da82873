// embed.c: one row of a tiled table as floats.
//
// in: a KZ_TILE16 tensor, a row. out: [columns] floats times `scale`. A row of a tile is strided by
// design; looking up one row a token is far too rare to be worth a faster variant.
#include "base/half.h"
#include "kernels/rows.h"
#include "kernels/variants.h"

static const uint8_t *panel_of(const void *weights, size_t row, size_t panel_bytes) {
    return (const uint8_t *)weights + row / KZ_PANEL_ROWS * panel_bytes;
}

void kz_embed_f32__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    const size_t panel_bytes = columns * KZ_PANEL_ROWS * sizeof(float);
    const float *values = (const float *)panel_of(weights, row, panel_bytes) + row % KZ_PANEL_ROWS;
    for (size_t k = 0; k < columns; k++) {
        out[k] = values[k * KZ_PANEL_ROWS] * scale;
    }
}

void kz_embed_f16__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    const size_t panel_bytes = columns * KZ_PANEL_ROWS * sizeof(uint16_t);
    const uint16_t *values =
        (const uint16_t *)panel_of(weights, row, panel_bytes) + row % KZ_PANEL_ROWS;
    for (size_t k = 0; k < columns; k++) {
        out[k] = kz_float_from_f16(values[k * KZ_PANEL_ROWS]) * scale;
    }
}

void kz_embed_bf16__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    // A panel holds whole pairs of k: an odd last column has a padding partner.
    const size_t panel_bytes = (columns + 1) / 2 * 2 * KZ_PANEL_ROWS * sizeof(uint16_t);
    const uint16_t *pairs =
        (const uint16_t *)panel_of(weights, row, panel_bytes) + row % KZ_PANEL_ROWS * 2;
    for (size_t k = 0; k < columns; k++) {
        out[k] = kz_float_from_bf16(pairs[k / 2 * 2 * KZ_PANEL_ROWS + k % 2]) * scale;
    }
}

// A record has its 2 x 16 scales in 64 bytes in front, then a byte for each row and k: four k of a
// row lie side by side (format/layout.h).
void kz_embed_q8_0__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    const size_t records = kz_a8_padded(columns) / KZ_RECORD_COLUMNS;
    const uint8_t *panel = panel_of(weights, row, records * KZ_RECORD_Q8_0);
    const size_t r = row % KZ_PANEL_ROWS;
    for (size_t k = 0; k < columns; k++) {
        const uint8_t *record = panel + k / KZ_RECORD_COLUMNS * KZ_RECORD_Q8_0;
        const size_t at = k % KZ_RECORD_COLUMNS;
        const uint16_t *d = (const uint16_t *)record + at / KZ_BLOCK * KZ_PANEL_ROWS;
        const int8_t q = (int8_t)record[64 + at / 4 * 64 + 4 * r + at % 4];
        out[k] = kz_float_from_f16(d[r]) * (float)q * scale;
    }
}

// Element `at` (0..63) of row `r` in eight groups of nibbles.
static int nibble_of(const uint8_t *groups, size_t r, size_t at) {
    const uint8_t pair = groups[at / 8 * 64 + 4 * r + at % 4];
    return at % 8 < 4 ? pair & 15 : pair >> 4;
}

void kz_embed_q4_0__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    const size_t records = kz_a8_padded(columns) / KZ_RECORD_COLUMNS;
    const uint8_t *panel = panel_of(weights, row, records * KZ_RECORD_Q4_0);
    const size_t r = row % KZ_PANEL_ROWS;
    for (size_t k = 0; k < columns; k++) {
        const uint8_t *record = panel + k / KZ_RECORD_COLUMNS * KZ_RECORD_Q4_0;
        const size_t at = k % KZ_RECORD_COLUMNS;
        const uint16_t *d = (const uint16_t *)record + at / KZ_BLOCK * KZ_PANEL_ROWS;
        out[k] = kz_float_from_f16(d[r]) * (float)(nibble_of(record + 64, r, at) - 8) * scale;
    }
}

// 16 rows x 2 blocks of d, as many of m, then the nibbles: hence byte 128.
void kz_embed_q4_1__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    const size_t records = kz_a8_padded(columns) / KZ_RECORD_COLUMNS;
    const uint8_t *panel = panel_of(weights, row, records * KZ_RECORD_Q4_1);
    const size_t r = row % KZ_PANEL_ROWS;
    for (size_t k = 0; k < columns; k++) {
        const uint8_t *record = panel + k / KZ_RECORD_COLUMNS * KZ_RECORD_Q4_1;
        const size_t at = k % KZ_RECORD_COLUMNS;
        const uint16_t *d = (const uint16_t *)record + at / KZ_BLOCK * KZ_PANEL_ROWS;
        const float m = kz_float_from_f16(d[2 * KZ_PANEL_ROWS + r]);
        const float q = (float)nibble_of(record + 128, r, at);
        out[k] = (kz_float_from_f16(d[r]) * q + m) * scale;
    }
}

// Types whose integers lie in several places: format/layout.h says where.
static void embed_unpacked(kz_type type, const void *weights, size_t columns, size_t row,
                           float scale, float *out) {
    const uint8_t *panel = panel_of(weights, row, kz_layout_panel_bytes(type, columns));
    kz_layout_unpack_row(type, panel, row % KZ_PANEL_ROWS, columns, out);
    for (size_t k = 0; k < columns; k++) {
        out[k] *= scale;
    }
}

void kz_embed_q5_0__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    embed_unpacked(KZ_Q5_0, weights, columns, row, scale, out);
}

void kz_embed_q5_1__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    embed_unpacked(KZ_Q5_1, weights, columns, row, scale, out);
}

void kz_embed_iq4_nl__ref(const void *weights, size_t columns, size_t row, float scale,
                          float *out) {
    embed_unpacked(KZ_IQ4_NL, weights, columns, row, scale, out);
}

void kz_embed_q4_k__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    embed_unpacked(KZ_Q4_K, weights, columns, row, scale, out);
}

void kz_embed_q5_k__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    embed_unpacked(KZ_Q5_K, weights, columns, row, scale, out);
}

void kz_embed_q6_k__ref(const void *weights, size_t columns, size_t row, float scale, float *out) {
    embed_unpacked(KZ_Q6_K, weights, columns, row, scale, out);
}
