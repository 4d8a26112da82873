// peak_memory.c: how much memory the program had at most.
//
// in:  the system's account of the process
// out: bytes
#include "peak_memory.h"

#include <sys/resource.h>

#ifdef __APPLE__
#define UNIT_BYTES 1u
#else
#define UNIT_BYTES 1024u
#endif

uint64_t cli_peak_memory(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * UNIT_BYTES : 0;
}
