// sample_queue.h: sound that waits to be judged, numbered from the first sample on.
//
// A ring with a lock: one thread feeds and finishes, one reads and drops; they may be the same.
// What lies between `begin` and `end` stays as it is until it is dropped. The queue is the caller's
// memory, zeroed, then init.
#ifndef KZ_LISTEN_SAMPLE_QUEUE_H
#define KZ_LISTEN_SAMPLE_QUEUE_H

#include "base/alloc.h"
#include "base/thread.h"

typedef struct kz_sample_queue {
    kazeia_allocator allocator;
    float *samples; // [capacity]: sample i lies at i % capacity
    size_t capacity;
    kz_mutex lock; // guards what follows
    bool has_lock;
    uint64_t begin, end; // the samples that are there
    bool is_finished;
} kz_sample_queue;

// What is there at one moment.
typedef struct kz_sample_view {
    uint64_t begin, end;
    bool is_finished; // nothing comes after `end`
} kz_sample_view;

// After a failure clear is still due.
KAZEIA_MUST_CHECK kazeia_status kz_sample_queue_init(kz_sample_queue *queue, size_t capacity,
                                                     const kazeia_allocator *allocator);
void kz_sample_queue_clear(kz_sample_queue *queue);

// Takes what there is room for. BAD_ARGUMENT, and nothing taken, after finish until reset.
KAZEIA_MUST_CHECK kazeia_status kz_sample_queue_feed(kz_sample_queue *queue, const float *samples,
                                                     size_t count, size_t *out_taken);
void kz_sample_queue_finish(kz_sample_queue *queue);
kz_sample_view kz_sample_queue_look(kz_sample_queue *queue);
// Copies [from, from + count), which the reader has seen and not dropped.
void kz_sample_queue_copy(const kz_sample_queue *queue, uint64_t from, size_t count,
                          float *out_samples);
// Makes room for what comes: all before `begin` is dropped; `begin` may not go back, nor beyond the
// end.
void kz_sample_queue_drop(kz_sample_queue *queue, uint64_t begin);
// Empty, numbered from 0 again, and not finished.
void kz_sample_queue_restart(kz_sample_queue *queue);

#endif
