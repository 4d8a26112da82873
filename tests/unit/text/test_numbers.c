// test_numbers.c: numbers put together from the spelled table, their limits, and failing memory.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "../metered_allocator.h"
#include "text/numbers.h"
#include "text/spoken_language.h"

static const struct spelled {
    kz_number_form form;
    uint64_t value;
    const char *words;
} french[] = {
    {KZ_CARDINAL, 0, "zéro"},
    {KZ_CARDINAL, 80, "quatre-vingts"},
    {KZ_CARDINAL, 1000, "mille"},
    {KZ_CARDINAL, 80000, "quatre-vingt-mille"},
    {KZ_CARDINAL, 200201, "deux-cent-mille-deux-cent-un"},
    {KZ_CARDINAL, 1000000, "un million"},
    {KZ_CARDINAL, 80000000, "quatre-vingts millions"},
    {KZ_CARDINAL, 2000000001, "deux milliards un"},
    {KZ_CARDINAL, 999999999999999,
     "neuf-cent-quatre-vingt-dix-neuf billions neuf-cent-quatre-vingt-dix-neuf milliards "
     "neuf-cent-quatre-vingt-dix-neuf millions neuf-cent-quatre-vingt-dix-neuf-mille-neuf-cent-"
     "quatre-vingt-dix-neuf"},
    {KZ_CARDINAL, 1000000000000000, ""},
    {KZ_CARDINAL_FEMININE, 1021, "mille-vingt-et-une"},
    {KZ_ORDINAL, 1, "premier"},
    {KZ_ORDINAL_FEMININE, 1, "première"},
    {KZ_ORDINAL, 81, "quatre-vingt-unième"},
    {KZ_ORDINAL, 91, "quatre-vingt-onzième"},
    {KZ_ORDINAL, 101, "cent-unième"},
    {KZ_ORDINAL, 1000, "millième"},
    {KZ_ORDINAL, 2001, "deux-mille-unième"},
    {KZ_ORDINAL, 1000000, ""},
};

static void test_french(void **state) {
    (void)state;
    kz_numbers *numbers = NULL;
    char words[KZ_NUMBER_BYTES];
    if (!kz_speller_is_built()) {
        assert_int_equal(kz_numbers_create(&kz_spoken_french.numbers, NULL, &numbers),
                         KAZEIA_UNSUPPORTED);
        assert_non_null(strstr(kazeia_last_error(), "libicu-dev"));
        skip();
    }
    assert_int_equal(kz_numbers_create(&kz_spoken_french.numbers, NULL, &numbers), KAZEIA_OK);
    for (size_t i = 0; i < sizeof french / sizeof french[0]; i++) {
        words[0] = '\0';
        const size_t count = kz_numbers_write(numbers, french[i].form, french[i].value, words);
        assert_string_equal(words, french[i].words);
        assert_int_equal(count, strlen(words));
    }
    kz_numbers_destroy(numbers);
}

static void test_unknown_rules(void **state) {
    (void)state;
    kz_number_rules rules = kz_spoken_french.numbers;
    kz_numbers *numbers = NULL;
    rules.rule_sets[KZ_ORDINAL] = "%spellout-nothing";
    if (!kz_speller_is_built()) {
        skip();
    }
    assert_int_equal(kz_numbers_create(&rules, NULL, &numbers), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "%spellout-nothing"));
}

static void test_failing_memory(void **state) {
    (void)state;
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    if (!kz_speller_is_built()) {
        skip();
    }
    for (size_t allowed = 0; status != KAZEIA_OK && allowed < 100; allowed++) {
        metered_allocator meter = {.calls_allowed = allowed};
        const kazeia_allocator allocator = {
            .context = &meter, .allocate = allocate_metered, .release = release_metered};
        kz_numbers *numbers = NULL;
        status = kz_numbers_create(&kz_spoken_french.numbers, &allocator, &numbers);
        if (status == KAZEIA_OK) {
            char words[KZ_NUMBER_BYTES];
            const size_t calls = meter.calls;
            assert_true(kz_numbers_write(numbers, KZ_CARDINAL, 123456789, words) > 0);
            assert_int_equal(meter.calls, calls);
            kz_numbers_destroy(numbers);
        } else {
            assert_int_equal(status, KAZEIA_OUT_OF_MEMORY);
        }
        assert_int_equal(meter.live, 0);
    }
    assert_int_equal(status, KAZEIA_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_french),
        cmocka_unit_test(test_unknown_rules),
        cmocka_unit_test(test_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
