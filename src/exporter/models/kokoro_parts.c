// kokoro_parts.c: the parts of which a Kokoro is made: products, convolutions, LSTMs, norms that a
// style adapts, residual blocks.
//   in   values of a method, stems of names
//   out  weights and instructions
#include <math.h>
#include <string.h>

#include "exporter/models/kokoro.h"

#define LEAKY_SLOPE 0.2f // of the blocks

// --- Weights ------------------------------------------------------------------------------------

const char *kz_kokoro_name(kz_kokoro_graph *k, const char *stem, const char *ending) {
    return kz_graph_name(k->graph, "%s%s", stem, ending);
}

kz_kokoro_part kz_kokoro_inner(kz_kokoro_graph *k, const kz_kokoro_part *part, const char *ending) {
    return (kz_kokoro_part){kz_graph_name(k->graph, "%s.%s", part->name, ending),
                            kz_graph_name(k->graph, "%s/%s", part->node, ending),
                            kz_graph_name(k->graph, "%s.%s", part->parameter, ending)};
}

const kz_checkpoint_tensor *kz_kokoro_tensor(kz_kokoro_graph *k, const char *name) {
    const kz_checkpoint_tensor *tensor = NULL;
    if (kz_graph_status(k->graph) == KAZEIA_OK) {
        kz_graph_note(k->graph, kz_checkpoint_require(k->checkpoint, name, 0, NULL, &tensor));
    }
    return tensor;
}

float *kz_kokoro_room(kz_kokoro_graph *k, uint64_t count) {
    float *floats = NULL;
    if (kz_graph_status(k->graph) == KAZEIA_OK) {
        kz_graph_note(k->graph, kz_bump_take(&k->graph->memory, (size_t)count, sizeof *floats,
                                             (void **)&floats));
    }
    return floats;
}

float *kz_kokoro_floats(kz_kokoro_graph *k, const char *name, uint64_t count) {
    const kz_checkpoint_tensor *tensor = kz_kokoro_tensor(k, name);
    return tensor ? kz_model_floats(k->graph, tensor, count) : NULL;
}

uint32_t kz_kokoro_constant(kz_kokoro_graph *k, const char *name, uint64_t rows, uint64_t columns,
                            const float *values) {
    return kz_graph_add_weight(
        k->graph,
        &(kz_graph_weight){.name = name,
                           .is_matrix = rows > 0,
                           .is_precise = rows > 0,
                           .rank = rows > 0 ? 2 : 1,
                           .rows = rows > 0 ? rows : 1,
                           .columns = columns,
                           .pieces = {{.constant = values, .row_count = rows > 0 ? rows : columns}},
                           .piece_count = 1});
}

uint32_t kz_kokoro_vector(kz_kokoro_graph *k, const char *name, uint64_t count,
                          const char *source) {
    return kz_model_vector(k->graph, k->checkpoint, name, count, source);
}

void kz_kokoro_add_turned(kz_kokoro_graph *k, kz_graph_weight *weight, const char *source,
                          uint64_t first, uint64_t count) {
    const kz_checkpoint_tensor *tensor = kz_kokoro_tensor(k, source);
    if (!tensor) {
        return;
    }
    if (tensor->rank < 2 || tensor->dims[0] != weight->columns ||
        kz_checkpoint_row_elements(tensor) < first + count || !kz_checkpoint_has_elements(tensor)) {
        kz_graph_note(k->graph,
                      kz_fail(KAZEIA_BAD_FILE,
                              "tensor '%s' (%s) is not %llu rows of %llu numbers or more", source,
                              tensor->type_name, (unsigned long long)weight->columns,
                              (unsigned long long)(first + count)));
        return;
    }
    weight->pieces[weight->piece_count++] =
        (kz_weight_piece){.tensor = tensor, .first_row = first, .row_count = count};
}

kz_graph_weight kz_kokoro_turned(const char *name, uint64_t rows, uint64_t columns) {
    return (kz_graph_weight){.name = name,
                             .is_matrix = true,
                             .is_precise = columns % KZ_BLOCK != 0,
                             .rank = 2,
                             .rows = rows,
                             .columns = columns,
                             .shape = KZ_WEIGHT_TURNED};
}

uint32_t kz_kokoro_extent(kz_kokoro_graph *k, const char *source, uint32_t i) {
    const kz_checkpoint_tensor *tensor = kz_kokoro_tensor(k, source);
    return tensor && tensor->dims[i] <= UINT16_MAX ? (uint32_t)tensor->dims[i] : 0;
}

// --- Products -----------------------------------------------------------------------------------

uint32_t kz_kokoro_linear(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part,
                          kz_linear_options options) {
    const char *source = kz_kokoro_name(k, part->node, "/MatMul[1]");
    const uint64_t rows = kz_kokoro_extent(k, source, 1);
    kz_graph_weight weight = kz_kokoro_turned(part->name, rows, kz_method_columns_of(k->method, x));
    kz_kokoro_add_turned(k, &weight, source, 0, rows);
    options.bias = kz_kokoro_vector(k, kz_kokoro_name(k, part->name, ".bias"), rows,
                                    kz_kokoro_name(k, part->parameter, ".bias"));
    return kz_node_linear(k->method, x, kz_graph_add_weight(k->graph, &weight), &options);
}

uint32_t kz_kokoro_margin(kz_kokoro_graph *k, const kz_kokoro_part *part, uint32_t dilation) {
    const uint32_t kernel = kz_kokoro_extent(k, kz_kokoro_name(k, part->node, "/Conv[1]"), 2);
    return kernel > 0 ? (kernel - 1) * dilation / 2 : 0;
}

static uint32_t convolution_weight(kz_kokoro_graph *k, const kz_kokoro_part *part,
                                   uint32_t channels, bool is_precise, uint32_t *out_kernel) {
    const char *source = kz_kokoro_name(k, part->node, "/Conv[1]");
    const kz_checkpoint_tensor *tensor = kz_kokoro_tensor(k, source);
    if (!tensor) {
        return KZ_NO_VALUE;
    }
    if (tensor->rank != 3 || tensor->dims[1] > channels || tensor->dims[2] == 0 ||
        tensor->dims[2] > UINT16_MAX) {
        kz_graph_note(k->graph, kz_fail(KAZEIA_BAD_FILE,
                                        "tensor '%s' is no convolution over %u channels at most",
                                        source, channels));
        return KZ_NO_VALUE;
    }
    const uint64_t columns = channels * tensor->dims[2];
    *out_kernel = (uint32_t)tensor->dims[2];
    return kz_graph_add_weight(
        k->graph, &(kz_graph_weight){.name = part->name,
                                     .is_matrix = true,
                                     .is_precise = is_precise || columns % KZ_BLOCK != 0 ||
                                                   channels % KZ_BLOCK != 0,
                                     .rank = 2,
                                     .rows = tensor->dims[0],
                                     .columns = columns,
                                     .pieces = {{.tensor = tensor, .row_count = tensor->dims[0]}},
                                     .piece_count = 1,
                                     .shape = KZ_WEIGHT_CONV,
                                     .kernel = *out_kernel,
                                     .channels = tensor->dims[1]});
}

uint32_t kz_kokoro_convolve(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part,
                            const kz_kokoro_convolution *options) {
    uint32_t kernel = 1;
    const uint32_t weight = convolution_weight(k, part, kz_method_columns_of(k->method, x),
                                               options->is_precise, &kernel);
    const uint64_t rows = weight < k->graph->weight_count ? k->graph->weights[weight].rows : 0;
    const uint32_t bias = options->has_bias
                              ? kz_kokoro_vector(k, kz_kokoro_name(k, part->name, ".bias"), rows,
                                                 kz_kokoro_name(k, part->parameter, ".bias"))
                              : KZ_NO_VALUE;
    const kz_linear_options linear = {bias, options->residual, options->out, KZ_ACTIVATION_NONE};
    if (kernel == 1 && options->stride == 1) {
        return kz_node_linear(k->method, x, weight, &linear);
    }
    const kz_window window = {kernel, options->stride, options->dilation, options->left,
                              options->right};
    return kz_node_convolve(k->method, x, weight, &window, &linear);
}

// --- LSTM ---------------------------------------------------------------------------------------

// ONNX keeps the biases of input and recurrence apart, [8 * H]; they only ever act together.
static uint32_t lstm_bias(kz_kokoro_graph *k, const kz_kokoro_part *part, uint64_t gates) {
    float *sums = kz_kokoro_room(k, 2 * gates);
    for (uint32_t d = 0; d < 2; d++) {
        const float *both =
            kz_kokoro_floats(k, kz_graph_name(k->graph, "%s/LSTM[3].%u", part->node, d), 2 * gates);
        for (uint64_t i = 0; sums && both && i < gates; i++) {
            sums[d * gates + i] = both[i] + both[gates + i];
        }
    }
    return kz_kokoro_constant(k, kz_kokoro_name(k, part->name, ".bias"), 0, 2 * gates, sums);
}

uint32_t kz_kokoro_lstm(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part, uint32_t out) {
    const char *inputs[2], *recurrents[2];
    for (uint32_t d = 0; d < 2; d++) {
        inputs[d] = kz_graph_name(k->graph, "%s/LSTM[1].%u", part->node, d);
        recurrents[d] = kz_graph_name(k->graph, "%s/LSTM[2].%u", part->node, d);
    }
    const uint32_t hidden = kz_kokoro_extent(k, recurrents[0], 0);
    const uint32_t gates = 4 * hidden;
    kz_graph_weight input =
        kz_kokoro_turned(kz_kokoro_name(k, part->name, ".input"), (uint64_t)2 * gates,
                         kz_method_columns_of(k->method, x));
    kz_kokoro_add_turned(k, &input, inputs[0], 0, gates);
    kz_kokoro_add_turned(k, &input, inputs[1], 0, gates);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    options.bias = lstm_bias(k, part, gates);
    const uint32_t both =
        kz_node_linear(k->method, x, kz_graph_add_weight(k->graph, &input), &options);
    const uint32_t result =
        out != KZ_NO_VALUE ? out
                           : kz_method_rows(k->method, kz_method_rows_of(k->method, x), 2 * hidden);
    for (uint32_t d = 0; d < 2; d++) {
        kz_graph_weight weight = kz_kokoro_turned(
            kz_graph_name(k->graph, "%s.recurrent.%u", part->name, d), gates, hidden);
        kz_kokoro_add_turned(k, &weight, recurrents[d], 0, gates);
        kz_lstm_options memory = KZ_LSTM_PLAIN;
        memory.out = kz_method_view(k->method, result, d * hidden, hidden);
        memory.is_reversed = d == 1;
        memory.is_output_second = true;
        (void)kz_node_lstm(k->method, kz_method_view(k->method, both, d * gates, gates),
                           kz_graph_add_weight(k->graph, &weight), &memory);
    }
    return result;
}

// --- Norms that the style adapts ----------------------------------------------------------------

// gamma and beta for `columns` columns, of which the checkpoint may know fewer: the others stay 0.
static uint32_t gamma_beta(kz_kokoro_graph *k, const kz_kokoro_part *part, uint32_t columns) {
    const char *source = kz_kokoro_name(k, part->node, "/fc/Gemm_MatMul[1]");
    const char *bias_source = kz_kokoro_name(k, part->parameter, ".fc.bias");
    const uint64_t known = kz_kokoro_extent(k, source, 1) / 2;
    const uint64_t style = kz_method_columns_of(k->method, k->style);
    kz_graph_weight weight =
        kz_kokoro_turned(kz_kokoro_name(k, part->name, ".style"), 2 * (uint64_t)columns, style);
    float *bias = kz_kokoro_room(k, 2 * (uint64_t)columns);
    const float *values = kz_kokoro_floats(k, bias_source, 2 * known);
    if (kz_graph_status(k->graph) == KAZEIA_OK && known > columns) {
        kz_graph_note(k->graph, kz_fail(KAZEIA_BAD_FILE, "tensor '%s' adapts %llu columns of %u",
                                        source, (unsigned long long)known, columns));
    }
    for (uint32_t half = 0; half < 2 && kz_graph_status(k->graph) == KAZEIA_OK; half++) {
        kz_kokoro_add_turned(k, &weight, source, half * known, known);
        if (known < columns) {
            weight.pieces[weight.piece_count++] = (kz_weight_piece){.row_count = columns - known};
        }
        memcpy(bias + half * columns, values + half * known, known * sizeof *bias);
    }
    kz_linear_options options = KZ_LINEAR_PLAIN;
    options.bias = kz_kokoro_constant(k, kz_kokoro_name(k, part->name, ".style.bias"), 0,
                                      2 * (uint64_t)columns, bias);
    return kz_node_linear(k->method, k->style, kz_graph_add_weight(k->graph, &weight), &options);
}

uint32_t kz_kokoro_adapt(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part, uint32_t out) {
    return kz_node_scale_shift(k->method, x,
                               gamma_beta(k, part, kz_method_columns_of(k->method, x)), out);
}

uint32_t kz_kokoro_fit(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part) {
    const uint32_t columns = kz_method_columns_of(k->method, x);
    return kz_node_column_fit(k->method, x, gamma_beta(k, part, columns), KZ_KOKORO_EPSILON);
}

uint32_t kz_kokoro_leaky(kz_kokoro_graph *k, uint32_t x, float slope, uint32_t out) {
    return kz_node_map(k->method, x, KZ_MAP_LEAKY_RELU, slope, 0, out);
}

// --- Residual blocks ----------------------------------------------------------------------------

// Each row twice.
static uint32_t repeat(kz_kokoro_graph *k, uint32_t x) {
    const uint32_t columns = kz_method_columns_of(k->method, x);
    const uint32_t pair = kz_method_rows(k->method, kz_method_rows_of(k->method, x), 2 * columns);
    kz_node_copy(k->method, x, kz_method_view(k->method, pair, 0, columns));
    kz_node_copy(k->method, x, kz_method_view(k->method, pair, columns, columns));
    return kz_node_fold(k->method, pair, KZ_NO_VALUE, &(kz_window){2, 2, 1, 0, 0});
}

// A transposed convolution of each channel by itself, kernel 3, to twice as many rows: three
// products that FOLD adds up. The weight is [channels][1][3].
static uint32_t pool(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part) {
    const char *source = kz_kokoro_name(k, part->node, "/pool/ConvTranspose[1]");
    const uint32_t columns = kz_method_columns_of(k->method, x);
    const uint32_t known = kz_kokoro_extent(k, source, 0);
    const float *taps = kz_kokoro_floats(k, source, (uint64_t)3 * known);
    const float *bias =
        kz_kokoro_floats(k, kz_kokoro_name(k, part->parameter, ".pool.bias"), known);
    const uint32_t wide = kz_method_rows(k->method, kz_method_rows_of(k->method, x), 3 * columns);
    float *padded = kz_kokoro_room(k, columns);
    for (uint32_t tap = 0; tap < 3; tap++) {
        float *factors = kz_kokoro_room(k, columns);
        for (uint32_t c = 0; factors && taps && c < known && c < columns; c++) {
            factors[c] = taps[3 * c + tap];
        }
        const uint32_t weight = kz_kokoro_constant(
            k, kz_graph_name(k->graph, "%s.pool.%u", part->name, tap), 0, columns, factors);
        (void)kz_node_mul(k->method, x, kz_method_weight(k->method, weight),
                          kz_method_view(k->method, wide, tap * columns, columns));
    }
    for (uint32_t c = 0; padded && bias && c < known && c < columns; c++) {
        padded[c] = bias[c];
    }
    const uint32_t bias_weight =
        kz_kokoro_constant(k, kz_kokoro_name(k, part->name, ".pool.bias"), 0, columns, padded);
    return kz_node_fold(k->method, wide, bias_weight, &(kz_window){3, 2, 1, 1, 0});
}

static uint32_t same_rows(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part,
                          uint32_t residual, uint32_t out) {
    const uint32_t margin = kz_kokoro_margin(k, part, 1);
    return kz_kokoro_convolve(
        k, x, part, &(kz_kokoro_convolution){1, 1, margin, margin, residual, out, true, false});
}

uint32_t kz_kokoro_block(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part, bool is_up,
                         uint32_t out) {
    const kz_kokoro_part norm1 = kz_kokoro_inner(k, part, "norm1");
    const kz_kokoro_part norm2 = kz_kokoro_inner(k, part, "norm2");
    const kz_kokoro_part conv1 = kz_kokoro_inner(k, part, "conv1");
    const kz_kokoro_part conv2 = kz_kokoro_inner(k, part, "conv2");
    const kz_kokoro_part shortcut = kz_kokoro_inner(k, part, "conv1x1");
    const bool has_shortcut =
        kz_checkpoint_find(k->checkpoint, kz_kokoro_name(k, shortcut.node, "/Conv[1]")) != NULL;
    const uint32_t none = KZ_NO_VALUE;
    uint32_t active =
        kz_node_adapt(k->method, x, kz_kokoro_fit(k, x, &norm1), none, none, LEAKY_SLOPE);
    active = is_up ? pool(k, active, part) : active;
    const uint32_t inner = same_rows(k, active, &conv1, KZ_NO_VALUE, KZ_NO_VALUE);
    const uint32_t again =
        kz_node_adapt(k->method, inner, kz_kokoro_fit(k, inner, &norm2), none, none, LEAKY_SLOPE);
    uint32_t beside = is_up ? repeat(k, x) : x;
    uint32_t sum = KZ_NO_VALUE;
    if (has_shortcut) {
        beside = kz_kokoro_convolve(
            k, beside, &shortcut,
            &(kz_kokoro_convolution){1, 1, 0, 0, KZ_NO_VALUE, KZ_NO_VALUE, false, false});
        sum = beside;
    }
    sum = same_rows(k, again, &conv2, beside, sum);
    return kz_node_map(k->method, sum, KZ_MAP_SCALE, 1.0f / sqrtf(2.0f), 0,
                       out != KZ_NO_VALUE ? out : sum);
}
