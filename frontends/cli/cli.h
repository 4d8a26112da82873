// cli.h: one run of the program, and its commands.
//
// in:  the command line
// out: for each command a function that does it
//
// A command returns a status and leaves the sentence of a failure in the run; main alone reports it
// and turns it into the exit code.
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "failure.h"
#include "interrupt.h"
#include "options.h"

typedef struct cli_run {
    cli_options options;
    cli_interrupt interrupt;
    cli_sentence failure;
    bool is_reported; // each failing file has had its own report
    bool is_done;     // its file has its name: an interrupt came too late to undo that
} cli_run;

typedef struct cli_command {
    const char *name;
    const char *arguments; // what stands between the options, for people
    size_t least_arguments, most_arguments;
    const char *summary;
    kazeia_status (*function)(cli_run *run);
} cli_command;

// The commands in the order of a model's life; ends with a row whose name is NULL.
extern const cli_command cli_commands[];
const cli_command *cli_command_find(const char *name);
// NULL: none is near enough to be meant.
const char *cli_command_nearest(const char *name);

kazeia_status cli_export(cli_run *run);
kazeia_status cli_inspect(cli_run *run);
kazeia_status cli_transcribe(cli_run *run);
kazeia_status cli_generate(cli_run *run);
kazeia_status cli_chat(cli_run *run);
kazeia_status cli_tokenize(cli_run *run);
kazeia_status cli_template(cli_run *run);
kazeia_status cli_say(cli_run *run);
kazeia_status cli_spoken(cli_run *run);
kazeia_status cli_sentences(cli_run *run);
kazeia_status cli_codec(cli_run *run);
kazeia_status cli_voice(cli_run *run);
kazeia_status cli_turn(cli_run *run);
kazeia_status cli_timers(cli_run *run);
kazeia_status cli_commands_command(cli_run *run);
kazeia_status cli_vad(cli_run *run);
kazeia_status cli_bench(cli_run *run);
kazeia_status cli_eval(cli_run *run);

// Keeps the library's sentence of a failed call, and returns its status.
kazeia_status cli_checked(cli_run *run, kazeia_status status);

#endif
