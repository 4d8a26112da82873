// test_context.c: memory plans, refusals, cancelling and failing allocations of a context.
//
// in:  tiny programs made here
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../metered_allocator.h"
#include "base/thread.h"
#include "tiny_run.h"

static kazeia_allocator meter_make(metered_allocator *meter, size_t calls_allowed) {
    *meter = (metered_allocator){.calls_allowed = calls_allowed};
    return (kazeia_allocator){meter, allocate_metered, release_metered};
}

static tiny_llama llama;

static int make_llama(void **state) {
    (void)state;
    const tiny_llama_shape shape = tiny_llama_shape_default();
    tiny_llama_init(&llama, &shape);
    tiny_llama_finish(&llama);
    return 0;
}

static int clear_llama(void **state) {
    (void)state;
    tiny_llama_clear(&llama);
    return 0;
}

static uint64_t planned_bytes(const kz_program *program) {
    const kz_memory_plan plan = kz_context_plan(program);
    return plan.arena + plan.states + plan.work;
}

static void a_context_takes_exactly_its_plan(void **state) {
    (void)state;
    tiny_run run;
    metered_allocator meter;
    const kazeia_allocator memory = meter_make(&meter, SIZE_MAX);
    tiny_run_open(&run, &llama, 1, KZ_PRIORITY_CHAT);
    kz_context *context = NULL;
    assert_int_equal(
        kz_context_create(run.program, run.pool, KZ_PRIORITY_CHAT, 0, &memory, &context),
        KAZEIA_OK);
    assert_int_equal(meter.bytes, planned_bytes(run.program));
    kz_context_destroy(context);
    assert_int_equal(meter.live, 0);
    kz_cache_rows *rows = NULL;
    meter = (metered_allocator){.calls_allowed = SIZE_MAX};
    assert_int_equal(kz_cache_rows_create(128, 3, 96, &memory, &rows), KAZEIA_OK);
    assert_int_equal(meter.bytes, kz_cache_rows_bytes(128, 3, 96));
    kz_cache_rows_destroy(rows);
    tiny_run_close(&run);
}

static void a_limit_refuses_before_anything_is_taken(void **state) {
    (void)state;
    tiny_run run;
    metered_allocator meter;
    const kazeia_allocator memory = meter_make(&meter, SIZE_MAX);
    tiny_run_open(&run, &llama, 1, KZ_PRIORITY_CHAT);
    const uint64_t bytes = planned_bytes(run.program);
    kz_context *context = NULL;
    assert_int_equal(
        kz_context_create(run.program, run.pool, KZ_PRIORITY_CHAT, bytes - 1, &memory, &context),
        KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(meter.calls, 0);
    assert_non_null(strstr(kazeia_last_error(), "limit"));
    assert_int_equal(
        kz_context_create(run.program, run.pool, KZ_PRIORITY_CHAT, bytes, &memory, &context),
        KAZEIA_OK);
    kz_context_destroy(context);
    tiny_run_close(&run);
}

static void failing_allocations_leave_nothing_behind(void **state) {
    (void)state;
    metered_allocator meter;
    for (size_t allowed = 0;; allowed++) {
        const kazeia_allocator memory = meter_make(&meter, allowed);
        kz_program *program = NULL;
        kz_pool *pool = NULL;
        kz_context *context = NULL;
        kz_cache_rows *rows = NULL;
        kazeia_status status = kz_program_open_memory(llama.bytes, llama.count, &memory, &program);
        if (status == KAZEIA_OK) {
            status = kz_pool_create(2, &memory, &pool);
        }
        if (status == KAZEIA_OK) {
            status = kz_context_create(program, pool, KZ_PRIORITY_CHAT, 0, &memory, &context);
        }
        if (status == KAZEIA_OK) {
            status = kz_cache_rows_create(8, 1, 8, &memory, &rows);
        }
        kz_cache_rows_destroy(rows);
        kz_context_destroy(context);
        kz_pool_destroy(pool);
        kz_program_release(program);
        assert_int_equal(meter.live, 0);
        if (status == KAZEIA_OK) {
            assert_true(allowed > 8);
            return;
        }
        assert_int_equal(status, KAZEIA_OUT_OF_MEMORY);
    }
}

static void indices_out_of_range_are_refused(void **state) {
    (void)state;
    tiny_run run;
    float hidden[2 * 64];
    const int32_t ids[] = {1, 2}, bad_ids[] = {1, 100}, negative[] = {-1, 0};
    const int32_t positions[] = {0, 1}, zeros[] = {0, 0}, ones[] = {1, 1};
    tiny_run_open(&run, &llama, 1, KZ_PRIORITY_CHAT);
    const int32_t *table = kz_cache_rows_table(run.rows);
    void *outputs[] = {hidden};
    const void *wrong_id[] = {bad_ids, positions, zeros, table};
    const void *negative_id[] = {negative, positions, zeros, table};
    const void *wrong_sequence[] = {ids, positions, ones, table};
    const void *right[] = {ids, positions, zeros, table};
    const uint32_t two[] = {2, 1}, many[] = {TINY_STEP + 1, 1};
    assert_int_equal(kz_context_run(run.context, run.step, two, wrong_id, outputs),
                     KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "'tokens'[1] is 100"));
    assert_int_equal(kz_context_run(run.context, run.step, two, negative_id, outputs),
                     KAZEIA_BAD_ARGUMENT);
    // The file allows three sequences, this call's table has one.
    assert_int_equal(kz_context_run(run.context, run.step, two, wrong_sequence, outputs),
                     KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_context_run(run.context, run.step, many, right, outputs),
                     KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_context_run(run.context, run.step, two, right, outputs), KAZEIA_OK);
    tiny_run_close(&run);
}

// --- Cancelling ---------------------------------------------------------------------------------

typedef struct canceller {
    kz_context *context;
    atomic_bool is_running;
    atomic_bool is_cancelled;
} canceller;

static void cancel_soon(void *context) {
    canceller *job = context;
    while (!atomic_load(&job->is_running)) {
        kz_thread_pause();
    }
    kz_context_cancel(job->context);
    atomic_store(&job->is_cancelled, true);
}

static void cancelling_stops_at_once_and_can_be_undone(void **state) {
    (void)state;
    tiny_run run;
    int32_t ids[32];
    static float hidden[32 * 64], again[32 * 64];
    tiny_ids(100, 1, ids, 32);
    tiny_run_open(&run, &llama, 2, KZ_PRIORITY_CHAT);
    assert_int_equal(tiny_run_call(&run, run.prefill, 0, ids, 32, hidden), KAZEIA_OK);
    for (int round = 0; round < 20; round++) {
        canceller job = {.context = run.context};
        kz_thread thread = {.is_running = false};
        assert_int_equal(kz_thread_start(&thread, cancel_soon, &job), KAZEIA_OK);
        kazeia_status status = KAZEIA_OK;
        while (status == KAZEIA_OK) {
            const bool was_cancelled = atomic_load(&job.is_cancelled);
            kz_cache_rows_trim(run.rows, 1, 0);
            status = tiny_run_call(&run, run.prefill, 1, ids, 32, again);
            assert_false(was_cancelled && status == KAZEIA_OK);
            atomic_store(&job.is_running, true);
        }
        assert_int_equal(status, KAZEIA_CANCELLED);
        kz_thread_join(&thread);
        assert_int_equal(tiny_run_call(&run, run.prefill, 1, ids, 32, again), KAZEIA_CANCELLED);
        kz_context_resume(run.context);
    }
    kz_cache_rows_trim(run.rows, 1, 0);
    assert_int_equal(tiny_run_call(&run, run.prefill, 1, ids, 32, again), KAZEIA_OK);
    assert_memory_equal(hidden, again, sizeof hidden);
    tiny_run_close(&run);
}

// --- Several sessions ---------------------------------------------------------------------------

typedef struct session_job {
    kz_program *program;
    kz_pool *pool;
    kz_priority priority;
    kazeia_status status;
    float hidden[48 * 64];
} session_job;

static void run_session(void *context) {
    session_job *job = context;
    tiny_run run = {.program = job->program, .pool = job->pool, .llama = &llama};
    int32_t ids[48];
    tiny_ids(100, 9, ids, 48);
    job->status = kz_context_create(job->program, job->pool, job->priority, 0, NULL, &run.context);
    if (job->status == KAZEIA_OK) {
        job->status = kz_cache_rows_create(128, 3, 96, NULL, &run.rows);
    }
    if (job->status == KAZEIA_OK) {
        job->status = kz_program_require_method(job->program, "prefill_forward", &run.prefill);
    }
    for (int round = 0; round < 30 && job->status == KAZEIA_OK; round++) {
        kz_cache_rows_trim(run.rows, 0, 0);
        job->status = tiny_run_call(&run, run.prefill, 0, ids, 48, job->hidden);
    }
    kz_cache_rows_destroy(run.rows);
    kz_context_destroy(run.context);
}

static void sessions_of_one_pool_do_not_disturb_each_other(void **state) {
    (void)state;
    static session_job jobs[3], alone;
    tiny_run run;
    tiny_run_open(&run, &llama, 4, KZ_PRIORITY_CHAT);
    alone = (session_job){.program = run.program, .pool = run.pool};
    run_session(&alone);
    assert_int_equal(alone.status, KAZEIA_OK);
    kz_thread threads[3] = {{.is_running = false}};
    for (size_t i = 0; i < 3; i++) {
        jobs[i] =
            (session_job){.program = run.program, .pool = run.pool, .priority = (kz_priority)i};
        assert_int_equal(kz_thread_start(&threads[i], run_session, &jobs[i]), KAZEIA_OK);
    }
    for (size_t i = 0; i < 3; i++) {
        kz_thread_join(&threads[i]);
        assert_int_equal(jobs[i].status, KAZEIA_OK);
        assert_memory_equal(jobs[i].hidden, alone.hidden, sizeof alone.hidden);
    }
    tiny_run_close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_takes_exactly_its_plan),
        cmocka_unit_test(a_limit_refuses_before_anything_is_taken),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
        cmocka_unit_test(indices_out_of_range_are_refused),
        cmocka_unit_test(cancelling_stops_at_once_and_can_be_undone),
        cmocka_unit_test(sessions_of_one_pool_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, make_llama, clear_llama);
}
