// chunks.h: many small pieces of memory that are freed together.
//
// A program's description is some hundred arrays that live and die with their file. Pieces are
// zeroed and aligned to 8; large ones get a chunk of their own, so that little is left
// unused.
#ifndef KZ_FORMAT_CHUNKS_H
#define KZ_FORMAT_CHUNKS_H

#include "base/alloc.h"

typedef struct kz_chunk kz_chunk;

typedef struct kz_chunks {
    kazeia_allocator allocator;
    kz_chunk *newest; // linked to the older ones
    uint8_t *free_bytes;
    size_t free_count;
} kz_chunks;

// Allocates nothing yet; the allocator is copied.
void kz_chunks_init(kz_chunks *chunks, const kazeia_allocator *allocator);
// Frees all pieces at once.
void kz_chunks_clear(kz_chunks *chunks);
// Sets NULL for count 0.
KAZEIA_MUST_CHECK kazeia_status kz_chunks_take(kz_chunks *chunks, size_t count, size_t bytes_each,
                                               const char *what, void **out_memory);

#endif
