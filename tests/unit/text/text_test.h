// text_test.h: reading the golden JSON lines, and comparing texts as the tests do.
#ifndef KZ_TEXT_TEST_H
#define KZ_TEXT_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

// Calls `check` for each line of a file of JSON objects; ends the program when the file is missing
// or a line is no JSON. Returns the number of lines.
size_t for_each_line(const char *path, void (*check)(void *context, json_t *line), void *context);

// White space of `text` collapsed to single spaces (no-break ones too) and trimmed, into `out`.
void collapse_spaces(const char *text, size_t count, char *out, size_t capacity);

// The comparison of tests/golden/text/README.md: only letters, digits and marks, folded.
void fold_for_comparison(const char *text, size_t count, char *out, size_t capacity);

size_t count_chars(const char *text);

#endif
