// thread.h: threads, locks and waiting, behind one interface.
//
// Locks and conditions live inside the caller's struct, which must not move: init/clear. Atomics
// are C11's. Locks do not nest: a thread that holds one must not lock it again.
#ifndef KZ_BASE_THREAD_H
#define KZ_BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"

typedef struct kz_mutex {
    pthread_mutex_t native;
} kz_mutex;

typedef struct kz_condition {
    pthread_cond_t native;
} kz_condition;

// Stays where it is from start to join: the new thread reads it.
typedef struct kz_thread {
    pthread_t native;
    void (*run)(void *context);
    void *context;
    bool is_running;
} kz_thread;

// OUT_OF_MEMORY when the system gives no more, here and for conditions.
KAZEIA_MUST_CHECK kazeia_status kz_mutex_init(kz_mutex *mutex);
void kz_mutex_clear(kz_mutex *mutex);
void kz_mutex_lock(kz_mutex *mutex);
void kz_mutex_unlock(kz_mutex *mutex);

KAZEIA_MUST_CHECK kazeia_status kz_condition_init(kz_condition *condition);
void kz_condition_clear(kz_condition *condition);
// Gives the lock back while it waits and holds it again when it returns, also without a signal:
// callers wait in a loop that looks at what they wait for.
void kz_condition_wait(kz_condition *condition, kz_mutex *mutex);
// Waits at most `timeout_ms`; returns false on time-out.
bool kz_condition_wait_ms(kz_condition *condition, kz_mutex *mutex, uint32_t timeout_ms);
void kz_condition_signal_all(kz_condition *condition);

// Runs `run(context)` on a new thread. OUT_OF_MEMORY when the system gives none; the struct is then
// as one that was never started.
KAZEIA_MUST_CHECK kazeia_status kz_thread_start(kz_thread *thread, void (*run)(void *context),
                                                void *context);
// Waits for the end of `run`. Does nothing when the thread was never started.
void kz_thread_join(kz_thread *thread);

// Lets another thread have this core.
void kz_thread_yield(void);
// Tells the processor that this is a spin loop.
void kz_thread_pause(void);
// Cores that this process may use, at least 1.
uint32_t kz_thread_core_count(void);

#endif
