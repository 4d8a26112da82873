// text_buffer.h: a growing string of bytes with a limit chosen at the start.
//
// The bytes are always NUL-terminated. A buffer that was reserved in full at creation never
// allocates later: running streams rely on it.
#ifndef KZ_BASE_TEXT_BUFFER_H
#define KZ_BASE_TEXT_BUFFER_H

#include "base/alloc.h"

// The caller's memory: init, use, clear. Readers look at bytes and count; bytes moves when it
// grows.
typedef struct kz_text_buffer {
    kazeia_allocator allocator;
    char *bytes;     // [capacity + 1]
    size_t count;    // bytes in use, the NUL not counted
    size_t capacity; // bytes that fit before the next allocation
    size_t limit;    // capacity never grows beyond this
} kz_text_buffer;

// Starts empty with room for `reserved` bytes; `limit` >= reserved. On failure the buffer may only
// be cleared.
KAZEIA_MUST_CHECK kazeia_status kz_text_buffer_init(kz_text_buffer *buffer,
                                                    const kazeia_allocator *allocator,
                                                    size_t reserved, size_t limit);
// Frees the bytes; a buffer of zeros is fine.
void kz_text_buffer_clear(kz_text_buffer *buffer);

// Appends; on failure (OUT_OF_MEMORY, for the limit too) the buffer is unchanged. `bytes` may be
// NULL when count is 0 and must not lie in the buffer.
KAZEIA_MUST_CHECK kazeia_status kz_text_buffer_append(kz_text_buffer *buffer, const char *bytes,
                                                      size_t count);
KAZEIA_MUST_CHECK kazeia_status kz_text_buffer_append_string(kz_text_buffer *buffer,
                                                             const char *text);
KAZEIA_MUST_CHECK kazeia_status kz_text_buffer_append_format(kz_text_buffer *buffer,
                                                             const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Drops the first `count` bytes (all when count is larger) without freeing.
void kz_text_buffer_drop_front(kz_text_buffer *buffer, size_t count);
// Keeps the first `count` bytes (all when count is larger) without freeing.
void kz_text_buffer_cut(kz_text_buffer *buffer, size_t count);
// Empties without freeing.
void kz_text_buffer_reset(kz_text_buffer *buffer);

#endif
