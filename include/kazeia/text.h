// text.h: tokens and text, sentences, and the words that a voice says.
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

// Reads text of one language as a person does: cuts it into sentences, says its numbers and signs
// in words. One thread at a time.
typedef struct kazeia_reader kazeia_reader;

// Bytes of a text.
typedef struct kazeia_text_span {
    size_t at, bytes;
} kazeia_text_span;

// `language`: an ISO 639-1 code, as "fr"; NULL is "fr". `max_chars`: the longest sentence in
// characters, 8 to 100,000; 0 is 300. BAD_ARGUMENT, OUT_OF_MEMORY.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_reader_create(const char *language,
                                                                uint32_t max_chars,
                                                                const kazeia_allocator *allocator,
                                                                kazeia_reader **out_reader);
KAZEIA_API void kazeia_reader_destroy(kazeia_reader *reader);
// The words that a careful speaker says, in one line: "14h30" becomes "quatorze heures trente";
// markdown, emoji, code and thinking are left out. Any bytes. *out_text has *out_bytes bytes and a
// NUL behind them and is valid until the reader's next call. UNSUPPORTED for languages other than
// French and English, and in a build without ICU; OUT_OF_MEMORY.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_reader_say(kazeia_reader *reader,
                                                             const char *text, size_t bytes,
                                                             const char **out_text,
                                                             size_t *out_bytes);
// The text's sentences and lines, white space at both ends left out; none is empty. *out_spans
// [*out_count] is valid until the reader's next call. OUT_OF_MEMORY.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_reader_cut(kazeia_reader *reader,
                                                             const char *text, size_t bytes,
                                                             const kazeia_text_span **out_spans,
                                                             size_t *out_count);

#ifdef __cplusplus
}
#endif

#endif
