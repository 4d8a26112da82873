// main.c: the program kazeia.
//
// in:  the command line
// out: what the command writes; the exit code of exit_codes.c
//
// Everything that fails comes back here as a status with a sentence, and is reported once.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "exit_codes.h"
#include "help.h"
#include "output.h"

static bool is_one_of(const char *word, const char *one, const char *other, const char *third) {
    return strcmp(word, one) == 0 || strcmp(word, other) == 0 || strcmp(word, third) == 0;
}

static kazeia_status fail_unknown(cli_run *run, const char *name) {
    const char *nearest = cli_command_nearest(name);
    (void)cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT, "unknown %s '%s'",
                   name[0] == '-' ? "option" : "command", name);
    if (nearest != NULL) {
        cli_fail_more(&run->failure, "; the nearest is '%s'", nearest);
    }
    cli_fail_more(&run->failure, ". 'kazeia help' lists all.");
    return KAZEIA_BAD_ARGUMENT;
}

static kazeia_status check_argument_count(cli_run *run, const cli_command *command) {
    const size_t count = run->options.argument_count;
    if (count < command->least_arguments) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "%s is missing. See 'kazeia %s --help'.", command->arguments,
                        command->name);
    }
    if (count > command->most_arguments) {
        const char *excess = run->options.arguments[command->most_arguments];
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "'%s' is one argument too many for %s; expected %s. A text of several "
                        "words stands in quotes. See 'kazeia %s --help'.",
                        excess, command->name,
                        command->most_arguments == 0 ? "options only" : command->arguments,
                        command->name);
    }
    return KAZEIA_OK;
}

static kazeia_status run_command(cli_run *run, const cli_command *command, size_t count,
                                 char **arguments) {
    CLI_TRY(cli_options_read(command->name, count, arguments, &run->options, &run->failure));
    if (run->options.is_help) {
        return cli_help_command(command, &run->failure);
    }
    CLI_TRY(check_argument_count(run, command));
    // After the options: what fails up to here needs no interrupting.
    CLI_TRY(cli_interrupt_start(&run->interrupt, &run->failure));
    kazeia_status status = command->function(run);
    // Whatever the command made of it, even success: the person wanted it to stop, and a script
    // must see that. A file that has its name already is told of as it is.
    if (cli_interrupt_has_come(&run->interrupt) && !run->is_done) {
        status = cli_fail(&run->failure, KAZEIA_CANCELLED, "interrupted");
    }
    cli_interrupt_stop(&run->interrupt);
    return status;
}

// "kazeia help [COMMAND]".
static kazeia_status run_help(cli_run *run, const char *name) {
    if (name == NULL || strcmp(name, "help") == 0) {
        return cli_help_program(&run->failure);
    }
    const cli_command *command = cli_command_find(name);
    return command == NULL ? fail_unknown(run, name) : cli_help_command(command, &run->failure);
}

static kazeia_status run_line(cli_run *run, size_t count, char **arguments,
                              const cli_command **out_command) {
    if (count == 0) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "no command is given. 'kazeia help' lists them.");
    }
    if (strcmp(arguments[0], "--version") == 0) {
        return cli_print(&run->failure, "kazeia %s\n", kazeia_version());
    }
    if (is_one_of(arguments[0], "help", "--help", "-h")) {
        return run_help(run, count > 1 ? arguments[1] : NULL);
    }
    *out_command = cli_command_find(arguments[0]);
    if (*out_command == NULL) {
        return fail_unknown(run, arguments[0]);
    }
    return run_command(run, *out_command, count - 1, arguments + 1);
}

// The number of a standard stream that is closed would go to the next file that is opened, which
// would then be printed into or read from. It is given to a file that refuses this direction, so
// that using the stream fails as if it were closed.
static bool hold_standard_streams(void) {
    bool are_held = true;
    for (int file = STDIN_FILENO; file <= STDERR_FILENO && are_held; file++) {
        const int direction = file == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        const bool is_open = fcntl(file, F_GETFD) >= 0 || errno != EBADF;
        are_held = is_open || open("/dev/null", direction) == file; // the lowest free number
    }
    return are_held;
}

int main(int argument_count, char **arguments) {
    cli_run run = {0};
    const cli_command *command = NULL;
    const size_t count = argument_count > 0 ? (size_t)argument_count - 1 : 0;
    if (!hold_standard_streams()) {
        return cli_exit_code(KAZEIA_IO); // and nowhere to say so
    }
    (void)signal(SIGPIPE, SIG_IGN); // a pipe that nobody reads is seen where it is written to
#ifdef SIGXFSZ
    (void)signal(SIGXFSZ, SIG_IGN); // so is a file that may grow no further
#endif
    const kazeia_status status = run_line(&run, count, arguments + 1, &command);
    // A status without a sentence still gets a word.
    if (run.failure.text[0] == '\0' && !run.is_reported) {
        (void)cli_fail(&run.failure, status, "%s", kazeia_status_name(status));
    }
    if (cli_exit_code(status) != 0 && run.failure.text[0] != '\0') {
        // Asked of the arguments themselves: the options may be what failed.
        cli_report(cli_options_want_json(count, arguments + 1),
                   command == NULL ? "" : command->name, NULL, run.failure.text);
    }
    return cli_exit_code(status);
}
