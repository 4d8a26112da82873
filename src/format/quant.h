// quant.h: element types and what their blocks are.
//
// A "row form" is how a checkpoint stores one row: plain elements, or blocks one after the other.
// Tiles that kernels read are in layout.h; both decode to the same values. Block formulas are those
// of GGUF (ggml-quants). Blocks of 32; in the 4- and 5-bit types the low nibbles are elements 0..15
// and the high nibbles 16..31; bit i of h (little-endian) is the fifth bit of element i.
//   Q8_0    34 B: f16 d, i8 q[32]                      w = d * q
//   Q4_0    18 B: f16 d, u8 q[16]                      w = d * (q - 8)
//   Q4_1    20 B: f16 d, f16 m, u8 q[16]               w = d * q + m
//   Q5_0    22 B: f16 d, u32 h, u8 q[16]               w = d * (q - 16)
//   Q5_1    24 B: f16 d, f16 m, u32 h, u8 q[16]        w = d * q + m
//   IQ4_NL  18 B: f16 d, u8 q[16]                      w = d * kz_iq4_nl_values[q]
// Super-blocks of 256: sub-blocks have small integer scales, which a float per super-block scales.
//   Q4_K   144 B: f16 d, f16 dmin, u8 s[12], u8 q[128]             w = d * sc * q - dmin * m
//   Q5_K   176 B: f16 d, f16 dmin, u8 s[12], u8 h[32], u8 q[128]   w = d * sc * q - dmin * m
//   Q6_K   210 B: u8 q[128], u8 h[64], i8 sc[16], f16 d            w = d * sc * (q - 32)
// Q4_K and Q5_K have 8 sub-blocks of 32 with 6-bit sc and m: s[0..3] and s[4..7] hold those of
// sub-blocks 0..3 in their low 6 bits; their top 2 bits, and s[8..11] as nibbles, those of 4..7.
// Q6_K has 16 sub-blocks of 16. quant_blocks.c says where each integer's bits are.
#ifndef KZ_FORMAT_QUANT_H
#define KZ_FORMAT_QUANT_H

#include "base/status.h"

// The numbers stand in program files: they never change meaning.
//   X(name, value, text, elements of a block, bytes of a block in row form)
#define KZ_TYPE_LIST(X)             \
    X(F32, 0, "f32", 1, 4)          \
    X(F16, 1, "f16", 1, 2)          \
    X(BF16, 2, "bf16", 1, 2)        \
    X(I32, 3, "i32", 1, 4)          \
    X(I8, 4, "i8", 1, 1)            \
    X(Q8_0, 16, "q8_0", 32, 34)     \
    X(Q4_0, 17, "q4_0", 32, 18)     \
    X(Q4_1, 18, "q4_1", 32, 20)     \
    X(Q5_0, 19, "q5_0", 32, 22)     \
    X(Q5_1, 20, "q5_1", 32, 24)     \
    X(IQ4_NL, 21, "iq4_nl", 32, 18) \
    X(Q4_K, 24, "q4_k", 256, 144)   \
    X(Q5_K, 25, "q5_k", 256, 176)   \
    X(Q6_K, 26, "q6_k", 256, 210)   \
    X(A8, 48, "a8", 32, 44)         \
    X(A16, 49, "a16", 32, 88) // A8, A16: activations, in the arena only: see below

typedef enum kz_type {
#define KZ_TYPE_ENUM(name, value, text, elements, bytes) KZ_##name = value,
    KZ_TYPE_LIST(KZ_TYPE_ENUM)
#undef KZ_TYPE_ENUM
} kz_type;

#define KZ_BLOCK 32        // elements that share one scale
#define KZ_SUPER_BLOCK 256 // elements of a block of the K types

// What the nibbles of IQ4_NL mean.
extern const int8_t kz_iq4_nl_values[16];

// False when `type` is not in the list above (a number from a file).
bool kz_type_is_known(uint32_t type);
// Of a known type: its name as "q8_0", the elements of a block and the block's bytes in row form.
// Of any other number: "unknown" and zeros.
const char *kz_type_name(kz_type type);
uint32_t kz_type_block_elements(kz_type type);
uint32_t kz_type_block_bytes(kz_type type);
// Sets *out_type; false when no type is called `text`.
bool kz_type_from_name(const char *text, kz_type *out_type);
// Bytes of a row of `columns` elements in row form; columns is a multiple of the block (A8 and
// A16: any number, the row is padded as said below). 0 when the type is unknown or the size
// overflows.
size_t kz_type_row_bytes(kz_type type, size_t columns);

// Row form -> float; bit-equal to the reference dequantisers (at most two float multiplications, of
// which one is exact, and one addition). `row` needs no alignment. A8, A16 and integers are not
// decoded: false.
bool kz_quant_decode_row(kz_type type, const void *row, size_t columns, float *out_values);

// True for the types that kz_quant_encode_row makes; the other ones can only be kept.
bool kz_quant_can_encode(kz_type type);
// Float -> row form: round to nearest even for F16 and BF16; Q8_0 by largest magnitude / 127; Q4_0
// and Q4_1 with a search of the scale that has the least squared error. The same floats give the
// same bytes on every machine. False, with `out_row` half written, when the type is none of these
// or F32, when a block of a quantised type holds a value
// that is not finite, or when a finite value or scale is too large for f16.
bool kz_quant_encode_row(kz_type type, const float *values, size_t columns, void *out_row);

// --- KZ_A8: activations of one token, quantised on the fly --------------------------------------
// A row holds K values padded with zeros to Kp, a multiple of 64:
//   i8    q[Kp]            x = scale[k / 32] * q[k], |q| <= 127
//   f32   scale[Kp / 32]
//   i32   sum[Kp / 32]     q[0] + ... + q[31]: pays back the weights' offset, exactly
//   i32   half[Kp / 32]    q[0] + ... + q[15]: the same for sub-blocks of 16
// and is padded to 64 bytes. Rows start at multiples of 64.
static inline size_t kz_a8_padded(size_t columns) {
    return (columns + 63) / 64 * 64;
}
static inline size_t kz_a8_row_bytes(size_t columns) {
    const size_t padded = kz_a8_padded(columns);
    return (padded + padded / KZ_BLOCK * 3 * sizeof(float) + 63) / 64 * 64;
}

// --- KZ_A16: the same in two parts ---------------------------------------------------------------
// A row is two KZ_A8 rows, one after the other: the values, and what the first row leaves of them,
// x - scale[k / 32] * q[k], which has scales of its own. The values of [T] such rows are the sums
// of pairs of [2 * T] KZ_A8 rows, so that the same kernels serve both; 16 bits in effect.
static inline size_t kz_a16_row_bytes(size_t columns) {
    return 2 * kz_a8_row_bytes(columns);
}

// True for the forms that LINEARs with quantised weights read.
static inline bool kz_type_is_activation(kz_type type) {
    return type == KZ_A8 || type == KZ_A16;
}

#endif
