// tiny_llama.h: a small decoder with random weights, as a program and as plain C in double.
#ifndef KZ_TEST_RUNTIME_TINY_LLAMA_H
#define KZ_TEST_RUNTIME_TINY_LLAMA_H

#include "tiny_builder.h"

#define TINY_LAYERS 2
#define TINY_PREFILL 64 // most tokens of prefill_forward
#define TINY_STEP 16    // of kv_forward

typedef struct tiny_llama_shape {
    uint32_t heads, kv_heads, head_dim, ffn, vocabulary, context, sequences, rows;
    uint32_t window; // of the first layer; 0: none
    kz_type weights, cache;
    bool rotates_pairs, has_head_norms, has_prefill;
    bool has_fine_activations; // KZ_A16 for quantised weights, else KZ_A8
    uint64_t seed;
} tiny_llama_shape;

typedef struct tiny_layer {
    uint32_t attention_norm, qkv, q_norm, k_norm, out, ffn_norm, gate_up, down; // tensors
    uint32_t keys, values;                                                      // states
} tiny_layer;

typedef struct tiny_llama {
    tiny_llama_shape shape;
    uint32_t hidden;
    tiny_builder builder;
    uint32_t embedding, inv_freq, final_norm, head;
    tiny_layer layers[TINY_LAYERS];
    uint8_t *bytes; // the program
    size_t count;
} tiny_llama;

// 64-wide, 4 heads of 16, 2 kv heads, 100 words, 96 positions.
tiny_llama_shape tiny_llama_shape_default(void);
// Sections may be set in llama->builder.description between init and finish.
void tiny_llama_init(tiny_llama *llama, const tiny_llama_shape *shape);
// Writes the bytes; ends the test program when the check refuses them.
void tiny_llama_finish(tiny_llama *llama);
void tiny_llama_clear(tiny_llama *llama);

// The reference: hidden rows [count][hidden] after the final norm, and logits [count][vocabulary].
void tiny_llama_forward(const tiny_llama *llama, const int32_t *ids, size_t count,
                        double *out_hidden, double *out_logits);

#endif
