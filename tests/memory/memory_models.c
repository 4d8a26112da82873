// memory_models.c: the programs that the memory tests open.
//
// in:  a folder with checkpoints
// out: program files beside them
#include "memory_models.h"

#include <stdio.h>
#include <stdlib.h>

static void require(kazeia_status status) {
    if (status != KAZEIA_OK) {
        fprintf(stderr, "memory tests: %s\n", kazeia_last_error());
        abort();
    }
}

kazeia_export_settings memory_export_settings(const char *source, const char *output,
                                              const kazeia_allocator *allocator) {
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = source;
    settings.output = output;
    settings.allocator = allocator;
    return settings;
}

void memory_models_init(memory_models *models, const char *folder, const char *prefix) {
    (void)snprintf(models->chat_source, MODEL_PATH_BYTES, "%s/chat.gguf", folder);
    (void)snprintf(models->listen_source, MODEL_PATH_BYTES, "%s/listen", folder);
    (void)snprintf(models->chat, MODEL_PATH_BYTES, "%s/%s_chat.kzp", folder, prefix);
    (void)snprintf(models->listen, MODEL_PATH_BYTES, "%s/%s_listen.kzp", folder, prefix);
    (void)snprintf(models->scratch, MODEL_PATH_BYTES, "%s/%s_scratch.kzp", folder, prefix);
    const kazeia_export_settings chat =
        memory_export_settings(models->chat_source, models->chat, NULL);
    const kazeia_export_settings listen =
        memory_export_settings(models->listen_source, models->listen, NULL);
    require(kazeia_export(&chat));
    require(kazeia_export(&listen));
}

void memory_models_clear(const memory_models *models) {
    (void)remove(models->chat);
    (void)remove(models->listen);
    (void)remove(models->scratch);
}

float *read_speech(size_t *out_count) {
    float *samples = NULL;
    const kazeia_status status =
        kazeia_audio_read("tests/golden/audio/jfk.wav", 16000, &samples, out_count);
    if (status != KAZEIA_UNSUPPORTED) {
        require(status);
    }
    return samples;
}

bool has_espeak(kazeia_runtime *runtime) {
    kazeia_stage *stage = NULL;
    if (kazeia_speak_create(runtime, NULL, &stage) != KAZEIA_OK) {
        return false;
    }
    kazeia_stage_destroy(stage);
    return true;
}

void feed_whole(kazeia_stage *stage, const void *in, size_t count) {
    size_t taken = 0;
    require(kazeia_stage_feed(stage, in, count, &taken));
    if (taken != count) {
        fprintf(stderr, "memory tests: %zu of %zu are taken\n", taken, count);
        abort();
    }
    require(kazeia_stage_finish(stage));
}
