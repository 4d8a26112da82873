// qwen3_tts_encoder.c: the codec's encoder: a recording -> rows that are quantised.
//   in   speech_tokenizer/ "encoder.*": Mimi's convolutions and transformer with this voice's
//   weights out  methods codec_hear (samples -> rows, as a stream) and codec_sum (all rows -> two
//   projections
//        of each frame), the table "codec.encoder.codebooks"
// Convolutions keep what they need of earlier calls, so a long recording takes no more memory than
// a short one. The last one repeats the first row before the beginning and needs all rows: they are
// few. The nearest code is found by the stage: it is no arithmetic of rows. Attention sees all
// earlier rows, as transformers computes it but for flash attention (docs/models/qwen3_tts.md).
#include <math.h>
#include <string.h>

#include "exporter/models/qwen3_tts.h"
#include "exporter/models/rotation.h"

#define CODEC_CONFIG "speech_tokenizer/config.json"
#define CHUNK_FRAMES 4u  // frames of one call of codec_hear
#define FRAME_LIMIT 750u // of one recording: a minute
#define PREFIX "encoder.encoder.layers."

typedef struct encoder {
    kz_tts *tts;
    kz_graph_method *method;
    const json_t *config;
    int64_t hidden, mlp, layers, heads, head_dim, filters, compress, kernel, last_kernel;
    int64_t residual_kernel, code_width, ratios[KZ_TTS_STAGE_LIMIT], ratio_count, stride;
    double epsilon, theta;
} encoder;

// --- Shape --------------------------------------------------------------------------------------

static kazeia_status read_numbers(encoder *e) {
    const struct {
        const char *key;
        int64_t maximum, *value;
    } wanted[] = {{"hidden_size", 8192, &e->hidden},
                  {"intermediate_size", 32768, &e->mlp},
                  {"num_hidden_layers", KZ_TTS_LAYER_LIMIT, &e->layers},
                  {"num_attention_heads", 256, &e->heads},
                  {"head_dim", 1024, &e->head_dim},
                  {"num_filters", 1024, &e->filters},
                  {"compress", 16, &e->compress},
                  {"kernel_size", 64, &e->kernel},
                  {"last_kernel_size", 64, &e->last_kernel},
                  {"residual_kernel_size", 64, &e->residual_kernel},
                  {"codebook_dim", 4096, &e->code_width}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        KZ_TRY(kz_config_require(e->config, CODEC_CONFIG, wanted[i].key, 1, wanted[i].maximum,
                                 wanted[i].value));
    }
    e->epsilon = kz_config_real(e->config, "norm_eps", 1e-5);
    e->theta = kz_config_real(e->config, "rope_theta", 1e4);
    return KAZEIA_OK;
}

static kazeia_status refuse_variants(const encoder *e) {
    const char *activation = json_string_value(json_object_get(e->config, "hidden_act"));
    int64_t one = 0;
    if (!activation || strcmp(activation, "gelu") != 0 ||
        json_is_true(json_object_get(e->config, "use_conv_shortcut")) ||
        json_is_true(json_object_get(e->config, "attention_bias"))) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       CODEC_CONFIG ": encoder_config has another activation than gelu, "
                                    "'use_conv_shortcut' or 'attention_bias'");
    }
    KZ_TRY(kz_config_require(e->config, CODEC_CONFIG, "num_residual_layers", 1, 1, &one));
    KZ_TRY(kz_config_require(e->config, CODEC_CONFIG, "num_semantic_quantizers", 1, 1, &one));
    return kz_config_require(e->config, CODEC_CONFIG, "num_key_value_heads", e->heads, e->heads,
                             &one);
}

static kazeia_status read_shape(encoder *e) {
    const json_t *ratios = json_object_get(e->config, "upsampling_ratios");
    int64_t samples = 0;
    KZ_TRY(read_numbers(e));
    KZ_TRY(refuse_variants(e));
    e->ratio_count = (int64_t)json_array_size(ratios);
    e->stride = 1;
    for (int64_t i = 0; i < e->ratio_count && i < KZ_TTS_STAGE_LIMIT; i++) {
        // Listed for the decoder of Mimi: the encoder goes the other way.
        const json_t *ratio = json_array_get(ratios, (size_t)(e->ratio_count - 1 - i));
        e->ratios[i] = (int64_t)json_integer_value(ratio);
        e->stride *= e->ratios[i];
        if (e->ratios[i] < 1 || e->ratios[i] > 64) {
            return kz_fail(KAZEIA_BAD_FILE, CODEC_CONFIG ": 'upsampling_ratios' has a %lld",
                           (long long)e->ratios[i]);
        }
    }
    if (e->ratio_count < 1 || e->ratio_count > KZ_TTS_STAGE_LIMIT || e->head_dim % 2 != 0) {
        return kz_fail(KAZEIA_BAD_FILE, CODEC_CONFIG ": %lld ratios and heads of %lld",
                       (long long)e->ratio_count, (long long)e->head_dim);
    }
    // The last convolution halves the rate.
    return kz_config_require(e->tts->codec_config, CODEC_CONFIG, "encode_downsample_rate",
                             2 * e->stride, 2 * e->stride, &samples);
}

// --- Convolutions -------------------------------------------------------------------------------

static uint32_t convolve(const encoder *e, uint32_t x, int64_t layer, const char *part,
                         int64_t rows, int64_t kernel, int64_t stride, uint32_t residual) {
    kz_tts *tts = e->tts;
    kz_graph *graph = tts->graph;
    const int64_t channels = kz_method_columns_of(e->method, x);
    const char *source = kz_graph_name(graph, PREFIX "%lld.%sconv", (long long)layer, part);
    const char *name = kz_graph_name(graph, "codec.encoder.%lld.%sconv", (long long)layer, part);
    const uint32_t weight = kz_tts_convolution(tts, tts->codec, name, rows, channels, kernel,
                                               kz_graph_name(graph, "%s.weight", source));
    const uint32_t bias = kz_tts_vector(tts, tts->codec, kz_graph_name(graph, "%s.bias", name),
                                        rows, kz_graph_name(graph, "%s.bias", source));
    uint32_t joined = x;
    if (kernel > stride) {
        const uint32_t tail = kz_graph_add_tail(graph, kz_graph_name(graph, "%s.tail", name),
                                                (uint32_t)(kernel - stride), (uint32_t)channels);
        joined = kz_node_join_tail(e->method, x, tail);
    }
    // Zeros behind the end, for a last window that is not whole.
    const kz_window window = {.kernel = (uint32_t)kernel,
                              .stride = (uint32_t)stride,
                              .dilation = 1,
                              .right = (uint32_t)stride - 1};
    const uint32_t unfolded = kernel == 1 ? joined : kz_node_unfold(e->method, joined, &window);
    return kz_node_linear(e->method, unfolded, weight,
                          &(kz_linear_options){bias, residual, residual, KZ_ACTIVATION_NONE});
}

static uint32_t activate(const encoder *e, uint32_t x) {
    return kz_node_map(e->method, x, KZ_MAP_ELU, 1.0f, 0.0f, KZ_NO_VALUE);
}

static uint32_t add_convolutions(const encoder *e, uint32_t samples) {
    int64_t channels = e->filters, layer = 0;
    uint32_t x = convolve(e, samples, layer++, "", channels, e->kernel, 1, KZ_NO_VALUE);
    for (int64_t i = 0; i < e->ratio_count; i++) {
        const uint32_t narrow =
            convolve(e, activate(e, x), layer, "block.1.", channels / e->compress,
                     e->residual_kernel, 1, KZ_NO_VALUE);
        (void)convolve(e, activate(e, narrow), layer, "block.3.", channels, 1, 1, x);
        channels *= 2;
        // Between them stands the activation, a layer of its own.
        x = convolve(e, activate(e, x), layer + 2, "", channels, 2 * e->ratios[i], e->ratios[i],
                     KZ_NO_VALUE);
        layer += 3;
    }
    return convolve(e, activate(e, x), layer + 1, "", e->hidden, e->last_kernel, 1, KZ_NO_VALUE);
}

// --- Transformer --------------------------------------------------------------------------------

typedef struct layer_names {
    const encoder *e;
    int64_t index;
} layer_names;

static const char *source_of(const layer_names *layer, const char *ending) {
    return kz_graph_name(layer->e->tts->graph, "encoder.encoder_transformer.layers.%lld.%s",
                         (long long)layer->index, ending);
}

static const char *name_of(const layer_names *layer, const char *ending) {
    return kz_graph_name(layer->e->tts->graph, "codec.encoder.transformer.%lld.%s",
                         (long long)layer->index, ending);
}

static uint32_t norm(const layer_names *layer, uint32_t x, const char *name, const char *source) {
    const encoder *e = layer->e;
    kz_tts *tts = e->tts;
    const uint32_t gamma =
        kz_tts_vector(tts, tts->codec, name_of(layer, name), e->hidden,
                      source_of(layer, kz_graph_name(tts->graph, "%s.weight", source)));
    const uint32_t beta =
        kz_tts_vector(tts, tts->codec, name_of(layer, kz_graph_name(tts->graph, "%s.bias", name)),
                      e->hidden, source_of(layer, kz_graph_name(tts->graph, "%s.bias", source)));
    return kz_node_layer_norm(e->method, x, gamma, beta, (float)e->epsilon, KZ_NO_VALUE);
}

// x += factors * (y W), in place; the factors are in the matrix.
static void add_to(const layer_names *layer, uint32_t x, uint32_t y, const char *name,
                   const char *source, const char *factors) {
    const encoder *e = layer->e;
    kz_tts *tts = e->tts;
    const uint32_t weight =
        kz_tts_matrix(tts, tts->codec, name_of(layer, name), e->hidden,
                      kz_method_columns_of(e->method, y), source_of(layer, source),
                      kz_tts_floats(tts, tts->codec, source_of(layer, factors), e->hidden));
    (void)kz_node_linear(e->method, y, weight,
                         &(kz_linear_options){KZ_NO_VALUE, x, x, KZ_ACTIVATION_NONE});
}

static uint32_t cache(const layer_names *layer, const char *name) {
    const encoder *e = layer->e;
    return kz_graph_add_state(e->tts->graph, &(kz_state){.name = name_of(layer, name),
                                                         .type = KZ_F32,
                                                         .rows = 2 * FRAME_LIMIT,
                                                         .heads = (uint32_t)e->heads,
                                                         .head_dim = (uint32_t)e->head_dim});
}

static void attend(const layer_names *layer, uint32_t x, const kz_tts_cache_inputs *inputs,
                   uint32_t inv_freq) {
    const encoder *e = layer->e;
    kz_tts *tts = e->tts;
    const uint32_t width = (uint32_t)(e->heads * e->head_dim);
    const char *sources[] = {source_of(layer, "self_attn.q_proj.weight"),
                             source_of(layer, "self_attn.k_proj.weight"),
                             source_of(layer, "self_attn.v_proj.weight"), NULL};
    const uint32_t weight = kz_model_matrix(tts->graph, tts->codec, name_of(layer, "qkv"),
                                            3 * (uint64_t)width, (uint64_t)e->hidden, sources);
    kz_tts_mark_odd(tts, weight);
    const uint32_t qkv = kz_node_linear(
        e->method, norm(layer, x, "attention.norm", "input_layernorm"), weight, &KZ_LINEAR_PLAIN);
    const kz_attention_options attention = {.keys = cache(layer, "key"),
                                            .values = cache(layer, "value"),
                                            .table = inputs->table,
                                            .sequences = inputs->sequences,
                                            .positions = inputs->positions,
                                            .heads = (uint32_t)e->heads,
                                            .scale = 1.0f / sqrtf((float)e->head_dim)};
    kz_node_rope(e->method, kz_method_view(e->method, qkv, 0, 2 * width), inputs->positions,
                 inv_freq, (uint32_t)e->head_dim, (uint32_t)e->head_dim, false);
    kz_node_cache_write(e->method, kz_method_view(e->method, qkv, width, width), inputs->table,
                        inputs->sequences, inputs->positions, attention.keys);
    kz_node_cache_write(e->method, kz_method_view(e->method, qkv, 2 * width, width), inputs->table,
                        inputs->sequences, inputs->positions, attention.values);
    add_to(layer, x,
           kz_node_attention(e->method, kz_method_view(e->method, qkv, 0, width), &attention),
           "output", "self_attn.o_proj.weight", "self_attn_layer_scale.scale");
}

static void mix(const layer_names *layer, uint32_t x) {
    const encoder *e = layer->e;
    const uint32_t up = kz_tts_matrix(e->tts, e->tts->codec, name_of(layer, "up"), e->mlp,
                                      e->hidden, source_of(layer, "mlp.fc1.weight"), NULL);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    options.activation = KZ_ACTIVATION_GELU;
    const uint32_t active = kz_node_linear(
        e->method, norm(layer, x, "mlp.norm", "post_attention_layernorm"), up, &options);
    add_to(layer, x, active, "down", "mlp.fc2.weight", "mlp_layer_scale.scale");
}

static void add_hear(encoder *e) {
    kz_graph *graph = e->tts->graph;
    const kz_rotation rotation = {.theta = e->theta};
    e->method = kz_graph_add_method(graph, "codec_hear");
    const kz_dim samples =
        kz_method_symbol(e->method, "samples", (uint32_t)(2 * e->stride * CHUNK_FRAMES));
    kz_dim rows = samples;
    rows.divisor = (uint32_t)e->stride;
    const uint32_t in =
        kz_method_input(e->method, "samples", KZ_F32, 0, 2, samples, kz_dim_constant(1));
    const kz_tts_cache_inputs inputs =
        kz_tts_add_cache_inputs(e->method, rows, 2 * FRAME_LIMIT, 2 * FRAME_LIMIT);
    const uint32_t out = kz_method_output(e->method, "rows", rows, (uint32_t)e->hidden);
    const uint32_t inv_freq =
        kz_rotation_add(graph, "codec.encoder.inv_freq", &rotation, (uint32_t)e->head_dim);
    const uint32_t x = add_convolutions(e, in);
    for (int64_t i = 0; i < e->layers; i++) {
        const layer_names layer = {e, i};
        attend(&layer, x, &inputs, inv_freq);
        mix(&layer, x);
    }
    kz_node_copy(e->method, x, out);
}

// --- Frames -------------------------------------------------------------------------------------

// Rows of both quantisers' projections below each other.
static uint32_t projections(const encoder *e) {
    static const char *const sources[] = {
        "encoder.quantizer.semantic_residual_vector_quantizer.input_proj.weight",
        "encoder.quantizer.acoustic_residual_vector_quantizer.input_proj.weight"};
    kz_tts *tts = e->tts;
    const int64_t half = e->code_width * e->hidden;
    float *values = NULL;
    if (kz_graph_status(tts->graph) == KAZEIA_OK) {
        kz_graph_note(tts->graph, kz_bump_take(&tts->graph->memory, (size_t)(2 * half),
                                               sizeof *values, (void **)&values));
    }
    for (int64_t i = 0; values && i < 2; i++) {
        const float *from = kz_tts_floats(tts, tts->codec, sources[i], half);
        if (from) {
            memcpy(values + i * half, from, (size_t)half * sizeof *values);
        }
    }
    const uint32_t weight =
        kz_tts_constant(tts, "codec.encoder.projections", 2, 2 * e->code_width, e->hidden, values);
    if (weight < tts->graph->weight_count) {
        tts->graph->weights[weight].is_matrix = true;
    }
    kz_model_mark_precise(tts->graph, weight);
    return weight;
}

static void add_sum(encoder *e) {
    kz_tts *tts = e->tts;
    const kz_window window = {.kernel = 4, .stride = 2, .dilation = 1};
    e->method = kz_graph_add_method(tts->graph, "codec_sum");
    const kz_dim rows = kz_method_symbol(e->method, "rows", 2 * FRAME_LIMIT);
    kz_dim frames = rows;
    frames.divisor = 2;
    const uint32_t in = kz_method_input(e->method, "rows", KZ_F32, 0, 2, rows,
                                        kz_dim_constant((uint32_t)e->hidden));
    kz_linear_options options = KZ_LINEAR_PLAIN;
    options.out = kz_method_output(e->method, "vectors", frames, (uint32_t)(2 * e->code_width));
    // As many rows in front as the window is longer than its step, copies of the first; one behind,
    // for an odd number.
    const uint32_t padded = kz_node_pad(e->method, in, KZ_PAD_REPLICATE, 2, 1);
    const uint32_t weight = kz_tts_convolution(tts, tts->codec, "codec.encoder.half", e->hidden,
                                               e->hidden, 4, "encoder.downsample.conv.weight");
    const uint32_t halved = kz_node_linear(e->method, kz_node_unfold(e->method, padded, &window),
                                           weight, &KZ_LINEAR_PLAIN);
    (void)kz_node_linear(e->method, halved, projections(e), &options);
}

// One codebook into values [codes][code_width].
static void read_codebook(const encoder *e, int64_t group, float *values) {
    kz_tts *tts = e->tts;
    const int64_t codes = tts->decoder.codes;
    const char *stem = kz_graph_name(
        tts->graph, "encoder.quantizer.%s_residual_vector_quantizer.layers.%lld.codebook",
        group == 0 ? "semantic" : "acoustic", (long long)(group == 0 ? 0 : group - 1));
    const float *sums = kz_tts_floats(
        tts, tts->codec, kz_graph_name(tts->graph, "%s.embed_sum", stem), codes * e->code_width);
    const float *usage =
        kz_tts_floats(tts, tts->codec, kz_graph_name(tts->graph, "%s.cluster_usage", stem), codes);
    for (int64_t i = 0; sums && usage && i < codes * e->code_width; i++) {
        values[i] = sums[i] / fmaxf(usage[i / e->code_width], 1e-5f);
    }
}

static void add_codebooks(const encoder *e) {
    kz_tts *tts = e->tts;
    const int64_t codes = tts->decoder.codes, groups = tts->groups;
    float *values = NULL;
    if (kz_graph_status(tts->graph) == KAZEIA_OK) {
        kz_graph_note(tts->graph,
                      kz_bump_take(&tts->graph->memory, (size_t)(groups * codes * e->code_width),
                                   sizeof *values, (void **)&values));
    }
    for (int64_t g = 0; values && g < groups; g++) {
        read_codebook(e, g, values + g * codes * e->code_width);
    }
    (void)kz_tts_constant(tts, "codec.encoder.codebooks", 2, groups * codes, e->code_width, values);
}

// A codec without its encoder speaks all the same.
void kz_tts_add_encoder(kz_tts *tts) {
    encoder e = {.tts = tts, .config = json_object_get(tts->codec_config, "encoder_config")};
    if (kz_graph_status(tts->graph) != KAZEIA_OK || !json_is_object(e.config) ||
        !kz_checkpoint_find(tts->codec, PREFIX "0.conv.weight")) {
        return;
    }
    kz_graph_note(tts->graph, read_shape(&e));
    if (kz_graph_status(tts->graph) == KAZEIA_OK) {
        add_hear(&e);
        add_sum(&e);
        add_codebooks(&e);
    }
}
