// os_posix.c: the clock, the processor as the kernel sees it, and errno as a sentence.
//
// in:  system calls
// out: plain values and statuses
//
// Reasons come from a table, not from strerror: that one follows the user's locale and is not safe
// with threads, and callers look for the words.
#include "base/os.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/clock.h"

typedef struct error_reason {
    int error;
    kazeia_status status;
    const char *text;
} error_reason;

// The status follows whose fault it is: a name that the caller chose is NOT_FOUND or BAD_ARGUMENT,
// what the machine refuses is IO.
static const error_reason reasons[] = {
    {ENOENT, KAZEIA_NOT_FOUND, "no such file or folder"},
    {ENOTDIR, KAZEIA_NOT_FOUND, "a part of the path is not a folder"},
    {EISDIR, KAZEIA_BAD_ARGUMENT, "it is a folder, expected a file"},
    {ENAMETOOLONG, KAZEIA_BAD_ARGUMENT, "the path is too long for this file system"},
    {ELOOP, KAZEIA_BAD_ARGUMENT, "its symbolic links form a loop"},
    {ENOMEM, KAZEIA_OUT_OF_MEMORY, "the system has no memory left"},
    {ENOSPC, KAZEIA_IO, "no space left on the device"},
    {EDQUOT, KAZEIA_IO, "no space left in the user's disk quota"},
    {EFBIG, KAZEIA_IO, "the file is larger than the system or its limits allow"},
    {EACCES, KAZEIA_IO, "permission denied"},
    {EPERM, KAZEIA_IO, "the system does not permit it"},
    {EROFS, KAZEIA_IO, "the file system is read-only"},
    {EIO, KAZEIA_IO, "the device reports an error"},
    {EMFILE, KAZEIA_IO, "this process has too many files open"},
    {ENFILE, KAZEIA_IO, "the system has too many files open"},
    {ETXTBSY, KAZEIA_IO, "the file is being executed"},
};

kazeia_status kz_os_fail(int error, const char *deed, const char *path) {
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (reasons[i].error == error) {
            return kz_fail(reasons[i].status, "cannot %s '%s': %s", deed, path, reasons[i].text);
        }
    }
    return kz_fail(KAZEIA_IO, "cannot %s '%s': system error %d", deed, path, error);
}

void kz_os_advise_large_pages(void *memory, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)memory + page_bytes - 1) / page_bytes * page_bytes;
    const uintptr_t end = ((uintptr_t)memory + bytes) / page_bytes * page_bytes;
    if (first < end) {
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
    }
#else
    (void)memory;
    (void)bytes;
#endif
}

bool kz_os_grant_amx(void) {
#if defined(__linux__) && defined(__x86_64__)
    // Linux gives the tile registers only to a process that asks (arch_prctl, since 5.16); the C
    // library has no names for the two numbers in older versions.
    const long request_permission = 0x1023; // ARCH_REQ_XCOMP_PERM
    const long tile_registers = 18;         // XFEATURE_XTILE_DATA
    return syscall(SYS_arch_prctl, request_permission, tile_registers) == 0;
#else
    return false;
#endif
}

void kz_os_hardware_capabilities(uint64_t *out_first, uint64_t *out_second) {
#if defined(__linux__) && defined(__aarch64__)
    *out_first = getauxval(AT_HWCAP);
    *out_second = getauxval(AT_HWCAP2);
#else
    *out_first = 0;
    *out_second = 0;
#endif
}

// Monotonic: a user who sets the clock must not make a duration negative. 64 bits of nanoseconds
// last for 584 years.
uint64_t kz_clock_now_ns(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The time of day in the user's zone: it is for what is said aloud, never for measuring.
kz_wall_clock kz_clock_wall(void) {
    const time_t now = time(NULL);
    struct tm local = {0};
    (void)localtime_r(&now, &local);
    return (kz_wall_clock){.year = local.tm_year + 1900,
                           .month = local.tm_mon + 1,
                           .day = local.tm_mday,
                           .weekday = local.tm_wday,
                           .hour = local.tm_hour,
                           .minute = local.tm_min,
                           .second = local.tm_sec};
}
