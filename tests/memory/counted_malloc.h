// counted_malloc.h: counts every allocation of the process, those of PCRE2 and of all other
// libraries included, by standing before the C library's malloc.
#ifndef KZ_TEST_MEMORY_COUNTED_MALLOC_H
#define KZ_TEST_MEMORY_COUNTED_MALLOC_H

#include <stddef.h>

// Calls of malloc, calloc, realloc and their aligned kin since the program began.
size_t counted_malloc_calls(void);

#endif
