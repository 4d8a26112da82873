// handles.h: what the public opaque types hold. Inside api/ only.
#ifndef KZ_API_HANDLES_H
#define KZ_API_HANDLES_H

#include "kazeia/program.h"
#include "runtime/load.h"
#include "runtime/pool.h"

struct kazeia_runtime {
    kazeia_allocator allocator;
    kz_pool *pool;
    uint64_t session_memory_limit;
};

struct kazeia_program {
    kazeia_allocator allocator;
    kz_program *loaded;
};

// BAD_ARGUMENT that names the argument when `pointer` is NULL.
KAZEIA_MUST_CHECK kazeia_status kz_require(const void *pointer, const char *what);

#endif
