// test_alloc.c: overflow, failure, zeroing and alignment of alloc.h.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "scratch.h"

static void test_products_and_sums_are_checked(void **state) {
    (void)state;
    size_t found = 0;
    assert_true(kz_size_mul(SIZE_MAX, 1, &found));
    assert_true(found == SIZE_MAX);
    assert_true(kz_size_mul(0, SIZE_MAX, &found));
    assert_true(found == 0);
    assert_false(kz_size_mul(SIZE_MAX / 2 + 1, 2, &found));
    assert_true(kz_size_add(SIZE_MAX - 1, 1, &found));
    assert_true(found == SIZE_MAX);
    assert_false(kz_size_add(SIZE_MAX, 1, &found));
}

static void test_overflow_asks_for_nothing(void **state) {
    (void)state;
    counting_allocator counter;
    const kazeia_allocator allocator = counting_allocator_make(&counter, 100);
    void *memory = &counter;
    char *text = NULL;
    assert_int_equal(kz_alloc(&allocator, SIZE_MAX / 4, 5, "tensor table", &memory),
                     KAZEIA_OUT_OF_MEMORY);
    assert_non_null(strstr(kazeia_last_error(), "tensor table"));
    assert_int_equal(kz_alloc_aligned(&allocator, SIZE_MAX - 8, 64, "weights", &memory),
                     KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(kz_copy_string(&allocator, "a", SIZE_MAX, &text), KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(counter.call_count, 0);
    assert_ptr_equal(memory, &counter);
}

static void test_memory_is_zeroed(void **state) {
    (void)state;
    counting_allocator counter;
    const kazeia_allocator own = counting_allocator_make(&counter, 100);
    const kazeia_allocator usual = kz_allocator_or_default(NULL);
    const kazeia_allocator *allocators[] = {&own, &usual};
    for (size_t a = 0; a < 2; a++) {
        void *memory = NULL;
        assert_int_equal(kz_alloc(allocators[a], 100, 7, "a test", &memory), KAZEIA_OK);
        for (size_t i = 0; i < 700; i++) {
            assert_int_equal(((unsigned char *)memory)[i], 0);
        }
        kz_free(allocators[a], memory);
    }
    assert_int_equal(counter.live_count, 0);
}

static void test_no_elements_are_no_failure(void **state) {
    (void)state;
    counting_allocator counter;
    const kazeia_allocator allocator = counting_allocator_make(&counter, 100);
    void *memory = NULL;
    assert_int_equal(kz_alloc(&allocator, 0, 8, "a test", &memory), KAZEIA_OK);
    assert_non_null(memory);
    kz_free(&allocator, memory);
    kz_free(&allocator, NULL);
    kz_free_aligned(&allocator, NULL);
    assert_int_equal(counter.live_count, 0);
}

static void test_every_alignment_is_kept(void **state) {
    (void)state;
    counting_allocator counter;
    const kazeia_allocator allocator = counting_allocator_make(&counter, 100);
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        unsigned char *memory = NULL;
        void *given = NULL;
        assert_int_equal(kz_alloc_aligned(&allocator, 333, alignment, "a test", &given), KAZEIA_OK);
        memory = given;
        assert_int_equal((uintptr_t)memory % alignment, 0);
        for (size_t i = 0; i < 333; i++) {
            assert_int_equal(memory[i], 0);
            memory[i] = 1;
        }
        kz_free_aligned(&allocator, memory);
    }
    assert_int_equal(counter.live_count, 0);
}

static void test_growing_keeps_and_zeroes(void **state) {
    (void)state;
    counting_allocator counter;
    const kazeia_allocator allocator = counting_allocator_make(&counter, 3);
    void *memory = NULL;
    assert_int_equal(kz_realloc(&allocator, 0, 4, sizeof(int), "a test", &memory), KAZEIA_OK);
    for (int i = 0; i < 4; i++) {
        ((int *)memory)[i] = i + 1;
    }
    assert_int_equal(kz_realloc(&allocator, 4, 6, sizeof(int), "a test", &memory), KAZEIA_OK);
    const int grown[] = {1, 2, 3, 4, 0, 0};
    assert_memory_equal(memory, grown, sizeof grown);
    assert_int_equal(kz_realloc(&allocator, 6, 2, sizeof(int), "a test", &memory), KAZEIA_OK);
    assert_memory_equal(memory, grown, 2 * sizeof(int));
    assert_int_equal(counter.live_count, 1);
    void *before = memory;
    assert_int_equal(kz_realloc(&allocator, 2, 9, sizeof(int), "a test", &memory),
                     KAZEIA_OUT_OF_MEMORY);
    assert_ptr_equal(memory, before);
    assert_memory_equal(memory, grown, 2 * sizeof(int));
    kz_free(&allocator, memory);
    assert_int_equal(counter.live_count, 0);
}

static void test_refusal_names_size_and_purpose(void **state) {
    (void)state;
    counting_allocator counter;
    const kazeia_allocator allocator = counting_allocator_make(&counter, 0);
    void *memory = NULL;
    assert_int_equal(kz_alloc(&allocator, 12, 10, "tensor table", &memory), KAZEIA_OUT_OF_MEMORY);
    assert_non_null(strstr(kazeia_last_error(), "tensor table"));
    assert_non_null(strstr(kazeia_last_error(), "120"));
    assert_null(memory);
    assert_int_equal(kz_alloc_aligned(&allocator, 64, 64, "weights", &memory),
                     KAZEIA_OUT_OF_MEMORY);
    assert_null(memory);
}

static void test_strings_are_copied_with_their_end(void **state) {
    (void)state;
    const kazeia_allocator allocator = kz_allocator_or_default(NULL);
    char *copy = NULL;
    assert_int_equal(kz_copy_string(&allocator, "bonjour", 3, &copy), KAZEIA_OK);
    assert_string_equal(copy, "bon");
    kz_free(&allocator, copy);
    assert_int_equal(kz_copy_string(&allocator, NULL, 0, &copy), KAZEIA_OK);
    assert_string_equal(copy, "");
    kz_free(&allocator, copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_and_sums_are_checked),
        cmocka_unit_test(test_overflow_asks_for_nothing),
        cmocka_unit_test(test_memory_is_zeroed),
        cmocka_unit_test(test_no_elements_are_no_failure),
        cmocka_unit_test(test_every_alignment_is_kept),
        cmocka_unit_test(test_growing_keeps_and_zeroes),
        cmocka_unit_test(test_refusal_names_size_and_purpose),
        cmocka_unit_test(test_strings_are_copied_with_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
