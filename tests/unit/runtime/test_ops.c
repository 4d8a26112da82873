// test_ops.c: every op of ops.def has a function: the table in runtime/execute.c is kept by hand.
//
// in:  format/ops.def
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/execute.h"

static void test_every_op_has_a_function(void **state) {
    (void)state;
#define KZ_OP(name, number, text, operands, ints, floats) \
    assert_non_null(kz_op_function_find(KZ_OP_##name));
#include "format/ops.def"
#undef KZ_OP
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_op_has_a_function)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
