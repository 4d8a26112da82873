// detokenizer.c: the bytes of tokens -> whole UTF-8 characters.
//
// in:  ids
// out: UTF-8
//
// Held bytes are a true start of some character. A byte that cannot follow them ends them as one
// U+FFFD and is then looked at again as a first byte: at most four bytes are ever held, and no byte
// is lost from sight.
#include "text/detokenizer.h"

#include <string.h>

#include "text/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define REPLACEMENT_BYTES 3u

void kz_detokenizer_init(kz_detokenizer *detokenizer, const kz_tokenizer *tokenizer,
                         uint32_t flags) {
    *detokenizer = (kz_detokenizer){
        .tokenizer = tokenizer,
        .flags = flags,
        .is_at_start =
            (flags & KZ_DECODE_FROM_START) != 0 && kz_tokenizer_has_space_prefix(tokenizer),
    };
}

// Each byte of the token, and each held from before it, may become a replacement of three.
size_t kz_detokenizer_room(const kz_tokenizer *tokenizer) {
    return REPLACEMENT_BYTES * (kz_tokenizer_longest_token(tokenizer) + sizeof(uint32_t));
}

static size_t write_held(kz_detokenizer *detokenizer, char *out) {
    memcpy(out, detokenizer->held, detokenizer->held_count);
    const size_t written = detokenizer->held_count;
    detokenizer->held_count = 0;
    return written;
}

static size_t write_replacement(kz_detokenizer *detokenizer, char *out) {
    memcpy(out, REPLACEMENT, REPLACEMENT_BYTES);
    detokenizer->held_count = 0;
    return REPLACEMENT_BYTES;
}

// At most two rounds: the byte that ends held ones is then the first of its own.
static size_t take_byte(kz_detokenizer *detokenizer, uint8_t byte, char *out) {
    size_t written = 0;
    for (;;) {
        detokenizer->held[detokenizer->held_count++] = byte;
        const kz_utf8_char read =
            kz_utf8_read((const char *)detokenizer->held, detokenizer->held_count);
        if (read.length == 0) {
            return written; // a true start
        }
        if (read.is_valid) {
            return written + write_held(detokenizer, out + written);
        }
        // A byte that is wrong by itself is consumed; one that only ends another character is
        // looked at again.
        const bool was_first = detokenizer->held_count == 1;
        written += write_replacement(detokenizer, out + written);
        if (was_first) {
            return written;
        }
    }
}

static bool is_shown(const kz_detokenizer *detokenizer, uint32_t id) {
    if ((detokenizer->flags & KZ_DECODE_SPECIAL) != 0) {
        return true;
    }
    const kz_token_kind kind = kz_tokenizer_token_kind(detokenizer->tokenizer, id);
    return kind != KZ_TOKEN_CONTROL && kind != KZ_TOKEN_UNKNOWN;
}

size_t kz_detokenizer_push(kz_detokenizer *detokenizer, uint32_t id, char *out) {
    if (!is_shown(detokenizer, id)) {
        return 0;
    }
    kz_bytes token = kz_tokenizer_token_bytes(detokenizer->tokenizer, id);
    if (detokenizer->is_at_start && token.count > 0) {
        detokenizer->is_at_start = false;
        // SentencePiece puts a space in front of a text; only the one at the very start is not the
        // text's own.
        if (token.bytes[0] == ' ') {
            token = (kz_bytes){token.bytes + 1, token.count - 1};
        }
    }
    size_t written = 0;
    for (size_t i = 0; i < token.count; i++) {
        written += take_byte(detokenizer, token.bytes[i], out + written);
    }
    return written;
}

size_t kz_detokenizer_flush(kz_detokenizer *detokenizer, char *out) {
    const size_t written = detokenizer->held_count > 0 ? write_replacement(detokenizer, out) : 0;
    // Ready for another text: the flags say whether its first space goes again.
    kz_detokenizer_init(detokenizer, detokenizer->tokenizer, detokenizer->flags);
    return written;
}
