// template.c: kazeia_template: a program's chat template by itself.
//   in   messages and options, as JSON
//   out  text
// The renderer has all its memory at creation; here, where the longest conversation is not known,
// a larger renderer takes its place when one comes.
#include <string.h>

#include "api/handles.h"
#include "kazeia/chat.h"
#include "llm/template.h"

#define TEXT_LIMIT ((size_t)1 << 30)
#define LEAST_MEMORY ((size_t)1 << 20)
#define MEMORY_PER_BYTE 64u // of JSON: "[1,1,1" is a value for two bytes

struct kazeia_template {
    kazeia_allocator allocator;
    kz_program *program;       // holds the section
    kz_chat_template compiled; // lies in it
    kz_template *renderer;     // or NULL
    size_t memory_bytes;       // of the renderer
    kz_text_buffer text;
};

static kazeia_status fill_template(kazeia_template *chat_template) {
    const kz_bytes *section = &kz_program_describe(chat_template->program)->chat_template;
    if (section->count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "template: the program has none");
    }
    KZ_TRY(kz_text_buffer_init(&chat_template->text, &chat_template->allocator, 0, TEXT_LIMIT));
    return kz_chat_template_open(section, &chat_template->compiled);
}

kazeia_status kazeia_template_create(const kazeia_program *program,
                                     const kazeia_allocator *allocator,
                                     kazeia_template **out_template) {
    KZ_TRY(kz_require(program, "template: program"));
    KZ_TRY(kz_require(out_template, "template: out_template"));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kazeia_template *created = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *created, "template", (void **)&created));
    created->allocator = memory;
    // Destroy clears the buffer also when its init was never reached.
    created->text.allocator = memory;
    created->program = kz_program_retain(program->loaded);
    const kazeia_status status = fill_template(created);
    if (status != KAZEIA_OK) {
        kazeia_template_destroy(created);
        return status;
    }
    *out_template = created;
    return KAZEIA_OK;
}

void kazeia_template_destroy(kazeia_template *chat_template) {
    if (!chat_template) {
        return;
    }
    const kazeia_allocator memory = chat_template->allocator;
    kz_template_destroy(chat_template->renderer);
    kz_text_buffer_clear(&chat_template->text);
    kz_program_release(chat_template->program);
    kz_free(&memory, chat_template);
}

static kazeia_status make_room(kazeia_template *chat_template, size_t input_bytes) {
    size_t bytes = 0;
    if (!kz_size_mul(input_bytes, MEMORY_PER_BYTE, &bytes) ||
        !kz_size_add(bytes, LEAST_MEMORY, &bytes)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "template: %zu bytes of JSON are too many",
                       input_bytes);
    }
    if (bytes <= chat_template->memory_bytes) {
        return KAZEIA_OK;
    }
    const kz_template_options options = {.memory_bytes = bytes};
    kz_template *larger = NULL;
    KZ_TRY(kz_template_create(&chat_template->compiled, NULL, &options, &chat_template->allocator,
                              &larger));
    kz_template_destroy(chat_template->renderer);
    chat_template->renderer = larger;
    chat_template->memory_bytes = bytes;
    return KAZEIA_OK;
}

kazeia_status kazeia_template_render(kazeia_template *chat_template, const char *messages,
                                     const char *options, const char **out_text,
                                     size_t *out_bytes) {
    KZ_TRY(kz_require(chat_template, "template: chat_template"));
    KZ_TRY(kz_require(messages, "template: messages"));
    KZ_TRY(kz_require(out_text, "template: out_text"));
    KZ_TRY(kz_require(out_bytes, "template: out_bytes"));
    KZ_TRY(make_room(chat_template, strlen(messages) + (options ? strlen(options) : 0)));
    kz_text_buffer_reset(&chat_template->text);
    KZ_TRY(
        kz_template_write_json(chat_template->renderer, messages, options, &chat_template->text));
    // Nothing appended yet leaves no bytes at all.
    *out_text = chat_template->text.bytes ? chat_template->text.bytes : "";
    *out_bytes = chat_template->text.count;
    return KAZEIA_OK;
}
