// engine.c: opening what a command computes with, and driving its stages.
//
// in:  the options --model, --threads, --memory-limit
// out: a runtime, a program, a stage; pieces of a stage's output
//
// feed may take less than it is given, and next may have to run before it takes more: the loops
// here are the only ones that know it.
#include "engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "model_path.h"
#include "new_file.h"

kazeia_status cli_checked(cli_run *run, kazeia_status status) {
    if (status == KAZEIA_CANCELLED) {
        return cli_fail(&run->failure, status, "interrupted");
    }
    if (status != KAZEIA_OK) {
        // Taken at once: the next call into the library on this thread may replace it.
        const char *sentence = kazeia_last_error();
        (void)cli_fail(&run->failure, status, "%s",
                       sentence[0] != '\0' ? sentence : kazeia_status_name(status));
    }
    return status;
}

kazeia_status cli_runtime_open(cli_run *run, kazeia_runtime **out_runtime) {
    kazeia_runtime_settings settings = kazeia_runtime_settings_default();
    settings.thread_count = (uint32_t)run->options.threads;
    settings.session_memory_limit = run->options.memory_limit;
    return cli_checked(run, kazeia_runtime_create(&settings, out_runtime));
}

static kazeia_status check_ability(cli_run *run, const char *path, const char *ability,
                                   const kazeia_program *program) {
    const char *found = kazeia_program_ability(program);
    if (ability == NULL || strcmp(found, ability) == 0) {
        return KAZEIA_OK;
    }
    return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                    "'%s' has the ability '%s'; '%s' expected here. 'kazeia inspect %s' shows what "
                    "it is.",
                    path, found, ability, path);
}

kazeia_status cli_program_open(cli_run *run, const char *model, const char *ability,
                               kazeia_program **out_program) {
    cli_model_path path;
    kazeia_program *program = NULL;
    CLI_TRY(cli_model_path_find(model, &path, &run->failure));
    // The mapped model would be written over while it is read. These two options are NULL for
    // commands that have none.
    CLI_TRY(cli_refuse_same_file(path.text, run->options.output, &run->failure));
    CLI_TRY(cli_refuse_same_file(path.text, run->options.timeline, &run->failure));
    kazeia_status status = cli_checked(run, kazeia_program_open(path.text, NULL, &program));
    if (status == KAZEIA_OK) {
        status = check_ability(run, path.text, ability, program);
    }
    if (status == KAZEIA_OK) {
        *out_program = program;
    } else if (program != NULL) {
        kazeia_program_close(program);
    }
    return status;
}

bool cli_usual_program(const char *name, cli_model_path *out_path) {
    cli_model_path folder;
    cli_sentence ignored = {""};
    struct stat facts;
    if (cli_models_folder(&folder, &ignored) != KAZEIA_OK) {
        return false;
    }
    const int length =
        snprintf(out_path->text, sizeof out_path->text, "%s/%s.kzp", folder.text, name);
    return length > 0 && (size_t)length < sizeof out_path->text &&
           stat(out_path->text, &facts) == 0 && S_ISREG(facts.st_mode);
}

kazeia_status cli_vad_open(cli_run *run, kazeia_program **out_program) {
    const cli_options *options = &run->options;
    cli_model_path path;
    *out_program = NULL;
    if (options->vad != NULL) {
        return strcmp(options->vad, "none") == 0
                   ? KAZEIA_OK
                   : cli_program_open(run, options->vad, "vad", out_program);
    }
    if (options->has_no_guards || !cli_usual_program("silero-vad", &path)) {
        return KAZEIA_OK;
    }
    return cli_program_open(run, path.text, "vad", out_program);
}

kazeia_listen_settings cli_listen_settings(const cli_run *run) {
    const char *context = run->options.audio_context;
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    settings.languages = run->options.language;
    if (context != NULL && strcmp(context, "auto") == 0) {
        settings.audio_context = KAZEIA_AUDIO_CONTEXT_AUTO;
    }
    return settings;
}

kazeia_status cli_talker_open(cli_run *run, const kazeia_chat_settings *settings,
                              cli_talker *out_talker) {
    const double start_ms = cli_now_ms();
    *out_talker = (cli_talker){0};
    CLI_TRY(cli_program_open(run, run->options.model, "chat", &out_talker->program));
    CLI_TRY(cli_runtime_open(run, &out_talker->runtime));
    CLI_TRY(cli_checked(run, kazeia_chat_create(out_talker->runtime, out_talker->program, settings,
                                                &out_talker->stage)));
    out_talker->load_ms = cli_now_ms() - start_ms;
    return KAZEIA_OK;
}

void cli_talker_close(cli_talker *talker) {
    if (talker->stage != NULL) {
        kazeia_stage_destroy(talker->stage);
    }
    if (talker->program != NULL) {
        kazeia_program_close(talker->program);
    }
    if (talker->runtime != NULL) {
        kazeia_runtime_destroy(talker->runtime);
    }
}

static kazeia_status checked_next(cli_run *run, kazeia_status status) {
    // Two answers of a stage that are no failures and have no sentence.
    const bool is_news = status == KAZEIA_NEEDS_INPUT || status == KAZEIA_DONE;
    return is_news ? status : cli_checked(run, status);
}

// Runs the stage until it needs input or is done, and returns which. `*out_is_idle`: it needed
// input at once, so that only feeding can help.
static kazeia_status run_stage(cli_run *run, const cli_drive *drive, bool *out_is_idle) {
    *out_is_idle = true;
    while (true) {
        size_t count = 0;
        CLI_TRY(checked_next(run,
                             kazeia_stage_next(drive->stage, drive->out, drive->capacity, &count)));
        *out_is_idle = false;
        if (count > 0 || drive->takes_nothing) {
            CLI_TRY(drive->take(drive->context, drive->out, count));
        }
    }
}

kazeia_status cli_drive_drain(cli_run *run, const cli_drive *drive) {
    bool is_idle = false;
    const kazeia_status status = run_stage(run, drive, &is_idle);
    return status == KAZEIA_NEEDS_INPUT || status == KAZEIA_DONE ? KAZEIA_OK : status;
}

kazeia_status cli_drive_feed(cli_run *run, const cli_drive *drive, const void *in, size_t count) {
    const char *next = in;
    while (count > 0) {
        size_t taken = 0;
        CLI_TRY(cli_checked(run, kazeia_stage_feed(drive->stage, next, count, &taken)));
        next += taken * drive->element_bytes;
        count -= taken;
        // Full: work until it needs input. If it needs input at once, neither side can go on, and
        // waiting would last for ever.
        if (taken == 0) {
            bool is_idle = false;
            const kazeia_status status = run_stage(run, drive, &is_idle);
            if (is_idle && status == KAZEIA_NEEDS_INPUT) {
                return cli_fail(&run->failure, KAZEIA_BUSY,
                                "the stage takes no more input and asks for more");
            }
            CLI_TRY(status == KAZEIA_NEEDS_INPUT ? KAZEIA_OK : status);
        }
    }
    return KAZEIA_OK;
}

kazeia_status cli_drive_finish(cli_run *run, const cli_drive *drive) {
    bool is_idle = false;
    CLI_TRY(cli_checked(run, kazeia_stage_finish(drive->stage)));
    const kazeia_status status = run_stage(run, drive, &is_idle);
    if (status == KAZEIA_NEEDS_INPUT) {
        return cli_fail(&run->failure, KAZEIA_BUSY, "the stage asks for input after its end");
    }
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}

void cli_cancel_stage(void *stage) {
    kazeia_stage_cancel(stage);
}
