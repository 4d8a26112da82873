// qwen3_tts.h: what the files of the Qwen3-TTS definition share. Inside models/ only.
//
//   in   config.json of the talker and of the codec in speech_tokenizer/
//   out  shapes, weights, states and the pieces of methods that several parts have
//
// Three transformers of one voice are the same block (RMSNorm, rotary positions, a gated MLP) with
// or without norms of heads, factors of what is added, and a window: the stack below.
// docs/models/qwen3_tts.md tells the whole.
#ifndef KZ_EXPORTER_MODELS_QWEN3_TTS_H
#define KZ_EXPORTER_MODELS_QWEN3_TTS_H

#include "exporter/models/model.h"

#define KZ_TTS_GROUP_LIMIT 16  // codebooks
#define KZ_TTS_STAGE_LIMIT 8   // blocks of the codec's upsampling, of each kind
#define KZ_TTS_LAYER_LIMIT 128 // layers of one transformer
#define KZ_TTS_CODEC_FRAMES 8u // frames that one call of the codec decodes at most

// One transformer. Sources are "PREFIX.layers.N." and the usual names of a Qwen3 layer.
typedef struct kz_tts_stack_shape {
    const char *name;   // of its weights in the program: "talker"
    const char *prefix; // of its tensors, with the last dot
    int64_t layers, hidden, mlp, heads, kv_heads, head_dim;
    int64_t window;     // 0: none
    int64_t cache_rows; // of each layer's caches
    double epsilon, theta;
    bool has_head_norms; // of q and k
    bool has_factors;    // LayerScale on what attention and MLP add
    kz_type kv;
} kz_tts_stack_shape;

typedef struct kz_tts_layer {
    uint32_t attention_norm, mlp_norm, q_norm, k_norm, qkv, output, gate_up, down;
    uint32_t keys, values; // states
} kz_tts_layer;

typedef struct kz_tts_stack {
    kz_tts_stack_shape shape;
    kz_tts_layer *layers; // graph memory
    uint32_t inv_freq, final_norm;
} kz_tts_stack;

// The integer inputs of a method with a cache.
typedef struct kz_tts_cache_inputs {
    uint32_t positions, sequences, table;
} kz_tts_cache_inputs;

// The codec as config.json describes it.
typedef struct kz_tts_codec_shape {
    int64_t groups, codes, code_width, width; // codebooks, rows of each, their columns, projected
    int64_t latent, channels;                 // before and after the first convolution
    int64_t rates[KZ_TTS_STAGE_LIMIT], rate_count;
    int64_t ratios[KZ_TTS_STAGE_LIMIT], ratio_count;
    int64_t samples_per_frame, sample_rate_hz;
    kz_tts_stack_shape stack;
} kz_tts_codec_shape;

// All of the definition at work.
typedef struct kz_tts {
    kz_checkpoint *checkpoint, *codec; // the talker's, the speech tokenizer's
    const kz_model_options *options;
    kz_graph *graph;
    const json_t *config, *talker_config, *codec_config;
    int64_t context, vocabulary, text_vocabulary, text_hidden, groups, codes;
    kz_tts_stack_shape talker, predictor;
    kz_tts_codec_shape decoder;
    bool *are_read[2]; // of the talker's tensors and of the codec's: read as floats
} kz_tts;

// Reads both config.json; BAD_FILE or UNSUPPORTED names what is not as it must be.
KAZEIA_MUST_CHECK kazeia_status kz_tts_read_config(kz_tts *tts);
// Metadata "speak.*" (docs/abilities.md).
KAZEIA_MUST_CHECK kazeia_status kz_tts_add_metadata(kz_tts *tts);
// Methods and weights of the two halves. Failures stay in the graph.
void kz_tts_add_talker(kz_tts *tts);
void kz_tts_add_decoder(kz_tts *tts);
// Where the checkpoint has them: what cloning needs.
void kz_tts_add_encoder(kz_tts *tts);
void kz_tts_add_speaker(kz_tts *tts);

// --- Weights ------------------------------------------------------------------------------------
// As the functions of model.h; a matrix whose columns no block of 32 divides stays as it is in q8
// and q4. `factors` of rows (or of a vector's elements) are in graph memory, or NULL.
uint32_t kz_tts_matrix(kz_tts *tts, const kz_checkpoint *from, const char *name, int64_t rows,
                       int64_t columns, const char *source, const float *factors);
uint32_t kz_tts_vector(kz_tts *tts, const kz_checkpoint *from, const char *name, int64_t count,
                       const char *source);
// A convolution [rows][channels][kernel] for UNFOLD, of dilation 1 or more.
uint32_t kz_tts_convolution(kz_tts *tts, const kz_checkpoint *from, const char *name, int64_t rows,
                            int64_t channels, int64_t kernel, const char *source);
// A vector or table of f32 that was computed; `values` in graph memory.
uint32_t kz_tts_constant(kz_tts *tts, const char *name, uint32_t rank, int64_t rows,
                         int64_t columns, const float *values);
// All of a tensor as floats in graph memory, `count` of them; NULL after a failure.
float *kz_tts_floats(kz_tts *tts, const kz_checkpoint *from, const char *source, int64_t count);
// Makes a matrix stay as it is in q8 and q4 if its columns are not whole blocks.
void kz_tts_mark_odd(kz_tts *tts, uint32_t weight);

// --- Stacks -------------------------------------------------------------------------------------
// Weights and caches of all layers and the norm behind them ("PREFIX.norm").
void kz_tts_stack_add(kz_tts *tts, const kz_checkpoint *from, const kz_tts_stack_shape *shape,
                      kz_tts_stack *out_stack);
// The layers, in place on x [T][hidden]; the final norm is the caller's.
void kz_tts_stack_run(const kz_tts_stack *stack, kz_graph_method *method, uint32_t x,
                      const kz_tts_cache_inputs *inputs);
// Inputs "positions", "sequences" [tokens] and "row_table" [sequences][positions] of a method whose
// symbol "sequences" this adds.
kz_tts_cache_inputs kz_tts_add_cache_inputs(kz_graph_method *method, kz_dim tokens,
                                            uint32_t positions, uint32_t rows);

#endif
