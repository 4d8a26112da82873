// os_posix_thread.c: threads, locks and conditions through pthreads.
//
// in:  functions to run
// out: threads that are joined by their owner
//
// Threads start with all signals blocked, so that Ctrl-C always reaches a thread of the program
// that uses the library. Conditions wait by the monotonic clock: setting the time of day neither
// cuts a wait short nor prolongs it.
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

// These calls only fail when the lock is misused, which would be our own fault.
static void expect_success(int result) {
    assert(result == 0);
    (void)result;
}

kazeia_status kz_mutex_init(kz_mutex *mutex) {
    const int error = pthread_mutex_init(&mutex->native, NULL);
    if (error != 0) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "cannot make a lock: system error %d", error);
    }
    return KAZEIA_OK;
}

void kz_mutex_clear(kz_mutex *mutex) {
    expect_success(pthread_mutex_destroy(&mutex->native));
}

void kz_mutex_lock(kz_mutex *mutex) {
    expect_success(pthread_mutex_lock(&mutex->native));
}

void kz_mutex_unlock(kz_mutex *mutex) {
    expect_success(pthread_mutex_unlock(&mutex->native));
}

kazeia_status kz_condition_init(kz_condition *condition) {
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error == 0) {
        error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        if (error == 0) {
            error = pthread_cond_init(&condition->native, &attributes);
        }
        (void)pthread_condattr_destroy(&attributes);
    }
    if (error != 0) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "cannot make a condition: system error %d", error);
    }
    return KAZEIA_OK;
}

void kz_condition_clear(kz_condition *condition) {
    expect_success(pthread_cond_destroy(&condition->native));
}

void kz_condition_wait(kz_condition *condition, kz_mutex *mutex) {
    expect_success(pthread_cond_wait(&condition->native, &mutex->native));
}

// True may also be a wake-up without a signal: the caller looks at its own condition again in both
// cases.
bool kz_condition_wait_ms(kz_condition *condition, kz_mutex *mutex, uint32_t timeout_ms) {
    struct timespec end = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(timeout_ms / 1000u);
    // At most 999,999,999 each, so the sum is below two seconds and one carry is enough.
    end.tv_nsec += (long)(timeout_ms % 1000u) * 1000000L;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_sec += 1;
        end.tv_nsec -= 1000000000L;
    }
    return pthread_cond_timedwait(&condition->native, &mutex->native, &end) != ETIMEDOUT;
}

void kz_condition_signal_all(kz_condition *condition) {
    expect_success(pthread_cond_broadcast(&condition->native));
}

// The argument is the kz_thread itself, which the caller keeps in place: no allocation that could
// fail between here and the start.
static void *run_thread(void *argument) {
    const kz_thread *thread = argument;
    thread->run(thread->context);
    return NULL;
}

kazeia_status kz_thread_start(kz_thread *thread, void (*run)(void *context), void *context) {
    sigset_t all_signals;
    sigset_t old_signals;
    thread->run = run;
    thread->context = context;
    // Set before pthread_create, so that a join after a failed start does nothing.
    thread->is_running = false;
    (void)sigfillset(&all_signals);
    expect_success(pthread_sigmask(SIG_SETMASK, &all_signals, &old_signals));
    // The new thread inherits the mask of this moment; blocking inside the thread would leave a gap
    // in which it could take a signal.
    const int error = pthread_create(&thread->native, NULL, run_thread, thread);
    expect_success(pthread_sigmask(SIG_SETMASK, &old_signals, NULL));
    if (error != 0) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "cannot start a thread: system error %d", error);
    }
    thread->is_running = true;
    return KAZEIA_OK;
}

void kz_thread_join(kz_thread *thread) {
    if (thread->is_running) {
        expect_success(pthread_join(thread->native, NULL));
        thread->is_running = false;
    }
}

void kz_thread_yield(void) {
    sched_yield();
}

// Also leaves the core's units to its hyper-thread, which may be the one that is waited for.
void kz_thread_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// A container or taskset gives fewer cores than the machine has; more threads than that would wait
// for each other. A machine of more than 1024 cores does not fit the set and is asked the plain
// way.
uint32_t kz_thread_core_count(void) {
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 0) {
        return (uint32_t)CPU_COUNT(&cores);
    }
#endif
    const long online_count = sysconf(_SC_NPROCESSORS_ONLN);
    return online_count > 0 ? (uint32_t)online_count : 1u;
}
