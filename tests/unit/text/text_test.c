// text_test.c: see text_test.h.
//
// in: a path of tests/golden. out: parsed lines, folded texts.
#include "text_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "text/utf8.h"

size_t for_each_line(const char *path, void (*check)(void *context, json_t *line), void *context) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    char *line = NULL;
    size_t capacity = 0, count = 0;
    while (getline(&line, &capacity, file) > 0) {
        json_error_t error;
        json_t *value = json_loads(line, 0, &error);
        if (value == NULL) {
            fprintf(stderr, "%s:%zu: %s\n", path, count + 1, error.text);
            exit(1);
        }
        check(context, value);
        json_decref(value);
        count++;
    }
    free(line);
    fclose(file);
    return count;
}

typedef struct writer {
    char *out;
    size_t used, capacity;
    bool owes_space;
} writer;

static void put(writer *w, const char *bytes, size_t count) {
    if (w->used + count + 2 > w->capacity) {
        fprintf(stderr, "text_test: a text is longer than %zu bytes\n", w->capacity);
        exit(1);
    }
    if (w->owes_space && w->used > 0) {
        w->out[w->used++] = ' ';
    }
    w->owes_space = false;
    memcpy(w->out + w->used, bytes, count);
    w->used += count;
}

void collapse_spaces(const char *text, size_t count, char *out, size_t capacity) {
    writer w = {out, 0, capacity, false};
    for (size_t at = 0; at < count;) {
        const kz_utf8_char c = kz_utf8_read_last(text + at, count - at);
        if (kz_char_is_space(c.code_point)) {
            w.owes_space = true;
        } else {
            put(&w, text + at, c.length);
        }
        at += c.length;
    }
    out[w.used] = '\0';
}

void fold_for_comparison(const char *text, size_t count, char *out, size_t capacity) {
    char *copy = malloc(count + 1);
    memcpy(copy, text, count);
    copy[count] = '\0';
    utf8proc_uint8_t *folded;
    const utf8proc_ssize_t length =
        utf8proc_map((const utf8proc_uint8_t *)copy, 0, &folded,
                     UTF8PROC_NULLTERM | UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
    free(copy);
    if (length < 0) {
        fprintf(stderr, "text_test: the text is not UTF-8\n");
        exit(1);
    }
    writer w = {out, 0, capacity, false};
    for (size_t at = 0; at < (size_t)length;) {
        const char *bytes = (const char *)folded + at;
        const kz_utf8_char c = kz_utf8_read_last(bytes, (size_t)length - at);
        if (c.code_point == 0x153 || c.code_point == 0xe6) {
            put(&w, c.code_point == 0x153 ? "oe" : "ae", 2);
        } else if (kz_char_is_letter(c.code_point) || kz_char_is_digit(c.code_point)) {
            put(&w, bytes, c.length);
        } else {
            w.owes_space = true;
        }
        at += c.length;
    }
    out[w.used] = '\0';
    free(folded);
}

size_t count_chars(const char *text) {
    size_t chars = 0;
    for (; *text != '\0'; text++) {
        chars += ((unsigned char)*text & 0xc0u) != 0x80u;
    }
    return chars;
}
