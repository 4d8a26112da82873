// json_writer.c: values -> JSON text.
//   in   keys and values
//   out  text in a kz_text_buffer
#include "base/json_writer.h"

#include "base/number_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kz_json_writer_init(kz_json_writer *writer, kz_text_buffer *text) {
    *writer = (kz_json_writer){.text = text, .status = KAZEIA_OK};
}

// The first failure stays and stops all later output: a caller writes a whole object without a
// check a line and looks at the status once, at the end.
static void put(kz_json_writer *writer, const char *bytes, size_t count) {
    if (writer->status == KAZEIA_OK) {
        writer->status = kz_text_buffer_append(writer->text, bytes, count);
    }
}

static void put_text(kz_json_writer *writer, const char *text) {
    put(writer, text, strlen(text));
}

// Length of the UTF-8 character at `bytes`, 0 when there is none. Follows the table of well-formed
// sequences in the Unicode standard (3.9, table 3-7).
static size_t character_length(const uint8_t *bytes, size_t count) {
    const uint8_t first = bytes[0];
    if (first < 0x80) {
        return 1;
    }
    // C0 and C1 would be overlong forms of ASCII, F5 and above lie past U+10FFFF.
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > count) {
        return 0;
    }
    uint8_t least = 0x80, most = 0xbf;
    least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : least;
    most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : most;
    if (bytes[1] < least || bytes[1] > most) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

// The two lists run in parallel. strchr would find the NUL at the end of the first one, hence the
// test for 0.
static void put_control(kz_json_writer *writer, uint8_t byte) {
    static const char names[] = "\b\t\n\f\r\"\\";
    static const char escapes[] = "btnfr\"\\";
    char text[8];
    const char *found = byte ? strchr(names, byte) : NULL;
    if (found) {
        snprintf(text, sizeof text, "\\%c", escapes[found - names]);
    } else {
        snprintf(text, sizeof text, "\\u%04x", byte);
    }
    put_text(writer, text);
}

// DEL needs no escape in JSON; it gets one because a terminal that shows the text would act on it.
static bool is_escaped(uint8_t byte) {
    return byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f;
}

// Plain characters go out in runs.
static void put_quoted(kz_json_writer *writer, const char *text, size_t count) {
    const uint8_t *bytes = (const uint8_t *)text;
    put_text(writer, "\"");
    size_t run = 0;
    for (size_t i = 0; i < count;) {
        const size_t length = character_length(bytes + i, count - i);
        if (length > 0 && !is_escaped(bytes[i])) {
            i += length;
            continue;
        }
        put(writer, text + run, i - run);
        if (length == 0) {
            put_text(writer, "\xef\xbf\xbd");
        } else {
            put_control(writer, bytes[i]);
        }
        run = ++i;
    }
    put(writer, text + run, count - run);
    put_text(writer, "\"");
}

static void begin_value(kz_json_writer *writer, const char *key) {
    if (writer->needs_comma) {
        put_text(writer, ",");
    }
    if (key) {
        put_quoted(writer, key, strlen(key));
        put_text(writer, ":");
    }
    writer->needs_comma = true;
}

void kz_json_begin_object(kz_json_writer *writer, const char *key) {
    begin_value(writer, key);
    put_text(writer, "{");
    writer->needs_comma = false;
}

void kz_json_end_object(kz_json_writer *writer) {
    put_text(writer, "}");
    writer->needs_comma = true;
}

void kz_json_begin_array(kz_json_writer *writer, const char *key) {
    begin_value(writer, key);
    put_text(writer, "[");
    writer->needs_comma = false;
}

void kz_json_end_array(kz_json_writer *writer) {
    put_text(writer, "]");
    writer->needs_comma = true;
}

void kz_json_put_string_bytes(kz_json_writer *writer, const char *key, const char *text,
                              size_t count) {
    begin_value(writer, key);
    put_quoted(writer, text, count);
}

void kz_json_put_string(kz_json_writer *writer, const char *key, const char *text) {
    // The key goes out before the value is looked at, so that a NULL string still leaves a whole
    // pair.
    begin_value(writer, key);
    if (text) {
        put_quoted(writer, text, strlen(text));
    } else {
        put_text(writer, "null");
    }
}

void kz_json_put_integer(kz_json_writer *writer, const char *key, int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    begin_value(writer, key);
    put_text(writer, digits);
}

void kz_json_put_unsigned(kz_json_writer *writer, const char *key, uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    begin_value(writer, key);
    put_text(writer, digits);
}

void kz_json_put_real(kz_json_writer *writer, const char *key, double value) {
    char digits[KZ_NUMBER_BYTES] = "null";
    if (isfinite(value)) {
        // Six digits are what most settings were typed with; seventeen always give a double back.
        // The shortest of the precisions that gives the same number back.
        double back = 0.0;
        for (int precision = 6; precision <= 17; precision++) {
            kz_number_write(value, precision, digits);
            // Bits are compared, not values: 0 and -0 are equal and yet two numbers.
            if (kz_number_read(digits, &back) && memcmp(&back, &value, sizeof back) == 0) {
                break;
            }
        }
    }
    begin_value(writer, key);
    put_text(writer, digits);
}

void kz_json_put_bool(kz_json_writer *writer, const char *key, bool value) {
    begin_value(writer, key);
    put_text(writer, value ? "true" : "false");
}
