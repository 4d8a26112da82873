// exit_codes.c: the one table from a status to the program's exit code.
//
// in:  a status
// out: what the shell sees
//
// DONE is what a command returns when nobody reads its output any more: it stopped, and well.
#include "exit_codes.h"

static const int EXIT_CODES[] = {
    [KAZEIA_OK] = 0,           [KAZEIA_NEEDS_INPUT] = 0, [KAZEIA_DONE] = 0,
    [KAZEIA_BAD_ARGUMENT] = 1, [KAZEIA_NOT_FOUND] = 1,   [KAZEIA_BAD_FILE] = 2,
    [KAZEIA_UNSUPPORTED] = 2,  [KAZEIA_IO] = 3,          [KAZEIA_OUT_OF_MEMORY] = 3,
    [KAZEIA_BUSY] = 3,         [KAZEIA_CANCELLED] = 130,
};

// Only statuses of this build's own library come here, and the table has them all.
int cli_exit_code(kazeia_status status) {
    return EXIT_CODES[status];
}
