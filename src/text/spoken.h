// spoken.h: what a person writes -> what a voice says.
//
// in:  UTF-8 in pieces of any size: sentences from text/sentence, or tokens.
// out: the same text without markdown signs, emoji and emoticons, <think> blocks, special tokens,
//      fenced code, HTML tags, link targets, footnote marks, table rules, control characters and
//      bytes that are not UTF-8. HTML entities are decoded. In French and English also numbers,
//      dates, units, signs, abbreviations and addresses as a careful speaker says them, in one
//      line, with punctuation; in other languages words, numbers and signs stay as they are.
//
// Blocks go on across pieces, and the output does not depend on how the text was fed: words are
// given when the sentence or line is whole. White space is given with the word after it, runs of it
// as one character, a line break (where words stay as they are) if there was one. Time is linear,
// memory is fixed at creation. What is not closed by the end: <think> and fences hide all that
// follows; other signs are dropped and their text stays.
#ifndef KZ_TEXT_SPOKEN_H
#define KZ_TEXT_SPOKEN_H

#include "base/alloc.h"
#include "text/utf8.h"

typedef struct kz_spoken_stream kz_spoken_stream;

// `language`: of the text, an ISO 639-1 code, as "fr" or "fr-CA"; NULL: words stay as they are.
// UNSUPPORTED for a language with words when this build has no ICU, OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_spoken_stream_create(const char *language,
                                                        const kazeia_allocator *allocator,
                                                        kz_spoken_stream **out_stream);
// Whether there are words for that language; the second: in this build, too.
bool kz_spoken_is_known(const char *language);
bool kz_spoken_has_words(const char *language);
// NULL is fine.
void kz_spoken_stream_destroy(kz_spoken_stream *stream);

// Takes what fits. BAD_ARGUMENT after finish.
KAZEIA_MUST_CHECK kazeia_status kz_spoken_stream_feed(kz_spoken_stream *stream, const char *bytes,
                                                      size_t count, size_t *out_taken);
// Some clean text, whole characters; valid until the next call of next or reset. NEEDS_INPUT when
// all that could be decided has been given; DONE after finish.
KAZEIA_MUST_CHECK kazeia_status kz_spoken_stream_next(kz_spoken_stream *stream,
                                                      kz_text_view *out_text);
// A sentence ends with what was fed: what was held back is decided as it stands, and given by next
// before it returns NEEDS_INPUT. Blocks (thinking, fences) stay open. Call it where a sentence
// surely ends, as text/sentence says, and take all that next gives before the next feed.
void kz_spoken_stream_end_sentence(kz_spoken_stream *stream);
// Whether words that are fed now would be read as words: no block, link or line of signs is open.
bool kz_spoken_stream_is_plain(const kz_spoken_stream *stream);
// The text ends here: what was held back is decided as it stands.
void kz_spoken_stream_finish(kz_spoken_stream *stream);
// As new, without allocating.
void kz_spoken_stream_reset(kz_spoken_stream *stream);

#endif
