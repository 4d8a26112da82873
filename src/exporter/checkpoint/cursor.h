// cursor.h: little-endian values read one after the other from mapped bytes.
//
// Every read checks the end and says what was being read and where. Strings are not copied.
#ifndef KZ_EXPORTER_CHECKPOINT_CURSOR_H
#define KZ_EXPORTER_CHECKPOINT_CURSOR_H

#include "base/status.h"

typedef struct kz_cursor {
    const uint8_t *bytes; // [size]
    size_t size;
    size_t at; // <= size
} kz_cursor;

// Little-endian values at any address.
uint32_t kz_read_u16(const uint8_t *bytes);
uint32_t kz_read_u32(const uint8_t *bytes);
uint64_t kz_read_u64(const uint8_t *bytes);

static inline size_t kz_cursor_left(const kz_cursor *cursor) {
    return cursor->size - cursor->at;
}

// Steps over `count` bytes; BAD_FILE names `what` ("the tensor's name") when they are not there.
KAZEIA_MUST_CHECK kazeia_status kz_cursor_take(kz_cursor *cursor, uint64_t count, const char *what,
                                               const uint8_t **out_bytes);
KAZEIA_MUST_CHECK kazeia_status kz_cursor_u8(kz_cursor *cursor, const char *what,
                                             uint32_t *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_cursor_u16(kz_cursor *cursor, const char *what,
                                              uint32_t *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_cursor_u32(kz_cursor *cursor, const char *what,
                                              uint32_t *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_cursor_u64(kz_cursor *cursor, const char *what,
                                              uint64_t *out_value);

#endif
