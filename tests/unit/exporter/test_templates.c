// test_templates.c: which chat templates are recognised, and what is rendered from them.
//
// in:  SmolLM2's template; tests/golden/chat: Qwen3's, and conversations
// out: cmocka's report
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/models/templates.h"
#include "llm/template.h"
#include "model_graphs.h"
#include "tiny_chat.h"

#define MESSAGE_LIMIT 16
#define QWEN3_BYTES 8192

// The tokenizer.chat_template of SmolLM2-135M-Instruct (Apache-2.0).
#define SMOLLM2_FIRST                                                                          \
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"     \
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging " \
    "Face<|im_end|>\n' }}{% endif %}"
#define SMOLLM2_REST                                                                     \
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "   \
    "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% " \
    "endif %}"

typedef struct compiled {
    kz_graph graph;
    kz_chat_template roles;
} compiled;

static const char *metadata_of(const kz_graph *graph, const char *key) {
    for (size_t i = 0; i < graph->metadata_count; i++) {
        if (strcmp(graph->metadata[i].key, key) == 0) {
            return graph->metadata[i].string;
        }
    }
    return NULL;
}

static void compile(compiled *c, const char *jinja) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_graph_init(&c->graph, &memory);
    CHECK(kz_template_compile(jinja, &c->graph));
    CHECK(kz_graph_status(&c->graph));
    if (c->graph.chat_template.count) {
        CHECK(kz_chat_template_open(&c->graph.chat_template, &c->roles));
    }
}

static void check_conversation(const kz_template *chat_template, const json_t *line) {
    kz_message messages[MESSAGE_LIMIT] = {0};
    kz_text_buffer text;
    const json_t *list = json_object_get(line, "messages");
    const size_t count = json_array_size(list);
    assert_true(count <= MESSAGE_LIMIT);
    for (size_t i = 0; i < count; i++) {
        const json_t *content = json_object_get(json_array_get(list, i), "content");
        messages[i].role = json_string_value(json_object_get(json_array_get(list, i), "role"));
        messages[i].text = json_string_value(content);
        messages[i].bytes = json_string_length(content);
    }
    CHECK(kz_text_buffer_init(&text, NULL, 0, 65536));
    CHECK(kz_template_write(
        chat_template, messages, count,
        json_is_true(json_object_get(json_object_get(line, "options"), "add_generation_prompt")),
        &text));
    assert_string_equal(text.bytes, json_string_value(json_object_get(line, "text")));
    kz_text_buffer_clear(&text);
}

typedef bool (*line_filter)(const json_t *line);

static bool is_any(const json_t *line) {
    (void)line;
    return true;
}

// No tools, no thinking and none before; a reply is asked for without thinking, or not at all.
static bool is_plain(const json_t *line) {
    const json_t *options = json_object_get(line, "options"), *message = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(line, "messages"), i, message) {
        const char *content = json_string_value(json_object_get(message, "content"));
        if (json_object_size(message) != 2 || !content || strstr(content, "think>")) {
            return false;
        }
    }
    return !json_object_get(options, "tools") &&
           (json_is_false(json_object_get(options, "enable_thinking")) ||
            !json_object_get(options, "add_generation_prompt"));
}

static size_t check_file(const kz_template *chat_template, const char *path, line_filter wanted) {
    FILE *file = fopen(path, "rb");
    size_t count = 0;
    assert_non_null(file);
    for (;;) {
        json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
        if (!line) {
            break;
        }
        if (wanted(line)) {
            check_conversation(chat_template, line);
            count++;
        }
        json_decref(line);
    }
    fclose(file);
    return count;
}

static void check_renderings(const compiled *c, const char *path, line_filter wanted,
                             size_t least_count) {
    tiny_chat chat;
    kz_tokenizer *tokenizer = NULL;
    kz_template *chat_template = NULL;
    tiny_chat_init(&chat, NULL, true, NULL, 0);
    CHECK(kz_tokenizer_open(&chat.llama.builder.description.tokenizer, NULL, NULL, &tokenizer));
    CHECK(kz_template_create(&c->roles, tokenizer, &(kz_template_options){.longest_run = 4096},
                             NULL, &chat_template));
    const size_t count = check_file(chat_template, path, wanted);
    print_message("%zu conversations of %s\n", count, path);
    assert_true(count >= least_count);
    kz_template_destroy(chat_template);
    kz_tokenizer_close(tokenizer);
    tiny_chat_clear(&chat);
}

static void smollm2_renders_its_golden_texts(void **state) {
    compiled c;
    (void)state;
    compile(&c, SMOLLM2_FIRST SMOLLM2_REST);
    assert_string_equal(metadata_of(&c.graph, "chat.template"), "chatml");
    assert_string_equal(c.roles.default_system,
                        "You are a helpful AI assistant named SmolLM, trained by Hugging Face");
    check_renderings(&c, "tests/golden/chat/smollm2.jsonl", is_any, 8);
    kz_graph_clear(&c.graph);
}

static void read_text(const char *path, char out_text[QWEN3_BYTES]) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(out_text, 1, QWEN3_BYTES - 1, file);
    assert_true(count > 0 && count < QWEN3_BYTES - 1);
    out_text[count] = '\0';
    fclose(file);
}

static void qwen3_renders_its_golden_texts(void **state) {
    static const struct {
        const char *text, *name, *renderings;
        line_filter wanted;
    } cases[] = {
        {"tests/golden/chat/qwen3.jinja", "qwen3", "tests/golden/chat/qwen3.jsonl", is_plain},
        {"tests/golden/chat/qwen3-revised.jinja", "qwen3", "tests/golden/chat/qwen3.jsonl",
         is_plain},
        {"tests/golden/chat/qwen3-instruct-2507.jinja", "qwen3-instruct-2507",
         "tests/golden/chat/qwen3-instruct-2507.jsonl", is_any},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compiled c;
        char text[QWEN3_BYTES];
        read_text(cases[i].text, text);
        compile(&c, text);
        assert_string_equal(metadata_of(&c.graph, "chat.template"), cases[i].name);
        assert_null(c.roles.default_system);
        check_renderings(&c, cases[i].renderings, cases[i].wanted, 6);
        kz_graph_clear(&c.graph);
    }
}

static void one_changed_character_is_another_qwen3(void **state) {
    char text[QWEN3_BYTES];
    (void)state;
    read_text("tests/golden/chat/qwen3.jinja", text);
    for (size_t i = 0; text[i]; i++) {
        compiled c;
        const char kept = text[i];
        text[i] = 'Z';
        compile(&c, text);
        assert_string_equal(metadata_of(&c.graph, "chat.template"), "unsupported");
        kz_graph_clear(&c.graph);
        text[i] = kept;
    }
}

// The same template as Jinja with trim_blocks and lstrip_blocks reads it.
static void spelling_does_not_matter(void **state) {
    static const char *const texts[] = {
        "{% for message in messages %}" SMOLLM2_REST,
        "{%for message in messages%}\n    {{- '<|im_start|>' + message.role + '\\n' + "
        "message['content'] + '<|im_end|>\\n' }}\n\n{%- endfor %}\n  {% if add_generation_prompt "
        "%}\n{{ \"<|im_start|>\" + 'assistant\\n' -}}\n{% endif %}\n",
        "{% for message in messages %}{% if loop.first and messages[0].role != 'system' %}"
        "{{ '<|im_start|>system\\nBe\\nbrief: it\\'s \\\"fine\".<|im_end|>\\n' }}{% endif "
        "%}" SMOLLM2_REST,
    };
    static const char *const systems[] = {NULL, NULL, "Be\nbrief: it's \"fine\"."};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        compiled c;
        compile(&c, texts[i]);
        assert_string_equal(metadata_of(&c.graph, "chat.template"), "chatml");
        assert_string_equal(c.roles.generation, "<|im_start|>assistant\n");
        if (systems[i]) {
            assert_string_equal(c.roles.default_system, systems[i]);
        } else {
            assert_null(c.roles.default_system);
        }
        kz_graph_clear(&c.graph);
    }
}

static void altered_templates_are_unsupported(void **state) {
    static const char *const texts[] = {
        "",
        "chatml",
        SMOLLM2_REST,
        SMOLLM2_FIRST,
        SMOLLM2_FIRST SMOLLM2_REST "{{ 'more' }}",
        "{{ bos_token }}" SMOLLM2_FIRST SMOLLM2_REST,
        "{% for message in messages[1:] %}" SMOLLM2_REST,
        // another role for the generation prompt
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
        "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
        "'<|im_start|>model\n' }}{% endif %}",
        // a space for a line end
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + ' ' + "
        "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
        "'<|im_start|>assistant\n' }}{% endif %}",
        // a line end behind an expression is written
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
        "message['content'] + '<|im_end|>' + '\n'}}\n{% endfor %}{% if add_generation_prompt %}{{ "
        "'<|im_start|>assistant\n' }}{% endif %}",
        // the default system message is an expression
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<|im_start|>system\n' + system + '<|im_end|>\n' }}{% endif %}" SMOLLM2_REST,
        ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
         "{{ '<|im_start|>system\nnever closed"),
        // an escape that is not read
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<|im_start|>system\nBe\\tbrief.<|im_end|>\n' }}{% endif %}" SMOLLM2_REST,
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        compiled c;
        compile(&c, texts[i]);
        assert_string_equal(metadata_of(&c.graph, "chat.template"), "unsupported");
        assert_int_equal(c.graph.chat_template.count, 0);
        kz_graph_clear(&c.graph);
    }
}

// Every cut and every change of one character is another text.
static void one_changed_character_is_enough(void **state) {
    static const char whole[] = SMOLLM2_FIRST SMOLLM2_REST;
    const char *system_end = strstr(whole, "<|im_end|>");
    const size_t system_start = (size_t)(strstr(whole, "system\nYou") - whole) + 7;
    char text[sizeof whole];
    (void)state;
    for (size_t i = 0; i + 1 < sizeof whole; i++) {
        const bool is_system = i >= system_start && whole + i < system_end;
        compiled c;
        memcpy(text, whole, sizeof whole);
        text[i] = 'Z';
        compile(&c, text);
        assert_string_equal(metadata_of(&c.graph, "chat.template"),
                            is_system ? "chatml" : "unsupported");
        kz_graph_clear(&c.graph);
        text[i] = '\0';
        compile(&c, text);
        assert_string_equal(metadata_of(&c.graph, "chat.template"), "unsupported");
        kz_graph_clear(&c.graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smollm2_renders_its_golden_texts),
        cmocka_unit_test(qwen3_renders_its_golden_texts),
        cmocka_unit_test(one_changed_character_is_another_qwen3),
        cmocka_unit_test(spelling_does_not_matter),
        cmocka_unit_test(altered_templates_are_unsupported),
        cmocka_unit_test(one_changed_character_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
