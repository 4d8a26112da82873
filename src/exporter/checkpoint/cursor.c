// cursor.c: little-endian values read one after the other from mapped bytes.
//
// in:  a file's bytes
// out: numbers and places, or a sentence with the byte where the file ends too early
//
// Bytes are put together by shifts: containers do not align their values.
#include "exporter/checkpoint/cursor.h"

uint32_t kz_read_u16(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

uint32_t kz_read_u32(const uint8_t *bytes) {
    return kz_read_u16(bytes) | kz_read_u16(bytes + 2) << 16;
}

uint64_t kz_read_u64(const uint8_t *bytes) {
    return (uint64_t)kz_read_u32(bytes) | (uint64_t)kz_read_u32(bytes + 4) << 32;
}

kazeia_status kz_cursor_take(kz_cursor *cursor, uint64_t count, const char *what,
                             const uint8_t **out_bytes) {
    const size_t left = kz_cursor_left(cursor);
    if (count > left) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "the file ends within %s: %llu bytes expected at byte %zu, %zu left", what,
                       (unsigned long long)count, cursor->at, left);
    }
    *out_bytes = cursor->bytes + cursor->at;
    // count is at most `left`, so `at` never passes the size and kz_cursor_left never wraps.
    cursor->at += (size_t)count;
    return KAZEIA_OK;
}

kazeia_status kz_cursor_u8(kz_cursor *cursor, const char *what, uint32_t *out_value) {
    const uint8_t *bytes = NULL;
    KZ_TRY(kz_cursor_take(cursor, 1, what, &bytes));
    *out_value = bytes[0];
    return KAZEIA_OK;
}

kazeia_status kz_cursor_u16(kz_cursor *cursor, const char *what, uint32_t *out_value) {
    const uint8_t *bytes = NULL;
    KZ_TRY(kz_cursor_take(cursor, 2, what, &bytes));
    *out_value = kz_read_u16(bytes);
    return KAZEIA_OK;
}

kazeia_status kz_cursor_u32(kz_cursor *cursor, const char *what, uint32_t *out_value) {
    const uint8_t *bytes = NULL;
    KZ_TRY(kz_cursor_take(cursor, 4, what, &bytes));
    *out_value = kz_read_u32(bytes);
    return KAZEIA_OK;
}

kazeia_status kz_cursor_u64(kz_cursor *cursor, const char *what, uint64_t *out_value) {
    const uint8_t *bytes = NULL;
    KZ_TRY(kz_cursor_take(cursor, 8, what, &bytes));
    *out_value = kz_read_u64(bytes);
    return KAZEIA_OK;
}
