// cmd_template.c: kazeia template.
//
// in:  {"messages": [...], "options": {...}}, a JSON object a line, on standard input
// out: the text that the model's chat template makes of it, a JSON string a line
//
// Every line is flushed, so that another program can ask line by line.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "input.h"
#include "kazeia/chat.h"
#include "output.h"
#include "texts.h"

// Members keep their order and numbers their spelling as far as jansson can.
#define JSON_OUT (JSON_COMPACT | JSON_REAL_PRECISION(17))

static kazeia_status print_text(void *context, const char *text, size_t bytes) {
    cli_run *run = context;
    return cli_print_json(cli_json_text(text, bytes), &run->failure);
}

static kazeia_status render(cli_run *run, const kazeia_program *program, const json_t *messages,
                            const json_t *options) {
    char *messages_text = json_dumps(messages, JSON_OUT);
    char *options_text = options != NULL ? json_dumps(options, JSON_OUT) : NULL;
    kazeia_status status = KAZEIA_OK;
    if (messages_text == NULL || (options != NULL && options_text == NULL)) {
        status = cli_fail(&run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for a line");
    } else {
        status = cli_checked(run, kazeia_template_render(program, messages_text, options_text, NULL,
                                                         print_text, run));
    }
    free(messages_text);
    free(options_text);
    return status;
}

static kazeia_status render_line(cli_run *run, const kazeia_program *program, const char *where,
                                 const cli_lines *line) {
    json_error_t error;
    json_t *given = json_loadb(line->text, line->bytes, JSON_ALLOW_NUL, &error);
    const json_t *messages = json_object_get(given, "messages");
    const json_t *options = json_object_get(given, "options");
    if (!json_is_array(messages) || (options != NULL && !json_is_object(options))) {
        const char *found = given == NULL             ? error.text
                            : messages == NULL        ? "no messages"
                            : json_is_array(messages) ? "options that are no object"
                                                      : "messages that are no array";
        json_decref(given);
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "%s: %s found; expected {\"messages\": [...], \"options\": {...}}", where,
                        found);
    }
    const kazeia_status status = render(run, program, messages, options);
    json_decref(given);
    return status;
}

static kazeia_status render_lines(cli_run *run, const kazeia_program *program) {
    cli_lines lines = {.stream = stdin, .name = "standard input"};
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        char where[64];
        status = cli_lines_next(&lines, &run->failure);
        (void)snprintf(where, sizeof where, "line %zu of standard input", lines.number);
        if (status == KAZEIA_OK) {
            status = render_line(run, program, where, &lines);
        }
    }
    cli_lines_clear(&lines);
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}

kazeia_status cli_template(cli_run *run) {
    cli_texts texts;
    kazeia_status status = cli_texts_open(run, run->options.model, CLI_TEXTS_TEMPLATE, &texts);
    if (status == KAZEIA_OK) {
        status = render_lines(run, texts.program);
    }
    cli_texts_close(&texts);
    return status;
}
