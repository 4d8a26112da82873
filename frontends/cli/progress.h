// progress.h: how far a long work is, for people who watch.
//
// in:  how much is done of how much
// out: one line on standard error, redrawn a few times a second; nothing when that is no terminal
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    bool is_shown;
    double start_ms, drawn_ms;
    const char *speed; // in words
    double per_unit;
} cli_progress;

// `speed` stands behind how many times `per_unit` is done in a second: "MB/s" and 1e6 for bytes. It
// must stay.
void cli_progress_start(cli_progress *out_progress, bool is_wanted, const char *speed,
                        double per_unit);
// `what` may be NULL. Nothing is drawn while the whole is unknown (0).
void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total, const char *what);
// Clears the line.
void cli_progress_end(cli_progress *progress);

#endif
