// qwen3.c: Qwen3, the dense models.
//   in   a GGUF file or a Hugging Face folder of architecture "qwen3"
//   out  the graph of docs/abilities.md "chat"
// Rotated pairs are half a head apart in both containers. The mixtures of experts are another
// architecture ("qwen3moe", "qwen3_moe") and are refused by that name.
#include "exporter/models/decoder.h"

static const char *const model_types[] = {"qwen3", NULL};

static const kz_decoder_traits traits = {
    .architecture = "qwen3",
    .model_types = model_types,
    .title = "a Qwen3",
    .has_head_norms = true,
    .activation = KZ_ACTIVATION_SILU,
    .activation_name = "silu",
};

static bool matches(const kz_checkpoint *checkpoint) {
    return kz_decoder_matches(&traits, checkpoint);
}

static kazeia_status build(kz_checkpoint *checkpoint, const kz_model_options *options,
                           kz_graph *graph) {
    return kz_decoder_build(&traits, checkpoint, options, graph);
}

const kz_model kz_model_qwen3 = {"qwen3", matches, build};
