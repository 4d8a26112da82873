// kokoro_durations.c: symbols and a style -> how long each symbol lasts, and what the sound is made
// from.
//   in   ids of symbols, pads included; the row of the table of styles
//   out  method "durations": frames of each symbol, before speed and rounding; two encodings of the
//        symbols, one that heard the style (hidden) and one that did not (text)
// ALBERT runs one layer again and again; the layers count is the number of nodes that name it.
#include <string.h>

#include "exporter/models/kokoro.h"

#define HEAD_WIDTH 64u // of ALBERT: no weight tells
#define LAYER_LIMIT 64u
#define ALBERT_EPSILON 1e-12f
#define ALBERT_NODE "/encoder/bert/encoder/albert_layer_groups.0/albert_layers.0"
#define ALBERT_PARAMETER "encoder.bert.encoder.albert_layer_groups.0.albert_layers.0"

// --- Vectors and tables -------------------------------------------------------------------------

static uint32_t rows_table(kz_kokoro_graph *k, const char *name, uint64_t rows, uint64_t columns,
                           const char *source) {
    const char *sources[] = {source, NULL};
    const uint32_t weight = kz_model_matrix(k->graph, k->checkpoint, name, rows, columns, sources);
    kz_model_mark_precise(k->graph, weight);
    return weight;
}

// A normalisation over the columns of a row, NODE.weight and NODE.bias or what they are called.
static uint32_t layer_norm(kz_kokoro_graph *k, uint32_t x, const char *name, const char *weight,
                           const char *bias, float epsilon) {
    const uint32_t columns = kz_method_columns_of(k->method, x);
    return kz_node_layer_norm(
        k->method, x, kz_kokoro_vector(k, kz_kokoro_name(k, name, ".weight"), columns, weight),
        kz_kokoro_vector(k, kz_kokoro_name(k, name, ".bias"), columns, bias), epsilon, KZ_NO_VALUE);
}

// --- ALBERT -------------------------------------------------------------------------------------

// Positions and the one type of token that there is are added to each symbol: one table.
static uint32_t positions(kz_kokoro_graph *k, uint32_t width) {
    const uint64_t count = (uint64_t)k->symbol_limit * width;
    float *table =
        kz_kokoro_floats(k, "/encoder/bert/embeddings/position_embeddings/Gather[0]", count);
    const char *types = "/encoder/bert/embeddings/token_type_embeddings/Gather[0]";
    const kz_checkpoint_tensor *tensor = kz_kokoro_tensor(k, types);
    const float *type =
        tensor ? kz_kokoro_floats(k, types, tensor->dims[0] * (uint64_t)width) : NULL;
    for (uint64_t i = 0; table && type && i < count; i++) {
        table[i] += type[i % width];
    }
    return kz_graph_add_weight(
        k->graph, &(kz_graph_weight){.name = "albert.positions",
                                     .rank = 2,
                                     .rows = k->symbol_limit,
                                     .columns = width,
                                     .pieces = {{.constant = table, .row_count = k->symbol_limit}},
                                     .piece_count = 1});
}

// The weights of the one layer: numbers that all repetitions name.
typedef struct albert_layer {
    uint32_t qkv, qkv_bias, out, out_bias, norm, norm_bias;
    uint32_t up, up_bias, down, down_bias, last_norm, last_norm_bias;
    uint32_t hidden;
} albert_layer;

static uint32_t turned_weight(kz_kokoro_graph *k, const char *name, const char *const *nodes,
                              uint32_t count, uint32_t columns) {
    kz_graph_weight weight = kz_kokoro_turned(name, 0, columns);
    for (uint32_t i = 0; i < count; i++) {
        const char *source = kz_graph_name(k->graph, ALBERT_NODE "/%s/MatMul[1]", nodes[i]);
        const kz_checkpoint_tensor *tensor = kz_kokoro_tensor(k, source);
        if (tensor && tensor->rank != 2) {
            kz_graph_note(k->graph, kz_fail(KAZEIA_BAD_FILE, "tensor '%s' is no matrix", source));
        }
        const uint32_t rows = kz_kokoro_extent(k, source, 1);
        kz_kokoro_add_turned(k, &weight, source, 0, rows);
        weight.rows += rows;
    }
    return kz_graph_add_weight(k->graph, &weight);
}

static uint32_t albert_vector(kz_kokoro_graph *k, const char *name, uint32_t count,
                              const char *parameter) {
    return kz_kokoro_vector(k, name, count,
                            kz_graph_name(k->graph, ALBERT_PARAMETER ".%s", parameter));
}

static uint32_t rows_of_weight(const kz_kokoro_graph *k, uint32_t weight) {
    return weight < k->graph->weight_count ? (uint32_t)k->graph->weights[weight].rows : 0;
}

static albert_layer add_albert_layer(kz_kokoro_graph *k, uint32_t hidden) {
    static const char *const qkv[] = {"attention/query", "attention/key", "attention/value"};
    static const char *const out[] = {"attention/dense"}, *const up[] = {"ffn"},
                             *const down[] = {"ffn_output"};
    const char *const biases[] = {ALBERT_PARAMETER ".attention.query.bias",
                                  ALBERT_PARAMETER ".attention.key.bias",
                                  ALBERT_PARAMETER ".attention.value.bias"};
    albert_layer layer = {.hidden = hidden};
    layer.qkv = turned_weight(k, "albert.qkv", qkv, 3, hidden);
    layer.qkv_bias =
        kz_model_joined_vector(k->graph, k->checkpoint, "albert.qkv.bias", hidden, biases, 3);
    layer.out = turned_weight(k, "albert.out", out, 1, hidden);
    layer.out_bias = albert_vector(k, "albert.out.bias", hidden, "attention.dense.bias");
    layer.norm = albert_vector(k, "albert.norm", hidden, "attention.LayerNorm.weight");
    layer.norm_bias = albert_vector(k, "albert.norm.bias", hidden, "attention.LayerNorm.bias");
    layer.up = turned_weight(k, "albert.up", up, 1, hidden);
    const uint32_t inner = rows_of_weight(k, layer.up);
    layer.up_bias = albert_vector(k, "albert.up.bias", inner, "ffn.bias");
    layer.down = turned_weight(k, "albert.down", down, 1, inner);
    layer.down_bias = albert_vector(k, "albert.down.bias", hidden, "ffn_output.bias");
    layer.last_norm = albert_vector(k, "albert.last_norm", hidden, "full_layer_layer_norm.weight");
    layer.last_norm_bias =
        albert_vector(k, "albert.last_norm.bias", hidden, "full_layer_layer_norm.bias");
    return layer;
}

static uint32_t run_albert_layer(kz_kokoro_graph *k, uint32_t x, const albert_layer *layer) {
    kz_graph_method *m = k->method;
    const uint32_t hidden = layer->hidden;
    const uint32_t none = KZ_NO_VALUE;
    const kz_linear_options first = {layer->qkv_bias, none, none, KZ_ACTIVATION_NONE};
    const uint32_t qkv = kz_node_linear(m, x, layer->qkv, &first);
    const uint32_t heard = kz_node_attention_full(
        m, kz_method_view(m, qkv, 0, hidden), kz_method_view(m, qkv, hidden, hidden),
        kz_method_view(m, qkv, 2 * hidden, hidden), hidden / HEAD_WIDTH, 0.125f);
    const kz_linear_options second = {layer->out_bias, x, x, KZ_ACTIVATION_NONE};
    (void)kz_node_linear(m, heard, layer->out, &second);
    const uint32_t normed =
        kz_node_layer_norm(m, x, layer->norm, layer->norm_bias, ALBERT_EPSILON, none);
    const kz_linear_options third = {layer->up_bias, none, none, KZ_ACTIVATION_GELU_TANH};
    const kz_linear_options fourth = {layer->down_bias, normed, normed, KZ_ACTIVATION_NONE};
    (void)kz_node_linear(m, kz_node_linear(m, normed, layer->up, &third), layer->down, &fourth);
    return kz_node_layer_norm(m, normed, layer->last_norm, layer->last_norm_bias, ALBERT_EPSILON,
                              none);
}

static uint32_t count_layers(kz_kokoro_graph *k) {
    uint32_t count = 1;
    while (count < LAYER_LIMIT &&
           kz_checkpoint_find(
               k->checkpoint,
               kz_graph_name(k->graph, ALBERT_NODE "/attention/query_%u/MatMul[1]", count))) {
        count++;
    }
    return count;
}

static uint32_t add_albert(kz_kokoro_graph *k, uint32_t symbols) {
    const char *words = "/encoder/bert/embeddings/word_embeddings/Gather[0]";
    const kz_kokoro_part mapping = {"albert.input",
                                    "/encoder/bert/encoder/embedding_hidden_mapping_in",
                                    "encoder.bert.encoder.embedding_hidden_mapping_in"};
    const kz_kokoro_part encoder = {"albert.output", "/encoder/bert_encoder",
                                    "encoder.bert_encoder"};
    const kz_checkpoint_tensor *table = kz_kokoro_tensor(k, words);
    const uint32_t width = table && table->rank == 2 ? (uint32_t)table->dims[1] : 0;
    const uint32_t weight =
        rows_table(k, "albert.symbols", table ? table->dims[0] : 0, width, words);
    const uint32_t embedded = kz_node_embed(k->method, symbols, weight, 1.0f);
    (void)kz_node_add(k->method, embedded, kz_method_weight(k->method, positions(k, width)),
                      embedded);
    const uint32_t normed =
        layer_norm(k, embedded, "albert.first_norm", "encoder.bert.embeddings.LayerNorm.weight",
                   "encoder.bert.embeddings.LayerNorm.bias", ALBERT_EPSILON);
    uint32_t x = kz_kokoro_linear(k, normed, &mapping, KZ_LINEAR_PLAIN);
    const uint32_t hidden = kz_method_columns_of(k->method, x);
    if (kz_graph_status(k->graph) == KAZEIA_OK && hidden % HEAD_WIDTH != 0) {
        kz_graph_note(k->graph, kz_fail(KAZEIA_UNSUPPORTED, "kokoro: %u columns are no heads of %u",
                                        hidden, HEAD_WIDTH));
    }
    const albert_layer layer = add_albert_layer(k, hidden);
    const uint32_t count = count_layers(k);
    for (uint32_t i = 0; i < count; i++) {
        x = run_albert_layer(k, x, &layer);
    }
    return kz_kokoro_linear(k, x, &encoder, KZ_LINEAR_PLAIN);
}

// --- Durations ----------------------------------------------------------------------------------

// x beside the style, [T][hidden + style].
static uint32_t join_style(kz_kokoro_graph *k, uint32_t x, uint32_t hidden, uint32_t out) {
    const uint32_t style = kz_method_columns_of(k->method, k->style);
    const kz_dim rows = kz_method_rows_of(k->method, x);
    const uint32_t joined =
        out != KZ_NO_VALUE ? out : kz_method_rows(k->method, rows, hidden + style);
    if (x != joined) {
        kz_node_copy(k->method, x, kz_method_view(k->method, joined, 0, hidden));
    }
    kz_node_copy(k->method, k->style, kz_method_view(k->method, joined, hidden, style));
    return joined;
}

// Three LSTMs with adapted norms; the style stands beside what each reads. The last one's result
// goes to the output "hidden".
static void encode_durations(kz_kokoro_graph *k, uint32_t x, uint32_t hidden_out) {
    const char *ones = "/encoder/predictor/text_encoder/lstms.1/Constant_7_output_0";
    const char *zeros = "/encoder/predictor/text_encoder/lstms.1/Constant_8_output_0";
    const uint32_t hidden = kz_method_columns_of(k->method, x);
    uint32_t joined = join_style(k, x, hidden, KZ_NO_VALUE);
    for (uint32_t i = 0; i < 3; i++) {
        const kz_kokoro_part lstm = {
            kz_graph_name(k->graph, "durations.lstm.%u", i),
            kz_graph_name(k->graph, "/encoder/predictor/text_encoder/lstms.%u", 2 * i), NULL};
        const kz_kokoro_part norm = {
            kz_graph_name(k->graph, "durations.norm.%u", i),
            kz_graph_name(k->graph, "/encoder/predictor/text_encoder/lstms.%u", 2 * i + 1),
            kz_graph_name(k->graph, "encoder.predictor.text_encoder.lstms.%u", 2 * i + 1)};
        const uint32_t both = kz_kokoro_lstm(k, joined, &lstm, KZ_NO_VALUE);
        const uint32_t normed = layer_norm(k, both, norm.name, ones, zeros, KZ_KOKORO_EPSILON);
        const uint32_t target = i == 2 ? hidden_out
                                       : kz_method_rows(k->method, kz_method_rows_of(k->method, x),
                                                        kz_method_columns_of(k->method, joined));
        (void)kz_kokoro_adapt(k, normed, &norm, kz_method_view(k->method, target, 0, hidden));
        joined = join_style(k, target, hidden, target);
    }
}

// The sum of a few sigmoids: how many frames.
static void add_frames(kz_kokoro_graph *k, uint32_t hidden, uint32_t frames_out) {
    const kz_kokoro_part lstm = {"durations.last_lstm", "/encoder/predictor/lstm", NULL};
    const kz_kokoro_part head = {"durations.head", "/encoder/predictor/duration_proj/linear_layer",
                                 "encoder.predictor.duration_proj.linear_layer"};
    const uint32_t heard = kz_kokoro_lstm(k, hidden, &lstm, KZ_NO_VALUE);
    const uint32_t scores = kz_kokoro_linear(k, heard, &head, KZ_LINEAR_PLAIN);
    const uint32_t count = kz_method_columns_of(k->method, scores);
    float *ones = kz_kokoro_room(k, count);
    for (uint32_t i = 0; ones && i < count; i++) {
        ones[i] = 1.0f;
    }
    (void)kz_node_map(k->method, scores, KZ_MAP_SIGMOID, 0, 0, scores);
    kz_linear_options options = KZ_LINEAR_PLAIN;
    options.out = frames_out;
    (void)kz_node_linear(k->method, scores, kz_kokoro_constant(k, "durations.sum", 1, count, ones),
                         &options);
}

// --- Text ---------------------------------------------------------------------------------------

static void encode_text(kz_kokoro_graph *k, uint32_t symbols, uint32_t text_out) {
    const char *words = "/encoder/text_encoder/embedding/Gather[0]";
    const kz_checkpoint_tensor *table = kz_kokoro_tensor(k, words);
    const uint32_t weight = rows_table(k, "text.symbols", table ? table->dims[0] : 0,
                                       table && table->rank == 2 ? table->dims[1] : 0, words);
    uint32_t x = kz_node_embed(k->method, symbols, weight, 1.0f);
    for (uint32_t i = 0; i < 3; i++) {
        const kz_kokoro_part part = {
            kz_graph_name(k->graph, "text.convolution.%u", i),
            kz_graph_name(k->graph, "/encoder/text_encoder/cnn.%u/cnn.%u.0", i, i),
            kz_graph_name(k->graph, "encoder.text_encoder.cnn.%u.0", i)};
        const uint32_t margin = kz_kokoro_margin(k, &part, 1);
        const uint32_t wide = kz_kokoro_convolve(
            k, x, &part,
            &(kz_kokoro_convolution){1, 1, margin, margin, KZ_NO_VALUE, KZ_NO_VALUE, true, false});
        const uint32_t normed = layer_norm(
            k, wide, kz_graph_name(k->graph, "text.norm.%u", i),
            kz_graph_name(k->graph, "encoder.text_encoder.cnn.%u.1.gamma", i),
            kz_graph_name(k->graph, "encoder.text_encoder.cnn.%u.1.beta", i), KZ_KOKORO_EPSILON);
        x = kz_kokoro_leaky(k, normed, 0.2f, KZ_NO_VALUE);
    }
    const kz_kokoro_part lstm = {"text.lstm", "/encoder/text_encoder/lstm", NULL};
    (void)kz_kokoro_lstm(k, x, &lstm, text_out);
}

// --- The method ---------------------------------------------------------------------------------

void kz_kokoro_add_durations(kz_kokoro_graph *k) {
    const kz_checkpoint_tensor *words =
        kz_kokoro_tensor(k, "/encoder/text_encoder/embedding/Gather[0]");
    const uint32_t limit = words ? (uint32_t)words->dims[0] : 0;
    const uint32_t text = words && words->rank == 2 ? (uint32_t)words->dims[1] : 0;
    k->method = kz_graph_add_method(k->graph, "durations");
    const kz_dim count = kz_method_symbol(k->method, "symbols", k->symbol_limit);
    const uint32_t symbols =
        kz_method_input(k->method, "symbols", KZ_I32, limit, 1, count, kz_dim_constant(1));
    const uint32_t both = kz_kokoro_add_style(k);
    const uint32_t half = kz_method_columns_of(k->method, both) / 2;
    k->style = kz_method_view(k->method, both, half, half);
    const uint32_t frames = kz_method_output(k->method, "frames", count, 1);
    const uint32_t hidden_out = kz_method_output(k->method, "hidden", count, text + half);
    const uint32_t text_out = kz_method_output(k->method, "text", count, text);
    encode_durations(k, add_albert(k, symbols), hidden_out);
    add_frames(k, hidden_out, frames);
    encode_text(k, symbols, text_out);
}
