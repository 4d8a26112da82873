// cmd_hear.c: kazeia commands hear.
//
// in:  a command grammar, a program that listens, sound files
// out: for each file the command that it sounds like, its score, and what came next
//
// Every sound is searched, also one whose free transcript is a command: this command is for looking
// at scores. A turn matches the transcript first.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cmd_commands.h"
#include "command_json.h"
#include "engine.h"
#include "exit_codes.h"
#include "kazeia/listen.h"
#include "output.h"

#define SAMPLE_RATE_HZ 16000

static const char *const verdicts[] = {
    [KAZEIA_COMMAND_REFUSED] = "refused",
    [KAZEIA_COMMAND_ACCEPTED] = "accepted",
    [KAZEIA_COMMAND_ASK] = "ask",
    [KAZEIA_COMMAND_CONFIRM] = "confirm",
};

kazeia_status cli_hearer_open(cli_run *run, cli_hearer *out_hearer) {
    const cli_options *options = &run->options;
    const kazeia_commands_options home = {.home = options->home};
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    *out_hearer = (cli_hearer){.run = run};
    if (options->stt == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "--stt MODEL is missing. See 'kazeia commands --help'.");
    }
    CLI_TRY(cli_commands_open(run, options->arguments[1], &home, &out_hearer->commands));
    CLI_TRY(cli_program_open(run, options->stt, "listen", &out_hearer->program));
    CLI_TRY(cli_runtime_open(run, &out_hearer->runtime));
    settings.languages = options->language;
    CLI_TRY(cli_checked(run, kazeia_listen_create(out_hearer->runtime, out_hearer->program,
                                                  &settings, &out_hearer->stage)));
    const kazeia_commands_hearing hearing = {.tuned = options->tuned};
    return cli_checked(run,
                       kazeia_commands_listen(out_hearer->commands, out_hearer->stage, &hearing));
}

void cli_hearer_close(cli_hearer *hearer) {
    kazeia_commands_close(hearer->commands);
    if (hearer->stage != NULL) {
        kazeia_stage_destroy(hearer->stage);
    }
    if (hearer->program != NULL) {
        kazeia_program_close(hearer->program);
    }
    if (hearer->runtime != NULL) {
        kazeia_runtime_destroy(hearer->runtime);
    }
}

static kazeia_status feed(cli_hearer *hearer, const char *file) {
    float *samples = NULL;
    size_t count = 0, taken = 0;
    CLI_TRY(cli_checked(hearer->run, kazeia_audio_read(file, SAMPLE_RATE_HZ, &samples, &count)));
    hearer->audio_s = (double)count / SAMPLE_RATE_HZ;
    kazeia_status status = kazeia_stage_reset(hearer->stage);
    if (status == KAZEIA_OK) {
        // What is longer than a window is no command; its first window is heard.
        status = kazeia_stage_feed(hearer->stage, samples, count, &taken);
    }
    if (status == KAZEIA_OK) {
        status = kazeia_stage_finish(hearer->stage);
    }
    kazeia_audio_release(samples);
    return cli_checked(hearer->run, status);
}

kazeia_status cli_hearer_hear(cli_hearer *hearer, const char *file,
                              kazeia_heard_command *out_heard) {
    kazeia_heard heard;
    size_t count = 0;
    *out_heard = (kazeia_heard_command){.text = "", .runner_up = "", .score = -INFINITY};
    hearer->transcript[0] = '\0';
    CLI_TRY(feed(hearer, file));
    const double start = cli_now_ms();
    const kazeia_status status = kazeia_stage_next(hearer->stage, &heard, 1, &count);
    hearer->listen_ms = cli_now_ms() - start;
    if (status == KAZEIA_DONE) {
        return KAZEIA_OK; // no sound at all
    }
    CLI_TRY(cli_checked(hearer->run, status));
    (void)strncpy(hearer->transcript, heard.text, sizeof hearer->transcript - 1);
    hearer->is_speech = heard.no_speech_prob < 1.0f;
    return hearer->is_speech
               ? cli_checked(hearer->run, kazeia_commands_hear(hearer->commands, out_heard))
               : KAZEIA_OK;
}

// null for what is infinite or no number.
static json_t *real_json(double value) {
    return isfinite(value) ? cli_json_real(value) : json_null();
}

static kazeia_status print_heard(cli_run *run, const char *file, const cli_hearer *hearer,
                                 const kazeia_heard_command *heard) {
    if (!run->options.is_json) {
        return cli_print(&run->failure, "%s: %s (%s, %.2f, end %.2f, %.2f before '%s')\n", file,
                         heard->text, verdicts[heard->verdict], heard->score, heard->end,
                         heard->margin, heard->runner_up);
    }
    json_t *best = cli_command_json(&heard->command, true);
    (void)json_object_set_new(best, "text", cli_json_string(heard->text));
    return cli_print_json(
        json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o}", "file",
                  cli_json_string(file), "best", best, "verdict", verdicts[heard->verdict], "score",
                  real_json(heard->score), "end", real_json(heard->end), "margin",
                  real_json(heard->margin), "runner_up", cli_json_string(heard->runner_up),
                  "runner_up_score", real_json(heard->runner_up_score), "transcript",
                  cli_json_string(hearer->transcript), "positions", (int)heard->positions,
                  "prior_positions", (int)heard->prior_positions, "nodes", (int)heard->nodes, "ms",
                  cli_json_real(heard->seconds * 1000), "listen_ms",
                  cli_json_real(hearer->listen_ms)),
        &run->failure);
}

static kazeia_status hear_files(cli_hearer *hearer) {
    cli_run *run = hearer->run;
    kazeia_status worst = KAZEIA_OK;
    for (size_t i = 2; i < run->options.argument_count; i++) {
        const char *file = run->options.arguments[i];
        kazeia_heard_command heard;
        kazeia_status status = cli_hearer_hear(hearer, file, &heard);
        if (status == KAZEIA_OK) {
            status = print_heard(run, file, hearer, &heard);
        }
        if (status == KAZEIA_CANCELLED || status == KAZEIA_DONE) {
            return status;
        }
        if (status != KAZEIA_OK) {
            cli_report(run->options.is_json, "commands", file, run->failure.text);
            run->failure.text[0] = '\0';
            run->is_reported = true;
            worst = cli_exit_code(status) > cli_exit_code(worst) ? status : worst;
        }
    }
    return worst;
}

kazeia_status cli_commands_hear(cli_run *run) {
    cli_hearer hearer;
    kazeia_status status = cli_hearer_open(run, &hearer);
    if (status == KAZEIA_OK) {
        cli_interrupt_enter(&run->interrupt, cli_cancel_stage, hearer.stage);
        status = hear_files(&hearer);
        cli_interrupt_leave(&run->interrupt);
    }
    cli_hearer_close(&hearer);
    return status;
}
