// qwen3_tts_stack.c: the transformer block that talker, code predictor and codec share.
//   in   tensors of the layers, x [tokens][hidden]
//   out  weights and caches; instructions that add each layer's result to x
// decoder.c has the same block for language models, with names and differences of its own: theirs
// come from many containers, these from one. LayerScale multiplies the rows of the matrix in front
// of it when the program is written, so that running it costs nothing.
#include <math.h>
#include <string.h>

#include "exporter/models/qwen3_tts.h"
#include "exporter/models/rotation.h"

#define SEQUENCE_LIMIT 1u

// --- Weights ------------------------------------------------------------------------------------

void kz_tts_mark_odd(kz_tts *tts, uint32_t weight) {
    if (weight < tts->graph->weight_count && tts->graph->weights[weight].columns % 32 != 0) {
        kz_model_mark_precise(tts->graph, weight);
    }
}

static void set_factors(kz_tts *tts, uint32_t weight, const float *factors) {
    if (weight < tts->graph->weight_count) {
        tts->graph->weights[weight].factors = factors;
    }
}

uint32_t kz_tts_matrix(kz_tts *tts, const kz_checkpoint *from, const char *name, int64_t rows,
                       int64_t columns, const char *source, const float *factors) {
    const char *sources[] = {source, NULL};
    const uint32_t weight =
        kz_model_matrix(tts->graph, from, name, (uint64_t)rows, (uint64_t)columns, sources);
    kz_tts_mark_odd(tts, weight);
    set_factors(tts, weight, factors);
    return weight;
}

uint32_t kz_tts_vector(kz_tts *tts, const kz_checkpoint *from, const char *name, int64_t count,
                       const char *source) {
    return kz_model_vector(tts->graph, from, name, (uint64_t)count, source);
}

uint32_t kz_tts_convolution(kz_tts *tts, const kz_checkpoint *from, const char *name, int64_t rows,
                            int64_t channels, int64_t kernel, const char *source) {
    const uint32_t weight = kz_model_convolution(tts->graph, from, name, (uint64_t)rows,
                                                 (uint64_t)channels, (uint32_t)kernel, source);
    kz_tts_mark_odd(tts, weight);
    return weight;
}

uint32_t kz_tts_constant(kz_tts *tts, const char *name, uint32_t rank, int64_t rows,
                         int64_t columns, const float *values) {
    kz_graph_weight weight = {.name = name,
                              .rank = rank,
                              .rows = (uint64_t)rows,
                              .columns = (uint64_t)columns,
                              .piece_count = 1};
    // A vector is counted in elements, a table in rows.
    weight.pieces[0] =
        (kz_weight_piece){.constant = values, .row_count = (uint64_t)(rank == 1 ? columns : rows)};
    return kz_graph_add_weight(tts->graph, &weight);
}

float *kz_tts_floats(kz_tts *tts, const kz_checkpoint *from, const char *source, int64_t count) {
    const kz_checkpoint_tensor *tensor = NULL;
    kz_graph *graph = tts->graph;
    if (kz_graph_status(graph) != KAZEIA_OK) {
        return NULL;
    }
    kz_graph_note(graph, kz_checkpoint_require(from, source, 0, NULL, &tensor));
    if (!tensor) {
        return NULL;
    }
    // Tensors lie in one array, so the difference is the index.
    tts->are_read[from == tts->codec][tensor - kz_checkpoint_tensor_at(from, 0)] = true;
    return kz_model_floats(graph, tensor, (uint64_t)count);
}

// --- Layers -------------------------------------------------------------------------------------

// What one layer is read with.
typedef struct layer_site {
    kz_tts *tts;
    const kz_checkpoint *from;
    const kz_tts_stack_shape *shape;
    uint32_t index;
} layer_site;

static const char *source_of(const layer_site *site, const char *ending) {
    return kz_graph_name(site->tts->graph, "%slayers.%u.%s", site->shape->prefix, site->index,
                         ending);
}

static const char *name_of(const layer_site *site, const char *ending) {
    return kz_graph_name(site->tts->graph, "%s.%u.%s", site->shape->name, site->index, ending);
}

static uint32_t norm(const layer_site *site, const char *name, int64_t count, const char *source) {
    return kz_tts_vector(site->tts, site->from, name_of(site, name), count,
                         source_of(site, source));
}

static uint32_t joined(const layer_site *site, const char *name, int64_t rows,
                       const char *const *endings, size_t count) {
    const char *sources[4] = {NULL};
    for (size_t i = 0; i < count; i++) {
        sources[i] = source_of(site, endings[i]);
    }
    const uint32_t weight = kz_model_matrix(site->tts->graph, site->from, name_of(site, name),
                                            (uint64_t)rows, (uint64_t)site->shape->hidden, sources);
    kz_tts_mark_odd(site->tts, weight);
    return weight;
}

static const float *factors_of(const layer_site *site, const char *source) {
    return site->shape->has_factors
               ? kz_tts_floats(site->tts, site->from, source_of(site, source), site->shape->hidden)
               : NULL;
}

static uint32_t cache(const layer_site *site, const char *name) {
    const kz_tts_stack_shape *shape = site->shape;
    return kz_graph_add_state(site->tts->graph,
                              &(kz_state){.name = kz_graph_name(site->tts->graph, "%s.%s.%u",
                                                                shape->name, name, site->index),
                                          .type = shape->kv,
                                          .rows = (uint64_t)shape->cache_rows,
                                          .heads = (uint32_t)shape->kv_heads,
                                          .head_dim = (uint32_t)shape->head_dim});
}

static void add_layer(const layer_site *site, kz_tts_layer *layer) {
    static const char *const qkv[] = {"self_attn.q_proj.weight", "self_attn.k_proj.weight",
                                      "self_attn.v_proj.weight"};
    static const char *const gate_up[] = {"mlp.gate_proj.weight", "mlp.up_proj.weight"};
    const kz_tts_stack_shape *shape = site->shape;
    const int64_t q = shape->heads * shape->head_dim, kv = shape->kv_heads * shape->head_dim;
    layer->attention_norm = norm(site, "attention.norm", shape->hidden, "input_layernorm.weight");
    layer->mlp_norm = norm(site, "mlp.norm", shape->hidden, "post_attention_layernorm.weight");
    if (shape->has_head_norms) {
        layer->q_norm = norm(site, "attention.q_norm", shape->head_dim, "self_attn.q_norm.weight");
        layer->k_norm = norm(site, "attention.k_norm", shape->head_dim, "self_attn.k_norm.weight");
    }
    layer->qkv = joined(site, "attention.qkv", q + 2 * kv, qkv, 3);
    layer->output = kz_tts_matrix(site->tts, site->from, name_of(site, "attention.output"),
                                  shape->hidden, q, source_of(site, "self_attn.o_proj.weight"),
                                  factors_of(site, "self_attn_layer_scale.scale"));
    layer->gate_up = joined(site, "mlp.gate_up", 2 * shape->mlp, gate_up, 2);
    layer->down = kz_tts_matrix(site->tts, site->from, name_of(site, "mlp.down"), shape->hidden,
                                shape->mlp, source_of(site, "mlp.down_proj.weight"),
                                factors_of(site, "mlp_layer_scale.scale"));
    layer->keys = cache(site, "key");
    layer->values = cache(site, "value");
}

void kz_tts_stack_add(kz_tts *tts, const kz_checkpoint *from, const kz_tts_stack_shape *shape,
                      kz_tts_stack *out_stack) {
    kz_graph *graph = tts->graph;
    const kz_rotation rotation = {.theta = shape->theta};
    *out_stack = (kz_tts_stack){.shape = *shape};
    if (kz_graph_status(graph) == KAZEIA_OK) {
        kz_graph_note(graph, kz_bump_take(&graph->memory, (size_t)shape->layers,
                                          sizeof *out_stack->layers, (void **)&out_stack->layers));
    }
    for (int64_t i = 0; out_stack->layers && i < shape->layers; i++) {
        const layer_site site = {tts, from, shape, (uint32_t)i};
        add_layer(&site, &out_stack->layers[i]);
    }
    out_stack->final_norm =
        kz_tts_vector(tts, from, kz_graph_name(graph, "%s.norm", shape->name), shape->hidden,
                      kz_graph_name(graph, "%snorm.weight", shape->prefix));
    out_stack->inv_freq = kz_rotation_add(graph, kz_graph_name(graph, "%s.inv_freq", shape->name),
                                          &rotation, (uint32_t)shape->head_dim);
}

// --- Running it ---------------------------------------------------------------------------------

kz_tts_cache_inputs kz_tts_add_cache_inputs(kz_graph_method *method, kz_dim tokens,
                                            uint32_t positions, uint32_t rows) {
    const kz_dim one = kz_dim_constant(1);
    const kz_dim sequences = kz_method_symbol(method, "sequences", SEQUENCE_LIMIT);
    kz_tts_cache_inputs inputs;
    inputs.positions = kz_method_input(method, "positions", KZ_I32, positions, 1, tokens, one);
    inputs.sequences = kz_method_input(method, "sequences", KZ_I32, SEQUENCE_LIMIT, 1, tokens, one);
    inputs.table = kz_method_input(method, "row_table", KZ_I32, rows, 2, sequences,
                                   kz_dim_constant(positions));
    return inputs;
}

// Heads of q and k, normed where the model has that, beside each other.
static uint32_t norm_heads(const kz_tts_stack *stack, const kz_tts_layer *layer,
                           kz_graph_method *method, uint32_t qkv) {
    const kz_tts_stack_shape *shape = &stack->shape;
    const uint32_t q = (uint32_t)(shape->heads * shape->head_dim);
    const uint32_t kv = (uint32_t)(shape->kv_heads * shape->head_dim);
    const uint32_t head_dim = (uint32_t)shape->head_dim;
    const float epsilon = (float)shape->epsilon;
    if (!shape->has_head_norms) {
        return qkv;
    }
    const uint32_t normed = kz_method_rows(method, kz_method_rows_of(method, qkv), q + kv);
    kz_node_head_rms_norm(method, kz_method_view(method, qkv, 0, q), layer->q_norm, head_dim,
                          epsilon, kz_method_view(method, normed, 0, q));
    kz_node_head_rms_norm(method, kz_method_view(method, qkv, q, kv), layer->k_norm, head_dim,
                          epsilon, kz_method_view(method, normed, q, kv));
    return normed;
}

static void add_to(kz_graph_method *method, uint32_t x, uint32_t result, uint32_t weight) {
    (void)kz_node_linear(method, result, weight,
                         &(kz_linear_options){KZ_NO_VALUE, x, x, KZ_ACTIVATION_NONE});
}

static void attend(const kz_tts_stack *stack, const kz_tts_layer *layer, kz_graph_method *method,
                   uint32_t x, const kz_tts_cache_inputs *inputs) {
    const kz_tts_stack_shape *shape = &stack->shape;
    const uint32_t q = (uint32_t)(shape->heads * shape->head_dim);
    const uint32_t kv = (uint32_t)(shape->kv_heads * shape->head_dim);
    const uint32_t head_dim = (uint32_t)shape->head_dim;
    const uint32_t normed =
        kz_node_rms_norm(method, x, layer->attention_norm, (float)shape->epsilon, KZ_NO_VALUE);
    const uint32_t qkv = kz_node_linear(method, normed, layer->qkv, &KZ_LINEAR_PLAIN);
    const uint32_t qk = norm_heads(stack, layer, method, qkv);
    kz_node_rope(method, kz_method_view(method, qk, 0, q + kv), inputs->positions, stack->inv_freq,
                 head_dim, head_dim, false);
    kz_node_cache_write(method, kz_method_view(method, qk, q, kv), inputs->table, inputs->sequences,
                        inputs->positions, layer->keys);
    kz_node_cache_write(method, kz_method_view(method, qkv, q + kv, kv), inputs->table,
                        inputs->sequences, inputs->positions, layer->values);
    const kz_attention_options attention = {.keys = layer->keys,
                                            .values = layer->values,
                                            .table = inputs->table,
                                            .sequences = inputs->sequences,
                                            .positions = inputs->positions,
                                            .heads = (uint32_t)shape->heads,
                                            .window = (uint32_t)shape->window,
                                            .scale = 1.0f / sqrtf((float)shape->head_dim)};
    add_to(method, x, kz_node_attention(method, kz_method_view(method, qk, 0, q), &attention),
           layer->output);
}

void kz_tts_stack_run(const kz_tts_stack *stack, kz_graph_method *method, uint32_t x,
                      const kz_tts_cache_inputs *inputs) {
    const float epsilon = (float)stack->shape.epsilon;
    for (int64_t i = 0; stack->layers && i < stack->shape.layers; i++) {
        const kz_tts_layer *layer = &stack->layers[i];
        attend(stack, layer, method, x, inputs);
        const uint32_t normed = kz_node_rms_norm(method, x, layer->mlp_norm, epsilon, KZ_NO_VALUE);
        const uint32_t gate_up = kz_node_linear(method, normed, layer->gate_up, &KZ_LINEAR_PLAIN);
        add_to(method, x, kz_node_gate(method, gate_up, KZ_ACTIVATION_SILU), layer->down);
    }
}
