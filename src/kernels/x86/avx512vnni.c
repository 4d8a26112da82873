// avx512vnni.c: all kernels for AVX512 with VNNI.
//
// in, out: see the *_tile.h files, which are compiled here with 512-bit registers.
#define KZ_ISA avx512vnni
#include "kernels/x86/simd_avx512.h"

#include "kernels/tile/math_tile.h"

#include "kernels/tile/matmul_tile.h"

#include "kernels/tile/matmul_a8_types.h"

#include "kernels/tile/matmul_a8_bulk_tile.h"
#include "kernels/tile/matmul_a8_tile.h"
#include "kernels/tile/matmul_f32_tile.h"

#include "kernels/tile/attention_tile.h"

#include "kernels/tile/attention_bulk_tile.h"
#include "kernels/tile/rows_tile.h"

#include "kernels/tile/signal_tile.h"
