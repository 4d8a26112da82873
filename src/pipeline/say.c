// say.c: text as it is written -> samples: sentence cutter, spoken text, voice.
//   in   bytes of text
//   out  samples
// A sentence waits here, cleaned, until the voice has taken it, or its first words do, for a voice
// that takes them early: so the voice never sees half a word, and text is only drawn from the
// cutter when the voice has nothing to say. For that reason what the voice gives belongs to the
// last sentence that was drawn. The lock is held for the time of a cut, never while the voice
// works.
#include "pipeline/say.h"

#include <stdatomic.h>
#include <string.h>

#include "base/text_buffer.h"
#include "base/thread.h"
#include "pipeline/early_words.h"
#include "text/sentence.h"
#include "text/spoken.h"

#define CLEAN_BYTES 16384 // of one sentence, with room for what the cleaner held back

#define MOST_TONGUES 3u

// What reads text of one language.
typedef struct tongue {
    const char *language; // NULL: any other
    kz_sentence_stream *sentences;
    kz_spoken_stream *spoken;
    kz_early_words *early; // NULL: the voice is given whole sentences
} tongue;

struct kz_say {
    kazeia_allocator allocator;
    kz_speak_table voice;
    tongue tongues[MOST_TONGUES];
    size_t tongue_count;
    const tongue *tongue; // the one that is spoken
    kz_text_buffer clean; // the present sentence, ended by '\n'
    bool is_cleaned;      // the cutter and the cleaner have given everything
    bool is_told;         // the voice knows that no more comes
    size_t drawn_bytes;   // of the text, in the sentences that the cutter has given
    size_t begun_bytes;   // of these, in those with sound
    atomic_bool is_cancelled;

    kz_mutex text_lock; // between the feeding and the speaking thread; guards what follows
    bool has_text_lock; // the tongues' sentences, too
    size_t fed_bytes;
    bool is_finished; // no more text comes
};

// Where this build has no words for a language, the voice reads numbers in its own way.
static kazeia_status add_tongue(kz_say *say, const kz_say_options *options, const char *language) {
    tongue *added = &say->tongues[say->tongue_count++];
    const kz_sentence_options cutting = {.language = language == NULL ? "en" : language,
                                         .first_fragment_early = options->cuts_first_early};
    const char *words = language != NULL && kz_spoken_has_words(language) ? language : NULL;
    added->language = language;
    KZ_TRY(kz_sentence_stream_create(&say->allocator, &cutting, &added->sentences));
    if (options->gives_words_early) {
        KZ_TRY(kz_early_words_create(words, &say->allocator, &added->early));
    }
    return kz_spoken_stream_create(words, &say->allocator, &added->spoken);
}

static kazeia_status fill(kz_say *say, const kz_say_options *options) {
    // The flag tells destroy whether there is a lock to clear: a zeroed one is not yet one.
    KZ_TRY(kz_mutex_init(&say->text_lock));
    say->has_text_lock = true;
    say->tongue = &say->tongues[0];
    if (options->is_polyglot) {
        KZ_TRY(add_tongue(say, options, "fr"));
        KZ_TRY(add_tongue(say, options, "en"));
        KZ_TRY(add_tongue(say, options, NULL));
        kz_say_set_language(say, options->language == NULL ? "fr" : options->language);
    } else {
        KZ_TRY(add_tongue(say, options, options->language == NULL ? "fr" : options->language));
        // The caller's string may go.
        say->tongues[0].language = NULL;
    }
    return kz_text_buffer_init(&say->clean, &say->allocator, CLEAN_BYTES, CLEAN_BYTES);
}

kazeia_status kz_say_create(const kz_speak_table *voice, const kz_say_options *options,
                            const kazeia_allocator *allocator, kz_say **out_say) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_say *say = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *say, "speaking stage", (void **)&say));
    say->allocator = memory;
    // The table is copied, what it points to stays the caller's.
    say->voice = *voice;
    atomic_init(&say->is_cancelled, false);
    const kazeia_status status = fill(say, options);
    if (status != KAZEIA_OK) {
        kz_say_destroy(say);
        return status;
    }
    *out_say = say;
    return KAZEIA_OK;
}

void kz_say_destroy(kz_say *say) {
    if (!say) {
        return;
    }
    const kazeia_allocator memory = say->allocator;
    for (size_t i = 0; i < say->tongue_count; i++) {
        kz_sentence_stream_destroy(say->tongues[i].sentences);
        kz_spoken_stream_destroy(say->tongues[i].spoken);
        kz_early_words_destroy(say->tongues[i].early);
    }
    kz_text_buffer_clear(&say->clean);
    if (say->has_text_lock) {
        kz_mutex_clear(&say->text_lock);
    }
    kz_free(&memory, say);
}

kazeia_status kz_say_feed(kz_say *say, const char *text, size_t bytes, size_t *out_taken) {
    *out_taken = 0;
    kz_mutex_lock(&say->text_lock);
    // The cutter decides how much it takes; nothing here may hold text that the cutter has not
    // seen.
    const kazeia_status status =
        say->is_finished ? kz_fail(KAZEIA_BAD_ARGUMENT, "speak: fed after finish; reset it first")
                         : kz_sentence_stream_feed(say->tongue->sentences, text, bytes, out_taken);
    say->fed_bytes += *out_taken;
    kz_mutex_unlock(&say->text_lock);
    return status;
}

kazeia_status kz_say_finish(kz_say *say) {
    kz_mutex_lock(&say->text_lock);
    kz_sentence_stream_finish(say->tongue->sentences);
    say->is_finished = true;
    kz_mutex_unlock(&say->text_lock);
    return KAZEIA_OK;
}

// Moves what the cleaner has decided into `clean`. Both ends are good news: the cleaner has given
// all that it can for now, or for ever.
static kazeia_status collect_clean(kz_say *say, kazeia_status *out_end) {
    for (;;) {
        kz_text_view text;
        *out_end = kz_spoken_stream_next(say->tongue->spoken, &text);
        if (*out_end == KAZEIA_NEEDS_INPUT || *out_end == KAZEIA_DONE) {
            return KAZEIA_OK;
        }
        KZ_TRY(*out_end);
        KZ_TRY(kz_text_buffer_append(&say->clean, text.bytes, text.count));
    }
}

static kazeia_status clean_sentence(kz_say *say, const kz_text_view *sentence) {
    size_t fed = 0;
    // The cleaner's window may be smaller than a sentence: it takes a part, and what it gives is
    // collected before the next one.
    while (fed < sentence->count) {
        size_t taken = 0;
        kazeia_status end = KAZEIA_OK;
        KZ_TRY(kz_spoken_stream_feed(say->tongue->spoken, sentence->bytes + fed,
                                     sentence->count - fed, &taken));
        fed += taken;
        KZ_TRY(collect_clean(say, &end));
    }
    return KAZEIA_OK;
}

static kazeia_status end_cleaning(kz_say *say) {
    kazeia_status end = KAZEIA_OK;
    kz_spoken_stream_finish(say->tongue->spoken);
    say->is_cleaned = true;
    return collect_clean(say, &end);
}

// The cleaner gives white space with the word after it: that between two sentences comes with the
// second, where a line break would be a sentence of its own.
static void trim_front(kz_text_buffer *text) {
    size_t white = 0;
    while (white < text->count && (text->bytes[white] == ' ' || text->bytes[white] == '\n')) {
        white++;
    }
    kz_text_buffer_drop_front(text, white);
}

// Of the sentence that the cutter has not given yet, what the voice was given.
static size_t early_bytes(const kz_say *say) {
    return say->tongue->early ? kz_early_words_given(say->tongue->early) : 0;
}

// Draws the next sentence into `clean`; KAZEIA_NEEDS_INPUT when there is none yet. At the text's
// last sentence the cleaner is told so at once: what it held back, an exclamation mark maybe, is
// spoken with its sentence. KAZEIA_OK with an empty `clean` is possible: a sentence of markup alone
// has nothing to say.
static kazeia_status draw_sentence(kz_say *say) {
    kz_text_view sentence = {0};
    const kazeia_status status = kz_sentence_stream_next(say->tongue->sentences, &sentence);
    if (status != KAZEIA_DONE) {
        KZ_TRY(status);
        kazeia_status end = KAZEIA_OK;
        KZ_TRY(clean_sentence(say, &sentence));
        kz_spoken_stream_end_sentence(say->tongue->spoken);
        KZ_TRY(collect_clean(say, &end));
        // Counted in bytes of the text as it was fed, not as it is spoken: begun_bytes must find
        // its place in the reply.
        say->drawn_bytes += sentence.count;
    }
    if (status == KAZEIA_DONE || (say->is_finished && say->drawn_bytes == say->fed_bytes)) {
        KZ_TRY(end_cleaning(say));
    }
    trim_front(&say->clean);
    const bool has_begun = early_bytes(say) > 0;
    if (has_begun) {
        kz_early_words_settle(say->tongue->early, &say->clean);
    }
    return say->clean.count || has_begun ? kz_text_buffer_append(&say->clean, "\n", 1) : KAZEIA_OK;
}

// No sentence is whole: its first words, for a voice that takes them.
static kazeia_status draw_words(kz_say *say) {
    const tongue *spoken = say->tongue;
    if (!spoken->early || !kz_spoken_stream_is_plain(spoken->spoken)) {
        return KAZEIA_NEEDS_INPUT;
    }
    const kz_text_view sentence = kz_sentence_stream_peek(spoken->sentences);
    KZ_TRY(kz_early_words_give(spoken->early, sentence, &say->clean));
    return say->clean.count ? KAZEIA_OK : KAZEIA_NEEDS_INPUT;
}

// The view that the cutter gives points into its buffer, which a feed may move: so the cleaning
// happens under the lock, too.
static kazeia_status draw_locked(kz_say *say) {
    kz_mutex_lock(&say->text_lock);
    const kazeia_status drawn = draw_sentence(say);
    const kazeia_status status = drawn == KAZEIA_NEEDS_INPUT ? draw_words(say) : drawn;
    kz_mutex_unlock(&say->text_lock);
    return status;
}

static kazeia_status give_to_voice(kz_say *say) {
    size_t taken = 0;
    KZ_TRY(say->voice.feed(say->voice.self, say->clean.bytes, say->clean.count, &taken));
    // A voice that asks and takes nothing would make the caller's loop run for ever.
    if (taken == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "speak: the voice asks for text and takes none of a sentence of %zu bytes",
                       say->clean.count);
    }
    kz_text_buffer_drop_front(&say->clean, taken);
    return KAZEIA_OK;
}

// The voice has nothing to say: gives it the next sentence, or the end.
static kazeia_status supply_voice(kz_say *say) {
    if (say->clean.count) {
        return give_to_voice(say);
    }
    if (!say->is_cleaned) {
        KZ_TRY(draw_locked(say));
        return say->clean.count ? give_to_voice(say) : KAZEIA_OK;
    }
    // Once: a voice may refuse a second end.
    if (!say->is_told) {
        say->is_told = true;
        return say->voice.finish(say->voice.self);
    }
    return KAZEIA_OK;
}

kazeia_status kz_say_next(kz_say *say, float *out_samples, size_t capacity, size_t *out_count) {
    *out_count = 0;
    // Asked here as well as in the voice: the voice may have been between two calls, with no work
    // that a cancellation could stop.
    if (atomic_load(&say->is_cancelled)) {
        return kz_fail(KAZEIA_CANCELLED, "speak: stopped");
    }
    const kazeia_status status = say->voice.next(say->voice.self, out_samples, capacity, out_count);
    if (status == KAZEIA_OK && *out_count) {
        say->begun_bytes = say->drawn_bytes + early_bytes(say);
    }
    return status == KAZEIA_NEEDS_INPUT ? supply_voice(say) : status;
}

// "en-gb" is English; the last tongue is any other language's. The others are as reset left them.
void kz_say_set_language(kz_say *say, const char *language) {
    size_t i = 0;
    while (i + 1 < say->tongue_count && strncmp(say->tongues[i].language, language, 2) != 0) {
        i++;
    }
    say->tongue = &say->tongues[i];
}

size_t kz_say_begun_bytes(const kz_say *say) {
    return say->begun_bytes;
}

// The flag first: a next that begins after the voice has stopped must not feed it again.
void kz_say_cancel(kz_say *say) {
    atomic_store(&say->is_cancelled, true);
    say->voice.cancel(say->voice.self);
}

kazeia_status kz_say_reset(kz_say *say) {
    kz_sentence_stream_reset(say->tongue->sentences);
    kz_spoken_stream_reset(say->tongue->spoken);
    if (say->tongue->early) {
        kz_early_words_reset(say->tongue->early);
    }
    kz_text_buffer_reset(&say->clean);
    say->is_finished = say->is_cleaned = say->is_told = false;
    say->fed_bytes = say->drawn_bytes = say->begun_bytes = 0;
    atomic_store(&say->is_cancelled, false);
    // Last, because it may fail: the stage itself is new by then.
    return say->voice.reset(say->voice.self);
}
