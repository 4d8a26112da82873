// test_decoder.c: decoders that are not what the exporter computes are refused by name.
//
// in:  tests/golden/llama, tests/golden/checkpoint
// out: cmocka's report
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_samples.h"
#include "exporter/checkpoint/cursor.h"
#include "kazeia/export.h"
#include "model_graphs.h"

#define TINY_QWEN3 "tests/golden/checkpoint/qwen3-tiny-sharded"
#define QWEN3_GGUF "tests/golden/checkpoint/qwen3-tiny-Q4_0.gguf"
#define PATH_BYTES SAMPLE_PATH_BYTES

static char folder[PATH_BYTES];
static char output[PATH_BYTES + 16];

static int make_folder(void **state) {
    (void)state;
    sample_folder_create(folder);
    snprintf(output, sizeof output, "%s/m.kzp", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    sample_folder_remove(folder);
    return 0;
}

static void copy_files(const char *from_folder, const char *const *names) {
    for (; *names; names++) {
        char path[2 * PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s", from_folder, *names);
        byte_string bytes = bytes_of_file(path);
        sample_file_write(folder, *names, bytes.bytes, bytes.count);
        bytes_clear(&bytes);
    }
}

static kazeia_status export_from(const char *source) {
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = source;
    settings.output = output;
    return kazeia_export(&settings);
}

static void refuse(const char *source, const char *what, const char *words) {
    assert_int_not_equal(export_from(source), KAZEIA_OK);
    if (strstr(kazeia_last_error(), words) == NULL) {
        fail_msg("%s: '%s' says nothing of '%s'", what, kazeia_last_error(), words);
    }
}

// --- Qwen3 --------------------------------------------------------------------------------------

static void replace_in_config(const char *from, const char *to) {
    byte_string bytes = bytes_of_file(TINY_QWEN3 "/config.json"), changed = {0};
    const uint8_t *end = bytes.bytes + bytes.count;
    const uint8_t *place = memmem(bytes.bytes, bytes.count, from, strlen(from));
    assert_non_null(place);
    bytes_append(&changed, bytes.bytes, (size_t)(place - bytes.bytes));
    bytes_append_text(&changed, to);
    place += strlen(from);
    bytes_append(&changed, place, (size_t)(end - place));
    sample_file_write(folder, "config.json", changed.bytes, changed.count);
    bytes_clear(&changed);
    bytes_clear(&bytes);
}

static void other_arithmetic_is_refused(void **state) {
    static const char *const files[] = {"config.json", "model.safetensors.index.json",
                                        "model-00001-of-00002.safetensors",
                                        "model-00002-of-00002.safetensors", NULL};
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"\"use_sliding_window\": false", "\"use_sliding_window\": true", "'use_sliding_window'"},
        {"\"attention_bias\": false", "\"attention_bias\": true", "'attention_bias' is true"},
        {"\"rope_scaling\": null", "\"rope_scaling\": {\"rope_type\": \"yarn\"}", "'yarn'"},
        {"\"head_dim\": 32", "\"head_dim\": 31", "do not make a Qwen3"},
        {"\"head_dim\": 32,", "", "has 32 elements, expected 16"},
        {"\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false", "lm_head.weight"},
        {"\"model_type\": \"qwen3\"", "\"model_type\": \"qwen3_moe\"", "'qwen3_moe'"},
        {"\"model_type\": \"qwen3\"", "\"model_type\": \"llama\"",
         "_norm.weight' has no place in a Llama"},
    };
    (void)state;
    copy_files(TINY_QWEN3, files);
    assert_int_equal(export_from(folder), KAZEIA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        replace_in_config(cases[i].from, cases[i].to);
        refuse(folder, cases[i].from, cases[i].words);
    }
}

// A GGUF file with one stretch of bytes replaced by others of the same length.
static void write_gguf(const char *from, const char *to, char out_path[PATH_BYTES + 16]) {
    byte_string bytes = bytes_of_file(QWEN3_GGUF);
    uint8_t *place = memmem(bytes.bytes, bytes.count, from, strlen(from));
    assert_non_null(place);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(place, to, strlen(to));
    sample_file_write(folder, "m.gguf", bytes.bytes, bytes.count);
    snprintf(out_path, PATH_BYTES + 16, "%s/m.gguf", folder);
    bytes_clear(&bytes);
}

static void gguf_files_say_what_is_missing(void **state) {
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"qwen3.block_count", "qwen3.block_c0unt", "no integer 'qwen3.block_count'"},
        {"qwen3.attention.layer_norm_rms", "qwen3.attention.layer_norm_xyz",
         "no 'qwen3.attention.layer_norm_rms_epsilon'"},
        {"blk.1.attn_q_norm.weight", "blk.1.attn_q_bias.weight", "'blk.1.attn_q_norm.weight'"},
        {"blk.2.attn_k_norm.weight", "blk.2.attn_k_bias.weight", "'blk.2.attn_k_norm.weight'"},
    };
    (void)state;
    assert_int_equal(export_from(QWEN3_GGUF), KAZEIA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[PATH_BYTES + 16];
        write_gguf(cases[i].from, cases[i].to, path);
        refuse(path, cases[i].from, cases[i].words);
    }
}

// --- Tensors left over --------------------------------------------------------------------------

// The tiny Llama with one more tensor, of one element.
static void write_with_tensor(const char *name) {
    byte_string whole = bytes_of_file(TINY_LLAMA "/model.safetensors"), file = {0};
    const size_t header_bytes = (size_t)kz_read_u64(whole.bytes);
    const size_t tensor_bytes = whole.count - 8 - header_bytes;
    json_t *header = json_loadb((const char *)whole.bytes + 8, header_bytes, 0, NULL);
    json_object_set_new(header, name,
                        json_pack("{s:s, s:[i], s:[I, I]}", "dtype", "F32", "shape", 1,
                                  "data_offsets", (json_int_t)tensor_bytes,
                                  (json_int_t)tensor_bytes + 4));
    char *text = json_dumps(header, JSON_COMPACT);
    bytes_u64(&file, strlen(text));
    bytes_append_text(&file, text);
    bytes_append(&file, whole.bytes + 8 + header_bytes, tensor_bytes);
    bytes_f32(&file, 1.0f);
    sample_file_write(folder, "model.safetensors", file.bytes, file.count);
    free(text);
    json_decref(header);
    bytes_clear(&file);
    bytes_clear(&whole);
}

static void tensors_that_nothing_uses_are_refused(void **state) {
    static const char *const files[] = {"config.json", "tokenizer.json", NULL};
    static const char *const refused[] = {"model.layers.0.self_attn.q_proj.bias",
                                          "model.layers.2.self_attn.q_norm.weight", "scale"};
    static const char *const left_out[] = {"model.layers.0.self_attn.rotary_emb.inv_freq",
                                           "lm_head.weight"}; // tied
    (void)state;
    copy_files(TINY_LLAMA, files);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char words[128];
        snprintf(words, sizeof words, "tensor '%s' has no place in a Llama", refused[i]);
        write_with_tensor(refused[i]);
        refuse(folder, refused[i], words);
    }
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        write_with_tensor(left_out[i]);
        CHECK(export_from(folder));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(other_arithmetic_is_refused),
        TEST(gguf_files_say_what_is_missing),
        TEST(tensors_that_nothing_uses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
