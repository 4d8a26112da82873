// pool.c: the threads that execute instructions.
//   in   jobs: a function and a number of chunks
//   out  all chunks done
// The state of the present job is one 64-bit word: its number, whether it is open, and how many
// workers are inside. A worker enters only an open job, by compare-and-swap, so a job can end while
// others sleep, and a worker that wakes late finds it closed.
#include "runtime/pool.h"

#include "base/thread.h"

// A few tens of microseconds: longer than the gap between two instructions, far shorter than a
// scheduler's slice.
#define SPIN_ROUNDS 4000

#define STATE_OPEN ((uint64_t)1 << 31)
#define STATE_INSIDE (STATE_OPEN - 1)
#define STATE_NUMBER_STEP ((uint64_t)1 << 32)

typedef struct pool_worker {
    kz_pool *pool;
    kz_thread thread;
    void *scratch;
} pool_worker;

struct kz_pool {
    kazeia_allocator allocator;
    kz_kernels kernels;
    uint32_t thread_count;
    pool_worker *workers; // [thread_count - 1]
    void *scratch;        // [thread_count] of KZ_KERNEL_SCRATCH_BYTES; the last is the caller's
    bool has_locks;       // creation may fail before they are made

    // Turns: who may post the next job.
    kz_mutex turn_lock;
    kz_condition turn_changed;
    bool is_taken;
    uint32_t waiting[KZ_PRIORITY_COUNT];

    // The present job.
    kz_chunk_function function;
    void *job;
    const atomic_bool *cancel;
    size_t chunk_count, grain;
    _Alignas(64) atomic_size_t next_chunk;
    _Alignas(64) _Atomic uint64_t state;

    // Sleeping workers.
    kz_mutex sleep_lock;
    kz_condition job_posted;
    atomic_uint sleeper_count;
    atomic_bool is_closing;
};

// Relaxed is enough here: whoever is inside the job saw its fields when it entered, and which
// thread takes a chunk does not matter. The counter passes the end by a grain a thread at most.
static void work_on_chunks(kz_pool *pool, void *scratch) {
    for (;;) {
        if (pool->cancel && atomic_load_explicit(pool->cancel, memory_order_relaxed)) {
            return;
        }
        const size_t chunk =
            atomic_fetch_add_explicit(&pool->next_chunk, pool->grain, memory_order_relaxed);
        if (chunk >= pool->chunk_count) {
            return;
        }
        const size_t left = pool->chunk_count - chunk;
        pool->function(pool->job, chunk, chunk + (left < pool->grain ? left : pool->grain),
                       scratch);
    }
}

// Joins the job if it is open and has another number than *last_state's.
// The number keeps a worker out of the job it has just left, whose chunks are all taken. Entering
// acquires what post_job released: the job's fields.
static bool try_enter(kz_pool *pool, uint64_t *last_state) {
    uint64_t state = atomic_load_explicit(&pool->state, memory_order_acquire);
    while ((state & STATE_OPEN) && (state >> 32) != (*last_state >> 32)) {
        if (atomic_compare_exchange_weak_explicit(&pool->state, &state, state + 1,
                                                  memory_order_acq_rel, memory_order_acquire)) {
            *last_state = state;
            return true;
        }
    }
    return false;
}

static bool has_new_job(kz_pool *pool, uint64_t last_state) {
    // Sequentially consistent, as post_job's half of this agreement is.
    const uint64_t state = atomic_load(&pool->state);
    return (state & STATE_OPEN) && (state >> 32) != (last_state >> 32);
}

static void sleep_until_job(kz_pool *pool, uint64_t last_state) {
    kz_mutex_lock(&pool->sleep_lock);
    atomic_fetch_add(&pool->sleeper_count, 1);
    // Looked at under the lock that post_job signals under: no signal falls between look and wait.
    while (!has_new_job(pool, last_state) && !atomic_load(&pool->is_closing)) {
        kz_condition_wait(&pool->job_posted, &pool->sleep_lock);
    }
    atomic_fetch_sub(&pool->sleeper_count, 1);
    kz_mutex_unlock(&pool->sleep_lock);
}

static void run_worker(void *context) {
    pool_worker *worker = context;
    kz_pool *pool = worker->pool;
    uint64_t last_state = 0;
    while (!atomic_load(&pool->is_closing)) {
        bool entered = false;
        for (int round = 0; round < SPIN_ROUNDS && !entered; round++) {
            entered = try_enter(pool, &last_state);
            if (!entered) {
                kz_thread_pause();
            }
        }
        if (!entered) {
            sleep_until_job(pool, last_state);
            continue;
        }
        work_on_chunks(pool, worker->scratch);
        // Releases what this worker wrote to the caller, whose end_job acquires the count.
        atomic_fetch_sub_explicit(&pool->state, 1, memory_order_release);
    }
}

// A turn is one instruction long, so the highest priority waits for that and no more. Lower ones
// wait for as long as higher ones keep coming: the voice is never idle for them.
static void take_turn(kz_pool *pool, kz_priority priority) {
    kz_mutex_lock(&pool->turn_lock);
    pool->waiting[priority]++;
    for (;;) {
        bool is_outranked = false;
        for (int higher = (int)priority + 1; higher < KZ_PRIORITY_COUNT; higher++) {
            is_outranked = is_outranked || pool->waiting[higher] > 0;
        }
        if (!pool->is_taken && !is_outranked) {
            break;
        }
        kz_condition_wait(&pool->turn_changed, &pool->turn_lock);
    }
    pool->waiting[priority]--;
    pool->is_taken = true;
    kz_mutex_unlock(&pool->turn_lock);
}

static void give_turn(kz_pool *pool) {
    kz_mutex_lock(&pool->turn_lock);
    pool->is_taken = false;
    bool has_waiters = false;
    for (int priority = 0; priority < KZ_PRIORITY_COUNT; priority++) {
        has_waiters = has_waiters || pool->waiting[priority] > 0;
    }
    if (has_waiters) {
        // All of them: only a waiter itself can tell whether it is outranked.
        kz_condition_signal_all(&pool->turn_changed);
    }
    kz_mutex_unlock(&pool->turn_lock);
}

static void post_job(kz_pool *pool) {
    atomic_store_explicit(&pool->next_chunk, 0, memory_order_relaxed);
    // The number wraps after 2^32 jobs. A worker that slept through exactly so many would miss one:
    // the others do its share.
    const uint64_t number = (atomic_load(&pool->state) & ~(STATE_NUMBER_STEP - 1));
    // Sequentially consistent with the sleeper count: either the worker sees the job before it
    // sleeps, or we see the sleeper and wake it.
    atomic_store(&pool->state, (number + STATE_NUMBER_STEP) | STATE_OPEN);
    if (atomic_load(&pool->sleeper_count) > 0) {
        kz_mutex_lock(&pool->sleep_lock);
        kz_condition_signal_all(&pool->job_posted);
        kz_mutex_unlock(&pool->sleep_lock);
    }
}

// Closes the job to newcomers and waits for those inside.
// After it nobody reads the job, which may lie on the caller's stack.
static void end_job(kz_pool *pool) {
    atomic_fetch_and_explicit(&pool->state, ~STATE_OPEN, memory_order_acq_rel);
    uint32_t round = 0;
    while (atomic_load_explicit(&pool->state, memory_order_acquire) & STATE_INSIDE) {
        kz_thread_pause();
        // The other thread may need this very core.
        if (++round % SPIN_ROUNDS == 0) {
            kz_thread_yield();
        }
    }
}

void kz_pool_run(kz_pool *pool, kz_priority priority, const atomic_bool *cancel,
                 kz_chunk_function function, void *job, size_t chunk_count, size_t grain) {
    // With the turn comes an idle pool: end_job of the last job saw the last worker out, so the
    // fields may change without a lock.
    take_turn(pool, priority);
    pool->function = function;
    pool->job = job;
    pool->cancel = cancel;
    pool->chunk_count = chunk_count;
    pool->grain = grain ? grain : 1;
    void *scratch = (uint8_t *)pool->scratch + (pool->thread_count - 1) * KZ_KERNEL_SCRATCH_BYTES;
    // One grain of work is done before a worker would be awake.
    if (pool->thread_count == 1 || chunk_count <= pool->grain) {
        atomic_store_explicit(&pool->next_chunk, 0, memory_order_relaxed);
        work_on_chunks(pool, scratch);
    } else {
        post_job(pool);
        work_on_chunks(pool, scratch);
        end_job(pool);
    }
    give_turn(pool);
}

static kazeia_status init_pair(kz_mutex *lock, kz_condition *changed) {
    KZ_TRY(kz_mutex_init(lock));
    const kazeia_status status = kz_condition_init(changed);
    if (status != KAZEIA_OK) {
        kz_mutex_clear(lock);
    }
    return status;
}

static void clear_pair(kz_mutex *lock, kz_condition *changed) {
    kz_condition_clear(changed);
    kz_mutex_clear(lock);
}

static kazeia_status init_locks(kz_pool *pool) {
    KZ_TRY(init_pair(&pool->turn_lock, &pool->turn_changed));
    const kazeia_status status = init_pair(&pool->sleep_lock, &pool->job_posted);
    if (status != KAZEIA_OK) {
        clear_pair(&pool->turn_lock, &pool->turn_changed);
    }
    return status;
}

// A failure leaves the rest unstarted: kz_thread_join passes over those.
static kazeia_status start_workers(kz_pool *pool) {
    for (uint32_t i = 0; i + 1 < pool->thread_count; i++) {
        pool_worker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->scratch = (uint8_t *)pool->scratch + i * KZ_KERNEL_SCRATCH_BYTES;
        KZ_TRY(kz_thread_start(&worker->thread, run_worker, worker));
    }
    return KAZEIA_OK;
}

static kazeia_status fill_pool(kz_pool *pool) {
    kz_cpu_level level;
    KZ_TRY(kz_kernels_choose_level(&level));
    // Before any thread starts: workers read the table without a lock.
    kz_kernels_select(level, &pool->kernels);
    KZ_TRY(init_locks(pool));
    pool->has_locks = true;
    KZ_TRY(kz_alloc_aligned(&pool->allocator, pool->thread_count * KZ_KERNEL_SCRATCH_BYTES,
                            KZ_ALIGNMENT, "thread scratch", &pool->scratch));
    KZ_TRY(kz_alloc(&pool->allocator, pool->thread_count, sizeof(pool_worker), "thread table",
                    (void **)&pool->workers));
    return start_workers(pool);
}

kazeia_status kz_pool_create(uint32_t thread_count, const kazeia_allocator *allocator,
                             kz_pool **out_pool) {
    if (thread_count > KZ_POOL_THREAD_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "threads: %u asked for, at most %d can be used",
                       thread_count, KZ_POOL_THREAD_LIMIT);
    }
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_pool *pool = NULL;
    // Aligned, so that the two busy atomics have a cache line each.
    KZ_TRY(kz_alloc_aligned(&memory, sizeof *pool, 64, "thread pool", (void **)&pool));
    pool->allocator = memory;
    pool->thread_count = thread_count ? thread_count : kz_thread_core_count();
    if (pool->thread_count > KZ_POOL_THREAD_LIMIT) {
        pool->thread_count = KZ_POOL_THREAD_LIMIT;
    }
    const kazeia_status status = fill_pool(pool);
    if (status != KAZEIA_OK) {
        kz_pool_destroy(pool);
        return status;
    }
    *out_pool = pool;
    return KAZEIA_OK;
}

void kz_pool_destroy(kz_pool *pool) {
    if (!pool) {
        return;
    }
    // Workers exist only once locks and scratch do: see fill_pool.
    if (pool->workers) {
        atomic_store(&pool->is_closing, true);
        kz_mutex_lock(&pool->sleep_lock);
        kz_condition_signal_all(&pool->job_posted);
        kz_mutex_unlock(&pool->sleep_lock);
        for (uint32_t i = 0; i + 1 < pool->thread_count; i++) {
            kz_thread_join(&pool->workers[i].thread);
        }
    }
    if (pool->has_locks) {
        clear_pair(&pool->sleep_lock, &pool->job_posted);
        clear_pair(&pool->turn_lock, &pool->turn_changed);
    }
    kz_free_aligned(&pool->allocator, pool->scratch);
    kz_free(&pool->allocator, pool->workers);
    const kazeia_allocator memory = pool->allocator;
    kz_free_aligned(&memory, pool);
}

const kz_kernels *kz_pool_kernels(const kz_pool *pool) {
    return &pool->kernels;
}

uint32_t kz_pool_thread_count(const kz_pool *pool) {
    return pool->thread_count;
}

size_t kz_pool_bytes(const kz_pool *pool) {
    return pool->thread_count * (KZ_KERNEL_SCRATCH_BYTES + sizeof(pool_worker)) + sizeof *pool;
}
