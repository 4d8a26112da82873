// progress.h: how far a long work is, for people who watch.
//
// in:  bytes done of bytes in all
// out: one line on standard error, redrawn a few times a second; nothing when that is no terminal
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    bool is_shown;
    double start_ms, drawn_ms;
} cli_progress;

void cli_progress_start(cli_progress *out_progress, bool is_wanted);
void cli_progress_show(cli_progress *progress, uint64_t bytes_done, uint64_t bytes_total,
                       const char *what);
// Clears the line.
void cli_progress_end(cli_progress *progress);

#endif
