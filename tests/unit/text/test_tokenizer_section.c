// test_tokenizer_section.c: a tokenizer section that is cut, altered or never was one.
//
// in: small sound sections. Whatever is done to them, opening gives a sentence or a tokenizer that
// may be used without harm.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "tokenizer_fixture.h"

static const char *const PATTERNS[] = {"\\p{N}", " ?\\p{L}+|\\s+"};

static kz_bytes copy_section(kz_bytes section) {
    uint8_t *copy = malloc(section.count);
    assert_non_null(copy);
    memcpy(copy, section.bytes, section.count);
    return (kz_bytes){copy, section.count};
}

// Opens, and when that works encodes and decodes; a refusal must come with a sentence.
static bool try_section(kz_bytes section) {
    static const char TEXT[] = "abc  <|end|><s> \xc3\xa9\xff 12 ab bc";
    const kz_tokenizer_options options = {.max_text_bytes = 64};
    kz_tokenizer *tokenizer = NULL;
    const kazeia_status status = kz_tokenizer_open(&section, &options, NULL, &tokenizer);
    if (status != KAZEIA_OK) {
        assert_int_equal(status, KAZEIA_BAD_FILE);
        assert_non_null(strstr(kazeia_last_error(), "tokenizer"));
        return false;
    }
    uint32_t ids[64];
    size_t count = 0;
    char *text = malloc(kz_detokenizer_room(tokenizer));
    if (kz_tokenizer_encode(tokenizer, TEXT, sizeof TEXT - 1,
                            KZ_ENCODE_PARSE_SPECIAL | KZ_ENCODE_ADD_BOS_EOS, ids, 64,
                            &count) == KAZEIA_OK) {
        kz_detokenizer detokenizer;
        kz_detokenizer_init(&detokenizer, tokenizer, KZ_DECODE_SPECIAL);
        for (size_t i = 0; i < count; i++) {
            (void)kz_detokenizer_push(&detokenizer, ids[i], text);
        }
        (void)kz_detokenizer_flush(&detokenizer, text);
    }
    (void)kz_tokenizer_find(tokenizer, "abc", 3);
    free(text);
    kz_tokenizer_close(tokenizer);
    return true;
}

static void run_alterations(kz_bytes sound) {
    assert_true(try_section(sound));
    kz_bytes altered = copy_section(sound);
    uint8_t *bytes = (uint8_t *)altered.bytes;
    size_t refused = 0;
    for (size_t i = 0; i < sound.count; i++) {
        static const uint8_t MASKS[] = {0x01, 0x80, 0xff};
        for (size_t m = 0; m < sizeof MASKS; m++) {
            bytes[i] = sound.bytes[i] ^ MASKS[m];
            refused += !try_section(altered);
        }
        bytes[i] = sound.bytes[i];
    }
    // Far more than half of the bytes are numbers whose high bits must be zero.
    assert_true(refused > sound.count / 2);
    free(bytes);
}

static void every_altered_byte_is_survived(void **state) {
    (void)state;
    const kz_bytes byte_section = make_small_byte_section(KZ_TOKENIZER_NFC, PATTERNS, 2);
    const kz_bytes spm_section = make_small_spm_section(KZ_TOKENIZER_SPACE_PREFIX);
    run_alterations(byte_section);
    run_alterations(spm_section);
    free_section(byte_section);
    free_section(spm_section);
}

static void every_cut_is_refused(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(0, PATTERNS, 2);
    for (size_t count = 0; count < section.count; count++) {
        // In memory of its own, so that a sanitizer sees a read behind the cut.
        uint8_t *cut = malloc(count + 1);
        memcpy(cut, section.bytes, count);
        assert_false(try_section((kz_bytes){cut, count}));
        free(cut);
    }
    free_section(section);
}

static void huge_counts_are_refused(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(0, PATTERNS, 2);
    kz_bytes altered = copy_section(section);
    static const uint32_t VALUES[] = {0, 0x7fffffffu, 0xffffffffu, 0x80000000u, 0x01000000u};
    for (size_t word = 0; word < 15; word++) {
        for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
            uint32_t original;
            memcpy(&original, section.bytes + 4 * word, 4);
            memcpy((uint8_t *)altered.bytes + 4 * word, &VALUES[i], 4);
            const bool may_open = original == VALUES[i] || word == 3 || word == 9 || word == 11;
            assert_true(!try_section(altered) || may_open);
            memcpy((uint8_t *)altered.bytes + 4 * word, &original, 4);
        }
    }
    free((void *)altered.bytes);
    free_section(section);
}

static void a_section_must_be_aligned(void **state) {
    (void)state;
    const kz_bytes section = make_small_byte_section(0, NULL, 0);
    uint8_t *moved = malloc(section.count + 1);
    memcpy(moved + 1, section.bytes, section.count);
    kz_tokenizer_view view;
    assert_int_equal(kz_tokenizer_view_open(&(kz_bytes){moved + 1, section.count}, &view),
                     KAZEIA_BAD_ARGUMENT);
    free(moved);
    free_section(section);
}

// --- Builder ------------------------------------------------------------------------------------
static kazeia_status build(const kz_tokenizer_source *source) {
    uint8_t *bytes = NULL;
    size_t count = 0;
    const kazeia_status status = kz_tokenizer_build(source, NULL, &bytes, &count);
    free_section((kz_bytes){bytes, count});
    return status;
}

static void the_builder_refuses_what_cannot_be_stated(void **state) {
    (void)state;
    uint8_t *long_text = calloc(1, KZ_TOKEN_BYTES_LIMIT + 1);
    kz_tokenizer_token tokens[] = {{(const uint8_t *)"a", 1, KZ_TOKEN_NORMAL, 0},
                                   {(const uint8_t *)"b", 1, KZ_TOKEN_NORMAL, 0}};
    const kz_tokenizer_merge merge = {0, 1, 2};
    const kz_tokenizer_source sound = {.kind = KZ_TOKENIZER_BYTE_BPE,
                                       .bos = KZ_NO_TOKEN,
                                       .eos = KZ_NO_TOKEN,
                                       .unknown = KZ_NO_TOKEN,
                                       .tokens = tokens,
                                       .token_count = 2};
    assert_int_equal(build(&sound), KAZEIA_OK);
    kz_tokenizer_source source = sound;
    source.token_count = 0;
    assert_int_equal(build(&source), KAZEIA_UNSUPPORTED);
    source = sound;
    source.merges = &merge;
    source.merge_count = 1;
    assert_int_equal(build(&source), KAZEIA_BAD_FILE);
    source = sound;
    source.flags = KZ_TOKENIZER_ADD_BOS;
    assert_int_equal(build(&source), KAZEIA_BAD_FILE);
    tokens[1] = (kz_tokenizer_token){long_text, KZ_TOKEN_BYTES_LIMIT + 1, KZ_TOKEN_NORMAL, 0};
    assert_int_equal(build(&sound), KAZEIA_UNSUPPORTED);
    tokens[1] = (kz_tokenizer_token){long_text, KZ_SPECIAL_BYTES_LIMIT + 1, KZ_TOKEN_CONTROL, 0};
    assert_int_equal(build(&sound), KAZEIA_UNSUPPORTED);
    tokens[1] = (kz_tokenizer_token){long_text, 1, KZ_TOKEN_NORMAL, 0.0f / tokens[0].score};
    assert_int_equal(build(&sound), KAZEIA_BAD_FILE);
    free(long_text);
}

static void failed_allocations_of_the_builder_leave_nothing(void **state) {
    (void)state;
    const kz_tokenizer_token token = {(const uint8_t *)"a", 1, KZ_TOKEN_NORMAL, 0};
    const kz_tokenizer_source source = {.kind = KZ_TOKENIZER_BYTE_BPE,
                                        .bos = KZ_NO_TOKEN,
                                        .eos = KZ_NO_TOKEN,
                                        .unknown = KZ_NO_TOKEN,
                                        .tokens = &token,
                                        .token_count = 1};
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    for (size_t fail_at = 1; status == KAZEIA_OUT_OF_MEMORY; fail_at++) {
        counting_allocator counting;
        counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        uint8_t *bytes = NULL;
        size_t count = 0;
        status = kz_tokenizer_build(&source, &counting.allocator, &bytes, &count);
        kz_free_aligned(&counting.allocator, bytes);
        assert_int_equal(counting.live_count, 0);
    }
    assert_int_equal(status, KAZEIA_OK);
}

static void equal_merges_and_tokens_count_once(void **state) {
    (void)state;
    const kz_tokenizer_token tokens[] = {{(const uint8_t *)"a", 1, KZ_TOKEN_NORMAL, 0},
                                         {(const uint8_t *)"a", 1, KZ_TOKEN_NORMAL, 0},
                                         {(const uint8_t *)"<x>", 3, KZ_TOKEN_USER, 0},
                                         {(const uint8_t *)"<x>", 3, KZ_TOKEN_CONTROL, 0}};
    const kz_tokenizer_merge merges[] = {{0, 0, 1}, {0, 0, 2}};
    const kz_tokenizer_source source = {.kind = KZ_TOKENIZER_BYTE_BPE,
                                        .bos = KZ_NO_TOKEN,
                                        .eos = KZ_NO_TOKEN,
                                        .unknown = KZ_NO_TOKEN,
                                        .tokens = tokens,
                                        .token_count = 4,
                                        .merges = merges,
                                        .merge_count = 2};
    uint8_t *bytes = NULL;
    size_t count = 0;
    assert_int_equal(kz_tokenizer_build(&source, NULL, &bytes, &count), KAZEIA_OK);
    kz_tokenizer_view view;
    assert_int_equal(kz_tokenizer_view_open(&(kz_bytes){bytes, count}, &view), KAZEIA_OK);
    assert_int_equal(kz_tokenizer_view_find_merge(&view, 0, 0), 0);
    assert_int_equal(kz_tokenizer_view_find_merge(&view, 0, 1), KZ_NO_TOKEN);
    assert_int_equal(kz_tokenizer_view_find_piece(&view, (const uint8_t *)"a", 1), 0);
    assert_int_equal(view.special_count, 1);
    assert_int_equal(view.specials[0], 2);
    free_section((kz_bytes){bytes, count});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_altered_byte_is_survived),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(huge_counts_are_refused),
        cmocka_unit_test(a_section_must_be_aligned),
        cmocka_unit_test(the_builder_refuses_what_cannot_be_stated),
        cmocka_unit_test(failed_allocations_of_the_builder_leave_nothing),
        cmocka_unit_test(equal_merges_and_tokens_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
