// decoder.h: the decoder that many families share, and what they differ in.
//
//
//   in   a checkpoint of such a family, and its traits
//   out  weights, states and the methods prefill_forward (hybrid only), kv_forward and logits
//
// As Hugging Face's modeling_llama.py, modeling_qwen3.py and modeling_gemma3.py compute it: RMSNorm
// before attention and MLP, rotary positions, grouped queries without biases, a gated MLP, a head
// that may be the embedding. A family is a table of traits, and one file.
#ifndef KZ_EXPORTER_MODELS_DECODER_H
#define KZ_EXPORTER_MODELS_DECODER_H

#include "exporter/models/model.h"

// Values of keys that config.json leaves out; 0: there is none, and the key must be there or
// follows from others. A text_config states only what differs from its class.
typedef struct kz_decoder_defaults {
    int64_t heads, kv_heads, head_dim, context, window;
    double theta;
} kz_decoder_defaults;

// What one family has that another lacks.
typedef struct kz_decoder_traits {
    const char *architecture;       // GGUF's general.architecture and key prefix
    const char *const *model_types; // config.json's, ended by NULL
    const char *title;              // with its article, for sentences: "a Llama"
    bool has_head_norms;            // an RMSNorm of each head of q and of k before the rotation
    bool has_output_norms;          // one of attention's and of the MLP's result, before the sum
    bool is_interleaved_in_gguf;    // GGUF's q and k rows: rotated pairs are neighbours
    bool has_offset_norms;          // norms multiply by 1 + w; GGUF holds the sum already
    bool is_embedding_scaled;       // times the square root of its width
    kz_activation activation;       // of the gate
    const char *activation_name;    // the same in config.json
    // Attention divides by the square root of a number of the configuration; 0: of the head's
    // width. GGUF does not say it: models of so many layers divide by that of hidden / heads.
    double query_scalar;
    int64_t odd_gguf_layers;
    // Where this is not 0, layers see a window of positions and turn by a theta of their own,
    // but for every so-manyth, if the checkpoint does not say which.
    int64_t local_pattern;
    double local_theta;
    kz_decoder_defaults otherwise;
} kz_decoder_traits;

// True for a GGUF file or safetensors of that architecture.
bool kz_decoder_matches(const kz_decoder_traits *traits, const kz_checkpoint *checkpoint);

// Fills the graph (docs/abilities.md, "chat"). UNSUPPORTED names what a checkpoint has and this
// decoder does not: another scaling, a window where the family has none, another activation, any
// tensor left over; BAD_FILE or NOT_FOUND a shape or tensor that is not as the configuration says.
KAZEIA_MUST_CHECK kazeia_status kz_decoder_build(const kz_decoder_traits *traits,
                                                 kz_checkpoint *checkpoint,
                                                 const kz_model_options *options, kz_graph *graph);

#endif
