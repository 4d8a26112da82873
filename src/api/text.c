// text.c: kazeia_tokenizer: a program's tokenizer by itself.
//   in   text, or ids
//   out  ids, or text
// Buffers grow with the longest text seen: this is a tool's interface, not a running stage's.
#include "kazeia/text.h"

#include "api/handles.h"
#include "base/text_buffer.h"
#include "text/detokenizer.h"

// Token ids take four bytes a byte of text at worst, so this is 4 GB of them.
#define TEXT_LIMIT ((size_t)1 << 30)

struct kazeia_tokenizer {
    kazeia_allocator allocator;
    kz_program *program; // holds the section
    kz_tokenizer *tokenizer;
    size_t max_text_bytes; // of the present tokenizer
    uint32_t *ids;
    size_t id_capacity;
    kz_text_buffer text;
};

static kazeia_status open_tokenizer(kazeia_tokenizer *tokenizer, size_t max_text_bytes) {
    const kz_bytes *section = &kz_program_describe(tokenizer->program)->tokenizer;
    const kz_tokenizer_options options = {.max_text_bytes = max_text_bytes};
    kz_tokenizer *opened = NULL;
    // The new one first: a failure leaves the old one in use.
    KZ_TRY(kz_tokenizer_open(section, &options, &tokenizer->allocator, &opened));
    kz_tokenizer_close(tokenizer->tokenizer);
    tokenizer->tokenizer = opened;
    tokenizer->max_text_bytes = max_text_bytes;
    return KAZEIA_OK;
}

static kazeia_status fill_tokenizer(kazeia_tokenizer *tokenizer) {
    if (kz_program_describe(tokenizer->program)->tokenizer.count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "tokenizer: the program has none");
    }
    // The limit is on what one call may hold; nothing is reserved, for most uses are short.
    KZ_TRY(kz_text_buffer_init(&tokenizer->text, &tokenizer->allocator, 0, TEXT_LIMIT));
    return open_tokenizer(tokenizer, KZ_TOKENIZER_TEXT_BYTES);
}

kazeia_status kazeia_tokenizer_create(const kazeia_program *program,
                                      const kazeia_allocator *allocator,
                                      kazeia_tokenizer **out_tokenizer) {
    KZ_TRY(kz_require(program, "tokenizer: program"));
    KZ_TRY(kz_require(out_tokenizer, "tokenizer: out_tokenizer"));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kazeia_tokenizer *tokenizer = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *tokenizer, "tokenizer", (void **)&tokenizer));
    tokenizer->allocator = memory;
    // Destroy clears the buffer also when its init was never reached.
    tokenizer->text.allocator = memory;
    tokenizer->program = kz_program_retain(program->loaded);
    const kazeia_status status = fill_tokenizer(tokenizer);
    if (status != KAZEIA_OK) {
        kazeia_tokenizer_destroy(tokenizer);
        return status;
    }
    *out_tokenizer = tokenizer;
    return KAZEIA_OK;
}

void kazeia_tokenizer_destroy(kazeia_tokenizer *tokenizer) {
    if (!tokenizer) {
        return;
    }
    const kazeia_allocator memory = tokenizer->allocator;
    kz_tokenizer_close(tokenizer->tokenizer);
    kz_text_buffer_clear(&tokenizer->text);
    kz_free(&memory, tokenizer->ids);
    kz_program_release(tokenizer->program);
    kz_free(&memory, tokenizer);
}

static kazeia_status make_room(kazeia_tokenizer *tokenizer, size_t bytes) {
    if (bytes > TEXT_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "tokenizer: a text of %zu bytes, at most %zu are taken",
                       bytes, TEXT_LIMIT);
    }
    if (bytes > tokenizer->max_text_bytes) {
        KZ_TRY(open_tokenizer(tokenizer, bytes));
    }
    const size_t needed = kz_tokenizer_most_tokens(tokenizer->tokenizer, bytes);
    if (needed > tokenizer->id_capacity) {
        // 0 old elements are kept: the ids of the last call are no longer anyone's.
        KZ_TRY(kz_realloc(&tokenizer->allocator, 0, needed, sizeof *tokenizer->ids, "token ids",
                          (void **)&tokenizer->ids));
        tokenizer->id_capacity = needed;
    }
    return KAZEIA_OK;
}

kazeia_status kazeia_tokenizer_encode(kazeia_tokenizer *tokenizer, const char *text, size_t bytes,
                                      bool parse_special, const int32_t **out_ids,
                                      size_t *out_count) {
    KZ_TRY(kz_require(tokenizer, "encode: tokenizer"));
    KZ_TRY(kz_require(text, "encode: text"));
    KZ_TRY(kz_require(out_ids, "encode: out_ids"));
    KZ_TRY(kz_require(out_count, "encode: out_count"));
    KZ_TRY(make_room(tokenizer, bytes));
    const uint32_t flags =
        parse_special ? KZ_ENCODE_PARSE_SPECIAL | KZ_ENCODE_ADD_BOS_EOS : KZ_ENCODE_PLAIN;
    KZ_TRY(kz_tokenizer_encode(tokenizer->tokenizer, text, bytes, flags, tokenizer->ids,
                               tokenizer->id_capacity, out_count));
    *out_ids = (const int32_t *)tokenizer->ids; // a vocabulary has less than 2^31 tokens
    return KAZEIA_OK;
}

static kazeia_status append_tokens(kazeia_tokenizer *tokenizer, const int32_t *ids, size_t count) {
    // For the longest token of this vocabulary, each of whose bytes may become a replacement
    // character.
    const size_t room = kz_detokenizer_room(tokenizer->tokenizer);
    char *piece = NULL;
    KZ_TRY(kz_alloc(&tokenizer->allocator, room, 1, "a token's text", (void **)&piece));
    kz_detokenizer detokenizer;
    kz_detokenizer_init(&detokenizer, tokenizer->tokenizer,
                        KZ_DECODE_SPECIAL | KZ_DECODE_FROM_START);
    kazeia_status status = KAZEIA_OK;
    for (size_t i = 0; i < count && status == KAZEIA_OK; i++) {
        const size_t bytes = kz_detokenizer_push(&detokenizer, (uint32_t)ids[i], piece);
        status = kz_text_buffer_append(&tokenizer->text, piece, bytes);
    }
    if (status == KAZEIA_OK) {
        const size_t bytes = kz_detokenizer_flush(&detokenizer, piece);
        status = kz_text_buffer_append(&tokenizer->text, piece, bytes);
    }
    kz_free(&tokenizer->allocator, piece);
    return status;
}

kazeia_status kazeia_tokenizer_decode(kazeia_tokenizer *tokenizer, const int32_t *ids, size_t count,
                                      const char **out_text, size_t *out_bytes) {
    KZ_TRY(kz_require(tokenizer, "decode: tokenizer"));
    KZ_TRY(kz_require(ids, "decode: ids"));
    KZ_TRY(kz_require(out_text, "decode: out_text"));
    KZ_TRY(kz_require(out_bytes, "decode: out_bytes"));
    const uint32_t vocabulary = kz_tokenizer_token_count(tokenizer->tokenizer);
    for (size_t i = 0; i < count; i++) {
        // All are checked before the first is decoded, so that a failure leaves the text of the
        // last call.
        if (ids[i] < 0 || (uint32_t)ids[i] >= vocabulary) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "decode: id %d at place %zu, expected 0 to %u",
                           ids[i], i, vocabulary - 1);
        }
    }
    kz_text_buffer_reset(&tokenizer->text);
    KZ_TRY(append_tokens(tokenizer, ids, count));
    *out_text = tokenizer->text.bytes;
    *out_bytes = tokenizer->text.count;
    return KAZEIA_OK;
}
