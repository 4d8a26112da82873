// bump.h: memory that is freed all at once: names, tables and constants of one export.
//
// Pieces are cut from chunks of 64 KB or, for larger ones, of their own size; none is freed alone.
// One thread at a time.
#ifndef KZ_EXPORTER_GRAPH_BUMP_H
#define KZ_EXPORTER_GRAPH_BUMP_H

#include "base/alloc.h"

typedef struct kz_bump_chunk kz_bump_chunk;

typedef struct kz_bump {
    kazeia_allocator allocator;
    kz_bump_chunk *chunks; // newest first
    size_t used, capacity; // of the newest chunk
} kz_bump;

// Allocates nothing yet; the allocator is copied and must not be NULL.
void kz_bump_init(kz_bump *bump, const kazeia_allocator *allocator);
// Frees all pieces; the bump may be used again.
void kz_bump_clear(kz_bump *bump);

// count * bytes_each bytes, zeroed, aligned to 16, valid until clear. OUT_OF_MEMORY, also when the
// product overflows.
KAZEIA_MUST_CHECK kazeia_status kz_bump_take(kz_bump *bump, size_t count, size_t bytes_each,
                                             void **out_memory);
// A formatted, NUL-terminated string, valid until clear.
KAZEIA_MUST_CHECK kazeia_status kz_bump_format(kz_bump *bump, const char **out_text,
                                               const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// A larger copy of an array (the old one stays until clear): capacities double, so the waste is at
// most the size of the last.
KAZEIA_MUST_CHECK kazeia_status kz_bump_grow(kz_bump *bump, size_t count, size_t bytes_each,
                                             size_t *capacity, void **array);

#endif
