// test_gemma3.c: which layers of a Gemma 3 see a window, and where its text model may lie.
//
// in:  tests/golden/decoders: gemma3-tiny/bf16, gemma3-tiny-Q4_0.gguf, and changes of them
// out: cmocka's report
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_samples.h"
#include "exporter/checkpoint/cursor.h"
#include "model_graphs.h"

#define TINY "tests/golden/decoders/gemma3-tiny/bf16"
#define LAYERS 6

static const kz_format_choice as_f32 = {.type = KZ_F32};
static char folder[SAMPLE_PATH_BYTES];

static int make_folder(void **state) {
    (void)state;
    sample_folder_create(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    sample_folder_remove(folder);
    return 0;
}

static json_t *read_config(void) {
    json_t *config = json_load_file(TINY "/config.json", 0, NULL);
    assert_non_null(config);
    return config;
}

static void write_json(const char *name, json_t *root) {
    char *text = json_dumps(root, 0);
    sample_file_write(folder, name, text, strlen(text));
    free(text);
    json_decref(root);
}

// The tensors, their names changed: `body` before those of the text model, and one of another part.
static void write_tensors(const char *body, const char *other) {
    byte_string whole = bytes_of_file(TINY "/model.safetensors"), file = {0};
    const size_t header_bytes = (size_t)kz_read_u64(whole.bytes);
    json_t *header = json_loadb((const char *)whole.bytes + 8, header_bytes, 0, NULL);
    json_t *renamed = json_object();
    const char *name = NULL;
    json_t *entry = NULL;
    json_object_foreach(header, name, entry) {
        char changed[256];
        snprintf(changed, sizeof changed, "%s%s", body, name + strlen("model."));
        json_object_set(renamed, strcmp(name, "__metadata__") == 0 ? name : changed, entry);
    }
    if (other) {
        json_object_set_new(
            renamed, other,
            json_pack("{s:s, s:[i], s:[i, i]}", "dtype", "BF16", "shape", 0, "data_offsets", 0, 0));
    }
    char *text = json_dumps(renamed, JSON_COMPACT);
    bytes_u64(&file, strlen(text));
    bytes_append_text(&file, text);
    bytes_append(&file, whole.bytes + 8 + header_bytes, whole.count - 8 - header_bytes);
    sample_file_write(folder, "model.safetensors", file.bytes, file.count);
    free(text);
    json_decref(renamed);
    json_decref(header);
    bytes_clear(&file);
    bytes_clear(&whole);
}

// The GGUF file with more key/values in front of its own. A string fills the addition up to a
// multiple of 32, so that the tensors' bytes stay aligned.
#define TINY_GGUF "tests/golden/decoders/gguf/gemma3-tiny-Q4_0.gguf"
#define GGUF_HEADER_BYTES 24

static void write_gguf(const byte_string *values, uint64_t count, char out_path[]) {
    byte_string whole = bytes_of_file(TINY_GGUF), file = {0};
    char filling[64] = "";
    const size_t fixed = values->count + 8 + strlen("test.filling") + 4 + 8;
    memset(filling, '.', 32 - fixed % 32);
    bytes_append(&file, whole.bytes, 16); // magic, version, number of tensors
    bytes_u64(&file, kz_read_u64(whole.bytes + 16) + count + 1);
    bytes_append(&file, values->bytes, values->count);
    bytes_gguf_string(&file, "test.filling");
    bytes_u32(&file, 8); // a string
    bytes_gguf_string(&file, filling);
    bytes_append(&file, whole.bytes + GGUF_HEADER_BYTES, whole.count - GGUF_HEADER_BYTES);
    sample_file_write(folder, "m.gguf", file.bytes, file.count);
    snprintf(out_path, SAMPLE_PATH_BYTES + 8, "%s/m.gguf", folder);
    bytes_clear(&file);
    bytes_clear(&whole);
}

// --- Layers -------------------------------------------------------------------------------------

// The windows of all layers, and the two rotations told apart: 'L' or 'G' for each layer.
static void describe_layers(const kz_graph *graph, int32_t windows[LAYERS],
                            char kinds[LAYERS + 1]) {
    const kz_graph_method *method = &graph->methods[0];
    size_t layer = 0, turned = 0;
    uint32_t local = KZ_NO_VALUE;
    for (size_t i = 0; i < method->value_count; i++) {
        const kz_value *value = &method->values[i];
        if (value->kind == KZ_VALUE_WEIGHT &&
            strcmp(graph->weights[value->index].name, "inv_freq.local") == 0) {
            local = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < method->instruction_count; i++) {
        const kz_instruction *instruction = &method->instructions[i];
        if (instruction->op == KZ_OP_ROPE) {
            assert_true(turned < LAYERS);
            kinds[turned++] = instruction->operands[2] == local ? 'L' : 'G';
        }
        if (instruction->op == KZ_OP_ATTENTION) {
            assert_true(layer < LAYERS);
            windows[layer++] = instruction->ints[1];
        }
    }
    assert_int_equal(layer, LAYERS);
    kinds[turned] = '\0';
}

static void check_layers(const char *source, const char *expected) {
    model_graph model;
    int32_t windows[LAYERS];
    char kinds[LAYERS + 1];
    model_graph_open(&model, source, &as_f32);
    check_graph(&model.graph);
    describe_layers(&model.graph, windows, kinds);
    assert_string_equal(kinds, expected);
    for (size_t i = 0; i < LAYERS; i++) {
        assert_int_equal(windows[i], expected[i] == 'L' ? 16 : 0);
    }
    model_graph_close(&model);
}

static void layers_are_local_as_the_configuration_says(void **state) {
    static const struct {
        const char *key;
        int period;
        const char *expected;
    } cases[] = {
        {"_sliding_window_pattern", 3, "LLGLLG"},
        {"sliding_window_pattern", 2, "LGLGLG"},
        {"sliding_window_pattern", 1, "GGGGGG"},
        {NULL, 0, "LLLLLG"}, // the family's own
    };
    (void)state;
    check_layers(TINY, "LLLLLG");
    write_tensors("model.", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *config = read_config();
        json_object_del(config, "layer_types");
        json_object_del(config, "_sliding_window_pattern");
        if (cases[i].key) {
            json_object_set_new(config, cases[i].key, json_integer(cases[i].period));
        }
        write_json("config.json", config);
        check_layers(folder, cases[i].expected);
    }
}

static void add_key(byte_string *values, const char *key, uint32_t type) {
    bytes_gguf_string(values, key);
    bytes_u32(values, type);
}

static void layers_are_local_as_a_gguf_file_says(void **state) {
    static const uint8_t flags[LAYERS] = {1, 0, 1, 0, 1, 0};
    byte_string period = {0}, booleans = {0};
    char path[SAMPLE_PATH_BYTES + 8];
    (void)state;
    check_layers(TINY_GGUF, "LLLLLG");
    add_key(&period, "gemma3.attention.sliding_window_pattern", 4); // u32
    bytes_u32(&period, 3);
    write_gguf(&period, 1, path);
    check_layers(path, "LLGLLG");
    add_key(&booleans, "gemma3.attention.sliding_window_pattern", 9); // array
    bytes_u32(&booleans, 7);                                          // of booleans
    bytes_u64(&booleans, LAYERS);
    bytes_append(&booleans, flags, LAYERS);
    write_gguf(&booleans, 1, path);
    check_layers(path, "LGLGLG");
    bytes_clear(&booleans);
    bytes_clear(&period);
}

static const float *frequencies(const kz_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->weight_count; i++) {
        if (strcmp(graph->weights[i].name, name) == 0) {
            return graph->weights[i].pieces[0].constant;
        }
    }
    fail_msg("no weight '%s'", name);
    return NULL;
}

// The last of 16 frequencies, where theta shows most, in both ways of stating it.
static void global_layers_alone_are_stretched(void **state) {
    static const char *const scalings[] = {
        "{\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8.0}}",
        "{\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"linear\", \"factor\": 8.0, "
        "\"rope_theta\": 1000000.0}, \"sliding_attention\": {\"rope_type\": \"default\", "
        "\"rope_theta\": 10000.0}}, \"rope_scaling\": null, \"rope_theta\": null, "
        "\"rope_local_base_freq\": null}"};
    model_graph plain;
    (void)state;
    model_graph_open(&plain, TINY, &as_f32);
    const float global = frequencies(&plain.graph, "inv_freq")[15];
    const float local = frequencies(&plain.graph, "inv_freq.local")[15];
    assert_true(local > 50.0f * global); // 1e4 and 1e6 to the power of -15/16
    write_tensors("model.", NULL);
    for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++) {
        model_graph scaled;
        json_t *config = read_config(), *changes = json_loads(scalings[i], 0, NULL);
        json_object_update(config, changes);
        json_decref(changes);
        write_json("config.json", config);
        model_graph_open(&scaled, folder, &as_f32);
        assert_true(frequencies(&scaled.graph, "inv_freq")[15] == global / 8.0f);
        assert_true(frequencies(&scaled.graph, "inv_freq.local")[15] == local);
        model_graph_close(&scaled);
    }
    model_graph_close(&plain);
}

static void a_gguf_file_stretches_alike(void **state) {
    byte_string values = {0};
    char path[SAMPLE_PATH_BYTES + 8];
    model_graph plain, scaled;
    (void)state;
    add_key(&values, "gemma3.rope.scaling.factor", 6); // f32, "linear" without a kind
    bytes_f32(&values, 8.0f);
    add_key(&values, "gemma3.rope.freq_base_swa", 6);
    bytes_f32(&values, 1e6f);
    write_gguf(&values, 2, path);
    model_graph_open(&plain, TINY_GGUF, &as_f32);
    model_graph_open(&scaled, path, &as_f32);
    const float global = frequencies(&plain.graph, "inv_freq")[15];
    assert_true(frequencies(&scaled.graph, "inv_freq")[15] == global / 8.0f);
    assert_true(frequencies(&scaled.graph, "inv_freq.local")[15] == global);
    model_graph_close(&scaled);
    model_graph_close(&plain);
    bytes_clear(&values);
}

// --- The text model of a larger one
// ---------------------------------------------------------------

static void check_same_weights(const kz_graph *a, const kz_graph *b) {
    assert_int_equal(a->weight_count, b->weight_count);
    for (size_t i = 0; i < a->weight_count; i++) {
        const kz_graph_weight *first = &a->weights[i], *second = &b->weights[i];
        assert_string_equal(first->name, second->name);
        assert_int_equal(first->piece_count, second->piece_count);
        assert_true(first->added == second->added);
        for (uint32_t j = 0; j < first->piece_count; j++) {
            const kz_checkpoint_tensor *one = first->pieces[j].tensor;
            const kz_checkpoint_tensor *other = second->pieces[j].tensor;
            assert_true((one == NULL) == (other == NULL));
            assert_true(!one || (one->byte_count == other->byte_count &&
                                 memcmp(one->bytes, other->bytes, one->byte_count) == 0));
        }
    }
}

static const char *string_of(const kz_graph *graph, const char *key) {
    for (size_t i = 0; i < graph->metadata_count; i++) {
        if (strcmp(graph->metadata[i].key, key) == 0) {
            return graph->metadata[i].string;
        }
    }
    return NULL;
}

// As published: the text's numbers apart, and without those that are the class's defaults.
static void write_larger_config(void) {
    json_t *text = read_config(), *config = json_object();
    json_object_set_new(text, "model_type", json_string("gemma3_text"));
    json_object_set_new(config, "model_type", json_string("gemma3"));
    json_object_set_new(config, "vision_config", json_object());
    json_object_del(text, "rope_theta");
    json_object_del(text, "rope_local_base_freq");
    json_object_set_new(config, "text_config", text);
    write_json("config.json", config);
}

static void the_text_of_a_larger_model_is_taken(void **state) {
    static const char *const places[][2] = {
        {"language_model.model.", "vision_tower.patch.weight"},
        {"model.language_model.", "model.vision_tower.patch.weight"},
    };
    model_graph plain;
    (void)state;
    model_graph_open(&plain, TINY, &as_f32);
    assert_null(string_of(&plain.graph, "model.left_out"));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        model_graph part;
        write_larger_config();
        write_tensors(places[i][0], places[i][1]);
        model_graph_open(&part, folder, &as_f32);
        check_same_weights(&plain.graph, &part.graph);
        assert_string_equal(string_of(&part.graph, "model.left_out"), "vision_tower");
        model_graph_close(&part);
    }
    model_graph_close(&plain);
}

// --- Refusals -----------------------------------------------------------------------------------

static void refuse_source(const char *source, const char *words) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    const kz_model_options options = {.kv = KZ_F16};
    const kz_model *definition = NULL;
    kz_checkpoint *checkpoint = NULL;
    kz_graph graph;
    CHECK(kz_checkpoint_open(source, NULL, &checkpoint));
    CHECK(kz_model_find(checkpoint, &definition));
    kz_graph_init(&graph, &memory);
    assert_int_not_equal(definition->build(checkpoint, &options, &graph), KAZEIA_OK);
    if (strstr(kazeia_last_error(), words) == NULL) {
        fail_msg("'%s' says nothing of '%s'", kazeia_last_error(), words);
    }
    kz_graph_clear(&graph);
    kz_checkpoint_close(checkpoint);
}

static void refuse(json_t *changes, const char *words) {
    json_t *config = read_config();
    json_object_update(config, changes);
    json_decref(changes);
    write_json("config.json", config);
    refuse_source(folder, words);
}

static void what_is_not_computed_is_refused(void **state) {
    static const struct {
        const char *changes, *words;
    } cases[] = {
        {"{\"attn_logit_softcapping\": 50.0}", "'attn_logit_softcapping' is 50"},
        {"{\"final_logit_softcapping\": 30.0}", "'final_logit_softcapping' is 30"},
        {"{\"use_bidirectional_attention\": true}", "'use_bidirectional_attention' is true"},
        {"{\"hidden_activation\": \"gelu\"}", "hidden_activation is 'gelu', expected"},
        {"{\"layer_types\": [\"full_attention\"]}", "layer_types has 1 entries for 6 layers"},
        {"{\"layer_types\": [\"full_attention\", \"full_attention\", \"full_attention\", "
         "\"full_attention\", \"full_attention\", \"chunked_attention\"]}",
         "layer_types[5] is 'chunked_attention'"},
        {"{\"sliding_window\": 0}", "'sliding_window' is 0"},
        {"{\"query_pre_attn_scalar\": 0}", "do not make a Gemma 3"},
        {"{\"rope_local_base_freq\": -1}", "do not make a Gemma 3"},
    };
    (void)state;
    write_tensors("model.", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refuse(json_loads(cases[i].changes, 0, NULL), cases[i].words);
    }
    // Another part's tensor where there is no other part.
    write_tensors("model.", "vision_tower.patch.weight");
    refuse(json_object(), "'vision_tower.patch.weight' has no place in a Gemma 3");
}

static void what_a_gguf_file_asks_for_is_refused_too(void **state) {
    static const struct {
        const char *key;
        float value;
        const char *words;
    } cases[] = {
        {"gemma3.final_logit_softcapping", 30.0f, "'gemma3.final_logit_softcapping' is 30"},
        {"gemma3.attn_logit_softcapping", 50.0f, "'gemma3.attn_logit_softcapping' is 50"},
        {"gemma3.expert_count", 8.0f, "a mixture of experts is not supported"},
        {"gemma3.rope.scaling.factor", -1.0f, "is -1, expected above 0"},
        {"gemma3.rope.freq_base_swa", 0.0f, "do not make a Gemma 3"},
    };
    byte_string kind = {0};
    char path[SAMPLE_PATH_BYTES + 8];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        byte_string values = {0};
        add_key(&values, cases[i].key, 6);
        bytes_f32(&values, cases[i].value);
        write_gguf(&values, 1, path);
        refuse_source(path, cases[i].words);
        bytes_clear(&values);
    }
    add_key(&kind, "gemma3.rope.scaling.type", 8);
    bytes_gguf_string(&kind, "yarn");
    write_gguf(&kind, 1, path);
    refuse_source(path, "gemma3.rope.scaling.type 'yarn' is not supported");
    bytes_clear(&kind);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(layers_are_local_as_the_configuration_says),
        TEST(layers_are_local_as_a_gguf_file_says),
        TEST(global_layers_alone_are_stretched),
        TEST(a_gguf_file_stretches_alike),
        TEST(the_text_of_a_larger_model_is_taken),
        TEST(what_is_not_computed_is_refused),
        TEST(what_a_gguf_file_asks_for_is_refused_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
