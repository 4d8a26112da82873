// test_passes.c: which format each weight gets, and where activations are quantised.
//
// in:  small graphs; tests/golden/llama, tests/golden/whisper
// out: cmocka's report
#include <string.h>

#include "model_graphs.h"

// --- Formats ------------------------------------------------------------------------------------

static kz_type type_of(const model_graph *model, const char *name) {
    for (size_t i = 0; i < model->graph.weight_count; i++) {
        if (strcmp(model->graph.weights[i].name, name) == 0) {
            return model->graph.weights[i].type;
        }
    }
    fail_msg("no weight '%s'", name);
    return KZ_F32;
}

static void one_format_for_all_matrices(void **state) {
    model_graph model;
    (void)state;
    model_graph_open(&model, TINY_WHISPER, &(kz_format_choice){.type = KZ_Q8_0});
    assert_int_equal(type_of(&model, "decoder.embedding"), KZ_F16); // half
    assert_int_equal(type_of(&model, "decoder.0.mlp.up"), KZ_F16);
    assert_int_equal(type_of(&model, "decoder.0.attention.qkv"), KZ_Q8_0);
    assert_int_equal(type_of(&model, "encoder.conv2"), KZ_Q8_0);
    assert_int_equal(type_of(&model, "encoder.conv1"), KZ_F32); // precise
    assert_int_equal(type_of(&model, "decoder.positions"), KZ_F32);
    assert_int_equal(type_of(&model, "encoder.norm"), KZ_F32);
    check_graph(&model.graph);
    model_graph_close(&model);
    model_graph_open(&model, TINY_WHISPER, &(kz_format_choice){.type = KZ_F16});
    assert_int_equal(type_of(&model, "encoder.conv1"), KZ_F16);
    assert_int_equal(type_of(&model, "encoder.norm"), KZ_F32);
    model_graph_close(&model);
}

static void sources_keep_their_formats(void **state) {
    static const struct {
        const char *source;
        kz_type type;
    } cases[] = {
        {"tests/golden/llama/gguf/llama-tiny-F32.gguf", KZ_F32},
        {"tests/golden/llama/gguf/llama-tiny-F16.gguf", KZ_F16},
        {"tests/golden/llama/gguf/llama-tiny-Q8_0.gguf", KZ_Q8_0},
        {"tests/golden/llama/gguf/llama-tiny-Q4_0.gguf", KZ_Q4_0},
        {"tests/golden/llama/gguf/llama-tiny-Q4_1.gguf", KZ_Q4_1},
        {"tests/golden/llama/bf16", KZ_BF16},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model_graph model;
        model_graph_open(&model, cases[i].source, &(kz_format_choice){.keeps = true});
        assert_int_equal(type_of(&model, "embedding"), cases[i].type);
        assert_int_equal(type_of(&model, "layers.2.mlp.gate_up"), cases[i].type);
        assert_int_equal(type_of(&model, "norm"), KZ_F32);
        check_graph(&model.graph);
        model_graph_close(&model);
    }
}

static void a_recipe_overrides_by_name(void **state) {
    static const char text[] = "# the first layer is exact\r\n"
                               "\n"
                               "  layers.*  =  q4   # all, then\n"
                               "layers.?.mlp.* = q4_1\r\n"
                               "layers.0.* = f32\n"
                               "embedding = bf16";
    model_graph model;
    (void)state;
    model_graph_open(
        &model, TINY_LLAMA,
        &(kz_format_choice){.type = KZ_Q8_0, .recipe = text, .recipe_path = "a recipe"});
    assert_int_equal(type_of(&model, "layers.1.attention.qkv"), KZ_Q4_0);
    assert_int_equal(type_of(&model, "layers.2.mlp.down"), KZ_Q4_1);
    assert_int_equal(type_of(&model, "layers.0.mlp.down"), KZ_F32);
    assert_int_equal(type_of(&model, "layers.1.mlp.norm"), KZ_F32); // no matrix
    assert_int_equal(type_of(&model, "embedding"), KZ_BF16);        // and the head tied to it
    check_graph(&model.graph);
    model_graph_close(&model);
    // What q8 leaves alone, a recipe may name.
    model_graph_open(&model, TINY_WHISPER,
                     &(kz_format_choice){.type = KZ_F32,
                                         .recipe = "encoder.conv1 = f16\ndecoder.positions = q4",
                                         .recipe_path = "a recipe"});
    assert_int_equal(type_of(&model, "encoder.conv1"), KZ_F16);
    assert_int_equal(type_of(&model, "decoder.positions"), KZ_Q4_0);
    check_graph(&model.graph);
    model_graph_close(&model);
}

// A type that nothing makes can be named where the source has it: layer 1's down is Q6_K here, its
// gate Q4_K.
static void a_recipe_may_keep(void **state) {
    const char *source = "tests/golden/checkpoint/qwen3-tiny-k-Q4_K_M.gguf";
    kz_format_choice choice = {.type = KZ_Q8_0,
                               .recipe = "embedding = q6_k\nlayers.*.mlp.gate_up = q4_k",
                               .recipe_path = "r.txt"};
    model_graph model;
    (void)state;
    model_graph_open(&model, source, &choice);
    assert_int_equal(type_of(&model, "embedding"), KZ_Q6_K);
    assert_int_equal(type_of(&model, "layers.1.mlp.gate_up"), KZ_Q4_K);
    assert_int_equal(type_of(&model, "layers.1.mlp.down"), KZ_Q8_0);
    choice.recipe = "layers.1.mlp.down = q4_k";
    assert_int_equal(kz_pass_formats(&model.graph, &choice), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "the source has 'layers.1.mlp.down' as Q6_K"));
    model_graph_close(&model);
}

static void refuse_recipe(kz_graph *graph, const char *text, const char *words) {
    const kz_format_choice choice = {.recipe = text, .recipe_path = "r.txt"};
    assert_int_equal(kz_pass_formats(graph, &choice), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), words));
}

// 80 mels by 3 are no whole number of blocks.
static void rows_of_broken_blocks_are_refused(void **state) {
    model_graph model;
    (void)state;
    model_graph_open(&model, TINY_WHISPER, &(kz_format_choice){.type = KZ_F32});
    refuse_recipe(&model.graph, "encoder.conv1 = q8", "has 240 columns");
    model_graph_close(&model);
}

static void wrong_recipes_are_refused_with_their_line(void **state) {
    model_graph model;
    char long_pattern[300];
    (void)state;
    model_graph_open(&model, TINY_LLAMA, &(kz_format_choice){.type = KZ_F32});
    memset(long_pattern, 'a', sizeof long_pattern);
    memcpy(long_pattern + sizeof long_pattern - 6, " = q8", 6);
    refuse_recipe(&model.graph, "embedding = q8\n\nembedding", "line 3");
    refuse_recipe(&model.graph, "= q8", "line 1");
    refuse_recipe(&model.graph, "embedding =", "line 1");
    refuse_recipe(&model.graph, "embedding = q5_2", "'q5_2' is no format");
    refuse_recipe(&model.graph, "embedding = f32\nembedding = q5_0",
                  "line 2: q5_0 can be kept, not made, and the source has 'embedding' as F32");
    refuse_recipe(&model.graph, "embedding = i8", "'i8' is no format");
    refuse_recipe(&model.graph, "embedding = a8", "'a8' is no format");
    refuse_recipe(&model.graph, "embeding = q8", "'embeding' matches no matrix");
    refuse_recipe(&model.graph, "norm = q8", "'norm' matches no matrix");
    refuse_recipe(&model.graph, long_pattern, "line 1");
    CHECK(kz_pass_formats(&model.graph, &(kz_format_choice){.recipe = "\n # \n\r\n"}));
    model_graph_close(&model);
}

// --- Quantised activations ----------------------------------------------------------------------

typedef struct sample {
    kz_graph graph;
    kz_graph_method *method;
    uint32_t x, y, gamma, q, f;
} sample;

static uint32_t add_matrix(kz_graph *graph, const char *name, kz_type type) {
    return kz_graph_add_weight(
        graph,
        &(kz_graph_weight){
            .name = name, .is_matrix = true, .rank = 2, .rows = 64, .columns = 64, .type = type});
}

static void sample_init(sample *s) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_graph_init(&s->graph, &memory);
    s->gamma = kz_graph_add_weight(
        &s->graph, &(kz_graph_weight){.name = "gamma", .rank = 1, .rows = 1, .columns = 64});
    s->q = add_matrix(&s->graph, "q", KZ_Q8_0);
    s->f = add_matrix(&s->graph, "f", KZ_F32);
    s->method = kz_graph_add_method(&s->graph, "forward");
    const kz_dim tokens = kz_method_symbol(s->method, "tokens", 16);
    s->x = kz_method_input(s->method, "x", KZ_F32, 0, 2, tokens, kz_dim_constant(64));
    s->y = kz_method_output(s->method, "y", tokens, 64);
}

static size_t count_ops(const kz_graph_method *method, kz_op op) {
    size_t count = 0;
    for (size_t i = 0; i < method->instruction_count; i++) {
        count += method->instructions[i].op == op;
    }
    return count;
}

static uint32_t linear(sample *s, uint32_t x, uint32_t weight, uint32_t out) {
    kz_linear_options options = KZ_LINEAR_PLAIN;
    options.out = out;
    return kz_node_linear(s->method, x, weight, &options);
}

static void the_maker_quantises_where_only_products_read(void **state) {
    sample s;
    (void)state;
    sample_init(&s);
    const uint32_t normed = kz_node_rms_norm(s.method, s.x, s.gamma, 0.0f, KZ_NO_VALUE);
    (void)linear(&s, normed, s.q, KZ_NO_VALUE);
    (void)linear(&s, normed, s.q, s.y);
    CHECK(kz_pass_quantise(&s.graph));
    assert_int_equal(s.method->values[normed].type, KZ_A8);
    assert_int_equal(count_ops(s.method, KZ_OP_QUANTISE), 0);
    CHECK(kz_pass_plan_memory(&s.graph));
    check_graph(&s.graph);
    kz_graph_clear(&s.graph);
}

static void float_weights_leave_floats(void **state) {
    sample s;
    (void)state;
    sample_init(&s);
    const uint32_t normed = kz_node_rms_norm(s.method, s.x, s.gamma, 0.0f, KZ_NO_VALUE);
    (void)linear(&s, normed, s.f, s.y);
    CHECK(kz_pass_quantise(&s.graph));
    assert_int_equal(s.method->values[normed].type, KZ_F32);
    assert_int_equal(s.method->instruction_count, 2);
    kz_graph_clear(&s.graph);
}

// A value that others read as floats too is quantised once, and again after it has changed.
static void other_readers_keep_their_floats(void **state) {
    sample s;
    (void)state;
    sample_init(&s);
    const uint32_t normed = kz_node_rms_norm(s.method, s.x, s.gamma, 0.0f, KZ_NO_VALUE);
    const uint32_t first = linear(&s, normed, s.q, KZ_NO_VALUE);
    const uint32_t second = linear(&s, normed, s.q, KZ_NO_VALUE);
    (void)linear(&s, normed, s.f, KZ_NO_VALUE);
    (void)kz_node_add(s.method, normed, first, normed);
    const uint32_t third = linear(&s, normed, s.q, KZ_NO_VALUE);
    (void)kz_node_add(s.method, second, third, s.y);
    CHECK(kz_pass_quantise(&s.graph));
    assert_int_equal(s.method->values[normed].type, KZ_F32);
    assert_int_equal(count_ops(s.method, KZ_OP_QUANTISE), 2);
    assert_int_equal(s.method->instructions[1].op, KZ_OP_QUANTISE);
    assert_int_equal(s.method->instructions[2].operands[0], s.method->instructions[3].operands[0]);
    CHECK(kz_pass_plan_memory(&s.graph));
    check_graph(&s.graph);
    kz_graph_clear(&s.graph);
}

static void inputs_and_views_are_quantised_apart(void **state) {
    sample s;
    (void)state;
    sample_init(&s);
    const uint32_t wide = kz_method_rows(s.method, kz_method_rows_of(s.method, s.x), 128);
    const uint32_t left = kz_method_view(s.method, wide, 0, 64);
    (void)linear(&s, s.x, s.q, left);
    (void)linear(&s, left, s.q, s.y);
    CHECK(kz_pass_quantise(&s.graph));
    assert_int_equal(count_ops(s.method, KZ_OP_QUANTISE), 2);
    CHECK(kz_pass_plan_memory(&s.graph));
    check_graph(&s.graph);
    kz_graph_clear(&s.graph);
}

// A convolution whose columns are whole blocks: what UNFOLD repeats is quantised before, by the op
// that makes it, or once for all windows.
static void windows_repeat_what_is_quantised(void **state) {
    const kz_window window = {.kernel = 3, .stride = 1, .dilation = 1, .left = 1, .right = 1};
    sample s;
    (void)state;
    sample_init(&s);
    s.graph.weights[s.q].columns = 3 * 64;
    const uint32_t tail = kz_graph_add_tail(&s.graph, "tail", 2, 64);
    const uint32_t joined = kz_node_join_tail(s.method, s.x, tail);
    const kz_window causal = {.kernel = 3, .stride = 1, .dilation = 1};
    const uint32_t first = linear(&s, kz_node_unfold(s.method, joined, &causal), s.q, KZ_NO_VALUE);
    (void)linear(&s, kz_node_unfold(s.method, first, &window), s.q, s.y);
    CHECK(kz_pass_quantise(&s.graph));
    assert_int_equal(s.method->values[joined].type, KZ_A8);
    assert_int_equal(s.method->values[first].type, KZ_F32);
    assert_int_equal(count_ops(s.method, KZ_OP_QUANTISE), 1);
    assert_int_equal(s.method->instructions[3].op, KZ_OP_QUANTISE);
    assert_int_equal(s.method->instructions[3].operands[0], first);
    assert_int_equal(s.method->instructions[4].operands[0], s.method->instructions[3].operands[1]);
    CHECK(kz_pass_plan_memory(&s.graph));
    check_graph(&s.graph);
    kz_graph_clear(&s.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_repeat_what_is_quantised),
        cmocka_unit_test(one_format_for_all_matrices),
        cmocka_unit_test(sources_keep_their_formats),
        cmocka_unit_test(a_recipe_overrides_by_name),
        cmocka_unit_test(a_recipe_may_keep),
        cmocka_unit_test(rows_of_broken_blocks_are_refused),
        cmocka_unit_test(wrong_recipes_are_refused_with_their_line),
        cmocka_unit_test(the_maker_quantises_where_only_products_read),
        cmocka_unit_test(float_weights_leave_floats),
        cmocka_unit_test(other_readers_keep_their_floats),
        cmocka_unit_test(inputs_and_views_are_quantised_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
