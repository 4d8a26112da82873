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

enum { TEXT_BYTES = 8192 };

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
    size_t wrong, checked;
} golden;

// Kinds that hold nothing but what this stage drops; the others need words for numbers and signs.
static bool is_own_kind(const char *kind, const char *reading, const char *text) {
    static const char *const kinds[] = {"markdown", "code",        "table",     "emoji",
                                        "think",    "list",        "footnote",  "html",
                                        "ellipsis", "parenthesis", "apostrophe"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i], kind) == 0) {
            return strpbrk(text, "0123456789&") == NULL || strcmp(kind, "table") == 0 ||
                   strstr(text, "&#39;") != NULL || reading[0] == '\0';
        }
    }
    return false;
}

static void check_golden(void *context, json_t *line) {
    golden *tally = context;
    static char found[TEXT_BYTES], folded[TEXT_BYTES], expected[TEXT_BYTES];
    const json_t *readings = json_object_get(line, "spoken");
    const json_t *text = json_object_get(line, "text");
    const char *kind = json_string_value(json_object_get(line, "kind"));
    const char *first = json_string_value(json_array_get(readings, 0));
    bool is_right = false;
    if (!clean_alike(tally->stream, json_string_value(text), json_string_length(text), found)) {
        tally->wrong++;
    }
    if (!is_own_kind(kind, first, json_string_value(text)) ||
        strstr(json_string_value(text), "M<sup>") != NULL) {
        return;
    }
    fold_for_comparison(found, strlen(found), folded, sizeof folded);
    for (size_t i = 0; i < json_array_size(readings); i++) {
        const json_t *reading = json_array_get(readings, i);
        fold_for_comparison(json_string_value(reading), json_string_length(reading), expected,
                            sizeof expected);
        is_right = is_right || strcmp(folded, expected) == 0;
    }
    if (!is_right) {
        fprintf(stderr, "%s: [%s] -> [%s]\n", kind, json_string_value(text), found);
    }
    tally->wrong += !is_right;
    tally->checked++;
}

static void test_golden_texts(void **state) {
    golden tally = {*state, 0, 0};
    assert_int_equal(for_each_line("tests/golden/text/spoken_fr.jsonl", check_golden, &tally), 177);
    assert_int_equal(for_each_line("tests/golden/text/spoken_en.jsonl", check_golden, &tally), 61);
    assert_int_equal(tally.wrong, 0);
    assert_true(tally.checked >= 22);
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
    {"2 m², 10⁶, x²", "2 m², 10⁶, x"},
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
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        wrong += !clean_alike(*state, pairs[i].written, strlen(pairs[i].written), found);
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
        "####",    "<|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|>",
        "+",       "é"};
    enum { UNIT_COUNT = sizeof units / sizeof units[0] };
    static char text[4096], found[TEXT_BYTES];
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
        assert_true(clean_alike(*state, text, count, found));
        assert_true(strlen(found) <= 2 * count);
    }
}

// One megabyte of each unit, a byte at a time: what is not linear would not end in the test's time.
static void test_long_hostile_text(void **state) {
    static const char *const units[] = {"a",  "*",  "[", "<",       "<a ", "&", "`",
                                        "- ", "> ", "|", "<think>", "](",  "_", "\xf0",
                                        "#",  ":",  "-", "<!--",    "!["};
    const size_t count = 1000000;
    char *text = malloc(count);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t length = strlen(units[i]);
        for (size_t at = 0; at < count; at++) {
            text[at] = units[i][at % length];
        }
        assert_true(clean(*state, text, count, 1, NULL, 0) <= 2 * count);
    }
    free(text);
}

static int open_stream(void **state) {
    kz_spoken_stream *stream;
    if (kz_spoken_stream_create(NULL, &stream) != KAZEIA_OK) {
        return -1;
    }
    *state = stream;
    return 0;
}

static int close_stream(void **state) {
    kz_spoken_stream_destroy(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_texts),
        cmocka_unit_test(test_written_and_spoken),
        cmocka_unit_test(test_random_signs),
        cmocka_unit_test(test_long_hostile_text),
    };
    return cmocka_run_group_tests(tests, open_stream, close_stream);
}
