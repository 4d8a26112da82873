// export.h: checkpoint -> program file. The second library: it is not needed on the device.
#ifndef KAZEIA_EXPORT_H
#define KAZEIA_EXPORT_H

#include "kazeia/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Called now and then during an export; a status other than KAZEIA_OK stops it (no file is left).
typedef kazeia_status (*kazeia_export_progress)(void *context, uint64_t bytes_done,
                                                uint64_t bytes_total, const char *tensor);

typedef struct kazeia_export_settings {
    const char *source; // a file or folder; its kind is found by content
    const char *output; // the program file
    const char *mode;   // "hybrid" (default) or "kv"
    const char
        *weights; // "keep" "q4" "q8" "bf16" "f16" "f32"; NULL: keep for quantised sources, else q8
    const char *recipe;              // path of a recipe (lines "PATTERN = FORMAT"), or NULL
    const char *kv;                  // "f16" (default), "int8", "f32"
    uint32_t context;                // longest conversation in tokens; 0: min(the model's, 4096)
    uint32_t shard_count;            // weight files; 0 or 1: inside the program file
    kazeia_export_progress progress; // or NULL
    void *progress_context;
    const kazeia_allocator *allocator;
} kazeia_export_settings;

KAZEIA_API kazeia_export_settings kazeia_export_settings_default(void);
// Writes the program atomically: a kill at any moment leaves the old program whole, the new one
// whole, or none where there was none.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_export(const kazeia_export_settings *settings);

#ifdef __cplusplus
}
#endif

#endif
