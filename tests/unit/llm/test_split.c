// test_split.c: thoughts, calls and stop strings in a reply, however its pieces are cut.
//
// in:  replies
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm/split.h"
#include "llm/tool_call.h"

#define LONGEST_PIECE 64

static const kz_template_marks qwen = {"<think>", "</think>", "<tool_call>", "</tool_call>"};

typedef struct parts {
    char text[KZ_PART_COUNT][256];
    size_t bytes[KZ_PART_COUNT];
    size_t calls;
    bool is_stopped;
} parts;

static void take_all(kz_splitter *splitter, parts *out) {
    for (;;) {
        const kz_split_piece piece = kz_splitter_next(splitter);
        if (piece.event == KZ_SPLIT_NOTHING) {
            return;
        }
        if (piece.event == KZ_SPLIT_TEXT) {
            assert_true(piece.count > 0 && out->bytes[piece.part] + piece.count < 256);
            memcpy(out->text[piece.part] + out->bytes[piece.part], piece.bytes, piece.count);
            out->bytes[piece.part] += piece.count;
        }
        out->calls += piece.event == KZ_SPLIT_CLOSED && piece.part == KZ_PART_CALLS;
        out->is_stopped = out->is_stopped || piece.event == KZ_SPLIT_STOPPED;
    }
}

static parts split(const char *reply, size_t piece, bool is_thinking, const char *const *stops,
                   size_t stop_count) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_splitter splitter;
    parts found = {0};
    assert_int_equal(kz_splitter_init(&splitter, &qwen, stops, stop_count, LONGEST_PIECE, &memory),
                     KAZEIA_OK);
    kz_splitter_start(&splitter, is_thinking);
    const size_t bytes = strlen(reply);
    for (size_t at = 0; at < bytes && !found.is_stopped; at += piece) {
        kz_splitter_push(&splitter, reply + at, bytes - at < piece ? bytes - at : piece);
        take_all(&splitter, &found);
    }
    if (!found.is_stopped) {
        kz_splitter_finish(&splitter);
        take_all(&splitter, &found);
    }
    kz_splitter_clear(&splitter);
    return found;
}

typedef struct split_case {
    const char *reply;
    bool is_thinking;
    const char *reasoning, *text, *calls;
    size_t call_count;
} split_case;

static void parts_are_told_apart(void **state) {
    (void)state;
    static const split_case cases[] = {
        {"Bonjour !", false, "", "Bonjour !", "", 0},
        {"<think>\nHm, oui.\n</think>\n\nOui <b>.\n", false, "Hm, oui.\n", "Oui <b>.\n", "", 0},
        {"<think>\n\n</think>\n\nNon.", false, "", "Non.", "", 0},
        {"\nHm.</think>\nBien.", true, "Hm.", "Bien.", "", 0},
        {"<think>coupé net", false, "coupé net", "", "", 0},
        {"a < b <thin", false, "", "a < b <thin", "", 0},
        {"Je regarde.\n<tool_call>\n{\"name\": \"t\"}\n</tool_call>\n<tool_call>{}</tool_call>",
         false, "", "Je regarde.\n", "{\"name\": \"t\"}\n{}", 2},
        {"</think> reste", false, "", "</think> reste", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece <= LONGEST_PIECE; piece++) {
            const parts found = split(cases[i].reply, piece, cases[i].is_thinking, NULL, 0);
            assert_string_equal(found.text[KZ_PART_REASONING], cases[i].reasoning);
            assert_string_equal(found.text[KZ_PART_TEXT], cases[i].text);
            assert_string_equal(found.text[KZ_PART_CALLS], cases[i].calls);
            assert_int_equal(found.calls, cases[i].call_count);
        }
    }
}

static void stop_strings_are_never_given(void **state) {
    (void)state;
    static const char *const stops[] = {"\nUser:", "##", "xaby", "ab"};
    static const char *const replies[][2] = {
        {"Oui.\nUser: et", "Oui."}, {"un # deux ## trois", "un # deux "}, {"\nUse\nUser", NULL},
        {"123xabz", "123x"},        {"<think>##</think>1#", "1#"},        {"##", ""},
    };
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        for (size_t piece = 1; piece <= 20; piece++) {
            const parts found = split(replies[i][0], piece, false, stops, 4);
            const bool is_stopped = replies[i][1] && i != 4;
            assert_string_equal(found.text[KZ_PART_TEXT],
                                replies[i][1] ? replies[i][1] : replies[i][0]);
            assert_int_equal(found.is_stopped, is_stopped);
        }
    }
}

static void nothing_is_held_that_begins_no_mark(void **state) {
    (void)state;
    static const char *const stops[] = {"fin."};
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_splitter splitter;
    parts found = {0};
    assert_int_equal(kz_splitter_init(&splitter, &qwen, stops, 1, LONGEST_PIECE, &memory),
                     KAZEIA_OK);
    kz_splitter_start(&splitter, false);
    kz_splitter_push(&splitter, "Enfin", 5);
    take_all(&splitter, &found);
    assert_string_equal(found.text[KZ_PART_TEXT], "En");
    kz_splitter_push(&splitter, " <", 2);
    take_all(&splitter, &found);
    assert_string_equal(found.text[KZ_PART_TEXT], "Enfin ");
    kz_splitter_clear(&splitter);
    static const char *const empty[] = {""};
    assert_int_equal(kz_splitter_init(&splitter, &qwen, empty, 1, LONGEST_PIECE, &memory),
                     KAZEIA_BAD_ARGUMENT);
    kz_splitter_clear(&splitter);
}

static void json_is_told_from_what_is_none(void **state) {
    (void)state;
    static const char *const whole[] = {
        "{}", " {\"a\": [1, -2.5e+3, 0, \"\\u00e9\\n\", {\"b\": null}], \"c\": true}\n",
        "{\"name\":\"x\",\"arguments\":{\"ville\":\"Orléans\",\"n\":[]}}"};
    static const char *const broken[] = {
        "",       "{",           "{\"a\"}",     "{\"a\":}",       "{\"a\":1,}", "{'a':1}",
        "{}{}",   "{\"a\":01}",  "{\"a\":1.}",  "{\"a\":\"\n\"}", "[]",         "{\"a\":tru}",
        "{\"a\"", "{\"a\":[1}]", "{\"\\x\":1}", "{\"a\":-}",      "{1:2}",      "{\"\\u12\":1}"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        assert_true(kz_json_is_whole(whole[i], strlen(whole[i]), '{'));
        for (size_t bytes = 0; bytes + 2 < strlen(whole[i]); bytes++) {
            assert_false(kz_json_is_whole(whole[i], bytes, '{'));
        }
    }
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_false(kz_json_is_whole(broken[i], strlen(broken[i]), '{'));
    }
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    assert_false(kz_json_is_whole(deep, 200, '['));
    assert_true(kz_json_is_whole(deep + 40, 120, '['));
}

static void calls_become_an_array(void **state) {
    (void)state;
    kz_history history;
    assert_int_equal(kz_history_init(&history, 2, 40, 4, NULL), KAZEIA_OK);
    assert_int_equal(kz_history_begin(&history, "user"), KAZEIA_OK);
    assert_true(kz_history_append(&history, KZ_PART_TEXT, "?", 1));
    assert_int_equal(kz_history_begin(&history, "assistant"), KAZEIA_OK);
    assert_true(kz_tool_call_append(&history, "\n{\"a\": 1}\n", 10));
    assert_false(kz_tool_call_append(&history, "pardon", 6));
    assert_true(kz_history_append(&history, KZ_PART_TEXT, "dit", 3));
    assert_true(kz_history_append(&history, KZ_PART_REASONING, "pense", 5));
    assert_true(kz_tool_call_append(&history, "{}", 2));
    const kz_message *reply = &history.messages[1];
    assert_int_equal(reply->tool_calls_bytes, 13);
    assert_memory_equal(reply->tool_calls, "[{\"a\": 1},{}]", 13);
    assert_memory_equal(reply->text, "dit", 3);
    assert_memory_equal(reply->reasoning, "pense", 5);
    assert_false(kz_tool_call_append(&history, "{\"too\": \"long for it\"}", 22));
    assert_int_equal(history.text_bytes, 22);
    kz_history_cut(&history, 2);
    assert_int_equal(history.text_bytes, 3);
    assert_memory_equal(reply->text, "di", 2);
    assert_null(reply->tool_calls);
    assert_null(reply->reasoning);
    kz_history_drop(&history, 0, 1);
    assert_int_equal(history.count, 1);
    assert_memory_equal(history.messages[0].text, "di", 2);
    kz_history_clear(&history);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told_apart),
        cmocka_unit_test(stop_strings_are_never_given),
        cmocka_unit_test(nothing_is_held_that_begins_no_mark),
        cmocka_unit_test(json_is_told_from_what_is_none),
        cmocka_unit_test(calls_become_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
