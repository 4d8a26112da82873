// rows.h: places inside quantised activations and weight records that every variant needs.
//
// in: a KZ_A8 row (format/quant.h). out: its four planes. The record sizes are those of
// format/layout.h, as constants that loops can be compiled with.
#ifndef KZ_KERNELS_ROWS_H
#define KZ_KERNELS_ROWS_H

#include "format/layout.h"

// Bytes of a record: 16 rows by 64 columns of a panel, 256 columns of the K types.
enum {
    KZ_RECORD_Q8_0 = 1088,
    KZ_RECORD_Q4_0 = 576,
    KZ_RECORD_Q4_1 = 640,
    KZ_RECORD_Q5_0 = 704,
    KZ_RECORD_Q5_1 = 768,
    KZ_RECORD_IQ4_NL = 576,
    KZ_RECORD_Q4_K = 2304,
    KZ_RECORD_Q5_K = 2816,
    KZ_RECORD_Q6_K = 3392
};

// The planes of one KZ_A8 row; pointers into the row.
typedef struct kz_a8_row {
    const int8_t *q;     // [padded columns]
    const float *scale;  // [padded columns / 32]
    const int32_t *sum;  // [padded columns / 32]
    const int32_t *half; // [padded columns / 32]: of the first 16 of each block
} kz_a8_row;

// `row` starts at a multiple of 64, so the planes are aligned for their types.
static inline kz_a8_row kz_a8_row_of(const void *row, size_t columns) {
    const size_t padded = kz_a8_padded(columns);
    const size_t blocks = padded / KZ_BLOCK;
    const float *scale = (const float *)((const char *)row + padded);
    const int32_t *sum = (const int32_t *)(scale + blocks);
    return (kz_a8_row){row, scale, sum, sum + blocks};
}

#endif
