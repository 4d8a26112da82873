// metered.h: an allocator that counts, and fails where it is told to.
//
// Thread-safe. The bytes counted are those asked for.
#ifndef KZ_TEST_MEMORY_METERED_H
#define KZ_TEST_MEMORY_METERED_H

#include <stdatomic.h>

#include "kazeia/common.h"

typedef struct metered {
    atomic_size_t calls;
    atomic_size_t live_count, live_bytes, peak_bytes;
    size_t fails_at;   // this call fails, counted from 0; SIZE_MAX: none
    bool fails_beyond; // so do all later ones
} metered;

void metered_init(metered *meter);
// Begins to count anew what is allocated from here; what lives stays counted as living.
void metered_restart(metered *meter);
kazeia_allocator metered_allocator(metered *meter);

#endif
