// tokenizer_files.h: a checkpoint's tokenizer, in whatever files it has, -> a draft of the section.
//
// in:  Hugging Face's tokenizer.json; vocab.json with merges.txt; GGUF's tokenizer.ggml arrays
// out: a kz_tokenizer_draft (tokenizer_draft.h), whose rules the model's own exporter may still
// change
//
// What cannot be reproduced exactly (normalisers, pre-tokenisers, models of other kinds) is refused
// by name: a tokenizer that is nearly right makes a model worse without a word.
#ifndef KZ_EXPORTER_CHECKPOINT_TOKENIZER_FILES_H
#define KZ_EXPORTER_CHECKPOINT_TOKENIZER_FILES_H

#include "exporter/checkpoint/checkpoint.h"
#include "exporter/checkpoint/tokenizer_draft.h"

// tokenizer.json of a BPE model: of bytes (ByteLevel), or of characters with byte fallback
// (SentencePiece's). Added tokens that are `special` become CONTROL tokens, the others USER tokens.
// A post-processor that puts one special token before or after the text sets BOS or EOS; longer
// ones (Whisper's prompt) are the model's affair and left out.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_from_json(const json_t *root,
                                                       const kazeia_allocator *allocator,
                                                       kz_tokenizer_draft **out_draft);

// vocab.json and merges.txt (both of GPT-2's form), pre-tokenised as the GGUF name says. `added`:
// tokenizer_config.json's added_tokens_decoder, or NULL. Tokens that look like "<|...|>" are
// CONTROL tokens also without it.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_from_vocabulary(
    const json_t *vocabulary, const json_t *added, const char *merges, size_t merges_bytes,
    const char *pretokenizer, const kazeia_allocator *allocator, kz_tokenizer_draft **out_draft);

// The tokenizer of a folder: tokenizer.json, else vocab.json with merges.txt, with what
// tokenizer_config.json adds. *out_draft is NULL when the folder has no tokenizer at all.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_from_folder(kz_checkpoint *checkpoint,
                                                         const kazeia_allocator *allocator,
                                                         kz_tokenizer_draft **out_draft);

// A GGUF's arrays: tokenizer.ggml.model "gpt2" (byte-level BPE) or "llama" (SentencePiece BPE).
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_from_gguf(const kz_checkpoint *checkpoint,
                                                       const kazeia_allocator *allocator,
                                                       kz_tokenizer_draft **out_draft);

#endif
