// pretokenizer.h: cuts text into the pieces within which byte-level BPE may merge.
//
// in:  valid UTF-8 and the patterns of a tokenizer section (PCRE2 syntax)
// out: pieces in order, whose bytes put together are the text
//
// Each pattern cuts the pieces of the one before it: a match is a piece, and so is what lies
// between two matches. All of PCRE2's memory comes from the allocator at open; splitting allocates
// nothing.
#ifndef KZ_TEXT_PRETOKENIZER_H
#define KZ_TEXT_PRETOKENIZER_H

#include "base/alloc.h"
#include "format/tokenizer.h"

typedef struct kz_pretokenizer kz_pretokenizer;

// Takes a piece, whose bytes lie in the text that is split; a failure ends the splitting and is
// passed on.
typedef kazeia_status (*kz_piece_sink)(void *context, const uint8_t *bytes, size_t count);

// BAD_FILE names the pattern, the place in it, and PCRE2's reason. Belongs to one thread at a time.
KAZEIA_MUST_CHECK kazeia_status kz_pretokenizer_open(const kz_tokenizer_view *view,
                                                     const kazeia_allocator *allocator,
                                                     kz_pretokenizer **out_pretokenizer);
// NULL is fine.
void kz_pretokenizer_close(kz_pretokenizer *pretokenizer);

// Time is linear in `count` whatever the pattern: a pattern that needs more than its share of steps
// fails with BAD_FILE. Without patterns the text is one piece; an empty text gives none.
KAZEIA_MUST_CHECK kazeia_status kz_pretokenizer_split(kz_pretokenizer *pretokenizer,
                                                      const uint8_t *text, size_t count,
                                                      kz_piece_sink sink, void *context);

#endif
