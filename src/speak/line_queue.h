// line_queue.h: the text that waits for a voice, as lines, between two threads.
//
// One thread feeds and finishes, another takes lines. What is taken is copied, so that the voice
// works without the lock.
#ifndef KZ_SPEAK_LINE_QUEUE_H
#define KZ_SPEAK_LINE_QUEUE_H

#include "base/alloc.h"
#include "base/thread.h"

#define KZ_LINE_BYTES 4096u // that wait at most; a line that is longer comes in parts

// The owner's memory, zeroed before init.
typedef struct kz_line_queue {
    kz_mutex lock; // guards what follows
    bool has_lock;
    bool is_finished;
    size_t count;
    char text[KZ_LINE_BYTES];
} kz_line_queue;

KAZEIA_MUST_CHECK kazeia_status kz_line_queue_init(kz_line_queue *queue);
// Zeros are fine.
void kz_line_queue_clear(kz_line_queue *queue);
// Takes what there is room for; BAD_ARGUMENT after finish.
KAZEIA_MUST_CHECK kazeia_status kz_line_queue_feed(kz_line_queue *queue, const char *text,
                                                   size_t count, size_t *out_taken);
void kz_line_queue_finish(kz_line_queue *queue);
// As new; no other call may run.
void kz_line_queue_reset(kz_line_queue *queue);
// The next line, without its line break, into [KZ_LINE_BYTES]: what is left after finish counts as
// one, and so does a full queue. NEEDS_INPUT while no line is whole, DONE after the last.
KAZEIA_MUST_CHECK kazeia_status kz_line_queue_take(kz_line_queue *queue, char *out_line,
                                                   size_t *out_count);

#endif
