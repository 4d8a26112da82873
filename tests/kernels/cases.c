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

// A weight byte or nibble pair.
static uint8_t weight_byte(case_random *random, kz_type type, case_kind kind) {
    const uint32_t bits = case_next(random);
    if (kind == CASE_RANDOM) {
        return (uint8_t)bits;
    }
    if (type == KZ_Q8_0) {
        return kind == CASE_EXTREME || bits % 2 == 0 ? 0x80 : 0x7f;
    }
    return kind == CASE_EXTREME ? 0xff : (uint8_t)(((bits & 1) * 0x0f) | ((bits >> 1 & 1) * 0xf0));
}

static void quantised_row(case_random *random, kz_type type, case_kind kind, size_t columns,
                          uint8_t *out_row) {
    const size_t block_bytes = type == KZ_Q8_0 ? 34 : type == KZ_Q4_0 ? 18 : 20;
    const size_t scales = type == KZ_Q4_1 ? 2 : 1;
    for (size_t b = 0; b < columns / KZ_BLOCK; b++) {
        uint8_t *block = out_row + b * block_bytes;
        for (size_t i = 0; i < scales; i++) {
            const uint16_t half = kz_f16_from_float(0.02f * case_float(random));
            memcpy(block + 2 * i, &half, sizeof half);
        }
        for (size_t i = 2 * scales; i < block_bytes; i++) {
            block[i] = weight_byte(random, type, kind);
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
    return type == KZ_Q8_0 || type == KZ_Q4_0 || type == KZ_Q4_1;
}

bool case_slot_starts(kz_kernel_slot slot, const char *start) {
    return strncmp(kz_kernel_slot_name(slot), start, strlen(start)) == 0;
}

static bool ends(const char *text, const char *end) {
    return strcmp(text + strlen(text) - strlen(end), end) == 0;
}

// The type that a slot's name ends in.
kz_type case_matmul_type(kz_kernel_slot slot) {
    static const kz_type types[] = {KZ_BF16, KZ_F16, KZ_F32, KZ_Q8_0, KZ_Q4_0, KZ_Q4_1};
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
