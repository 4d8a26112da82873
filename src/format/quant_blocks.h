// quant_blocks.h: a block of a checkpoint taken apart into integers and scales.
//
// For the types whose integers are spread over several fields (5 and 6 bits, and the super-blocks):
// decoding and packing (quant.c, layout_pack.c) both need them whole.
#ifndef KZ_FORMAT_QUANT_BLOCKS_H
#define KZ_FORMAT_QUANT_BLOCKS_H

#include "format/quant.h"

typedef struct kz_block_parts {
    uint16_t d, m;             // the bits of f16; m is Q5_1's m, or dmin of Q4_K and Q5_K, else 0
    uint8_t scales[16];        // Q4_K, Q5_K: 8 of 6 bits; Q6_K: 16 signed bytes; else unset
    uint8_t minima[8];         // Q4_K, Q5_K
    uint8_t q[KZ_SUPER_BLOCK]; // in the order of the elements, offsets not subtracted
} kz_block_parts;

// `type` is Q5_0, Q5_1 (32 integers), Q4_K, Q5_K or Q6_K (256); `block` is one block in row form
// and needs no alignment.
void kz_quant_split_block(kz_type type, const uint8_t *block, kz_block_parts *out_parts);

#endif
