// decoder.c: RMSNorm, rotary positions, grouped queries, gated MLP: the decoder of many families.
//   in   a GGUF file or a Hugging Face folder, and how the family differs (decoder.h)
//   out  the graph of docs/abilities.md "chat"
// Both containers name tensors alike for all these families, so the names stand here once. Where
// GGUF's q and k rows are in another order than Hugging Face's, both are kept as they are and the
// rotation is told which.
#include "exporter/models/decoder.h"

#include <math.h>
#include <string.h>

#include "exporter/models/language.h"

typedef struct decoder_names {
    const char *embedding, *final_norm, *head;
    const char *attention_norm, *q, *k, *v, *output;
    const char *q_norm, *k_norm; // where the family has them
    const char *mlp_norm, *gate, *up, *down;
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
    .q_norm = "blk.#.attn_q_norm.weight",
    .k_norm = "blk.#.attn_k_norm.weight",
    .mlp_norm = "blk.#.ffn_norm.weight",
    .gate = "blk.#.ffn_gate.weight",
    .up = "blk.#.ffn_up.weight",
    .down = "blk.#.ffn_down.weight",
};

static const decoder_names hugging_face_names = {
    .embedding = "model.embed_tokens.weight",
    .final_norm = "model.norm.weight",
    .head = "lm_head.weight",
    .attention_norm = "model.layers.#.input_layernorm.weight",
    .q = "model.layers.#.self_attn.q_proj.weight",
    .k = "model.layers.#.self_attn.k_proj.weight",
    .v = "model.layers.#.self_attn.v_proj.weight",
    .output = "model.layers.#.self_attn.o_proj.weight",
    .q_norm = "model.layers.#.self_attn.q_norm.weight",
    .k_norm = "model.layers.#.self_attn.k_norm.weight",
    .mlp_norm = "model.layers.#.post_attention_layernorm.weight",
    .gate = "model.layers.#.mlp.gate_proj.weight",
    .up = "model.layers.#.mlp.up_proj.weight",
    .down = "model.layers.#.mlp.down_proj.weight",
};

typedef struct decoder {
    const kz_decoder_traits *traits;
    kz_checkpoint *checkpoint;
    const kz_model_options *options;
    kz_graph *graph;
    const decoder_names *names;
    int64_t layers, hidden, mlp, heads, kv_heads, head_dim, rotary, vocabulary, context;
    double theta, epsilon;
    bool is_interleaved;
    bool is_tied; // the head is the embedding, without a second copy
    uint32_t embedding, head, final_norm, inv_freq;
} decoder;

typedef struct decoder_layer {
    uint32_t attention_norm, mlp_norm;
    uint32_t qkv[3]; // one joined matrix in [0], or three
    bool is_qkv_joined;
    uint32_t q_norm, k_norm; // where the family has them
    uint32_t output;
    uint32_t gate_up[2];
    bool is_gate_up_joined;
    uint32_t down;
    uint32_t keys, values;
} decoder_layer;

// Several times the layers of the largest models; a hostile count ends here.
#define LAYER_LIMIT 512
#define ROTATION_FACTORS "rope_freqs.weight" // in GGUF, by which frequencies are divided

// --- Shape --------------------------------------------------------------------------------------

// "llama.block_count" for "block_count".
static const char *gguf_key(const decoder *model, const char *key) {
    return kz_graph_name(model->graph, "%s.%s", model->traits->architecture, key);
}

static kazeia_status require_gguf(const decoder *model, const char *key, int64_t maximum,
                                  int64_t *out_value) {
    const char *name = gguf_key(model, key);
    KZ_TRY(kz_graph_status(model->graph)); // no memory for the name
    if (!kz_checkpoint_integer(model->checkpoint, name, out_value)) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no integer '%s'",
                       kz_checkpoint_path(model->checkpoint), name);
    }
    if (*out_value < 1 || *out_value > maximum) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: '%s' is %lld, expected 1 to %lld",
                       kz_checkpoint_path(model->checkpoint), name, (long long)*out_value,
                       (long long)maximum);
    }
    return KAZEIA_OK;
}

static kazeia_status refuse_gguf_scaling(const decoder *model) {
    const char *key = gguf_key(model, "rope.scaling.type");
    const char *scaling = kz_checkpoint_string(model->checkpoint, key);
    if (scaling && strcmp(scaling, "none") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%s: %s '%s' is not supported; supported: none",
                       kz_checkpoint_path(model->checkpoint), key, scaling);
    }
    return KAZEIA_OK;
}

// Keys that may be absent, after those that may not.
static void read_optional_gguf(decoder *model) {
    const kz_checkpoint *checkpoint = model->checkpoint;
    model->kv_heads = model->heads;
    // Left as it is when the key is absent: as many kv heads as heads.
    (void)kz_checkpoint_integer(checkpoint, gguf_key(model, "attention.head_count_kv"),
                                &model->kv_heads);
    model->head_dim = model->hidden / model->heads;
    (void)kz_checkpoint_integer(checkpoint, gguf_key(model, "attention.key_length"),
                                &model->head_dim);
    model->rotary = model->head_dim;
    (void)kz_checkpoint_integer(checkpoint, gguf_key(model, "rope.dimension_count"),
                                &model->rotary);
    // RoFormer's base, which files leave out when they use it.
    model->theta = 10000.0;
    (void)kz_checkpoint_real(checkpoint, gguf_key(model, "rope.freq_base"), &model->theta);
}

static kazeia_status read_gguf_shape(decoder *model) {
    const char *epsilon = gguf_key(model, "attention.layer_norm_rms_epsilon");
    KZ_TRY(refuse_gguf_scaling(model));
    KZ_TRY(require_gguf(model, "block_count", LAYER_LIMIT, &model->layers));
    KZ_TRY(require_gguf(model, "embedding_length", 65536, &model->hidden));
    KZ_TRY(require_gguf(model, "feed_forward_length", 65536, &model->mlp));
    KZ_TRY(require_gguf(model, "attention.head_count", 1024, &model->heads));
    KZ_TRY(require_gguf(model, "context_length", 1 << 24, &model->context));
    read_optional_gguf(model);
    // Without a default: families differ by a factor of ten, and a wrong one goes unnoticed.
    if (!kz_checkpoint_real(model->checkpoint, epsilon, &model->epsilon)) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no '%s'", kz_checkpoint_path(model->checkpoint),
                       epsilon);
    }
    model->names = &gguf_names;
    model->is_interleaved = model->traits->is_interleaved_in_gguf;
    // GGUF has no flag for it: a file without a head means the embedding.
    model->is_tied = !kz_checkpoint_find(model->checkpoint, gguf_names.head);
    return kz_graph_status(model->graph);
}

// transformers 5 gathers theta and scaling in "rope_parameters".
static kazeia_status read_positions(decoder *model, const json_t *config) {
    const json_t *parameters = json_object_get(config, "rope_parameters");
    const json_t *scaling = parameters ? parameters : json_object_get(config, "rope_scaling");
    const json_t *kind = json_object_get(scaling, "rope_type");
    kind = kind ? kind : json_object_get(scaling, "type");
    const char *name = json_is_string(kind) ? json_string_value(kind) : "unnamed";
    // Scaled positions change every angle, so an unknown kind is refused and not passed over.
    if (json_is_object(scaling) && strcmp(name, "default") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "config.json: rope_scaling '%s' is not supported; supported: none", name);
    }
    model->theta = kz_config_real(config, "rope_theta", 10000.0);
    model->theta = kz_config_real(parameters, "rope_theta", model->theta);
    return KAZEIA_OK;
}

// What a model of other arithmetic says of itself.
static kazeia_status refuse_variants(const json_t *config) {
    // A bias would also show as a tensor left over; a window leaves no tensor at all.
    static const char *const flags[] = {"attention_bias", "mlp_bias", "use_sliding_window"};
    const char *activation = json_string_value(json_object_get(config, "hidden_act"));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (json_is_true(json_object_get(config, flags[i]))) {
            return kz_fail(KAZEIA_UNSUPPORTED, "config.json: '%s' is true, expected false",
                           flags[i]);
        }
    }
    if (activation && strcmp(activation, "silu") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "config.json: hidden_act is '%s', expected 'silu'",
                       activation);
    }
    return KAZEIA_OK;
}

static kazeia_status read_hugging_face_shape(decoder *model) {
    const json_t *config = NULL;
    KZ_TRY(kz_checkpoint_json(model->checkpoint, "config.json", &config));
    if (!config) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no config.json beside the tensors",
                       kz_checkpoint_path(model->checkpoint));
    }
    const char *file = "config.json";
    KZ_TRY(refuse_variants(config));
    KZ_TRY(read_positions(model, config));
    KZ_TRY(kz_config_require(config, file, "num_hidden_layers", 1, LAYER_LIMIT, &model->layers));
    KZ_TRY(kz_config_require(config, file, "hidden_size", 1, 65536, &model->hidden));
    KZ_TRY(kz_config_require(config, file, "intermediate_size", 1, 65536, &model->mlp));
    KZ_TRY(kz_config_require(config, file, "num_attention_heads", 1, 1024, &model->heads));
    KZ_TRY(kz_config_require(config, file, "max_position_embeddings", 1, 1 << 24, &model->context));
    model->kv_heads = kz_config_integer(config, "num_key_value_heads", model->heads);
    // Qwen3's heads are wider than hidden / heads, and say so.
    model->head_dim = kz_config_integer(config, "head_dim", model->hidden / model->heads);
    model->rotary = model->head_dim;
    model->epsilon = kz_config_real(config, "rms_norm_eps", 1e-6);
    model->names = &hugging_face_names;
    model->is_tied = json_is_true(json_object_get(config, "tie_word_embeddings"));
    return KAZEIA_OK;
}

static kazeia_status check_shape(const decoder *model) {
    // 2^16 columns for the widest rows: those that are quantised must fit a thread's scratch
    // (KZ_COLUMN_LIMIT).
    const bool is_sound = model->kv_heads >= 1 && model->kv_heads <= model->heads &&
                          model->heads % model->kv_heads == 0 && model->head_dim >= 2 &&
                          model->head_dim <= 1024 && model->rotary >= 2 && model->rotary % 2 == 0 &&
                          model->rotary <= model->head_dim && model->theta > 0 &&
                          isfinite(model->theta) && model->epsilon >= 0 &&
                          isfinite(model->epsilon) && 2 * model->mlp <= 65536 &&
                          (model->heads + 2 * model->kv_heads) * model->head_dim <= 65536;
    if (!is_sound) {
        return kz_fail(
            KAZEIA_BAD_FILE,
            "%s: %lld heads, %lld key heads of %lld (%lld rotated), theta %g, epsilon %g: "
            "these do not make %s",
            kz_checkpoint_path(model->checkpoint), (long long)model->heads,
            (long long)model->kv_heads, (long long)model->head_dim, (long long)model->rotary,
            model->theta, model->epsilon, model->traits->title);
    }
    return KAZEIA_OK;
}

static kazeia_status read_shape(decoder *model) {
    const bool is_gguf = kz_checkpoint_kind_of(model->checkpoint) == KZ_CHECKPOINT_GGUF;
    KZ_TRY(is_gguf ? read_gguf_shape(model) : read_hugging_face_shape(model));
    KZ_TRY(check_shape(model));
    KZ_TRY(kz_model_check_cache(model->checkpoint, model->options->kv, model->head_dim));
    const uint64_t dims[] = {0, (uint64_t)model->hidden};
    const kz_checkpoint_tensor *embedding = NULL;
    KZ_TRY(kz_checkpoint_require(model->checkpoint, model->names->embedding, 2, dims, &embedding));
    // From the table itself: files disagree about the number when it is padded.
    model->vocabulary = (int64_t)embedding->dims[0];
    if (model->vocabulary > 1 << 22) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: a vocabulary of %lld",
                       kz_checkpoint_path(model->checkpoint), (long long)model->vocabulary);
    }
    return KAZEIA_OK;
}

// --- Weights and states -------------------------------------------------------------------------

static uint32_t matrix(decoder *model, const char *name, uint32_t layer, int64_t rows,
                       int64_t columns, const char *source) {
    const char *sources[] = {kz_layer_name(model->graph, source, layer), NULL};
    return kz_model_matrix(model->graph, model->checkpoint,
                           kz_layer_name(model->graph, name, layer), (uint64_t)rows,
                           (uint64_t)columns, sources);
}

static uint32_t norm(decoder *model, const char *name, uint32_t layer, int64_t columns,
                     const char *source) {
    return kz_model_vector(model->graph, model->checkpoint,
                           kz_layer_name(model->graph, name, layer), (uint64_t)columns,
                           kz_layer_name(model->graph, source, layer));
}

static void add_qkv(decoder *model, uint32_t index, decoder_layer *layer) {
    const int64_t q_rows = model->heads * model->head_dim;
    const int64_t kv_rows = model->kv_heads * model->head_dim;
    const char *sources[] = {kz_layer_name(model->graph, model->names->q, index),
                             kz_layer_name(model->graph, model->names->k, index),
                             kz_layer_name(model->graph, model->names->v, index), NULL};
    // One product of all three reads the activations once. GGUF's mixes of types (v in more bits,
    // say) cannot be one matrix.
    layer->is_qkv_joined = kz_model_can_join(model->checkpoint, sources, 3);
    if (layer->is_qkv_joined) {
        layer->qkv[0] =
            kz_model_matrix(model->graph, model->checkpoint,
                            kz_layer_name(model->graph, "layers.#.attention.qkv", index),
                            (uint64_t)(q_rows + 2 * kv_rows), (uint64_t)model->hidden, sources);
        return;
    }
    layer->qkv[0] =
        matrix(model, "layers.#.attention.q", index, q_rows, model->hidden, model->names->q);
    layer->qkv[1] =
        matrix(model, "layers.#.attention.k", index, kv_rows, model->hidden, model->names->k);
    layer->qkv[2] =
        matrix(model, "layers.#.attention.v", index, kv_rows, model->hidden, model->names->v);
}

static void add_gate_up(decoder *model, uint32_t index, decoder_layer *layer) {
    const char *sources[] = {kz_layer_name(model->graph, model->names->gate, index),
                             kz_layer_name(model->graph, model->names->up, index), NULL};
    // Beside each other, as GATE reads them.
    layer->is_gate_up_joined = kz_model_can_join(model->checkpoint, sources, 2);
    if (layer->is_gate_up_joined) {
        layer->gate_up[0] =
            kz_model_matrix(model->graph, model->checkpoint,
                            kz_layer_name(model->graph, "layers.#.mlp.gate_up", index),
                            (uint64_t)(2 * model->mlp), (uint64_t)model->hidden, sources);
        return;
    }
    layer->gate_up[0] =
        matrix(model, "layers.#.mlp.gate", index, model->mlp, model->hidden, model->names->gate);
    layer->gate_up[1] =
        matrix(model, "layers.#.mlp.up", index, model->mlp, model->hidden, model->names->up);
}

static uint32_t cache(decoder *model, const char *name, uint32_t index) {
    // As many rows as the longest sequence: forks share what they have in common.
    return kz_graph_add_state(model->graph,
                              &(kz_state){.name = kz_layer_name(model->graph, name, index),
                                          .type = model->options->kv,
                                          .rows = (uint64_t)model->context,
                                          .heads = (uint32_t)model->kv_heads,
                                          .head_dim = (uint32_t)model->head_dim});
}

static void add_layer(decoder *model, uint32_t index, decoder_layer *layer) {
    const decoder_names *names = model->names;
    layer->attention_norm =
        norm(model, "layers.#.attention.norm", index, model->hidden, names->attention_norm);
    add_qkv(model, index, layer);
    if (model->traits->has_head_norms) {
        layer->q_norm =
            norm(model, "layers.#.attention.q_norm", index, model->head_dim, names->q_norm);
        layer->k_norm =
            norm(model, "layers.#.attention.k_norm", index, model->head_dim, names->k_norm);
    }
    layer->output = matrix(model, "layers.#.attention.output", index, model->hidden,
                           model->heads * model->head_dim, names->output);
    layer->mlp_norm = norm(model, "layers.#.mlp.norm", index, model->hidden, names->mlp_norm);
    add_gate_up(model, index, layer);
    layer->down = matrix(model, "layers.#.mlp.down", index, model->hidden, model->mlp, names->down);
    layer->keys = cache(model, "key.#", index);
    layer->values = cache(model, "value.#", index);
}

static void add_weights(decoder *model, decoder_layer *layers) {
    const decoder_names *names = model->names;
    model->embedding =
        matrix(model, "embedding", 0, model->vocabulary, model->hidden, names->embedding);
    // A weight that two methods name is in the file once.
    model->head = model->is_tied
                      ? model->embedding
                      : matrix(model, "head", 0, model->vocabulary, model->hidden, names->head);
    model->final_norm = norm(model, "norm", 0, model->hidden, names->final_norm);
    model->inv_freq = kz_model_inverse_frequencies(
        model->graph, "inv_freq", model->theta, (uint32_t)model->rotary,
        kz_checkpoint_find(model->checkpoint, ROTATION_FACTORS));
    for (uint32_t i = 0; i < model->layers; i++) {
        add_layer(model, i, &layers[i]);
    }
}

// A tensor that nothing computes with and that is right to leave out.
static bool may_be_left_out(const decoder *model, const char *name) {
    static const char frequencies[] = ".rotary_emb.inv_freq"; // computed from theta
    const size_t length = strlen(name), ending = sizeof frequencies - 1;
    return strcmp(name, ROTATION_FACTORS) == 0 ||
           (model->is_tied && strcmp(name, model->names->head) == 0) ||
           (length > ending && strcmp(name + length - ending, frequencies) == 0);
}

// A tensor left out (a bias, say) would make the model wrong without a word.
static kazeia_status refuse_leftovers(const decoder *model) {
    const kz_graph *graph = model->graph;
    const size_t count = kz_checkpoint_tensor_count(model->checkpoint);
    const kz_checkpoint_tensor *first = kz_checkpoint_tensor_at(model->checkpoint, 0);
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
        if (!is_used[i] && !may_be_left_out(model, first[i].name)) {
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
    const uint32_t q = (uint32_t)(model->heads * model->head_dim);
    const uint32_t kv = (uint32_t)(model->kv_heads * model->head_dim);
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
    const uint32_t q = (uint32_t)(model->heads * model->head_dim);
    const uint32_t kv = (uint32_t)(model->kv_heads * model->head_dim);
    const uint32_t head_dim = (uint32_t)model->head_dim;
    const float epsilon = (float)model->epsilon;
    const uint32_t normed = kz_method_rows(method, kz_method_rows_of(method, qkv), q + kv);
    kz_node_head_rms_norm(method, kz_method_view(method, qkv, 0, q), layer->q_norm, head_dim,
                          epsilon, kz_method_view(method, normed, 0, q));
    kz_node_head_rms_norm(method, kz_method_view(method, qkv, q, kv), layer->k_norm, head_dim,
                          epsilon, kz_method_view(method, normed, q, kv));
    return normed;
}

static void attend(const decoder *model, const decoder_layer *layer, forward *pass) {
    kz_graph_method *method = pass->method;
    const uint32_t q_columns = (uint32_t)(model->heads * model->head_dim);
    const uint32_t kv_columns = (uint32_t)(model->kv_heads * model->head_dim);
    const uint32_t normed = kz_node_rms_norm(method, pass->x, layer->attention_norm,
                                             (float)model->epsilon, KZ_NO_VALUE);
    const uint32_t qkv = project_qkv(model, layer, pass, normed);
    const uint32_t qk = norm_heads(model, layer, pass, qkv);
    // q and k are neighbours and their heads equally wide, so one ROPE turns both.
    const uint32_t rotated = kz_method_view(method, qk, 0, q_columns + kv_columns);
    const uint32_t q = kz_method_view(method, qk, 0, q_columns);
    const uint32_t k = kz_method_view(method, qk, q_columns, kv_columns);
    const uint32_t v = kz_method_view(method, qkv, q_columns + kv_columns, kv_columns);
    kz_node_rope(method, rotated, pass->positions, model->inv_freq, (uint32_t)model->head_dim,
                 (uint32_t)model->rotary, model->is_interleaved);
    // Keys are kept rotated: a position never changes once it is in the cache.
    kz_node_cache_write(method, k, pass->table, pass->sequences, pass->positions, layer->keys);
    kz_node_cache_write(method, v, pass->table, pass->sequences, pass->positions, layer->values);
    const kz_attention_options attention = {.keys = layer->keys,
                                            .values = layer->values,
                                            .table = pass->table,
                                            .sequences = pass->sequences,
                                            .positions = pass->positions,
                                            .heads = (uint32_t)model->heads,
                                            .scale = 1.0f / sqrtf((float)model->head_dim)};
    const uint32_t attended = kz_node_attention(method, q, &attention);
    // The residual is added and written in place: x is the same value through all layers.
    const kz_linear_options output = {KZ_NO_VALUE, pass->x, pass->x, KZ_ACTIVATION_NONE};
    (void)kz_node_linear(method, attended, layer->output, &output);
}

static void mix(const decoder *model, const decoder_layer *layer, forward *pass) {
    kz_graph_method *method = pass->method;
    const uint32_t normed =
        kz_node_rms_norm(method, pass->x, layer->mlp_norm, (float)model->epsilon, KZ_NO_VALUE);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    uint32_t gate_up = KZ_NO_VALUE;
    if (layer->is_gate_up_joined) {
        gate_up = kz_node_linear(method, normed, layer->gate_up[0], &options);
    } else {
        const uint32_t mlp = (uint32_t)model->mlp;
        gate_up = kz_method_rows(method, kz_method_rows_of(method, normed), 2 * mlp);
        for (uint32_t i = 0; i < 2; i++) {
            options.out = kz_method_view(method, gate_up, i * mlp, mlp);
            (void)kz_node_linear(method, normed, layer->gate_up[i], &options);
        }
    }
    const uint32_t gated = kz_node_gate(method, gate_up, KZ_ACTIVATION_SILU);
    const kz_linear_options down = {KZ_NO_VALUE, pass->x, pass->x, KZ_ACTIVATION_NONE};
    (void)kz_node_linear(method, gated, layer->down, &down);
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
        kz_method_output(method, "hidden", inputs.token_count, (uint32_t)model->hidden);
    pass.x = kz_node_embed(method, pass.tokens, model->embedding, 1.0f);
    for (int64_t i = 0; i < model->layers; i++) {
        attend(model, &layers[i], &pass);
        mix(model, &layers[i], &pass);
    }
    // Into the output itself: rows of hidden states are what all callers ask for.
    (void)kz_node_rms_norm(method, pass.x, model->final_norm, (float)model->epsilon, hidden);
}

static void add_methods(const decoder *model, const decoder_layer *layers) {
    if (model->options->is_hybrid) {
        add_forward(model, layers, "prefill_forward", KZ_LANGUAGE_PREFILL_TOKENS);
    }
    add_forward(model, layers, "kv_forward", KZ_LANGUAGE_STEP_TOKENS);
    kz_language_add_logits(model->graph, model->head, (uint32_t)model->hidden,
                           (uint32_t)model->vocabulary);
}

bool kz_decoder_matches(const kz_decoder_traits *traits, const kz_checkpoint *checkpoint) {
    const kz_checkpoint_kind kind = kz_checkpoint_kind_of(checkpoint);
    return (kind == KZ_CHECKPOINT_GGUF || kind == KZ_CHECKPOINT_SAFETENSORS) &&
           strcmp(kz_checkpoint_architecture(checkpoint), traits->architecture) == 0;
}

kazeia_status kz_decoder_build(const kz_decoder_traits *traits, kz_checkpoint *checkpoint,
                               const kz_model_options *options, kz_graph *graph) {
    decoder model = {
        .traits = traits, .checkpoint = checkpoint, .options = options, .graph = graph};
    KZ_TRY(read_shape(&model));
    // From here on `context` is the program's, no longer the model's.
    KZ_TRY(kz_language_choose_context(options->context, model.context, &model.context));
    decoder_layer *layers = NULL;
    KZ_TRY(kz_bump_take(&graph->memory, (size_t)model.layers, sizeof *layers, (void **)&layers));
    kz_language_add_metadata(graph, &(kz_language_metadata){.hidden = model.hidden,
                                                            .vocabulary = model.vocabulary,
                                                            .context = model.context,
                                                            .is_hybrid = options->is_hybrid});
    KZ_TRY(kz_language_add_text(checkpoint, graph, (uint32_t)model.vocabulary));
    add_weights(&model, layers);
    KZ_TRY(kz_graph_status(graph));
    // Once all weights are named and before any is read: a refusal takes no time.
    KZ_TRY(refuse_leftovers(&model));
    add_methods(&model, layers);
    return kz_graph_status(graph);
}
