// test_pool.c: every chunk of a job is done once, by whatever threads come.
//
// in:  jobs that count
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/thread.h"
#include "runtime/pool.h"

#define CHUNKS 333

typedef struct counting_job {
    atomic_uint counts[CHUNKS];
    atomic_bool *cancel; // set at the first chunk when not NULL
} counting_job;

static void count_chunks(void *context, size_t chunk, size_t chunk_end, void *scratch) {
    counting_job *job = context;
    assert_non_null(scratch);
    assert_int_equal((uintptr_t)scratch % 64, 0);
    if (job->cancel) {
        atomic_store(job->cancel, true);
    }
    for (; chunk < chunk_end; chunk++) {
        atomic_fetch_add(&job->counts[chunk], 1);
    }
}

static void every_chunk_is_done_once(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        kz_pool *pool = NULL;
        assert_int_equal(kz_pool_create(threads, NULL, &pool), KAZEIA_OK);
        assert_int_equal(kz_pool_thread_count(pool), threads);
        for (size_t round = 0; round < 2000; round++) {
            static counting_job job;
            job = (counting_job){.cancel = NULL};
            const size_t chunks = round % (CHUNKS + 1);
            kz_pool_run(pool, KZ_PRIORITY_CHAT, NULL, count_chunks, &job, chunks, round % 5);
            for (size_t i = 0; i < CHUNKS; i++) {
                assert_int_equal(atomic_load(&job.counts[i]), i < chunks);
            }
        }
        kz_pool_destroy(pool);
    }
}

static void a_cancelled_job_drops_what_has_not_begun(void **state) {
    (void)state;
    kz_pool *pool = NULL;
    assert_int_equal(kz_pool_create(1, NULL, &pool), KAZEIA_OK);
    static counting_job job;
    atomic_bool cancel = false;
    job = (counting_job){.cancel = &cancel};
    kz_pool_run(pool, KZ_PRIORITY_CHAT, &cancel, count_chunks, &job, CHUNKS, 1);
    assert_int_equal(atomic_load(&job.counts[0]), 1);
    assert_int_equal(atomic_load(&job.counts[1]), 0);
    kz_pool_destroy(pool);
}

typedef struct caller {
    kz_pool *pool;
    kz_priority priority;
    size_t wrong;
} caller;

static void call_often(void *context) {
    caller *self = context;
    for (size_t round = 0; round < 1000; round++) {
        counting_job job = {.cancel = NULL};
        kz_pool_run(self->pool, self->priority, NULL, count_chunks, &job, 40, 3);
        for (size_t i = 0; i < CHUNKS; i++) {
            self->wrong += atomic_load(&job.counts[i]) != (i < 40);
        }
    }
}

static void callers_take_turns(void **state) {
    (void)state;
    kz_pool *pool = NULL;
    caller callers[3];
    kz_thread threads[3] = {{.is_running = false}};
    assert_int_equal(kz_pool_create(3, NULL, &pool), KAZEIA_OK);
    for (size_t i = 0; i < 3; i++) {
        callers[i] = (caller){.pool = pool, .priority = (kz_priority)i};
        assert_int_equal(kz_thread_start(&threads[i], call_often, &callers[i]), KAZEIA_OK);
    }
    for (size_t i = 0; i < 3; i++) {
        kz_thread_join(&threads[i]);
        assert_int_equal(callers[i].wrong, 0);
    }
    kz_pool_destroy(pool);
}

static void too_many_threads_are_refused(void **state) {
    (void)state;
    kz_pool *pool = NULL;
    assert_int_equal(kz_pool_create(KZ_POOL_THREAD_LIMIT + 1, NULL, &pool), KAZEIA_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_is_done_once),
        cmocka_unit_test(a_cancelled_job_drops_what_has_not_begun),
        cmocka_unit_test(callers_take_turns),
        cmocka_unit_test(too_many_threads_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
