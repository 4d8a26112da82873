// test_graph.c: building a graph: values and instructions, and a first failure that stays.
//
// in:  nothing
// out: cmocka's report
#include <string.h>

#include "exporter/models/rotation.h"
#include "model_graphs.h"

typedef struct sample {
    kz_graph graph;
    kz_graph_method *method;
    kz_dim tokens;
    uint32_t x; // input [tokens][64]
    uint32_t square;
    uint32_t gamma;
} sample;

static void sample_init(sample *s) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_graph_init(&s->graph, &memory);
    s->square = kz_graph_add_weight(
        &s->graph, &(kz_graph_weight){
                       .name = "square", .is_matrix = true, .rank = 2, .rows = 64, .columns = 64});
    s->gamma = kz_graph_add_weight(
        &s->graph, &(kz_graph_weight){.name = "gamma", .rank = 1, .rows = 1, .columns = 64});
    s->method = kz_graph_add_method(&s->graph, "forward");
    s->tokens = kz_method_symbol(s->method, "tokens", 16);
    s->x = kz_method_input(s->method, "x", KZ_F32, 0, 2, s->tokens, kz_dim_constant(64));
}

static void values_and_instructions_follow_the_calls(void **state) {
    sample s;
    (void)state;
    sample_init(&s);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    const uint32_t normed = kz_node_rms_norm(s.method, s.x, s.gamma, 1e-5f, KZ_NO_VALUE);
    options.out = kz_method_output(s.method, "y", s.tokens, 64);
    assert_int_equal(kz_node_linear(s.method, normed, s.square, &options), options.out);
    CHECK(kz_graph_status(&s.graph));
    assert_int_equal(s.method->instruction_count, 2);
    assert_int_equal(s.method->instructions[0].op, KZ_OP_RMS_NORM);
    assert_int_equal(s.method->instructions[1].operands[0], normed);
    assert_int_equal(s.method->instructions[1].operands[2], KZ_NO_VALUE);
    assert_int_equal(kz_method_columns_of(s.method, normed), 64);
    // A weight is one value of the method, however often it is named.
    assert_int_equal(kz_method_weight(s.method, s.square), kz_method_weight(s.method, s.square));
    kz_graph_clear(&s.graph);
}

// A hostile shape may promise the right columns in no row at all.
static void rotation_factors_are_one_row(void **state) {
    static const float ones[] = {1.0f, 1.0f, 1.0f, 1.0f};
    kz_checkpoint_tensor factors = {.name = "rope_freqs.weight",
                                    .type = KZ_F32,
                                    .rank = 1,
                                    .dims = {4, 1, 1, 1},
                                    .bytes = (const uint8_t *)ones,
                                    .byte_count = sizeof ones};
    sample s;
    (void)state;
    sample_init(&s);
    const kz_rotation rotation = {.theta = 10000.0, .extra_factors = &factors};
    (void)kz_rotation_add(&s.graph, "inv_freq", &rotation, 8);
    CHECK(kz_graph_status(&s.graph));
    factors.rank = 2;
    factors.dims[0] = 0;
    factors.dims[1] = 4;
    factors.byte_count = 0;
    assert_int_equal(kz_rotation_add(&s.graph, "again", &rotation, 8), KZ_NO_VALUE);
    assert_int_equal(kz_graph_status(&s.graph), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "'rope_freqs.weight' has 0 elements, expected 4"));
    kz_graph_clear(&s.graph);
}

static void the_first_failure_stays(void **state) {
    sample s;
    (void)state;
    sample_init(&s);
    const size_t values = s.method->value_count;
    kz_graph_note(&s.graph, kz_fail(KAZEIA_UNSUPPORTED, "the first"));
    kz_graph_note(&s.graph, KAZEIA_OUT_OF_MEMORY);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    assert_int_equal(kz_node_linear(s.method, s.x, s.square, &options), KZ_NO_VALUE);
    assert_int_equal(kz_node_rms_norm(s.method, s.x, s.gamma, 0.0f, KZ_NO_VALUE), KZ_NO_VALUE);
    assert_int_equal(kz_node_unfold(s.method, s.x, &(kz_window){3, 1, 1, 1, 1}), KZ_NO_VALUE);
    kz_node_rope(s.method, s.x, s.x, s.gamma, 64, 64, false);
    assert_null(kz_graph_add_method(&s.graph, "later"));
    kz_graph_set_string(&s.graph, "key", "value");
    assert_int_equal(s.method->value_count, values);
    assert_int_equal(s.method->instruction_count, 0);
    assert_int_equal(s.graph.metadata_count, 0);
    assert_int_equal(kz_graph_status(&s.graph), KAZEIA_UNSUPPORTED);
    kz_program_description description;
    assert_int_equal(kz_graph_describe(&s.graph, &description), KAZEIA_UNSUPPORTED);
    kz_graph_clear(&s.graph);
}

static void a_method_that_is_not_there_takes_nothing(void **state) {
    (void)state;
    kz_linear_options options = KZ_LINEAR_PLAIN;
    assert_int_equal(kz_node_linear(NULL, 0, 0, &options), KZ_NO_VALUE);
    assert_int_equal(kz_node_embed(NULL, 0, 0, 1.0f), KZ_NO_VALUE);
    assert_int_equal(kz_node_attention_full(NULL, 0, 0, 0, 1, 1.0f), KZ_NO_VALUE);
    assert_int_equal(kz_node_unfold(NULL, 0, &(kz_window){3, 1, 1, 1, 1}), KZ_NO_VALUE);
    assert_int_equal(kz_node_gate(NULL, 0, KZ_ACTIVATION_SILU), KZ_NO_VALUE);
    assert_int_equal(kz_method_view(NULL, 0, 0, 1), KZ_NO_VALUE);
    kz_node_cache_write(NULL, 0, 0, 0, 0, 0);
}

static void windows_have_the_rows_that_the_format_states(void **state) {
    sample s;
    (void)state;
    sample_init(&s);
    const uint32_t same = kz_node_unfold(s.method, s.x, &(kz_window){3, 1, 1, 1, 1});
    const uint32_t half = kz_node_unfold(s.method, same, &(kz_window){3, 2, 1, 1, 1});
    const uint32_t quarter = kz_node_unfold(s.method, half, &(kz_window){3, 2, 1, 1, 1});
    CHECK(kz_graph_status(&s.graph));
    const kz_dim rows = kz_method_rows_of(s.method, half);
    const kz_dim fewer = kz_method_rows_of(s.method, quarter);
    for (uint32_t tokens = 0; tokens <= 16; tokens++) {
        assert_int_equal(kz_dim_value(&rows, &tokens, 1), (tokens + 1) / 2);
        assert_int_equal(kz_dim_value(&fewer, &tokens, 1), ((tokens + 1) / 2 + 1) / 2);
    }
    assert_int_equal(kz_method_columns_of(s.method, half), 9 * 64);
    assert_int_equal(kz_node_unfold(s.method, s.x, &(kz_window){0, 1, 1, 0, 0}) == KZ_NO_VALUE ||
                         kz_graph_status(&s.graph) == KAZEIA_UNSUPPORTED,
                     true);
    assert_int_equal(kz_graph_status(&s.graph), KAZEIA_UNSUPPORTED);
    kz_graph_clear(&s.graph);
}

static void limits_are_sentences(void **state) {
    sample s;
    (void)state;
    sample_init(&s);
    for (uint32_t i = 0; i < KZ_SYMBOL_LIMIT; i++) {
        (void)kz_method_symbol(s.method, "more", 1);
    }
    assert_int_equal(kz_graph_status(&s.graph), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "symbols"));
    kz_graph_clear(&s.graph);
    sample_init(&s);
    assert_string_equal(kz_graph_name(&s.graph, "%0300d", 1), "");
    assert_int_equal(kz_graph_status(&s.graph), KAZEIA_BAD_FILE);
    kz_graph_clear(&s.graph);
    sample_init(&s);
    for (uint32_t i = 1; i < KZ_GRAPH_METHOD_LIMIT; i++) {
        assert_non_null(kz_graph_add_method(&s.graph, "another"));
    }
    assert_null(kz_graph_add_method(&s.graph, "one too many"));
    assert_int_equal(kz_graph_status(&s.graph), KAZEIA_UNSUPPORTED);
    kz_graph_clear(&s.graph);
}

static void empty_lists_are_kept(void **state) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_graph graph;
    void *nothing = NULL;
    (void)state;
    kz_graph_init(&graph, &memory);
    CHECK(kz_bump_take(&graph.memory, 0, 8, &nothing));
    kz_graph_set_integers(&graph, "numbers", NULL, 0);
    kz_graph_set_string(&graph, "left out", NULL);
    CHECK(kz_graph_status(&graph));
    assert_int_equal(graph.metadata_count, 1);
    assert_int_equal(graph.metadata[0].count, 0);
    kz_graph_clear(&graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_instructions_follow_the_calls),
        cmocka_unit_test(rotation_factors_are_one_row),
        cmocka_unit_test(the_first_failure_stays),
        cmocka_unit_test(a_method_that_is_not_there_takes_nothing),
        cmocka_unit_test(windows_have_the_rows_that_the_format_states),
        cmocka_unit_test(limits_are_sentences),
        cmocka_unit_test(empty_lists_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
