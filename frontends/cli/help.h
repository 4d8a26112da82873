// help.h: what --help prints.
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli.h"

kazeia_status cli_help_program(cli_sentence *out_sentence);
kazeia_status cli_help_command(const cli_command *command, cli_sentence *out_sentence);

#endif
