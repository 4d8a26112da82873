// quant.c: what element types are called, how large they are, and what their rows mean as floats.
//
// in:  a type, a row in row form
// out: names and sizes; floats
// The table is indexed by the numbers of program files, so that an unknown number is found by one
// look-up. Products are single float operations: the file is compiled without contraction, so that
// every machine decodes to the same bits.
#include "format/quant.h"

#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "format/quant_blocks.h"

const int8_t kz_iq4_nl_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};

typedef struct type_facts {
    const char *name; // NULL: no such type
    uint32_t block_elements;
    uint32_t block_bytes;
} type_facts;

static const type_facts facts_of_types[] = {
#define KZ_TYPE_FACTS(name, value, text, elements, bytes) [value] = {text, elements, bytes},
    KZ_TYPE_LIST(KZ_TYPE_FACTS)
#undef KZ_TYPE_FACTS
};

#define TYPE_NUMBERS (sizeof facts_of_types / sizeof facts_of_types[0])

bool kz_type_is_known(uint32_t type) {
    return type < TYPE_NUMBERS && facts_of_types[type].name != NULL;
}

const char *kz_type_name(kz_type type) {
    return kz_type_is_known(type) ? facts_of_types[type].name : "unknown";
}

uint32_t kz_type_block_elements(kz_type type) {
    return kz_type_is_known(type) ? facts_of_types[type].block_elements : 0;
}

uint32_t kz_type_block_bytes(kz_type type) {
    return kz_type_is_known(type) ? facts_of_types[type].block_bytes : 0;
}

bool kz_type_from_name(const char *text, kz_type *out_type) {
    for (uint32_t i = 0; i < TYPE_NUMBERS; i++) {
        if (facts_of_types[i].name != NULL && strcmp(facts_of_types[i].name, text) == 0) {
            *out_type = (kz_type)i;
            return true;
        }
    }
    return false;
}

size_t kz_type_row_bytes(kz_type type, size_t columns) {
    // No type has over 8 bytes an element, row padding of A8 included: nothing below wraps.
    if (!kz_type_is_known(type) || columns > SIZE_MAX / 8) {
        return 0;
    }
    if (type == KZ_A8) {
        return kz_a8_row_bytes(columns);
    }
    if (type == KZ_A16) {
        return kz_a16_row_bytes(columns);
    }
    return columns / facts_of_types[type].block_elements * facts_of_types[type].block_bytes;
}

// Rows of blocks have odd places in a checkpoint: nothing in them is aligned.
static uint16_t read_u16(const uint8_t *bytes) {
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void decode_f16(const uint8_t *row, size_t columns, float *out_values) {
    for (size_t i = 0; i < columns; i++) {
        out_values[i] = kz_float_from_f16(read_u16(row + 2 * i));
    }
}

static void decode_bf16(const uint8_t *row, size_t columns, float *out_values) {
    for (size_t i = 0; i < columns; i++) {
        out_values[i] = kz_float_from_bf16(read_u16(row + 2 * i));
    }
}

static void decode_q8_0(const uint8_t *row, size_t columns, float *out_values) {
    for (size_t at = 0; at < columns; at += KZ_BLOCK, row += 34) {
        const float scale = kz_float_from_f16(read_u16(row));
        const int8_t *q = (const int8_t *)(row + 2);
        for (size_t i = 0; i < KZ_BLOCK; i++) {
            out_values[at + i] = scale * (float)q[i];
        }
    }
}

static void decode_q4_0(const uint8_t *row, size_t columns, float *out_values) {
    for (size_t at = 0; at < columns; at += KZ_BLOCK, row += 18) {
        const float scale = kz_float_from_f16(read_u16(row));
        const uint8_t *q = row + 2;
        for (size_t i = 0; i < KZ_BLOCK / 2; i++) {
            // Low nibbles are the first half of a block, high ones the second (GGUF).
            out_values[at + i] = scale * (float)((q[i] & 15) - 8);
            out_values[at + i + 16] = scale * (float)((q[i] >> 4) - 8);
        }
    }
}

static void decode_q4_1(const uint8_t *row, size_t columns, float *out_values) {
    for (size_t at = 0; at < columns; at += KZ_BLOCK, row += 20) {
        const float scale = kz_float_from_f16(read_u16(row));
        const float minimum = kz_float_from_f16(read_u16(row + 2));
        const uint8_t *q = row + 4;
        for (size_t i = 0; i < KZ_BLOCK / 2; i++) {
            out_values[at + i] = scale * (float)(q[i] & 15) + minimum;
            out_values[at + i + 16] = scale * (float)(q[i] >> 4) + minimum;
        }
    }
}

static void decode_iq4_nl(const uint8_t *row, size_t columns, float *out_values) {
    for (size_t at = 0; at < columns; at += KZ_BLOCK, row += 18) {
        const float scale = kz_float_from_f16(read_u16(row));
        const uint8_t *q = row + 2;
        for (size_t i = 0; i < KZ_BLOCK / 2; i++) {
            out_values[at + i] = scale * (float)kz_iq4_nl_values[q[i] & 15];
            out_values[at + i + 16] = scale * (float)kz_iq4_nl_values[q[i] >> 4];
        }
    }
}

// w = scale * (q - offset), and with a minimum.
static void scale_integers(const uint8_t *restrict q, size_t count, float scale, int offset,
                           float *restrict out_values) {
    for (size_t i = 0; i < count; i++) {
        out_values[i] = scale * (float)(q[i] - offset);
    }
}

static void add_minimum(float minimum, size_t count, float *values) {
    for (size_t i = 0; i < count; i++) {
        values[i] += minimum;
    }
}

static void decode_q5(kz_type type, const uint8_t *row, size_t columns, float *out_values) {
    kz_block_parts parts;
    for (size_t at = 0; at < columns; at += KZ_BLOCK, row += kz_type_block_bytes(type)) {
        kz_quant_split_block(type, row, &parts);
        const float scale = kz_float_from_f16(parts.d);
        scale_integers(parts.q, KZ_BLOCK, scale, type == KZ_Q5_0 ? 16 : 0, out_values + at);
        if (type == KZ_Q5_1) {
            add_minimum(kz_float_from_f16(parts.m), KZ_BLOCK, out_values + at);
        }
    }
}

// Q4_K and Q5_K. The product of an f16 and a 6-bit number is exact.
static void decode_k(kz_type type, const uint8_t *row, size_t columns, float *out_values) {
    kz_block_parts parts;
    for (size_t at = 0; at < columns; at += KZ_SUPER_BLOCK, row += kz_type_block_bytes(type)) {
        kz_quant_split_block(type, row, &parts);
        const float d = kz_float_from_f16(parts.d);
        const float dmin = kz_float_from_f16(parts.m);
        for (size_t b = 0; b < 8; b++) {
            float *out = out_values + at + b * KZ_BLOCK;
            scale_integers(parts.q + b * KZ_BLOCK, KZ_BLOCK, d * (float)parts.scales[b], 0, out);
            add_minimum(-(dmin * (float)parts.minima[b]), KZ_BLOCK, out);
        }
    }
}

static void decode_q6_k(const uint8_t *row, size_t columns, float *out_values) {
    kz_block_parts parts;
    for (size_t at = 0; at < columns; at += KZ_SUPER_BLOCK, row += 210) {
        kz_quant_split_block(KZ_Q6_K, row, &parts);
        const float d = kz_float_from_f16(parts.d);
        for (size_t b = 0; b < 16; b++) {
            const float scale = d * (float)(int8_t)parts.scales[b];
            scale_integers(parts.q + 16 * b, 16, scale, 32, out_values + at + 16 * b);
        }
    }
}

bool kz_quant_decode_row(kz_type type, const void *row, size_t columns, float *out_values) {
    switch (type) {
    case KZ_F32:
        memcpy(out_values, row, columns * sizeof(float));
        return true;
    case KZ_F16:
        decode_f16(row, columns, out_values);
        return true;
    case KZ_BF16:
        decode_bf16(row, columns, out_values);
        return true;
    case KZ_Q8_0:
        decode_q8_0(row, columns, out_values);
        return true;
    case KZ_Q4_0:
        decode_q4_0(row, columns, out_values);
        return true;
    case KZ_Q4_1:
        decode_q4_1(row, columns, out_values);
        return true;
    case KZ_IQ4_NL:
        decode_iq4_nl(row, columns, out_values);
        return true;
    case KZ_Q5_0:
    case KZ_Q5_1:
        decode_q5(type, row, columns, out_values);
        return true;
    case KZ_Q4_K:
    case KZ_Q5_K:
        decode_k(type, row, columns, out_values);
        return true;
    case KZ_Q6_K:
        decode_q6_k(row, columns, out_values);
        return true;
    default:
        return false;
    }
}
