// silero.c: Silero VAD for 16 kHz: a window of sound -> how likely somebody speaks in it.
//   in   a safetensors file with the tensors of snakers4/silero-vad (versions 5 and 6 are alike)
//   out  the graph of docs/abilities.md "vad"
// The file says nothing but its tensors, so the model is known by their names and checked by their
// shapes. The network and its order follow the package's own tinygrad_model.py.
#include <string.h>

#include "exporter/models/language.h"

#define WINDOW 512u // samples that a call takes
#define CONTEXT 64u // samples before them, kept by the program
#define FFT 256u
#define FFT_STEP 128u
#define REFLECTED 64u // samples mirrored behind the window: four whole frames
#define BINS 129u
#define HIDDEN 128u
#define LAYER_COUNT 4

// A convolution of three frames with one of zeros at each side, and ReLU.
typedef struct silero_layer {
    uint32_t in, out, stride;
    uint32_t weight, bias;
} silero_layer;

typedef struct silero {
    kz_checkpoint *checkpoint;
    kz_graph *graph;
    uint32_t basis; // cosines over sines [2 * BINS][FFT], with the analysis window in them
    silero_layer layers[LAYER_COUNT];
    uint32_t input, input_bias, recurrent; // LSTM, gates in torch's order
    uint32_t head, head_bias;
    uint32_t context, h, c; // states
} silero;

// --- Weights ------------------------------------------------------------------------------------

static uint32_t convolution(silero *model, const char *name, uint32_t rows, uint32_t channels,
                            uint32_t kernel, const char *source) {
    const uint32_t weight =
        kz_model_convolution(model->graph, model->checkpoint, name, rows, channels, kernel, source);
    // 1.2 MB in all, and the probabilities are held to the original's: nothing to gain by rounding.
    kz_model_mark_precise(model->graph, weight);
    return weight;
}

static uint32_t matrix(silero *model, const char *name, const char *source) {
    const char *sources[] = {source, NULL};
    const uint32_t weight = kz_model_matrix(model->graph, model->checkpoint, name,
                                            (uint64_t)4 * HIDDEN, HIDDEN, sources);
    kz_model_mark_precise(model->graph, weight);
    return weight;
}

// The two biases of torch's LSTM only ever act together.
static uint32_t summed_bias(silero *model, const char *name, const char *const sources[2]) {
    const uint64_t dims[] = {(uint64_t)4 * HIDDEN};
    float *sum = NULL, *term = NULL;
    kz_graph *graph = model->graph;
    if (kz_graph_status(graph) != KAZEIA_OK) {
        return KZ_NO_VALUE;
    }
    kz_graph_note(graph, kz_bump_take(&graph->memory, dims[0], sizeof *sum, (void **)&sum));
    kz_graph_note(graph, kz_bump_take(&graph->memory, dims[0], sizeof *term, (void **)&term));
    for (size_t i = 0; i < 2 && kz_graph_status(graph) == KAZEIA_OK; i++) {
        const kz_checkpoint_tensor *tensor = NULL;
        kazeia_status status =
            kz_checkpoint_require(model->checkpoint, sources[i], 1, dims, &tensor);
        status = status == KAZEIA_OK ? kz_checkpoint_decode_row(tensor, 0, term) : status;
        kz_graph_note(graph, status);
        for (size_t k = 0; k < dims[0] && status == KAZEIA_OK; k++) {
            sum[k] += term[k];
        }
    }
    return kz_graph_add_weight(
        graph, &(kz_graph_weight){.name = name,
                                  .rank = 1,
                                  .rows = 1,
                                  .columns = dims[0],
                                  .pieces = {{.constant = sum, .row_count = dims[0]}},
                                  .piece_count = 1});
}

static void add_weights(silero *model) {
    static const char *const biases[2] = {"lstm_cell.bias_ih", "lstm_cell.bias_hh"};
    kz_graph *graph = model->graph;
    model->basis = convolution(model, "spectrum", 2 * BINS, 1, FFT, "stft_conv.weight");
    for (uint32_t i = 0; i < LAYER_COUNT; i++) {
        silero_layer *layer = &model->layers[i];
        layer->weight = convolution(model, kz_graph_name(graph, "encoder.%u", i), layer->out,
                                    layer->in, 3, kz_graph_name(graph, "conv%u.weight", i + 1));
        layer->bias =
            kz_model_vector(graph, model->checkpoint, kz_graph_name(graph, "encoder.%u.bias", i),
                            layer->out, kz_graph_name(graph, "conv%u.bias", i + 1));
    }
    model->input = matrix(model, "memory.input", "lstm_cell.weight_ih");
    model->input_bias = summed_bias(model, "memory.bias", biases);
    model->recurrent = matrix(model, "memory.recurrent", "lstm_cell.weight_hh");
    model->head = convolution(model, "head", 1, HIDDEN, 1, "final_conv.weight");
    model->head_bias = kz_model_vector(graph, model->checkpoint, "head.bias", 1, "final_conv.bias");
    model->context = kz_graph_add_tail(graph, "context", CONTEXT, 1);
    model->h = kz_graph_add_tail(graph, "memory.h", 1, HIDDEN);
    model->c = kz_graph_add_tail(graph, "memory.c", 1, HIDDEN);
}

// --- The method ---------------------------------------------------------------------------------

static uint32_t biased(kz_graph_method *method, uint32_t x, uint32_t weight, uint32_t bias,
                       uint32_t out) {
    return kz_node_linear(method, x, weight,
                          &(kz_linear_options){bias, KZ_NO_VALUE, out, KZ_ACTIVATION_NONE});
}

static uint32_t relu(kz_graph_method *method, uint32_t x) {
    return kz_node_map(method, x, KZ_MAP_RELU, 0, 0, x);
}

static void add_speech(const silero *model) {
    kz_graph_method *method = kz_graph_add_method(model->graph, "speech");
    const kz_dim one = kz_dim_constant(1);
    const uint32_t samples =
        kz_method_input(method, "samples", KZ_F32, 0, 2, kz_dim_constant(WINDOW), one);
    const uint32_t probability = kz_method_output(method, "probability", one, 1);
    const uint32_t joined = kz_node_join_tail(method, samples, model->context);
    const uint32_t padded = kz_node_pad(method, joined, KZ_PAD_REFLECT, 0, REFLECTED);
    const uint32_t frames = kz_node_unfold(method, padded, &(kz_window){FFT, FFT_STEP, 1, 0, 0});
    // One column for each bin, of cosine and sine: [4][BINS].
    uint32_t x = kz_node_magnitude(
        method, kz_node_linear(method, frames, model->basis, &KZ_LINEAR_PLAIN), 0.0f);
    for (uint32_t i = 0; i < LAYER_COUNT; i++) {
        const silero_layer *layer = &model->layers[i];
        const uint32_t window = kz_node_unfold(method, x, &(kz_window){3, layer->stride, 1, 1, 1});
        x = relu(method, biased(method, window, layer->weight, layer->bias, KZ_NO_VALUE));
    }
    const uint32_t gates = biased(method, x, model->input, model->input_bias, KZ_NO_VALUE);
    kz_lstm_options options = KZ_LSTM_PLAIN;
    options.h = model->h;
    options.c = model->c;
    const uint32_t remembered = kz_node_lstm(method, gates, model->recurrent, &options);
    (void)biased(method, relu(method, remembered), model->head, model->head_bias, probability);
    (void)kz_node_map(method, probability, KZ_MAP_SIGMOID, 0, 0, probability);
}

// --- The program --------------------------------------------------------------------------------

// No file beside the tensors names the model.
static bool matches(const kz_checkpoint *checkpoint) {
    return kz_checkpoint_kind_of(checkpoint) == KZ_CHECKPOINT_SAFETENSORS &&
           kz_checkpoint_find(checkpoint, "stft_conv.weight") &&
           kz_checkpoint_find(checkpoint, "lstm_cell.weight_ih");
}

static kazeia_status refuse_chat_options(const kz_model_options *options) {
    if (!options->is_hybrid || options->context) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "%s: is for language models; Silero VAD has none: leave "
                       "it out",
                       options->context ? "context" : "mode");
    }
    return KAZEIA_OK;
}

static kazeia_status build(kz_checkpoint *checkpoint, const kz_model_options *options,
                           kz_graph *graph) {
    silero model = {.checkpoint = checkpoint,
                    .graph = graph,
                    .layers = {{.in = BINS, .out = 128, .stride = 1},
                               {.in = 128, .out = 64, .stride = 2},
                               {.in = 64, .out = 64, .stride = 2},
                               {.in = 64, .out = HIDDEN, .stride = 1}}};
    KZ_TRY(refuse_chat_options(options));
    KZ_TRY(kz_model_add_general(checkpoint, graph));
    kz_graph_set_string(graph, "general.architecture", "silero-vad");
    kz_graph_set_string(graph, "ability", "vad");
    kz_graph_set_integer(graph, "vad.sample_rate_hz", 16000);
    kz_graph_set_integer(graph, "vad.window", WINDOW);
    add_weights(&model);
    add_speech(&model);
    return kz_graph_status(graph);
}

const kz_model kz_model_silero = {"silero-vad", matches, build};
