// whisper.h: what the two halves of the Whisper definition share: shape and token ids
// (whisper_config.c), and the graph (whisper.c).
#ifndef KZ_EXPORTER_MODELS_WHISPER_H
#define KZ_EXPORTER_MODELS_WHISPER_H

#include "exporter/checkpoint/tokenizer_files.h"
#include "exporter/models/model.h"

#define KZ_WHISPER_LANGUAGE_LIMIT 128
#define KZ_WHISPER_SUPPRESS_LIMIT 512

typedef struct kz_whisper_tokens {
    int64_t start, end, transcribe, no_speech, no_timestamps, timestamp_begin;
    const char *languages[KZ_WHISPER_LANGUAGE_LIMIT]; // ISO codes, graph memory
    int64_t language_tokens[KZ_WHISPER_LANGUAGE_LIMIT];
    size_t language_count;
    int64_t suppress[KZ_WHISPER_SUPPRESS_LIMIT], suppress_begin[KZ_WHISPER_SUPPRESS_LIMIT];
    size_t suppress_count, suppress_begin_count;
} kz_whisper_tokens;

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

const kz_whisper_names *kz_whisper_names_of(kz_checkpoint_kind kind);

KAZEIA_MUST_CHECK kazeia_status kz_whisper_read_shape(kz_checkpoint *checkpoint, kz_graph *graph,
                                                      kz_whisper_shape *out_shape);
KAZEIA_MUST_CHECK kazeia_status kz_whisper_read_tokens(kz_checkpoint *checkpoint, kz_graph *graph,
                                                       const kz_whisper_shape *shape,
                                                       kz_whisper_tokens *out_tokens);

// The vocabulary of a whisper.cpp file, whose merges are not written: a token's rank is its number,
// so the last merge of each token follows from the tokens before it.
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
