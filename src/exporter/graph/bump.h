// bump.h: memory that is freed all at once: names, tables and constants of one export.
#ifndef KZ_EXPORTER_GRAPH_BUMP_H
#define KZ_EXPORTER_GRAPH_BUMP_H

#include "base/alloc.h"

typedef struct kz_bump_chunk kz_bump_chunk;

typedef struct kz_bump {
    kazeia_allocator allocator;
    kz_bump_chunk *chunks; // newest first
    size_t used, capacity; // of the newest chunk
} kz_bump;

void kz_bump_init(kz_bump *bump, const kazeia_allocator *allocator);
void kz_bump_clear(kz_bump *bump);

// Zeroed, aligned to 16; valid until clear.
KAZEIA_MUST_CHECK kazeia_status kz_bump_take(kz_bump *bump, size_t count, size_t bytes_each,
                                             void **out_memory);
KAZEIA_MUST_CHECK kazeia_status kz_bump_format(kz_bump *bump, const char **out_text,
                                               const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// A larger copy of an array (the old one stays until clear): capacities double, so the waste is at
// most the size of the last.
KAZEIA_MUST_CHECK kazeia_status kz_bump_grow(kz_bump *bump, size_t count, size_t bytes_each,
                                             size_t *capacity, void **array);

#endif
