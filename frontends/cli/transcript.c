// transcript.c: what is said in a recording, written down by a program that listens.
//
// in:  a program, a sound file
// out: one text: windows joined by spaces
#include "transcript.h"

#include <stdlib.h>
#include <string.h>

#include "kazeia/listen.h"
#include "sound_file.h"

typedef struct writing {
    cli_run *run;
    char *text;
    size_t bytes;
} writing;

static kazeia_status take_heard(void *context, const void *out, size_t count) {
    writing *work = context;
    const kazeia_heard *heard = out;
    for (size_t i = 0; i < count; i++) {
        const size_t more = strlen(heard[i].text);
        char *text = realloc(work->text, work->bytes + more + 2);
        if (text == NULL) {
            return cli_fail(&work->run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for %zu bytes",
                            work->bytes + more + 2);
        }
        work->text = text;
        if (work->bytes > 0 && more > 0) {
            text[work->bytes++] = ' ';
        }
        memcpy(text + work->bytes, heard[i].text, more + 1);
        work->bytes += more;
    }
    return KAZEIA_OK;
}

static kazeia_status listen(cli_run *run, kazeia_runtime *runtime, kazeia_program *program,
                            const char *path, writing *work) {
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    kazeia_stage *stage = NULL;
    kazeia_heard heard;
    cli_sound_times times;
    CLI_TRY(cli_checked(run, kazeia_listen_create(runtime, program, &settings, &stage)));
    const cli_drive drive = {.stage = stage,
                             .element_bytes = sizeof(float),
                             .out = &heard,
                             .capacity = 1,
                             .take = take_heard,
                             .context = work};
    const kazeia_status status = cli_sound_file_drive(run, &drive, path, NULL, &times);
    kazeia_stage_destroy(stage);
    return status;
}

kazeia_status cli_transcript_take(cli_run *run, kazeia_runtime *runtime, const char *stt,
                                  const char *path, char **out_text) {
    kazeia_program *program = NULL;
    writing work = {.run = run};
    CLI_TRY(cli_program_open(run, stt, "listen", &program));
    kazeia_status status = listen(run, runtime, program, path, &work);
    kazeia_program_close(program);
    if (status == KAZEIA_OK && work.bytes == 0) {
        status = cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                          "nothing is heard in '%s'; expected speech, or its --text", path);
    }
    if (status != KAZEIA_OK) {
        free(work.text);
        return status;
    }
    *out_text = work.text;
    return KAZEIA_OK;
}
