// tokenizer_json.h: what the readers of tokenizer.json's parts share.
#ifndef KZ_EXPORTER_CHECKPOINT_TOKENIZER_JSON_H
#define KZ_EXPORTER_CHECKPOINT_TOKENIZER_JSON_H

#include <jansson.h>

#include "exporter/checkpoint/tokenizer_draft.h"

// A Sequence within a Sequence is seen in the wild; deeper ones would be recursion on hostile
// input.
#define KZ_JSON_COMPONENT_DEPTH 4

// A component's type, for comparing and for sentences; never NULL.
const char *kz_json_component_type(const json_t *component);
// Left out, or null.
bool kz_json_is_absent(const json_t *value);
// UNSUPPORTED; `role` as "normaliser".
KAZEIA_MUST_CHECK kazeia_status kz_json_refuse_component(const char *role, const json_t *component);

// --- SentencePiece's vocabularies as Hugging Face writes them (tokenizer_json_pieces.c)
// -----------

// True for a BPE model of characters with byte fallback, false for one of bytes.
bool kz_json_is_pieces(const json_t *model);
// A vocabulary entry of such a model.
KAZEIA_MUST_CHECK kazeia_status kz_json_add_piece(kz_tokenizer_draft *draft, size_t id,
                                                  const char *text, size_t count);
// Its normaliser and pre-tokeniser, which say where spaces go.
KAZEIA_MUST_CHECK kazeia_status kz_json_add_piece_rules(kz_tokenizer_draft *draft,
                                                        const json_t *root);

// --- Vocabularies and added tokens (tokenizer_json.c)
// ---------------------------------------------

// How many tokens a vocabulary {text: number} and an array of added tokens (or NULL) are numbered
// for. BAD_FILE for numbers that are missing or far too high.
KAZEIA_MUST_CHECK kazeia_status kz_json_count_tokens(const json_t *vocabulary, const json_t *added,
                                                     size_t *out_count);
// Every entry of a counted vocabulary.
KAZEIA_MUST_CHECK kazeia_status kz_json_add_vocabulary(kz_tokenizer_draft *draft,
                                                       const json_t *vocabulary);
// An added token of tokenizer.json, or of tokenizer_config.json's added_tokens_decoder.
KAZEIA_MUST_CHECK kazeia_status kz_json_add_token(kz_tokenizer_draft *draft, size_t id,
                                                  const json_t *added);

#endif
