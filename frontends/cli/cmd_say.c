// cmd_say.c: kazeia say.
//
// in:  a text, or standard input as it comes
// out: a sound file; how fast it was made
//
// The real-time factor counts the time in which the voice worked, not the waiting for standard
// input.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "engine.h"
#include "kazeia/listen.h"
#include "kazeia/speak.h"
#include "output.h"

#define PIECE_SAMPLES 4096
#define PIECE_BYTES 4096

typedef struct speaking {
    cli_run *run;
    kazeia_runtime *runtime;
    kazeia_stage *stage;
    kazeia_audio_writer *writer;
    uint64_t sample_count;
    double start_ms; // of the first text
    double first_ms; // from there to the first sample; < 0: none yet
    double compute_ms;
} speaking;

static kazeia_status take_samples(void *context, const void *out, size_t count) {
    speaking *speech = context;
    // Only called with samples, so this is the first sound and not the first call.
    if (speech->first_ms < 0) {
        speech->first_ms = cli_now_ms() - speech->start_ms;
    }
    speech->sample_count += count;
    return cli_checked(speech->run, kazeia_audio_writer_append(speech->writer, out, count));
}

// Feeds one piece of text and speaks what can be spoken already.
static kazeia_status speak_piece(const cli_drive *drive, speaking *speech, const char *text,
                                 size_t bytes) {
    const double start_ms = cli_now_ms();
    if (speech->start_ms < 0) {
        speech->start_ms = start_ms;
    }
    CLI_TRY(cli_drive_feed(speech->run, drive, text, bytes));
    // What can be spoken is spoken before the next read, which may wait for a person.
    CLI_TRY(cli_drive_drain(speech->run, drive));
    speech->compute_ms += cli_now_ms() - start_ms;
    return KAZEIA_OK;
}

static kazeia_status speak_standard_input(const cli_drive *drive, speaking *speech) {
    char text[PIECE_BYTES];
    while (true) {
        // read alone would wait through Ctrl-C: signals are blocked in this thread.
        CLI_TRY(cli_interrupt_wait_readable(&speech->run->interrupt, STDIN_FILENO));
        const ssize_t bytes = read(STDIN_FILENO, text, sizeof text);
        if (bytes == 0) {
            return KAZEIA_OK;
        }
        if (bytes < 0 && errno != EINTR) {
            return cli_fail(&speech->run->failure, KAZEIA_IO, "cannot read standard input: %s",
                            strerror(errno));
        }
        if (bytes > 0) {
            CLI_TRY(speak_piece(drive, speech, text, (size_t)bytes));
        }
    }
}

static kazeia_status speak_all(speaking *speech) {
    float samples[PIECE_SAMPLES];
    const char *text = speech->run->options.arguments[0];
    const cli_drive drive = {
        .stage = speech->stage,
        .element_bytes = 1,
        .out = samples,
        .capacity = PIECE_SAMPLES,
        .take = take_samples,
        .context = speech,
    };
    if (strcmp(text, "-") == 0) {
        CLI_TRY(speak_standard_input(&drive, speech));
    } else {
        CLI_TRY(speak_piece(&drive, speech, text, strlen(text)));
    }
    const double start_ms = cli_now_ms();
    CLI_TRY(cli_drive_finish(speech->run, &drive));
    speech->compute_ms += cli_now_ms() - start_ms;
    return KAZEIA_OK;
}

static kazeia_status open_voice(speaking *speech) {
    const cli_options *options = &speech->run->options;
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    settings.voice = options->voice;
    settings.language = options->language;
    settings.speed = (float)options->speed;
    CLI_TRY(cli_runtime_open(speech->run, &speech->runtime));
    return cli_checked(speech->run,
                       kazeia_speak_create(speech->runtime, &settings, &speech->stage));
}

static kazeia_status speak_to_file(speaking *speech) {
    cli_run *run = speech->run;
    const uint32_t rate = kazeia_speak_sample_rate(speech->stage);
    cli_interrupt_enter(&run->interrupt, cli_cancel_stage, speech->stage);
    kazeia_status status =
        cli_checked(run, kazeia_audio_writer_open(run->options.output, rate, &speech->writer));
    if (status == KAZEIA_OK) {
        status = speak_all(speech);
        const kazeia_status closed =
            cli_checked(run, kazeia_audio_writer_close(speech->writer, status == KAZEIA_OK));
        status = status == KAZEIA_OK ? closed : status;
    }
    cli_interrupt_leave(&run->interrupt);
    return status;
}

static kazeia_status print_result(const speaking *speech) {
    cli_run *run = speech->run;
    const double audio_s = (double)speech->sample_count / kazeia_speak_sample_rate(speech->stage);
    if (run->options.is_json) {
        json_t *first = speech->first_ms < 0 ? json_null() : cli_json_real(speech->first_ms);
        // A silence has no factor: the division gives none, and so the JSON null.
        return cli_print_json(json_pack("{s:o, s:o, s:o}", "audio_s", cli_json_real(audio_s),
                                        "first_audio_ms", first, "rtf",
                                        cli_json_real(speech->compute_ms / 1e3 / audio_s)),
                              &run->failure);
    }
    if (speech->sample_count == 0) {
        return cli_print(&run->failure, "%s: nothing to say\n", run->options.output);
    }
    return cli_print(&run->failure, "%s: %.1f s of speech; first sound after %.0f ms\n",
                     run->options.output, audio_s, speech->first_ms);
}

kazeia_status cli_say(cli_run *run) {
    speaking speech = {.run = run, .start_ms = -1, .first_ms = -1};
    kazeia_status status = open_voice(&speech);
    if (status == KAZEIA_OK) {
        status = speak_to_file(&speech);
    }
    if (status == KAZEIA_OK) {
        status = print_result(&speech);
    }
    if (speech.stage != NULL) {
        kazeia_stage_destroy(speech.stage);
    }
    if (speech.runtime != NULL) {
        kazeia_runtime_destroy(speech.runtime);
    }
    return status;
}
