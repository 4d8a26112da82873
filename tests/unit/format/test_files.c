// test_files.c: program files on disk: shards and their names, what is missing or wrong beside a
// program, what is tidied away, and failures that leave nothing behind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../base/scratch.h"
#include "base/file_system.h"
#include "base/file_write.h"
#include "format/reader.h"
#include "format/writer.h"
#include "programs.h"

typedef struct fixture {
    scratch_folder folder;
    sample_program sample;
    char path[SCRATCH_PATH_BYTES]; // FOLDER/voice.kzp
} fixture;

static int make_fixture(void **state) {
    fixture *made = calloc(1, sizeof *made);
    assert_non_null(made);
    scratch_create(&made->folder);
    sample_program_make(&made->sample);
    scratch_name(&made->folder, "voice.kzp", made->path);
    *state = made;
    return 0;
}

static int clear_fixture(void **state) {
    fixture *made = *state;
    scratch_remove(&made->folder);
    sample_program_clear(&made->sample);
    free(made);
    return 0;
}

// Feeds the weights in uneven pieces.
static kazeia_status append_weights(kz_program_writer *writer, const sample_program *sample) {
    const uint8_t *next = sample->weights;
    for (size_t i = 0; i < sample->description.tensor_count; i++) {
        size_t left = (size_t)sample->tensors[i].bytes;
        while (left > 0) {
            const size_t piece = left < 777 ? left : 777;
            KZ_TRY(kz_program_writer_append(writer, next, piece));
            next += piece;
            left -= piece;
        }
    }
    return KAZEIA_OK;
}

static kazeia_status write_program(const char *path, const sample_program *sample, uint32_t shards,
                                   const kazeia_allocator *allocator, uint64_t *out_id) {
    kz_program_writer *writer = NULL;
    KZ_TRY(kz_program_writer_create(path, &sample->description, shards, allocator, &writer));
    const kazeia_status status = append_weights(writer, sample);
    if (status != KAZEIA_OK) {
        kz_program_writer_abandon(writer);
        return status;
    }
    return kz_program_writer_finish(writer, out_id);
}

static uint64_t must_write(const char *path, const sample_program *sample, uint32_t shards) {
    uint64_t id = 0;
    if (write_program(path, sample, shards, NULL, &id) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    return id;
}

// Opens, compares the weights with the sample's, verifies.
static void expect_program(const char *path, const sample_program *sample, uint64_t id) {
    kz_program_file *file = NULL;
    if (kz_program_file_open(path, NULL, &file) != KAZEIA_OK ||
        kz_program_file_verify(file) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    const kz_program_description *read = kz_program_file_description(file);
    const uint8_t *weights = sample->weights;
    assert_true(kz_program_file_id(file) == id);
    for (size_t i = 0; i < read->tensor_count; i++) {
        assert_memory_equal(kz_program_file_tensor(file, &read->tensors[i]), weights,
                            (size_t)read->tensors[i].bytes);
        weights += read->tensors[i].bytes;
    }
    kz_program_file_will_need(file);
    kz_program_file_close(file);
}

static void expect_refusal(const char *path, kazeia_status expected, const char *sentence) {
    kz_program_file *file = NULL;
    const kazeia_status status = kz_program_file_open(path, NULL, &file);
    if (status != expected || strstr(kazeia_last_error(), sentence) == NULL ||
        strncmp(kazeia_last_error(), path, strlen(path)) != 0) {
        fail_msg("status %d, '%s' lacks '%s'", (int)status, kazeia_last_error(), sentence);
    }
}

// "FOLDER/STEM.ID.I-of-N.kzw"
static void shard_path(const fixture *made, const char *stem, uint64_t id, unsigned index,
                       unsigned count, char *out_path) {
    char name[128];
    (void)snprintf(name, sizeof name, "%s.%08x.%u-of-%u.kzw", stem, (unsigned)(id >> 32), index,
                   count);
    scratch_name(&made->folder, name, out_path);
}

static void put_file(const fixture *made, const char *name) {
    char path[SCRATCH_PATH_BYTES];
    scratch_name(&made->folder, name, path);
    assert_int_equal(kz_file_write_whole(path, "x", 1), KAZEIA_OK);
}

static bool is_there(const char *path) {
    return access(path, F_OK) == 0;
}

static void flip_byte(const char *path, long offset) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 1, file), EOF);
    assert_int_equal(fclose(file), 0);
}

// --- Writing ------------------------------------------------------------------------------------

static void a_file_equals_the_image_in_memory(void **state) {
    fixture *made = *state;
    uint8_t *bytes;
    size_t count;
    static uint8_t found[1 << 20];
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    const uint64_t id = must_write(made->path, &made->sample, 1);
    expect_program(made->path, &made->sample, id);
    assert_int_equal(scratch_count(&made->folder), 1);
    assert_int_equal(kz_program_write_memory(&made->sample.description, made->sample.weights, NULL,
                                             &bytes, &count),
                     KAZEIA_OK);
    FILE *file = fopen(made->path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, sizeof found, file), count);
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(found, bytes, count);
    kz_free_aligned(&memory, bytes);
}

static void shards_lie_beside_the_program(void **state) {
    fixture *made = *state;
    char path[SCRATCH_PATH_BYTES];
    for (uint32_t shards = 2; shards <= made->sample.description.tensor_count; shards++) {
        const uint64_t id = must_write(made->path, &made->sample, shards);
        expect_program(made->path, &made->sample, id);
        assert_int_equal(scratch_count(&made->folder), 1 + shards); // older ones are gone
        for (uint32_t i = 1; i <= shards; i++) {
            shard_path(made, "voice", id, i, shards, path);
            assert_true(is_there(path));
        }
    }
    const uint64_t id = must_write(made->path, &made->sample, 4);
    scratch_name(&made->folder, "renamed.kzp", path);
    assert_int_equal(rename(made->path, path), 0);
    expect_program(path, &made->sample, id);
    assert_int_equal(chdir(made->folder.path), 0); // a path without a folder
    expect_program("renamed.kzp", &made->sample, id);
    (void)must_write("bare.kzp", &made->sample, 2);
    (void)must_write("bare.kzp", &made->sample, 3);
    assert_int_equal(scratch_count(&made->folder), 5 + 4);
}

static void shards_hold_about_equal_shares(void **state) {
    fixture *made = *state;
    kz_program_file *file = NULL;
    (void)must_write(made->path, &made->sample, 3);
    assert_int_equal(kz_program_file_open(made->path, NULL, &file), KAZEIA_OK);
    const kz_program_description *read = kz_program_file_description(file);
    uint64_t largest = 0;
    for (size_t i = 0; i < read->tensor_count; i++) {
        largest = read->tensors[i].bytes > largest ? read->tensors[i].bytes : largest;
    }
    assert_int_equal(read->context_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const uint64_t share = made->sample.weight_bytes / 3;
        assert_true(read->contexts[i].bytes <= share + largest);
        assert_true(read->contexts[i].bytes + largest >= share);
    }
    kz_program_file_close(file);
}

static void only_own_old_shards_are_removed(void **state) {
    fixture *made = *state;
    static const char *const old[] = {"voice.0123abcd.1-of-2.kzw", "voice.0123abcd.2-of-2.kzw",
                                      "voice.ffffffff.12-of-64.kzw"};
    static const char *const others[] = {"voice.b.0123abcd.1-of-2.kzw",
                                         "voice.0123abcd.1-of-2.kzw.bak",
                                         "voice.0123ABCD.1-of-2.kzw",
                                         "voice.0123abc.1-of-2.kzw",
                                         "voice.0123abcd5.1-of-2.kzw",
                                         "voicer.0123abcd.1-of-2.kzw",
                                         "voice.0123abcd.01-of-2.kzw",
                                         "voice.0123abcd.1-of-.kzw",
                                         "voice.kzw"};
    char path[SCRATCH_PATH_BYTES];
    for (size_t i = 0; i < 3; i++) {
        put_file(made, old[i]);
    }
    for (size_t i = 0; i < 9; i++) {
        put_file(made, others[i]);
    }
    (void)must_write(made->path, &made->sample, 1);
    for (size_t i = 0; i < 3; i++) {
        scratch_name(&made->folder, old[i], path);
        assert_false(is_there(path));
    }
    assert_int_equal(scratch_count(&made->folder), 9 + 1);
}

static void misuse_leaves_nothing(void **state) {
    fixture *made = *state;
    kz_program_writer *writer = NULL;
    const kz_program_description *description = &made->sample.description;
    uint64_t id;
    assert_int_equal(kz_program_writer_create(made->path, description, 0, NULL, &writer),
                     KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_program_writer_create(made->path, description, 65, NULL, &writer),
                     KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_program_writer_create(made->path, description, 30, NULL, &writer),
                     KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_program_writer_create(made->path, description, 2, NULL, &writer), 0);
    assert_int_equal(
        kz_program_writer_append(writer, made->sample.weights, made->sample.weight_bytes),
        KAZEIA_BAD_ARGUMENT); // more than the first tensor holds
    assert_int_equal(kz_program_writer_append(writer, made->sample.weights, 10), KAZEIA_OK);
    assert_int_equal(kz_program_writer_finish(writer, &id), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "'embedding', has 10 of its"));
    assert_int_equal(kz_program_writer_create(made->path, description, 2, NULL, &writer), 0);
    assert_int_equal(append_weights(writer, &made->sample), KAZEIA_OK);
    assert_int_equal(kz_program_writer_append(writer, "x", 1), KAZEIA_BAD_ARGUMENT);
    kz_program_writer_abandon(writer);
    kz_program_writer_abandon(NULL);
    made->sample.states[0].rows = 0;
    assert_int_equal(kz_program_writer_create(made->path, description, 1, NULL, &writer),
                     KAZEIA_BAD_FILE);
    assert_int_equal(scratch_count(&made->folder), 0);
    char path[SCRATCH_PATH_BYTES];
    scratch_name(&made->folder, "missing/voice.kzp", path);
    made->sample.states[0].rows = 64;
    assert_int_equal(kz_program_writer_create(path, description, 1, NULL, &writer),
                     KAZEIA_NOT_FOUND);
}

static void failed_allocations_keep_the_old_program(void **state) {
    fixture *made = *state;
    const uint64_t old_id = must_write(made->path, &made->sample, 2);
    sample_program changed;
    sample_program_make(&changed);
    changed.weights[5]++;
    size_t failures = 0;
    for (size_t calls = 0;; calls++) {
        counting_allocator counter;
        const kazeia_allocator allocator = counting_allocator_make(&counter, calls);
        uint64_t id = 0;
        const kazeia_status status = write_program(made->path, &changed, 2, &allocator, &id);
        assert_int_equal(counter.live_count, 0);
        if (status == KAZEIA_OK) {
            expect_program(made->path, &changed, id);
            break;
        }
        assert_int_equal(status, KAZEIA_OUT_OF_MEMORY);
        expect_program(made->path, &made->sample, old_id);
        assert_int_equal(scratch_count(&made->folder), 3);
        failures++;
    }
    assert_true(failures > 20);
    sample_program_clear(&changed);
}

static void failed_allocations_of_the_reader(void **state) {
    fixture *made = *state;
    (void)must_write(made->path, &made->sample, 3);
    for (size_t calls = 0;; calls++) {
        counting_allocator counter;
        const kazeia_allocator allocator = counting_allocator_make(&counter, calls);
        kz_program_file *file = NULL;
        const kazeia_status status = kz_program_file_open(made->path, &allocator, &file);
        kz_program_file_close(file);
        assert_int_equal(counter.live_count, 0);
        if (status == KAZEIA_OK) {
            assert_true(calls > 10);
            break;
        }
        assert_int_equal(status, KAZEIA_OUT_OF_MEMORY);
    }
}

// --- What may be wrong beside a program ---------------------------------------------------------

static void wrong_shards_are_named(void **state) {
    fixture *made = *state;
    char first[SCRATCH_PATH_BYTES];
    char second[SCRATCH_PATH_BYTES];
    char aside[SCRATCH_PATH_BYTES];
    const uint64_t id = must_write(made->path, &made->sample, 2);
    shard_path(made, "voice", id, 1, 2, first);
    shard_path(made, "voice", id, 2, 2, second);
    scratch_name(&made->folder, "aside", aside);
    assert_int_equal(rename(second, aside), 0);
    expect_refusal(made->path, KAZEIA_NOT_FOUND, kz_path_name(second));
    assert_int_equal(link(first, second), 0);
    expect_refusal(made->path, KAZEIA_BAD_FILE, "it is file 1 of 2, expected 2 of 2");
    assert_int_equal(unlink(second), 0);
    assert_int_equal(link(made->path, second), 0);
    expect_refusal(made->path, KAZEIA_BAD_FILE, "not those of a weights file");
    assert_int_equal(unlink(second), 0);
    assert_int_equal(rename(aside, second), 0);
    flip_byte(second, 33);
    expect_refusal(made->path, KAZEIA_BAD_FILE, "its header is damaged");
    flip_byte(second, 33);
    assert_int_equal(truncate(second, 5000), 0);
    expect_refusal(made->path, KAZEIA_BAD_FILE, "it has 5000 bytes");
    assert_int_equal(truncate(second, 100), 0);
    expect_refusal(made->path, KAZEIA_BAD_FILE, "not those of a weights file");
    assert_int_equal(truncate(second, 0), 0);
    expect_refusal(made->path, KAZEIA_BAD_FILE, kz_path_name(second));
}

static void stale_shards_are_named(void **state) {
    fixture *made = *state;
    char own[SCRATCH_PATH_BYTES];
    char other[SCRATCH_PATH_BYTES];
    const uint64_t id = must_write(made->path, &made->sample, 2);
    made->sample.weights[0]++;
    scratch_name(&made->folder, "other.kzp", other);
    const uint64_t other_id = must_write(other, &made->sample, 2);
    shard_path(made, "voice", id, 1, 2, own);
    shard_path(made, "other", other_id, 1, 2, other);
    assert_int_equal(rename(other, own), 0);
    expect_refusal(made->path, KAZEIA_BAD_FILE, "it belongs to program");
}

static void damaged_weights_are_found_by_verify(void **state) {
    fixture *made = *state;
    char shard[SCRATCH_PATH_BYTES];
    for (uint32_t shards = 1; shards <= 2; shards++) {
        kz_program_file *file = NULL;
        const uint64_t id = must_write(made->path, &made->sample, shards);
        shard_path(made, "voice", id, 2, 2, shard);
        flip_byte(shards == 1 ? made->path : shard, 4096 + 1000);
        assert_int_equal(kz_program_file_open(made->path, NULL, &file), KAZEIA_OK);
        assert_int_equal(kz_program_file_verify(file), KAZEIA_BAD_FILE);
        assert_non_null(strstr(kazeia_last_error(), "checksum"));
        kz_program_file_close(file);
    }
    kz_program_file *file = NULL;
    const uint64_t id = must_write(made->path, &made->sample, 2);
    shard_path(made, "voice", id, 2, 2, shard);
    flip_byte(shard, 2000); // between header and weights
    assert_int_equal(kz_program_file_open(made->path, NULL, &file), KAZEIA_OK);
    assert_int_equal(kz_program_file_verify(file), KAZEIA_BAD_FILE);
    kz_program_file_close(file);
}

// Replaces the first shard's name by one of equal length, and mends all checksums.
static void put_shard_name(const char *path, const char *name) {
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    uint8_t *place = memmem(bytes, count, "voice.", 6);
    assert_non_null(place);
    memcpy(place, name, strlen(name));
    assert_true(program_image_mend(bytes, count));
    assert_int_equal(kz_file_write_whole(path, bytes, count), KAZEIA_OK);
}

static void only_plain_names_are_followed(void **state) {
    fixture *made = *state;
    static const char *const names[] = {"../up/", "/etc/p", ".hidde"};
    for (size_t i = 0; i < 3; i++) {
        (void)must_write(made->path, &made->sample, 2);
        put_shard_name(made->path, names[i]);
        expect_refusal(made->path, KAZEIA_BAD_FILE, "is no name of a weights file");
    }
    (void)must_write(made->path, &made->sample, 2);
    put_shard_name(made->path, "v\x1b[2J.");
    expect_refusal(made->path, KAZEIA_BAD_FILE, "byte 1 is a control character");
    kz_program_file *file = NULL;
    assert_int_equal(kz_program_file_open(made->folder.path, NULL, &file), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), made->folder.path));
}

#define FILE_TEST(test) cmocka_unit_test_setup_teardown(test, make_fixture, clear_fixture)

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(a_file_equals_the_image_in_memory),
        FILE_TEST(shards_hold_about_equal_shares),
        FILE_TEST(only_own_old_shards_are_removed),
        FILE_TEST(misuse_leaves_nothing),
        FILE_TEST(failed_allocations_keep_the_old_program),
        FILE_TEST(failed_allocations_of_the_reader),
        FILE_TEST(wrong_shards_are_named),
        FILE_TEST(stale_shards_are_named),
        FILE_TEST(damaged_weights_are_found_by_verify),
        FILE_TEST(only_plain_names_are_followed),
        FILE_TEST(shards_lie_beside_the_program), // changes the working folder: last
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
