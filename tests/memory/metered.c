// metered.c: an allocator that counts, and fails where it is told to.
//
// in:  calls
// out: memory of malloc's with its size before it
#include "metered.h"

#include <stdlib.h>

enum { HEAD_BYTES = 16 }; // keeps malloc's alignment

void metered_init(metered *meter) {
    atomic_init(&meter->calls, 0);
    atomic_init(&meter->live_count, 0);
    atomic_init(&meter->live_bytes, 0);
    atomic_init(&meter->peak_bytes, 0);
    meter->fails_at = SIZE_MAX;
    meter->fails_beyond = false;
}

void metered_restart(metered *meter) {
    atomic_store(&meter->calls, 0);
    atomic_store(&meter->peak_bytes, atomic_load(&meter->live_bytes));
}

static void raise_peak(metered *meter, size_t bytes) {
    size_t peak = atomic_load(&meter->peak_bytes);
    while (peak < bytes && !atomic_compare_exchange_weak(&meter->peak_bytes, &peak, bytes)) {
    }
}

static void *allocate(void *context, size_t bytes) {
    metered *meter = context;
    const size_t call = atomic_fetch_add(&meter->calls, 1);
    if (call == meter->fails_at || (meter->fails_beyond && call > meter->fails_at)) {
        return NULL;
    }
    char *memory = bytes <= SIZE_MAX - HEAD_BYTES ? malloc(HEAD_BYTES + bytes) : NULL;
    if (!memory) {
        return NULL;
    }
    *(size_t *)(void *)memory = bytes;
    atomic_fetch_add(&meter->live_count, 1);
    raise_peak(meter, atomic_fetch_add(&meter->live_bytes, bytes) + bytes);
    return memory + HEAD_BYTES;
}

static void release(void *context, void *memory) {
    metered *meter = context;
    if (memory) {
        char *start = (char *)memory - HEAD_BYTES;
        atomic_fetch_sub(&meter->live_count, 1);
        atomic_fetch_sub(&meter->live_bytes, *(size_t *)(void *)start);
        free(start);
    }
}

kazeia_allocator metered_allocator(metered *meter) {
    return (kazeia_allocator){meter, allocate, release};
}
