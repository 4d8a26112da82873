// alloc.h: all memory goes through the allocator given at creation.
//
// Sizes are checked: a product or sum that overflows fails as out of memory. Failures set the
// sentence with the size asked for and what it was for.
#ifndef KZ_BASE_ALLOC_H
#define KZ_BASE_ALLOC_H

#include "base/status.h"

// The allocator to use for a caller's argument: its own copy, or malloc's when `given` is NULL.
kazeia_allocator kz_allocator_or_default(const kazeia_allocator *given);

// True and *out_product (or *out_sum) set when a * b (or a + b) fits; false otherwise; the result
// is then of no use.
bool kz_size_mul(size_t a, size_t b, size_t *out_product);
bool kz_size_add(size_t a, size_t b, size_t *out_sum);

// Zeroed memory for `count` elements of `bytes_each`; count 0 gives one byte, so that NULL always
// means failure. `what` names the purpose in the sentence ("tensor table").
KAZEIA_MUST_CHECK kazeia_status kz_alloc(const kazeia_allocator *allocator, size_t count,
                                         size_t bytes_each, const char *what, void **out_memory);

// The same for `bytes` bytes, aligned to `alignment` (a power of two up to 4096). Asks the
// allocator for `alignment` and a pointer more. Free with kz_free_aligned, never with kz_free.
KAZEIA_MUST_CHECK kazeia_status kz_alloc_aligned(const kazeia_allocator *allocator, size_t bytes,
                                                 size_t alignment, const char *what,
                                                 void **out_memory);

// Grows an array from old_count to new_count elements; the old elements are kept, the new zeroed.
// On failure *memory is untouched. Allocates, copies and frees, since an allocator cannot resize:
// the old memory's pointers end here.
KAZEIA_MUST_CHECK kazeia_status kz_realloc(const kazeia_allocator *allocator, size_t old_count,
                                           size_t new_count, size_t bytes_each, const char *what,
                                           void **memory);

// A NUL-terminated copy of `count` bytes.
KAZEIA_MUST_CHECK kazeia_status kz_copy_string(const kazeia_allocator *allocator, const char *text,
                                               size_t count, char **out_copy);

// Takes what the functions above gave, with the same allocator. NULL is fine.
void kz_free(const kazeia_allocator *allocator, void *memory);
void kz_free_aligned(const kazeia_allocator *allocator, void *memory);

#endif
