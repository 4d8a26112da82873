// checkpoint_samples.c: small checkpoints made in memory, one of each kind.
//
// in:  nothing
// out: bytes that the readers accept, for tests to read and to damage
#include "checkpoint_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_system.h"

// --- Bytes --------------------------------------------------------------------------------------

void bytes_append(byte_string *string, const void *bytes, size_t count) {
    if (count > string->capacity - string->count) {
        string->capacity = 2 * string->capacity + count + 64;
        string->bytes = realloc(string->bytes, string->capacity);
        assert_non_null(string->bytes);
    }
    if (count > 0) {
        memcpy(string->bytes + string->count, bytes, count);
    }
    string->count += count;
}

void bytes_append_text(byte_string *string, const char *text) {
    bytes_append(string, text, strlen(text));
}

void bytes_u8(byte_string *string, uint32_t value) {
    const uint8_t byte = (uint8_t)value;
    bytes_append(string, &byte, 1);
}

void bytes_u16(byte_string *string, uint32_t value) {
    bytes_u8(string, value);
    bytes_u8(string, value >> 8);
}

void bytes_u32(byte_string *string, uint32_t value) {
    bytes_u16(string, value);
    bytes_u16(string, value >> 16);
}

void bytes_u64(byte_string *string, uint64_t value) {
    bytes_u32(string, (uint32_t)value);
    bytes_u32(string, (uint32_t)(value >> 32));
}

void bytes_f32(byte_string *string, float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    bytes_u32(string, bits);
}

void bytes_pad(byte_string *string, size_t multiple) {
    while (string->count % multiple != 0) {
        bytes_u8(string, 0);
    }
}

void bytes_clear(byte_string *string) {
    free(string->bytes);
    *string = (byte_string){0};
}

void bytes_gguf_string(byte_string *string, const char *text) {
    bytes_u64(string, strlen(text));
    bytes_append_text(string, text);
}

void bytes_ct2_string(byte_string *string, const char *text) {
    bytes_u16(string, (uint32_t)strlen(text) + 1);
    bytes_append(string, text, strlen(text) + 1);
}

byte_string bytes_of_file(const char *path) {
    byte_string string = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("cannot open '%s'", path);
    }
    uint8_t piece[4096];
    size_t count = 0;
    while ((count = fread(piece, 1, sizeof piece, file)) > 0) {
        bytes_append(&string, piece, count);
    }
    fclose(file);
    return string;
}

void bytes_to_file(const byte_string *string, const char *path) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(string->bytes, 1, string->count, file), string->count);
    assert_int_equal(fclose(file), 0);
}

// --- GGUF ---------------------------------------------------------------------------------------

static void gguf_key(byte_string *string, const char *key, uint32_t type) {
    bytes_gguf_string(string, key);
    bytes_u32(string, type);
}

static void gguf_numbers(byte_string *string) {
    gguf_key(string, "n.u8", 0);
    bytes_u8(string, 200);
    gguf_key(string, "n.i8", 1);
    bytes_u8(string, 0xfe);
    gguf_key(string, "n.u16", 2);
    bytes_u16(string, 65535);
    gguf_key(string, "n.i16", 3);
    bytes_u16(string, 0xffff);
    gguf_key(string, "n.u32", 4);
    bytes_u32(string, 4000000000u);
    gguf_key(string, "n.i32", 5);
    bytes_u32(string, 0xfffffffdu);
    gguf_key(string, "n.f32", 6);
    bytes_f32(string, 0.25f);
    gguf_key(string, "n.bool", 7);
    bytes_u8(string, 1);
    gguf_key(string, "n.u64", 10);
    bytes_u64(string, 1ull << 40);
    gguf_key(string, "n.i64", 11);
    bytes_u64(string, UINT64_MAX);
    gguf_key(string, "n.f64", 12);
    bytes_u64(string, 0x3fe8000000000000ull); // 0.75
}

static void gguf_arrays(byte_string *string) {
    gguf_key(string, "a.strings", 9);
    bytes_u32(string, 8);
    bytes_u64(string, 3);
    bytes_gguf_string(string, "one");
    bytes_gguf_string(string, "");
    bytes_gguf_string(string, "three");
    gguf_key(string, "a.i32", 9);
    bytes_u32(string, 5);
    bytes_u64(string, 2);
    bytes_u32(string, 7);
    bytes_u32(string, 0xffffffffu);
    gguf_key(string, "a.f32", 9);
    bytes_u32(string, 6);
    bytes_u64(string, 2);
    bytes_f32(string, 1.5f);
    bytes_f32(string, -2.0f);
}

static void gguf_tensor(byte_string *string, const char *name, uint64_t columns, uint64_t rows,
                        uint32_t type, uint64_t offset) {
    bytes_gguf_string(string, name);
    bytes_u32(string, 2);
    bytes_u64(string, columns);
    bytes_u64(string, rows);
    bytes_u32(string, type);
    bytes_u64(string, offset);
}

byte_string sample_gguf(void) {
    byte_string string = {0};
    bytes_append_text(&string, "GGUF");
    bytes_u32(&string, 3);
    bytes_u64(&string, 3);
    bytes_u64(&string, 15);
    gguf_key(&string, "general.architecture", 8);
    bytes_gguf_string(&string, "llama");
    gguf_numbers(&string);
    gguf_arrays(&string);
    gguf_tensor(&string, "a", 32, 2, 0, 0);
    gguf_tensor(&string, "b", 32, 2, 8, 256);
    gguf_tensor(&string, "c", 256, 1, 12, 352);
    bytes_pad(&string, 32);
    for (uint32_t i = 0; i < 64; i++) {
        bytes_f32(&string, (float)i);
    }
    for (uint32_t row = 0; row < 2; row++) {
        bytes_u16(&string, 0x3c00); // 1.0 as f16
        for (uint32_t i = 0; i < 32; i++) {
            bytes_u8(&string, row * 32 + i);
        }
    }
    bytes_pad(&string, 32);
    for (uint32_t i = 0; i < 144; i++) {
        bytes_u8(&string, i);
    }
    return string;
}

// --- Safetensors --------------------------------------------------------------------------------

byte_string sample_safetensors(void) {
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\",\"deep\":\"[{\\\"\"},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
        "\"b\":{\"data_offsets\":[24,32],\"dtype\":\"BF16\",\"shape\":[4],\"more\":{\"x\":[1]}},"
        "\"c\" : { \"dtype\" : \"F8_E4M3\" , \"shape\" : [ 2 ] , \"data_offsets\" : [ 32 , 34 ] },"
        "\"d\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[34,38]}}   ";
    byte_string string = {0};
    bytes_u64(&string, sizeof header - 1);
    bytes_append_text(&string, header);
    for (uint32_t i = 0; i < 6; i++) {
        bytes_f32(&string, (float)i);
    }
    for (uint32_t i = 0; i < 4; i++) {
        bytes_u16(&string, 0x3f80 + i);
    }
    bytes_u16(&string, 0x3838);
    bytes_f32(&string, 42.0f);
    return string;
}

// --- CTranslate2 --------------------------------------------------------------------------------

static void ct2_variable(byte_string *string, const char *name, uint32_t rank, const uint32_t *dims,
                         uint32_t dtype, uint32_t byte_count) {
    bytes_ct2_string(string, name);
    bytes_u8(string, rank);
    for (uint32_t i = 0; i < rank; i++) {
        bytes_u32(string, dims[i]);
    }
    bytes_u8(string, dtype);
    bytes_u32(string, byte_count);
}

byte_string sample_ctranslate2(void) {
    byte_string string = {0};
    bytes_u32(&string, 6);
    bytes_ct2_string(&string, "WhisperSpec");
    bytes_u32(&string, 3);
    bytes_u32(&string, 5);
    ct2_variable(&string, "heads", 0, NULL, 2, 2);
    bytes_u16(&string, 6);
    ct2_variable(&string, "scale", 0, NULL, 0, 4);
    bytes_f32(&string, 0.5f);
    ct2_variable(&string, "x/weight", 2, (const uint32_t[]){2, 4}, 1, 8);
    for (uint32_t i = 0; i < 8; i++) {
        bytes_u8(&string, i - 4);
    }
    ct2_variable(&string, "x/weight_scale", 1, (const uint32_t[]){2}, 0, 8);
    bytes_f32(&string, 2.0f);
    bytes_f32(&string, 4.0f);
    ct2_variable(&string, "y", 1, (const uint32_t[]){3}, 4, 6);
    bytes_u16(&string, 0x3c00);
    bytes_u16(&string, 0xc000);
    bytes_u16(&string, 0x3800);
    bytes_u32(&string, 1);
    bytes_ct2_string(&string, "z");
    bytes_ct2_string(&string, "x/weight");
    return string;
}

// --- whisper.cpp ggml ---------------------------------------------------------------------------

static void ggml_tensor(byte_string *string, const char *name, uint32_t columns, uint32_t rows,
                        uint32_t type) {
    bytes_u32(string, 2);
    bytes_u32(string, (uint32_t)strlen(name));
    bytes_u32(string, type);
    bytes_u32(string, columns);
    bytes_u32(string, rows);
    bytes_append_text(string, name);
}

byte_string sample_whisper_ggml(void) {
    static const char *const tokens[] = {"a", "", "\xc3\xa9"};
    byte_string string = {0};
    bytes_u32(&string, 0x67676d6c);
    for (uint32_t i = 0; i < 11; i++) {
        bytes_u32(&string, 100 + i);
    }
    bytes_u32(&string, 2);
    bytes_u32(&string, 3);
    for (uint32_t i = 0; i < 6; i++) {
        bytes_f32(&string, 0.5f * (float)i);
    }
    bytes_u32(&string, 3);
    for (uint32_t i = 0; i < 3; i++) {
        bytes_u32(&string, (uint32_t)strlen(tokens[i]));
        bytes_append_text(&string, tokens[i]);
    }
    ggml_tensor(&string, "p", 2, 3, 0);
    for (uint32_t i = 0; i < 6; i++) {
        bytes_f32(&string, (float)i);
    }
    ggml_tensor(&string, "q", 32, 1, 8);
    bytes_u16(&string, 0x4000); // 2.0
    for (uint32_t i = 0; i < 32; i++) {
        bytes_u8(&string, i);
    }
    return string;
}

// --- ONNX: messages of protobuf, all lengths below 128 or written in two bytes -------------------

static void pb_varint(byte_string *string, uint32_t value) {
    for (; value >= 0x80; value >>= 7) {
        bytes_u8(string, (value & 0x7f) | 0x80);
    }
    bytes_u8(string, value);
}

static void pb_number(byte_string *string, uint32_t field, uint32_t value) {
    pb_varint(string, field << 3);
    pb_varint(string, value);
}

static void pb_bytes(byte_string *string, uint32_t field, const void *bytes, size_t count) {
    pb_varint(string, field << 3 | 2);
    pb_varint(string, (uint32_t)count);
    bytes_append(string, bytes, count);
}

static void pb_text(byte_string *string, uint32_t field, const char *text) {
    pb_bytes(string, field, text, strlen(text));
}

// An initialiser of `graph`; dims end with 0.
static void onnx_tensor(byte_string *graph, const char *name, uint32_t type, const uint32_t *dims,
                        const void *values, size_t count) {
    byte_string tensor = {0};
    for (; *dims != 0; dims++) {
        pb_number(&tensor, 1, *dims);
    }
    pb_number(&tensor, 2, type);
    pb_text(&tensor, 8, name);
    pb_bytes(&tensor, 9, values, count);
    pb_bytes(graph, 5, tensor.bytes, tensor.count);
    bytes_clear(&tensor);
}

// Inputs and outputs are apart by blanks; "-" is an input that is left out.
static void onnx_node(byte_string *graph, const char *op, const char *name, const char *inputs,
                      const char *output) {
    byte_string node = {0};
    char text[128];
    (void)snprintf(text, sizeof text, "%s", inputs);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        pb_text(&node, 1, strcmp(word, "-") == 0 ? "" : word);
    }
    pb_text(&node, 2, output);
    pb_text(&node, 3, name);
    pb_text(&node, 4, op);
    pb_bytes(graph, 1, node.bytes, node.count);
    bytes_clear(&node);
}

byte_string sample_onnx(void) {
    static const float floats[8] = {0.5f, 0.25f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f};
    static const uint8_t integers[] = {0, 1, 2, 3, 4, 200, 6, 7};
    static const uint32_t none[] = {0}, two[] = {2, 0}, pair[] = {2, 3, 0}, lstm[] = {2, 2, 2, 0};
    byte_string graph = {0}, model = {0};
    onnx_node(&graph, "MatMul", "a/MatMul", "x plain", "y");
    onnx_node(&graph, "MatMulInteger", "b/MatMul_quant", "x onnx::b_quantized xz zero", "z");
    onnx_node(&graph, "DynamicQuantizeLSTM", "c/LSTM_quant",
              "x gates gates bias - - - - scales zeros scales zeros", "h");
    onnx_node(&graph, "Gather", "d/Gather_quant", "onnx::b_quantized ids", "rows");
    onnx_node(&graph, "DequantizeLinear", "d/dequantise", "rows scale zero", "values");
    onnx_tensor(&graph, "plain", 1, pair, floats, 6 * sizeof *floats);
    onnx_tensor(&graph, "onnx::b_quantized", 2, pair, integers, 6);
    onnx_tensor(&graph, "onnx::b_scale", 1, none, &floats[1], sizeof *floats);
    onnx_tensor(&graph, "zero", 2, none, &integers[2], 1);
    onnx_tensor(&graph, "gates", 3, lstm, integers, 8);
    onnx_tensor(&graph, "bias", 1, pair, floats, 6 * sizeof *floats);
    onnx_tensor(&graph, "scales", 1, two, floats, 2 * sizeof *floats);
    onnx_tensor(&graph, "zeros", 3, two, integers, 2);
    onnx_tensor(&graph, "scale", 1, none, &floats[0], sizeof *floats);
    pb_number(&model, 1, 9);
    pb_text(&model, 2, "test");
    pb_bytes(&model, 7, graph.bytes, graph.count);
    bytes_clear(&graph);
    return model;
}

const sample_maker sample_makers[KZ_CHECKPOINT_KIND_COUNT] = {
    [KZ_CHECKPOINT_GGUF] = sample_gguf,
    [KZ_CHECKPOINT_SAFETENSORS] = sample_safetensors,
    [KZ_CHECKPOINT_CTRANSLATE2] = sample_ctranslate2,
    [KZ_CHECKPOINT_WHISPER_GGML] = sample_whisper_ggml,
    [KZ_CHECKPOINT_ONNX] = sample_onnx,
};

// --- Memory -------------------------------------------------------------------------------------

#define COUNT_BYTES 16 // in front of each piece of memory, its size

static void *count_allocate(void *context, size_t bytes) {
    byte_counter *counter = context;
    if (counter->calls_left == 0) {
        return NULL;
    }
    counter->calls_left--;
    uint8_t *memory = malloc(bytes + COUNT_BYTES);
    assert_non_null(memory);
    memcpy(memory, &bytes, sizeof bytes);
    memset(memory + COUNT_BYTES, 0xa5, bytes);
    counter->live_bytes += bytes;
    if (counter->live_bytes > counter->peak_bytes) {
        counter->peak_bytes = counter->live_bytes;
    }
    return memory + COUNT_BYTES;
}

static void count_release(void *context, void *memory) {
    byte_counter *counter = context;
    if (memory == NULL) {
        return;
    }
    size_t bytes = 0;
    memcpy(&bytes, (uint8_t *)memory - COUNT_BYTES, sizeof bytes);
    counter->live_bytes -= bytes;
    free((uint8_t *)memory - COUNT_BYTES);
}

kazeia_allocator byte_counter_allocator(byte_counter *counter, size_t calls_left) {
    *counter = (byte_counter){.calls_left = calls_left};
    return (kazeia_allocator){counter, count_allocate, count_release};
}

size_t opening_limit(size_t file_bytes) {
    return 4 * file_bytes + ((size_t)1 << 20);
}

// --- Reading all --------------------------------------------------------------------------------

static void read_tensor(const kz_checkpoint *checkpoint, const kz_checkpoint_tensor *tensor) {
    uint32_t sum = 0;
    for (uint64_t i = 0; i < tensor->byte_count; i++) {
        sum += tensor->bytes[i];
    }
    assert_true(sum <= UINT32_MAX); // the reading is the test
    assert_ptr_equal(kz_checkpoint_find(checkpoint, tensor->name), tensor);
    const uint64_t columns = kz_checkpoint_row_elements(tensor);
    const uint64_t rows = kz_checkpoint_row_count(tensor);
    if (rows == 0 || (tensor->type == KZ_CHECKPOINT_UNREADABLE && tensor->byte_count == 0)) {
        return;
    }
    const bool is_read = tensor->type != KZ_CHECKPOINT_UNREADABLE;
    float *values = malloc(is_read ? (size_t)columns * sizeof(float) + 1 : 1);
    assert_non_null(values);
    for (uint64_t row = 0; row < rows && row < 64; row++) {
        const kazeia_status status = kz_checkpoint_decode_row(tensor, row, values);
        assert_true(status == KAZEIA_OK || status == KAZEIA_UNSUPPORTED);
    }
    free(values);
    kz_checkpoint_advise(checkpoint, tensor, 0, rows, false);
}

static void read_array(const kz_checkpoint *checkpoint, const char *key) {
    const size_t count = kz_checkpoint_array_count(checkpoint, key);
    for (size_t i = 0; i <= count; i++) {
        const char *text = NULL;
        size_t length = 0;
        int64_t integer = 0;
        double real = 0;
        const bool is_string = kz_checkpoint_array_string(checkpoint, key, i, &text, &length);
        const bool is_integer = kz_checkpoint_array_integer(checkpoint, key, i, &integer);
        const bool is_real = kz_checkpoint_array_real(checkpoint, key, i, &real);
        assert_false(i == count && (is_string || is_integer || is_real));
        if (is_string && length > 0) {
            assert_true(text[0] == text[0] && text[length - 1] == text[length - 1]);
        }
    }
}

void read_everything(const kz_checkpoint *checkpoint) {
    static const char *const keys[] = {
        "n.u8",   "n.i8",    "n.u16", "n.i16", "n.u32",
        "n.i32",  "n.f32",   "n.u64", "n.i64", "n.f64",
        "n.bool", "n_vocab", "heads", "scale", "general.architecture"};
    assert_non_null(kz_checkpoint_architecture(checkpoint));
    for (size_t i = 0; i < kz_checkpoint_tensor_count(checkpoint); i++) {
        read_tensor(checkpoint, kz_checkpoint_tensor_at(checkpoint, i));
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int64_t integer = 0;
        double real = 0;
        bool is_set = false;
        (void)kz_checkpoint_integer(checkpoint, keys[i], &integer);
        (void)kz_checkpoint_real(checkpoint, keys[i], &real);
        (void)kz_checkpoint_bool(checkpoint, keys[i], &is_set);
        const char *text = kz_checkpoint_string(checkpoint, keys[i]);
        assert_true(text == NULL || strlen(text) < SIZE_MAX);
    }
    read_array(checkpoint, "a.strings");
    read_array(checkpoint, "a.i32");
    read_array(checkpoint, "a.f32");
    read_array(checkpoint, "tokens");
}

// --- Folders ------------------------------------------------------------------------------------

void sample_folder_create(char out_path[SAMPLE_PATH_BYTES]) {
    const char *parent = getenv("TMPDIR");
    snprintf(out_path, SAMPLE_PATH_BYTES, "%s/kazeia-checkpoint-XXXXXX",
             parent == NULL ? "/tmp" : parent);
    assert_non_null(mkdtemp(out_path));
}

static kazeia_status remove_entry(void *context, const char *name) {
    char path[2 * SAMPLE_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    return kz_file_remove(path);
}

void sample_folder_remove(const char *path) {
    char copy[SAMPLE_PATH_BYTES];
    snprintf(copy, sizeof copy, "%s", path);
    assert_int_equal(kz_folder_list(path, remove_entry, copy), KAZEIA_OK);
    assert_int_equal(rmdir(path), 0);
}

void sample_file_write(const char *folder, const char *name, const void *bytes, size_t count) {
    char path[2 * SAMPLE_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    byte_string string = {0};
    bytes_append(&string, bytes, count);
    bytes_to_file(&string, path);
    bytes_clear(&string);
}
