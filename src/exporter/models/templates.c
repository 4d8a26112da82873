// templates.c: a checkpoint's Jinja chat template, or a family's -> the program's template section.
//   in   Jinja text, the model's special tokens
//   out  the section in graph memory
// The text is compiled, not recognised: whatever is written in the language that is read works, and
// a template of tomorrow needs no line here.
#include "exporter/models/templates.h"

#include <string.h>

#include "exporter/models/templates_compiler.h"
#include "format/tokenizer.h"

#define JINJA_BYTES_LIMIT ((size_t)1 << 20)

// --- Marks --------------------------------------------------------------------------------------

// The first pair of which the text or the vocabulary has both counts. An empty close: the call goes
// to the reply's end.
static const struct {
    const char *open, *close;
    bool is_call;
} known_marks[] = {
    {"<think>", "</think>", false},
    {"[THINK]", "[/THINK]", false},
    {"<|START_THINKING|>", "<|END_THINKING|>", false},
    {"<seed:think>", "</seed:think>", false},
    {"<|channel>thought\n", "<channel|>", false},
    {"<|channel|>analysis<|message|>", "<|end|>", false},
    {"<tool_call>", "</tool_call>", true},
    {"<|tool_call>", "<tool_call|>", true},
    {"<seed:tool_call>", "</seed:tool_call>", true},
    {"<|START_ACTION|>", "<|END_ACTION|>", true},
    {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", true},
    {"<\xef\xbd\x9ctool\xe2\x96\x81"
     "calls\xe2\x96\x81"
     "begin\xef\xbd\x9c>",
     "<\xef\xbd\x9ctool\xe2\x96\x81"
     "calls\xe2\x96\x81"
     "end\xef\xbd\x9c>",
     true},
    {"[TOOL_CALLS]", "", true},
    {"<|python_tag|>", "", true},
};

static bool has_token(const kz_tokenizer_view *view, const char *text) {
    const size_t count = strlen(text);
    const uint32_t token =
        kz_tokenizer_view_match_special(view, (const uint8_t *)text, count, true);
    return token != KZ_NO_TOKEN && kz_tokenizer_view_token(view, token).count == count;
}

static bool has_mark(const char *jinja, const kz_tokenizer_view *view, const char *mark) {
    return strstr(jinja, mark) || (view && has_token(view, mark));
}

static void find_marks(const char *jinja, const kz_tokenizer_view *view,
                       kz_chat_template_source *source) {
    for (size_t i = 0; i < KZ_MARK_COUNT; i++) {
        source->marks[i] = "";
    }
    // From the last to the first, so that the first one found stays.
    for (size_t i = sizeof known_marks / sizeof *known_marks; i > 0; i--) {
        const char *open = known_marks[i - 1].open, *close = known_marks[i - 1].close;
        const size_t place = known_marks[i - 1].is_call ? KZ_MARK_CALL_OPEN : KZ_MARK_THINK_OPEN;
        // What a reply closes is enough of a sign: some templates open the thought themselves, in
        // pieces.
        if (has_mark(jinja, view, open) && (!*close || has_mark(jinja, view, close))) {
            source->marks[place] = open;
            source->marks[place + 1] = close;
        }
    }
}

// --- Compiling ----------------------------------------------------------------------------------

// Special tokens are variables that the template's first instructions set, unless the caller did.
static void compile_tokens(kz_compiler *compiler, const kz_template_token *tokens, size_t count) {
    for (size_t i = 0; i < count && compiler->status == KAZEIA_OK; i++) {
        const char *name = tokens[i].variable, *text = tokens[i].text;
        if (!text) {
            continue;
        }
        kz_emit_string(compiler, KZ_DO_IS_GIVEN, name, strlen(name));
        (void)kz_emit(compiler, KZ_DO_NOT, 0);
        const uint32_t given = kz_emit(compiler, KZ_DO_JUMP_FALSE, 0);
        kz_emit_string(compiler, KZ_DO_STRING, text, strlen(text));
        kz_emit_string(compiler, KZ_DO_STORE, name, strlen(name));
        kz_land(compiler, given);
    }
}

static kazeia_status compile(kz_compiler *compiler, const char *jinja,
                             const kz_template_token *tokens, size_t token_count) {
    const size_t count = strlen(jinja);
    if (count > JINJA_BYTES_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "chat template: %zu bytes, at most %zu expected", count,
                       JINJA_BYTES_LIMIT);
    }
    KZ_TRY(kz_jinja_read(compiler, jinja, count));
    compile_tokens(compiler, tokens, token_count);
    kz_compile_statements(compiler);
    return compiler->status;
}

static kazeia_status write_section(const kz_chat_template_source *source, kz_graph *graph) {
    uint8_t *bytes = NULL, *copy = NULL;
    size_t count = 0;
    KZ_TRY(kz_chat_template_build(source, &graph->memory.allocator, &bytes, &count));
    const kazeia_status status = kz_bump_take(&graph->memory, count, 1, (void **)&copy);
    if (status == KAZEIA_OK) {
        memcpy(copy, bytes, count);
        graph->chat_template = (kz_bytes){copy, count};
    }
    kz_free_aligned(&graph->memory.allocator, bytes);
    return status;
}

kazeia_status kz_template_compile(const char *jinja, const char *name,
                                  const kz_template_token *tokens, size_t token_count,
                                  kz_graph *graph) {
    // Tokens and unfinished lists go when it is done; what stays is the section.
    kz_bump memory;
    kz_tokenizer_view view;
    kz_bump_init(&memory, &graph->memory.allocator);
    kz_compiler compiler = {.memory = &memory, .status = KAZEIA_OK};
    kazeia_status status = compile(&compiler, jinja, tokens, token_count);
    const bool has_vocabulary = graph->tokenizer.count > 0;
    if (status == KAZEIA_OK && has_vocabulary) {
        status = kz_tokenizer_view_open(&graph->tokenizer, &view);
    }
    if (status == KAZEIA_OK) {
        kz_chat_template_source source = {.code = compiler.code,
                                          .strings = compiler.strings,
                                          .reals = compiler.reals,
                                          .code_count = (uint32_t)compiler.code_count,
                                          .string_count = (uint32_t)compiler.string_count,
                                          .real_count = (uint32_t)compiler.real_count};
        find_marks(jinja, has_vocabulary ? &view : NULL, &source);
        status = write_section(&source, graph);
    }
    kz_bump_clear(&memory);
    if (status == KAZEIA_OK) {
        kz_graph_set_string(graph, "chat.template", name);
    }
    return status;
}
