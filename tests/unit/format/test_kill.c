// test_kill.c: a writer that is killed at any moment leaves the old program whole, or the new one.
//
// A child writes a program over an older one and is killed after a random time, up to what a whole
// write takes; then the parent opens and verifies what is there.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../base/scratch.h"
#include "format/reader.h"
#include "format/writer.h"
#include "programs.h"

#define ROUNDS 60

static kazeia_status write_program(const char *path, const sample_program *sample, uint32_t shards,
                                   uint64_t *out_id) {
    kz_program_writer *writer = NULL;
    const uint8_t *weights = sample->weights;
    KZ_TRY(kz_program_writer_create(path, &sample->description, shards, NULL, &writer));
    for (size_t i = 0; i < sample->description.tensor_count; i++) {
        const size_t bytes = (size_t)sample->tensors[i].bytes;
        const kazeia_status status = kz_program_writer_append(writer, weights, bytes);
        if (status != KAZEIA_OK) {
            kz_program_writer_abandon(writer);
            return status;
        }
        weights += bytes;
    }
    return kz_program_writer_finish(writer, out_id);
}

static uint64_t now_ns(void) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The id of the program at `path`, every byte of which was verified.
static uint64_t whole_program(const char *path) {
    kz_program_file *file = NULL;
    if (kz_program_file_open(path, NULL, &file) != KAZEIA_OK ||
        kz_program_file_verify(file) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    const uint64_t id = kz_program_file_id(file);
    kz_program_file_close(file);
    return id;
}

// Writes in a child that dies after `delay_ns`. True when it had finished before.
static bool write_and_kill(const char *path, const sample_program *sample, uint32_t shards,
                           uint64_t delay_ns) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t id;
        _exit(write_program(path, sample, shards, &id) == KAZEIA_OK ? 0 : 1);
    }
    const uint64_t end = now_ns() + delay_ns;
    while (now_ns() < end) {
    }
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

static void kill_in_a_loop(uint32_t shards) {
    scratch_folder folder;
    char path[SCRATCH_PATH_BYTES];
    sample_program sample;
    scratch_create(&folder);
    scratch_name(&folder, "voice.kzp", path);
    sample_program_make(&sample);
    uint64_t present = 0;
    const uint64_t start = now_ns();
    assert_int_equal(write_program(path, &sample, shards, &present), KAZEIA_OK);
    const uint64_t duration_ns = now_ns() - start;
    size_t kept = 0;
    uint32_t seed = 3;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        sample.weights[round]++; // another program each time
        const bool finished =
            write_and_kill(path, &sample, shards, duration_ns * (seed >> 16) / 50000);
        const uint64_t found = whole_program(path);
        assert_true(!finished || found != present);
        kept += found == present;
        present = found;
    }
    assert_true(kept > 0);
    uint64_t id;
    sample.weights[ROUNDS]++;
    assert_int_equal(write_program(path, &sample, shards, &id), KAZEIA_OK);
    assert_true(whole_program(path) == id);
    // What killed writers left is tidied by the next one that finishes.
    assert_int_equal(scratch_count(&folder), shards > 1 ? 1 + shards : 1);
    sample_program_clear(&sample);
    scratch_remove(&folder);
}

static void one_file_is_old_or_new(void **state) {
    (void)state;
    kill_in_a_loop(1);
}

static void four_shards_are_old_or_new(void **state) {
    (void)state;
    kill_in_a_loop(4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file_is_old_or_new),
        cmocka_unit_test(four_shards_are_old_or_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
