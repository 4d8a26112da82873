// input.c: texts from files and from standard input.
//
// in:  paths and streams
// out: texts, lines, arrays of ids; a sentence when they are not what they should be
//
// Files are read in growing pieces instead of by their size, so that a pipe can stand for a file.
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define FIRST_CAPACITY ((size_t)64 * 1024)
#define BYTES_LIMIT ((size_t)256 << 20)

// A path that names no readable file is the caller's mistake (exit code 1), all else the machine's.
static kazeia_status fail_read(const char *path, int error, cli_sentence *out_sentence) {
    const bool is_name =
        error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG;
    return cli_fail(out_sentence, is_name ? KAZEIA_NOT_FOUND : KAZEIA_IO, "cannot read '%s': %s",
                    path, strerror(error));
}

static kazeia_status read_stream(FILE *stream, const char *path, char **out_text, size_t *out_bytes,
                                 cli_sentence *out_sentence) {
    char *text = NULL;
    size_t bytes = 0;
    for (size_t capacity = FIRST_CAPACITY;; capacity *= 2) {
        // One more for the NUL: texts are also handed to functions that want C strings.
        char *larger = realloc(text, capacity + 1);
        if (larger == NULL) {
            free(text);
            return cli_fail(out_sentence, KAZEIA_OUT_OF_MEMORY,
                            "no memory for '%s': %zu bytes asked for", path, capacity + 1);
        }
        text = larger;
        bytes += fread(text + bytes, 1, capacity - bytes, stream);
        // fread stops short only at the end or at an error, which ferror tells apart.
        if (bytes < capacity) {
            break;
        }
        // A device that never ends would otherwise be read until memory does.
        if (bytes >= BYTES_LIMIT) {
            free(text);
            return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                            "'%s' has more than %zu MB; give a shorter file", path,
                            BYTES_LIMIT >> 20);
        }
    }
    if (ferror(stream)) {
        free(text);
        return fail_read(path, errno, out_sentence);
    }
    text[bytes] = '\0';
    *out_text = text;
    *out_bytes = bytes;
    return KAZEIA_OK;
}

kazeia_status cli_file_open(const char *path, FILE **out_stream, cli_sentence *out_sentence) {
    *out_stream = fopen(path, "rb");
    return *out_stream != NULL ? KAZEIA_OK : fail_read(path, errno, out_sentence);
}

kazeia_status cli_read_file(const char *path, char **out_text, size_t *out_bytes,
                            cli_sentence *out_sentence) {
    FILE *stream = NULL;
    CLI_TRY(cli_file_open(path, &stream, out_sentence));
    const kazeia_status status = read_stream(stream, path, out_text, out_bytes, out_sentence);
    (void)fclose(stream);
    return status;
}

static kazeia_status copy_ids(const json_t *array, const char *where, int32_t *out_ids,
                              cli_sentence *out_sentence) {
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        const json_int_t id = json_integer_value(item);
        if (!json_is_integer(item) || id < 0 || id > INT32_MAX) {
            return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                            "%s: element %zu is no token id; expected whole numbers from 0 to %d",
                            where, i, INT32_MAX);
        }
        out_ids[i] = (int32_t)id;
    }
    return KAZEIA_OK;
}

kazeia_status cli_ids_of_json(const json_t *array, const char *where, int32_t **out_ids,
                              size_t *out_count, cli_sentence *out_sentence) {
    if (!json_is_array(array)) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "%s: another value found; expected a JSON array of ids, as [1, 2, 3]",
                        where);
    }
    const size_t count = json_array_size(array);
    // malloc(0) may answer NULL, and an empty array is a valid one.
    int32_t *ids = malloc((count + 1) * sizeof *ids);
    const kazeia_status status = ids != NULL ? copy_ids(array, where, ids, out_sentence)
                                             : cli_fail(out_sentence, KAZEIA_OUT_OF_MEMORY,
                                                        "%s: no memory for %zu ids", where, count);
    if (status != KAZEIA_OK) {
        free(ids);
        return status;
    }
    *out_ids = ids;
    *out_count = count;
    return KAZEIA_OK;
}

kazeia_status cli_read_ids(const char *text, size_t bytes, const char *where, int32_t **out_ids,
                           size_t *out_count, cli_sentence *out_sentence) {
    json_error_t error;
    json_t *array = json_loadb(text, bytes, JSON_DECODE_ANY, &error);
    if (array == NULL) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "%s: %s found; expected a JSON array of ids, as [1, 2, 3]", where,
                        error.text);
    }
    const kazeia_status status = cli_ids_of_json(array, where, out_ids, out_count, out_sentence);
    json_decref(array);
    return status;
}

kazeia_status cli_lines_next(cli_lines *lines, cli_sentence *out_sentence) {
    // getline leaves errno alone at the end of a file.
    errno = 0;
    const ssize_t bytes = getline(&lines->text, &lines->capacity, lines->stream);
    if (bytes < 0) {
        return feof(lines->stream) ? KAZEIA_DONE : fail_read(lines->name, errno, out_sentence);
    }
    lines->bytes = (size_t)bytes;
    lines->number++;
    // Also the carriage return of files from Windows.
    while (lines->bytes > 0 &&
           (lines->text[lines->bytes - 1] == '\n' || lines->text[lines->bytes - 1] == '\r')) {
        lines->text[--lines->bytes] = '\0';
    }
    return KAZEIA_OK;
}

void cli_lines_clear(cli_lines *lines) {
    free(lines->text);
    lines->text = NULL;
}
