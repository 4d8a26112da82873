// quant_blocks.c: where the bits of 5- and 6-bit integers and of super-blocks are.
//
// in:  one block in row form (the drawings of ggml-quants)
// out: its integers in order, its scales
// Fields do not overlap the integers: `restrict` says so, else compilers make no vectors of the
// loops, and packing a checkpoint takes three times as long.
#include "format/quant_blocks.h"

#include <string.h>

static uint16_t read_u16(const uint8_t *bytes) {
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

// Low nibbles are the first `count` integers, high ones the next `count`.
static void split_nibbles(const uint8_t *restrict nibbles, size_t count, uint8_t *restrict out_q) {
    for (size_t i = 0; i < count; i++) {
        out_q[i] = nibbles[i] & 15;
        out_q[i + count] = nibbles[i] >> 4;
    }
}

// u32 h, u8 q[16].
static void split_q5(const uint8_t *bytes, uint8_t *out_q) {
    split_nibbles(bytes + 4, KZ_BLOCK / 2, out_q);
    for (size_t i = 0; i < KZ_BLOCK; i += 4) {
        const uint32_t four = bytes[i / 8] >> i % 8 & 15;
        uint32_t word;
        memcpy(&word, out_q + i, sizeof word);
        // Four copies seven bits apart: bit n of copy n is bit 8 n, the lowest of a byte.
        word |= (four * 0x00204081u & 0x01010101u) << 4;
        memcpy(out_q + i, &word, sizeof word);
    }
}

// The 12 bytes of sixteen 6-bit numbers: see quant.h.
static void split_scales(const uint8_t *s, kz_block_parts *parts) {
    for (size_t i = 0; i < 4; i++) {
        parts->scales[i] = s[i] & 63;
        parts->minima[i] = s[i + 4] & 63;
        parts->scales[i + 4] = (uint8_t)((s[i + 8] & 15) | s[i] >> 6 << 4);
        parts->minima[i + 4] = (uint8_t)(s[i + 8] >> 4 | s[i + 4] >> 6 << 4);
    }
}

// Each 32 bytes of nibbles are two sub-blocks of 32.
static void split_super_nibbles(const uint8_t *nibbles, uint8_t *out_q) {
    for (size_t part = 0; part < 4; part++) {
        split_nibbles(nibbles + 32 * part, KZ_BLOCK, out_q + 64 * part);
    }
}

// Bit b of h[i] belongs to element i of sub-block b.
static void add_fifth_bits(const uint8_t *restrict h, uint8_t *restrict q) {
    for (size_t b = 0; b < 8; b++) {
        for (size_t i = 0; i < KZ_BLOCK; i++) {
            q[KZ_BLOCK * b + i] = (uint8_t)(q[KZ_BLOCK * b + i] | (h[i] >> b & 1) << 4);
        }
    }
}

// Each half of 128: 64 bytes of nibbles, low ones first, and 32 bytes of bit pairs, pair n of byte
// i for element 32 n + i.
static void split_q6(const uint8_t *restrict nibbles, const uint8_t *restrict h,
                     uint8_t *restrict out_q) {
    for (size_t half = 0; half < 2; half++, nibbles += 64, h += 32, out_q += 128) {
        split_nibbles(nibbles, 64, out_q);
        for (size_t n = 0; n < 4; n++) {
            for (size_t i = 0; i < 32; i++) {
                out_q[32 * n + i] = (uint8_t)(out_q[32 * n + i] | (h[i] >> (2 * n) & 3) << 4);
            }
        }
    }
}

void kz_quant_split_block(kz_type type, const uint8_t *block, kz_block_parts *out_parts) {
    if (type == KZ_Q6_K) { // the one that has its scale at the end
        out_parts->d = read_u16(block + 208);
        out_parts->m = 0;
        memcpy(out_parts->scales, block + 192, 16);
        split_q6(block, block + 128, out_parts->q);
        return;
    }
    out_parts->d = read_u16(block);
    out_parts->m = type == KZ_Q5_0 ? 0 : read_u16(block + 2);
    if (type == KZ_Q5_0 || type == KZ_Q5_1) {
        split_q5(block + (type == KZ_Q5_0 ? 2 : 4), out_parts->q);
        return;
    }
    split_scales(block + 4, out_parts);
    split_super_nibbles(block + (type == KZ_Q4_K ? 16 : 48), out_parts->q);
    if (type == KZ_Q5_K) {
        add_fifth_bits(block + 16, out_parts->q);
    }
}
