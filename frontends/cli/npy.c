// npy.c: rows of numbers as a NumPy file.
//
// in:  rows of float32; a file to read
// out: a .npy file of format version 1.0, little-endian, C order; rows of one
//
// The header is padded with spaces to 128 bytes, so that the numbers begin aligned.
#include "npy.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"

#define HEADER_BYTES 128
#define MAGIC_BYTES 8 // "\x93NUMPY", two of the version; two of the length follow
#define CHUNK 256
// NumPy pads a header to a multiple of 64; one of this length has a shape of hundreds of numbers.
#define LONGEST_HEADER 4096

kazeia_status cli_npy_header(cli_new_file *file, size_t rows, size_t columns,
                             cli_sentence *out_sentence) {
    char header[HEADER_BYTES];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00", MAGIC_BYTES);
    // The length counts what follows it, up to and with the line break.
    const unsigned rest = HEADER_BYTES - MAGIC_BYTES - 2;
    header[MAGIC_BYTES] = (char)(rest & 0xff);
    header[MAGIC_BYTES + 1] = (char)(rest >> 8);
    const int length =
        snprintf(header + MAGIC_BYTES + 2, rest,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, columns);
    // Over the NUL that snprintf has written. Two sizes of 20 digits fit the rest.
    header[MAGIC_BYTES + 2 + length] = ' ';
    header[HEADER_BYTES - 1] = '\n';
    return cli_new_file_write(file, header, sizeof header, out_sentence);
}

kazeia_status cli_npy_row(cli_new_file *file, const float *values, size_t columns,
                          cli_sentence *out_sentence) {
    unsigned char bytes[CHUNK * 4];
    while (columns > 0) {
        const size_t count = columns < CHUNK ? columns : CHUNK;
        for (size_t i = 0; i < count; i++) {
            uint32_t bits = 0;
            memcpy(&bits, &values[i], sizeof bits);
            for (unsigned byte = 0; byte < 4; byte++) {
                // Byte by byte, so that a big-endian machine writes the same file.
                bytes[i * 4 + byte] = (unsigned char)(bits >> 8 * byte);
            }
        }
        CLI_TRY(cli_new_file_write(file, bytes, count * 4, out_sentence));
        values += count;
        columns -= count;
    }
    return KAZEIA_OK;
}

static kazeia_status fail_npy(const cli_npy_reader *reader, const char *found,
                              cli_sentence *out_sentence) {
    return cli_fail(out_sentence, KAZEIA_BAD_FILE,
                    "'%s': %s; expected a NumPy file of float32 ('<f4', C order), as numpy.save "
                    "and 'kazeia eval -o' write it",
                    reader->path, found);
}

// What stands behind 'KEY': in the header, a Python dictionary; NULL without it.
static const char *value_of(const char *header, const char *key) {
    const char *value = strstr(header, key);
    value = value == NULL ? NULL : strchr(value, ':');
    return value == NULL ? NULL : value + 1 + strspn(value + 1, " ");
}

// Reads "(2, 40, 320)". False for anything else, and for a product that no memory holds.
static bool read_shape(const char *text, cli_npy_reader *reader) {
    size_t rows = 1, last = 0;
    for (text++; isdigit((unsigned char)*text); text += strspn(text, ", ")) {
        char *end = NULL;
        const unsigned long long size = strtoull(text, &end, 10);
        // A dimension before this one counts rows. 2^40 of either are more than any disk holds.
        rows = last == 0 ? 1 : rows * last;
        if (size == 0 || size >> 40 != 0 || rows >> 40 != 0) {
            return false;
        }
        last = (size_t)size;
        text = end;
    }
    reader->rows = rows;
    reader->columns = last;
    return *text == ')' && last > 0 && rows <= SIZE_MAX / sizeof(float) / last;
}

static kazeia_status read_dictionary(cli_npy_reader *reader, const char *header,
                                     cli_sentence *out_sentence) {
    const char *type = value_of(header, "'descr'");
    const char *order = value_of(header, "'fortran_order'");
    const char *shape = value_of(header, "'shape'");
    if (type == NULL || order == NULL || shape == NULL || *shape != '(') {
        return fail_npy(reader, "a header without descr, fortran_order and shape", out_sentence);
    }
    if (strncmp(type, "'<f4'", 5) != 0 || strncmp(order, "False", 5) != 0) {
        return fail_npy(reader, "numbers of another type or order", out_sentence);
    }
    return read_shape(shape, reader)
               ? KAZEIA_OK
               : fail_npy(reader, "a shape without numbers, or too large a one", out_sentence);
}

static kazeia_status read_header(cli_npy_reader *reader, cli_sentence *out_sentence) {
    unsigned char magic[MAGIC_BYTES], length[4] = {0};
    char header[LONGEST_HEADER + 1];
    if (fread(magic, 1, sizeof magic, reader->stream) != sizeof magic ||
        memcmp(magic, "\x93NUMPY", 6) != 0) {
        return fail_npy(reader, "another kind of file", out_sentence);
    }
    // Versions 2 and 3 have four bytes for the length.
    const size_t length_bytes = magic[6] == 1 ? 2 : 4;
    const size_t read = fread(length, 1, length_bytes, reader->stream);
    const size_t bytes =
        length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    if (read != length_bytes || bytes > LONGEST_HEADER ||
        fread(header, 1, bytes, reader->stream) != bytes) {
        return fail_npy(reader, "a header that is cut off or longer than 4096 bytes", out_sentence);
    }
    header[bytes] = '\0';
    return read_dictionary(reader, header, out_sentence);
}

// Before hours of work, not after them.
static kazeia_status check_length(const cli_npy_reader *reader, cli_sentence *out_sentence) {
    const off_t begin = ftello(reader->stream);
    if (begin < 0 || fseeko(reader->stream, 0, SEEK_END) != 0) {
        return fail_npy(reader, "no plain file", out_sentence);
    }
    const uint64_t found = (uint64_t)(ftello(reader->stream) - begin);
    const uint64_t expected = (uint64_t)reader->rows * reader->columns * sizeof(float);
    if (found != expected) {
        return cli_fail(out_sentence, KAZEIA_BAD_FILE,
                        "'%s': %llu bytes of numbers found, [%zu, %zu] expects %llu", reader->path,
                        (unsigned long long)found, reader->rows, reader->columns,
                        (unsigned long long)expected);
    }
    return fseeko(reader->stream, begin, SEEK_SET) == 0
               ? KAZEIA_OK
               : fail_npy(reader, "no plain file", out_sentence);
}

kazeia_status cli_npy_open(const char *path, cli_npy_reader *out_reader,
                           cli_sentence *out_sentence) {
    *out_reader = (cli_npy_reader){.path = path};
    CLI_TRY(cli_file_open(path, &out_reader->stream, out_sentence));
    CLI_TRY(read_header(out_reader, out_sentence));
    return check_length(out_reader, out_sentence);
}

kazeia_status cli_npy_next(cli_npy_reader *reader, float *out_values, cli_sentence *out_sentence) {
    unsigned char bytes[CHUNK * 4];
    for (size_t done = 0; done < reader->columns;) {
        const size_t left = reader->columns - done;
        const size_t count = left < CHUNK ? left : CHUNK;
        if (fread(bytes, 4, count, reader->stream) != count) {
            return cli_fail(out_sentence, KAZEIA_IO, "cannot read '%s' to its end", reader->path);
        }
        for (size_t i = 0; i < count; i++) {
            const unsigned char *four = bytes + i * 4;
            const uint32_t bits = four[0] | (uint32_t)four[1] << 8 | (uint32_t)four[2] << 16 |
                                  (uint32_t)four[3] << 24;
            memcpy(&out_values[done + i], &bits, sizeof bits);
        }
        done += count;
    }
    return KAZEIA_OK;
}

void cli_npy_close(cli_npy_reader *reader) {
    if (reader->stream != NULL) {
        (void)fclose(reader->stream);
        reader->stream = NULL;
    }
}
