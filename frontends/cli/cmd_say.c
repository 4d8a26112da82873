// cmd_say.c: kazeia say.
//
// in:  a text, or standard input as it comes
// out: a sound file; how fast it was made; with --show-spoken the words, too
//
// The real-time factor counts the time in which the voice worked, not the waiting for standard
// input.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "engine.h"
#include "kazeia/listen.h"
#include "kazeia/speak.h"
#include "kazeia/text.h"
#include "output.h"
#include "playback.h"
#include "sound_file.h"
#include "voice_program.h"

#define PIECE_SAMPLES 4096
#define PIECE_BYTES 4096

typedef struct speaking {
    cli_run *run;
    kazeia_runtime *runtime;
    kazeia_stage *stage;
    kazeia_stage *writer;
    cli_voice_program program; // whose voice it is, if a program's
    uint64_t sample_count;
    double start_ms; // of the first text
    double first_ms; // from there to the first sample; < 0: none yet
    double compute_ms;
    cli_playback playback;
    char *text; // all that was fed; only with --show-spoken
    size_t text_bytes;
} speaking;

static kazeia_status remember_text(speaking *speech, const char *text, size_t bytes) {
    char *longer = NULL;
    if (!speech->run->options.shows_spoken) {
        return KAZEIA_OK;
    }
    // One byte more: an empty text is a text.
    longer = realloc(speech->text, speech->text_bytes + bytes + 1);
    if (longer == NULL) {
        return cli_fail(&speech->run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for %zu bytes",
                        speech->text_bytes + bytes);
    }
    memcpy(longer + speech->text_bytes, text, bytes);
    speech->text = longer;
    speech->text_bytes += bytes;
    return KAZEIA_OK;
}

static kazeia_status take_samples(void *context, const void *out, size_t count) {
    speaking *speech = context;
    // Only called with samples, so this is the first sound and not the first call.
    if (speech->first_ms < 0) {
        speech->first_ms = cli_now_ms() - speech->start_ms;
    }
    speech->sample_count += count;
    const kazeia_speak_statistics voice = kazeia_speak_statistics_of(speech->stage);
    cli_playback_take(&speech->playback, cli_now_ms(), (double)count / voice.sample_rate_hz,
                      voice.lead_s);
    CLI_TRY(cli_voice_program_keep(speech->run, &speech->program, out, count));
    return cli_checked(speech->run, cli_sound_write(speech->writer, out, count));
}

// Feeds one piece of text and speaks what can be spoken already.
static kazeia_status speak_piece(const cli_drive *drive, speaking *speech, const char *text,
                                 size_t bytes) {
    const double start_ms = cli_now_ms();
    if (speech->start_ms < 0) {
        speech->start_ms = start_ms;
    }
    CLI_TRY(remember_text(speech, text, bytes));
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
    cli_playback_end(&speech->playback, cli_now_ms());
    speech->compute_ms += cli_now_ms() - start_ms;
    return KAZEIA_OK;
}

static kazeia_status open_voice(speaking *speech) {
    const cli_options *options = &speech->run->options;
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    settings.voice = options->voice;
    settings.language = options->language;
    settings.speed = (float)options->speed;
    settings.cuts_first_early = options->is_streamed;
    CLI_TRY(cli_runtime_open(speech->run, &speech->runtime));
    CLI_TRY(cli_voice_program_open(speech->run, &settings, &speech->program));
    return cli_checked(speech->run,
                       kazeia_speak_create(speech->runtime, &settings, &speech->stage));
}

static kazeia_status speak_to_file(speaking *speech) {
    cli_run *run = speech->run;
    const uint32_t rate = kazeia_speak_statistics_of(speech->stage).sample_rate_hz;
    cli_interrupt_enter(&run->interrupt, cli_cancel_stage, speech->stage);
    kazeia_status status =
        cli_checked(run, kazeia_audio_writer_create(run->options.output, rate, &speech->writer));
    if (status == KAZEIA_OK) {
        status = speak_all(speech);
        const kazeia_status closed =
            cli_checked(run, cli_sound_close(speech->writer, status == KAZEIA_OK));
        status = status == KAZEIA_OK ? closed : status;
    }
    cli_interrupt_leave(&run->interrupt);
    return status;
}

// *out_words belongs to the reader.
static kazeia_status find_words(const speaking *speech, kazeia_reader **out_reader,
                                const char **out_words, size_t *out_bytes) {
    cli_run *run = speech->run;
    const char *language = kazeia_speak_statistics_of(speech->stage).language;
    CLI_TRY(cli_checked(
        run, kazeia_reader_create(language[0] == '\0' ? NULL : language, 0, NULL, out_reader)));
    const char *text = speech->text == NULL ? "" : speech->text;
    return cli_checked(
        run, kazeia_reader_say(*out_reader, text, speech->text_bytes, out_words, out_bytes));
}

// When a player would have begun, from the first text on, and how often it would have run dry.
static void add_playback(const speaking *speech, json_t *root) {
    const cli_playback *playback = &speech->playback;
    json_t *start =
        playback->start_ms < 0 ? json_null() : cli_json_real(playback->start_ms - speech->start_ms);
    (void)json_object_set_new(root, "play_ms", start);
    (void)json_object_set_new(root, "underruns", json_integer((json_int_t)playback->underruns));
    (void)json_object_set_new(root, "underrun_s", cli_json_real(playback->missing_s));
}

static kazeia_status print_figures(const speaking *speech, const char *words, size_t bytes) {
    cli_run *run = speech->run;
    const double audio_s =
        (double)speech->sample_count / kazeia_speak_statistics_of(speech->stage).sample_rate_hz;
    if (run->options.is_json) {
        json_t *first = speech->first_ms < 0 ? json_null() : cli_json_real(speech->first_ms);
        // A silence has no factor: the division gives none, and so the JSON null.
        json_t *spoken = words == NULL ? NULL : cli_json_text(words, bytes);
        json_t *root = json_pack("{s:o*, s:o, s:o, s:o}", "spoken", spoken, "audio_s",
                                 cli_json_real(audio_s), "first_audio_ms", first, "rtf",
                                 cli_json_real(speech->compute_ms / 1e3 / audio_s));
        if (speech->program.program != NULL) {
            add_playback(speech, root);
        }
        cli_voice_program_count(speech->stage, root);
        return cli_print_json(root, &run->failure);
    }
    if (words != NULL) {
        CLI_TRY(cli_print_bytes(words, bytes, &run->failure));
        CLI_TRY(cli_print_bytes("\n", 1, &run->failure));
    }
    if (speech->sample_count == 0) {
        return cli_print(&run->failure, "%s: nothing to say\n", run->options.output);
    }
    return cli_print(&run->failure, "%s: %.1f s of speech; first sound after %.0f ms\n",
                     run->options.output, audio_s, speech->first_ms);
}

static kazeia_status print_result(const speaking *speech) {
    kazeia_reader *reader = NULL;
    const char *words = NULL;
    size_t bytes = 0;
    kazeia_status status = KAZEIA_OK;
    if (speech->run->options.shows_spoken) {
        status = find_words(speech, &reader, &words, &bytes);
    }
    if (status == KAZEIA_OK) {
        status = print_figures(speech, words, bytes);
    }
    kazeia_reader_destroy(reader);
    return status;
}

kazeia_status cli_say(cli_run *run) {
    speaking speech = {.run = run, .start_ms = -1, .first_ms = -1, .playback = {.start_ms = -1}};
    kazeia_status status = open_voice(&speech);
    if (status == KAZEIA_OK) {
        status = speak_to_file(&speech);
    }
    if (status == KAZEIA_OK) {
        status = cli_voice_program_dump(run, &speech.program);
    }
    if (status == KAZEIA_OK) {
        status = print_result(&speech);
    }
    if (speech.stage != NULL) {
        kazeia_stage_destroy(speech.stage);
    }
    cli_voice_program_close(&speech.program);
    if (speech.runtime != NULL) {
        kazeia_runtime_destroy(speech.runtime);
    }
    free(speech.text);
    return status;
}
