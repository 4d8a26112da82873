// template.c: kazeia_template_render: a program's chat template by itself.
//   in   messages and options, as JSON
//   out  text
// The renderer has all its memory at creation, so each conversation gets one of its own size.
#include <string.h>

#include "api/handles.h"
#include "kazeia/chat.h"
#include "llm/template.h"

#define TEXT_LIMIT ((size_t)1 << 30)
#define LEAST_MEMORY ((size_t)1 << 20)
#define MEMORY_PER_BYTE 64u // of JSON: "[1,1,1" is a value for two bytes

static kazeia_status create_renderer(const kz_chat_template *compiled, size_t input_bytes,
                                     const kazeia_allocator *memory, kz_template **out_renderer) {
    size_t bytes = 0;
    if (!kz_size_mul(input_bytes, MEMORY_PER_BYTE, &bytes) ||
        !kz_size_add(bytes, LEAST_MEMORY, &bytes)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "template: %zu bytes of JSON are too many",
                       input_bytes);
    }
    const kz_template_options options = {.memory_bytes = bytes};
    return kz_template_create(compiled, NULL, &options, memory, out_renderer);
}

kazeia_status kazeia_template_render(const kazeia_program *program, const char *messages,
                                     const char *options, const kazeia_allocator *allocator,
                                     kazeia_text_sink sink, void *context) {
    KZ_TRY(kz_require(program, "template: program"));
    KZ_TRY(kz_require(messages, "template: messages"));
    KZ_TRY(kz_require((const void *)(uintptr_t)sink, "template: sink"));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    const kz_bytes *section = &kz_program_describe(program->loaded)->chat_template;
    kz_chat_template compiled;
    kz_template *renderer = NULL;
    kz_text_buffer text;
    if (section->count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "template: the program has none");
    }
    KZ_TRY(kz_chat_template_open(section, &compiled));
    KZ_TRY(kz_text_buffer_init(&text, &memory, 0, TEXT_LIMIT));
    kazeia_status status = create_renderer(
        &compiled, strlen(messages) + (options ? strlen(options) : 0), &memory, &renderer);
    if (status == KAZEIA_OK) {
        status = kz_template_write_json(renderer, messages, options, &text);
    }
    if (status == KAZEIA_OK) {
        // Nothing appended leaves no bytes at all.
        status = sink(context, text.bytes ? text.bytes : "", text.count);
    }
    kz_template_destroy(renderer);
    kz_text_buffer_clear(&text);
    return status;
}
