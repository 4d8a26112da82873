// spoken.h: takes out of a model's text what a voice must not read.
//
// in:  UTF-8 in pieces of any size: sentences from text/sentence, or tokens.
// out: the same text without markdown signs, emoji and emoticons, <think> blocks, special tokens,
//      fenced code, HTML tags, link targets, footnote marks, table rules, control characters and
//      bytes that are not UTF-8. HTML entities are decoded. Words, numbers and punctuation are not
//      rewritten: a stage that puts numbers in words reads this one's output with the same verbs.
//
// Blocks go on across pieces, and the output does not depend on how the text was fed. White space
// is given with the word after it, runs of it as one character, a line break if there was one. Time
// is linear, memory is fixed at creation. What is not closed by the end: <think> and fences hide
// all that follows; other signs are dropped and their text stays.
#ifndef KZ_TEXT_SPOKEN_H
#define KZ_TEXT_SPOKEN_H

#include "base/alloc.h"
#include "text/utf8.h"

typedef struct kz_spoken_stream kz_spoken_stream;

KAZEIA_MUST_CHECK kazeia_status kz_spoken_stream_create(const kazeia_allocator *allocator,
                                                        kz_spoken_stream **out_stream);
// NULL is fine.
void kz_spoken_stream_destroy(kz_spoken_stream *stream);

// Takes what fits. BAD_ARGUMENT after finish.
KAZEIA_MUST_CHECK kazeia_status kz_spoken_stream_feed(kz_spoken_stream *stream, const char *bytes,
                                                      size_t count, size_t *out_taken);
// Some clean text, whole characters; valid until the next call of next or reset. NEEDS_INPUT when
// all that could be decided has been given; DONE after finish.
KAZEIA_MUST_CHECK kazeia_status kz_spoken_stream_next(kz_spoken_stream *stream,
                                                      kz_text_view *out_text);
// The text ends here: what was held back is decided as it stands.
void kz_spoken_stream_finish(kz_spoken_stream *stream);
// As new, without allocating.
void kz_spoken_stream_reset(kz_spoken_stream *stream);

#endif
