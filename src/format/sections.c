// sections.c: a placed description -> the sections of its program file, ready to be written.
//
// in:  a description whose weight contexts have sizes and checksums
// out: encoded tables, the content id, the header
// Two steps, because the names of weights files hold the id and stand in a table themselves.
#include "format/sections.h"

#include <string.h>

#include "format/checksum.h"
#include "format/tables.h"

typedef void (*table_encoder)(kz_byte_writer *writer, const kz_program_description *description);

// By kind - 1.
static const table_encoder encoders[] = {kz_encode_metadata, kz_encode_tensors, kz_encode_contexts,
                                         kz_encode_states, kz_encode_methods};

#define ENCODED_COUNT (sizeof encoders / sizeof encoders[0])

// Known before anything is encoded: the writer reserves the header's room by it.
uint32_t kz_sections_count(const kz_program_description *description) {
    return (uint32_t)ENCODED_COUNT + (description->tokenizer.count > 0) +
           (description->chat_template.count > 0);
}

static kazeia_status encode_table(kz_sections *sections, uint32_t kind,
                                  const kz_program_description *description) {
    kz_byte_writer *writer = &sections->tables[kind - 1];
    encoders[kind - 1](writer, description);
    return writer->status;
}

static void add_section(kz_sections *sections, uint32_t kind, const void *bytes, size_t count) {
    const uint32_t i = sections->count++;
    sections->contents[i] = (kz_bytes){bytes, count};
    sections->entries[i] =
        (kz_section){.kind = kind, .length = count, .checksum = kz_checksum(bytes, count)};
}

static void list_sections(kz_sections *sections, const kz_program_description *description) {
    sections->count = 0;
    for (uint32_t kind = 1; kind <= ENCODED_COUNT; kind++) {
        const kz_text_buffer *buffer = &sections->tables[kind - 1].buffer;
        add_section(sections, kind, buffer->bytes, buffer->count);
    }
    if (description->tokenizer.count > 0) {
        add_section(sections, KZ_SECTION_TOKENIZER, description->tokenizer.bytes,
                    description->tokenizer.count);
    }
    if (description->chat_template.count > 0) {
        add_section(sections, KZ_SECTION_CHAT_TEMPLATE, description->chat_template.bytes,
                    description->chat_template.count);
    }
}

kazeia_status kz_sections_init(kz_sections *sections, const kz_program_description *description,
                               const kazeia_allocator *allocator) {
    memset(sections, 0, sizeof *sections);
    // All of them before the first can fail, so that clearing is safe from anywhere.
    for (uint32_t i = 0; i < ENCODED_COUNT; i++) {
        kz_byte_writer_init(&sections->tables[i], allocator);
    }
    for (uint32_t kind = 1; kind <= ENCODED_COUNT; kind++) {
        // Its file names need the id, which is made of all other tables.
        if (kind != KZ_SECTION_CONTEXTS) {
            KZ_TRY(encode_table(sections, kind, description));
        }
    }
    list_sections(sections, description);
    // The still empty table of contexts is listed too; the id passes over its kind.
    sections->id = kz_content_id(sections->entries, sections->count, description->contexts,
                                 description->context_count);
    return KAZEIA_OK;
}

kazeia_status kz_sections_finish(kz_sections *sections, const kz_program_description *description) {
    KZ_TRY(encode_table(sections, KZ_SECTION_CONTEXTS, description));
    // Again: the buffer of contexts has its bytes, and so its checksum, only now.
    list_sections(sections, description);
    return KAZEIA_OK;
}

void kz_sections_clear(kz_sections *sections) {
    for (uint32_t i = 0; i < ENCODED_COUNT; i++) {
        kz_byte_writer_clear(&sections->tables[i]);
    }
}

void kz_sections_place(const kz_sections *sections, const kz_section *weights,
                       uint32_t weights_count, uint64_t offset, kz_file_header *out_header) {
    *out_header = (kz_file_header){.version = KZ_FORMAT_VERSION,
                                   .id = sections->id,
                                   .section_count = weights_count + sections->count};
    // Weights come first in the file, as they were written first: see writer.c.
    if (weights_count > 0) {
        out_header->sections[0] = *weights;
    }
    for (uint32_t i = 0; i < sections->count; i++) {
        kz_section *section = &out_header->sections[weights_count + i];
        offset = (offset + KZ_ALIGNMENT - 1) / KZ_ALIGNMENT * KZ_ALIGNMENT;
        *section = sections->entries[i];
        section->offset = offset;
        offset += section->length;
    }
    out_header->file_bytes = offset;
}
