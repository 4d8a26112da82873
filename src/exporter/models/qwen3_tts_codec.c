// qwen3_tts_codec.c: the codec's decoder: codes of frames -> samples.
//   in   speech_tokenizer/: codebooks, a causal transformer, causal convolutions
//   out  method codec_decode
// Everything is causal, and what a convolution still needs of earlier calls is a state of the
// session: any cutting into calls gives the samples of one call. A transposed convolution is a
// LINEAR and a FOLD over the last row of the call before and those of this one.
#include <math.h>
#include <string.h>

#include "exporter/models/qwen3_tts.h"
#include "exporter/models/rotation.h"

#define POSITION_LIMIT 32768u // frames of one stream: 43 minutes
#define LATENT_EPSILON 1e-6f  // of the upsampling's LayerNorms
#define UPSAMPLE_KERNEL 7
#define RESIDUAL_UNITS 3

// The method as it grows, and what names are made of.
typedef struct decoder {
    kz_tts *tts;
    kz_graph_method *method;
} decoder;

static const char *name_of(const decoder *d, const char *stem, const char *ending) {
    return kz_graph_name(d->tts->graph, "%s.%s", stem, ending);
}

// --- Parts --------------------------------------------------------------------------------------

// A causal convolution of stride 1; `source` without ".weight" and ".bias".
static uint32_t convolve(const decoder *d, uint32_t x, const char *name, const char *source,
                         int64_t rows, uint32_t kernel, uint32_t dilation, uint32_t residual) {
    kz_tts *tts = d->tts;
    const int64_t channels = kz_method_columns_of(d->method, x);
    const kz_window window = {.kernel = kernel, .stride = 1, .dilation = dilation};
    const uint32_t weight = kz_tts_convolution(tts, tts->codec, name, rows, channels, kernel,
                                               name_of(d, source, "weight"));
    const uint32_t bias =
        kz_tts_vector(tts, tts->codec, name_of(d, name, "bias"), rows, name_of(d, source, "bias"));
    uint32_t unfolded = x;
    if (kernel > 1) {
        const uint32_t tail = kz_graph_add_tail(tts->graph, name_of(d, name, "tail"),
                                                (kernel - 1) * dilation, (uint32_t)channels);
        unfolded = kz_node_unfold(d->method, kz_node_join_tail(d->method, x, tail), &window);
    }
    return kz_node_linear(d->method, unfolded, weight,
                          &(kz_linear_options){bias, residual, residual, KZ_ACTIVATION_NONE});
}

// A transposed convolution's weight [in][out][kernel], f32 as the codec's are.
static uint32_t transposed(const decoder *d, const char *name, int64_t in, int64_t out,
                           int64_t kernel, const char *source) {
    kz_graph *graph = d->tts->graph;
    const uint64_t dims[] = {(uint64_t)in, (uint64_t)out, (uint64_t)kernel};
    const kz_checkpoint_tensor *tensor = NULL;
    if (kz_graph_status(graph) == KAZEIA_OK) {
        kz_graph_note(graph, kz_checkpoint_require(d->tts->codec, source, 3, dims, &tensor));
    }
    if (tensor && tensor->type != KZ_F32) {
        kz_graph_note(graph, kz_fail(KAZEIA_UNSUPPORTED, "tensor '%s' is %s, expected F32", source,
                                     tensor->type_name));
    }
    const uint64_t rows = (uint64_t)(out * kernel);
    const uint32_t weight = kz_graph_add_weight(
        graph, &(kz_graph_weight){.name = name,
                                  .is_matrix = true,
                                  .rank = 2,
                                  .rows = rows,
                                  .columns = (uint64_t)in,
                                  .pieces = {{.tensor = tensor, .row_count = rows}},
                                  .piece_count = 1,
                                  .shape = KZ_WEIGHT_TRANSPOSED,
                                  .kernel = (uint32_t)kernel});
    kz_tts_mark_odd(d->tts, weight);
    return weight;
}

// Rows times `stride`; kernel is stride or twice that. What reaches beyond the last input's own
// rows waits, as that input, for the next call.
static uint32_t upsample(const decoder *d, uint32_t x, const char *name, const char *source,
                         int64_t out, uint32_t kernel, uint32_t stride) {
    kz_tts *tts = d->tts;
    const int64_t in = kz_method_columns_of(d->method, x);
    const uint32_t weight = transposed(d, name, in, out, kernel, name_of(d, source, "weight"));
    const uint32_t bias =
        kz_tts_vector(tts, tts->codec, name_of(d, name, "bias"), out, name_of(d, source, "bias"));
    kz_window window = {.kernel = kernel, .stride = stride, .dilation = 1};
    uint32_t joined = x;
    if (kernel > stride) {
        const uint32_t tail =
            kz_graph_add_tail(tts->graph, name_of(d, name, "tail"), 1, (uint32_t)in);
        joined = kz_node_join_tail(d->method, x, tail);
        window.left = window.right = kernel - stride;
    }
    const uint32_t wide = kz_node_linear(d->method, joined, weight, &KZ_LINEAR_PLAIN);
    return kz_node_fold(d->method, wide, bias, &window);
}

// alpha and beta are stored as logarithms; beta divides.
static uint32_t snake(const decoder *d, uint32_t x, const char *name, const char *source) {
    kz_tts *tts = d->tts;
    const int64_t count = kz_method_columns_of(d->method, x);
    float *alpha = kz_tts_floats(tts, tts->codec, name_of(d, source, "alpha"), count);
    float *beta = kz_tts_floats(tts, tts->codec, name_of(d, source, "beta"), count);
    for (int64_t i = 0; alpha && beta && i < count; i++) {
        alpha[i] = expf(alpha[i]);
        beta[i] = 1.0f / (expf(beta[i]) + 1e-9f);
    }
    return kz_node_snake(d->method, x,
                         kz_tts_constant(tts, name_of(d, name, "alpha"), 1, 1, count, alpha),
                         kz_tts_constant(tts, name_of(d, name, "beta"), 1, 1, count, beta));
}

// --- Codes to latents ---------------------------------------------------------------------------

// A codebook keeps sums and how often each was used.
static void add_usage(const decoder *d, const char *source, float *factors) {
    kz_tts *tts = d->tts;
    const int64_t codes = tts->decoder.codes;
    const float *usage = kz_tts_floats(tts, tts->codec, source, codes);
    for (int64_t i = 0; usage && i < codes; i++) {
        factors[i] = 1.0f / fmaxf(usage[i], 1e-5f);
    }
}

// All codebooks below each other, [groups * codes][width of a code].
static uint32_t codebooks(const decoder *d) {
    kz_tts *tts = d->tts;
    const kz_tts_codec_shape *shape = &tts->decoder;
    const char *sources[KZ_TTS_GROUP_LIMIT + 1] = {NULL};
    float *factors = NULL;
    if (kz_graph_status(tts->graph) == KAZEIA_OK) {
        kz_graph_note(tts->graph,
                      kz_bump_take(&tts->graph->memory, (size_t)(shape->groups * shape->codes),
                                   sizeof *factors, (void **)&factors));
    }
    for (int64_t g = 0; factors && g < shape->groups; g++) {
        const char *stem =
            kz_graph_name(tts->graph, "decoder.quantizer.%s.vq.layers.%lld._codebook",
                          g == 0 ? "rvq_first" : "rvq_rest", (long long)(g == 0 ? 0 : g - 1));
        sources[g] = name_of(d, stem, "embedding_sum");
        add_usage(d, name_of(d, stem, "cluster_usage"), factors + g * shape->codes);
    }
    const uint32_t weight = kz_model_matrix(tts->graph, tts->codec, "codec.codebooks",
                                            (uint64_t)(shape->groups * shape->codes),
                                            (uint64_t)shape->code_width, sources);
    if (weight < tts->graph->weight_count) {
        tts->graph->weights[weight].factors = factors;
    }
    kz_model_mark_precise(tts->graph, weight);
    return weight;
}

// [width][groups * width of a code]: the first codebook's projection, then that of the others once
// for each, so that one product projects and adds them all.
static uint32_t code_projection(const decoder *d) {
    kz_tts *tts = d->tts;
    const kz_tts_codec_shape *shape = &tts->decoder;
    const int64_t in = shape->code_width, columns = shape->groups * in;
    const float *first = kz_tts_floats(
        tts, tts->codec, "decoder.quantizer.rvq_first.output_proj.weight", shape->width * in);
    const float *rest = kz_tts_floats(
        tts, tts->codec, "decoder.quantizer.rvq_rest.output_proj.weight", shape->width * in);
    float *values = NULL;
    if (first && rest) {
        kz_graph_note(tts->graph,
                      kz_bump_take(&tts->graph->memory, (size_t)(shape->width * columns),
                                   sizeof *values, (void **)&values));
    }
    for (int64_t row = 0; values && row < shape->width; row++) {
        for (int64_t g = 0; g < shape->groups; g++) {
            memcpy(values + row * columns + g * in, (g == 0 ? first : rest) + row * in,
                   (size_t)in * sizeof *values);
        }
    }
    const uint32_t weight =
        kz_tts_constant(tts, "codec.projection", 2, shape->width, columns, values);
    if (weight < tts->graph->weight_count) {
        tts->graph->weights[weight].is_matrix = true;
    }
    kz_model_mark_precise(tts->graph, weight);
    return weight;
}

static uint32_t look_up(const decoder *d, uint32_t codes) {
    const uint32_t groups = (uint32_t)d->tts->decoder.groups;
    const kz_window frame = {.kernel = groups, .stride = groups, .dilation = 1};
    const uint32_t vectors = kz_node_embed(d->method, codes, codebooks(d), 1.0f);
    return kz_node_linear(d->method, kz_node_unfold(d->method, vectors, &frame), code_projection(d),
                          &KZ_LINEAR_PLAIN);
}

static uint32_t project(const decoder *d, uint32_t x, const char *name, const char *source,
                        int64_t rows) {
    kz_tts *tts = d->tts;
    const uint32_t weight =
        kz_tts_matrix(tts, tts->codec, name, rows, kz_method_columns_of(d->method, x),
                      name_of(d, source, "weight"), NULL);
    const uint32_t bias =
        kz_tts_vector(tts, tts->codec, name_of(d, name, "bias"), rows, name_of(d, source, "bias"));
    return kz_node_linear(d->method, x, weight,
                          &(kz_linear_options){bias, KZ_NO_VALUE, KZ_NO_VALUE, KZ_ACTIVATION_NONE});
}

static uint32_t transform(const decoder *d, uint32_t x, const kz_tts_cache_inputs *inputs) {
    kz_tts *tts = d->tts;
    kz_tts_stack stack;
    const uint32_t narrow =
        project(d, x, "codec.transformer.in", "decoder.pre_transformer.input_proj",
                tts->decoder.stack.hidden);
    kz_tts_stack_add(tts, tts->codec, &tts->decoder.stack, &stack);
    kz_tts_stack_run(&stack, d->method, narrow, inputs);
    const uint32_t normed = kz_node_rms_norm(d->method, narrow, stack.final_norm,
                                             (float)stack.shape.epsilon, KZ_NO_VALUE);
    return project(d, normed, "codec.transformer.out", "decoder.pre_transformer.output_proj",
                   tts->decoder.latent);
}

// --- Latents to samples -------------------------------------------------------------------------

// [channels][1][kernel] -> rows [kernel][channels].
static uint32_t depthwise_table(const decoder *d, const char *name, const char *source,
                                int64_t channels) {
    kz_tts *tts = d->tts;
    const float *from = kz_tts_floats(tts, tts->codec, source, channels * UPSAMPLE_KERNEL);
    float *table = NULL;
    if (from) {
        kz_graph_note(tts->graph,
                      kz_bump_take(&tts->graph->memory, (size_t)(channels * UPSAMPLE_KERNEL),
                                   sizeof *table, (void **)&table));
    }
    for (int64_t i = 0; table && i < channels * UPSAMPLE_KERNEL; i++) {
        table[i % UPSAMPLE_KERNEL * channels + i / UPSAMPLE_KERNEL] = from[i];
    }
    return kz_tts_constant(tts, name, 2, UPSAMPLE_KERNEL, channels, table);
}

// A ConvNeXt block: a depthwise convolution, then an MLP on each row, times gamma.
static void mix(const decoder *d, uint32_t x, const char *name, const char *source) {
    kz_tts *tts = d->tts;
    const kz_checkpoint *from = tts->codec;
    const int64_t channels = kz_method_columns_of(d->method, x), wide = 4 * channels;
    const kz_window window = {.kernel = UPSAMPLE_KERNEL, .stride = 1, .dilation = 1};
    const uint32_t tail = kz_graph_add_tail(tts->graph, name_of(d, name, "tail"),
                                            UPSAMPLE_KERNEL - 1, (uint32_t)channels);
    const uint32_t convolved =
        kz_node_depthwise(d->method, kz_node_join_tail(d->method, x, tail),
                          depthwise_table(d, name_of(d, name, "depthwise"),
                                          name_of(d, source, "dwconv.conv.weight"), channels),
                          kz_tts_vector(tts, from, name_of(d, name, "depthwise.bias"), channels,
                                        name_of(d, source, "dwconv.conv.bias")),
                          &window);
    const uint32_t normed =
        kz_node_layer_norm(d->method, convolved,
                           kz_tts_vector(tts, from, name_of(d, name, "norm"), channels,
                                         name_of(d, source, "norm.weight")),
                           kz_tts_vector(tts, from, name_of(d, name, "norm.bias"), channels,
                                         name_of(d, source, "norm.bias")),
                           LATENT_EPSILON, KZ_NO_VALUE);
    const uint32_t up = kz_tts_matrix(tts, from, name_of(d, name, "up"), wide, channels,
                                      name_of(d, source, "pwconv1.weight"), NULL);
    const uint32_t up_bias = kz_tts_vector(tts, from, name_of(d, name, "up.bias"), wide,
                                           name_of(d, source, "pwconv1.bias"));
    const uint32_t active =
        kz_node_linear(d->method, normed, up,
                       &(kz_linear_options){up_bias, KZ_NO_VALUE, KZ_NO_VALUE, KZ_ACTIVATION_GELU});
    const float *gamma = kz_tts_floats(tts, from, name_of(d, source, "gamma"), channels);
    const uint32_t down = kz_tts_matrix(tts, from, name_of(d, name, "down"), channels, wide,
                                        name_of(d, source, "pwconv2.weight"), gamma);
    const uint32_t down_bias = kz_tts_vector(tts, from, name_of(d, name, "down.bias"), channels,
                                             name_of(d, source, "pwconv2.bias"));
    if (down_bias < tts->graph->weight_count) {
        tts->graph->weights[down_bias].factors = gamma;
    }
    (void)kz_node_linear(d->method, active, down,
                         &(kz_linear_options){down_bias, x, x, KZ_ACTIVATION_NONE});
}

// Snake, convolution, snake, convolution of one row; added to x in place.
static void add_unit(const decoder *d, uint32_t x, const char *name, const char *source,
                     uint32_t dilation) {
    const int64_t channels = kz_method_columns_of(d->method, x);
    const uint32_t first = snake(d, x, name_of(d, name, "snake1"), name_of(d, source, "act1"));
    const uint32_t wide =
        convolve(d, first, name_of(d, name, "conv1"), name_of(d, source, "conv1.conv"), channels, 7,
                 dilation, KZ_NO_VALUE);
    const uint32_t second = snake(d, wide, name_of(d, name, "snake2"), name_of(d, source, "act2"));
    (void)convolve(d, second, name_of(d, name, "conv2"), name_of(d, source, "conv2.conv"), channels,
                   1, 1, x);
}

static uint32_t add_block(const decoder *d, uint32_t x, int64_t index) {
    static const uint32_t dilations[RESIDUAL_UNITS] = {1, 3, 9};
    kz_graph *graph = d->tts->graph;
    const uint32_t rate = (uint32_t)d->tts->decoder.rates[index];
    const int64_t channels = kz_method_columns_of(d->method, x) / 2;
    const char *name = kz_graph_name(graph, "codec.block.%lld", (long long)index);
    const char *source = kz_graph_name(graph, "decoder.decoder.%lld.block", (long long)index + 1);
    const uint32_t active = snake(d, x, name_of(d, name, "snake"), name_of(d, source, "0"));
    const uint32_t out = upsample(d, active, name_of(d, name, "up"), name_of(d, source, "1.conv"),
                                  channels, 2 * rate, rate);
    for (uint32_t unit = 0; unit < RESIDUAL_UNITS; unit++) {
        add_unit(d, out, kz_graph_name(graph, "%s.unit.%u", name, unit),
                 kz_graph_name(graph, "%s.%u", source, unit + 2), dilations[unit]);
    }
    return out;
}

static uint32_t stretch(const decoder *d, uint32_t x) {
    const kz_tts_codec_shape *shape = &d->tts->decoder;
    kz_graph *graph = d->tts->graph;
    for (int64_t i = 0; i < shape->ratio_count; i++) {
        const uint32_t ratio = (uint32_t)shape->ratios[i];
        const char *name = kz_graph_name(graph, "codec.stretch.%lld", (long long)i);
        const char *source = kz_graph_name(graph, "decoder.upsample.%lld", (long long)i);
        x = upsample(d, x, name_of(d, name, "up"), name_of(d, source, "0.conv"), shape->latent,
                     ratio, ratio);
        mix(d, x, name_of(d, name, "mix"), name_of(d, source, "1"));
    }
    return x;
}

void kz_tts_add_decoder(kz_tts *tts) {
    const kz_tts_codec_shape *shape = &tts->decoder;
    const decoder d = {tts, kz_graph_add_method(tts->graph, "codec_decode")};
    const kz_dim frames = kz_method_symbol(d.method, "frames", KZ_TTS_CODEC_FRAMES);
    kz_dim code_count = frames, samples = frames;
    code_count.scale[0] = (int32_t)shape->groups;
    samples.scale[0] = (int32_t)shape->samples_per_frame;
    const uint32_t codes =
        kz_method_input(d.method, "codes", KZ_I32, (uint32_t)(shape->groups * shape->codes), 1,
                        code_count, kz_dim_constant(1));
    const kz_tts_cache_inputs inputs = kz_tts_add_cache_inputs(d.method, frames, POSITION_LIMIT,
                                                               (uint32_t)shape->stack.cache_rows);
    const uint32_t out = kz_method_output(d.method, "samples", samples, 1);
    uint32_t x = look_up(&d, codes);
    x = convolve(&d, x, "codec.pre", "decoder.pre_conv.conv", shape->latent, 3, 1, KZ_NO_VALUE);
    x = stretch(&d, transform(&d, x, &inputs));
    x = convolve(&d, x, "codec.first", "decoder.decoder.0.conv", shape->channels, 7, 1,
                 KZ_NO_VALUE);
    for (int64_t i = 0; i < shape->rate_count; i++) {
        x = add_block(&d, x, i);
    }
    const char *last =
        kz_graph_name(tts->graph, "decoder.decoder.%lld", (long long)shape->rate_count + 1);
    x = snake(&d, x, "codec.snake", last);
    x = convolve(
        &d, x, "codec.last",
        kz_graph_name(tts->graph, "decoder.decoder.%lld.conv", (long long)shape->rate_count + 2), 1,
        7, 1, KZ_NO_VALUE);
    (void)kz_node_map(d.method, x, KZ_MAP_CLAMP, -1.0f, 1.0f, out);
}
