// cmd_voice.c: kazeia voice.
//
// in:  a recording, a program that clones
// out: the speaker's vector as an array; a voice file
//
// A voice file is JSON: the id of the program that it was made with, the vector and, with a
// transcript, the recording's codes. Another program's numbers mean nothing to a voice, so the id
// is compared when it is used.
#include <string.h>

#include "engine.h"
#include "output.h"
#include "recording.h"
#include "voice_file.h"

typedef struct making {
    cli_run *run;
    kazeia_runtime *runtime;
    kazeia_program *program;
    cli_array vector, codes;
} making;

static kazeia_status make_vector(making *work) {
    cli_run *run = work->run;
    CLI_TRY(cli_recording_take(run, work->runtime, work->program, run->options.arguments[1],
                               KAZEIA_CLONE_VECTOR, &work->vector));
    return cli_array_write(&work->vector, run->options.output, &run->failure);
}

static kazeia_status make_voice(making *work) {
    cli_run *run = work->run;
    const char *path = run->options.arguments[1];
    CLI_TRY(cli_recording_take(run, work->runtime, work->program, path, KAZEIA_CLONE_VECTOR,
                               &work->vector));
    if (run->options.text != NULL) {
        CLI_TRY(cli_recording_take(run, work->runtime, work->program, path, KAZEIA_CLONE_CODES,
                                   &work->codes));
    }
    cli_voice_file file = {.vector = work->vector, .codes = work->codes};
    file.codes.is_integer = true;
    CLI_TRY(cli_program_id(run, work->program, file.program));
    // Only read: the option's text stays where it is.
    file.text = (char *)(uintptr_t)run->options.text;
    return cli_voice_file_write(&file, run->options.output, &run->failure);
}

static kazeia_status print_result(const making *work) {
    cli_run *run = work->run;
    if (run->options.is_json) {
        return cli_print_json(json_pack("{s:I, s:I}", "numbers", (json_int_t)work->vector.rows,
                                        "frames", (json_int_t)work->codes.rows),
                              &run->failure);
    }
    return cli_print(&run->failure, "%s: a vector of %zu numbers, %zu frames\n",
                     run->options.output, work->vector.rows, work->codes.rows);
}

kazeia_status cli_voice(cli_run *run) {
    making work = {.run = run};
    const bool is_file = strcmp(run->options.arguments[0], "make") == 0;
    if (!is_file && strcmp(run->options.arguments[0], "vector") != 0) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT, "voice '%s'; expected make or vector",
                        run->options.arguments[0]);
    }
    kazeia_status status = cli_runtime_open(run, &work.runtime);
    if (status == KAZEIA_OK) {
        status = cli_program_open(run, run->options.model, "speak", &work.program);
    }
    if (status == KAZEIA_OK) {
        status = is_file ? make_voice(&work) : make_vector(&work);
    }
    if (status == KAZEIA_OK) {
        status = print_result(&work);
    }
    cli_array_clear(&work.vector);
    cli_array_clear(&work.codes);
    if (work.program != NULL) {
        kazeia_program_close(work.program);
    }
    if (work.runtime != NULL) {
        kazeia_runtime_destroy(work.runtime);
    }
    return status;
}
