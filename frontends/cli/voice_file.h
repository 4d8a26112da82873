// voice_file.h: a cloned voice as a file.
//
// in:  a vector, codes and a transcript; a path
// out: a .kzv file: JSON with the id of the program that the numbers fit
#ifndef CLI_VOICE_FILE_H
#define CLI_VOICE_FILE_H

#include "array_file.h"
#include "cli.h"
#include "kazeia/program.h"

#define CLI_PROGRAM_ID_BYTES 32

typedef struct cli_voice_file {
    char program[CLI_PROGRAM_ID_BYTES]; // id of the program, as inspect shows it
    cli_array vector, codes;            // codes: no rows without a transcript
    char *text;                         // malloc's; NULL: none
} cli_voice_file;

// The id of a program as inspect shows it.
kazeia_status cli_program_id(cli_run *run, const kazeia_program *program,
                             char out_id[CLI_PROGRAM_ID_BYTES]);
kazeia_status cli_voice_file_write(const cli_voice_file *file, const char *path,
                                   cli_sentence *out_sentence);
// BAD_FILE for what is no voice file. Clear it in any case.
kazeia_status cli_voice_file_read(const char *path, cli_voice_file *out_file,
                                  cli_sentence *out_sentence);
void cli_voice_file_clear(cli_voice_file *file);

#endif
