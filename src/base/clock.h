// clock.h: monotonic time, and the date on the wall.
//
// Both ask the system at each call and keep nothing; from any thread.
#ifndef KZ_BASE_CLOCK_H
#define KZ_BASE_CLOCK_H

#include <stdint.h>

// Nanoseconds since an arbitrary start; never goes back. For durations and time-outs: setting the
// date does not move it.
uint64_t kz_clock_now_ns(void);

// The caller's local date and time.
typedef struct kz_wall_clock {
    int year, month, day; // month and day from 1
    int weekday;          // 0 is Sunday
    int hour, minute, second;
} kz_wall_clock;
kz_wall_clock kz_clock_wall(void);

#endif
