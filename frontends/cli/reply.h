// reply.h: one answer of a language model, as it comes and as a whole.
#ifndef CLI_REPLY_H
#define CLI_REPLY_H

#include "engine.h"
#include "output.h"

typedef struct cli_reply {
    char *text; // NULL while empty
    size_t bytes, capacity;
    bool is_printed; // each piece goes to standard output as it comes
    cli_sentence *failure;
} cli_reply;

// Gives the stage one user's turn and collects the answer; Ctrl-C cancels it. Clear it in any case.
kazeia_status cli_reply_hear(cli_run *run, kazeia_stage *chat, const char *prompt, bool is_printed,
                             cli_reply *out_reply);
void cli_reply_clear(cli_reply *reply);
// {text tokens prompt_tokens prefill_tokens_per_s ttft_ms decode_tokens_per_s stop_reason}, or
// NULL.
json_t *cli_reply_json(const kazeia_stage *chat, const cli_reply *reply);

#endif
