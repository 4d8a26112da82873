// llama.c: Llama and its kin (SmolLM2).
//   in   a GGUF file or a Hugging Face folder of architecture "llama"
//   out  the graph of docs/abilities.md "chat"
// GGUF stores q and k rows in an order in which the rotated pairs are neighbours; Hugging Face's
// are half a head apart.
#include "exporter/models/decoder.h"

static const char *const model_types[] = {"llama", NULL};

static const kz_decoder_traits traits = {
    .architecture = "llama",
    .model_types = model_types,
    .title = "a Llama",
    .is_interleaved_in_gguf = true,
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

const kz_model kz_model_llama = {"llama", matches, build};
