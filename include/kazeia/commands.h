// commands.h: voice commands: sentences that are understood without the language model.
#ifndef KAZEIA_COMMANDS_H
#define KAZEIA_COMMANDS_H

#include "kazeia/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// A compiled command grammar. Immutable; matching is thread-safe only with one matcher a thread,
// and this object holds one matcher.
typedef struct kazeia_commands kazeia_commands;

typedef struct kazeia_slot {
    const char *name;
    const char *text; // the value as text
    double number;    // when is_number
    bool is_number;
} kazeia_slot;

// Valid until the next match.
typedef struct kazeia_command {
    const char *intent; // NULL: no command
    const kazeia_slot *slots;
    size_t slot_count;
    const char *response; // what to say, placeholders filled; "" when the file has none
} kazeia_command;

// YAML in the layout of Home Assistant's custom sentences; docs/commands.md. Errors name file, line
// and column.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_commands_open(const char *path,
                                                                const kazeia_allocator *allocator,
                                                                kazeia_commands **out_commands);
KAZEIA_API void kazeia_commands_close(kazeia_commands *commands);
// No match is KAZEIA_OK with intent NULL.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_commands_match(kazeia_commands *commands,
                                                                 const char *transcript,
                                                                 kazeia_command *out_command);

#ifdef __cplusplus
}
#endif

#endif
