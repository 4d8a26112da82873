// checkpoint_samples.h: small checkpoints made in memory, one of each kind, and what the tests of
// the readers share.
#ifndef KZ_TEST_EXPORTER_CHECKPOINT_SAMPLES_H
#define KZ_TEST_EXPORTER_CHECKPOINT_SAMPLES_H

#include "exporter/checkpoint/checkpoint.h"

// --- Bytes --------------------------------------------------------------------------------------

typedef struct byte_string {
    uint8_t *bytes; // malloc
    size_t count;
    size_t capacity;
} byte_string;

void bytes_append(byte_string *string, const void *bytes, size_t count);
void bytes_append_text(byte_string *string, const char *text);
void bytes_u8(byte_string *string, uint32_t value);
void bytes_u16(byte_string *string, uint32_t value);
void bytes_u32(byte_string *string, uint32_t value);
void bytes_u64(byte_string *string, uint64_t value);
void bytes_f32(byte_string *string, float value);
// Zeros up to a multiple.
void bytes_pad(byte_string *string, size_t multiple);
void bytes_clear(byte_string *string);

// A string as GGUF (u64 length) and as CTranslate2 writes it (u16 length with the NUL).
void bytes_gguf_string(byte_string *string, const char *text);
void bytes_ct2_string(byte_string *string, const char *text);

// The bytes of a file; fails the test when it cannot be read.
byte_string bytes_of_file(const char *path);
void bytes_to_file(const byte_string *string, const char *path);

// --- Samples: valid checkpoints of 1 to 3 KB ----------------------------------------------------

// GGUF: every type of value, tensors "a" F32 [2][32], "b" Q8_0 [2][32], "c" Q4_K [1][256].
byte_string sample_gguf(void);
// Safetensors: tensors "a" F32 [2][3], "b" BF16 [4], "c" F8_E4M3 [2], "d" F32 scalar.
byte_string sample_safetensors(void);
// CTranslate2 version 6: "x/weight" int8 [2][4] with "x/weight_scale", "y" float16 [3], the scalars
// "heads" int16 = 6 and "scale" float32 = 0.5, the alias "z" of "x/weight".
byte_string sample_ctranslate2(void);
// whisper.cpp ggml: 2 x 3 mel filters, tokens "a", "", "\xc3\xa9", tensors "p" F32 [3][2] and "q"
// Q8_0 [1][32].
byte_string sample_whisper_ggml(void);
// ONNX: "plain" F32 [2][3] of node a, "onnx::b_quantized" UINT8 [2][3] of nodes b (scale 0.25, zero
// point 2) and d (0.5), "gates" INT8 [2][2][2] of an LSTM c with scales 0.5, 0.25 and zero points
// 0, 1, its "bias" [2][3].
byte_string sample_onnx(void);

typedef byte_string (*sample_maker)(void);
extern const sample_maker sample_makers[KZ_CHECKPOINT_KIND_COUNT];

// --- Memory -------------------------------------------------------------------------------------

typedef struct byte_counter {
    size_t calls_left; // this many calls succeed, later ones fail
    size_t live_bytes;
    size_t peak_bytes;
} byte_counter;

// An allocator whose context is `counter`. Its memory is filled with junk.
kazeia_allocator byte_counter_allocator(byte_counter *counter, size_t calls_left);

// What opening a checkpoint of that many bytes may hold: 4 times its size and 1 MB.
size_t opening_limit(size_t file_bytes);

// Reads every value and every row of every tensor, so that a sanitizer sees a place outside.
void read_everything(const kz_checkpoint *checkpoint);

// --- Folders ------------------------------------------------------------------------------------

#define SAMPLE_PATH_BYTES 512

// Makes a new folder under $TMPDIR or /tmp and writes its path.
void sample_folder_create(char out_path[SAMPLE_PATH_BYTES]);
void sample_folder_remove(const char *path);
// Writes text to FOLDER/NAME.
void sample_file_write(const char *folder, const char *name, const void *bytes, size_t count);

#endif
