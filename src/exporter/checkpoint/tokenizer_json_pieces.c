// tokenizer_json_pieces.c: SentencePiece's vocabularies as Hugging Face writes them: a BPE model of
// characters with byte fallback, its merges in a list, U+2581 for a space.
//
// in:  tokenizer.json of Llama 2, Phi-3, Gemma
// out: pieces and the rules about spaces, in a draft of kind 2
//
// Two generations are in use: normalisers Prepend and Replace, and the pre-tokeniser Metaspace. The
// latter adds no space where the text begins with one. Both put U+2581 for each space, and our
// vocabulary has a space for U+2581, so that nothing is left to do but the prefix.
#include <string.h>

#include "exporter/checkpoint/tokenizer_json.h"

#define MARK "\xe2\x96\x81" // U+2581

bool kz_json_is_pieces(const json_t *model) {
    return json_is_true(json_object_get(model, "byte_fallback"));
}

// "<0x0A>"
static bool is_byte_token(const char *text, size_t count) {
    return count == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>';
}

kazeia_status kz_json_add_piece(kz_tokenizer_draft *draft, size_t id, const char *text,
                                size_t count) {
    if (is_byte_token(text, count)) {
        return kz_tokenizer_draft_set_token(draft, id, text, count, KZ_SPELLED_HEX, KZ_TOKEN_BYTE,
                                            0);
    }
    // No text has a space any more when it comes to merging: such a piece is never made, and as our
    // vocabulary spells U+2581 with a space it would be taken for another.
    const bool has_space = memchr(text, ' ', count) != NULL;
    return kz_tokenizer_draft_set_token(draft, id, text, count,
                                        has_space ? KZ_SPELLED_RAW : KZ_SPELLED_MARKS,
                                        has_space ? KZ_TOKEN_UNUSED : KZ_TOKEN_NORMAL, 0);
}

// What the components say about spaces.
typedef struct space_rules {
    uint32_t flags;
    bool are_marked; // U+2581 stands for each of them
} space_rules;

static bool is_string(const json_t *object, const char *key, const char *expected) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL && strcmp(text, expected) == 0;
}

static kazeia_status add_prepend(const json_t *component, space_rules *rules) {
    // Prepended before Replace makes marks of the text's own spaces: the prefix is one more.
    if (!is_string(component, "prepend", MARK)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: Prepend of something else than U+2581 is not handled");
    }
    rules->flags |= KZ_TOKENIZER_SPACE_PREFIX;
    return KAZEIA_OK;
}

static kazeia_status add_replace(const json_t *component, space_rules *rules) {
    const json_t *pattern = json_object_get(component, "pattern");
    if (!is_string(pattern, "String", " ") || !is_string(component, "content", MARK)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: Replace of something else than a space by U+2581 is not "
                       "handled");
    }
    rules->are_marked = true;
    return KAZEIA_OK;
}

// Gemma's cuts behind spaces, of which its normaliser has left none.
static kazeia_status add_split(const json_t *component, space_rules *rules) {
    const json_t *pattern = json_object_get(component, "pattern");
    if (!is_string(pattern, "String", " ") || !rules->are_marked) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: Split with byte_fallback is handled for the String ' ' "
                       "after a Replace only");
    }
    return KAZEIA_OK;
}

// "always", "first" or "never"; before 2024 add_prefix_space said the first or the last.
static const char *prepend_scheme(const json_t *component) {
    const char *scheme = json_string_value(json_object_get(component, "prepend_scheme"));
    if (scheme != NULL) {
        return scheme;
    }
    return json_is_false(json_object_get(component, "add_prefix_space")) ? "never" : "always";
}

static kazeia_status add_metaspace(const json_t *component, space_rules *rules) {
    const char *scheme = prepend_scheme(component);
    // With split, a piece holds one word; without, merges may run across words.
    if (!json_is_false(json_object_get(component, "split")) ||
        !is_string(component, "replacement", MARK)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: Metaspace is handled with U+2581 and 'split' false only");
    }
    if (strcmp(scheme, "never") != 0) {
        rules->flags |= KZ_TOKENIZER_SPACE_PREFIX | KZ_TOKENIZER_PREFIX_MISSING;
        rules->flags |= strcmp(scheme, "first") == 0 ? KZ_TOKENIZER_PREFIX_ONCE : 0;
    }
    rules->are_marked = true;
    return KAZEIA_OK;
}

typedef struct space_component {
    const char *type;
    kazeia_status (*add)(const json_t *component, space_rules *rules);
} space_component;

static const space_component NORMALIZERS[] = {
    {"Prepend", add_prepend}, {"Replace", add_replace}, {NULL, NULL}};
static const space_component PRETOKENIZERS[] = {
    {"Split", add_split}, {"Metaspace", add_metaspace}, {NULL, NULL}};

// A component of the table, or a Sequence ("normalizers", "pretokenizers") of them.
static kazeia_status add_components(const char *role, const char *list,
                                    const space_component *known, const json_t *component,
                                    int depth, space_rules *rules) {
    if (kz_json_is_absent(component)) {
        return KAZEIA_OK;
    }
    const char *type = kz_json_component_type(component);
    for (const space_component *one = known; one->type != NULL; one++) {
        if (strcmp(type, one->type) == 0) {
            return one->add(component, rules);
        }
    }
    const json_t *parts = json_object_get(component, list);
    if (strcmp(type, "Sequence") != 0 || !json_is_array(parts) ||
        depth == KZ_JSON_COMPONENT_DEPTH) {
        return kz_json_refuse_component(role, component);
    }
    size_t index = 0;
    json_t *part = NULL;
    json_array_foreach(parts, index, part) {
        KZ_TRY(add_components(role, list, known, part, depth + 1, rules));
    }
    return KAZEIA_OK;
}

kazeia_status kz_json_add_piece_rules(kz_tokenizer_draft *draft, const json_t *root) {
    space_rules rules = {0};
    KZ_TRY(add_components("normaliser", "normalizers", NORMALIZERS,
                          json_object_get(root, "normalizer"), 0, &rules));
    KZ_TRY(add_components("pre-tokeniser", "pretokenizers", PRETOKENIZERS,
                          json_object_get(root, "pre_tokenizer"), 0, &rules));
    if (!rules.are_marked) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer.json: byte_fallback where nothing puts U+2581 for a space is not "
                       "handled");
    }
    kz_tokenizer_draft_source(draft)->flags |= rules.flags | KZ_TOKENIZER_RANKED_MERGES;
    return KAZEIA_OK;
}
