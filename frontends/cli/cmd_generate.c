// cmd_generate.c: kazeia generate.
//
// in:  a prompt as text or as ids, a language model
// out: the text as it is written, or one JSON object when it is whole
#include <stdlib.h>
#include <string.h>

#include "chat_setup.h"
#include "cli.h"
#include "engine.h"
#include "input.h"
#include "output.h"
#include "reply.h"

static kazeia_status print_reply(cli_run *run, const cli_talker *talker, const cli_reply *reply) {
    if (run->options.is_json) {
        return cli_print_json(cli_reply_json(talker, reply), &run->failure);
    }
    // Who gives ids wants ids; a program without tokenizer has nothing else.
    if (run->options.ids != NULL) {
        return cli_print_json(cli_reply_ids(talker->stage), &run->failure);
    }
    // The text was printed while it came; a shell's prompt wants its own line.
    return cli_print(&run->failure, "\n");
}

static kazeia_status feed_ids(cli_run *run, const cli_talker *talker) {
    const char *path = run->options.ids;
    char *text = NULL;
    int32_t *ids = NULL;
    size_t bytes = 0, count = 0;
    CLI_TRY(cli_read_file(path, &text, &bytes, &run->failure));
    kazeia_status status = cli_read_ids(text, bytes, path, &ids, &count, &run->failure);
    free(text);
    if (status == KAZEIA_OK) {
        status = cli_checked(run, kazeia_chat_feed_ids(talker->stage, ids, count));
        free(ids);
    }
    return status;
}

static kazeia_status generate(cli_run *run, const cli_talker *talker) {
    const cli_options *options = &run->options;
    const bool is_shown = !options->is_json && options->ids == NULL;
    cli_reply reply = {0};
    if (options->ids != NULL) {
        CLI_TRY(feed_ids(run, talker));
    }
    kazeia_status status =
        cli_reply_hear(run, talker->stage, options->ids != NULL ? NULL : options->prompt,
                       is_shown ? CLI_SHOW_ANSWER : CLI_SHOW_NOTHING, &reply);
    if (status == KAZEIA_OK) {
        status = print_reply(run, talker, &reply);
    }
    cli_reply_clear(&reply);
    return status;
}

static kazeia_status check_options(cli_run *run) {
    const cli_options *options = &run->options;
    if (options->prompt == NULL && options->ids == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "--prompt TEXT is missing: what the user says (or --ids IDS.json). See "
                        "'kazeia generate --help'.");
    }
    CLI_TRY(cli_options_refuse_both(options, "--prompt", "--ids", &run->failure));
    CLI_TRY(cli_options_refuse_both(options, "--ids", "--system", &run->failure));
    return cli_options_refuse_both(options, "--raw", "--system", &run->failure);
}

kazeia_status cli_generate(cli_run *run) {
    cli_talker talker = {0};
    cli_chat_setup setup;
    CLI_TRY(check_options(run));
    kazeia_status status = cli_chat_setup_read(run, &setup);
    if (status == KAZEIA_OK) {
        status = cli_talker_open(run, &setup.settings, &talker);
    }
    if (status == KAZEIA_OK) {
        status = generate(run, &talker);
    }
    cli_talker_close(&talker);
    cli_chat_setup_clear(&setup);
    return status;
}
