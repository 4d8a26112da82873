// memory_models.h: the programs that the memory tests open, and what else they need of files.
#ifndef KZ_TEST_MEMORY_MODELS_H
#define KZ_TEST_MEMORY_MODELS_H

#include "kazeia/export.h"
#include "kazeia/voice.h"

#define MODEL_PATH_BYTES 512
typedef struct memory_models {
    char chat_source[MODEL_PATH_BYTES], listen_source[MODEL_PATH_BYTES];
    char chat[MODEL_PATH_BYTES], listen[MODEL_PATH_BYTES]; // program files
    char scratch[MODEL_PATH_BYTES];                        // a program file that may be overwritten
} memory_models;

// Exports both; ends the test program when that fails. `folder` is what write_models.py filled; the
// programs' names begin with `prefix`, since several tests may run at once.
void memory_models_init(memory_models *models, const char *folder, const char *prefix);
// Removes the program files.
void memory_models_clear(const memory_models *models);

kazeia_export_settings memory_export_settings(const char *source, const char *output,
                                              const kazeia_allocator *allocator);
// A person's voice at 16 kHz, which the guards let pass; release it with kazeia_audio_release. NULL
// when the library cannot read audio files.
float *read_speech(size_t *out_count);
// Whether espeak-ng is installed.
bool has_espeak(kazeia_runtime *runtime);
// Gives all `count` elements to a stage and finishes; ends the test program when they are not
// taken.
void feed_whole(kazeia_stage *stage, const void *in, size_t count);

#endif
