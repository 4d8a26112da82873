// handles.h: what the public opaque types hold. Inside api/ only.
#ifndef KZ_API_HANDLES_H
#define KZ_API_HANDLES_H

#include "kazeia/program.h"
#include "runtime/load.h"
#include "runtime/pool.h"

struct kazeia_runtime {
    kazeia_allocator allocator; // a copy; also what stages use that are given none
    kz_pool *pool;
    uint64_t session_memory_limit; // bytes; 0: none
};

struct kazeia_program {
    kazeia_allocator allocator;
    kz_program *loaded; // one reference; stages take their own
};

// BAD_ARGUMENT that names the argument when `pointer` is NULL. `what` is "FUNCTION: ARGUMENT".
KAZEIA_MUST_CHECK kazeia_status kz_require(const void *pointer, const char *what);

#endif
