// cmd_spoken.c: kazeia spoken.
//
// in:  a text a line on standard input; with --json a JSON string a line
// out: the words that a voice says, a line each
//
// Every line is flushed, so that another program can ask line by line.
#include "cli.h"
#include "input.h"
#include "kazeia/text.h"
#include "output.h"

static kazeia_status say_text(cli_run *run, kazeia_reader *reader, const char *text, size_t bytes) {
    const char *words = NULL;
    size_t count = 0;
    CLI_TRY(cli_checked(run, kazeia_reader_say(reader, text, bytes, &words, &count)));
    if (run->options.is_json) {
        return cli_print_json(cli_json_text(words, count), &run->failure);
    }
    CLI_TRY(cli_print_bytes(words, count, &run->failure));
    return cli_print_bytes("\n", 1, &run->failure);
}

static kazeia_status say_line(cli_run *run, kazeia_reader *reader, const cli_lines *line) {
    json_error_t error;
    if (!run->options.is_json) {
        return say_text(run, reader, line->text, line->bytes);
    }
    json_t *text = json_loadb(line->text, line->bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!json_is_string(text)) {
        const char *found = text == NULL ? error.text : "another value";
        json_decref(text);
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "line %zu of standard input: %s found; expected a JSON string, as "
                        "\"bonjour\"",
                        line->number, found);
    }
    const kazeia_status status =
        say_text(run, reader, json_string_value(text), json_string_length(text));
    json_decref(text);
    return status;
}

kazeia_status cli_spoken(cli_run *run) {
    cli_lines lines = {.stream = stdin, .name = "standard input"};
    kazeia_reader *reader = NULL;
    kazeia_status status =
        cli_checked(run, kazeia_reader_create(run->options.language, 0, NULL, &reader));
    while (status == KAZEIA_OK) {
        status = cli_lines_next(&lines, &run->failure);
        if (status == KAZEIA_OK) {
            status = say_line(run, reader, &lines);
        }
    }
    cli_lines_clear(&lines);
    kazeia_reader_destroy(reader);
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}
