// test_penalty.c: penalties against Hugging Face's processor and by hand; guesses of lookup.
//
// in:  tests/golden/sampling
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "generate/lookup.h"
#include "generate/penalty.h"

#define NPY_HEADER_BYTES 128
#define MOST_TOKENS 3072
#define MOST_HISTORY 512

static void read_npy(const char *name, const char *part, size_t count, float *out) {
    char path[256], header[NPY_HEADER_BYTES];
    snprintf(path, sizeof path, "tests/golden/sampling/%s.%s.npy", name, part);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(header, 1, sizeof header, file), sizeof header);
    assert_int_equal(fread(out, sizeof *out, count, file), count);
    fclose(file);
}

static void check_case(json_t *entry, float penalty) {
    static float logits[MOST_TOKENS], expected[MOST_TOKENS];
    static uint32_t counts[MOST_TOKENS];
    int32_t history[MOST_HISTORY];
    const char *name = json_string_value(json_object_get(entry, "name"));
    const size_t vocabulary = (size_t)json_integer_value(json_object_get(entry, "vocabulary"));
    json_t *ids = json_object_get(entry, "history");
    const size_t count = json_array_size(ids);
    assert_true(vocabulary <= MOST_TOKENS && count <= MOST_HISTORY);
    for (size_t i = 0; i < count; i++) {
        history[i] = (int32_t)json_integer_value(json_array_get(ids, i));
    }
    read_npy(name, "logits", vocabulary, logits);
    read_npy(name, "repetition_penalty", vocabulary, expected);
    const kz_penalties penalties = {.repetition = penalty};
    kz_penalties_apply(&penalties, history, count, counts, logits, (uint32_t)vocabulary);
    for (size_t i = 0; i < vocabulary; i++) {
        assert_true(fabsf(logits[i] - expected[i]) <= 1e-6f);
        assert_int_equal(counts[i], 0);
    }
}

static void repetition_is_hugging_faces(void **state) {
    (void)state;
    json_error_t error;
    json_t *cases = json_load_file("tests/golden/sampling/cases.json", 0, &error);
    size_t found = 0;
    assert_non_null(cases);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        json_t *entry = json_array_get(cases, i);
        json_t *penalty = json_object_get(entry, "repetition_penalty");
        if (penalty) {
            check_case(entry, (float)json_number_value(penalty));
            found++;
        }
    }
    assert_int_equal(found, 5);
    json_decref(cases);
}

static void frequency_and_presence_count_the_window(void **state) {
    (void)state;
    const int32_t ids[] = {0, 0, 1, 2, 2, 2, 1, 99};
    uint32_t counts[4] = {0};
    float logits[4] = {10.0f, 10.0f, 10.0f, 10.0f};
    kz_penalties penalties = {.frequency = 0.5f, .presence = 2.0f, .window = 6};
    kz_penalties_apply(&penalties, ids, 8, counts, logits, 4);
    const float expected[4] = {10.0f, 7.0f, 6.5f, 10.0f}; // 0 left the window, 99 is no token
    assert_memory_equal(logits, expected, sizeof expected);
    // The bias comes first, so that the penalty divides what it left.
    const kz_bias biases[] = {{1, 13.0f}, {3, -INFINITY}};
    penalties = (kz_penalties){.repetition = 2.0f, .biases = biases, .bias_count = 2};
    kz_penalties_apply(&penalties, ids, 8, counts, logits, 4);
    assert_true(logits[0] == 5.0f && logits[1] == 10.0f && logits[2] == 3.25f);
    assert_true(logits[3] == -INFINITY);
    penalties = (kz_penalties){.repetition = 1.0f, .biases = biases, .bias_count = 1};
    kz_penalties_apply(&penalties, ids, 8, NULL, logits, 4);
    assert_true(logits[1] == 23.0f && logits[2] == 3.25f);
}

static void wrong_numbers_are_refused(void **state) {
    (void)state;
    const kz_bias beyond = {100, 1.0f}, negative = {-1, 1.0f}, nothing = {1, NAN};
    const kz_penalties wrong[] = {{.repetition = -1.0f},
                                  {.repetition = NAN},
                                  {.frequency = INFINITY},
                                  {.presence = NAN},
                                  {.biases = &beyond, .bias_count = 1},
                                  {.biases = &negative, .bias_count = 1},
                                  {.biases = &nothing, .bias_count = 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(kz_penalties_check(&wrong[i], 100), KAZEIA_BAD_ARGUMENT);
    }
    const kz_penalties right = {.repetition = 1.1f, .frequency = -2.0f, .presence = 2.0f};
    assert_int_equal(kz_penalties_check(&right, 100), KAZEIA_OK);
}

static void lookup_continues_the_best_match(void **state) {
    (void)state;
    int32_t out[6];
    const int32_t repeated[] = {1, 2, 3, 4, 5, 9, 2, 3, 7, 1, 2, 3};
    assert_int_equal(kz_lookup_draft(repeated, 12, 3, out, 4), 4);
    const int32_t expected[] = {4, 5, 9, 2}; // after 1 2 3, not after the newer 2 3
    assert_memory_equal(out, expected, sizeof expected);
    assert_int_equal(kz_lookup_draft(repeated, 12, 4, out, 4), 0);
    const int32_t cycle[] = {8, 5, 6, 5, 6};
    assert_int_equal(kz_lookup_draft(cycle, 5, 2, out, 6), 6);
    const int32_t onwards[] = {5, 6, 5, 6, 5, 6}; // beyond the end of the text
    assert_memory_equal(out, onwards, sizeof onwards);
    const int32_t single[] = {4};
    assert_int_equal(kz_lookup_draft(single, 1, 1, out, 6), 0);
    assert_int_equal(kz_lookup_draft(single, 0, 1, out, 6), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repetition_is_hugging_faces),
        cmocka_unit_test(frequency_and_presence_count_the_window),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(lookup_continues_the_best_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
