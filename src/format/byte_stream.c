// byte_stream.c: numbers and strings to bytes and back.
//
// in:  values, or the bytes of one section
// out: bytes, or values that were wholly inside the section
#include "format/byte_stream.h"

#include <string.h>

#include "base/half.h"

// Shifts give little-endian bytes at any address, whatever the machine's own order.
void kz_store_u32(uint8_t *out, uint32_t value) {
    for (unsigned i = 0; i < 4; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

void kz_store_u64(uint8_t *out, uint64_t value) {
    kz_store_u32(out, (uint32_t)value);
    kz_store_u32(out + 4, (uint32_t)(value >> 32));
}

uint32_t kz_load_u32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

uint64_t kz_load_u64(const uint8_t *bytes) {
    return kz_load_u32(bytes) | (uint64_t)kz_load_u32(bytes + 4) << 32;
}

// --- Writing ------------------------------------------------------------------------------------

void kz_byte_writer_init(kz_byte_writer *writer, const kazeia_allocator *allocator) {
    writer->status = kz_text_buffer_init(&writer->buffer, allocator, 0, SIZE_MAX / 2);
}

void kz_byte_writer_clear(kz_byte_writer *writer) {
    kz_text_buffer_clear(&writer->buffer);
}

// The first failure stays in the writer: encoders put a whole table and ask once at its end.
static void put_bytes(kz_byte_writer *writer, const void *bytes, size_t count) {
    if (writer->status == KAZEIA_OK) {
        writer->status = kz_text_buffer_append(&writer->buffer, bytes, count);
    }
}

void kz_put_u32(kz_byte_writer *writer, uint32_t value) {
    uint8_t bytes[4];
    kz_store_u32(bytes, value);
    put_bytes(writer, bytes, sizeof bytes);
}

void kz_put_u64(kz_byte_writer *writer, uint64_t value) {
    uint8_t bytes[8];
    kz_store_u64(bytes, value);
    put_bytes(writer, bytes, sizeof bytes);
}

void kz_put_f32(kz_byte_writer *writer, float value) {
    kz_put_u32(writer, kz_bits_from_float(value));
}

void kz_put_f64(kz_byte_writer *writer, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    kz_put_u64(writer, bits);
}

void kz_put_count(kz_byte_writer *writer, size_t count) {
    if (count > UINT32_MAX && writer->status == KAZEIA_OK) {
        writer->status =
            kz_fail(KAZEIA_BAD_ARGUMENT, "a program's table of %zu elements: %u are the most",
                    count, UINT32_MAX);
    }
    // A count that was cut follows a failure: such bytes are never used.
    kz_put_u32(writer, (uint32_t)count);
}

void kz_put_string(kz_byte_writer *writer, const char *text) {
    // An absent string is written as an empty one; where the two differ, the table says so beside
    // it.
    const char *present = text != NULL ? text : "";
    const size_t length = strlen(present);
    kz_put_count(writer, length);
    // With its NUL, so that a reader may use the string where it lies in the file.
    put_bytes(writer, present, length + 1);
}

// --- Reading ------------------------------------------------------------------------------------

// The next `count` bytes, or NULL.
// at <= count always holds, so the difference does not wrap.
static const uint8_t *take_bytes(kz_byte_reader *reader, size_t count) {
    if (reader->status != KAZEIA_OK) {
        return NULL;
    }
    if (count > reader->count - reader->at) {
        reader->status = kz_fail(KAZEIA_BAD_FILE, "%s: %zu bytes wanted at byte %zu of %zu",
                                 reader->what, count, reader->at, reader->count);
        return NULL;
    }
    const uint8_t *bytes = reader->bytes + reader->at;
    reader->at += count;
    return bytes;
}

uint32_t kz_take_u32(kz_byte_reader *reader) {
    const uint8_t *bytes = take_bytes(reader, 4);
    return bytes != NULL ? kz_load_u32(bytes) : 0;
}

uint64_t kz_take_u64(kz_byte_reader *reader) {
    const uint8_t *bytes = take_bytes(reader, 8);
    return bytes != NULL ? kz_load_u64(bytes) : 0;
}

float kz_take_f32(kz_byte_reader *reader) {
    return kz_float_from_bits(kz_take_u32(reader));
}

double kz_take_f64(kz_byte_reader *reader) {
    const uint64_t bits = kz_take_u64(reader);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *kz_take_string(kz_byte_reader *reader) {
    const size_t start = reader->at;
    const size_t length = kz_take_u32(reader);
    const uint8_t *bytes = take_bytes(reader, length);
    const uint8_t *end = take_bytes(reader, 1);
    if (bytes == NULL || end == NULL) {
        return "";
    }
    // A NUL within would make the string shorter to C than to the file.
    if (*end != 0 || memchr(bytes, 0, length) != NULL) {
        reader->status =
            kz_fail(KAZEIA_BAD_FILE, "%s: the string at byte %zu does not end after its %zu bytes",
                    reader->what, start, length);
        return "";
    }
    return (const char *)bytes;
}

uint32_t kz_take_count(kz_byte_reader *reader, size_t bytes_each, const char *elements) {
    const size_t start = reader->at;
    const uint32_t count = kz_take_u32(reader);
    // Before anything is allocated for them: a count alone must not cost memory.
    if (reader->status == KAZEIA_OK && count > (reader->count - reader->at) / bytes_each) {
        reader->status = kz_fail(KAZEIA_BAD_FILE,
                                 "%s: %u %s at byte %zu, which the %zu bytes after it cannot hold",
                                 reader->what, count, elements, start, reader->count - reader->at);
        return 0;
    }
    return count;
}

kazeia_status kz_take_end(kz_byte_reader *reader) {
    // Bytes behind the last record belong to no field: a newer writer's, or smuggled in.
    if (reader->status == KAZEIA_OK && reader->at != reader->count) {
        reader->status = kz_fail(KAZEIA_BAD_FILE, "%s: it ends at byte %zu, %zu bytes expected",
                                 reader->what, reader->at, reader->count);
    }
    return reader->status;
}
