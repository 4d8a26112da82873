// layout_pack.c: row form -> panels of 16 rows.
//
// in:  rows of a checkpoint (plain elements or blocks)
// out: panels as layout.h draws them
// Packing walks one row after the other within a record, so that source bytes are read in order and
// the record (1 to 3 KB) stays in the nearest cache while 16 rows are strewn over it. Rows ascend:
// where two share a byte, the even one writes it and the odd one adds to it.
#include <string.h>

#include "format/layout.h"
#include "format/quant_blocks.h"

#define RECORD_BLOCKS (KZ_RECORD_COLUMNS / KZ_BLOCK)
#define SCALES_BYTES (RECORD_BLOCKS * KZ_PANEL_ROWS * 2) // f16 [2][16]
#define GROUP_BYTES 64                                   // one group of a record: 16 rows x 4 bytes
#define PART_BYTES (8 * GROUP_BYTES)                     // nibbles of 64 k
#define LOW_NIBBLES 0x0f0f0f0fu
#define HIGH_NIBBLES 0xf0f0f0f0u

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

static uint32_t load_word(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

// The low 4 bits of `count` integers (32 or 64) into groups of nibbles.
static void pack_nibbles(const uint8_t *q, size_t count, size_t row_index, uint8_t *out_groups) {
    for (size_t g = 0; g < count / 8; g++) {
        const uint32_t pairs =
            (load_word(q + 8 * g) & LOW_NIBBLES) | (load_word(q + 8 * g + 4) & LOW_NIBBLES) << 4;
        memcpy(out_groups + GROUP_BYTES * g + 4 * row_index, &pairs, 4);
    }
}

// Their fifth bits: half a byte for each four integers.
static void pack_fifth_bits(const uint8_t *q, size_t count, size_t row_index, uint8_t *out_bits) {
    uint8_t *out = out_bits + row_index / 2;
    for (size_t g = 0; g < count / 4; g++) {
        // Bit 8 n of the word moves to bit 24 + n; bytes ascend in it, as in the file.
        const uint32_t bits = (load_word(q + 4 * g) >> 4 & 0x01010101u) * 0x01020408u >> 24 & 15;
        out[8 * g] = row_index % 2 == 0 ? (uint8_t)bits : (uint8_t)(out[8 * g] | bits << 4);
    }
}

// The upper two bits of 64 integers of six.
static void pack_pairs(const uint8_t *q, size_t row_index, uint8_t *out_pairs) {
    for (size_t v = 0; v < 4; v++) {
        uint32_t pairs = 0;
        for (size_t i = 0; i < 4; i++) {
            pairs |= (load_word(q + 16 * v + 4 * i) >> 4 & 0x03030303u) << 2 * i;
        }
        memcpy(out_pairs + GROUP_BYTES * v + 4 * row_index, &pairs, 4);
    }
}

// One block of Q5_0 or Q5_1 into its place in a record.
static void pack_q5_block(kz_type type, const uint8_t *block, size_t block_index, size_t row_index,
                          uint8_t *out_record) {
    kz_block_parts parts;
    kz_quant_split_block(type, block, &parts);
    const size_t place = (block_index * KZ_PANEL_ROWS + row_index) * 2;
    memcpy(out_record + place, &parts.d, 2);
    uint8_t *values = out_record + SCALES_BYTES;
    if (type == KZ_Q5_1) {
        memcpy(values + place, &parts.m, 2);
        values += SCALES_BYTES;
    }
    pack_nibbles(parts.q, KZ_BLOCK, row_index, values + block_index * 4 * GROUP_BYTES);
    pack_fifth_bits(parts.q, KZ_BLOCK, row_index, values + PART_BYTES + block_index * 64);
}

// One block of 32 elements in row form into its place in a record.
static void pack_block(kz_type type, const uint8_t *block, size_t block_index, size_t row_index,
                       uint8_t *out_record) {
    const size_t place = (block_index * KZ_PANEL_ROWS + row_index) * 2;
    if (type == KZ_Q5_0 || type == KZ_Q5_1) {
        pack_q5_block(type, block, block_index, row_index, out_record);
        return;
    }
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

// Eight 6-bit numbers: low nibbles [4][16], upper pairs [2][16].
static void pack_six_bits(const uint8_t *values, size_t row_index, uint8_t *out_low,
                          uint8_t *out_high) {
    for (size_t b = 0; b < 4; b++) {
        out_low[b * KZ_PANEL_ROWS + row_index] =
            (uint8_t)((values[b] & 15) | (values[b + 4] & 15) << 4);
    }
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *four = values + 4 * i;
        out_high[i * KZ_PANEL_ROWS + row_index] =
            (uint8_t)(four[0] >> 4 | four[1] >> 4 << 2 | four[2] >> 4 << 4 | four[3] >> 4 << 6);
    }
}

// One super-block, which is a row's share of a record.
static void pack_super_block(kz_type type, const uint8_t *block, size_t row_index,
                             uint8_t *out_record) {
    kz_block_parts parts;
    kz_quant_split_block(type, block, &parts);
    uint8_t *scales = out_record + 64; // behind two arrays f16 [16]
    uint8_t *part = out_record + 256;
    memcpy(out_record + 2 * row_index, &parts.d, 2);
    // Q6_K has no minima, and its d is padded to a cache line with the zero m.
    memcpy(out_record + 32 + 2 * row_index, &parts.m, 2);
    if (type == KZ_Q6_K) {
        for (size_t b = 0; b < 16; b++) {
            scales[b * KZ_PANEL_ROWS + row_index] = parts.scales[b];
        }
        part = out_record + 320;
    } else {
        pack_six_bits(parts.scales, row_index, scales, scales + 128);
        pack_six_bits(parts.minima, row_index, scales + 64, scales + 160);
    }
    for (const uint8_t *q = parts.q; q < parts.q + KZ_SUPER_BLOCK; q += 64) {
        pack_nibbles(q, 64, row_index, part);
        part += PART_BYTES;
        if (type == KZ_Q5_K) {
            pack_fifth_bits(q, 64, row_index, part);
            part += 128;
        } else if (type == KZ_Q6_K) {
            pack_pairs(q, row_index, part);
            part += 256;
        }
    }
}

static void pack_super_blocks(kz_type type, const void *const *rows, size_t row_count,
                              size_t columns, uint8_t *out_panel) {
    const size_t block_bytes = kz_type_block_bytes(type);
    const size_t bytes_each = kz_layout_record_bytes(type);
    for (size_t i = 0; i < columns / KZ_SUPER_BLOCK; i++) {
        for (size_t r = 0; r < row_count; r++) {
            if (rows[r] != NULL) {
                pack_super_block(type, (const uint8_t *)rows[r] + i * block_bytes, r,
                                 out_panel + i * bytes_each);
            }
        }
    }
}

static void pack_records(kz_type type, const void *const *rows, size_t row_count, size_t columns,
                         uint8_t *out_panel) {
    const size_t block_bytes = kz_type_block_bytes(type);
    const size_t block_count = columns / KZ_BLOCK;
    const size_t bytes_each = kz_layout_record_bytes(type);
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
    if (kz_type_block_elements(type) == KZ_SUPER_BLOCK) {
        pack_super_blocks(type, rows, row_count, columns, out_panel);
        return;
    }
    if (kz_type_block_elements(type) == KZ_BLOCK) {
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
