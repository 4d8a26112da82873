// model.h: a model definition: checkpoint -> graph. Adding a model is one file and one line in
// models.c (docs/add_a_model.md).
//
// Functions that take a graph follow its rule (exporter/graph/graph.h): the first failure is kept
// in it, later calls do nothing, numbers given after it are KZ_NO_VALUE.
#ifndef KZ_EXPORTER_MODELS_MODEL_H
#define KZ_EXPORTER_MODELS_MODEL_H

#include "exporter/graph/graph.h"

// What the user asked for, and what every definition must heed.
typedef struct kz_model_options {
    bool is_hybrid;   // with prefill_forward; else kv_forward alone
    kz_type kv;       // element type of the caches: F32, F16 or I8
    uint32_t context; // longest sequence; 0: min(the model's, 4096)
    // The folder of a voice's styles; NULL: "voices" beside the checkpoint. Other models refuse it.
    const char *voices;
    // What quantised weights multiply, 8 or 16 bits; 0: as the definition sets the graph's
    // has_fine_activations. It need not heed another number.
    uint32_t activation_bits;
} kz_model_options;

// A definition; constant and without state.
typedef struct kz_model {
    const char *name; // for sentences
    // Looks at kind and architecture, or at tensors' names where no file says what the model is; of
    // all definitions one says yes at most.
    bool (*matches)(const kz_checkpoint *checkpoint);
    // Fills the graph: metadata, tokenizer, weights, states, methods (docs/abilities.md).
    kazeia_status (*build)(kz_checkpoint *checkpoint, const kz_model_options *options,
                           kz_graph *graph);
} kz_model;

// The first definition that matches. UNSUPPORTED names what was found and what is supported.
KAZEIA_MUST_CHECK kazeia_status kz_model_find(const kz_checkpoint *checkpoint,
                                              const kz_model **out_model);

// --- What definitions share ---------------------------------------------------------------------

// `pattern` with '#' replaced by `layer`, in graph memory; the pattern itself without a '#'.
const char *kz_layer_name(kz_graph *graph, const char *pattern, uint32_t layer);

// A matrix [rows][columns] called `name` in the program, from up to three checkpoint tensors one
// below the other. Rows are checked against the tensors' own. sources[i] NULL ends the list. Gives
// the weight's number, as do the functions below.
uint32_t kz_model_matrix(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                         uint64_t rows, uint64_t columns, const char *const *sources);
// A convolution's kernel [rows][channels][kernel] as a matrix [rows][kernel * channels].
uint32_t kz_model_convolution(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                              uint64_t rows, uint64_t channels, uint32_t kernel,
                              const char *source);
// A vector of `count` elements from one tensor of any shape with that many elements.
uint32_t kz_model_vector(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                         uint64_t count, const char *source);
// All of a tensor, `count` numbers, in graph memory; NULL after a failure.
float *kz_model_floats(kz_graph *graph, const kz_checkpoint_tensor *tensor, uint64_t count);
// A vector put together from `source_count` parts of equal length; a NULL source is zeros.
uint32_t kz_model_joined_vector(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                                uint64_t part_count, const char *const *sources,
                                uint32_t source_count);
// A table [rows][columns] kept as KZ_ROWS f32 (positions that are added).
uint32_t kz_model_table(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                        uint64_t rows, uint64_t columns, const char *source);
// q4 and q8 leave this matrix in f32.
void kz_model_mark_precise(kz_graph *graph, uint32_t weight);
// `added` to each element of a vector when it is packed.
void kz_model_add_to(kz_graph *graph, uint32_t weight, float added);
// True when all named tensors are there and of one type (they may then be one matrix).
bool kz_model_can_join(const kz_checkpoint *checkpoint, const char *const *sources,
                       uint32_t source_count);

// A member of a JSON object (or NULL), or `otherwise` when it is absent or of another type.
int64_t kz_config_integer(const json_t *object, const char *key, int64_t otherwise);
double kz_config_real(const json_t *object, const char *key, double otherwise);
// Reads a key that must be there, within [minimum, maximum], else BAD_FILE.
KAZEIA_MUST_CHECK kazeia_status kz_config_require(const json_t *object, const char *file,
                                                  const char *key, int64_t minimum, int64_t maximum,
                                                  int64_t *out_value);

// One for each file of definitions.
extern const kz_model kz_model_gemma3;
extern const kz_model kz_model_kokoro;
extern const kz_model kz_model_llama;
extern const kz_model kz_model_qwen3;
extern const kz_model kz_model_qwen3_tts;
extern const kz_model kz_model_silero;
extern const kz_model kz_model_whisper;

#endif
