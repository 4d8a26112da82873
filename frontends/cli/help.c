// help.c: what --help prints.
//
// in:  the table of commands; docs/options through option_rows.h
// out: text on standard output
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

#define OPTION_COLUMNS 30

static bool takes(const cli_command *command, const cli_option_row *row) {
    return strcmp(row->command, command->name) == 0 || strcmp(row->command, "*") == 0;
}

static bool is_required(const cli_option_row *row) {
    return strcmp(row->default_value, "(required)") == 0;
}

static kazeia_status print_usage(const cli_command *command, cli_sentence *out_sentence) {
    CLI_TRY(cli_print(out_sentence, "usage: kazeia %s", command->name));
    for (size_t i = 0; i < cli_option_row_count; i++) {
        const cli_option_row *row = &cli_option_rows[i];
        if (takes(command, row) && is_required(row)) {
            const char *name = row->short_name[0] != '\0' ? row->short_name : row->name;
            CLI_TRY(cli_print(out_sentence, " %s %s", name, row->argument));
        }
    }
    return cli_print(out_sentence, " [OPTION]...%s%s\n\n", command->arguments[0] == '\0' ? "" : " ",
                     command->arguments);
}

// "  -o, --output OUT.wav         the sound file to write (required)".
static kazeia_status print_option(const cli_option_row *row, cli_sentence *out_sentence) {
    char head[96];
    char tail[96] = "";
    (void)snprintf(head, sizeof head, "%s%s%s%s%s", row->short_name,
                   row->short_name[0] == '\0' ? "" : ", ", row->name,
                   row->argument[0] == '\0' ? "" : " ", row->argument);
    // "(none)" says nothing that the missing default does not say.
    const char *value = row->default_value;
    if (value[0] == '(' && strcmp(value, "(none)") != 0) {
        (void)snprintf(tail, sizeof tail, " %s", value);
    } else if (value[0] != '\0' && value[0] != '(') {
        (void)snprintf(tail, sizeof tail, " (%s)", value);
    }
    // The help of a long option stands on the next line, in the same column.
    const bool is_long = strlen(head) > OPTION_COLUMNS;
    return cli_print(out_sentence, "  %-*s%s%*s %s%s\n", OPTION_COLUMNS, head, is_long ? "\n" : "",
                     is_long ? OPTION_COLUMNS + 2 : 0, "", row->help, tail);
}

kazeia_status cli_help_command(const cli_command *command, cli_sentence *out_sentence) {
    CLI_TRY(cli_print(out_sentence, "kazeia %s: %s\n\n", command->name, command->summary));
    CLI_TRY(print_usage(command, out_sentence));
    for (size_t i = 0; i < cli_option_row_count; i++) {
        if (takes(command, &cli_option_rows[i])) {
            CLI_TRY(print_option(&cli_option_rows[i], out_sentence));
        }
    }
    return KAZEIA_OK;
}

kazeia_status cli_help_program(cli_sentence *out_sentence) {
    CLI_TRY(cli_print(out_sentence,
                      "kazeia: talk out loud with a language model that runs on this device\n\n"
                      "usage: kazeia COMMAND [OPTION]... [ARGUMENT]...\n\n"));
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        CLI_TRY(cli_print(out_sentence, "  %-12s %s\n", command->name, command->summary));
    }
    return cli_print(
        out_sentence,
        "\n'kazeia COMMAND --help' shows a command's options; 'kazeia --version' the version.\n"
        "MODEL is a program file, or its name in $KAZEIA_MODELS (default ~/.cache/kazeia).\n"
        "Exit codes: 0 it worked, 1 your mistake, 2 a bad file, 3 the machine's (memory, disk),\n"
        "130 interrupted.\n");
}
