// command_json.h: commands as JSON.
#ifndef CLI_COMMAND_JSON_H
#define CLI_COMMAND_JSON_H

#include <jansson.h>

#include "kazeia/commands.h"

// {"intent", "slots"}, and with `has_response` also "response" and "response_key"; no command is
// {"intent": null, "slots": {}}. NULL when memory runs out.
json_t *cli_command_json(const kazeia_command *command, bool has_response);
json_t *cli_command_slots_json(const kazeia_command *command);

// Whether such an object is what a test expects: the same intent and slots. Numbers compare as
// numbers, texts without regard to case, and of two lists one value in common is enough.
bool cli_command_json_is(const json_t *found, const json_t *expected);

// Without regard to the case of ASCII, Latin-1 and Greek letters of UTF-8 texts.
bool cli_same_text(const char *left, const char *right);

#endif
