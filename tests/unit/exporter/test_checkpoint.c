// test_checkpoint.c: the readers on sound checkpoints: values, shapes, rows equal bit by bit to
// those that other programs decoded, folders, JSON files.
//
// in:  tests/golden/checkpoint, samples made in memory
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "checkpoint_samples.h"

#define GOLDEN "tests/golden/checkpoint/"

static kz_checkpoint *open_path(const char *path) {
    kz_checkpoint *checkpoint = NULL;
    if (kz_checkpoint_open(path, NULL, &checkpoint) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    return checkpoint;
}

static kz_checkpoint *open_sample(const byte_string *sample) {
    kz_checkpoint *checkpoint = NULL;
    if (kz_checkpoint_open_memory(sample->bytes, sample->count, "sample", NULL, &checkpoint) !=
        KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    return checkpoint;
}

static const kz_checkpoint_tensor *find(const kz_checkpoint *checkpoint, const char *name) {
    const kz_checkpoint_tensor *tensor = kz_checkpoint_find(checkpoint, name);
    if (tensor == NULL) {
        fail_msg("no tensor '%s'", name);
    }
    return tensor;
}

// --- Rows against goldens -----------------------------------------------------------------------

// Row 3 is equal, bit by bit, to the floats of a .npy file.
static void check_row3(const kz_checkpoint *checkpoint, const char *tensor_name,
                       const char *npy_path) {
    byte_string npy = bytes_of_file(npy_path);
    const size_t start = 10 + npy.bytes[8] + 256u * npy.bytes[9]; // version 1: u16 header length
    const size_t count = (npy.count - start) / sizeof(float);
    const kz_checkpoint_tensor *tensor = find(checkpoint, tensor_name);
    assert_int_equal(kz_checkpoint_row_elements(tensor), count);
    float *values = malloc(count * sizeof(float));
    assert_non_null(values);
    assert_int_equal(kz_checkpoint_decode_row(tensor, 3, values), KAZEIA_OK);
    assert_memory_equal(values, npy.bytes + start, count * sizeof(float));
    free(values);
    bytes_clear(&npy);
}

// Rows of three matrices of a file whose matrices have the types `kinds`.
static void check_gguf(const char *file, size_t tensors, const char *const kinds[3]) {
    static const char *const names[] = {"blk.0.ffn_down.weight", "blk.1.attn_q.weight",
                                        "token_embd.weight"};
    char path[128];
    snprintf(path, sizeof path, GOLDEN "%s.gguf", file);
    kz_checkpoint *checkpoint = open_path(path);
    assert_int_equal(kz_checkpoint_kind_of(checkpoint), KZ_CHECKPOINT_GGUF);
    assert_string_equal(kz_checkpoint_architecture(checkpoint), "qwen3");
    assert_int_equal(kz_checkpoint_tensor_count(checkpoint), tensors);
    for (size_t k = 0; k < 3; k++) {
        snprintf(path, sizeof path, GOLDEN "%s.row3.%s.npy", file, names[k]);
        assert_string_equal(find(checkpoint, names[k])->type_name, kinds[k]);
        check_row3(checkpoint, names[k], path);
    }
    kz_checkpoint_close(checkpoint);
}

static void test_gguf_rows_are_equal(void **state) {
    static const char *const types[] = {"F32",  "F16",  "BF16", "Q8_0",
                                        "Q4_0", "Q4_1", "Q5_0", "Q5_1"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char file[64];
        snprintf(file, sizeof file, "qwen3-tiny-%s", types[i]);
        check_gguf(file, 35, (const char *const[]){types[i], types[i], types[i]});
    }
    // A wider model, since super-blocks need rows of 256; Q4_K_M mixes two types.
    check_gguf("qwen3-tiny-k-Q5_K", 24, (const char *const[]){"Q5_K", "Q5_K", "Q5_K"});
    check_gguf("qwen3-tiny-k-Q4_K_M", 24, (const char *const[]){"Q4_K", "Q4_K", "Q6_K"});
}

// All rows of random blocks, the odd last one of a record included.
static void test_block_types_are_equal(void **state) {
    static const char *const names[] = {"q5_0", "q5_1", "iq4_nl", "q4_k", "q5_k", "q6_k"};
    (void)state;
    kz_checkpoint *checkpoint = open_path(GOLDEN "block-types.gguf");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, GOLDEN "block-types.%s.npy", names[i]);
        byte_string npy = bytes_of_file(path);
        const uint8_t *expected = npy.bytes + 10 + npy.bytes[8] + 256u * npy.bytes[9];
        const kz_checkpoint_tensor *tensor = find(checkpoint, names[i]);
        assert_string_equal(kz_type_name(tensor->type), names[i]);
        const size_t row_bytes = (size_t)kz_checkpoint_row_elements(tensor) * sizeof(float);
        assert_int_equal(expected + 4 * row_bytes - npy.bytes, npy.count);
        float values[512];
        for (size_t row = 0; row < 4; row++) {
            assert_int_equal(kz_checkpoint_decode_row(tensor, row, values), KAZEIA_OK);
            assert_memory_equal(values, expected + row * row_bytes, row_bytes);
        }
        bytes_clear(&npy);
    }
    kz_checkpoint_close(checkpoint);
}

static void test_ctranslate2_rows_are_equal(void **state) {
    static const char *const types[] = {"float16", "int8"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char path[160];
        snprintf(path, sizeof path, GOLDEN "ctranslate2-%s", types[i]);
        kz_checkpoint *checkpoint = open_path(path);
        assert_int_equal(kz_checkpoint_kind_of(checkpoint), KZ_CHECKPOINT_CTRANSLATE2);
        assert_string_equal(kz_checkpoint_architecture(checkpoint), "WhisperSpec");
        assert_string_equal(find(checkpoint, "decoder/embeddings/weight")->type_name, types[i]);
        snprintf(path, sizeof path, GOLDEN "ctranslate2-%s/row3.decoder.embeddings.weight.npy",
                 types[i]);
        check_row3(checkpoint, "decoder/embeddings/weight", path);
        snprintf(path, sizeof path,
                 GOLDEN "ctranslate2-%s/row3.encoder.layer_0.self_attention.linear_0.weight.npy",
                 types[i]);
        check_row3(checkpoint, "encoder/layer_0/self_attention/linear_0/weight", path);
        int64_t heads = 0;
        assert_true(kz_checkpoint_integer(checkpoint, "encoder/num_heads", &heads));
        assert_int_equal(heads, 2);
        const json_t *vocabulary = NULL;
        assert_int_equal(kz_checkpoint_json(checkpoint, "vocabulary.json", &vocabulary), KAZEIA_OK);
        assert_int_equal(json_array_size(vocabulary), 40);
        kz_checkpoint_close(checkpoint);
    }
}

// The GGUF file and the Hugging Face folder hold the same bfloat16 numbers under other names.
static void test_sharded_safetensors_equal_gguf(void **state) {
    static const char *const names[][2] = {
        {"model.embed_tokens.weight", "token_embd.weight"},
        {"model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight"},
        {"model.layers.1.self_attn.q_proj.weight", "blk.1.attn_q.weight"},
    };
    (void)state;
    kz_checkpoint *folder = open_path(GOLDEN "qwen3-tiny-sharded");
    kz_checkpoint *gguf = open_path(GOLDEN "qwen3-tiny-BF16.gguf");
    assert_int_equal(kz_checkpoint_kind_of(folder), KZ_CHECKPOINT_SAFETENSORS);
    assert_string_equal(kz_checkpoint_architecture(folder), "qwen3");
    assert_int_equal(kz_checkpoint_tensor_count(folder), kz_checkpoint_tensor_count(gguf));
    for (size_t i = 0; i < 3; i++) {
        const kz_checkpoint_tensor *a = find(folder, names[i][0]);
        const kz_checkpoint_tensor *b = find(gguf, names[i][1]);
        assert_int_equal(a->type, KZ_BF16);
        assert_int_equal(a->byte_count, b->byte_count);
        assert_memory_equal(a->dims, b->dims, sizeof a->dims);
        assert_memory_equal(a->bytes, b->bytes, (size_t)a->byte_count);
        kz_checkpoint_advise(folder, a, 0, kz_checkpoint_row_count(a), false);
        assert_memory_equal(a->bytes, b->bytes, (size_t)a->byte_count);
    }
    kz_checkpoint_close(gguf);
    kz_checkpoint_close(folder);
}

static void test_unread_type_is_named(void **state) {
    (void)state;
    kz_checkpoint *checkpoint = open_path(GOLDEN "block-types.gguf");
    const kz_checkpoint_tensor *tensor = find(checkpoint, "q3_k");
    float values[256];
    assert_false(kz_type_is_known(tensor->type));
    assert_int_equal(kz_checkpoint_decode_row(tensor, 0, values), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "Q3_K"));
    assert_non_null(strstr(kazeia_last_error(), "'q3_k'"));
    const kz_checkpoint_tensor *required = NULL;
    assert_int_equal(kz_checkpoint_require(checkpoint, "q3_k", 0, NULL, &required),
                     KAZEIA_UNSUPPORTED);
    kz_checkpoint_close(checkpoint);
}

// --- Samples ------------------------------------------------------------------------------------

static void check_integer(const kz_checkpoint *checkpoint, const char *key, int64_t expected) {
    int64_t value = 0;
    assert_true(kz_checkpoint_integer(checkpoint, key, &value));
    assert_true(value == expected);
    double real = 0;
    assert_true(kz_checkpoint_real(checkpoint, key, &real));
    assert_true(real == (double)expected);
}

static void check_string(const kz_checkpoint *checkpoint, const char *key, size_t index,
                         const char *expected) {
    const char *text = NULL;
    size_t count = 0;
    assert_true(kz_checkpoint_array_string(checkpoint, key, index, &text, &count));
    assert_int_equal(count, strlen(expected));
    assert_memory_equal(text, expected, count);
}

static void check_gguf_arrays(const kz_checkpoint *checkpoint) {
    int64_t integer = 0;
    double real = 0;
    assert_int_equal(kz_checkpoint_array_count(checkpoint, "a.strings"), 3);
    check_string(checkpoint, "a.strings", 0, "one");
    check_string(checkpoint, "a.strings", 1, "");
    check_string(checkpoint, "a.strings", 2, "three");
    assert_true(kz_checkpoint_array_integer(checkpoint, "a.i32", 1, &integer));
    assert_true(integer == -1);
    assert_true(kz_checkpoint_array_real(checkpoint, "a.f32", 1, &real));
    assert_true(real == -2.0);
    assert_false(kz_checkpoint_array_integer(checkpoint, "a.f32", 0, &integer));
    assert_false(kz_checkpoint_array_real(checkpoint, "a.f32", 2, &real));
    assert_false(kz_checkpoint_array_integer(checkpoint, "a.strings", 0, &integer));
    assert_int_equal(kz_checkpoint_array_count(checkpoint, "n.u8"), 0);
}

static void test_gguf_values(void **state) {
    (void)state;
    byte_string sample = sample_gguf();
    kz_checkpoint *checkpoint = open_sample(&sample);
    double real = 0;
    bool is_set = false;
    check_integer(checkpoint, "n.u8", 200);
    check_integer(checkpoint, "n.i8", -2);
    check_integer(checkpoint, "n.u16", 65535);
    check_integer(checkpoint, "n.i16", -1);
    check_integer(checkpoint, "n.u32", 4000000000);
    check_integer(checkpoint, "n.i32", -3);
    check_integer(checkpoint, "n.u64", (int64_t)1 << 40);
    check_integer(checkpoint, "n.i64", -1);
    assert_true(kz_checkpoint_real(checkpoint, "n.f32", &real) && real == 0.25);
    assert_true(kz_checkpoint_real(checkpoint, "n.f64", &real) && real == 0.75);
    assert_true(kz_checkpoint_bool(checkpoint, "n.bool", &is_set) && is_set);
    assert_false(kz_checkpoint_bool(checkpoint, "n.u8", &is_set));
    assert_string_equal(kz_checkpoint_string(checkpoint, "general.architecture"), "llama");
    assert_null(kz_checkpoint_string(checkpoint, "n.u8"));
    assert_null(kz_checkpoint_string(checkpoint, "absent"));
    check_gguf_arrays(checkpoint);
    read_everything(checkpoint);
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
}

static void test_gguf_tensors(void **state) {
    (void)state;
    byte_string sample = sample_gguf();
    kz_checkpoint *checkpoint = open_sample(&sample);
    float values[32];
    const kz_checkpoint_tensor *a = find(checkpoint, "a");
    assert_int_equal(a->rank, 2);
    assert_int_equal(a->dims[0], 2);
    assert_int_equal(a->dims[1], 32);
    assert_int_equal(kz_checkpoint_decode_row(a, 1, values), KAZEIA_OK);
    assert_true(values[0] == 32.0f && values[31] == 63.0f);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "b"), 1, values), KAZEIA_OK);
    assert_true(values[0] == 32.0f && values[31] == 63.0f);
    assert_string_equal(find(checkpoint, "c")->type_name, "Q4_K");
    assert_int_equal(find(checkpoint, "c")->byte_count, 144);
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
}

static void test_safetensors_sample(void **state) {
    (void)state;
    byte_string sample = sample_safetensors();
    kz_checkpoint *checkpoint = open_sample(&sample);
    float values[4];
    assert_string_equal(kz_checkpoint_architecture(checkpoint), "unknown");
    assert_int_equal(kz_checkpoint_tensor_count(checkpoint), 4);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "a"), 1, values), KAZEIA_OK);
    assert_true(values[0] == 3.0f && values[2] == 5.0f);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "b"), 0, values), KAZEIA_OK);
    assert_true(values[1] == kz_float_from_bf16(0x3f81));
    assert_string_equal(find(checkpoint, "c")->type_name, "F8_E4M3");
    assert_int_equal(find(checkpoint, "d")->rank, 0);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "d"), 0, values), KAZEIA_OK);
    assert_true(values[0] == 42.0f);
    const json_t *config = (const json_t *)&sample;
    assert_int_equal(kz_checkpoint_json(checkpoint, "config.json", &config), KAZEIA_OK);
    assert_null(config);
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
}

static void test_ctranslate2_sample(void **state) {
    (void)state;
    byte_string sample = sample_ctranslate2();
    kz_checkpoint *checkpoint = open_sample(&sample);
    float values[4];
    double scale = 0;
    check_integer(checkpoint, "heads", 6);
    check_integer(checkpoint, "spec_revision", 3);
    assert_true(kz_checkpoint_real(checkpoint, "scale", &scale) && scale == 0.5);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "z"), 1, values), KAZEIA_OK);
    assert_true(values[0] == 0.0f && values[1] == 0.25f && values[3] == 0.75f);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "x/weight"), 0, values), KAZEIA_OK);
    assert_true(values[0] == -2.0f && values[3] == -0.5f);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "y"), 0, values), KAZEIA_OK);
    assert_true(values[0] == 1.0f && values[1] == -2.0f && values[2] == 0.5f);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "heads"), 0, values),
                     KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "int16"));
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
}

static float row_value(const kz_checkpoint *checkpoint, const char *name, uint64_t row, size_t i) {
    float values[32];
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, name), row, values), KAZEIA_OK);
    return values[i];
}

// Weights of nodes: of their own name, with the scale and zero point of the node.
static void test_onnx_sample(void **state) {
    (void)state;
    byte_string sample = sample_onnx();
    kz_checkpoint *checkpoint = open_sample(&sample);
    assert_int_equal(kz_checkpoint_kind_of(checkpoint), KZ_CHECKPOINT_ONNX);
    assert_true(row_value(checkpoint, "plain", 1, 2) == 5.0f);
    assert_true(row_value(checkpoint, "a/MatMul[1]", 1, 0) == 3.0f);
    assert_true(row_value(checkpoint, "b/MatMul[1]", 0, 0) == -0.5f);
    assert_true(row_value(checkpoint, "b/MatMul[1]", 1, 2) == 49.5f); // 200 is above 127
    assert_true(kz_checkpoint_element(find(checkpoint, "b/MatMul[1]"), 1, 1) == 0.5f);
    assert_true(row_value(checkpoint, "d/Gather[0]", 1, 2) == 99.0f);
    const kz_checkpoint_tensor *gates = find(checkpoint, "c/LSTM[1].1");
    assert_int_equal(gates->rank, 2);
    assert_true(row_value(checkpoint, "c/LSTM[1].0", 1, 1) == 1.5f);
    assert_true(row_value(checkpoint, "c/LSTM[2].1", 0, 1) == 0.25f * (float)(-56 - 1));
    assert_true(row_value(checkpoint, "c/LSTM[3].1", 0, 2) == 5.0f);
    assert_true(kz_checkpoint_has_elements(gates));
    assert_false(kz_checkpoint_has_elements(find(checkpoint, "gates")));
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
}

static void test_whisper_ggml_sample(void **state) {
    (void)state;
    byte_string sample = sample_whisper_ggml();
    kz_checkpoint *checkpoint = open_sample(&sample);
    float values[32];
    assert_string_equal(kz_checkpoint_architecture(checkpoint), "whisper");
    check_integer(checkpoint, "n_vocab", 100);
    check_integer(checkpoint, "n_mels", 109);
    check_integer(checkpoint, "ftype", 110);
    check_string(checkpoint, "tokens", 0, "a");
    check_string(checkpoint, "tokens", 1, "");
    check_string(checkpoint, "tokens", 2, "\xc3\xa9");
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "mel_filters"), 1, values),
                     KAZEIA_OK);
    assert_true(values[0] == 1.5f && values[2] == 2.5f);
    assert_int_equal(find(checkpoint, "p")->dims[0], 3);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "p"), 2, values), KAZEIA_OK);
    assert_true(values[0] == 4.0f && values[1] == 5.0f);
    assert_int_equal(kz_checkpoint_decode_row(find(checkpoint, "q"), 0, values), KAZEIA_OK);
    assert_true(values[31] == 62.0f);
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
}

static void test_require_names_what_is_wrong(void **state) {
    (void)state;
    byte_string sample = sample_safetensors();
    kz_checkpoint *checkpoint = open_sample(&sample);
    const kz_checkpoint_tensor *tensor = NULL;
    assert_int_equal(kz_checkpoint_require(checkpoint, "a", 2, (const uint64_t[]){0, 3}, &tensor),
                     KAZEIA_OK);
    assert_string_equal(tensor->name, "a");
    assert_int_equal(kz_checkpoint_require(checkpoint, "a", 2, (const uint64_t[]){3, 2}, &tensor),
                     KAZEIA_BAD_FILE);
    assert_string_equal(kazeia_last_error(),
                        "'sample': tensor 'a' is [2, 3], expected [3, 2] (0: any)");
    assert_int_equal(kz_checkpoint_require(checkpoint, "nope", 0, NULL, &tensor), KAZEIA_BAD_FILE);
    assert_string_equal(kazeia_last_error(), "'sample' has no tensor 'nope'");
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
}

// --- Folders and JSON ---------------------------------------------------------------------------

static void check_json_fails(const char *text, const char *expected) {
    char folder[SAMPLE_PATH_BYTES];
    sample_folder_create(folder);
    byte_string sample = sample_ctranslate2();
    sample_file_write(folder, "model.bin", sample.bytes, sample.count);
    sample_file_write(folder, "x.json", text, strlen(text));
    kz_checkpoint *checkpoint = open_path(folder);
    const json_t *root = NULL;
    assert_int_equal(kz_checkpoint_json(checkpoint, "x.json", &root), KAZEIA_BAD_FILE);
    if (strstr(kazeia_last_error(), expected) == NULL ||
        strstr(kazeia_last_error(), "x.json") == NULL) {
        fail_msg("'%s' lacks '%s'", kazeia_last_error(), expected);
    }
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
    sample_folder_remove(folder);
}

static void test_bad_json_names_its_place(void **state) {
    (void)state;
    char deep[200] = {0};
    memset(deep, '[', 100);
    memset(deep + 100, ']', 99);
    check_json_fails("{\n  \"a\": tru }", "line 2");
    check_json_fails("{\"a\": 1, \"a\": 2}", "line 1");
    check_json_fails("{\"a\": \"b", "line 1, column");
    check_json_fails("", "line 1, column 1");
    check_json_fails(deep, "within each other");
}

static void test_json_is_parsed_once(void **state) {
    static const char text[] = "{\"limit\": 1000000000000000019884624838656, \"n\": [1, -2, "
                               "9223372036854775807, \"12345678901234567890123\"]}";
    char folder[SAMPLE_PATH_BYTES];
    (void)state;
    sample_folder_create(folder);
    byte_string sample = sample_ctranslate2();
    sample_file_write(folder, "any name", sample.bytes, sample.count);
    sample_file_write(folder, "tokenizer_config.json", text, sizeof text - 1);
    kz_checkpoint *checkpoint = open_path(folder);
    const json_t *root = NULL;
    const json_t *again = NULL;
    assert_int_equal(kz_checkpoint_json(checkpoint, "tokenizer_config.json", &root), KAZEIA_OK);
    assert_int_equal(kz_checkpoint_json(checkpoint, "tokenizer_config.json", &again), KAZEIA_OK);
    assert_ptr_equal(root, again);
    assert_true(json_real_value(json_object_get(root, "limit")) ==
                1000000000000000019884624838656.0);
    const json_t *numbers = json_object_get(root, "n");
    assert_true(json_integer_value(json_array_get(numbers, 1)) == -2);
    assert_true(json_integer_value(json_array_get(numbers, 2)) == INT64_MAX);
    assert_string_equal(json_string_value(json_array_get(numbers, 3)), "12345678901234567890123");
    assert_int_equal(kz_checkpoint_json(checkpoint, "absent.json", &root), KAZEIA_OK);
    assert_null(root);
    kz_checkpoint_close(checkpoint);
    bytes_clear(&sample);
    sample_folder_remove(folder);
}

static void check_open_fails(const char *path, kazeia_status status, const char *expected) {
    kz_checkpoint *checkpoint = NULL;
    assert_int_equal(kz_checkpoint_open(path, NULL, &checkpoint), status);
    assert_null(checkpoint);
    if (strstr(kazeia_last_error(), expected) == NULL) {
        fail_msg("'%s' lacks '%s'", kazeia_last_error(), expected);
    }
}

static void test_what_is_no_checkpoint_is_described(void **state) {
    char folder[SAMPLE_PATH_BYTES];
    char path[2 * SAMPLE_PATH_BYTES];
    (void)state;
    sample_folder_create(folder);
    check_open_fails(folder, KAZEIA_NOT_FOUND, "no file in");
    sample_file_write(folder, "x.gguf", "PK\x03\x04zip", 7);
    check_open_fails(folder, KAZEIA_NOT_FOUND, "no file in");
    snprintf(path, sizeof path, "%s/x.gguf", folder);
    check_open_fails(path, KAZEIA_UNSUPPORTED, "zip archive");
    sample_file_write(folder, "x.gguf", "", 0);
    check_open_fails(path, KAZEIA_UNSUPPORTED, "empty file");
    snprintf(path, sizeof path, "%s/absent", folder);
    check_open_fails(path, KAZEIA_NOT_FOUND, "absent");
    byte_string sample = sample_gguf();
    sample_file_write(folder, "a", sample.bytes, sample.count);
    sample_file_write(folder, "b", sample.bytes, sample.count);
    check_open_fails(folder, KAZEIA_BAD_ARGUMENT, "several checkpoints");
    bytes_clear(&sample);
    sample_folder_remove(folder);
    check_open_fails("", KAZEIA_BAD_ARGUMENT, "path");
}

// The index puts a tensor into the wrong shard, or outside the folder.
static void test_shards_are_where_the_index_says(void **state) {
    static const char good[] = "{\"weight_map\": {\"a\": \"one\", \"d\": \"one\"}}";
    static const char outside[] = "{\"weight_map\": {\"a\": \"../one\"}}";
    static const char wrong[] = "{\"weight_map\": {\"a\": \"one\", \"e\": \"one\"}}";
    static const char none[] = "{\"metadata\": {}}";
    char folder[SAMPLE_PATH_BYTES];
    (void)state;
    sample_folder_create(folder);
    byte_string sample = sample_safetensors();
    sample_file_write(folder, "one", sample.bytes, sample.count);
    sample_file_write(folder, "model.safetensors.index.json", good, sizeof good - 1);
    kz_checkpoint *checkpoint = open_path(folder);
    assert_int_equal(kz_checkpoint_tensor_count(checkpoint), 4);
    kz_checkpoint_close(checkpoint);
    sample_file_write(folder, "model.safetensors.index.json", outside, sizeof outside - 1);
    check_open_fails(folder, KAZEIA_BAD_FILE, "../one");
    sample_file_write(folder, "model.safetensors.index.json", wrong, sizeof wrong - 1);
    check_open_fails(folder, KAZEIA_BAD_FILE, "'e' is not in 'one'");
    sample_file_write(folder, "model.safetensors.index.json", none, sizeof none - 1);
    check_open_fails(folder, KAZEIA_BAD_FILE, "weight_map");
    bytes_clear(&sample);
    sample_folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gguf_rows_are_equal),
        cmocka_unit_test(test_block_types_are_equal),
        cmocka_unit_test(test_ctranslate2_rows_are_equal),
        cmocka_unit_test(test_sharded_safetensors_equal_gguf),
        cmocka_unit_test(test_unread_type_is_named),
        cmocka_unit_test(test_gguf_values),
        cmocka_unit_test(test_gguf_tensors),
        cmocka_unit_test(test_safetensors_sample),
        cmocka_unit_test(test_ctranslate2_sample),
        cmocka_unit_test(test_whisper_ggml_sample),
        cmocka_unit_test(test_onnx_sample),
        cmocka_unit_test(test_require_names_what_is_wrong),
        cmocka_unit_test(test_bad_json_names_its_place),
        cmocka_unit_test(test_json_is_parsed_once),
        cmocka_unit_test(test_what_is_no_checkpoint_is_described),
        cmocka_unit_test(test_shards_are_where_the_index_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
