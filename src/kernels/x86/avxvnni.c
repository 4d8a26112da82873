// avxvnni.c: what AVX-VNNI adds to AVX2: the integer products.
//
// in, out: see matmul_a8_tile.h, compiled here with 256-bit vpdpbusd.
#define KZ_ISA avxvnni
#define SIMD_AVXVNNI
#include "kernels/x86/simd_avx2.h"

#include "kernels/tile/math_tile.h"

#include "kernels/tile/matmul_tile.h"

#include "kernels/tile/matmul_a8_types.h"

#include "kernels/tile/matmul_a8_tile.h"
