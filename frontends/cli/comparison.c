// comparison.c: how far two models' logits are apart, and how well they predict.
//
// in:  rows of logits
// out: the share of equal first choices, Kullback-Leibler divergence, largest differences;
//      perplexity
//
// All in double: a mean divergence of 1e-11, that of two programs of one arithmetic, would drown in
// the rounding of floats.
#include "comparison.h"

#include <math.h>

// Of equal ones the first, as the greedy sampler takes it.
static size_t choice_of(const float *logits, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    return best;
}

// The largest is taken out of the sum, else exp may overflow.
static double log_sum(const float *logits, size_t count, double largest) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += exp(logits[i] - largest);
    }
    return largest + log(sum);
}

// sum p (log p - log q) with p of the reference. With log p = r - R and log q = l - L it is the
// mean of r - l under p, less R - L.
static double divergence_of(const float *logits, double largest, const float *reference,
                            double largest_reference, size_t count) {
    double weights = 0, weighted = 0;
    for (size_t i = 0; i < count; i++) {
        const double weight = exp(reference[i] - largest_reference);
        weights += weight;
        weighted += weight * ((double)reference[i] - logits[i]);
    }
    const double divergence =
        weighted / weights - (largest_reference + log(weights)) + log_sum(logits, count, largest);
    // Never below 0 but by rounding.
    return divergence > 0 ? divergence : 0;
}

static void add_differences(cli_comparison *comparison, const float *logits, const float *reference,
                            size_t count) {
    double difference = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        difference = fmax(difference, fabs((double)logits[i] - reference[i]));
        largest = fmax(largest, fabs((double)reference[i]));
    }
    comparison->largest_difference = fmax(comparison->largest_difference, difference);
    // A row of zeros has no scale: any difference from it is infinitely large.
    if (difference > 0) {
        comparison->largest_relative = fmax(comparison->largest_relative, difference / largest);
    }
}

void cli_comparison_add(cli_comparison *comparison, const float *logits, const float *reference,
                        size_t count) {
    const size_t choice = choice_of(logits, count), expected = choice_of(reference, count);
    const double divergence =
        divergence_of(logits, logits[choice], reference, reference[expected], count);
    comparison->positions++;
    comparison->equal_choices += choice == expected;
    comparison->divergence += divergence;
    comparison->largest_divergence = fmax(comparison->largest_divergence, divergence);
    add_differences(comparison, logits, reference, count);
}

void cli_likelihood_add(cli_likelihood *likelihood, const float *logits, size_t count,
                        size_t next) {
    likelihood->negative_log +=
        log_sum(logits, count, logits[choice_of(logits, count)]) - logits[next];
    likelihood->tokens++;
}

double cli_perplexity(const cli_likelihood *likelihood) {
    return exp(likelihood->negative_log / (double)likelihood->tokens);
}

bool cli_is_finite_row(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
    }
    return true;
}
