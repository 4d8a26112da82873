// cmd_voice.c: kazeia voice make|vector|list.
//
// in:  a recording, a program that clones; a folder
// out: the speaker's vector as an array; a voice file; the voices of the folder
//
// A voice file is JSON: the id of the program that it was made with, the vector and, with a
// transcript, the recording's codes. Another program's numbers mean nothing to a voice, so the id
// is compared when it is used.
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "output.h"
#include "recording.h"
#include "transcript.h"
#include "voice_file.h"
#include "voice_list.h"

typedef struct making {
    cli_run *run;
    kazeia_runtime *runtime;
    kazeia_program *program;
    cli_array vector, codes;
    char *text; // what is said in the recording; NULL: nobody knows
} making;

static kazeia_status make_vector(making *work) {
    cli_run *run = work->run;
    CLI_TRY(cli_recording_take(run, work->runtime, work->program, run->options.arguments[1],
                               KAZEIA_CLONE_VECTOR, &work->vector));
    return cli_array_write(&work->vector, run->options.output, &run->failure);
}

// As the caller wrote it, or as --stt hears it.
static kazeia_status find_text(making *work) {
    cli_run *run = work->run;
    const cli_options *options = &run->options;
    if (options->text == NULL) {
        return options->stt == NULL ? KAZEIA_OK
                                    : cli_transcript_take(run, work->runtime, options->stt,
                                                          options->arguments[1], &work->text);
    }
    work->text = strdup(options->text);
    return work->text != NULL
               ? KAZEIA_OK
               : cli_fail(&run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for the transcript");
}

static kazeia_status make_voice(making *work) {
    cli_run *run = work->run;
    const char *path = run->options.arguments[1];
    CLI_TRY(find_text(work));
    CLI_TRY(cli_recording_take(run, work->runtime, work->program, path, KAZEIA_CLONE_VECTOR,
                               &work->vector));
    if (work->text != NULL) {
        CLI_TRY(cli_recording_take(run, work->runtime, work->program, path, KAZEIA_CLONE_CODES,
                                   &work->codes));
    }
    cli_voice_file file = {.vector = work->vector, .codes = work->codes, .text = work->text};
    file.codes.is_integer = true;
    CLI_TRY(cli_program_id(run, work->program, file.program));
    return cli_voice_file_write(&file, run->options.output, &run->failure);
}

static kazeia_status print_result(const making *work) {
    cli_run *run = work->run;
    if (run->options.is_json) {
        return cli_print_json(json_pack("{s:I, s:I, s:o}", "numbers", (json_int_t)work->vector.rows,
                                        "frames", (json_int_t)work->codes.rows, "text",
                                        cli_json_string(work->text)),
                              &run->failure);
    }
    return cli_print(&run->failure, "%s: a vector of %zu numbers, %zu frames\n",
                     run->options.output, work->vector.rows, work->codes.rows);
}

// What make and vector need; list needs none of it.
static kazeia_status check_arguments(cli_run *run, const char *verb) {
    const cli_options *options = &run->options;
    if (strcmp(verb, "make") != 0 && strcmp(verb, "vector") != 0) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "voice '%s'; expected make, vector or list", verb);
    }
    if (options->argument_count < 2) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT, "voice %s needs a recording", verb);
    }
    if (options->model == NULL || options->output == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT, "voice %s needs %s", verb,
                        options->model == NULL ? "--model MODEL" : "--output OUT");
    }
    return KAZEIA_OK;
}

static kazeia_status clone_voice(making *work, bool is_file) {
    cli_run *run = work->run;
    CLI_TRY(cli_runtime_open(run, &work->runtime));
    CLI_TRY(cli_program_open(run, run->options.model, "speak", &work->program));
    CLI_TRY(is_file ? make_voice(work) : make_vector(work));
    return print_result(work);
}

kazeia_status cli_voice(cli_run *run) {
    making work = {.run = run};
    const char *const *arguments = (const char *const *)run->options.arguments;
    if (strcmp(arguments[0], "list") == 0) {
        return cli_voice_list(run, run->options.argument_count > 1 ? arguments[1] : NULL);
    }
    CLI_TRY(check_arguments(run, arguments[0]));
    const kazeia_status status = clone_voice(&work, strcmp(arguments[0], "make") == 0);
    cli_array_clear(&work.vector);
    cli_array_clear(&work.codes);
    free(work.text);
    if (work.program != NULL) {
        kazeia_program_close(work.program);
    }
    if (work.runtime != NULL) {
        kazeia_runtime_destroy(work.runtime);
    }
    return status;
}
