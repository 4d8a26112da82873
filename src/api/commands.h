// commands.h: what voice.c needs of a kazeia_commands. Inside api/ only.
#ifndef KZ_API_COMMANDS_H
#define KZ_API_COMMANDS_H

#include "kazeia/commands.h"
#include "text/command_grammar.h"

// The matcher inside, which stays the commands'; NULL for NULL.
kz_command_matcher *kz_commands_matcher(kazeia_commands *commands);
// A result in public form; the slots lie in `commands` until its next use, the strings where the
// result has them. `commands` may be NULL when there is no match.
kazeia_command kz_commands_present(kazeia_commands *commands, const kz_command_result *result);

// The recogniser of a stage of kazeia_listen_create; NULL for any other stage.
struct kz_whisper *kz_listen_stage_whisper(kazeia_stage *stage);

#endif
