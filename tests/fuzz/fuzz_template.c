// fuzz_template.c: libFuzzer target for chat templates: section, compiler, machine, JSON.
//
// in:  byte 0 says what the rest is: 0 a whole section; 1 Jinja text; 2 changes to a family's
//      section (3 bytes each: place and value); 3 messages, then after a NUL options, as JSON
// out: a crash when reading goes wild; nothing may run without end
#include <stdlib.h>
#include <string.h>

#include "exporter/models/templates.h"
#include "llm/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t count);

#define TEXT_LIMIT ((size_t)1 << 20)

static const char conversation[] =
    "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"<think>a</think>\"},"
    "{\"role\":\"assistant\",\"content\":\"b\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
    "\"arguments\":{\"x\":[1,2.5,null]}}}]},{\"role\":\"tool\",\"content\":\"c\"}]";
static const char options[] = "{\"add_generation_prompt\":true,\"tools\":[{\"a\":1}]}";

static void render(const kz_bytes *section, const char *messages, const char *variables) {
    const kz_template_options settings = {.longest_run = 4096, .memory_bytes = 1 << 18};
    kz_chat_template compiled;
    kz_template *chat_template = NULL;
    kz_text_buffer text;
    if (kz_chat_template_open(section, &compiled) != KAZEIA_OK ||
        kz_template_create(&compiled, NULL, &settings, NULL, &chat_template) != KAZEIA_OK) {
        return;
    }
    if (kz_text_buffer_init(&text, NULL, 0, TEXT_LIMIT) == KAZEIA_OK) {
        (void)!kz_template_write_json(chat_template, messages, variables, &text);
    }
    kz_text_buffer_clear(&text);
    kz_template_destroy(chat_template);
}

static void run_jinja(const char *jinja, const char *messages, const char *variables,
                      const uint8_t *changes, size_t change_bytes) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    const kz_template_token token = {"bos_token", "<s>"};
    kz_graph graph;
    kz_graph_init(&graph, &memory);
    if (kz_template_compile(jinja, "own", &token, 1, &graph) == KAZEIA_OK) {
        // The section lies in the graph's own memory.
        uint8_t *bytes = (uint8_t *)(uintptr_t)graph.chat_template.bytes;
        for (size_t i = 0; i + 3 <= change_bytes; i += 3) {
            const size_t place = (size_t)changes[i] << 8 | changes[i + 1];
            bytes[place % graph.chat_template.count] = changes[i + 2];
        }
        render(&graph.chat_template, messages, variables);
    }
    kz_graph_clear(&graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t count) {
    static const char *const families[] = {"qwen3", "chatml", "gemma3", "llama3"};
    if (count == 0) {
        return 0;
    }
    const char *family = kz_template_family(families[input[0] / 4 % 4]);
    // A NUL behind the text, and one more for options that are not there.
    char *text = calloc(1, count + 2);
    if (!text) {
        return 0;
    }
    memcpy(text, input + 1, count - 1);
    switch (input[0] % 4) {
    case 0: {
        const kz_bytes section = {(const uint8_t *)text, count - 1};
        render(&section, conversation, options);
        break;
    }
    case 1:
        run_jinja(text, conversation, options, NULL, 0);
        break;
    case 2:
        run_jinja(family, conversation, options, input + 1, count - 1);
        break;
    default:
        run_jinja(family, text, strlen(text) < count - 1 ? text + strlen(text) + 1 : NULL, NULL, 0);
    }
    free(text);
    return 0;
}
