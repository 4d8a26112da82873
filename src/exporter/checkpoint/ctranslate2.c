// ctranslate2.c: CTranslate2's model.bin, version 6.
//
// in:  the mapped model.bin (layout: github.com/OpenNMT/CTranslate2, src/models/model.cc)
// out: variables as tensors, aliases as tensors that share their bytes, scalars as values too
//
//   u32 version, name of the specification, u32 revision, u32 count, then each variable:
//   name, u8 rank, u32 dims[rank], u8 dtype, u32 byte count, bytes; u32 count, then each alias:
//   alias, target. A string is u16 length with its NUL, bytes, NUL.
//
// Variables follow each other without gaps, so nothing can overlap. The file is walked twice, to
// count and to fill.
#include <string.h>

#include "exporter/checkpoint/container.h"

#define VERSION 6
// u16 length, NUL and a character, u8 rank, u8 type, u32 size, without values.
#define VARIABLE_BYTES_LEAST 10

typedef struct ct2_dtype {
    const char *name;
    kz_type type;
    kz_value_type scalar; // KZ_VALUE_TYPE_COUNT: not given as a value
    uint32_t bytes;
} ct2_dtype;

static const ct2_dtype ct2_dtypes[] = {
    {"float32", KZ_F32, KZ_VALUE_F32, 4},
    {"int8", KZ_I8, KZ_VALUE_I8, 1},
    {"int16", KZ_CHECKPOINT_UNREADABLE, KZ_VALUE_I16, 2},
    {"int32", KZ_I32, KZ_VALUE_I32, 4},
    {"float16", KZ_F16, KZ_VALUE_TYPE_COUNT, 2},
    {"bfloat16", KZ_BF16, KZ_VALUE_TYPE_COUNT, 2},
};

#define DTYPE_COUNT (sizeof ct2_dtypes / sizeof ct2_dtypes[0])

typedef struct ct2_counts {
    uint64_t tensors;
    uint64_t scalars;
} ct2_counts;

// In place: the string ends in NUL in the file.
static kazeia_status take_string(kz_cursor *cursor, const char *what, const char **out_text) {
    uint32_t count = 0;
    const uint8_t *text = NULL;
    const size_t at = cursor->at;
    KZ_TRY(kz_cursor_u16(cursor, what, &count));
    KZ_TRY(kz_cursor_take(cursor, count, what, &text));
    if (count == 0 || text[count - 1] != '\0') {
        return kz_fail(KAZEIA_BAD_FILE, "%s at byte %zu (%u bytes) does not end in NUL", what, at,
                       count);
    }
    // The file stays mapped, so the name may be used where it lies.
    KZ_TRY(kz_container_check_name(text, count - 1, what)); // refuses a NUL within
    *out_text = (const char *)text;
    return KAZEIA_OK;
}

bool kz_ctranslate2_matches(const uint8_t *bytes, size_t size) {
    // Any small version, then a string such as "WhisperSpec": other versions are named, not
    // guessed.
    // There is no magic number: a version and a word must do.
    if (size < 8 || kz_read_u32(bytes) == 0 || kz_read_u32(bytes) > 99) {
        return false;
    }
    const uint32_t count = kz_read_u16(bytes + 4);
    if (count < 2 || count > 64 || count > size - 6 || bytes[6 + count - 1] != '\0') {
        return false;
    }
    for (uint32_t i = 0; i < count - 1; i++) {
        const uint8_t byte = bytes[6 + i];
        const uint8_t letter = byte | 0x20;
        if ((letter < 'a' || letter > 'z') && (byte < '0' || byte > '9') && byte != '_') {
            return false;
        }
    }
    return true;
}

static kazeia_status read_dims(kz_cursor *cursor, kz_checkpoint_tensor *tensor) {
    KZ_TRY(kz_cursor_u8(cursor, "a variable's rank", &tensor->rank));
    if (tensor->rank > 4) {
        return kz_fail(KAZEIA_BAD_FILE, "variable '%s' has %u dimensions, expected up to 4",
                       tensor->name, tensor->rank);
    }
    // Dimensions beyond the rank count as 1 everywhere.
    for (uint32_t i = 0; i < 4; i++) {
        tensor->dims[i] = 1;
    }
    for (uint32_t i = 0; i < tensor->rank; i++) {
        uint32_t size = 0;
        KZ_TRY(kz_cursor_u32(cursor, "a variable's dimension", &size));
        tensor->dims[i] = size;
    }
    return KAZEIA_OK;
}

// The byte count is redundant, and compared: a file that disagrees with itself is damaged.
static kazeia_status read_variable(kz_cursor *cursor, kz_checkpoint_tensor *out_tensor,
                                   uint32_t *out_dtype) {
    uint32_t byte_count = 0;
    kz_checkpoint_tensor tensor = {0};
    KZ_TRY(take_string(cursor, "a variable's name", &tensor.name));
    KZ_TRY(read_dims(cursor, &tensor));
    KZ_TRY(kz_cursor_u8(cursor, "a variable's type", out_dtype));
    KZ_TRY(kz_cursor_u32(cursor, "a variable's size", &byte_count));
    // After the size was read and before it is used: the sentence has the name, the table its
    // index.
    if (*out_dtype >= DTYPE_COUNT) {
        return kz_fail(KAZEIA_BAD_FILE, "variable '%s' has type %u, expected 0 to %zu", tensor.name,
                       *out_dtype, DTYPE_COUNT - 1);
    }
    const ct2_dtype *dtype = &ct2_dtypes[*out_dtype];
    tensor.type = dtype->type;
    tensor.type_name = dtype->name;
    KZ_TRY(kz_container_measure(&tensor, 1, dtype->bytes));
    if (tensor.byte_count != byte_count) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "variable '%s' has %u bytes, its dimensions and %s need %llu", tensor.name,
                       byte_count, dtype->name, (unsigned long long)tensor.byte_count);
    }
    KZ_TRY(kz_cursor_take(cursor, byte_count, "a variable's values", &tensor.bytes));
    *out_tensor = tensor;
    return KAZEIA_OK;
}

// Settings such as num_heads stand among the weights, as numbers without dimensions.
static bool is_scalar_value(const kz_checkpoint_tensor *tensor, uint32_t dtype) {
    return tensor->rank == 0 && ct2_dtypes[dtype].scalar != KZ_VALUE_TYPE_COUNT;
}

// The specification's name and revision.
static kazeia_status read_head(kz_cursor *cursor, const char **out_name,
                               const uint8_t **out_revision) {
    uint32_t version = 0;
    KZ_TRY(kz_cursor_u32(cursor, "the version", &version));
    if (version != VERSION) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "CTranslate2 model version %u, expected %d: convert it again with "
                       "CTranslate2 4",
                       version, VERSION);
    }
    KZ_TRY(take_string(cursor, "the specification's name", out_name));
    return kz_cursor_take(cursor, 4, "the specification's revision", out_revision);
}

static kazeia_status read_count(kz_cursor *cursor, const char *what, uint32_t bytes_least,
                                uint32_t *out_count) {
    KZ_TRY(kz_cursor_u32(cursor, what, out_count));
    if (*out_count > kz_cursor_left(cursor) / bytes_least) {
        return kz_fail(KAZEIA_BAD_FILE, "%s is %u, the %zu bytes left hold fewer", what, *out_count,
                       kz_cursor_left(cursor));
    }
    return KAZEIA_OK;
}

// The first reading, on a copy of the cursor; aliases are only counted, read_aliases checks them.
static kazeia_status count_contents(kz_cursor cursor, ct2_counts *out_counts) {
    uint32_t variables = 0;
    uint32_t aliases = 0;
    uint32_t dtype = 0;
    kz_checkpoint_tensor tensor = {0};
    *out_counts = (ct2_counts){0};
    KZ_TRY(read_count(&cursor, "the count of variables", VARIABLE_BYTES_LEAST, &variables));
    for (uint32_t i = 0; i < variables; i++) {
        KZ_TRY(read_variable(&cursor, &tensor, &dtype));
        out_counts->scalars += is_scalar_value(&tensor, dtype);
    }
    KZ_TRY(read_count(&cursor, "the count of aliases", 8, &aliases));
    // Each alias is a tensor of its own, with shared bytes: models look both names up.
    out_counts->tensors = (uint64_t)variables + aliases;
    return KAZEIA_OK;
}

static kazeia_status read_variables(kz_checkpoint *checkpoint, kz_cursor *cursor) {
    uint32_t count = 0;
    uint32_t dtype = 0;
    KZ_TRY(read_count(cursor, "the count of variables", VARIABLE_BYTES_LEAST, &count));
    for (uint32_t i = 0; i < count; i++) {
        kz_checkpoint_tensor tensor = {0};
        KZ_TRY(read_variable(cursor, &tensor, &dtype));
        kz_container_add_tensor(checkpoint, &tensor);
        if (is_scalar_value(&tensor, dtype)) {
            const kz_checkpoint_value value = {
                .key = tensor.name, .type = ct2_dtypes[dtype].scalar, .bytes = tensor.bytes};
            kz_container_add_value(checkpoint, &value);
        }
    }
    return KAZEIA_OK;
}

// An int8 matrix is q = round(w * scale) with a scale a row, in "NAME_scale".
static kazeia_status join_scales(kz_checkpoint *checkpoint, kz_checkpoint_tensor *tensor) {
    if (tensor->type != KZ_I8 || tensor->rank < 2) {
        return KAZEIA_OK;
    }
    // Names are within the limit (check_name), and the ending takes 7 with its NUL.
    char name[KZ_CHECKPOINT_NAME_LIMIT + 8];
    const size_t length = strlen(tensor->name);
    memcpy(name, tensor->name, length);
    memcpy(name + length, "_scale", sizeof "_scale");
    const kz_checkpoint_tensor *scales = NULL;
    KZ_TRY(
        kz_checkpoint_require(checkpoint, name, 1, (const uint64_t[]){tensor->dims[0]}, &scales));
    if (scales->type != KZ_F32) {
        return kz_fail(KAZEIA_UNSUPPORTED, "the scales '%s' are %s, expected float32", name,
                       scales->type_name);
    }
    tensor->row_scales = scales->bytes;
    return KAZEIA_OK;
}

// Targets are variables, not other aliases: the order of look-up holds the variables alone here.
static kazeia_status read_aliases(kz_checkpoint *checkpoint, kz_cursor *cursor) {
    uint32_t count = 0;
    KZ_TRY(read_count(cursor, "the count of aliases", 8, &count));
    const size_t variable_count = checkpoint->tensor_count;
    for (uint32_t i = 0; i < count; i++) {
        const char *alias = NULL;
        const char *target = NULL;
        KZ_TRY(take_string(cursor, "an alias", &alias));
        KZ_TRY(take_string(cursor, "an alias's target", &target));
        const size_t alias_count = checkpoint->tensor_count;
        checkpoint->tensor_count = variable_count;
        const kz_checkpoint_tensor *variable = kz_checkpoint_find(checkpoint, target);
        checkpoint->tensor_count = alias_count;
        if (variable == NULL) {
            return kz_fail(KAZEIA_BAD_FILE, "alias '%s' names the variable '%s', which is missing",
                           alias, target);
        }
        kz_checkpoint_tensor tensor = *variable;
        tensor.name = alias;
        kz_container_add_tensor(checkpoint, &tensor);
    }
    return KAZEIA_OK;
}

// Scales are joined before aliases are made, so that an alias has them too.
static kazeia_status read_contents(kz_checkpoint *checkpoint, kz_cursor *cursor) {
    KZ_TRY(read_variables(checkpoint, cursor));
    // Sorted now, so that scales and targets can be looked up by name.
    KZ_TRY(kz_container_finish(checkpoint));
    for (size_t i = 0; i < checkpoint->tensor_count; i++) {
        KZ_TRY(join_scales(checkpoint, &checkpoint->tensors[i]));
    }
    KZ_TRY(read_aliases(checkpoint, cursor));
    // A longer file is another version's, or damaged.
    if (kz_cursor_left(cursor) > 0) {
        return kz_fail(KAZEIA_BAD_FILE, "%zu bytes follow the last alias at byte %zu",
                       kz_cursor_left(cursor), cursor->at);
    }
    return kz_container_finish(checkpoint);
}

kazeia_status kz_ctranslate2_read(kz_checkpoint *checkpoint) {
    const kz_file_map *map = &checkpoint->files[0].map;
    kz_cursor cursor = {map->bytes, map->size, 0};
    const uint8_t *revision = NULL;
    KZ_TRY(read_head(&cursor, &checkpoint->architecture, &revision));
    ct2_counts counts;
    KZ_TRY(count_contents(cursor, &counts));
    KZ_TRY(kz_container_reserve(checkpoint, counts.tensors, counts.scalars + 1, 0));
    const kz_checkpoint_value value = {
        .key = "spec_revision", .type = KZ_VALUE_U32, .bytes = revision};
    kz_container_add_value(checkpoint, &value);
    return read_contents(checkpoint, &cursor);
}
