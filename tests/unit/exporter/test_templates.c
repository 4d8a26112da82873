// test_templates.c: chat templates are compiled and render what Jinja renders of them.
//
// in:  tests/golden/chat: templates and conversations
// out: cmocka's report
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/models/templates.h"
#include "llm/template.h"
#include "model_graphs.h"

#define TEXT_BYTES (64 * 1024)
#define FOLDER "tests/golden/chat/"

typedef struct compiled {
    kz_graph graph;
    kz_chat_template section;
    kz_template *chat_template;
} compiled;

static const kz_template_token tokens[] = {{"bos_token", "<s>"}, {"eos_token", NULL}};

static kazeia_status try_compile(compiled *c, const char *jinja) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    *c = (compiled){0};
    kz_graph_init(&c->graph, &memory);
    return kz_template_compile(jinja, "own", tokens, 2, &c->graph);
}

static void compile(compiled *c, const char *jinja) {
    const kz_template_options options = {.longest_run = TEXT_BYTES, .memory_bytes = 1 << 20};
    CHECK(try_compile(c, jinja));
    CHECK(kz_graph_status(&c->graph));
    CHECK(kz_chat_template_open(&c->graph.chat_template, &c->section));
    CHECK(kz_template_create(&c->section, NULL, &options, NULL, &c->chat_template));
}

static void clear(compiled *c) {
    kz_template_destroy(c->chat_template);
    kz_graph_clear(&c->graph);
}

static void read_text(const char *path, char *out_text, size_t capacity) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(out_text, 1, capacity - 1, file);
    assert_true(count > 0 && count < capacity - 1);
    out_text[count] = '\0';
    fclose(file);
}

// A line without "text" is a conversation that the template refuses.
static void check_conversation(const compiled *c, const json_t *line) {
    char *messages = json_dumps(json_object_get(line, "messages"), 0);
    char *options = json_dumps(json_object_get(line, "options"), 0);
    const char *expected = json_string_value(json_object_get(line, "text"));
    kz_text_buffer text;
    assert_non_null(messages);
    assert_non_null(options);
    CHECK(kz_text_buffer_init(&text, NULL, 64, TEXT_BYTES));
    const kazeia_status status = kz_template_write_json(c->chat_template, messages, options, &text);
    if (expected) {
        CHECK(status);
        assert_string_equal(text.bytes, expected);
    } else {
        assert_int_equal(status, KAZEIA_BAD_ARGUMENT);
    }
    kz_text_buffer_clear(&text);
    free(messages);
    free(options);
}

static size_t check_file(const compiled *c, const char *path) {
    FILE *file = fopen(path, "rb");
    size_t count = 0;
    assert_non_null(file);
    for (;; count++) {
        json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
        if (!line) {
            break;
        }
        check_conversation(c, line);
        json_decref(line);
    }
    fclose(file);
    return count;
}

static void own_templates_render_their_golden_texts(void **state) {
    static const struct {
        const char *text, *renderings;
        size_t count;
    } cases[] = {
        {FOLDER "qwen3.jinja", FOLDER "qwen3.jsonl", 22},
        {FOLDER "smollm2.jinja", FOLDER "smollm2.jsonl", 17},
        {FOLDER "qwen3-instruct-2507.jinja", FOLDER "qwen3-instruct-2507.jsonl", 6},
        {FOLDER "language.jinja", FOLDER "language.jsonl", 1},
    };
    char *text = malloc(TEXT_BYTES);
    assert_non_null(text);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compiled c;
        read_text(cases[i].text, text, TEXT_BYTES);
        compile(&c, text);
        assert_int_equal(check_file(&c, cases[i].renderings), cases[i].count);
        clear(&c);
    }
    free(text);
}

static void families_render_golden_texts(void **state) {
    static const struct {
        const char *family, *renderings;
        size_t count;
    } cases[] = {
        {"qwen3", FOLDER "qwen3.jsonl", 22},
        {"chatml", FOLDER "smollm2.jsonl", 17},
        {"gemma3", FOLDER "gemma3.jsonl", 13},
        {"llama3", FOLDER "llama3.jsonl", 18},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const kazeia_allocator memory = kz_allocator_or_default(NULL);
        const kz_template_options options = {.longest_run = TEXT_BYTES, .memory_bytes = 1 << 20};
        compiled c = {0};
        kz_graph_init(&c.graph, &memory);
        CHECK(kz_template_compile(kz_template_family(cases[i].family), cases[i].family, NULL, 0,
                                  &c.graph));
        CHECK(kz_chat_template_open(&c.graph.chat_template, &c.section));
        CHECK(kz_template_create(&c.section, NULL, &options, NULL, &c.chat_template));
        assert_int_equal(check_file(&c, cases[i].renderings), cases[i].count);
        clear(&c);
    }
    assert_null(kz_template_family("qwen"));
}

static void marks_are_found(void **state) {
    compiled c;
    (void)state;
    compile(&c, "{{ '<think>' }}{{ '</think>' }}{{ '[TOOL_CALLS]' }}");
    const kz_template_marks marks = kz_template_marks_of(c.chat_template);
    assert_string_equal(marks.think_open, "<think>");
    assert_string_equal(marks.think_close, "</think>");
    assert_string_equal(marks.call_open, "[TOOL_CALLS]");
    assert_string_equal(marks.call_close, "");
    clear(&c);
    compile(&c, "{{ 'a' }}");
    assert_string_equal(kz_template_marks_of(c.chat_template).think_open, "");
    clear(&c);
}

static void an_open_thought_is_seen(void **state) {
    static const struct {
        const char *jinja;
        bool is_open;
    } cases[] = {{"{{ messages[0].content }}<think>\n{# </think> #}{{ '' }}", true},
                 {"{{ messages[0].content }}<think>\n</think>", false},
                 {"<think></think>{{ messages[0].content }}", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compiled c;
        kz_text_buffer text;
        const kz_message message = {.role = "user", .text = "<think>", .bytes = 7};
        compile(&c, cases[i].jinja);
        CHECK(kz_text_buffer_init(&text, NULL, 64, 4096));
        CHECK(kz_template_write(c.chat_template, &message, 1, true, &text));
        assert_int_equal(kz_template_opens_thinking(c.chat_template), cases[i].is_open);
        kz_text_buffer_clear(&text);
        clear(&c);
    }
}

static void what_is_not_read_is_refused_by_name(void **state) {
    static const struct {
        const char *jinja, *sentence;
    } cases[] = {
        {"a\n{{ x | batch(2) }}", "line 2: the filter 'batch'"},
        {"{% include 'x' %}", "line 1: the statement 'include'"},
        {"{{ x.append(1) }}", "the method 'append'"},
        {"{{ cycler(1) }}", "the function 'cycler'"},
        {"{% if x is sameas y %}{% endif %}", "the test 'sameas'"},
        {"{% for x in y %}{{ loop.depth }}{% endfor %}", "the member of loop 'depth'"},
        {"{% for x in y recursive %}{% endfor %}", "recursive"},
        {"{% if x %}", "does not end in 'endif'"},
        {"{{ 'x }}", "a string that does not end"},
        {"{{ x", "a tag that does not end"},
        {"{# x", "a comment that does not end"},
        {"{{ 1 < 2 < 3 }}", "a chain of comparisons"},
        {"{{ x ? y }}", "a character"},
        {"{{ f(*x) }}", "the function 'f'"},
        {"{{ 99999999999 }}", "too large"},
        {"{% break %}", "outside of its loop"},
        {"{% for x in y %}{% macro f() %}{% endmacro %}{% endfor %}", "a macro inside"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compiled c;
        assert_int_equal(try_compile(&c, cases[i].jinja), KAZEIA_UNSUPPORTED);
        assert_non_null(strstr(kazeia_last_error(), cases[i].sentence));
        assert_int_equal(c.graph.chat_template.count, 0);
        clear(&c);
    }
}

// Each string of a template is compared with all others.
static void strings_are_bounded(void **state) {
    char *text = test_malloc(16 * 9000);
    size_t count = 0;
    compiled c;
    (void)state;
    for (int i = 0; i < 9000; i++) {
        count += (size_t)snprintf(text + count, 16, "{{ x%d }}", i);
    }
    assert_int_equal(try_compile(&c, text), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "more than 8192 different strings"));
    clear(&c);
    test_free(text);
}

static void nesting_is_bounded(void **state) {
    static const char *const parts[] = {"[", "(", "-", "not ", "x if "};
    char text[8192];
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        compiled c;
        size_t count = (size_t)snprintf(text, sizeof text, "{{ ");
        while (count < 4096) {
            count += (size_t)snprintf(text + count, sizeof text - count, "%s", parts[i]);
        }
        assert_int_equal(try_compile(&c, text), KAZEIA_UNSUPPORTED);
        clear(&c);
    }
}

// What a template says wrong at run time is a sentence with its line.
static void wrong_templates_fail_with_their_line(void **state) {
    static const struct {
        const char *jinja, *sentence;
    } cases[] = {
        {"\n{{ x.y }}", "line 2: the member 'y' of an undefined value"},
        {"{{ 1 // 0 }}", "division by zero"},
        {"{{ 1 + 'a' }}", "a int and a str are added"},
        {"{{ raise_exception('Roles must ' ~ 'alternate') }}", "line 1: Roles must alternate"},
        {"{% set n = namespace(a=0) %}{% for i in range(100000) %}{% for j in range(100000) %}"
         "{% set n.a = n.a + 1 %}{% endfor %}{% endfor %}",
         "line 1: the rendering "},
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "in each other"},
        {"{% set n = namespace(a='a') %}{% for i in range(99) %}{% set n.a = n.a + n.a %}"
         "{% endfor %}",
         "memory"},
        {"{% set n = namespace(a=[]) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}"
         "{% endfor %}{{ n.a == n.a }}",
         "deeper"},
        {"{{ range(100001) }}", "at most 100000"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compiled c;
        kz_text_buffer text;
        compile(&c, cases[i].jinja);
        CHECK(kz_text_buffer_init(&text, NULL, 64, TEXT_BYTES));
        assert_int_not_equal(kz_template_write_json(c.chat_template, "[]", NULL, &text), KAZEIA_OK);
        if (!strstr(kazeia_last_error(), cases[i].sentence)) {
            fail_msg("'%s': %s", cases[i].jinja, kazeia_last_error());
        }
        kz_text_buffer_clear(&text);
        clear(&c);
    }
}

// A cut or changed text compiles or is refused; what compiles runs to an end.
static void damaged_texts_do_no_harm(void **state) {
    char *text = malloc(TEXT_BYTES);
    assert_non_null(text);
    (void)state;
    read_text(FOLDER "qwen3.jinja", text, TEXT_BYTES);
    const size_t count = strlen(text);
    const kz_message messages[] = {{.role = "user", .text = "a", .bytes = 1}};
    for (size_t i = 0; i < count; i += 3) {
        const char kept = text[i];
        text[i] = i % 2 ? '\0' : "{}%-'([|"[i % 8];
        compiled c;
        kz_text_buffer written;
        if (try_compile(&c, text) == KAZEIA_OK) {
            clear(&c);
            compile(&c, text);
            CHECK(kz_text_buffer_init(&written, NULL, 64, TEXT_BYTES));
            const kazeia_status status =
                kz_template_write(c.chat_template, messages, 1, true, &written);
            assert_true(status == KAZEIA_OK || status == KAZEIA_BAD_ARGUMENT);
            kz_text_buffer_clear(&written);
        }
        clear(&c);
        text[i] = kept;
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_templates_render_their_golden_texts),
        cmocka_unit_test(families_render_golden_texts),
        cmocka_unit_test(marks_are_found),
        cmocka_unit_test(an_open_thought_is_seen),
        cmocka_unit_test(what_is_not_read_is_refused_by_name),
        cmocka_unit_test(strings_are_bounded),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(wrong_templates_fail_with_their_line),
        cmocka_unit_test(damaged_texts_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
