// test_library.c: shared libraries are opened, searched and closed; what is missing is named.
//
// The C library's mathematics part is there on every machine that can run this test.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/library.h"

static void test_a_function_is_found_and_runs(void **state) {
    (void)state;
    kz_library library = {NULL};
    void *address = NULL;
    double (*root)(double) = NULL;
    assert_int_equal(kz_library_open("libm.so.6", &library), KAZEIA_OK);
    assert_int_equal(kz_library_find(&library, "sqrt", &address), KAZEIA_OK);
    memcpy(&root, &address, sizeof root);
    assert_true(root(144.0) == 12.0);
    assert_int_equal(kz_library_find(&library, "kazeia_no_such_function", &address),
                     KAZEIA_NOT_FOUND);
    assert_non_null(strstr(kazeia_last_error(), "kazeia_no_such_function"));
    kz_library_close(&library);
    assert_null(library.native);
    kz_library_close(&library);
}

static void test_a_missing_library_is_named(void **state) {
    (void)state;
    kz_library library = {NULL};
    assert_int_equal(kz_library_open("libkazeia-no-such.so.1", &library), KAZEIA_NOT_FOUND);
    assert_non_null(strstr(kazeia_last_error(), "libkazeia-no-such.so.1"));
    assert_null(library.native);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_is_found_and_runs),
        cmocka_unit_test(test_a_missing_library_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
