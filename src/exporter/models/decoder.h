// decoder.h: the decoder that many families share, and what they differ in.
//
//
//   in   a checkpoint of such a family, and its traits
//   out  weights, states and the methods prefill_forward (hybrid only), kv_forward and logits
//
// As Hugging Face's modeling_llama.py and modeling_qwen3.py compute it: RMSNorm before attention
// and MLP, rotary positions, grouped queries without biases, a gated MLP with SiLU, a head that may
// be the embedding. A family is a table of traits, and one file.
#ifndef KZ_EXPORTER_MODELS_DECODER_H
#define KZ_EXPORTER_MODELS_DECODER_H

#include "exporter/models/model.h"

// What one family has that another lacks.
typedef struct kz_decoder_traits {
    const char *architecture;    // GGUF's general.architecture and key prefix; model_type
    const char *title;           // with its article, for sentences: "a Llama"
    bool has_head_norms;         // an RMSNorm of each head of q and of k before the rotation
    bool is_interleaved_in_gguf; // GGUF's q and k rows: rotated pairs are neighbours
} kz_decoder_traits;

// True for a GGUF file or safetensors of that architecture.
bool kz_decoder_matches(const kz_decoder_traits *traits, const kz_checkpoint *checkpoint);

// Fills the graph (docs/abilities.md, "chat"). UNSUPPORTED names what a checkpoint has and this
// decoder does not: scaled positions, sliding windows, another activation, any tensor left over;
// BAD_FILE or NOT_FOUND a shape or tensor that is not as the configuration says.
KAZEIA_MUST_CHECK kazeia_status kz_decoder_build(const kz_decoder_traits *traits,
                                                 kz_checkpoint *checkpoint,
                                                 const kz_model_options *options, kz_graph *graph);

#endif
