// early_words.h: the first words of a sentence that is still being written.
//
// in:  the sentence so far, again and again as it grows; once, all of it as it is spoken
// out: those of its words that are spoken as they are written, each once
//
// A voice that takes text as it comes speaks them before the sentence is whole. Only words of plain
// letters are given, and only before another such word: the cleaner has been asked whether it
// leaves them alone, and what it does to a word depends on no word further on.
#ifndef KZ_PIPELINE_EARLY_WORDS_H
#define KZ_PIPELINE_EARLY_WORDS_H

#include "base/text_buffer.h"
#include "text/utf8.h"

typedef struct kz_early_words kz_early_words;

// `language`: of the cleaner, NULL for one without words. OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_early_words_create(const char *language,
                                                      const kazeia_allocator *allocator,
                                                      kz_early_words **out_early);
// NULL is fine.
void kz_early_words_destroy(kz_early_words *early);
// Appends the words of the sentence that can be spoken now and were not given yet.
KAZEIA_MUST_CHECK kazeia_status kz_early_words_give(kz_early_words *early, kz_text_view sentence,
                                                    kz_text_buffer *words);
// Bytes of the present sentence that were given.
size_t kz_early_words_given(const kz_early_words *early);
// The sentence is whole: takes what was given off its spoken form. Another one begins.
void kz_early_words_settle(kz_early_words *early, kz_text_buffer *spoken);
// As new.
void kz_early_words_reset(kz_early_words *early);

#endif
