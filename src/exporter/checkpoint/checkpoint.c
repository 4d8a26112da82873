// checkpoint.c: opens a checkpoint of any kind and reads rows of its tensors.
//
// in:  a path or bytes; the kind is found by the first bytes
// out: tensors and rows as checkpoint.h states
//
// A folder is searched for the one file in it that is a checkpoint, except that the two names that
// Hugging Face fixed for safetensors come first: such folders hold copies in other formats too.
#include "exporter/checkpoint/checkpoint.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/file_system.h"
#include "base/half.h"
#include "exporter/checkpoint/container.h"

// Of the 1 MB beside 4 times the size; 64 KB are left for paths in the making.
#define BASE_BUDGET (((size_t)1 << 20) - 65536)
#define PATH_LIMIT 4096

typedef struct container {
    const char *name;
    bool (*matches)(const uint8_t *bytes, size_t size);
    kazeia_status (*read)(kz_checkpoint *checkpoint);
} container;

static const container containers[KZ_CHECKPOINT_KIND_COUNT] = {
    [KZ_CHECKPOINT_GGUF] = {"GGUF", kz_gguf_matches, kz_gguf_read},
    [KZ_CHECKPOINT_SAFETENSORS] = {"safetensors", kz_safetensors_matches, kz_safetensors_read},
    [KZ_CHECKPOINT_CTRANSLATE2] = {"CTranslate2", kz_ctranslate2_matches, kz_ctranslate2_read},
    [KZ_CHECKPOINT_WHISPER_GGML] = {"whisper.cpp ggml", kz_whisper_ggml_matches,
                                    kz_whisper_ggml_read},
    [KZ_CHECKPOINT_ONNX] = {"ONNX", kz_onnx_matches, kz_onnx_read},
};

#define SUPPORTED_KINDS \
    "GGUF, safetensors, a CTranslate2 model.bin, a whisper.cpp ggml file or ONNX"

// --- Kinds --------------------------------------------------------------------------------------

static bool find_kind(const uint8_t *bytes, size_t size, kz_checkpoint_kind *out_kind) {
    for (uint32_t i = 0; i < KZ_CHECKPOINT_KIND_COUNT; i++) {
        if (size > 0 && containers[i].matches(bytes, size)) {
            *out_kind = (kz_checkpoint_kind)i;
            return true;
        }
    }
    return false;
}

// What a file that is no checkpoint looks like, with the next step.
// By the first bytes, and for a sentence only: nothing is decided by it.
static const char *describe_content(const uint8_t *bytes, size_t size) {
    static const struct {
        const char *start;
        const char *description;
    } contents[] = {
        {"PK\x03\x04", "a zip archive (a PyTorch file? convert it to safetensors)"},
        {"\x80\x02", "a Python pickle (convert it to safetensors)"},
        {"version https://git-lfs", "a Git LFS pointer (fetch the file itself)"},
        {"{", "JSON (give the folder instead)"},
        {"\x8bKZP", "a program already exported"},
        {"<", "a web page or XML"},
    };
    if (size == 0) {
        return "an empty file";
    }
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        const size_t length = strlen(contents[i].start);
        if (size >= length && memcmp(bytes, contents[i].start, length) == 0) {
            return contents[i].description;
        }
    }
    return "something else";
}

// --- Opening ------------------------------------------------------------------------------------

// From here on the checkpoint owns what is allocated: a failure anywhere is cleaned up by closing
// it.
static kazeia_status create(const kazeia_allocator *given, const char *path,
                            kz_checkpoint **out_checkpoint) {
    const kazeia_allocator allocator = kz_allocator_or_default(given);
    void *memory = NULL;
    const size_t length = strlen(path);
    if (length == 0 || length >= PATH_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a checkpoint's path has %zu bytes, expected 1 to %d",
                       length, PATH_LIMIT - 1);
    }
    KZ_TRY(kz_alloc(&allocator, 1, sizeof(kz_checkpoint), "a checkpoint", &memory));
    kz_checkpoint *checkpoint = memory;
    checkpoint->allocator = allocator;
    // Files add four times their size as they are mapped.
    checkpoint->budget = BASE_BUDGET - sizeof *checkpoint;
    const kazeia_status status = kz_container_copy(checkpoint, path, length, &checkpoint->path);
    if (status != KAZEIA_OK) {
        kz_checkpoint_close(checkpoint);
        return status;
    }
    *out_checkpoint = checkpoint;
    return KAZEIA_OK;
}

// Fills the checkpoint from its only file. The file's name is put in front here, once.
static kazeia_status read_file(kz_checkpoint *checkpoint) {
    const kz_checkpoint_file *file = &checkpoint->files[0];
    if (!find_kind(file->map.bytes, file->map.size, &checkpoint->kind)) {
        return kz_fail(KAZEIA_UNSUPPORTED, "'%s' is %s, expected " SUPPORTED_KINDS, file->path,
                       describe_content(file->map.bytes, file->map.size));
    }
    const kazeia_status status = containers[checkpoint->kind].read(checkpoint);
    return status == KAZEIA_OK ? status : kz_fail_context(status, "'%s'", file->path);
}

typedef struct folder_search {
    const char *folder;
    kz_text_buffer *path;  // of the entry in hand
    kz_text_buffer *found; // of the checkpoint
} folder_search;

// Maps each file only for its first bytes: mapping costs no reading. More than one checkpoint is
// the caller's to decide, never the first that the folder happens to list.
static kazeia_status visit_entry(void *context, const char *name) {
    folder_search *search = context;
    kz_file_map map;
    kz_checkpoint_kind kind;
    KZ_TRY(kz_path_join(search->folder, name, search->path));
    if (kz_path_query(search->path->bytes, NULL) != KZ_PATH_FILE) {
        return KAZEIA_OK;
    }
    // Closed again below, also when it is the one: the reader maps it with the rest of its
    // bookkeeping.
    KZ_TRY(kz_file_map_open(search->path->bytes, &map));
    const bool is_found = find_kind(map.bytes, map.size, &kind);
    kz_file_map_close(&map);
    if (!is_found) {
        return KAZEIA_OK;
    }
    if (search->found->count > 0) {
        // Order in a folder is chance: the first one found has no right to be chosen.
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "'%s' holds several checkpoints, such as '%s' and '%s': name one",
                       search->folder, kz_path_name(search->found->bytes), name);
    }
    return kz_text_buffer_append(search->found, search->path->bytes, search->path->count);
}

// Both buffers are the caller's, so that they are cleared in one place.
static kazeia_status find_file(const char *folder, kz_text_buffer *path, kz_text_buffer *found) {
    KZ_TRY(kz_path_join(folder, "model.safetensors", found));
    if (kz_path_query(found->bytes, NULL) == KZ_PATH_FILE) {
        return KAZEIA_OK;
    }
    kz_text_buffer_reset(found);
    folder_search search = {folder, path, found};
    KZ_TRY(kz_folder_list(folder, visit_entry, &search));
    if (found->count == 0) {
        return kz_fail(KAZEIA_NOT_FOUND,
                       "no file in '%s' is a checkpoint, expected " SUPPORTED_KINDS, folder);
    }
    return KAZEIA_OK;
}

static kazeia_status open_single(kz_checkpoint *checkpoint, const char *path) {
    const kz_checkpoint_file *file = NULL;
    KZ_TRY(kz_container_reserve_files(checkpoint, 1));
    KZ_TRY(kz_container_map(checkpoint, path, &file));
    return read_file(checkpoint);
}

static kazeia_status open_sharded(kz_checkpoint *checkpoint, const char *index_path) {
    checkpoint->kind = KZ_CHECKPOINT_SAFETENSORS;
    return kz_safetensors_read_sharded(checkpoint, index_path);
}

static kazeia_status open_folder(kz_checkpoint *checkpoint, kz_text_buffer *path,
                                 kz_text_buffer *found) {
    checkpoint->folder = checkpoint->path;
    // The index comes before a single file: folders of shards may hold one more, of another
    // precision.
    KZ_TRY(kz_path_join(checkpoint->path, "model.safetensors.index.json", path));
    if (kz_path_query(path->bytes, NULL) == KZ_PATH_FILE) {
        return open_sharded(checkpoint, path->bytes);
    }
    KZ_TRY(find_file(checkpoint->path, path, found));
    return open_single(checkpoint, found->bytes);
}

// A file's JSON files are those beside it.
static kazeia_status open_file(kz_checkpoint *checkpoint) {
    const char *name = kz_path_name(checkpoint->path);
    const size_t length = (size_t)(name - checkpoint->path);
    // The path up to the name; a bare name lies in the present folder.
    KZ_TRY(kz_container_copy(checkpoint, length > 0 ? checkpoint->path : ".",
                             length > 0 ? length : 1, &checkpoint->folder));
    return open_single(checkpoint, checkpoint->path);
}

static kazeia_status open_path(kz_checkpoint *checkpoint) {
    if (kz_path_query(checkpoint->path, NULL) != KZ_PATH_FOLDER) {
        return open_file(checkpoint);
    }
    kz_text_buffer path = {0};
    kz_text_buffer found = {0};
    kazeia_status status = kz_text_buffer_init(&path, &checkpoint->allocator, 256, PATH_LIMIT);
    if (status == KAZEIA_OK) {
        status = kz_text_buffer_init(&found, &checkpoint->allocator, 256, PATH_LIMIT);
    }
    if (status == KAZEIA_OK) {
        status = open_folder(checkpoint, &path, &found);
    }
    kz_text_buffer_clear(&found);
    kz_text_buffer_clear(&path);
    return status;
}

// Is there anything in the folder that says how text becomes tokens or a chat becomes text?
static bool has_texts(const kz_checkpoint *checkpoint) {
    static const char *const names[] = {"tokenizer.json", "vocab.json", "tokenizer_config.json",
                                        "chat_template.jinja"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (kz_checkpoint_has_file(checkpoint, names[i])) {
            return true;
        }
    }
    return false;
}

static kazeia_status open_texts(kz_checkpoint *checkpoint) {
    if (kz_path_query(checkpoint->path, NULL) == KZ_PATH_FOLDER) {
        checkpoint->folder = checkpoint->path;
        checkpoint->kind = KZ_CHECKPOINT_SAFETENSORS;
        // A folder of CTranslate2 says in its weights what it is: its configuration does not.
        if (has_texts(checkpoint) && !kz_checkpoint_has_file(checkpoint, "model.bin")) {
            return kz_safetensors_read_config(checkpoint);
        }
    }
    return open_path(checkpoint);
}

static kazeia_status open_by(kazeia_status (*open)(kz_checkpoint *checkpoint), const char *path,
                             const kazeia_allocator *allocator, kz_checkpoint **out_checkpoint) {
    kz_checkpoint *checkpoint = NULL;
    KZ_TRY(create(allocator, path, &checkpoint));
    const kazeia_status status = open(checkpoint);
    if (status != KAZEIA_OK) {
        kz_checkpoint_close(checkpoint);
        return status == KAZEIA_BAD_FILE ? kz_fail_advice(status, "fetch or copy it again")
                                         : status;
    }
    *out_checkpoint = checkpoint;
    return KAZEIA_OK;
}

kazeia_status kz_checkpoint_open(const char *path, const kazeia_allocator *allocator,
                                 kz_checkpoint **out_checkpoint) {
    return open_by(open_path, path, allocator, out_checkpoint);
}

kazeia_status kz_checkpoint_open_text(const char *path, const kazeia_allocator *allocator,
                                      kz_checkpoint **out_checkpoint) {
    return open_by(open_texts, path, allocator, out_checkpoint);
}

// As open_single, but the bytes stay the caller's: they are neither unmapped nor advised about.
static kazeia_status open_bytes(kz_checkpoint *checkpoint, const void *bytes, size_t size) {
    KZ_TRY(kz_container_reserve_files(checkpoint, 1));
    checkpoint->files[0] = (kz_checkpoint_file){checkpoint->path, {bytes, size}, true};
    checkpoint->file_count = 1;
    // As kz_container_map counts, without overflow.
    checkpoint->budget += size < SIZE_MAX / 8 ? 4 * size : SIZE_MAX / 2;
    return read_file(checkpoint);
}

kazeia_status kz_checkpoint_open_memory(const void *bytes, size_t size, const char *name,
                                        const kazeia_allocator *allocator,
                                        kz_checkpoint **out_checkpoint) {
    kz_checkpoint *checkpoint = NULL;
    KZ_TRY(create(allocator, name, &checkpoint));
    const kazeia_status status = open_bytes(checkpoint, bytes, size);
    if (status != KAZEIA_OK) {
        kz_checkpoint_close(checkpoint);
        return status;
    }
    *out_checkpoint = checkpoint;
    return KAZEIA_OK;
}

// jansson's trees are counted by references; borrowed ones never leave the checkpoint's life.
static void close_documents(kz_checkpoint *checkpoint) {
    while (checkpoint->documents != NULL) {
        kz_checkpoint_document *document = checkpoint->documents;
        checkpoint->documents = document->next;
        json_decref(document->root);
        kz_free(&checkpoint->allocator, document->name);
        kz_free(&checkpoint->allocator, document);
    }
}

static void free_tables(kz_checkpoint *checkpoint) {
    const kazeia_allocator *allocator = &checkpoint->allocator;
    for (size_t i = 0; i < checkpoint->starts_count; i++) {
        kz_free(allocator, checkpoint->starts[i]);
    }
    while (checkpoint->names != NULL) {
        kz_name_block *block = checkpoint->names;
        checkpoint->names = block->next;
        kz_free(allocator, block);
    }
    // NULL where reading ended before they were taken: freeing that does nothing.
    kz_free(allocator, checkpoint->starts);
    kz_free(allocator, checkpoint->values_by_key);
    kz_free(allocator, checkpoint->values);
    kz_free(allocator, checkpoint->tensors_by_name);
    kz_free(allocator, checkpoint->tensors);
}

void kz_checkpoint_close(kz_checkpoint *checkpoint) {
    if (checkpoint == NULL) {
        return;
    }
    kz_checkpoint_close(checkpoint->part);
    close_documents(checkpoint);
    kz_onnx_free(checkpoint);
    // Names may lie in the mapped files (CTranslate2), so whatever uses them goes with the maps.
    for (size_t i = 0; i < checkpoint->file_count; i++) {
        if (!checkpoint->files[i].is_borrowed) {
            kz_file_map_close(&checkpoint->files[i].map);
        }
    }
    free_tables(checkpoint);
    const kazeia_allocator allocator = checkpoint->allocator;
    kz_free(&allocator, checkpoint->files);
    kz_free(&allocator, checkpoint);
}

kazeia_status kz_checkpoint_open_part(kz_checkpoint *checkpoint, const char *name,
                                      kz_checkpoint **out_part) {
    kz_text_buffer path = {0};
    kazeia_status status = KAZEIA_OK;
    assert(checkpoint->part == NULL);
    if (checkpoint->folder == NULL) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no folder '%s' beside it", checkpoint->path, name);
    }
    KZ_TRY(kz_text_buffer_init(&path, &checkpoint->allocator, 256, PATH_LIMIT));
    status = kz_path_join(checkpoint->folder, name, &path);
    if (status == KAZEIA_OK && kz_path_query(path.bytes, NULL) != KZ_PATH_FOLDER) {
        status = kz_fail(KAZEIA_BAD_FILE, "%s: no folder '%s' in it", checkpoint->folder, name);
    }
    if (status == KAZEIA_OK) {
        status = kz_checkpoint_open(path.bytes, &checkpoint->allocator, &checkpoint->part);
    }
    kz_text_buffer_clear(&path);
    *out_part = checkpoint->part;
    return status;
}

// --- Questions ----------------------------------------------------------------------------------

kz_checkpoint_kind kz_checkpoint_kind_of(const kz_checkpoint *checkpoint) {
    return checkpoint->kind;
}

const char *kz_checkpoint_kind_name(kz_checkpoint_kind kind) {
    return (uint32_t)kind < KZ_CHECKPOINT_KIND_COUNT ? containers[kind].name : "unknown";
}

const char *kz_checkpoint_path(const kz_checkpoint *checkpoint) {
    return checkpoint->path;
}

const char *kz_checkpoint_architecture(const kz_checkpoint *checkpoint) {
    return checkpoint->architecture;
}

size_t kz_checkpoint_tensor_count(const kz_checkpoint *checkpoint) {
    return checkpoint->tensor_count;
}

const kz_checkpoint_tensor *kz_checkpoint_tensor_at(const kz_checkpoint *checkpoint, size_t index) {
    return index < checkpoint->tensor_count ? &checkpoint->tensors[index] : NULL;
}

// --- Tensors ------------------------------------------------------------------------------------

static kazeia_status fail_unreadable(const kz_checkpoint_tensor *tensor) {
    return kz_fail(
        KAZEIA_UNSUPPORTED,
        "tensor '%s' has the type %s, expected F32, F16, BF16, Q8_0, Q4_0, Q4_1, "
        "Q5_0, Q5_1, IQ4_NL, Q4_K, Q5_K, Q6_K, CTranslate2's or ONNX's int8: convert it to one "
        "of them",
        tensor->name, tensor->type_name);
}

// "[3, 4]" into text[128].
static const char *describe_dims(uint32_t rank, const uint64_t *dims, char *text) {
    size_t at = 0;
    text[at++] = '[';
    for (uint32_t i = 0; i < rank && i < 4; i++) {
        at += (size_t)snprintf(text + at, 128 - at, i > 0 ? ", %llu" : "%llu",
                               (unsigned long long)dims[i]);
    }
    memcpy(text + at, "]", 2);
    return text;
}

// Rank 0 asks for any shape, a dimension of 0 for any size.
static bool has_shape(const kz_checkpoint_tensor *tensor, uint32_t rank, const uint64_t *dims) {
    if (rank == 0) {
        return true;
    }
    if (tensor->rank != rank) {
        return false;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] != 0 && dims[i] != tensor->dims[i]) {
            return false;
        }
    }
    return true;
}

kazeia_status kz_checkpoint_require(const kz_checkpoint *checkpoint, const char *name,
                                    uint32_t rank, const uint64_t *dims,
                                    const kz_checkpoint_tensor **out_tensor) {
    assert(rank <= 4);
    const kz_checkpoint_tensor *tensor = kz_checkpoint_find(checkpoint, name);
    if (tensor == NULL) {
        return kz_fail(KAZEIA_BAD_FILE, "'%s' has no tensor '%s'", checkpoint->path, name);
    }
    if (!has_shape(tensor, rank, dims)) {
        char found[128];
        char expected[128];
        return kz_fail(KAZEIA_BAD_FILE, "'%s': tensor '%s' is %s, expected %s (0: any)",
                       checkpoint->path, name, describe_dims(tensor->rank, tensor->dims, found),
                       describe_dims(rank, dims, expected));
    }
    // Last: a tensor of an unreadable type may stay unused, and is refused only when it is asked
    // for.
    if (tensor->type == KZ_CHECKPOINT_UNREADABLE) {
        return kz_fail_context(fail_unreadable(tensor), "'%s'", checkpoint->path);
    }
    *out_tensor = tensor;
    return KAZEIA_OK;
}

uint64_t kz_checkpoint_row_elements(const kz_checkpoint_tensor *tensor) {
    if (tensor->rank < 2) {
        return tensor->dims[0];
    }
    // No overflow: all elements together were counted (kz_container_element_count). With an extent
    // of 0 in front there is no row to ask about.
    return tensor->dims[1] * tensor->dims[2] * tensor->dims[3];
}

uint64_t kz_checkpoint_row_count(const kz_checkpoint_tensor *tensor) {
    return tensor->rank < 2 ? 1 : tensor->dims[0];
}

const uint8_t *kz_checkpoint_row(const kz_checkpoint_tensor *tensor, uint64_t row) {
    const uint64_t count = kz_checkpoint_row_count(tensor);
    assert(row < count);
    // Rows are whole blocks (kz_container_measure), so the quotient is exact.
    return tensor->bytes + row * (tensor->byte_count / count);
}

bool kz_checkpoint_has_elements(const kz_checkpoint_tensor *tensor) {
    return tensor->type == KZ_F32 || (tensor->type == KZ_I8 && tensor->scales != NULL);
}

static float element_of_bytes(const kz_checkpoint_tensor *tensor, uint8_t byte, uint64_t column) {
    const uint64_t place = tensor->scale_count > 1 ? column % tensor->scale_count : 0;
    const int32_t q = tensor->is_unsigned ? byte : (int8_t)byte;
    return (float)(q - tensor->zero) * kz_float_from_bits(kz_read_u32(tensor->scales + 4 * place));
}

float kz_checkpoint_element(const kz_checkpoint_tensor *tensor, uint64_t row, uint64_t column) {
    const uint8_t *bytes = kz_checkpoint_row(tensor, row);
    return tensor->type == KZ_F32 ? kz_float_from_bits(kz_read_u32(bytes + 4 * column))
                                  : element_of_bytes(tensor, bytes[column], column);
}

kazeia_status kz_checkpoint_decode_row(const kz_checkpoint_tensor *tensor, uint64_t row,
                                       float *out_values) {
    if (tensor->type == KZ_CHECKPOINT_UNREADABLE) {
        return fail_unreadable(tensor);
    }
    // The elements fit memory: their bytes were found in the file.
    const size_t columns = (size_t)kz_checkpoint_row_elements(tensor);
    const uint8_t *bytes = kz_checkpoint_row(tensor, row);
    if (tensor->type == KZ_I8 && tensor->row_scales != NULL) {
        // A quotient, as the layout defines it: a product with the reciprocal rounds otherwise.
        const float scale = kz_float_from_bits(kz_read_u32(tensor->row_scales + 4 * row));
        for (size_t i = 0; i < columns; i++) {
            out_values[i] = (float)(int8_t)bytes[i] / scale;
        }
        return KAZEIA_OK;
    }
    if (tensor->type == KZ_I8 && tensor->scales != NULL) {
        for (size_t i = 0; i < columns; i++) {
            out_values[i] = element_of_bytes(tensor, bytes[i], i);
        }
        return KAZEIA_OK;
    }
    if (!kz_quant_decode_row(tensor->type, bytes, columns, out_values)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tensor '%s' holds integers (%s without scales), expected weights",
                       tensor->name, tensor->type_name);
    }
    return KAZEIA_OK;
}

void kz_checkpoint_advise(const kz_checkpoint *checkpoint, const kz_checkpoint_tensor *tensor,
                          uint64_t first_row, uint64_t row_count, bool will_need) {
    // Advice is for the file that holds the bytes; a tensor in borrowed memory has none.
    const uintptr_t first = (uintptr_t)tensor->bytes;
    const uint64_t rows = kz_checkpoint_row_count(tensor);
    const size_t row_bytes = rows > 0 ? (size_t)(tensor->byte_count / rows) : 0;
    for (size_t i = 0; i < checkpoint->file_count; i++) {
        const kz_checkpoint_file *file = &checkpoint->files[i];
        const uintptr_t start = (uintptr_t)file->map.bytes;
        if (first < start || first - start >= file->map.size || file->is_borrowed) {
            continue;
        }
        kz_file_map_advise(&file->map, first - start + (size_t)first_row * row_bytes,
                           (size_t)row_count * row_bytes, will_need);
        return;
    }
    if (checkpoint->part != NULL) {
        kz_checkpoint_advise(checkpoint->part, tensor, first_row, row_count, will_need);
    }
}
