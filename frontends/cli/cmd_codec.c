// cmd_codec.c: kazeia codec.
//
// in:  codes of frames or a recording, a program that speaks
// out: a sound file, or samples or codes as an array
#include <string.h>

#include "array_file.h"
#include "clock.h"
#include "engine.h"
#include "kazeia/listen.h"
#include "kazeia/speak.h"
#include "output.h"
#include "recording.h"
#include "sound_file.h"

#define PIECE_SAMPLES 8192

typedef struct decoding {
    cli_run *run;
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_stage *stage;
    kazeia_codec_shape shape;
    kazeia_stage *writer; // NULL: the samples are kept
    cli_array codes, sound;
    size_t sample_count;
    double seconds;
    bool is_encoding;
} decoding;

static kazeia_status take_samples(void *context, const void *out, size_t count) {
    decoding *work = context;
    work->sample_count += count;
    return work->writer != NULL
               ? cli_checked(work->run, cli_sound_write(work->writer, out, count))
               : cli_array_append(&work->sound, out, count, 1, &work->run->failure);
}

static kazeia_status decode_all(decoding *work) {
    float samples[PIECE_SAMPLES];
    const cli_drive drive = {.stage = work->stage,
                             .element_bytes = sizeof(int32_t),
                             .out = samples,
                             .capacity = PIECE_SAMPLES,
                             .take = take_samples,
                             .context = work};
    const int32_t *codes = work->codes.values;
    const double start_ms = cli_now_ms();
    for (size_t done = 0; done < work->codes.rows;) {
        const size_t left = work->codes.rows - done;
        const size_t frames = left < work->run->options.chunk ? left : work->run->options.chunk;
        CLI_TRY(cli_drive_feed(work->run, &drive, codes + done * work->shape.groups,
                               frames * work->shape.groups));
        CLI_TRY(cli_drive_drain(work->run, &drive));
        done += frames;
    }
    CLI_TRY(cli_drive_finish(work->run, &drive));
    work->seconds = (cli_now_ms() - start_ms) / 1e3;
    return KAZEIA_OK;
}

static bool is_array_name(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

static kazeia_status decode_interruptibly(decoding *work) {
    cli_interrupt_enter(&work->run->interrupt, cli_cancel_stage, work->stage);
    const kazeia_status status = decode_all(work);
    cli_interrupt_leave(&work->run->interrupt);
    return status;
}

static kazeia_status decode_to_file(decoding *work) {
    cli_run *run = work->run;
    const char *output = run->options.output;
    if (is_array_name(output)) {
        CLI_TRY(decode_interruptibly(work));
        work->sound.is_flat = true;
        return cli_array_write(&work->sound, output, &run->failure);
    }
    CLI_TRY(cli_checked(
        run, kazeia_audio_writer_create(output, work->shape.sample_rate_hz, &work->writer)));
    kazeia_status status = decode_interruptibly(work);
    const kazeia_status closed =
        cli_checked(run, cli_sound_close(work->writer, status == KAZEIA_OK));
    return status == KAZEIA_OK ? closed : status;
}

static kazeia_status open_all(decoding *work) {
    cli_run *run = work->run;
    CLI_TRY(cli_runtime_open(run, &work->runtime));
    CLI_TRY(cli_program_open(run, run->options.model, "speak", &work->program));
    CLI_TRY(cli_checked(
        run, kazeia_codec_create(work->runtime, work->program, &work->shape, &work->stage)));
    if (work->is_encoding) {
        return KAZEIA_OK;
    }
    CLI_TRY(cli_array_read(run->options.arguments[1], true, &work->codes, &run->failure));
    if (work->codes.columns != work->shape.groups) {
        return cli_fail(
            &run->failure, KAZEIA_BAD_FILE, "'%s' has %zu codes a frame; %u expected by '%s'",
            run->options.arguments[1], work->codes.columns, work->shape.groups, run->options.model);
    }
    return KAZEIA_OK;
}

static kazeia_status encode_to_file(decoding *work) {
    cli_run *run = work->run;
    CLI_TRY(cli_recording_take(run, work->runtime, work->program, run->options.arguments[1],
                               KAZEIA_CLONE_CODES, &work->codes));
    return cli_array_write(&work->codes, run->options.output, &run->failure);
}

static kazeia_status print_result(const decoding *work) {
    cli_run *run = work->run;
    const double audio_s = (double)work->sample_count / work->shape.sample_rate_hz;
    if (work->is_encoding && !run->options.is_json) {
        return cli_print(&run->failure, "%s: %zu frames\n", run->options.output, work->codes.rows);
    }
    if (run->options.is_json) {
        return cli_print_json(json_pack("{s:o, s:I, s:o}", "audio_s", cli_json_real(audio_s),
                                        "frames", (json_int_t)work->codes.rows, "rtf",
                                        cli_json_real(work->seconds / audio_s)),
                              &run->failure);
    }
    return cli_print(&run->failure, "%s: %.1f s of sound from %zu frames in %.2f s\n",
                     run->options.output, audio_s, work->codes.rows, work->seconds);
}

kazeia_status cli_codec(cli_run *run) {
    decoding work = {.run = run};
    work.is_encoding = strcmp(run->options.arguments[0], "encode") == 0;
    if (!work.is_encoding && strcmp(run->options.arguments[0], "decode") != 0) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT, "codec '%s'; expected decode or encode",
                        run->options.arguments[0]);
    }
    kazeia_status status = open_all(&work);
    if (status == KAZEIA_OK) {
        status = work.is_encoding ? encode_to_file(&work) : decode_to_file(&work);
    }
    if (status == KAZEIA_OK) {
        status = print_result(&work);
    }
    cli_array_clear(&work.codes);
    cli_array_clear(&work.sound);
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
