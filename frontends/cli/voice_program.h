// voice_program.h: a program that speaks, as `say` opens it, and what it shows of its work.
//
// in:  --voice MODEL[:SPEAKER] and the options of such voices
// out: settings for a speaking stage; arrays in the folder of --dump
#ifndef CLI_VOICE_PROGRAM_H
#define CLI_VOICE_PROGRAM_H

#include <jansson.h>

#include "array_file.h"
#include "cli.h"
#include "kazeia/speak.h"
#include "model_path.h"
#include "voice_file.h"

// Zeros are a voice that is no program.
typedef struct cli_voice_program {
    kazeia_program *program;
    char name[PATH_MAX]; // of the program, without the speaker
    cli_array vector, reference_codes;
    cli_voice_file clone;
    bool is_dumping;
    bool has_failed; // no memory for what was shown
    cli_array prefill, logits, choices, codes, symbols, sound;
} cli_voice_program;

// Opens the program that --voice names, if it does, and points the settings to it. Close in any
// case, after the stage is destroyed.
kazeia_status cli_voice_program_open(cli_run *run, kazeia_speak_settings *settings,
                                     cli_voice_program *program);
void cli_voice_program_close(cli_voice_program *program);
// Remembers samples for the dump.
kazeia_status cli_voice_program_keep(cli_run *run, cli_voice_program *program, const float *samples,
                                     size_t count);
// Writes the arrays of --dump.
kazeia_status cli_voice_program_dump(cli_run *run, const cli_voice_program *program);
// Adds frames and ms a frame to an object; nothing for a voice that is no program.
void cli_voice_program_count(const kazeia_stage *speak, json_t *object);

#endif
