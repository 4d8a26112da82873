// utf8.h: reading and writing UTF-8 one character at a time, and what a character is.
//
// in:  bytes from a model, a file or a microphone's transcript: any bytes at all.
// out: code points. A byte that belongs to no character is one "character" of its own, so that a
//      caller always moves forward and can pass the byte on unchanged.
#ifndef KZ_TEXT_UTF8_H
#define KZ_TEXT_UTF8_H

#include "base/status.h"

// What stands for a byte that is not UTF-8.
#define KZ_REPLACEMENT_CHARACTER 0xfffdu

// Bytes that belong to somebody else; not NUL-terminated.
typedef struct kz_text_view {
    const char *bytes;
    size_t count;
} kz_text_view;

// One character read.
typedef struct kz_utf8_char {
    uint32_t code_point; // KZ_REPLACEMENT_CHARACTER when !is_valid
    uint32_t length; // bytes: 1-4; 0 when the sequence is cut short and more bytes may complete it
    bool is_valid;
} kz_utf8_char;

// The character at `bytes`. Overlong forms, surrogates and values above U+10FFFF are not valid and
// have length 1. `count` 0 gives length 0.
kz_utf8_char kz_utf8_read(const char *bytes, size_t count);
// The same where no more bytes can come: a sequence cut short is one invalid byte.
kz_utf8_char kz_utf8_read_last(const char *bytes, size_t count);

// Writes a code point; returns the bytes written (1-4). Surrogates and values out of range are
// written as KZ_REPLACEMENT_CHARACTER.
size_t kz_utf8_write(uint32_t code_point, char out_bytes[4]);

// Unicode classes, of the utf8proc library's version of the standard; any number may be asked
// about. Line breaks are spaces too.
bool kz_char_is_line_break(uint32_t code_point);
bool kz_char_is_space(uint32_t code_point);
bool kz_char_is_upper(uint32_t code_point); // title case too
bool kz_char_is_lower(uint32_t code_point);
bool kz_char_is_letter(uint32_t code_point); // combining marks count as part of a letter
bool kz_char_is_digit(uint32_t code_point);  // 0-9 of any script
// Pictographs, flags, skin tones, and the signs that join them (ZWJ, variation selectors, tags).
// Letter-like signs that a voice reads (copyright, trade mark, arrows) are not among them.
bool kz_char_is_emoji(uint32_t code_point);
// The simple lower-case mapping, one character for one; itself when it has none.
uint32_t kz_char_lower(uint32_t code_point);

// NFC, ’ as ', and small letters, of `count` bytes into `out`, at most `capacity` bytes; invalid
// bytes are dropped. Returns the bytes written; SIZE_MAX when `capacity` is too small.
size_t kz_text_fold(const char *bytes, size_t count, char *out, size_t capacity);

#endif
