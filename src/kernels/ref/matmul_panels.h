// matmul_panels.h: how the reference products of all types walk panels and tokens.
//
// in: kz_matmul, a range, the sum of one token and one panel. out: the rows' outputs.
#ifndef KZ_KERNELS_REF_MATMUL_PANELS_H
#define KZ_KERNELS_REF_MATMUL_PANELS_H

#include "kernels/variants.h"

// Adds sum_k x[k] * w[r][k] of the panel's 16 rows r to out_sums, which are zeros.
typedef void (*kz_ref_sum_panel)(const void *x, const void *panel, size_t columns,
                                 float out_sums[16]);

// Panels are `panel_bytes` apart; bias, activation and residual are applied to each sum.
void kz_ref_matmul(const kz_matmul *matmul, size_t panel_bytes, kz_ref_sum_panel sum, size_t panel,
                   size_t panel_end, size_t token, size_t token_end);

#endif
