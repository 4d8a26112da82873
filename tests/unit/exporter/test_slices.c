// test_slices.c: weights cut into slices, made in any order and by any number of threads.
//
// in:  weights of constants; tests/golden/llama, tests/golden/whisper
// out: cmocka's report
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_samples.h"
#include "exporter/passes/slices.h"
#include "format/layout.h"
#include "kazeia/export.h"
#include "model_graphs.h"

#define ROWS 40001 // of 64 columns in f32: ten slices, the last panel with one row
#define COLUMNS 64

// A matrix and a table of rows, both larger than a slice, and a vector of three parts.
typedef struct large_weights {
    float *values; // [ROWS][COLUMNS]
    kz_graph_weight weights[3];
    kz_graph graph;
} large_weights;

static void large_weights_init(large_weights *large, kz_type type) {
    large->values = malloc(sizeof(float) * ROWS * COLUMNS);
    assert_non_null(large->values);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
        large->values[i] = (float)(i * 2654435761u % 1000003u) / 1e6f - 0.5f;
    }
    const kz_weight_piece rows = {.constant = large->values, .row_count = ROWS - 1};
    const kz_weight_piece last = {.constant = large->values, .row_count = 1};
    large->weights[0] = (kz_graph_weight){.name = "matrix",
                                          .is_matrix = true,
                                          .rank = 2,
                                          .rows = ROWS,
                                          .columns = COLUMNS,
                                          .pieces = {rows, last},
                                          .piece_count = 2,
                                          .type = type};
    large->weights[1] = large->weights[0];
    large->weights[1].is_matrix = false;
    large->weights[1].type = KZ_F32;
    large->weights[2] = (kz_graph_weight){
        .name = "vector",
        .rank = 1,
        .rows = 1,
        .columns = 12,
        .pieces = {{.constant = large->values, .row_count = 4}, {.row_count = 3}, {.row_count = 5}},
        .piece_count = 3,
        .type = KZ_F32};
    large->weights[2].pieces[2].constant = large->values;
    large->graph = (kz_graph){.weights = large->weights, .weight_count = 3};
}

static void slices_cover_all_weights_in_order(void **state) {
    large_weights large;
    kz_slice_sizes sizes;
    kz_slice slice;
    uint64_t bytes = 0, row = 0;
    size_t weight = 0, count = 0;
    (void)state;
    large_weights_init(&large, KZ_F32);
    CHECK(kz_slices_measure(&large.graph, &sizes));
    kz_slice_cursor cursor = {.graph = &large.graph};
    for (; kz_slice_next(&cursor, &slice); count++) {
        if (slice.weight != &large.weights[weight]) {
            assert_true(row == large.weights[weight].rows);
            weight++;
            row = 0;
        }
        assert_ptr_equal(slice.weight, &large.weights[weight]);
        assert_true(slice.first == row && slice.count > 0);
        assert_true(slice.bytes > 0 && slice.bytes <= sizes.largest_bytes);
        row += slice.count;
        bytes += slice.bytes;
    }
    assert_int_equal(weight, 2);
    assert_true(bytes == sizes.bytes_total);
    assert_true(count > 15 && sizes.largest_bytes <= (size_t)1 << 20);
    assert_int_equal(sizes.widest_columns, COLUMNS);
    free(large.values);
}

// Makes every second slice first: each into its own place, so that the whole can be looked at.
static uint8_t *make_all(const large_weights *large, const kz_slice_sizes *sizes) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    uint8_t *bytes = NULL;
    kz_slice_maker maker = {0};
    CHECK(kz_slice_maker_init(&maker, sizes->widest_columns, &memory));
    CHECK(kz_alloc_aligned(&memory, (size_t)sizes->bytes_total, KZ_ALIGNMENT, "weights",
                           (void **)&bytes));
    for (size_t turn = 0; turn < 2; turn++) {
        kz_slice_cursor cursor = {.graph = &large->graph};
        kz_slice slice;
        size_t at = 0;
        for (size_t i = 0; kz_slice_next(&cursor, &slice); i++) {
            if (i % 2 != turn) {
                CHECK(kz_slice_make(&maker, &slice, bytes + at));
            }
            at += slice.bytes;
        }
    }
    kz_slice_maker_clear(&maker, &memory);
    return bytes;
}

static void made_slices_are_the_rows(void **state) {
    static const kz_type types[] = {KZ_F32, KZ_F16, KZ_Q8_0, KZ_Q4_0};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        large_weights large;
        kz_slice_sizes sizes;
        large_weights_init(&large, types[t]);
        CHECK(kz_slices_measure(&large.graph, &sizes));
        uint8_t *bytes = make_all(&large, &sizes);
        const size_t panel = kz_layout_panel_bytes(types[t], COLUMNS);
        const size_t matrix = (ROWS + KZ_PANEL_ROWS - 1) / KZ_PANEL_ROWS * panel;
        for (size_t row = 0; row < ROWS; row += row == ROWS - 2 ? 1 : 101) {
            const float *values = large.values + (row == ROWS - 1 ? 0 : row) * COLUMNS;
            float expected[COLUMNS], found[COLUMNS];
            uint8_t row_form[COLUMNS * sizeof(float)];
            assert_true(kz_quant_encode_row(types[t], values, COLUMNS, row_form));
            assert_true(kz_quant_decode_row(types[t], row_form, COLUMNS, expected));
            kz_layout_unpack_row(types[t], bytes + row / KZ_PANEL_ROWS * panel, row % KZ_PANEL_ROWS,
                                 COLUMNS, found);
            assert_memory_equal(found, expected, sizeof expected);
            assert_memory_equal(bytes + matrix + row * sizeof expected, values, sizeof expected);
        }
        const float *vector = (const float *)(const void *)(bytes + matrix) + ROWS * COLUMNS;
        assert_memory_equal(vector, large.values, 4 * sizeof(float));
        assert_memory_equal(vector + 4, ((float[3]){0}), 3 * sizeof(float));
        assert_memory_equal(vector + 7, large.values, 5 * sizeof(float));
        const kazeia_allocator memory = kz_allocator_or_default(NULL);
        kz_free_aligned(&memory, bytes);
        free(large.values);
    }
}

static void parts_that_do_not_make_the_whole_are_refused(void **state) {
    large_weights large;
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_slice_maker maker = {0};
    float out[16 * COLUMNS];
    (void)state;
    large_weights_init(&large, KZ_F32);
    CHECK(kz_slice_maker_init(&maker, COLUMNS, &memory));
    large.weights[2].columns = 11; // its parts hold 12
    assert_int_equal(kz_slice_make(&maker, &(kz_slice){&large.weights[2], 0, 1, 44}, (void *)out),
                     KAZEIA_BAD_FILE);
    large.weights[2].columns = 13;
    assert_int_equal(kz_slice_make(&maker, &(kz_slice){&large.weights[2], 0, 1, 52}, (void *)out),
                     KAZEIA_BAD_FILE);
    large.weights[0].piece_count = 1; // a row too few
    assert_int_equal(
        kz_slice_make(&maker, &(kz_slice){&large.weights[0], ROWS - 1, 1, 4096}, (void *)out),
        KAZEIA_BAD_FILE);
    large.values[70] = INFINITY;
    large.weights[0].type = KZ_Q4_0;
    assert_int_equal(kz_slice_make(&maker, &(kz_slice){&large.weights[0], 0, 16, 576}, (void *)out),
                     KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "'matrix' cannot be written as q4_0"));
    kz_slice_maker_clear(&maker, &memory);
    free(large.values);
}

// --- Threads ------------------------------------------------------------------------------------

static void export_with(const char *source, const char *weights, uint32_t threads,
                        const char *output) {
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = source;
    settings.output = output;
    settings.weights = weights;
    settings.thread_count = threads;
    CHECK(kazeia_export(&settings));
}

static void threads_do_not_change_the_file(void **state) {
    static const char *const sources[] = {TINY_LLAMA, TINY_WHISPER};
    static const char *const weights[] = {"q4", "q8", "f32"};
    static const uint32_t threads[] = {2, 3, 7, 64, 0};
    char folder[SAMPLE_PATH_BYTES], output[SAMPLE_PATH_BYTES + 16];
    (void)state;
    sample_folder_create(folder);
    snprintf(output, sizeof output, "%s/m.kzp", folder);
    for (size_t i = 0; i < 6; i++) {
        export_with(sources[i / 3], weights[i % 3], 1, output);
        byte_string alone = bytes_of_file(output);
        for (size_t j = 0; j < sizeof threads / sizeof *threads; j++) {
            export_with(sources[i / 3], weights[i % 3], threads[j], output);
            byte_string together = bytes_of_file(output);
            assert_int_equal(together.count, alone.count);
            assert_memory_equal(together.bytes, alone.bytes, alone.count);
            bytes_clear(&together);
        }
        bytes_clear(&alone);
    }
    sample_folder_remove(folder);
}

static kazeia_status stop_at(void *context, uint64_t bytes_done, uint64_t bytes_total,
                             const char *tensor) {
    size_t *calls_left = context;
    (void)bytes_done;
    (void)bytes_total;
    (void)tensor;
    return (*calls_left)-- > 0 ? KAZEIA_OK : kz_fail(KAZEIA_CANCELLED, "asked for");
}

// Stopped at its first slice, at its fifth, and so on, with slices under way on other threads.
static void a_stop_ends_all_threads(void **state) {
    char folder[SAMPLE_PATH_BYTES], output[SAMPLE_PATH_BYTES + 16];
    (void)state;
    sample_folder_create(folder);
    snprintf(output, sizeof output, "%s/m.kzp", folder);
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = TINY_LLAMA;
    settings.output = output;
    settings.progress = stop_at;
    for (size_t calls = 0; calls < 20; calls += 4) {
        size_t calls_left = calls;
        settings.thread_count = 1 + (uint32_t)calls / 4;
        settings.progress_context = &calls_left;
        assert_int_equal(kazeia_export(&settings), KAZEIA_CANCELLED);
        assert_string_equal(kazeia_last_error(), "asked for");
        assert_int_equal(rmdir(folder), 0); // nothing is left in it
        assert_int_equal(mkdir(folder, 0700), 0);
    }
    settings.progress = NULL;
    settings.thread_count = 65;
    assert_int_equal(kazeia_export(&settings), KAZEIA_BAD_ARGUMENT);
    sample_folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_cover_all_weights_in_order),
        cmocka_unit_test(made_slices_are_the_rows),
        cmocka_unit_test(parts_that_do_not_make_the_whole_are_refused),
        cmocka_unit_test(threads_do_not_change_the_file),
        cmocka_unit_test(a_stop_ends_all_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
