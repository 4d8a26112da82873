// tokenizer.c: finds special tokens, normalises, pre-tokenises and merges.
//
// in:  any bytes
// out: token ids
//
// The order is Hugging Face's: special tokens are cut out of the raw text (leftmost, then longest);
// what lies between is normalised, cut into pieces and merged, each stretch by itself.
#include "text/tokenizer.h"

#include <string.h>

#include "text/bpe.h"
#include "text/nfc.h"
#include "text/pretokenizer.h"
#include "text/utf8.h"

// Counted wherever memory is reserved, also for vocabularies without it.
#define SPACE_MARK "\xe2\x96\x81" // U+2581
#define PREFIX_BYTES 1u           // the space in front of a SentencePiece text
// Decomposed characters a byte: U+0390 has two bytes and three characters.
#define NFC_CHARACTERS(bytes) ((bytes) + (bytes) / 2 + 8)
#define NFC_GROWTH 3u // U+1D160 has 4 bytes and its NFC 12; no character grows more than threefold

struct kz_tokenizer {
    kazeia_allocator allocator;
    kz_tokenizer_view view;
    size_t max_text_bytes;
    kz_pretokenizer *pretokenizer;
    kz_bpe *bpe;
    kz_nfc nfc;
    uint8_t *spaced;       // SentencePiece: a stretch with its spaces plain [max_text_bytes + 1]
    bool begins_user[256]; // a USER token begins with this byte
    bool begins_control[256];
    kz_token_list list;    // of the present call
    bool is_after_special; // the next stretch gets the space prefix
};

// Most bytes begin no special token: one look at a table saves the search.
static void note_first_bytes(kz_tokenizer *tokenizer) {
    for (uint32_t i = 0; i < tokenizer->view.special_count; i++) {
        const uint32_t token = tokenizer->view.specials[i];
        const uint8_t first = kz_tokenizer_view_token(&tokenizer->view, token).bytes[0];
        const bool is_user = kz_tokenizer_view_kind(&tokenizer->view, token) == KZ_TOKEN_USER;
        (is_user ? tokenizer->begins_user : tokenizer->begins_control)[first] = true;
    }
}

static kazeia_status reserve(kz_tokenizer *tokenizer) {
    const kazeia_allocator *allocator = &tokenizer->allocator;
    const size_t bytes = tokenizer->max_text_bytes;
    KZ_TRY(kz_pretokenizer_open(&tokenizer->view, allocator, &tokenizer->pretokenizer));
    KZ_TRY(kz_bpe_create(&tokenizer->view, bytes + PREFIX_BYTES, allocator, &tokenizer->bpe));
    if ((tokenizer->view.flags & KZ_TOKENIZER_NFC) != 0) {
        KZ_TRY(kz_nfc_init(&tokenizer->nfc, NFC_CHARACTERS(bytes), allocator));
    }
    if (tokenizer->view.kind == KZ_TOKENIZER_SENTENCEPIECE_BPE) {
        void *memory = NULL;
        KZ_TRY(kz_alloc(allocator, bytes + PREFIX_BYTES, 1, "a text with plain spaces", &memory));
        tokenizer->spaced = memory;
    }
    return KAZEIA_OK;
}

kazeia_status kz_tokenizer_open(const kz_bytes *section, const kz_tokenizer_options *options,
                                const kazeia_allocator *allocator, kz_tokenizer **out_tokenizer) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    const size_t asked = options != NULL ? options->max_text_bytes : 0;
    // Places have 32 bits, and NFC and the prefix may lengthen a text.
    if (asked > UINT32_MAX / 2) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "tokenizer: room for texts of %zu bytes; at most %u",
                       asked, UINT32_MAX / 2);
    }
    kz_tokenizer_view view;
    KZ_TRY(kz_tokenizer_view_open(section, &view));
    void *memory = NULL;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_tokenizer), "a tokenizer", &memory));
    kz_tokenizer *tokenizer = memory;
    tokenizer->allocator = own;
    tokenizer->view = view;
    tokenizer->max_text_bytes = asked > 0 ? asked : KZ_TOKENIZER_TEXT_BYTES;
    note_first_bytes(tokenizer);
    const kazeia_status status = reserve(tokenizer);
    if (status != KAZEIA_OK) {
        kz_tokenizer_close(tokenizer);
        return status;
    }
    *out_tokenizer = tokenizer;
    return KAZEIA_OK;
}

void kz_tokenizer_close(kz_tokenizer *tokenizer) {
    if (tokenizer == NULL) {
        return;
    }
    const kazeia_allocator own = tokenizer->allocator;
    kz_pretokenizer_close(tokenizer->pretokenizer);
    kz_bpe_destroy(tokenizer->bpe);
    kz_nfc_clear(&tokenizer->nfc);
    kz_free(&own, tokenizer->spaced);
    kz_free(&own, tokenizer);
}

// --- One stretch without special tokens ---------------------------------------------------------
static kazeia_status fail_too_long(const kz_tokenizer *tokenizer, size_t count) {
    return kz_fail(KAZEIA_BAD_ARGUMENT,
                   "tokenizer: a text of %zu bytes; room was made for %zu: give it in parts", count,
                   tokenizer->max_text_bytes);
}

static kazeia_status take_piece(void *context, const uint8_t *bytes, size_t count) {
    kz_tokenizer *tokenizer = context;
    if (count > tokenizer->max_text_bytes) { // NFC may lengthen
        return fail_too_long(tokenizer, count);
    }
    kz_bpe_encode(tokenizer->bpe, bytes, count, &tokenizer->list);
    return KAZEIA_OK;
}

// Bytes at the start that are all valid UTF-8, or all not.
static size_t measure_run(const uint8_t *text, size_t count, bool *out_is_valid) {
    size_t end = 0;
    for (uint32_t length = 0; end < count; end += length) {
        length = 1;
        bool is_valid = text[end] < 0x80;
        if (!is_valid) {
            const kz_utf8_char read = kz_utf8_read_last((const char *)text + end, count - end);
            length = read.length;
            is_valid = read.is_valid;
        }
        if (end > 0 && is_valid != *out_is_valid) {
            break;
        }
        *out_is_valid = is_valid;
    }
    return end;
}

static kazeia_status encode_valid(kz_tokenizer *tokenizer, const uint8_t *text, size_t count) {
    if ((tokenizer->view.flags & KZ_TOKENIZER_NFC) != 0) {
        KZ_TRY(kz_nfc_compose(&tokenizer->nfc, text, count, &text, &count));
    }
    return kz_pretokenizer_split(tokenizer->pretokenizer, text, count, take_piece, tokenizer);
}

static kazeia_status encode_bytes(kz_tokenizer *tokenizer, const uint8_t *text, size_t count) {
    for (size_t done = 0; done < count;) {
        bool is_valid = false;
        // PCRE2 and utf8proc are told that their input is valid, so only valid runs reach them; the
        // other bytes are merged as they are.
        const size_t run = measure_run(text + done, count - done, &is_valid);
        if (is_valid) {
            KZ_TRY(encode_valid(tokenizer, text + done, run));
        } else {
            KZ_TRY(take_piece(tokenizer, text + done, run));
        }
        done += run;
    }
    return KAZEIA_OK;
}

// The vocabulary's spaces are plain: U+2581, which stands for one, is made one too.
static size_t copy_spaced(uint8_t *out, const uint8_t *text, size_t count) {
    size_t written = 0;
    for (size_t i = 0; i < count; written++) {
        const bool is_mark = count - i >= 3 && memcmp(text + i, SPACE_MARK, 3) == 0;
        out[written] = is_mark ? ' ' : text[i];
        i += is_mark ? 3 : 1;
    }
    return written;
}

// `count` is at least 1.
static bool wants_prefix(const kz_tokenizer *tokenizer, const uint8_t *text, size_t count) {
    const uint32_t flags = tokenizer->view.flags;
    if (!tokenizer->is_after_special || (flags & KZ_TOKENIZER_SPACE_PREFIX) == 0) {
        return false;
    }
    const bool has_space = text[0] == ' ' || (count >= 3 && memcmp(text, SPACE_MARK, 3) == 0);
    return !has_space || (flags & KZ_TOKENIZER_PREFIX_MISSING) == 0;
}

static void encode_spaced(kz_tokenizer *tokenizer, const uint8_t *text, size_t count) {
    const bool has_prefix = wants_prefix(tokenizer, text, count);
    // Written in any case; it only counts when there is a prefix.
    tokenizer->spaced[0] = ' ';
    const size_t first = has_prefix ? PREFIX_BYTES : 0;
    const size_t bytes = first + copy_spaced(tokenizer->spaced + first, text, count);
    kz_bpe_encode(tokenizer->bpe, tokenizer->spaced, bytes, &tokenizer->list);
}

static kazeia_status encode_stretch(kz_tokenizer *tokenizer, const uint8_t *text, size_t count) {
    if (count == 0) {
        return KAZEIA_OK;
    }
    kazeia_status status = KAZEIA_OK;
    if (tokenizer->view.kind == KZ_TOKENIZER_BYTE_BPE) {
        status = encode_bytes(tokenizer, text, count);
    } else {
        encode_spaced(tokenizer, text, count);
    }
    // After a stretch that had text: an empty one between two special tokens leaves the prefix to
    // the next.
    tokenizer->is_after_special = false;
    return status;
}

// --- Special tokens -----------------------------------------------------------------------------
// The end of the text without the white space at it, not before `from`.
static size_t trim_right(const uint8_t *text, size_t from, size_t end) {
    while (end > from) {
        size_t start = end - 1;
        while (start > from && (text[start] & 0xc0u) == 0x80u) {
            start--;
        }
        const kz_utf8_char read = kz_utf8_read_last((const char *)text + start, end - start);
        // The last test: the bytes before `end` may be a character and a stray continuation byte.
        if (!read.is_valid || !kz_char_is_space(read.code_point) || start + read.length != end) {
            break;
        }
        end = start;
    }
    return end;
}

static size_t skip_spaces(const uint8_t *text, size_t from, size_t count) {
    while (from < count) {
        const kz_utf8_char read = kz_utf8_read_last((const char *)text + from, count - from);
        if (!read.is_valid || !kz_char_is_space(read.code_point)) {
            break;
        }
        from += read.length;
    }
    return from;
}

static bool may_begin(const kz_tokenizer *tokenizer, uint8_t byte, bool with_control) {
    return tokenizer->begins_user[byte] || (with_control && tokenizer->begins_control[byte]);
}

// Encodes the stretch [done, place) and the special token at `place`; returns where to go on.
static kazeia_status take_special(kz_tokenizer *tokenizer, const uint8_t *text, size_t count,
                                  uint32_t token, size_t place, size_t *done) {
    const uint8_t bits = tokenizer->view.token_kinds[token];
    const size_t end = (bits & KZ_TOKEN_STRIPS_LEFT) != 0 ? trim_right(text, *done, place) : place;
    KZ_TRY(encode_stretch(tokenizer, text + *done, end - *done));
    kz_token_list_append(&tokenizer->list, token);
    tokenizer->is_after_special = (tokenizer->view.flags & KZ_TOKENIZER_PREFIX_ONCE) == 0;
    *done = place + kz_tokenizer_view_token(&tokenizer->view, token).count;
    if ((bits & KZ_TOKEN_STRIPS_RIGHT) != 0) {
        *done = skip_spaces(text, *done, count);
    }
    return KAZEIA_OK;
}

static kazeia_status encode_text(kz_tokenizer *tokenizer, const uint8_t *text, size_t count,
                                 bool with_control) {
    size_t done = 0;
    for (size_t i = 0; i < count;) {
        uint32_t token = KZ_NO_TOKEN;
        if (may_begin(tokenizer, text[i], with_control)) {
            token = kz_tokenizer_view_match_special(&tokenizer->view, text + i, count - i,
                                                    with_control);
        }
        if (token == KZ_NO_TOKEN) {
            i++;
            continue;
        }
        KZ_TRY(take_special(tokenizer, text, count, token, i, &done));
        // Past the token and the spaces it strips: neither can begin another token.
        i = done;
    }
    return encode_stretch(tokenizer, text + done, count - done);
}

kazeia_status kz_tokenizer_encode(kz_tokenizer *tokenizer, const char *text, size_t count,
                                  uint32_t flags, uint32_t *out_ids, size_t capacity,
                                  size_t *out_count) {
    if (count > tokenizer->max_text_bytes) {
        return fail_too_long(tokenizer, count);
    }
    const uint32_t rules = tokenizer->view.flags;
    const bool adds = (flags & KZ_ENCODE_ADD_BOS_EOS) != 0;
    const bool with_control =
        (flags & KZ_ENCODE_PARSE_SPECIAL) != 0 || (rules & KZ_TOKENIZER_SPECIAL_IN_TEXT) != 0;
    // The text is encoded to its end even when the ids no longer fit: the sentence then tells how
    // many there are.
    tokenizer->list = (kz_token_list){out_ids, capacity, 0};
    tokenizer->is_after_special = true;
    if (adds && (rules & KZ_TOKENIZER_ADD_BOS) != 0) {
        kz_token_list_append(&tokenizer->list, tokenizer->view.bos);
    }
    KZ_TRY(encode_text(tokenizer, (const uint8_t *)text, count, with_control));
    if (adds && (rules & KZ_TOKENIZER_ADD_EOS) != 0) {
        kz_token_list_append(&tokenizer->list, tokenizer->view.eos);
    }
    if (tokenizer->list.count > capacity) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "tokenizer: a text of %zu bytes has %zu tokens; room was given for %zu",
                       count, tokenizer->list.count, capacity);
    }
    *out_count = tokenizer->list.count;
    return KAZEIA_OK;
}

// At worst a token a byte, after NFC; the prefix, BOS and EOS.
size_t kz_tokenizer_most_tokens(const kz_tokenizer *tokenizer, size_t count) {
    const size_t growth = (tokenizer->view.flags & KZ_TOKENIZER_NFC) != 0 ? NFC_GROWTH : 1;
    return count * growth + PREFIX_BYTES + 2;
}

// --- Tokens -------------------------------------------------------------------------------------
uint32_t kz_tokenizer_token_count(const kz_tokenizer *tokenizer) {
    return tokenizer->view.token_count;
}

kz_bytes kz_tokenizer_token_bytes(const kz_tokenizer *tokenizer, uint32_t id) {
    if (id >= tokenizer->view.token_count) {
        return (kz_bytes){NULL, 0};
    }
    return kz_tokenizer_view_token(&tokenizer->view, id);
}

kz_token_kind kz_tokenizer_token_kind(const kz_tokenizer *tokenizer, uint32_t id) {
    if (id >= tokenizer->view.token_count) {
        return KZ_TOKEN_UNUSED;
    }
    return kz_tokenizer_view_kind(&tokenizer->view, id);
}

bool kz_tokenizer_is_special(const kz_tokenizer *tokenizer, uint32_t id) {
    const kz_token_kind kind = kz_tokenizer_token_kind(tokenizer, id);
    return kind == KZ_TOKEN_CONTROL || kind == KZ_TOKEN_UNKNOWN || kind == KZ_TOKEN_UNUSED;
}

uint32_t kz_tokenizer_find(const kz_tokenizer *tokenizer, const char *text, size_t count) {
    const uint8_t *bytes = (const uint8_t *)text;
    // Special tokens are not in the table of pieces; a longer one that only begins like the text is
    // none.
    const uint32_t special = kz_tokenizer_view_match_special(&tokenizer->view, bytes, count, true);
    if (special != KZ_NO_TOKEN &&
        kz_tokenizer_view_token(&tokenizer->view, special).count == count) {
        return special;
    }
    return kz_tokenizer_view_find_piece(&tokenizer->view, bytes, count);
}

uint32_t kz_tokenizer_bos(const kz_tokenizer *tokenizer) {
    return tokenizer->view.bos;
}

uint32_t kz_tokenizer_eos(const kz_tokenizer *tokenizer) {
    return tokenizer->view.eos;
}

size_t kz_tokenizer_longest_token(const kz_tokenizer *tokenizer) {
    return tokenizer->view.max_token_bytes;
}

bool kz_tokenizer_has_space_prefix(const kz_tokenizer *tokenizer) {
    return (tokenizer->view.flags & KZ_TOKENIZER_SPACE_PREFIX) != 0;
}

uint64_t kz_tokenizer_step_count(const kz_tokenizer *tokenizer) {
    return kz_bpe_step_count(tokenizer->bpe);
}
