// peak_memory.h: how much memory the program had at most.
#ifndef CLI_PEAK_MEMORY_H
#define CLI_PEAK_MEMORY_H

#include <stdint.h>

// The largest resident size so far, mapped model pages included, in bytes; 0 where the system does
// not tell.
uint64_t cli_peak_memory(void);

#endif
