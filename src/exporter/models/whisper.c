// whisper.c: Whisper: log-mel frames -> encoder -> cross keys and values; tokens -> decoder.
//   in   a Hugging Face folder, a CTranslate2 folder or a whisper.cpp ggml file
//   out  the graph of docs/abilities.md "listen"
// Pre-norm blocks, LayerNorm with epsilon 1e-5, exact GELU, keys without bias, query scale
// 1 / sqrt(head width), head tied to the embedding (OpenAI's model.py is the reference).
#include "exporter/models/whisper.h"

#include <math.h>
#include <string.h>

#include "exporter/models/language.h"

#define EPSILON 1e-5f
#define SELF_ROW_FACTOR 2 // cache rows for beams, in sequences' full length
// The window that is being heard, and others that sequences of one call may see instead (silence
// for the commands' score).
#define SLOT_LIMIT 4 // heard windows that a call may name

typedef struct whisper_attention {
    uint32_t norm_gamma, norm_beta;
    uint32_t q, q_bias;   // self attention: q, k and v in one
    uint32_t kv, kv_bias; // cross attention
    uint32_t out, out_bias;
} whisper_attention;

typedef struct whisper_block {
    whisper_attention self, cross;
    uint32_t mlp_gamma, mlp_beta, up, up_bias, down, down_bias;
    uint32_t keys, values, cross_keys, cross_values; // states
} whisper_block;

typedef struct whisper {
    kz_checkpoint *checkpoint;
    const kz_model_options *options;
    kz_graph *graph;
    const kz_whisper_names *names;
    kz_whisper_shape shape;
    whisper_block *encoder, *decoder;
    uint32_t conv1, conv1_bias, conv2, conv2_bias, encoder_positions, encoder_gamma, encoder_beta;
    uint32_t embedding, decoder_positions, decoder_gamma, decoder_beta;
} whisper;

// --- Weights ------------------------------------------------------------------------------------

// Names of tensors are made of a layer's stem and the container's ending.
static const char *source(whisper *model, const char *stem, uint32_t layer, const char *ending) {
    return kz_graph_name(model->graph, "%s%s", kz_layer_name(model->graph, stem, layer), ending);
}

static const char *name_in(whisper *model, const char *half, uint32_t layer, const char *rest) {
    return kz_graph_name(model->graph, "%s.%u.%s", half, layer, rest);
}

static uint32_t linear(whisper *model, const char *name, const char *stem, uint32_t layer,
                       int64_t rows, int64_t columns) {
    const char *sources[] = {source(model, stem, layer, model->names->weight), NULL};
    return kz_model_matrix(model->graph, model->checkpoint, name, (uint64_t)rows, (uint64_t)columns,
                           sources);
}

static uint32_t vector(whisper *model, const char *name, const char *stem, uint32_t layer,
                       const char *ending, int64_t count) {
    return kz_model_vector(model->graph, model->checkpoint, name, (uint64_t)count,
                           source(model, stem, layer, ending));
}

// q, k and v below each other. Keys have no bias: zeros stand for it.
static void add_self_projection(whisper *model, const kz_whisper_attention_names *names,
                                const char *half, uint32_t layer, whisper_attention *attention) {
    const int64_t hidden = model->shape.hidden;
    const char *name = name_in(model, half, layer, "attention.qkv");
    const char *bias_name = name_in(model, half, layer, "attention.qkv.bias");
    // CTranslate2 stores the three as one, in this very order.
    if (!names->k) {
        attention->q = linear(model, name, names->q, layer, 3 * hidden, hidden);
        attention->q_bias =
            vector(model, bias_name, names->q, layer, model->names->bias, 3 * hidden);
        return;
    }
    const char *weights[] = {source(model, names->q, layer, model->names->weight),
                             source(model, names->k, layer, model->names->weight),
                             source(model, names->v, layer, model->names->weight), NULL};
    const char *biases[] = {source(model, names->q, layer, model->names->bias), NULL,
                            source(model, names->v, layer, model->names->bias)};
    attention->q = kz_model_matrix(model->graph, model->checkpoint, name, 3 * (uint64_t)hidden,
                                   (uint64_t)hidden, weights);
    attention->q_bias = kz_model_joined_vector(model->graph, model->checkpoint, bias_name,
                                               (uint64_t)hidden, biases, 3);
}

static void add_cross_projection(whisper *model, const kz_whisper_attention_names *names,
                                 const char *half, uint32_t layer, whisper_attention *attention) {
    const int64_t hidden = model->shape.hidden;
    attention->q =
        linear(model, name_in(model, half, layer, "cross.q"), names->q, layer, hidden, hidden);
    attention->q_bias = vector(model, name_in(model, half, layer, "cross.q.bias"), names->q, layer,
                               model->names->bias, hidden);
    const char *name = name_in(model, half, layer, "cross.kv");
    const char *bias_name = name_in(model, half, layer, "cross.kv.bias");
    // CTranslate2 stores keys and values as one.
    if (!names->v) {
        attention->kv = linear(model, name, names->k, layer, 2 * hidden, hidden);
        attention->kv_bias =
            vector(model, bias_name, names->k, layer, model->names->bias, 2 * hidden);
        return;
    }
    const char *weights[] = {source(model, names->k, layer, model->names->weight),
                             source(model, names->v, layer, model->names->weight), NULL};
    const char *biases[] = {NULL, source(model, names->v, layer, model->names->bias)};
    attention->kv = kz_model_matrix(model->graph, model->checkpoint, name, 2 * (uint64_t)hidden,
                                    (uint64_t)hidden, weights);
    attention->kv_bias = kz_model_joined_vector(model->graph, model->checkpoint, bias_name,
                                                (uint64_t)hidden, biases, 2);
}

static void add_attention(whisper *model, const kz_whisper_attention_names *names, const char *half,
                          const char *part, uint32_t layer, whisper_attention *attention) {
    const int64_t hidden = model->shape.hidden;
    const bool is_cross = strcmp(part, "cross") == 0;
    attention->norm_gamma =
        vector(model, kz_graph_name(model->graph, "%s.%u.%s.norm", half, layer, part), names->norm,
               layer, model->names->gamma, hidden);
    attention->norm_beta =
        vector(model, kz_graph_name(model->graph, "%s.%u.%s.norm.bias", half, layer, part),
               names->norm, layer, model->names->beta, hidden);
    if (is_cross) {
        add_cross_projection(model, names, half, layer, attention);
    } else {
        add_self_projection(model, names, half, layer, attention);
    }
    attention->out =
        linear(model, kz_graph_name(model->graph, "%s.%u.%s.output", half, layer, part), names->out,
               layer, hidden, hidden);
    attention->out_bias =
        vector(model, kz_graph_name(model->graph, "%s.%u.%s.output.bias", half, layer, part),
               names->out, layer, model->names->bias, hidden);
}

static void add_mlp(whisper *model, const char *half, uint32_t layer, int64_t mlp, const char *norm,
                    const char *up, const char *down, whisper_block *block) {
    const kz_whisper_names *names = model->names;
    const int64_t hidden = model->shape.hidden;
    block->mlp_gamma =
        vector(model, name_in(model, half, layer, "mlp.norm"), norm, layer, names->gamma, hidden);
    block->mlp_beta = vector(model, name_in(model, half, layer, "mlp.norm.bias"), norm, layer,
                             names->beta, hidden);
    block->up = linear(model, name_in(model, half, layer, "mlp.up"), up, layer, mlp, hidden);
    block->up_bias =
        vector(model, name_in(model, half, layer, "mlp.up.bias"), up, layer, names->bias, mlp);
    block->down = linear(model, name_in(model, half, layer, "mlp.down"), down, layer, hidden, mlp);
    block->down_bias = vector(model, name_in(model, half, layer, "mlp.down.bias"), down, layer,
                              names->bias, hidden);
}

static uint32_t state(whisper *model, const char *stem, uint32_t layer, int64_t rows) {
    // All states are the decoder's; the encoder keeps nothing between calls.
    const int64_t heads = model->shape.decoder_heads;
    return kz_graph_add_state(model->graph,
                              &(kz_state){.name = kz_graph_name(model->graph, "%s.%u", stem, layer),
                                          .type = model->options->kv,
                                          .rows = (uint64_t)rows,
                                          .heads = (uint32_t)heads,
                                          .head_dim = (uint32_t)(model->shape.hidden / heads)});
}

static void add_encoder_weights(whisper *model) {
    const kz_whisper_names *names = model->names;
    const kz_whisper_shape *shape = &model->shape;
    const uint64_t hidden = (uint64_t)shape->hidden;
    model->conv1 = kz_model_convolution(model->graph, model->checkpoint, "encoder.conv1", hidden,
                                        (uint64_t)shape->mels, 3,
                                        source(model, names->conv1, 0, names->weight));
    model->conv1_bias =
        vector(model, "encoder.conv1.bias", names->conv1, 0, names->bias, shape->hidden);
    model->conv2 = kz_model_convolution(model->graph, model->checkpoint, "encoder.conv2", hidden,
                                        hidden, 3, source(model, names->conv2, 0, names->weight));
    model->conv2_bias =
        vector(model, "encoder.conv2.bias", names->conv2, 0, names->bias, shape->hidden);
    // Added row by row, so a table in rows; the decoder's are looked up by position, as an
    // embedding is.
    model->encoder_positions =
        kz_model_table(model->graph, model->checkpoint, "encoder.positions",
                       (uint64_t)shape->positions, hidden, names->encoder_positions);
    for (uint32_t i = 0; i < shape->encoder_layers; i++) {
        whisper_block *block = &model->encoder[i];
        add_attention(model, &names->encoder_attention, "encoder", "attention", i, &block->self);
        add_mlp(model, "encoder", i, shape->encoder_mlp, names->encoder_mlp_norm, names->encoder_up,
                names->encoder_down, block);
    }
    model->encoder_gamma =
        vector(model, "encoder.norm", names->encoder_norm, 0, names->gamma, shape->hidden);
    model->encoder_beta =
        vector(model, "encoder.norm.bias", names->encoder_norm, 0, names->beta, shape->hidden);
}

static void add_decoder_weights(whisper *model) {
    const kz_whisper_names *names = model->names;
    const kz_whisper_shape *shape = &model->shape;
    const char *embedding[] = {names->embedding, NULL};
    const char *positions[] = {names->decoder_positions, NULL};
    model->embedding =
        kz_model_matrix(model->graph, model->checkpoint, "decoder.embedding",
                        (uint64_t)shape->vocabulary, (uint64_t)shape->hidden, embedding);
    model->decoder_positions =
        kz_model_matrix(model->graph, model->checkpoint, "decoder.positions",
                        (uint64_t)shape->text_context, (uint64_t)shape->hidden, positions);
    kz_model_mark_precise(model->graph, model->decoder_positions);
    for (uint32_t i = 0; i < shape->decoder_layers; i++) {
        whisper_block *block = &model->decoder[i];
        add_attention(model, &names->decoder_attention, "decoder", "attention", i, &block->self);
        add_attention(model, &names->cross_attention, "decoder", "cross", i, &block->cross);
        add_mlp(model, "decoder", i, shape->decoder_mlp, names->decoder_mlp_norm, names->decoder_up,
                names->decoder_down, block);
        block->keys = state(model, "key", i, SELF_ROW_FACTOR * shape->text_context);
        block->values = state(model, "value", i, SELF_ROW_FACTOR * shape->text_context);
        // The rows of one window, to which slots are mapped by the cross table.
        block->cross_keys = state(model, "cross_key", i, shape->positions);
        block->cross_values = state(model, "cross_value", i, shape->positions);
    }
    model->decoder_gamma =
        vector(model, "decoder.norm", names->decoder_norm, 0, names->gamma, shape->hidden);
    model->decoder_beta =
        vector(model, "decoder.norm.bias", names->decoder_norm, 0, names->beta, shape->hidden);
}

// --- Methods ------------------------------------------------------------------------------------

static uint32_t biased(kz_graph_method *method, uint32_t x, uint32_t weight, uint32_t bias,
                       kz_activation activation) {
    return kz_node_linear(method, x, weight,
                          &(kz_linear_options){bias, KZ_NO_VALUE, KZ_NO_VALUE, activation});
}

// x += x' W + b, in place.
static void add_to(kz_graph_method *method, uint32_t x, uint32_t added, uint32_t weight,
                   uint32_t bias) {
    (void)kz_node_linear(method, added, weight,
                         &(kz_linear_options){bias, x, x, KZ_ACTIVATION_NONE});
}

static void mix(kz_graph_method *method, const whisper_block *block, uint32_t x) {
    const uint32_t normed =
        kz_node_layer_norm(method, x, block->mlp_gamma, block->mlp_beta, EPSILON, KZ_NO_VALUE);
    const uint32_t up = biased(method, normed, block->up, block->up_bias, KZ_ACTIVATION_GELU);
    add_to(method, x, up, block->down, block->down_bias);
}

static void encode_block(const whisper *model, kz_graph_method *method, const whisper_block *block,
                         uint32_t x) {
    const uint32_t hidden = (uint32_t)model->shape.hidden;
    const int64_t heads = model->shape.encoder_heads;
    const uint32_t normed = kz_node_layer_norm(method, x, block->self.norm_gamma,
                                               block->self.norm_beta, EPSILON, KZ_NO_VALUE);
    const uint32_t qkv =
        biased(method, normed, block->self.q, block->self.q_bias, KZ_ACTIVATION_NONE);
    const uint32_t attended = kz_node_attention_full(
        method, kz_method_view(method, qkv, 0, hidden), kz_method_view(method, qkv, hidden, hidden),
        kz_method_view(method, qkv, 2 * hidden, hidden), (uint32_t)heads,
        1.0f / sqrtf((float)hidden / (float)heads));
    add_to(method, x, attended, block->self.out, block->self.out_bias);
    mix(method, block, x);
}

typedef struct cross_inputs {
    uint32_t table, sequences, positions;
} cross_inputs;

// When encoding, the positions are where the rows go; when decoding, the last row that each token
// sees.
static cross_inputs add_cross_inputs(const whisper *model, kz_graph_method *method, kz_dim slots,
                                     kz_dim rows, const char *positions_name) {
    const uint32_t positions = (uint32_t)model->shape.positions;
    const kz_dim one = kz_dim_constant(1);
    return (cross_inputs){
        .table = kz_method_input(method, "cross_table", KZ_I32, positions, 2, slots,
                                 kz_dim_constant(positions)),
        .sequences = kz_method_input(method, "cross_sequences", KZ_I32, SLOT_LIMIT, 1, rows, one),
        .positions = kz_method_input(method, positions_name, KZ_I32, positions, 1, rows, one)};
}

static void write_cross_states(const whisper *model, kz_graph_method *method, uint32_t encoded,
                               const cross_inputs *inputs) {
    const uint32_t hidden = (uint32_t)model->shape.hidden;
    for (int64_t i = 0; i < model->shape.decoder_layers; i++) {
        const whisper_block *block = &model->decoder[i];
        const uint32_t kv =
            biased(method, encoded, block->cross.kv, block->cross.kv_bias, KZ_ACTIVATION_NONE);
        kz_node_cache_write(method, kz_method_view(method, kv, 0, hidden), inputs->table,
                            inputs->sequences, inputs->positions, block->cross_keys);
        kz_node_cache_write(method, kz_method_view(method, kv, hidden, hidden), inputs->table,
                            inputs->sequences, inputs->positions, block->cross_values);
    }
}

static void add_encode(const whisper *model) {
    const kz_whisper_shape *shape = &model->shape;
    kz_graph_method *method = kz_graph_add_method(model->graph, "encode");
    const kz_dim frames = kz_method_symbol(method, "frames", (uint32_t)shape->frames);
    const kz_dim slots = kz_method_symbol(method, "slots", SLOT_LIMIT);
    kz_dim half = frames;
    // conv2 steps over two frames: ceil(frames / 2) rows.
    half.divisor = 2;
    const uint32_t mel = kz_method_input(method, "mel", KZ_F32, 0, 2, frames,
                                         kz_dim_constant((uint32_t)shape->mels));
    const cross_inputs inputs = add_cross_inputs(model, method, slots, half, "cross_positions");
    // A convolution is UNFOLD and a product: kernels of 3 with padding 1, the second with stride 2.
    const uint32_t wide = biased(method, kz_node_unfold(method, mel, &(kz_window){3, 1, 1, 1, 1}),
                                 model->conv1, model->conv1_bias, KZ_ACTIVATION_GELU);
    const uint32_t x = biased(method, kz_node_unfold(method, wide, &(kz_window){3, 2, 1, 1, 1}),
                              model->conv2, model->conv2_bias, KZ_ACTIVATION_GELU);
    (void)kz_node_add(method, x, kz_method_weight(method, model->encoder_positions), x);
    for (int64_t i = 0; i < shape->encoder_layers; i++) {
        encode_block(model, method, &model->encoder[i], x);
    }
    const uint32_t encoded = kz_node_layer_norm(method, x, model->encoder_gamma,
                                                model->encoder_beta, EPSILON, KZ_NO_VALUE);
    write_cross_states(model, method, encoded, &inputs);
}

static void decode_block(const whisper *model, kz_graph_method *method, const whisper_block *block,
                         const kz_language_inputs *self, const cross_inputs *cross, uint32_t x) {
    const uint32_t hidden = (uint32_t)model->shape.hidden;
    kz_attention_options options = {
        .keys = block->keys,
        .values = block->values,
        .table = self->row_table,
        .sequences = self->sequences,
        .positions = self->positions,
        .heads = (uint32_t)model->shape.decoder_heads,
        .scale = 1.0f / sqrtf((float)hidden / (float)model->shape.decoder_heads)};
    const uint32_t normed = kz_node_layer_norm(method, x, block->self.norm_gamma,
                                               block->self.norm_beta, EPSILON, KZ_NO_VALUE);
    const uint32_t qkv =
        biased(method, normed, block->self.q, block->self.q_bias, KZ_ACTIVATION_NONE);
    kz_node_cache_write(method, kz_method_view(method, qkv, hidden, hidden), self->row_table,
                        self->sequences, self->positions, block->keys);
    kz_node_cache_write(method, kz_method_view(method, qkv, 2 * hidden, hidden), self->row_table,
                        self->sequences, self->positions, block->values);
    const uint32_t attended =
        kz_node_attention(method, kz_method_view(method, qkv, 0, hidden), &options);
    add_to(method, x, attended, block->self.out, block->self.out_bias);

    const uint32_t cross_normed = kz_node_layer_norm(method, x, block->cross.norm_gamma,
                                                     block->cross.norm_beta, EPSILON, KZ_NO_VALUE);
    const uint32_t q =
        biased(method, cross_normed, block->cross.q, block->cross.q_bias, KZ_ACTIVATION_NONE);
    // Heads and scale are those of self attention.
    options.keys = block->cross_keys;
    options.values = block->cross_values;
    options.table = cross->table;
    options.sequences = cross->sequences;
    options.positions = cross->positions;
    add_to(method, x, kz_node_attention(method, q, &options), block->cross.out,
           block->cross.out_bias);
    mix(method, block, x);
}

static void add_decode(const whisper *model, const char *name, uint32_t token_limit) {
    const kz_whisper_shape *shape = &model->shape;
    kz_graph_method *method = kz_graph_add_method(model->graph, name);
    const kz_language_inputs self = kz_language_add_inputs(
        method, token_limit, (uint32_t)shape->vocabulary, (uint32_t)shape->text_context,
        (uint32_t)(SELF_ROW_FACTOR * shape->text_context));
    const kz_dim slots = kz_method_symbol(method, "slots", SLOT_LIMIT);
    const cross_inputs cross =
        add_cross_inputs(model, method, slots, self.token_count, "cross_last");
    const uint32_t hidden =
        kz_method_output(method, "hidden", self.token_count, (uint32_t)shape->hidden);
    const uint32_t x = kz_node_embed(method, self.tokens, model->embedding, 1.0f);
    // By the positions that the cache uses too: one input for both.
    const uint32_t places = kz_node_embed(method, self.positions, model->decoder_positions, 1.0f);
    (void)kz_node_add(method, x, places, x);
    for (int64_t i = 0; i < shape->decoder_layers; i++) {
        decode_block(model, method, &model->decoder[i], &self, &cross, x);
    }
    (void)kz_node_layer_norm(method, x, model->decoder_gamma, model->decoder_beta, EPSILON, hidden);
}

// --- The program --------------------------------------------------------------------------------

static void add_metadata(kz_graph *graph, const kz_whisper_shape *shape,
                         const kz_whisper_tokens *tokens) {
    const struct {
        const char *key;
        int64_t value;
    } integers[] = {
        {"model.hidden", shape->hidden},
        {"model.vocabulary", shape->vocabulary},
        {"model.context", shape->text_context},
        {"model.sequences", KZ_LANGUAGE_SEQUENCES},
        // What Whisper was trained on; no checkpoint states it.
        {"listen.sample_rate_hz", 16000},
        {"listen.mels", shape->mels},
        {"listen.frames", shape->frames},
        {"listen.positions", shape->positions},
        {"listen.start", tokens->start},
        {"listen.end", tokens->end},
        {"listen.transcribe", tokens->transcribe},
        {"listen.no_speech", tokens->no_speech},
        {"listen.no_timestamps", tokens->no_timestamps},
        {"listen.timestamp_begin", tokens->timestamp_begin},
    };
    kz_graph_set_string(graph, "ability", "listen");
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        kz_graph_set_integer(graph, integers[i].key, integers[i].value);
    }
    kz_graph_set_strings(graph, "listen.languages", tokens->languages, tokens->language_count);
    kz_graph_set_integers(graph, "listen.language_tokens", tokens->language_tokens,
                          tokens->language_count);
    kz_graph_set_integers(graph, "listen.suppress", tokens->suppress, tokens->suppress_count);
    kz_graph_set_integers(graph, "listen.suppress_begin", tokens->suppress_begin,
                          tokens->suppress_begin_count);
}

static bool matches(const kz_checkpoint *checkpoint) {
    const char *architecture = kz_checkpoint_architecture(checkpoint);
    return kz_whisper_names_of(kz_checkpoint_kind_of(checkpoint)) &&
           (strcmp(architecture, "whisper") == 0 || strcmp(architecture, "WhisperSpec") == 0);
}

// An option without effect would be a promise that is not kept.
static kazeia_status refuse_chat_options(const kz_model_options *options,
                                         const kz_whisper_shape *shape) {
    if (!options->is_hybrid) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "mode: 'kv' is for language models; a Whisper has one mode: leave it out");
    }
    if (options->context && options->context != shape->text_context) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "context: %u asked for; a Whisper's is its model's, %lld: leave it out",
                       options->context, (long long)shape->text_context);
    }
    return KAZEIA_OK;
}

static kazeia_status allocate_blocks(whisper *model) {
    kz_bump *memory = &model->graph->memory;
    KZ_TRY(kz_bump_take(memory, (size_t)model->shape.encoder_layers, sizeof(whisper_block),
                        (void **)&model->encoder));
    return kz_bump_take(memory, (size_t)model->shape.decoder_layers, sizeof(whisper_block),
                        (void **)&model->decoder);
}

// Of the words that 8-bit weights change, most are the decoder's: its head and its MLPs. In f16
// they cost a tenth of the time.
static void mark_half(kz_graph *graph) {
    for (size_t i = 0; i < graph->weight_count; i++) {
        const char *name = graph->weights[i].name;
        graph->weights[i].is_half = strcmp(name, "decoder.embedding") == 0 ||
                                    (strncmp(name, "decoder.", 8) == 0 && strstr(name, ".mlp."));
    }
}

static kazeia_status build(kz_checkpoint *checkpoint, const kz_model_options *options,
                           kz_graph *graph) {
    whisper model = {.checkpoint = checkpoint,
                     .options = options,
                     .graph = graph,
                     .names = kz_whisper_names_of(kz_checkpoint_kind_of(checkpoint))};
    kz_whisper_tokens *tokens = NULL;
    KZ_TRY(kz_bump_take(&graph->memory, 1, sizeof *tokens, (void **)&tokens));
    KZ_TRY(kz_whisper_read_shape(checkpoint, graph, &model.shape));
    KZ_TRY(refuse_chat_options(options, &model.shape));
    KZ_TRY(kz_model_check_cache(checkpoint, options->kv,
                                model.shape.hidden / model.shape.decoder_heads));
    KZ_TRY(kz_whisper_read_tokens(checkpoint, graph, &model.shape, tokens));
    KZ_TRY(allocate_blocks(&model));
    add_metadata(graph, &model.shape, tokens);
    KZ_TRY(kz_model_add_general(checkpoint, graph));
    // Whisper's own tokenizer recognises its added tokens in any text.
    KZ_TRY(kz_model_add_tokenizer(checkpoint, graph, (uint32_t)model.shape.vocabulary,
                                  KZ_TOKENIZER_SPECIAL_IN_TEXT));
    add_encoder_weights(&model);
    add_decoder_weights(&model);
    // Its input is the spectrogram itself: quantising there costs accuracy, and the matrix is
    // small.
    kz_model_mark_precise(graph, model.conv1);
    mark_half(graph);
    add_encode(&model);
    // A whole prompt (language, task, what was heard before) in one call.
    add_decode(&model, "decode_prefill", (uint32_t)model.shape.text_context);
    add_decode(&model, "decode_step", KZ_LANGUAGE_STEP_TOKENS);
    kz_language_add_logits(graph, model.embedding, (uint32_t)model.shape.hidden,
                           (uint32_t)model.shape.vocabulary);
    return kz_graph_status(graph);
}

const kz_model kz_model_whisper = {"whisper", matches, build};
