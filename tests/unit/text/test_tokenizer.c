// test_tokenizer.c: what encoding and decoding promise, on small vocabularies made for it and
// GPT-2's.
//
// in: tokenizer_fixture.h. Expected ids of the small vocabularies are worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "tokenizer_fixture.h"

#define MEGABYTE ((size_t)1000000)

static kz_tokenizer *open_tokenizer(kz_bytes section, size_t max_text_bytes) {
    kz_tokenizer *tokenizer = NULL;
    const kz_tokenizer_options options = {.max_text_bytes = max_text_bytes};
    assert_int_equal(kz_tokenizer_open(&section, &options, NULL, &tokenizer), KAZEIA_OK);
    return tokenizer;
}

// Compares with ids that end in KZ_NO_TOKEN.
static void check_ids(kz_tokenizer *tokenizer, const char *text, uint32_t flags,
                      const uint32_t *expected) {
    uint32_t ids[256];
    size_t count = 0;
    assert_int_equal(kz_tokenizer_encode(tokenizer, text, strlen(text), flags, ids, 256, &count),
                     KAZEIA_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ids[i], expected[i]);
    }
    assert_int_equal(expected[count], KZ_NO_TOKEN);
}

#define CHECK_IDS(tokenizer, text, flags, ...) \
    check_ids(tokenizer, text, flags, (const uint32_t[]){__VA_ARGS__, KZ_NO_TOKEN})

static void merges_go_by_rank_not_by_place(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(0, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    CHECK_IDS(tokenizer, "abc", KZ_ENCODE_PLAIN, 'a', 258);
    CHECK_IDS(tokenizer, "ab", KZ_ENCODE_PLAIN, 256);
    CHECK_IDS(tokenizer, "aabbcc", KZ_ENCODE_PLAIN, 'a', 256, 258, 'c');
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void a_whole_piece_is_not_merged_up(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(KZ_TOKENIZER_WHOLE_PIECES, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    CHECK_IDS(tokenizer, "abc", KZ_ENCODE_PLAIN, 257);
    CHECK_IDS(tokenizer, "abcc", KZ_ENCODE_PLAIN, 'a', 258, 'c');
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void merging_stays_within_pieces(void **state) {
    (void)state;
    const char *const patterns[] = {"\\p{N}", "b|[^b]+"};
    const kz_bytes section = make_small_byte_section(0, patterns, 2);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    CHECK_IDS(tokenizer, "abc", KZ_ENCODE_PLAIN, 'a', 'b', 'c');
    CHECK_IDS(tokenizer, "12", KZ_ENCODE_PLAIN, '1', '2');
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void special_tokens_are_text_unless_asked_for(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(KZ_TOKENIZER_ADD_BOS, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    CHECK_IDS(tokenizer, "<|end|>", KZ_ENCODE_PLAIN, '<', '|', 'e', 'n', 'd', '|', '>');
    CHECK_IDS(tokenizer, "a<|end|>b", KZ_ENCODE_PARSE_SPECIAL, 'a', 259, 'b');
    CHECK_IDS(tokenizer, "a", KZ_ENCODE_ADD_BOS_EOS, 259, 'a');
    // A user's token is found in any text, and the longest of two wins.
    CHECK_IDS(tokenizer, "a<|end|>>", KZ_ENCODE_PLAIN, 'a', 262);
    CHECK_IDS(tokenizer, "a<|end|>>", KZ_ENCODE_PARSE_SPECIAL, 'a', 262);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void special_in_text_needs_no_asking(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(KZ_TOKENIZER_SPECIAL_IN_TEXT, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    CHECK_IDS(tokenizer, "a<|end|>", KZ_ENCODE_PLAIN, 'a', 259);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void tokens_that_strip_take_white_space(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(0, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    CHECK_IDS(tokenizer, "x \xc2\xa0<mask> y", KZ_ENCODE_PLAIN, 'x', 260, ' ', 'y');
    CHECK_IDS(tokenizer, "x <fill>\n\xe3\x80\x80y", KZ_ENCODE_PLAIN, 'x', ' ', 261, 'y');
    CHECK_IDS(tokenizer, " <mask>", KZ_ENCODE_PLAIN, 260);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void accents_are_composed_where_the_model_wants_it(void **state) {
    (void)state;
    const kz_bytes plain = make_small_byte_section(0, NULL, 0);
    const kz_bytes composed = make_small_byte_section(KZ_TOKENIZER_NFC, NULL, 0);
    kz_tokenizer *plain_tokenizer = open_tokenizer(plain, 1000);
    kz_tokenizer *nfc_tokenizer = open_tokenizer(composed, 4000);
    CHECK_IDS(plain_tokenizer, "e\xcc\x81", KZ_ENCODE_PLAIN, 'e', 0xcc, 0x81);
    CHECK_IDS(nfc_tokenizer, "e\xcc\x81", KZ_ENCODE_PLAIN, 263);
    // A byte that is no UTF-8 parts what would compose.
    CHECK_IDS(nfc_tokenizer, "e\xff\xcc\x81", KZ_ENCODE_PLAIN, 'e', 0xff, 0xcc, 0x81);
    kz_tokenizer_close(plain_tokenizer);
    kz_tokenizer_close(nfc_tokenizer);
    free_section(plain);
    free_section(composed);
}

// The canonical order: classes rising, marks of one class as the text has them.
static void any_number_of_marks_is_put_in_order(void **state) {
    (void)state;
    enum { MARKS = 200000 };
    const kz_bytes section = make_small_byte_section(KZ_TOKENIZER_NFC, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 2 * MARKS);
    char *marks = malloc(2 * MARKS);
    uint32_t *ids = malloc(4 * MARKS * sizeof *ids);
    size_t count = 0;
    assert_non_null(marks);
    assert_non_null(ids);
    for (size_t i = 0; i < MARKS; i++) {
        memcpy(marks + 2 * i, i % 2 == 0 ? "\xcc\x81" : "\xcc\xa3", 2);
    }
    assert_int_equal(
        kz_tokenizer_encode(tokenizer, marks, 2 * MARKS, KZ_ENCODE_PLAIN, ids, 4 * MARKS, &count),
        KAZEIA_OK);
    assert_int_equal(count, 2 * MARKS);
    for (size_t i = 0; i < count; i += 2) {
        assert_int_equal(ids[i], 0xcc);
        assert_int_equal(ids[i + 1], i < count / 2 ? 0xa3 : 0x81);
    }
    free(ids);
    free(marks);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void sentencepiece_merges_by_score_and_falls_back(void **state) {
    (void)state;
    enum {
        BYTES = 3,
        SPACE = 259,
        A,
        B,
        C,
        AB,
        BC,
        ABC,
        SPACE_A,
        E_ACUTE,
        TWO_SPACES,
        SPACE_AB,
        LESS_S
    };
    const kz_bytes section = make_small_spm_section(0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    CHECK_IDS(tokenizer, "abc", KZ_ENCODE_PLAIN, ABC); // "ab" and "bc" tie: the left one goes first
    CHECK_IDS(tokenizer, " abc", KZ_ENCODE_PLAIN, SPACE_AB, C);
    CHECK_IDS(tokenizer, "\xe2\x96\x81\x61", KZ_ENCODE_PLAIN, SPACE_A);
    CHECK_IDS(tokenizer, "\xc3\xa9\xc3\xb9", KZ_ENCODE_PLAIN, E_ACUTE, BYTES + 0xc3, BYTES + 0xb9);
    CHECK_IDS(tokenizer, "<s>", KZ_ENCODE_PLAIN, LESS_S, BYTES + '>');
    CHECK_IDS(tokenizer, "<s>a", KZ_ENCODE_PARSE_SPECIAL, 1, A);
    CHECK_IDS(tokenizer, "\xff", KZ_ENCODE_PLAIN, BYTES + 0xff);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void a_space_goes_in_front_and_is_taken_away(void **state) {
    (void)state;
    const kz_bytes section =
        make_small_spm_section(KZ_TOKENIZER_SPACE_PREFIX | KZ_TOKENIZER_ADD_BOS);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    CHECK_IDS(tokenizer, "ab", KZ_ENCODE_ADD_BOS_EOS, 1, 269);
    CHECK_IDS(tokenizer, "a<s>b", KZ_ENCODE_PARSE_SPECIAL, 266, 1, 259, 261);
    kz_detokenizer detokenizer;
    char text[2048];
    assert_true(kz_detokenizer_room(tokenizer) <= sizeof text);
    kz_detokenizer_init(&detokenizer, tokenizer, KZ_DECODE_FROM_START);
    assert_int_equal(kz_detokenizer_push(&detokenizer, 1, text), 0);
    assert_int_equal(kz_detokenizer_push(&detokenizer, 269, text), 2);
    assert_memory_equal(text, "ab", 2);
    assert_int_equal(kz_detokenizer_push(&detokenizer, 269, text), 3);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void too_much_is_refused_with_numbers(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(0, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 8);
    uint32_t ids[8];
    size_t count = 99;
    assert_int_equal(kz_tokenizer_encode(tokenizer, "123456789", 9, 0, ids, 8, &count),
                     KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "9 bytes"));
    assert_int_equal(kz_tokenizer_encode(tokenizer, "1234567", 7, 0, ids, 6, &count),
                     KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "7 tokens; room was given for 6"));
    assert_int_equal(count, 99);
    assert_int_equal(kz_tokenizer_encode(tokenizer, "", 0, 0, ids, 0, &count), KAZEIA_OK);
    assert_int_equal(count, 0);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void a_bad_pattern_is_refused_at_open(void **state) {
    (void)state;
    const char *const patterns[] = {"a(b"};
    const kz_bytes section = make_small_byte_section(0, patterns, 1);
    kz_tokenizer *tokenizer = NULL;
    assert_int_equal(kz_tokenizer_open(&section, NULL, NULL, &tokenizer), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "a(b"));
    free_section(section);
}

static void a_pattern_that_explodes_is_stopped(void **state) {
    (void)state;
    const char *const patterns[] = {"(?:a|aa|aaa)+[xyz]{3}"};
    const kz_bytes section = make_small_byte_section(0, patterns, 1);
    kz_tokenizer *tokenizer = open_tokenizer(section, 1000);
    char text[400];
    uint32_t ids[400];
    size_t count = 0;
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 2, "xy", 2);
    assert_int_equal(kz_tokenizer_encode(tokenizer, text, sizeof text, 0, ids, 400, &count),
                     KAZEIA_BAD_FILE);
    // Steps with machine code, memory with the interpreter.
    assert_non_null(strstr(kazeia_last_error(), "a pattern needs more"));
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

// --- GPT-2 --------------------------------------------------------------------------------------
static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

// Half raw bytes, half characters of one to four bytes.
static size_t fill_random(uint32_t *seed, char *text, size_t capacity) {
    static const char *const PARTS[] = {"a",         " ",        "\n", "1",  "'s", "é",
                                        "…",         "漢",       "😀",  "  ", "Z",  "<|endoftext|>",
                                        "e\xcc\x81", "\xc2\xa0", "_",  "\t"};
    const size_t wanted = next_random(seed) % (capacity - 16);
    size_t count = 0;
    while (count < wanted) {
        if (next_random(seed) % 4 == 0) {
            text[count++] = (char)next_random(seed);
            continue;
        }
        const char *part = PARTS[next_random(seed) % (sizeof PARTS / sizeof PARTS[0])];
        memcpy(text + count, part, strlen(part));
        count += strlen(part);
    }
    return count;
}

static size_t join_tokens(const kz_tokenizer *tokenizer, const uint32_t *ids, size_t count,
                          char *out) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const kz_bytes token = kz_tokenizer_token_bytes(tokenizer, ids[i]);
        memcpy(out + bytes, token.bytes, token.count);
        bytes += token.count;
    }
    return bytes;
}

static void any_bytes_come_back(void **state) {
    kz_tokenizer *tokenizer = open_tokenizer(*(kz_bytes *)*state, 4096);
    uint32_t seed = 7;
    for (int i = 0; i < 3000; i++) {
        char text[512];
        char back[512];
        uint32_t ids[600];
        size_t count = 0;
        const size_t bytes = fill_random(&seed, text, sizeof text);
        const uint32_t flags = i % 2 == 0 ? KZ_ENCODE_PLAIN : KZ_ENCODE_PARSE_SPECIAL;
        assert_true(kz_tokenizer_most_tokens(tokenizer, bytes) <= 600);
        assert_int_equal(kz_tokenizer_encode(tokenizer, text, bytes, flags, ids, 600, &count),
                         KAZEIA_OK);
        assert_int_equal(join_tokens(tokenizer, ids, count, back), bytes);
        assert_memory_equal(back, text, bytes);
    }
    kz_tokenizer_close(tokenizer);
}

static void running_allocates_nothing(void **state) {
    const kz_bytes *section = *state;
    counting_allocator counting;
    counting_allocator_init(&counting);
    kz_tokenizer *tokenizer = NULL;
    assert_int_equal(kz_tokenizer_open(section, NULL, &counting.allocator, &tokenizer), KAZEIA_OK);
    const size_t opened = counting.call_count;
    assert_true(opened < 40);
    uint32_t seed = 3;
    for (int i = 0; i < 300; i++) {
        char text[2048];
        uint32_t ids[2100];
        size_t count = 0;
        const size_t bytes = fill_random(&seed, text, sizeof text);
        assert_int_equal(kz_tokenizer_encode(tokenizer, text, bytes, 0, ids, 2100, &count),
                         KAZEIA_OK);
    }
    assert_int_equal(counting.call_count, opened);
    kz_tokenizer_close(tokenizer);
    assert_int_equal(counting.live_count, 0);
}

static void each_failed_allocation_is_survived(void **state) {
    const kz_bytes *section = *state;
    counting_allocator counting;
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    size_t fail_at = 1;
    for (; status == KAZEIA_OUT_OF_MEMORY; fail_at++) {
        counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        kz_tokenizer *tokenizer = NULL;
        status = kz_tokenizer_open(section, NULL, &counting.allocator, &tokenizer);
        kz_tokenizer_close(status == KAZEIA_OK ? tokenizer : NULL);
        assert_int_equal(counting.live_count, 0);
    }
    assert_int_equal(status, KAZEIA_OK);
    assert_true(fail_at > 6);
}

static void a_megabyte_without_spaces_costs_no_square(void **state) {
    kz_tokenizer *tokenizer = open_tokenizer(*(kz_bytes *)*state, MEGABYTE);
    static const char *const LINES[] = {"a", "abcdefghij", "  ",  "é", "Inconstitutionnellement",
                                        "=", "\xff\xfe",   "1234"};
    char *text = malloc(MEGABYTE);
    uint32_t *ids = malloc((MEGABYTE + 3) * sizeof *ids);
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        const size_t length = strlen(LINES[i]);
        size_t bytes = 0;
        for (; bytes + length <= MEGABYTE; bytes += length) {
            memcpy(text + bytes, LINES[i], length);
        }
        size_t count = 0;
        const uint64_t before = kz_tokenizer_step_count(tokenizer);
        assert_int_equal(kz_tokenizer_encode(tokenizer, text, bytes, 0, ids, MEGABYTE + 3, &count),
                         KAZEIA_OK);
        // Three look-ups and three entries of the heap a byte at most.
        assert_true(kz_tokenizer_step_count(tokenizer) - before <= 6 * bytes);
    }
    free(text);
    free(ids);
    kz_tokenizer_close(tokenizer);
}

static void tokens_say_what_they_are(void **state) {
    kz_tokenizer *tokenizer = open_tokenizer(*(kz_bytes *)*state, 64);
    assert_int_equal(kz_tokenizer_token_count(tokenizer), 50257);
    assert_int_equal(kz_tokenizer_find(tokenizer, "<|endoftext|>", 13), 50256);
    assert_int_equal(kz_tokenizer_find(tokenizer, " the", 4), 262);
    assert_int_equal(kz_tokenizer_find(tokenizer, "<|endoftext", 11), KZ_NO_TOKEN);
    assert_true(kz_tokenizer_is_special(tokenizer, 50256));
    assert_false(kz_tokenizer_is_special(tokenizer, 262));
    assert_true(kz_tokenizer_is_special(tokenizer, 60000));
    assert_int_equal(kz_tokenizer_token_bytes(tokenizer, 60000).count, 0);
    assert_int_equal(kz_tokenizer_longest_token(tokenizer), 128);
    assert_int_equal(kz_tokenizer_bos(tokenizer), KZ_NO_TOKEN);
    kz_tokenizer_close(tokenizer);
}

// --- Detokenizer --------------------------------------------------------------------------------
typedef struct decoding {
    const char *bytes;    // one token each
    const char *expected; // what each push gives, then the flush, '|' between them
} decoding;

static void characters_are_held_until_whole(void **state) {
    (void)state;
    static const decoding CASES[] = {
        {"\xc3\xa9", "|é|"},
        {"a\xc3", "a||\xef\xbf\xbd"},
        {"\xe2\x82\x61", "||\xef\xbf\xbd\x61|"},
        {"\xf0\x9f\x98\x80", "|||😀|"},
        {"\xf0\x9f\xc3\xa9", "||\xef\xbf\xbd|é|"},
        {"\xff\x80", "\xef\xbf\xbd|\xef\xbf\xbd|"},
        {"\xed\xa0\x80", "|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|"}, // a surrogate
        {"\xc0\xaf", "\xef\xbf\xbd|\xef\xbf\xbd|"},                  // an overlong form
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41",
         "||\xef\xbf\xbd|\xef\xbf\xbd|||\xef\xbf\xbd||\xef\xbf\xbd\x41|"},
    };
    const kz_bytes section = make_small_byte_section(0, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 64);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        kz_detokenizer detokenizer;
        kz_detokenizer_init(&detokenizer, tokenizer, KZ_DECODE_TEXT);
        char found[256];
        size_t count = 0;
        for (const char *byte = CASES[i].bytes; *byte != 0; byte++) {
            count += kz_detokenizer_push(&detokenizer, (uint8_t)*byte, found + count);
            found[count++] = '|';
        }
        count += kz_detokenizer_flush(&detokenizer, found + count);
        found[count] = '\0';
        assert_string_equal(found, CASES[i].expected);
    }
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void control_tokens_are_shown_only_when_asked(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(0, NULL, 0);
    kz_tokenizer *tokenizer = open_tokenizer(section, 64);
    char text[256];
    kz_detokenizer detokenizer;
    kz_detokenizer_init(&detokenizer, tokenizer, KZ_DECODE_TEXT);
    assert_int_equal(kz_detokenizer_push(&detokenizer, 259, text), 0);
    assert_int_equal(kz_detokenizer_push(&detokenizer, 260, text), 6);
    assert_int_equal(kz_detokenizer_push(&detokenizer, 100000, text), 0);
    kz_detokenizer_init(&detokenizer, tokenizer, KZ_DECODE_SPECIAL);
    assert_int_equal(kz_detokenizer_push(&detokenizer, 259, text), 7);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static int make_gpt2(void **state) {
    static kz_bytes section;
    section = make_gpt2_section();
    *state = &section;
    return 0;
}

static int free_gpt2(void **state) {
    free_section(*(kz_bytes *)*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_go_by_rank_not_by_place),
        cmocka_unit_test(a_whole_piece_is_not_merged_up),
        cmocka_unit_test(merging_stays_within_pieces),
        cmocka_unit_test(special_tokens_are_text_unless_asked_for),
        cmocka_unit_test(special_in_text_needs_no_asking),
        cmocka_unit_test(tokens_that_strip_take_white_space),
        cmocka_unit_test(accents_are_composed_where_the_model_wants_it),
        cmocka_unit_test(any_number_of_marks_is_put_in_order),
        cmocka_unit_test(sentencepiece_merges_by_score_and_falls_back),
        cmocka_unit_test(a_space_goes_in_front_and_is_taken_away),
        cmocka_unit_test(too_much_is_refused_with_numbers),
        cmocka_unit_test(a_bad_pattern_is_refused_at_open),
        cmocka_unit_test(a_pattern_that_explodes_is_stopped),
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(running_allocates_nothing),
        cmocka_unit_test(each_failed_allocation_is_survived),
        cmocka_unit_test(a_megabyte_without_spaces_costs_no_square),
        cmocka_unit_test(tokens_say_what_they_are),
        cmocka_unit_test(characters_are_held_until_whole),
        cmocka_unit_test(control_tokens_are_shown_only_when_asked),
    };
    return cmocka_run_group_tests(tests, make_gpt2, free_gpt2);
}
