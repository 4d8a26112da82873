// cmd_transcribe.c: kazeia transcribe.
//
// in:  sound files, a program that listens
// out: for each file its text, or a JSON line with what is known about it
//
// A file that fails does not stop the others: it gets its own line, and the exit code is the
// highest. A long file has several windows; their texts are joined by spaces, and the measures of
// the whole are means: of the log-probabilities over tokens, of the no-speech probabilities over
// time.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "clock.h"
#include "engine.h"
#include "exit_codes.h"
#include "kazeia/listen.h"
#include "output.h"

#define SAMPLE_RATE_HZ 16000

// What all windows of one file say.
typedef struct transcript {
    char *text;
    size_t text_bytes;
    int32_t *tokens;
    size_t token_count;
    char language[16]; // of the first window with text; "" before
    double logprob_sum, logprob_count;
    double no_speech_sum, seconds_sum;
} transcript;

typedef struct listening {
    cli_run *run;
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_stage *stage;
} listening;

static bool append(void **list, size_t *count, const void *more, size_t more_count,
                   size_t element_bytes) {
    // One more element than needed, so that nothing is ever asked of 0 bytes, whose answer may be
    // NULL.
    char *larger = realloc(*list, (*count + more_count + 1) * element_bytes);
    if (larger == NULL) {
        return false;
    }
    if (more_count > 0) {
        memcpy(larger + *count * element_bytes, more, more_count * element_bytes);
    }
    *list = larger;
    *count += more_count;
    return true;
}

static bool append_text(transcript *whole, const char *text) {
    void *list = whole->text;
    bool is_kept = true;
    if (whole->text_bytes > 0 && text[0] != '\0') {
        is_kept = append(&list, &whole->text_bytes, " ", 1, 1);
    }
    is_kept = is_kept && append(&list, &whole->text_bytes, text, strlen(text), 1);
    whole->text = list;
    return is_kept;
}

static bool append_tokens(transcript *whole, const kazeia_heard *heard) {
    void *list = whole->tokens;
    const bool is_kept =
        append(&list, &whole->token_count, heard->tokens, heard->token_count, sizeof(int32_t));
    whole->tokens = list;
    return is_kept;
}

static kazeia_status take_heard(void *context, const void *out, size_t count) {
    transcript *whole = context;
    const kazeia_heard *heard = out;
    for (size_t i = 0; i < count; i++, heard++) {
        const bool is_first = whole->text_bytes == 0 || whole->language[0] == '\0';
        if (is_first && heard->language != NULL) {
            // The struct is zeroed, so the last byte stays NUL.
            (void)strncpy(whole->language, heard->language, sizeof whole->language - 1);
        }
        if (!append_text(whole, heard->text) || !append_tokens(whole, heard)) {
            return KAZEIA_OUT_OF_MEMORY;
        }
        const double weight = (double)heard->token_count + 1; // end-of-text has a probability too
        const double seconds = heard->end_s - heard->start_s;
        whole->logprob_sum += weight * (double)heard->avg_logprob;
        whole->logprob_count += weight;
        whole->no_speech_sum += seconds * (double)heard->no_speech_prob;
        whole->seconds_sum += seconds;
    }
    return KAZEIA_OK;
}

static kazeia_status print_transcript(const listening *listener, const char *file,
                                      const transcript *whole, double audio_s, double seconds) {
    const cli_options *options = &listener->run->options;
    cli_sentence *failure = &listener->run->failure;
    if (!options->is_json) {
        const bool is_named = options->argument_count > 1;
        return cli_print(failure, "%s%s%.*s\n", is_named ? file : "", is_named ? ": " : "",
                         (int)whole->text_bytes, whole->text == NULL ? "" : whole->text);
    }
    // A file without a window has no probability; 0 and 1 are what the library says of a window
    // without speech.
    const double logprob = whole->logprob_count > 0 ? whole->logprob_sum / whole->logprob_count : 0;
    const double no_speech = whole->seconds_sum > 0 ? whole->no_speech_sum / whole->seconds_sum : 1;
    return cli_print_json(
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "file", cli_json_string(file),
                  "language", cli_json_string(whole->language[0] == '\0' ? NULL : whole->language),
                  "text", cli_json_text(whole->text, whole->text_bytes), "tokens",
                  cli_json_ids(whole->tokens, whole->token_count), "avg_logprob",
                  cli_json_real(logprob), "no_speech_prob", cli_json_real(no_speech), "audio_s",
                  cli_json_real(audio_s), "seconds", cli_json_real(seconds)),
        failure);
}

static kazeia_status listen_to(const listening *listener, const float *samples, size_t count,
                               transcript *out_whole) {
    kazeia_heard heard;
    const cli_drive drive = {
        .stage = listener->stage,
        .element_bytes = sizeof(float),
        .out = &heard,
        .capacity = 1,
        .take = take_heard,
        .context = out_whole,
    };
    // Also after a file that failed in the middle: the next one begins with an empty stage.
    CLI_TRY(cli_checked(listener->run, kazeia_stage_reset(listener->stage)));
    cli_interrupt_enter(&listener->run->interrupt, cli_cancel_stage, listener->stage);
    kazeia_status status = cli_drive_feed(listener->run, &drive, samples, count);
    if (status == KAZEIA_OK) {
        status = cli_drive_finish(listener->run, &drive);
    }
    cli_interrupt_leave(&listener->run->interrupt);
    return status;
}

static kazeia_status transcribe_file(const listening *listener, const char *file) {
    float *samples = NULL;
    size_t count = 0;
    transcript whole = {0};
    CLI_TRY(cli_checked(listener->run, kazeia_audio_read(file, SAMPLE_RATE_HZ, &samples, &count)));
    // Reading and resampling the file are not the model's time.
    const double start_ms = cli_now_ms();
    kazeia_status status = listen_to(listener, samples, count, &whole);
    const double seconds = (cli_now_ms() - start_ms) / 1e3;
    if (status == KAZEIA_OK) {
        status = print_transcript(listener, file, &whole, (double)count / SAMPLE_RATE_HZ, seconds);
    }
    kazeia_audio_release(samples);
    free(whole.text);
    free(whole.tokens);
    return status;
}

static kazeia_status open_listener(listening *listener) {
    cli_run *run = listener->run;
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    settings.languages = run->options.language;
    settings.has_guards = !run->options.has_no_guards;
    CLI_TRY(cli_program_open(run, run->options.model, "listen", &listener->program));
    CLI_TRY(cli_runtime_open(run, &listener->runtime));
    return cli_checked(run, kazeia_listen_create(listener->runtime, listener->program, &settings,
                                                 &listener->stage));
}

static void close_listener(listening *listener) {
    if (listener->stage != NULL) {
        kazeia_stage_destroy(listener->stage);
    }
    if (listener->program != NULL) {
        kazeia_program_close(listener->program);
    }
    if (listener->runtime != NULL) {
        kazeia_runtime_destroy(listener->runtime);
    }
}

static kazeia_status transcribe_all(const listening *listener) {
    cli_run *run = listener->run;
    kazeia_status worst = KAZEIA_OK;
    for (size_t i = 0; i < run->options.argument_count; i++) {
        const char *file = run->options.arguments[i];
        const kazeia_status status = transcribe_file(listener, file);
        // Nobody reads, or nobody waits: the rest of the files would be work for no one.
        if (status == KAZEIA_DONE || status == KAZEIA_CANCELLED) {
            return status == KAZEIA_DONE ? worst : status;
        }
        if (status != KAZEIA_OK) {
            cli_report(run->options.is_json, "transcribe", file, run->failure.text);
            run->failure.text[0] = '\0';
            run->is_reported = true;
        }
        if (cli_exit_code(status) > cli_exit_code(worst)) {
            worst = status;
        }
    }
    return worst;
}

kazeia_status cli_transcribe(cli_run *run) {
    listening listener = {.run = run};
    kazeia_status status = open_listener(&listener);
    if (status == KAZEIA_OK) {
        status = transcribe_all(&listener);
    }
    close_listener(&listener);
    return status;
}
