// array_file.c: whole arrays of numbers as NumPy files.
//
// in:  values, or a file
// out: a file, or values
//
// Files of version 1.0 and 2.0 are read; their header is a Python literal of which three keys
// count.
#include "array_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "new_file.h"

#define HEADER_BYTES 128
#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6

static kazeia_status refuse_file(const char *path, const char *expected,
                                 cli_sentence *out_sentence) {
    return cli_fail(out_sentence, KAZEIA_BAD_FILE, "'%s' is no NumPy array of %s", path, expected);
}

// --- Writing ------------------------------------------------------------------------------------

kazeia_status cli_array_append(cli_array *array, const void *values, size_t rows, size_t columns,
                               cli_sentence *out_sentence) {
    array->columns = columns;
    if (rows > array->capacity - array->rows) {
        const size_t capacity = 2 * array->capacity + rows;
        void *longer = realloc(array->values, capacity * columns * sizeof(float));
        if (longer == NULL) {
            return cli_fail(out_sentence, KAZEIA_OUT_OF_MEMORY, "no memory for %zu rows of %zu",
                            capacity, columns);
        }
        array->values = longer;
        array->capacity = capacity;
    }
    memcpy((char *)array->values + array->rows * columns * sizeof(float), values,
           rows * columns * sizeof(float));
    array->rows += rows;
    return KAZEIA_OK;
}

void cli_array_clear(cli_array *array) {
    free(array->values);
    *array = (cli_array){0};
}

static void write_header(const cli_array *array, char header[HEADER_BYTES]) {
    char shape[64];
    const unsigned rest = HEADER_BYTES - 10;
    (void)snprintf(shape, sizeof shape, array->is_flat ? "(%zu,)" : "(%zu, %zu)", array->rows,
                   array->columns);
    memset(header, ' ', HEADER_BYTES);
    memcpy(header, MAGIC "\x01\x00", MAGIC_BYTES + 2);
    header[8] = (char)rest;
    header[9] = 0;
    const int length =
        snprintf(header + 10, rest, "{'descr': '<%c4', 'fortran_order': False, 'shape': %s, }",
                 array->is_integer ? 'i' : 'f', shape);
    header[10 + length] = ' '; // over the NUL
    header[HEADER_BYTES - 1] = '\n';
}

// Little-endian machines only write their memory; others turn each value round first.
static kazeia_status write_values(cli_new_file *file, const cli_array *array,
                                  cli_sentence *out_sentence) {
    const size_t count = array->rows * array->columns;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)array->values + 4 * i, 4);
        const unsigned char bytes[] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                                       (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
        CLI_TRY(cli_new_file_write(file, bytes, 4, out_sentence));
    }
    return KAZEIA_OK;
}

kazeia_status cli_array_write(const cli_array *array, const char *path,
                              cli_sentence *out_sentence) {
    char header[HEADER_BYTES];
    cli_new_file file;
    write_header(array, header);
    CLI_TRY(cli_new_file_open(path, &file, out_sentence));
    kazeia_status status = cli_new_file_write(&file, header, sizeof header, out_sentence);
    if (status == KAZEIA_OK) {
        status = write_values(&file, array, out_sentence);
    }
    if (status == KAZEIA_OK) {
        return cli_new_file_commit(&file, out_sentence);
    }
    cli_new_file_drop(&file);
    return status;
}

// --- Reading ------------------------------------------------------------------------------------

// A file in memory and what its header says.
typedef struct array_text {
    const char *path, *header, *values;
    size_t header_bytes, value_bytes, width;
} array_text;

static bool find_parts(const char *text, size_t bytes, array_text *file) {
    if (bytes < 12 || memcmp(text, MAGIC, MAGIC_BYTES) != 0) {
        return false;
    }
    const unsigned char *length = (const unsigned char *)text + 8;
    const size_t begin = text[6] == 1 ? 10 : 12;
    file->header_bytes = (size_t)length[0] | (size_t)length[1] << 8;
    if (text[6] != 1) {
        file->header_bytes |= (size_t)length[2] << 16 | (size_t)length[3] << 24;
    }
    if (file->header_bytes > bytes - begin) {
        return false;
    }
    file->header = text + begin;
    file->values = file->header + file->header_bytes;
    file->value_bytes = bytes - begin - file->header_bytes;
    return true;
}

// The place behind `key` in the header's copy, or NULL.
static const char *behind(const char *header, const char *key) {
    const char *found = strstr(header, key);
    return found == NULL ? NULL : found + strlen(key);
}

static bool read_shape(const char *shape, cli_array *array) {
    char *end = NULL;
    array->rows = (size_t)strtoull(shape, &end, 10);
    array->is_flat = end[0] == ',' && end[1] == ')';
    array->columns = 1;
    if (end == shape || (end[0] != ',' && end[0] != ')')) {
        return false;
    }
    if (!array->is_flat && end[0] == ',') {
        shape = end + 1;
        array->columns = (size_t)strtoull(shape, &end, 10);
        if (end == shape || end[0] != ')') {
            return false;
        }
    }
    return array->columns >= 1 && array->rows <= SIZE_MAX / 16 / array->columns;
}

static bool read_header(array_text *file, cli_array *array) {
    char header[1024];
    if (file->header_bytes >= sizeof header) {
        return false;
    }
    memcpy(header, file->header, file->header_bytes);
    header[file->header_bytes] = '\0';
    const char *type = behind(header, "'descr': '<"), *order = behind(header, "'fortran_order': ");
    const char *shape = behind(header, "'shape': (");
    if (type == NULL || order == NULL || shape == NULL || strncmp(order, "False", 5) != 0) {
        return false;
    }
    const char kind = array->is_integer ? 'i' : 'f';
    file->width = type[0] == kind && type[1] == '4'                        ? 4
                  : type[0] == kind && type[1] == '8' && array->is_integer ? 8
                                                                           : 0;
    return file->width > 0 && read_shape(shape, array) &&
           file->value_bytes == array->rows * array->columns * file->width;
}

static bool copy_values(const array_text *file, cli_array *array) {
    const unsigned char *from = (const unsigned char *)file->values;
    for (size_t i = 0; i < array->rows * array->columns; i++, from += file->width) {
        uint64_t bits = 0;
        for (size_t byte = file->width; byte-- > 0;) {
            bits = bits << 8 | from[byte];
        }
        const uint32_t low = (uint32_t)bits;
        // An int64 fits when its upper half only repeats the sign.
        if (file->width == 8 && (int64_t)bits != (int32_t)low) {
            return false;
        }
        memcpy((char *)array->values + 4 * i, &low, 4);
    }
    return true;
}

static kazeia_status read_text(const char *text, size_t bytes, const char *path, cli_array *array,
                               cli_sentence *out_sentence) {
    const char *expected = array->is_integer ? "int32" : "float32";
    array_text file = {.path = path};
    if (!find_parts(text, bytes, &file) || !read_header(&file, array)) {
        return refuse_file(path, expected, out_sentence);
    }
    array->values = malloc(array->rows * array->columns * 4 + 1);
    if (array->values == NULL) {
        return cli_fail(out_sentence, KAZEIA_OUT_OF_MEMORY, "no memory for '%s'", path);
    }
    return copy_values(&file, array) ? KAZEIA_OK : refuse_file(path, expected, out_sentence);
}

kazeia_status cli_array_read(const char *path, bool is_integer, cli_array *out_array,
                             cli_sentence *out_sentence) {
    char *text = NULL;
    size_t bytes = 0;
    *out_array = (cli_array){.is_integer = is_integer};
    CLI_TRY(cli_read_file(path, &text, &bytes, out_sentence));
    const kazeia_status status = read_text(text, bytes, path, out_array, out_sentence);
    free(text);
    if (status != KAZEIA_OK) {
        cli_array_clear(out_array);
    }
    return status;
}
