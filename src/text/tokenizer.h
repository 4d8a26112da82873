// tokenizer.h: text -> token ids, and what a token stands for.
//
// in:  the tokenizer section of a program (format/tokenizer.h) and text: any bytes
// out: token ids of the model
//
// Special tokens that a text spells out are plain text unless asked for (a user must not be able to
// end his own turn); tokens that the vocabulary marks as the user's own are always recognised.
// Bytes that are not UTF-8 lose nothing: each run of them is a piece of its own, encoded by its raw
// bytes, so that decoding gives the same bytes back wherever the vocabulary has them.
//
// All memory is reserved at open. Queries of tokens may come from several threads; encoding belongs
// to one thread at a time.
#ifndef KZ_TEXT_TOKENIZER_H
#define KZ_TEXT_TOKENIZER_H

#include "base/alloc.h"
#include "format/tokenizer.h"

#define KZ_TOKENIZER_TEXT_BYTES ((size_t)128 * 1024) // room for a text when none is named

typedef struct kz_tokenizer kz_tokenizer;

typedef struct kz_tokenizer_options {
    size_t max_text_bytes; // longest text to encode; 0: KZ_TOKENIZER_TEXT_BYTES. About 36 bytes of
                           // memory each (51 where the model wants NFC), touched only when used
} kz_tokenizer_options;

typedef enum kz_encode_flag {
    KZ_ENCODE_PLAIN = 0,
    KZ_ENCODE_PARSE_SPECIAL = 1, // control tokens spelled out in the text are recognised
    KZ_ENCODE_ADD_BOS_EOS = 2,   // the model's own rule for the ends of a prompt is applied
} kz_encode_flag;

// `section` must outlive the tokenizer. `options` NULL: defaults. BAD_FILE when the section is not
// sound.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_open(const kz_bytes *section,
                                                  const kz_tokenizer_options *options,
                                                  const kazeia_allocator *allocator,
                                                  kz_tokenizer **out_tokenizer);
// NULL is fine.
void kz_tokenizer_close(kz_tokenizer *tokenizer);

// Encodes `count` bytes; `flags` are of kz_encode_flag. BAD_ARGUMENT, with the numbers, when the
// text is longer than max_text_bytes or has more tokens than `capacity`;
// kz_tokenizer_most_tokens(count) always suffices. Time is O(n log n) on any text.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_encode(kz_tokenizer *tokenizer, const char *text,
                                                    size_t count, uint32_t flags, uint32_t *out_ids,
                                                    size_t capacity, size_t *out_count);
// The most tokens that a text of `count` bytes can have, BOS and EOS included.
size_t kz_tokenizer_most_tokens(const kz_tokenizer *tokenizer, size_t count);

// Ids are below this.
uint32_t kz_tokenizer_token_count(const kz_tokenizer *tokenizer);
// The raw bytes of a token, perhaps not whole UTF-8; empty beyond the vocabulary.
kz_bytes kz_tokenizer_token_bytes(const kz_tokenizer *tokenizer, uint32_t id);
// KZ_TOKEN_UNUSED beyond the vocabulary.
kz_token_kind kz_tokenizer_token_kind(const kz_tokenizer *tokenizer, uint32_t id);
// Control, unknown and unused tokens: what no reader or listener is to get.
bool kz_tokenizer_is_special(const kz_tokenizer *tokenizer, uint32_t id);
// The token with exactly this text, special ones first; KZ_NO_TOKEN when there is none.
uint32_t kz_tokenizer_find(const kz_tokenizer *tokenizer, const char *text, size_t count);
uint32_t kz_tokenizer_bos(const kz_tokenizer *tokenizer); // KZ_NO_TOKEN when absent
uint32_t kz_tokenizer_eos(const kz_tokenizer *tokenizer);
size_t kz_tokenizer_longest_token(const kz_tokenizer *tokenizer); // bytes
// True when encoding puts a space in front of a text, which decoding takes away.
bool kz_tokenizer_has_space_prefix(const kz_tokenizer *tokenizer);

// Pairs of symbols looked at since opening: the work done, for tests of its bound.
uint64_t kz_tokenizer_step_count(const kz_tokenizer *tokenizer);

#endif
