// test_cpu.c: the levels of cpu.h against each other and against the compiler's own detection.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cpu.h"

static void test_levels_have_distinct_names(void **state) {
    (void)state;
    for (int a = 0; a < KZ_CPU_LEVEL_COUNT; a++) {
        const char *name = kz_cpu_level_name((kz_cpu_level)a);
        assert_true(strlen(name) > 0);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(name, kz_cpu_level_name((kz_cpu_level)b));
        }
    }
    assert_string_equal(kz_cpu_level_name(KZ_CPU_AVX512VNNI), "avx512vnni");
    assert_string_equal(kz_cpu_level_name(KZ_CPU_LEVEL_COUNT), "unknown");
    assert_string_equal(kz_cpu_level_name((kz_cpu_level)-1), "unknown");
}

static void check_implies(kz_cpu_level higher, kz_cpu_level lower) {
    assert_true(!kz_cpu_has(higher) || kz_cpu_has(lower));
}

static void test_levels_include_those_below(void **state) {
    (void)state;
    assert_true(kz_cpu_has(KZ_CPU_REF));
    assert_false(kz_cpu_has(KZ_CPU_LEVEL_COUNT));
    assert_false(kz_cpu_has((kz_cpu_level)-1));
    check_implies(KZ_CPU_AVXVNNI, KZ_CPU_AVX2);
    check_implies(KZ_CPU_AVX512VNNI, KZ_CPU_AVX2);
    check_implies(KZ_CPU_AMX, KZ_CPU_AVX512VNNI);
    check_implies(KZ_CPU_DOTPROD, KZ_CPU_NEON);
    check_implies(KZ_CPU_I8MM, KZ_CPU_DOTPROD);
    assert_false(kz_cpu_has(KZ_CPU_AVX2) && kz_cpu_has(KZ_CPU_NEON));
}

static void test_answers_do_not_change(void **state) {
    (void)state;
    for (int level = 0; level < KZ_CPU_LEVEL_COUNT; level++) {
        const bool first = kz_cpu_has((kz_cpu_level)level);
        assert_int_equal(kz_cpu_has((kz_cpu_level)level), first);
    }
}

#if defined(__x86_64__)
static void test_the_compiler_agrees(void **state) {
    (void)state;
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool has_avx512 =
        has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vnni");
    assert_int_equal(kz_cpu_has(KZ_CPU_AVX2), has_avx2);
    assert_int_equal(kz_cpu_has(KZ_CPU_AVX512VNNI), has_avx512);
}

// A level that is reported must run: these instructions die with SIGILL or SIGSEGV where the
// system does not save or has not granted their registers.
static void test_reported_levels_run(void **state) {
    (void)state;
    if (kz_cpu_has(KZ_CPU_AVX2)) {
        __asm__ volatile("vpxor %%ymm0, %%ymm0, %%ymm0\n\tvzeroupper" ::: "xmm0");
    }
    if (kz_cpu_has(KZ_CPU_AVXVNNI)) {
        __asm__ volatile("%{vex%} vpdpbusd %%ymm0, %%ymm0, %%ymm0\n\tvzeroupper" ::: "xmm0");
    }
    if (kz_cpu_has(KZ_CPU_AVX512VNNI)) {
        __asm__ volatile("vpdpbusd %%zmm0, %%zmm0, %%zmm0\n\tvzeroupper" ::: "xmm0");
    }
    if (kz_cpu_has(KZ_CPU_AMX)) {
        unsigned char tiles[64] = {1}; // palette 1: tile 0 has one row of 4 bytes
        tiles[16] = 4;
        tiles[48] = 1;
        __asm__ volatile("ldtilecfg %0\n\ttilezero %%tmm0\n\ttilerelease" ::"m"(tiles));
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_have_distinct_names),
        cmocka_unit_test(test_levels_include_those_below),
        cmocka_unit_test(test_answers_do_not_change),
#if defined(__x86_64__)
        cmocka_unit_test(test_the_compiler_agrees),
        cmocka_unit_test(test_reported_levels_run),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
