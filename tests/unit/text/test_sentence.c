// test_sentence.c: the sentence streamer against golden cuts, at every feed size, and on hard
// input.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/sentence.h"
#include "text_test.h"

enum { MAX_PIECES = 64, TEXT_BYTES = 4096 };

typedef struct pieces {
    char text[MAX_PIECES][TEXT_BYTES];
    size_t count;
    char joined[TEXT_BYTES];
    size_t joined_count;
} pieces;

static void add_piece(pieces *found, kz_text_view piece) {
    assert_true(found->count < MAX_PIECES);
    assert_true(found->joined_count + piece.count < TEXT_BYTES);
    memcpy(found->joined + found->joined_count, piece.bytes, piece.count);
    found->joined_count += piece.count;
    collapse_spaces(piece.bytes, piece.count, found->text[found->count++], TEXT_BYTES);
}

// Feeds `size` bytes at a time (0: one character at a time) and takes pieces as they come.
static void cut_text(kz_sentence_stream *stream, const char *text, size_t count, size_t size,
                     pieces *found) {
    found->count = 0;
    found->joined_count = 0;
    for (size_t at = 0;;) {
        kz_text_view piece;
        const kazeia_status status = kz_sentence_stream_next(stream, &piece);
        if (status == KAZEIA_OK) {
            add_piece(found, piece);
        } else if (status == KAZEIA_DONE) {
            return;
        } else if (at == count) {
            kz_sentence_stream_finish(stream);
        } else {
            size_t wanted = size == 0 ? kz_utf8_read_last(text + at, count - at).length : size;
            wanted = wanted < count - at ? wanted : count - at;
            size_t taken = 0;
            assert_int_equal(kz_sentence_stream_feed(stream, text + at, wanted, &taken), KAZEIA_OK);
            at += taken;
        }
    }
}

static bool equals_list(const pieces *found, const json_t *list) {
    char expected[TEXT_BYTES];
    if (json_array_size(list) != found->count) {
        return false;
    }
    for (size_t i = 0; i < found->count; i++) {
        const json_t *sentence = json_array_get(list, i);
        collapse_spaces(json_string_value(sentence), json_string_length(sentence), expected,
                        sizeof expected);
        if (strcmp(expected, found->text[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_right_cut(const pieces *found, const json_t *line) {
    const json_t *also = json_object_get(line, "also");
    const json_t *limit = json_object_get(line, "max_chars");
    bool is_right = equals_list(found, json_object_get(line, "sentences"));
    for (size_t i = 0; i < json_array_size(also); i++) {
        is_right = is_right || equals_list(found, json_array_get(also, i));
    }
    if (limit == NULL) {
        return is_right;
    }
    for (size_t i = 0; i < found->count; i++) {
        if (count_chars(found->text[i]) > (size_t)json_integer_value(limit)) {
            return false;
        }
    }
    return found->count > 1;
}

static void check_line(void *context, json_t *line) {
    size_t *wrong = context;
    static const size_t sizes[] = {1, 0, 3, 7, 100000};
    static pieces found;
    const json_t *text = json_object_get(line, "text");
    const kz_sentence_options options = {
        .language = json_string_value(json_object_get(line, "lang")),
        .max_chars = (uint32_t)json_integer_value(json_object_get(line, "max_chars"))};
    kz_sentence_stream *stream;
    assert_int_equal(kz_sentence_stream_create(NULL, &options, &stream), KAZEIA_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        kz_sentence_stream_reset(stream);
        cut_text(stream, json_string_value(text), json_string_length(text), sizes[i], &found);
        assert_int_equal(found.joined_count, json_string_length(text));
        assert_memory_equal(found.joined, json_string_value(text), found.joined_count);
        if (!is_right_cut(&found, line)) {
            fprintf(stderr, "feed size %zu: %s\n", sizes[i], json_string_value(text));
            for (size_t piece = 0; piece < found.count; piece++) {
                fprintf(stderr, "    [%s]\n", found.text[piece]);
            }
            (*wrong)++;
        }
    }
    kz_sentence_stream_destroy(stream);
}

static void test_golden_cuts(void **state) {
    (void)state;
    size_t wrong = 0;
    assert_int_equal(for_each_line("tests/golden/text/sentences.jsonl", check_line, &wrong), 83);
    assert_int_equal(for_each_line("tests/golden/text/sentences_more.jsonl", check_line, &wrong),
                     19);
    assert_int_equal(wrong, 0);
}

static void cut_with(const kz_sentence_options *options, const char *text, pieces *found) {
    kz_sentence_stream *stream;
    assert_int_equal(kz_sentence_stream_create(NULL, options, &stream), KAZEIA_OK);
    cut_text(stream, text, strlen(text), 5, found);
    kz_sentence_stream_destroy(stream);
}

static void test_early_cut_is_only_the_first(void **state) {
    (void)state;
    static pieces found;
    const char *text = "Bien sûr, voici ce qu'il faut, dans l'ordre. Oui, non, peut-être, alors.";
    kz_sentence_options options = {.language = "fr", .first_fragment_early = true};
    cut_with(&options, text, &found);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.text[0], "Bien sûr, voici ce qu'il faut,");
    assert_string_equal(found.text[1], "dans l'ordre.");
    options.first_fragment_early = false;
    cut_with(&options, text, &found);
    assert_int_equal(found.count, 2);
}

// A stop is given out as soon as the word after it begins, not when the next sentence ends.
static void test_sentence_comes_with_the_next_word(void **state) {
    (void)state;
    const kz_sentence_options options = {.language = "fr"};
    kz_sentence_stream *stream;
    kz_text_view piece;
    size_t taken;
    assert_int_equal(kz_sentence_stream_create(NULL, &options, &stream), KAZEIA_OK);
    assert_int_equal(kz_sentence_stream_feed(stream, "Il pleut. ", 10, &taken), KAZEIA_OK);
    assert_int_equal(kz_sentence_stream_next(stream, &piece), KAZEIA_NEEDS_INPUT);
    assert_int_equal(kz_sentence_stream_feed(stream, "R", 1, &taken), KAZEIA_OK);
    assert_int_equal(kz_sentence_stream_next(stream, &piece), KAZEIA_OK);
    assert_int_equal(piece.count, 10);
    kz_sentence_stream_finish(stream);
    assert_int_equal(kz_sentence_stream_feed(stream, "R", 1, &taken), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_sentence_stream_next(stream, &piece), KAZEIA_OK);
    assert_int_equal(kz_sentence_stream_next(stream, &piece), KAZEIA_DONE);
    kz_sentence_stream_destroy(stream);
}

static uint64_t hash_cuts(kz_sentence_stream *stream, const char *text, size_t count, size_t size) {
    uint64_t hash = 1469598103934665603u;
    size_t at = 0, given = 0;
    kz_sentence_stream_reset(stream);
    for (;;) {
        kz_text_view piece;
        const kazeia_status status = kz_sentence_stream_next(stream, &piece);
        if (status == KAZEIA_OK) {
            assert_true(piece.count > 0);
            assert_memory_equal(piece.bytes, text + given, piece.count);
            given += piece.count;
            hash = (hash ^ given) * 1099511628211u;
        } else if (status == KAZEIA_DONE) {
            assert_int_equal(given, count);
            return hash;
        } else if (at == count) {
            kz_sentence_stream_finish(stream);
        } else {
            size_t taken;
            const size_t wanted = size < count - at ? size : count - at;
            assert_int_equal(kz_sentence_stream_feed(stream, text + at, wanted, &taken), KAZEIA_OK);
            assert_true(taken > 0);
            at += taken;
        }
    }
}

// Any bytes pass through, and the cuts do not depend on the feed.
static void test_hostile_bytes_pass_through(void **state) {
    (void)state;
    static const char *const units[] = {
        ".",    " ",        "a",  "A",        "`",   "*",  "« ", "»",    "\n",
        "\xff", "\xe2\x80", "…",  "1",        "M. ", "\"", "(",  ")",    ",",
        "😀",    "```\n",    "J.", "\xc2\xa0", "il",  "!",  "?",  "etc. "};
    enum { UNIT_COUNT = sizeof units / sizeof units[0] };
    const kz_sentence_options options = {.language = "fr", .max_chars = 40};
    static char text[20000];
    kz_sentence_stream *stream;
    uint32_t seed = 7;
    assert_int_equal(kz_sentence_stream_create(NULL, &options, &stream), KAZEIA_OK);
    for (uint32_t round = 0; round < 300; round++) {
        size_t count = 0;
        const uint32_t kinds = 1 + round % UNIT_COUNT, shift = round / UNIT_COUNT;
        while (count < 1500) {
            seed = seed * 1664525u + 1013904223u;
            const char *unit = units[(shift + (seed >> 16) % kinds) % UNIT_COUNT];
            memcpy(text + count, unit, strlen(unit));
            count += strlen(unit);
        }
        const uint64_t whole = hash_cuts(stream, text, count, count);
        assert_true(hash_cuts(stream, text, count, 1) == whole);
        assert_true(hash_cuts(stream, text, count, 1 + round % 11) == whole);
    }
    kz_sentence_stream_destroy(stream);
}

static void test_bad_options_are_refused(void **state) {
    (void)state;
    const kz_sentence_options options = {.language = "fr", .max_chars = 3};
    kz_sentence_stream *stream = NULL;
    assert_int_equal(kz_sentence_stream_create(NULL, &options, &stream), KAZEIA_BAD_ARGUMENT);
    assert_null(stream);
    assert_non_null(strstr(kazeia_last_error(), "max_chars is 3"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_cuts),
        cmocka_unit_test(test_early_cut_is_only_the_first),
        cmocka_unit_test(test_sentence_comes_with_the_next_word),
        cmocka_unit_test(test_hostile_bytes_pass_through),
        cmocka_unit_test(test_bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
