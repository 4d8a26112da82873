// fuzz_program.c: opens whatever it is given as a program in memory, and reads all its weights.
//
// in:  a byte of choices, then bytes
//      bit 0: checksums are mended, so that the checks behind them are reached
//      bit 1: the bytes are changes (place u24, value u8) to a sound program with every op, instead
//      of
//             a whole file; so no corpus is needed to get deep
//      bit 2: all checksums are compared too
// out: nothing but what the sanitizers see
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/format/programs.h"
#include "format/reader.h"
#include "format/writer.h"

#define MENDS 1u
#define CHANGES_SAMPLE 2u
#define VERIFIES 4u
#define CHANGE_BYTES 4u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void make_sample(uint8_t **out_bytes, size_t *out_count) {
    sample_program sample;
    sample_program_make(&sample);
    if (kz_program_write_memory(&sample.description, sample.weights, NULL, out_bytes, out_count) !=
        KAZEIA_OK) {
        abort();
    }
    sample_program_clear(&sample);
}

static void apply_changes(const uint8_t *changes, size_t count, uint8_t *image,
                          size_t image_count) {
    for (size_t i = 0; i + CHANGE_BYTES <= count; i += CHANGE_BYTES) {
        const size_t place =
            changes[i] | (size_t)changes[i + 1] << 8 | (size_t)changes[i + 2] << 16;
        image[place % image_count] = changes[i + 3];
    }
}

// Weights lie where the tensors say: their two ends are enough to see a wrong place.
static void read_weights(const kz_program_file *file) {
    const kz_program_description *description = kz_program_file_description(file);
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < description->tensor_count; i++) {
        const kz_tensor *tensor = &description->tensors[i];
        const uint8_t *weights = kz_program_file_tensor(file, tensor);
        sum = (uint8_t)(sum + weights[0] + weights[tensor->bytes - 1]);
    }
}

static void open_and_read(const uint8_t *image, size_t count, bool verifies) {
    kz_program_file *file = NULL;
    if (kz_program_file_open_memory(image, count, NULL, &file) != KAZEIA_OK) {
        return;
    }
    read_weights(file);
    if (verifies && kz_program_file_verify(file) != KAZEIA_OK && kazeia_last_error()[0] == '\0') {
        abort(); // a refusal without a sentence
    }
    kz_program_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static uint8_t *sample;
    static size_t sample_count;
    if (sample == NULL) {
        make_sample(&sample, &sample_count);
    }
    if (count < 1) {
        return 0;
    }
    const bool changes_sample = (bytes[0] & CHANGES_SAMPLE) != 0;
    const size_t image_count = changes_sample ? sample_count : count - 1;
    const size_t padded = (image_count / KZ_ALIGNMENT + 1) * KZ_ALIGNMENT;
    uint8_t *image = aligned_alloc(KZ_ALIGNMENT, padded);
    if (image == NULL) {
        return 0;
    }
    memcpy(image, changes_sample ? sample : bytes + 1, image_count);
    if (changes_sample) {
        apply_changes(bytes + 1, count - 1, image, image_count);
    }
    if ((bytes[0] & MENDS) != 0) {
        (void)program_image_mend(image, image_count);
    }
    open_and_read(image, image_count, (bytes[0] & VERIFIES) != 0);
    free(image);
    return 0;
}
