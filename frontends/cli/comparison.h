// comparison.h: how far two models' logits are apart, and how well they predict.
//
// in:  rows of logits
// out: the share of equal first choices, Kullback-Leibler divergence, largest differences;
//      perplexity
#ifndef CLI_COMPARISON_H
#define CLI_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

// Begins with zeros.
typedef struct cli_comparison {
    size_t positions, equal_choices;
    double divergence;         // sum of KL(reference || model), in nats
    double largest_divergence; // of one position
    double largest_difference; // of two logits
    double largest_relative;   // the same as a share of the largest logit of its reference row
} cli_comparison;

// Adds one row, [count] both, of finite numbers. Computes in double.
void cli_comparison_add(cli_comparison *comparison, const float *logits, const float *reference,
                        size_t count);

// Begins with zeros.
typedef struct cli_likelihood {
    double negative_log; // sum over tokens, in nats
    size_t tokens;
} cli_likelihood;

// Adds how probable `logits` [count] held token `next`, below count.
void cli_likelihood_add(cli_likelihood *likelihood, const float *logits, size_t count, size_t next);
// e to the mean; NaN when there was no token.
double cli_perplexity(const cli_likelihood *likelihood);

bool cli_is_finite_row(const float *values, size_t count);

#endif
