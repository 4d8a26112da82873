// ring.h: a queue of samples between two threads, without locks.
//
// One thread feeds and one takes (they may be the same); count may be asked from either. Nothing
// blocks and nothing allocates after create, so both ends may be an audio device's callback.
#ifndef KZ_AUDIO_RING_H
#define KZ_AUDIO_RING_H

#include "audio/samples.h"

typedef struct kz_ring kz_ring;

// Room for at least `capacity` samples (rounded up to a power of two).
KAZEIA_MUST_CHECK kazeia_status kz_ring_create(size_t capacity, const kazeia_allocator *allocator,
                                               kz_ring **out_ring);
// NULL is fine.
void kz_ring_destroy(kz_ring *ring);

// Copies in as many samples as there is room for and returns how many.
size_t kz_ring_feed(kz_ring *ring, const float *samples, size_t count);
// Copies out at most `capacity` samples and returns how many.
size_t kz_ring_take(kz_ring *ring, float *out_samples, size_t capacity);
// Samples waiting. The other side may change it at once: at least so many for the taker, at most
// for the feeder.
size_t kz_ring_count(const kz_ring *ring);
size_t kz_ring_capacity(const kz_ring *ring);
// Empties. To be called by the taking side.
void kz_ring_drop_all(kz_ring *ring);

#endif
