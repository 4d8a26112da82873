// layout.c: row form -> panels of 16 rows, and back for one row.
//
// in:  rows of a checkpoint (plain elements or blocks)
// out: panels as layout.h draws them
// Packing walks one row after the other within a record, so that source bytes are read in order and
// the record (about 1 KB) stays in the nearest cache while 16 rows are strewn over it.
#include "format/layout.h"

#include <string.h>

#include "base/alloc.h"
#include "base/half.h"

#define RECORD_BLOCKS (KZ_RECORD_COLUMNS / KZ_BLOCK)
#define SCALES_BYTES (RECORD_BLOCKS * KZ_PANEL_ROWS * 2) // f16 [2][16]
#define GROUP_BYTES 64                                   // one group of a record: 16 rows x 4 bytes
#define LOW_NIBBLES 0x0f0f0f0fu
#define HIGH_NIBBLES 0xf0f0f0f0u

const char *kz_layout_name(kz_layout layout) {
    switch (layout) {
    case KZ_ROWS:
        return "rows";
    case KZ_TILE16:
        return "tile16";
    }
    return "unknown";
}

// Bytes of one record of a quantised type; 0 for plain types.
static size_t record_bytes(kz_type type) {
    switch (type) {
    case KZ_Q8_0:
        return SCALES_BYTES + 16 * GROUP_BYTES;
    case KZ_Q4_0:
        return SCALES_BYTES + 8 * GROUP_BYTES;
    case KZ_Q4_1:
        return 2 * SCALES_BYTES + 8 * GROUP_BYTES;
    default:
        return 0;
    }
}

bool kz_layout_holds(kz_layout layout, kz_type type) {
    const bool is_float = type == KZ_F32 || type == KZ_F16 || type == KZ_BF16;
    if (layout == KZ_ROWS) {
        return is_float || type == KZ_I32;
    }
    return layout == KZ_TILE16 && (is_float || record_bytes(type) != 0);
}

// Zero scales make padding of quantised columns count for nothing; plain types need whole pairs at
// most.
size_t kz_layout_padded_columns(kz_type type, size_t columns) {
    const size_t multiple = record_bytes(type) != 0 ? KZ_RECORD_COLUMNS : type == KZ_BF16 ? 2 : 1;
    return (columns + multiple - 1) / multiple * multiple;
}

size_t kz_layout_panel_bytes(kz_type type, size_t columns) {
    // 16 rows of at most 4 bytes a column, padded: 128 bytes a column is more than any type needs.
    if (!kz_layout_holds(KZ_TILE16, type) || columns > SIZE_MAX / 128) {
        return 0;
    }
    const size_t padded = kz_layout_padded_columns(type, columns);
    if (record_bytes(type) != 0) {
        return padded / KZ_RECORD_COLUMNS * record_bytes(type);
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

// --- Packing ------------------------------------------------------------------------------------

// Element k of row r goes to place k * 16 + r; the bytes of an element pair count as one element of
// BF16. `present` is the number of whole elements in a row, `count` that of the panel.
static void pack_words(const uint8_t *row, size_t present, size_t row_index, uint8_t *out_panel) {
    uint8_t *out = out_panel + 4 * row_index;
    for (size_t k = 0; k < present; k++) {
        memcpy(out + 4 * KZ_PANEL_ROWS * k, row + 4 * k, 4);
    }
}

static void pack_halves(const uint8_t *row, size_t present, size_t row_index, uint8_t *out_panel) {
    uint8_t *out = out_panel + 2 * row_index;
    for (size_t k = 0; k < present; k++) {
        memcpy(out + 2 * KZ_PANEL_ROWS * k, row + 2 * k, 2);
    }
}

static void pack_bf16(const uint8_t *row, size_t columns, size_t row_index, uint8_t *out_panel) {
    pack_words(row, columns / 2, row_index, out_panel);
    if (columns % 2 != 0) { // the last pair's second half stays zero
        memcpy(out_panel + (columns / 2) * 4 * KZ_PANEL_ROWS + 4 * row_index,
               row + 2 * (columns - 1), 2);
    }
}

// 32 bytes of q into eight groups.
static void pack_q8_block(const uint8_t *q, size_t row_index, uint8_t *out_groups) {
    for (size_t g = 0; g < KZ_BLOCK / 4; g++) {
        memcpy(out_groups + GROUP_BYTES * g + 4 * row_index, q + 4 * g, 4);
    }
}

// 16 bytes of nibbles into four groups. In the block, byte i holds elements i and i + 16; in a
// group, byte j holds elements j and j + 4. All bytes of a word move alike, so byte order does not
// matter.
static void pack_q4_block(const uint8_t *q, size_t row_index, uint8_t *out_groups) {
    uint32_t words[4];
    memcpy(words, q, sizeof words);
    // Low nibbles of the block's bytes are its first 16 elements: groups 0 and 1 take those, 2 and
    // 3 the high ones.
    const uint32_t groups[4] = {
        (words[0] & LOW_NIBBLES) | (words[1] & LOW_NIBBLES) << 4,
        (words[2] & LOW_NIBBLES) | (words[3] & LOW_NIBBLES) << 4,
        (words[0] >> 4 & LOW_NIBBLES) | (words[1] & HIGH_NIBBLES),
        (words[2] >> 4 & LOW_NIBBLES) | (words[3] & HIGH_NIBBLES),
    };
    for (size_t g = 0; g < 4; g++) {
        memcpy(out_groups + GROUP_BYTES * g + 4 * row_index, &groups[g], 4);
    }
}

// One block of 32 elements in row form into its place in a record.
static void pack_block(kz_type type, const uint8_t *block, size_t block_index, size_t row_index,
                       uint8_t *out_record) {
    const size_t place = (block_index * KZ_PANEL_ROWS + row_index) * 2;
    memcpy(out_record + place, block, 2);
    if (type == KZ_Q8_0) {
        pack_q8_block(block + 2, row_index,
                      out_record + SCALES_BYTES + block_index * 8 * GROUP_BYTES);
        return;
    }
    const bool has_minimum = type == KZ_Q4_1;
    if (has_minimum) {
        memcpy(out_record + SCALES_BYTES + place, block + 2, 2);
    }
    const size_t scales_bytes = has_minimum ? 2 * SCALES_BYTES : SCALES_BYTES;
    pack_q4_block(block + (has_minimum ? 4 : 2), row_index,
                  out_record + scales_bytes + block_index * 4 * GROUP_BYTES);
}

static void pack_records(kz_type type, const void *const *rows, size_t row_count, size_t columns,
                         uint8_t *out_panel) {
    const size_t block_bytes = kz_type_block_bytes(type);
    const size_t block_count = columns / KZ_BLOCK;
    const size_t bytes_each = record_bytes(type);
    for (size_t first = 0; first < block_count; first += RECORD_BLOCKS) {
        // An odd number of blocks leaves half a record, whose scales stay zero.
        const size_t present = block_count - first < RECORD_BLOCKS ? 1 : RECORD_BLOCKS;
        uint8_t *record = out_panel + first / RECORD_BLOCKS * bytes_each;
        for (size_t r = 0; r < row_count; r++) {
            if (rows[r] == NULL) {
                continue;
            }
            const uint8_t *blocks = (const uint8_t *)rows[r] + first * block_bytes;
            for (size_t b = 0; b < present; b++) {
                pack_block(type, blocks + b * block_bytes, b, r, record);
            }
        }
    }
}

// True when every byte of the panel is about to be written anyway.
static bool fills_panel(kz_type type, const void *const *rows, size_t row_count, size_t columns) {
    if (row_count < KZ_PANEL_ROWS || kz_layout_padded_columns(type, columns) != columns) {
        return false;
    }
    for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
        if (rows[r] == NULL) {
            return false;
        }
    }
    return true;
}

void kz_layout_pack_panel(kz_type type, const void *const *rows, size_t row_count, size_t columns,
                          void *out_panel) {
    // A panel that is written whole anyway is not cleared: that would double its stores.
    if (!fills_panel(type, rows, row_count, columns)) {
        memset(out_panel, 0, kz_layout_panel_bytes(type, columns));
    }
    if (record_bytes(type) != 0) {
        pack_records(type, rows, row_count, columns, out_panel);
        return;
    }
    for (size_t r = 0; r < row_count; r++) {
        if (rows[r] == NULL) {
            continue;
        }
        if (type == KZ_F32) {
            pack_words(rows[r], columns, r, out_panel);
        } else if (type == KZ_F16) {
            pack_halves(rows[r], columns, r, out_panel);
        } else {
            pack_bf16(rows[r], columns, r, out_panel);
        }
    }
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

// Element k (0..63) of a row of a record.
// Written apart from the packing, element by element, so that each checks the other.
static float record_element(kz_type type, const uint8_t *record, size_t row, size_t k) {
    const size_t place = (k / KZ_BLOCK * KZ_PANEL_ROWS + row) * 2;
    const float scale = read_f16(record + place);
    if (type == KZ_Q8_0) {
        const uint8_t *group = record + SCALES_BYTES + k / 4 * GROUP_BYTES;
        return scale * (float)(int8_t)group[4 * row + k % 4];
    }
    const size_t scales_bytes = type == KZ_Q4_1 ? 2 * SCALES_BYTES : SCALES_BYTES;
    const uint8_t *group = record + scales_bytes + k / 8 * GROUP_BYTES;
    const uint8_t pair = group[4 * row + k % 4];
    const int q = k % 8 < 4 ? pair & 15 : pair >> 4;
    if (type == KZ_Q4_0) {
        return scale * (float)(q - 8);
    }
    return scale * (float)q + read_f16(record + SCALES_BYTES + place);
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
    default:
        return record_element(type, panel + k / KZ_RECORD_COLUMNS * record_bytes(type), row,
                              k % KZ_RECORD_COLUMNS);
    }
}

void kz_layout_unpack_row(kz_type type, const void *panel, size_t row, size_t columns,
                          float *out_values) {
    for (size_t k = 0; k < columns; k++) {
        out_values[k] = panel_element(type, panel, row, k);
    }
}
