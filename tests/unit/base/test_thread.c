// test_thread.c: threads, locks, waiting, the clock, and the sentence that each thread has for
// itself.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

enum { THREADS = 8, ADDITIONS = 20000 };

typedef struct shared_count {
    kz_mutex mutex;
    kz_condition condition;
    uint64_t total;
    unsigned finished_count;
} shared_count;

static void shared_init(shared_count *shared) {
    *shared = (shared_count){.total = 0};
    assert_int_equal(kz_mutex_init(&shared->mutex), KAZEIA_OK);
    assert_int_equal(kz_condition_init(&shared->condition), KAZEIA_OK);
}

static void shared_clear(shared_count *shared) {
    kz_condition_clear(&shared->condition);
    kz_mutex_clear(&shared->mutex);
}

static void add_many(void *context) {
    shared_count *shared = context;
    for (int i = 0; i < ADDITIONS; i++) {
        kz_mutex_lock(&shared->mutex);
        shared->total++;
        kz_mutex_unlock(&shared->mutex);
    }
    kz_mutex_lock(&shared->mutex);
    shared->finished_count++;
    kz_condition_signal_all(&shared->condition);
    kz_mutex_unlock(&shared->mutex);
}

static void test_locks_keep_sums_right(void **state) {
    (void)state;
    shared_count shared;
    kz_thread threads[THREADS];
    shared_init(&shared);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(kz_thread_start(&threads[i], add_many, &shared), KAZEIA_OK);
    }
    kz_mutex_lock(&shared.mutex);
    while (shared.finished_count < THREADS) {
        kz_condition_wait(&shared.condition, &shared.mutex);
    }
    kz_mutex_unlock(&shared.mutex);
    for (int i = 0; i < THREADS; i++) {
        kz_thread_join(&threads[i]);
        assert_false(threads[i].is_running);
        kz_thread_join(&threads[i]);
    }
    assert_true(shared.total == (uint64_t)THREADS * ADDITIONS);
    shared_clear(&shared);
}

static void test_a_thread_never_started_is_joined_at_once(void **state) {
    (void)state;
    kz_thread thread = {.is_running = false};
    kz_thread_join(&thread);
}

static void test_waiting_ends_in_time(void **state) {
    (void)state;
    shared_count shared;
    shared_init(&shared);
    kz_mutex_lock(&shared.mutex);
    const uint64_t start_ns = kz_clock_now_ns();
    while (kz_condition_wait_ms(&shared.condition, &shared.mutex, 30)) {
    }
    const uint64_t waited_ns = kz_clock_now_ns() - start_ns;
    kz_mutex_unlock(&shared.mutex);
    assert_true(waited_ns >= 29u * 1000000u);
    shared_clear(&shared);
}

static void test_waiting_ends_by_a_signal(void **state) {
    (void)state;
    shared_count shared;
    kz_thread thread;
    bool is_in_time = true;
    shared_init(&shared);
    kz_mutex_lock(&shared.mutex);
    assert_int_equal(kz_thread_start(&thread, add_many, &shared), KAZEIA_OK);
    while (shared.finished_count == 0 && is_in_time) {
        is_in_time = kz_condition_wait_ms(&shared.condition, &shared.mutex, 60000);
    }
    kz_mutex_unlock(&shared.mutex);
    kz_thread_join(&thread);
    assert_true(is_in_time);
    assert_int_equal(shared.finished_count, 1);
    shared_clear(&shared);
}

typedef struct own_sentence {
    unsigned number;
    bool was_empty;
    bool is_right;
} own_sentence;

static void fail_often(void *context) {
    own_sentence *own = context;
    char expected[32];
    own->was_empty = kazeia_last_error()[0] == '\0';
    own->is_right = true;
    snprintf(expected, sizeof expected, "thread %u", own->number);
    for (int i = 0; i < 2000; i++) {
        (void)kz_fail(KAZEIA_BUSY, "thread %u", own->number);
        own->is_right = own->is_right && strcmp(kazeia_last_error(), expected) == 0;
    }
}

static void test_each_thread_has_its_sentence(void **state) {
    (void)state;
    kz_thread threads[THREADS];
    own_sentence sentences[THREADS];
    (void)kz_fail(KAZEIA_IO, "of the first thread");
    for (unsigned i = 0; i < THREADS; i++) {
        sentences[i].number = i;
        assert_int_equal(kz_thread_start(&threads[i], fail_often, &sentences[i]), KAZEIA_OK);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        kz_thread_join(&threads[i]);
        assert_true(sentences[i].was_empty);
        assert_true(sentences[i].is_right);
    }
    assert_string_equal(kazeia_last_error(), "of the first thread");
}

static void read_signal_mask(void *context) {
    (void)pthread_sigmask(SIG_SETMASK, NULL, context);
}

static void test_signals_go_to_the_callers_threads(void **state) {
    (void)state;
    kz_thread thread;
    sigset_t inside;
    sigset_t outside;
    (void)sigemptyset(&inside);
    assert_int_equal(kz_thread_start(&thread, read_signal_mask, &inside), KAZEIA_OK);
    kz_thread_join(&thread);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &outside), 0);
    assert_int_equal(sigismember(&inside, SIGINT), 1);
    assert_int_equal(sigismember(&outside, SIGINT), 0);
}

static void test_time_and_cores(void **state) {
    (void)state;
    uint64_t last_ns = kz_clock_now_ns();
    assert_true(last_ns > 0);
    for (int i = 0; i < 1000; i++) {
        const uint64_t now_ns = kz_clock_now_ns();
        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
        kz_thread_pause();
    }
    assert_in_range(kz_thread_core_count(), 1, 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locks_keep_sums_right),
        cmocka_unit_test(test_a_thread_never_started_is_joined_at_once),
        cmocka_unit_test(test_waiting_ends_in_time),
        cmocka_unit_test(test_waiting_ends_by_a_signal),
        cmocka_unit_test(test_each_thread_has_its_sentence),
        cmocka_unit_test(test_signals_go_to_the_callers_threads),
        cmocka_unit_test(test_time_and_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
