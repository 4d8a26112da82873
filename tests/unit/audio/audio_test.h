// audio_test.h: what the audio tests share: an allocator that counts, temporary files, whole files.
//
// in:  nothing but the standard library and cmocka
// out: helpers for the tests of this folder
#ifndef KZ_TEST_AUDIO_TEST_H
#define KZ_TEST_AUDIO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kazeia/common.h"

typedef struct counting_memory {
    size_t allocation_count;
    size_t live_count;
    size_t failing_allocation; // this one (from 1) fails; 0: none
} counting_memory;

static inline void *counting_allocate(void *context, size_t bytes) {
    counting_memory *memory = context;
    memory->allocation_count++;
    if (memory->allocation_count == memory->failing_allocation) {
        return NULL;
    }
    memory->live_count++;
    return malloc(bytes);
}

static inline void counting_release(void *context, void *address) {
    counting_memory *memory = context;
    memory->live_count -= address != NULL;
    free(address);
}

static inline kazeia_allocator counting_allocator(counting_memory *memory) {
    return (kazeia_allocator){
        .context = memory, .allocate = counting_allocate, .release = counting_release};
}

// A name for a file in a new folder of its own. Remove with remove_test_file.
static inline void make_test_path(const char *name, char *out_path, size_t capacity) {
    char folder[] = P_tmpdir "/kazeia-audio-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_true(snprintf(out_path, capacity, "%s/%s", folder, name) < (int)capacity);
}

static inline void remove_test_file(char *path) {
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0); // also shows that nothing else was left there
}

static inline void write_test_file(const char *path, const void *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

// Free the result with free.
static inline void *read_test_file(const char *path, size_t *out_count) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *out_count = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*out_count + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *out_count, file), *out_count);
    fclose(file);
    return bytes;
}

static inline void assert_sentence_has(const char *part) {
    if (strstr(kazeia_last_error(), part) == NULL) {
        fail_msg("'%s' does not say '%s'", kazeia_last_error(), part);
    }
}

#endif
