// test_number_text.c: numbers keep their point in every locale.
//
// in:  texts and numbers; the French locale where the machine has it
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/number_text.h"

static void check_numbers(void) {
    double number = 7.0;
    char text[KZ_NUMBER_BYTES];
    assert_true(kz_number_read("20.5", &number));
    assert_true(number == 20.5);
    assert_true(kz_number_read("-1e3", &number));
    assert_true(number == -1000.0);
    kz_number_write(20.5, 6, text);
    assert_string_equal(text, "20.5");
    kz_number_write(-0.125, 17, text);
    assert_string_equal(text, "-0.125");
    kz_number_write(1e300, 6, text);
    assert_string_equal(text, "1e+300");
}

static void test_plain_locale(void **state) {
    (void)state;
    check_numbers();
}

static void test_comma_locale(void **state) {
    (void)state;
    static const char *const names[] = {"fr_FR.UTF-8", "fr_FR.utf8", "de_DE.UTF-8", "fr_FR"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
        found = setlocale(LC_NUMERIC, names[i]);
    }
    if (!found) {
        print_message("no locale with a decimal comma is installed: skipped\n");
        skip();
    }
    check_numbers();
    (void)setlocale(LC_NUMERIC, "C");
}

static void test_what_is_no_number(void **state) {
    (void)state;
    static const char *const texts[] = {"",     " 1",  "1 ",    "nan", "inf", "0x10", "1,5",
                                        "1.5.", "--1", "1e999", "e5",  ".",   "-",    "12a"};
    char longest[KZ_NUMBER_BYTES + 1];
    double number = 7.0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(kz_number_read(texts[i], &number));
    }
    memset(longest, '1', KZ_NUMBER_BYTES);
    longest[KZ_NUMBER_BYTES] = '\0';
    assert_false(kz_number_read(longest, &number));
    assert_true(number == 7.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain_locale),
                                       cmocka_unit_test(test_comma_locale),
                                       cmocka_unit_test(test_what_is_no_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
