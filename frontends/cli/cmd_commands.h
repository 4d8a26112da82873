// cmd_commands.h: what the verbs of `kazeia commands` share.
#ifndef CLI_CMD_COMMANDS_H
#define CLI_CMD_COMMANDS_H

#include <jansson.h>

#include "cli.h"
#include "kazeia/commands.h"

// Close with kazeia_commands_close.
kazeia_status cli_commands_open(cli_run *run, const char *grammar,
                                const kazeia_commands_options *options,
                                kazeia_commands **out_commands);

// One JSON object of each line of a file goes to `take`, which does not keep it.
kazeia_status cli_for_each_object(cli_run *run, const char *path,
                                  kazeia_status (*take)(void *context, json_t *object),
                                  void *context);

// Commands, and the stage that hears them.
typedef struct cli_hearer {
    cli_run *run;
    kazeia_commands *commands;
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_stage *stage;
    // Of the last file.
    char transcript[1024];
    bool is_speech;
    double audio_s, listen_ms;
} cli_hearer;

// Opens what --stt, --home and the grammar name; close it in any case.
kazeia_status cli_hearer_open(cli_run *run, cli_hearer *out_hearer);
void cli_hearer_close(cli_hearer *hearer);
// Hears the first window of a sound file. What cannot be speech is refused without a search.
kazeia_status cli_hearer_hear(cli_hearer *hearer, const char *file,
                              kazeia_heard_command *out_heard);

// Understands commands in sound files.
kazeia_status cli_commands_hear(cli_run *run);
// Looks for the thresholds that labelled sound files ask for.
kazeia_status cli_commands_tune(cli_run *run);

#endif
