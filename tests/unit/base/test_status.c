// test_status.c: the failure sentence: what it lets through, where it is cut, how context is added.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/status.h"

static void test_names_are_those_of_the_list(void **state) {
    (void)state;
    assert_string_equal(kazeia_status_name(KAZEIA_OK), "OK");
    assert_string_equal(kazeia_status_name(KAZEIA_BAD_FILE), "BAD_FILE");
    assert_string_equal(kazeia_status_name(KAZEIA_CANCELLED), "CANCELLED");
    assert_string_equal(kazeia_status_name((kazeia_status)11), "UNKNOWN");
    assert_string_equal(kazeia_status_name((kazeia_status)-1), "UNKNOWN");
}

static void test_the_version_has_three_numbers(void **state) {
    (void)state;
    unsigned major = 0, minor = 0, patch = 0;
    char rest = '\0';
    assert_int_equal(sscanf(kazeia_version(), "%u.%u.%u%c", &major, &minor, &patch, &rest), 3);
}

static void test_a_failure_sets_the_sentence(void **state) {
    (void)state;
    assert_int_equal(kz_fail(KAZEIA_IO, "%s has %d bytes", "x", 7), KAZEIA_IO);
    assert_string_equal(kazeia_last_error(), "x has 7 bytes");
    assert_int_equal(kz_fail(KAZEIA_BUSY, "second"), KAZEIA_BUSY);
    assert_string_equal(kazeia_last_error(), "second");
}

static void test_hostile_bytes_are_shown_as_question_marks(void **state) {
    (void)state;
    static const struct {
        const char *given, *shown;
    } cases[] = {
        {"plain ~", "plain ~"},
        {"été € 😀", "été € 😀"},
        {"a\nb\tc\r\x1b[31m\x7f", "a?b?c??[31m?"},
        {"\x01\x1f", "??"},
        {"\xc2\x80\xc2\x9f\xc2\xa0", "????\xc2\xa0"},  // C1 controls; no-break space is none
        {"\x80 \xbf", "? ?"},                          // continuation without a lead
        {"\xc0\xaf \xc1\xbf", "?? ??"},                // overlong, 2 bytes
        {"\xe0\x9f\xbf \xf0\x8f\xbf\xbf", "??? ????"}, // overlong, 3 and 4 bytes
        {"\xe0\xa0\x80 \xf0\x90\x80\x80", "\xe0\xa0\x80 \xf0\x90\x80\x80"},
        {"\xed\xa0\x80 \xed\x9f\xbf", "??? \xed\x9f\xbf"},              // surrogate
        {"\xf4\x90\x80\x80 \xf4\x8f\xbf\xbf", "???? \xf4\x8f\xbf\xbf"}, // over U+10FFFF
        {"\xf5\x80\x80\x80 \xff\xfe", "???? ??"},
        {"\xc3", "?"}, // cut at the end
        {"\xe2\x82", "??"},
        {"\xf0\x9f\x98", "???"},
        {"\xc3(", "?("},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)kz_fail(KAZEIA_BAD_FILE, "'%s'", cases[i].given);
        char expected[64];
        snprintf(expected, sizeof expected, "'%s'", cases[i].shown);
        assert_string_equal(kazeia_last_error(), expected);
    }
}

// Every sequence of three bytes in UTF-8's interesting ranges leaves a sentence of printable text.
static void test_no_control_byte_ever_passes(void **state) {
    (void)state;
    for (unsigned value = 1; value < 0x10000u; value++) {
        const char text[] = {(char)(value >> 8), (char)(value & 0xffu), 'z', '\0'};
        (void)kz_fail(KAZEIA_BAD_FILE, "%.3s", value >> 8 == 0 ? text + 1 : text);
        for (const char *at = kazeia_last_error(); *at != '\0'; at++) {
            assert_true((unsigned char)*at >= 0x20u && *at != 0x7f);
        }
    }
}

static void test_the_longest_sentence_is_whole(void **state) {
    (void)state;
    char text[KZ_SENTENCE_BYTES + 100];
    memset(text, 'a', sizeof text);
    text[KZ_SENTENCE_BYTES - 1] = '\0';
    (void)kz_fail(KAZEIA_IO, "%s", text);
    assert_string_equal(kazeia_last_error(), text);
}

static void test_a_longer_one_is_cut_at_a_character(void **state) {
    (void)state;
    // Four shifts put the cut at each byte of a 4-byte character.
    for (size_t shift = 0; shift < 4; shift++) {
        char text[2 * KZ_SENTENCE_BYTES] = {0};
        memset(text, 'a', shift);
        for (size_t at = shift; at + 4 < sizeof text; at += 4) {
            memcpy(text + at, "😀", 4);
        }
        (void)kz_fail(KAZEIA_IO, "%s", text);
        const char *found = kazeia_last_error();
        const size_t length = strlen(found);
        assert_true(length < KZ_SENTENCE_BYTES && length >= KZ_SENTENCE_BYTES - 4);
        assert_string_equal(found + length - 3, "...");
        assert_memory_equal(found, text, length - 3);
        assert_int_equal((length - 3 - shift) % 4, 0);
    }
}

static void test_context_goes_in_front(void **state) {
    (void)state;
    (void)kz_fail(KAZEIA_BAD_FILE, "tensor 3 is too long");
    assert_int_equal(kz_fail_context(KAZEIA_BAD_FILE, "model %s", "m.kzp"), KAZEIA_BAD_FILE);
    assert_string_equal(kazeia_last_error(), "model m.kzp: tensor 3 is too long");
    (void)kz_fail_context(KAZEIA_BAD_FILE, "export\n");
    assert_string_equal(kazeia_last_error(), "export?: model m.kzp: tensor 3 is too long");
}

static void test_the_present_sentence_may_be_quoted(void **state) {
    (void)state;
    (void)kz_fail(KAZEIA_IO, "inner");
    (void)kz_fail(KAZEIA_IO, "outer (%s, %s)", kazeia_last_error(), kazeia_last_error());
    assert_string_equal(kazeia_last_error(), "outer (inner, inner)");
    (void)kz_fail_context(KAZEIA_IO, "<%s>", kazeia_last_error());
    assert_string_equal(kazeia_last_error(), "<outer (inner, inner)>: outer (inner, inner)");
}

static void test_context_is_cut_too(void **state) {
    (void)state;
    char text[2 * KZ_SENTENCE_BYTES];
    memset(text, 'b', sizeof text);
    text[sizeof text - 1] = '\0';
    (void)kz_fail(KAZEIA_IO, "%.1000s", text);
    (void)kz_fail_context(KAZEIA_IO, "%.100s", text);
    assert_int_equal(strlen(kazeia_last_error()), KZ_SENTENCE_BYTES - 1);
    assert_string_equal(kazeia_last_error() + KZ_SENTENCE_BYTES - 4, "...");
    (void)kz_fail_context(KAZEIA_IO, "%s", text);
    assert_int_equal(strlen(kazeia_last_error()), KZ_SENTENCE_BYTES - 1);
    assert_string_equal(kazeia_last_error() + KZ_SENTENCE_BYTES - 4, "...");
    // A context and a sentence that fit exactly are not cut.
    (void)kz_fail(KAZEIA_IO, "%.*s", KZ_SENTENCE_BYTES - 1 - 5, text);
    (void)kz_fail_context(KAZEIA_IO, "abc");
    assert_int_equal(strlen(kazeia_last_error()), KZ_SENTENCE_BYTES - 1);
    assert_string_equal(kazeia_last_error() + KZ_SENTENCE_BYTES - 4, "bbb");
}

static kazeia_status fail_by_try(int *steps) {
    *steps = 1;
    KZ_TRY(KAZEIA_OK);
    *steps = 2;
    KZ_TRY(kz_fail(KAZEIA_BUSY, "stop here"));
    *steps = 3;
    return KAZEIA_OK;
}

static kazeia_status fail_by_try_done(int *steps) {
    kazeia_status status = KAZEIA_OK;
    KZ_TRY_DONE(status, fail_by_try(steps));
    *steps = 4;
done:
    *steps += 10;
    return status;
}

static void test_failures_travel_up(void **state) {
    (void)state;
    int steps = 0;
    assert_int_equal(fail_by_try_done(&steps), KAZEIA_BUSY);
    assert_int_equal(steps, 12);
}

static void test_advice_follows_the_sentence(void **state) {
    (void)state;
    assert_int_equal(kz_fail(KAZEIA_BAD_FILE, "a.kzp: damaged"), KAZEIA_BAD_FILE);
    assert_int_equal(kz_fail_advice(KAZEIA_BAD_FILE, "export it again"), KAZEIA_BAD_FILE);
    assert_string_equal(kazeia_last_error(), "a.kzp: damaged; export it again");
    char filler[KZ_SENTENCE_BYTES];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    assert_int_equal(kz_fail(KAZEIA_BAD_FILE, "%s", filler), KAZEIA_BAD_FILE);
    assert_int_equal(kz_fail_advice(KAZEIA_BAD_FILE, "export it again"), KAZEIA_BAD_FILE);
    assert_string_equal(kazeia_last_error(), filler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_advice_follows_the_sentence),
        cmocka_unit_test(test_names_are_those_of_the_list),
        cmocka_unit_test(test_the_version_has_three_numbers),
        cmocka_unit_test(test_a_failure_sets_the_sentence),
        cmocka_unit_test(test_hostile_bytes_are_shown_as_question_marks),
        cmocka_unit_test(test_no_control_byte_ever_passes),
        cmocka_unit_test(test_the_longest_sentence_is_whole),
        cmocka_unit_test(test_a_longer_one_is_cut_at_a_character),
        cmocka_unit_test(test_context_goes_in_front),
        cmocka_unit_test(test_the_present_sentence_may_be_quoted),
        cmocka_unit_test(test_context_is_cut_too),
        cmocka_unit_test(test_failures_travel_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
