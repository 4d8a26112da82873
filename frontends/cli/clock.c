// clock.c: time that only goes forward.
//
// in:  the monotonic clock
// out: milliseconds, of which only differences mean something
#include "clock.h"

#include <time.h>

// A double holds milliseconds to a tenth of a microsecond for thirty years of running.
double cli_now_ms(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}
