// test_forward.c: a whole decoder against the same computed in double, in every weight and cache
// format, and what must be bit-equal however the tokens are cut.
//
// in:  tiny programs made here
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tiny_run.h"

#define COUNT 50
#define HIDDEN 64
#define VOCABULARY 100

static double reference_hidden[COUNT * HIDDEN], reference_logits[COUNT * VOCABULARY];
static float hidden[COUNT * HIDDEN], logits[COUNT * VOCABULARY];

typedef struct error_limits {
    double hidden, logits; // root mean square of the difference over that of the reference
} error_limits;

static double relative_error(const float *found, const double *expected, size_t count) {
    double difference = 0.0, size = 0.0;
    for (size_t i = 0; i < count; i++) {
        difference += ((double)found[i] - expected[i]) * ((double)found[i] - expected[i]);
        size += expected[i] * expected[i];
    }
    return sqrt(difference / size);
}

// Runs `ids` in calls of `piece` tokens.
static void run_pieces(tiny_run *run, uint32_t sequence, const int32_t *ids, uint32_t piece,
                       float *out_hidden) {
    for (uint32_t done = 0; done < COUNT; done += piece) {
        const uint32_t count = COUNT - done < piece ? COUNT - done : piece;
        const uint32_t method = count > TINY_STEP ? run->prefill : run->step;
        assert_int_equal(
            tiny_run_call(run, method, sequence, ids + done, count, out_hidden + done * HIDDEN),
            KAZEIA_OK);
    }
}

static void run_logits(tiny_run *run, const float *rows, float *out_logits) {
    for (uint32_t done = 0; done < COUNT; done += 8) {
        const uint32_t count = COUNT - done < 8 ? COUNT - done : 8;
        tiny_run_logits(run, rows + done * HIDDEN, count, out_logits + done * VOCABULARY);
    }
}

static void compare_with_reference(const tiny_llama_shape *shape, error_limits limits) {
    tiny_llama llama;
    tiny_run run;
    int32_t ids[COUNT];
    tiny_llama_init(&llama, shape);
    tiny_llama_finish(&llama);
    tiny_ids(shape->vocabulary, 3, ids, COUNT);
    tiny_llama_forward(&llama, ids, COUNT, reference_hidden, reference_logits);
    tiny_run_open(&run, &llama, 2, KZ_PRIORITY_CHAT);
    for (uint32_t piece = 1; piece <= COUNT; piece = piece == 1 ? 7 : piece == 7 ? COUNT : 51) {
        run_pieces(&run, 1, ids, piece, hidden);
        run_logits(&run, hidden, logits);
        kz_cache_rows_trim(run.rows, 1, 0);
        assert_true(relative_error(hidden, reference_hidden, COUNT * HIDDEN) < limits.hidden);
        assert_true(relative_error(logits, reference_logits, COUNT * VOCABULARY) < limits.logits);
    }
    tiny_run_close(&run);
    tiny_llama_clear(&llama);
}

static void f32_is_the_reference(void **state) {
    (void)state;
    for (uint32_t variant = 0; variant < 4; variant++) {
        tiny_llama_shape shape = tiny_llama_shape_default();
        shape.rotates_pairs = variant & 1;
        shape.has_head_norms = variant & 1;
        shape.window = variant & 2 ? 9 : 0;
        compare_with_reference(&shape, (error_limits){2e-6, 2e-6});
    }
}

static void half_weights_stay_close(void **state) {
    (void)state;
    tiny_llama_shape shape = tiny_llama_shape_default();
    // The reference has the same rounded weights: what differs is the order of sums alone, and for
    // bf16 kernels that round activations, their eight bits.
    shape.weights = KZ_F16;
    compare_with_reference(&shape, (error_limits){2e-3, 2e-3});
    shape.weights = KZ_BF16;
    compare_with_reference(&shape, (error_limits){2e-2, 2e-2});
}

static void quantised_weights_stay_close(void **state) {
    (void)state;
    const kz_type types[] = {KZ_Q8_0, KZ_Q4_0, KZ_Q4_1};
    for (size_t i = 0; i < 3; i++) {
        tiny_llama_shape shape = tiny_llama_shape_default();
        shape.weights = types[i];
        // Only the activations' eight bits differ: half a step of 1/127 of a block's largest value.
        compare_with_reference(&shape, (error_limits){2e-2, 2e-2});
        // And with sixteen, half a step of 1/127 of that.
        shape.has_fine_activations = true;
        compare_with_reference(&shape, (error_limits){1e-4, 1e-4});
    }
}

static void narrow_caches_stay_close(void **state) {
    (void)state;
    tiny_llama_shape shape = tiny_llama_shape_default();
    shape.cache = KZ_F16;
    compare_with_reference(&shape, (error_limits){1e-3, 1e-3});
    shape.cache = KZ_I8;
    compare_with_reference(&shape, (error_limits){2e-2, 2e-2});
}

// --- Bit equality -------------------------------------------------------------------------------

static void check_equal_cuts(const tiny_llama *llama, uint32_t threads, const float *expected_step,
                             const float *expected_bulk) {
    tiny_run run;
    int32_t ids[COUNT];
    tiny_ids(llama->shape.vocabulary, 4, ids, COUNT);
    tiny_run_open(&run, llama, threads, KZ_PRIORITY_CHAT);
    const uint32_t pieces[] = {1, 3, 16};
    for (size_t i = 0; i < 3; i++) {
        run_pieces(&run, (uint32_t)i, ids, pieces[i], hidden);
        assert_memory_equal(hidden, expected_step, sizeof hidden);
        kz_cache_rows_trim(run.rows, (uint32_t)i, 0);
    }
    run_pieces(&run, 0, ids, COUNT, hidden);
    assert_memory_equal(hidden, expected_bulk, sizeof hidden);
    tiny_run_close(&run);
}

static void results_depend_on_neither_threads_nor_cuts(void **state) {
    (void)state;
    static float step[COUNT * HIDDEN], bulk[COUNT * HIDDEN];
    const kz_type weights[] = {KZ_F32,  KZ_F16,  KZ_BF16, KZ_Q8_0,
                               KZ_Q4_0, KZ_Q4_1, KZ_Q8_0, KZ_Q4_0};
    const kz_type caches[] = {KZ_F32, KZ_F16, KZ_I8};
    for (size_t i = 0; i < 8; i++) {
        tiny_llama llama;
        tiny_run run;
        int32_t ids[COUNT];
        tiny_llama_shape shape = tiny_llama_shape_default();
        shape.weights = weights[i];
        shape.cache = caches[i % 3];
        shape.window = i % 2 ? 11 : 0;
        shape.has_fine_activations = i >= 6;
        tiny_llama_init(&llama, &shape);
        tiny_llama_finish(&llama);
        tiny_ids(shape.vocabulary, 4, ids, COUNT);
        tiny_run_open(&run, &llama, 1, KZ_PRIORITY_CHAT);
        run_pieces(&run, 0, ids, 1, step);
        kz_cache_rows_trim(run.rows, 0, 0);
        run_pieces(&run, 0, ids, COUNT, bulk);
        tiny_run_close(&run);
        for (uint32_t threads = 1; threads <= 4; threads++) {
            check_equal_cuts(&llama, threads, step, bulk);
        }
        tiny_llama_clear(&llama);
    }
}

// --- Sequences ----------------------------------------------------------------------------------

// A fork goes on as if it had computed the past itself, and leaves its parent alone.
static void forks_share_their_past(void **state) {
    (void)state;
    tiny_llama llama;
    tiny_run run;
    int32_t ids[COUNT], other[COUNT];
    static float whole[COUNT * HIDDEN], branch[COUNT * HIDDEN];
    const tiny_llama_shape shape = tiny_llama_shape_default();
    tiny_llama_init(&llama, &shape);
    tiny_llama_finish(&llama);
    tiny_ids(shape.vocabulary, 5, ids, COUNT);
    memcpy(other, ids, sizeof ids);
    tiny_ids(shape.vocabulary, 6, other + 20, COUNT - 20);
    tiny_run_open(&run, &llama, 2, KZ_PRIORITY_CHAT);
    run_pieces(&run, 0, ids, 10, whole);
    kz_cache_rows_trim(run.rows, 0, 0);
    run_pieces(&run, 0, other, 10, branch);
    kz_cache_rows_trim(run.rows, 0, 0);
    assert_int_equal(kz_cache_rows_free(run.rows), shape.rows);

    for (uint32_t done = 0; done < 20; done += 10) {
        assert_int_equal(tiny_run_call(&run, run.step, 0, ids + done, 10, hidden), KAZEIA_OK);
    }
    kz_cache_rows_fork(run.rows, 0, 2, 20);
    assert_int_equal(kz_cache_rows_free(run.rows), shape.rows - 20);
    for (uint32_t done = 20; done < COUNT; done += 10) {
        assert_int_equal(tiny_run_call(&run, run.step, 2, other + done, 10, hidden), KAZEIA_OK);
        assert_memory_equal(hidden, branch + done * HIDDEN, 10 * HIDDEN * sizeof *hidden);
        assert_int_equal(tiny_run_call(&run, run.step, 0, ids + done, 10, hidden), KAZEIA_OK);
        assert_memory_equal(hidden, whole + done * HIDDEN, 10 * HIDDEN * sizeof *hidden);
    }
    tiny_run_close(&run);
    tiny_llama_clear(&llama);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_is_the_reference),
        cmocka_unit_test(half_weights_stay_close),
        cmocka_unit_test(quantised_weights_stay_close),
        cmocka_unit_test(narrow_caches_stay_close),
        cmocka_unit_test(results_depend_on_neither_threads_nor_cuts),
        cmocka_unit_test(forks_share_their_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
