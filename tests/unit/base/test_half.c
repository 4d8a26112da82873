// test_half.c: half.h against the definition of its formats.
//
// Every 16-bit value is decoded and compared with a formula in double, and encoded back. Rounding
// is checked at the border between each two neighbours: the tie itself and the floats beside it.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/half.h"

// The value of 1 sign bit, `exponent_bits` and `fraction_bits`, by IEEE 754's definition.
static double decode_slowly(uint16_t bits, int exponent_bits, int fraction_bits) {
    const int exponent_mask = (1 << exponent_bits) - 1;
    const int exponent = (bits >> fraction_bits) & exponent_mask;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int bias = exponent_mask / 2;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == exponent_mask) {
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    }
    return sign * ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

static void check_value(float found, double expected) {
    if (isnan(expected)) {
        assert_true(isnan(found));
        return;
    }
    assert_true((double)found == expected);
    assert_int_equal(signbit(found) != 0, signbit(expected) != 0);
}

static void test_f16_decodes_every_value(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits <= 0xffffu; bits++) {
        check_value(kz_float_from_f16((uint16_t)bits), decode_slowly((uint16_t)bits, 5, 10));
    }
}

static void test_bf16_decodes_every_value(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits <= 0xffffu; bits++) {
        check_value(kz_float_from_bf16((uint16_t)bits), decode_slowly((uint16_t)bits, 8, 7));
    }
}

// NaNs may change their payload, but stay NaNs of the same sign.
static void check_round_trip(uint16_t bits, float value, uint16_t found) {
    if (isnan(value)) {
        assert_int_equal(found & 0x8000u, bits & 0x8000u);
        return;
    }
    assert_int_equal(found, bits);
}

static void test_every_value_survives_a_round_trip(void **state) {
    (void)state;
    for (uint32_t i = 0; i <= 0xffffu; i++) {
        const uint16_t bits = (uint16_t)i;
        const float f16_value = kz_float_from_f16(bits);
        const uint16_t f16_found = kz_f16_from_float(f16_value);
        check_round_trip(bits, f16_value, f16_found);
        assert_int_equal(isnan(f16_value), isnan(kz_float_from_f16(f16_found)));
        const float bf16_value = kz_float_from_bf16(bits);
        const uint16_t bf16_found = kz_bf16_from_float(bf16_value);
        check_round_trip(bits, bf16_value, bf16_found);
        assert_int_equal(isnan(bf16_value), isnan(kz_float_from_bf16(bf16_found)));
    }
}

// `middle` lies half way between the values of `lower` and `lower` + 1.
static void check_border(uint16_t (*encode)(float), uint16_t lower, float middle) {
    const uint16_t upper = (uint16_t)(lower + 1);
    const uint16_t even = (lower & 1u) == 0 ? lower : upper;
    assert_int_equal(encode(middle), even);
    assert_int_equal(encode(nextafterf(middle, 0.0f)), lower);
    assert_int_equal(encode(nextafterf(middle, INFINITY)), upper);
    assert_int_equal(encode(-middle), even | 0x8000u);
    assert_int_equal(encode(-nextafterf(middle, 0.0f)), lower | 0x8000u);
    assert_int_equal(encode(-nextafterf(middle, INFINITY)), upper | 0x8000u);
}

static void test_f16_rounds_to_nearest_even(void **state) {
    (void)state;
    for (uint16_t lower = 0; lower < 0x7bffu; lower++) {
        const double sum =
            decode_slowly(lower, 5, 10) + decode_slowly((uint16_t)(lower + 1), 5, 10);
        check_border(kz_f16_from_float, lower, (float)(sum / 2));
    }
}

static void test_bf16_rounds_to_nearest_even(void **state) {
    (void)state;
    for (uint16_t lower = 0; lower < 0x7f7fu; lower++) {
        const double sum = decode_slowly(lower, 8, 7) + decode_slowly((uint16_t)(lower + 1), 8, 7);
        check_border(kz_bf16_from_float, lower, (float)(sum / 2));
    }
}

static void test_too_large_becomes_infinite(void **state) {
    (void)state;
    assert_int_equal(kz_f16_from_float(65504.0f), 0x7bff);
    assert_int_equal(kz_f16_from_float(nextafterf(65520.0f, 0.0f)), 0x7bff);
    assert_int_equal(kz_f16_from_float(65520.0f), 0x7c00);
    assert_int_equal(kz_f16_from_float(65536.0f), 0x7c00);
    assert_int_equal(kz_f16_from_float(-3.4e38f), 0xfc00);
    assert_int_equal(kz_f16_from_float(-INFINITY), 0xfc00);
    assert_int_equal(kz_bf16_from_float(kz_float_from_bits(0x7f7f7fffu)), 0x7f7f);
    assert_int_equal(kz_bf16_from_float(kz_float_from_bits(0x7f7f8000u)), 0x7f80);
    assert_int_equal(kz_bf16_from_float(-INFINITY), 0xff80);
}

// The payload's low bits are lost; what is left must not look like infinity.
static void test_every_nan_stays_one(void **state) {
    (void)state;
    static const uint32_t nans[] = {0x7f800001u, 0xff800001u, 0x7fc00000u, 0x7fffffffu,
                                    0xffffffffu, 0x7f801fffu, 0x7f80ffffu};
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++) {
        const float value = kz_float_from_bits(nans[i]);
        assert_true(isnan(kz_float_from_f16(kz_f16_from_float(value))));
        assert_true(isnan(kz_float_from_bf16(kz_bf16_from_float(value))));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_decodes_every_value),
        cmocka_unit_test(test_bf16_decodes_every_value),
        cmocka_unit_test(test_every_value_survives_a_round_trip),
        cmocka_unit_test(test_f16_rounds_to_nearest_even),
        cmocka_unit_test(test_bf16_rounds_to_nearest_even),
        cmocka_unit_test(test_too_large_becomes_infinite),
        cmocka_unit_test(test_every_nan_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
