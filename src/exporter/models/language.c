// language.c: what all definitions of language models share.
//   in   shapes, a checkpoint's metadata and tokenizer files
//   out  inputs, the logits method, metadata, tokenizer, template and stop tokens
#include "exporter/models/language.h"

#include <string.h>

#include "exporter/checkpoint/tokenizer_files.h"
#include "exporter/models/templates.h"
#include "exporter/models/whisper.h"
#include "format/tokenizer.h"

#define STOP_TOKEN_LIMIT 16

kz_language_inputs kz_language_add_inputs(kz_graph_method *method, uint32_t token_limit,
                                          uint32_t vocabulary, uint32_t context, uint32_t rows) {
    const kz_dim tokens = kz_method_symbol(method, "tokens", token_limit);
    const kz_dim sequences = kz_method_symbol(method, "sequences", KZ_LANGUAGE_SEQUENCES);
    const kz_dim one = kz_dim_constant(1);
    kz_language_inputs inputs = {.token_count = tokens};
    inputs.tokens = kz_method_input(method, "tokens", KZ_I32, vocabulary, 1, tokens, one);
    inputs.positions = kz_method_input(method, "positions", KZ_I32, context, 1, tokens, one);
    inputs.sequences =
        kz_method_input(method, "sequences", KZ_I32, KZ_LANGUAGE_SEQUENCES, 1, tokens, one);
    // Entries are below `rows`, which is also what the caches have: the format's checks compare the
    // two.
    inputs.row_table =
        kz_method_input(method, "row_table", KZ_I32, rows, 2, sequences, kz_dim_constant(context));
    return inputs;
}

void kz_language_add_logits(kz_graph *graph, uint32_t head, uint32_t hidden, uint32_t vocabulary) {
    // A method of its own, so that only chosen rows meet the vocabulary: a prefill's would be
    // hundreds of megabytes.
    kz_graph_method *method = kz_graph_add_method(graph, "logits");
    const kz_dim rows = kz_method_symbol(method, "rows", KZ_LANGUAGE_LOGITS_ROWS);
    const uint32_t x =
        kz_method_input(method, "hidden", KZ_F32, 0, 2, rows, kz_dim_constant(hidden));
    kz_linear_options options = KZ_LINEAR_PLAIN;
    options.out = kz_method_output(method, "logits", rows, vocabulary);
    (void)kz_node_linear(method, x, head, &options);
}

void kz_language_add_metadata(kz_graph *graph, const kz_language_metadata *metadata) {
    kz_graph_set_string(graph, "ability", "chat");
    kz_graph_set_integer(graph, "model.hidden", metadata->hidden);
    kz_graph_set_integer(graph, "model.vocabulary", metadata->vocabulary);
    kz_graph_set_integer(graph, "model.context", metadata->context);
    kz_graph_set_integer(graph, "model.sequences", KZ_LANGUAGE_SEQUENCES);
    kz_graph_set_string(graph, "chat.mode", metadata->is_hybrid ? "hybrid" : "kv");
}

kazeia_status kz_model_check_cache(const kz_checkpoint *checkpoint, kz_type type,
                                   int64_t head_dim) {
    // A head of i8 is a scale and its integers: whole words keep the next scale aligned
    // (check_tables.c).
    if (type != KZ_I8 || head_dim % 4 == 0) {
        return KAZEIA_OK;
    }
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "%s: heads of %lld elements, an int8 cache needs a multiple of 4; choose "
                   "'--kv f16'",
                   kz_checkpoint_path(checkpoint), (long long)head_dim);
}

kazeia_status kz_language_choose_context(uint32_t wished, int64_t model_context,
                                         int64_t *out_context) {
    if (wished > model_context) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "context: %u asked for, the model has %lld positions; choose at most that",
                       wished, (long long)model_context);
    }
    // Caches are as long as the context: a model's own 40,960 positions would take gigabytes that
    // few chats use.
    const int64_t otherwise =
        model_context < KZ_LANGUAGE_DEFAULT_CONTEXT ? model_context : KZ_LANGUAGE_DEFAULT_CONTEXT;
    *out_context = wished ? (int64_t)wished : otherwise;
    return KAZEIA_OK;
}

// The draft of whatever tokenizer files there are; NULL when there are none.
static kazeia_status draft_tokenizer(kz_checkpoint *checkpoint, const kazeia_allocator *allocator,
                                     kz_tokenizer_draft **out_draft) {
    *out_draft = NULL;
    if (kz_checkpoint_kind_of(checkpoint) == KZ_CHECKPOINT_GGUF) {
        // "none" is how a file without a vocabulary may say so.
        const char *model = kz_checkpoint_string(checkpoint, "tokenizer.ggml.model");
        const bool is_there = (model && strcmp(model, "none") != 0) ||
                              kz_checkpoint_array_count(checkpoint, "tokenizer.ggml.tokens");
        return is_there ? kz_tokenizer_from_gguf(checkpoint, allocator, out_draft) : KAZEIA_OK;
    }
    if (kz_checkpoint_kind_of(checkpoint) == KZ_CHECKPOINT_WHISPER_GGML) {
        return kz_whisper_draft_vocabulary(checkpoint, allocator, out_draft);
    }
    return kz_tokenizer_from_folder(checkpoint, allocator, out_draft);
}

static kazeia_status keep_section(kz_graph *graph, const uint8_t *bytes, size_t count) {
    uint8_t *copy = NULL;
    KZ_TRY(kz_bump_take(&graph->memory, count, 1, (void **)&copy));
    memcpy(copy, bytes, count);
    graph->tokenizer = (kz_bytes){copy, count};
    return KAZEIA_OK;
}

kazeia_status kz_model_add_tokenizer(kz_checkpoint *checkpoint, kz_graph *graph,
                                     uint32_t vocabulary, uint32_t flags) {
    const kazeia_allocator *allocator = &graph->memory.allocator;
    kz_tokenizer_draft *draft = NULL;
    KZ_TRY(draft_tokenizer(checkpoint, allocator, &draft));
    if (!draft) {
        return KAZEIA_OK;
    }
    kz_tokenizer_draft_source(draft)->flags |= flags;
    const uint32_t token_count = kz_tokenizer_draft_source(draft)->token_count;
    uint8_t *section = NULL;
    size_t count = 0;
    kazeia_status status = kz_tokenizer_draft_build(draft, &section, &count);
    // The section is complete in itself.
    kz_tokenizer_draft_destroy(draft);
    if (status == KAZEIA_OK) {
        status = keep_section(graph, section, count);
        kz_graph_set_integer(graph, "tokenizer.tokens", token_count);
        kz_free_aligned(allocator, section);
    }
    // Fewer tokens than rows are common: embeddings are padded to round numbers.
    if (status == KAZEIA_OK && token_count > vocabulary) {
        status = kz_fail(KAZEIA_BAD_FILE, "%s: the tokenizer has %u tokens, the embedding %u rows",
                         kz_checkpoint_path(checkpoint), token_count, vocabulary);
    }
    return status;
}

// --- Stop tokens --------------------------------------------------------------------------------

typedef struct stop_list {
    int64_t tokens[STOP_TOKEN_LIMIT];
    size_t count;
    int64_t vocabulary;
} stop_list;

static void add_stop(stop_list *list, int64_t token) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->tokens[i] == token) {
            return;
        }
    }
    // Ids that the model cannot produce are no stop tokens.
    if (token >= 0 && token < list->vocabulary && list->count < STOP_TOKEN_LIMIT) {
        list->tokens[list->count++] = token;
    }
}

// End of sequence, of turn, of message: whichever a family has.
static void add_gguf_stops(const kz_checkpoint *checkpoint, stop_list *list) {
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t token = 0;
        if (kz_checkpoint_integer(checkpoint, keys[i], &token)) {
            add_stop(list, token);
        }
    }
}

static kazeia_status add_json_stops(kz_checkpoint *checkpoint, const char *file, stop_list *list) {
    const json_t *root = NULL;
    KZ_TRY(kz_checkpoint_json(checkpoint, file, &root));
    const json_t *ids = json_object_get(root, "eos_token_id");
    // One id or a list of them, depending on the model.
    if (json_is_integer(ids)) {
        add_stop(list, (int64_t)json_integer_value(ids));
    }
    size_t index = 0;
    const json_t *id = NULL;
    json_array_foreach(ids, index, id) {
        if (json_is_integer(id)) {
            add_stop(list, (int64_t)json_integer_value(id));
        }
    }
    return KAZEIA_OK;
}

// Tokens that end a turn in every family that has them, whatever the metadata forgets.
static kazeia_status add_known_stops(const kz_graph *graph, stop_list *list) {
    static const char *const known[] = {"<|im_end|>",      "<|endoftext|>", "<|eot_id|>",
                                        "<|end_of_text|>", "<end_of_turn>", "</s>"};
    if (!graph->tokenizer.count) {
        return KAZEIA_OK;
    }
    kz_tokenizer_view view;
    KZ_TRY(kz_tokenizer_view_open(&graph->tokenizer, &view));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t length = strlen(known[i]);
        const uint32_t token =
            kz_tokenizer_view_match_special(&view, (const uint8_t *)known[i], length, true);
        // Only whole and only as a control token: "</s>" may be plain text in another vocabulary.
        if (token != KZ_NO_TOKEN && kz_tokenizer_view_token(&view, token).count == length &&
            kz_tokenizer_view_kind(&view, token) == KZ_TOKEN_CONTROL) {
            add_stop(list, token);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status add_stops(kz_checkpoint *checkpoint, kz_graph *graph, uint32_t vocabulary) {
    stop_list list = {.vocabulary = vocabulary};
    add_gguf_stops(checkpoint, &list);
    // Both: chat models often name the end of a turn in the first and the end of a text in the
    // second.
    KZ_TRY(add_json_stops(checkpoint, "generation_config.json", &list));
    KZ_TRY(add_json_stops(checkpoint, "config.json", &list));
    KZ_TRY(add_known_stops(graph, &list));
    kz_graph_set_integers(graph, "chat.stop_tokens", list.tokens, list.count);
    return KAZEIA_OK;
}

// --- Chat template ------------------------------------------------------------------------------

// Of a list of named templates the one called "default".
static const char *choose_template(const json_t *templates) {
    const json_t *entry = NULL;
    size_t i = 0;
    if (!json_is_array(templates)) {
        return json_string_value(templates);
    }
    json_array_foreach(templates, i, entry) {
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (name && strcmp(name, "default") == 0) {
            return json_string_value(json_object_get(entry, "template"));
        }
    }
    return NULL;
}

// The file, as newer checkpoints have it.
static kazeia_status read_template_file(kz_checkpoint *checkpoint, kz_graph *graph,
                                        const char **out_text) {
    kz_file_map map = {0};
    KZ_TRY(kz_checkpoint_map_file(checkpoint, "chat_template.jinja", &map));
    char *copy = NULL;
    kazeia_status status = KAZEIA_OK;
    if (map.size) {
        status = kz_bump_take(&graph->memory, map.size + 1, 1, (void **)&copy);
    }
    if (copy) {
        memcpy(copy, map.bytes, map.size);
    }
    kz_file_map_close(&map);
    *out_text = copy;
    return status;
}

static kazeia_status find_template(kz_checkpoint *checkpoint, kz_graph *graph,
                                   const char **out_text) {
    static const char *const files[] = {"tokenizer_config.json", "chat_template.json"};
    *out_text = kz_checkpoint_string(checkpoint, "tokenizer.chat_template");
    if (!*out_text) {
        KZ_TRY(read_template_file(checkpoint, graph, out_text));
    }
    for (size_t i = 0; i < 2 && !*out_text; i++) {
        const json_t *config = NULL;
        KZ_TRY(kz_checkpoint_json(checkpoint, files[i], &config));
        *out_text = choose_template(json_object_get(config, "chat_template"));
    }
    return KAZEIA_OK;
}

// As tokenizer_config.json names it: a string, or an object with its content.
static const char *token_in_config(const json_t *config, const char *variable) {
    const json_t *token = json_object_get(config, variable);
    return json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
}

// The text of a token in graph memory, or NULL.
static const char *token_text(kz_graph *graph, const kz_tokenizer_view *view, uint32_t token) {
    char *text = NULL;
    if (token == KZ_NO_TOKEN) {
        return NULL;
    }
    const kz_bytes bytes = kz_tokenizer_view_token(view, token);
    kz_graph_note(graph, kz_bump_take(&graph->memory, bytes.count + 1, 1, (void **)&text));
    if (text) {
        memcpy(text, bytes.bytes, bytes.count);
    }
    return text;
}

static kazeia_status find_tokens(kz_checkpoint *checkpoint, kz_graph *graph,
                                 kz_template_token tokens[4]) {
    static const char *const variables[] = {"bos_token", "eos_token", "unk_token", "pad_token"};
    const json_t *config = NULL;
    kz_tokenizer_view view = {.bos = KZ_NO_TOKEN, .eos = KZ_NO_TOKEN, .unknown = KZ_NO_TOKEN};
    KZ_TRY(kz_checkpoint_json(checkpoint, "tokenizer_config.json", &config));
    if (graph->tokenizer.count) {
        KZ_TRY(kz_tokenizer_view_open(&graph->tokenizer, &view));
    }
    const uint32_t ids[] = {view.bos, view.eos, view.unknown, KZ_NO_TOKEN};
    for (size_t i = 0; i < 4; i++) {
        // What the folder says counts, also that there is none: ids are a GGUF's.
        tokens[i].variable = variables[i];
        tokens[i].text =
            config ? token_in_config(config, variables[i]) : token_text(graph, &view, ids[i]);
    }
    return kz_graph_status(graph);
}

static kazeia_status add_family(kz_graph *graph, const char *family,
                                const kz_template_token *tokens, size_t token_count) {
    const char *text = kz_template_family(family);
    if (!text) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "template: '%s' is none of %s, none", family,
                       kz_template_family_names());
    }
    return kz_template_compile(text, family, tokens, token_count, graph);
}

kazeia_status kz_language_add_family(kz_graph *graph) {
    return add_family(graph, graph->template_family, NULL, 0);
}

kazeia_status kz_language_add_template(kz_checkpoint *checkpoint, kz_graph *graph) {
    const char *family = graph->template_family, *text = NULL;
    kz_template_token tokens[4];
    if (family && strcmp(family, "none") == 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(find_tokens(checkpoint, graph, tokens));
    if (family) {
        return add_family(graph, family, tokens, 4);
    }
    KZ_TRY(find_template(checkpoint, graph, &text));
    if (!text) {
        return KAZEIA_OK;
    }
    const kazeia_status status = kz_template_compile(text, "own", tokens, 4, graph);
    return status == KAZEIA_UNSUPPORTED
               ? kz_fail_advice(status, "give a family's template instead: --template qwen3, "
                                        "chatml, gemma3 or llama3, or none")
               : status;
}

kazeia_status kz_language_add_text(kz_checkpoint *checkpoint, kz_graph *graph,
                                   uint32_t vocabulary) {
    KZ_TRY(kz_model_add_general(checkpoint, graph));
    // Before the stop tokens, which are looked up in it.
    KZ_TRY(kz_model_add_tokenizer(checkpoint, graph, vocabulary, 0));
    kz_graph_set_string(graph, "chat.input", graph->tokenizer.count ? "text" : "token ids");
    KZ_TRY(add_stops(checkpoint, graph, vocabulary));
    return kz_language_add_template(checkpoint, graph);
}
