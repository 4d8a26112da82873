// test_program.c: dimensions, sizes and look-ups, at their borders too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs.h"

static void dimensions_are_ceilings(void **state) {
    (void)state;
    const kz_dim dim = {.scale = {3, -1}, .offset = 1, .divisor = 2};
    assert_int_equal(kz_dim_value(&dim, (uint32_t[]){2, 0}, 2), 4); // 7 / 2
    assert_int_equal(kz_dim_value(&dim, (uint32_t[]){1, 4}, 2), 0);
    assert_int_equal(kz_dim_value(&dim, (uint32_t[]){0, 2}, 2), 0); // -1 / 2 rounds up to 0
    assert_true(kz_dim_value(&dim, (uint32_t[]){0, 3}, 2) == UINT64_MAX);
    assert_int_equal(kz_dim_value(&dim, (uint32_t[]){5}, 1), 8); // the missing symbol is 0
    const kz_dim large = {.scale = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}, .divisor = 1};
    const uint32_t most[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    assert_true(kz_dim_value(&large, most, 4) == UINT64_MAX);
    const kz_dim halves = {.scale = {1}, .divisor = 0};
    assert_true(kz_dim_value(&halves, most, 1) == UINT64_MAX);
    const kz_dim too_large = kz_dim_constant(UINT32_MAX);
    assert_true(kz_dim_value(&too_large, NULL, 0) == UINT64_MAX);
    const kz_dim no_symbol = kz_dim_symbol(KZ_SYMBOL_LIMIT);
    assert_true(kz_dim_value(&no_symbol, most, 4) == UINT64_MAX);
}

static void windows_of_windows_are_windows(void **state) {
    (void)state;
    const kz_dim tokens = kz_dim_symbol(0);
    for (uint32_t stride = 1; stride < 4; stride++) {
        for (int32_t added = -2; added < 4; added++) {
            kz_dim once;
            kz_dim twice;
            assert_true(kz_dim_window(&tokens, added, stride, &once));
            assert_true(kz_dim_window(&once, added, 3, &twice));
            for (int t = 10; t < 40; t++) {
                const uint32_t symbol = (uint32_t)t;
                const int first = (t + added + (int)stride - 1) / (int)stride;
                assert_int_equal(kz_dim_value(&once, &symbol, 1), first);
                assert_int_equal(kz_dim_value(&twice, &symbol, 1), (first + added + 2) / 3);
            }
        }
    }
    kz_dim out;
    assert_false(kz_dim_window(&tokens, 0, 0, &out));
    const kz_dim wide = {.scale = {1}, .divisor = 1u << 20};
    assert_false(kz_dim_window(&wide, 0, 1u << 20, &out));
    assert_false(kz_dim_window(&wide, 1 << 20, 1, &out));
}

static void ranges_lie_at_corners(void **state) {
    (void)state;
    const kz_symbol symbols[] = {{"a", 10}, {"b", 4}};
    const kz_dim dim = {.scale = {2, -3}, .offset = 12, .divisor = 4};
    uint64_t least;
    uint64_t greatest;
    assert_true(kz_dim_range(&dim, symbols, 2, &least, &greatest));
    assert_int_equal(least, 0);
    assert_int_equal(greatest, 8);
    const kz_dim below = {.scale = {2, -3}, .offset = 7, .divisor = 4};
    assert_false(kz_dim_range(&below, symbols, 2, &least, &greatest));
    assert_false(kz_dim_range(&dim, symbols, 1, &least, &greatest));
}

static void values_and_states_have_sizes(void **state) {
    (void)state;
    kz_value value = {.kind = KZ_VALUE_ARENA, .type = KZ_A8, .rank = 2};
    value.dims[0] = kz_dim_symbol(0);
    value.dims[1] = kz_dim_constant(65);
    assert_int_equal(kz_value_bytes(&value, (uint32_t[]){3}, 1), 3 * 192);
    value.type = KZ_F32;
    assert_int_equal(kz_value_bytes(&value, (uint32_t[]){3}, 1), 3 * 260);
    value.rank = 0;
    assert_true(kz_value_bytes(&value, (uint32_t[]){3}, 1) == UINT64_MAX);
    const kz_state integers = {"s", KZ_I8, 10, 3, 64};
    assert_int_equal(kz_state_head_bytes(&integers), 68);
    assert_int_equal(kz_state_row_bytes(&integers), 204);
    assert_int_equal(kz_state_bytes(&integers), 2040);
    const kz_state huge = {"s", KZ_F32, UINT64_MAX, UINT32_MAX, UINT32_MAX};
    assert_true(kz_state_bytes(&huge) == UINT64_MAX);
}

static void names_are_found(void **state) {
    (void)state;
    sample_program sample;
    sample_program_make(&sample);
    assert_ptr_equal(kz_method_find(&sample.description, "encode"), &sample.methods[1]);
    assert_null(kz_method_find(&sample.description, "decode"));
    assert_ptr_equal(kz_metadata_find(&sample.description, "stops"), &sample.metadata[4]);
    assert_null(kz_metadata_find(&sample.description, "stop"));
    assert_string_equal(kz_op_name(KZ_OP_ATTENTION_FULL), "attention_full");
    assert_null(kz_op_find(0));
    assert_string_equal(kz_op_name((kz_op)999), "unknown");
    assert_string_equal(kz_activation_name(KZ_ACTIVATION_SILU), "silu");
    sample_program_clear(&sample);
}

static void limits_follow_the_row_table(void **state) {
    (void)state;
    sample_program sample;
    sample_program_make(&sample);
    const kz_method *method = &sample.methods[0];
    const uint32_t symbols[] = {8, 1}; // one sequence of at most two
    assert_int_equal(kz_input_limit(method, method->inputs[0], symbols), 40);
    assert_int_equal(kz_input_limit(method, method->inputs[1], symbols), 32);
    assert_int_equal(kz_input_limit(method, method->inputs[2], symbols), 1);
    sample_value(&sample, 0, "rows")->dims[1] = kz_dim_symbol(0);
    assert_int_equal(kz_input_limit(method, method->inputs[1], symbols), 8);
    sample_program_clear(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimensions_are_ceilings), cmocka_unit_test(windows_of_windows_are_windows),
        cmocka_unit_test(ranges_lie_at_corners),   cmocka_unit_test(values_and_states_have_sizes),
        cmocka_unit_test(names_are_found),         cmocka_unit_test(limits_follow_the_row_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
