// text.h: tokens and text.
//
//     const int32_t *ids = NULL;
//     size_t count = 0;
//     TRY(kazeia_tokenizer_encode(tokenizer, "Bonjour", 7, false, &ids, &count));
//
// This is a tool's interface: unlike a stage's, its buffers grow with the longest text seen.
#ifndef KAZEIA_TEXT_H
#define KAZEIA_TEXT_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// The tokenizer of a program, which it keeps alive. One thread at a time.
typedef struct kazeia_tokenizer kazeia_tokenizer;

// UNSUPPORTED when the program has no tokenizer, BAD_FILE when its tokenizer is damaged.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_tokenizer_create(const kazeia_program *program, const kazeia_allocator *allocator,
                        kazeia_tokenizer **out_tokenizer);
KAZEIA_API void kazeia_tokenizer_destroy(kazeia_tokenizer *tokenizer);
// Ids are 0 to this less 1.
KAZEIA_API uint32_t kazeia_tokenizer_vocabulary_size(const kazeia_tokenizer *tokenizer);

// Text to ids: any bytes, at most 1 GiB; those that are not UTF-8 are encoded one by one as far as
// the vocabulary has them. `parse_special`: special tokens spelled in the text become their ids and
// the model's BOS/EOS rule is applied; otherwise they are plain text. *out_ids [*out_count] belongs
// to the tokenizer and is valid until its next call. BAD_ARGUMENT when the text is too long,
// OUT_OF_MEMORY; the tokenizer stays usable.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_tokenizer_encode(kazeia_tokenizer *tokenizer,
                                                                   const char *text, size_t bytes,
                                                                   bool parse_special,
                                                                   const int32_t **out_ids,
                                                                   size_t *out_count);
// Ids to UTF-8 text, special tokens written out, bytes that are not UTF-8 as U+FFFD. *out_text has
// *out_bytes bytes and a NUL behind them and is valid until the tokenizer's next call. The space
// that some models put in front of a text is taken away again. BAD_ARGUMENT names the first id that
// is no token.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_tokenizer_decode(kazeia_tokenizer *tokenizer,
                                                                   const int32_t *ids, size_t count,
                                                                   const char **out_text,
                                                                   size_t *out_bytes);

#ifdef __cplusplus
}
#endif

#endif
