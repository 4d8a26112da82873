// decoder.c: RMSNorm, rotary positions, grouped queries, gated MLP: the decoder of many families.
//   in   a GGUF file or a Hugging Face folder, and how the family differs (decoder.h)
//   out  the graph of docs/abilities.md "chat"
// Both containers name tensors alike for all these families, so the names stand here once. Where
// GGUF's q and k rows are in another order than Hugging Face's, both are kept as they are and the
// rotation is told which.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exporter/models/decoder_shape.h"
#include "exporter/models/language.h"

// Narrower models than this multiply 16-bit activations: rounding to 8 bits changes one in twenty
// of SmolLM2-135M's most probable tokens (hidden 576), and such models are fast enough.
#define FINE_HIDDEN_LIMIT 1024

typedef struct decoder_names {
    const char *embedding, *final_norm; // of the text model; "#" stands for the layer
    const char *head;                   // beside the text model
    const char *attention_norm, *q, *k, *v, *output;
    const char *mlp_norm, *gate, *up, *down;
    // Where the family has them. A block of four norms calls the one before the MLP otherwise.
    const char *q_norm, *k_norm;
    const char *attention_output_norm, *mlp_norm_of_four, *mlp_output_norm;
} decoder_names;

static const decoder_names gguf_names = {
    .embedding = "token_embd.weight",
    .final_norm = "output_norm.weight",
    .head = "output.weight",
    .attention_norm = "blk.#.attn_norm.weight",
    .q = "blk.#.attn_q.weight",
    .k = "blk.#.attn_k.weight",
    .v = "blk.#.attn_v.weight",
    .output = "blk.#.attn_output.weight",
    .mlp_norm = "blk.#.ffn_norm.weight",
    .gate = "blk.#.ffn_gate.weight",
    .up = "blk.#.ffn_up.weight",
    .down = "blk.#.ffn_down.weight",
    .q_norm = "blk.#.attn_q_norm.weight",
    .k_norm = "blk.#.attn_k_norm.weight",
    .attention_output_norm = "blk.#.post_attention_norm.weight",
    .mlp_norm_of_four = "blk.#.ffn_norm.weight",
    .mlp_output_norm = "blk.#.post_ffw_norm.weight",
};

static const decoder_names hugging_face_names = {
    .embedding = "embed_tokens.weight",
    .final_norm = "norm.weight",
    .head = "lm_head.weight",
    .attention_norm = "layers.#.input_layernorm.weight",
    .q = "layers.#.self_attn.q_proj.weight",
    .k = "layers.#.self_attn.k_proj.weight",
    .v = "layers.#.self_attn.v_proj.weight",
    .output = "layers.#.self_attn.o_proj.weight",
    .mlp_norm = "layers.#.post_attention_layernorm.weight",
    .gate = "layers.#.mlp.gate_proj.weight",
    .up = "layers.#.mlp.up_proj.weight",
    .down = "layers.#.mlp.down_proj.weight",
    .q_norm = "layers.#.self_attn.q_norm.weight",
    .k_norm = "layers.#.self_attn.k_norm.weight",
    .attention_output_norm = "layers.#.post_attention_layernorm.weight",
    .mlp_norm_of_four = "layers.#.pre_feedforward_layernorm.weight",
    .mlp_output_norm = "layers.#.post_feedforward_layernorm.weight",
};

// Where a Hugging Face checkpoint keeps the text model and its head: alone, beside a vision tower
// as first published and as transformers names it since, or without its head.
static const struct decoder_place {
    const char *body, *head;
} places[] = {
    {"model.", ""},
    {"language_model.model.", "language_model."},
    {"model.language_model.", ""},
    {"", ""},
};

typedef struct decoder {
    const kz_decoder_traits *traits;
    kz_checkpoint *checkpoint;
    const kz_model_options *options;
    kz_graph *graph;
    kz_decoder_shape shape;
    const decoder_names *names;
    struct decoder_place place;
    int64_t vocabulary, context; // the program's context
    bool is_interleaved;
    bool is_tied; // the head is the embedding, without a second copy
    uint32_t embedding, head, final_norm, inv_freq, inv_freq_local;
} decoder;

typedef struct decoder_layer {
    bool is_local;
    uint32_t attention_norm, mlp_norm;
    uint32_t qkv[3]; // one joined matrix in [0], or three
    bool is_qkv_joined;
    uint32_t q_norm, k_norm; // where the family has them, as the next two
    uint32_t attention_output_norm, mlp_output_norm;
    uint32_t output;
    uint32_t gate_up[2];
    bool is_gate_up_joined;
    uint32_t down;
    uint32_t keys, values;
} decoder_layer;

// --- Names and shape ----------------------------------------------------------------------------

// In graph memory; "" after a failure, which the graph keeps.
static const char *body_name(const decoder *model, const char *pattern, uint32_t layer) {
    return kz_graph_name(model->graph, "%s%s", model->place.body,
                         kz_layer_name(model->graph, pattern, layer));
}

static const char *head_name(const decoder *model) {
    return kz_graph_name(model->graph, "%s%s", model->place.head, model->names->head);
}

// The first place stays when there is none: sentences name what is missing there.
static void find_place(decoder *model) {
    if (kz_checkpoint_kind_of(model->checkpoint) == KZ_CHECKPOINT_GGUF) {
        model->names = &gguf_names;
        model->place = (struct decoder_place){"", ""};
        return;
    }
    model->names = &hugging_face_names;
    for (size_t i = sizeof places / sizeof *places; i-- > 0;) {
        model->place = places[i];
        if (kz_checkpoint_find(model->checkpoint, body_name(model, model->names->embedding, 0))) {
            return;
        }
    }
}

static kazeia_status read_shape(decoder *model) {
    kz_checkpoint *checkpoint = model->checkpoint;
    KZ_TRY(kz_decoder_read_shape(model->traits, checkpoint, &model->shape));
    KZ_TRY(kz_model_check_cache(checkpoint, model->options->kv, model->shape.head_dim));
    KZ_TRY(
        kz_language_choose_context(model->options->context, model->shape.context, &model->context));
    find_place(model);
    const char *head = head_name(model), *name = body_name(model, model->names->embedding, 0);
    KZ_TRY(kz_graph_status(model->graph)); // no memory for the names
    const uint64_t dims[] = {0, (uint64_t)model->shape.hidden};
    const kz_checkpoint_tensor *embedding = NULL;
    KZ_TRY(kz_checkpoint_require(checkpoint, name, 2, dims, &embedding));
    // From the table itself: files disagree about the number when it is padded.
    model->vocabulary = (int64_t)embedding->dims[0];
    if (model->vocabulary > 1 << 22) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: a vocabulary of %lld", kz_checkpoint_path(checkpoint),
                       (long long)model->vocabulary);
    }
    model->is_interleaved = kz_checkpoint_kind_of(checkpoint) == KZ_CHECKPOINT_GGUF &&
                            model->traits->is_interleaved_in_gguf;
    model->is_tied =
        model->shape.is_tie_stated ? model->shape.is_tied : !kz_checkpoint_find(checkpoint, head);
    return KAZEIA_OK;
}

// --- Weights and states -------------------------------------------------------------------------

static uint32_t matrix(decoder *model, const char *name, uint32_t layer, int64_t rows,
                       int64_t columns, const char *source) {
    const char *sources[] = {body_name(model, source, layer), NULL};
    return kz_model_matrix(model->graph, model->checkpoint,
                           kz_layer_name(model->graph, name, layer), (uint64_t)rows,
                           (uint64_t)columns, sources);
}

static uint32_t norm(decoder *model, const char *name, uint32_t layer, int64_t columns,
                     const char *source) {
    const uint32_t weight =
        kz_model_vector(model->graph, model->checkpoint, kz_layer_name(model->graph, name, layer),
                        (uint64_t)columns, body_name(model, source, layer));
    if (model->traits->has_offset_norms && model->names == &hugging_face_names) {
        kz_model_add_to(model->graph, weight, 1.0f);
    }
    return weight;
}

static void add_qkv(decoder *model, uint32_t index, decoder_layer *layer) {
    const int64_t q_rows = model->shape.heads * model->shape.head_dim;
    const int64_t kv_rows = model->shape.kv_heads * model->shape.head_dim;
    const char *sources[] = {body_name(model, model->names->q, index),
                             body_name(model, model->names->k, index),
                             body_name(model, model->names->v, index), NULL};
    // One product of all three reads the activations once. GGUF's mixes of types (v in more bits,
    // say) cannot be one matrix.
    layer->is_qkv_joined = kz_model_can_join(model->checkpoint, sources, 3);
    if (layer->is_qkv_joined) {
        layer->qkv[0] = kz_model_matrix(
            model->graph, model->checkpoint,
            kz_layer_name(model->graph, "layers.#.attention.qkv", index),
            (uint64_t)(q_rows + 2 * kv_rows), (uint64_t)model->shape.hidden, sources);
        return;
    }
    layer->qkv[0] =
        matrix(model, "layers.#.attention.q", index, q_rows, model->shape.hidden, model->names->q);
    layer->qkv[1] =
        matrix(model, "layers.#.attention.k", index, kv_rows, model->shape.hidden, model->names->k);
    layer->qkv[2] =
        matrix(model, "layers.#.attention.v", index, kv_rows, model->shape.hidden, model->names->v);
}

static void add_gate_up(decoder *model, uint32_t index, decoder_layer *layer) {
    const char *sources[] = {body_name(model, model->names->gate, index),
                             body_name(model, model->names->up, index), NULL};
    // Beside each other, as GATE reads them.
    layer->is_gate_up_joined = kz_model_can_join(model->checkpoint, sources, 2);
    if (layer->is_gate_up_joined) {
        layer->gate_up[0] = kz_model_matrix(
            model->graph, model->checkpoint,
            kz_layer_name(model->graph, "layers.#.mlp.gate_up", index),
            (uint64_t)(2 * model->shape.mlp), (uint64_t)model->shape.hidden, sources);
        return;
    }
    layer->gate_up[0] = matrix(model, "layers.#.mlp.gate", index, model->shape.mlp,
                               model->shape.hidden, model->names->gate);
    layer->gate_up[1] = matrix(model, "layers.#.mlp.up", index, model->shape.mlp,
                               model->shape.hidden, model->names->up);
}

static uint32_t cache(decoder *model, const char *name, uint32_t index) {
    // As many rows as the longest sequence: forks share what they have in common.
    return kz_graph_add_state(model->graph,
                              &(kz_state){.name = kz_layer_name(model->graph, name, index),
                                          .type = model->options->kv,
                                          .rows = (uint64_t)model->context,
                                          .heads = (uint32_t)model->shape.kv_heads,
                                          .head_dim = (uint32_t)model->shape.head_dim});
}

static void add_norms(decoder *model, uint32_t index, decoder_layer *layer) {
    const decoder_names *names = model->names;
    const kz_decoder_traits *traits = model->traits;
    const int64_t hidden = model->shape.hidden, head_dim = model->shape.head_dim;
    layer->attention_norm =
        norm(model, "layers.#.attention.norm", index, hidden, names->attention_norm);
    layer->mlp_norm = norm(model, "layers.#.mlp.norm", index, hidden,
                           traits->has_output_norms ? names->mlp_norm_of_four : names->mlp_norm);
    if (traits->has_head_norms) {
        layer->q_norm = norm(model, "layers.#.attention.q_norm", index, head_dim, names->q_norm);
        layer->k_norm = norm(model, "layers.#.attention.k_norm", index, head_dim, names->k_norm);
    }
    if (traits->has_output_norms) {
        layer->attention_output_norm = norm(model, "layers.#.attention.output_norm", index, hidden,
                                            names->attention_output_norm);
        layer->mlp_output_norm =
            norm(model, "layers.#.mlp.output_norm", index, hidden, names->mlp_output_norm);
    }
}

static void add_layer(decoder *model, uint32_t index, decoder_layer *layer) {
    const decoder_names *names = model->names;
    const kz_decoder_shape *shape = &model->shape;
    layer->is_local = shape->is_local[index];
    add_norms(model, index, layer);
    add_qkv(model, index, layer);
    layer->output = matrix(model, "layers.#.attention.output", index, shape->hidden,
                           shape->heads * shape->head_dim, names->output);
    add_gate_up(model, index, layer);
    layer->down = matrix(model, "layers.#.mlp.down", index, shape->hidden, shape->mlp, names->down);
    layer->keys = cache(model, "key.#", index);
    layer->values = cache(model, "value.#", index);
}

static void add_weights(decoder *model, decoder_layer *layers) {
    const decoder_names *names = model->names;
    const kz_decoder_shape *shape = &model->shape;
    const uint32_t rotary = (uint32_t)shape->rotary;
    model->embedding =
        matrix(model, "embedding", 0, model->vocabulary, shape->hidden, names->embedding);
    // A weight that two methods name is in the file once.
    model->head = model->embedding;
    if (!model->is_tied) {
        const char *sources[] = {head_name(model), NULL};
        model->head =
            kz_model_matrix(model->graph, model->checkpoint, "head", (uint64_t)model->vocabulary,
                            (uint64_t)shape->hidden, sources);
    }
    model->final_norm = norm(model, "norm", 0, shape->hidden, names->final_norm);
    model->inv_freq = kz_rotation_add(model->graph, "inv_freq", &shape->global, rotary);
    if (shape->window) {
        model->inv_freq_local =
            kz_rotation_add(model->graph, "inv_freq.local", &shape->local, rotary);
    }
    for (uint32_t i = 0; i < shape->layers; i++) {
        add_layer(model, i, &layers[i]);
    }
}

// The parts of a model that sees or hears which are not its text model.
static const char *const other_parts[] = {"vision_tower", "multi_modal_projector", "audio_tower"};

static bool is_of_part(const char *name, const char *part) {
    const char *inner = strncmp(name, "model.", 6) == 0 ? name + 6 : name;
    const size_t length = strlen(part);
    return strncmp(inner, part, length) == 0 && inner[length] == '.';
}

// What a person is told: the program answers text only.
static void add_left_out(decoder *model) {
    const size_t part_count = sizeof other_parts / sizeof *other_parts;
    char text[128] = "";
    size_t used = 0;
    for (size_t i = 0; model->shape.is_part && i < part_count; i++) {
        bool is_there = false;
        for (size_t j = 0; j < kz_checkpoint_tensor_count(model->checkpoint); j++) {
            const kz_checkpoint_tensor *tensor = kz_checkpoint_tensor_at(model->checkpoint, j);
            is_there = is_there || is_of_part(tensor->name, other_parts[i]);
        }
        if (is_there) {
            // All three names and their commas fit.
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "",
                                     other_parts[i]);
        }
    }
    kz_graph_set_string(model->graph, "model.left_out", used ? text : NULL);
}

// A tensor that nothing computes with and that is right to leave out.
static bool may_be_left_out(const decoder *model, const char *head, const char *name) {
    static const char frequencies[] = ".rotary_emb.inv_freq"; // computed from theta
    const size_t length = strlen(name), ending = sizeof frequencies - 1;
    for (size_t i = 0; model->shape.is_part && i < sizeof other_parts / sizeof *other_parts; i++) {
        if (is_of_part(name, other_parts[i])) {
            return true;
        }
    }
    const kz_checkpoint_tensor *factors = model->shape.global.extra_factors;
    return (factors && strcmp(name, factors->name) == 0) ||
           (model->is_tied && strcmp(name, head) == 0) ||
           (length > ending && strcmp(name + length - ending, frequencies) == 0);
}

// A tensor left out (a bias, say) would make the model wrong without a word.
static kazeia_status refuse_leftovers(const decoder *model) {
    const kz_graph *graph = model->graph;
    const size_t count = kz_checkpoint_tensor_count(model->checkpoint);
    const kz_checkpoint_tensor *first = kz_checkpoint_tensor_at(model->checkpoint, 0);
    const char *head = head_name(model);
    bool *is_used = NULL; // [count]
    KZ_TRY(kz_bump_take(&model->graph->memory, count, sizeof *is_used, (void **)&is_used));
    memset(is_used, 0, count * sizeof *is_used);
    for (size_t i = 0; i < graph->weight_count; i++) {
        for (uint32_t j = 0; j < graph->weights[i].piece_count; j++) {
            const kz_checkpoint_tensor *tensor = graph->weights[i].pieces[j].tensor;
            if (tensor) {
                // Tensors lie in one array, so the difference is the index.
                is_used[tensor - first] = true;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_used[i] && !may_be_left_out(model, head, first[i].name)) {
            return kz_fail(KAZEIA_UNSUPPORTED, "%s: tensor '%s' has no place in %s",
                           kz_checkpoint_path(model->checkpoint), first[i].name,
                           model->traits->title);
        }
    }
    return KAZEIA_OK;
}

// --- Methods ------------------------------------------------------------------------------------

typedef struct forward {
    kz_graph_method *method;
    uint32_t tokens, positions, sequences, table;
    uint32_t x; // the residual stream
} forward;

static uint32_t project_qkv(const decoder *model, const decoder_layer *layer, forward *pass,
                            uint32_t normed) {
    kz_graph_method *method = pass->method;
    const uint32_t q = (uint32_t)(model->shape.heads * model->shape.head_dim);
    const uint32_t kv = (uint32_t)(model->shape.kv_heads * model->shape.head_dim);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    if (layer->is_qkv_joined) {
        // Columns q | k | v, in the order of the joined rows.
        return kz_node_linear(method, normed, layer->qkv[0], &options);
    }
    const uint32_t joined = kz_method_rows(method, kz_method_rows_of(method, normed), q + 2 * kv);
    const uint32_t columns[] = {0, q, q + kv, q + 2 * kv};
    for (uint32_t i = 0; i < 3; i++) {
        // Three products into one value: what follows does not see the difference.
        options.out = kz_method_view(method, joined, columns[i], columns[i + 1] - columns[i]);
        (void)kz_node_linear(method, normed, layer->qkv[i], &options);
    }
    return joined;
}

// q and k, beside each other: from qkv as they are, or each head normed into rows of their own.
static uint32_t norm_heads(const decoder *model, const decoder_layer *layer, forward *pass,
                           uint32_t qkv) {
    if (!model->traits->has_head_norms) {
        return qkv;
    }
    kz_graph_method *method = pass->method;
    const uint32_t q = (uint32_t)(model->shape.heads * model->shape.head_dim);
    const uint32_t kv = (uint32_t)(model->shape.kv_heads * model->shape.head_dim);
    const uint32_t head_dim = (uint32_t)model->shape.head_dim;
    const float epsilon = (float)model->shape.epsilon;
    const uint32_t normed = kz_method_rows(method, kz_method_rows_of(method, qkv), q + kv);
    kz_node_head_rms_norm(method, kz_method_view(method, qkv, 0, q), layer->q_norm, head_dim,
                          epsilon, kz_method_view(method, normed, 0, q));
    kz_node_head_rms_norm(method, kz_method_view(method, qkv, q, kv), layer->k_norm, head_dim,
                          epsilon, kz_method_view(method, normed, q, kv));
    return normed;
}

// x + matrix(result), or x + norm(matrix(result)) where the family has that norm. In place: x is
// the same value through all layers.
static void add_result(const decoder *model, forward *pass, uint32_t result, uint32_t matrix,
                       uint32_t norm) {
    kz_graph_method *method = pass->method;
    kz_linear_options options = KZ_LINEAR_PLAIN;
    if (!model->traits->has_output_norms) {
        options.residual = options.out = pass->x;
        (void)kz_node_linear(method, result, matrix, &options);
        return;
    }
    const uint32_t given = kz_node_linear(method, result, matrix, &options);
    const uint32_t normed =
        kz_node_rms_norm(method, given, norm, (float)model->shape.epsilon, KZ_NO_VALUE);
    (void)kz_node_add(method, pass->x, normed, pass->x);
}

static void attend(const decoder *model, const decoder_layer *layer, forward *pass) {
    kz_graph_method *method = pass->method;
    const uint32_t q_columns = (uint32_t)(model->shape.heads * model->shape.head_dim);
    const uint32_t kv_columns = (uint32_t)(model->shape.kv_heads * model->shape.head_dim);
    const uint32_t normed = kz_node_rms_norm(method, pass->x, layer->attention_norm,
                                             (float)model->shape.epsilon, KZ_NO_VALUE);
    const uint32_t qkv = project_qkv(model, layer, pass, normed);
    const uint32_t qk = norm_heads(model, layer, pass, qkv);
    // q and k are neighbours and their heads equally wide, so one ROPE turns both.
    const uint32_t rotated = kz_method_view(method, qk, 0, q_columns + kv_columns);
    const uint32_t q = kz_method_view(method, qk, 0, q_columns);
    const uint32_t k = kz_method_view(method, qk, q_columns, kv_columns);
    const uint32_t v = kz_method_view(method, qkv, q_columns + kv_columns, kv_columns);
    kz_node_rope(
        method, rotated, pass->positions, layer->is_local ? model->inv_freq_local : model->inv_freq,
        (uint32_t)model->shape.head_dim, (uint32_t)model->shape.rotary, model->is_interleaved);
    // Keys are kept rotated: a position never changes once it is in the cache.
    kz_node_cache_write(method, k, pass->table, pass->sequences, pass->positions, layer->keys);
    kz_node_cache_write(method, v, pass->table, pass->sequences, pass->positions, layer->values);
    const kz_attention_options attention = {
        .keys = layer->keys,
        .values = layer->values,
        .table = pass->table,
        .sequences = pass->sequences,
        .positions = pass->positions,
        .heads = (uint32_t)model->shape.heads,
        .window = layer->is_local ? (uint32_t)model->shape.window : 0,
        .scale = 1.0f / sqrtf((float)model->shape.query_scalar)};
    const uint32_t attended = kz_node_attention(method, q, &attention);
    add_result(model, pass, attended, layer->output, layer->attention_output_norm);
}

static void mix(const decoder *model, const decoder_layer *layer, forward *pass) {
    kz_graph_method *method = pass->method;
    const uint32_t normed = kz_node_rms_norm(method, pass->x, layer->mlp_norm,
                                             (float)model->shape.epsilon, KZ_NO_VALUE);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    uint32_t gate_up = KZ_NO_VALUE;
    if (layer->is_gate_up_joined) {
        gate_up = kz_node_linear(method, normed, layer->gate_up[0], &options);
    } else {
        const uint32_t mlp = (uint32_t)model->shape.mlp;
        gate_up = kz_method_rows(method, kz_method_rows_of(method, normed), 2 * mlp);
        for (uint32_t i = 0; i < 2; i++) {
            options.out = kz_method_view(method, gate_up, i * mlp, mlp);
            (void)kz_node_linear(method, normed, layer->gate_up[i], &options);
        }
    }
    const uint32_t gated = kz_node_gate(method, gate_up, model->traits->activation);
    add_result(model, pass, gated, layer->down, layer->mlp_output_norm);
}

static void add_forward(const decoder *model, const decoder_layer *layers, const char *name,
                        uint32_t token_limit) {
    kz_graph_method *method = kz_graph_add_method(model->graph, name);
    // Row numbers go up to the context, the length of every cache.
    const kz_language_inputs inputs =
        kz_language_add_inputs(method, token_limit, (uint32_t)model->vocabulary,
                               (uint32_t)model->context, (uint32_t)model->context);
    forward pass = {.method = method,
                    .tokens = inputs.tokens,
                    .positions = inputs.positions,
                    .sequences = inputs.sequences,
                    .table = inputs.row_table};
    const uint32_t hidden =
        kz_method_output(method, "hidden", inputs.token_count, (uint32_t)model->shape.hidden);
    // In float32, where transformers' bfloat16 models round the factor: theirs is the rounding
    // error.
    const float scale =
        model->traits->is_embedding_scaled ? sqrtf((float)model->shape.hidden) : 1.0f;
    pass.x = kz_node_embed(method, pass.tokens, model->embedding, scale);
    for (int64_t i = 0; i < model->shape.layers; i++) {
        attend(model, &layers[i], &pass);
        mix(model, &layers[i], &pass);
    }
    // Into the output itself: rows of hidden states are what all callers ask for.
    (void)kz_node_rms_norm(method, pass.x, model->final_norm, (float)model->shape.epsilon, hidden);
}

static void add_methods(const decoder *model, const decoder_layer *layers) {
    if (model->options->is_hybrid) {
        add_forward(model, layers, "prefill_forward", KZ_LANGUAGE_PREFILL_TOKENS);
    }
    add_forward(model, layers, "kv_forward", KZ_LANGUAGE_STEP_TOKENS);
    kz_language_add_logits(model->graph, model->head, (uint32_t)model->shape.hidden,
                           (uint32_t)model->vocabulary);
}

bool kz_decoder_matches(const kz_decoder_traits *traits, const kz_checkpoint *checkpoint) {
    const kz_checkpoint_kind kind = kz_checkpoint_kind_of(checkpoint);
    const char *found = kz_checkpoint_architecture(checkpoint);
    if (kind == KZ_CHECKPOINT_GGUF) {
        return strcmp(found, traits->architecture) == 0;
    }
    for (size_t i = 0; kind == KZ_CHECKPOINT_SAFETENSORS && traits->model_types[i]; i++) {
        if (strcmp(found, traits->model_types[i]) == 0) {
            return true;
        }
    }
    return false;
}

kazeia_status kz_decoder_build(const kz_decoder_traits *traits, kz_checkpoint *checkpoint,
                               const kz_model_options *options, kz_graph *graph) {
    decoder model = {
        .traits = traits, .checkpoint = checkpoint, .options = options, .graph = graph};
    KZ_TRY(read_shape(&model));
    graph->has_fine_activations = model.shape.hidden < FINE_HIDDEN_LIMIT;
    const size_t layer_count = (size_t)model.shape.layers;
    decoder_layer *layers = NULL;
    KZ_TRY(kz_bump_take(&graph->memory, layer_count, sizeof *layers, (void **)&layers));
    memset(layers, 0, layer_count * sizeof *layers);
    kz_language_add_metadata(graph, &(kz_language_metadata){.hidden = model.shape.hidden,
                                                            .vocabulary = model.vocabulary,
                                                            .context = model.context,
                                                            .is_hybrid = options->is_hybrid});
    add_left_out(&model);
    KZ_TRY(kz_language_add_text(checkpoint, graph, (uint32_t)model.vocabulary));
    add_weights(&model, layers);
    KZ_TRY(kz_graph_status(graph));
    // Once all weights are named and before any is read: a refusal takes no time.
    KZ_TRY(refuse_leftovers(&model));
    add_methods(&model, layers);
    return kz_graph_status(graph);
}
