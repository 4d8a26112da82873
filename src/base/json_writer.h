// json_writer.h: values, one after another -> JSON text.
//
// The writer puts commas and quotes and remembers its first failure (the text buffer's limit or
// memory): after it nothing is written, so that the status is looked at once, at the end. Objects
// and arrays are closed by their own calls; that they match is the caller's work.
#ifndef KZ_BASE_JSON_WRITER_H
#define KZ_BASE_JSON_WRITER_H

#include "base/text_buffer.h"

typedef struct kz_json_writer {
    kz_text_buffer *text;
    bool needs_comma;
    kazeia_status status; // of the first call that failed
} kz_json_writer;

// Appends to `text`, which must outlive the writer.
void kz_json_writer_init(kz_json_writer *writer, kz_text_buffer *text);

// `key` is NULL for elements of an array and for the outermost value; NUL-terminated otherwise, and
// written as put_string writes its text.
void kz_json_begin_object(kz_json_writer *writer, const char *key);
void kz_json_end_object(kz_json_writer *writer);
void kz_json_begin_array(kz_json_writer *writer, const char *key);
void kz_json_end_array(kz_json_writer *writer);
// A text to its NUL, or of `count` bytes. Bytes that are not UTF-8 are written as U+FFFD, control
// characters are escaped. NULL is null.
void kz_json_put_string(kz_json_writer *writer, const char *key, const char *text);
void kz_json_put_string_bytes(kz_json_writer *writer, const char *key, const char *text,
                              size_t count);
void kz_json_put_integer(kz_json_writer *writer, const char *key, int64_t value);
void kz_json_put_unsigned(kz_json_writer *writer, const char *key, uint64_t value);
// As many digits as give the same double back; null when it is not finite.
void kz_json_put_real(kz_json_writer *writer, const char *key, double value);
void kz_json_put_bool(kz_json_writer *writer, const char *key, bool value);

#endif
