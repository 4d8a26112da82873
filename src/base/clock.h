// clock.h: monotonic time.
#ifndef KZ_BASE_CLOCK_H
#define KZ_BASE_CLOCK_H

#include <stdint.h>

// Nanoseconds since an arbitrary start; never goes back.
uint64_t kz_clock_now_ns(void);

#endif
