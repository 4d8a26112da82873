// test_file_write.c: files appear whole or not at all, whatever happens to their writer.
//
// Kills are real: a child process writes, and SIGKILL ends it. What the parent then finds must be
// the old file or the new one, and the leftovers must go away on request.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_map.h"
#include "base/file_system.h"
#include "base/file_write.h"
#include "base/os.h"
#include "scratch.h"

enum { PIECE_BYTES = 100 * 1000, PIECE_COUNT = 12, KILL_ROUNDS = 40 };

typedef struct write_case {
    scratch_folder folder;
    char path[SCRATCH_PATH_BYTES];
} write_case;

static int set_up(void **state) {
    write_case *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL) {
        return -1;
    }
    scratch_create(&fixture->folder);
    scratch_name(&fixture->folder, "out.bin", fixture->path);
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    write_case *fixture = *state;
    scratch_remove(&fixture->folder);
    free(fixture);
    return 0;
}

static void check_file(const char *path, const void *expected, size_t count) {
    kz_file_map map;
    assert_int_equal(kz_file_map_open(path, &map), KAZEIA_OK);
    assert_int_equal(map.size, count);
    if (count > 0) {
        assert_memory_equal(map.bytes, expected, count);
    }
    kz_file_map_close(&map);
}

static void put_empty_file(const write_case *fixture, const char *name) {
    char path[SCRATCH_PATH_BYTES];
    scratch_name(&fixture->folder, name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void test_nothing_appears_before_commit(void **state) {
    write_case *fixture = *state;
    kz_file_writer *writer = NULL;
    assert_int_equal(kz_file_writer_create(fixture->path, NULL, &writer), KAZEIA_OK);
    assert_int_equal(kz_file_writer_append(writer, "abc", 3), KAZEIA_OK);
    assert_int_equal(kz_file_writer_flush(writer), KAZEIA_OK);
    assert_int_equal(kz_path_query(fixture->path, NULL), KZ_PATH_MISSING);
    assert_int_equal(kz_file_writer_append(writer, "def", 3), KAZEIA_OK);
    assert_int_equal(kz_file_writer_commit(writer), KAZEIA_OK);
    check_file(fixture->path, "abcdef", 6);
    assert_int_equal(scratch_count(&fixture->folder), 1);
}

static void test_abandon_keeps_the_old_file(void **state) {
    write_case *fixture = *state;
    kz_file_writer *writer = NULL;
    assert_int_equal(kz_file_write_whole(fixture->path, "old", 3), KAZEIA_OK);
    assert_int_equal(kz_file_writer_create(fixture->path, NULL, &writer), KAZEIA_OK);
    assert_int_equal(kz_file_writer_append(writer, "newer", 5), KAZEIA_OK);
    assert_int_equal(scratch_count(&fixture->folder), 2);
    kz_file_writer_abandon(writer);
    kz_file_writer_abandon(NULL);
    check_file(fixture->path, "old", 3);
    assert_int_equal(scratch_count(&fixture->folder), 1);
}

// Lengths around the writer's buffer, patches in and before it, compared with a copy in memory.
static void test_appends_and_patches_land_where_they_should(void **state) {
    write_case *fixture = *state;
    enum { LONGEST = 5 * 1000 * 1000, ROUNDS = 60 };
    const kazeia_allocator allocator = kz_allocator_or_default(NULL);
    void *memory = NULL;
    size_t size = 0;
    uint32_t random = 12345;
    kz_file_writer *writer = NULL;
    assert_int_equal(kz_alloc(&allocator, (size_t)LONGEST * ROUNDS / 3, 1, "a test", &memory),
                     KAZEIA_OK);
    unsigned char *copy = memory;
    assert_int_equal(kz_file_writer_create(fixture->path, &allocator, &writer), KAZEIA_OK);
    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1664525u + 1013904223u;
        const size_t count = round % 4 == 0 ? random % LONGEST : random % 3000u;
        memset(copy + size, round + 1, count);
        assert_int_equal(kz_file_writer_append(writer, copy + size, count), KAZEIA_OK);
        size += count;
        assert_true(kz_file_writer_offset(writer) == size);
        random = random * 1664525u + 1013904223u;
        const size_t at = size > 500 ? random % (size - 500) : 0;
        const size_t patched = size > 500 ? 500 : size;
        const size_t place = round % 2 == 0 ? at : size - patched;
        memset(copy + place, 100 + round, patched);
        assert_int_equal(kz_file_writer_patch(writer, place, copy + place, patched), KAZEIA_OK);
    }
    assert_int_equal(kz_file_writer_commit(writer), KAZEIA_OK);
    check_file(fixture->path, copy, size);
    kz_free(&allocator, copy);
}

static void test_patches_stay_inside(void **state) {
    write_case *fixture = *state;
    kz_file_writer *writer = NULL;
    assert_int_equal(kz_file_writer_create(fixture->path, NULL, &writer), KAZEIA_OK);
    assert_int_equal(kz_file_writer_append(writer, "12345", 5), KAZEIA_OK);
    assert_int_equal(kz_file_writer_patch(writer, 3, "xyz", 3), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_file_writer_patch(writer, UINT64_MAX, "x", 1), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_file_writer_patch(writer, 5, "", 0), KAZEIA_OK);
    assert_int_equal(kz_file_writer_patch(writer, 3, "xy", 2), KAZEIA_OK);
    assert_int_equal(kz_file_writer_commit(writer), KAZEIA_OK);
    check_file(fixture->path, "123xy", 5);
}

static void test_alignment_fills_with_zeros(void **state) {
    write_case *fixture = *state;
    static unsigned char expected[3 * 4096 + 1];
    kz_file_writer *writer = NULL;
    assert_int_equal(kz_file_writer_create(fixture->path, NULL, &writer), KAZEIA_OK);
    assert_int_equal(kz_file_writer_align(writer, 64), KAZEIA_OK);
    assert_true(kz_file_writer_offset(writer) == 0);
    assert_int_equal(kz_file_writer_append(writer, "x", 1), KAZEIA_OK);
    assert_int_equal(kz_file_writer_align(writer, (size_t)3 * 4096), KAZEIA_OK);
    assert_int_equal(kz_file_writer_align(writer, 4096), KAZEIA_OK);
    assert_true(kz_file_writer_offset(writer) == 3 * 4096);
    assert_int_equal(kz_file_writer_append(writer, "y", 1), KAZEIA_OK);
    assert_int_equal(kz_file_writer_commit(writer), KAZEIA_OK);
    expected[0] = 'x';
    expected[3 * 4096] = 'y';
    check_file(fixture->path, expected, sizeof expected);
}

static void check_refused(const char *path, kazeia_status expected) {
    kz_file_writer *writer = NULL;
    assert_int_equal(kz_file_writer_create(path, NULL, &writer), expected);
    assert_null(writer);
    assert_non_null(strstr(kazeia_last_error(), path));
}

static void test_impossible_targets_are_refused(void **state) {
    write_case *fixture = *state;
    char path[SCRATCH_PATH_BYTES];
    scratch_name(&fixture->folder, "missing/out", path);
    check_refused(path, KAZEIA_NOT_FOUND);
    check_refused(fixture->folder.path, KAZEIA_BAD_ARGUMENT);
    check_refused("/dev/null", KAZEIA_BAD_ARGUMENT);
    check_refused("", KAZEIA_BAD_ARGUMENT);
    put_empty_file(fixture, "file");
    scratch_name(&fixture->folder, "file/out", path);
    check_refused(path, KAZEIA_NOT_FOUND);
    char long_name[300];
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    scratch_name(&fixture->folder, long_name, path);
    check_refused(path, KAZEIA_BAD_ARGUMENT);
    assert_int_equal(scratch_count(&fixture->folder), 1);
}

static void test_every_refused_allocation_leaves_nothing(void **state) {
    write_case *fixture = *state;
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    size_t calls_left = 0;
    while (status != KAZEIA_OK) {
        counting_allocator counter;
        const kazeia_allocator allocator = counting_allocator_make(&counter, calls_left++);
        kz_file_writer *writer = NULL;
        status = kz_file_writer_create(fixture->path, &allocator, &writer);
        if (status == KAZEIA_OK) {
            const size_t calls_at_open = counter.call_count;
            assert_int_equal(kz_file_writer_append(writer, "abc", 3), KAZEIA_OK);
            assert_int_equal(kz_file_writer_commit(writer), KAZEIA_OK);
            assert_int_equal(counter.call_count, calls_at_open);
        } else {
            assert_int_equal(status, KAZEIA_OUT_OF_MEMORY);
            assert_int_equal(scratch_count(&fixture->folder), 0);
        }
        assert_int_equal(counter.live_count, 0);
    }
    assert_true(calls_left > 2);
}

// The system's limit on file sizes stands in for a full disk: the write fails half way.
static void test_a_failed_write_cannot_be_committed(void **state) {
    write_case *fixture = *state;
    static unsigned char bytes[3 * 1000 * 1000];
    struct rlimit old_limit;
    kz_file_writer *writer = NULL;
    assert_int_equal(kz_file_write_whole(fixture->path, "old", 3), KAZEIA_OK);
    assert_int_equal(kz_file_writer_create(fixture->path, NULL, &writer), KAZEIA_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
    const struct rlimit limit = {500 * 1000, old_limit.rlim_max};
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const kazeia_status status = kz_file_writer_append(writer, bytes, sizeof bytes);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    (void)signal(SIGXFSZ, old_handler);
    assert_int_equal(status, KAZEIA_IO);
    assert_non_null(strstr(kazeia_last_error(), fixture->path));
    assert_int_equal(kz_file_writer_append(writer, "x", 1), KAZEIA_IO);
    assert_int_equal(kz_file_writer_commit(writer), KAZEIA_IO);
    check_file(fixture->path, "old", 3);
    assert_int_equal(scratch_count(&fixture->folder), 1);
}

static void test_a_full_disk_is_called_by_its_name(void **state) {
    (void)state;
    assert_int_equal(kz_os_fail(ENOSPC, "write", "a/b.kzp"), KAZEIA_IO);
    assert_non_null(strstr(kazeia_last_error(), "a/b.kzp"));
    assert_non_null(strstr(kazeia_last_error(), "no space left"));
    assert_int_equal(kz_os_fail(9999, "write", "a/b.kzp"), KAZEIA_IO);
    assert_non_null(strstr(kazeia_last_error(), "9999"));
}

// Writes the new file once: PIECE_COUNT pieces that each hold one letter.
static kazeia_status write_pieces(const char *path) {
    static char piece[PIECE_BYTES];
    kz_file_writer *writer = NULL;
    KZ_TRY(kz_file_writer_create(path, NULL, &writer));
    for (int i = 0; i < PIECE_COUNT; i++) {
        memset(piece, 'a' + i, sizeof piece);
        KZ_TRY(kz_file_writer_append(writer, piece, sizeof piece));
    }
    return kz_file_writer_commit(writer);
}

static bool is_new_file(const kz_file_map *map) {
    if (map->size != (size_t)PIECE_BYTES * PIECE_COUNT) {
        return false;
    }
    for (size_t i = 0; i < map->size; i++) {
        if (map->bytes[i] != 'a' + i / PIECE_BYTES) {
            return false;
        }
    }
    return true;
}

// A child that writes until it is killed.
static pid_t start_endless_writer(const char *path) {
    const pid_t child = fork();
    if (child == 0) {
        while (write_pieces(path) == KAZEIA_OK) {
        }
        _exit(1);
    }
    return child;
}

static void kill_and_wait(pid_t child) {
    int status = 0;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void test_a_kill_at_any_moment_leaves_a_whole_file(void **state) {
    write_case *fixture = *state;
    size_t leftover_count = 0;
    for (int round = 0; round < KILL_ROUNDS; round++) {
        assert_int_equal(kz_file_write_whole(fixture->path, "old", 3), KAZEIA_OK);
        const pid_t child = start_endless_writer(fixture->path);
        assert_true(child > 0);
        (void)usleep((useconds_t)(round * 500));
        kill_and_wait(child);
        kz_file_map map;
        assert_int_equal(kz_file_map_open(fixture->path, &map), KAZEIA_OK);
        const bool is_old = map.size == 3 && memcmp(map.bytes, "old", 3) == 0;
        assert_true(is_old || is_new_file(&map));
        kz_file_map_close(&map);
        leftover_count += scratch_count(&fixture->folder) - 1;
        kz_file_remove_stale_temporaries(fixture->path);
        assert_int_equal(scratch_count(&fixture->folder), 1);
    }
    assert_true(leftover_count > 0); // else no kill fell into a write
}

// The child says when it is in the middle, so this kill is certain to hit a half-written file.
static void test_a_kill_in_the_middle_leaves_the_old_file(void **state) {
    write_case *fixture = *state;
    int ends[2];
    char word = 0;
    assert_int_equal(kz_file_write_whole(fixture->path, "old", 3), KAZEIA_OK);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        kz_file_writer *writer = NULL;
        const bool is_written = kz_file_writer_create(fixture->path, NULL, &writer) == KAZEIA_OK &&
                                kz_file_writer_append(writer, "half", 4) == KAZEIA_OK &&
                                kz_file_writer_flush(writer) == KAZEIA_OK;
        (void)!write(ends[1], is_written ? "y" : "n", 1);
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(ends[0], &word, 1), 1);
    assert_int_equal(word, 'y');
    // A live writer's file is left alone.
    kz_file_remove_stale_temporaries(fixture->path);
    assert_int_equal(scratch_count(&fixture->folder), 2);
    kill_and_wait(child);
    check_file(fixture->path, "old", 3);
    assert_int_equal(scratch_count(&fixture->folder), 2);
    kz_file_remove_stale_temporaries(fixture->path);
    assert_int_equal(scratch_count(&fixture->folder), 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_only_leftovers_of_the_path_are_removed(void **state) {
    write_case *fixture = *state;
    char own[64];
    snprintf(own, sizeof own, "out.bin.tmp-%ld-7", (long)getpid());
    const char *stale[] = {"out.bin.tmp-999999999-0", "out.bin.tmp-1-12", own};
    const char *kept[] = {"out.bin",         "out.bin.tmp-",       "out.bin.tmp-12",
                          "out.bin.tmp-x-1", "out.bin.tmp-12-",    "out.bin.tmp-12-3.bak",
                          "out.bin.tmp-0-1", "other.bin.tmp-12-0", "out.bin.tmp-12345678901-0"};
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++) {
        put_empty_file(fixture, stale[i]);
    }
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        put_empty_file(fixture, kept[i]);
    }
    kz_file_remove_stale_temporaries(fixture->path);
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++) {
        char path[SCRATCH_PATH_BYTES];
        scratch_name(&fixture->folder, stale[i], path);
        assert_int_equal(kz_path_query(path, NULL), KZ_PATH_MISSING);
    }
    assert_int_equal(scratch_count(&fixture->folder), sizeof kept / sizeof kept[0]);
}

static void test_writers_of_one_path_do_not_meet(void **state) {
    write_case *fixture = *state;
    kz_file_writer *first = NULL;
    kz_file_writer *second = NULL;
    assert_int_equal(kz_file_writer_create(fixture->path, NULL, &first), KAZEIA_OK);
    assert_int_equal(kz_file_writer_create(fixture->path, NULL, &second), KAZEIA_OK);
    assert_int_equal(kz_file_writer_append(first, "first", 5), KAZEIA_OK);
    assert_int_equal(kz_file_writer_append(second, "second", 6), KAZEIA_OK);
    kz_file_remove_stale_temporaries(fixture->path);
    assert_int_equal(kz_file_writer_commit(second), KAZEIA_OK);
    check_file(fixture->path, "second", 6);
    assert_int_equal(kz_file_writer_commit(first), KAZEIA_OK);
    check_file(fixture->path, "first", 5);
    assert_int_equal(scratch_count(&fixture->folder), 1);
}

// The target is the folder that was meant at creation, whatever the working folder is later.
static void test_a_change_of_folder_does_not_move_the_target(void **state) {
    write_case *fixture = *state;
    char *old_folder = getcwd(NULL, 0);
    kz_file_writer *writer = NULL;
    assert_non_null(old_folder);
    assert_int_equal(chdir(fixture->folder.path), 0);
    assert_int_equal(kz_file_writer_create("out.bin", NULL, &writer), KAZEIA_OK);
    assert_int_equal(chdir(old_folder), 0);
    assert_int_equal(kz_file_writer_append(writer, "x", 1), KAZEIA_OK);
    assert_int_equal(kz_file_writer_commit(writer), KAZEIA_OK);
    check_file(fixture->path, "x", 1);
    free(old_folder);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_nothing_appears_before_commit),
        WITH_FOLDER(test_abandon_keeps_the_old_file),
        WITH_FOLDER(test_appends_and_patches_land_where_they_should),
        WITH_FOLDER(test_patches_stay_inside),
        WITH_FOLDER(test_alignment_fills_with_zeros),
        WITH_FOLDER(test_impossible_targets_are_refused),
        WITH_FOLDER(test_every_refused_allocation_leaves_nothing),
        WITH_FOLDER(test_a_failed_write_cannot_be_committed),
        cmocka_unit_test(test_a_full_disk_is_called_by_its_name),
        WITH_FOLDER(test_a_kill_at_any_moment_leaves_a_whole_file),
        WITH_FOLDER(test_a_kill_in_the_middle_leaves_the_old_file),
        WITH_FOLDER(test_only_leftovers_of_the_path_are_removed),
        WITH_FOLDER(test_writers_of_one_path_do_not_meet),
        WITH_FOLDER(test_a_change_of_folder_does_not_move_the_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
