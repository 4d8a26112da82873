// recording.h: what a recording gives a voice that clones.
//
// in:  a sound file of any kind, or float32 samples as an array; a program that speaks
// out: codes [frames][groups], or the speaker's vector
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include "array_file.h"
#include "cli.h"
#include "kazeia/speak.h"

// `path` at the program's rate; clear the array in any case.
kazeia_status cli_recording_take(cli_run *run, kazeia_runtime *runtime, kazeia_program *program,
                                 const char *path, kazeia_clone_part part, cli_array *out_array);

#endif
