// language.h: what all definitions of language models share (docs/abilities.md, "chat").
#ifndef KZ_EXPORTER_MODELS_LANGUAGE_H
#define KZ_EXPORTER_MODELS_LANGUAGE_H

#include "exporter/models/model.h"

#define KZ_LANGUAGE_PREFILL_TOKENS 512u // tokens of one bulk call
#define KZ_LANGUAGE_STEP_TOKENS 16u     // calls of up to this many do not depend on their number
#define KZ_LANGUAGE_LOGITS_ROWS 64u
#define KZ_LANGUAGE_SEQUENCES 32u
#define KZ_LANGUAGE_DEFAULT_CONTEXT 4096

// Values of the four inputs, all i32: tokens, positions and sequences [T], row_table [S][context].
typedef struct kz_language_inputs {
    kz_dim token_count; // T
    uint32_t tokens, positions, sequences, row_table;
} kz_language_inputs;

// Symbols "tokens" and "sequences" and the four inputs of a forward method. `rows`: of the caches.
kz_language_inputs kz_language_add_inputs(kz_graph_method *method, uint32_t token_limit,
                                          uint32_t vocabulary, uint32_t context, uint32_t rows);

// The method "logits": hidden f32 [rows][hidden] times `head`, a weight number of a matrix
// [vocabulary][hidden] -> logits f32 [rows][vocabulary].
void kz_language_add_logits(kz_graph *graph, uint32_t head, uint32_t hidden, uint32_t vocabulary);

// What "model.*" and "chat.mode" say (docs/abilities.md).
typedef struct kz_language_metadata {
    int64_t hidden, vocabulary, context;
    bool is_hybrid;
} kz_language_metadata;

// Adds them, and the ability "chat".
void kz_language_add_metadata(kz_graph *graph, const kz_language_metadata *metadata);

// The wished context (0: min(the model's, 4096)); BAD_ARGUMENT when it is more than the model's.
KAZEIA_MUST_CHECK kazeia_status kz_language_choose_context(uint32_t wished, int64_t model_context,
                                                           int64_t *out_context);

// Tokenizer section, chat template section, stop tokens and general metadata. Stop tokens are those
// that the checkpoint names, at most 16, and those that end a turn in every family. A checkpoint
// without template gives a program that takes raw prompts only.
KAZEIA_MUST_CHECK kazeia_status kz_language_add_text(kz_checkpoint *checkpoint, kz_graph *graph,
                                                     uint32_t vocabulary);

// The chat template section alone: the checkpoint's own (GGUF tokenizer.chat_template,
// chat_template.jinja, tokenizer_config.json, chat_template.json), or that of
// graph->template_family; nothing when the checkpoint has none. UNSUPPORTED names what the compiler
// does not read.
KAZEIA_MUST_CHECK kazeia_status kz_language_add_template(kz_checkpoint *checkpoint,
                                                         kz_graph *graph);
// That of graph->template_family, for no checkpoint.
KAZEIA_MUST_CHECK kazeia_status kz_language_add_family(kz_graph *graph);

// General metadata (name, architecture, license, source) of any checkpoint.
KAZEIA_MUST_CHECK kazeia_status kz_model_add_general(kz_checkpoint *checkpoint, kz_graph *graph);
// The tokenizer section of any checkpoint; nothing when it has no tokenizer files. `flags`
// (kz_tokenizer_flag) are added to those that the files ask for. BAD_FILE when it has more tokens
// than `vocabulary`; UNSUPPORTED for tokenizer files of another kind.
KAZEIA_MUST_CHECK kazeia_status kz_model_add_tokenizer(kz_checkpoint *checkpoint, kz_graph *graph,
                                                       uint32_t vocabulary, uint32_t flags);
// UNSUPPORTED when a cache of this element type cannot hold heads of that width.
KAZEIA_MUST_CHECK kazeia_status kz_model_check_cache(const kz_checkpoint *checkpoint, kz_type type,
                                                     int64_t head_dim);

#endif
