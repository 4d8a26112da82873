// export.h: checkpoint -> program file. The second library: it is not needed on the device.
//
//     kazeia_export_settings settings = kazeia_export_settings_default();
//     settings.source = "Qwen3-0.6B";
//     settings.output = "qwen3.kzp";
//     TRY(kazeia_export(&settings));
//
// Tensors are streamed, a few slices of a megabyte at a time: the memory taken does not grow with
// the checkpoint nor with its tensors.
#ifndef KAZEIA_EXPORT_H
#define KAZEIA_EXPORT_H

#include "kazeia/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Called now and then while weights are written, on the thread of kazeia_export: bytes of the
// program's weights done and in all, and the name of the present tensor, valid during the call. A
// status other than KAZEIA_OK stops the export, which returns it and leaves no file. Called a last
// time with 0 bytes of 0 when all is on the disk, before the program takes its name.
typedef kazeia_status (*kazeia_export_progress)(void *context, uint64_t bytes_done,
                                                uint64_t bytes_total, const char *tensor);

typedef struct kazeia_export_settings {
    const char *source; // a file or folder; its kind is found by content
    const char *output; // the program file; none of the source's own files
    // Which methods a language model gets: "hybrid", a bulk one for prompts and one for single
    // steps, or "kv", the latter alone. NULL: "hybrid".
    const char *mode;
    // Format of all matrices: "keep" (the source's own), "q4", "q8", "bf16", "f16", "f32". NULL:
    // keep for quantised sources, else q8.
    const char *weights;
    // Path of a recipe, or NULL. Each of its lines, "PATTERN = FORMAT" with '*' and '?', overrides
    // `weights` for the matrices whose name matches; the last line that matches wins.
    const char *recipe;
    const char *kv; // element type of the caches: "f16", "int8", "f32"; NULL: "f16"
    // The chat template of a family instead of the checkpoint's own: "qwen3", "chatml", "gemma3",
    // "llama3"; "none": no template. NULL: the checkpoint's own.
    const char *chat_template;
    // Bits of the activations that quantised weights multiply: 8 or 16; 0: the model definition's
    // choice, which is 16 for language models so small that 8 would show in what they say.
    uint32_t activation_bits;
    // The folder of a Kokoro's voices, NAME.bin each. NULL: "voices" beside the checkpoint.
    const char *voices;
    uint32_t context;     // longest conversation in tokens; 0: min(the model's, 4096)
    uint32_t shard_count; // weight files, at most 64; 0 or 1: inside the program file
    // Threads that pack weights, the caller's among them, at most 64; 0: one for each core. The
    // file is the same for any number.
    uint32_t thread_count;
    kazeia_export_progress progress; // or NULL
    void *progress_context;
    const kazeia_allocator *allocator; // NULL: malloc
} kazeia_export_settings;

// "hybrid", the weights' default, f16 caches, one file. Source and output are the caller's to set.
KAZEIA_API kazeia_export_settings kazeia_export_settings_default(void);
// Writes the program atomically: a kill or a failure at any moment leaves the old program whole,
// the new one whole, or none where there was none. NOT_FOUND for a file or a tensor that is
// missing; IO; BAD_FILE for a damaged checkpoint; UNSUPPORTED for a model, tensor type or feature
// that is not handled, by name; BAD_ARGUMENT for a setting or a line of the recipe (`settings`
// itself must not be NULL); BUSY while another export writes the same output.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_export(const kazeia_export_settings *settings);

// What kazeia_export_text shall look for; may be added together.
typedef enum kazeia_export_part {
    KAZEIA_EXPORT_TOKENIZER = 1,
    KAZEIA_EXPORT_TEMPLATE = 2,
} kazeia_export_part;

// The texts of a checkpoint as a program without weights, in memory, for
// kazeia_program_open_memory. Of `settings` the source, chat_template and the allocator count; with
// chat_template and KAZEIA_EXPORT_TEMPLATE alone no source is needed. The source may be
// any GGUF file, with weights or without, and any folder with tokenizer.json: whether the model
// could be exported is not asked. Of the parts that are not asked for nothing is said. UNSUPPORTED
// for a tokenizer or a template that is not handled, by name, and for a source that has no
// tokenizer when one is asked for; else as kazeia_export. On failure *out_bytes is NULL.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_export_text(
    const kazeia_export_settings *settings, uint32_t parts, void **out_bytes, size_t *out_count);
// Frees them, with the settings' allocator. NULL is fine.
KAZEIA_API void kazeia_export_text_free(void *bytes, const kazeia_allocator *allocator);

#ifdef __cplusplus
}
#endif

#endif
