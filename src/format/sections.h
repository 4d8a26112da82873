// sections.h: a placed description -> the sections of its program file, ready to be written.
#ifndef KZ_FORMAT_SECTIONS_H
#define KZ_FORMAT_SECTIONS_H

#include "format/byte_stream.h"
#include "format/file_parts.h"

#define KZ_TABLE_COUNT 7u // METADATA .. CHAT_TEMPLATE

typedef struct kz_sections {
    kz_byte_writer tables[5];           // METADATA .. METHODS
    kz_bytes contents[KZ_TABLE_COUNT];  // in file order; empty ones are left out
    kz_section entries[KZ_TABLE_COUNT]; // the same, offsets still 0
    uint32_t count;                     // entries in use
    uint64_t id;
} kz_sections;

// Sections that a description will have beside its weights.
uint32_t kz_sections_count(const kz_program_description *description);

// Encodes all tables but CONTEXTS and computes the id from them and from the contexts' sizes and
// checksums. The description outlives the sections.
KAZEIA_MUST_CHECK kazeia_status kz_sections_init(kz_sections *sections,
                                                 const kz_program_description *description,
                                                 const kazeia_allocator *allocator);
// Encodes CONTEXTS, whose file names hold the id, and completes the list of sections.
KAZEIA_MUST_CHECK kazeia_status kz_sections_finish(kz_sections *sections,
                                                   const kz_program_description *description);
void kz_sections_clear(kz_sections *sections);

// Gives the sections their places from `offset` on, behind `weights` (0 or 1 section), and fills
// the header. The last section's end is the file's size.
void kz_sections_place(const kz_sections *sections, const kz_section *weights,
                       uint32_t weights_count, uint64_t offset, kz_file_header *out_header);

#endif
