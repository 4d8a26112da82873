// exit_codes.h: what the program's exit code says.
#ifndef CLI_EXIT_CODES_H
#define CLI_EXIT_CODES_H

#include "kazeia/common.h"

// 0 it worked, 1 the user's mistake, 2 a bad file, 3 the machine's (memory, disk), 130 interrupted.
int cli_exit_code(kazeia_status status);

#endif
