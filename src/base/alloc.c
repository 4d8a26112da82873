// alloc.c: checked memory from the caller's allocator.
//
// in:  counts and sizes, which may come from a hostile file
// out: zeroed memory, or OUT_OF_MEMORY with the size and the purpose
//
// malloc's own allocator is told apart to use calloc: fresh pages from the system are zero already,
// and a cache of a hundred megabytes must not be touched at opening. Aligned memory keeps the
// pointer that the allocator gave in the word before it, since an allocator has no aligned form.
#include "base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *allocate_by_malloc(void *context, size_t bytes) {
    (void)context;
    return malloc(bytes);
}

static void release_by_free(void *context, void *memory) {
    (void)context;
    free(memory);
}

kazeia_allocator kz_allocator_or_default(const kazeia_allocator *given) {
    if (given != NULL) {
        return *given;
    }
    return (kazeia_allocator){NULL, allocate_by_malloc, release_by_free};
}

bool kz_size_mul(size_t a, size_t b, size_t *out_product) {
    return !__builtin_mul_overflow(a, b, out_product);
}

bool kz_size_add(size_t a, size_t b, size_t *out_sum) {
    return !__builtin_add_overflow(a, b, out_sum);
}

// Zeroed in one place, so that every struct in the library begins as its empty value and a
// half-made one can be destroyed like a whole one.
static void *allocate_zeroed(const kazeia_allocator *allocator, size_t bytes) {
    if (allocator->allocate == allocate_by_malloc) {
        return calloc(1, bytes);
    }
    void *memory = allocator->allocate(allocator->context, bytes);
    if (memory != NULL) {
        memset(memory, 0, bytes);
    }
    return memory;
}

kazeia_status kz_alloc(const kazeia_allocator *allocator, size_t count, size_t bytes_each,
                       const char *what, void **out_memory) {
    size_t bytes = 0;
    if (!kz_size_mul(count, bytes_each, &bytes)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY,
                       "no memory for %s: %zu times %zu bytes is more than can be counted", what,
                       count, bytes_each);
    }
    // An allocator may answer NULL for 0 bytes, which would look like a failure.
    void *memory = allocate_zeroed(allocator, bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "no memory for %s: %zu bytes refused", what, bytes);
    }
    *out_memory = memory;
    return KAZEIA_OK;
}

kazeia_status kz_alloc_aligned(const kazeia_allocator *allocator, size_t bytes, size_t alignment,
                               const char *what, void **out_memory) {
    assert(alignment > 0 && alignment <= 4096 && (alignment & (alignment - 1)) == 0);
    // The word in front of the aligned address must itself be aligned, or a reader of it would trap
    // on processors that ask for that.
    const size_t step = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    // Worst case: the pointer's own word, and a whole step less one to reach the next aligned
    // address.
    size_t total = 0;
    if (!kz_size_add(bytes, step + sizeof(void *), &total)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "no memory for %s: %zu bytes cannot be aligned to %zu",
                       what, bytes, alignment);
    }
    void *given = NULL;
    KZ_TRY(kz_alloc(allocator, total, 1, what, &given));
    const uintptr_t first = (uintptr_t)given + sizeof(void *);
    const size_t skipped = (size_t)((step - first % step) % step);
    char *aligned = (char *)given + sizeof(void *) + skipped;
    memcpy(aligned - sizeof(void *), &given, sizeof given);
    *out_memory = aligned;
    return KAZEIA_OK;
}

// Not the C library's realloc, which the caller's allocator does not have: both blocks exist for a
// moment, so growth must count on three times the old size.
kazeia_status kz_realloc(const kazeia_allocator *allocator, size_t old_count, size_t new_count,
                         size_t bytes_each, const char *what, void **memory) {
    void *grown = NULL;
    KZ_TRY(kz_alloc(allocator, new_count, bytes_each, what, &grown));
    const size_t kept_count = old_count < new_count ? old_count : new_count;
    if (kept_count > 0) {
        memcpy(grown, *memory, kept_count * bytes_each);
    }
    kz_free(allocator, *memory);
    *memory = grown;
    return KAZEIA_OK;
}

kazeia_status kz_copy_string(const kazeia_allocator *allocator, const char *text, size_t count,
                             char **out_copy) {
    size_t bytes = 0;
    if (!kz_size_add(count, 1, &bytes)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "no memory for a text of %zu bytes", count);
    }
    void *copy = NULL;
    KZ_TRY(kz_alloc(allocator, bytes, 1, "a text", &copy));
    if (count > 0) {
        memcpy(copy, text, count);
    }
    *out_copy = copy;
    return KAZEIA_OK;
}

void kz_free(const kazeia_allocator *allocator, void *memory) {
    if (memory != NULL) {
        allocator->release(allocator->context, memory);
    }
}

// kz_free on aligned memory would hand the allocator an address that it never gave.
void kz_free_aligned(const kazeia_allocator *allocator, void *memory) {
    if (memory == NULL) {
        return;
    }
    void *given = NULL;
    memcpy(&given, (char *)memory - sizeof(void *), sizeof given);
    kz_free(allocator, given);
}
