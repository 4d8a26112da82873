// container.h: what the readers of the five containers share: the checkpoint's own tables.
//
// A reader counts first, reserves, then adds; kz_container_finish sorts and compares. All memory of
// an opening is paid from a budget of 4 times the files' size and 1 MB, so that a count in a
// hostile file cannot ask for more; asking for more is BAD_FILE.
#ifndef KZ_EXPORTER_CHECKPOINT_CONTAINER_H
#define KZ_EXPORTER_CHECKPOINT_CONTAINER_H

#include "base/file_map.h"
#include "exporter/checkpoint/checkpoint.h"
#include "exporter/checkpoint/cursor.h"

#define KZ_CHECKPOINT_NAME_LIMIT 1024 // bytes of a tensor's name or a key

// GGUF's numbers; the values of other containers are given in the same terms.
typedef enum kz_value_type {
    KZ_VALUE_U8 = 0,
    KZ_VALUE_I8 = 1,
    KZ_VALUE_U16 = 2,
    KZ_VALUE_I16 = 3,
    KZ_VALUE_U32 = 4,
    KZ_VALUE_I32 = 5,
    KZ_VALUE_F32 = 6,
    KZ_VALUE_BOOL = 7,
    KZ_VALUE_STRING = 8,
    KZ_VALUE_ARRAY = 9,
    KZ_VALUE_U64 = 10,
    KZ_VALUE_I64 = 11,
    KZ_VALUE_F64 = 12,
    KZ_VALUE_TYPE_COUNT
} kz_value_type;

typedef struct kz_checkpoint_value {
    const char *key;
    kz_value_type type;
    kz_value_type element_type; // of an array
    uint32_t length_bytes;      // of the length in front of an array's strings: 4 or 8
    uint64_t count;             // elements of an array
    const uint8_t *bytes;       // in the file: the number, or an array's first element
    const uint32_t *starts;     // [count] of an array of strings: from `bytes` to the length
    const char *text;           // of a string
} kz_checkpoint_value;

typedef struct kz_checkpoint_file {
    const char *path;
    kz_file_map map;
    bool is_borrowed; // in the caller's memory: not unmapped
} kz_checkpoint_file;

// Names lie in blocks that never move.
typedef struct kz_name_block {
    struct kz_name_block *next;
    size_t used;
    size_t capacity;
    char bytes[];
} kz_name_block;

// A JSON file that was asked for; `root` is NULL when there is none of that name.
typedef struct kz_checkpoint_document {
    char *name;
    json_t *root;
    struct kz_checkpoint_document *next;
} kz_checkpoint_document;

struct kz_checkpoint {
    kazeia_allocator allocator;
    kz_checkpoint_kind kind;
    size_t budget; // bytes that opening may still allocate
    const char *path;
    const char *folder; // where the JSON files lie; NULL: in memory, there are none
    const char *architecture;
    kz_checkpoint_file *files; // [file_count]
    size_t file_count;
    size_t file_capacity;
    kz_checkpoint_tensor *tensors; // in the container's order
    size_t tensor_count;
    size_t tensor_capacity;
    uint32_t *tensors_by_name; // [tensor_count]
    kz_checkpoint_value *values;
    size_t value_count;
    size_t value_capacity;
    uint32_t *values_by_key; // [value_count]
    uint32_t **starts;       // [starts_count] what values point at
    size_t starts_count;
    size_t starts_capacity;
    kz_name_block *names;
    kz_checkpoint_document *documents;
    kz_checkpoint *part; // NULL: none was opened
    void *message;       // an ONNX model's, into which tensors point; NULL: none
};

// Zeroed memory out of the budget.
KAZEIA_MUST_CHECK kazeia_status kz_container_alloc(kz_checkpoint *checkpoint, uint64_t count,
                                                   size_t bytes_each, const char *what,
                                                   void **out_memory);
// A copy that ends in NUL and lives as long as the checkpoint.
KAZEIA_MUST_CHECK kazeia_status kz_container_copy(kz_checkpoint *checkpoint, const void *text,
                                                  size_t count, const char **out_copy);
// The same for a name: 1 to KZ_CHECKPOINT_NAME_LIMIT bytes without control characters. `what`
// ("tensor 3's name") is for the sentence.
KAZEIA_MUST_CHECK kazeia_status kz_container_copy_name(kz_checkpoint *checkpoint, const void *text,
                                                       size_t count, const char *what,
                                                       const char **out_copy);
KAZEIA_MUST_CHECK kazeia_status kz_container_check_name(const void *text, size_t count,
                                                        const char *what);

// Room for that many. Called once.
KAZEIA_MUST_CHECK kazeia_status kz_container_reserve(kz_checkpoint *checkpoint, uint64_t tensors,
                                                     uint64_t values, uint64_t arrays_of_strings);
// Room for that many files.
KAZEIA_MUST_CHECK kazeia_status kz_container_reserve_files(kz_checkpoint *checkpoint, size_t files);
// Maps a file; the budget grows by 4 times its size.
KAZEIA_MUST_CHECK kazeia_status kz_container_map(kz_checkpoint *checkpoint, const char *path,
                                                 const kz_checkpoint_file **out_file);
// Within the reserved room. The name and key are copies or lie in the file.
void kz_container_add_tensor(kz_checkpoint *checkpoint, const kz_checkpoint_tensor *tensor);
void kz_container_add_value(kz_checkpoint *checkpoint, const kz_checkpoint_value *value);
// Where each string of an array begins; steps over the array. `value` has length_bytes and count.
KAZEIA_MUST_CHECK kazeia_status kz_container_index_strings(kz_checkpoint *checkpoint,
                                                           kz_cursor *cursor,
                                                           kz_checkpoint_value *value);

// Product of the dimensions; BAD_FILE when it does not fit 62 bits.
KAZEIA_MUST_CHECK kazeia_status kz_container_element_count(const kz_checkpoint_tensor *tensor,
                                                           uint64_t *out_count);
// Sets byte_count from type and dims; BAD_FILE when a row is no whole number of blocks.
KAZEIA_MUST_CHECK kazeia_status kz_container_measure(kz_checkpoint_tensor *tensor,
                                                     uint32_t block_elements, uint32_t block_bytes);

// Refuses tensors that share bytes. Before kz_container_finish.
KAZEIA_MUST_CHECK kazeia_status kz_container_refuse_overlaps(kz_checkpoint *checkpoint);
// Sorts by name; refuses names and keys that come twice. May be called again after adding.
KAZEIA_MUST_CHECK kazeia_status kz_container_finish(kz_checkpoint *checkpoint);
const kz_checkpoint_value *kz_container_find_value(const kz_checkpoint *checkpoint,
                                                   const char *key);

// --- The readers: fill `checkpoint` from its mapped file -----------------------------------------

// Do these first bytes belong to the container?
bool kz_gguf_matches(const uint8_t *bytes, size_t size);
bool kz_safetensors_matches(const uint8_t *bytes, size_t size);
bool kz_ctranslate2_matches(const uint8_t *bytes, size_t size);
bool kz_whisper_ggml_matches(const uint8_t *bytes, size_t size);
bool kz_onnx_matches(const uint8_t *bytes, size_t size);

KAZEIA_MUST_CHECK kazeia_status kz_gguf_read(kz_checkpoint *checkpoint);
KAZEIA_MUST_CHECK kazeia_status kz_safetensors_read(kz_checkpoint *checkpoint);
KAZEIA_MUST_CHECK kazeia_status kz_ctranslate2_read(kz_checkpoint *checkpoint);
KAZEIA_MUST_CHECK kazeia_status kz_whisper_ggml_read(kz_checkpoint *checkpoint);
KAZEIA_MUST_CHECK kazeia_status kz_onnx_read(kz_checkpoint *checkpoint);
// Frees the message of a checkpoint that has one.
void kz_onnx_free(kz_checkpoint *checkpoint);

// The same for the shards that an index file names (model.safetensors.index.json), which it maps.
KAZEIA_MUST_CHECK kazeia_status kz_safetensors_read_sharded(kz_checkpoint *checkpoint,
                                                            const char *index_path);
// A Hugging Face folder's architecture alone, from config.json; "unknown" without one.
KAZEIA_MUST_CHECK kazeia_status kz_safetensors_read_config(kz_checkpoint *checkpoint);

#endif
