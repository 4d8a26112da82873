// gemma3.c: Gemma 3, the text models, alone or out of a model that also sees.
//   in   a GGUF file or a Hugging Face folder of architecture "gemma3"
//   out  the graph of docs/abilities.md "chat"
// Five layers of six see a window and turn by 1e4; the sixth sees everything and turns by the
// configuration's theta. GGUF files state the window, seldom the rest, and hold norms with their 1
// added. No capping: that was Gemma 2.
#include "exporter/models/decoder.h"

static const char *const model_types[] = {"gemma3_text", "gemma3", NULL};

static const kz_decoder_traits traits = {
    .architecture = "gemma3",
    .model_types = model_types,
    .title = "a Gemma 3",
    .has_head_norms = true,
    .has_output_norms = true,
    .has_offset_norms = true,
    .is_embedding_scaled = true,
    .activation = KZ_ACTIVATION_GELU_TANH,
    .activation_name = "gelu_pytorch_tanh",
    .query_scalar = 256.0,
    .odd_gguf_layers = 62, // the 27B model: 5376 / 32, where its heads are 128 wide
    .local_pattern = 6,
    .local_theta = 1e4,
    // transformers' Gemma3TextConfig: the larger models' text_config leaves these out.
    .otherwise = {.heads = 8,
                  .kv_heads = 4,
                  .head_dim = 256,
                  .context = 131072,
                  .window = 4096,
                  .theta = 1e6},
};

static bool matches(const kz_checkpoint *checkpoint) {
    return kz_decoder_matches(&traits, checkpoint);
}

static kazeia_status build(kz_checkpoint *checkpoint, const kz_model_options *options,
                           kz_graph *graph) {
    return kz_decoder_build(&traits, checkpoint, options, graph);
}

const kz_model kz_model_gemma3 = {"gemma3", matches, build};
