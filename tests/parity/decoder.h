// decoder.h: what the parity tests of language models share.
//
// All functions end the running test with a message when a figure is worse than it may be.
#ifndef KZ_TEST_PARITY_DECODER_H
#define KZ_TEST_PARITY_DECODER_H

#include "kazeia/chat.h"
#include "parity.h"

// A program with a stage that measures.
typedef struct decoder_model {
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_stage *chat;
} decoder_model;

// `cpu`: as for parity_runtime.
decoder_model decoder_open(const char *path, const char *cpu);
void decoder_close(decoder_model *model);
// Logits [count - first][vocabulary] of positions first to count - 1; free() them.
float *decoder_logits(const decoder_model *model, const int32_t *ids, size_t count, size_t first,
                      size_t vocabulary);
// The tokens of highest logit after the sequence `key` of the file `ids`, one after the other, are
// those of the file `greedy`.
void decoder_check_greedy(const decoder_model *model, const char *ids, const char *greedy,
                          const char *key);

typedef struct decoder_agreement {
    double top1;       // share of rows
    double divergence; // mean Kullback-Leibler divergence in nats
} decoder_agreement;
decoder_agreement decoder_compare(const float *values, const parity_rows *expected);

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
