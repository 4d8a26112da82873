// gguf.c: GGUF version 3 (2 is alike): key/values, tensor descriptions, aligned tensor data.
//
// in:  the mapped file (format: github.com/ggml-org/ggml, docs/gguf.md)
// out: values by key, tensors with dimensions outermost first
//
// The head is read twice: once to count what must be reserved, once to fill, so that no table ever
// grows by a count that the file merely claims. Types that are not decoded have their size checked
// all the same, when it is known.
#include <stdio.h>
#include <string.h>

#include "exporter/checkpoint/container.h"

#define ALIGNMENT_DEFAULT 32
#define TENSOR_BYTES_LEAST 33 // name of one byte, one dimension
#define VALUE_BYTES_LEAST 14  // key of one byte, one byte of value

// A ggml tensor type. `type` is KZ_CHECKPOINT_UNREADABLE where nothing here decodes it.
typedef struct gguf_type {
    const char *name; // NULL: not a type
    kz_type type;
    uint32_t block_elements;
    uint32_t block_bytes;
} gguf_type;

#define UNREADABLE KZ_CHECKPOINT_UNREADABLE

// The index is the number in the file (ggml's enum ggml_type).
// Block sizes: ggml's type traits. Types that nothing here decodes are listed so that their sizes
// are still compared.
static const gguf_type gguf_types[] = {
    [0] = {"F32", KZ_F32, 1, 4},
    [1] = {"F16", KZ_F16, 1, 2},
    [2] = {"Q4_0", KZ_Q4_0, 32, 18},
    [3] = {"Q4_1", KZ_Q4_1, 32, 20},
    [6] = {"Q5_0", KZ_Q5_0, 32, 22},
    [7] = {"Q5_1", KZ_Q5_1, 32, 24},
    [8] = {"Q8_0", KZ_Q8_0, 32, 34},
    [9] = {"Q8_1", UNREADABLE, 32, 36},
    [10] = {"Q2_K", UNREADABLE, 256, 84},
    [11] = {"Q3_K", UNREADABLE, 256, 110},
    [12] = {"Q4_K", KZ_Q4_K, 256, 144},
    [13] = {"Q5_K", KZ_Q5_K, 256, 176},
    [14] = {"Q6_K", KZ_Q6_K, 256, 210},
    [15] = {"Q8_K", UNREADABLE, 256, 292},
    [16] = {"IQ2_XXS", UNREADABLE, 256, 66},
    [17] = {"IQ2_XS", UNREADABLE, 256, 74},
    [18] = {"IQ3_XXS", UNREADABLE, 256, 98},
    [19] = {"IQ1_S", UNREADABLE, 256, 50},
    [20] = {"IQ4_NL", KZ_IQ4_NL, 32, 18},
    [21] = {"IQ3_S", UNREADABLE, 256, 110},
    [22] = {"IQ2_S", UNREADABLE, 256, 82},
    [23] = {"IQ4_XS", UNREADABLE, 256, 136},
    [24] = {"I8", KZ_I8, 1, 1},
    [25] = {"I16", UNREADABLE, 1, 2},
    [26] = {"I32", KZ_I32, 1, 4},
    [27] = {"I64", UNREADABLE, 1, 8},
    [28] = {"F64", UNREADABLE, 1, 8},
    [29] = {"IQ1_M", UNREADABLE, 256, 56},
    [30] = {"BF16", KZ_BF16, 1, 2},
    [34] = {"TQ1_0", UNREADABLE, 256, 54},
    [35] = {"TQ2_0", UNREADABLE, 256, 66},
    [39] = {"MXFP4", UNREADABLE, 32, 17},
};

#define GGUF_TYPE_COUNT (sizeof gguf_types / sizeof gguf_types[0])

typedef struct gguf_head {
    kz_cursor cursor;
    uint64_t tensor_count;
    uint64_t value_count;
    uint64_t arrays_of_strings;
    size_t end; // behind the last tensor's description
} gguf_head;

bool kz_gguf_matches(const uint8_t *bytes, size_t size) {
    return size >= 4 && memcmp(bytes, "GGUF", 4) == 0;
}

// --- Key/values ---------------------------------------------------------------------------------

// u64 length, bytes without a NUL.
// The length is 64 bits wide; kz_cursor_take compares it with what is left before it is narrowed.
static kazeia_status take_string(kz_cursor *cursor, const char *what, const uint8_t **out_text,
                                 size_t *out_count) {
    uint64_t count = 0;
    KZ_TRY(kz_cursor_u64(cursor, what, &count));
    KZ_TRY(kz_cursor_take(cursor, count, what, out_text));
    *out_count = (size_t)count;
    return KAZEIA_OK;
}

// Bytes of a number or boolean; 0 for strings, arrays and unknown types.
// The file's own order of types: u8, i8, u16, i16, u32, i32, f32, bool, string, array, u64, i64,
// f64.
static uint64_t scalar_bytes(uint32_t type) {
    static const uint8_t bytes[KZ_VALUE_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < KZ_VALUE_TYPE_COUNT ? bytes[type] : 0;
}

// Copied, because the file has no NUL behind it; the copy of a string with a NUL inside would be
// cut.
static kazeia_status read_text(kz_checkpoint *checkpoint, kz_cursor *cursor,
                               kz_checkpoint_value *value) {
    const uint8_t *text = NULL;
    size_t count = 0;
    KZ_TRY(take_string(cursor, "a string value", &text, &count));
    if (memchr(text, 0, count) != NULL) {
        return kz_fail(KAZEIA_BAD_FILE, "the string of key '%s' holds a NUL", value->key);
    }
    return kz_container_copy(checkpoint, text, count, &value->text);
}

// The element type and count in front of an array's elements.
static kazeia_status read_array_head(kz_cursor *cursor, const char *key, uint32_t *out_type,
                                     uint64_t *out_count) {
    KZ_TRY(kz_cursor_u32(cursor, "an array's type", out_type));
    KZ_TRY(kz_cursor_u64(cursor, "an array's count", out_count));
    // Arrays of arrays are allowed by the format and written by nobody; they would need recursion
    // on hostile input.
    if (*out_type != KZ_VALUE_STRING && scalar_bytes(*out_type) == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "key '%s' is an array of type %u, expected numbers or strings", key,
                       *out_type);
    }
    return KAZEIA_OK;
}

// `count` numbers in place; the product cannot overflow once the count was compared.
static kazeia_status take_numbers(kz_cursor *cursor, const char *key, uint32_t type, uint64_t count,
                                  const uint8_t **out_bytes) {
    const uint64_t each = scalar_bytes(type);
    if (each == 0) {
        return kz_fail(KAZEIA_BAD_FILE, "key '%s' has type %u at byte %zu, expected 0 to 12", key,
                       type, cursor->at);
    }
    if (count > kz_cursor_left(cursor) / each) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "key '%s' has %llu elements of %llu bytes at byte %zu, %zu bytes left", key,
                       (unsigned long long)count, (unsigned long long)each, cursor->at,
                       kz_cursor_left(cursor));
    }
    return kz_cursor_take(cursor, count * each, "a value", out_bytes);
}

static kazeia_status read_array(kz_checkpoint *checkpoint, kz_cursor *cursor,
                                kz_checkpoint_value *value) {
    uint32_t type = 0;
    KZ_TRY(read_array_head(cursor, value->key, &type, &value->count));
    value->element_type = (kz_value_type)type;
    if (type == KZ_VALUE_STRING) {
        // Strings of arrays stay in the file: a vocabulary of 150,000 is not copied.
        value->length_bytes = 8;
        return kz_container_index_strings(checkpoint, cursor, value);
    }
    return take_numbers(cursor, value->key, type, value->count, &value->bytes);
}

// key, u32 type, value.
static kazeia_status read_value(kz_checkpoint *checkpoint, kz_cursor *cursor) {
    const uint8_t *key = NULL;
    size_t key_count = 0;
    uint32_t type = 0;
    kz_checkpoint_value value = {0};
    KZ_TRY(take_string(cursor, "a key", &key, &key_count));
    KZ_TRY(kz_container_copy_name(checkpoint, key, key_count, "a key", &value.key));
    KZ_TRY(kz_cursor_u32(cursor, "a value's type", &type));
    value.type = (kz_value_type)type;
    if (type == KZ_VALUE_STRING) {
        KZ_TRY(read_text(checkpoint, cursor, &value));
    } else if (type == KZ_VALUE_ARRAY) {
        KZ_TRY(read_array(checkpoint, cursor, &value));
    } else {
        KZ_TRY(take_numbers(cursor, value.key, type, 1, &value.bytes));
    }
    kz_container_add_value(checkpoint, &value);
    return KAZEIA_OK;
}

// Steps over the value of the first reading; *is_strings: it is an array of strings.
static kazeia_status step_over_value(kz_cursor *cursor, bool *is_strings) {
    const uint8_t *bytes = NULL;
    size_t size = 0;
    uint32_t type = 0;
    uint64_t count = 1;
    KZ_TRY(take_string(cursor, "a key", &bytes, &size));
    KZ_TRY(kz_container_check_name(bytes, size, "a key"));
    KZ_TRY(kz_cursor_u32(cursor, "a value's type", &type));
    *is_strings = false;
    if (type == KZ_VALUE_ARRAY) {
        // From here on `type` is that of the elements, and a single value is an array of one.
        KZ_TRY(read_array_head(cursor, "of an array", &type, &count));
        *is_strings = type == KZ_VALUE_STRING;
    }
    if (type != KZ_VALUE_STRING) {
        return take_numbers(cursor, "of a number", type, count, &bytes);
    }
    // A string takes 8 bytes at least, so a huge count ends at the end of the file.
    for (uint64_t i = 0; i < count; i++) {
        KZ_TRY(take_string(cursor, "a string value", &bytes, &size));
    }
    return KAZEIA_OK;
}

// --- Tensors ------------------------------------------------------------------------------------

static kazeia_status read_dims(kz_cursor *cursor, kz_checkpoint_tensor *tensor) {
    KZ_TRY(kz_cursor_u32(cursor, "a tensor's dimension count", &tensor->rank));
    if (tensor->rank < 1 || tensor->rank > 4) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s' has %u dimensions, expected 1 to 4",
                       tensor->name, tensor->rank);
    }
    for (uint32_t i = 0; i < 4; i++) {
        tensor->dims[i] = 1;
    }
    for (uint32_t i = tensor->rank; i-- > 0;) { // the file gives the innermost first
        KZ_TRY(kz_cursor_u64(cursor, "a tensor's dimension", &tensor->dims[i]));
        // An empty tensor has no row, and no size to compare.
        if (tensor->dims[i] == 0) {
            return kz_fail(KAZEIA_BAD_FILE, "tensor '%s' has a dimension of 0", tensor->name);
        }
    }
    return KAZEIA_OK;
}

// A type that is not in the table has no known size: byte_count stays 0.
static kazeia_status set_type(kz_checkpoint *checkpoint, uint32_t number,
                              kz_checkpoint_tensor *tensor) {
    if (number < GGUF_TYPE_COUNT && gguf_types[number].name != NULL) {
        const gguf_type *type = &gguf_types[number];
        tensor->type = type->type;
        tensor->type_name = type->name;
        return kz_container_measure(tensor, type->block_elements, type->block_bytes);
    }
    char name[24];
    const int length = snprintf(name, sizeof name, "type %u", number);
    tensor->type = KZ_CHECKPOINT_UNREADABLE;
    return kz_container_copy(checkpoint, name, (size_t)length, &tensor->type_name);
}

// The first reading needs only the end; read_tensor checks the rest. A rank of 2^32 - 1 cannot
// wrap.
static kazeia_status step_over_tensor(kz_cursor *cursor) {
    const uint8_t *bytes = NULL;
    size_t size = 0;
    uint32_t rank = 0;
    KZ_TRY(take_string(cursor, "a tensor's name", &bytes, &size));
    KZ_TRY(kz_cursor_u32(cursor, "a tensor's dimension count", &rank));
    return kz_cursor_take(cursor, (uint64_t)rank * 8 + 12, "a tensor's description", &bytes);
}

static kazeia_status read_alignment(const kz_checkpoint *checkpoint, uint64_t *out_alignment) {
    int64_t alignment = ALIGNMENT_DEFAULT;
    (void)kz_checkpoint_integer(checkpoint, "general.alignment", &alignment);
    // Offsets are rounded by it: 0 would divide by zero, a huge one would wrap.
    const bool is_power = alignment > 0 && (alignment & (alignment - 1)) == 0;
    if (!is_power || alignment > 65536) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "general.alignment is %lld, expected a power of two up to 65536",
                       (long long)alignment);
    }
    *out_alignment = (uint64_t)alignment;
    return KAZEIA_OK;
}

// The size of the head is not subtracted from an offset: offsets count from the aligned end of it.
static kazeia_status place_tensor(const kz_cursor *file, uint64_t origin, uint64_t alignment,
                                  uint64_t offset, kz_checkpoint_tensor *tensor) {
    if (offset % alignment != 0) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s' has the offset %llu, no multiple of %llu",
                       tensor->name, (unsigned long long)offset, (unsigned long long)alignment);
    }
    // The end of the head was inside the file; its rounding up may not be.
    const uint64_t left = origin <= file->size ? file->size - origin : 0;
    if (offset > left || tensor->byte_count > left - offset) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tensor '%s' (%s, %llu bytes at offset %llu) ends outside the %llu bytes of "
                       "tensor data",
                       tensor->name, tensor->type_name, (unsigned long long)tensor->byte_count,
                       (unsigned long long)offset, (unsigned long long)left);
    }
    tensor->bytes = file->bytes + origin + offset;
    return KAZEIA_OK;
}

// name, u32 rank, u64 dims[rank], u32 type, u64 offset. `origin`: where the tensor data begins.
static kazeia_status read_tensor(kz_checkpoint *checkpoint, kz_cursor *cursor, uint64_t origin,
                                 uint64_t alignment) {
    const uint8_t *name = NULL;
    size_t name_count = 0;
    uint32_t type = 0;
    uint64_t offset = 0;
    kz_checkpoint_tensor tensor = {0};
    KZ_TRY(take_string(cursor, "a tensor's name", &name, &name_count));
    KZ_TRY(kz_container_copy_name(checkpoint, name, name_count, "a tensor's name", &tensor.name));
    KZ_TRY(read_dims(cursor, &tensor));
    KZ_TRY(kz_cursor_u32(cursor, "a tensor's type", &type));
    KZ_TRY(kz_cursor_u64(cursor, "a tensor's offset", &offset));
    KZ_TRY(set_type(checkpoint, type, &tensor));
    KZ_TRY(place_tensor(cursor, origin, alignment, offset, &tensor));
    kz_container_add_tensor(checkpoint, &tensor);
    return KAZEIA_OK;
}

// --- The whole ----------------------------------------------------------------------------------

static kazeia_status read_counts(gguf_head *head) {
    uint32_t magic = 0;
    uint32_t version = 0;
    KZ_TRY(kz_cursor_u32(&head->cursor, "the magic number", &magic));
    KZ_TRY(kz_cursor_u32(&head->cursor, "the version", &version));
    // Version 1 has 32-bit lengths and is no longer written.
    if (version != 2 && version != 3) {
        // A small number with its bytes turned round has zeros where the small end is.
        const char *hint = version != 0 && (version & 0xffff) == 0 ? " (a big-endian file?)" : "";
        return kz_fail(KAZEIA_UNSUPPORTED, "GGUF version %u%s, expected 2 or 3", version, hint);
    }
    KZ_TRY(kz_cursor_u64(&head->cursor, "the tensor count", &head->tensor_count));
    KZ_TRY(kz_cursor_u64(&head->cursor, "the key/value count", &head->value_count));
    const size_t left = kz_cursor_left(&head->cursor);
    // A count that the file cannot hold is refused before the loops run over it.
    if (head->tensor_count > left / TENSOR_BYTES_LEAST ||
        head->value_count > left / VALUE_BYTES_LEAST) {
        return kz_fail(KAZEIA_BAD_FILE, "%llu tensors and %llu key/values do not fit %zu bytes",
                       (unsigned long long)head->tensor_count,
                       (unsigned long long)head->value_count, left);
    }
    return KAZEIA_OK;
}

// The first reading, on a copy of the cursor.
static kazeia_status count_contents(gguf_head *head) {
    kz_cursor cursor = head->cursor;
    for (uint64_t i = 0; i < head->value_count; i++) {
        bool is_strings = false;
        KZ_TRY(step_over_value(&cursor, &is_strings));
        head->arrays_of_strings += is_strings;
    }
    for (uint64_t i = 0; i < head->tensor_count; i++) {
        KZ_TRY(step_over_tensor(&cursor));
    }
    head->end = cursor.at;
    return KAZEIA_OK;
}

static kazeia_status read_tensors(kz_checkpoint *checkpoint, gguf_head *head) {
    uint64_t alignment = 0;
    KZ_TRY(read_alignment(checkpoint, &alignment));
    const uint64_t origin = (head->end + alignment - 1) / alignment * alignment;
    for (uint64_t i = 0; i < head->tensor_count; i++) {
        KZ_TRY(read_tensor(checkpoint, &head->cursor, origin, alignment));
    }
    // Offsets come from the file in any order, so nothing else keeps tensors apart.
    return kz_container_refuse_overlaps(checkpoint);
}

// A part of a split model opens like a whole one but lacks tensors: the reason is better said here.
static kazeia_status check_meaning(kz_checkpoint *checkpoint) {
    int64_t parts = 0;
    if (kz_checkpoint_integer(checkpoint, "split.count", &parts) && parts > 1) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "it is one of %lld parts: join them with llama.cpp's gguf-split --merge",
                       (long long)parts);
    }
    checkpoint->architecture = kz_checkpoint_string(checkpoint, "general.architecture");
    if (checkpoint->architecture == NULL) {
        return kz_fail(KAZEIA_BAD_FILE, "the key 'general.architecture' is missing or no string");
    }
    return KAZEIA_OK;
}

kazeia_status kz_gguf_read(kz_checkpoint *checkpoint) {
    const kz_file_map *map = &checkpoint->files[0].map;
    gguf_head head = {.cursor = {map->bytes, map->size, 0}};
    KZ_TRY(read_counts(&head));
    KZ_TRY(count_contents(&head));
    KZ_TRY(kz_container_reserve(checkpoint, head.tensor_count, head.value_count,
                                head.arrays_of_strings));
    for (uint64_t i = 0; i < head.value_count; i++) {
        KZ_TRY(read_value(checkpoint, &head.cursor));
    }
    KZ_TRY(kz_container_finish(checkpoint)); // the keys are looked up below
    KZ_TRY(read_tensors(checkpoint, &head));
    KZ_TRY(kz_container_finish(checkpoint));
    return check_meaning(checkpoint);
}
