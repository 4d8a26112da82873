// detokenizer.h: token ids -> text, token by token, always whole UTF-8.
//
// in:  ids as a model makes them
// out: text that can be shown at once: a character that is spread over tokens is held back until
// its
//      last byte is there
//
// Bytes that cannot become UTF-8 turn into U+FFFD by the rule of the Unicode standard (one for each
// longest start of a character), as Hugging Face's library decodes. Nothing is allocated.
#ifndef KZ_TEXT_DETOKENIZER_H
#define KZ_TEXT_DETOKENIZER_H

#include "text/tokenizer.h"

typedef enum kz_decode_flag {
    KZ_DECODE_TEXT = 0,
    KZ_DECODE_SPECIAL = 1,    // control and unknown tokens are written too
    KZ_DECODE_FROM_START = 2, // the ids begin a text: the space that encoding put there is dropped
} kz_decode_flag;

typedef struct kz_detokenizer {
    const kz_tokenizer *tokenizer;
    uint32_t flags;
    bool is_at_start;
    uint8_t held[4]; // the start of a character
    uint32_t held_count;
} kz_detokenizer;

// `tokenizer` must outlive it. Needs no clearing.
void kz_detokenizer_init(kz_detokenizer *detokenizer, const kz_tokenizer *tokenizer,
                         uint32_t flags);

// Bytes that always suffice for one push or flush.
size_t kz_detokenizer_room(const kz_tokenizer *tokenizer);

// Writes the text that `id` completes (perhaps none; no NUL) and returns its bytes. `out` has
// kz_detokenizer_room bytes. Ids beyond the vocabulary write nothing.
size_t kz_detokenizer_push(kz_detokenizer *detokenizer, uint32_t id, char *out);

// The end: what is held becomes U+FFFD. The detokenizer is then as new.
size_t kz_detokenizer_flush(kz_detokenizer *detokenizer, char *out);

#endif
