// test_rotation.c: what stretches positions, from the numbers that checkpoints state.
//
// in:  scalings as config.json has them
// out: cmocka's report
#include <math.h>
#include <string.h>

#include "exporter/models/rotation.h"
#include "model_graphs.h"

static kazeia_status read_text(const char *text, kz_rotation *rotation) {
    json_t *scaling = json_loads(text, 0, NULL);
    assert_non_null(scaling);
    const kazeia_status status = kz_rotation_read_json(scaling, rotation);
    json_decref(scaling);
    return status;
}

// The weight's `rotary` / 2 values; the graph owns them.
static const float *values_of(kz_graph *graph, const kz_rotation *rotation, uint32_t rotary) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_graph_init(graph, &memory);
    const uint32_t weight = kz_rotation_add(graph, "inv_freq", rotation, rotary);
    CHECK(kz_graph_status(graph));
    assert_int_equal(graph->weights[weight].columns, rotary / 2);
    return graph->weights[weight].pieces[0].constant;
}

static void check_near(float value, double expected) {
    if (fabs((double)value - expected) > 1e-7 * expected) {
        fail_msg("%.9g found, %.9g expected", (double)value, expected);
    }
}

// Llama 3.2's own numbers. The expected values are those of transformers' formula in float64.
static void llama3_divides_slow_turns_only(void **state) {
    static const struct {
        size_t index;
        double expected;
    } cases[] = {
        {0, 1.0},
        {14, 0.003211445994752591},   // 4.2 turns within the original context: kept
        {15, 0.001290547928209264},   // 2.8 turns, between 1 and 4: mixed
        {17, 9.70828780262767e-05},   // 1.2 turns: alike
        {18, 1.9461638184831125e-05}, // 0.8 turns: divided
        {31, 9.41830672543491e-08},
    };
    kz_rotation rotation = {.theta = 5e5};
    kz_graph graph;
    (void)state;
    CHECK(read_text("{\"rope_type\": \"llama3\", \"factor\": 32.0, \"low_freq_factor\": 1.0, "
                    "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}",
                    &rotation));
    const float *values = values_of(&graph, &rotation, 64);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_near(values[cases[i].index], cases[i].expected);
    }
    kz_graph_clear(&graph);
}

static void linear_divides_every_turn(void **state) {
    kz_rotation plain = {.theta = 1e6}, rotation = {.theta = 1e6};
    kz_graph graph, plain_graph;
    (void)state;
    CHECK(read_text("{\"type\": \"linear\", \"factor\": 8}", &rotation));
    CHECK(read_text("{\"rope_type\": \"default\"}", &plain));
    const float *values = values_of(&graph, &rotation, 32);
    const float *unscaled = values_of(&plain_graph, &plain, 32);
    for (size_t i = 0; i < 16; i++) {
        assert_true(values[i] == unscaled[i] / 8.0f);
    }
    kz_graph_clear(&graph);
    kz_graph_clear(&plain_graph);
}

static void other_scalings_are_refused(void **state) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"rope_type\": \"yarn\", \"factor\": 4.0}", "'yarn' is not supported"},
        {"{\"factor\": 4.0}", "'unnamed' is not supported"},
        {"{\"rope_type\": \"linear\"}", "no 'factor' above 0"},
        {"{\"rope_type\": \"linear\", \"factor\": 0}", "no 'factor' above 0"},
        {"{\"rope_type\": \"llama3\", \"factor\": 8.0}", "no 'low_freq_factor' above 0"},
        {"{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 4.0, "
         "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}",
         "low_freq_factor is 4, expected below"},
        {"{\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5}", "partial_rotary_factor"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kz_rotation rotation = {.theta = 1e4};
        assert_int_not_equal(read_text(cases[i].text, &rotation), KAZEIA_OK);
        if (strstr(kazeia_last_error(), cases[i].words) == NULL) {
            fail_msg("'%s' says nothing of '%s'", kazeia_last_error(), cases[i].words);
        }
    }
}

static void factors_of_zero_are_refused(void **state) {
    static const float zeros[] = {1.0f, 0.0f};
    const kz_checkpoint_tensor factors = {.name = "rope_freqs.weight",
                                          .type = KZ_F32,
                                          .rank = 1,
                                          .dims = {2, 1, 1, 1},
                                          .bytes = (const uint8_t *)zeros,
                                          .byte_count = sizeof zeros};
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    const kz_rotation rotation = {.theta = 1e4, .extra_factors = &factors};
    kz_graph graph;
    (void)state;
    kz_graph_init(&graph, &memory);
    assert_int_equal(kz_rotation_add(&graph, "inv_freq", &rotation, 4), KZ_NO_VALUE);
    assert_int_equal(kz_graph_status(&graph), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "a divisor of 0"));
    kz_graph_clear(&graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama3_divides_slow_turns_only),
        cmocka_unit_test(linear_divides_every_turn),
        cmocka_unit_test(other_scalings_are_refused),
        cmocka_unit_test(factors_of_zero_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
