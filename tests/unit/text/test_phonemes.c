// test_phonemes.c: words become IPA, punctuation stays. Skipped where espeak-ng is absent.
//
// in:  sentences
// out: cmocka's report
// The values are espeak-ng 1.51's; those with foreign words or numbers are left to its own tests.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/espeak_library.h"
#include "text/phonemes.h"

#define MOST_IPA_BYTES 65536u

static kz_text_buffer ipa;

static int open_espeak(void **state) {
    (void)state;
    uint32_t rate_hz;
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    if (kz_text_buffer_init(&ipa, &memory, MOST_IPA_BYTES, MOST_IPA_BYTES) != KAZEIA_OK) {
        return -1;
    }
    if (kz_espeak_open(&rate_hz) != KAZEIA_OK) {
        print_message("skipped: %s\n", kazeia_last_error());
    }
    return 0;
}

static int close_espeak(void **state) {
    (void)state;
    kz_text_buffer_clear(&ipa);
    return 0;
}

// Opened by the group above where it is there; so a second opening tells.
static bool is_absent(void) {
    uint32_t rate_hz;
    if (kz_espeak_open(&rate_hz) == KAZEIA_OK) {
        kz_espeak_close();
        return false;
    }
    assert_non_null(strstr(kazeia_last_error(), "install the package"));
    return true;
}

#define SKIP_WHERE_ABSENT() \
    if (is_absent()) {      \
        skip();             \
    }

// All clauses of a text, with '|' between them.
static const char *phonemes_of(const char *voice, const char *text, size_t count) {
    kz_text_buffer_reset(&ipa);
    for (size_t at = 0, taken = 0; at < count; at += taken) {
        if (at > 0) {
            assert_int_equal(kz_text_buffer_append_string(&ipa, "|"), KAZEIA_OK);
        }
        assert_int_equal(kz_phonemes_of_clause(voice, text + at, count - at, &ipa, &taken),
                         KAZEIA_OK);
        assert_in_range(taken, 1, count - at);
    }
    return ipa.bytes;
}

static void assert_phonemes(const char *voice, const char *text, const char *expected) {
    assert_string_equal(phonemes_of(voice, text, strlen(text)), expected);
}

static void french_keeps_marks_and_liaisons(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    assert_phonemes("fr", "Bonjour, madame ; comment allez-vous ?",
                    "bɔ̃ʒˈuʁ,|madˈam;|kɔmˌɑ̃ alˈevˈu?");
    assert_phonemes("fr", "Les enfants ont un ami : « Paul » (le grand) — oui…",
                    "le-z ɑ̃fˈɑ̃z ˈɔ̃t œ̃n amˈi:|“pˈɔl”|(lə- ɡʁˈɑ̃) —|wˈi…");
    assert_phonemes("fr", "Y a-t-il un œuf ? Un bon hiver. Qu’est-ce qu'on attend !",
                    "i atil œ̃n ˈœf?|œ̃ bˈɔ̃n ivˈɛʁ.|kɛs kɔ̃n atˈɑ̃!");
    assert_phonemes("fr", "« Oui », dit-il. Non – pas.", "“wˈi”,|dˈitˈil.|nˈɔ̃ —|pˈa.");
}

// Tie bars tell one sound from two.
static void english_differs_by_country(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    assert_phonemes("en-us", "Hello there, my boy; a jar of water!",
                    "həlˈo͡ʊ ðˈɛ͡ɹ,|ma͡ɪ bˈɔ͡ɪ;|ɐ d͡ʒˈɑːɹ ʌv wˈɔːɾɚ!");
    assert_phonemes("en", "Hello there, my boy; a jar of water!",
                    "həlˈə͡ʊ ðˈe͡ə,|ma͡ɪ bˈɔ͡ɪ;|ɐ d͡ʒˈɑːɹ ɒv wˈɔːtə!");
}

static void marks_are_made_plain(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    assert_phonemes("en-us", "No... no!!! no?! \"No\" [no] {no}",
                    "nˈo͡ʊ…|nˈo͡ʊ!|nˈo͡ʊ?!|“nˈo͡ʊ”|(nˈo͡ʊ)|(nˈo͡ʊ)");
    assert_phonemes("en-us", "...no - no -- no", "…nˈo͡ʊ —|nˈo͡ʊ —|nˈo͡ʊ");
    assert_phonemes("en-us", " . . . ", "…");
    assert_phonemes("en-us", "(\"no\")", "(“nˈo͡ʊ”)");
    assert_phonemes("en-us", "", "");
    assert_phonemes("en-us", " \n\t ", "");
    // Within a number or a name a sign is a part of it: one comma ends a clause.
    const char *clause = strchr(phonemes_of("en-us", "at 10:30 or 3.5, k.org", 22), '|');
    assert_non_null(clause);
    assert_int_equal(clause[-1], ',');
    assert_null(strchr(clause + 1, '|'));
}

// espeak-ng says "(en)" where it reads a word as English.
static void remarks_are_left_out(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    const char text[] = "Le football est un week-end agréable.";
    assert_null(strpbrk(phonemes_of("fr", text, strlen(text)), "()"));
    assert_non_null(strstr(ipa.bytes, "aɡʁeˈabl."));
}

static void long_text_is_cut_after_a_word(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    char text[2400];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = "oui "[i % 4];
    }
    const char *out = phonemes_of("fr", text, sizeof text);
    size_t words = 0, clauses = 1;
    for (size_t i = 0; out[i] != '\0'; i++) {
        clauses += out[i] == '|';
        words += out[i] == 'w';
    }
    assert_int_equal(clauses, 5);
    assert_int_equal(words, sizeof text / 4);
}

static void hostile_text_is_harmless(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    const char *const texts[] = {"\xff\xfe\x80",
                                 "a\xe2",
                                 "\xf0\x9f",
                                 "\x01\x02\x1b[31m oui",
                                 "\u202eoui\u200f \u200eoui",
                                 "日本語 да",
                                 "((((((",
                                 "))))))",
                                 "”“”“",
                                 "<speak><audio src='x'/></speak>",
                                 "[[p]]",
                                 "--------"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        (void)phonemes_of("fr", texts[i], strlen(texts[i]));
        (void)phonemes_of("en-us", texts[i], strlen(texts[i]));
    }
    const char *right_to_left = "\u202eoui\u200f \u200eoui\u202c";
    assert_string_equal(phonemes_of("fr", right_to_left, strlen(right_to_left)), "wˌi wˈi");
    char noise[997];
    uint32_t random = 7;
    for (int round = 0; round < 60; round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            random = random * 1664525u + 1013904223u;
            noise[i] = (char)(random >> 24);
        }
        (void)phonemes_of(round % 2 ? "fr" : "en-us", noise, sizeof noise);
    }
}

// Each clause looks at a bounded stretch, whatever follows it.
static void a_megabyte_takes_linear_time(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    static const char *const fillings[] = {"a", "!", "(", "\"", "-", ".", "*_`["};
    const size_t count = 1 << 20;
    char *text = malloc(count);
    assert_non_null(text);
    for (size_t f = 0; f < sizeof fillings / sizeof fillings[0]; f++) {
        const size_t length = strlen(fillings[f]);
        for (size_t i = 0; i < count; i++) {
            text[i] = fillings[f][i % length];
        }
        size_t at = 0;
        // espeak-ng needs seconds to spell a megabyte: a part is enough.
        while (at < count / 8) {
            size_t taken = 0;
            kz_text_buffer_reset(&ipa);
            assert_int_equal(kz_phonemes_of_clause("fr", text + at, count - at, &ipa, &taken),
                             KAZEIA_OK);
            assert_in_range(taken, 1, KZ_PHONEMES_TEXT_BYTES);
            at += taken;
        }
    }
    free(text);
}

static void a_small_buffer_is_told(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_text_buffer small;
    size_t taken = 0;
    assert_int_equal(kz_text_buffer_init(&small, &memory, 8, 8), KAZEIA_OK);
    assert_int_equal(kz_phonemes_of_clause("fr", "Bonjour, madame", 15, &small, &taken),
                     KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(taken, 7); // behind the word: its comma may follow or not
    kz_text_buffer_clear(&small);
    assert_int_equal(kz_phonemes_of_clause("xx-none", "oui", 3, &ipa, &taken), KAZEIA_NOT_FOUND);
    assert_int_equal(taken, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(french_keeps_marks_and_liaisons),
        cmocka_unit_test(english_differs_by_country),
        cmocka_unit_test(marks_are_made_plain),
        cmocka_unit_test(remarks_are_left_out),
        cmocka_unit_test(long_text_is_cut_after_a_word),
        cmocka_unit_test(hostile_text_is_harmless),
        cmocka_unit_test(a_megabyte_takes_linear_time),
        cmocka_unit_test(a_small_buffer_is_told),
    };
    return cmocka_run_group_tests(tests, open_espeak, close_espeak);
}
