// cmd_tokenize.c: kazeia tokenize.
//
// in:  a JSON string a line on standard input; with --decode an array of ids a line
// out: an array of ids a line; with --decode a string a line
//
// Every line is flushed, so that another program can ask line by line.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "input.h"
#include "kazeia/text.h"
#include "output.h"
#include "texts.h"

// A line is JSON of its own, which may be a bare string; \u0000 is allowed.
#define JSON_LINE (JSON_DECODE_ANY | JSON_ALLOW_NUL)

static kazeia_status encode_line(cli_run *run, kazeia_tokenizer *tokenizer, const char *where,
                                 const cli_lines *line) {
    json_error_t error;
    const int32_t *ids = NULL;
    size_t count = 0;
    json_t *text = json_loadb(line->text, line->bytes, JSON_LINE, &error);
    if (!json_is_string(text)) {
        const char *found = text == NULL ? error.text : "another value";
        json_decref(text);
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "%s: %s found; expected a JSON string, as \"bonjour\"", where, found);
    }
    kazeia_status status = cli_checked(
        run, kazeia_tokenizer_encode(tokenizer, json_string_value(text), json_string_length(text),
                                     run->options.is_special, &ids, &count));
    json_decref(text);
    return status == KAZEIA_OK ? cli_print_json(cli_json_ids(ids, count), &run->failure) : status;
}

static kazeia_status decode_line(cli_run *run, kazeia_tokenizer *tokenizer, const char *where,
                                 const cli_lines *line) {
    int32_t *ids = NULL;
    size_t count = 0, bytes = 0;
    const char *text = NULL;
    CLI_TRY(cli_read_ids(line->text, line->bytes, where, &ids, &count, &run->failure));
    kazeia_status status =
        cli_checked(run, kazeia_tokenizer_decode(tokenizer, ids, count, &text, &bytes));
    free(ids);
    return status == KAZEIA_OK ? cli_print_json(cli_json_text(text, bytes), &run->failure) : status;
}

static kazeia_status convert_lines(cli_run *run, kazeia_tokenizer *tokenizer) {
    cli_lines lines = {.stream = stdin, .name = "standard input"};
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        char where[64];
        status = cli_lines_next(&lines, &run->failure);
        // Before the status is looked at: a broken line is named by its number, too.
        (void)snprintf(where, sizeof where, "line %zu of standard input", lines.number);
        if (status == KAZEIA_OK) {
            status = run->options.is_decoding ? decode_line(run, tokenizer, where, &lines)
                                              : encode_line(run, tokenizer, where, &lines);
        }
    }
    cli_lines_clear(&lines);
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}

kazeia_status cli_tokenize(cli_run *run) {
    cli_texts texts;
    kazeia_tokenizer *tokenizer = NULL;
    CLI_TRY(cli_options_refuse_both(&run->options, "--decode", "--special", &run->failure));
    kazeia_status status = cli_texts_open(run, run->options.model, CLI_TEXTS_TOKENIZER, &texts);
    if (status == KAZEIA_OK) {
        status = cli_checked(run, kazeia_tokenizer_create(texts.program, NULL, &tokenizer));
    }
    if (status == KAZEIA_OK) {
        status = convert_lines(run, tokenizer);
        kazeia_tokenizer_destroy(tokenizer);
    }
    cli_texts_close(&texts);
    return status;
}
