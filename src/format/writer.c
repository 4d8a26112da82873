// writer.c: a description and its weights -> program file, atomically, with bounded memory.
//
// in:  a description; tensors' bytes, in order
// out: NAME.kzp, and NAME.ID.I-of-N.kzw beside it when there is more than one shard
// Weights go to disk as they come and are hashed on the way; tables follow once their checksums are
// known; the header is patched in last. Nothing has its final name before everything is on disk.
#include "format/writer.h"

#include <string.h>

#include "base/file_write.h"
#include "format/check.h"
#include "format/checksum.h"
#include "format/placement.h"
#include "format/sections.h"
#include "format/shard_names.h"

#define NAME_BYTES_LIMIT 65536u

struct kz_program_writer {
    kazeia_allocator allocator;
    char *path;
    kz_placement placement;
    uint32_t shard_count;
    kz_file_writer *program;
    kz_file_writer *shards[KZ_SHARD_LIMIT]; // all NULL when weights lie in the program
    kz_text_buffer names[KZ_SHARD_LIMIT];   // file names of shards, once the id is known
    kz_checksum_stream *checksum;           // of the present context
    size_t tensor;                          // the present one
    uint64_t tensor_bytes;                  // of it, already written
    uint64_t id;                            // of the content, once sealed
    bool is_sealed;                         // all bytes are on the disk, under temporary names
};

static bool is_sharded(const kz_program_writer *writer) {
    return writer->shard_count > 1;
}

static kz_file_writer *file_of_context(const kz_program_writer *writer, size_t context) {
    return is_sharded(writer) ? writer->shards[context] : writer->program;
}

// --- Creation -----------------------------------------------------------------------------------

// Room for the header: a page where weights follow, so that they start at one.
static kazeia_status reserve_header(kz_file_writer *file, size_t bytes, bool has_weights) {
    static const uint8_t zeros[KZ_PAGE];
    // At most one header of KZ_SECTION_LIMIT sections, which is below a page.
    KZ_TRY(kz_file_writer_append(file, zeros, bytes));
    return kz_file_writer_align(file, has_weights ? KZ_PAGE : KZ_ALIGNMENT);
}

static kazeia_status open_shards(kz_program_writer *writer) {
    kz_text_buffer path;
    kazeia_status status = kz_text_buffer_init(&path, &writer->allocator, 0, NAME_BYTES_LIMIT);
    for (uint32_t i = 0; i < writer->shard_count && status == KAZEIA_OK; i++) {
        KZ_TRY_DONE(status, kz_shard_draft_path(writer->path, i, writer->shard_count, &path));
        KZ_TRY_DONE(status,
                    kz_file_writer_create(path.bytes, &writer->allocator, &writer->shards[i]));
        KZ_TRY_DONE(status, reserve_header(writer->shards[i], KZ_SHARD_HEADER_BYTES, true));
    }
done:
    kz_text_buffer_clear(&path);
    return status;
}

static kazeia_status open_files(kz_program_writer *writer) {
    const kz_program_description *description = &writer->placement.description;
    const bool has_weights = !is_sharded(writer) && description->context_count > 0;
    KZ_TRY(kz_file_writer_create(writer->path, &writer->allocator, &writer->program));
    KZ_TRY(reserve_header(writer->program,
                          kz_header_bytes(kz_sections_count(description) + has_weights),
                          has_weights));
    return is_sharded(writer) ? open_shards(writer) : KAZEIA_OK;
}

static kazeia_status start_writer(kz_program_writer *writer, const char *path,
                                  const kz_program_description *description) {
    KZ_TRY(kz_copy_string(&writer->allocator, path, strlen(path), &writer->path));
    KZ_TRY(kz_placement_init(&writer->placement, description, writer->shard_count,
                             &writer->allocator));
    for (size_t i = 0; i < writer->placement.description.context_count; i++) {
        // Inside the program and in a shard alike: a header's page, then weights.
        writer->placement.contexts[i].offset = KZ_PAGE;
    }
    // By the reader's own rules: nothing is written that could not be opened.
    KZ_TRY(kz_check_description(&writer->placement.description, &writer->allocator));
    KZ_TRY(kz_checksum_stream_create(&writer->allocator, &writer->checksum));
    kz_shards_remove_stale_drafts(path, &writer->allocator);
    return open_files(writer);
}

kazeia_status kz_program_writer_create(const char *path, const kz_program_description *description,
                                       uint32_t shard_count, const kazeia_allocator *allocator,
                                       kz_program_writer **out_writer) {
    const kazeia_allocator source = kz_allocator_or_default(allocator);
    void *memory = NULL;
    KZ_TRY(kz_alloc(&source, 1, sizeof(kz_program_writer), "a program writer", &memory));
    kz_program_writer *writer = memory;
    writer->allocator = source;
    // Abandoning clears the placement also when creation failed before it was made.
    writer->placement.allocator = source;
    writer->shard_count = shard_count;
    const kazeia_status status = start_writer(writer, path, description);
    if (status != KAZEIA_OK) {
        kz_program_writer_abandon(writer);
        return kz_fail_context(status, "writing '%s'", path);
    }
    *out_writer = writer;
    return KAZEIA_OK;
}

// Frees everything; files that were not committed vanish.
void kz_program_writer_abandon(kz_program_writer *writer) {
    if (writer == NULL) {
        return;
    }
    const kazeia_allocator allocator = writer->allocator;
    kz_file_writer_abandon(writer->program);
    for (uint32_t i = 0; i < KZ_SHARD_LIMIT; i++) {
        kz_file_writer_abandon(writer->shards[i]);
        kz_text_buffer_clear(&writer->names[i]);
    }
    kz_checksum_stream_destroy(writer->checksum);
    kz_placement_clear(&writer->placement);
    kz_free(&allocator, writer->path);
    kz_free(&allocator, writer);
}

// --- Weights ------------------------------------------------------------------------------------

static kazeia_status write_weights(kz_program_writer *writer, const void *bytes, size_t count) {
    const size_t context = writer->placement.tensors[writer->tensor].context;
    // On the way to the disk: no second reading of gigabytes.
    kz_checksum_stream_add(writer->checksum, bytes, count);
    return kz_file_writer_append(file_of_context(writer, context), bytes, count);
}

// Pads the present tensor, closes its context when it was the last one there, and goes to the next.
static kazeia_status end_tensor(kz_program_writer *writer) {
    static const uint8_t zeros[KZ_ALIGNMENT];
    const kz_placement *placement = &writer->placement;
    const kz_tensor *tensor = &placement->tensors[writer->tensor];
    // Padding is part of the context, and of its checksum.
    const size_t over = (size_t)(tensor->bytes % KZ_ALIGNMENT);
    if (over != 0) {
        KZ_TRY(write_weights(writer, zeros, KZ_ALIGNMENT - over));
    }
    const bool is_last = writer->tensor + 1 == placement->description.tensor_count;
    // Tensors come in order of context, so a change is the end of one.
    if (is_last || tensor[1].context != tensor->context) {
        placement->contexts[tensor->context].checksum = kz_checksum_stream_finish(writer->checksum);
    }
    writer->tensor++;
    writer->tensor_bytes = 0;
    return KAZEIA_OK;
}

kazeia_status kz_program_writer_append(kz_program_writer *writer, const void *bytes, size_t count) {
    if (writer->tensor == writer->placement.description.tensor_count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "writing '%s': %zu bytes after the last of %zu tensors",
                       writer->path, count, writer->tensor);
    }
    const kz_tensor *tensor = &writer->placement.tensors[writer->tensor];
    // A piece never crosses tensors, so the sum of lengths is right at each step.
    if (count > tensor->bytes - writer->tensor_bytes) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "writing '%s': %zu bytes for tensor '%s', which lacks %llu of %llu",
                       writer->path, count, tensor->name,
                       (unsigned long long)(tensor->bytes - writer->tensor_bytes),
                       (unsigned long long)tensor->bytes);
    }
    KZ_TRY(write_weights(writer, bytes, count));
    writer->tensor_bytes += count;
    return writer->tensor_bytes == tensor->bytes ? end_tensor(writer) : KAZEIA_OK;
}

// --- Finishing ----------------------------------------------------------------------------------

static kazeia_status check_complete(const kz_program_writer *writer) {
    const kz_program_description *description = &writer->placement.description;
    if (writer->tensor == description->tensor_count) {
        return KAZEIA_OK;
    }
    const kz_tensor *tensor = &description->tensors[writer->tensor];
    return kz_fail(KAZEIA_BAD_ARGUMENT, "tensor %zu of %zu, '%s', has %llu of its %llu bytes",
                   writer->tensor, description->tensor_count, tensor->name,
                   (unsigned long long)writer->tensor_bytes, (unsigned long long)tensor->bytes);
}

// Names the shards and writes their headers.
static kazeia_status head_shards(kz_program_writer *writer, uint64_t id) {
    for (uint32_t i = 0; i < writer->shard_count; i++) {
        kz_weight_context *context = &writer->placement.contexts[i];
        uint8_t bytes[KZ_SHARD_HEADER_BYTES];
        KZ_TRY(kz_text_buffer_init(&writer->names[i], &writer->allocator, 0, NAME_BYTES_LIMIT));
        KZ_TRY(kz_shard_name(writer->path, id, i, writer->shard_count, &writer->names[i]));
        context->file_name = writer->names[i].bytes;
        kz_shard_header_encode(&(kz_shard_header){.index = i,
                                                  .count = writer->shard_count,
                                                  .id = id,
                                                  .weight_bytes = context->bytes,
                                                  .checksum = context->checksum},
                               bytes);
        KZ_TRY(kz_file_writer_patch(writer->shards[i], 0, bytes, sizeof bytes));
    }
    return KAZEIA_OK;
}

static kazeia_status write_sections(kz_program_writer *writer, const kz_sections *sections) {
    const kz_weight_context *context = writer->placement.contexts;
    const uint32_t weights_count =
        !is_sharded(writer) && writer->placement.description.context_count > 0;
    kz_section weights = {.kind = KZ_SECTION_WEIGHTS};
    if (weights_count > 0) {
        weights.offset = context->offset;
        weights.length = context->bytes;
        weights.checksum = context->checksum;
    }
    kz_file_header header;
    kz_sections_place(sections, &weights, weights_count, kz_file_writer_offset(writer->program),
                      &header);
    for (uint32_t i = 0; i < sections->count; i++) {
        KZ_TRY(kz_file_writer_align(writer->program, KZ_ALIGNMENT));
        KZ_TRY(kz_file_writer_append(writer->program, sections->contents[i].bytes,
                                     sections->contents[i].count));
    }
    uint8_t bytes[KZ_HEADER_BYTES + KZ_SECTION_LIMIT * KZ_SECTION_BYTES];
    kz_header_encode(&header, bytes);
    return kz_file_writer_patch(writer->program, 0, bytes, kz_header_bytes(header.section_count));
}

static kazeia_status write_tables(kz_program_writer *writer, uint64_t *out_id) {
    const kz_program_description *description = &writer->placement.description;
    kz_sections sections;
    kazeia_status status = KAZEIA_OK;
    KZ_TRY_DONE(status, kz_sections_init(&sections, description, &writer->allocator));
    if (is_sharded(writer)) {
        KZ_TRY_DONE(status, head_shards(writer, sections.id));
    }
    KZ_TRY_DONE(status, kz_sections_finish(&sections, description));
    KZ_TRY_DONE(status, write_sections(writer, &sections));
    *out_id = sections.id;
done:
    kz_sections_clear(&sections);
    return status;
}

static uint32_t sibling_count(const kz_program_writer *writer) {
    return is_sharded(writer) ? writer->shard_count : 0;
}

static kazeia_status seal_writer(kz_program_writer *writer) {
    KZ_TRY(check_complete(writer));
    KZ_TRY(write_tables(writer, &writer->id));
    for (uint32_t i = 0; i < sibling_count(writer); i++) {
        KZ_TRY(kz_file_writer_flush(writer->shards[i]));
    }
    KZ_TRY(kz_file_writer_flush(writer->program));
    writer->is_sealed = true;
    return KAZEIA_OK;
}

// Weights get their names before the program that asks for them.
static kazeia_status commit_files(kz_program_writer *writer) {
    for (uint32_t i = 0; i < sibling_count(writer); i++) {
        kz_file_writer *shard = writer->shards[i];
        // Committing gives the file away, also when it fails: abandoning must not touch it again.
        writer->shards[i] = NULL;
        KZ_TRY(kz_file_writer_commit_as(shard, writer->placement.contexts[i].file_name));
    }
    kz_file_writer *program = writer->program;
    writer->program = NULL;
    return kz_file_writer_commit(program);
}

// Everything is on disk before anything has its final name.
static kazeia_status finish_writer(kz_program_writer *writer) {
    if (!writer->is_sealed) {
        KZ_TRY(seal_writer(writer));
    }
    KZ_TRY(commit_files(writer));
    // Last of all: until the new program has its name, the old one needs its weights.
    kz_shards_remove_older(writer->path, writer->id, sibling_count(writer), &writer->allocator);
    return KAZEIA_OK;
}

kazeia_status kz_program_writer_seal(kz_program_writer *writer) {
    const kazeia_status status = seal_writer(writer);
    return status == KAZEIA_OK ? status : kz_fail_context(status, "writing '%s'", writer->path);
}

kazeia_status kz_program_writer_finish(kz_program_writer *writer, uint64_t *out_id) {
    kazeia_status status = finish_writer(writer);
    if (status != KAZEIA_OK) {
        status = kz_fail_context(status, "writing '%s'", writer->path);
    } else if (out_id != NULL) {
        *out_id = writer->id;
    }
    kz_program_writer_abandon(writer);
    return status;
}

// --- Into memory --------------------------------------------------------------------------------

typedef struct memory_image {
    kz_placement placement;
    kz_sections sections;
    kz_file_header header;
} memory_image;

// Copies the tensors, given one after the other, to their places behind the first page.
static void copy_weights(const kz_program_description *description, const uint8_t *weights,
                         uint8_t *out_context) {
    for (size_t i = 0; i < description->tensor_count; i++) {
        const kz_tensor *tensor = &description->tensors[i];
        memcpy(out_context + tensor->offset, weights, (size_t)tensor->bytes);
        weights += tensor->bytes;
    }
}

// Aligned as kz_program_file_open_memory asks, and freed by kz_free_aligned.
static kazeia_status take_image(const kazeia_allocator *allocator, uint64_t bytes,
                                uint8_t **out_bytes) {
    void *memory = NULL;
    if (bytes > SIZE_MAX) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "a program of %llu bytes is larger than memory",
                       (unsigned long long)bytes);
    }
    KZ_TRY(
        kz_alloc_aligned(allocator, (size_t)bytes, KZ_ALIGNMENT, "a program in memory", &memory));
    *out_bytes = memory;
    return KAZEIA_OK;
}

// The weights' checksum is that of the padded context, which is laid out apart first: tables and
// header, and so the image's size, depend on it.
static kazeia_status checksum_weights(kz_placement *placement, const uint8_t *weights,
                                      const kazeia_allocator *allocator) {
    kz_weight_context *context = placement->contexts;
    uint8_t *laid_out = NULL;
    if (placement->description.context_count == 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(take_image(allocator, context->bytes, &laid_out));
    memset(laid_out, 0, (size_t)context->bytes);
    copy_weights(&placement->description, weights, laid_out);
    context->offset = KZ_PAGE;
    context->checksum = kz_checksum(laid_out, (size_t)context->bytes);
    kz_free_aligned(allocator, laid_out);
    return KAZEIA_OK;
}

static kazeia_status plan_image(memory_image *image, const kz_program_description *description,
                                const uint8_t *weights, const kazeia_allocator *allocator) {
    kz_placement *placement = &image->placement;
    if (weights == NULL && description->tensor_count > 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a program of %zu tensors without their bytes",
                       description->tensor_count);
    }
    KZ_TRY(kz_placement_init(placement, description, 1, allocator));
    const bool has_weights = placement->description.context_count > 0;
    KZ_TRY(kz_check_description(&placement->description, allocator));
    KZ_TRY(checksum_weights(placement, weights, allocator));
    KZ_TRY(kz_sections_init(&image->sections, &placement->description, allocator));
    KZ_TRY(kz_sections_finish(&image->sections, &placement->description));
    kz_section section = {.kind = KZ_SECTION_WEIGHTS, .offset = KZ_PAGE};
    uint64_t offset = kz_header_bytes(image->sections.count);
    if (has_weights) {
        section.length = placement->contexts->bytes;
        section.checksum = placement->contexts->checksum;
        offset = KZ_PAGE + section.length;
    }
    kz_sections_place(&image->sections, &section, has_weights, offset, &image->header);
    return KAZEIA_OK;
}

static void fill_image(const memory_image *image, const uint8_t *weights, uint8_t *out_bytes) {
    const kz_file_header *header = &image->header;
    const uint32_t weights_count = header->section_count - image->sections.count;
    // Gaps between parts are zeros, as kz_program_file_verify expects.
    memset(out_bytes, 0, (size_t)header->file_bytes);
    kz_header_encode(header, out_bytes);
    if (weights_count > 0) {
        copy_weights(&image->placement.description, weights, out_bytes + KZ_PAGE);
    }
    for (uint32_t i = 0; i < image->sections.count; i++) {
        memcpy(out_bytes + header->sections[weights_count + i].offset,
               image->sections.contents[i].bytes, image->sections.contents[i].count);
    }
}

kazeia_status kz_program_write_memory(const kz_program_description *description,
                                      const void *weights, const kazeia_allocator *allocator,
                                      uint8_t **out_bytes, size_t *out_count) {
    const kazeia_allocator source = kz_allocator_or_default(allocator);
    memory_image image = {.placement = {.allocator = source}};
    uint8_t *bytes = NULL;
    kazeia_status status = plan_image(&image, description, weights, &source);
    if (status == KAZEIA_OK) {
        status = take_image(&source, image.header.file_bytes, &bytes);
    }
    if (status == KAZEIA_OK) {
        fill_image(&image, weights, bytes);
        *out_bytes = bytes;
        *out_count = (size_t)image.header.file_bytes;
    }
    kz_sections_clear(&image.sections);
    kz_placement_clear(&image.placement);
    return status;
}
