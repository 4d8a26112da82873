// command_program.h: a user's program that carries commands out.
#ifndef CLI_COMMAND_PROGRAM_H
#define CLI_COMMAND_PROGRAM_H

#include "failure.h"

// Runs `program` (a path or a name in PATH; no shell, no arguments) with one JSON line on its
// standard input, and waits for it. A first line on its standard output, if any, is written into
// `reply` [capacity]: what is to be said. NOT_FOUND when it cannot be started, IO when it exits
// with anything but 0 or a signal ends it; it has ten seconds.
kazeia_status cli_command_program_run(const char *program, const char *json, char *reply,
                                      size_t capacity, cli_sentence *out_sentence);

#endif
