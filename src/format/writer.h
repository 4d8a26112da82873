// writer.h: a description and its weights -> program file, atomically, with bounded memory.
//
// Order of calls: create; for each tensor in the order of the description's table: write_tensor
// pieces until its bytes are complete; finish (or abandon). The writer fills tensors' context and
// offset itself: the caller gives the tensors without places; contexts are cut so that shards hold
// about equal bytes and no tensor is split.
#ifndef KZ_FORMAT_WRITER_H
#define KZ_FORMAT_WRITER_H

#include "base/alloc.h"
#include "format/program.h"

typedef struct kz_program_writer kz_program_writer;

// `description` must outlive the writer; its contexts are ignored, its tensors' context and offset
// too; everything else is checked (format/check.h). shard_count 1: weights inside PATH; more, up to
// 64 and to the number of tensors: siblings "NAME.ID.1-of-4.kzw" beside it. Two writers of one PATH
// at the same time are the caller's mistake: one may remove the other's weights.
KAZEIA_MUST_CHECK kazeia_status kz_program_writer_create(const char *path,
                                                         const kz_program_description *description,
                                                         uint32_t shard_count,
                                                         const kazeia_allocator *allocator,
                                                         kz_program_writer **out_writer);
// The next bytes of the present tensor. Tensors follow in order; a piece never crosses from one
// tensor into the next. After a failure only abandon makes sense.
KAZEIA_MUST_CHECK kazeia_status kz_program_writer_append(kz_program_writer *writer,
                                                         const void *bytes, size_t count);
// Writes tables, header and checksums and brings every byte to the disk, under temporary names: the
// last moment at which the caller can still turn back (with abandon). May take long for large
// files.
KAZEIA_MUST_CHECK kazeia_status kz_program_writer_seal(kz_program_writer *writer);
// Seals if that has not been done; renames the weights first, the program last; removes the
// siblings of an older program of the same path. Destroys the writer, also on failure. `out_id` may
// be NULL.
KAZEIA_MUST_CHECK kazeia_status kz_program_writer_finish(kz_program_writer *writer,
                                                         uint64_t *out_id);
// Leaves what stood at PATH and destroys the writer. NULL is fine.
void kz_program_writer_abandon(kz_program_writer *writer);

// The same into memory, for small programs (a tokenizer alone, tests). `weights` holds the tensors'
// bytes one after the other, without padding; NULL when there are none. The result equals the file
// that a writer with one shard makes, is aligned to KZ_ALIGNMENT, and is freed with kz_free_aligned
// and the same allocator.
KAZEIA_MUST_CHECK kazeia_status kz_program_write_memory(const kz_program_description *description,
                                                        const void *weights,
                                                        const kazeia_allocator *allocator,
                                                        uint8_t **out_bytes, size_t *out_count);

#endif
