// test_spoken.c: what the voice must not read is dropped, whatever the feed, and hostile text is
// safe.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/spoken.h"
#include "text_test.h"

// The number of cases in the files spoken_more.
enum { TEXT_BYTES = 65536, MORE_FRENCH = 225, MORE_ENGLISH = 44 };

typedef struct pair_of_streams {
    kz_spoken_stream *plain; // no words: cleans only
    kz_spoken_stream *words; // French; NULL in a build without ICU
} pair_of_streams;

// Runs `text` through the stream, `size` bytes a feed, into `out`; returns the bytes put out. With
// a small `capacity` only the count and the UTF-8 are checked.
static size_t clean(kz_spoken_stream *stream, const char *text, size_t count, size_t size,
                    char *out, size_t capacity) {
    size_t at = 0, used = 0;
    kz_spoken_stream_reset(stream);
    for (;;) {
        kz_text_view piece;
        const kazeia_status status = kz_spoken_stream_next(stream, &piece);
        if (status == KAZEIA_OK) {
            for (size_t i = 0; i < piece.count;) {
                const kz_utf8_char c = kz_utf8_read(piece.bytes + i, piece.count - i);
                assert_true(c.is_valid);
                i += c.length;
            }
            if (used + piece.count < capacity) {
                memcpy(out + used, piece.bytes, piece.count);
                out[used + piece.count] = '\0';
            }
            used += piece.count;
        } else if (status == KAZEIA_DONE) {
            return used;
        } else if (at == count) {
            kz_spoken_stream_finish(stream);
        } else {
            size_t taken;
            const size_t wanted = size < count - at ? size : count - at;
            assert_int_equal(kz_spoken_stream_feed(stream, text + at, wanted, &taken), KAZEIA_OK);
            assert_true(taken > 0);
            at += taken;
        }
    }
}

// Compares at several feed sizes; false and a line on stderr when one differs from the first.
static bool clean_alike(kz_spoken_stream *stream, const char *text, size_t count, char *out) {
    static const size_t sizes[] = {1, 2, 3, 7, 64};
    static char other[TEXT_BYTES];
    out[0] = '\0';
    const size_t length = clean(stream, text, count, 100000, out, TEXT_BYTES);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        other[0] = '\0';
        if (clean(stream, text, count, sizes[i], other, TEXT_BYTES) != length ||
            strcmp(other, out) != 0) {
            fprintf(stderr, "feed size %zu: [%s] and not [%s]\n", sizes[i], other, out);
            return false;
        }
    }
    return true;
}

typedef struct golden {
    kz_spoken_stream *stream;
    size_t wrong;
} golden;

static bool is_one_reading(const json_t *readings, const char *found) {
    static char folded[TEXT_BYTES], expected[TEXT_BYTES];
    bool is_right = false;
    fold_for_comparison(found, strlen(found), folded, sizeof folded);
    for (size_t i = 0; i < json_array_size(readings); i++) {
        const json_t *reading = json_array_get(readings, i);
        fold_for_comparison(json_string_value(reading), json_string_length(reading), expected,
                            sizeof expected);
        is_right = is_right || strcmp(folded, expected) == 0;
    }
    return is_right;
}

static void check_golden(void *context, json_t *line) {
    golden *tally = context;
    static char found[TEXT_BYTES];
    const json_t *text = json_object_get(line, "text");
    tally->wrong +=
        !clean_alike(tally->stream, json_string_value(text), json_string_length(text), found);
    if (!is_one_reading(json_object_get(line, "spoken"), found)) {
        fprintf(stderr, "[%s] -> [%s]\n", json_string_value(text), found);
        tally->wrong++;
    }
}

static void check_language(const char *language, const char *path, size_t cases) {
    golden tally = {NULL, 0};
    assert_int_equal(kz_spoken_stream_create(language, NULL, &tally.stream), KAZEIA_OK);
    assert_int_equal(for_each_line(path, check_golden, &tally), cases);
    assert_int_equal(tally.wrong, 0);
    kz_spoken_stream_destroy(tally.stream);
}

static void test_golden_texts(void **state) {
    (void)state;
    if (!kz_spoken_has_words("fr")) {
        print_message("this build has no ICU\n");
        skip();
    }
    check_language("fr", "tests/golden/text/spoken_fr.jsonl", 177);
    check_language("en", "tests/golden/text/spoken_en.jsonl", 61);
    check_language("fr-CA", "tests/golden/text/spoken_more_fr.jsonl", MORE_FRENCH);
    check_language("en_GB", "tests/golden/text/spoken_more_en.jsonl", MORE_ENGLISH);
}

static const struct pair {
    const char *written, *spoken;
} pairs[] = {
    {"<|im_start|>assistant\nBonjour.<|im_end|>", "Bonjour."},
    {"<start_of_turn>model\nSalut<end_of_turn>", "Salut"},
    {"<bos>Oui.</s><pad>", "Oui."},
    {"<｜begin▁of▁sentence｜>Oui.", "Oui."},
    {"[INST] Oui. [/INST]", "Oui."},
    {"Oui.<think>non</think> Si.", "Oui. Si."},
    {"Oui. <THINK>non </thin</think>Si. <think>sans fin", "Oui. Si."},
    {"a < b et c > d, si x<y.", "a < b et c > d, si x<y."},
    {"Va sur <https://exemple.fr> ou <moi@exemple.fr>.",
     "Va sur https://exemple.fr ou moi@exemple.fr."},
    {"![un chat](chat.png) et [l'aide][1] ou [texte](http://a.b/(c)).",
     "un chat et l'aide ou texte."},
    {"***gras*** __init__ ~~barré~~ a*b* 2*3 = 6, 2 * 3", "gras init barré ab 2*3 = 6, 2 * 3"},
    {"- [ ] du pain\n- [x] du lait\n* **sel**\n+ eau\n• thé", "du pain\ndu lait\nsel\neau\nthé"},
    {"Titre\n=====\n\nTexte\n---\n***\n-5 °C", "Titre\nTexte\n-5 °C"},
    {"|a|b|\n|:-|-:|\n|1| -2 |", "a, b\n1, -2"},
    {"~~~\ncode\n~~~\nFin", "Fin"},
    {"````md\n```\nx\n```\n````\nFin", "Fin"},
    {"Un drapeau 🇫🇷, un 1️⃣ et I <3 you :'(", "Un drapeau, un 1 et I you"},
    {"Il a dit : (oui) ;-) !", "Il a dit : (oui) !"},
    {"2 m², 10⁶, x², mot²", "2 m², 10⁶, x², mot"},
    {"\\*pas gras\\* \\# ni titre", "*pas gras* # ni titre"},
    {"# Titre #\n#tag et C#", "Titre\n#tag et C#"},
    {"A\xff\xc3 B\x01\x1b[31m\xe2\x80\x8b C", "A B31m C"},
    {"<!-- caché -->vu<script>x()</script> <a href=\"u\">lien</a>", "vu lien"},
    {"&lt;b&gt; &#x1F600;&eacute;t&eacute; &inconnu; &", "<b> été &inconnu; &"},
    {"  \n\n Début   et\n\n\nfin  ", "Début et\nfin"},
    {"« Oui » — non", "« Oui » — non"},
    {"— Oui ?\n— Non.", "Oui ?\nNon."},
};

static void test_written_and_spoken(void **state) {
    static char found[TEXT_BYTES];
    const pair_of_streams *streams = *state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        wrong += !clean_alike(streams->plain, pairs[i].written, strlen(pairs[i].written), found);
        if (strcmp(found, pairs[i].spoken) != 0) {
            fprintf(stderr, "[%s] -> [%s], expected [%s]\n", pairs[i].written, found,
                    pairs[i].spoken);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

// Random mixtures of signs: alike at every feed size, valid UTF-8, never more than twice as long.
static void test_random_signs(void **state) {
    static const char *const units[] = {
        "<",       ">",
        "<think>", "</think>",
        "`",       "```\n",
        "*",       "_",
        "[",       "]",
        "(",       ")",
        "\n",      " ",
        "a",       "9",
        "&amp;",   "&",
        "|",       "-",
        ":",       ":-)",
        "😀",       "\xf0\x9f",
        "\xff",    "~",
        "#",       "!",
        "\\",      "=",
        "<|x|>",   "<br>",
        "²",       "—",
        "[1]",     ";",
        "####",    "14h",
        "1/2 ",    "€",
        ".com",    "VIII ",
        "M. ",     "@",
        "+33 6",   "<|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|>",
        "+",       "é"};
    enum { UNIT_COUNT = sizeof units / sizeof units[0] };
    static char text[4096], found[TEXT_BYTES];
    const pair_of_streams *streams = *state;
    uint32_t seed = 3;
    for (uint32_t round = 0; round < 1500; round++) {
        size_t count = 0;
        const size_t wanted = 20 + round % 500;
        while (count < wanted) {
            seed = seed * 1664525u + 1013904223u;
            const char *unit =
                units[(round + (seed >> 16) % (1 + round % UNIT_COUNT)) % UNIT_COUNT];
            memcpy(text + count, unit, strlen(unit));
            count += strlen(unit);
        }
        assert_true(clean_alike(streams->plain, text, count, found));
        assert_true(strlen(found) <= 2 * count);
        if (streams->words != NULL && round % 5 == 0) {
            assert_true(clean_alike(streams->words, text, count, found));
        }
    }
}

// One megabyte of each unit, a byte at a time: what is not linear would not end in the test's time.
static void test_long_hostile_text(void **state) {
    static const char *const units[] = {
        "a",    "*",  "[",      "<",  "<a ", "&",    "`", "- ", "> ", "|",      "<think>",
        "9",    "9 ", "1.",     "X",  "a.",  "a@",   "½", "(",  "9/", "M. A. ", "É",
        "www.", "'",  "1 000 ", "](", "_",   "\xf0", "#", ":",  "-",  "<!--",   "!["};
    const size_t count = 1000000;
    char *text = malloc(count);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t length = strlen(units[i]);
        for (size_t at = 0; at < count; at++) {
            text[at] = units[i][at % length];
        }
        const pair_of_streams *streams = *state;
        assert_true(clean(streams->plain, text, count, 1, NULL, 0) <= 2 * count);
        if (streams->words != NULL) {
            assert_true(clean(streams->words, text, count, 999, NULL, 0) <= 40 * count);
        }
    }
    free(text);
}

// A sentence that is said to end is given whole, though the next one has not come; and a text that
// goes on is waited for.
static void test_sentence_end(void **state) {
    const pair_of_streams *streams = *state;
    kz_text_view piece;
    size_t taken;
    if (streams->words == NULL) {
        skip();
    }
    kz_spoken_stream_reset(streams->words);
    assert_int_equal(kz_spoken_stream_feed(streams->words, "Il est 14", 9, &taken), KAZEIA_OK);
    assert_int_equal(kz_spoken_stream_next(streams->words, &piece), KAZEIA_NEEDS_INPUT);
    assert_int_equal(kz_spoken_stream_feed(streams->words, "h30 ! ", 6, &taken), KAZEIA_OK);
    assert_int_equal(kz_spoken_stream_next(streams->words, &piece), KAZEIA_NEEDS_INPUT);
    kz_spoken_stream_end_sentence(streams->words);
    assert_int_equal(kz_spoken_stream_next(streams->words, &piece), KAZEIA_OK);
    assert_int_equal(piece.count, strlen("Il est quatorze heures trente !"));
    assert_memory_equal(piece.bytes, "Il est quatorze heures trente !", piece.count);
    assert_int_equal(kz_spoken_stream_next(streams->words, &piece), KAZEIA_NEEDS_INPUT);
    assert_int_equal(kz_spoken_stream_feed(streams->words, "\n3.", 3, &taken), KAZEIA_OK);
    kz_spoken_stream_finish(streams->words);
    assert_int_equal(kz_spoken_stream_next(streams->words, &piece), KAZEIA_OK);
    assert_int_equal(piece.count, 6);
    assert_memory_equal(piece.bytes, "trois.", 6);
    assert_int_equal(kz_spoken_stream_next(streams->words, &piece), KAZEIA_DONE);
}

static int open_streams(void **state) {
    static pair_of_streams streams;
    if (kz_spoken_stream_create(NULL, NULL, &streams.plain) != KAZEIA_OK ||
        (kz_spoken_has_words("fr") &&
         kz_spoken_stream_create("fr", NULL, &streams.words) != KAZEIA_OK)) {
        return -1;
    }
    *state = &streams;
    return 0;
}

static int close_streams(void **state) {
    const pair_of_streams *streams = *state;
    kz_spoken_stream_destroy(streams->plain);
    kz_spoken_stream_destroy(streams->words);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_texts), cmocka_unit_test(test_written_and_spoken),
        cmocka_unit_test(test_random_signs), cmocka_unit_test(test_long_hostile_text),
        cmocka_unit_test(test_sentence_end),
    };
    return cmocka_run_group_tests(tests, open_streams, close_streams);
}
