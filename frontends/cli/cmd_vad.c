// cmd_vad.c: kazeia vad.
//
// in:  a sound file, a program of voice activity
// out: the stretches in which somebody speaks: a line each, or one JSON array
#include "cli.h"
#include "kazeia/listen.h"
#include "output.h"
#include "sound_file.h"

typedef struct spotting {
    cli_run *run;
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_stage *stage;
    json_t *spans; // NULL without --json
} spotting;

static kazeia_status take_span(void *context, const void *out, size_t count) {
    spotting *work = context;
    const kazeia_speech_span *span = out;
    for (size_t i = 0; i < count; i++, span++) {
        if (work->spans == NULL) {
            CLI_TRY(cli_print(&work->run->failure, "%.2f %.2f\n", span->start_s, span->end_s));
        } else {
            (void)json_array_append_new(
                work->spans, json_pack("{s:o, s:o}", "start_s", cli_json_real(span->start_s),
                                       "end_s", cli_json_real(span->end_s)));
        }
    }
    return KAZEIA_OK;
}

static kazeia_status spot(spotting *work) {
    cli_run *run = work->run;
    kazeia_speech_span span;
    cli_progress progress;
    cli_sound_times times;
    CLI_TRY(cli_program_open(run, run->options.model, "vad", &work->program));
    CLI_TRY(cli_runtime_open(run, &work->runtime));
    CLI_TRY(cli_checked(run, kazeia_vad_create(work->runtime, work->program, NULL, &work->stage)));
    const cli_drive drive = {.stage = work->stage,
                             .element_bytes = sizeof(float),
                             .out = &span,
                             .capacity = 1,
                             .take = take_span,
                             .context = work};
    cli_progress_start(&progress, true, "x real time", CLI_SOUND_RATE_HZ);
    work->spans = run->options.is_json ? json_array() : NULL;
    CLI_TRY(cli_sound_file_drive(run, &drive, run->options.arguments[0], &progress, &times));
    // The array goes with the line.
    return run->options.is_json ? cli_print_json(json_incref(work->spans), &run->failure)
                                : KAZEIA_OK;
}

kazeia_status cli_vad(cli_run *run) {
    spotting work = {.run = run};
    const kazeia_status status = spot(&work);
    json_decref(work.spans);
    if (work.stage != NULL) {
        kazeia_stage_destroy(work.stage);
    }
    if (work.program != NULL) {
        kazeia_program_close(work.program);
    }
    if (work.runtime != NULL) {
        kazeia_runtime_destroy(work.runtime);
    }
    return status;
}
