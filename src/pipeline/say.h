// say.h: text as it is written -> samples: sentence cutter, spoken text, voice.
//
// The speaking stage that `say` and `turn` use: text comes in pieces of any size; each sentence
// goes to the voice as soon as it is whole, without what a voice must not read (markdown, emoji,
// thinking, special tokens), as a line ended by '\n'. All memory is taken at creation. feed and
// finish may run on one thread and next on another; cancel may come from any; reset needs them at
// rest. After a failure of next only reset leads on.
#ifndef KZ_PIPELINE_SAY_H
#define KZ_PIPELINE_SAY_H

#include "base/alloc.h"
#include "pipeline/stages.h"

typedef struct kz_say kz_say;

// The strings may go after creation.
typedef struct kz_say_options {
    const char *language;  // of the text, for abbreviations; NULL: "fr"
    bool cuts_first_early; // the first piece may end at a comma (text/sentence.h)
    bool is_polyglot;      // kz_say_set_language may be called
    // The voice takes a sentence as it is written: its first words before it is whole. The rest
    // comes when it is, ended by '\n' as ever.
    bool gives_words_early;
} kz_say_options;

// The table is copied. The voice stays the caller's and must outlive the stage; its begun_bytes is
// not called and may be NULL. OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_say_create(const kz_speak_table *voice,
                                              const kz_say_options *options,
                                              const kazeia_allocator *allocator, kz_say **out_say);
// NULL is fine; the voice is left alone.
void kz_say_destroy(kz_say *say);

// UTF-8; takes what there is room for. BAD_ARGUMENT after finish, until reset.
KAZEIA_MUST_CHECK kazeia_status kz_say_feed(kz_say *say, const char *text, size_t bytes,
                                            size_t *out_taken);
// Mono samples at the voice's rate, up to `capacity`: *out_count of them, maybe 0. NEEDS_INPUT: no
// whole sentence waits. DONE: all is spoken after finish. CANCELLED until reset. UNSUPPORTED when
// the voice asks for text and takes none.
KAZEIA_MUST_CHECK kazeia_status kz_say_next(kz_say *say, float *out_samples, size_t capacity,
                                            size_t *out_count);
// No more text comes: what is held is spoken as it stands.
KAZEIA_MUST_CHECK kazeia_status kz_say_finish(kz_say *say);
// The text that comes is in that language (ISO 639-1): cut and said so from here on. Only before
// the first feed after creation or reset, and only of a polyglot.
void kz_say_set_language(kz_say *say, const char *language);
// The pipeline's kz_speak_table.begun_bytes.
size_t kz_say_begun_bytes(const kz_say *say);
void kz_say_cancel(kz_say *say);
// As new, the voice included; ends a cancellation.
KAZEIA_MUST_CHECK kazeia_status kz_say_reset(kz_say *say);

#endif
