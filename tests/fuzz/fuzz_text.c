// fuzz_text.c: the sentence and spoken streams on any bytes, fed in two ways.
//
// in: one byte that sets the feed size, then text. out: nothing; pieces that are not the text,
// output that depends on the feed, or that is not UTF-8, end the program.
#include <stdlib.h>
#include <string.h>

#include "text/sentence.h"
#include "text/spoken.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

typedef struct result {
    uint64_t hash;
    size_t count;
} result;

static void add(result *r, uint64_t value) {
    r->hash = (r->hash ^ value) * 1099511628211u;
}

static void require(bool is_true) {
    if (!is_true) {
        abort();
    }
}

static result cut(const char *text, size_t count, size_t size) {
    const kz_sentence_options options = {"fr", false, 24};
    kz_sentence_stream *stream;
    result r = {1, 0};
    size_t at = 0, taken;
    kz_text_view piece;
    if (kz_sentence_stream_create(NULL, &options, &stream) != KAZEIA_OK) {
        return r;
    }
    for (kazeia_status status = KAZEIA_OK; status != KAZEIA_DONE;) {
        status = kz_sentence_stream_next(stream, &piece);
        if (status == KAZEIA_OK) {
            require(memcmp(piece.bytes, text + r.count, piece.count) == 0);
            r.count += piece.count;
            add(&r, r.count);
        } else if (status == KAZEIA_NEEDS_INPUT && at == count) {
            kz_sentence_stream_finish(stream);
        } else if (status == KAZEIA_NEEDS_INPUT) {
            const size_t wanted = size < count - at ? size : count - at;
            require(kz_sentence_stream_feed(stream, text + at, wanted, &taken) == KAZEIA_OK);
            at += taken;
        }
    }
    kz_sentence_stream_destroy(stream);
    require(r.count == count);
    return r;
}

static void add_text(result *r, kz_text_view text) {
    for (size_t i = 0; i < text.count;) {
        const kz_utf8_char c = kz_utf8_read(text.bytes + i, text.count - i);
        require(c.is_valid);
        add(r, c.code_point);
        i += c.length;
    }
    r->count += text.count;
}

static result speak(const char *language, const char *text, size_t count, size_t size) {
    kz_spoken_stream *stream;
    result r = {1, 0};
    size_t at = 0, taken;
    kz_text_view piece;
    if (kz_spoken_stream_create(language, NULL, &stream) != KAZEIA_OK) {
        return r;
    }
    for (kazeia_status status = KAZEIA_OK; status != KAZEIA_DONE;) {
        status = kz_spoken_stream_next(stream, &piece);
        if (status == KAZEIA_OK) {
            add_text(&r, piece);
        } else if (status == KAZEIA_NEEDS_INPUT && at == count) {
            kz_spoken_stream_finish(stream);
        } else if (status == KAZEIA_NEEDS_INPUT) {
            const size_t wanted = size < count - at ? size : count - at;
            require(kz_spoken_stream_feed(stream, text + at, wanted, &taken) == KAZEIA_OK);
            at += taken;
        }
    }
    kz_spoken_stream_destroy(stream);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    if (count < 1) {
        return 0;
    }
    const size_t size = 1 + bytes[0] % 16;
    const char *text = (const char *)bytes + 1;
    const result whole = cut(text, count - 1, count), parts = cut(text, count - 1, size);
    require(whole.hash == parts.hash);
    // Words cost a look into ICU at creation: not each input pays it.
    const char *language = bytes[0] >= 248 ? "fr" : bytes[0] >= 240 ? "en" : NULL;
    const result said = speak(language, text, count - 1, count);
    const result said_parts = speak(language, text, count - 1, size);
    require(said.hash == said_parts.hash && said.count == said_parts.count);
    return 0;
}
