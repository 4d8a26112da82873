// cmd_transcribe.c: kazeia transcribe.
//
// in:  sound files, a program that listens
// out: for each file its text, or a JSON line with what is known about it
//
// A file that fails does not stop the others: it gets its own line, and the exit code is the
// highest. A long file has several windows, its segments; their texts are joined by spaces, and the
// measures of the whole are means: of the log-probabilities over tokens, of the no-speech
// probabilities over time. The sound itself passes by a second at a time.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "engine.h"
#include "exit_codes.h"
#include "kazeia/listen.h"
#include "output.h"
#include "sound_file.h"

// What all windows of one file say.
typedef struct transcript {
    char *text;
    size_t text_bytes;
    int32_t *tokens;
    size_t token_count;
    char language[16]; // of the first window with text; "" before
    double logprob_sum, logprob_count;
    double no_speech_sum, seconds_sum;
    json_t *segments; // NULL without --json
    cli_run *run;
    cli_progress progress;
} transcript;

// Sound that fits in one window is heard in one, whatever its pauses: that is quicker, and a model
// that hears the whole sentence writes it better.
#define WINDOW_S 30.0
#define SHORT_PAUSE_MS 20000

typedef struct listening {
    cli_run *run;
    kazeia_runtime *runtime;
    kazeia_program *program, *vad;
    kazeia_stage *stage; // NULL before the first file
    bool is_for_short;   // the stage's pause
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

// Windows in which nothing was heard are no segments.
static kazeia_status keep_segment(transcript *whole, const kazeia_heard *heard) {
    cli_run *run = whole->run;
    if (heard->text[0] == '\0') {
        return KAZEIA_OK;
    }
    if (whole->segments != NULL) {
        (void)json_array_append_new(
            whole->segments,
            json_pack("{s:o, s:o, s:o}", "start_s", cli_json_real(heard->start_s), "end_s",
                      cli_json_real(heard->end_s), "text", cli_json_string(heard->text)));
        return KAZEIA_OK;
    }
    if (!run->options.has_times) {
        return KAZEIA_OK;
    }
    cli_progress_end(&whole->progress);
    return cli_print(&run->failure, "%.2f %.2f %s\n", heard->start_s, heard->end_s, heard->text);
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
        CLI_TRY(keep_segment(whole, heard));
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
                                      const transcript *whole, const cli_sound_times *times) {
    const cli_options *options = &listener->run->options;
    cli_sentence *failure = &listener->run->failure;
    if (!options->is_json && options->has_times) {
        return KAZEIA_OK; // its segments were written as they came
    }
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
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O}", "file", cli_json_string(file),
                  "language", cli_json_string(whole->language[0] == '\0' ? NULL : whole->language),
                  "text", cli_json_text(whole->text, whole->text_bytes), "tokens",
                  cli_json_ids(whole->tokens, whole->token_count), "avg_logprob",
                  cli_json_real(logprob), "no_speech_prob", cli_json_real(no_speech), "audio_s",
                  cli_json_real(times->audio_s), "seconds", cli_json_real(times->seconds),
                  "segments", whole->segments),
        failure);
}

static void drop_stage(listening *listener) {
    if (listener->stage != NULL) {
        kazeia_stage_destroy(listener->stage);
        listener->stage = NULL;
    }
}

// A stage keeps its settings: one of another kind takes its place.
static kazeia_status choose_stage(listening *listener, const char *file) {
    cli_run *run = listener->run;
    const bool is_short = listener->vad != NULL && cli_sound_file_is_short(file, WINDOW_S);
    if (listener->stage != NULL && listener->is_for_short == is_short) {
        return KAZEIA_OK;
    }
    drop_stage(listener);
    kazeia_listen_settings settings = cli_listen_settings(run);
    settings.has_guards = !run->options.has_no_guards;
    settings.vad = listener->vad;
    settings.pause_ms = is_short ? SHORT_PAUSE_MS : settings.pause_ms;
    listener->is_for_short = is_short;
    return cli_checked(run, kazeia_listen_create(listener->runtime, listener->program, &settings,
                                                 &listener->stage));
}

static kazeia_status transcribe_file(listening *listener, const char *file) {
    CLI_TRY(choose_stage(listener, file));
    cli_run *run = listener->run;
    const cli_options *options = &run->options;
    kazeia_heard heard;
    cli_sound_times times;
    transcript whole = {.run = run, .segments = options->is_json ? json_array() : NULL};
    const cli_drive drive = {
        .stage = listener->stage,
        .element_bytes = sizeof(float),
        .out = &heard,
        .capacity = 1,
        .take = take_heard,
        .context = &whole,
    };
    if (!options->is_json && options->has_times && options->argument_count > 1) {
        CLI_TRY(cli_print(&run->failure, "%s\n", file));
    }
    cli_progress_start(&whole.progress, true, "x real time", CLI_SOUND_RATE_HZ);
    kazeia_status status = cli_sound_file_drive(run, &drive, file, &whole.progress, &times);
    if (status == KAZEIA_OK) {
        status = print_transcript(listener, file, &whole, &times);
    }
    json_decref(whole.segments);
    free(whole.text);
    free(whole.tokens);
    return status;
}

// A language that the program lacks is refused once, not file by file.
static kazeia_status open_listener(listening *listener) {
    cli_run *run = listener->run;
    CLI_TRY(cli_program_open(run, run->options.model, "listen", &listener->program));
    CLI_TRY(cli_vad_open(run, &listener->vad));
    CLI_TRY(cli_runtime_open(run, &listener->runtime));
    return choose_stage(listener, run->options.arguments[0]);
}

static void close_listener(listening *listener) {
    drop_stage(listener);
    if (listener->program != NULL) {
        kazeia_program_close(listener->program);
    }
    if (listener->vad != NULL) {
        kazeia_program_close(listener->vad);
    }
    if (listener->runtime != NULL) {
        kazeia_runtime_destroy(listener->runtime);
    }
}

static kazeia_status transcribe_all(listening *listener) {
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
