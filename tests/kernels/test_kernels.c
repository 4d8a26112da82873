// test_kernels.c: every line of kernels.def of one instruction set, against formulas in double.
//
// in: KAZEIA_CPU, which names the instruction set (the machine's best when it is not set). out: 0,
// 1, or 77 when the machine lacks it, which ctest shows as skipped.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "checks.h"

#define SKIPPED 77
#define GUARD_BITS 0x7fa5a5a5u // a NaN that no arithmetic makes

static kz_cpu_level level;

float *guarded_floats(size_t count) {
    float *values = case_memory(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = GUARD_BITS;
        memcpy(&values[i], &bits, sizeof bits);
    }
    return values;
}

bool is_guard(float value) {
    return kz_bits_from_float(value) == GUARD_BITS;
}

void expect_close(const kz_kernel_variant *variant, const char *what, double found, double expected,
                  double tolerance) {
    const bool is_equal = found == expected || (isnan(found) && isnan(expected));
    if (!is_equal && !(fabs(found - expected) <= tolerance)) {
        fail_msg("%s: %s: found %.9g, expected %.9g, difference %.3g, allowed %.3g", variant->name,
                 what, found, expected, found - expected, tolerance);
    }
}

typedef void (*check)(const kz_kernel_variant *variant);

static check check_of(kz_kernel_slot slot) {
    if (case_slot_starts(slot, "matmul")) {
        return check_matmul;
    }
    if (slot == KZ_SLOT_attention_full) {
        return check_attention_full;
    }
    if (case_slot_starts(slot, "attention_part") || slot == KZ_SLOT_attention_join) {
        return check_attention_parts;
    }
    if (case_slot_starts(slot, "attention")) {
        return check_attention;
    }
    if (is_signal_slot(slot)) {
        return check_signal;
    }
    const bool is_bytes = case_slot_starts(slot, "embed") ||
                          case_slot_starts(slot, "cache_write") ||
                          case_slot_starts(slot, "quantise");
    return is_bytes ? check_bytes : check_rows;
}

static void run_checks(check wanted) {
    for (size_t i = 0; i < kz_kernel_variant_count; i++) {
        const kz_kernel_variant *variant = &kz_kernel_variants[i];
        if (variant->level == level && check_of(variant->slot) == wanted) {
            wanted(variant);
        }
    }
}

static void matmuls_match(void **state) {
    (void)state;
    run_checks(check_matmul);
}

static void attention_matches(void **state) {
    (void)state;
    run_checks(check_attention);
}

static void attention_parts_match(void **state) {
    (void)state;
    run_checks(check_attention_parts);
}

static void full_attention_matches(void **state) {
    (void)state;
    run_checks(check_attention_full);
}

static void rows_match(void **state) {
    (void)state;
    run_checks(check_rows);
}

static void signals_match(void **state) {
    (void)state;
    run_checks(check_signal);
}

static void bytes_match(void **state) {
    (void)state;
    run_checks(check_bytes);
}

// The last line of a slot whose level is the chosen one or below it, and which the machine has.
static void best_variants_are_selected(void **state) {
    (void)state;
    kz_kernels kernels;
    kz_kernels_select(level, &kernels);
    assert_int_equal(kernels.level, level);
    for (size_t slot = 0; slot < KZ_SLOT_COUNT; slot++) {
        const char *expected = NULL;
        for (size_t i = 0; i < kz_kernel_variant_count; i++) {
            const kz_kernel_variant *variant = &kz_kernel_variants[i];
            if (variant->slot == slot && variant->level <= level && kz_cpu_has(variant->level)) {
                expected = variant->name;
            }
        }
        assert_non_null(expected);
        assert_string_equal(kernels.names[slot], expected);
    }
}

static void names_follow_the_level(void **state) {
    (void)state;
    for (size_t i = 0; i < kz_kernel_variant_count; i++) {
        const kz_kernel_variant *variant = &kz_kernel_variants[i];
        const char *suffix = strstr(variant->name, "__");
        assert_non_null(suffix);
        assert_string_equal(suffix + 2, kz_cpu_level_name(variant->level));
        assert_memory_equal(variant->name, "kz_", 3);
    }
}

static void unknown_levels_are_refused(void **state) {
    (void)state;
    const char *before = getenv("KAZEIA_CPU");
    char kept[64] = "";
    kz_cpu_level found;
    if (before != NULL) {
        snprintf(kept, sizeof kept, "%s", before);
    }
    setenv("KAZEIA_CPU", "abacus", 1);
    assert_int_equal(kz_kernels_choose_level(&found), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "'abacus'"));
    assert_non_null(strstr(kazeia_last_error(), "has: ref"));
    setenv("KAZEIA_CPU", kz_cpu_has(KZ_CPU_NEON) ? "avx2" : "neon", 1);
    assert_int_equal(kz_kernels_choose_level(&found), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "lacks"));
    if (before == NULL) {
        unsetenv("KAZEIA_CPU");
        assert_int_equal(kz_kernels_choose_level(&found), KAZEIA_OK);
    } else {
        setenv("KAZEIA_CPU", kept, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_variants_are_selected),
        cmocka_unit_test(names_follow_the_level),
        cmocka_unit_test(unknown_levels_are_refused),
        cmocka_unit_test(bytes_match),
        cmocka_unit_test(rows_match),
        cmocka_unit_test(signals_match),
        cmocka_unit_test(matmuls_match),
        cmocka_unit_test(attention_matches),
        cmocka_unit_test(attention_parts_match),
        cmocka_unit_test(full_attention_matches),
    };
    const kazeia_status status = kz_kernels_choose_level(&level);
    if (status != KAZEIA_OK) {
        printf("%s: %s\n", status == KAZEIA_UNSUPPORTED ? "skipped" : "failed",
               kazeia_last_error());
        return status == KAZEIA_UNSUPPORTED ? SKIPPED : 1;
    }
    printf("instruction set: %s\n", kz_cpu_level_name(level));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
