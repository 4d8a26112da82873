// text_buffer.c: a growing string of bytes with a limit.
//
// in:  pieces of text
// out: one NUL-terminated string
//
// Growth doubles, so that many small pieces cost linear time; it never passes the limit, which
// bounds what hostile input can make a stage hold.
#include "base/text_buffer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

kazeia_status kz_text_buffer_init(kz_text_buffer *buffer, const kazeia_allocator *allocator,
                                  size_t reserved, size_t limit) {
    assert(limit >= reserved);
    *buffer = (kz_text_buffer){.allocator = kz_allocator_or_default(allocator), .limit = limit};
    // One more than can be filled, here and at growth: the text is a C string at every moment.
    size_t bytes = 0;
    if (!kz_size_add(reserved, 1, &bytes)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "no memory for a text buffer of %zu bytes", reserved);
    }
    void *memory = NULL;
    KZ_TRY(kz_alloc(&buffer->allocator, bytes, 1, "a text buffer", &memory));
    buffer->bytes = memory;
    buffer->capacity = reserved;
    return KAZEIA_OK;
}

void kz_text_buffer_clear(kz_text_buffer *buffer) {
    kz_free(&buffer->allocator, buffer->bytes);
    *buffer = (kz_text_buffer){.allocator = buffer->allocator};
}

// Makes room for `count` more bytes.
static kazeia_status make_room(kz_text_buffer *buffer, size_t count) {
    if (count <= buffer->capacity - buffer->count) {
        return KAZEIA_OK;
    }
    if (count > buffer->limit - buffer->count) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY,
                       "text of %zu bytes and %zu more is longer than its limit of %zu",
                       buffer->count, count, buffer->limit);
    }
    const size_t needed = buffer->count + count;
    // Halving the limit avoids an overflow in doubling; near the limit growth goes straight to it.
    const size_t doubled =
        buffer->capacity <= buffer->limit / 2 ? buffer->capacity * 2 : buffer->limit;
    const size_t capacity = doubled > needed ? doubled : needed;
    size_t bytes = 0;
    if (!kz_size_add(capacity, 1, &bytes)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "no memory for a text buffer of %zu bytes", capacity);
    }
    void *memory = buffer->bytes;
    // The NUL goes along. A failure leaves the old text whole.
    KZ_TRY(kz_realloc(&buffer->allocator, buffer->count + 1, bytes, 1, "a text buffer", &memory));
    buffer->bytes = memory;
    buffer->capacity = capacity;
    return KAZEIA_OK;
}

kazeia_status kz_text_buffer_append(kz_text_buffer *buffer, const char *bytes, size_t count) {
    if (count == 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(make_room(buffer, count));
    memcpy(buffer->bytes + buffer->count, bytes, count);
    buffer->count += count;
    buffer->bytes[buffer->count] = '\0';
    return KAZEIA_OK;
}

kazeia_status kz_text_buffer_append_string(kz_text_buffer *buffer, const char *text) {
    return kz_text_buffer_append(buffer, text, strlen(text));
}

kazeia_status kz_text_buffer_append_format(kz_text_buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    // Formatted twice, first for the length alone. The arguments must not point into the buffer,
    // which make_room may move.
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "text with the format '%s' cannot be made", format);
    }
    KZ_TRY(make_room(buffer, (size_t)length));
    va_start(arguments, format);
    (void)vsnprintf(buffer->bytes + buffer->count, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->count += (size_t)length;
    return KAZEIA_OK;
}

// The NUL moves with the rest, hence one byte more.
void kz_text_buffer_drop_front(kz_text_buffer *buffer, size_t count) {
    const size_t dropped = count < buffer->count ? count : buffer->count;
    if (dropped == 0) {
        return;
    }
    buffer->count -= dropped;
    memmove(buffer->bytes, buffer->bytes + dropped, buffer->count + 1);
}

void kz_text_buffer_cut(kz_text_buffer *buffer, size_t count) {
    if (count < buffer->count) {
        buffer->count = count;
        buffer->bytes[count] = '\0';
    }
}

void kz_text_buffer_reset(kz_text_buffer *buffer) {
    buffer->count = 0;
    buffer->bytes[0] = '\0';
}
