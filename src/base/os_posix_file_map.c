// os_posix_file_map.c: whole files mapped into memory.
//
// in:  a path
// out: its bytes, read only
//
// The file is opened without blocking, so that a named pipe is refused instead of waited for.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_map.h"
#include "base/os.h"

static kazeia_status map_descriptor(int file, const char *path, kz_file_map *out_map) {
    struct stat facts;
    if (fstat(file, &facts) != 0) {
        return kz_os_fail(errno, "read", path);
    }
    if (!S_ISREG(facts.st_mode)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "cannot read '%s': it is a %s, expected a file", path,
                       S_ISDIR(facts.st_mode) ? "folder" : "device or pipe");
    }
    // On 32-bit systems a file may be larger than the address space.
    if ((uint64_t)facts.st_size > SIZE_MAX) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "cannot map '%s': %llu bytes are too many", path,
                       (unsigned long long)facts.st_size);
    }
    const size_t size = (size_t)facts.st_size;
    void *bytes = NULL;
    // mmap refuses a length of 0, but an empty file is a file: its reader says what is missing in
    // it.
    if (size > 0) {
        bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes == MAP_FAILED) {
            return kz_os_fail(errno, "map", path);
        }
    }
    *out_map = (kz_file_map){bytes, size};
    return KAZEIA_OK;
}

kazeia_status kz_file_map_open(const char *path, kz_file_map *out_map) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return kz_os_fail(errno, "open", path);
    }
    // The mapping keeps the file alive; the descriptor would only count against the process's
    // limit.
    const kazeia_status status = map_descriptor(file, path, out_map);
    (void)close(file);
    return status;
}

void kz_file_map_close(kz_file_map *map) {
    if (map->bytes != NULL) {
        (void)munmap((void *)(uintptr_t)map->bytes, map->size);
    }
    *map = (kz_file_map){NULL, 0};
}

// Only a hint, so its failure changes nothing but speed. madvise wants the start of a page, the
// caller has any offset.
void kz_file_map_advise(const kz_file_map *map, size_t offset, size_t bytes, bool will_need) {
    if (offset >= map->size || bytes == 0) {
        return;
    }
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t left = map->size - offset;
    const size_t skipped = offset % page_bytes;
    const size_t advised = (bytes < left ? bytes : left) + skipped;
    void *first = (void *)(uintptr_t)(map->bytes + (offset - skipped));
    // Before the bytes are asked for: weights are read once a token, and with small pages it takes
    // as long to find them as to read them.
    if (will_need) {
        kz_os_advise_large_pages(first, advised);
    }
    (void)madvise(first, advised, will_need ? MADV_WILLNEED : MADV_DONTNEED);
}
