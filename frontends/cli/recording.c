// recording.c: what a recording gives a voice that clones.
//
// in:  a sound file or samples
// out: codes or a vector
#include "recording.h"

#include <string.h>

#include "engine.h"
#include "kazeia/listen.h"

#define PIECE 4096

typedef struct taking {
    cli_run *run;
    cli_array *array;
} taking;

static kazeia_status take(void *context, const void *out, size_t count) {
    taking *work = context;
    return cli_array_append(work->array, out, count, 1, &work->run->failure);
}

static bool is_array_name(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

static kazeia_status drive(cli_run *run, kazeia_stage *stage, const float *samples, size_t count,
                           cli_array *array) {
    int32_t piece[PIECE];
    taking work = {.run = run, .array = array};
    const cli_drive drive = {.stage = stage,
                             .element_bytes = sizeof(float),
                             .out = piece,
                             .capacity = PIECE,
                             .take = take,
                             .context = &work};
    cli_interrupt_enter(&run->interrupt, cli_cancel_stage, stage);
    kazeia_status status = count > 0 ? cli_drive_feed(run, &drive, samples, count) : KAZEIA_OK;
    if (status == KAZEIA_OK) {
        status = cli_drive_finish(run, &drive);
    }
    cli_interrupt_leave(&run->interrupt);
    return status;
}

// Through the decoding codec's shape, which says the rate and the codes of a frame.
static kazeia_status find_shape(cli_run *run, kazeia_runtime *runtime, kazeia_program *program,
                                kazeia_codec_shape *out_shape) {
    kazeia_stage *stage = NULL;
    CLI_TRY(cli_checked(run, kazeia_codec_create(runtime, program, out_shape, &stage)));
    kazeia_stage_destroy(stage);
    return KAZEIA_OK;
}

static kazeia_status take_file(cli_run *run, kazeia_stage *stage, const char *path, uint32_t rate,
                               cli_array *array) {
    cli_array samples = {0};
    float *sound = NULL;
    size_t count = 0;
    kazeia_status status = KAZEIA_OK;
    if (is_array_name(path)) {
        CLI_TRY(cli_array_read(path, false, &samples, &run->failure));
        status = drive(run, stage, samples.values, samples.rows * samples.columns, array);
    } else {
        CLI_TRY(cli_checked(run, kazeia_audio_read(path, rate, &sound, &count)));
        status = drive(run, stage, sound, count, array);
        kazeia_audio_release(sound);
    }
    cli_array_clear(&samples);
    return status;
}

kazeia_status cli_recording_take(cli_run *run, kazeia_runtime *runtime, kazeia_program *program,
                                 const char *path, kazeia_clone_part part, cli_array *out_array) {
    const bool is_codes = part == KAZEIA_CLONE_CODES;
    kazeia_codec_shape shape;
    kazeia_stage *stage = NULL;
    *out_array = (cli_array){.is_integer = is_codes, .is_flat = !is_codes};
    CLI_TRY(find_shape(run, runtime, program, &shape));
    CLI_TRY(cli_checked(run, kazeia_clone_create(runtime, program, part, &stage)));
    const kazeia_status status = take_file(run, stage, path, shape.sample_rate_hz, out_array);
    kazeia_stage_destroy(stage);
    // Codes came as a stream: a frame is a row.
    if (is_codes) {
        out_array->rows /= shape.groups;
        out_array->columns = shape.groups;
    }
    return status;
}
