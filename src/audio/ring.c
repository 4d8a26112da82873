// ring.c: the single-producer, single-consumer ring.
//
// in:  samples from the feeding thread
// out: the same samples, in order, on the taking thread
// The two positions only ever grow and wrap with size_t; their difference is the fill. Each is
// written by one side, with release order, so that the other side sees the samples before it.
#include "audio/ring.h"

#include <stdatomic.h>
#include <string.h>

#define CACHE_LINE_BYTES 64

struct kz_ring {
    kazeia_allocator allocator;
    float *samples; // [mask + 1]
    size_t mask;
    // Apart by a cache line, so that the two sides do not slow each other down.
    char gap_before_fed[CACHE_LINE_BYTES];
    atomic_size_t fed_count;
    char gap_before_taken[CACHE_LINE_BYTES];
    atomic_size_t taken_count;
};

kazeia_status kz_ring_create(size_t capacity, const kazeia_allocator *allocator,
                             kz_ring **out_ring) {
    // A quarter, so that rounding up to a power of two cannot overflow; kz_alloc checks the bytes.
    if (capacity == 0 || capacity > SIZE_MAX / 4) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "ring: capacity is %zu samples, expected 1 to %zu",
                       capacity, SIZE_MAX / 4);
    }
    // A power of two divides the range of size_t, so that positions may wrap in the middle of use
    // and a mask still finds the place.
    size_t rounded = 1;
    while (rounded < capacity) {
        rounded *= 2;
    }
    const kazeia_allocator chosen = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&chosen, 1, sizeof(kz_ring), "sample ring", &memory));
    kz_ring *ring = memory;
    const kazeia_status status =
        kz_alloc(&chosen, rounded, sizeof(float), "sample ring's samples", &memory);
    if (status != KAZEIA_OK) {
        kz_free(&chosen, ring);
        return status;
    }
    ring->allocator = chosen;
    ring->samples = memory;
    ring->mask = rounded - 1;
    atomic_init(&ring->fed_count, 0);
    atomic_init(&ring->taken_count, 0);
    *out_ring = ring;
    return KAZEIA_OK;
}

void kz_ring_destroy(kz_ring *ring) {
    if (ring == NULL) {
        return;
    }
    const kazeia_allocator allocator = ring->allocator;
    kz_free(&allocator, ring->samples);
    kz_free(&allocator, ring);
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

// Acquire on the other side's position: the taker's reads are over before their places are written
// again.
size_t kz_ring_feed(kz_ring *ring, const float *samples, size_t count) {
    // One's own position needs no order: no other thread writes it.
    const size_t fed = atomic_load_explicit(&ring->fed_count, memory_order_relaxed);
    const size_t taken = atomic_load_explicit(&ring->taken_count, memory_order_acquire);
    count = smaller(count, ring->mask + 1 - (fed - taken));
    const size_t start = fed & ring->mask;
    const size_t before_wrap = smaller(count, ring->mask + 1 - start);
    if (count > 0) {
        memcpy(ring->samples + start, samples, before_wrap * sizeof(float));
        memcpy(ring->samples, samples + before_wrap, (count - before_wrap) * sizeof(float));
    }
    atomic_store_explicit(&ring->fed_count, fed + count, memory_order_release);
    return count;
}

// Acquire pairs with the feeder's release: what the position counts is there to be read.
size_t kz_ring_take(kz_ring *ring, float *out_samples, size_t capacity) {
    const size_t taken = atomic_load_explicit(&ring->taken_count, memory_order_relaxed);
    const size_t fed = atomic_load_explicit(&ring->fed_count, memory_order_acquire);
    const size_t count = smaller(capacity, fed - taken);
    const size_t start = taken & ring->mask;
    const size_t before_wrap = smaller(count, ring->mask + 1 - start);
    if (count > 0) {
        memcpy(out_samples, ring->samples + start, before_wrap * sizeof(float));
        memcpy(out_samples + before_wrap, ring->samples, (count - before_wrap) * sizeof(float));
    }
    atomic_store_explicit(&ring->taken_count, taken + count, memory_order_release);
    return count;
}

size_t kz_ring_count(const kz_ring *ring) {
    // The taken position first: read the other way round, a busy taker could pass the fed one.
    const size_t taken = atomic_load_explicit(&ring->taken_count, memory_order_acquire);
    const size_t fed = atomic_load_explicit(&ring->fed_count, memory_order_acquire);
    return smaller(fed - taken, ring->mask + 1);
}

size_t kz_ring_capacity(const kz_ring *ring) {
    return ring->mask + 1;
}

// Only the taking side may move the taken position; a feeder that did so would race with a take.
void kz_ring_drop_all(kz_ring *ring) {
    const size_t fed = atomic_load_explicit(&ring->fed_count, memory_order_acquire);
    atomic_store_explicit(&ring->taken_count, fed, memory_order_release);
}
