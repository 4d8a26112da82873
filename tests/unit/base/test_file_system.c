// test_file_system.c: paths, folder listings and mapped files.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_map.h"
#include "base/file_system.h"
#include "base/file_write.h"
#include "scratch.h"

static void check_join(const char *folder, const char *name, const char *expected) {
    kz_text_buffer path;
    assert_int_equal(kz_text_buffer_init(&path, NULL, 0, 100), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append_string(&path, "old"), KAZEIA_OK);
    assert_int_equal(kz_path_join(folder, name, &path), KAZEIA_OK);
    assert_string_equal(path.bytes, expected);
    kz_text_buffer_clear(&path);
}

static void test_paths_are_joined_and_named(void **state) {
    (void)state;
    check_join("a", "b", "a/b");
    check_join("a/", "b", "a/b");
    check_join("/", "b", "/b");
    check_join("", "b", "b");
    assert_string_equal(kz_path_name("/a/b.c"), "b.c");
    assert_string_equal(kz_path_name("b.c"), "b.c");
    assert_string_equal(kz_path_name("a/"), "");
}

static void test_kinds_are_told_apart(void **state) {
    (void)state;
    scratch_folder folder;
    char path[SCRATCH_PATH_BYTES];
    uint64_t size = 99;
    scratch_create(&folder);
    scratch_name(&folder, "file", path);
    assert_int_equal(kz_path_query(path, &size), KZ_PATH_MISSING);
    assert_int_equal(size, 0);
    assert_int_equal(kz_file_write_whole(path, "12345", 5), KAZEIA_OK);
    assert_int_equal(kz_path_query(path, &size), KZ_PATH_FILE);
    assert_int_equal(size, 5);
    assert_int_equal(kz_path_query(folder.path, &size), KZ_PATH_FOLDER);
    assert_int_equal(size, 0);
    assert_int_equal(kz_path_query("/dev/null", NULL), KZ_PATH_OTHER);
    assert_int_equal(kz_file_remove(path), KAZEIA_OK);
    assert_int_equal(kz_file_remove(path), KAZEIA_NOT_FOUND);
    assert_non_null(strstr(kazeia_last_error(), path));
    scratch_remove(&folder);
}

static void test_what_cannot_be_read_is_told(void **state) {
    (void)state;
    scratch_folder folder;
    char path[SCRATCH_PATH_BYTES];
    uint64_t size = 0;
    scratch_create(&folder);
    scratch_name(&folder, "file", path);
    assert_int_equal(kz_path_check_readable(path, &size), KAZEIA_NOT_FOUND);
    assert_non_null(strstr(kazeia_last_error(), path));
    assert_int_equal(kz_file_write_whole(path, "12345", 5), KAZEIA_OK);
    assert_int_equal(kz_path_check_readable(path, &size), KAZEIA_OK);
    assert_int_equal(size, 5);
    if (geteuid() != 0) { // the administrator may read everything
        assert_int_equal(chmod(path, 0), 0);
        assert_int_equal(kz_path_check_readable(path, &size), KAZEIA_IO);
    }
    assert_int_equal(kz_file_remove(path), KAZEIA_OK);
    assert_int_equal(symlink("file", path), 0); // to itself
    assert_int_equal(kz_path_check_readable(path, &size), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "loop"));
    assert_int_equal(kz_path_check_readable(folder.path, &size), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_path_check_readable("/dev/null", &size), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_file_remove(path), KAZEIA_OK);
    scratch_remove(&folder);
}

typedef struct visit_record {
    size_t count;
    size_t stop_at;
    bool saw_dots;
} visit_record;

static kazeia_status record_visit(void *context, const char *name) {
    visit_record *record = context;
    record->count++;
    record->saw_dots = record->saw_dots || name[0] == '.';
    return record->count == record->stop_at ? KAZEIA_CANCELLED : KAZEIA_OK;
}

static void test_folders_are_listed(void **state) {
    (void)state;
    scratch_folder folder;
    char path[SCRATCH_PATH_BYTES];
    scratch_create(&folder);
    const char *names[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++) {
        scratch_name(&folder, names[i], path);
        assert_int_equal(kz_file_write_whole(path, "", 0), KAZEIA_OK);
    }
    visit_record all = {0};
    assert_int_equal(kz_folder_list(folder.path, record_visit, &all), KAZEIA_OK);
    assert_int_equal(all.count, 3);
    assert_false(all.saw_dots);
    visit_record some = {.stop_at = 2};
    assert_int_equal(kz_folder_list(folder.path, record_visit, &some), KAZEIA_CANCELLED);
    assert_int_equal(some.count, 2);
    scratch_remove(&folder);
    assert_int_equal(kz_folder_list(folder.path, record_visit, &all), KAZEIA_NOT_FOUND);
}

static void test_files_are_mapped_whole(void **state) {
    (void)state;
    enum { BYTES = 3 * 4096 + 17 };
    static unsigned char bytes[BYTES];
    scratch_folder folder;
    char path[SCRATCH_PATH_BYTES];
    scratch_create(&folder);
    scratch_name(&folder, "file", path);
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = (unsigned char)(i * 7);
    }
    assert_int_equal(kz_file_write_whole(path, bytes, BYTES), KAZEIA_OK);
    kz_file_map map;
    assert_int_equal(kz_file_map_open(path, &map), KAZEIA_OK);
    assert_int_equal(map.size, BYTES);
    kz_file_map_advise(&map, 100, 5000, true);
    kz_file_map_advise(&map, 4097, SIZE_MAX, false);
    kz_file_map_advise(&map, BYTES, 1, true);
    assert_memory_equal(map.bytes, bytes, BYTES);
    // The mapped file stays whole when another is put in its place.
    assert_int_equal(kz_file_write_whole(path, "new", 3), KAZEIA_OK);
    assert_memory_equal(map.bytes, bytes, BYTES);
    kz_file_map_close(&map);
    assert_null(map.bytes);
    kz_file_map_close(&map);
    scratch_remove(&folder);
}

static void test_an_empty_file_maps_to_nothing(void **state) {
    (void)state;
    scratch_folder folder;
    char path[SCRATCH_PATH_BYTES];
    kz_file_map map;
    scratch_create(&folder);
    scratch_name(&folder, "empty", path);
    assert_int_equal(kz_file_write_whole(path, NULL, 0), KAZEIA_OK);
    assert_int_equal(kz_file_map_open(path, &map), KAZEIA_OK);
    assert_null(map.bytes);
    assert_int_equal(map.size, 0);
    kz_file_map_advise(&map, 0, 1, true);
    kz_file_map_close(&map);
    scratch_remove(&folder);
}

// A pipe without a writer would block a plain open for ever.
static void test_only_files_are_mapped(void **state) {
    (void)state;
    scratch_folder folder;
    char path[SCRATCH_PATH_BYTES];
    kz_file_map map;
    scratch_create(&folder);
    scratch_name(&folder, "pipe", path);
    assert_int_equal(kz_file_map_open(path, &map), KAZEIA_NOT_FOUND);
    assert_non_null(strstr(kazeia_last_error(), path));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(kz_file_map_open(path, &map), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_file_map_open(folder.path, &map), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_file_map_open("/dev/zero", &map), KAZEIA_BAD_ARGUMENT);
    scratch_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_joined_and_named),
        cmocka_unit_test(test_kinds_are_told_apart),
        cmocka_unit_test(test_what_cannot_be_read_is_told),
        cmocka_unit_test(test_folders_are_listed),
        cmocka_unit_test(test_files_are_mapped_whole),
        cmocka_unit_test(test_an_empty_file_maps_to_nothing),
        cmocka_unit_test(test_only_files_are_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
