// voice_list.h: the voices that are here.
//
// in:  a folder with programs and voice files
// out: a line for each program that speaks and for each voice file
#ifndef CLI_VOICE_LIST_H
#define CLI_VOICE_LIST_H

#include "cli.h"

// `folder` NULL: the folder of models.
kazeia_status cli_voice_list(cli_run *run, const char *folder);

#endif
