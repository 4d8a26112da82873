// line_queue.c: the text that waits for a voice, as lines, between two threads.
//   in   pieces of text
//   out  lines
// A full queue without a line break is cut after a space, so that no word is read in halves.
#include "speak/line_queue.h"

#include <string.h>

kazeia_status kz_line_queue_init(kz_line_queue *queue) {
    KZ_TRY(kz_mutex_init(&queue->lock));
    queue->has_lock = true;
    return KAZEIA_OK;
}

void kz_line_queue_clear(kz_line_queue *queue) {
    if (queue->has_lock) {
        kz_mutex_clear(&queue->lock);
    }
    queue->has_lock = false;
}

kazeia_status kz_line_queue_feed(kz_line_queue *queue, const char *text, size_t count,
                                 size_t *out_taken) {
    kazeia_status status = KAZEIA_OK;
    *out_taken = 0;
    kz_mutex_lock(&queue->lock);
    // Under the lock, since finish may come while the line is taken.
    if (queue->is_finished) {
        status = kz_fail(KAZEIA_BAD_ARGUMENT, "voice: fed after finish");
    } else if (count > 0) {
        const size_t room = KZ_LINE_BYTES - queue->count;
        *out_taken = count < room ? count : room;
        memcpy(queue->text + queue->count, text, *out_taken);
        queue->count += *out_taken;
    }
    kz_mutex_unlock(&queue->lock);
    return status;
}

void kz_line_queue_finish(kz_line_queue *queue) {
    kz_mutex_lock(&queue->lock);
    queue->is_finished = true;
    kz_mutex_unlock(&queue->lock);
}

void kz_line_queue_reset(kz_line_queue *queue) {
    queue->count = 0;
    queue->is_finished = false;
}

// Behind the last space of a full queue, else all of it.
static size_t find_cut(const kz_line_queue *queue) {
    size_t cut = queue->count;
    while (cut > 0 && queue->text[cut - 1] != ' ') {
        cut--;
    }
    return cut > 0 ? cut : queue->count;
}

// Bytes that can be taken now; 0 when more text has to come.
static size_t find_line(const kz_line_queue *queue, size_t *out_line_count) {
    const char *end = memchr(queue->text, '\n', queue->count);
    if (end != NULL) {
        *out_line_count = (size_t)(end - queue->text);
        return *out_line_count + 1;
    }
    *out_line_count = queue->is_finished              ? queue->count
                      : queue->count == KZ_LINE_BYTES ? find_cut(queue)
                                                      : 0;
    return *out_line_count;
}

kazeia_status kz_line_queue_take(kz_line_queue *queue, char *out_line, size_t *out_count) {
    kazeia_status status = KAZEIA_OK;
    kz_mutex_lock(&queue->lock);
    const size_t taken = find_line(queue, out_count);
    if (taken == 0) {
        status = queue->is_finished ? KAZEIA_DONE : KAZEIA_NEEDS_INPUT;
    }
    memcpy(out_line, queue->text, *out_count);
    queue->count -= taken;
    memmove(queue->text, queue->text + taken, queue->count);
    kz_mutex_unlock(&queue->lock);
    return status;
}
