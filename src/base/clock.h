// clock.h: monotonic time and the process's peak memory.
#ifndef KZ_BASE_CLOCK_H
#define KZ_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

// Nanoseconds since an arbitrary start; never goes back.
uint64_t kz_clock_now_ns(void);

#endif
