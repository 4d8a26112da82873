// cases.h: material for the kernel test and the micro-benchmark: random numbers and tiled tensors.
//
// in: shapes and a seed. out: heap memory that the caller frees, aligned as the runtime's is.
#ifndef KZ_TESTS_KERNELS_CASES_H
#define KZ_TESTS_KERNELS_CASES_H

#include "kernels/rows.h"
#include "kernels/variants.h"

typedef struct case_random {
    uint64_t state;
} case_random;

uint32_t case_next(case_random *random);
// Uniform in [-1, 1).
float case_float(case_random *random);
// Uniform in [0, count).
size_t case_below(case_random *random, size_t count);

// Zeroed, aligned to 64; ends the program when there is no memory.
void *case_memory(size_t bytes);
float *case_floats(case_random *random, size_t count, float size);

typedef enum case_kind {
    CASE_RANDOM,
    CASE_EXTREME, // weights of the largest magnitude, all of one sign
    CASE_MIXED,   // the largest magnitudes with random signs
} case_kind;

// One row of a weight in row form (format/quant.h).
void case_weight_row(case_random *random, kz_type type, case_kind kind, size_t columns,
                     void *out_row);
// A KZ_TILE16 tensor, packed by format/layout.h.
void *case_weights(case_random *random, kz_type type, case_kind kind, size_t rows, size_t columns);
// `tokens` KZ_A8 rows, quantised by the reference.
void *case_a8_rows(const float *x, size_t tokens, size_t columns);

// True when the type's activations are KZ_A8.
bool case_is_quantised(kz_type type);
// True when a block has a minimum beside its scale.
bool case_has_minimum(kz_type type);
// `columns`, or the next multiple of the type's block.
size_t case_columns(kz_type type, size_t columns);
kz_type case_matmul_type(kz_kernel_slot slot);
kz_type case_cache_type(kz_kernel_slot slot);
bool case_slot_starts(kz_kernel_slot slot, const char *start);

#endif
