// chat_template.c: the chat template section, written and read.
//   in   a compiled template, or a section's bytes
//   out  a section's bytes, or a checked template
// What is written goes through the reader's own check: the two cannot disagree.
#include "format/chat_template.h"

#include <string.h>

#include "format/byte_stream.h"

#define STEP_BYTES 12u

// --- Names --------------------------------------------------------------------------------------

static const char *const filter_names[] = {
#define KZ_TEMPLATE_FILTER(stem, name) name,
#include "format/chat_template.def"
    NULL};
static const char *const method_names[] = {
#define KZ_TEMPLATE_METHOD(stem, name) name,
#include "format/chat_template.def"
    NULL};
static const char *const test_names[] = {
#define KZ_TEMPLATE_TEST(stem, name) name,
#include "format/chat_template.def"
    NULL};
static const char *const function_names[] = {
#define KZ_TEMPLATE_FUNCTION(stem, name) name,
#include "format/chat_template.def"
    NULL};
static const char *const loop_names[] = {
#define KZ_TEMPLATE_LOOP(stem, name) name,
#include "format/chat_template.def"
    NULL};
static const char *const *const lists[] = {filter_names, method_names, test_names, function_names,
                                           loop_names};
static const uint32_t list_counts[] = {KZ_FILTER_COUNT_OF_ALL, KZ_METHOD_COUNT_OF_ALL,
                                       KZ_TEST_COUNT_OF_ALL, KZ_FUNCTION_COUNT_OF_ALL,
                                       KZ_LOOP_COUNT_OF_ALL};

int kz_template_number(kz_template_list list, const char *name, size_t count) {
    for (int i = 0; lists[list][i]; i++) {
        if (strlen(lists[list][i]) == count && memcmp(lists[list][i], name, count) == 0) {
            return i;
        }
    }
    return -1;
}

const char *kz_template_name(kz_template_list list, uint32_t number) {
    return number < list_counts[list] ? lists[list][number] : NULL;
}

// --- Reading ------------------------------------------------------------------------------------

typedef enum argument_kind {
    NOTHING,
    STRING,
    NUMBER,
    REAL,
    CONSTANT,
    COUNT,
    TARGET,
    FILTER,
    METHOD,
    TEST,
    FUNCTION,
    LOOP,
} argument_kind;

static const uint8_t argument_kinds[] = {
#define KZ_TEMPLATE_OP(name, kind) kind,
#include "format/chat_template.def"
};

// Arguments are below this.
static uint64_t argument_limit(const kz_chat_template *chat_template, argument_kind kind) {
    switch (kind) {
    case NOTHING:
        return 1;
    case STRING:
        return chat_template->string_count;
    case NUMBER:
        return (uint64_t)UINT32_MAX + 1;
    case REAL:
        return chat_template->real_count;
    case CONSTANT:
        return KZ_CONSTANT_TRUE + 1;
    case COUNT:
        return KZ_CHAT_COUNT_LIMIT + 1;
    case TARGET:
        return chat_template->code_count;
    default:
        return list_counts[kind - FILTER];
    }
}

kz_template_step kz_chat_template_step(const kz_chat_template *chat_template, uint32_t index) {
    const uint8_t *bytes = chat_template->code + (size_t)index * STEP_BYTES;
    return (kz_template_step){.op = bytes[0],
                              .positional = bytes[1],
                              .named = bytes[2],
                              .argument = kz_load_u32(bytes + 4),
                              .line = kz_load_u32(bytes + 8)};
}

kz_bytes kz_chat_template_string(const kz_chat_template *chat_template, uint32_t index) {
    const uint32_t from = kz_load_u32(chat_template->offsets + (size_t)index * 4);
    const uint32_t to = kz_load_u32(chat_template->offsets + (size_t)index * 4 + 4);
    return (kz_bytes){(const uint8_t *)chat_template->text + from, to - from};
}

double kz_chat_template_real(const kz_chat_template *chat_template, uint32_t index) {
    const uint64_t bits = kz_load_u64(chat_template->reals + (size_t)index * 8);
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static kazeia_status check_code(const kz_chat_template *chat_template) {
    for (uint32_t i = 0; i < chat_template->code_count; i++) {
        const kz_template_step step = kz_chat_template_step(chat_template, i);
        if (step.op >= KZ_DO_COUNT || chat_template->code[(size_t)i * STEP_BYTES + 3] != 0) {
            return kz_fail(KAZEIA_BAD_FILE, "chat template: instruction %u of %u is unknown", i,
                           chat_template->code_count);
        }
        const uint64_t limit =
            argument_limit(chat_template, (argument_kind)argument_kinds[step.op]);
        if (step.argument >= limit || step.positional > KZ_CHAT_ARGUMENT_LIMIT ||
            step.named > KZ_CHAT_ARGUMENT_LIMIT) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "chat template: instruction %u has the argument %u, expected below "
                           "%llu, and %u and %u values, expected at most %u",
                           i, step.argument, (unsigned long long)limit, step.positional, step.named,
                           KZ_CHAT_ARGUMENT_LIMIT);
        }
    }
    const uint32_t last = chat_template->code_count - 1;
    // Every other instruction has a next one, so that nothing runs off the list.
    if (kz_chat_template_step(chat_template, last).op != KZ_DO_END) {
        return kz_fail(KAZEIA_BAD_FILE, "chat template: its last instruction is not the end");
    }
    return KAZEIA_OK;
}

static kazeia_status check_strings(const kz_chat_template *chat_template) {
    uint32_t last = 0;
    for (uint32_t i = 0; i <= chat_template->string_count; i++) {
        const uint32_t offset = kz_load_u32(chat_template->offsets + (size_t)i * 4);
        if (offset < last || offset > chat_template->text_bytes) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "chat template: string %u begins at byte %u, expected %u to %u", i,
                           offset, last, chat_template->text_bytes);
        }
        last = offset;
    }
    return KAZEIA_OK;
}

static kazeia_status take_marks(kz_byte_reader *reader, kz_chat_template *chat_template) {
    for (size_t i = 0; i < KZ_MARK_COUNT; i++) {
        chat_template->marks[i] = kz_take_string(reader);
        const size_t count = strlen(chat_template->marks[i]);
        if (count > KZ_CHAT_MARK_BYTES) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "chat template: mark %zu has %zu bytes, at most %u expected", i, count,
                           KZ_CHAT_MARK_BYTES);
        }
    }
    return reader->status;
}

static kazeia_status take_counts(kz_byte_reader *reader, kz_chat_template *chat_template) {
    chat_template->code_count = kz_take_u32(reader);
    chat_template->string_count = kz_take_u32(reader);
    chat_template->real_count = kz_take_u32(reader);
    chat_template->text_bytes = kz_take_u32(reader);
    KZ_TRY(reader->status);
    if (chat_template->code_count == 0 || chat_template->code_count > KZ_CHAT_CODE_LIMIT ||
        chat_template->string_count > KZ_CHAT_CODE_LIMIT ||
        chat_template->real_count > KZ_CHAT_CODE_LIMIT ||
        chat_template->text_bytes > KZ_CHAT_TEXT_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "chat template: %u instructions, %u strings, %u reals, %u bytes of text; "
                       "expected 1 to %u, then at most that, and %u bytes",
                       chat_template->code_count, chat_template->string_count,
                       chat_template->real_count, chat_template->text_bytes, KZ_CHAT_CODE_LIMIT,
                       KZ_CHAT_TEXT_LIMIT);
    }
    return KAZEIA_OK;
}

// The counts are limited, so the sum cannot overflow.
static kazeia_status place_parts(const kz_byte_reader *reader, kz_chat_template *chat_template) {
    const size_t code_bytes = (size_t)chat_template->code_count * STEP_BYTES;
    const size_t offset_bytes = ((size_t)chat_template->string_count + 1) * 4;
    const size_t real_bytes = (size_t)chat_template->real_count * 8;
    const size_t wanted = code_bytes + offset_bytes + real_bytes + chat_template->text_bytes;
    if (wanted != reader->count - reader->at) {
        return kz_fail(KAZEIA_BAD_FILE, "chat template: %zu bytes follow its counts, expected %zu",
                       reader->count - reader->at, wanted);
    }
    chat_template->code = reader->bytes + reader->at;
    chat_template->offsets = chat_template->code + code_bytes;
    chat_template->reals = chat_template->offsets + offset_bytes;
    chat_template->text = (const char *)chat_template->reals + real_bytes;
    return KAZEIA_OK;
}

kazeia_status kz_chat_template_open(const kz_bytes *section, kz_chat_template *out_template) {
    kz_byte_reader reader = {
        .bytes = section->bytes, .count = section->count, .what = "section 'chat_template'"};
    const uint32_t magic = kz_take_u32(&reader);
    const uint32_t version = kz_take_u32(&reader);
    // A section too short for its magic is said to be that, not one of version 0.
    KZ_TRY(reader.status);
    if (magic != KZ_CHAT_TEMPLATE_MAGIC || version != KZ_CHAT_TEMPLATE_VERSION) {
        return kz_fail(magic == KZ_CHAT_TEMPLATE_MAGIC ? KAZEIA_UNSUPPORTED : KAZEIA_BAD_FILE,
                       "chat template: magic %08x version %u found, expected %08x version %u; "
                       "export the program again",
                       magic, version, KZ_CHAT_TEMPLATE_MAGIC, KZ_CHAT_TEMPLATE_VERSION);
    }
    kz_chat_template chat_template = {.code_count = 0};
    KZ_TRY(take_marks(&reader, &chat_template));
    KZ_TRY(take_counts(&reader, &chat_template));
    KZ_TRY(place_parts(&reader, &chat_template));
    KZ_TRY(check_strings(&chat_template));
    KZ_TRY(check_code(&chat_template));
    *out_template = chat_template;
    return KAZEIA_OK;
}

// --- Writing ------------------------------------------------------------------------------------

static void put_text(kz_byte_writer *writer, const kz_bytes *text) {
    if (writer->status == KAZEIA_OK) {
        writer->status =
            kz_text_buffer_append(&writer->buffer, (const char *)text->bytes, text->count);
    }
}

static void put_template(kz_byte_writer *writer, const kz_chat_template_source *source) {
    kz_put_u32(writer, KZ_CHAT_TEMPLATE_MAGIC);
    kz_put_u32(writer, KZ_CHAT_TEMPLATE_VERSION);
    for (size_t i = 0; i < KZ_MARK_COUNT; i++) {
        kz_put_string(writer, source->marks[i]);
    }
    size_t text_bytes = 0;
    for (uint32_t i = 0; i < source->string_count; i++) {
        text_bytes += source->strings[i].count;
    }
    kz_put_u32(writer, source->code_count);
    kz_put_u32(writer, source->string_count);
    kz_put_u32(writer, source->real_count);
    kz_put_count(writer, text_bytes);
    for (uint32_t i = 0; i < source->code_count; i++) {
        const kz_template_step *step = &source->code[i];
        kz_put_u32(writer, (uint32_t)step->op | (uint32_t)step->positional << 8 |
                               (uint32_t)step->named << 16);
        kz_put_u32(writer, step->argument);
        kz_put_u32(writer, step->line);
    }
    uint32_t offset = 0;
    kz_put_u32(writer, offset);
    for (uint32_t i = 0; i < source->string_count; i++) {
        offset += (uint32_t)source->strings[i].count;
        kz_put_u32(writer, offset);
    }
    for (uint32_t i = 0; i < source->real_count; i++) {
        kz_put_f64(writer, source->reals[i]);
    }
    for (uint32_t i = 0; i < source->string_count; i++) {
        put_text(writer, &source->strings[i]);
    }
}

kazeia_status kz_chat_template_build(const kz_chat_template_source *source,
                                     const kazeia_allocator *allocator, uint8_t **out_bytes,
                                     size_t *out_count) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_byte_writer writer;
    kz_chat_template checked;
    kz_byte_writer_init(&writer, &memory);
    put_template(&writer, source);
    kazeia_status status = writer.status;
    if (status == KAZEIA_OK) {
        const kz_bytes section = {(const uint8_t *)writer.buffer.bytes, writer.buffer.count};
        status = kz_chat_template_open(&section, &checked);
        // The caller's template is wrong, not a file.
        status = status == KAZEIA_BAD_FILE ? KAZEIA_BAD_ARGUMENT : status;
    }
    void *bytes = NULL;
    if (status == KAZEIA_OK) {
        // Freed by kz_free_aligned, like every section that is built.
        status =
            kz_alloc_aligned(&memory, writer.buffer.count, KZ_ALIGNMENT, "chat template", &bytes);
    }
    if (status == KAZEIA_OK) {
        memcpy(bytes, writer.buffer.bytes, writer.buffer.count);
        *out_bytes = bytes;
        *out_count = writer.buffer.count;
    }
    kz_byte_writer_clear(&writer);
    return status;
}
