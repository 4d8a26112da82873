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
};

// The op is one of ops.def: kz_check_description has refused every other.
kz_op_function kz_op_function_find(kz_op op) {
    return op_functions[op];
}

void kz_call_run(kz_call *call, kz_chunk_function function, void *job, size_t chunk_count,
                 size_t grain) {
    kz_pool_run(call->pool, call->priority, call->cancel, function, job, chunk_count, grain);
}
