// tokenizer_draft.c: gathers a vocabulary and brings every token to raw bytes.
//
// in:  tokens and merges as files spell them
// out: a kz_tokenizer_source
//
// All bytes lie in one growing block, tokens name their place in it, and pointers are made when the
// source is asked for: the block moves while it grows. Merges are kept as token numbers; the table
// that finds a token by its bytes is made at the first merge, when all tokens are known.
#include "exporter/checkpoint/tokenizer_draft.h"

#include <string.h>

#include "base/text_buffer.h"
#include "exporter/checkpoint/tokenizer_patterns.h"

// 150,000 tokens have some 1 MB: this only keeps a hostile file from taking all memory.
#define VOCABULARY_LIMIT ((size_t)1 << 30)

struct kz_tokenizer_draft {
    kazeia_allocator allocator;
    kz_tokenizer_source source;
    kz_tokenizer_token *tokens; // bytes are set by kz_tokenizer_draft_source
    size_t *places;             // [token_count] in `vocabulary`
    bool *are_merged;           // [token_count] halves and results of merges
    kz_text_buffer vocabulary;
    kz_text_buffer scratch;           // one token's raw bytes
    kz_text_buffer whole;             // those of both halves of a merge
    kz_token_spelling merge_spelling; // of NORMAL tokens, and so of the halves of merges
    kz_tokenizer_merge *merges;
    size_t merge_capacity;
    uint32_t *slots; // tokens of merges by hash
    size_t slot_count;
    const char *patterns[KZ_PATTERN_LIMIT];
    char *owned_patterns[KZ_PATTERN_LIMIT];
};

static kazeia_status allocate_draft(kz_tokenizer_draft *draft, size_t token_count) {
    void *memory = NULL;
    KZ_TRY(kz_text_buffer_init(&draft->vocabulary, &draft->allocator, 0, VOCABULARY_LIMIT));
    KZ_TRY(kz_text_buffer_init(&draft->scratch, &draft->allocator, 0, VOCABULARY_LIMIT));
    KZ_TRY(kz_text_buffer_init(&draft->whole, &draft->allocator, 0, VOCABULARY_LIMIT));
    KZ_TRY(kz_alloc(&draft->allocator, token_count, sizeof *draft->tokens, "tokens", &memory));
    draft->tokens = memory;
    KZ_TRY(kz_alloc(&draft->allocator, token_count, sizeof *draft->places, "tokens", &memory));
    draft->places = memory;
    KZ_TRY(kz_alloc(&draft->allocator, token_count, sizeof *draft->are_merged, "tokens", &memory));
    draft->are_merged = memory;
    for (size_t i = 0; i < token_count; i++) {
        // Numbers that no file mentions are gaps: they have no text and are never produced.
        draft->tokens[i].kind = KZ_TOKEN_UNUSED;
    }
    return KAZEIA_OK;
}

kazeia_status kz_tokenizer_draft_create(kz_tokenizer_kind kind, size_t token_count,
                                        const kazeia_allocator *allocator,
                                        kz_tokenizer_draft **out_draft) {
    if (token_count == 0 || token_count > KZ_TOKENIZER_COUNT_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "tokenizer: %zu tokens; 1 to %u are handled",
                       token_count, KZ_TOKENIZER_COUNT_LIMIT);
    }
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory = NULL;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_tokenizer_draft), "a vocabulary", &memory));
    kz_tokenizer_draft *draft = memory;
    draft->allocator = own;
    draft->source = (kz_tokenizer_source){.kind = kind,
                                          .bos = KZ_NO_TOKEN,
                                          .eos = KZ_NO_TOKEN,
                                          .unknown = KZ_NO_TOKEN,
                                          .token_count = (uint32_t)token_count};
    const kazeia_status status = allocate_draft(draft, token_count);
    if (status != KAZEIA_OK) {
        kz_tokenizer_draft_destroy(draft);
        return status;
    }
    *out_draft = draft;
    return KAZEIA_OK;
}

void kz_tokenizer_draft_destroy(kz_tokenizer_draft *draft) {
    if (draft == NULL) {
        return;
    }
    const kazeia_allocator own = draft->allocator;
    for (uint32_t i = 0; i < draft->source.pattern_count; i++) {
        kz_free(&own, draft->owned_patterns[i]);
    }
    kz_text_buffer_clear(&draft->vocabulary);
    kz_text_buffer_clear(&draft->scratch);
    kz_text_buffer_clear(&draft->whole);
    kz_free(&own, draft->tokens);
    kz_free(&own, draft->places);
    kz_free(&own, draft->are_merged);
    kz_free(&own, draft->merges);
    kz_free(&own, draft->slots);
    kz_free(&own, draft);
}

// --- Spelling -----------------------------------------------------------------------------------
// Length of a character by its first byte; good enough for look-ups that fail on anything odd.
static size_t character_length(unsigned char first) {
    // Continuation bytes count as 2: no stand-in begins with one, so the look-up fails.
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// The byte that one of GPT-2's stand-ins means, or -1. Printable Latin-1 stands for itself; the
// other 68 bytes are U+0100 and on, in order: 0-32, 127-160, 173.
// GPT-2's bytes_to_unicode (encoder.py): it keeps white space and control bytes out of vocabulary
// files.
static int byte_of_stand_in(const char *text, size_t length) {
    const unsigned char first = (unsigned char)text[0];
    if (length == 1) {
        return first >= '!' && first <= '~' ? first : -1;
    }
    if (length != 2 || first < 0xc2 || ((unsigned char)text[1] & 0xc0) != 0x80) {
        return -1;
    }
    const int code = (first & 0x1f) << 6 | ((unsigned char)text[1] & 0x3f);
    if (code < 0x100) {
        return code >= 0xa1 && code != 0xad ? code : -1;
    }
    const int place = code - 0x100;
    // 0..32, then 127..160 (34 bytes), then 173.
    return place < 33 ? place : place < 67 ? place - 33 + 127 : place == 67 ? 173 : -1;
}

// False when the text holds something that is no stand-in; the scratch buffer is then of no use.
static kazeia_status undo_stand_ins(kz_text_buffer *out, const char *text, size_t count,
                                    bool *out_is_spelled) {
    *out_is_spelled = false;
    for (size_t i = 0; i < count;) {
        const size_t length = character_length((unsigned char)text[i]);
        const int byte = length <= count - i ? byte_of_stand_in(text + i, length) : -1;
        if (byte < 0) {
            return KAZEIA_OK;
        }
        const char raw = (char)byte;
        KZ_TRY(kz_text_buffer_append(out, &raw, 1));
        i += length;
    }
    *out_is_spelled = true;
    return KAZEIA_OK;
}

// U+2581 stands for a space in SentencePiece's vocabularies.
static kazeia_status undo_marks(kz_text_buffer *out, const char *text, size_t count) {
    for (size_t i = 0; i < count;) {
        const bool is_mark = count - i >= 3 && memcmp(text + i, "\xe2\x96\x81", 3) == 0;
        KZ_TRY(kz_text_buffer_append(out, is_mark ? " " : text + i, 1));
        i += is_mark ? 3 : 1;
    }
    return KAZEIA_OK;
}

static int digit_value(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static kazeia_status undo_hex(kz_text_buffer *out, const char *text, size_t count,
                              bool *out_is_spelled) {
    // SentencePiece's byte tokens: "<0x0A>", upper case only.
    *out_is_spelled = count == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>' &&
                      digit_value(text[3]) >= 0 && digit_value(text[4]) >= 0;
    if (!*out_is_spelled) {
        return KAZEIA_OK;
    }
    const char byte = (char)(digit_value(text[3]) * 16 + digit_value(text[4]));
    return kz_text_buffer_append(out, &byte, 1);
}

// The raw bytes of a spelled text into the scratch buffer.
static kazeia_status undo_spelling(kz_tokenizer_draft *draft, const char *text, size_t count,
                                   kz_token_spelling spelling, bool *out_is_spelled) {
    *out_is_spelled = true;
    kz_text_buffer_reset(&draft->scratch);
    switch (spelling) {
    case KZ_SPELLED_BYTES:
        return undo_stand_ins(&draft->scratch, text, count, out_is_spelled);
    case KZ_SPELLED_MARKS:
        return undo_marks(&draft->scratch, text, count);
    case KZ_SPELLED_HEX:
        return undo_hex(&draft->scratch, text, count, out_is_spelled);
    case KZ_SPELLED_RAW:
        break;
    }
    return kz_text_buffer_append(&draft->scratch, text, count);
}

kazeia_status kz_tokenizer_draft_set_token(kz_tokenizer_draft *draft, size_t id, const char *text,
                                           size_t count, kz_token_spelling spelling, uint8_t kind,
                                           float score) {
    if (id >= draft->source.token_count || count > UINT32_MAX) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: token %zu '%.40s' lies beyond the %u tokens",
                       id, text, (unsigned)draft->source.token_count);
    }
    bool is_spelled = false;
    KZ_TRY(undo_spelling(draft, text, count, spelling, &is_spelled));
    if (kind == KZ_TOKEN_NORMAL) {
        draft->merge_spelling = spelling;
    }
    // Merges name normal tokens, and in byte BPE also added ones that are spelled as bytes.
    draft->are_merged[id] = is_spelled && (spelling == KZ_SPELLED_BYTES || kind == KZ_TOKEN_NORMAL);
    if (!is_spelled) {
        kind = KZ_TOKEN_UNUSED;
        KZ_TRY(undo_spelling(draft, text, count, KZ_SPELLED_RAW, &is_spelled));
    }
    draft->places[id] = draft->vocabulary.count;
    KZ_TRY(kz_text_buffer_append(&draft->vocabulary, draft->scratch.bytes, draft->scratch.count));
    draft->tokens[id] = (kz_tokenizer_token){NULL, (uint32_t)draft->scratch.count, kind, score};
    return KAZEIA_OK;
}

// --- Merges -------------------------------------------------------------------------------------
static bool has_bytes(const kz_tokenizer_draft *draft, uint32_t id, const char *bytes,
                      size_t count) {
    return draft->tokens[id].count == count &&
           memcmp(draft->vocabulary.bytes + draft->places[id], bytes, count) == 0;
}

// The slot of a token of merges with these bytes, or the free one where it would go.
// Ends: the table is at most half full.
static uint32_t *find_slot(const kz_tokenizer_draft *draft, const char *bytes, size_t count) {
    size_t slot = (size_t)kz_tokenizer_piece_hash((const uint8_t *)bytes, count);
    for (;; slot++) {
        uint32_t *found = &draft->slots[slot & (draft->slot_count - 1)];
        if (*found == KZ_NO_TOKEN || has_bytes(draft, *found, bytes, count)) {
            return found;
        }
    }
}

static kazeia_status index_tokens(kz_tokenizer_draft *draft) {
    draft->slot_count = 1;
    while (draft->slot_count < 2 * (size_t)draft->source.token_count) {
        draft->slot_count *= 2;
    }
    void *memory = NULL;
    KZ_TRY(kz_alloc(&draft->allocator, draft->slot_count, sizeof *draft->slots, "a token index",
                    &memory));
    draft->slots = memory;
    memset(draft->slots, 0xff, draft->slot_count * sizeof *draft->slots);
    for (uint32_t i = 0; i < draft->source.token_count; i++) {
        if (draft->are_merged[i]) {
            uint32_t *slot = find_slot(draft, draft->vocabulary.bytes + draft->places[i],
                                       draft->tokens[i].count);
            // Of tokens with the same bytes the first counts, as in the vocabulary's own look-up.
            *slot = *slot == KZ_NO_TOKEN ? i : *slot;
        }
    }
    return KAZEIA_OK;
}

static kazeia_status grow_merges(kz_tokenizer_draft *draft) {
    // Doubling cannot wrap: merges have their text in the file, and far more memory would be gone
    // before.
    const size_t capacity = draft->merge_capacity > 0 ? 2 * draft->merge_capacity : 1024;
    void *memory = draft->merges;
    KZ_TRY(kz_realloc(&draft->allocator, draft->merge_capacity, capacity, sizeof *draft->merges,
                      "merges", &memory));
    draft->merges = memory;
    draft->merge_capacity = capacity;
    return KAZEIA_OK;
}

// Halves are appended as they are found, so `whole` ends as the merged text.
static kazeia_status find_half(kz_tokenizer_draft *draft, const char *text, size_t count,
                               uint32_t *out_token, kz_text_buffer *whole) {
    bool is_spelled = false;
    KZ_TRY(undo_spelling(draft, text, count, draft->merge_spelling, &is_spelled));
    *out_token =
        is_spelled ? *find_slot(draft, draft->scratch.bytes, draft->scratch.count) : KZ_NO_TOKEN;
    if (*out_token == KZ_NO_TOKEN) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: merge %u names '%.*s', which is no token",
                       (unsigned)draft->source.merge_count, (int)(count < 60 ? count : 60), text);
    }
    return kz_text_buffer_append(whole, draft->scratch.bytes, draft->scratch.count);
}

static kazeia_status resolve_merge(kz_tokenizer_draft *draft, const char *left, size_t left_count,
                                   const char *right, size_t right_count,
                                   kz_tokenizer_merge *out_merge) {
    kz_text_buffer *whole = &draft->whole;
    kz_text_buffer_reset(whole);
    KZ_TRY(find_half(draft, left, left_count, &out_merge->left, whole));
    KZ_TRY(find_half(draft, right, right_count, &out_merge->right, whole));
    out_merge->merged = *find_slot(draft, whole->bytes, whole->count);
    if (out_merge->merged == KZ_NO_TOKEN) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tokenizer: merge %u ('%.*s' and '%.*s') makes a text that is no token",
                       (unsigned)draft->source.merge_count,
                       (int)(left_count < 60 ? left_count : 60), left,
                       (int)(right_count < 60 ? right_count : 60), right);
    }
    return KAZEIA_OK;
}

kazeia_status kz_tokenizer_draft_add_merge(kz_tokenizer_draft *draft, const char *left,
                                           size_t left_count, const char *right,
                                           size_t right_count) {
    if (draft->slots == NULL) {
        KZ_TRY(index_tokens(draft));
    }
    if (draft->source.merge_count == draft->merge_capacity) {
        KZ_TRY(grow_merges(draft));
    }
    kz_tokenizer_merge *merge = &draft->merges[draft->source.merge_count];
    KZ_TRY(resolve_merge(draft, left, left_count, right, right_count, merge));
    draft->source.merge_count++;
    return KAZEIA_OK;
}

kazeia_status kz_tokenizer_draft_add_merge_line(kz_tokenizer_draft *draft, const char *line,
                                                size_t count) {
    // From the second byte on: the first half may itself begin with a space.
    const char *space = count > 1 ? memchr(line + 1, ' ', count - 1) : NULL;
    if (space == NULL) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: merge %u, '%.*s', is not two texts and a space",
                       (unsigned)draft->source.merge_count, (int)(count < 60 ? count : 60), line);
    }
    const size_t left_count = (size_t)(space - line);
    return kz_tokenizer_draft_add_merge(draft, line, left_count, space + 1, count - left_count - 1);
}

// --- Patterns and result ------------------------------------------------------------------------
kazeia_status kz_tokenizer_draft_add_pattern(kz_tokenizer_draft *draft, const char *pattern) {
    const uint32_t index = draft->source.pattern_count;
    if (index == KZ_PATTERN_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "tokenizer: more than %u patterns", KZ_PATTERN_LIMIT);
    }
    kz_text_buffer_reset(&draft->scratch);
    KZ_TRY(kz_translate_pattern(pattern, &draft->scratch));
    KZ_TRY(kz_copy_string(&draft->allocator, draft->scratch.bytes, draft->scratch.count,
                          &draft->owned_patterns[index]));
    draft->patterns[index] = draft->owned_patterns[index];
    // Only now: destroying frees as many patterns as are counted.
    draft->source.pattern_count++;
    return KAZEIA_OK;
}

kazeia_status kz_tokenizer_draft_add_named(kz_tokenizer_draft *draft, const char *pretokenizer) {
    const kz_named_pretokenizer *named = NULL;
    KZ_TRY(kz_find_pretokenizer(pretokenizer, &named));
    draft->source.flags |= named->flags;
    for (size_t i = 0; named->patterns[i] != NULL; i++) {
        KZ_TRY(kz_tokenizer_draft_add_pattern(draft, named->patterns[i]));
    }
    return KAZEIA_OK;
}

kz_tokenizer_kind kz_tokenizer_draft_kind(const kz_tokenizer_draft *draft) {
    return draft->source.kind;
}

kz_tokenizer_source *kz_tokenizer_draft_source(kz_tokenizer_draft *draft) {
    for (uint32_t i = 0; i < draft->source.token_count; i++) {
        // Made anew in each call, since the block may have moved.
        draft->tokens[i].bytes = (const uint8_t *)draft->vocabulary.bytes + draft->places[i];
    }
    draft->source.tokens = draft->tokens;
    draft->source.merges = draft->merges;
    draft->source.patterns = draft->patterns;
    return &draft->source;
}

kazeia_status kz_tokenizer_draft_build(kz_tokenizer_draft *draft, uint8_t **out_bytes,
                                       size_t *out_count) {
    return kz_tokenizer_build(kz_tokenizer_draft_source(draft), &draft->allocator, out_bytes,
                              out_count);
}
