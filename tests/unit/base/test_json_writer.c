// test_json_writer.c: JSON text as json_writer.h promises it.
//
// in:  values
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/json_writer.h"

static void values_are_separated_and_named(void **state) {
    (void)state;
    kz_text_buffer text;
    kz_json_writer json;
    assert_int_equal(kz_text_buffer_init(&text, NULL, 0, 4096), KAZEIA_OK);
    kz_json_writer_init(&json, &text);
    kz_json_begin_object(&json, NULL);
    kz_json_begin_array(&json, "empty");
    kz_json_end_array(&json);
    kz_json_begin_array(&json, "numbers");
    kz_json_put_integer(&json, NULL, INT64_MIN);
    kz_json_put_unsigned(&json, NULL, UINT64_MAX);
    kz_json_put_real(&json, NULL, 0.1);
    kz_json_put_real(&json, NULL, -2.5e300);
    kz_json_put_real(&json, NULL, NAN);
    kz_json_begin_object(&json, NULL);
    kz_json_end_object(&json);
    kz_json_end_array(&json);
    kz_json_put_bool(&json, "is", true);
    kz_json_put_string(&json, "none", NULL);
    kz_json_end_object(&json);
    assert_int_equal(json.status, KAZEIA_OK);
    assert_string_equal(text.bytes, "{\"empty\":[],\"numbers\":[-9223372036854775808,"
                                    "18446744073709551615,0.1,-2.5e+300,null,{}],\"is\":true,"
                                    "\"none\":null}");
    kz_text_buffer_clear(&text);
}

static void check_string(const char *bytes, size_t count, const char *expected) {
    kz_text_buffer text;
    kz_json_writer json;
    assert_int_equal(kz_text_buffer_init(&text, NULL, 0, 4096), KAZEIA_OK);
    kz_json_writer_init(&json, &text);
    kz_json_put_string_bytes(&json, NULL, bytes, count);
    assert_int_equal(json.status, KAZEIA_OK);
    assert_string_equal(text.bytes, expected);
    kz_text_buffer_clear(&text);
}

static void strings_are_escaped_and_made_whole(void **state) {
    (void)state;
    check_string("a\"b\\c\n\x01\x7f", 8, "\"a\\\"b\\\\c\\n\\u0001\\u007f\"");
    check_string("a\0b", 3, "\"a\\u0000b\"");
    check_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
                 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    // Cut short, overlong, a surrogate, above U+10FFFF, a lone continuation.
    check_string("x\xc3", 2, "\"x\xef\xbf\xbd\"");
    check_string("\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_string("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    check_string("\xf5\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_string("\xbf-", 2, "\"\xef\xbf\xbd-\"");
}

static void the_first_failure_is_kept(void **state) {
    (void)state;
    kz_text_buffer text;
    kz_json_writer json;
    assert_int_equal(kz_text_buffer_init(&text, NULL, 0, 4), KAZEIA_OK);
    kz_json_writer_init(&json, &text);
    kz_json_begin_array(&json, NULL);
    kz_json_put_string(&json, NULL, "too long");
    kz_json_put_bool(&json, NULL, true);
    assert_int_not_equal(json.status, KAZEIA_OK);
    assert_true(text.count <= 4);
    kz_text_buffer_clear(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_separated_and_named),
        cmocka_unit_test(strings_are_escaped_and_made_whole),
        cmocka_unit_test(the_first_failure_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
