// counted_malloc.c: counts every allocation of the process.
//
// in:  calls of malloc and its kin
// out: their number
// The GNU C library lets a program define malloc, for itself and for all its libraries, and keeps
// its own under these names.
#include "counted_malloc.h"

#include <errno.h>
#include <stdatomic.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void *memalign(size_t alignment, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
int posix_memalign(void **out_memory, size_t alignment, size_t bytes);

static atomic_size_t calls;

size_t counted_malloc_calls(void) {
    return atomic_load(&calls);
}

void *malloc(size_t bytes) {
    atomic_fetch_add(&calls, 1);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    atomic_fetch_add(&calls, 1);
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
    atomic_fetch_add(&calls, 1);
    return __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    atomic_fetch_add(&calls, 1);
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}

int posix_memalign(void **out_memory, size_t alignment, size_t bytes) {
    *out_memory = memalign(alignment, bytes);
    return *out_memory ? 0 : ENOMEM;
}
