// test_quant.c: rows decode to the reference's bits, and encode with little loss.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "format/quant.h"

#define COLUMNS 512

static size_t read_golden(const char *type, const char *tensor, const char *ending, uint8_t *out,
                          size_t capacity) {
    char path[256];
    (void)snprintf(path, sizeof path, "tests/golden/quant/%s.%s.%s", type, tensor, ending);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(out, 1, capacity, file);
    assert_int_equal(fclose(file), 0);
    return count;
}

static void decodes_as_the_reference(void **state) {
    (void)state;
    static const kz_type types[] = {KZ_F16,  KZ_BF16, KZ_Q8_0, KZ_Q4_0, KZ_Q4_1,
                                    KZ_Q5_0, KZ_Q5_1, KZ_Q4_K, KZ_Q5_K, KZ_Q6_K};
    static const char *const tensors[] = {"blk.0.ffn_down.weight", "token_embd.weight"};
    for (size_t i = 0; i < 20; i++) {
        const kz_type type = types[i / 2];
        uint8_t row[1 + 4 * COLUMNS];
        uint8_t expected[4 * COLUMNS];
        float decoded[COLUMNS];
        const char *name = kz_type_name(type);
        const size_t bytes = read_golden(name, tensors[i % 2], "row", row + 1, sizeof row - 1);
        const size_t count =
            read_golden(name, tensors[i % 2], "f32", expected, sizeof expected) / 4;
        assert_true(count >= 64);
        assert_int_equal(bytes, kz_type_row_bytes(type, count));
        assert_true(kz_quant_decode_row(type, row + 1, count, decoded)); // at an odd address
        assert_memory_equal(decoded, expected, 4 * count);
    }
}

// All sixteen indices, low nibbles first.
static void reads_the_values_of_iq4_nl(void **state) {
    (void)state;
    static const float expected[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};
    uint8_t block[18] = {0x00, 0x38}; // scale 0.5
    float values[KZ_BLOCK];
    for (size_t i = 0; i < 16; i++) {
        block[2 + i] = (uint8_t)(i | (15 - i) << 4);
    }
    assert_true(kz_quant_decode_row(KZ_IQ4_NL, block, KZ_BLOCK, values));
    for (size_t i = 0; i < 16; i++) {
        assert_true(values[i] == 0.5f * expected[i]);
        assert_true(values[i + 16] == 0.5f * expected[15 - i]);
    }
}

static void says_what_it_can_make(void **state) {
    (void)state;
    const float values[KZ_SUPER_BLOCK] = {1.0f};
    uint8_t row[4 * KZ_SUPER_BLOCK];
    for (uint32_t type = 0; type < 64; type++) {
        assert_int_equal(kz_quant_can_encode((kz_type)type),
                         kz_quant_encode_row((kz_type)type, values, KZ_SUPER_BLOCK, row));
    }
}

static void knows_its_types(void **state) {
    (void)state;
    kz_type type;
    assert_true(kz_type_from_name("q4_1", &type));
    assert_int_equal(type, KZ_Q4_1);
    assert_false(kz_type_from_name("q4_2", &type));
    assert_false(kz_type_is_known(5));
    assert_false(kz_type_is_known(UINT32_MAX));
    assert_string_equal(kz_type_name((kz_type)5), "unknown");
    assert_int_equal(kz_type_row_bytes(KZ_Q8_0, 64), 68);
    assert_int_equal(kz_type_row_bytes(KZ_A8, 64), 128);
    assert_int_equal(kz_type_row_bytes(KZ_A8, 256), 384); // 256 + 8 x (scale, sum, half), padded
    assert_int_equal(kz_type_row_bytes(KZ_Q6_K, 512), 420);
    assert_int_equal(kz_type_row_bytes(KZ_F32, SIZE_MAX / 2), 0);
}

// --- Encoding -----------------------------------------------------------------------------------

static uint64_t random_state = 88172645463325252u;

static double random_unit(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static float random_normal(void) {
    return (float)(sqrt(-2.0 * log(1.0 - random_unit())) * cos(6.283185307179586 * random_unit()));
}

static double squared_error(const float *a, const float *b, size_t count) {
    double error = 0.0;
    for (size_t i = 0; i < count; i++) {
        error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    }
    return error;
}

// The plain rule of the reference quantisers, without search.
static double plain_error(kz_type type, const float *values) {
    float least = values[0];
    float greatest = values[0];
    for (size_t i = 1; i < KZ_BLOCK; i++) {
        least = fminf(least, values[i]);
        greatest = fmaxf(greatest, values[i]);
    }
    const float largest = -least > greatest ? least : greatest;
    const bool is_q4_0 = type == KZ_Q4_0;
    const float zero = is_q4_0 ? 0.0f : kz_float_from_f16(kz_f16_from_float(least));
    const float scale = kz_float_from_f16(
        kz_f16_from_float(is_q4_0 ? largest / -8.0f : (greatest - least) / 15.0f));
    float decoded[KZ_BLOCK];
    for (size_t i = 0; i < KZ_BLOCK; i++) {
        const float q = roundf((values[i] - zero) / scale);
        decoded[i] = zero + scale * fminf(fmaxf(q, is_q4_0 ? -8.0f : 0.0f), is_q4_0 ? 7.0f : 15.0f);
    }
    return squared_error(values, decoded, KZ_BLOCK);
}

static void search_loses_less_than_the_plain_rule(void **state) {
    (void)state;
    static const kz_type types[] = {KZ_Q4_0, KZ_Q4_1};
    for (size_t t = 0; t < 2; t++) {
        double searched = 0.0;
        double plain = 0.0;
        for (int round = 0; round < 2000; round++) {
            float values[KZ_BLOCK];
            float decoded[KZ_BLOCK];
            uint8_t block[20];
            const float offset = round % 3 == 0 ? random_normal() : 0.0f;
            for (size_t i = 0; i < KZ_BLOCK; i++) {
                values[i] = 0.02f * (random_normal() + offset);
            }
            assert_true(kz_quant_encode_row(types[t], values, KZ_BLOCK, block));
            assert_true(kz_quant_decode_row(types[t], block, KZ_BLOCK, decoded));
            const double error = squared_error(values, decoded, KZ_BLOCK);
            assert_true(error <= 1.05 * plain_error(types[t], values));
            searched += error;
            plain += plain_error(types[t], values);
        }
        assert_true(searched < 0.92 * plain);
    }
}

static void eight_bits_are_within_half_a_step(void **state) {
    (void)state;
    for (int round = 0; round < 500; round++) {
        float values[KZ_BLOCK];
        float decoded[KZ_BLOCK];
        uint8_t block[34];
        float largest = 0.0f;
        for (size_t i = 0; i < KZ_BLOCK; i++) {
            values[i] = random_normal() * (float)pow(10.0, 8.0 * random_unit() - 4.0);
            largest = fmaxf(largest, fabsf(values[i]));
        }
        assert_true(kz_quant_encode_row(KZ_Q8_0, values, KZ_BLOCK, block));
        assert_true(kz_quant_decode_row(KZ_Q8_0, block, KZ_BLOCK, decoded));
        for (size_t i = 0; i < KZ_BLOCK; i++) { // half a step, and f16's rounding of the scale
            assert_true(fabsf(values[i] - decoded[i]) <= largest * (0.51f / 127.0f + 0.0005f));
        }
    }
}

static void what_a_block_can_hold_survives(void **state) {
    (void)state;
    static const kz_type types[] = {KZ_Q8_0, KZ_Q4_0, KZ_Q4_1};
    for (size_t t = 0; t < 3; t++) {
        float values[KZ_BLOCK] = {0};
        float decoded[KZ_BLOCK];
        uint8_t block[34];
        assert_true(kz_quant_encode_row(types[t], values, KZ_BLOCK, block));
        assert_true(kz_quant_decode_row(types[t], block, KZ_BLOCK, decoded));
        assert_memory_equal(decoded, values, sizeof values); // zeros stay zeros, of the same sign
        for (size_t i = 0; i < KZ_BLOCK; i++) {
            values[i] = 0.25f * (float)((int)(i % 16) - 8);
        }
        assert_true(kz_quant_encode_row(types[t], values, KZ_BLOCK, block));
        assert_true(kz_quant_decode_row(types[t], block, KZ_BLOCK, decoded));
        assert_true(squared_error(values, decoded, KZ_BLOCK) <
                    (types[t] == KZ_Q8_0 ? 1e-2 : 1e-12));
    }
}

static void extreme_values_are_refused_or_kept(void **state) {
    (void)state;
    static const kz_type types[] = {KZ_Q8_0, KZ_Q4_0, KZ_Q4_1};
    static const float refused[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f};
    static const float tiny[] = {1e-45f, -1e-38f, 1e-9f};
    for (size_t t = 0; t < 3; t++) {
        uint8_t block[34];
        float decoded[KZ_BLOCK];
        for (size_t i = 0; i < 5; i++) {
            float values[KZ_BLOCK] = {0};
            values[13] = refused[i];
            assert_false(kz_quant_encode_row(types[t], values, KZ_BLOCK, block));
        }
        for (size_t i = 0; i < 3; i++) {
            float values[KZ_BLOCK] = {0};
            values[31] = tiny[i];
            assert_true(kz_quant_encode_row(types[t], values, KZ_BLOCK, block));
            assert_true(kz_quant_decode_row(types[t], block, KZ_BLOCK, decoded));
            assert_true(fabsf(decoded[31]) < 1e-6f && fabsf(decoded[0]) < 1e-6f);
        }
    }
    uint8_t half[2];
    assert_false(kz_quant_encode_row(KZ_F16, &(float){65520.0f}, 1, half));
    assert_true(kz_quant_encode_row(KZ_F16, &(float){65519.0f}, 1, half));
    assert_true(kz_quant_encode_row(KZ_F16, &(float){INFINITY}, 1, half));
    assert_false(kz_quant_encode_row(KZ_I32, &(float){1.0f}, 1, half));
    assert_false(kz_quant_decode_row(KZ_A8, half, 1, &(float){0.0f}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_as_the_reference),
        cmocka_unit_test(reads_the_values_of_iq4_nl),
        cmocka_unit_test(says_what_it_can_make),
        cmocka_unit_test(knows_its_types),
        cmocka_unit_test(search_loses_less_than_the_plain_rule),
        cmocka_unit_test(eight_bits_are_within_half_a_step),
        cmocka_unit_test(what_a_block_can_hold_survives),
        cmocka_unit_test(extreme_values_are_refused_or_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
