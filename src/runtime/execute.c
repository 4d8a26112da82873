// execute.c: from op numbers to functions.
//   in   an instruction's op
//   out  the function that does it
#include "runtime/execute.h"

static const kz_op_function op_functions[] = {
    [KZ_OP_EMBED] = kz_op_embed,
    [KZ_OP_ADD] = kz_op_add,
    [KZ_OP_RMS_NORM] = kz_op_rms_norm,
    [KZ_OP_LAYER_NORM] = kz_op_layer_norm,
    [KZ_OP_HEAD_RMS_NORM] = kz_op_head_rms_norm,
    [KZ_OP_QUANTISE] = kz_op_quantise,
    [KZ_OP_LINEAR] = kz_op_linear,
    [KZ_OP_ROPE] = kz_op_rope,
    [KZ_OP_CACHE_WRITE] = kz_op_cache_write,
    [KZ_OP_ATTENTION] = kz_op_attention,
    [KZ_OP_ATTENTION_FULL] = kz_op_attention_full,
    [KZ_OP_UNFOLD] = kz_op_unfold,
    [KZ_OP_ACTIVATE] = kz_op_activate,
    [KZ_OP_GATE] = kz_op_gate,
    [KZ_OP_MAP] = kz_op_map,
    [KZ_OP_MUL] = kz_op_mul,
    [KZ_OP_SNAKE] = kz_op_snake,
    [KZ_OP_JOIN_TAIL] = kz_op_join_tail,
    [KZ_OP_FOLD] = kz_op_fold,
    [KZ_OP_DEPTHWISE] = kz_op_depthwise,
    [KZ_OP_GATHER] = kz_op_gather,
    [KZ_OP_LSTM] = kz_op_lstm,
    [KZ_OP_COLUMN_NORM] = kz_op_column_norm,
    [KZ_OP_SCALE_SHIFT] = kz_op_scale_shift,
    [KZ_OP_COLUMN_POOL] = kz_op_column_pool,
    [KZ_OP_COLUMN_SOFTMAX] = kz_op_column_softmax,
    [KZ_OP_COPY] = kz_op_copy,
    [KZ_OP_PAD] = kz_op_pad,
    [KZ_OP_MAGNITUDE] = kz_op_magnitude,
    [KZ_OP_CONVOLVE] = kz_op_convolve,
    [KZ_OP_POLAR] = kz_op_polar,
    [KZ_OP_SINES] = kz_op_sines,
    [KZ_OP_COLUMN_FIT] = kz_op_column_fit,
    [KZ_OP_ADAPT] = kz_op_adapt,
};

// The op is one of ops.def: kz_check_description has refused every other.
kz_op_function kz_op_function_find(kz_op op) {
    return op_functions[op];
}

void kz_call_run(kz_call *call, kz_chunk_function function, void *job, size_t chunk_count,
                 size_t grain) {
    kz_pool_run(call->pool, call->priority, call->cancel, function, job, chunk_count, grain);
}
