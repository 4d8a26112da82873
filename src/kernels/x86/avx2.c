// avx2.c: all kernels for AVX2 with FMA and F16C.
//
// in, out: see the *_tile.h files, which are compiled here with pairs of 256-bit registers.
#define KZ_ISA avx2
#include "kernels/x86/simd_avx2.h"

#include "kernels/tile/math_tile.h"

#include "kernels/tile/matmul_tile.h"

#include "kernels/tile/matmul_a8_types.h"

#include "kernels/tile/matmul_a8_tile.h"
#include "kernels/tile/matmul_f32_tile.h"

#include "kernels/tile/attention_tile.h"

#include "kernels/tile/attention_bulk_tile.h"
#include "kernels/tile/rows_tile.h"

#include "kernels/tile/signal_tile.h"
