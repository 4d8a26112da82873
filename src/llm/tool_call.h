// tool_call.h: a call of a tool as a model spells it -> an element of a JSON array.
//
//   in   what stood between a model's marks: {"name": ..., "arguments": {...}}
//   out  the message's calls, [{...}, {...}]
#ifndef KZ_LLM_TOOL_CALL_H
#define KZ_LLM_TOOL_CALL_H

#include "llm/history.h"

// Whether the bytes are one JSON value (RFC 8259, nesting up to 64), white space around it
// included, whose first character is `opening`: '{' or '['.
bool kz_json_is_whole(const char *text, size_t bytes, char opening);
// Appends a call to the last message's calls, which stay a JSON array. False, and nothing changed,
// when it is no JSON object or there is no room: a model may write anything.
bool kz_tool_call_append(kz_history *history, const char *text, size_t bytes);

#endif
