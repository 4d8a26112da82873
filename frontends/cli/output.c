// output.c: what the program says, as text or as JSON lines.
//
// in:  texts and JSON objects
// out: standard output, flushed piece by piece; failures where the mode wants them
//
// JSON reals carry nine digits: enough to tell any two floats apart, and short to read.
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define JSON_STYLE (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9))

static kazeia_status flush(bool is_written, cli_sentence *out_sentence) {
    if (is_written && fflush(stdout) == 0) {
        return KAZEIA_OK;
    }
    // SIGPIPE is ignored (main.c), so a reader that has gone shows here. It is no failure: "| head"
    // is done.
    if (errno == EPIPE) {
        return KAZEIA_DONE;
    }
    return cli_fail(out_sentence, KAZEIA_IO, "cannot write to standard output: %s",
                    strerror(errno));
}

kazeia_status cli_print_bytes(const char *text, size_t bytes, cli_sentence *out_sentence) {
    // After each piece: a person reads along, and another program may wait for the line.
    return flush(fwrite(text, 1, bytes, stdout) == bytes, out_sentence);
}

kazeia_status cli_print(cli_sentence *out_sentence, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const bool is_written = vprintf(format, values) >= 0;
    va_end(values);
    return flush(is_written, out_sentence);
}

kazeia_status cli_print_json(json_t *value, cli_sentence *out_sentence) {
    if (value == NULL) {
        return cli_fail(out_sentence, KAZEIA_OUT_OF_MEMORY, "no memory for a line of JSON");
    }
    // One line for each object, so that a reader can split by lines.
    const bool is_written = json_dumpf(value, stdout, JSON_STYLE) == 0 && putchar('\n') != EOF;
    json_decref(value);
    return flush(is_written, out_sentence);
}

// A report that cannot be written has nowhere else to go: the exit code tells.
void cli_report(bool is_json, const char *command, const char *file, const char *sentence) {
    if (!is_json) {
        // Most sentences of the library name their file already.
        const bool is_named = file == NULL || strstr(sentence, file) != NULL;
        (void)fprintf(stderr, "kazeia%s%s: %s%s%s\n", command[0] == '\0' ? "" : " ", command,
                      is_named ? "" : file, is_named ? "" : ": ", sentence);
        return;
    }
    json_t *line = json_object();
    if (file != NULL) {
        (void)json_object_set_new(line, "file", cli_json_string(file));
    }
    (void)json_object_set_new(line, "error", cli_json_string(sentence));
    cli_sentence ignored = {""};
    (void)!cli_print_json(line, &ignored);
}

// The length of the UTF-8 character at `text`, or 0 when there is none.
static size_t character_bytes(const unsigned char *text, size_t left) {
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    if (text[0] < 0x80) {
        return 1;
    }
    const size_t count = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc0 || text[0] > 0xf7 || left < count) {
        return 0;
    }
    uint32_t point = text[0] & (0x7fu >> count);
    for (size_t i = 1; i < count; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        point = point << 6 | (text[i] & 0x3f);
    }
    const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point >= LEAST[count] && point <= 0x10ffff && !is_surrogate ? count : 0;
}

static json_t *repaired_text(const unsigned char *text, size_t bytes) {
    // At worst every byte becomes the three of U+FFFD.
    char *repaired = malloc(bytes * 3 + 1);
    size_t length = 0;
    if (repaired == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < bytes;) {
        const size_t count = character_bytes(text + i, bytes - i);
        memcpy(repaired + length, count == 0 ? "\xef\xbf\xbd" : (const char *)text + i,
               count == 0 ? 3 : count);
        length += count == 0 ? 3 : count;
        i += count == 0 ? 1 : count;
    }
    json_t *string = json_stringn(repaired, length);
    free(repaired);
    return string;
}

json_t *cli_json_text(const char *text, size_t bytes) {
    json_t *string = json_stringn(bytes == 0 ? "" : text, bytes);
    // jansson takes valid UTF-8 only. A recogniser's text may end inside a character, and a line of
    // JSON must not fail for that.
    return string != NULL ? string : repaired_text((const unsigned char *)text, bytes);
}

json_t *cli_json_string(const char *text) {
    return text == NULL ? json_null() : cli_json_text(text, strlen(text));
}

json_t *cli_json_real(double value) {
    // JSON has no number for them.
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_ids(const int32_t *ids, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(array, json_integer(ids[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
