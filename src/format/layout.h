// layout.h: how weights lie in a program file: what the exporter packs and the kernels read.
//
// KZ_ROWS     plain row-major elements of F32, F16, BF16, I32: norms, biases, small tables
// KZ_TILE16   matrices [rows][columns] that are multiplied: panels of 16 rows, one after the other,
//             the last one padded with zero rows. Within a panel, k ascends:
//   F32    [k][16] f32
//   F16    [k][16] f16
//   BF16   [k/2][16][2] bf16: the pair order of the bf16 dot instructions; k padded to even
//   Q8_0   records of 64 k: f16 d[2][16], then 16 groups of 64 bytes: group g holds k = 4g..4g+3,
//          byte 4 * row + (k - 4g)                                                   1088 B
//   Q4_0   records of 64 k: f16 d[2][16], then 8 groups of 64 bytes: group g holds k = 8g..8g+7,
//          byte 4 * row + j: low nibble k = 8g + j, high nibble k = 8g + 4 + j, j < 4  576 B
//   Q4_1   records of 64 k: f16 d[2][16], f16 m[2][16], then nibbles as Q4_0          640 B
//   IQ4_NL as Q4_0                                                                      576 B
//   Q5_0   records of 64 k: f16 d[2][16], nibbles as Q4_0, bits                        704 B
//   Q5_1   records of 64 k: f16 d[2][16], f16 m[2][16], nibbles as Q4_0, bits          768 B
//          bits: u64 h[16], little-endian: bit 4 * row + (k - 4g) of h[g] is the fifth bit of
//          k = 4g..4g+3
// d[b] and m[b] belong to the record's b-th block of 32 k. Columns are padded to a multiple of 64
// with zero scales (and zero m). A record is a whole number of cache lines, scales beside their
// values. Columns of the K types are a multiple of 256, a record; its part p has k = 64p..64p+63:
//   Q4_K   f16 d[16], f16 dmin[16], scales, 4 parts: nibbles as Q4_0                  2304 B
//   Q5_K   f16 d[16], f16 dmin[16], scales, 4 parts: nibbles as Q4_0, bits as Q5_0    2816 B
//          scales: u8 sl[4][16]: low nibble: the low 4 bits of sc of sub-block b < 4, high nibble:
//          of sub-block b + 4; u8 ml[4][16]: m alike; u8 sh[2][16]: bits 2 * (b % 4) and above of
//          sh[b / 4] are the upper two bits of sc of sub-block b < 8; u8 mh[2][16]: m alike
//   Q6_K   f16 d[16], 32 zero bytes, i8 sc[16][16] (sub-block, row), 4 parts: nibbles as Q4_0 (the
//          low 4 bits), u8 pairs[4][64]: bits 2i and 2i + 1 of byte 4 * row + j of pairs[v] are the
//          upper two bits of k = 16v + 4i + j, i and j < 4                             3392 B
//
// 16 rows x 4 k = 64 bytes is one AVX512 register, two AVX2 registers, a row of AMX's B tile (a
// Q8_0 record's 16 groups are one whole tile), and four NEON registers: so one file serves all
// machines.
#ifndef KZ_FORMAT_LAYOUT_H
#define KZ_FORMAT_LAYOUT_H

#include "format/quant.h"

#define KZ_PANEL_ROWS 16
#define KZ_RECORD_COLUMNS 64 // of a record of blocks of 32; a K type's record has KZ_SUPER_BLOCK

typedef enum kz_layout { KZ_ROWS = 0, KZ_TILE16 = 1 } kz_layout;

// "rows" or "tile16", as the program's JSON says it; a constant string.
const char *kz_layout_name(kz_layout layout);

// True when (type, layout) is one of the combinations above.
bool kz_layout_holds(kz_layout layout, kz_type type);

// Columns after padding, as the tiles of `type` hold them.
size_t kz_layout_padded_columns(kz_type type, size_t columns);

// Bytes and columns of one record of a quantised type; 0 for types whose panels have none.
size_t kz_layout_record_bytes(kz_type type);
size_t kz_layout_record_columns(kz_type type);

// Bytes of one panel of 16 rows (KZ_TILE16); 0 when the type has no tile or the size overflows.
size_t kz_layout_panel_bytes(kz_type type, size_t columns);

// Bytes of a whole tensor. Fails with BAD_ARGUMENT (combination) or OUT_OF_MEMORY (overflow).
KAZEIA_MUST_CHECK kazeia_status kz_layout_tensor_bytes(kz_layout layout, kz_type type, size_t rows,
                                                       size_t columns, size_t *out_bytes);

// Packs up to 16 rows given in row form (each kz_type_row_bytes long) into one panel. `rows[i]`
// NULL or i >= row_count is a zero row. Columns of quantised types are a multiple of their block.
// Rows and panel need no alignment and do not overlap; the type has a tile (kz_layout_holds).
void kz_layout_pack_panel(kz_type type, const void *const *rows, size_t row_count, size_t columns,
                          void *out_panel);

// The inverse for one row (0..15) of a panel, decoded to float: the plain meaning of the layout,
// and the reference for kernels that read single rows (embedding).
void kz_layout_unpack_row(kz_type type, const void *panel, size_t row, size_t columns,
                          float *out_values);

#endif
