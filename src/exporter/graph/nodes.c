// nodes.c: one function for each op: its operands become an instruction. nodes_signal.c has those
// that see a signal along its rows.
//   in   value, weight and state numbers
//   out  an instruction at the end of the method, and the value that it writes
#include "exporter/graph/nodes.h"

void kz_node_add_instruction(kz_graph_method *method, const kz_instruction *instruction) {
    if (!method || method->graph->status != KAZEIA_OK) {
        return;
    }
    kz_graph *graph = method->graph;
    kz_graph_note(graph,
                  kz_bump_grow(&graph->memory, method->instruction_count, sizeof *instruction,
                               &method->instruction_capacity, (void **)&method->instructions));
    if (graph->status == KAZEIA_OK) {
        method->instructions[method->instruction_count++] = *instruction;
    }
}

// 0 after a failure: the graph's status says why, and no shape of it is used.
static uint32_t weight_rows(const kz_graph_method *method, uint32_t weight) {
    return !method || weight >= method->graph->weight_count
               ? 0
               : (uint32_t)method->graph->weights[weight].rows;
}

static uint32_t weight_columns(const kz_graph_method *method, uint32_t weight) {
    return !method || weight >= method->graph->weight_count
               ? 0
               : (uint32_t)method->graph->weights[weight].columns;
}

uint32_t kz_node_out_or_rows(kz_graph_method *method, uint32_t out, uint32_t x, uint32_t columns) {
    return out != KZ_NO_VALUE ? out : kz_method_rows(method, kz_method_rows_of(method, x), columns);
}

uint32_t kz_node_embed(kz_graph_method *method, uint32_t tokens, uint32_t table, float scale) {
    const uint32_t out =
        kz_method_rows(method, kz_method_rows_of(method, tokens), weight_columns(method, table));
    kz_node_add_instruction(
        method, &(kz_instruction){.op = KZ_OP_EMBED,
                                  .operands = {tokens, kz_method_weight(method, table), out},
                                  .floats = {scale}});
    return out;
}

uint32_t kz_node_add(kz_graph_method *method, uint32_t a, uint32_t b, uint32_t out) {
    // `out` may be a or b: ADD works in place (ops.def).
    const uint32_t result = kz_node_out_or_rows(method, out, a, kz_method_columns_of(method, a));
    kz_node_add_instruction(method, &(kz_instruction){.op = KZ_OP_ADD, .operands = {a, b, result}});
    return result;
}

uint32_t kz_node_rms_norm(kz_graph_method *method, uint32_t x, uint32_t weight, float epsilon,
                          uint32_t out) {
    const uint32_t result = kz_node_out_or_rows(method, out, x, kz_method_columns_of(method, x));
    kz_node_add_instruction(
        method, &(kz_instruction){.op = KZ_OP_RMS_NORM,
                                  .operands = {x, kz_method_weight(method, weight), result},
                                  .floats = {epsilon}});
    return result;
}

void kz_node_head_rms_norm(kz_graph_method *method, uint32_t x, uint32_t weight, uint32_t head_dim,
                           float epsilon, uint32_t out) {
    // `out` is given: callers lay q and k beside each other.
    kz_node_add_instruction(
        method, &(kz_instruction){.op = KZ_OP_HEAD_RMS_NORM,
                                  .operands = {x, kz_method_weight(method, weight), out},
                                  .ints = {(int32_t)head_dim},
                                  .floats = {epsilon}});
}

uint32_t kz_node_layer_norm(kz_graph_method *method, uint32_t x, uint32_t weight, uint32_t bias,
                            float epsilon, uint32_t out) {
    const uint32_t result = kz_node_out_or_rows(method, out, x, kz_method_columns_of(method, x));
    kz_node_add_instruction(method,
                            &(kz_instruction){.op = KZ_OP_LAYER_NORM,
                                              .operands = {x, kz_method_weight(method, weight),
                                                           kz_method_weight(method, bias), result},
                                              .floats = {epsilon}});
    return result;
}

uint32_t kz_node_linear(kz_graph_method *method, uint32_t x, uint32_t weight,
                        const kz_linear_options *options) {
    const uint32_t out = kz_node_out_or_rows(method, options->out, x, weight_rows(method, weight));
    kz_node_add_instruction(method,
                            &(kz_instruction){.op = KZ_OP_LINEAR,
                                              .operands = {x, kz_method_weight(method, weight),
                                                           kz_method_weight(method, options->bias),
                                                           options->residual, out},
                                              .ints = {(int32_t)options->activation}});
    return out;
}

void kz_node_rope(kz_graph_method *method, uint32_t x, uint32_t positions, uint32_t inv_freq,
                  uint32_t head_dim, uint32_t rotary, bool is_interleaved) {
    kz_node_add_instruction(
        method, &(kz_instruction){.op = KZ_OP_ROPE,
                                  .operands = {x, positions, kz_method_weight(method, inv_freq)},
                                  .ints = {(int32_t)head_dim, (int32_t)rotary, is_interleaved}});
}

void kz_node_cache_write(kz_graph_method *method, uint32_t x, uint32_t table, uint32_t sequences,
                         uint32_t positions, uint32_t state) {
    kz_node_add_instruction(method,
                            &(kz_instruction){.op = KZ_OP_CACHE_WRITE,
                                              .operands = {x, table, sequences, positions,
                                                           kz_method_state(method, state)}});
}

uint32_t kz_node_attention(kz_graph_method *method, uint32_t q,
                           const kz_attention_options *options) {
    const uint32_t out =
        kz_method_rows(method, kz_method_rows_of(method, q), kz_method_columns_of(method, q));
    kz_node_add_instruction(
        method,
        &(kz_instruction){.op = KZ_OP_ATTENTION,
                          .operands = {q, kz_method_state(method, options->keys),
                                       kz_method_state(method, options->values), options->table,
                                       options->sequences, options->positions, out},
                          .ints = {(int32_t)options->heads, (int32_t)options->window},
                          .floats = {options->scale}});
    return out;
}

uint32_t kz_node_attention_full(kz_graph_method *method, uint32_t q, uint32_t k, uint32_t v,
                                uint32_t heads, float scale) {
    const uint32_t out =
        kz_method_rows(method, kz_method_rows_of(method, q), kz_method_columns_of(method, q));
    kz_node_add_instruction(method, &(kz_instruction){.op = KZ_OP_ATTENTION_FULL,
                                                      .operands = {q, k, v, out},
                                                      .ints = {(int32_t)heads},
                                                      .floats = {scale}});
    return out;
}

uint32_t kz_node_gate(kz_graph_method *method, uint32_t x, kz_activation activation) {
    const uint32_t out =
        kz_method_rows(method, kz_method_rows_of(method, x), kz_method_columns_of(method, x) / 2);
    kz_node_add_instruction(
        method,
        &(kz_instruction){.op = KZ_OP_GATE, .operands = {x, out}, .ints = {(int32_t)activation}});
    return out;
}
