// test_pretokenizer.c: how each named pre-tokeniser cuts text.
//
// in: short lines with their pieces, as the `tokenizers` library 0.23.3 cuts them with the pipeline
// that each model publishes (falcon: without its Digits, which parts nothing that its vocabulary
// merges)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/checkpoint/tokenizer_draft.h"
#include "exporter/checkpoint/tokenizer_patterns.h"
#include "text/nfc.h"
#include "text/pretokenizer.h"
#include "tokenizer_fixture.h"

// Pieces are told apart by '|', which no text holds.
static const struct {
    const char *name, *text, *pieces;
} CASES[] = {
    {"gpt-2", "I've  12345 l'été\n\n x_y?! ", "I|'ve| | 12345| l|'|été|\n\n| x|_|y|?!| "},
    {"gpt-2", "C'EST l'œuvre", "C|'|EST| l|'|œuvre"},
    {"gpt-2", "\302\240a\t\tb", "\302\240|a|\t|\t|b"},
    {"gpt-2", "e\314\201te\314\201 中文123", "e|\314\201|te|\314\201| 中文|123"},
    {"qwen2", "I'VE 2024: x\r\n\r\n  y", "I|'VE| |2|0|2|4|:| x|\r\n\r\n| | y"},
    {"qwen2", "(l'été) 中文123 …\n z", "(l|'été|)| 中文|1|2|3| …\n| z"},
    {"qwen2", "a  \n b\343\200\200c", "a|  \n| b|\343\200\200c"},
    {"qwen35", "ne\314\201e नमस्ते I'm 42", "ne\314\201e| नमस्ते| I|'m| |4|2"},
    {"qwen35", "x \314\201y!\314\201", "x| \314\201y|!\314\201"},
    {"llama-bpe", "I'Ll 1234567 été!\n\n  x", "I|'Ll| |123|456|7| été|!\n\n| | x"},
    {"llama-bpe", " 12 345", " |12| |345"},
    {"smollm", "it's 12 3½\n  y", "it|'s| |1|2| |3|½|\n | y"},
    {"falcon", "Hello, world!! $1234 a+b 'tis I'll",
     "Hello|,| world|!!| |$|123|4| a|+|b| |'|tis| I|'|ll"},
    {"falcon", "(12)345678 «été»", "(|12|)|345|678| |«|été|»"},
    {"starcoder", "f(x1, 42)\n    return", "f|(|x|1|,| |4|2|)|\n   | return"},
    {"refact", "v2.10  x", "v|2|.|1|0| | x"},
    {"mpt", "e\314\201te\314\201 123's", "été| 123|'s"},
    {"deepseek-llm", "Bonjour été 123!\r\n中文abc  \t。x",
     "Bonjour| é|t|é| |1|2|3|!|\r|\n|中文|abc|  |\t|。|x"},
    {"deepseek-llm", "the  Привет, 12", "the| | Привет|,| |1|2"},
    {"deepseek-coder", "if (x1 == 42) {\n  中文éa!? }",
     "if| (|x|1| == |4|2|)| {|\n| | |中文|éa|!?| }"},
};

// The pieces so far, joined.
typedef struct joined_pieces {
    char text[512];
    size_t count;
} joined_pieces;

static kazeia_status join_piece(void *context, const uint8_t *bytes, size_t count) {
    joined_pieces *joined = context;
    assert_true(joined->count + count + 2 < sizeof joined->text);
    if (joined->count > 0) {
        joined->text[joined->count++] = '|';
    }
    memcpy(joined->text + joined->count, bytes, count);
    joined->count += count;
    return KAZEIA_OK;
}

// A vocabulary of one token: patterns and flags are all that counts.
static kz_bytes build_section(const char *name) {
    kz_tokenizer_draft *draft = NULL;
    uint8_t *bytes = NULL;
    size_t count = 0;
    assert_int_equal(kz_tokenizer_draft_create(KZ_TOKENIZER_BYTE_BPE, 1, NULL, &draft), KAZEIA_OK);
    assert_int_equal(kz_tokenizer_draft_add_named(draft, name), KAZEIA_OK);
    kz_tokenizer_draft_source(draft)->bos = 0;
    assert_int_equal(kz_tokenizer_draft_build(draft, &bytes, &count), KAZEIA_OK);
    kz_tokenizer_draft_destroy(draft);
    return (kz_bytes){bytes, count};
}

static void split_text(const kz_tokenizer_view *view, const char *text, joined_pieces *joined) {
    const uint8_t *bytes = (const uint8_t *)text;
    size_t count = strlen(text);
    kz_nfc nfc;
    kz_pretokenizer *pretokenizer = NULL;
    assert_int_equal(kz_nfc_init(&nfc, 256, NULL), KAZEIA_OK);
    if ((view->flags & KZ_TOKENIZER_NFC) != 0) {
        assert_int_equal(kz_nfc_compose(&nfc, bytes, count, &bytes, &count), KAZEIA_OK);
    }
    assert_int_equal(kz_pretokenizer_open(view, NULL, &pretokenizer), KAZEIA_OK);
    assert_int_equal(kz_pretokenizer_split(pretokenizer, bytes, count, join_piece, joined),
                     KAZEIA_OK);
    joined->text[joined->count] = 0;
    kz_pretokenizer_close(pretokenizer);
    kz_nfc_clear(&nfc);
}

static void names_cut_as_their_models_do(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const kz_bytes section = build_section(CASES[i].name);
        kz_tokenizer_view view;
        joined_pieces joined = {.count = 0};
        assert_int_equal(kz_tokenizer_view_open(&section, &view), KAZEIA_OK);
        split_text(&view, CASES[i].text, &joined);
        if (strcmp(joined.text, CASES[i].pieces) != 0) {
            fail_msg("%s: '%s' becomes '%s'; expected '%s'", CASES[i].name, CASES[i].text,
                     joined.text, CASES[i].pieces);
        }
        free_section(section);
    }
}

static void aliases_mean_the_same(void **state) {
    (void)state;
    static const char *const PAIRS[][2] = {
        {"phi-2", "gpt-2"},       {"mellum", "gpt-2"},       {"deepseek-r1-qwen", "qwen2"},
        {"qwen3", "qwen2"},       {"llama-v3", "llama-bpe"}, {"llama3", "llama-bpe"},
        {"falcon3", "llama-bpe"}, {"lfm2", "llama-bpe"}};
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        const kz_named_pretokenizer *alias = NULL;
        const kz_named_pretokenizer *meant = NULL;
        assert_int_equal(kz_find_pretokenizer(PAIRS[i][0], &alias), KAZEIA_OK);
        assert_int_equal(kz_find_pretokenizer(PAIRS[i][1], &meant), KAZEIA_OK);
        assert_int_equal(alias->flags, meant->flags);
        assert_string_equal(alias->patterns[0], meant->patterns[0]);
    }
}

static void other_names_are_refused_with_the_list(void **state) {
    (void)state;
    static const char *const NAMES[] = {"command-r", "default", "tekken", "gpt-4o", ""};
    static const char *const KNOWN[] = {"gpt-2",  "qwen2",        "qwen35",        "llama-bpe",
                                        "smollm", "falcon",       "mpt",           "starcoder",
                                        "refact", "deepseek-llm", "deepseek-coder"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const kz_named_pretokenizer *found = NULL;
        assert_int_equal(kz_find_pretokenizer(NAMES[i], &found), KAZEIA_UNSUPPORTED);
        assert_non_null(strstr(kazeia_last_error(), NAMES[i]));
        for (size_t known = 0; known < sizeof KNOWN / sizeof KNOWN[0]; known++) {
            assert_non_null(strstr(kazeia_last_error(), KNOWN[known]));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_cut_as_their_models_do),
        cmocka_unit_test(aliases_mean_the_same),
        cmocka_unit_test(other_names_are_refused_with_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
