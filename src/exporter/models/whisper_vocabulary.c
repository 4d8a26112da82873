// whisper_vocabulary.c: what a whisper.cpp vocabulary leaves out: merges and suppressed tokens.
//   in   token bytes in order of their numbers
//   out  a tokenizer draft; the tokens that are no speech
#include <stdio.h>
#include <string.h>

#include "exporter/models/whisper.h"

// Whisper's multilingual byte BPE: 256 bytes and 50,001 merges.
#define ORDINARY_TOKENS 50257
// Far longer than any real token; a longer one is kept without a merge.
#define TOKEN_BYTES_LIMIT \
    128 // the published vocabulary's longest token has 33 bytes; the search is quadratic
#define NO_RANK UINT32_MAX

// ISO codes in the order of Whisper's language tokens (OpenAI's tokenizer.py); the last one came
// with large-v3.
static const char *const languages[KZ_WHISPER_LANGUAGES] = {
    "en", "zh", "de", "es",  "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv",
    "it", "id", "hi", "fi",  "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no",
    "th", "ur", "hr", "bg",  "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv", "bn", "sr",
    "az", "sl", "kn", "et",  "mk", "br", "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw",
    "gl", "mr", "pa", "si",  "km", "sn", "yo", "so", "af", "oc", "ka", "be", "tg", "sd", "gu",
    "am", "yi", "lo", "uz",  "fo", "ht", "ps", "tk", "nn", "mt", "sa", "lb", "my", "bo", "tl",
    "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue"};

const char *kz_whisper_language(size_t index) {
    return index < KZ_WHISPER_LANGUAGES ? languages[index] : NULL;
}

// --- Ranks by bytes -----------------------------------------------------------------------------

typedef struct rank_table {
    const kz_checkpoint *checkpoint;
    uint32_t *slots; // token + 1, or 0
    uint32_t mask;
} rank_table;

static uint32_t hash_bytes(const char *bytes, size_t count) {
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ (uint8_t)bytes[i]) * 16777619u;
    }
    return hash;
}

static bool token_text(const kz_checkpoint *checkpoint, size_t token, const char **out_bytes,
                       size_t *out_count) {
    return kz_checkpoint_array_string(checkpoint, "tokens", token, out_bytes, out_count);
}

// A token's number is its rank: merges were learnt in that order. The table is a fifth full, so a
// search ends.
static uint32_t find_rank(const rank_table *table, const char *bytes, size_t count) {
    for (uint32_t slot = hash_bytes(bytes, count) & table->mask; table->slots[slot];
         slot = (slot + 1) & table->mask) {
        const char *text = NULL;
        size_t text_count = 0;
        const uint32_t token = table->slots[slot] - 1;
        if (token_text(table->checkpoint, token, &text, &text_count) && text_count == count &&
            memcmp(text, bytes, count) == 0) {
            return token;
        }
    }
    return NO_RANK;
}

static kazeia_status fill_table(const kz_checkpoint *checkpoint, const kazeia_allocator *allocator,
                                rank_table *table) {
    const size_t token_count = kz_checkpoint_array_count(checkpoint, "tokens");
    if (token_count < ORDINARY_TOKENS || token_count > 1 << 20) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: %zu tokens, expected at least %d",
                       kz_checkpoint_path(checkpoint), token_count, ORDINARY_TOKENS);
    }
    table->checkpoint = checkpoint;
    // 2^18 slots for 50,257 keys: short probes, and always a free one.
    table->mask = (1u << 18) - 1;
    KZ_TRY(kz_alloc(allocator, (size_t)table->mask + 1, sizeof *table->slots, "rank table",
                    (void **)&table->slots));
    for (uint32_t token = 0; token < ORDINARY_TOKENS; token++) {
        const char *text = NULL;
        size_t count = 0;
        if (!token_text(checkpoint, token, &text, &count)) {
            return kz_fail(KAZEIA_BAD_FILE, "%s: token %u has no text",
                           kz_checkpoint_path(checkpoint), token);
        }
        const uint32_t known = find_rank(table, text, count);
        if (known != NO_RANK) {
            return kz_fail(
                KAZEIA_BAD_FILE,
                "%s: tokens %u and %u have the same bytes: its converter lost those that "
                "are no text; convert the model again",
                kz_checkpoint_path(checkpoint), known, token);
        }
        uint32_t slot = hash_bytes(text, count) & table->mask;
        while (table->slots[slot]) {
            slot = (slot + 1) & table->mask;
        }
        table->slots[slot] = token + 1;
    }
    return KAZEIA_OK;
}

// --- Merges -------------------------------------------------------------------------------------

// Where the two halves of `text` meet, when it is put together by the merges below `rank`; 0 when
// they do not lead to two halves.
// tiktoken's way from ranks to merges: the last merge of a token is what its own rank stands for.
static size_t find_last_merge(const rank_table *table, const char *text, size_t count,
                              uint32_t rank) {
    size_t borders[TOKEN_BYTES_LIMIT + 1]; // starts of the parts, and the end
    size_t part_count = count;
    for (size_t i = 0; i <= count; i++) {
        borders[i] = i;
    }
    while (part_count > 2) {
        uint32_t best = rank;
        size_t best_part = 0;
        for (size_t i = 0; i + 1 < part_count; i++) {
            const uint32_t merged =
                find_rank(table, text + borders[i], borders[i + 2] - borders[i]);
            // Strictly: of equal merges the leftmost one comes first, as in byte BPE.
            if (merged < best) {
                best = merged;
                best_part = i;
            }
        }
        if (best == rank) {
            return 0;
        }
        memmove(&borders[best_part + 1], &borders[best_part + 2],
                (part_count - best_part - 1) * sizeof *borders);
        part_count--;
    }
    return part_count == 2 ? borders[1] : 0;
}

static kazeia_status add_tokens(const rank_table *table, kz_tokenizer_draft *draft) {
    for (size_t token = 0; token < ORDINARY_TOKENS; token++) {
        const char *text = NULL;
        size_t count = 0;
        (void)token_text(table->checkpoint, token, &text, &count);
        KZ_TRY(kz_tokenizer_draft_set_token(draft, token, text, count, KZ_SPELLED_RAW,
                                            KZ_TOKEN_NORMAL, 0.0f));
    }
    return KAZEIA_OK;
}

static kazeia_status add_merges(const rank_table *table, kz_tokenizer_draft *draft) {
    for (uint32_t token = 0; token < ORDINARY_TOKENS; token++) {
        const char *text = NULL;
        size_t count = 0;
        (void)token_text(table->checkpoint, token, &text, &count);
        if (count < 2 || count > TOKEN_BYTES_LIMIT) {
            continue;
        }
        // In order of rank, so that merges get the priorities they were learnt with.
        const size_t border = find_last_merge(table, text, count, token);
        if (border) {
            KZ_TRY(
                kz_tokenizer_draft_add_merge(draft, text, border, text + border, count - border));
        }
    }
    return KAZEIA_OK;
}

static kazeia_status add_control(kz_tokenizer_draft *draft, size_t id, const char *text) {
    return kz_tokenizer_draft_set_token(draft, id, text, strlen(text), KZ_SPELLED_RAW,
                                        KZ_TOKEN_CONTROL, 0.0f);
}

// The special tokens, in the order that every multilingual Whisper has them.
static kazeia_status add_specials(kz_tokenizer_draft *draft, size_t vocabulary) {
    static const char *const after_languages[] = {"<|translate|>", "<|transcribe|>",
                                                  "<|startoflm|>", "<|startofprev|>",
                                                  "<|nospeech|>",  "<|notimestamps|>"};
    const size_t language_count = vocabulary - 51766;
    size_t id = ORDINARY_TOKENS;
    KZ_TRY(add_control(draft, id++, "<|endoftext|>"));
    KZ_TRY(add_control(draft, id++, "<|startoftranscript|>"));
    char text[32];
    for (size_t i = 0; i < language_count; i++) {
        (void)snprintf(text, sizeof text, "<|%s|>", kz_whisper_language(i));
        KZ_TRY(add_control(draft, id++, text));
    }
    for (size_t i = 0; i < sizeof after_languages / sizeof *after_languages; i++) {
        KZ_TRY(add_control(draft, id++, after_languages[i]));
    }
    for (size_t i = 0; id < vocabulary; i++) {
        // Steps of 20 ms, 50 a second: <|0.00|> to <|30.00|>.
        (void)snprintf(text, sizeof text, "<|%zu.%02zu|>", i / 50, i % 50 * 2);
        KZ_TRY(add_control(draft, id++, text));
    }
    return KAZEIA_OK;
}

static kazeia_status fill_draft(const rank_table *table, size_t vocabulary,
                                kz_tokenizer_draft *draft) {
    KZ_TRY(add_tokens(table, draft));
    KZ_TRY(add_specials(draft, vocabulary));
    // Last: the first merge indexes all tokens.
    KZ_TRY(add_merges(table, draft));
    return kz_tokenizer_draft_add_named(draft, "gpt-2");
}

kazeia_status kz_whisper_draft_vocabulary(const kz_checkpoint *checkpoint,
                                          const kazeia_allocator *allocator,
                                          kz_tokenizer_draft **out_draft) {
    int64_t vocabulary = 0;
    rank_table table = {0};
    kz_tokenizer_draft *draft = NULL;
    (void)kz_checkpoint_integer(checkpoint, "n_vocab", &vocabulary);
    if (vocabulary != 51865 && vocabulary != 51866) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "%s: a vocabulary of %lld tokens, expected 51865 or 51866",
                       kz_checkpoint_path(checkpoint), (long long)vocabulary);
    }
    kazeia_status status = fill_table(checkpoint, allocator, &table);
    if (status == KAZEIA_OK) {
        status =
            kz_tokenizer_draft_create(KZ_TOKENIZER_BYTE_BPE, (size_t)vocabulary, allocator, &draft);
    }
    if (status == KAZEIA_OK) {
        status = fill_draft(&table, (size_t)vocabulary, draft);
    }
    kz_free(allocator, table.slots);
    if (status != KAZEIA_OK) {
        kz_tokenizer_draft_destroy(draft);
        return status;
    }
    *out_draft = draft;
    return KAZEIA_OK;
}

// --- Suppressed tokens --------------------------------------------------------------------------

// Signs that are written, never said (OpenAI's tokenizer.py, non_speech_tokens): each alone and
// with a space before it, where that is one token.
static const char *const non_speech[] = {
    "\"",  "#",  "(",  ")",   "*",   "+",   "/",   ":",  ";",   "<",  "=",  ">",
    "@",   "[",  "\\", "]",   "^",   "_",   "`",   "{",  "|",   "}",  "~",  "「",
    "」",  "『", "』", "<<",  ">>",  "<<<", ">>>", "--", "---", "-(", "-[", "('",
    "(\"", "((", "))", "(((", ")))", "[[",  "]]",  "{{", "}}",  "♪♪", "♪♪♪"};
// Of these, whose bytes are often several tokens, the first one.
static const char *const musical[] = {"♩", "♪", "♫", "♬", "♭", "♮", "♯"};

static void suppress(kz_whisper_tokens *tokens, uint32_t token) {
    if (token == NO_RANK || tokens->suppress_count == KZ_WHISPER_SUPPRESS_LIMIT) {
        return;
    }
    size_t place = 0;
    // Sorted and without repetitions, as the other containers list them.
    while (place < tokens->suppress_count && tokens->suppress[place] < token) {
        place++;
    }
    if (place < tokens->suppress_count && tokens->suppress[place] == token) {
        return;
    }
    memmove(&tokens->suppress[place + 1], &tokens->suppress[place],
            (tokens->suppress_count - place) * sizeof *tokens->suppress);
    tokens->suppress[place] = token;
    tokens->suppress_count++;
}

static void suppress_sign(const rank_table *table, kz_whisper_tokens *tokens, const char *sign) {
    char spaced[16];
    (void)snprintf(spaced, sizeof spaced, " %s", sign);
    suppress(tokens, find_rank(table, sign, strlen(sign)));
    suppress(tokens, find_rank(table, spaced, strlen(spaced)));
}

// The longest token at the start of a musical sign's bytes is the first of its tokens.
static void suppress_musical(const rank_table *table, kz_whisper_tokens *tokens, const char *sign) {
    char spaced[16];
    (void)snprintf(spaced, sizeof spaced, " %s", sign);
    const char *const spellings[] = {sign, spaced};
    for (size_t i = 0; i < 2; i++) {
        for (size_t count = strlen(spellings[i]); count > 0; count--) {
            const uint32_t token = find_rank(table, spellings[i], count);
            if (token != NO_RANK) {
                suppress(tokens, token);
                break;
            }
        }
    }
}

static void suppress_all(const rank_table *table, kz_whisper_tokens *tokens) {
    for (size_t i = 0; i < sizeof non_speech / sizeof *non_speech; i++) {
        suppress_sign(table, tokens, non_speech[i]);
    }
    for (size_t i = 0; i < sizeof musical / sizeof *musical; i++) {
        suppress_musical(table, tokens, musical[i]);
    }
    suppress(tokens, find_rank(table, " -", 2));
    suppress(tokens, find_rank(table, " '", 2));
    suppress(tokens, (uint32_t)tokens->start);
    // translate, transcribe, startoflm, startofprev, nospeech
    for (int64_t id = tokens->transcribe - 1; id <= tokens->no_speech; id++) {
        suppress(tokens, (uint32_t)id);
    }
    const uint32_t space = find_rank(table, " ", 1);
    // A reply may not begin with a lone space or with its end.
    if (space != NO_RANK) {
        tokens->suppress_begin[tokens->suppress_begin_count++] = space;
    }
    tokens->suppress_begin[tokens->suppress_begin_count++] = tokens->end;
}

kazeia_status kz_whisper_find_suppressed(const kz_checkpoint *checkpoint,
                                         const kazeia_allocator *allocator,
                                         kz_whisper_tokens *tokens) {
    rank_table table = {0};
    const kazeia_status status = fill_table(checkpoint, allocator, &table);
    if (status == KAZEIA_OK) {
        suppress_all(&table, tokens);
    }
    kz_free(allocator, table.slots);
    return status;
}
