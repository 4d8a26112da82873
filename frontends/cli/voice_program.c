// voice_program.c: a program that speaks.
//
// in:  options of `say`
// out: settings, and what the voice computed
//
// A name with a colon may be a path that has one: the whole is looked for first. Without --voice it
// is Kokoro, where it is, else espeak-ng, in the language of the text.
#include "voice_program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "output.h"

static void show(void *context, kazeia_speak_part part, const void *values, size_t rows,
                 size_t columns) {
    cli_voice_program *program = context;
    cli_array *const arrays[] = {[KAZEIA_SPEAK_PREFILL] = &program->prefill,
                                 [KAZEIA_SPEAK_LOGITS] = &program->logits,
                                 [KAZEIA_SPEAK_CODE] = &program->choices,
                                 [KAZEIA_SPEAK_FRAME] = &program->codes,
                                 [KAZEIA_SPEAK_SYMBOLS] = &program->symbols};
    static const int32_t apart = 0; // an id that no symbol has
    cli_sentence ignored;
    if (part == KAZEIA_SPEAK_SYMBOLS && program->symbols.rows > 0) {
        program->has_failed |=
            cli_array_append(&program->symbols, &apart, 1, 1, &ignored) != KAZEIA_OK;
    }
    // Told at the end: the voice has no use for a failure of its watcher.
    program->has_failed |=
        cli_array_append(arrays[part], values, rows, columns, &ignored) != KAZEIA_OK;
}

#define USUAL_VOICE "kokoro"
#define FALLBACK_VOICE "espeak"
#define USUAL_LANGUAGE "fr"

static bool is_built_in(const char *voice) {
    return strncmp(voice, "espeak", 6) == 0 && (voice[6] == ':' || voice[6] == '\0');
}

// The part behind the last colon, cut off the name; NULL when the whole is a file.
static const char *cut_speaker(char *name) {
    char *colon = strrchr(name, ':');
    if (colon == NULL || access(name, F_OK) == 0) {
        return NULL;
    }
    *colon = '\0';
    return colon + 1;
}

static kazeia_status read_voice_file(cli_run *run, kazeia_speak_settings *settings,
                                     cli_voice_program *program) {
    cli_voice_file *file = &program->clone;
    char id[CLI_PROGRAM_ID_BYTES];
    CLI_TRY(cli_voice_file_read(run->options.clone, file, &run->failure));
    CLI_TRY(cli_program_id(run, program->program, id));
    if (strcmp(id, file->program) != 0) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "'%s' is a voice of program %s; '%s' is %s. Make the voice again with it.",
                        run->options.clone, file->program, program->name, id);
    }
    settings->vector = file->vector.values;
    settings->vector_count = file->vector.rows;
    settings->reference_codes = file->codes.values;
    settings->reference_frames = file->codes.rows;
    settings->reference_text = file->text;
    return KAZEIA_OK;
}

static kazeia_status read_clone(cli_run *run, kazeia_speak_settings *settings,
                                cli_voice_program *program) {
    const cli_options *options = &run->options;
    if (options->clone != NULL) {
        CLI_TRY(cli_options_refuse_both(options, "--clone", "--voice-vector", &run->failure));
        CLI_TRY(cli_options_refuse_both(options, "--clone", "--ref-codes", &run->failure));
        return read_voice_file(run, settings, program);
    }
    if (options->voice_vector != NULL) {
        CLI_TRY(cli_array_read(options->voice_vector, false, &program->vector, &run->failure));
        settings->vector = program->vector.values;
        settings->vector_count = program->vector.rows * program->vector.columns;
    }
    if (options->ref_codes != NULL) {
        CLI_TRY(cli_array_read(options->ref_codes, true, &program->reference_codes, &run->failure));
        settings->reference_codes = program->reference_codes.values;
        settings->reference_frames = program->reference_codes.rows;
        settings->reference_text = options->ref_text;
    }
    return KAZEIA_OK;
}

static kazeia_status open_named(cli_run *run, const char *voice, kazeia_speak_settings *settings,
                                cli_voice_program *program) {
    if (strlen(voice) >= sizeof program->name) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT, "--voice is too long");
    }
    memcpy(program->name, voice, strlen(voice) + 1);
    settings->speaker = cut_speaker(program->name);
    const kazeia_status status = cli_program_open(run, program->name, "speak", &program->program);
    if (status == KAZEIA_NOT_FOUND) {
        cli_fail_more(&run->failure, ". A voice is MODEL[:SPEAKER], as kokoro:ff_siwis, or "
                                     "espeak:LANGUAGE, as espeak:fr");
    }
    settings->program = program->program;
    return status;
}

// The voice that nobody chose, with a speaker for the language.
static kazeia_status open_usual(cli_run *run, kazeia_speak_settings *settings,
                                cli_voice_program *program) {
    cli_model_path path;
    settings->language = settings->language == NULL ? USUAL_LANGUAGE : settings->language;
    if (!cli_usual_program(USUAL_VOICE, &path)) {
        settings->voice = FALLBACK_VOICE;
        return KAZEIA_OK;
    }
    CLI_TRY(cli_program_open(run, path.text, "speak", &program->program));
    memcpy(program->name, USUAL_VOICE, sizeof USUAL_VOICE);
    settings->program = program->program;
    return KAZEIA_OK;
}

kazeia_status cli_voice_program_open(cli_run *run, kazeia_speak_settings *settings,
                                     cli_voice_program *program) {
    const cli_options *options = &run->options;
    if (options->voice == NULL) {
        CLI_TRY(open_usual(run, settings, program));
    } else if (!is_built_in(options->voice)) {
        CLI_TRY(open_named(run, options->voice, settings, program));
    }
    if (settings->program == NULL) {
        return KAZEIA_OK;
    }
    settings->instruct = options->instruct;
    settings->seed = options->seed;
    settings->is_greedy = settings->is_verbatim = options->is_greedy;
    settings->is_whole = options->is_whole;
    settings->max_frames = (uint32_t)options->max_frames;
    program->is_dumping = options->dump != NULL;
    if (program->is_dumping) {
        settings->watch = show;
        settings->watch_context = program;
    }
    return read_clone(run, settings, program);
}

void cli_voice_program_close(cli_voice_program *program) {
    cli_array *const arrays[] = {
        &program->vector,  &program->reference_codes, &program->prefill, &program->logits,
        &program->choices, &program->codes,           &program->symbols, &program->sound};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        cli_array_clear(arrays[i]);
    }
    cli_voice_file_clear(&program->clone);
    if (program->program != NULL) {
        kazeia_program_close(program->program);
    }
}

kazeia_status cli_voice_program_keep(cli_run *run, cli_voice_program *program, const float *samples,
                                     size_t count) {
    return program->is_dumping ? cli_array_append(&program->sound, samples, count, 1, &run->failure)
                               : KAZEIA_OK;
}

static kazeia_status write_array(cli_run *run, const cli_array *from, const char *name,
                                 bool is_integer, bool is_flat) {
    char path[PATH_MAX];
    cli_array array = *from;
    array.is_integer = is_integer;
    array.is_flat = is_flat;
    const int length = snprintf(path, sizeof path, "%s/%s.npy", run->options.dump, name);
    if (length < 0 || (size_t)length >= sizeof path) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT, "--dump is too long");
    }
    return cli_array_write(&array, path, &run->failure);
}

static kazeia_status write_codes(cli_run *run, const cli_voice_program *program) {
    CLI_TRY(write_array(run, &program->prefill, "prefill", false, false));
    CLI_TRY(write_array(run, &program->logits, "logits", false, false));
    CLI_TRY(write_array(run, &program->choices, "code0", true, true));
    return write_array(run, &program->codes, "codes", true, false);
}

kazeia_status cli_voice_program_dump(cli_run *run, const cli_voice_program *program) {
    if (!program->is_dumping) {
        return KAZEIA_OK;
    }
    if (program->has_failed) {
        return cli_fail(&run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for what --dump writes");
    }
    if (program->symbols.rows > 0) {
        CLI_TRY(write_array(run, &program->symbols, "symbols", true, true));
    } else {
        CLI_TRY(write_codes(run, program));
    }
    return write_array(run, &program->sound, "wav", false, true);
}

void cli_voice_program_count(const kazeia_stage *speak, json_t *object) {
    const kazeia_speak_statistics counts = kazeia_speak_statistics_of(speak);
    if (counts.frames == 0) {
        return;
    }
    const double frames = (double)counts.frames;
    json_t *more =
        json_pack("{s:I, s:o, s:o, s:o, s:I, s:I}", "frames", (json_int_t)counts.frames,
                  "talker_ms_per_frame", cli_json_real(counts.talker_ms / frames),
                  "predictor_ms_per_frame", cli_json_real(counts.predictor_ms / frames),
                  "codec_ms_per_frame", cli_json_real(counts.codec_ms / frames), "length_ends",
                  (json_int_t)counts.length_ends, "silence_ends", (json_int_t)counts.silence_ends);
    (void)json_object_update(object, more);
    json_decref(more);
}
