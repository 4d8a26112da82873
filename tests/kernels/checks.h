// checks.h: the checks of one variant against its formula in double, a group of slots a file.
//
// in: a line of kernels.def that this machine can run. out: nothing; a difference fails the running
// cmocka test with the variant's name and the case. Each check covers random and worst-case values,
// sizes around the tiles, guard zones beside every output, and values that are not finite.
#ifndef KZ_TESTS_KERNELS_CHECKS_H
#define KZ_TESTS_KERNELS_CHECKS_H

#include "cases.h"

void check_matmul(const kz_kernel_variant *variant);
void check_attention(const kz_kernel_variant *variant);
// Parts of attention, joined.
void check_attention_parts(const kz_kernel_variant *variant);
void check_attention_full(const kz_kernel_variant *variant);
// Norms, softmax, activations, gates, rotary positions, sums.
void check_rows(const kz_kernel_variant *variant);
// Quantisation, cache rows, embedding: byte for byte.
void check_bytes(const kz_kernel_variant *variant);

// Maps, snake, depthwise sums, LSTM cells, moments of columns.
void check_signal(const kz_kernel_variant *variant);
bool is_signal_slot(kz_kernel_slot slot);

double check_activation(kz_activation activation, double x);

// A block of floats filled with a pattern that no kernel makes.
float *guarded_floats(size_t count);
bool is_guard(float value);

// Fails unless |found - expected| <= tolerance, or both are NaN, or both the same infinity.
void expect_close(const kz_kernel_variant *variant, const char *what, double found, double expected,
                  double tolerance);

#endif
