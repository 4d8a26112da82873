// test_cache_rows.c: counted cache rows against a plain model of what each sequence holds.
//
// in:  random operations
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runtime/cache_rows.h"

#define ROWS 40
#define SEQUENCES 4
#define CONTEXT 24

// Each row written gets a stamp; a sequence must go on seeing the stamps that it or its parent
// wrote.
typedef struct plain_model {
    uint32_t stamps[ROWS];
    uint32_t expected[SEQUENCES][CONTEXT];
    uint32_t lengths[SEQUENCES];
    uint32_t next_stamp;
} plain_model;

static uint32_t next_random(uint32_t *state, uint32_t limit) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 10) % limit;
}

static void extend(kz_cache_rows *rows, plain_model *model, uint32_t sequence, uint32_t count) {
    const uint32_t length = model->lengths[sequence];
    const uint32_t free_rows = kz_cache_rows_free(rows);
    const kazeia_status status = kz_cache_rows_extend(rows, sequence, count);
    if (count > CONTEXT - length) {
        assert_int_equal(status, KAZEIA_BAD_ARGUMENT);
        return;
    }
    if (count > free_rows) {
        assert_int_equal(status, KAZEIA_BUSY);
        return;
    }
    assert_int_equal(status, KAZEIA_OK);
    const int32_t *table = kz_cache_rows_table(rows) + sequence * CONTEXT;
    for (uint32_t i = length; i < length + count; i++) {
        model->stamps[table[i]] = ++model->next_stamp;
        model->expected[sequence][i] = model->next_stamp;
    }
    model->lengths[sequence] = length + count;
}

static void fork_sequence(kz_cache_rows *rows, plain_model *model, uint32_t source, uint32_t target,
                          uint32_t length) {
    kz_cache_rows_fork(rows, source, target, length);
    if (length > model->lengths[source]) {
        length = model->lengths[source];
    }
    memmove(model->expected[target], model->expected[source], length * sizeof(uint32_t));
    model->lengths[target] = length;
}

static void check(const kz_cache_rows *rows, const plain_model *model) {
    bool is_used[ROWS] = {false};
    uint32_t used = 0;
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        assert_int_equal(kz_cache_rows_length(rows, s), model->lengths[s]);
        for (uint32_t i = 0; i < CONTEXT; i++) {
            const int32_t row = kz_cache_rows_table(rows)[s * CONTEXT + i];
            assert_true(row >= 0 && row < ROWS);
            if (i >= model->lengths[s]) {
                assert_int_equal(row, 0);
                continue;
            }
            assert_int_equal(model->stamps[row], model->expected[s][i]);
            used += !is_used[row];
            is_used[row] = true;
        }
    }
    assert_int_equal(kz_cache_rows_free(rows), ROWS - used);
}

static void rows_are_counted(void **state) {
    (void)state;
    static plain_model model;
    kz_cache_rows *rows = NULL;
    uint32_t random = 1;
    assert_int_equal(kz_cache_rows_create(ROWS, SEQUENCES, CONTEXT, NULL, &rows), KAZEIA_OK);
    for (int round = 0; round < 20000; round++) {
        const uint32_t kind = next_random(&random, 4);
        const uint32_t sequence = next_random(&random, SEQUENCES);
        const uint32_t other = next_random(&random, SEQUENCES);
        const uint32_t count = next_random(&random, CONTEXT + 2);
        if (kind < 2) {
            extend(rows, &model, sequence, count / 3);
        } else if (kind == 2) {
            kz_cache_rows_trim(rows, sequence, count);
            model.lengths[sequence] =
                count < model.lengths[sequence] ? count : model.lengths[sequence];
        } else {
            fork_sequence(rows, &model, sequence, other, count);
        }
        check(rows, &model);
    }
    kz_cache_rows_destroy(rows);
}

static void a_single_sequence_lies_in_order(void **state) {
    (void)state;
    kz_cache_rows *rows = NULL;
    assert_int_equal(kz_cache_rows_create(CONTEXT, 1, CONTEXT, NULL, &rows), KAZEIA_OK);
    assert_int_equal(kz_cache_rows_extend(rows, 0, 10), KAZEIA_OK);
    kz_cache_rows_trim(rows, 0, 4);
    assert_int_equal(kz_cache_rows_extend(rows, 0, CONTEXT - 4), KAZEIA_OK);
    for (int32_t i = 0; i < CONTEXT; i++) {
        assert_int_equal(kz_cache_rows_table(rows)[i], i);
    }
    kz_cache_rows_destroy(rows);
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    assert_true(kz_cache_rows_bytes(UINT32_MAX, UINT32_MAX, UINT32_MAX) == UINT64_MAX);
    kz_cache_rows *rows = NULL;
    assert_int_equal(kz_cache_rows_create(1, UINT32_MAX, UINT32_MAX, NULL, &rows),
                     KAZEIA_OUT_OF_MEMORY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_counted),
        cmocka_unit_test(a_single_sequence_lies_in_order),
        cmocka_unit_test(sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
