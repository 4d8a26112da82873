// reader.c: bytes of a program file -> a checked description.
//
// in:  a path, or bytes in memory
// out: a description whose strings and weights point into the mapped bytes
// What is small is verified by checksum before it is decoded; weights are only located, since
// reading gigabytes is not opening. Weights files are looked for in the program's own folder, by a
// plain name, so that a hostile program cannot make us open anything else.
#include "format/reader.h"

#include <string.h>

#include "base/file_system.h"
#include "format/check.h"
#include "format/check_parts.h"
#include "format/checksum.h"
#include "format/file_parts.h"
#include "format/tables.h"

#define PATH_BYTES_LIMIT 65536u

struct kz_program_file {
    kazeia_allocator allocator;
    kz_chunks chunks;
    // Strings and weights point into these bytes: the map lives as long as the description.
    kz_file_map map;         // empty for a program in memory
    kz_bytes bytes;          // the whole program file
    kz_file_map *siblings;   // [context_count]; empty for contexts inside the program
    const uint8_t **weights; // [context_count]
    kz_file_header header;
    kz_program_description description;
};

// --- Tables -------------------------------------------------------------------------------------

typedef kazeia_status (*table_decoder)(kz_byte_reader *reader, kz_chunks *chunks,
                                       kz_program_description *description);

typedef struct table_reading {
    const char *what;
    table_decoder decode;
} table_reading;

static const table_reading readings[KZ_SECTION_TABLE_END] = {
    [KZ_SECTION_METADATA] = {"section 'metadata'", kz_decode_metadata},
    [KZ_SECTION_TENSORS] = {"section 'tensors'", kz_decode_tensors},
    [KZ_SECTION_CONTEXTS] = {"section 'contexts'", kz_decode_contexts},
    [KZ_SECTION_STATES] = {"section 'states'", kz_decode_states},
    [KZ_SECTION_METHODS] = {"section 'methods'", kz_decode_methods},
};

// check_section kept it inside the file.
static kazeia_status verify_section(const kz_program_file *file, const kz_section *section) {
    const uint64_t found =
        kz_checksum(file->bytes.bytes + section->offset, (size_t)section->length);
    if (found != section->checksum) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "section '%s' (%llu bytes at %llu): checksum %016llx, expected %016llx; the "
                       "file is damaged",
                       kz_section_name(section->kind), (unsigned long long)section->length,
                       (unsigned long long)section->offset, (unsigned long long)found,
                       (unsigned long long)section->checksum);
    }
    return KAZEIA_OK;
}

static kazeia_status read_section(kz_program_file *file, const kz_section *section) {
    // Gigabytes: located, and hashed by kz_program_file_verify only.
    if (section->kind == KZ_SECTION_WEIGHTS) {
        return KAZEIA_OK;
    }
    KZ_TRY(verify_section(file, section));
    const kz_bytes content = {file->bytes.bytes + section->offset, (size_t)section->length};
    if (section->kind == KZ_SECTION_TOKENIZER) {
        file->description.tokenizer = content;
    } else if (section->kind == KZ_SECTION_CHAT_TEMPLATE) {
        file->description.chat_template = content;
    } else if (section->kind < KZ_SECTION_TABLE_END) {
        const table_reading *reading = &readings[section->kind];
        kz_byte_reader reader = {
            .bytes = content.bytes, .count = content.count, .what = reading->what};
        return reading->decode(&reader, &file->chunks, &file->description);
    }
    return KAZEIA_OK;
}

static kazeia_status read_sections(kz_program_file *file) {
    for (uint32_t i = 0; i < file->header.section_count; i++) {
        KZ_TRY(read_section(file, &file->header.sections[i]));
    }
    const kz_program_description *description = &file->description;
    // The id ties tables and weights together: a table swapped for another program's is found
    // although its own checksum is right.
    const uint64_t id = kz_content_id(file->header.sections, file->header.section_count,
                                      description->contexts, description->context_count);
    if (id != file->header.id) {
        return kz_fail(KAZEIA_BAD_FILE, "program header: id %016llx, but its content makes %016llx",
                       (unsigned long long)file->header.id, (unsigned long long)id);
    }
    return KAZEIA_OK;
}

// --- Weights ------------------------------------------------------------------------------------

// The n-th WEIGHTS section, NULL when there are fewer.
static const kz_section *find_weights(const kz_file_header *header, size_t n) {
    for (uint32_t i = 0; i < header->section_count; i++) {
        if (header->sections[i].kind == KZ_SECTION_WEIGHTS && n-- == 0) {
            return &header->sections[i];
        }
    }
    return NULL;
}

// The n-th context inside the program is its n-th WEIGHTS section.
static kazeia_status locate_inside(kz_program_file *file, size_t index, size_t n) {
    const kz_weight_context *context = &file->description.contexts[index];
    const kz_section *section = find_weights(&file->header, n);
    // Table and header say the same thing twice: a difference is damage that no checksum of either
    // shows.
    if (section == NULL || section->offset != context->offset ||
        section->length != context->bytes || section->checksum != context->checksum) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "weight context %zu: %llu bytes at %llu, which is not weights section %zu",
                       index, (unsigned long long)context->bytes,
                       (unsigned long long)context->offset, n);
    }
    file->weights[index] = file->bytes.bytes + context->offset;
    return KAZEIA_OK;
}

// Compares a weights file's header with what the program says of it.
static kazeia_status check_shard(const kz_program_file *file, size_t index,
                                 const kz_file_map *map) {
    const kz_weight_context *context = &file->description.contexts[index];
    kz_shard_header header;
    KZ_TRY(kz_shard_header_decode(map->bytes, map->size, &header));
    // By id, not by name: files can be renamed and mixed up.
    if (header.id != file->header.id) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "it belongs to program %016llx, expected %016llx; copy the program's own "
                       "weights files beside it",
                       (unsigned long long)header.id, (unsigned long long)file->header.id);
    }
    if (header.index != index || header.count != file->description.context_count) {
        return kz_fail(KAZEIA_BAD_FILE, "it is file %u of %u, expected %zu of %zu",
                       header.index + 1, header.count, index + 1, file->description.context_count);
    }
    // The header decoded, so there is a page at least.
    if (context->offset != KZ_PAGE || map->size - KZ_PAGE != context->bytes ||
        header.weight_bytes != context->bytes || header.checksum != context->checksum) {
        return kz_fail(KAZEIA_BAD_FILE, "it has %zu bytes, expected %u + %llu", map->size, KZ_PAGE,
                       (unsigned long long)context->bytes);
    }
    return KAZEIA_OK;
}

static kazeia_status map_shard(kz_program_file *file, size_t index, const char *path) {
    kz_file_map *map = &file->siblings[index];
    KZ_TRY(kz_file_map_open(path, map));
    KZ_TRY(check_shard(file, index, map));
    file->weights[index] = map->bytes + KZ_PAGE;
    return KAZEIA_OK;
}

static kazeia_status locate_beside(kz_program_file *file, size_t index, const char *program_path) {
    const char *name = file->description.contexts[index].file_name;
    // Before the description as a whole is checked: this name opens a file.
    KZ_TRY(kz_check_name(name, "weights file"));
    if (!kz_is_shard_name(name)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "weight context %zu: '%s' is no name of a weights file in this folder",
                       index, name);
    }
    if (program_path == NULL) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "weight context %zu lies in '%s', but a program in memory has no folder",
                       index, name);
    }
    kz_text_buffer path;
    kazeia_status status = kz_text_buffer_init(&path, &file->allocator, 0, PATH_BYTES_LIMIT);
    const size_t folder =
        (size_t)(kz_path_name(program_path) - program_path); // 0: the present folder
    if (status != KAZEIA_OK) {
        goto done;
    }
    KZ_TRY_DONE(status, kz_text_buffer_append(&path, program_path, folder));
    KZ_TRY_DONE(status, kz_text_buffer_append_string(&path, name));
    status = map_shard(file, index, path.bytes);
    if (status != KAZEIA_OK) {
        status = kz_fail_context(status, "weights file '%s'", name);
    }
done:
    kz_text_buffer_clear(&path);
    return status;
}

static kazeia_status take_weight_tables(kz_program_file *file) {
    const size_t count = file->description.context_count;
    void *siblings = NULL;
    void *weights = NULL;
    // Each may map a file: the count comes from outside.
    if (count > KZ_SHARD_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "section 'contexts': %zu weight contexts, at most %u expected", count,
                       KZ_SHARD_LIMIT);
    }
    KZ_TRY(kz_chunks_take(&file->chunks, count, sizeof(kz_file_map), "weights files", &siblings));
    file->siblings = siblings;
    KZ_TRY(kz_chunks_take(&file->chunks, count, sizeof(uint8_t *), "weights", &weights));
    file->weights = weights;
    return KAZEIA_OK;
}

static kazeia_status locate_weights(kz_program_file *file, const char *program_path) {
    size_t inside = 0;
    KZ_TRY(take_weight_tables(file));
    for (size_t i = 0; i < file->description.context_count; i++) {
        if (file->description.contexts[i].file_name == NULL) {
            KZ_TRY(locate_inside(file, i, inside));
            inside++;
        } else {
            KZ_TRY(locate_beside(file, i, program_path));
        }
    }
    if (find_weights(&file->header, inside) != NULL) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "section table: more weights sections than the %zu contexts", inside);
    }
    return KAZEIA_OK;
}

// --- Opening and closing ------------------------------------------------------------------------

static kazeia_status take_file(const kazeia_allocator *allocator, kz_program_file **out_file) {
    const kazeia_allocator source = kz_allocator_or_default(allocator);
    void *memory = NULL;
    KZ_TRY(kz_alloc(&source, 1, sizeof(kz_program_file), "a program file", &memory));
    kz_program_file *file = memory;
    file->allocator = source;
    kz_chunks_init(&file->chunks, &source);
    *out_file = file;
    return KAZEIA_OK;
}

static kazeia_status read_file(kz_program_file *file, const char *program_path) {
    // Each step trusts only what the one before has checked; the description comes last, since its
    // tensors need contexts that were found.
    KZ_TRY(kz_header_decode(file->bytes.bytes, file->bytes.count, &file->header));
    KZ_TRY(read_sections(file));
    KZ_TRY(locate_weights(file, program_path));
    return kz_check_description(&file->description, &file->allocator);
}

kazeia_status kz_program_file_open(const char *path, const kazeia_allocator *allocator,
                                   kz_program_file **out_file) {
    kz_program_file *file = NULL;
    KZ_TRY(take_file(allocator, &file));
    kazeia_status status = kz_file_map_open(path, &file->map);
    if (status == KAZEIA_OK) {
        file->bytes = (kz_bytes){file->map.bytes, file->map.size};
        status = read_file(file, path);
        if (status != KAZEIA_OK) {
            status = kz_fail_context(status, "%s", path);
        }
    }
    if (status != KAZEIA_OK) {
        kz_program_file_close(file);
        return status;
    }
    *out_file = file;
    return KAZEIA_OK;
}

kazeia_status kz_program_file_open_memory(const uint8_t *bytes, size_t count,
                                          const kazeia_allocator *allocator,
                                          kz_program_file **out_file) {
    kz_program_file *file = NULL;
    // Kernels load whole cache lines: a mapped file is aligned by its pages, memory by its owner.
    if ((uintptr_t)bytes % KZ_ALIGNMENT != 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a program in memory starts at no multiple of %u",
                       KZ_ALIGNMENT);
    }
    KZ_TRY(take_file(allocator, &file));
    file->bytes = (kz_bytes){bytes, count};
    const kazeia_status status = read_file(file, NULL);
    if (status != KAZEIA_OK) {
        kz_program_file_close(file);
        return status;
    }
    *out_file = file;
    return KAZEIA_OK;
}

void kz_program_file_close(kz_program_file *file) {
    if (file == NULL) {
        return;
    }
    const kazeia_allocator allocator = file->allocator;
    // Opening may have failed before the tables were taken, or between two maps: closing an empty
    // map does nothing.
    for (size_t i = 0; file->siblings != NULL && i < file->description.context_count; i++) {
        kz_file_map_close(&file->siblings[i]);
    }
    kz_file_map_close(&file->map);
    kz_chunks_clear(&file->chunks);
    kz_free(&allocator, file);
}

// --- Questions ----------------------------------------------------------------------------------

const kz_program_description *kz_program_file_description(const kz_program_file *file) {
    return &file->description;
}

uint64_t kz_program_file_id(const kz_program_file *file) {
    return file->header.id;
}

uint32_t kz_program_file_version(const kz_program_file *file) {
    return file->header.version;
}

const void *kz_program_file_tensor(const kz_program_file *file, const kz_tensor *tensor) {
    return file->weights[tensor->context] + tensor->offset;
}

void kz_program_file_will_need(const kz_program_file *file) {
    for (size_t i = 0; i < file->description.context_count; i++) {
        const kz_weight_context *context = &file->description.contexts[i];
        // A program in memory has no map to advise about.
        const kz_file_map *map = context->file_name != NULL ? &file->siblings[i] : &file->map;
        if (map->size > 0) {
            kz_file_map_advise(map, (size_t)context->offset, (size_t)context->bytes, true);
        }
    }
}

// --- Verifying every byte -----------------------------------------------------------------------

// Bytes between parts are zeros; a byte that is not was damaged, or smuggled in.
static kazeia_status verify_gap(const uint8_t *bytes, uint64_t start, uint64_t end,
                                const char *where) {
    for (uint64_t i = start; i < end; i++) {
        if (bytes[i] != 0) {
            return kz_fail(KAZEIA_BAD_FILE, "%s: byte %llu is %u, expected 0 between parts", where,
                           (unsigned long long)i, bytes[i]);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status verify_program(const kz_program_file *file) {
    const kz_file_header *header = &file->header;
    uint64_t end = kz_header_bytes(header->section_count);
    for (uint32_t i = 0; i < header->section_count; i++) {
        const kz_section *section = &header->sections[i];
        KZ_TRY(verify_gap(file->bytes.bytes, end, section->offset, "program file"));
        KZ_TRY(verify_section(file, section));
        end = section->offset + section->length;
    }
    return verify_gap(file->bytes.bytes, end, header->file_bytes, "program file");
}

static kazeia_status verify_shard(const kz_program_file *file, size_t index) {
    const kz_weight_context *context = &file->description.contexts[index];
    KZ_TRY(verify_gap(file->siblings[index].bytes, KZ_SHARD_HEADER_BYTES, KZ_PAGE,
                      context->file_name));
    const uint64_t found = kz_checksum(file->weights[index], (size_t)context->bytes);
    if (found != context->checksum) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "weights file '%s': checksum %016llx, expected %016llx; the file is damaged",
                       context->file_name, (unsigned long long)found,
                       (unsigned long long)context->checksum);
    }
    return KAZEIA_OK;
}

kazeia_status kz_program_file_verify(const kz_program_file *file) {
    KZ_TRY(verify_program(file));
    for (size_t i = 0; i < file->description.context_count; i++) {
        if (file->description.contexts[i].file_name != NULL) {
            KZ_TRY(verify_shard(file, i));
        }
    }
    return KAZEIA_OK;
}
