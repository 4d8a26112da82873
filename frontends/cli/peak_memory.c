// peak_memory.c: how much memory this process has held at most.
//
// in:  the operating system's count for this process
// out: bytes
// Linux hands getrusage's count on from the process that started this one; its own is in
// /proc/self/status.
#include "peak_memory.h"

#include <stdio.h>
#include <sys/resource.h>

#ifdef __APPLE__
#define UNIT_BYTES 1u
#else
#define UNIT_BYTES 1024u
#endif

// In kilobytes; 0 where there is no such file.
static unsigned long read_status(void) {
    char line[256];
    unsigned long most = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) {
        return 0;
    }
    while (most == 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "VmHWM: %lu kB", &most);
    }
    (void)fclose(file);
    return most;
}

uint64_t cli_peak_memory(void) {
    struct rusage usage;
    const unsigned long most = read_status();
    if (most > 0) {
        return (uint64_t)most * 1024u;
    }
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * UNIT_BYTES : 0;
}
