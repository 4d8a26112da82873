// execute.h: what the ops see of a running call. Inside runtime/ only.
//
//   in   an instruction whose operands are resolved to pointers, strides and sizes
//   out  the operand that format/ops.def names as written
//
// Ops return nothing: shapes, types and every i32 element were checked before (format/check.h, and
// kz_context_run for each call), and a cancellation leaves the output half written.
#ifndef KZ_RUNTIME_EXECUTE_H
#define KZ_RUNTIME_EXECUTE_H

#include "runtime/context.h"

// A value resolved for the present symbols. `rows` x `columns` of `type`, `stride` bytes from row
// to row; one-dimensional values have columns = 1 and rows = their length when they are i32, and
// are one row otherwise.
typedef struct kz_operand {
    void *bytes;
    size_t rows, columns, stride;
    kz_type type;
    uint32_t tensor_index; // weights: which one, so that ops tell them apart
    const kz_state *state; // states
    uint64_t limit;        // i32 inputs: every element is below it
} kz_operand;

// Cosines and sines of one call's positions for one inv_freq tensor: entry [t][i] is that of
// positions[t] * inv_freq[i]. Filled by the first ROPE of a call and read by all later ones, since
// every layer rotates by the same angles.
typedef struct kz_rotation {
    uint32_t tensor;          // which inv_freq
    const int32_t *positions; // those that it was filled for in this call; NULL: none yet
    size_t half;              // rotary / 2
    float *cosine;            // [token limit][half]
    float *sine;              // [token limit][half]
} kz_rotation;

// What all ops of one call share.
typedef struct kz_call {
    kz_pool *pool;
    const kz_kernels *kernels;
    kz_priority priority;
    const atomic_bool *cancel; // seen between chunks
    kz_rotation *rotations;    // [rotation_count], the context's
    size_t rotation_count;
    float *parts;       // [part_floats], the context's: parts of attention until they are joined
    size_t part_floats; // enough for one token with as many rows as fit the cache
} kz_call;

// `operands` has one entry for each operand of the op, NULL for an absent one. Runs on the calling
// thread and cuts its work into chunks for the pool where that pays.
typedef void (*kz_op_function)(kz_call *call, const kz_instruction *instruction,
                               kz_operand *const *operands);

// The function of an op; never NULL for an op of ops.def.
kz_op_function kz_op_function_find(kz_op op);

// kz_pool_run with the call's pool, priority and cancel flag.
void kz_call_run(kz_call *call, kz_chunk_function function, void *job, size_t chunk_count,
                 size_t grain);

// The kernel of an activation, NULL for none.
kz_activate_kernel kz_op_activate_kernel(const kz_kernels *kernels, kz_activation activation);

// The kernel that multiplies weights of `type` exactly: KZ_EXACT_TOKENS tokens at most.
kz_matmul_kernel kz_op_exact_matmul(const kz_kernels *kernels, kz_type type);
// The same for calls of more than KZ_EXACT_TOKENS rows.
kz_matmul_kernel kz_op_bulk_matmul(const kz_kernels *kernels, kz_type type);

// One for each line of format/ops.def, which has shapes and attributes; the formulas are those of
// the kernels (kernels/kernels.h).
void kz_op_embed(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_add(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_rms_norm(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_layer_norm(kz_call *call, const kz_instruction *instruction,
                      kz_operand *const *operands);
void kz_op_head_rms_norm(kz_call *call, const kz_instruction *instruction,
                         kz_operand *const *operands);
void kz_op_quantise(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_linear(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_rope(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_cache_write(kz_call *call, const kz_instruction *instruction,
                       kz_operand *const *operands);
void kz_op_attention(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_attention_full(kz_call *call, const kz_instruction *instruction,
                          kz_operand *const *operands);
void kz_op_unfold(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_activate(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_gate(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_map(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_mul(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_snake(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_join_tail(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_fold(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_depthwise(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_gather(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_lstm(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_column_norm(kz_call *call, const kz_instruction *instruction,
                       kz_operand *const *operands);
void kz_op_scale_shift(kz_call *call, const kz_instruction *instruction,
                       kz_operand *const *operands);
void kz_op_column_pool(kz_call *call, const kz_instruction *instruction,
                       kz_operand *const *operands);
void kz_op_column_softmax(kz_call *call, const kz_instruction *instruction,
                          kz_operand *const *operands);
void kz_op_copy(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_pad(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_magnitude(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_convolve(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_polar(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_sines(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);
void kz_op_column_fit(kz_call *call, const kz_instruction *instruction,
                      kz_operand *const *operands);
void kz_op_adapt(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands);

#endif
