// reader.c: kazeia_reader: text cut into sentences and put in the words that a voice says.
//   in   a whole text
//   out  its sentences, or its words
// Buffers grow with the longest text seen: this is a tool's interface, not a running stage's. The
// words are made when they are first asked for, since cutting needs none.
#include <string.h>

#include "api/handles.h"
#include "base/text_buffer.h"
#include "kazeia/text.h"
#include "text/sentence.h"
#include "text/spoken.h"

#define WORDS_LIMIT ((size_t)1 << 34)

struct kazeia_reader {
    kazeia_allocator allocator;
    char *language;
    kz_sentence_stream *sentences;
    kz_spoken_stream *spoken; // NULL until words are asked for
    kz_text_buffer words;
    kazeia_text_span *spans; // [span_capacity]
    size_t span_count, span_capacity;
};

static kazeia_status fill_reader(kazeia_reader *reader, const char *language, uint32_t max_chars) {
    const kz_sentence_options options = {.language = language, .max_chars = max_chars};
    KZ_TRY(kz_copy_string(&reader->allocator, language, strlen(language), &reader->language));
    KZ_TRY(kz_text_buffer_init(&reader->words, &reader->allocator, 0, WORDS_LIMIT));
    return kz_sentence_stream_create(&reader->allocator, &options, &reader->sentences);
}

kazeia_status kazeia_reader_create(const char *language, uint32_t max_chars,
                                   const kazeia_allocator *allocator, kazeia_reader **out_reader) {
    KZ_TRY(kz_require(out_reader, "reader: out_reader"));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kazeia_reader *reader = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *reader, "reader", (void **)&reader));
    memset(reader, 0, sizeof *reader);
    reader->allocator = memory;
    // Destroy clears the buffer also when its init was never reached.
    reader->words.allocator = memory;
    const kazeia_status status = fill_reader(reader, language == NULL ? "fr" : language, max_chars);
    if (status != KAZEIA_OK) {
        kazeia_reader_destroy(reader);
        return status;
    }
    *out_reader = reader;
    return KAZEIA_OK;
}

void kazeia_reader_destroy(kazeia_reader *reader) {
    if (!reader) {
        return;
    }
    const kazeia_allocator memory = reader->allocator;
    kz_sentence_stream_destroy(reader->sentences);
    kz_spoken_stream_destroy(reader->spoken);
    kz_text_buffer_clear(&reader->words);
    kz_free(&memory, reader->spans);
    kz_free(&memory, reader->language);
    kz_free(&memory, reader);
}

static kazeia_status open_words(kazeia_reader *reader) {
    if (reader->spoken != NULL) {
        kz_spoken_stream_reset(reader->spoken);
        return KAZEIA_OK;
    }
    if (!kz_spoken_is_known(reader->language)) {
        return kz_fail(KAZEIA_UNSUPPORTED, "spoken: no words for '%s', expected fr or en",
                       reader->language);
    }
    return kz_spoken_stream_create(reader->language, &reader->allocator, &reader->spoken);
}

kazeia_status kazeia_reader_say(kazeia_reader *reader, const char *text, size_t bytes,
                                const char **out_text, size_t *out_bytes) {
    KZ_TRY(kz_require(reader, "say: reader"));
    KZ_TRY(kz_require(text, "say: text"));
    KZ_TRY(kz_require(out_text, "say: out_text"));
    KZ_TRY(kz_require(out_bytes, "say: out_bytes"));
    KZ_TRY(open_words(reader));
    kz_text_buffer_reset(&reader->words);
    // An empty text has words too: none, with their NUL.
    KZ_TRY(kz_text_buffer_append(&reader->words, " ", 1));
    kz_text_buffer_reset(&reader->words);
    kazeia_status status = KAZEIA_OK;
    for (size_t fed = 0, taken = 0; status != KAZEIA_DONE;) {
        kz_text_view piece = {0};
        status = kz_spoken_stream_next(reader->spoken, &piece);
        if (status == KAZEIA_OK) {
            KZ_TRY(kz_text_buffer_append(&reader->words, piece.bytes, piece.count));
        } else if (status == KAZEIA_NEEDS_INPUT && fed == bytes) {
            kz_spoken_stream_finish(reader->spoken);
        } else if (status == KAZEIA_NEEDS_INPUT) {
            KZ_TRY(kz_spoken_stream_feed(reader->spoken, text + fed, bytes - fed, &taken));
            fed += taken;
        }
    }
    *out_text = reader->words.bytes;
    *out_bytes = reader->words.count;
    return KAZEIA_OK;
}

static kazeia_status keep_span(kazeia_reader *reader, kazeia_text_span span) {
    if (reader->span_count == reader->span_capacity) {
        const size_t capacity = 2 * reader->span_capacity + 64;
        KZ_TRY(kz_realloc(&reader->allocator, reader->span_capacity, capacity, sizeof span,
                          "sentences", (void **)&reader->spans));
        reader->span_capacity = capacity;
    }
    reader->spans[reader->span_count++] = span;
    return KAZEIA_OK;
}

static kazeia_status keep_sentence(kazeia_reader *reader, const kz_text_view *piece, size_t at) {
    size_t begin = 0, end = 0;
    // White space may be of several bytes: each character is looked at once.
    for (size_t i = 0; i < piece->count;) {
        const kz_utf8_char c = kz_utf8_read_last(piece->bytes + i, piece->count - i);
        i += c.length;
        if (!kz_char_is_space(c.code_point)) {
            begin = end == 0 ? i - c.length : begin;
            end = i;
        }
    }
    return end == 0 ? KAZEIA_OK : keep_span(reader, (kazeia_text_span){at + begin, end - begin});
}

kazeia_status kazeia_reader_cut(kazeia_reader *reader, const char *text, size_t bytes,
                                const kazeia_text_span **out_spans, size_t *out_count) {
    KZ_TRY(kz_require(reader, "cut: reader"));
    KZ_TRY(kz_require(text, "cut: text"));
    KZ_TRY(kz_require(out_spans, "cut: out_spans"));
    KZ_TRY(kz_require(out_count, "cut: out_count"));
    kz_sentence_stream_reset(reader->sentences);
    reader->span_count = 0;
    kazeia_status status = KAZEIA_OK;
    for (size_t fed = 0, at = 0, taken = 0; status != KAZEIA_DONE;) {
        kz_text_view piece = {0};
        status = kz_sentence_stream_next(reader->sentences, &piece);
        if (status == KAZEIA_OK) {
            KZ_TRY(keep_sentence(reader, &piece, at));
            at += piece.count;
        } else if (status == KAZEIA_NEEDS_INPUT && fed == bytes) {
            kz_sentence_stream_finish(reader->sentences);
        } else if (status == KAZEIA_NEEDS_INPUT) {
            KZ_TRY(kz_sentence_stream_feed(reader->sentences, text + fed, bytes - fed, &taken));
            fed += taken;
        }
    }
    *out_spans = reader->spans;
    *out_count = reader->span_count;
    return KAZEIA_OK;
}
