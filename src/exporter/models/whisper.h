// whisper.h: what the two halves of the Whisper definition share: shape and token ids
// (whisper_config.c), and the graph (whisper.c).
//
// The model is that of Radford et al., "Robust Speech Recognition via Large-Scale Weak
// Supervision", 2022, as openai/whisper's model.py and Hugging Face's modeling_whisper.py compute
// it.
#ifndef KZ_EXPORTER_MODELS_WHISPER_H
#define KZ_EXPORTER_MODELS_WHISPER_H

#include "exporter/checkpoint/tokenizer_files.h"
#include "exporter/models/model.h"

#define KZ_WHISPER_LANGUAGES 100 // that any Whisper has; large-v3 has all of them
#define KZ_WHISPER_LANGUAGE_LIMIT 128
#define KZ_WHISPER_SUPPRESS_LIMIT 512

// Ids of the tokens that have a meaning of their own, all below the vocabulary.
typedef struct kz_whisper_tokens {
    int64_t start, end, transcribe, no_speech, no_timestamps, timestamp_begin;
    const char *languages[KZ_WHISPER_LANGUAGE_LIMIT]; // ISO codes, graph memory
    int64_t language_tokens[KZ_WHISPER_LANGUAGE_LIMIT];
    size_t language_count;
    // Tokens that are never written, and those that are not written first.
    int64_t suppress[KZ_WHISPER_SUPPRESS_LIMIT], suppress_begin[KZ_WHISPER_SUPPRESS_LIMIT];
    size_t suppress_count, suppress_begin_count;
} kz_whisper_tokens;

// Sizes, read from the tensors' own shapes where they show them.
typedef struct kz_whisper_shape {
    int64_t mels, frames, positions; // of the encoder: 80 or 128, 3000, 1500
    int64_t hidden, encoder_mlp, decoder_mlp;
    int64_t encoder_layers, decoder_layers, encoder_heads, decoder_heads;
    int64_t text_context, vocabulary;
} kz_whisper_shape;

// Names of tensors; '#' is the layer. `weight` and `bias` end the linear stems, `gamma` and `beta`
// the norms'. A NULL k (or v) says that q (or k) holds the following parts too.
typedef struct kz_whisper_attention_names {
    const char *norm, *q, *k, *v, *out;
} kz_whisper_attention_names;

typedef struct kz_whisper_names {
    const char *weight, *bias, *gamma, *beta;
    const char *conv1, *conv2, *encoder_positions, *encoder_norm;
    kz_whisper_attention_names encoder_attention;
    const char *encoder_mlp_norm, *encoder_up, *encoder_down;
    const char *embedding, *decoder_positions, *decoder_norm;
    kz_whisper_attention_names decoder_attention, cross_attention;
    const char *decoder_mlp_norm, *decoder_up, *decoder_down;
} kz_whisper_names;

// The names that a kind of checkpoint uses; NULL when Whisper does not come in that kind.
const kz_whisper_names *kz_whisper_names_of(kz_checkpoint_kind kind);

// Fails when a size is missing or out of the range that the op set can hold.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_read_shape(kz_checkpoint *checkpoint, kz_graph *graph,
                                                      kz_whisper_shape *out_shape);
// From generation_config.json, CTranslate2's config.json, or, for whisper.cpp's files, by their
// order in the vocabulary, which is the same in all of them.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_read_tokens(kz_checkpoint *checkpoint, kz_graph *graph,
                                                       const kz_whisper_shape *shape,
                                                       kz_whisper_tokens *out_tokens);

// The vocabulary of a whisper.cpp file, whose merges are not written: a token's rank is its number,
// so the last merge of each token follows from the tokens before it. UNSUPPORTED for a vocabulary
// that is not the multilingual one.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_draft_vocabulary(const kz_checkpoint *checkpoint,
                                                            const kazeia_allocator *allocator,
                                                            kz_tokenizer_draft **out_draft);

// Fills the suppressed tokens of a whisper.cpp file, which writes none; the other ids are set.
KAZEIA_MUST_CHECK kazeia_status kz_whisper_find_suppressed(const kz_checkpoint *checkpoint,
                                                           const kazeia_allocator *allocator,
                                                           kz_whisper_tokens *tokens);
// ISO code of the language token `index`; NULL past the last.
const char *kz_whisper_language(size_t index);

#endif
