// metered_allocator.h: an allocator that counts, and refuses from a chosen call on.
//
// in:  calls_allowed: how many allocations succeed
// out: calls and bytes taken so far, and what is live
// One thread at a time: the counts are plain integers.
#ifndef METERED_ALLOCATOR_H
#define METERED_ALLOCATOR_H

#include <stdlib.h>

#include "kazeia/common.h"

typedef struct metered_allocator {
    size_t calls, calls_allowed; // SIZE_MAX: all of them
    size_t bytes;                // asked for, freed ones included
    size_t live;                 // taken and not given back
} metered_allocator;

static inline void *allocate_metered(void *context, size_t bytes) {
    metered_allocator *meter = context;
    if (meter->calls == meter->calls_allowed) {
        return NULL;
    }
    meter->calls++;
    meter->bytes += bytes;
    meter->live++;
    return malloc(bytes);
}

static inline void release_metered(void *context, void *memory) {
    metered_allocator *meter = context;
    meter->live -= memory != NULL;
    free(memory);
}

#endif
