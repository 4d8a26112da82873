// pool.h: the threads that execute instructions.
//
// One pool serves all sessions of a runtime. It takes one instruction's work at a time; when
// several sessions wait, the highest priority goes first, so that a prefill of seconds cannot
// starve the voice. Work is cut into chunks that threads take as they come free, so that a slow
// neighbour costs its share and no more. A worker spins for some microseconds after each job, then
// sleeps; a worker that is late is not waited for unless it has taken a chunk.
#ifndef KZ_RUNTIME_POOL_H
#define KZ_RUNTIME_POOL_H

#include <stdatomic.h>

#include "base/alloc.h"
#include "kernels/kernels.h"

#define KZ_POOL_THREAD_LIMIT 64

// Lowest first. Within one priority the order is the system's.
typedef enum kz_priority {
    KZ_PRIORITY_CHAT,
    KZ_PRIORITY_LISTEN,
    KZ_PRIORITY_SPEAK,
    KZ_PRIORITY_COUNT
} kz_priority;

typedef struct kz_pool kz_pool;

// Does chunks [chunk, chunk_end) of a job, at the same time as other threads do others: chunks must
// not write the same bytes. `scratch` is the thread's own, KZ_KERNEL_SCRATCH_BYTES aligned to 64;
// what an earlier chunk left in it is undefined.
typedef void (*kz_chunk_function)(void *job, size_t chunk, size_t chunk_end, void *scratch);

// thread_count 0: as many as the process has cores, at most KZ_POOL_THREAD_LIMIT. The caller's
// thread is one of them. BAD_ARGUMENT above the limit or for a KAZEIA_CPU that is no level,
// UNSUPPORTED for one that this machine lacks, OUT_OF_MEMORY, also when a thread cannot be started.
KAZEIA_MUST_CHECK kazeia_status kz_pool_create(uint32_t thread_count,
                                               const kazeia_allocator *allocator,
                                               kz_pool **out_pool);
// Ends the threads; no run may be under way. NULL is fine.
void kz_pool_destroy(kz_pool *pool);

// The kernels chosen for this machine at creation, valid until destroy.
const kz_kernels *kz_pool_kernels(const kz_pool *pool);
uint32_t kz_pool_thread_count(const kz_pool *pool);
size_t kz_pool_bytes(const kz_pool *pool); // memory held, scratch included

// Runs chunks [0, chunk_count) and returns when they are done: what they wrote is then seen by the
// caller. Chunks are handed out `grain` at a time. When *cancel (NULL: never) becomes true the
// chunks not yet begun are dropped. `grain` 0 counts as 1; a job of no more chunks than that runs
// on the caller's thread alone. Any thread may call; calls wait for each other by priority.
void kz_pool_run(kz_pool *pool, kz_priority priority, const atomic_bool *cancel,
                 kz_chunk_function function, void *job, size_t chunk_count, size_t grain);

#endif
