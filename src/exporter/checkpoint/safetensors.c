// safetensors.c: safetensors files: one, or the shards that an index names, with config.json.
//
// in:  mapped files (format: github.com/huggingface/safetensors): u64 header size, a JSON header
//      {"name": {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {...}}, values
// out: tensors; the architecture is config.json's "model_type", "unknown" without that file
//
// The JSON is read in place (json_scan.h), twice: to count and to fill.
#include <string.h>

#include "base/file_system.h"
#include "exporter/checkpoint/container.h"
#include "exporter/checkpoint/json_scan.h"

// A little over the format's own limit of 100,000,000 bytes.
#define HEADER_LIMIT ((uint64_t)100 << 20)
#define CONFIG_LIMIT ((size_t)16 << 20)
#define INDEX_LIMIT ((size_t)16 << 20)
// Far more than any release has; each shard is a mapped file.
#define SHARD_LIMIT 256
#define FILE_NAME_LIMIT 256
#define KEY_BYTES (KZ_CHECKPOINT_NAME_LIMIT + 8)
#define PATH_LIMIT 4352

static const struct {
    const char *name;
    kz_type type;
    uint32_t bytes;
} dtypes[] = {
    {"F32", KZ_F32, 4},
    {"F16", KZ_F16, 2},
    {"BF16", KZ_BF16, 2},
    {"I32", KZ_I32, 4},
    {"I8", KZ_I8, 1},
    {"BOOL", KZ_CHECKPOINT_UNREADABLE, 1},
    {"U8", KZ_CHECKPOINT_UNREADABLE, 1},
    {"F8_E4M3", KZ_CHECKPOINT_UNREADABLE, 1},
    {"F8_E5M2", KZ_CHECKPOINT_UNREADABLE, 1},
    {"I16", KZ_CHECKPOINT_UNREADABLE, 2},
    {"U16", KZ_CHECKPOINT_UNREADABLE, 2},
    {"U32", KZ_CHECKPOINT_UNREADABLE, 4},
    {"F64", KZ_CHECKPOINT_UNREADABLE, 8},
    {"I64", KZ_CHECKPOINT_UNREADABLE, 8},
    {"U64", KZ_CHECKPOINT_UNREADABLE, 8},
};

#define DTYPE_COUNT (sizeof dtypes / sizeof dtypes[0])

// A tensor's description as it stands in the header.
typedef struct entry {
    kz_checkpoint_tensor tensor;
    uint64_t offsets[2];
    uint32_t element_bytes; // 0: a type of unknown size
    bool has_type, has_shape, has_offsets;
    char type_name[32];
} entry;

bool kz_safetensors_matches(const uint8_t *bytes, size_t size) {
    // There is no magic number: the header's size and its bracket must do.
    return size >= 10 && bytes[8] == '{' && kz_read_u64(bytes) <= HEADER_LIMIT;
}

// --- One tensor ---------------------------------------------------------------------------------

// A dtype that is not in the table is taken from the header's own words when the tensor is added.
static kazeia_status read_dtype(kz_json_scan *scan, entry *found) {
    size_t count = 0;
    KZ_TRY(kz_json_scan_string(scan, sizeof found->type_name, found->type_name, &count));
    found->has_type = true;
    found->tensor.type = KZ_CHECKPOINT_UNREADABLE;
    found->tensor.type_name = NULL;
    // A later "dtype" of the same entry overrides the first wholly.
    found->element_bytes = 0;
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, found->type_name) == 0) {
            found->tensor.type = dtypes[i].type;
            found->tensor.type_name = dtypes[i].name;
            found->element_bytes = dtypes[i].bytes;
        }
    }
    return KAZEIA_OK;
}

static kazeia_status read_shape(kz_json_scan *scan, entry *found) {
    bool has_more = true;
    kz_checkpoint_tensor *tensor = &found->tensor;
    found->has_shape = true;
    tensor->rank = 0;
    for (uint32_t i = 0; i < 4; i++) {
        tensor->dims[i] = 1;
    }
    KZ_TRY(kz_json_scan_expect(scan, '['));
    KZ_TRY(kz_json_scan_next(scan, 0, ']', &has_more));
    while (has_more) {
        if (tensor->rank == 4) {
            return kz_fail(KAZEIA_UNSUPPORTED,
                           "tensor '%s' has over 4 dimensions, expected up to 4", tensor->name);
        }
        // Sizes up to 2^64 - 1: their product is checked when the tensor is measured.
        KZ_TRY(kz_json_scan_u64(scan, &tensor->dims[tensor->rank++]));
        KZ_TRY(kz_json_scan_next(scan, tensor->rank, ']', &has_more));
    }
    return KAZEIA_OK;
}

static kazeia_status read_offsets(kz_json_scan *scan, entry *found) {
    found->has_offsets = true;
    KZ_TRY(kz_json_scan_expect(scan, '['));
    KZ_TRY(kz_json_scan_u64(scan, &found->offsets[0]));
    KZ_TRY(kz_json_scan_expect(scan, ','));
    KZ_TRY(kz_json_scan_u64(scan, &found->offsets[1]));
    return kz_json_scan_expect(scan, ']');
}

// The fields come in any order, and later versions may add some.
static kazeia_status read_fields(kz_json_scan *scan, entry *found) {
    KZ_TRY(kz_json_scan_expect(scan, '{'));
    for (size_t i = 0;; i++) {
        char key[KEY_BYTES];
        size_t count = 0;
        bool has_more = false;
        KZ_TRY(kz_json_scan_member(scan, i, sizeof key, key, &count, &has_more));
        if (!has_more) {
            break;
        }
        if (strcmp(key, "dtype") == 0) {
            KZ_TRY(read_dtype(scan, found));
        } else if (strcmp(key, "shape") == 0) {
            KZ_TRY(read_shape(scan, found));
        } else if (strcmp(key, "data_offsets") == 0) {
            KZ_TRY(read_offsets(scan, found));
        } else {
            KZ_TRY(kz_json_scan_skip(scan));
        }
    }
    if (!found->has_type || !found->has_shape || !found->has_offsets) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tensor '%s' lacks one of 'dtype', 'shape' and 'data_offsets'",
                       found->tensor.name);
    }
    return KAZEIA_OK;
}

// `values` are those behind the header.
static kazeia_status place(const kz_cursor *values, entry *found) {
    kz_checkpoint_tensor *tensor = &found->tensor;
    const uint64_t begin = found->offsets[0];
    const uint64_t end = found->offsets[1];
    // Compared, not subtracted: both come from the file.
    if (begin > end || end > values->size) {
        return kz_fail(
            KAZEIA_BAD_FILE, "tensor '%s' is at bytes %llu to %llu of %zu bytes of tensor data",
            tensor->name, (unsigned long long)begin, (unsigned long long)end, values->size);
    }
    if (found->element_bytes == 0) {
        tensor->byte_count = end - begin;
    } else {
        KZ_TRY(kz_container_measure(tensor, 1, found->element_bytes));
    }
    // Shape and offsets say the size twice: they must agree.
    if (tensor->byte_count != end - begin) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s' has %llu bytes, its shape and %s need %llu",
                       tensor->name, (unsigned long long)(end - begin), tensor->type_name,
                       (unsigned long long)tensor->byte_count);
    }
    tensor->bytes = values->bytes + begin;
    return KAZEIA_OK;
}

// tensor->name is the walker's buffer until here, the copy from here on.
static kazeia_status add_entry(kz_checkpoint *checkpoint, const kz_cursor *values,
                               size_t name_count, entry *found) {
    kz_checkpoint_tensor *tensor = &found->tensor;
    if (tensor->type_name == NULL) {
        KZ_TRY(kz_container_copy_name(checkpoint, found->type_name, strlen(found->type_name),
                                      "a dtype", &tensor->type_name));
    }
    // Before the name is copied: a refused tensor costs no memory.
    KZ_TRY(place(values, found));
    KZ_TRY(kz_container_copy_name(checkpoint, tensor->name, name_count, "a tensor's name",
                                  &tensor->name));
    kz_container_add_tensor(checkpoint, tensor);
    return KAZEIA_OK;
}

// --- One file -----------------------------------------------------------------------------------

// Offsets count from the header's end, so the values get a cursor of their own.
static kazeia_status split_file(const kz_file_map *map, kz_json_scan *out_header,
                                kz_cursor *out_values) {
    kz_cursor cursor = {map->bytes, map->size, 0};
    uint64_t header_bytes = 0;
    const uint8_t *header = NULL;
    KZ_TRY(kz_cursor_u64(&cursor, "the header's size", &header_bytes));
    if (header_bytes > HEADER_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "a header of %llu bytes, expected up to %llu",
                       (unsigned long long)header_bytes, (unsigned long long)HEADER_LIMIT);
    }
    KZ_TRY(kz_cursor_take(&cursor, header_bytes, "the header", &header));
    *out_header = (kz_json_scan){header, (size_t)header_bytes, 0};
    *out_values = (kz_cursor){map->bytes + cursor.at, kz_cursor_left(&cursor), 0};
    return KAZEIA_OK;
}

// Counts the tensors of a header; adds them when `checkpoint` is not NULL.
static kazeia_status walk_header(kz_checkpoint *checkpoint, const kz_file_map *map,
                                 uint64_t *tensor_count) {
    kz_json_scan scan = {0};
    kz_cursor values = {0};
    KZ_TRY(split_file(map, &scan, &values));
    KZ_TRY(kz_json_scan_expect(&scan, '{'));
    for (size_t i = 0;; i++) {
        char name[KEY_BYTES];
        size_t count = 0;
        bool has_more = false;
        KZ_TRY(kz_json_scan_member(&scan, i, sizeof name, name, &count, &has_more));
        if (!has_more) {
            break;
        }
        // "__metadata__" is the only key that is no tensor.
        if (checkpoint == NULL || strcmp(name, "__metadata__") == 0) {
            *tensor_count += strcmp(name, "__metadata__") != 0;
            KZ_TRY(kz_json_scan_skip(&scan));
            continue;
        }
        entry found = {.tensor = {.name = name}}; // the name is this turn's buffer
        KZ_TRY(read_fields(&scan, &found));
        KZ_TRY(add_entry(checkpoint, &values, count, &found));
    }
    if (kz_json_scan_peek(&scan) != 0 || scan.at < scan.size) {
        return kz_json_scan_fail(&scan, "the header's end");
    }
    return KAZEIA_OK;
}

// A shard's name is put in front; the only file's is put there by the caller.
static kazeia_status walk_files(kz_checkpoint *checkpoint, bool is_adding, uint64_t *tensor_count) {
    for (size_t i = 0; i < checkpoint->file_count; i++) {
        const kz_checkpoint_file *file = &checkpoint->files[i];
        const kazeia_status status =
            walk_header(is_adding ? checkpoint : NULL, &file->map, tensor_count);
        if (status != KAZEIA_OK) {
            return checkpoint->file_count == 1
                       ? status
                       : kz_fail_context(status, "'%s'", kz_path_name(file->path));
        }
    }
    return KAZEIA_OK;
}

// --- config.json --------------------------------------------------------------------------------

// At the top level only: parts of a model have a "model_type" of their own.
static kazeia_status find_model_type(kz_checkpoint *checkpoint, const kz_file_map *map) {
    kz_json_scan scan = {map->bytes, map->size, 0};
    if (map->size > CONFIG_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%zu bytes, expected up to %zu", map->size,
                       CONFIG_LIMIT);
    }
    KZ_TRY(kz_json_scan_expect(&scan, '{'));
    for (size_t i = 0;; i++) {
        char key[KEY_BYTES];
        char text[KEY_BYTES];
        size_t count = 0;
        bool has_more = false;
        KZ_TRY(kz_json_scan_member(&scan, i, sizeof key, key, &count, &has_more));
        if (!has_more) {
            return KAZEIA_OK;
        }
        if (strcmp(key, "model_type") != 0) {
            KZ_TRY(kz_json_scan_skip(&scan));
            continue;
        }
        KZ_TRY(kz_json_scan_string(&scan, sizeof text, text, &count));
        // Of a key that is there twice the last one counts, as in Python's reader.
        KZ_TRY(kz_container_copy_name(checkpoint, text, count, "'model_type'",
                                      &checkpoint->architecture));
    }
}

kazeia_status kz_safetensors_read_config(kz_checkpoint *checkpoint) {
    kz_text_buffer path = {0};
    kz_file_map map = {0};
    // Weights alone do not say what they are weights of.
    checkpoint->architecture = "unknown";
    if (checkpoint->folder == NULL) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_text_buffer_init(&path, &checkpoint->allocator, 256, PATH_LIMIT));
    kazeia_status status = kz_path_join(checkpoint->folder, "config.json", &path);
    if (status == KAZEIA_OK && kz_path_query(path.bytes, NULL) == KZ_PATH_FILE) {
        status = kz_file_map_open(path.bytes, &map);
        if (status == KAZEIA_OK) {
            status = find_model_type(checkpoint, &map);
            kz_file_map_close(&map);
            status = status == KAZEIA_OK ? status : kz_fail_context(status, "'%s'", path.bytes);
        }
    }
    kz_text_buffer_clear(&path);
    return status;
}

kazeia_status kz_safetensors_read(kz_checkpoint *checkpoint) {
    uint64_t tensor_count = 0;
    KZ_TRY(walk_files(checkpoint, false, &tensor_count));
    KZ_TRY(kz_container_reserve(checkpoint, tensor_count, 0, 0));
    KZ_TRY(walk_files(checkpoint, true, &tensor_count));
    // Before sorting by name: it borrows that order's table.
    KZ_TRY(kz_container_refuse_overlaps(checkpoint));
    KZ_TRY(kz_container_finish(checkpoint));
    return kz_safetensors_read_config(checkpoint);
}

// --- Shards -------------------------------------------------------------------------------------

// A checkpoint reads nothing outside its own folder.
static kazeia_status check_shard_name(const char *name, size_t count) {
    KZ_TRY(kz_container_check_name(name, count, "a shard's file name"));
    // No way up, no way elsewhere, no hidden file.
    if (count >= FILE_NAME_LIMIT || name[0] == '.' || memchr(name, '/', count) != NULL) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "the shard '%s' is no file name of this folder (no '/', no '.' in front)",
                       name);
    }
    return KAZEIA_OK;
}

// The file of that name; NULL when it is not mapped yet. Entries come in runs, so the last is tried
// first.
static const kz_checkpoint_file *find_shard(const kz_checkpoint *checkpoint, const char *name) {
    for (size_t i = checkpoint->file_count; i-- > 0;) {
        if (strcmp(kz_path_name(checkpoint->files[i].path), name) == 0) {
            return &checkpoint->files[i];
        }
    }
    return NULL;
}

static kazeia_status map_shard(kz_checkpoint *checkpoint, const char *name) {
    if (find_shard(checkpoint, name) != NULL) {
        return KAZEIA_OK;
    }
    // Room for the files is taken once, so that pointers to them stay.
    if (checkpoint->file_count == checkpoint->file_capacity) {
        return kz_fail(KAZEIA_UNSUPPORTED, "there are over %d shards", SHARD_LIMIT);
    }
    kz_text_buffer path = {0};
    const kz_checkpoint_file *file = NULL;
    KZ_TRY(kz_text_buffer_init(&path, &checkpoint->allocator, 256, PATH_LIMIT));
    kazeia_status status = kz_path_join(checkpoint->folder, name, &path);
    if (status == KAZEIA_OK) {
        status = kz_container_map(checkpoint, path.bytes, &file);
    }
    kz_text_buffer_clear(&path);
    return status;
}

// Is the tensor where the index says it is?
static kazeia_status check_place(const kz_checkpoint *checkpoint, const char *tensor_name,
                                 const char *shard) {
    const kz_checkpoint_tensor *tensor = kz_checkpoint_find(checkpoint, tensor_name);
    const kz_checkpoint_file *file = find_shard(checkpoint, shard);
    const uintptr_t start = (uintptr_t)file->map.bytes;
    // A tensor without elements may lie at the very end, hence > and not >=.
    if (tensor == NULL || (uintptr_t)tensor->bytes < start ||
        (uintptr_t)tensor->bytes - start > file->map.size) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s' is not in '%s', where the index puts it",
                       tensor_name, shard);
    }
    return KAZEIA_OK;
}

// The object "weight_map": maps its files, or compares it with them once they are read.
static kazeia_status walk_weight_map(kz_checkpoint *checkpoint, kz_json_scan *scan,
                                     bool is_comparing) {
    KZ_TRY(kz_json_scan_expect(scan, '{'));
    for (size_t i = 0;; i++) {
        char name[KEY_BYTES];
        char shard[KEY_BYTES];
        size_t count = 0;
        bool has_more = false;
        KZ_TRY(kz_json_scan_member(scan, i, sizeof name, name, &count, &has_more));
        if (!has_more) {
            return KAZEIA_OK;
        }
        KZ_TRY(kz_json_scan_string(scan, sizeof shard, shard, &count));
        KZ_TRY(check_shard_name(shard, count));
        KZ_TRY(is_comparing ? check_place(checkpoint, name, shard) : map_shard(checkpoint, shard));
    }
}

static kazeia_status walk_index(kz_checkpoint *checkpoint, const kz_file_map *map,
                                bool is_comparing) {
    kz_json_scan scan = {map->bytes, map->size, 0};
    KZ_TRY(kz_json_scan_expect(&scan, '{'));
    for (size_t i = 0;; i++) {
        char key[KEY_BYTES];
        size_t count = 0;
        bool has_more = false;
        KZ_TRY(kz_json_scan_member(&scan, i, sizeof key, key, &count, &has_more));
        if (!has_more) {
            break;
        }
        if (strcmp(key, "weight_map") == 0) {
            KZ_TRY(walk_weight_map(checkpoint, &scan, is_comparing));
        } else {
            KZ_TRY(kz_json_scan_skip(&scan));
        }
    }
    if (checkpoint->file_count == 0) {
        return kz_fail(KAZEIA_BAD_FILE, "the index has no 'weight_map', or an empty one");
    }
    return KAZEIA_OK;
}

// The index is walked before the shards are read, to map them, and after, to be compared.
static kazeia_status read_indexed(kz_checkpoint *checkpoint, const kz_file_map *index) {
    if (index->size > INDEX_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "%zu bytes of index, expected up to %zu", index->size,
                       INDEX_LIMIT);
    }
    KZ_TRY(kz_container_reserve_files(checkpoint, SHARD_LIMIT));
    KZ_TRY(walk_index(checkpoint, index, false));
    KZ_TRY(kz_safetensors_read(checkpoint));
    // Tensors that no entry names are kept: an index need not be complete.
    return walk_index(checkpoint, index, true);
}

kazeia_status kz_safetensors_read_sharded(kz_checkpoint *checkpoint, const char *index_path) {
    kz_file_map index;
    KZ_TRY(kz_file_map_open(index_path, &index));
    const kazeia_status status = read_indexed(checkpoint, &index);
    kz_file_map_close(&index);
    return status == KAZEIA_OK ? status : kz_fail_context(status, "'%s'", index_path);
}
