// fuzz_tokenizer.c: libFuzzer target for the tokenizer section and for encoding.
//
// in:  byte 0 says what the rest is: 0 a whole section; 1 and 2 changes to a sound one (byte-level,
//      SentencePiece: 3 bytes each, place and value, as many as byte 1 says) and then text; 3 text
//      alone
// out: a crash when reading goes wild, or when text does not come back from its own tokens
#include <stdlib.h>
#include <string.h>

#include "../unit/text/tokenizer_fixture.h"
#include "exporter/checkpoint/tokenizer_files.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

#define TEXT_LIMIT 4096

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t count);

static const char *const PATTERNS[] = {"\\p{N}", "'s| ?\\p{L}+|\\s+(?!\\S)|\\s+"};

static kz_bytes copy_bytes(const uint8_t *bytes, size_t count) {
    uint8_t *copy = malloc(count > 0 ? count : 1);
    if (count > 0) {
        memcpy(copy, bytes, count);
    }
    return (kz_bytes){copy, count};
}

static void decode(const kz_tokenizer *tokenizer, const uint32_t *ids, size_t count) {
    char *text = malloc(kz_detokenizer_room(tokenizer));
    kz_detokenizer detokenizer;
    kz_detokenizer_init(&detokenizer, tokenizer, KZ_DECODE_SPECIAL | KZ_DECODE_FROM_START);
    for (size_t i = 0; i < count; i++) {
        if (kz_detokenizer_push(&detokenizer, ids[i], text) > kz_detokenizer_room(tokenizer)) {
            abort();
        }
    }
    (void)kz_detokenizer_flush(&detokenizer, text);
    free(text);
}

static void require_same(const kz_tokenizer *tokenizer, const uint32_t *ids, size_t id_count,
                         kz_bytes text) {
    size_t bytes = 0;
    for (size_t i = 0; i < id_count; i++) {
        const kz_bytes token = kz_tokenizer_token_bytes(tokenizer, ids[i]);
        if (bytes + token.count > text.count ||
            memcmp(text.bytes + bytes, token.bytes, token.count) != 0) {
            abort();
        }
        bytes += token.count;
    }
    if (bytes != text.count) {
        abort();
    }
}

static void run_section(kz_bytes section, kz_bytes text, bool is_sound) {
    const kz_tokenizer_options options = {.max_text_bytes = TEXT_LIMIT};
    kz_tokenizer *tokenizer = NULL;
    if (kz_tokenizer_open(&section, &options, NULL, &tokenizer) != KAZEIA_OK) {
        return;
    }
    const size_t room = kz_tokenizer_most_tokens(tokenizer, TEXT_LIMIT);
    uint32_t *ids = malloc(room * sizeof *ids);
    const uint32_t flags = is_sound ? KZ_ENCODE_PLAIN : KZ_ENCODE_PARSE_SPECIAL;
    size_t count = 0;
    const kazeia_status status = kz_tokenizer_encode(tokenizer, (const char *)text.bytes,
                                                     text.count, flags, ids, room, &count);
    if (status == KAZEIA_OK) {
        decode(tokenizer, ids, count);
    }
    // The fixture's tokens that strip white space cannot give it back.
    const bool strips = memmem(text.bytes, text.count, "<mask>", 6) != NULL ||
                        memmem(text.bytes, text.count, "<fill>", 6) != NULL;
    if (is_sound && text.count <= TEXT_LIMIT && !strips) {
        if (status != KAZEIA_OK) {
            abort();
        }
        require_same(tokenizer, ids, count, text);
    }
    free(ids);
    kz_tokenizer_close(tokenizer);
}

static void run_altered(kz_bytes sound, const uint8_t *input, size_t count) {
    kz_bytes section = copy_bytes(sound.bytes, sound.count);
    size_t at = 1;
    for (size_t i = 0; count > 0 && i < input[0] && at + 3 <= count; i++, at += 3) {
        ((uint8_t *)section.bytes)[(input[at] << 8 | input[at + 1]) % section.count] =
            input[at + 2];
    }
    kz_bytes text = at < count ? copy_bytes(input + at, count - at) : copy_bytes(input, 0);
    run_section(section, text, false);
    free((void *)text.bytes);
    free((void *)section.bytes);
}

static void run_draft(kz_tokenizer_draft *draft) {
    uint8_t *bytes = NULL;
    size_t count = 0;
    if (kz_tokenizer_draft_build(draft, &bytes, &count) == KAZEIA_OK) {
        run_section((kz_bytes){bytes, count}, (kz_bytes){(const uint8_t *)"ab <s> 1", 8}, false);
        free_section((kz_bytes){bytes, count});
    }
    kz_tokenizer_draft_destroy(draft);
}

static void run_json(const char *text, size_t count) {
    kz_tokenizer_draft *draft = NULL;
    json_t *root = json_loadb(text, count, JSON_ALLOW_NUL, NULL);
    if (root != NULL && kz_tokenizer_from_json(root, NULL, &draft) == KAZEIA_OK) {
        run_draft(draft);
    }
    json_decref(root);
}

static void run_vocabulary(const char *text, size_t count) {
    const char *end = memchr(text, 0, count);
    const size_t length = end != NULL ? (size_t)(end - text) : count;
    const size_t merges = length < count ? length + 1 : count;
    kz_tokenizer_draft *draft = NULL;
    json_t *root = json_loadb(text, length, 0, NULL);
    if (root != NULL && kz_tokenizer_from_vocabulary(root, NULL, text + merges, count - merges,
                                                     "smollm", NULL, &draft) == KAZEIA_OK) {
        run_draft(draft);
    }
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t count) {
    if (count == 0) {
        return 0;
    }
    const kz_bytes sections[] = {make_small_byte_section(0, PATTERNS, 2),
                                 make_small_spm_section(KZ_TOKENIZER_SPACE_PREFIX)};
    const uint8_t kind = input[0] % 6;
    if (kind == 0) {
        kz_bytes section = copy_bytes(input + 1, count - 1);
        run_section(section, (kz_bytes){(const uint8_t *)"abc <s> 1", 9}, false);
        free((void *)section.bytes);
    } else if (kind == 4) {
        run_json((const char *)input + 1, count - 1);
    } else if (kind == 5) {
        run_vocabulary((const char *)input + 1, count - 1);
    } else if (kind == 3) {
        kz_bytes text = copy_bytes(input + 1, count - 1);
        run_section(sections[0], text, true);
        free((void *)text.bytes);
    } else {
        run_altered(sections[kind - 1], input + 1, count - 1);
    }
    free_section(sections[0]);
    free_section(sections[1]);
    return 0;
}
