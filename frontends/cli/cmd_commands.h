// cmd_commands.h: what the verbs of `kazeia commands` share.
#ifndef CLI_CMD_COMMANDS_H
#define CLI_CMD_COMMANDS_H

#include "cli.h"
#include "kazeia/commands.h"

// Close with kazeia_commands_close.
kazeia_status cli_commands_open(cli_run *run, const char *grammar,
                                const kazeia_commands_options *options,
                                kazeia_commands **out_commands);

// Understands commands in sound files.
kazeia_status cli_commands_hear(cli_run *run);
// Looks for the thresholds that labelled sound files ask for.
kazeia_status cli_commands_tune(cli_run *run);

#endif
