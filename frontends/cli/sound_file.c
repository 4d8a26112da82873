// sound_file.c: a sound file of any length into a stage that takes samples at 16 kHz.
//
// in:  a path, a stage
// out: what the stage makes of it, piece by piece
//
// A second at a time: the memory of an hour is that of a minute.
#include "sound_file.h"

#include "clock.h"
#include "kazeia/listen.h"

#define PIECE_SAMPLES CLI_SOUND_RATE_HZ

bool cli_sound_file_is_short(const char *path, double seconds) {
    kazeia_stage *reader = NULL;
    uint64_t claimed = 0;
    if (kazeia_audio_reader_create(path, CLI_SOUND_RATE_HZ, &claimed, &reader) != KAZEIA_OK) {
        return false;
    }
    kazeia_stage_destroy(reader);
    return claimed > 0 && (double)claimed <= seconds * CLI_SOUND_RATE_HZ;
}

static kazeia_status feed_file(cli_run *run, const cli_drive *drive, kazeia_stage *reader,
                               uint64_t claimed, cli_progress *progress,
                               cli_sound_times *out_times) {
    float samples[PIECE_SAMPLES];
    uint64_t fed = 0;
    for (;;) {
        size_t count = 0;
        const kazeia_status status = kazeia_stage_next(reader, samples, PIECE_SAMPLES, &count);
        if (status == KAZEIA_DONE) {
            return KAZEIA_OK;
        }
        CLI_TRY(cli_checked(run, status));
        const double start_ms = cli_now_ms();
        CLI_TRY(cli_drive_feed(run, drive, samples, count));
        // What can be judged now need not wait until the stage is full.
        CLI_TRY(cli_drive_drain(run, drive));
        out_times->seconds += (cli_now_ms() - start_ms) / 1e3;
        fed += count;
        out_times->audio_s = (double)fed / CLI_SOUND_RATE_HZ;
        if (progress != NULL) {
            cli_progress_show(progress, fed, claimed, NULL);
        }
    }
}

static kazeia_status finish(cli_run *run, const cli_drive *drive, cli_sound_times *times) {
    const double start_ms = cli_now_ms();
    const kazeia_status status = cli_drive_finish(run, drive);
    times->seconds += (cli_now_ms() - start_ms) / 1e3;
    return status;
}

kazeia_status cli_sound_file_drive(cli_run *run, const cli_drive *drive, const char *path,
                                   cli_progress *progress, cli_sound_times *out_times) {
    kazeia_stage *reader = NULL;
    uint64_t claimed = 0;
    *out_times = (cli_sound_times){0, 0};
    // Also after a file that failed in the middle: the next one begins with an empty stage.
    CLI_TRY(cli_checked(run, kazeia_stage_reset(drive->stage)));
    CLI_TRY(
        cli_checked(run, kazeia_audio_reader_create(path, CLI_SOUND_RATE_HZ, &claimed, &reader)));
    cli_interrupt_enter(&run->interrupt, cli_cancel_stage, drive->stage);
    kazeia_status status = feed_file(run, drive, reader, claimed, progress, out_times);
    if (status == KAZEIA_OK) {
        status = finish(run, drive, out_times);
    }
    cli_interrupt_leave(&run->interrupt);
    kazeia_stage_destroy(reader);
    if (progress != NULL) {
        cli_progress_end(progress);
    }
    return status;
}

kazeia_status cli_sound_write(kazeia_stage *writer, const float *samples, size_t count) {
    size_t taken = 0;
    return kazeia_stage_feed(writer, samples, count, &taken);
}

kazeia_status cli_sound_close(kazeia_stage *writer, bool is_kept) {
    const kazeia_status status = is_kept ? kazeia_stage_finish(writer) : KAZEIA_OK;
    kazeia_stage_destroy(writer);
    return status;
}
