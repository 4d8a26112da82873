// byte_stream.h: numbers and strings to bytes and back, little-endian on every machine.
//
// Both sides remember their first failure and do nothing after it, so that a table is written or
// read as a plain list of calls and the status is looked at once, at the end. A string is its
// length as u32, its bytes, and a NUL that lets a reader point into the mapped file.
#ifndef KZ_FORMAT_BYTE_STREAM_H
#define KZ_FORMAT_BYTE_STREAM_H

#include "base/text_buffer.h"

typedef struct kz_byte_writer {
    kz_text_buffer buffer;
    kazeia_status status; // of the first call that failed
} kz_byte_writer;

// Never fails itself: memory is taken by the first put.
void kz_byte_writer_init(kz_byte_writer *writer, const kazeia_allocator *allocator);
// Frees the bytes and what was written with them.
void kz_byte_writer_clear(kz_byte_writer *writer);

void kz_put_u32(kz_byte_writer *writer, uint32_t value);
void kz_put_u64(kz_byte_writer *writer, uint64_t value);
void kz_put_f32(kz_byte_writer *writer, float value);
void kz_put_f64(kz_byte_writer *writer, double value);
// NULL is written as the empty string.
void kz_put_string(kz_byte_writer *writer, const char *text);
// A number of elements; fails when it does not fit a u32.
void kz_put_count(kz_byte_writer *writer, size_t count);

// The caller fills it: at 0, status KAZEIA_OK. Failures are BAD_FILE and say `what` and where.
typedef struct kz_byte_reader {
    const uint8_t *bytes; // [count]; outlives every string that was taken
    size_t count;
    size_t at;            // of the next number, <= count
    const char *what;     // for sentences, as "section 'methods'"
    kazeia_status status; // of the first call that failed
} kz_byte_reader;

// After a failure all give 0 or "".
uint32_t kz_take_u32(kz_byte_reader *reader);
uint64_t kz_take_u64(kz_byte_reader *reader);
float kz_take_f32(kz_byte_reader *reader);
double kz_take_f64(kz_byte_reader *reader);
// Points into the reader's bytes; NUL-terminated, perhaps not UTF-8.
const char *kz_take_string(kz_byte_reader *reader);
// A number of elements, each at least `bytes_each` long in the file: more than can follow is
// refused here, before anybody allocates for them.
uint32_t kz_take_count(kz_byte_reader *reader, size_t bytes_each, const char *elements);
// The status; bytes that nobody took are a failure too.
KAZEIA_MUST_CHECK kazeia_status kz_take_end(kz_byte_reader *reader);

// The same numbers at a fixed place, of any alignment; bounds are the caller's work.
void kz_store_u32(uint8_t *out, uint32_t value);
void kz_store_u64(uint8_t *out, uint64_t value);
uint32_t kz_load_u32(const uint8_t *bytes);
uint64_t kz_load_u64(const uint8_t *bytes);

#endif
