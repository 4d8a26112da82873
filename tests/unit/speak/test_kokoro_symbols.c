// test_kokoro_symbols.c: IPA becomes the characters and ids of a Kokoro.
//
// in:  IPA as espeak-ng writes it; programs with and without symbols
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/writer.h"
#include "speak/kokoro_symbols.h"

// The id of each character is its place here; the real ones do not matter.
static const char *const characters[] = {
    "$", ";", ":", ",", ".", "!", "?", "—", "…", "(", ")", "“", "”", " ", "\u0303",
    "ʣ", "ʦ", "A", "I", "O", "Q", "S", "T", "W", "Y", "ᵊ", "a", "b", "d", "e",
    "f", "h", "i", "j", "k", "l", "m", "n", "o", "p", "s", "t", "u", "v", "w",
    "y", "z", "ɑ", "ɒ", "æ", "ɔ", "ð", "ʤ", "ə", "ɛ", "ɜ", "ɡ", "ɥ", "ɪ", "ŋ",
    "ɲ", "ø", "θ", "œ", "ɹ", "ʁ", "ʃ", "ʧ", "ʊ", "ʌ", "ʒ", "ˈ", "ˌ", "ː", "ᵻ"};
#define CHARACTER_COUNT (sizeof characters / sizeof characters[0])

typedef struct symbol_lists {
    const char *texts[CHARACTER_COUNT];
    int64_t ids[CHARACTER_COUNT];
    size_t text_count, id_count;
} symbol_lists;

static symbol_lists right_lists(void) {
    symbol_lists lists = {.text_count = CHARACTER_COUNT, .id_count = CHARACTER_COUNT};
    for (size_t i = 0; i < CHARACTER_COUNT; i++) {
        lists.texts[i] = characters[i];
        lists.ids[i] = (int64_t)i;
    }
    return lists;
}

static kazeia_status read_lists(const symbol_lists *lists, kz_kokoro_symbols *out_symbols) {
    const kz_metadata metadata[] = {{.key = "speak.symbols",
                                     .type = KZ_METADATA_STRINGS,
                                     .strings = lists->texts,
                                     .count = lists->text_count},
                                    {.key = "speak.symbol_codes",
                                     .type = KZ_METADATA_INTEGERS,
                                     .integers = lists->ids,
                                     .count = lists->id_count}};
    const kz_program_description description = {.metadata = metadata,
                                                .metadata_count = lists->id_count > 0 ? 2 : 1};
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    uint8_t *bytes = NULL;
    size_t count = 0;
    kz_program *program = NULL;
    assert_int_equal(kz_program_write_memory(&description, NULL, &memory, &bytes, &count),
                     KAZEIA_OK);
    assert_int_equal(kz_program_open_memory(bytes, count, &memory, &program), KAZEIA_OK);
    const kazeia_status status = kz_kokoro_symbols_read(program, CHARACTER_COUNT, out_symbols);
    kz_program_release(program);
    kz_free_aligned(&memory, bytes);
    return status;
}

static kz_kokoro_symbols symbols;

static int read_symbols(void **state) {
    (void)state;
    const symbol_lists lists = right_lists();
    return read_lists(&lists, &symbols) == KAZEIA_OK ? 0 : -1;
}

static void expect(const char *language, const char *ipa, const char *expected) {
    int32_t ids[256];
    char text[1024] = "";
    size_t taken = 0;
    const kz_kokoro_language *found = kz_kokoro_find_language(language);
    assert_non_null(found);
    const kz_text_view view = {ipa, strlen(ipa)};
    const size_t count = kz_kokoro_symbols_of(&symbols, found, view, 256, ids, &taken);
    assert_int_equal(taken, view.count);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(ids[i], 0, CHARACTER_COUNT - 1);
        strcat(text, characters[ids[i]]);
    }
    assert_string_equal(text, expected);
}

static void french_keeps_its_nasal_vowels(void **state) {
    (void)state;
    expect("fr", "bɔ̃ʒˈuʁ, madˈam;", "bɔ̃ʒˈuʁ, madˈam;");
    expect("fr", "le-z ɑ̃fˈɑ̃z ˈɔ̃t œ̃n amˈi: “pˈɔl” (lə- ɡʁˈɑ̃) — wˈi…",
           "lez ɑ̃fˈɑ̃z ˈɔ̃t œ̃n amˈi: “pˈɔl” (lə ɡʁˈɑ̃) — wˈi…");
    expect("fr", "a͡ɪ a͡ʊ d͡z d͡ʒ e͡ɪ o͡ʊ ə͡ʊ s͡s t͡s t͡ʃ ɔ͡ɪ k͡p", "I W ʣ ʤ A O Q S ʦ ʧ Y kp");
    expect("fr", "syːʁ fˈʊtbɔːl", "syːʁ fˈʊtbɔːl");
}

static void american_english_has_no_length(void **state) {
    (void)state;
    expect("en-us", "həlˈo͡ʊ ðˈɛ͡ɹ, ma͡ɪ lˈɪɾə͡l bˈʌʔn̩ wʌt ɐ d͡ʒˈʊ͡ɹɹi ɪz;",
           "həlˈO ðˈɛɹ, mI lˈɪTᵊl bˈʌtn wʌt ə ʤˈʊɹɹi ɪz;");
    expect("en-us", "bˈɜːd ɜːɹ wˈɔːɾɚ fˈa͡ɪ͡ɚ ˈa͡ʊɚ bˈɔ͡ɪ e͡ɪ t͡ʃ hˈæpᵻn",
           "bˈɜɹd ɜɹ wˈɔTəɹ fˈIəɹ ˈWəɹ bˈY A ʧ hˈæpᵻn");
    expect("en-us", "mˈoːɹ ɹˈɪðn̩ ʁɔ̃ çx", "mˈɔɹ ɹˈɪðᵊn ʁɔ kk");
}

static void british_english_keeps_it(void **state) {
    (void)state;
    expect("en-gb", "həlˈə͡ʊ ðˈe͡ə, ɹˈɑːðə hˈi͡ə, nˈiə bˈɜːd", "həlˈQ ðˈɛː, ɹˈɑːðə hˈɪə, nˈɪə bˈɜːd");
    expect("en-gb", "wɒt wˈɔːtəz", "wɒt wˈɔːtəz");
}

static void what_is_unknown_is_left_out(void **state) {
    (void)state;
    expect("fr", "a\xff\xfe日b\u202e_", "ab");
    expect("en-us", "", "");
    assert_null(kz_kokoro_find_language("ja"));
    assert_null(kz_kokoro_find_language(""));
    assert_string_equal(kz_kokoro_find_language("en-gb")->espeak_voice, "en");
}

// A buffer of any size gives the same ids, piece by piece.
static void small_buffers_give_the_same(void **state) {
    (void)state;
    const char ipa[] = "həlˈo͡ʊ ðˈɛ͡ɹ, ˈa͡ʊɚ bˈʌʔn̩ wˈɔːɾɚ";
    const kz_kokoro_language *english = kz_kokoro_find_language("en-us");
    int32_t whole[64], pieces[64];
    size_t taken = 0;
    const size_t count = kz_kokoro_symbols_of(
        &symbols, english, (kz_text_view){ipa, sizeof ipa - 1}, 64, whole, &taken);
    for (size_t capacity = 2; capacity < 8; capacity++) {
        size_t written = 0;
        for (size_t at = 0; at < sizeof ipa - 1; at += taken) {
            const kz_text_view rest = {ipa + at, sizeof ipa - 1 - at};
            const size_t more =
                kz_kokoro_symbols_of(&symbols, english, rest, capacity, pieces + written, &taken);
            assert_in_range(more, 0, capacity);
            assert_in_range(taken, 1, rest.count);
            written += more;
        }
        assert_int_equal(written, count);
        assert_memory_equal(pieces, whole, count * sizeof *whole);
    }
}

static void expect_refusal(const symbol_lists *lists, const char *words) {
    static kz_kokoro_symbols read;
    assert_int_equal(read_lists(lists, &read), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), words));
}

static void wrong_programs_are_refused(void **state) {
    (void)state;
    symbol_lists lists = right_lists();
    lists.id_count = 0;
    expect_refusal(&lists, "speak.symbol_codes is missing");
    lists = right_lists();
    lists.id_count--;
    expect_refusal(&lists, "75 symbols and 74 codes");
    lists = right_lists();
    lists.texts[3] = "ab";
    expect_refusal(&lists, "'ab', expected one character");
    lists.texts[3] = "";
    expect_refusal(&lists, "expected one character");
    lists.texts[3] = "a";
    expect_refusal(&lists, "U+0061 twice");
    lists = right_lists();
    lists.ids[3] = CHARACTER_COUNT;
    expect_refusal(&lists, "the id of ',' is 75, expected 0 to 74");
    lists.ids[3] = -1;
    expect_refusal(&lists, "is -1");
    lists = right_lists();
    lists.texts[13] = "x";
    expect_refusal(&lists, "no space");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(french_keeps_its_nasal_vowels),
        cmocka_unit_test(american_english_has_no_length),
        cmocka_unit_test(british_english_keeps_it),
        cmocka_unit_test(what_is_unknown_is_left_out),
        cmocka_unit_test(small_buffers_give_the_same),
        cmocka_unit_test(wrong_programs_are_refused),
    };
    return cmocka_run_group_tests(tests, read_symbols, NULL);
}
