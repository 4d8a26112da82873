// kokoro_waveform.c: encodings of symbols and their durations -> samples.
//   in   "hidden" and "text" of the method "durations"; the symbol that each frame belongs to
//   out  method "waveform": 600 samples a frame, 40 frames a second
// Pitch and energy first, then a decoder that hears both, then a generator: sines of the pitch as
// a spectrum, upsampling, residual blocks with snakes, and the inverse spectrum.
//
// Joined values are padded to whole blocks of 32 columns, so that their convolutions can be
// quantised: the columns behind are zeros, and so are their weights.
#include <math.h>
#include <string.h>

#include "exporter/models/kokoro.h"

#define SAMPLE_RATE 24000.0f
#define VOICED_HZ 10.0f // below, there are no sines
#define SINE_LEVEL 0.1f
#define STAGE_COUNT 2u  // of upsampling
#define KERNEL_COUNT 3u // residual blocks of a stage
#define GENERATOR_NODE "/decoder/decoder/generator"
#define GENERATOR_PARAMETER "decoder.decoder.generator"
#define INVERSE_BASIS "decoder.decoder.generator.stft.istft.stft.inverse_basis"

static uint32_t whole_blocks(uint32_t columns) {
    return (columns + KZ_BLOCK - 1) / KZ_BLOCK * KZ_BLOCK;
}

static kz_kokoro_part part_of(kz_kokoro_graph *k, const char *name, const char *node,
                              const char *parameter, uint32_t i) {
    return (kz_kokoro_part){kz_graph_name(k->graph, "%s.%u", name, i),
                            kz_graph_name(k->graph, "%s.%u", node, i),
                            kz_graph_name(k->graph, "%s.%u", parameter, i)};
}

static uint32_t scale(kz_kokoro_graph *k, uint32_t x, float factor, uint32_t out) {
    return kz_node_map(k->method, x, KZ_MAP_SCALE, factor, 0, out);
}

// --- Pitch and energy ---------------------------------------------------------------------------

// Three blocks and a product: one number for each half frame.
static uint32_t add_curve(kz_kokoro_graph *k, uint32_t x, const char *name, const char *letter) {
    const char *node = kz_graph_name(k->graph, "/encoder/%s", letter);
    const char *parameter = kz_graph_name(k->graph, "encoder.predictor.%s", letter);
    for (uint32_t i = 0; i < 3; i++) {
        const kz_kokoro_part part = part_of(k, name, node, parameter, i);
        x = kz_kokoro_block(k, x, &part, i == 1, KZ_NO_VALUE);
    }
    const kz_kokoro_part head = {kz_kokoro_name(k, name, ".head"), kz_kokoro_name(k, node, "_proj"),
                                 kz_kokoro_name(k, parameter, "_proj")};
    return kz_kokoro_convolve(
        k, x, &head, &(kz_kokoro_convolution){1, 1, 0, 0, KZ_NO_VALUE, KZ_NO_VALUE, true, true});
}

// --- The decoder --------------------------------------------------------------------------------

// Values of one column a frame beside the decoder's own columns.
typedef struct decoder_inputs {
    uint32_t asr;           // [F][text]
    uint32_t pitch, energy; // [F][1]
} decoder_inputs;

// A curve at frames: kernel 3, every second row.
static uint32_t at_frames(kz_kokoro_graph *k, uint32_t curve, const char *name,
                          const char *ending) {
    const kz_kokoro_part part = {name, kz_graph_name(k->graph, "/decoder/decoder/%s", ending),
                                 kz_graph_name(k->graph, "decoder.decoder.%s", ending)};
    return kz_kokoro_convolve(
        k, curve, &part,
        &(kz_kokoro_convolution){1, 2, 1, 1, KZ_NO_VALUE, KZ_NO_VALUE, true, true});
}

// Puts pitch and energy at `column` of `joined`, and zeros behind them.
static void add_curves(kz_kokoro_graph *k, uint32_t joined, uint32_t column,
                       const decoder_inputs *in) {
    kz_graph_method *m = k->method;
    const uint32_t columns = kz_method_columns_of(m, joined);
    kz_node_copy(m, in->pitch, kz_method_view(m, joined, column, 1));
    kz_node_copy(m, in->energy, kz_method_view(m, joined, column + 1, 1));
    if (columns > column + 2) {
        const uint32_t left = columns - column - 2;
        (void)scale(k, kz_method_view(m, in->asr, 0, left), 0.0f,
                    kz_method_view(m, joined, column + 2, left));
    }
}

static uint32_t add_decoder(kz_kokoro_graph *k, const decoder_inputs *in) {
    kz_graph_method *m = k->method;
    const uint32_t text = kz_method_columns_of(m, in->asr);
    const kz_dim rows = kz_method_rows_of(m, in->asr);
    const kz_kokoro_part encode = {"decoder.encode", "/decoder/decoder/encode",
                                   "decoder.decoder.encode"};
    const kz_kokoro_part again = {"decoder.text", "/decoder/decoder/asr_res/asr_res.0",
                                  "decoder.decoder.asr_res.0"};
    const uint32_t first = kz_method_rows(m, rows, whole_blocks(text + 2));
    kz_node_copy(m, in->asr, kz_method_view(m, first, 0, text));
    add_curves(k, first, text, in);
    const uint32_t encoded = kz_kokoro_block(k, first, &encode, false, KZ_NO_VALUE);
    const uint32_t asr_again = kz_kokoro_convolve(
        k, in->asr, &again,
        &(kz_kokoro_convolution){1, 1, 0, 0, KZ_NO_VALUE, KZ_NO_VALUE, true, false});
    const uint32_t width = kz_method_columns_of(m, encoded);
    const uint32_t beside = kz_method_columns_of(m, asr_again);
    const uint32_t joined = kz_method_rows(m, rows, whole_blocks(width + beside + 2));
    const uint32_t own = kz_method_view(m, joined, 0, width);
    kz_node_copy(m, encoded, own);
    kz_node_copy(m, asr_again, kz_method_view(m, joined, width, beside));
    add_curves(k, joined, width + beside, in);
    uint32_t x = joined;
    for (uint32_t i = 0; i < 4; i++) {
        const kz_kokoro_part part =
            part_of(k, "decoder.decode", "/decoder/decoder/decode", "decoder.decoder.decode", i);
        x = kz_kokoro_block(k, joined, &part, i == 3, i < 3 ? own : KZ_NO_VALUE);
    }
    return x;
}

// --- The harmonic source ------------------------------------------------------------------------

// What a convolution multiplies a frame of `size` samples with: a periodic Hann window over
// cosines, then sines, [2 * bins][size]. The sine of the highest bin is zero everywhere; a trace of
// its cosine puts the phase of a negative one at -pi, where rounding mostly puts it in onnxruntime.
static uint32_t spectrum_basis(kz_kokoro_graph *k, uint32_t bins, uint32_t size) {
    const double turn = 6.28318530717958647692;
    float *basis = kz_kokoro_room(k, (uint64_t)2 * bins * size);
    for (uint32_t i = 0; basis && i < bins * size; i++) {
        const uint32_t bin = i / size, n = i % size;
        const double angle = turn * (double)(bin * n % size) / (double)size;
        const double window = 0.5 - 0.5 * cos(turn * (double)n / (double)size);
        const bool is_real = bin == 0 || 2 * bin == size;
        basis[i] = (float)(window * cos(angle));
        basis[bins * size + i] =
            is_real ? (bin == 0 ? 0.0f : 1e-12f * basis[i]) : (float)(window * -sin(angle));
    }
    return kz_kokoro_constant(k, "generator.source.basis", (uint64_t)2 * bins, size, basis);
}

// Phases of a source at rest. Nothing but rounding then fills the bins above the first, yet the
// network hears their phases as any others: these are those of onnxruntime 1.32.
static uint32_t rest_phases(kz_kokoro_graph *k, uint32_t bins) {
    static const float phases[] = {3.1415923f,  0.0f,        2.4903617f, -2.1253965f,
                                   0.79346722f, -2.1291599f, 0.1729747f, 2.9267988f,
                                   -1.3449425f, 2.7359736f,  -1.5468425f};
    float *rest = kz_kokoro_room(k, bins);
    for (uint32_t i = 0; rest && i < bins && i < sizeof phases / sizeof *phases; i++) {
        rest[i] = phases[i];
    }
    return kz_kokoro_constant(k, "generator.source.rest", 0, bins, rest);
}

// The sines' weights, with their level in them, and tanh: [T * stretch][1].
static uint32_t add_source(kz_kokoro_graph *k, uint32_t pitch, uint32_t stretch) {
    const char *node = GENERATOR_NODE "/m_source/l_linear/MatMul[1]";
    const kz_checkpoint_tensor *mix = kz_kokoro_tensor(k, node);
    const uint32_t harmonics = mix ? (uint32_t)mix->dims[0] : 0;
    float *weights = kz_kokoro_floats(k, node, harmonics);
    for (uint32_t i = 0; weights && i < harmonics; i++) {
        weights[i] *= SINE_LEVEL;
    }
    const uint32_t sines =
        kz_node_sines(k->method, pitch, stretch, harmonics, SAMPLE_RATE, VOICED_HZ);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    options.bias = kz_model_vector(k->graph, k->checkpoint, "generator.source.mix.bias", 1,
                                   GENERATOR_PARAMETER ".m_source.l_linear.bias");
    const uint32_t source = kz_node_linear(
        k->method, sines, kz_kokoro_constant(k, "generator.source.mix", 1, harmonics, weights),
        &options);
    return kz_node_map(k->method, source, KZ_MAP_TANH, 0, 0, source);
}

// Magnitudes and phases of the source, [T * stretch / step + 1][2 * bins].
static uint32_t add_spectrum(kz_kokoro_graph *k, uint32_t source, uint32_t size, uint32_t step) {
    const uint32_t bins = size / 2 + 1;
    const uint32_t padded = kz_node_pad(k->method, source, KZ_PAD_REFLECT, size / 2, size / 2);
    // The margin is never read: it makes the count of frames a whole number for every length.
    const uint32_t frames =
        kz_node_unfold(k->method, padded, &(kz_window){size, step, 1, 0, step - 1});
    const uint32_t parts =
        kz_node_linear(k->method, frames, spectrum_basis(k, bins, size), &KZ_LINEAR_PLAIN);
    return kz_node_polar(k->method, parts, rest_phases(k, bins), 1e-5f);
}

// --- The generator ------------------------------------------------------------------------------

// y + 1 / alpha * sin(alpha * y)^2 of y, x as it is fitted.
static uint32_t snake(kz_kokoro_graph *k, uint32_t x, uint32_t fit, const char *name,
                      const char *source) {
    const uint32_t columns = kz_method_columns_of(k->method, x);
    const float *alpha = kz_kokoro_floats(k, source, columns);
    float *inverse = kz_kokoro_room(k, columns);
    for (uint32_t i = 0; alpha && inverse && i < columns; i++) {
        inverse[i] = 1.0f / alpha[i];
    }
    return kz_node_adapt(
        k->method, x, fit,
        kz_kokoro_constant(k, kz_kokoro_name(k, name, ".alpha"), 0, columns, alpha),
        kz_kokoro_constant(k, kz_kokoro_name(k, name, ".beta"), 0, columns, inverse), 0.0f);
}

// One half of a unit: norm, snake, convolution. `half` is 1 or 2.
static uint32_t add_half(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part, uint32_t half,
                         uint32_t i, const kz_kokoro_convolution *base) {
    const kz_kokoro_part norm =
        kz_kokoro_inner(k, part, kz_graph_name(k->graph, "adain%u.%u", half, i));
    const kz_kokoro_part convolution =
        kz_kokoro_inner(k, part, kz_graph_name(k->graph, "convs%u.%u", half, i));
    const char *alpha = kz_graph_name(k->graph, "%s.alpha%u.%u", part->parameter, half, i);
    const uint32_t active =
        snake(k, x, kz_kokoro_fit(k, x, &norm),
              kz_graph_name(k->graph, "%s.snake%u.%u", part->name, half, i), alpha);
    kz_kokoro_convolution options = *base;
    options.left = options.right = kz_kokoro_margin(k, &convolution, base->dilation);
    return kz_kokoro_convolve(k, active, &convolution, &options);
}

// Three units of two convolutions, the first of which is dilated. Where `is_last`, x's own memory
// takes the sums.
static uint32_t add_residual(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part,
                             bool is_last) {
    static const uint32_t dilations[] = {1, 3, 5};
    const uint32_t none = KZ_NO_VALUE;
    for (uint32_t i = 0; i < 3; i++) {
        const kz_kokoro_convolution first = {dilations[i], 1, 0, 0, none, none, true, false};
        const kz_kokoro_convolution second = {1,    1,    0, 0, x, i > 0 || is_last ? x : none,
                                              true, false};
        const uint32_t inner = add_half(k, x, part, 1, i, &first);
        x = add_half(k, inner, part, 2, i, &second);
    }
    return x;
}

// A transposed convolution of twice its stride.
static uint32_t upsample(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part) {
    const char *source = kz_kokoro_name(k, part->node, "/ConvTranspose[1]");
    const kz_checkpoint_tensor *tensor = kz_kokoro_tensor(k, source);
    if (!tensor) {
        return KZ_NO_VALUE;
    }
    if (tensor->rank != 3 || tensor->type != KZ_F32 || tensor->dims[2] % 4 != 0 ||
        tensor->dims[0] != kz_method_columns_of(k->method, x)) {
        kz_graph_note(k->graph, kz_fail(KAZEIA_UNSUPPORTED,
                                        "tensor '%s' is no transposed convolution in F32 over %u "
                                        "columns, of a kernel that 4 divides",
                                        source, kz_method_columns_of(k->method, x)));
        return KZ_NO_VALUE;
    }
    const uint32_t kernel = (uint32_t)tensor->dims[2];
    const uint64_t rows = tensor->dims[1] * kernel;
    const uint32_t weight = kz_graph_add_weight(
        k->graph, &(kz_graph_weight){.name = part->name,
                                     .is_matrix = true,
                                     .rank = 2,
                                     .rows = rows,
                                     .columns = tensor->dims[0],
                                     .pieces = {{.tensor = tensor, .row_count = rows}},
                                     .piece_count = 1,
                                     .shape = KZ_WEIGHT_TRANSPOSED,
                                     .kernel = kernel});
    const uint32_t bias =
        kz_model_vector(k->graph, k->checkpoint, kz_kokoro_name(k, part->name, ".bias"),
                        tensor->dims[1], kz_kokoro_name(k, part->parameter, ".bias"));
    const uint32_t wide = kz_node_linear(k->method, x, weight, &KZ_LINEAR_PLAIN);
    return kz_node_fold(k->method, wide, bias,
                        &(kz_window){kernel, kernel / 2, 1, kernel / 4, kernel / 4});
}

// The source at the rows of a stage: a convolution of twice its stride, or of 1 at the last.
static uint32_t add_noise(kz_kokoro_graph *k, uint32_t spectrum, uint32_t stage) {
    const kz_kokoro_part part = part_of(k, "generator.noise", GENERATOR_NODE "/noise_convs",
                                        GENERATOR_PARAMETER ".noise_convs", stage);
    const kz_kokoro_part residual = part_of(k, "generator.noise_block", GENERATOR_NODE "/noise_res",
                                            GENERATOR_PARAMETER ".noise_res", stage);
    const kz_checkpoint_tensor *tensor =
        kz_kokoro_tensor(k, kz_kokoro_name(k, part.node, "/Conv[1]"));
    const uint32_t kernel = tensor && tensor->dims[2] <= UINT16_MAX ? (uint32_t)tensor->dims[2] : 1;
    kz_kokoro_convolution options = {1, 1, 0, 0, KZ_NO_VALUE, KZ_NO_VALUE, true, true};
    if (kernel > 1) {
        options.stride = kernel / 2;
        options.left = (options.stride + 1) / 2;
        // Enough for the last window, and no remainder: rows are one more than a multiple.
        options.right = options.left;
        while (2 + options.left + options.right < kernel ||
               (2 + options.left + options.right - kernel) % options.stride != 0) {
            options.right++;
        }
    }
    const uint32_t x = kz_kokoro_convolve(k, spectrum, &part, &options);
    return add_residual(k, x, &residual, true);
}

static uint32_t add_stage(kz_kokoro_graph *k, uint32_t x, uint32_t spectrum, uint32_t stage) {
    const kz_kokoro_part ups =
        part_of(k, "generator.upsample", GENERATOR_NODE "/ups", GENERATOR_PARAMETER ".ups", stage);
    const bool is_last = stage + 1 == STAGE_COUNT;
    const uint32_t noise = add_noise(k, spectrum, stage);
    uint32_t up = upsample(k, kz_kokoro_leaky(k, x, 0.1f, KZ_NO_VALUE), &ups);
    if (is_last) {
        up = kz_node_pad(k->method, up, KZ_PAD_REFLECT, 1, 0);
    }
    (void)kz_node_add(k->method, up, noise, up);
    uint32_t sum = KZ_NO_VALUE;
    for (uint32_t i = 0; i < KERNEL_COUNT; i++) {
        const kz_kokoro_part part =
            part_of(k, "generator.block", GENERATOR_NODE "/resblocks",
                    GENERATOR_PARAMETER ".resblocks", stage * KERNEL_COUNT + i);
        const uint32_t made = add_residual(k, up, &part, i + 1 == KERNEL_COUNT);
        sum = sum == KZ_NO_VALUE ? made : kz_node_add(k->method, sum, made, sum);
    }
    return scale(k, sum, 1.0f / (float)KERNEL_COUNT, sum);
}

// exp(magnitude) and sin(phase) of each bin, back to samples. Overlapping windows are summed and
// not divided by their squares, as the exported model leaves it (docs/models/kokoro.md).
static void add_inverse(kz_kokoro_graph *k, uint32_t x, uint32_t samples) {
    kz_graph_method *m = k->method;
    const kz_kokoro_part post = {"generator.spectrum", GENERATOR_NODE "/conv_post",
                                 GENERATOR_PARAMETER ".conv_post"};
    const uint32_t margin = kz_kokoro_margin(k, &post, 1);
    const uint32_t both = kz_kokoro_convolve(
        k, x, &post,
        &(kz_kokoro_convolution){1, 1, margin, margin, KZ_NO_VALUE, KZ_NO_VALUE, true, true});
    const uint32_t bins = kz_method_columns_of(m, both) / 2, size = 2 * (bins - 1);
    const uint32_t step = size / 4;
    const uint32_t level =
        kz_node_map(m, kz_method_view(m, both, 0, bins), KZ_MAP_EXP, 0, 0, KZ_NO_VALUE);
    const uint32_t phase =
        kz_node_map(m, kz_method_view(m, both, bins, bins), KZ_MAP_SIN, 0, 0, KZ_NO_VALUE);
    const uint32_t real = kz_method_view(m, both, 0, bins);
    const uint32_t imaginary = kz_method_view(m, both, bins, bins);
    (void)kz_node_map(m, phase, KZ_MAP_COS, 0, 0, real);
    (void)kz_node_map(m, phase, KZ_MAP_SIN, 0, 0, imaginary);
    (void)kz_node_mul(m, real, level, real);
    (void)kz_node_mul(m, imaginary, level, imaginary);
    float *basis = kz_kokoro_room(k, (uint64_t)2 * bins * size);
    const float *given = kz_kokoro_floats(k, INVERSE_BASIS, (uint64_t)2 * bins * size);
    for (uint32_t i = 0; basis && given && i < 2 * bins * size; i++) {
        basis[i % size * 2 * bins + i / size] = 4.0f * given[i];
    }
    const uint32_t waves = kz_node_linear(
        m, both, kz_kokoro_constant(k, "generator.inverse", size, (uint64_t)2 * bins, basis),
        &KZ_LINEAR_PLAIN);
    const uint32_t sound =
        kz_node_fold(m, waves, KZ_NO_VALUE, &(kz_window){size, step, 1, size / 2, size / 2});
    (void)kz_node_map(m, sound, KZ_MAP_CLAMP, -1.0f, 1.0f, samples);
}

static void add_generator(kz_kokoro_graph *k, uint32_t x, uint32_t pitch, uint32_t samples) {
    const kz_checkpoint_tensor *basis = kz_kokoro_tensor(k, INVERSE_BASIS);
    const uint32_t size = basis && basis->dims[2] <= UINT16_MAX ? (uint32_t)basis->dims[2] : 4;
    const uint32_t step = size / 4;
    uint32_t stretch = step;
    for (uint32_t i = 0; i < STAGE_COUNT; i++) {
        const kz_checkpoint_tensor *up = kz_kokoro_tensor(
            k, kz_graph_name(k->graph, GENERATOR_NODE "/ups.%u/ConvTranspose[1]", i));
        stretch *= up && up->dims[2] <= UINT8_MAX ? (uint32_t)up->dims[2] / 2 : 1;
    }
    const uint32_t spectrum = add_spectrum(k, add_source(k, pitch, stretch), size, step);
    for (uint32_t stage = 0; stage < STAGE_COUNT; stage++) {
        x = add_stage(k, x, spectrum, stage);
    }
    add_inverse(k, kz_kokoro_leaky(k, x, 0.01f, KZ_NO_VALUE), samples);
}

// --- The method ---------------------------------------------------------------------------------

void kz_kokoro_add_waveform(kz_kokoro_graph *k) {
    kz_graph *graph = k->graph;
    const kz_graph_method *durations = &graph->methods[0];
    const kz_kokoro_part shared = {"prosody.lstm", "/encoder/shared", NULL};
    const uint32_t hidden_columns = kz_method_columns_of(durations, durations->outputs[1]);
    const uint32_t text_columns = kz_method_columns_of(durations, durations->outputs[2]);
    k->method = kz_graph_add_method(graph, "waveform");
    kz_graph_method *m = k->method;
    const kz_dim count = kz_method_symbol(m, "symbols", k->symbol_limit);
    const kz_dim frames = kz_method_symbol(m, "frames", k->frame_limit);
    kz_dim samples_count = kz_dim_constant(0);
    const uint32_t hidden =
        kz_method_input(m, "hidden", KZ_F32, 0, 2, count, kz_dim_constant(hidden_columns));
    const uint32_t text =
        kz_method_input(m, "text", KZ_F32, 0, 2, count, kz_dim_constant(text_columns));
    const uint32_t index =
        kz_method_input(m, "index", KZ_I32, k->symbol_limit, 1, frames, kz_dim_constant(1));
    const uint32_t both = kz_kokoro_add_style(k);
    const uint32_t half = kz_method_columns_of(m, both) / 2;
    (void)kz_dim_stretch(&frames, 600, 0, &samples_count);
    const uint32_t samples = kz_method_output(m, "samples", samples_count, 1);
    k->style = kz_method_view(m, both, half, half);
    const uint32_t heard =
        kz_kokoro_lstm(k, kz_node_gather(m, hidden, index), &shared, KZ_NO_VALUE);
    const uint32_t pitch = add_curve(k, heard, "prosody.pitch", "F0");
    const uint32_t energy = add_curve(k, heard, "prosody.energy", "N");
    k->style = kz_method_view(m, both, 0, half);
    const decoder_inputs in = {.asr = kz_node_gather(m, text, index),
                               .pitch = at_frames(k, pitch, "decoder.pitch", "F0_conv"),
                               .energy = at_frames(k, energy, "decoder.energy", "N_conv")};
    add_generator(k, add_decoder(k, &in), pitch, samples);
}
