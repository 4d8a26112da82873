// test_sampler.c: the sampler against what Hugging Face's processors keep, and its draws.
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
#include <stdlib.h>
#include <string.h>

#include "generate/random.h"
#include "generate/sampler.h"

#define NPY_HEADER_BYTES 128
#define MOST_TOKENS 3072

static float scores[MOST_TOKENS], expected[MOST_TOKENS];

// A one-dimensional little-endian float32 .npy file of version 1 has a header of 128 bytes.
static void read_npy(const char *name, const char *part, size_t count, float *out) {
    char path[256];
    snprintf(path, sizeof path, "tests/golden/sampling/%s.%s.npy", name, part);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char header[NPY_HEADER_BYTES];
    assert_int_equal(fread(header, 1, sizeof header, file), sizeof header);
    assert_memory_equal(header, "\x93NUMPY", 6);
    assert_int_equal(fread(out, sizeof *out, count, file), count);
    fclose(file);
}

static kz_sampling sampling_of(json_t *entry) {
    json_t *top_p = json_object_get(entry, "top_p");
    return (kz_sampling){
        .temperature = (float)json_number_value(json_object_get(entry, "temperature")),
        .top_k = (uint32_t)json_integer_value(json_object_get(entry, "top_k")),
        .top_p = top_p ? (float)json_number_value(top_p) : 1.0f,
        .min_p = (float)json_number_value(json_object_get(entry, "min_p")),
    };
}

static void check_probabilities(const kz_candidate *candidates, size_t count, size_t vocabulary) {
    static float found[MOST_TOKENS];
    memset(found, 0, sizeof found);
    for (size_t i = 0; i < count; i++) {
        found[candidates[i].token] = (float)candidates[i].probability;
    }
    for (size_t i = 0; i < vocabulary; i++) {
        assert_int_equal(found[i] > 0.0f, expected[i] > 0.0f);
        assert_true(fabsf(found[i] - expected[i]) <= 1e-6f);
    }
}

static void check_case(json_t *entry) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    const size_t vocabulary = (size_t)json_integer_value(json_object_get(entry, "vocabulary"));
    assert_true(vocabulary <= MOST_TOKENS);
    read_npy(name, "input", vocabulary, scores);
    read_npy(name, "probs", vocabulary, expected);
    const kz_sampling sampling = sampling_of(entry);
    kz_sampler *sampler = NULL;
    assert_int_equal(kz_sampler_create(&sampling, (uint32_t)vocabulary, NULL, &sampler), KAZEIA_OK);
    const kz_candidate *candidates = NULL;
    size_t count = 0;
    assert_int_equal(kz_sampler_candidates(sampler, scores, &candidates, &count), KAZEIA_OK);
    assert_int_equal(count, json_integer_value(json_object_get(entry, "kept")));
    if (strcmp(name, "top_p_ties") != 0) {
        check_probabilities(candidates, count, vocabulary);
    }
    kz_sampler_destroy(sampler);
}

static void probabilities_match_the_golden_ones(void **state) {
    (void)state;
    json_error_t error;
    json_t *cases = json_load_file("tests/golden/sampling/cases.json", 0, &error);
    assert_non_null(cases);
    assert_int_equal(json_array_size(cases), 12);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        check_case(json_array_get(cases, i));
    }
    json_decref(cases);
}

static void greedy_takes_the_lowest_of_equals(void **state) {
    (void)state;
    const float logits[] = {NAN, 1.0f, 3.0f, -INFINITY, 3.0f, 2.0f};
    const kz_sampling sampling = {.temperature = 0.0f, .top_p = 1.0f};
    kz_sampler *sampler = NULL;
    assert_int_equal(kz_sampler_create(&sampling, 6, NULL, &sampler), KAZEIA_OK);
    int32_t token = -1;
    assert_int_equal(kz_sampler_pick(sampler, logits, &token), KAZEIA_OK);
    assert_int_equal(token, 2);
    kz_sampler_destroy(sampler);
}

static void logits_without_a_number_are_refused(void **state) {
    (void)state;
    const float logits[] = {NAN, -INFINITY, NAN};
    for (int i = 0; i < 2; i++) {
        const kz_sampling sampling = {.temperature = (float)i, .top_p = 0.9f};
        kz_sampler *sampler = NULL;
        assert_int_equal(kz_sampler_create(&sampling, 3, NULL, &sampler), KAZEIA_OK);
        int32_t token = -1;
        assert_int_equal(kz_sampler_pick(sampler, logits, &token), KAZEIA_BAD_FILE);
        kz_sampler_destroy(sampler);
    }
}

static void settings_out_of_range_are_refused(void **state) {
    (void)state;
    const kz_sampling wrong[] = {{.temperature = -1.0f, .top_p = 1.0f},
                                 {.temperature = NAN, .top_p = 1.0f},
                                 {.temperature = INFINITY, .top_p = 1.0f},
                                 {.temperature = 1.0f, .top_p = 0.0f},
                                 {.temperature = 1.0f, .top_p = 1.5f},
                                 {.temperature = 1.0f, .top_p = 1.0f, .min_p = 2.0f}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kz_sampler *sampler = NULL;
        assert_int_equal(kz_sampler_create(&wrong[i], 3, NULL, &sampler), KAZEIA_BAD_ARGUMENT);
    }
}

static void draw(uint64_t seed, size_t count, int32_t *out_tokens) {
    const float logits[] = {0.0f, 1.0f, 2.0f, -1.0f};
    const kz_sampling sampling = {.temperature = 1.0f, .top_p = 1.0f, .seed = seed};
    kz_sampler *sampler = NULL;
    assert_int_equal(kz_sampler_create(&sampling, 4, NULL, &sampler), KAZEIA_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(kz_sampler_pick(sampler, logits, &out_tokens[i]), KAZEIA_OK);
    }
    kz_sampler_reset(sampler);
    int32_t again = -1;
    assert_int_equal(kz_sampler_pick(sampler, logits, &again), KAZEIA_OK);
    assert_int_equal(again, out_tokens[0]);
    kz_sampler_destroy(sampler);
}

static void draws_follow_the_probabilities_and_the_seed(void **state) {
    (void)state;
    enum { DRAWS = 20000 };
    static int32_t first[DRAWS], second[DRAWS], other[DRAWS];
    draw(7, DRAWS, first);
    draw(7, DRAWS, second);
    draw(8, DRAWS, other);
    assert_memory_equal(first, second, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    const double weights[] = {1.0, exp(1.0), exp(2.0), exp(-1.0)};
    const double sum = weights[0] + weights[1] + weights[2] + weights[3];
    for (int32_t token = 0; token < 4; token++) {
        size_t hits = 0;
        for (size_t i = 0; i < DRAWS; i++) {
            hits += first[i] == token;
        }
        // Four standard deviations of a binomial are below 0.015 here.
        assert_true(fabs((double)hits / DRAWS - weights[token] / sum) < 0.015);
    }
}

static void log_probabilities_sum_to_one(void **state) {
    (void)state;
    const float logits[] = {88.0f, 90.0f, -INFINITY, 89.5f};
    double sum = 0.0;
    for (int32_t i = 0; i < 4; i++) {
        sum += exp(kz_logits_log_probability(logits, 4, i));
    }
    assert_true(fabs(sum - 1.0) < 1e-6);
    assert_true(isinf(kz_logits_log_probability(logits, 4, 2)));
}

static void infinite_logits_share_the_probability(void **state) {
    (void)state;
    const float logits[] = {1.0f, INFINITY, NAN, INFINITY};
    assert_true(fabs(kz_logits_log_probability(logits, 4, 1) + log(2.0)) < 1e-6);
    assert_true(kz_logits_log_probability(logits, 4, 0) == -INFINITY);
    assert_true(kz_logits_log_probability(logits, 4, 2) == -INFINITY);
    assert_true(kz_logits_log_sum(logits, 4) == INFINITY);
    assert_true(kz_logits_log_sum(logits + 2, 1) == -INFINITY); // no number
}

// A row as long as a vocabulary, against sums in double.
static void test_log_probabilities_of_a_long_row(void **state) {
    (void)state;
    static float logits[51865];
    const size_t count = sizeof logits / sizeof *logits;
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        logits[i] = (float)sin((double)i) * 20.0f;
        sum += exp((double)logits[i] - 20.0);
    }
    for (size_t i = 0; i < count; i += 997) {
        const double right = (double)logits[i] - 20.0 - log(sum);
        const double found = kz_logits_log_probability(logits, count, (int32_t)i);
        assert_true(fabs(found - right) < 1e-5);
    }
    assert_true(fabs(kz_logits_log_sum(logits, count) - 20.0 - log(sum)) < 1e-5);
}

// A min-p that refuses nothing goes by candidates, no filter goes by blocks: the draws agree. Rows
// end in the middle of a block, and hold tokens that cannot be drawn.
static void draws_by_blocks_and_by_candidates_agree(void **state) {
    (void)state;
    enum { TOKENS = 2600, DRAWS = 500 };
    static float logits[TOKENS];
    for (size_t i = 0; i < TOKENS; i++) {
        logits[i] = i % 7 == 0 ? -INFINITY : i % 11 == 0 ? NAN : (float)sin((double)i) * 3.0f;
    }
    const kz_sampling by_blocks = {.temperature = 0.8f, .top_p = 1.0f, .seed = 3};
    kz_sampling by_candidates = by_blocks;
    by_candidates.min_p = 1e-30f;
    kz_sampler *first = NULL, *second = NULL;
    assert_int_equal(kz_sampler_create(&by_blocks, TOKENS, NULL, &first), KAZEIA_OK);
    assert_int_equal(kz_sampler_create(&by_candidates, TOKENS, NULL, &second), KAZEIA_OK);
    for (size_t i = 0; i < DRAWS; i++) {
        int32_t token = -1, same = -1;
        assert_int_equal(kz_sampler_pick(first, logits, &token), KAZEIA_OK);
        assert_int_equal(kz_sampler_pick(second, logits, &same), KAZEIA_OK);
        assert_int_equal(token, same);
        assert_true(logits[token] > -INFINITY);
    }
    kz_sampler_destroy(first);
    kz_sampler_destroy(second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_probabilities_of_a_long_row),
        cmocka_unit_test(probabilities_match_the_golden_ones),
        cmocka_unit_test(greedy_takes_the_lowest_of_equals),
        cmocka_unit_test(logits_without_a_number_are_refused),
        cmocka_unit_test(settings_out_of_range_are_refused),
        cmocka_unit_test(draws_follow_the_probabilities_and_the_seed),
        cmocka_unit_test(draws_by_blocks_and_by_candidates_agree),
        cmocka_unit_test(log_probabilities_sum_to_one),
        cmocka_unit_test(infinite_logits_share_the_probability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
