// fuzz_tuned.c: files of tuned commands.
//
// in: a file without its checksum, which is put in here. out: nothing; a crash, a hang or a leak is
// the finding, and so is a refused file that left something behind.
#include <stdlib.h>
#include <string.h>

#include "format/byte_stream.h"
#include "format/checksum.h"
#include "listen/priors.h"

enum { VALUES = 9, HEAD_BYTES = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    kz_priors *priors = NULL;
    kz_tuned_values values;
    uint8_t *file = malloc(count + 1);
    if (file == NULL || kz_priors_create(NULL, &priors) != KAZEIA_OK) {
        free(file);
        return 0;
    }
    if (count > 0) {
        memcpy(file, bytes, count);
    }
    if (count >= HEAD_BYTES) {
        memcpy(file, "KACTUN01", 8);
        kz_store_u64(file + 8, 5);
        kz_store_u64(file + 16, kz_checksum(file + HEAD_BYTES, count - HEAD_BYTES));
    }
    if (kz_priors_read(priors, file, count, "fuzz", 5, VALUES, &values) != KAZEIA_OK &&
        kz_priors_count(priors) != 0) {
        abort();
    }
    kz_priors_destroy(priors);
    free(file);
    return 0;
}
