// whisper_ggml.c: the ggml file of whisper.cpp.
//
// in:  the mapped file (layout: github.com/ggml-org/whisper.cpp, models/convert-pt-to-ggml.py)
// out: the header's integers and the vocabulary as values, the mel filters and weights as tensors
//
//   u32 magic; 11 x i32 header; i32 n_mel, i32 n_fft, f32 filters[n_mel * n_fft]; i32 token count,
//   then u32 length and bytes of each; then tensors until the end, unaligned: i32 rank,
//   i32 name length, i32 type, i32 dims (innermost first), name, values.
//
// No count of tensors is in the file, so it is walked twice.
#include <string.h>

#include "exporter/checkpoint/container.h"

#define MAGIC 0x67676d6cu
// Real files have 80 or 128 filters of 201 values: these only keep the product small.
#define MEL_LIMIT 1024
#define FFT_LIMIT 65536

static const char *const header_names[] = {
    "n_vocab",      "n_audio_ctx", "n_audio_state", "n_audio_head", "n_audio_layer", "n_text_ctx",
    "n_text_state", "n_text_head", "n_text_layer",  "n_mels",       "ftype"};

#define HEADER_COUNT (sizeof header_names / sizeof header_names[0])

typedef struct ggml_type {
    const char *name; // NULL: not a type of these files
    kz_type type;
    uint32_t block_elements;
    uint32_t block_bytes;
} ggml_type;

// whisper.cpp quantises to these; a type that is not here has no known size, so the tensor after it
// cannot be found: opening fails.
static const ggml_type ggml_types[] = {
    [0] = {"F32", KZ_F32, 1, 4},
    [1] = {"F16", KZ_F16, 1, 2},
    [2] = {"Q4_0", KZ_Q4_0, 32, 18},
    [3] = {"Q4_1", KZ_Q4_1, 32, 20},
    [6] = {"Q5_0", KZ_Q5_0, 32, 22},
    [7] = {"Q5_1", KZ_Q5_1, 32, 24},
    [8] = {"Q8_0", KZ_Q8_0, 32, 34},
    [10] = {"Q2_K", KZ_CHECKPOINT_UNREADABLE, 256, 84},
    [11] = {"Q3_K", KZ_CHECKPOINT_UNREADABLE, 256, 110},
    [12] = {"Q4_K", KZ_Q4_K, 256, 144},
    [13] = {"Q5_K", KZ_Q5_K, 256, 176},
    [14] = {"Q6_K", KZ_Q6_K, 256, 210},
};

#define TYPE_COUNT (sizeof ggml_types / sizeof ggml_types[0])

bool kz_whisper_ggml_matches(const uint8_t *bytes, size_t size) {
    return size >= 4 && kz_read_u32(bytes) == MAGIC;
}

// The integers are not judged here: what they must be is the model's matter.
static kazeia_status read_header(kz_checkpoint *checkpoint, kz_cursor *cursor) {
    const uint8_t *magic = NULL;
    KZ_TRY(kz_cursor_take(cursor, 4, "the magic number", &magic));
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        kz_checkpoint_value value = {.key = header_names[i], .type = KZ_VALUE_I32};
        // Values point into the file: their type says how to read them.
        KZ_TRY(kz_cursor_take(cursor, 4, header_names[i], &value.bytes));
        kz_container_add_value(checkpoint, &value);
    }
    return KAZEIA_OK;
}

static kazeia_status read_mel_filters(kz_cursor *cursor, kz_checkpoint_tensor *out_tensor) {
    uint32_t mel_count = 0;
    uint32_t fft_count = 0;
    KZ_TRY(kz_cursor_u32(cursor, "n_mel", &mel_count));
    KZ_TRY(kz_cursor_u32(cursor, "n_fft", &fft_count));
    if (mel_count == 0 || mel_count > MEL_LIMIT || fft_count == 0 || fft_count > FFT_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "%u mel filters of %u values at byte %zu, expected 1 to %d of 1 to %d",
                       mel_count, fft_count, cursor->at, MEL_LIMIT, FFT_LIMIT);
    }
    kz_checkpoint_tensor tensor = {.name = "mel_filters",
                                   .type = KZ_F32,
                                   .type_name = "F32",
                                   .rank = 2,
                                   .dims = {mel_count, fft_count, 1, 1}};
    KZ_TRY(kz_container_measure(&tensor, 1, 4));
    KZ_TRY(kz_cursor_take(cursor, tensor.byte_count, "the mel filters", &tensor.bytes));
    *out_tensor = tensor;
    return KAZEIA_OK;
}

// Only what the file stores: the ids of special tokens follow from n_vocab.
static kazeia_status read_tokens(kz_checkpoint *checkpoint, kz_cursor *cursor) {
    uint32_t count = 0;
    KZ_TRY(kz_cursor_u32(cursor, "the token count", &count));
    kz_checkpoint_value value = {.key = "tokens",
                                 .type = KZ_VALUE_ARRAY,
                                 .element_type = KZ_VALUE_STRING,
                                 .length_bytes = 4,
                                 .count = count};
    // It compares the count with the bytes that are left.
    KZ_TRY(kz_container_index_strings(checkpoint, cursor, &value));
    kz_container_add_value(checkpoint, &value);
    return KAZEIA_OK;
}

static kazeia_status read_dims(kz_cursor *cursor, kz_checkpoint_tensor *tensor) {
    if (tensor->rank > 4) {
        return kz_fail(KAZEIA_BAD_FILE, "a tensor at byte %zu has %u dimensions, expected up to 4",
                       cursor->at, tensor->rank);
    }
    for (uint32_t i = 0; i < 4; i++) {
        tensor->dims[i] = 1;
    }
    // Innermost first in the file, outermost first here.
    for (uint32_t i = tensor->rank; i-- > 0;) {
        uint32_t size = 0;
        KZ_TRY(kz_cursor_u32(cursor, "a tensor's dimension", &size));
        // ggml writes them as i32: over INT32_MAX is a negative number.
        if (size == 0 || size > INT32_MAX) {
            return kz_fail(KAZEIA_BAD_FILE, "a tensor at byte %zu has a dimension of %u",
                           cursor->at, size);
        }
        tensor->dims[i] = size;
    }
    return KAZEIA_OK;
}

static kazeia_status measure(kz_checkpoint_tensor *tensor, uint32_t type) {
    if (type >= TYPE_COUNT || ggml_types[type].name == NULL) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tensor '%s' has the type %u, expected F32 (0), F16 (1), Q4_0 (2), Q4_1 "
                       "(3), Q5_0 (6), Q5_1 (7), Q8_0 (8), Q4_K (12), Q5_K (13) or Q6_K (14)",
                       tensor->name, type);
    }
    tensor->type = ggml_types[type].type;
    tensor->type_name = ggml_types[type].name;
    return kz_container_measure(tensor, ggml_types[type].block_elements,
                                ggml_types[type].block_bytes);
}

// The name is copied to name[KZ_CHECKPOINT_NAME_LIMIT + 1], at which out_tensor points: in the file
// it has no NUL.
static kazeia_status read_tensor(kz_cursor *cursor, char *name, kz_checkpoint_tensor *out_tensor) {
    uint32_t name_count = 0;
    uint32_t type = 0;
    const uint8_t *text = NULL;
    kz_checkpoint_tensor tensor = {.name = name};
    KZ_TRY(kz_cursor_u32(cursor, "a tensor's dimension count", &tensor.rank));
    KZ_TRY(kz_cursor_u32(cursor, "a tensor's name length", &name_count));
    KZ_TRY(kz_cursor_u32(cursor, "a tensor's type", &type));
    KZ_TRY(read_dims(cursor, &tensor));
    KZ_TRY(kz_cursor_take(cursor, name_count, "a tensor's name", &text));
    // Also bounds the copy: a name is at most KZ_CHECKPOINT_NAME_LIMIT bytes.
    KZ_TRY(kz_container_check_name(text, name_count, "a tensor's name"));
    memcpy(name, text, name_count);
    name[name_count] = '\0';
    KZ_TRY(measure(&tensor, type));
    KZ_TRY(kz_cursor_take(cursor, tensor.byte_count, "a tensor's values", &tensor.bytes));
    *out_tensor = tensor;
    return KAZEIA_OK;
}

// The first reading; it steps over the token table, which is checked when it is indexed.
static kazeia_status count_tensors(kz_cursor cursor, uint64_t *out_count) {
    const uint8_t *skipped = NULL;
    kz_checkpoint_tensor filters = {0};
    uint32_t token_count = 0;
    *out_count = 1; // the mel filters
    KZ_TRY(kz_cursor_take(&cursor, 4 + 4 * HEADER_COUNT, "the header", &skipped));
    KZ_TRY(read_mel_filters(&cursor, &filters));
    KZ_TRY(kz_cursor_u32(&cursor, "the token count", &token_count));
    // Each turn takes 4 bytes at least: a count that lies ends at the end of the file.
    for (uint32_t i = 0; i < token_count; i++) {
        uint32_t length = 0;
        KZ_TRY(kz_cursor_u32(&cursor, "a token's length", &length));
        KZ_TRY(kz_cursor_take(&cursor, length, "a token", &skipped));
    }
    while (kz_cursor_left(&cursor) > 0) {
        char name[KZ_CHECKPOINT_NAME_LIMIT + 1];
        kz_checkpoint_tensor tensor;
        KZ_TRY(read_tensor(&cursor, name, &tensor));
        ++*out_count;
    }
    return KAZEIA_OK;
}

static kazeia_status add_tensors(kz_checkpoint *checkpoint, kz_cursor *cursor) {
    while (kz_cursor_left(cursor) > 0) {
        char name[KZ_CHECKPOINT_NAME_LIMIT + 1];
        kz_checkpoint_tensor tensor;
        KZ_TRY(read_tensor(cursor, name, &tensor));
        KZ_TRY(kz_container_copy(checkpoint, name, strlen(name), &tensor.name));
        kz_container_add_tensor(checkpoint, &tensor);
    }
    return KAZEIA_OK;
}

kazeia_status kz_whisper_ggml_read(kz_checkpoint *checkpoint) {
    const kz_file_map *map = &checkpoint->files[0].map;
    kz_cursor cursor = {map->bytes, map->size, 0};
    uint64_t tensor_count = 0;
    kz_checkpoint_tensor filters = {0};
    KZ_TRY(count_tensors(cursor, &tensor_count));
    KZ_TRY(kz_container_reserve(checkpoint, tensor_count, HEADER_COUNT + 1, 1));
    KZ_TRY(read_header(checkpoint, &cursor));
    KZ_TRY(read_mel_filters(&cursor, &filters));
    kz_container_add_tensor(checkpoint, &filters);
    KZ_TRY(read_tokens(checkpoint, &cursor));
    KZ_TRY(add_tensors(checkpoint, &cursor));
    checkpoint->architecture = "whisper";
    // No test for overlaps: tensors follow each other in the file.
    return kz_container_finish(checkpoint);
}
