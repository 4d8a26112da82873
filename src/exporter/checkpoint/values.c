// values.c: what a checkpoint's key/values say, by key.
//
// in:  the table of values, which point into the mapped file
// out: numbers and strings, or false when the key is absent or of another type
#include <string.h>

#include "base/half.h"
#include "exporter/checkpoint/container.h"

// Bytes of a number; 0 for what is no number.
// Readers of containers have refused types that are not in the table.
static uint32_t number_bytes(kz_value_type type) {
    static const uint8_t bytes[KZ_VALUE_TYPE_COUNT] = {
        [KZ_VALUE_U8] = 1,  [KZ_VALUE_I8] = 1,  [KZ_VALUE_U16] = 2, [KZ_VALUE_I16] = 2,
        [KZ_VALUE_U32] = 4, [KZ_VALUE_I32] = 4, [KZ_VALUE_F32] = 4, [KZ_VALUE_BOOL] = 1,
        [KZ_VALUE_U64] = 8, [KZ_VALUE_I64] = 8, [KZ_VALUE_F64] = 8,
    };
    return bytes[type];
}

// Booleans are no integers: a key that changed its type must not pass unseen.
static bool read_integer(kz_value_type type, const uint8_t *bytes, int64_t *out_value) {
    switch (type) {
    case KZ_VALUE_U8:
        *out_value = bytes[0];
        return true;
    case KZ_VALUE_I8:
        *out_value = (int8_t)bytes[0];
        return true;
    case KZ_VALUE_U16:
        *out_value = kz_read_u16(bytes);
        return true;
    case KZ_VALUE_I16:
        *out_value = (int16_t)kz_read_u16(bytes);
        return true;
    case KZ_VALUE_U32:
        *out_value = kz_read_u32(bytes);
        return true;
    case KZ_VALUE_I32:
        *out_value = (int32_t)kz_read_u32(bytes);
        return true;
    case KZ_VALUE_U64:
    case KZ_VALUE_I64: {
        const uint64_t value = kz_read_u64(bytes);
        *out_value = (int64_t)value;
        // An unsigned number over the range is no integer here rather than a negative one.
        return type == KZ_VALUE_I64 || value <= INT64_MAX;
    }
    default:
        return false;
    }
}

// Takes integers too: writers store whole numbers such as 10000 either way.
static bool read_real(kz_value_type type, const uint8_t *bytes, double *out_value) {
    if (type == KZ_VALUE_F32) {
        *out_value = kz_float_from_bits(kz_read_u32(bytes));
        return true;
    }
    if (type == KZ_VALUE_F64) {
        const uint64_t bits = kz_read_u64(bytes);
        memcpy(out_value, &bits, sizeof *out_value);
        return true;
    }
    int64_t integer = 0;
    if (!read_integer(type, bytes, &integer)) {
        return false;
    }
    *out_value = (double)integer;
    return true;
}

bool kz_checkpoint_integer(const kz_checkpoint *checkpoint, const char *key, int64_t *out_value) {
    const kz_checkpoint_value *value = kz_container_find_value(checkpoint, key);
    int64_t integer = 0;
    if (value == NULL || !read_integer(value->type, value->bytes, &integer)) {
        return false;
    }
    *out_value = integer;
    return true;
}

bool kz_checkpoint_real(const kz_checkpoint *checkpoint, const char *key, double *out_value) {
    const kz_checkpoint_value *value = kz_container_find_value(checkpoint, key);
    return value != NULL && read_real(value->type, value->bytes, out_value);
}

bool kz_checkpoint_bool(const kz_checkpoint *checkpoint, const char *key, bool *out_value) {
    const kz_checkpoint_value *value = kz_container_find_value(checkpoint, key);
    if (value == NULL || value->type != KZ_VALUE_BOOL) {
        return false;
    }
    *out_value = value->bytes[0] != 0;
    return true;
}

const char *kz_checkpoint_string(const kz_checkpoint *checkpoint, const char *key) {
    const kz_checkpoint_value *value = kz_container_find_value(checkpoint, key);
    return value != NULL && value->type == KZ_VALUE_STRING ? value->text : NULL;
}

size_t kz_checkpoint_array_count(const kz_checkpoint *checkpoint, const char *key) {
    const kz_checkpoint_value *value = kz_container_find_value(checkpoint, key);
    // It fits: each element has a byte in the file at least.
    return value != NULL && value->type == KZ_VALUE_ARRAY ? (size_t)value->count : 0;
}

// NULL when `key` is no array or `index` is outside.
static const kz_checkpoint_value *find_element(const kz_checkpoint *checkpoint, const char *key,
                                               size_t index) {
    const kz_checkpoint_value *value = kz_container_find_value(checkpoint, key);
    const bool is_there = value != NULL && value->type == KZ_VALUE_ARRAY && index < value->count;
    return is_there ? value : NULL;
}

bool kz_checkpoint_array_string(const kz_checkpoint *checkpoint, const char *key, size_t index,
                                const char **out_bytes, size_t *out_count) {
    const kz_checkpoint_value *value = find_element(checkpoint, key, index);
    if (value == NULL || value->element_type != KZ_VALUE_STRING) {
        return false;
    }
    // The length was checked when the array was indexed.
    const uint8_t *length = value->bytes + value->starts[index];
    *out_count =
        value->length_bytes == 8 ? (size_t)kz_read_u64(length) : (size_t)kz_read_u32(length);
    *out_bytes = (const char *)(length + value->length_bytes);
    return true;
}

bool kz_checkpoint_array_integer(const kz_checkpoint *checkpoint, const char *key, size_t index,
                                 int64_t *out_value) {
    const kz_checkpoint_value *value = find_element(checkpoint, key, index);
    if (value == NULL) {
        return false;
    }
    const kz_value_type type = value->element_type;
    int64_t integer = 0;
    // The whole array was found in the file when it was read, so every index below the count is.
    if (number_bytes(type) == 0 ||
        !read_integer(type, value->bytes + index * number_bytes(type), &integer)) {
        return false;
    }
    *out_value = integer;
    return true;
}

bool kz_checkpoint_array_bool(const kz_checkpoint *checkpoint, const char *key, size_t index,
                              bool *out_value) {
    const kz_checkpoint_value *value = find_element(checkpoint, key, index);
    if (value == NULL || value->element_type != KZ_VALUE_BOOL) {
        return false;
    }
    *out_value = value->bytes[index] != 0;
    return true;
}

bool kz_checkpoint_array_real(const kz_checkpoint *checkpoint, const char *key, size_t index,
                              double *out_value) {
    const kz_checkpoint_value *value = find_element(checkpoint, key, index);
    if (value == NULL) {
        return false;
    }
    const kz_value_type type = value->element_type;
    return number_bytes(type) != 0 &&
           read_real(type, value->bytes + index * number_bytes(type), out_value);
}
