// cmd_generate.c: kazeia generate.
//
// in:  a prompt, a language model
// out: the text as it is written, or one JSON object when it is whole
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "engine.h"
#include "output.h"
#include "reply.h"

static kazeia_status print_reply(cli_run *run, const cli_talker *talker, const cli_reply *reply) {
    if (!run->options.is_json) {
        // The text was printed while it came; a shell's prompt wants its own line.
        return cli_print(&run->failure, "\n");
    }
    return cli_print_json(cli_reply_json(talker->stage, reply), &run->failure);
}

static kazeia_status generate(cli_run *run, const cli_talker *talker) {
    cli_reply reply = {0};
    kazeia_status status =
        cli_reply_hear(run, talker->stage, run->options.prompt, !run->options.is_json, &reply);
    if (status == KAZEIA_OK) {
        status = print_reply(run, talker, &reply);
    }
    cli_reply_clear(&reply);
    return status;
}

kazeia_status cli_generate(cli_run *run) {
    cli_talker talker;
    const kazeia_chat_settings settings = cli_chat_settings(&run->options);
    CLI_TRY(cli_options_refuse_both(&run->options, "--raw", "--system", &run->failure));
    kazeia_status status = cli_talker_open(run, &settings, &talker);
    if (status == KAZEIA_OK) {
        status = generate(run, &talker);
    }
    cli_talker_close(&talker);
    return status;
}
