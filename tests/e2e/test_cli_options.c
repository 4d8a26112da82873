// test_cli_options.c: the command line's parser, with the real option pages.
//
// in:  argument lists
// out: values, or a status and a sentence that names what is wrong

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "numbers.h"
#include "options.h"

#define MOST_ARGUMENTS 16

typedef struct parsed_line {
    char *arguments[MOST_ARGUMENTS];
    cli_options options;
    cli_sentence sentence;
    kazeia_status status;
} parsed_line;

// Reads "a b c" split at spaces; "_" stands for an empty argument.
static void read_line(const char *command, const char *text, parsed_line *out_line) {
    static char words[512];
    size_t count = 0;
    *out_line = (parsed_line){0};
    assert_true(strlen(text) < sizeof words);
    memcpy(words, text, strlen(text) + 1);
    for (char *rest = words, *word = NULL;
         (word = strsep(&rest, " ")) != NULL && word[0] != '\0';) {
        assert_true(count < MOST_ARGUMENTS);
        out_line->arguments[count++] = strcmp(word, "_") == 0 ? word + 1 : word;
    }
    out_line->status = cli_options_read(command, count, out_line->arguments, &out_line->options,
                                        &out_line->sentence);
}

static void assert_refused(const char *command, const char *text, const char *words) {
    parsed_line line;
    read_line(command, text, &line);
    if (line.status != KAZEIA_BAD_ARGUMENT || strstr(line.sentence.text, words) == NULL) {
        fail_msg("'%s %s': '%s' expected in '%s'", command, text, words, line.sentence.text);
    }
}

static void test_values_and_defaults(void **state) {
    (void)state;
    parsed_line line;
    read_line("generate",
              "--model m --prompt hé --top-k=40 --temperature 0.5 --seed "
              "18446744073709551615",
              &line);
    assert_int_equal(line.status, KAZEIA_OK);
    assert_string_equal(line.options.model, "m");
    assert_string_equal(line.options.prompt, "hé");
    assert_int_equal(line.options.top_k, 40);
    assert_true(line.options.temperature == 0.5);
    assert_true(line.options.top_p == 1.0);
    assert_true(line.options.seed == UINT64_MAX);
    assert_int_equal(line.options.max_tokens, 0);
    assert_false(line.options.is_json);
}

// The same option may be a switch here and a number there, or have another default.
static void test_options_differ_by_command(void **state) {
    (void)state;
    parsed_line line;
    read_line("tokenize", "--model m --decode", &line);
    assert_true(line.options.is_decoding);
    read_line("bench", "--model m --decode 7", &line);
    assert_int_equal(line.options.decode, 7);
    assert_false(line.options.is_decoding);
    read_line("bench", "--model m", &line);
    assert_int_equal(line.options.decode, 64);
    read_line("eval", "--model m", &line);
    assert_int_equal(line.options.context, 512);
    read_line("export", "a -o b", &line);
    assert_int_equal(line.options.context, 0);
    assert_string_equal(line.options.mode, "hybrid");
    assert_null(line.options.weights);
}

static void test_arguments_between_options(void **state) {
    (void)state;
    parsed_line line;
    read_line("transcribe", "one.wav --model m two.wav --json -- --three.wav -", &line);
    assert_int_equal(line.status, KAZEIA_OK);
    assert_int_equal(line.options.argument_count, 4);
    assert_string_equal(line.options.arguments[0], "one.wav");
    assert_string_equal(line.options.arguments[2], "--three.wav");
    assert_string_equal(line.options.arguments[3], "-");
    assert_true(line.options.is_json);
}

static void test_numbers_are_strict(void **state) {
    (void)state;
    static const char *const wrong[] = {"0",    "-1",  "+1",  "1.5",
                                        "0x10", "1e3", "65",  "99999999999999999999",
                                        "_",    "1k",  "one", "1,5"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "--model m --threads %s", wrong[i]);
        assert_refused("bench", text, "whole number from 1 to 64");
    }
    assert_refused("generate", "--temperature nan", "a number from 0 to 100");
    assert_refused("generate", "--temperature inf", "a number from 0 to 100");
    assert_refused("generate", "--temperature 1e999", "a number from 0 to 100");
    assert_refused("generate", "--min-p -0.1", "a number from 0 to 1");
    assert_refused("generate", "--min-p 0.1x", "a number from 0 to 1");
    assert_refused("generate", "--seed 18446744073709551616", "whole number");
    assert_refused("generate", "--memory-limit 17179869184G", "K, M or G");
    parsed_line line;
    read_line("bench", "--model m --memory-limit 3M", &line);
    assert_true(line.options.memory_limit == 3u << 20);
}

static void test_wrong_lines(void **state) {
    (void)state;
    assert_refused("generate", "--modle m", "the nearest is '--model'");
    assert_refused("generate", "--bogus", "unknown option '--bogus' of generate. 'kazeia generate");
    assert_refused("transcribe", "--min-p 1", ", turn). 'kazeia transcribe");
    assert_refused("transcribe", "--prompt x", "belongs to generate");
    assert_refused("generate", "--prompt x", "--model MODEL is missing");
    assert_refused("export", "a", "-o OUT.kzp is missing");
    assert_refused("generate", "--model", "expected a value");
    assert_refused("generate", "--prompt --json", "--prompt=--json");
    assert_refused("generate", "--model _", "expected MODEL");
    assert_refused("generate", "--model a --model b", "given twice");
    assert_refused("generate", "--json=yes", "it is a switch");
    assert_refused("export", "--kv f17", "f16|int8|f32");
    assert_refused("export", "--kv f16|int8", "f16|int8|f32");
    assert_refused("say", "-x", "unknown option '-x'");
}

static void test_conflicts(void **state) {
    (void)state;
    parsed_line line;
    read_line("eval", "--model m --perplexity a --logits b", &line);
    assert_int_equal(line.status, KAZEIA_OK);
    assert_int_equal(
        cli_options_refuse_both(&line.options, "--perplexity", "--logits", &line.sentence),
        KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(line.sentence.text, "exclude each other"));
    assert_int_equal(
        cli_options_refuse_both(&line.options, "--perplexity", "--context", &line.sentence),
        KAZEIA_OK);
}

static void test_empty_texts_are_texts(void **state) {
    (void)state;
    parsed_line line;
    read_line("generate", "--model m --prompt _", &line);
    assert_int_equal(line.status, KAZEIA_OK);
    assert_string_equal(line.options.prompt, "");
}

// Help needs nothing else to be right, and stops there.
static void test_help_comes_first(void **state) {
    (void)state;
    parsed_line line;
    read_line("generate", "-h --nonsense", &line);
    assert_int_equal(line.status, KAZEIA_OK);
    assert_true(line.options.is_help);
}

// Every page's option can be given to each command that it names.
static void test_every_page_has_its_option(void **state) {
    (void)state;
    for (size_t i = 0; i < cli_option_row_count; i++) {
        const cli_option_row *row = &cli_option_rows[i];
        if (strcmp(row->command, "kazeia") == 0) {
            continue;
        }
        const char *command = strcmp(row->command, "*") == 0 ? "inspect" : row->command;
        char *arguments[] = {(char *)row->name, (char *)"1"};
        cli_options options;
        cli_sentence sentence = {""};
        const kazeia_status status = cli_options_read(command, row->argument[0] == '\0' ? 1 : 2,
                                                      arguments, &options, &sentence);
        (void)status; // others may be missing
        if (strcmp(row->name, "--help") != 0 && strchr(row->argument, '|') == NULL) {
            assert_true(cli_option_is_given(&options, row->name));
        }
    }
}

static void test_distances(void **state) {
    (void)state;
    assert_int_equal(cli_edit_distance("model", "model"), 0);
    assert_int_equal(cli_edit_distance("modle", "model"), 1);
    assert_int_equal(cli_edit_distance("", "say"), 3);
    assert_int_equal(cli_edit_distance("bench", "ben"), 2);
    char endless[200];
    memset(endless, 'a', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    assert_int_equal(cli_edit_distance(endless, ""), 63);
}

static void test_slips(void **state) {
    (void)state;
    assert_true(cli_is_slip(1, "--sst", "--stt"));
    assert_false(cli_is_slip(2, "--xyt", "--stt"));
    assert_true(cli_is_slip(2, "--threda", "--threads"));
    assert_false(cli_is_slip(3, "--thxxxs", "--threads"));
    assert_true(cli_is_slip(1, "kv", "v"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_defaults),
        cmocka_unit_test(test_options_differ_by_command),
        cmocka_unit_test(test_arguments_between_options),
        cmocka_unit_test(test_numbers_are_strict),
        cmocka_unit_test(test_wrong_lines),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_empty_texts_are_texts),
        cmocka_unit_test(test_help_comes_first),
        cmocka_unit_test(test_every_page_has_its_option),
        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
