// cmd_sentences.c: kazeia sentences.
//
// in:  a text a line on standard input; with --json {"text", "language"?, "max_chars"?} a line
// out: a sentence a line, an empty line behind each text; with --json an array of sentences a line
//
// Every line is flushed, so that another program can ask line by line.
#include "cli.h"
#include "input.h"
#include "kazeia/text.h"
#include "output.h"

static kazeia_status print_sentences(cli_run *run, const char *text, const kazeia_text_span *spans,
                                     size_t count) {
    json_t *array = run->options.is_json ? json_array() : NULL;
    kazeia_status status = KAZEIA_OK;
    for (size_t i = 0; i < count && status == KAZEIA_OK; i++) {
        const char *sentence = text + spans[i].at;
        if (array == NULL) {
            status = cli_print_bytes(sentence, spans[i].bytes, &run->failure);
            status = status == KAZEIA_OK ? cli_print_bytes("\n", 1, &run->failure) : status;
        } else if (json_array_append_new(array, cli_json_text(sentence, spans[i].bytes)) != 0) {
            json_decref(array);
            return cli_print_json(NULL, &run->failure);
        }
    }
    if (array == NULL) {
        return status == KAZEIA_OK ? cli_print(&run->failure, "\n") : status;
    }
    return cli_print_json(array, &run->failure);
}

static kazeia_status cut_text(cli_run *run, const char *language, json_int_t max_chars,
                              const char *text, size_t bytes) {
    kazeia_reader *reader = NULL;
    const kazeia_text_span *spans = NULL;
    size_t count = 0;
    // Out of range here is out of the library's range as well, which has the sentence for it.
    const uint32_t most =
        max_chars < 0 || max_chars > UINT32_MAX ? UINT32_MAX : (uint32_t)max_chars;
    CLI_TRY(cli_checked(run, kazeia_reader_create(language, most, NULL, &reader)));
    kazeia_status status = cli_checked(run, kazeia_reader_cut(reader, text, bytes, &spans, &count));
    if (status == KAZEIA_OK) {
        status = print_sentences(run, text, spans, count);
    }
    kazeia_reader_destroy(reader);
    return status;
}

static kazeia_status cut_object(cli_run *run, const cli_lines *line, const json_t *object) {
    const json_t *text = json_object_get(object, "text");
    const json_t *language = json_object_get(object, "language");
    const json_t *max_chars = json_object_get(object, "max_chars");
    if (!json_is_string(text) || (language != NULL && !json_is_string(language)) ||
        (max_chars != NULL && !json_is_integer(max_chars))) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "line %zu of standard input: expected {\"text\": \"...\"} with, if you "
                        "like, \"language\": \"fr\" and \"max_chars\": 120",
                        line->number);
    }
    return cut_text(run, language == NULL ? run->options.language : json_string_value(language),
                    json_integer_value(max_chars), json_string_value(text),
                    json_string_length(text));
}

static kazeia_status cut_line(cli_run *run, const cli_lines *line) {
    json_error_t error;
    if (!run->options.is_json) {
        return cut_text(run, run->options.language, 0, line->text, line->bytes);
    }
    json_t *object = json_loadb(line->text, line->bytes, JSON_ALLOW_NUL, &error);
    if (object == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT, "line %zu of standard input: %s",
                        line->number, error.text);
    }
    const kazeia_status status = cut_object(run, line, object);
    json_decref(object);
    return status;
}

kazeia_status cli_sentences(cli_run *run) {
    cli_lines lines = {.stream = stdin, .name = "standard input"};
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        status = cli_lines_next(&lines, &run->failure);
        if (status == KAZEIA_OK) {
            status = cut_line(run, &lines);
        }
    }
    cli_lines_clear(&lines);
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}
