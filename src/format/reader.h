// reader.h: bytes of a program file -> a checked description.
//
// Everything is hostile input: sizes, offsets, counts and checksums are verified before use, then
// format/check.h verifies what the methods do. Memory used is at most 4 times the file's size + 1
// MB. Weight contexts are located and their sizes verified; their bytes are not read (that is
// kz_program_file_verify's work).
#ifndef KZ_FORMAT_READER_H
#define KZ_FORMAT_READER_H

#include "base/file_map.h"
#include "format/program.h"

typedef struct kz_program_file kz_program_file;

// Maps `path` (and the sibling weight files it names, looked for in the same folder only) and
// reads. Sentences begin with the path. NOT_FOUND or IO for a file, BAD_FILE for what is in it,
// UNSUPPORTED for another format version or an op, section or payload that this library does not
// know, OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_program_file_open(const char *path,
                                                     const kazeia_allocator *allocator,
                                                     kz_program_file **out_file);
// The same from memory (tests, fuzzing, programs made on the fly); `bytes` must outlive the file
// and start at a multiple of 64. No sibling files.
KAZEIA_MUST_CHECK kazeia_status kz_program_file_open_memory(const uint8_t *bytes, size_t count,
                                                            const kazeia_allocator *allocator,
                                                            kz_program_file **out_file);
// Ends everything that the file gave.
void kz_program_file_close(kz_program_file *file);

// Checked; valid until close.
const kz_program_description *kz_program_file_description(const kz_program_file *file);
// The content id (format/file_parts.h) and the format version.
uint64_t kz_program_file_id(const kz_program_file *file);
uint32_t kz_program_file_version(const kz_program_file *file);
// The mapped bytes of a tensor; aligned to KZ_ALIGNMENT.
const void *kz_program_file_tensor(const kz_program_file *file, const kz_tensor *tensor);
// Advises the system to read all weights ahead; nothing for a program in memory.
void kz_program_file_will_need(const kz_program_file *file);

// Reads every byte, those of weights files too, and compares all checksums. BAD_FILE names the
// part.
KAZEIA_MUST_CHECK kazeia_status kz_program_file_verify(const kz_program_file *file);

#endif
