// test_layout.c: what is packed into panels means the same as the rows did, at every odd size.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/layout.h"

static uint32_t random_bits(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Random bytes that mean finite numbers: f16 scales keep their exponent below all ones.
static void fill_row(kz_type type, uint8_t *row, size_t bytes, uint32_t *state) {
    const uint32_t block = kz_type_block_bytes(type);
    for (size_t i = 0; i < bytes; i++) {
        row[i] = (uint8_t)random_bits(state);
    }
    for (size_t i = 0; i < bytes; i += block) {
        const size_t top = type == KZ_F32 ? 3 : type == KZ_Q6_K ? 209 : 1;
        row[i + top] &= 0xbb;
        if (type == KZ_Q4_1 || type == KZ_Q5_1 || type == KZ_Q4_K || type == KZ_Q5_K) {
            row[i + 3] &= 0xbb;
        }
    }
}

static void check_panel(kz_type type, size_t row_count, size_t columns, uint32_t *state) {
    const size_t row_bytes = kz_type_row_bytes(type, columns);
    const size_t panel_bytes = kz_layout_panel_bytes(type, columns);
    uint8_t *bytes = calloc(KZ_PANEL_ROWS, row_bytes);
    uint8_t *panel = malloc(panel_bytes + 1);
    float *expected = calloc(columns, sizeof(float));
    float *found = calloc(columns, sizeof(float));
    const void *rows[KZ_PANEL_ROWS] = {NULL};
    for (size_t r = 0; r < row_count; r++) {
        fill_row(type, bytes + r * row_bytes, row_bytes, state);
        rows[r] = r == 5 ? NULL : bytes + r * row_bytes;
    }
    memset(panel, 0xee, panel_bytes + 1);
    kz_layout_pack_panel(type, rows, row_count, columns, panel);
    assert_int_equal(panel[panel_bytes], 0xee);
    for (size_t r = 0; r < KZ_PANEL_ROWS; r++) {
        memset(expected, 0, columns * sizeof(float));
        if (r < row_count && rows[r] != NULL) {
            assert_true(kz_quant_decode_row(type, rows[r], columns, expected));
        }
        kz_layout_unpack_row(type, panel, r, columns, found);
        for (size_t k = 0; k < columns; k++) { // a zero row of Q4_0 is scale 0 times -8: -0
            assert_true(found[k] == expected[k]);
        }
    }
    free(bytes);
    free(panel);
    free(expected);
    free(found);
}

static const kz_type tiled[] = {KZ_F32,  KZ_F16,  KZ_BF16,   KZ_Q8_0, KZ_Q4_0, KZ_Q4_1,
                                KZ_Q5_0, KZ_Q5_1, KZ_IQ4_NL, KZ_Q4_K, KZ_Q5_K, KZ_Q6_K};

static void panels_mean_what_rows_mean(void **state) {
    (void)state;
    static const size_t plain[] = {1, 2, 3, 31, 64, 129};
    static const size_t blocks[] = {32, 64, 96, 576, 640, 1024};
    static const size_t super_blocks[] = {256, 512, 768, 1024, 1280, 2560};
    uint32_t seed = 1;
    for (size_t t = 0; t < sizeof tiled / sizeof tiled[0]; t++) {
        for (size_t c = 0; c < 6; c++) {
            const uint32_t block = kz_type_block_elements(tiled[t]);
            const size_t columns = block == 1          ? plain[c]
                                   : block == KZ_BLOCK ? blocks[c]
                                                       : super_blocks[c];
            check_panel(tiled[t], 16, columns, &seed);
            check_panel(tiled[t], 13, columns, &seed);
            check_panel(tiled[t], 4, columns, &seed);
            check_panel(tiled[t], 1, columns, &seed);
        }
    }
}

// The bytes of one element each, worked out by hand from the drawing in layout.h.
static void elements_lie_where_the_drawing_says(void **state) {
    (void)state;
    uint8_t row[36] = {0};
    uint8_t panel[1088];
    const void *rows[4] = {NULL, NULL, NULL, row};
    row[1] = 0x3c;      // scale 1
    row[2 + 21] = 0x7f; // element 21 of block 0
    kz_layout_pack_panel(KZ_Q8_0, rows, 4, 32, panel);
    assert_int_equal(panel[2 * 3 + 1], 0x3c);
    assert_int_equal(panel[64 + 64 * 5 + 4 * 3 + 1], 0x7f);
    memset(row, 0, sizeof row);
    row[2 + 5] = 0xa3; // low nibble: element 5; high nibble: element 21
    kz_layout_pack_panel(KZ_Q4_0, rows, 4, 32, panel);
    assert_int_equal(panel[64 + 64 * 0 + 4 * 3 + 1], 0x30); // element 5: group 0, j 1, high
    assert_int_equal(panel[64 + 64 * 2 + 4 * 3 + 1], 0xa0); // element 21 = 16 + 4 + 1: high
    memset(row, 0, sizeof row);
    row[1] = 0x3c;
    row[3] = 0x40;
    row[4 + 8] = 0x0c; // element 8: group 1, j 0, low nibble
    kz_layout_pack_panel(KZ_Q4_1, rows, 4, 32, panel);
    assert_int_equal(panel[64 + 2 * 3 + 1], 0x40);
    assert_int_equal(panel[128 + 64 * 1 + 4 * 3], 0x0c);
}

// The same for the planes of high bits and the scales of super-blocks; row 3 of the panel.
static void high_bits_lie_where_the_drawing_says(void **state) {
    (void)state;
    uint8_t row[210] = {0};
    uint8_t panel[3392];
    const void *rows[4] = {NULL, NULL, NULL, row};
    row[2 + 21 / 8] = 1 << 21 % 8; // fifth bit of element 21: word 5, bit 4 * 3 + 1
    kz_layout_pack_panel(KZ_Q5_0, rows, 4, 32, panel);
    assert_int_equal(panel[64 + 512 + 8 * 5 + 1], 1 << 5);
    memset(row, 0, sizeof row);
    row[3] = 0x3c;         // dmin
    row[4 + 0] = 0x80;     // the top bit of sc of sub-block 4
    row[4 + 6] = 0x15;     // m of sub-block 2: 16 + 5
    row[4 + 9] = 0xc7;     // sub-block 5: low nibbles of sc 7, of m 12
    row[16 + 1] = 0x02;    // fifth bit of element 1 of sub-block 1: element 33 = 64 x 0 + 33
    row[48 + 32 + 8] = 12; // element 64 + 8
    kz_layout_pack_panel(KZ_Q5_K, rows, 4, 256, panel);
    assert_int_equal(panel[32 + 2 * 3 + 1], 0x3c);
    assert_int_equal(panel[64 + 16 * 1 + 3], 0x70);            // sl[1]: high nibble, sub-block 5
    assert_int_equal(panel[64 + 64 + 16 * 2 + 3], 0x05);       // ml[2]
    assert_int_equal(panel[64 + 64 + 16 * 1 + 3], 0xc0);       // ml[1]
    assert_int_equal(panel[64 + 128 + 16 * 1 + 3], 0x02);      // sh[1], bits of sub-block 4
    assert_int_equal(panel[64 + 160 + 16 * 0 + 3], 0x10);      // mh[0], bits of sub-block 2
    assert_int_equal(panel[256 + 512 + 8 * 8 + 1], 1 << 5);    // part 0, word 8, bit 4 * 3 + 1
    assert_int_equal(panel[256 + 640 + 64 * 1 + 4 * 3], 0x0c); // part 1, group 1, j 0
    memset(row, 0, sizeof row);
    row[128 + 32 + 6] = 0xc0; // second half, element 96 + 6 of it: 230 = 64 x 3 + 38
    row[192 + 7] = 0x83;      // sc of sub-block 7
    kz_layout_pack_panel(KZ_Q6_K, rows, 4, 256, panel);
    assert_int_equal(panel[64 + 16 * 7 + 3], 0x83);
    // k 38 of part 3: vector 2, i 1, j 2.
    assert_int_equal(panel[320 + 768 * 3 + 512 + 64 * 2 + 4 * 3 + 2], 3 << 2);
}

static void sizes_are_right_and_overflow_is_found(void **state) {
    (void)state;
    size_t bytes;
    assert_int_equal(kz_layout_panel_bytes(KZ_Q8_0, 64), 1088);
    assert_int_equal(kz_layout_panel_bytes(KZ_Q4_0, 96), 2 * 576);
    assert_int_equal(kz_layout_panel_bytes(KZ_Q4_1, 64), 640);
    assert_int_equal(kz_layout_panel_bytes(KZ_Q5_0, 96), 2 * 704);
    assert_int_equal(kz_layout_panel_bytes(KZ_Q5_1, 64), 768);
    assert_int_equal(kz_layout_panel_bytes(KZ_IQ4_NL, 64), 576);
    assert_int_equal(kz_layout_panel_bytes(KZ_Q4_K, 512), 2 * 2304);
    assert_int_equal(kz_layout_panel_bytes(KZ_Q5_K, 256), 2816);
    assert_int_equal(kz_layout_panel_bytes(KZ_Q6_K, 256), 3392);
    assert_int_equal(kz_layout_record_columns(KZ_Q6_K), 256);
    assert_int_equal(kz_layout_record_columns(KZ_Q5_0), 64);
    assert_int_equal(kz_layout_record_columns(KZ_BF16), 0);
    assert_int_equal(kz_layout_panel_bytes(KZ_BF16, 3), 4 * 16 * 2);
    assert_int_equal(kz_layout_panel_bytes(KZ_I32, 64), 0);
    assert_int_equal(kz_layout_tensor_bytes(KZ_TILE16, KZ_Q8_0, 17, 64, &bytes), KAZEIA_OK);
    assert_int_equal(bytes, 2 * 1088);
    assert_int_equal(kz_layout_tensor_bytes(KZ_ROWS, KZ_I32, 3, 5, &bytes), KAZEIA_OK);
    assert_int_equal(bytes, 60);
    assert_int_equal(kz_layout_tensor_bytes(KZ_ROWS, KZ_Q8_0, 1, 32, &bytes), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_layout_tensor_bytes(KZ_TILE16, KZ_F32, SIZE_MAX / 64, 64, &bytes),
                     KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(kz_layout_tensor_bytes(KZ_TILE16, KZ_F32, 1, SIZE_MAX - 1, &bytes),
                     KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(kz_layout_padded_columns(KZ_Q4_1, 96), 128);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_mean_what_rows_mean),
        cmocka_unit_test(elements_lie_where_the_drawing_says),
        cmocka_unit_test(high_bits_lie_where_the_drawing_says),
        cmocka_unit_test(sizes_are_right_and_overflow_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
