// test_text_buffer.c: growth, limits and failures of text_buffer.h.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/text_buffer.h"
#include "scratch.h"

static void check_text(const kz_text_buffer *buffer, const char *expected) {
    assert_int_equal(buffer->count, strlen(expected));
    assert_string_equal(buffer->bytes, expected);
}

static void test_pieces_are_joined(void **state) {
    (void)state;
    kz_text_buffer buffer;
    assert_int_equal(kz_text_buffer_init(&buffer, NULL, 0, 1000), KAZEIA_OK);
    check_text(&buffer, "");
    assert_int_equal(kz_text_buffer_append(&buffer, "abcdef", 3), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append_string(&buffer, "-é-"), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append_format(&buffer, "%d/%s", 42, "x"), KAZEIA_OK);
    check_text(&buffer, "abc-é-42/x");
    kz_text_buffer_drop_front(&buffer, 4);
    check_text(&buffer, "é-42/x");
    kz_text_buffer_drop_front(&buffer, 0);
    check_text(&buffer, "é-42/x");
    kz_text_buffer_drop_front(&buffer, 100);
    check_text(&buffer, "");
    assert_int_equal(kz_text_buffer_append(&buffer, NULL, 0), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append_string(&buffer, "again"), KAZEIA_OK);
    kz_text_buffer_reset(&buffer);
    check_text(&buffer, "");
    kz_text_buffer_clear(&buffer);
}

static void test_bytes_may_be_zero(void **state) {
    (void)state;
    kz_text_buffer buffer;
    assert_int_equal(kz_text_buffer_init(&buffer, NULL, 0, 10), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append(&buffer, "a\0b", 3), KAZEIA_OK);
    assert_int_equal(buffer.count, 3);
    assert_memory_equal(buffer.bytes, "a\0b", 4);
    kz_text_buffer_clear(&buffer);
}

static void test_the_limit_is_kept_exactly(void **state) {
    (void)state;
    kz_text_buffer buffer;
    assert_int_equal(kz_text_buffer_init(&buffer, NULL, 3, 10), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append_string(&buffer, "123456"), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append_string(&buffer, "78901"), KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(kz_text_buffer_append_format(&buffer, "%05d", 7), KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(kz_text_buffer_append(&buffer, "x", SIZE_MAX), KAZEIA_OUT_OF_MEMORY);
    check_text(&buffer, "123456");
    assert_int_equal(kz_text_buffer_append_format(&buffer, "%04d", 7), KAZEIA_OK);
    check_text(&buffer, "1234560007");
    assert_int_equal(buffer.capacity, 10);
    assert_int_equal(kz_text_buffer_append_string(&buffer, "x"), KAZEIA_OUT_OF_MEMORY);
    assert_non_null(strstr(kazeia_last_error(), "10"));
    kz_text_buffer_clear(&buffer);
}

static void test_a_reserved_buffer_never_allocates(void **state) {
    (void)state;
    counting_allocator counter;
    const kazeia_allocator allocator = counting_allocator_make(&counter, 1);
    kz_text_buffer buffer;
    assert_int_equal(kz_text_buffer_init(&buffer, &allocator, 100, 100), KAZEIA_OK);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 10; i++) {
            assert_int_equal(kz_text_buffer_append_format(&buffer, "%010d", i), KAZEIA_OK);
        }
        kz_text_buffer_drop_front(&buffer, 100);
    }
    assert_int_equal(counter.call_count, 1);
    kz_text_buffer_clear(&buffer);
    assert_int_equal(counter.live_count, 0);
}

static void test_growth_is_seldom(void **state) {
    (void)state;
    counting_allocator counter;
    const kazeia_allocator allocator = counting_allocator_make(&counter, 1000);
    kz_text_buffer buffer;
    assert_int_equal(kz_text_buffer_init(&buffer, &allocator, 0, SIZE_MAX), KAZEIA_OK);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(kz_text_buffer_append(&buffer, "x", 1), KAZEIA_OK);
    }
    assert_true(counter.call_count < 20);
    assert_int_equal(buffer.count, 100000);
    kz_text_buffer_clear(&buffer);
    assert_int_equal(counter.live_count, 0);
}

static void test_refused_memory_changes_nothing(void **state) {
    (void)state;
    counting_allocator counter;
    kazeia_allocator allocator = counting_allocator_make(&counter, 0);
    kz_text_buffer buffer;
    assert_int_equal(kz_text_buffer_init(&buffer, &allocator, 4, 100), KAZEIA_OUT_OF_MEMORY);
    kz_text_buffer_clear(&buffer);
    allocator = counting_allocator_make(&counter, 1);
    assert_int_equal(kz_text_buffer_init(&buffer, &allocator, 4, 100), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append_string(&buffer, "abcd"), KAZEIA_OK);
    assert_int_equal(kz_text_buffer_append_string(&buffer, "e"), KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(kz_text_buffer_append_format(&buffer, "%s", "e"), KAZEIA_OUT_OF_MEMORY);
    check_text(&buffer, "abcd");
    kz_text_buffer_clear(&buffer);
    kz_text_buffer_clear(&buffer);
    assert_int_equal(counter.live_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_joined),
        cmocka_unit_test(test_bytes_may_be_zero),
        cmocka_unit_test(test_the_limit_is_kept_exactly),
        cmocka_unit_test(test_a_reserved_buffer_never_allocates),
        cmocka_unit_test(test_growth_is_seldom),
        cmocka_unit_test(test_refused_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
