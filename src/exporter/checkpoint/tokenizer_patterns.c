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

// Cased letters of the scripts that DeepSeek LLM's tokenizer lists one by one.
#define DEEPSEEK_LETTERS                                                                   \
    "A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}"         \
    "\\x{1c4}-\\x{293}\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37b}-\\x{37d}" \
    "\\x{37f}\\x{386}\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}"          \
    "\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}"               \
    "\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}"         \
    "\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}"         \
    "\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}"         \
    "\\x{1f59}\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}" \
    "\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}"                   \
    "\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}"         \
    "\\x{2102}\\x{2107}\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}"  \
    "\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}"          \
    "\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}" \
    "\\x{2ceb}-\\x{2cee}\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}"          \
    "\\x{a722}-\\x{a76f}\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}"         \
    "\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}"         \
    "\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}" \
    "\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"

// DeepSeek's three scripts without spaces, in its tokenizers' own ranges.
#define DEEPSEEK_EAST "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
#define DEEPSEEK_SIGNS \
    "\\s?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+"

// GGUF names a pre-tokeniser instead of holding its pattern; names and patterns are those of
// llama.cpp (llama-vocab.cpp) and of the models' own tokenizer.json.
#define LLAMA3_FLAGS (KZ_TOKENIZER_WHOLE_PIECES | KZ_TOKENIZER_ADD_BOS)
static const kz_named_pretokenizer PRETOKENIZERS[] = {
    {"gpt-2", 0, {GPT2_PATTERN}},
    {"qwen2", KZ_TOKENIZER_NFC, {QWEN2_PATTERN}},
    {"qwen3", KZ_TOKENIZER_NFC, {QWEN2_PATTERN}},
    // Its public test vectors keep decomposed accents.
    {"qwen35", 0, {QWEN35_PATTERN}},
    {"llama-bpe", LLAMA3_FLAGS, {LLAMA3_PATTERN}},
    {"smollm", 0, {"\\p{N}", GPT2_PATTERN}},
    // Hugging Face's Punctuation, ByteLevel and Split; its Digits between the last two cuts nothing
    // that this vocabulary could merge.
    {"falcon", 0, {"[\\p{P}$+<=>\\^~|`]+", GPT2_PATTERN, "[0-9][0-9][0-9]"}},
    {"starcoder", 0, {"\\p{N}", GPT2_PATTERN}},
    {"refact", 0, {"\\p{N}", GPT2_PATTERN}},
    {"mpt", KZ_TOKENIZER_NFC, {GPT2_PATTERN}},
    {"deepseek-llm",
     0,
     {"[\\r\\n]", "\\s?[" DEEPSEEK_LETTERS "]+", DEEPSEEK_SIGNS, "\\s+$", DEEPSEEK_EAST, "\\p{N}"}},
    {"deepseek-coder", 0, {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", DEEPSEEK_EAST, "\\p{N}"}},
};
static const size_t PRETOKENIZER_COUNT = sizeof PRETOKENIZERS / sizeof PRETOKENIZERS[0];

// Other names that llama.cpp takes for the very same: models that share a tokenizer's rules.
static const struct {
    const char *name, *meaning;
} ALIASES[] = {
    {"phi-2", "gpt-2"},
    {"jina-es", "gpt-2"},
    {"jina-de", "gpt-2"},
    {"gigachat", "gpt-2"},
    {"a.x-4.0", "gpt-2"},
    {"mellum", "gpt-2"},
    {"deepseek-r1-qwen", "qwen2"},
    {"kormo", "qwen2"},
    {"f2llmv2", "qwen2"},
    {"llama3", "llama-bpe"},
    {"llama-v3", "llama-bpe"},
    {"falcon3", "llama-bpe"},
    {"falcon-h1", "llama-bpe"},
    {"pixtral", "llama-bpe"},
    {"midm-2.0", "llama-bpe"},
    {"lfm2", "llama-bpe"},
    {"jina-v5-nano", "llama-bpe"},
};

// Oniguruma's $ stands before every line end, and at the end of the text.
#define LINE_END "(?=\\n|\\z)"
#define SPACE_CLASS "\\t-\\r\\x{85}\\p{Z}"

const char *kz_gpt2_pattern(void) {
    return GPT2_PATTERN;
}

static const char *resolve_alias(const char *name) {
    for (size_t i = 0; i < sizeof ALIASES / sizeof ALIASES[0]; i++) {
        if (strcmp(ALIASES[i].name, name) == 0) {
            return ALIASES[i].meaning;
        }
    }
    return name;
}

kazeia_status kz_find_pretokenizer(const char *name, const kz_named_pretokenizer **out_found) {
    // A longer list would only be cut: it is for a sentence.
    char known[512] = "";
    size_t used = 0;
    const char *meaning = resolve_alias(name);
    for (size_t i = 0; i < PRETOKENIZER_COUNT; i++) {
        if (strcmp(PRETOKENIZERS[i].name, meaning) == 0) {
            *out_found = &PRETOKENIZERS[i];
            return KAZEIA_OK;
        }
        const size_t length = strlen(PRETOKENIZERS[i].name);
        if (used + length + 3 < sizeof known) {
            memcpy(known + used, PRETOKENIZERS[i].name, length);
            memcpy(known + used + length, ", ", 2);
            used += length + 2;
        }
    }
    known[used > 1 ? used - 2 : 0] = 0;
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
    // At the start of a line in Oniguruma, of the text in PCRE2.
    const bool is_line_start = !in_class && at[0] == '^';
    if (is_nested || is_greedy_pair || is_line_start) {
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
        if (*at == '$' && !in_class) {
            KZ_TRY(kz_text_buffer_append_string(out, LINE_END));
            continue;
        }
        KZ_TRY(refuse_construct(at, in_class));
        // An escaped bracket never comes here: escapes are copied above.
        in_class = *at == '[' || (in_class && *at != ']');
        KZ_TRY(kz_text_buffer_append(out, at, 1));
    }
    return KAZEIA_OK;
}
