// layout.c: how large panels of 16 rows are, and what one row of them means.
//
// in:  types and shapes; panels as layout.h draws them
// out: bytes; floats
// Unpacking is written apart from the packing (layout_pack.c), element by element, so that each
// checks the other.
#include "format/layout.h"

#include <string.h>

#include "base/alloc.h"
#include "base/half.h"

#define SCALES_BYTES 64 // f16 [2][16]
#define GROUP_BYTES 64  // one group of a record: 16 rows x 4 bytes
#define PART_BYTES 512  // 8 groups of nibbles: 64 k
#define BITS_BYTES 128  // fifth bits of a part
#define PAIRS_BYTES 256 // upper bit pairs of a part

const char *kz_layout_name(kz_layout layout) {
    switch (layout) {
    case KZ_ROWS:
        return "rows";
    case KZ_TILE16:
        return "tile16";
    }
    return "unknown";
}

size_t kz_layout_record_bytes(kz_type type) {
    switch (type) {
    case KZ_Q8_0:
        return SCALES_BYTES + 16 * GROUP_BYTES;
    case KZ_Q4_0:
    case KZ_IQ4_NL:
        return SCALES_BYTES + PART_BYTES;
    case KZ_Q4_1:
        return 2 * SCALES_BYTES + PART_BYTES;
    case KZ_Q5_0:
        return SCALES_BYTES + PART_BYTES + BITS_BYTES;
    case KZ_Q5_1:
        return 2 * SCALES_BYTES + PART_BYTES + BITS_BYTES;
    case KZ_Q4_K:
        return 256 + 4 * PART_BYTES;
    case KZ_Q5_K:
        return 256 + 4 * (PART_BYTES + BITS_BYTES);
    case KZ_Q6_K:
        return 320 + 4 * (PART_BYTES + PAIRS_BYTES);
    default:
        return 0;
    }
}

size_t kz_layout_record_columns(kz_type type) {
    if (kz_layout_record_bytes(type) == 0) {
        return 0;
    }
    return kz_type_block_elements(type) == KZ_SUPER_BLOCK ? KZ_SUPER_BLOCK : KZ_RECORD_COLUMNS;
}

bool kz_layout_holds(kz_layout layout, kz_type type) {
    const bool is_float = type == KZ_F32 || type == KZ_F16 || type == KZ_BF16;
    if (layout == KZ_ROWS) {
        return is_float || type == KZ_I32;
    }
    return layout == KZ_TILE16 && (is_float || kz_layout_record_bytes(type) != 0);
}

// Zero scales make padding of quantised columns count for nothing; plain types need whole pairs at
// most.
size_t kz_layout_padded_columns(kz_type type, size_t columns) {
    const size_t record = kz_layout_record_columns(type);
    const size_t multiple = record != 0 ? record : type == KZ_BF16 ? 2 : 1;
    return (columns + multiple - 1) / multiple * multiple;
}

size_t kz_layout_panel_bytes(kz_type type, size_t columns) {
    // 16 rows of at most 4 bytes a column, padded: 128 bytes a column is more than any type needs.
    if (!kz_layout_holds(KZ_TILE16, type) || columns > SIZE_MAX / 128) {
        return 0;
    }
    const size_t padded = kz_layout_padded_columns(type, columns);
    if (kz_layout_record_bytes(type) != 0) {
        return padded / kz_layout_record_columns(type) * kz_layout_record_bytes(type);
    }
    return padded * KZ_PANEL_ROWS * kz_type_block_bytes(type);
}

kazeia_status kz_layout_tensor_bytes(kz_layout layout, kz_type type, size_t rows, size_t columns,
                                     size_t *out_bytes) {
    if (!kz_layout_holds(layout, type)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "layout '%s' holds no elements of type '%s'",
                       kz_layout_name(layout), kz_type_name(type));
    }
    const bool is_tiled = layout == KZ_TILE16;
    const size_t unit_bytes =
        is_tiled ? kz_layout_panel_bytes(type, columns) : kz_type_row_bytes(type, columns);
    // Rounded up without adding 15 first, which could wrap.
    const size_t units = is_tiled ? rows / KZ_PANEL_ROWS + (rows % KZ_PANEL_ROWS != 0) : rows;
    if ((unit_bytes == 0 && columns != 0) || !kz_size_mul(units, unit_bytes, out_bytes)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "a tensor of %zu x %zu %s is larger than memory", rows,
                       columns, kz_type_name(type));
    }
    return KAZEIA_OK;
}

// --- Unpacking ----------------------------------------------------------------------------------

static float read_f16(const uint8_t *bytes) {
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return kz_float_from_f16(half);
}

static float read_bf16(const uint8_t *bytes) {
    uint16_t brain;
    memcpy(&brain, bytes, sizeof brain);
    return kz_float_from_bf16(brain);
}

// Element k (0..63) of a row in eight groups of nibbles.
static int nibble_at(const uint8_t *groups, size_t row, size_t k) {
    const uint8_t pair = groups[k / 8 * GROUP_BYTES + 4 * row + k % 4];
    return k % 8 < 4 ? pair & 15 : pair >> 4;
}

// Its fifth bit, as 0 or 16.
static int fifth_bit_at(const uint8_t *bits, size_t row, size_t k) {
    const size_t bit = 4 * row + k % 4;
    return (bits[k / 4 * 8 + bit / 8] >> bit % 8 & 1) << 4;
}

// Element k (0..63) of a row of a record of blocks of 32.
static float block_element(kz_type type, const uint8_t *record, size_t row, size_t k) {
    const size_t place = (k / KZ_BLOCK * KZ_PANEL_ROWS + row) * 2;
    const bool has_minimum = type == KZ_Q4_1 || type == KZ_Q5_1;
    const float scale = read_f16(record + place);
    const float minimum = has_minimum ? read_f16(record + SCALES_BYTES + place) : 0.0f;
    const uint8_t *values = record + (has_minimum ? 2 * SCALES_BYTES : SCALES_BYTES);
    if (type == KZ_Q8_0) {
        return scale * (float)(int8_t)values[k / 4 * GROUP_BYTES + 4 * row + k % 4];
    }
    const int q = nibble_at(values, row, k);
    switch (type) {
    case KZ_Q4_0:
        return scale * (float)(q - 8);
    case KZ_IQ4_NL:
        return scale * (float)kz_iq4_nl_values[q];
    case KZ_Q5_0:
        return scale * (float)(q + fifth_bit_at(values + PART_BYTES, row, k) - 16);
    case KZ_Q5_1:
        return scale * (float)(q + fifth_bit_at(values + PART_BYTES, row, k)) + minimum;
    default:
        return scale * (float)q + minimum;
    }
}

// The 6-bit scale of sub-block b of a row: low nibbles [4][16], upper pairs [2][16].
static int six_bits_at(const uint8_t *low, const uint8_t *high, size_t row, size_t b) {
    const int nibble = low[b % 4 * KZ_PANEL_ROWS + row] >> (b < 4 ? 0 : 4) & 15;
    return nibble | (high[b / 4 * KZ_PANEL_ROWS + row] >> 2 * (b % 4) & 3) << 4;
}

// Element k (0..255) of a row of a record of Q4_K or Q5_K.
static float k_element(kz_type type, const uint8_t *record, size_t row, size_t k) {
    const uint8_t *scales = record + 64; // sl 64 B, ml 64 B, sh 32 B, mh 32 B
    const int sc = six_bits_at(scales, scales + 128, row, k / KZ_BLOCK);
    const int m = six_bits_at(scales + 64, scales + 160, row, k / KZ_BLOCK);
    const size_t part_bytes = PART_BYTES + (type == KZ_Q5_K ? BITS_BYTES : 0);
    const uint8_t *part = record + 256 + k / 64 * part_bytes;
    int q = nibble_at(part, row, k % 64);
    if (type == KZ_Q5_K) {
        q += fifth_bit_at(part + PART_BYTES, row, k % 64);
    }
    const float scale = read_f16(record + 2 * row) * (float)sc;
    const float minimum = read_f16(record + 32 + 2 * row) * (float)m;
    return scale * (float)q - minimum;
}

static float q6_k_element(const uint8_t *record, size_t row, size_t k) {
    const int8_t sc = (int8_t)record[64 + k / 16 * KZ_PANEL_ROWS + row];
    const uint8_t *part = record + 320 + k / 64 * (PART_BYTES + PAIRS_BYTES);
    const size_t in_part = k % 64;
    const uint8_t pairs = part[PART_BYTES + in_part / 16 * 64 + 4 * row + k % 4];
    const int q = nibble_at(part, row, in_part) | (pairs >> 2 * (in_part / 4 % 4) & 3) << 4;
    return read_f16(record + 2 * row) * (float)sc * (float)(q - 32);
}

// Element k of a row of a record.
static float record_element(kz_type type, const uint8_t *record, size_t row, size_t k) {
    switch (type) {
    case KZ_Q4_K:
    case KZ_Q5_K:
        return k_element(type, record, row, k);
    case KZ_Q6_K:
        return q6_k_element(record, row, k);
    default:
        return block_element(type, record, row, k);
    }
}

static float panel_element(kz_type type, const uint8_t *panel, size_t row, size_t k) {
    switch (type) {
    case KZ_F32: {
        float value;
        memcpy(&value, panel + (k * KZ_PANEL_ROWS + row) * 4, sizeof value);
        return value;
    }
    case KZ_F16:
        return read_f16(panel + (k * KZ_PANEL_ROWS + row) * 2);
    case KZ_BF16:
        return read_bf16(panel + (k / 2 * KZ_PANEL_ROWS + row) * 4 + k % 2 * 2);
    default: {
        const size_t columns = kz_layout_record_columns(type);
        const uint8_t *record = panel + k / columns * kz_layout_record_bytes(type);
        return record_element(type, record, row, k % columns);
    }
    }
}

void kz_layout_unpack_row(kz_type type, const void *panel, size_t row, size_t columns,
                          float *out_values) {
    for (size_t k = 0; k < columns; k++) {
        out_values[k] = panel_element(type, panel, row, k);
    }
}
