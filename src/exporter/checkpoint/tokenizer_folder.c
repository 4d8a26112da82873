// tokenizer_folder.c: the tokenizer of a Hugging Face folder, whichever files it has.
//
// in:  tokenizer.json; or vocab.json, merges.txt and tokenizer_config.json; or neither
// out: a draft, or none
//
// tokenizer.json says all; transformers overrides its BOS and EOS by tokenizer_config.json for the
// classes that know these settings, and so do we. vocab.json and merges.txt do not say how text is
// cut: the class named in tokenizer_config.json does.
#include <stdlib.h>
#include <string.h>

#include "exporter/checkpoint/tokenizer_files.h"
#include "exporter/checkpoint/tokenizer_json.h"

static kazeia_status add_merge_lines(kz_tokenizer_draft *draft, const char *text, size_t count) {
    static const char COMMENT[] = "#version";
    for (size_t start = 0; start < count;) {
        const char *line_end = memchr(text + start, '\n', count - start);
        const size_t end = line_end != NULL ? (size_t)(line_end - text) : count;
        size_t length = end - start;
        length -= length > 0 && text[start + length - 1] == '\r' ? 1 : 0;
        // The first line may be "#version: 0.2"; later lines with '#' are merges of that sign.
        const bool is_comment = start == 0 && length >= sizeof COMMENT - 1 &&
                                memcmp(text, COMMENT, sizeof COMMENT - 1) == 0;
        if (length > 0 && !is_comment) {
            KZ_TRY(kz_tokenizer_draft_add_merge_line(draft, text + start, length));
        }
        start = end + 1;
    }
    return KAZEIA_OK;
}

// vocab.json does not mark its special tokens; "<|...|>" is how GPT-2 and Whisper write them.
static bool looks_like_control(const char *text, size_t count) {
    return count > 4 && memcmp(text, "<|", 2) == 0 && memcmp(text + count - 2, "|>", 2) == 0;
}

static kazeia_status mark_controls(kz_tokenizer_draft *draft, const json_t *vocabulary) {
    const char *text = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)vocabulary, text, value) {
        if (looks_like_control(text, strlen(text))) {
            KZ_TRY(kz_tokenizer_draft_set_token(draft, (size_t)json_integer_value(value), text,
                                                strlen(text), KZ_SPELLED_RAW, KZ_TOKEN_CONTROL, 0));
        }
    }
    return KAZEIA_OK;
}

// An added token's number is its key. False when that is no number of a token.
static bool read_key(const char *key, size_t *out_id) {
    char *end = NULL;
    const unsigned long id = strtoul(key, &end, 10);
    *out_id = (size_t)id;
    return key[0] >= '0' && key[0] <= '9' && *end == 0 && id < KZ_TOKENIZER_COUNT_LIMIT;
}

static kazeia_status count_added(const json_t *added, size_t *count) {
    const size_t most = *count + 2 * json_object_size(added);
    const char *key = NULL;
    json_t *token = NULL;
    json_object_foreach((json_t *)added, key, token) {
        size_t id = 0;
        // Added tokens follow the vocabulary; gaps cost memory, and few files have any.
        if (!read_key(key, &id) || id >= most) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "tokenizer_config.json: added token '%.40s' has no number below %zu",
                           key, most);
        }
        *count = id >= *count ? id + 1 : *count;
    }
    return KAZEIA_OK;
}

static kazeia_status add_added(kz_tokenizer_draft *draft, const json_t *added) {
    const char *key = NULL;
    json_t *token = NULL;
    json_object_foreach((json_t *)added, key, token) {
        size_t id = 0;
        (void)read_key(key, &id); // counted before
        KZ_TRY(kz_json_add_token(draft, id, token));
    }
    return KAZEIA_OK;
}

static kazeia_status fill_from_vocabulary(kz_tokenizer_draft *draft, const json_t *vocabulary,
                                          const json_t *added, const char *merges,
                                          size_t merges_bytes, const char *pretokenizer) {
    KZ_TRY(kz_json_add_vocabulary(draft, vocabulary));
    KZ_TRY(add_merge_lines(draft, merges, merges_bytes));
    // After the merges: a token that is marked has lost its spelling.
    KZ_TRY(mark_controls(draft, vocabulary));
    KZ_TRY(add_added(draft, added));
    return kz_tokenizer_draft_add_named(draft, pretokenizer);
}

kazeia_status kz_tokenizer_from_vocabulary(const json_t *vocabulary, const json_t *added,
                                           const char *merges, size_t merges_bytes,
                                           const char *pretokenizer,
                                           const kazeia_allocator *allocator,
                                           kz_tokenizer_draft **out_draft) {
    if (!json_is_object(vocabulary)) {
        return kz_fail(KAZEIA_BAD_FILE, "vocab.json: an object of tokens and numbers is expected");
    }
    size_t token_count = 0;
    KZ_TRY(kz_json_count_tokens(vocabulary, NULL, &token_count));
    KZ_TRY(count_added(added, &token_count));
    kz_tokenizer_draft *draft = NULL;
    KZ_TRY(kz_tokenizer_draft_create(KZ_TOKENIZER_BYTE_BPE, token_count, allocator, &draft));
    const kazeia_status status =
        fill_from_vocabulary(draft, vocabulary, added, merges, merges_bytes, pretokenizer);
    if (status != KAZEIA_OK) {
        kz_tokenizer_draft_destroy(draft);
        return status;
    }
    *out_draft = draft;
    return KAZEIA_OK;
}

// --- tokenizer_config.json ----------------------------------------------------------------------

// A special token is a text, or an object with its content.
static const char *token_text(const json_t *config, const char *key) {
    const json_t *token = json_object_get(config, key);
    const json_t *content = json_object_get(token, "content");
    return json_string_value(json_is_object(token) ? content : token);
}

static uint32_t find_control(const kz_tokenizer_source *source, const char *text) {
    const size_t count = text != NULL ? strlen(text) : 0;
    for (uint32_t i = 0; count > 0 && i < source->token_count; i++) {
        const kz_tokenizer_token *token = &source->tokens[i];
        if ((token->kind & KZ_TOKEN_KIND_MASK) == KZ_TOKEN_CONTROL && token->count == count &&
            memcmp(token->bytes, text, count) == 0) {
            return i;
        }
    }
    return KZ_NO_TOKEN;
}

// True for the classes of transformers that put add_bos_token and add_eos_token above the
// post-processor of tokenizer.json.
static bool heeds_rules(const char *class_name) {
    static const char *const PREFIXES[] = {"Llama", "CodeLlama", "Gemma"};
    for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++) {
        if (strncmp(class_name, PREFIXES[i], strlen(PREFIXES[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void apply_rule(const json_t *config, const char *key, uint32_t flag, bool is_named,
                       uint32_t *flags) {
    const json_t *rule = json_object_get(config, key);
    if (json_is_boolean(rule)) {
        // Without a token of that name there is nothing to add.
        *flags = json_is_true(rule) && is_named ? *flags | flag : *flags & ~flag;
    }
}

static void apply_config(kz_tokenizer_draft *draft, const json_t *config) {
    kz_tokenizer_source *source = kz_tokenizer_draft_source(draft);
    const uint32_t bos = find_control(source, token_text(config, "bos_token"));
    const uint32_t eos = find_control(source, token_text(config, "eos_token"));
    const char *class_name = json_string_value(json_object_get(config, "tokenizer_class"));
    source->bos = bos != KZ_NO_TOKEN ? bos : source->bos;
    source->eos = eos != KZ_NO_TOKEN ? eos : source->eos;
    if (class_name != NULL && heeds_rules(class_name)) {
        apply_rule(config, "add_bos_token", KZ_TOKENIZER_ADD_BOS, source->bos != KZ_NO_TOKEN,
                   &source->flags);
        apply_rule(config, "add_eos_token", KZ_TOKENIZER_ADD_EOS, source->eos != KZ_NO_TOKEN,
                   &source->flags);
    }
}

// The rules of cutting that a class stands for, by GGUF's name; NULL for a class that is not known.
static const char *pretokenizer_of(const char *class_name) {
    static const char *const CLASSES[][2] = {{"Qwen2Tokenizer", "qwen2"},
                                             {"Qwen2TokenizerFast", "qwen2"},
                                             {"GPT2Tokenizer", "gpt-2"},
                                             {"GPT2TokenizerFast", "gpt-2"}};
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++) {
        if (strcmp(CLASSES[i][0], class_name) == 0) {
            return CLASSES[i][1];
        }
    }
    return NULL;
}

// --- Folders ------------------------------------------------------------------------------------

static kazeia_status choose_pretokenizer(const kz_checkpoint *checkpoint, const json_t *config,
                                         const char **out_name) {
    const char *class_name = json_string_value(json_object_get(config, "tokenizer_class"));
    *out_name = class_name != NULL ? pretokenizer_of(class_name) : NULL;
    if (*out_name == NULL || json_is_true(json_object_get(config, "add_prefix_space"))) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "%s: its tokenizer is 'vocab.json' with the class '%.60s'%s; expected "
                       "tokenizer.json (transformers' AutoTokenizer with save_pretrained writes "
                       "one), or the class Qwen2Tokenizer or GPT2Tokenizer in "
                       "tokenizer_config.json",
                       kz_checkpoint_path(checkpoint), class_name != NULL ? class_name : "(none)",
                       *out_name != NULL ? " and add_prefix_space" : "");
    }
    return KAZEIA_OK;
}

static kazeia_status draft_vocabulary(kz_checkpoint *checkpoint, const json_t *config,
                                      const kazeia_allocator *allocator,
                                      kz_tokenizer_draft **out_draft) {
    const json_t *vocabulary = NULL;
    const char *pretokenizer = NULL;
    kz_file_map merges = {0};
    KZ_TRY(choose_pretokenizer(checkpoint, config, &pretokenizer));
    KZ_TRY(kz_checkpoint_json(checkpoint, "vocab.json", &vocabulary));
    KZ_TRY(kz_checkpoint_map_file(checkpoint, "merges.txt", &merges));
    const kazeia_status status = kz_tokenizer_from_vocabulary(
        vocabulary, json_object_get(config, "added_tokens_decoder"), (const char *)merges.bytes,
        merges.size, pretokenizer, allocator, out_draft);
    kz_file_map_close(&merges);
    return status;
}

// These alone do not say how text is cut before merging. A program without a tokenizer takes ids
// only, which nobody who has such files wants.
static kazeia_status refuse_other_files(const kz_checkpoint *checkpoint) {
    static const char *const names[] = {"vocab.json",      "merges.txt",    "tokenizer.model",
                                        "vocabulary.json", "vocab.txt",     "vocabulary.txt",
                                        "spiece.model",    "tiktoken.model"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (kz_checkpoint_has_file(checkpoint, names[i])) {
            return kz_fail(KAZEIA_UNSUPPORTED,
                           "%s: its tokenizer is '%s', expected tokenizer.json (transformers' "
                           "AutoTokenizer with save_pretrained writes one)",
                           kz_checkpoint_path(checkpoint), names[i]);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_tokenizer_from_folder(kz_checkpoint *checkpoint, const kazeia_allocator *allocator,
                                       kz_tokenizer_draft **out_draft) {
    const json_t *root = NULL;
    const json_t *config = NULL;
    *out_draft = NULL;
    KZ_TRY(kz_checkpoint_json(checkpoint, "tokenizer.json", &root));
    KZ_TRY(kz_checkpoint_json(checkpoint, "tokenizer_config.json", &config));
    if (root != NULL) {
        KZ_TRY(kz_tokenizer_from_json(root, allocator, out_draft));
    } else if (kz_checkpoint_has_file(checkpoint, "vocab.json") &&
               kz_checkpoint_has_file(checkpoint, "merges.txt")) {
        KZ_TRY(draft_vocabulary(checkpoint, config, allocator, out_draft));
    } else {
        return refuse_other_files(checkpoint);
    }
    apply_config(*out_draft, config);
    return KAZEIA_OK;
}
