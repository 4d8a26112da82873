// quantise.c: floats to a KZ_A8 row.
//
// in: [columns] floats. out: one row as format/quant.h has it, zeros in its padding. A block whose
// largest magnitude is so small that 127 / it overflows is all zeros: such values are below 4e-37.
#include <math.h>
#include <string.h>

#include "kernels/ref/scalar.h"
#include "kernels/variants.h"

// NaN when a value is not finite.
static float largest_magnitude(const float *x, size_t count) {
    float largest = 0.0f;
    for (size_t i = 0; i < count; i++) {
        const float magnitude = fabsf(x[i]);
        if (!isfinite(magnitude)) {
            return NAN;
        }
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

// Up to 32 values; returns the scale, NaN when a value is not finite (the integers are zeros then).
static float quantise_block(const float *x, size_t count, int8_t *out_q) {
    const float largest = largest_magnitude(x, count);
    const float inverse = 127.0f / largest;
    memset(out_q, 0, KZ_BLOCK);
    if (isnan(largest)) {
        return NAN;
    }
    if (isinf(inverse)) {
        return 0.0f;
    }
    for (size_t i = 0; i < count; i++) {
        // rintf rounds to nearest even, as the vector conversions do: all variants make the same
        // row.
        out_q[i] = (int8_t)rintf(x[i] * inverse);
    }
    return largest / 127.0f;
}

// The planes of a row that is being written.
typedef struct row_planes {
    int8_t *q;
    float *scale;
    int32_t *sum, *half;
} row_planes;

static row_planes begin_row(size_t columns, void *out_row) {
    const size_t blocks = kz_a8_padded(columns) / KZ_BLOCK;
    int8_t *q = out_row;
    float *scale = (float *)(q + blocks * KZ_BLOCK);
    int32_t *sum = (int32_t *)(scale + blocks);
    // What pads the row to 64 bytes, too: no byte of a row stays undefined.
    memset(out_row, 0, kz_a8_row_bytes(columns));
    return (row_planes){.q = q, .scale = scale, .sum = sum, .half = sum + blocks};
}

static void write_block(const float *x, size_t count, size_t block, const row_planes *row) {
    int8_t *q = row->q + block * KZ_BLOCK;
    row->scale[block] = quantise_block(x, count, q);
    row->sum[block] = kz_a8_block_sum(q, KZ_BLOCK);
    row->half[block] = kz_a8_block_sum(q, KZ_BLOCK / 2);
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

void kz_quantise_a8__ref(const float *x, size_t columns, void *out_row) {
    const row_planes row = begin_row(columns, out_row);
    for (size_t k = 0; k < columns; k += KZ_BLOCK) {
        write_block(x + k, smaller(KZ_BLOCK, columns - k), k / KZ_BLOCK, &row);
    }
}

void kz_quantise_a16__ref(const float *x, size_t columns, void *out_row) {
    const row_planes row = begin_row(columns, out_row);
    const row_planes rest = begin_row(columns, (uint8_t *)out_row + kz_a8_row_bytes(columns));
    for (size_t k = 0; k < columns; k += KZ_BLOCK) {
        const size_t count = smaller(KZ_BLOCK, columns - k);
        float left[KZ_BLOCK];
        write_block(x + k, count, k / KZ_BLOCK, &row);
        for (size_t i = 0; i < count; i++) {
            left[i] = x[k + i] - row.scale[k / KZ_BLOCK] * (float)row.q[k + i];
        }
        write_block(left, count, k / KZ_BLOCK, &rest);
    }
}
