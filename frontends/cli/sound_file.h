// sound_file.h: a sound file of any length into a stage that takes samples at 16 kHz.
//
// in:  a path, a stage
// out: what the stage makes of it, piece by piece
#ifndef CLI_SOUND_FILE_H
#define CLI_SOUND_FILE_H

#include "engine.h"
#include "progress.h"

#define CLI_SOUND_RATE_HZ 16000

// What one file took.
typedef struct cli_sound_times {
    double audio_s;
    double seconds; // of the stage's work: reading and resampling are not the model's time
} cli_sound_times;

// Whether the file says that it holds at most so many seconds; false when it says nothing, or
// nothing true: whoever drives it is told.
bool cli_sound_file_is_short(const char *path, double seconds);

// Resets the stage, feeds it the file and takes all that comes, the rest after its end included;
// Ctrl-C cancels it. `progress` NULL: no bar.
kazeia_status cli_sound_file_drive(cli_run *run, const cli_drive *drive, const char *path,
                                   cli_progress *progress, cli_sound_times *out_times);

// Writes samples into a kazeia_audio_writer_create stage.
kazeia_status cli_sound_write(kazeia_stage *writer, const float *samples, size_t count);
// Puts the file in its place or leaves none, and destroys the stage.
kazeia_status cli_sound_close(kazeia_stage *writer, bool is_kept);

#endif
