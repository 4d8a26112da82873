// decoder.h: what the parity tests of language models share.
//
// All functions end the running test with a message when a figure is worse than it may be.
#ifndef KZ_TEST_PARITY_DECODER_H
#define KZ_TEST_PARITY_DECODER_H

#include <stddef.h>

typedef struct decoder_case {
    const char *source;    // a checkpoint
    const char *ids, *key; // a file of sequences, and the name of one
    const char *expected;  // logits of every position of it
    const char *greedy;    // NULL, or 32 tokens each after the sequences "7" and "64"
} decoder_case;

// Exported with float32 weights and cache, in both modes, by the reference kernels and by the best:
// the same logits but for rounding, and the very same tokens.
void decoder_check(const decoder_case *cases, size_t count);

typedef struct decoder_quantised {
    const char *source, *ids, *key, *expected;
    const char *weights, *kv; // as for the export
    double least_top1;        // share of positions whose highest logit is the expected one
    double most_divergence;   // mean Kullback-Leibler divergence in nats
} decoder_quantised;

// Teacher-forced: rounded weights choose other tokens sooner or later.
void decoder_check_quantised(const decoder_quantised *cases, size_t count);

#endif
