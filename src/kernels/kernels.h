// kernels.h: the table of kernels: pure functions over pointers, strides and ranges.
//
// A kernel knows layouts (format/layout.h, format/quant.h), not programs. It does not allocate,
// lock, read the system or keep state; scratch is given. Work is cut by the caller: every kernel
// takes a range, and the result of an element never depends on how the range was cut. For up to
// KZ_EXACT_TOKENS tokens in a call it does not depend on their number either (sums run over k in
// one fixed order); bulk variants may round otherwise.
//
// kernels.def lists all variants, oldest instruction set first; kz_kernels_select fills a table for
// a level, later lines overriding earlier ones. A slot's reference is plain C and always there.
#ifndef KZ_KERNELS_KERNELS_H
#define KZ_KERNELS_KERNELS_H

#include "base/cpu.h"
#include "format/program.h"

#define KZ_EXACT_TOKENS 16

// out[t][n] = activation(sum_k x[t][k] * w[n][k] + bias[n]) + residual[t][n]
// Weights are KZ_TILE16 panels. `x` is f32 for F32, F16 and BF16 weights, KZ_A8 rows for quantised
// ones. Rows beyond `rows` in the last panel are not written.
//
// Integer products of a block of 32 are exact; a block's product is scaled and added in f32.
typedef struct kz_matmul {
    const void *x;          // [T] rows of K
    size_t x_stride;        // bytes from one token to the next
    const void *weights;    // [ceil(N / 16)] panels (format/layout.h)
    size_t columns;         // K, unpadded
    size_t rows;            // N
    const float *bias;      // [N] or NULL
    const float *residual;  // NULL or [T] rows
    size_t residual_stride; // bytes
    float *out;             // [T] rows of N; may be the residual
    size_t out_stride;      // bytes
    kz_activation activation;
} kz_matmul;
// Computes panels [panel, panel_end), 16 output columns each, for tokens [token, token_end).
typedef void (*kz_matmul_kernel)(const kz_matmul *matmul, size_t panel, size_t panel_end,
                                 size_t token, size_t token_end);

// f32 x [columns] -> one KZ_A8 row (format/quant.h), padding included: scale = largest magnitude of
// the block / 127, q = x / scale to the nearest even. A value that is not finite makes its block's
// scale NaN, so that it shows in the result.
// quantise_a16 makes a KZ_A16 row in the same way, its second half of what the first leaves.
typedef void (*kz_quantise_kernel)(const float *x, size_t columns, void *out_row);
// Row `row` of a TILE16 tensor as floats times `scale`, into out [columns].
typedef void (*kz_embed_kernel)(const void *weights, size_t columns, size_t row, float scale,
                                float *out);
// One row: out[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i] (Zhang and Sennrich, "Root Mean
// Square Layer Normalization", 2019). All arrays have `columns` elements.
typedef void (*kz_rms_norm_kernel)(const float *x, const float *weight, size_t columns,
                                   float epsilon, float *out);
// One row: out[i] = (x[i] - mean(x)) / sqrt(variance(x) + epsilon) * weight[i] + bias[i], the
// variance over all elements (Ba, Kiros and Hinton, "Layer Normalization", 2016).
typedef void (*kz_layer_norm_kernel)(const float *x, const float *weight, const float *bias,
                                     size_t columns, float epsilon, float *out);
// Elementwise; `out` may be an input's own memory, here and for the two below.
typedef void (*kz_add_kernel)(const float *a, const float *b, size_t count, float *out);
// out[i] = activation(x[i]); the slot says which (kz_activation in format/program.h).
typedef void (*kz_activate_kernel)(const float *x, size_t count, float *out);
// out[i] = activation(gate[i]) * up[i]
typedef void (*kz_gate_kernel)(const float *gate, const float *up, size_t count, float *out);
// In place softmax of scale * x[0..count), scale > 0. Entries of -inf become 0, a row of nothing
// else becomes zeros.
typedef void (*kz_softmax_kernel)(float *x, size_t count, float scale);
// Rotates the first `rotary` elements of one head in place; cosine and sine are [rotary / 2]. Pair
// i is (i, i + rotary / 2) in rope_split, as in Hugging Face's Llama, and (2i, 2i + 1) in
// rope_pairs, as in Su et al., "RoFormer", 2021: (a, b) becomes (a cos - b sin, b cos + a sin).
typedef void (*kz_rope_kernel)(float *head, size_t rotary, const float *cosine, const float *sine);
// One row of heads, x [heads][head_dim], into a cache row of the kernel's element type (kz_state in
// format/program.h). An i8 head gets a scale of its own, NaN when a value is not finite.
typedef void (*kz_cache_write_kernel)(const float *x, size_t heads, size_t head_dim, void *out_row);

// Attention over cache rows. For token t and head h, with g = heads / kv_heads:
//   out[t][h] = sum_i softmax_i(scale * q[t][h] . keys[row_i][h / g]) * values[row_i][h / g]
// over i in [max(0, position - window + 1), position], row_i = row_table[sequence][i].
//
// The rows are cut into parts at fixed places, so that threads can share a long context. A part
// gives its sums and total relative to exp(its own largest score); parts are joined in ascending
// order (as Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018, join a row
// at a time). Who does which part does not show in the result.
typedef struct kz_attention {
    const float *q;               // [T] rows of [heads][head_dim]
    size_t q_stride;              // bytes from token to token
    const uint8_t *keys, *values; // state memory
    size_t row_bytes, head_bytes; // of keys and of values alike
    size_t heads, kv_heads, head_dim;
    const int32_t *row_table; // [sequences][row_table_columns]
    size_t row_table_columns;
    const int32_t *sequences, *positions; // [T] each
    size_t window;                        // 0: no limit
    float scale;                          // as a rule 1 / sqrt(head_dim)
    float *out;                           // [T] rows of [heads][head_dim], apart from q
    size_t out_stride;                    // bytes
} kz_attention;
// Computes the query heads of kv head `kv_head` for tokens [token, token_end). `scratch` is
// KZ_KERNEL_SCRATCH_BYTES, aligned to 64.
#define KZ_KERNEL_SCRATCH_BYTES ((size_t)512 * 1024)
typedef void (*kz_attention_kernel)(const kz_attention *attention, size_t kv_head, size_t token,
                                    size_t token_end, void *scratch);

// Part p is of the rows i from p * kz_attention_part_rows on. Half as many of long heads: a bulk
// kernel's floats of a part are to stay in the second cache.
#define KZ_PART_ROWS 256
static inline size_t kz_attention_part_rows(size_t head_dim) {
    return head_dim > 128 ? KZ_PART_ROWS / 2 : KZ_PART_ROWS;
}

typedef struct kz_part_range {
    size_t first, end;
} kz_part_range;

// The parts in which the token sees rows: one at least.
static inline kz_part_range kz_attention_parts(const kz_attention *attention, size_t token) {
    const size_t rows = kz_attention_part_rows(attention->head_dim);
    const size_t end = (size_t)attention->positions[token] + 1;
    const size_t window = attention->window;
    const size_t first = window > 0 && end > window ? end - window : 0;
    return (kz_part_range){first / rows, (end + rows - 1) / rows};
}

// Of the weights of one query head in a part, relative to exp(largest).
typedef struct kz_part_softmax {
    float largest, total;
} kz_part_softmax;

// Floats of one part of one token and kv head: sums [heads / kv_heads][head_dim], then
// kz_part_softmax [heads / kv_heads].
static inline size_t kz_attention_part_floats(const kz_attention *attention) {
    return attention->heads / attention->kv_heads * (attention->head_dim + 2);
}

// Part `part` of kv heads [kv_head, kv_head_end), one after another in `out_parts`. Heads of a row
// lie side by side in the cache: more of them at once read it as a stream.
typedef void (*kz_attention_part_kernel)(const kz_attention *attention, size_t token, size_t part,
                                         size_t kv_head, size_t kv_head_end, float *out_parts);
// `parts`: that of the kv head in the first part that the token sees; the next is kv_heads times
// kz_attention_part_floats further. Writes what the kz_attention_kernel of the same level writes,
// to the bit.
typedef void (*kz_attention_join_kernel)(const kz_attention *attention, size_t kv_head,
                                         size_t token, size_t part_count, const float *parts);

// Every token sees every token (an encoder): head `head`, query tokens [token, token_end). As many
// key and value heads as query heads.
typedef struct kz_attention_full {
    const float *q, *k, *v;              // [tokens] rows of [heads][head_dim]
    size_t q_stride, k_stride, v_stride; // bytes
    size_t tokens, head_dim;
    float scale;
    float *out;
    size_t out_stride;
} kz_attention_full;
typedef void (*kz_attention_full_kernel)(const kz_attention_full *attention, size_t head,
                                         size_t token, size_t token_end, void *scratch);

// --- Signals ---
// out[i] = function(x[i]) as kz_map says; `out` may be x.
typedef void (*kz_map_kernel)(kz_map function, float a, float b, const float *x, size_t count,
                              float *out);
// out[i] = x[i] + sin(alpha[i] * x[i])^2 * beta[i] (Ziyin, Hartwig and Ueda, "Neural Networks Fail
// to Learn Periodic Functions", 2020, with beta for 1 / a); `out` may be x.
typedef void (*kz_snake_kernel)(const float *x, const float *alpha, const float *beta, size_t count,
                                float *out);
// out[i] = x[i] * (1 + gamma[i]) + beta[i]; `out` may be x.
typedef void (*kz_scale_shift_kernel)(const float *x, const float *gamma, const float *beta,
                                      size_t count, float *out);
// out[i] = (x[i] - mean[i]) * factor[i]; `out` may be x.
typedef void (*kz_centre_kernel)(const float *x, const float *mean, const float *factor,
                                 size_t count, float *out);
// out[i] = sqrt(a[i]^2 + b[i]^2 + epsilon)
typedef void (*kz_magnitude_kernel)(const float *a, const float *b, float epsilon, size_t count,
                                    float *out);
// out[c] = bias[c] + sum over j < taps, rising, of weights[j][c] * x[j][c]; rows of x lie `stride`
// bytes apart, those of weights `columns` floats. `bias` NULL: zeros.
typedef void (*kz_depthwise_kernel)(const float *x, size_t stride, const float *weights,
                                    const float *bias, size_t taps, size_t columns, float *out);
// One step of Hochreiter and Schmidhuber's "Long Short-Term Memory", 1997, with a forget gate;
// gates [count] each, before their sigmoids (cell: tanh): c = f * c + i * g in place, h = o *
// tanh(c).
typedef void (*kz_lstm_cell_kernel)(const float *input, const float *forget, const float *cell,
                                    const float *output, size_t count, float *c, float *out_h);
// Mean and variance (over all) of each of `columns` <= 64 columns of `rows` >= 1 rows, `stride`
// bytes apart; the sums run over the rows in order, in double or in blocks that are joined in
// double.
typedef void (*kz_column_moments_kernel)(const float *x, size_t stride, size_t rows, size_t columns,
                                         float *out_mean, float *out_variance);

// X(slot, type). The names say activations and weights (matmul), or the type of table or cache.
// matmul_bulk_* and attention_bulk_* serve calls of more than KZ_EXACT_TOKENS tokens.
#define KZ_KERNEL_SLOT_LIST(X)                      \
    X(matmul_f32_f32, kz_matmul_kernel)             \
    X(matmul_f32_f16, kz_matmul_kernel)             \
    X(matmul_f32_bf16, kz_matmul_kernel)            \
    X(matmul_a8_q8_0, kz_matmul_kernel)             \
    X(matmul_a8_q4_0, kz_matmul_kernel)             \
    X(matmul_a8_q4_1, kz_matmul_kernel)             \
    X(matmul_a8_q5_0, kz_matmul_kernel)             \
    X(matmul_a8_q5_1, kz_matmul_kernel)             \
    X(matmul_a8_iq4_nl, kz_matmul_kernel)           \
    X(matmul_a8_q4_k, kz_matmul_kernel)             \
    X(matmul_a8_q5_k, kz_matmul_kernel)             \
    X(matmul_a8_q6_k, kz_matmul_kernel)             \
    X(matmul_bulk_f32_f32, kz_matmul_kernel)        \
    X(matmul_bulk_f32_f16, kz_matmul_kernel)        \
    X(matmul_bulk_f32_bf16, kz_matmul_kernel)       \
    X(matmul_bulk_a8_q8_0, kz_matmul_kernel)        \
    X(matmul_bulk_a8_q4_0, kz_matmul_kernel)        \
    X(matmul_bulk_a8_q4_1, kz_matmul_kernel)        \
    X(matmul_bulk_a8_q5_0, kz_matmul_kernel)        \
    X(matmul_bulk_a8_q5_1, kz_matmul_kernel)        \
    X(matmul_bulk_a8_iq4_nl, kz_matmul_kernel)      \
    X(matmul_bulk_a8_q4_k, kz_matmul_kernel)        \
    X(matmul_bulk_a8_q5_k, kz_matmul_kernel)        \
    X(matmul_bulk_a8_q6_k, kz_matmul_kernel)        \
    X(quantise_a8, kz_quantise_kernel)              \
    X(quantise_a16, kz_quantise_kernel)             \
    X(embed_f32, kz_embed_kernel)                   \
    X(embed_f16, kz_embed_kernel)                   \
    X(embed_bf16, kz_embed_kernel)                  \
    X(embed_q8_0, kz_embed_kernel)                  \
    X(embed_q4_0, kz_embed_kernel)                  \
    X(embed_q4_1, kz_embed_kernel)                  \
    X(embed_q5_0, kz_embed_kernel)                  \
    X(embed_q5_1, kz_embed_kernel)                  \
    X(embed_iq4_nl, kz_embed_kernel)                \
    X(embed_q4_k, kz_embed_kernel)                  \
    X(embed_q5_k, kz_embed_kernel)                  \
    X(embed_q6_k, kz_embed_kernel)                  \
    X(rms_norm, kz_rms_norm_kernel)                 \
    X(layer_norm, kz_layer_norm_kernel)             \
    X(add, kz_add_kernel)                           \
    X(gelu, kz_activate_kernel)                     \
    X(gelu_tanh, kz_activate_kernel)                \
    X(silu, kz_activate_kernel)                     \
    X(gate_gelu_tanh, kz_gate_kernel)               \
    X(gate_silu, kz_gate_kernel)                    \
    X(softmax, kz_softmax_kernel)                   \
    X(rope_split, kz_rope_kernel)                   \
    X(rope_pairs, kz_rope_kernel)                   \
    X(cache_write_f32, kz_cache_write_kernel)       \
    X(cache_write_f16, kz_cache_write_kernel)       \
    X(cache_write_i8, kz_cache_write_kernel)        \
    X(attention_f32, kz_attention_kernel)           \
    X(attention_f16, kz_attention_kernel)           \
    X(attention_i8, kz_attention_kernel)            \
    X(attention_part_f32, kz_attention_part_kernel) \
    X(attention_part_f16, kz_attention_part_kernel) \
    X(attention_part_i8, kz_attention_part_kernel)  \
    X(attention_join, kz_attention_join_kernel)     \
    X(attention_bulk_f32, kz_attention_kernel)      \
    X(attention_bulk_f16, kz_attention_kernel)      \
    X(attention_bulk_i8, kz_attention_kernel)       \
    X(attention_full, kz_attention_full_kernel)     \
    X(mul, kz_add_kernel)                           \
    X(map, kz_map_kernel)                           \
    X(snake, kz_snake_kernel)                       \
    X(scale_shift, kz_scale_shift_kernel)           \
    X(centre, kz_centre_kernel)                     \
    X(magnitude, kz_magnitude_kernel)               \
    X(depthwise, kz_depthwise_kernel)               \
    X(lstm_cell, kz_lstm_cell_kernel)               \
    X(column_moments, kz_column_moments_kernel)

// One function for each slot, none NULL. Written once, then only read: any thread may use it.
typedef struct kz_kernels {
    kz_cpu_level level; // as chosen
#define KZ_KERNEL_MEMBER(slot, type) type slot;
    KZ_KERNEL_SLOT_LIST(KZ_KERNEL_MEMBER)
#undef KZ_KERNEL_MEMBER
    // Names of the chosen variants, as "kz_matmul_a8_q4_0__avx512vnni", in slot order.
    const char *names[96];
} kz_kernels;

// Fills the table for `level` or less: the best variants that are not above it in its family.
void kz_kernels_select(kz_cpu_level level, kz_kernels *out_kernels);

// The level to use: the machine's best, capped by the environment variable KAZEIA_CPU. BAD_ARGUMENT
// for a name that is none of the levels, UNSUPPORTED for a level that this machine lacks; both
// sentences list what it has.
KAZEIA_MUST_CHECK kazeia_status kz_kernels_choose_level(kz_cpu_level *out_level);

#endif
