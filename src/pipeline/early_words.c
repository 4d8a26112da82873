// early_words.c: the first words of a sentence that is still being written.
//   in   the sentence so far
//   out  words that are spoken as they are written
// The cleaner works by whole sentences, since a number or an abbreviation is read by what stands
// around it. So a second one is asked what it makes of the words so far, as if they were all.
#include "pipeline/early_words.h"

#include <string.h>

#include "text/spoken.h"

// Half of the longest sentence: a cut of a longer one comes later (text/sentence.c).
#define MOST_BYTES ((size_t)150)
#define SPOKEN_BYTES 2048

struct kz_early_words {
    kazeia_allocator allocator;
    kz_spoken_stream *cleaner;
    kz_text_buffer spoken; // what the cleaner makes of the words so far
    size_t given;          // bytes of the sentence, white space in front included
    size_t given_count;    // of given_words
    char given_words[MOST_BYTES];
};

kazeia_status kz_early_words_create(const char *language, const kazeia_allocator *allocator,
                                    kz_early_words **out_early) {
    kz_early_words *early = NULL;
    KZ_TRY(kz_alloc(allocator, 1, sizeof *early, "early words", (void **)&early));
    early->allocator = *allocator;
    kazeia_status status = kz_spoken_stream_create(language, allocator, &early->cleaner);
    if (status == KAZEIA_OK) {
        status = kz_text_buffer_init(&early->spoken, allocator, SPOKEN_BYTES, SPOKEN_BYTES);
    }
    if (status != KAZEIA_OK) {
        kz_early_words_destroy(early);
        return status;
    }
    *out_early = early;
    return KAZEIA_OK;
}

void kz_early_words_destroy(kz_early_words *early) {
    if (early) {
        const kazeia_allocator memory = early->allocator;
        kz_spoken_stream_destroy(early->cleaner);
        kz_text_buffer_clear(&early->spoken);
        kz_free(&memory, early);
    }
}

// Behind the last two words that are whole, and the space that says so; all before is plain.
typedef struct word_ends {
    size_t last, before;
} word_ends;

// A hyphen or an apostrophe stands within a word, a comma behind it.
static bool may_follow(uint32_t previous, uint32_t c) {
    const bool is_after_letter = kz_char_is_letter(previous);
    if (c == ' ') {
        return is_after_letter || previous == ',';
    }
    if (c == '-' || c == '\'' || c == 0x2019 || c == ',') {
        return is_after_letter;
    }
    return kz_char_is_letter(c) && previous != ',';
}

static word_ends find_ends(kz_text_view text) {
    const size_t count = text.count < MOST_BYTES ? text.count : MOST_BYTES;
    word_ends ends = {0, 0};
    uint32_t previous = ' ';
    for (size_t at = 0; at < count;) {
        const kz_utf8_char ch = kz_utf8_read(text.bytes + at, count - at);
        if (ch.length == 0 || !ch.is_valid || !may_follow(previous, ch.code_point)) {
            break;
        }
        if (ch.code_point == ' ') {
            ends.before = ends.last;
            ends.last = at + 1;
        }
        previous = ch.code_point;
        at += ch.length;
    }
    return ends;
}

static kazeia_status ask_cleaner(kz_early_words *early, kz_text_view words) {
    kz_text_view part;
    size_t taken = 0;
    kazeia_status status = KAZEIA_OK;
    kz_text_buffer_reset(&early->spoken);
    kz_spoken_stream_reset(early->cleaner);
    // Its window holds more than MOST_BYTES.
    KZ_TRY(kz_spoken_stream_feed(early->cleaner, words.bytes, words.count, &taken));
    kz_spoken_stream_finish(early->cleaner);
    while ((status = kz_spoken_stream_next(early->cleaner, &part)) == KAZEIA_OK) {
        KZ_TRY(kz_text_buffer_append(&early->spoken, part.bytes, part.count));
    }
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}

static size_t white_in_front(kz_text_view text) {
    size_t count = 0;
    while (count < text.count && (text.bytes[count] == ' ' || text.bytes[count] == '\n')) {
        count++;
    }
    return count;
}

kazeia_status kz_early_words_give(kz_early_words *early, kz_text_view sentence,
                                  kz_text_buffer *words) {
    const size_t white = white_in_front(sentence);
    const kz_text_view text = {sentence.bytes + white, sentence.count - white};
    const word_ends ends = find_ends(text);
    if (ends.before <= early->given_count) {
        return KAZEIA_OK;
    }
    KZ_TRY(ask_cleaner(early, (kz_text_view){text.bytes, ends.last}));
    if (early->spoken.count < ends.before ||
        memcmp(early->spoken.bytes, text.bytes, ends.before) != 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_text_buffer_append(words, text.bytes + early->given_count,
                                 ends.before - early->given_count));
    memcpy(early->given_words, text.bytes, ends.before);
    early->given_count = ends.before;
    early->given = white + ends.before;
    return KAZEIA_OK;
}

size_t kz_early_words_given(const kz_early_words *early) {
    return early->given;
}

static size_t count_spaces(const char *text, size_t count) {
    size_t spaces = 0;
    for (size_t i = 0; i < count; i++) {
        spaces += text[i] == ' ';
    }
    return spaces;
}

// Bytes of the spoken sentence that have been said. Should the cleaner have changed its mind about
// a word that was, the words are counted: none is said twice.
static size_t said_bytes(const kz_early_words *early, const kz_text_buffer *spoken) {
    size_t bytes = early->given_count;
    if (bytes <= spoken->count && memcmp(spoken->bytes, early->given_words, bytes) == 0) {
        return bytes;
    }
    size_t words = count_spaces(early->given_words, bytes);
    for (bytes = 0; bytes < spoken->count && words > 0; bytes++) {
        words -= spoken->bytes[bytes] == ' ';
    }
    return bytes;
}

void kz_early_words_settle(kz_early_words *early, kz_text_buffer *spoken) {
    if (early->given_count > 0) {
        kz_text_buffer_drop_front(spoken, said_bytes(early, spoken));
    }
    kz_early_words_reset(early);
}

void kz_early_words_reset(kz_early_words *early) {
    early->given = early->given_count = 0;
}
