// sentence.h: cuts a stream of text into sentences while it is being written.
//
// in:  UTF-8 in pieces of any size, as a language model gives it; a piece may end inside a
// character. out: pieces of the same text, a sentence or a line each. It only cuts: the pieces put
// together are
//      the text, byte for byte, bytes that are not UTF-8 included. White space belongs to the piece
//      before it, so that a piece begins with what is to be said.
//
// The pieces do not depend on how the text was fed. A stop is decided when the character after the
// white space is known, since "etc. et" and "etc. La" differ there; after an initial or an acronym
// the word after it must be known. Time is linear in the text; all memory is reserved at creation.
#ifndef KZ_TEXT_SENTENCE_H
#define KZ_TEXT_SENTENCE_H

#include "base/alloc.h"
#include "text/utf8.h"

typedef struct kz_sentence_stream kz_sentence_stream;

// All zeros are the defaults. The string may go after creation.
typedef struct kz_sentence_options {
    const char *language;      // "fr" or "en": abbreviations; NULL is "fr", others use "en"'s
    bool first_fragment_early; // cut the very first piece at a comma or colon after a few words
    uint32_t max_chars;        // longest piece in characters, white space around it not counted;
                               // 0 is 300. A word longer than that is cut. Range 8-100,000
} kz_sentence_options;

KAZEIA_MUST_CHECK kazeia_status kz_sentence_stream_create(const kazeia_allocator *allocator,
                                                          const kz_sentence_options *options,
                                                          kz_sentence_stream **out_stream);
// NULL is fine.
void kz_sentence_stream_destroy(kz_sentence_stream *stream);

// Takes what fits, perhaps nothing until `next` has been called. Views given by `next` end here.
// BAD_ARGUMENT after finish.
KAZEIA_MUST_CHECK kazeia_status kz_sentence_stream_feed(kz_sentence_stream *stream,
                                                        const char *bytes, size_t count,
                                                        size_t *out_taken);
// The next piece; valid until the next call of feed or reset. NEEDS_INPUT when the text so far ends
// no sentence; DONE after finish when all has been given.
KAZEIA_MUST_CHECK kazeia_status kz_sentence_stream_next(kz_sentence_stream *stream,
                                                        kz_text_view *out_piece);
// After NEEDS_INPUT: the piece that is being read, as far as it goes; valid as long as a piece. It
// may yet be cut in its second half, or at a stop that is not decided.
kz_text_view kz_sentence_stream_peek(const kz_sentence_stream *stream);
// The text ends here: what is held is decided as it stands.
void kz_sentence_stream_finish(kz_sentence_stream *stream);
// As new, without allocating.
void kz_sentence_stream_reset(kz_sentence_stream *stream);

#endif
