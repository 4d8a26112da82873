// checksum.h: XXH3-64 of memory, at once or piece by piece.
//
// The checksum finds damage (a cut download, a bad disk), not forgery: everything that was read is
// checked as hostile all the same.
#ifndef KZ_FORMAT_CHECKSUM_H
#define KZ_FORMAT_CHECKSUM_H

#include "base/alloc.h"

// XXH3 with 64 bits and seed 0, of the xxHash library.
uint64_t kz_checksum(const void *bytes, size_t count);

// Pieces put one after the other have the checksum of the whole.
typedef struct kz_checksum_stream kz_checksum_stream;

KAZEIA_MUST_CHECK kazeia_status kz_checksum_stream_create(const kazeia_allocator *allocator,
                                                          kz_checksum_stream **out_stream);
void kz_checksum_stream_add(kz_checksum_stream *stream, const void *bytes, size_t count);
// The checksum of what was added; the stream starts anew.
uint64_t kz_checksum_stream_finish(kz_checksum_stream *stream);
// NULL is fine.
void kz_checksum_stream_destroy(kz_checksum_stream *stream);

#endif
