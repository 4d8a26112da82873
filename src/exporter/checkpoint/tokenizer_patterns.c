// tokenizer_patterns.c: the table of known pre-tokenisers and the rewriting of their patterns.
//
// in:  Oniguruma's syntax
// out: PCRE2's
//
// The two agree on all that pre-tokenisers use but white space: Oniguruma's \s is Unicode's
// White_Space, PCRE2's has U+180E besides. So \s and \S are written out. What would silently mean
// something else (\h is a hexadecimal digit there) is refused.
#include "exporter/checkpoint/tokenizer_patterns.h"

#include <string.h>

#define GPT2_PATTERN \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
// The family of cl100k: numbers of up to `digits`, and marks as letters where `letter` says so.
#define WORD_PATTERN(letter, other, digits)                                                   \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?" letter "+|" digits "| ?[^\\s" other \
    "\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define QWEN2_PATTERN WORD_PATTERN("\\p{L}", "\\p{L}", "\\p{N}")
#define LLAMA3_PATTERN WORD_PATTERN("\\p{L}", "\\p{L}", "\\p{N}{1,3}")
#define QWEN35_PATTERN WORD_PATTERN("[\\p{L}\\p{M}]", "\\p{L}\\p{M}", "\\p{N}")

// GGUF names a pre-tokeniser instead of holding its pattern; names and patterns are those of
// llama.cpp (llama-vocab.cpp) and of the models' own tokenizer.json.
static const kz_named_pretokenizer PRETOKENIZERS[] = {
    {"gpt-2", 0, {GPT2_PATTERN}},
    {"phi-2", 0, {GPT2_PATTERN}},
    {"mpt", KZ_TOKENIZER_NFC, {GPT2_PATTERN}},
    {"smollm", 0, {"\\p{N}", GPT2_PATTERN}},
    {"starcoder", 0, {"\\p{N}", GPT2_PATTERN}},
    {"refact", 0, {"\\p{N}", GPT2_PATTERN}},
    {"qwen2", KZ_TOKENIZER_NFC, {QWEN2_PATTERN}},
    {"deepseek-r1-qwen", KZ_TOKENIZER_NFC, {QWEN2_PATTERN}},
    {"qwen35", KZ_TOKENIZER_NFC, {QWEN35_PATTERN}},
    {"llama-bpe", KZ_TOKENIZER_WHOLE_PIECES | KZ_TOKENIZER_ADD_BOS, {LLAMA3_PATTERN}},
    {"llama3", KZ_TOKENIZER_WHOLE_PIECES | KZ_TOKENIZER_ADD_BOS, {LLAMA3_PATTERN}},
    {"llama-v3", KZ_TOKENIZER_WHOLE_PIECES | KZ_TOKENIZER_ADD_BOS, {LLAMA3_PATTERN}},
    {"deepseek-coder",
     0,
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+",
      "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}"
      "\\x{ac00}-\\x{d7ff}]+",
      "\\p{N}"}},
};
static const size_t PRETOKENIZER_COUNT = sizeof PRETOKENIZERS / sizeof PRETOKENIZERS[0];

#define SPACE_CLASS "\\t-\\r\\x{85}\\p{Z}"

const char *kz_gpt2_pattern(void) {
    return GPT2_PATTERN;
}

kazeia_status kz_find_pretokenizer(const char *name, const kz_named_pretokenizer **out_found) {
    // A longer list would only be cut: it is for a sentence.
    char known[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < PRETOKENIZER_COUNT; i++) {
        if (strcmp(PRETOKENIZERS[i].name, name) == 0) {
            *out_found = &PRETOKENIZERS[i];
            return KAZEIA_OK;
        }
        const size_t length = strlen(PRETOKENIZERS[i].name);
        if (used + length + 2 < sizeof known) {
            memcpy(known + used, PRETOKENIZERS[i].name, length);
            known[used + length] = ' ';
            used += length + 1;
        }
    }
    known[used > 0 ? used - 1 : 0] = 0;
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "tokenizer: pre-tokeniser '%.60s' is not known; known are: %s", name, known);
}

// What an escape becomes; NULL: it stays as it is, for letters that mean the same in both.
static kazeia_status translate_escape(char letter, bool in_class, const char **out_text) {
    *out_text = NULL;
    switch (letter) {
    case 's':
        *out_text = in_class ? SPACE_CLASS : "[" SPACE_CLASS "]";
        return KAZEIA_OK;
    case 'S':
        *out_text = "[^" SPACE_CLASS "]";
        break;
    // Unicode's digits in Oniguruma; PCRE2's \d would be ASCII alone without its UCP flag.
    case 'd':
        *out_text = "\\p{Nd}";
        return KAZEIA_OK;
    default:
        break;
    }
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                           (letter >= '0' && letter <= '9');
    const bool is_refused =
        letter == 'S' ? in_class : is_letter && strchr("pPrntfx", letter) == NULL;
    if (letter == 0 || is_refused) {
        return kz_fail(KAZEIA_UNSUPPORTED, "tokenizer: '\\%c' in a pattern%s is not handled",
                       letter == 0 ? ' ' : letter, in_class ? " (within brackets)" : "");
    }
    return KAZEIA_OK;
}

// \p{L} and \x{85} count with their braces.
static size_t escape_length(const char *at) {
    const bool has_braces = strchr("pPx", at[1]) != NULL && at[2] == '{';
    // Braces are copied whole: what is in them is a name, not pattern.
    const char *end = has_braces ? strchr(at, '}') : NULL;
    return end != NULL ? (size_t)(end - at) + 1 : 2;
}

static kazeia_status refuse_construct(const char *at, bool in_class) {
    // Oniguruma has sets within sets and intersections; PCRE2 would read them as characters.
    const bool is_nested = in_class && (at[0] == '[' || (at[0] == '&' && at[1] == '&'));
    const bool is_greedy_pair = !in_class && at[0] == '}' && at[1] == '+';
    if (is_nested || is_greedy_pair) {
        return kz_fail(KAZEIA_UNSUPPORTED, "tokenizer: '%.2s' in a pattern is not handled", at);
    }
    return KAZEIA_OK;
}

kazeia_status kz_translate_pattern(const char *pattern, kz_text_buffer *out) {
    bool in_class = false;
    for (const char *at = pattern; *at != 0; at++) {
        if (*at == '\\') {
            const char *text = NULL;
            KZ_TRY(translate_escape(at[1], in_class, &text));
            const size_t length = escape_length(at);
            if (text != NULL) {
                KZ_TRY(kz_text_buffer_append_string(out, text));
            } else {
                KZ_TRY(kz_text_buffer_append(out, at, length));
            }
            at += length - 1;
            continue;
        }
        KZ_TRY(refuse_construct(at, in_class));
        // An escaped bracket never comes here: escapes are copied above.
        in_class = *at == '[' || (in_class && *at != ']');
        KZ_TRY(kz_text_buffer_append(out, at, 1));
    }
    return KAZEIA_OK;
}
