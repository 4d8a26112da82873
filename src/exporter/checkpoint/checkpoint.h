// checkpoint.h: a checkpoint as people have it, whatever its container: named tensors in row form,
// metadata, JSON files, tokenizer files.
//
// The kind is found by content, never by a file's name. Everything in it is hostile input: offsets,
// sizes, counts and names are checked at open, and sentences name file, place, found and expected.
// Tensor data stays where it is (mapped); reading rows touches only those rows, so that an export's
// memory does not grow with the model.
#ifndef KZ_EXPORTER_CHECKPOINT_CHECKPOINT_H
#define KZ_EXPORTER_CHECKPOINT_CHECKPOINT_H

#include <jansson.h>

#include "base/alloc.h"
#include "base/file_map.h"
#include "format/quant.h"

typedef enum kz_checkpoint_kind {
    KZ_CHECKPOINT_GGUF,         // GGUF v3 (v2 alike), one file
    KZ_CHECKPOINT_SAFETENSORS,  // a Hugging Face folder, or one .safetensors file
    KZ_CHECKPOINT_CTRANSLATE2,  // folder with model.bin version 6 and its JSON files
    KZ_CHECKPOINT_WHISPER_GGML, // whisper.cpp ggml .bin
    KZ_CHECKPOINT_ONNX,         // one .onnx file; tensors by initialiser and by node (onnx.c)
    KZ_CHECKPOINT_KIND_COUNT
} kz_checkpoint_kind;

// The type of a tensor that is there but cannot be read, such as GGUF's Q3_K: kz_checkpoint_require
// and kz_checkpoint_decode_row fail and name it. kz_type_is_known is false for it.
#define KZ_CHECKPOINT_UNREADABLE ((kz_type)255)

typedef struct kz_checkpoint_tensor {
    const char *name;     // as in the file
    kz_type type;         // a float, I32, I8 or a block type: the row form of format/quant.h
    uint32_t rank;        // 0 (scalar) to 4
    uint64_t dims[4];     // outermost first; unused ones are 1
    const uint8_t *bytes; // first row; no alignment
    uint64_t byte_count;
    const uint8_t *row_scales; // I8 of CTranslate2: f32 per row, value = q / scale; else NULL
    // I8 of ONNX: value = (q - zero) * scale, f32 scales of the last dimension's elements or one
    // for all; else NULL.
    const uint8_t *scales;
    uint64_t scale_count;
    int32_t zero;
    bool is_unsigned;      // of ONNX: q is an unsigned byte
    const char *type_name; // in the container's own words: "Q4_K", "BF16", "int8"
} kz_checkpoint_tensor;

typedef struct kz_checkpoint kz_checkpoint;

// `path` is a file or a folder. UNSUPPORTED says what was found and what is supported (a tensor of
// an unknown type fails only when it is read: its type is then named).
KAZEIA_MUST_CHECK kazeia_status kz_checkpoint_open(const char *path,
                                                   const kazeia_allocator *allocator,
                                                   kz_checkpoint **out_checkpoint);
// The same for a checkpoint of one file in memory, called `name` in sentences; `bytes` outlives it.
// It has no JSON files.
KAZEIA_MUST_CHECK kazeia_status kz_checkpoint_open_memory(const void *bytes, size_t size,
                                                          const char *name,
                                                          const kazeia_allocator *allocator,
                                                          kz_checkpoint **out_checkpoint);
// For its texts alone (tokenizer, template): a folder with tokenizer files or a chat template opens
// without its tensors, which may be missing; all else opens as above.
KAZEIA_MUST_CHECK kazeia_status kz_checkpoint_open_text(const char *path,
                                                        const kazeia_allocator *allocator,
                                                        kz_checkpoint **out_checkpoint);
// The checkpoint in a folder of that name beside the first one's files, such as a voice's codec. It
// is the first one's and ends with it; only one may be opened. BAD_FILE also when there is none.
KAZEIA_MUST_CHECK kazeia_status kz_checkpoint_open_part(kz_checkpoint *checkpoint, const char *name,
                                                        kz_checkpoint **out_part);
void kz_checkpoint_close(kz_checkpoint *checkpoint);

kz_checkpoint_kind kz_checkpoint_kind_of(const kz_checkpoint *checkpoint);
const char *kz_checkpoint_kind_name(kz_checkpoint_kind kind);
const char *kz_checkpoint_path(const kz_checkpoint *checkpoint);
// Where its other files lie; NULL for a checkpoint in memory.
const char *kz_checkpoint_folder(const kz_checkpoint *checkpoint);

// What the model is: GGUF general.architecture ("llama"), config.json model_type ("whisper"),
// CTranslate2's spec name ("WhisperSpec"), "whisper" for ggml. Never NULL.
const char *kz_checkpoint_architecture(const kz_checkpoint *checkpoint);

size_t kz_checkpoint_tensor_count(const kz_checkpoint *checkpoint);
const kz_checkpoint_tensor *kz_checkpoint_tensor_at(const kz_checkpoint *checkpoint, size_t index);
// NULL when absent.
const kz_checkpoint_tensor *kz_checkpoint_find(const kz_checkpoint *checkpoint, const char *name);
// BAD_FILE when there is none of that name, or when rank or dims differ (rank 0: any shape;
// a dimension of 0 is not compared).
KAZEIA_MUST_CHECK kazeia_status kz_checkpoint_require(const kz_checkpoint *checkpoint,
                                                      const char *name, uint32_t rank,
                                                      const uint64_t *dims,
                                                      const kz_checkpoint_tensor **out_tensor);

// Elements of a row (product of all dims but the first; rank 0 and 1: one row of all elements).
uint64_t kz_checkpoint_row_elements(const kz_checkpoint_tensor *tensor);
uint64_t kz_checkpoint_row_count(const kz_checkpoint_tensor *tensor);
// The row form of a row, in place.
const uint8_t *kz_checkpoint_row(const kz_checkpoint_tensor *tensor, uint64_t row);
// Element of a row as a float, of F32 and of I8 with a scale: those that
// kz_checkpoint_has_elements.
float kz_checkpoint_element(const kz_checkpoint_tensor *tensor, uint64_t row, uint64_t column);
bool kz_checkpoint_has_elements(const kz_checkpoint_tensor *tensor);
// Row as floats, I8 scales applied. UNSUPPORTED when the type cannot be decoded.
KAZEIA_MUST_CHECK kazeia_status kz_checkpoint_decode_row(const kz_checkpoint_tensor *tensor,
                                                         uint64_t row, float *out_values);
// Advice only: rows will be read soon (their pages are read ahead), or were read and may leave
// memory (bounds RSS). The tensor may be of the part.
void kz_checkpoint_advise(const kz_checkpoint *checkpoint, const kz_checkpoint_tensor *tensor,
                          uint64_t first_row, uint64_t row_count, bool will_need);

// GGUF key/values; false when absent or of another type. Integers of any width; arrays in place.
bool kz_checkpoint_integer(const kz_checkpoint *checkpoint, const char *key, int64_t *out_value);
bool kz_checkpoint_real(const kz_checkpoint *checkpoint, const char *key, double *out_value);
bool kz_checkpoint_bool(const kz_checkpoint *checkpoint, const char *key, bool *out_value);
const char *kz_checkpoint_string(const kz_checkpoint *checkpoint, const char *key);
size_t kz_checkpoint_array_count(const kz_checkpoint *checkpoint, const char *key); // 0: absent
// Element of an array of strings: bytes without NUL; false when absent or of another type.
bool kz_checkpoint_array_string(const kz_checkpoint *checkpoint, const char *key, size_t index,
                                const char **out_bytes, size_t *out_count);
bool kz_checkpoint_array_integer(const kz_checkpoint *checkpoint, const char *key, size_t index,
                                 int64_t *out_value);
bool kz_checkpoint_array_bool(const kz_checkpoint *checkpoint, const char *key, size_t index,
                              bool *out_value);
bool kz_checkpoint_array_real(const kz_checkpoint *checkpoint, const char *key, size_t index,
                              double *out_value);

// A JSON file of the folder ("config.json"), parsed once with limits; NULL when there is none.
// BAD_FILE names file, line and column.
KAZEIA_MUST_CHECK kazeia_status kz_checkpoint_json(kz_checkpoint *checkpoint, const char *name,
                                                   const json_t **out_root);

// Is there a file of that name in the checkpoint's folder?
bool kz_checkpoint_has_file(const kz_checkpoint *checkpoint, const char *name);
// Maps a file of the folder; an empty map when there is none.
KAZEIA_MUST_CHECK kazeia_status kz_checkpoint_map_file(const kz_checkpoint *checkpoint,
                                                       const char *name, kz_file_map *out_map);
// True when `path` is a file that the checkpoint was read from.
bool kz_checkpoint_reads(const kz_checkpoint *checkpoint, const char *path);

// whisper.cpp ggml: the header's eleven integers by name ("n_vocab", "n_audio_ctx", ...) are found
// by kz_checkpoint_integer; the vocabulary is the string array "tokens"; the mel filters are the
// tensor "mel_filters" [n_mel][n_fft].
#endif
