// tokenizer_gguf.c: GGUF's tokenizer.ggml arrays -> a draft.
//
// in:  tokens, types, merges or scores, and rules as key/values
// out: a draft
//
// GGUF's token types are 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
#include <string.h>

#include "exporter/checkpoint/tokenizer_files.h"

#define KEY(name) "tokenizer.ggml." name

// By the file's number; 0 stands for nothing that is written. The unknown token is found in a text
// where control tokens are, and only there.
static const uint8_t KINDS[] = {KZ_TOKEN_UNUSED,  KZ_TOKEN_NORMAL, KZ_TOKEN_CONTROL,
                                KZ_TOKEN_CONTROL, KZ_TOKEN_USER,   KZ_TOKEN_UNUSED,
                                KZ_TOKEN_BYTE};

#define GGUF_NORMAL 1

typedef struct gguf_token {
    const char *text;
    size_t count;
    uint8_t kind;
    bool is_text; // spelled as text is, and perhaps a half of merges
    float score;
} gguf_token;

// Texts that end a turn or a document, or mark the parts of a file to be filled in, in the model
// families that GGUF carries. Converters often mark them as user-defined, which would let a user
// end his own turn; they are control tokens, whatever the file says (llama.cpp overrides the same
// way).
static const char *const CONTROLS[] = {"</s>",
                                       "<eos>",
                                       "<|eot_id|>",
                                       "<|im_end|>",
                                       "<|end|>",
                                       "<|return|>",
                                       "<|call|>",
                                       "<|calls|>",
                                       "<|flush|>",
                                       "<end_of_turn>",
                                       "<|endoftext|>",
                                       "<|eom_id|>",
                                       "<EOT>",
                                       "_<EOT>",
                                       "[EOT]",
                                       "[EOS]",
                                       "<|end_of_text|>",
                                       "<end_of_utterance>",
                                       "<｜end▁of▁sentence｜>",
                                       "<|fim_prefix|>",
                                       "<fim-prefix>",
                                       "<fim_prefix>",
                                       "<｜fim▁begin｜>",
                                       "<PRE>",
                                       "▁<PRE>",
                                       "<|code_prefix|>",
                                       "<|prefix|>",
                                       "<|fim_suffix|>",
                                       "<fim-suffix>",
                                       "<fim_suffix>",
                                       "<｜fim▁hole｜>",
                                       "<SUF>",
                                       "▁<SUF>",
                                       "<|code_suffix|>",
                                       "<|suffix|>",
                                       "<|fim_middle|>",
                                       "<fim-middle>",
                                       "<fim_middle>",
                                       "<｜fim▁end｜>",
                                       "<MID>",
                                       "▁<MID>",
                                       "<|code_middle|>",
                                       "<|middle|>",
                                       "<|fim_pad|>",
                                       "<fim-pad>",
                                       "<fim_pad>",
                                       "<PAD>",
                                       "[PAD]",
                                       "<|fim_repo|>",
                                       "<|repo_name|>",
                                       "<fim-repo>",
                                       "<REPO>",
                                       "<reponame>",
                                       "<|file_sep|>"};

static bool is_text(const gguf_token *token, const char *text) {
    return strlen(text) == token->count && memcmp(text, token->text, token->count) == 0;
}

static bool is_control(const gguf_token *token) {
    for (size_t i = 0; i < sizeof CONTROLS / sizeof CONTROLS[0]; i++) {
        if (is_text(token, CONTROLS[i])) {
            return true;
        }
    }
    return false;
}

static kazeia_status read_token(const kz_checkpoint *checkpoint, size_t index,
                                gguf_token *out_token) {
    int64_t type = 1; // normal, where the file gives no types
    double score = 0;
    *out_token = (gguf_token){0};
    if (!kz_checkpoint_array_string(checkpoint, KEY("tokens"), index, &out_token->text,
                                    &out_token->count)) {
        return kz_fail(KAZEIA_BAD_FILE, "gguf: " KEY("tokens") " has no text at %zu", index);
    }
    const bool has_type = kz_checkpoint_array_integer(checkpoint, KEY("token_type"), index, &type);
    if ((!has_type && kz_checkpoint_array_count(checkpoint, KEY("token_type")) > 0) || type < 0 ||
        type >= (int64_t)sizeof KINDS) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "gguf: " KEY("token_type") " of token %zu is %lld; 1 to 6 are known", index,
                       (long long)type);
    }
    // Byte BPE has no scores; find_kind has compared their number for the kind that needs them.
    (void)kz_checkpoint_array_real(checkpoint, KEY("scores"), index, &score);
    out_token->kind = is_control(out_token) ? KZ_TOKEN_CONTROL : KINDS[type];
    out_token->is_text = type == GGUF_NORMAL;
    out_token->score = (float)score;
    return KAZEIA_OK;
}

static bool holds_mark(const gguf_token *token) {
    for (size_t i = 0; i + 3 <= token->count; i++) {
        if (memcmp(token->text + i, "\xe2\x96\x81", 3) == 0) {
            return true;
        }
    }
    return false;
}

static kz_token_spelling spelling_of(kz_tokenizer_kind tokenizer, const gguf_token *token) {
    if (tokenizer == KZ_TOKENIZER_BYTE_BPE) {
        // GGUF keeps Hugging Face's spelling of texts, but added tokens as they are.
        return token->is_text ? KZ_SPELLED_BYTES : KZ_SPELLED_RAW;
    }
    if (token->kind == KZ_TOKEN_BYTE) {
        return KZ_SPELLED_HEX;
    }
    return token->is_text || token->kind == KZ_TOKEN_USER ? KZ_SPELLED_MARKS : KZ_SPELLED_RAW;
}

// True for the Phi-3 family, whose special tokens take the white space behind them. GGUF does not
// say so of a token: the model's name is all there is to tell it by.
static bool strips_right(const kz_checkpoint *checkpoint) {
    const char *name = kz_checkpoint_string(checkpoint, "general.name");
    return name != NULL && (strcasestr(name, "phi-3") != NULL || strcasestr(name, "phi3") != NULL);
}

static bool is_special(const gguf_token *token) {
    return token->kind == KZ_TOKEN_CONTROL || token->kind == KZ_TOKEN_USER;
}

static kazeia_status add_tokens(kz_tokenizer_draft *draft, const kz_checkpoint *checkpoint) {
    const kz_tokenizer_source *source = kz_tokenizer_draft_source(draft);
    const bool is_stripping = strips_right(checkpoint);
    for (size_t i = 0; i < source->token_count; i++) {
        gguf_token token;
        KZ_TRY(read_token(checkpoint, i, &token));
        const kz_token_spelling spelling = spelling_of(source->kind, &token);
        // Runs of spaces are spelled with U+2581 and made by merging, not found in the raw text.
        if (spelling == KZ_SPELLED_MARKS && token.kind == KZ_TOKEN_USER && holds_mark(&token)) {
            token.kind |= KZ_TOKEN_MERGED_ONLY;
        }
        if (is_stripping && is_special(&token) && !is_text(&token, "<unk>") &&
            !is_text(&token, "<s>") && !is_text(&token, "<|endoftext|>")) {
            token.kind |= KZ_TOKEN_STRIPS_RIGHT;
        }
        KZ_TRY(kz_tokenizer_draft_set_token(draft, i, token.text, token.count, spelling, token.kind,
                                            token.score));
    }
    return KAZEIA_OK;
}

static kazeia_status add_merges(kz_tokenizer_draft *draft, const kz_checkpoint *checkpoint) {
    const size_t count = kz_checkpoint_array_count(checkpoint, KEY("merges"));
    if (count == 0) {
        return kz_fail(KAZEIA_BAD_FILE, "gguf: " KEY("merges") " is missing or empty");
    }
    for (size_t i = 0; i < count; i++) {
        const char *text = NULL;
        size_t bytes = 0;
        if (!kz_checkpoint_array_string(checkpoint, KEY("merges"), i, &text, &bytes)) {
            return kz_fail(KAZEIA_BAD_FILE, "gguf: " KEY("merges") " has no text at %zu", i);
        }
        KZ_TRY(kz_tokenizer_draft_add_merge_line(draft, text, bytes));
    }
    return KAZEIA_OK;
}

static kazeia_status read_id(const kz_checkpoint *checkpoint, const char *key, uint32_t count,
                             uint32_t *out_id) {
    int64_t id = 0;
    if (!kz_checkpoint_integer(checkpoint, key, &id)) {
        return KAZEIA_OK;
    }
    if (id < 0 || id >= count) {
        return kz_fail(KAZEIA_BAD_FILE, "gguf: %s is %lld; there are %u tokens", key, (long long)id,
                       (unsigned)count);
    }
    *out_id = (uint32_t)id;
    return KAZEIA_OK;
}

static void read_rule(const kz_checkpoint *checkpoint, const char *key, uint32_t flag,
                      uint32_t *flags) {
    bool is_set = false;
    if (kz_checkpoint_bool(checkpoint, key, &is_set)) {
        *flags = is_set ? *flags | flag : *flags & ~flag;
    }
}

// SentencePiece's own numbers, where a file names none: unknown 0, begin 1, end 2.
static void read_default_ids(kz_tokenizer_source *source) {
    uint32_t *ids[] = {&source->unknown, &source->bos, &source->eos};
    for (uint32_t i = 0; i < 3; i++) {
        *ids[i] = *ids[i] == KZ_NO_TOKEN && i < source->token_count ? i : *ids[i];
    }
}

// The file's own rules override those that its kind or pre-tokeniser implies.
static kazeia_status add_rules(kz_tokenizer_draft *draft, const kz_checkpoint *checkpoint) {
    kz_tokenizer_source *source = kz_tokenizer_draft_source(draft);
    const uint32_t count = source->token_count;
    const bool is_bytes = source->kind == KZ_TOKENIZER_BYTE_BPE;
    // Absent ids stay KZ_NO_TOKEN; the builder refuses a rule to add one that is not named.
    KZ_TRY(read_id(checkpoint, KEY("bos_token_id"), count, &source->bos));
    KZ_TRY(read_id(checkpoint, KEY("eos_token_id"), count, &source->eos));
    if (!is_bytes) {
        KZ_TRY(read_id(checkpoint, KEY("unknown_token_id"), count, &source->unknown));
        read_default_ids(source);
        // SentencePiece's defaults, which a file need not repeat.
        source->flags |= KZ_TOKENIZER_ADD_BOS | KZ_TOKENIZER_SPACE_PREFIX;
        read_rule(checkpoint, KEY("add_space_prefix"), KZ_TOKENIZER_SPACE_PREFIX, &source->flags);
    }
    read_rule(checkpoint, KEY("add_bos_token"), KZ_TOKENIZER_ADD_BOS, &source->flags);
    read_rule(checkpoint, KEY("add_eos_token"), KZ_TOKENIZER_ADD_EOS, &source->flags);
    return KAZEIA_OK;
}

static kazeia_status fill_from_gguf(kz_tokenizer_draft *draft, const kz_checkpoint *checkpoint) {
    KZ_TRY(add_tokens(draft, checkpoint));
    if (kz_tokenizer_draft_source(draft)->kind == KZ_TOKENIZER_BYTE_BPE) {
        KZ_TRY(add_merges(draft, checkpoint));
        const char *name = kz_checkpoint_string(checkpoint, KEY("pre"));
        // Without a name there is no pattern, and any guess would cut some texts otherwise.
        KZ_TRY(kz_tokenizer_draft_add_named(draft, name != NULL ? name : "(not named)"));
    }
    return add_rules(draft, checkpoint);
}

static kazeia_status find_kind(const kz_checkpoint *checkpoint, kz_tokenizer_kind *out_kind) {
    const char *model = kz_checkpoint_string(checkpoint, KEY("model"));
    if (model != NULL && strcmp(model, "gpt2") == 0) {
        *out_kind = KZ_TOKENIZER_BYTE_BPE;
        return KAZEIA_OK;
    }
    if (model != NULL && strcmp(model, "llama") == 0) {
        *out_kind = KZ_TOKENIZER_SENTENCEPIECE_BPE;
        const size_t scores = kz_checkpoint_array_count(checkpoint, KEY("scores"));
        const size_t tokens = kz_checkpoint_array_count(checkpoint, KEY("tokens"));
        if (scores != tokens) {
            return kz_fail(KAZEIA_BAD_FILE, "gguf: %zu tokens and %zu scores", tokens, scores);
        }
        return KAZEIA_OK;
    }
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "gguf: " KEY("model") " is '%.40s'; 'gpt2' and 'llama' are handled",
                   model != NULL ? model : "(missing)");
}

kazeia_status kz_tokenizer_from_gguf(const kz_checkpoint *checkpoint,
                                     const kazeia_allocator *allocator,
                                     kz_tokenizer_draft **out_draft) {
    kz_tokenizer_kind kind = KZ_TOKENIZER_BYTE_BPE;
    KZ_TRY(find_kind(checkpoint, &kind));
    kz_tokenizer_draft *draft = NULL;
    KZ_TRY(kz_tokenizer_draft_create(kind, kz_checkpoint_array_count(checkpoint, KEY("tokens")),
                                     allocator, &draft));
    const kazeia_status status = fill_from_gguf(draft, checkpoint);
    if (status != KAZEIA_OK) {
        kz_tokenizer_draft_destroy(draft);
        return status;
    }
    *out_draft = draft;
    return KAZEIA_OK;
}
