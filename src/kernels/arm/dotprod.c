// dotprod.c: what ARM's dot product extension adds to Advanced SIMD: the integer products.
//
// in, out: see matmul_a8_tile.h and matmul_a8_bulk_tile.h, compiled here with sdot. Three tokens in
// registers pay for unpacking less often than AVX512's six, so bulk products of all types but Q8_0
// unpack once for many: 0.12 instructions a product instead of 0.14 for Q4_0, 0.13 of 0.24 for
// Q5_0.
#define KZ_ISA dotprod
#define SIMD_DOTPROD
#define SIMD_BULK_ALL
#include "kernels/arm/simd_neon.h"

#include "kernels/tile/math_tile.h"

#include "kernels/tile/matmul_tile.h"

#include "kernels/tile/matmul_a8_types.h"

#include "kernels/tile/matmul_a8_bulk_tile.h"
#include "kernels/tile/matmul_a8_tile.h"
