// text.h: tokens and text.
#ifndef KAZEIA_TEXT_H
#define KAZEIA_TEXT_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// The tokenizer of a program. One thread at a time.
typedef struct kazeia_tokenizer kazeia_tokenizer;

KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_tokenizer_create(const kazeia_program *program, const kazeia_allocator *allocator,
                        kazeia_tokenizer **out_tokenizer);
KAZEIA_API void kazeia_tokenizer_destroy(kazeia_tokenizer *tokenizer);
KAZEIA_API uint32_t kazeia_tokenizer_vocabulary_size(const kazeia_tokenizer *tokenizer);

// Text to ids. `parse_special`: special tokens spelled in the text become their ids and the model's
// BOS/EOS rule is applied; otherwise they are plain text. *out_ids belongs to the tokenizer and is
// valid until its next call.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_tokenizer_encode(kazeia_tokenizer *tokenizer,
                                                                   const char *text, size_t bytes,
                                                                   bool parse_special,
                                                                   const int32_t **out_ids,
                                                                   size_t *out_count);
// Ids to UTF-8 text (bytes that are not UTF-8 become U+FFFD), valid until the next call.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_tokenizer_decode(kazeia_tokenizer *tokenizer,
                                                                   const int32_t *ids, size_t count,
                                                                   const char **out_text,
                                                                   size_t *out_bytes);

#ifdef __cplusplus
}
#endif

#endif
