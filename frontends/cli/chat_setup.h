// chat_setup.h: the settings of a conversation that the options ask for.
//
// in:  the options of generate, chat and turn; the files that they name
// out: settings for kazeia_chat_create
#ifndef CLI_CHAT_SETUP_H
#define CLI_CHAT_SETUP_H

#include "cli.h"
#include "kazeia/chat.h"

#define CLI_BIAS_LIMIT 256

// The settings point into it: it must not be moved.
typedef struct cli_chat_setup {
    kazeia_chat_settings settings;
    kazeia_logit_bias biases[CLI_BIAS_LIMIT];
    char *tools, *grammar, *json_schema; // texts of files
} cli_chat_setup;

// The other commands measure with the library's own settings. Clear it in any case.
kazeia_status cli_chat_setup_read(cli_run *run, cli_chat_setup *out_setup);
void cli_chat_setup_clear(cli_chat_setup *setup);

#endif
