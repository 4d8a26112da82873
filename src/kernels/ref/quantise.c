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

void kz_quantise_a8__ref(const float *x, size_t columns, void *out_row) {
    const size_t blocks = kz_a8_padded(columns) / KZ_BLOCK;
    int8_t *q = out_row;
    float *scale = (float *)(q + blocks * KZ_BLOCK);
    int32_t *sum = (int32_t *)(scale + blocks);
    int32_t *half = sum + blocks;
    // Scales, sums and what pads the row to 64 bytes: no byte of a row stays undefined.
    memset(q + blocks * KZ_BLOCK, 0, kz_a8_row_bytes(columns) - blocks * KZ_BLOCK);
    for (size_t b = 0; b < blocks; b++) {
        const size_t first = b * KZ_BLOCK;
        const size_t left = first < columns ? columns - first : 0;
        // A block of padding alone reads nothing; its pointer still stays inside the array.
        scale[b] = quantise_block(x + (left > 0 ? first : 0), left < KZ_BLOCK ? left : KZ_BLOCK,
                                  q + first);
        sum[b] = kz_a8_block_sum(q + first, KZ_BLOCK);
        half[b] = kz_a8_block_sum(q + first, KZ_BLOCK / 2);
    }
}
