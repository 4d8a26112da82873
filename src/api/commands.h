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

// Whether the transcript answers a question that was asked back, or the window that was heard last
// is a command; else no match. A question back is a match without slots, with the question as its
// response. OK without a match when the commands do not listen.
KAZEIA_MUST_CHECK kazeia_status kz_commands_hear(kazeia_commands *commands, const char *transcript,
                                                 kz_command_result *out_result);
bool kz_commands_is_question(const kz_command_result *result);

// The recogniser of a stage of kazeia_listen_create; NULL for any other stage.
struct kz_whisper *kz_listen_stage_whisper(kazeia_stage *stage);

#endif
