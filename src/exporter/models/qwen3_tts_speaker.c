// qwen3_tts_speaker.c: the speaker encoder of voices that clone: a recording -> the speaker's
// vector.
//   in   "speaker_encoder.*": ECAPA-TDNN (Desplanques et al., "ECAPA-TDNN", 2020)
//   out  methods voice_mel (samples -> log-mel rows) and voice_vector (those rows -> the vector)
// The spectrum is a product with the windowed sines and cosines: a clip of seconds, once, needs no
// fast transform. All convolutions see their input mirrored at both ends.
#include <math.h>
#include <string.h>

#include "exporter/models/qwen3_tts.h"

#define PREFIX "speaker_encoder."
#define MELS 128
#define FFT 1024
#define BINS (FFT / 2 + 1)
#define HOP 256
#define RATE_HZ 24000
#define ROW_LIMIT 2000u // mel rows of one recording: 21 s
#define PARTS 8         // of a Res2Net block
#define BLOCKS 3
#define PI 3.14159265358979323846

typedef struct speaker {
    kz_tts *tts;
    kz_graph_method *method;
} speaker;

// --- Log-mel ------------------------------------------------------------------------------------

static float *take_floats(kz_tts *tts, size_t count) {
    float *values = NULL;
    if (kz_graph_status(tts->graph) == KAZEIA_OK) {
        kz_graph_note(tts->graph,
                      kz_bump_take(&tts->graph->memory, count, sizeof *values, (void **)&values));
    }
    return values;
}

static uint32_t constant_matrix(kz_tts *tts, const char *name, int64_t rows, int64_t columns,
                                const float *values) {
    const uint32_t weight = kz_tts_constant(tts, name, 2, rows, columns, values);
    if (weight < tts->graph->weight_count) {
        tts->graph->weights[weight].is_matrix = true;
    }
    kz_model_mark_precise(tts->graph, weight);
    return weight;
}

// Cosines, then sines, under a periodic Hann window.
static uint32_t spectrum_basis(kz_tts *tts) {
    float *values = take_floats(tts, 2 * (size_t)BINS * FFT);
    for (int bin = 0; values && bin < BINS; bin++) {
        for (int i = 0; i < FFT; i++) {
            const double hann = 0.5 - 0.5 * cos(2 * PI * i / FFT);
            // The product within one turn first: angles stay exact.
            const double angle = 2 * PI * (double)(bin * i % FFT) / FFT;
            values[bin * FFT + i] = (float)(hann * cos(angle));
            values[(BINS + bin) * FFT + i] = (float)(-hann * sin(angle));
        }
    }
    return constant_matrix(tts, "voice.spectrum", 2 * BINS, FFT, values);
}

// The slaney scale: linear below 1000 Hz, logarithmic above (M. Slaney, "Auditory Toolbox", 1998).
static double hz_of_mel(double mel) {
    const double knee = 1000.0 * 3 / 200;
    return mel < knee ? mel * 200 / 3 : 1000.0 * exp((mel - knee) * log(6.4) / 27);
}

static double mel_of_hz(double hz) {
    return hz < 1000 ? hz * 3 / 200 : 1000.0 * 3 / 200 + log(hz / 1000) * 27 / log(6.4);
}

static uint32_t mel_filters(kz_tts *tts) {
    float *values = take_floats(tts, (size_t)MELS * BINS);
    const double step = mel_of_hz(RATE_HZ / 2.0) / (MELS + 1);
    for (int mel = 0; values && mel < MELS; mel++) {
        const double low = hz_of_mel(mel * step), middle = hz_of_mel((mel + 1) * step);
        const double high = hz_of_mel((mel + 2) * step);
        for (int bin = 0; bin < BINS; bin++) {
            const double hz = (double)RATE_HZ * bin / FFT;
            const double rising = (hz - low) / (middle - low);
            const double falling = (high - hz) / (high - middle);
            const double height = rising < falling ? rising : falling;
            values[mel * BINS + bin] = (float)(height > 0 ? height * 2 / (high - low) : 0);
        }
    }
    return constant_matrix(tts, "voice.mel", MELS, BINS, values);
}

static void add_mel(speaker *s) {
    const kz_window window = {.kernel = FFT, .stride = HOP, .dilation = 1};
    const uint32_t edge = (FFT - HOP) / 2;
    s->method = kz_graph_add_method(s->tts->graph, "voice_mel");
    const kz_dim samples = kz_method_symbol(s->method, "samples", ROW_LIMIT * HOP);
    const uint32_t in =
        kz_method_input(s->method, "samples", KZ_F32, 0, 2, samples, kz_dim_constant(1));
    const uint32_t padded = kz_node_pad(s->method, in, KZ_PAD_REFLECT, edge, edge);
    const uint32_t frames = kz_node_unfold(s->method, padded, &window);
    const uint32_t waves =
        kz_node_linear(s->method, frames, spectrum_basis(s->tts), &KZ_LINEAR_PLAIN);
    const uint32_t mel = kz_node_linear(s->method, kz_node_magnitude(s->method, waves, 1e-9f),
                                        mel_filters(s->tts), &KZ_LINEAR_PLAIN);
    const uint32_t out =
        kz_method_output(s->method, "mel", kz_method_rows_of(s->method, mel), MELS);
    (void)kz_node_map(s->method, mel, KZ_MAP_LOG, 1e-5f, 0.0f, out);
}

// --- Convolutions -------------------------------------------------------------------------------

// A convolution as wide as its input, without activation.
static uint32_t convolve(const speaker *s, uint32_t x, const char *stem, uint32_t dilation) {
    kz_tts *tts = s->tts;
    const char *source = kz_graph_name(tts->graph, PREFIX "%s.weight", stem);
    const kz_checkpoint_tensor *tensor = NULL;
    const uint64_t dims[] = {0, kz_method_columns_of(s->method, x), 0};
    if (kz_graph_status(tts->graph) == KAZEIA_OK) {
        kz_graph_note(tts->graph, kz_checkpoint_require(tts->checkpoint, source, 3, dims, &tensor));
    }
    if (!tensor) {
        return KZ_NO_VALUE;
    }
    const uint32_t kernel = (uint32_t)tensor->dims[2], edge = (kernel - 1) * dilation / 2;
    const char *name = kz_graph_name(tts->graph, "voice.%s", stem);
    const uint32_t weight = kz_tts_convolution(tts, tts->checkpoint, name, (int64_t)tensor->dims[0],
                                               (int64_t)dims[1], kernel, source);
    const uint32_t bias =
        kz_tts_vector(tts, tts->checkpoint, kz_graph_name(tts->graph, "%s.bias", name),
                      (int64_t)tensor->dims[0], kz_graph_name(tts->graph, PREFIX "%s.bias", stem));
    const kz_window window = {.kernel = kernel, .stride = 1, .dilation = dilation};
    if (kernel > 1) {
        x = kz_node_unfold(s->method, kz_node_pad(s->method, x, KZ_PAD_REFLECT, edge, edge),
                           &window);
    }
    return kz_node_linear(s->method, x, weight,
                          &(kz_linear_options){bias, KZ_NO_VALUE, KZ_NO_VALUE, KZ_ACTIVATION_NONE});
}

static uint32_t relu(const speaker *s, uint32_t x, uint32_t out) {
    return kz_node_map(s->method, x, KZ_MAP_RELU, 0.0f, 0.0f, out);
}

// Each part is convolved together with what became of the one before.
static uint32_t res2net(const speaker *s, uint32_t x, const char *stem, uint32_t dilation) {
    const uint32_t width = kz_method_columns_of(s->method, x) / PARTS;
    const uint32_t out = kz_method_rows(s->method, kz_method_rows_of(s->method, x), width * PARTS);
    uint32_t before = KZ_NO_VALUE;
    kz_node_copy(s->method, kz_method_view(s->method, x, 0, width),
                 kz_method_view(s->method, out, 0, width));
    for (uint32_t part = 1; part < PARTS; part++) {
        const uint32_t place = kz_method_view(s->method, out, part * width, width);
        uint32_t in = kz_method_view(s->method, x, part * width, width);
        if (before != KZ_NO_VALUE) {
            in = kz_node_add(s->method, in, before, KZ_NO_VALUE);
        }
        const uint32_t made = convolve(
            s, in, kz_graph_name(s->tts->graph, "%s.res2net_block.blocks.%u.conv", stem, part - 1),
            dilation);
        before = relu(s, made, place);
    }
    return out;
}

// Each channel times how much its mean says that it matters.
static void excite(const speaker *s, uint32_t x, const char *stem) {
    const uint32_t channels = kz_method_columns_of(s->method, x);
    const uint32_t pooled = kz_node_column_pool(s->method, x, KZ_NO_VALUE, 1e-12f);
    const uint32_t narrow = convolve(s, kz_method_view(s->method, pooled, 0, channels),
                                     kz_graph_name(s->tts->graph, "%s.se_block.conv1", stem), 1);
    const uint32_t wide = convolve(s, relu(s, narrow, KZ_NO_VALUE),
                                   kz_graph_name(s->tts->graph, "%s.se_block.conv2", stem), 1);
    (void)kz_node_mul(s->method, x,
                      kz_node_map(s->method, wide, KZ_MAP_SIGMOID, 0.0f, 0.0f, KZ_NO_VALUE), x);
}

static uint32_t add_block(const speaker *s, uint32_t x, uint32_t index, uint32_t dilation) {
    kz_graph *graph = s->tts->graph;
    const char *stem = kz_graph_name(graph, "blocks.%u", index);
    const uint32_t first =
        relu(s, convolve(s, x, kz_graph_name(graph, "%s.tdnn1.conv", stem), 1), KZ_NO_VALUE);
    const uint32_t mixed = res2net(s, first, stem, dilation);
    const uint32_t last =
        relu(s, convolve(s, mixed, kz_graph_name(graph, "%s.tdnn2.conv", stem), 1), KZ_NO_VALUE);
    excite(s, last, stem);
    return kz_node_add(s->method, last, x, KZ_NO_VALUE);
}

// --- The vector ---------------------------------------------------------------------------------

// Mean and deviation of each channel, weighted by attention over the rows.
static uint32_t pool(const speaker *s, uint32_t x) {
    kz_graph_method *method = s->method;
    const uint32_t channels = kz_method_columns_of(method, x);
    const uint32_t plain = kz_node_column_pool(method, x, KZ_NO_VALUE, 1e-12f);
    const uint32_t joined = kz_method_rows(method, kz_method_rows_of(method, x), 3 * channels);
    kz_node_copy(method, x, kz_method_view(method, joined, 0, channels));
    kz_node_copy(method, plain, kz_method_view(method, joined, channels, 2 * channels));
    const uint32_t narrow = relu(s, convolve(s, joined, "asp.tdnn.conv", 1), KZ_NO_VALUE);
    const uint32_t bounded = kz_node_map(method, narrow, KZ_MAP_TANH, 0.0f, 0.0f, KZ_NO_VALUE);
    const uint32_t weights =
        kz_node_column_softmax(method, convolve(s, bounded, "asp.conv", 1), KZ_NO_VALUE);
    return kz_node_column_pool(method, x, weights, 1e-12f);
}

static void add_vector(speaker *s) {
    kz_graph *graph = s->tts->graph;
    const json_t *dilations =
        json_object_get(json_object_get(s->tts->config, "speaker_encoder_config"), "enc_dilations");
    s->method = kz_graph_add_method(graph, "voice_vector");
    const kz_dim rows = kz_method_symbol(s->method, "rows", ROW_LIMIT);
    const uint32_t mel =
        kz_method_input(s->method, "mel", KZ_F32, 0, 2, rows, kz_dim_constant(MELS));
    const uint32_t out =
        kz_method_output(s->method, "vector", kz_dim_constant(1), (uint32_t)s->tts->talker.hidden);
    uint32_t x = relu(s, convolve(s, mel, "blocks.0.conv", 1), KZ_NO_VALUE);
    const uint32_t channels = kz_method_columns_of(s->method, x);
    const uint32_t joined = kz_method_rows(s->method, rows, BLOCKS * channels);
    for (uint32_t i = 1; i <= BLOCKS; i++) {
        // As published where the file does not say.
        const json_t *dilation = json_array_get(dilations, i);
        x = add_block(s, x, i,
                      json_is_integer(dilation) ? (uint32_t)json_integer_value(dilation) : i + 1);
        kz_node_copy(s->method, x, kz_method_view(s->method, joined, (i - 1) * channels, channels));
    }
    const uint32_t all = relu(s, convolve(s, joined, "mfa.conv", 1), KZ_NO_VALUE);
    kz_node_copy(s->method, convolve(s, pool(s, all), "fc", 1), out);
}

// Voices with built-in speakers have none.
void kz_tts_add_speaker(kz_tts *tts) {
    speaker s = {.tts = tts};
    if (kz_graph_status(tts->graph) == KAZEIA_OK &&
        kz_checkpoint_find(tts->checkpoint, PREFIX "fc.weight")) {
        add_mel(&s);
        add_vector(&s);
    }
}
