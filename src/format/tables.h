// tables.h: the description's tables to the bytes of their sections and back.
//
// Encoding trusts its caller (the description was checked); decoding trusts nothing but leaves the
// meaning of numbers to format/check.h: it makes sure that every string, array and count is whole.
#ifndef KZ_FORMAT_TABLES_H
#define KZ_FORMAT_TABLES_H

#include "format/byte_stream.h"
#include "format/chunks.h"
#include "format/program.h"

// Failures are the writer's (format/byte_stream.h): asked for once, at the end.
void kz_encode_metadata(kz_byte_writer *writer, const kz_program_description *description);
void kz_encode_tensors(kz_byte_writer *writer, const kz_program_description *description);
void kz_encode_contexts(kz_byte_writer *writer, const kz_program_description *description);
void kz_encode_states(kz_byte_writer *writer, const kz_program_description *description);
void kz_encode_methods(kz_byte_writer *writer, const kz_program_description *description);

// Each fills its part of `description`: arrays from `chunks`, strings inside the reader's bytes.
// BAD_FILE or OUT_OF_MEMORY; the part is then not to be used.
KAZEIA_MUST_CHECK kazeia_status kz_decode_metadata(kz_byte_reader *reader, kz_chunks *chunks,
                                                   kz_program_description *description);
KAZEIA_MUST_CHECK kazeia_status kz_decode_tensors(kz_byte_reader *reader, kz_chunks *chunks,
                                                  kz_program_description *description);
KAZEIA_MUST_CHECK kazeia_status kz_decode_contexts(kz_byte_reader *reader, kz_chunks *chunks,
                                                   kz_program_description *description);
KAZEIA_MUST_CHECK kazeia_status kz_decode_states(kz_byte_reader *reader, kz_chunks *chunks,
                                                 kz_program_description *description);
KAZEIA_MUST_CHECK kazeia_status kz_decode_methods(kz_byte_reader *reader, kz_chunks *chunks,
                                                  kz_program_description *description);

#endif
