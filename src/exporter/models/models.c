// models.c: the models that can be exported.
//   in   a checkpoint
//   out  the definition that builds its graph
#include <stdio.h>

#include "exporter/models/model.h"

static const kz_model *const models[] = {&kz_model_gemma3, &kz_model_kokoro,    &kz_model_llama,
                                         &kz_model_qwen3,  &kz_model_qwen3_tts, &kz_model_silero,
                                         &kz_model_whisper};

kazeia_status kz_model_find(const kz_checkpoint *checkpoint, const kz_model **out_model) {
    char supported[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (models[i]->matches(checkpoint)) {
            *out_model = models[i];
            return KAZEIA_OK;
        }
        const int wrote = snprintf(supported + used, sizeof supported - used, "%s%s", i ? ", " : "",
                                   models[i]->name);
        // A name that does not fit is left out whole.
        used += wrote > 0 && used + (size_t)wrote < sizeof supported ? (size_t)wrote : 0;
    }
    return kz_fail(
        KAZEIA_UNSUPPORTED,
        "%s: a %s checkpoint of architecture '%s'; architectures that can be exported: %s",
        kz_checkpoint_path(checkpoint), kz_checkpoint_kind_name(kz_checkpoint_kind_of(checkpoint)),
        kz_checkpoint_architecture(checkpoint), supported);
}
