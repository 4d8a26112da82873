// tokenizer_json.c: Hugging Face's tokenizer.json.
//
// in:  parsed JSON
// out: a draft
//
// The library's pipeline is a tree of components; a table names those that we reproduce, and all
// else is refused by its type.
#include <string.h>

#include "exporter/checkpoint/tokenizer_files.h"
#include "exporter/checkpoint/tokenizer_json.h"
#include "exporter/checkpoint/tokenizer_patterns.h"

#define TOKENS_A_NAME 4
#define TOKENS_AT_LEAST 1024

const char *kz_json_component_type(const json_t *component) {
    const char *type = json_string_value(json_object_get(component, "type"));
    return type != NULL ? type : "(without a type)";
}

bool kz_json_is_absent(const json_t *value) {
    return value == NULL || json_is_null(value);
}

kazeia_status kz_json_refuse_component(const char *role, const json_t *component) {
    return kz_fail(KAZEIA_UNSUPPORTED, "tokenizer.json: the %s '%.60s' is not handled", role,
                   kz_json_component_type(component));
}

// --- Model --------------------------------------------------------------------------------------
// Raises *highest to a token's number.
// The limit keeps the table of tokens, which is as long as the highest number, within memory.
static kazeia_status note_number(const char *text, const json_t *number, json_int_t *highest) {
    const json_int_t id = json_is_integer(number) ? json_integer_value(number) : -1;
    if (id < 0 || id >= KZ_TOKENIZER_COUNT_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: token '%.60s' has no number below %u", text,
                       KZ_TOKENIZER_COUNT_LIMIT);
    }
    *highest = id > *highest ? id : *highest;
    return KAZEIA_OK;
}

// Numbers may leave gaps, but a few tokens with huge ones would take memory for nothing.
kazeia_status kz_json_count_tokens(const json_t *vocabulary, const json_t *added,
                                   size_t *out_count) {
    json_int_t highest = -1;
    const char *text = NULL;
    json_t *value = NULL;
    // jansson's iterator takes no const; nothing is changed.
    json_object_foreach((json_t *)vocabulary, text, value) {
        KZ_TRY(note_number(text, value, &highest));
    }
    size_t index = 0;
    json_array_foreach(added, index, value) {
        const char *content = json_string_value(json_object_get(value, "content"));
        KZ_TRY(note_number(content != NULL ? content : "(without content)",
                           json_object_get(value, "id"), &highest));
    }
    const size_t named = json_object_size(vocabulary) + json_array_size(added);
    *out_count = (size_t)(highest + 1);
    if (*out_count > TOKENS_A_NAME * named + TOKENS_AT_LEAST) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: %zu tokens are numbered up to %lld", named,
                       (long long)highest);
    }
    return KAZEIA_OK;
}

kazeia_status kz_json_add_vocabulary(kz_tokenizer_draft *draft, const json_t *vocabulary) {
    const bool is_bytes = kz_tokenizer_draft_source(draft)->kind == KZ_TOKENIZER_BYTE_BPE;
    const char *text = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)vocabulary, text, value) {
        const size_t id = (size_t)json_integer_value(value);
        KZ_TRY(is_bytes ? kz_tokenizer_draft_set_token(draft, id, text, strlen(text),
                                                       KZ_SPELLED_BYTES, KZ_TOKEN_NORMAL, 0)
                        : kz_json_add_piece(draft, id, text, strlen(text)));
    }
    return KAZEIA_OK;
}

// Runs of spaces are also added tokens in some vocabularies. Merging makes them: no text that is
// searched for added tokens has U+2581 in it.
static bool is_merged_space(const kz_tokenizer_draft *draft, const char *text, uint8_t kind) {
    return kz_tokenizer_draft_kind(draft) == KZ_TOKENIZER_SENTENCEPIECE_BPE &&
           kind == KZ_TOKEN_USER && strstr(text, "\xe2\x96\x81") != NULL;
}

// A token that is looked for in the normalised text ("normalized") is looked for in the text as it
// is: what normalising changes (accents, spaces) is in none of those that models have.
kazeia_status kz_json_add_token(kz_tokenizer_draft *draft, size_t id, const json_t *added) {
    const json_t *content = json_object_get(added, "content");
    if (!json_is_string(content)) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer.json: added token %zu has no content", id);
    }
    const char *text = json_string_value(content);
    // It would have to look at the characters around: our matching does not.
    if (json_is_true(json_object_get(added, "single_word"))) {
        return kz_fail(
            KAZEIA_UNSUPPORTED,
            "tokenizer.json: added token '%.60s' counts as a single word only: not handled", text);
    }
    // Control tokens are only produced by templates; a user's text must not spell them.
    uint8_t kind =
        json_is_true(json_object_get(added, "special")) ? KZ_TOKEN_CONTROL : KZ_TOKEN_USER;
    if (is_merged_space(draft, text, kind)) {
        return kz_tokenizer_draft_set_token(draft, id, text, json_string_length(content),
                                            KZ_SPELLED_MARKS, KZ_TOKEN_USER | KZ_TOKEN_MERGED_ONLY,
                                            0);
    }
    kind |= json_is_true(json_object_get(added, "lstrip")) ? KZ_TOKEN_STRIPS_LEFT : 0;
    kind |= json_is_true(json_object_get(added, "rstrip")) ? KZ_TOKEN_STRIPS_RIGHT : 0;
    return kz_tokenizer_draft_set_token(draft, id, text, json_string_length(content),
                                        KZ_SPELLED_RAW, kind, 0);
}

static kazeia_status add_added_token(kz_tokenizer_draft *draft, const json_t *added) {
    return kz_json_add_token(draft, (size_t)json_integer_value(json_object_get(added, "id")),
                             added);
}

// A merge is "left right", or since 2024 a pair.
static kazeia_status add_merge(kz_tokenizer_draft *draft, const json_t *merge) {
    if (json_is_string(merge)) {
        return kz_tokenizer_draft_add_merge_line(draft, json_string_value(merge),
                                                 json_string_length(merge));
    }
    const json_t *left = json_array_get(merge, 0);
    const json_t *right = json_array_get(merge, 1);
    if (json_array_size(merge) != 2 || !json_is_string(left) || !json_is_string(right)) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer.json: a merge is neither a text nor a pair");
    }
    return kz_tokenizer_draft_add_merge(draft, json_string_value(left), json_string_length(left),
                                        json_string_value(right), json_string_length(right));
}

static kazeia_status check_model(const json_t *model) {
    const char *type = json_string_value(json_object_get(model, "type"));
    if (type != NULL && strcmp(type, "BPE") != 0) {
        return kz_json_refuse_component("model", model);
    }
    // Each changes the ids that a text gets. A whole piece is asked for before it is merged only
    // where pieces are words.
    static const char *const UNHANDLED[] = {"dropout", "continuing_subword_prefix",
                                            "end_of_word_suffix", "ignore_merges"};
    const size_t count =
        sizeof UNHANDLED / sizeof UNHANDLED[0] - (kz_json_is_pieces(model) ? 0 : 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(model, UNHANDLED[i]);
        const bool is_plain = kz_json_is_absent(value) || json_is_false(value) ||
                              (json_is_string(value) && json_string_length(value) == 0);
        if (!is_plain) {
            return kz_fail(KAZEIA_UNSUPPORTED,
                           "tokenizer.json: a BPE model with '%s' is not handled", UNHANDLED[i]);
        }
    }
    return KAZEIA_OK;
}

// With a token for each byte nothing is ever unknown, whatever the model says of unknown ones.
static kazeia_status check_bytes(kz_tokenizer_draft *draft, const json_t *model) {
    const kz_tokenizer_source *source = kz_tokenizer_draft_source(draft);
    const bool is_pieces = source->kind == KZ_TOKENIZER_SENTENCEPIECE_BPE;
    const uint8_t kind = is_pieces ? KZ_TOKEN_BYTE : KZ_TOKEN_NORMAL;
    const json_t *unknown = json_object_get(model, "unk_token");
    bool are_there[256] = {false};
    size_t count = 0;
    for (uint32_t i = 0; i < source->token_count; i++) {
        const kz_tokenizer_token *token = &source->tokens[i];
        if (token->count == 1 && token->kind == kind && !are_there[token->bytes[0]]) {
            are_there[token->bytes[0]] = true;
            count++;
        }
    }
    if (count < 256 && (is_pieces || json_string_length(unknown) > 0)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: a BPE model with '%s' and tokens for %zu of 256 bytes is "
                       "not handled",
                       is_pieces ? "byte_fallback" : "unk_token", count);
    }
    return KAZEIA_OK;
}

static kazeia_status add_model(kz_tokenizer_draft *draft, const json_t *root) {
    const json_t *model = json_object_get(root, "model");
    const json_t *merges = json_object_get(model, "merges");
    size_t index = 0;
    json_t *value = NULL;
    KZ_TRY(kz_json_add_vocabulary(draft, json_object_get(model, "vocab")));
    KZ_TRY(check_bytes(draft, model));
    // After the vocabulary, of which merges are made, and before added tokens: those may take over
    // a number, but were never merged.
    json_array_foreach(merges, index, value) {
        KZ_TRY(add_merge(draft, value));
    }
    json_array_foreach(json_object_get(root, "added_tokens"), index, value) {
        KZ_TRY(add_added_token(draft, value));
    }
    if (json_is_true(json_object_get(model, "ignore_merges"))) {
        kz_tokenizer_draft_source(draft)->flags |= KZ_TOKENIZER_WHOLE_PIECES;
    }
    return KAZEIA_OK;
}

// --- Normaliser, pre-tokeniser, post-processor --------------------------------------------------
static kazeia_status add_normalizer(kz_tokenizer_draft *draft, const json_t *component, int depth) {
    if (kz_json_is_absent(component)) {
        return KAZEIA_OK;
    }
    if (strcmp(kz_json_component_type(component), "NFC") == 0) {
        kz_tokenizer_draft_source(draft)->flags |= KZ_TOKENIZER_NFC;
        return KAZEIA_OK;
    }
    const json_t *parts = json_object_get(component, "normalizers");
    if (strcmp(kz_json_component_type(component), "Sequence") != 0 || !json_is_array(parts) ||
        depth == KZ_JSON_COMPONENT_DEPTH) {
        return kz_json_refuse_component("normaliser", component);
    }
    size_t index = 0;
    json_t *part = NULL;
    json_array_foreach(parts, index, part) {
        KZ_TRY(add_normalizer(draft, part, depth + 1));
    }
    return KAZEIA_OK;
}

// ByteLevel cuts by GPT-2's pattern, unless a Split before it does the cutting (use_regex false).
static kazeia_status add_byte_level(kz_tokenizer_draft *draft, const json_t *component) {
    if (json_is_true(json_object_get(component, "add_prefix_space"))) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: ByteLevel with add_prefix_space is not handled");
    }
    if (json_is_false(json_object_get(component, "use_regex"))) {
        return KAZEIA_OK;
    }
    return kz_tokenizer_draft_add_pattern(draft, kz_gpt2_pattern());
}

static kazeia_status add_digits(kz_tokenizer_draft *draft, const json_t *component) {
    const bool is_each = json_is_true(json_object_get(component, "individual_digits"));
    return kz_tokenizer_draft_add_pattern(draft, is_each ? "\\p{N}" : "\\p{N}+");
}

static kazeia_status add_split(kz_tokenizer_draft *draft, const json_t *component) {
    const char *behavior = json_string_value(json_object_get(component, "behavior"));
    const json_t *pattern = json_object_get(component, "pattern");
    const char *text = json_string_value(json_object_get(pattern, "Regex"));
    // Isolated: matches and what lies between them are pieces of their own, which is what our
    // patterns mean.
    if (text == NULL || behavior == NULL || strcmp(behavior, "Isolated") != 0 ||
        json_is_true(json_object_get(component, "invert"))) {
        return kz_fail(
            KAZEIA_UNSUPPORTED,
            "tokenizer.json: Split with behaviour '%.30s'%s is not handled; a Regex that "
            "is Isolated and not inverted is",
            behavior != NULL ? behavior : "(none)", text == NULL ? " and without a Regex" : "");
    }
    return kz_tokenizer_draft_add_pattern(draft, text);
}

// `*is_mapped`: a ByteLevel has been. What follows it would cut the stand-ins of bytes, not the
// text.
static kazeia_status add_pretokenizer(kz_tokenizer_draft *draft, const json_t *component, int depth,
                                      bool *is_mapped) {
    static const struct {
        const char *type;
        kazeia_status (*add)(kz_tokenizer_draft *draft, const json_t *component);
    } KNOWN[] = {{"ByteLevel", add_byte_level}, {"Digits", add_digits}, {"Split", add_split}};
    for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0]; i++) {
        if (strcmp(kz_json_component_type(component), KNOWN[i].type) == 0) {
            if (*is_mapped) {
                return kz_fail(
                    KAZEIA_UNSUPPORTED,
                    "tokenizer.json: a pre-tokeniser '%s' after ByteLevel is not handled",
                    KNOWN[i].type);
            }
            *is_mapped = KNOWN[i].add == add_byte_level;
            return KNOWN[i].add(draft, component);
        }
    }
    const json_t *parts = json_object_get(component, "pretokenizers");
    if (strcmp(kz_json_component_type(component), "Sequence") != 0 || !json_is_array(parts) ||
        depth == KZ_JSON_COMPONENT_DEPTH) {
        return kz_json_refuse_component("pre-tokeniser", component);
    }
    size_t index = 0;
    json_t *part = NULL;
    json_array_foreach(parts, index, part) {
        KZ_TRY(add_pretokenizer(draft, part, depth + 1, is_mapped));
    }
    return KAZEIA_OK;
}

// The only special token among the template's parts [first, end); KZ_NO_TOKEN when there is none or
// more than one.
// "single" is the template for one text: [BOS] text [EOS].
static uint32_t only_special(const json_t *processor, size_t first, size_t end) {
    const json_t *parts = json_object_get(processor, "single");
    if (end != first + 1) {
        return KZ_NO_TOKEN;
    }
    const json_t *special = json_object_get(json_array_get(parts, first), "SpecialToken");
    const char *name = json_string_value(json_object_get(special, "id"));
    if (name == NULL) {
        return KZ_NO_TOKEN;
    }
    const json_t *entry = json_object_get(json_object_get(processor, "special_tokens"), name);
    const json_t *ids = json_object_get(entry, "ids");
    const json_t *id = json_array_get(ids, 0);
    const bool is_one = json_array_size(ids) == 1 && json_is_integer(id) &&
                        json_integer_value(id) >= 0 &&
                        json_integer_value(id) < KZ_TOKENIZER_COUNT_LIMIT;
    return is_one ? (uint32_t)json_integer_value(id) : KZ_NO_TOKEN;
}

static void add_template(kz_tokenizer_draft *draft, const json_t *processor) {
    const json_t *parts = json_object_get(processor, "single");
    const size_t count = json_array_size(parts);
    size_t text = 0;
    // A template without a Sequence puts everything in front of the text.
    while (text < count && json_object_get(json_array_get(parts, text), "Sequence") == NULL) {
        text++;
    }
    kz_tokenizer_source *source = kz_tokenizer_draft_source(draft);
    const uint32_t bos = only_special(processor, 0, text);
    const uint32_t eos = only_special(processor, text + 1, count);
    if (bos != KZ_NO_TOKEN) {
        source->bos = bos;
        source->flags |= KZ_TOKENIZER_ADD_BOS;
    }
    // Whisper's end of text after a longer prompt is part of that prompt.
    if (eos != KZ_NO_TOKEN && text <= 1) {
        source->eos = eos;
        source->flags |= KZ_TOKENIZER_ADD_EOS;
    }
}

static void add_postprocessor(kz_tokenizer_draft *draft, const json_t *component, int depth) {
    if (strcmp(kz_json_component_type(component), "TemplateProcessing") == 0) {
        add_template(draft, component);
    }
    size_t index = 0;
    json_t *part = NULL;
    // Deeper ones are left alone: they add tokens, and never change a text's ids.
    if (depth < KZ_JSON_COMPONENT_DEPTH) {
        json_array_foreach(json_object_get(component, "processors"), index, part) {
            add_postprocessor(draft, part, depth + 1);
        }
    }
}

static kazeia_status add_byte_rules(kz_tokenizer_draft *draft, const json_t *root) {
    bool is_mapped = false;
    KZ_TRY(add_normalizer(draft, json_object_get(root, "normalizer"), 0));
    const json_t *pretokenizer = json_object_get(root, "pre_tokenizer");
    if (kz_json_is_absent(pretokenizer)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: there is no pre-tokeniser; ByteLevel is expected");
    }
    KZ_TRY(add_pretokenizer(draft, pretokenizer, 0, &is_mapped));
    if (!is_mapped) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: a pre-tokeniser '%.60s' without ByteLevel is not handled",
                       kz_json_component_type(pretokenizer));
    }
    return KAZEIA_OK;
}

static kazeia_status fill_from_json(kz_tokenizer_draft *draft, const json_t *root) {
    KZ_TRY(add_model(draft, root));
    KZ_TRY(kz_tokenizer_draft_kind(draft) == KZ_TOKENIZER_BYTE_BPE
               ? add_byte_rules(draft, root)
               : kz_json_add_piece_rules(draft, root));
    add_postprocessor(draft, json_object_get(root, "post_processor"), 0);
    return KAZEIA_OK;
}

kazeia_status kz_tokenizer_from_json(const json_t *root, const kazeia_allocator *allocator,
                                     kz_tokenizer_draft **out_draft) {
    const json_t *model = json_object_get(root, "model");
    const json_t *vocabulary = json_object_get(model, "vocab");
    if (!json_is_object(vocabulary) || !json_is_array(json_object_get(model, "merges"))) {
        return kz_fail(
            KAZEIA_UNSUPPORTED,
            "tokenizer.json: the model '%.60s' has no vocab and merges: only BPE is handled",
            kz_json_component_type(model));
    }
    // Before the vocabulary is read: a Unigram model's has another form altogether.
    KZ_TRY(check_model(model));
    size_t token_count = 0;
    KZ_TRY(kz_json_count_tokens(vocabulary, json_object_get(root, "added_tokens"), &token_count));
    kz_tokenizer_draft *draft = NULL;
    KZ_TRY(kz_tokenizer_draft_create(kz_json_is_pieces(model) ? KZ_TOKENIZER_SENTENCEPIECE_BPE
                                                              : KZ_TOKENIZER_BYTE_BPE,
                                     token_count, allocator, &draft));
    const kazeia_status status = fill_from_json(draft, root);
    if (status != KAZEIA_OK) {
        kz_tokenizer_draft_destroy(draft);
        return status;
    }
    *out_draft = draft;
    return KAZEIA_OK;
}
