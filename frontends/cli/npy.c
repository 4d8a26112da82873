// npy.c: rows of numbers as a NumPy file.
//
// in:  rows of float32
// out: a .npy file of format version 1.0, little-endian, C order
//
// The header is padded with spaces to 128 bytes, so that the numbers begin aligned.
#include "npy.h"

#include <string.h>

#define HEADER_BYTES 128
#define MAGIC_BYTES 8 // "\x93NUMPY", two of the version; two of the length follow
#define CHUNK 256

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
