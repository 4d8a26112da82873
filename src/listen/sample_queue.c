// sample_queue.c: sound that waits to be judged.
//   in   samples, as they come
//   out  any stretch of those that were not dropped
// Copies are made outside the lock: the feeding thread writes only where nothing is.
#include "listen/sample_queue.h"

#include <string.h>

kazeia_status kz_sample_queue_init(kz_sample_queue *queue, size_t capacity,
                                   const kazeia_allocator *allocator) {
    queue->allocator = *allocator;
    queue->capacity = capacity;
    KZ_TRY(kz_mutex_init(&queue->lock));
    queue->has_lock = true;
    return kz_alloc(allocator, capacity, sizeof(float), "samples", (void **)&queue->samples);
}

void kz_sample_queue_clear(kz_sample_queue *queue) {
    if (queue->has_lock) {
        kz_mutex_clear(&queue->lock);
        kz_free(&queue->allocator, queue->samples);
    }
    *queue = (kz_sample_queue){0};
}

// A stretch of the ring has at most two pieces; the length of the first.
static size_t first_piece(const kz_sample_queue *queue, uint64_t from, size_t count) {
    const size_t left = queue->capacity - (size_t)(from % queue->capacity);
    return count < left ? count : left;
}

static void write_samples(kz_sample_queue *queue, uint64_t at, const float *samples, size_t count) {
    const size_t first = first_piece(queue, at, count);
    memcpy(queue->samples + at % queue->capacity, samples, first * sizeof *samples);
    memcpy(queue->samples, samples + first, (count - first) * sizeof *samples);
}

kazeia_status kz_sample_queue_feed(kz_sample_queue *queue, const float *samples, size_t count,
                                   size_t *out_taken) {
    const kz_sample_view view = kz_sample_queue_look(queue);
    *out_taken = 0;
    if (view.is_finished) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "listen: fed after finish; take what is there first");
    }
    const size_t room = queue->capacity - (size_t)(view.end - view.begin);
    const size_t taken = count < room ? count : room;
    write_samples(queue, view.end, samples, taken);
    kz_mutex_lock(&queue->lock);
    queue->end += taken;
    kz_mutex_unlock(&queue->lock);
    *out_taken = taken;
    return KAZEIA_OK;
}

void kz_sample_queue_finish(kz_sample_queue *queue) {
    kz_mutex_lock(&queue->lock);
    queue->is_finished = true;
    kz_mutex_unlock(&queue->lock);
}

kz_sample_view kz_sample_queue_look(kz_sample_queue *queue) {
    kz_mutex_lock(&queue->lock);
    const kz_sample_view view = {queue->begin, queue->end, queue->is_finished};
    kz_mutex_unlock(&queue->lock);
    return view;
}

void kz_sample_queue_copy(const kz_sample_queue *queue, uint64_t from, size_t count,
                          float *out_samples) {
    const size_t first = first_piece(queue, from, count);
    memcpy(out_samples, queue->samples + from % queue->capacity, first * sizeof *out_samples);
    memcpy(out_samples + first, queue->samples, (count - first) * sizeof *out_samples);
}

void kz_sample_queue_drop(kz_sample_queue *queue, uint64_t begin) {
    kz_mutex_lock(&queue->lock);
    queue->begin = begin;
    kz_mutex_unlock(&queue->lock);
}

void kz_sample_queue_restart(kz_sample_queue *queue) {
    kz_mutex_lock(&queue->lock);
    queue->begin = 0;
    queue->end = 0;
    queue->is_finished = false;
    kz_mutex_unlock(&queue->lock);
}
