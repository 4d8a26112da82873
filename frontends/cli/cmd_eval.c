// cmd_eval.c: kazeia eval.
//
// in:  a language model; a text, or an array of ids
// out: its perplexity, or a NumPy file of its logits
#include <stdlib.h>

#include "cli.h"
#include "engine.h"
#include "input.h"
#include "npy.h"
#include "output.h"

typedef struct logits_file {
    cli_run *run;
    cli_new_file file;
    // The header states the number of rows before the first is there.
    size_t row_count, rows_written;
} logits_file;

static kazeia_status print_perplexity(cli_run *run, double perplexity, size_t token_count) {
    if (run->options.is_json) {
        return cli_print_json(json_pack("{s:o, s:I}", "perplexity", cli_json_real(perplexity),
                                        "tokens", (json_int_t)token_count),
                              &run->failure);
    }
    return cli_print(&run->failure, "perplexity %.4f over %zu tokens\n", perplexity, token_count);
}

static kazeia_status measure_perplexity(cli_run *run, const cli_talker *talker) {
    char *text = NULL;
    size_t bytes = 0, token_count = 0;
    double perplexity = 0;
    // Read whole: the tokens of a text are only known with all of it.
    CLI_TRY(cli_read_file(run->options.perplexity, &text, &bytes, &run->failure));
    const kazeia_status status = cli_checked(
        run, kazeia_chat_perplexity(talker->stage, text, bytes, (uint32_t)run->options.context,
                                    &perplexity, &token_count));
    free(text);
    return status == KAZEIA_OK ? print_perplexity(run, perplexity, token_count) : status;
}

static kazeia_status take_row(void *context, size_t position, const float *logits,
                              size_t vocabulary_size) {
    logits_file *out = context;
    cli_sentence *failure = &out->run->failure;
    (void)position; // they come in order
    if (cli_interrupt_has_come(&out->run->interrupt)) {
        return cli_fail(failure, KAZEIA_CANCELLED, "interrupted");
    }
    // The vocabulary's size is only known with the first row.
    if (out->rows_written == 0) {
        CLI_TRY(cli_npy_header(&out->file, out->row_count, vocabulary_size, failure));
    }
    out->rows_written++;
    return cli_npy_row(&out->file, logits, vocabulary_size, failure);
}

static kazeia_status write_rows(cli_run *run, const cli_talker *talker, const int32_t *ids,
                                size_t count) {
    logits_file out = {.run = run, .row_count = count};
    cli_interrupt_enter(&run->interrupt, cli_cancel_stage, talker->stage);
    kazeia_status status = cli_new_file_open(run->options.output, &out.file, &run->failure);
    if (status == KAZEIA_OK) {
        status = cli_checked(run, kazeia_chat_logits(talker->stage, ids, count, 0, take_row, &out));
    }
    if (status == KAZEIA_OK) {
        status = cli_new_file_commit(&out.file, &run->failure);
    }
    // Nothing to drop after a commit; after a failure no half file stays.
    cli_new_file_drop(&out.file);
    cli_interrupt_leave(&run->interrupt);
    return status;
}

static kazeia_status print_rows_written(cli_run *run, size_t count) {
    if (run->options.is_json) {
        return cli_print_json(json_pack("{s:o, s:I}", "output",
                                        cli_json_string(run->options.output), "tokens",
                                        (json_int_t)count),
                              &run->failure);
    }
    return cli_print(&run->failure, "%s: logits after each of %zu tokens\n", run->options.output,
                     count);
}

static kazeia_status write_logits(cli_run *run, const cli_talker *talker) {
    const char *path = run->options.logits;
    char *text = NULL;
    size_t bytes = 0, count = 0;
    int32_t *ids = NULL;
    CLI_TRY(cli_read_file(path, &text, &bytes, &run->failure));
    kazeia_status status = cli_read_ids(text, bytes, path, &ids, &count, &run->failure);
    free(text);
    CLI_TRY(status);
    if (count == 0) {
        status = cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                          "%s: an empty array found; expected at least one token id", path);
    } else {
        status = write_rows(run, talker, ids, count);
    }
    free(ids);
    return status == KAZEIA_OK ? print_rows_written(run, count) : status;
}

// Before the model is opened: a slip on the command line must not cost the seconds that opening
// takes.
static kazeia_status check_options(cli_run *run) {
    const cli_options *options = &run->options;
    CLI_TRY(cli_options_refuse_both(options, "--perplexity", "--logits", &run->failure));
    CLI_TRY(cli_options_refuse_both(options, "--perplexity", "--output", &run->failure));
    CLI_TRY(cli_options_refuse_both(options, "--logits", "--context", &run->failure));
    if (options->perplexity == NULL && options->logits == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "eval needs --perplexity FILE or --logits IDS.json. See 'kazeia eval "
                        "--help'.");
    }
    if (options->logits != NULL && options->output == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "--logits needs -o OUT.npy: the file to write");
    }
    return cli_refuse_same_file(options->logits, options->output, &run->failure);
}

kazeia_status cli_eval(cli_run *run) {
    cli_talker talker;
    kazeia_chat_settings settings = kazeia_chat_settings_default();
    settings.is_raw = true; // neither measure needs a template, nor ids a tokenizer
    CLI_TRY(check_options(run));
    kazeia_status status = cli_talker_open(run, &settings, &talker);
    if (status == KAZEIA_OK) {
        status = run->options.logits != NULL ? write_logits(run, &talker)
                                             : measure_perplexity(run, &talker);
    }
    cli_talker_close(&talker);
    return status;
}
