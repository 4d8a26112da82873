// transcript.h: what is said in a recording, written down by a program that listens.
#ifndef CLI_TRANSCRIPT_H
#define CLI_TRANSCRIPT_H

#include "engine.h"

// `stt` is a program of ability "listen", the recording a sound file of any kind. Release *out_text
// with free; BAD_ARGUMENT when nothing is heard in it.
kazeia_status cli_transcript_take(cli_run *run, kazeia_runtime *runtime, const char *stt,
                                  const char *path, char **out_text);

#endif
