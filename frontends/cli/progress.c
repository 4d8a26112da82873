// progress.c: how far a long work is, for people who watch.
//
// in:  how much is done of how much
// out: one line on standard error, redrawn a few times a second; nothing when that is no terminal
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define BAR_COLUMNS 24
#define REDRAW_MS 100.0
#define LEAST_SHARE 0.02 // below it the time left is a guess

void cli_progress_start(cli_progress *out_progress, bool is_wanted, const char *speed,
                        double per_unit) {
    *out_progress = (cli_progress){
        // Nobody watches a log file, where each redrawn line would stay.
        .is_shown = is_wanted && isatty(STDERR_FILENO) == 1,
        .start_ms = cli_now_ms(),
        .speed = speed,
        .per_unit = per_unit,
    };
}

void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total, const char *what) {
    const double now_ms = cli_now_ms();
    if (!progress->is_shown || now_ms - progress->drawn_ms < REDRAW_MS || total == 0) {
        return;
    }
    progress->drawn_ms = now_ms;
    const double share = (double)done / (double)total;
    const double seconds = (now_ms - progress->start_ms) / 1e3;
    char left[32] = "";
    if (share > LEAST_SHARE) {
        (void)snprintf(left, sizeof left, "  %.0f s left", seconds / share - seconds);
    }
    char bar[BAR_COLUMNS + 1];
    const size_t full = share < 1 ? (size_t)(share * BAR_COLUMNS) : BAR_COLUMNS;
    memset(bar, '#', full);
    memset(bar + full, '.', BAR_COLUMNS - full);
    bar[BAR_COLUMNS] = '\0';
    // The escape clears what a longer line before has left.
    (void)fprintf(stderr, "\r[%s] %3.0f %%  %.0f %s%s  %-.24s\033[K", bar, share * 100,
                  seconds > 0 ? (double)done / progress->per_unit / seconds : 0, progress->speed,
                  left, what == NULL ? "" : what);
}

void cli_progress_end(cli_progress *progress) {
    if (progress->is_shown && progress->drawn_ms > 0) {
        (void)fprintf(stderr, "\r\033[K");
    }
}
