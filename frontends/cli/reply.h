// reply.h: one answer of a language model, as it comes and as a whole.
#ifndef CLI_REPLY_H
#define CLI_REPLY_H

#include "engine.h"
#include "output.h"

// How an answer is shown while it comes.
typedef enum cli_reply_show {
    CLI_SHOW_NOTHING,
    CLI_SHOW_ANSWER,
    CLI_SHOW_THOUGHTS, // before the answer, dimmed: for a terminal
} cli_reply_show;

typedef struct cli_reply {
    char *text; // NULL while empty
    size_t bytes, capacity;
    cli_reply_show show;
    size_t thought_bytes; // that were shown
    bool is_dimmed;
    kazeia_stage *chat;
    cli_sentence *failure;
} cli_reply;

// Gives the stage one user's turn and collects the answer; Ctrl-C cancels it. `prompt` NULL: the
// turn was fed already. Clear the reply in any case.
kazeia_status cli_reply_hear(cli_run *run, kazeia_stage *chat, const char *prompt,
                             cli_reply_show show, cli_reply *out_reply);
void cli_reply_clear(cli_reply *reply);
// The reply's text, tokens, parts and measures, as docs/cli.md lists them; NULL without memory.
json_t *cli_reply_json(const cli_talker *talker, const cli_reply *reply);
// The ids of the last reply as a JSON array; NULL without memory.
json_t *cli_reply_ids(const kazeia_stage *chat);

#endif
