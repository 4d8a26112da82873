// file_write.h: write a file so that a kill at any moment leaves the old one whole or the new one.
//
// Bytes go to a temporary file in the same folder; commit flushes it to disk, renames it over the
// final name and flushes the folder. Abandon (or a process killed earlier) leaves the old file.
#ifndef KZ_BASE_FILE_WRITE_H
#define KZ_BASE_FILE_WRITE_H

#include "base/alloc.h"

typedef struct kz_file_writer kz_file_writer;

// Creates "PATH.tmp-PID-N" beside PATH. Fails with NOT_FOUND (no such folder), BAD_ARGUMENT (PATH
// is a folder or a device) or IO.
KAZEIA_MUST_CHECK kazeia_status kz_file_writer_create(const char *path,
                                                      const kazeia_allocator *allocator,
                                                      kz_file_writer **out_writer);
// Appends at the end.
KAZEIA_MUST_CHECK kazeia_status kz_file_writer_append(kz_file_writer *writer, const void *bytes,
                                                      size_t count);
// Overwrites bytes already written, at `offset`.
KAZEIA_MUST_CHECK kazeia_status kz_file_writer_patch(kz_file_writer *writer, uint64_t offset,
                                                     const void *bytes, size_t count);
// Appends zeros until the size is a multiple of `alignment`.
KAZEIA_MUST_CHECK kazeia_status kz_file_writer_align(kz_file_writer *writer, size_t alignment);
uint64_t kz_file_writer_offset(const kz_file_writer *writer);

// Flushes to disk; the rename comes with commit. Separate, so that several files can be made
// durable before the first of them appears.
KAZEIA_MUST_CHECK kazeia_status kz_file_writer_flush(kz_file_writer *writer);
// Renames into place (flushing first if needed) and destroys the writer, also on failure.
KAZEIA_MUST_CHECK kazeia_status kz_file_writer_commit(kz_file_writer *writer);
// The same under another name in the same folder, for a file whose name depends on its bytes.
// `name` is one part of a path, without '/'.
KAZEIA_MUST_CHECK kazeia_status kz_file_writer_commit_as(kz_file_writer *writer, const char *name);
// Removes the temporary file and destroys the writer. NULL is fine.
void kz_file_writer_abandon(kz_file_writer *writer);

// Removes "PATH.tmp-*" files that a killed writer of PATH left, when nobody holds them. A new
// writer of PATH does it too.
void kz_file_remove_stale_temporaries(const char *path);

// Writers of PATH that are at work now, in this process and in others. Two that create first and
// then count cannot both find themselves alone.
size_t kz_file_count_writers(const char *path);

// Whole small file at once, atomically (state files, reports).
KAZEIA_MUST_CHECK kazeia_status kz_file_write_whole(const char *path, const void *bytes,
                                                    size_t count);
#endif
