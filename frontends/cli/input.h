// input.h: texts from files and from standard input.
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <jansson.h>
#include <stdio.h>

#include "failure.h"

// Opens a file for reading; NOT_FOUND when the path names none. Close *out_stream with fclose.
kazeia_status cli_file_open(const char *path, FILE **out_stream, cli_sentence *out_sentence);
// Reads a whole file, with a 0 behind it. Release *out_text with free.
kazeia_status cli_read_file(const char *path, char **out_text, size_t *out_bytes,
                            cli_sentence *out_sentence);
// Reads a JSON array of token ids. Release *out_ids with free. `where` names the text in sentences.
kazeia_status cli_read_ids(const char *text, size_t bytes, const char *where, int32_t **out_ids,
                           size_t *out_count, cli_sentence *out_sentence);
// The same of an array that is parsed already. NULL, what is no array, is BAD_ARGUMENT.
kazeia_status cli_ids_of_json(const json_t *array, const char *where, int32_t **out_ids,
                              size_t *out_count, cli_sentence *out_sentence);

// Lines of a stream, one after the other.
typedef struct cli_lines {
    FILE *stream;
    const char *name; // for sentences
    char *text;       // the present line, without its end
    size_t bytes, capacity, number;
} cli_lines;

// KAZEIA_OK, KAZEIA_DONE at the end, or KAZEIA_IO.
kazeia_status cli_lines_next(cli_lines *lines, cli_sentence *out_sentence);
void cli_lines_clear(cli_lines *lines);

#endif
