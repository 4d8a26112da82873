// fuzz_checkpoint.c: the checkpoint readers on any bytes.
//
// in:  a file of one of the five kinds, told apart by its first bytes as in life; text that begins
//      with '{' stands for the JSON files of a Hugging Face folder
// out: nothing; a sanitizer, a time-out or the check of the memory limit ends the program
#include <stdlib.h>

#include "../unit/exporter/checkpoint_samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char folder[SAMPLE_PATH_BYTES];

static void remove_folder(void) {
    sample_folder_remove(folder);
}

// The bytes are config.json and the index beside a sound shard.
static void try_folder(const uint8_t *bytes, size_t size) {
    if (folder[0] == '\0') {
        byte_string shard = sample_safetensors();
        sample_folder_create(folder);
        sample_file_write(folder, "one", shard.bytes, shard.count);
        bytes_clear(&shard);
        (void)atexit(remove_folder);
    }
    sample_file_write(folder, "config.json", bytes, size);
    sample_file_write(folder, "model.safetensors.index.json", bytes, size);
    kz_checkpoint *checkpoint = NULL;
    const json_t *root = NULL;
    if (kz_checkpoint_open(folder, NULL, &checkpoint) == KAZEIA_OK) {
        if (kz_checkpoint_json(checkpoint, "config.json", &root) != KAZEIA_OK && root != NULL) {
            abort();
        }
        read_everything(checkpoint);
        kz_checkpoint_close(checkpoint);
    }
}

static void try_file(const uint8_t *bytes, size_t size) {
    byte_counter counter;
    const kazeia_allocator allocator = byte_counter_allocator(&counter, SIZE_MAX);
    kz_checkpoint *checkpoint = NULL;
    const kazeia_status status =
        kz_checkpoint_open_memory(bytes, size, "input", &allocator, &checkpoint);
    if (counter.peak_bytes > opening_limit(size)) {
        abort();
    }
    if (status == KAZEIA_OK) {
        read_everything(checkpoint);
        kz_checkpoint_close(checkpoint);
    }
    if (counter.live_bytes != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (size > 0 && bytes[0] == '{') {
        try_folder(bytes, size);
    } else {
        try_file(bytes, size);
    }
    return 0;
}
