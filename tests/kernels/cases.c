// cases.c: random numbers, weights and activations for kernels: see cases.h.
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"

// xorshift64* (Vigna, 2016).
uint32_t case_next(case_random *random) {
    uint64_t x = random->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return (uint32_t)((x * 0x2545f4914f6cdd1dull) >> 32);
}

float case_float(case_random *random) {
    return (float)(int32_t)case_next(random) * (1.0f / 2147483648.0f);
}

size_t case_below(case_random *random, size_t count) {
    return case_next(random) % count;
}

void *case_memory(size_t bytes) {
    const size_t rounded = (bytes / 64 + 1) * 64;
    void *memory = aligned_alloc(64, rounded);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", rounded);
        exit(1);
    }
    memset(memory, 0, rounded);
    return memory;
}

float *case_floats(case_random *random, size_t count, float size) {
    float *values = case_memory(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = size * case_float(random);
    }
    return values;
}

// A weight byte or nibble pair; also the bytes of high bits and of small scales.
static uint8_t weight_byte(case_random *random, kz_type type, case_kind kind) {
    const uint32_t bits = case_next(random);
    if (kind == CASE_RANDOM) {
        return (uint8_t)bits;
    }
    if (type == KZ_Q8_0) {
        return kind == CASE_EXTREME || bits % 2 == 0 ? 0x80 : 0x7f;
    }
    if (type == KZ_IQ4_NL) { // index 0 is the largest magnitude
        return kind == CASE_EXTREME || bits % 2 == 0 ? 0x00 : 0xff;
    }
    return kind == CASE_EXTREME ? 0xff : (uint8_t)(((bits & 1) * 0x0f) | ((bits >> 1 & 1) * 0xf0));
}

bool case_has_minimum(kz_type type) {
    return type == KZ_Q4_1 || type == KZ_Q5_1 || type == KZ_Q4_K || type == KZ_Q5_K;
}

size_t case_columns(kz_type type, size_t columns) {
    const size_t block = kz_type_block_elements(type);
    return (columns + block - 1) / block * block;
}

// Where a block has its f16 scales: `count` of them from byte `first`.
static void scale_places(kz_type type, size_t *out_first, size_t *out_count) {
    *out_first = type == KZ_Q6_K ? 208 : 0;
    *out_count = case_has_minimum(type) ? 2 : 1;
}

static void quantised_row(case_random *random, kz_type type, case_kind kind, size_t columns,
                          uint8_t *out_row) {
    const size_t block_bytes = kz_type_block_bytes(type);
    // Sub-blocks multiply by integers up to 63 or 127.
    const float size = kz_type_block_elements(type) == KZ_SUPER_BLOCK ? 0.0005f : 0.02f;
    size_t first = 0;
    size_t count = 0;
    scale_places(type, &first, &count);
    for (size_t b = 0; b < columns / kz_type_block_elements(type); b++) {
        uint8_t *block = out_row + b * block_bytes;
        for (size_t i = 0; i < block_bytes; i++) {
            block[i] = weight_byte(random, type, kind);
        }
        if (type == KZ_Q6_K && kind != CASE_RANDOM) { // the largest products: -128 with -32 or 31
            memset(block + 192, 0x80, 16);
            memset(block, kind == CASE_EXTREME ? 0x00 : block[0], 192);
        }
        for (size_t i = 0; i < count; i++) {
            const uint16_t half = kz_f16_from_float(size * case_float(random));
            memcpy(block + first + 2 * i, &half, sizeof half);
        }
    }
}

void case_weight_row(case_random *random, kz_type type, case_kind kind, size_t columns,
                     void *out_row) {
    if (case_is_quantised(type)) {
        quantised_row(random, type, kind, columns, out_row);
        return;
    }
    for (size_t k = 0; k < columns; k++) {
        const float value = 0.1f * case_float(random);
        if (type == KZ_F32) {
            ((float *)out_row)[k] = value;
        } else {
            const uint16_t half =
                type == KZ_F16 ? kz_f16_from_float(value) : kz_bf16_from_float(value);
            ((uint16_t *)out_row)[k] = half;
        }
    }
}

void *case_weights(case_random *random, kz_type type, case_kind kind, size_t rows, size_t columns) {
    const size_t panel_bytes = kz_layout_panel_bytes(type, columns);
    const size_t panels = (rows + KZ_PANEL_ROWS - 1) / KZ_PANEL_ROWS;
    const size_t row_bytes = columns * sizeof(float) + 64; // no type needs more
    char *tensor = case_memory(panels * panel_bytes);
    char *source = case_memory(KZ_PANEL_ROWS * row_bytes);
    for (size_t p = 0; p < panels; p++) {
        const void *pointers[KZ_PANEL_ROWS];
        const size_t left = rows - p * KZ_PANEL_ROWS;
        const size_t count = left < KZ_PANEL_ROWS ? left : KZ_PANEL_ROWS;
        for (size_t r = 0; r < count; r++) {
            pointers[r] = source + r * row_bytes;
            case_weight_row(random, type, kind, columns, source + r * row_bytes);
        }
        kz_layout_pack_panel(type, pointers, count, columns, tensor + p * panel_bytes);
    }
    free(source);
    return tensor;
}

void *case_a8_rows(const float *x, size_t tokens, size_t columns) {
    char *rows = case_memory(tokens * kz_a8_row_bytes(columns));
    for (size_t t = 0; t < tokens; t++) {
        kz_quantise_a8__ref(x + t * columns, columns, rows + t * kz_a8_row_bytes(columns));
    }
    return rows;
}

bool case_is_quantised(kz_type type) {
    return kz_type_block_elements(type) > 1;
}

bool case_slot_starts(kz_kernel_slot slot, const char *start) {
    return strncmp(kz_kernel_slot_name(slot), start, strlen(start)) == 0;
}

static bool ends(const char *text, const char *end) {
    return strcmp(text + strlen(text) - strlen(end), end) == 0;
}

// The type that a slot's name ends in.
kz_type case_matmul_type(kz_kernel_slot slot) {
    static const kz_type types[] = {KZ_BF16, KZ_F16,    KZ_F32,  KZ_Q8_0, KZ_Q4_0, KZ_Q4_1,
                                    KZ_Q5_0, KZ_IQ4_NL, KZ_Q5_1, KZ_Q4_K, KZ_Q5_K, KZ_Q6_K};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char end[16];
        snprintf(end, sizeof end, "_%s", kz_type_name(types[i]));
        if (ends(kz_kernel_slot_name(slot), end)) {
            return types[i];
        }
    }
    return KZ_I32;
}

kz_type case_cache_type(kz_kernel_slot slot) {
    const char *name = kz_kernel_slot_name(slot);
    return ends(name, "_f32") ? KZ_F32 : ends(name, "_f16") ? KZ_F16 : KZ_I8;
}
