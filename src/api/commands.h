// commands.h: what voice.c needs of a kazeia_commands. Inside api/ only.
#ifndef KZ_API_COMMANDS_H
#define KZ_API_COMMANDS_H

#include "kazeia/commands.h"
#include "text/command_grammar.h"

// NULL for NULL.
kz_command_matcher *kz_commands_matcher(kazeia_commands *commands);
// A result in public form; the slots lie in `commands` until its next use.
kazeia_command kz_commands_present(kazeia_commands *commands, const kz_command_result *result);

#endif
