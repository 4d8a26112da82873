// neon.c: all kernels for 64-bit ARM's Advanced SIMD.
//
// in, out: see the *_tile.h files, which are compiled here with four registers for sixteen lanes.
#define KZ_ISA neon
#include "kernels/arm/simd_neon.h"

#include "kernels/tile/math_tile.h"

#include "kernels/tile/matmul_tile.h"

#include "kernels/tile/matmul_a8_types.h"

#include "kernels/tile/matmul_a8_tile.h"
#include "kernels/tile/matmul_f32_tile.h"

#include "kernels/tile/attention_tile.h"

#include "kernels/tile/attention_bulk_tile.h"
#include "kernels/tile/rows_tile.h"

#include "kernels/tile/signal_tile.h"
