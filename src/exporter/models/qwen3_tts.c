// qwen3_tts.c: Qwen3-TTS: text -> codes (talker, code predictor) -> sound (codec).
//   in   a folder as published: talker, tokenizer files, speech_tokenizer/
//   out  the graph of docs/abilities.md "speak"
// The talker never sees a token: it is given rows, each a sum of text and codec embeddings, which
// the stage adds up (QwenLM's modeling_qwen3_tts.py is the reference). So embeddings are methods of
// their own, and the talker's methods take rows.
#include <string.h>

#include "exporter/models/language.h"
#include "exporter/models/qwen3_tts.h"

// As in decoder.c: narrower talkers multiply 16-bit activations and are fast enough.
#define FINE_HIDDEN_LIMIT 1024
#define ROW_LIMIT 64u // rows of embeddings made at once

typedef struct talker_weights {
    kz_tts_stack talker, predictor;
    uint32_t text_table, fc1, fc1_bias, fc2, fc2_bias;
    uint32_t code_table; // the talker's codes, then those of each further codebook
    uint32_t head, predictor_heads[KZ_TTS_GROUP_LIMIT];
    uint32_t narrow, narrow_bias; // KZ_NO_VALUE where both transformers are equally wide
} talker_weights;

static bool matches(const kz_checkpoint *checkpoint) {
    return kz_checkpoint_kind_of(checkpoint) == KZ_CHECKPOINT_SAFETENSORS &&
           strcmp(kz_checkpoint_architecture(checkpoint), "qwen3_tts") == 0;
}

// --- Weights ------------------------------------------------------------------------------------

static void add_text_weights(kz_tts *tts, talker_weights *weights) {
    const kz_checkpoint *from = tts->checkpoint;
    const int64_t text = tts->text_hidden, hidden = tts->talker.hidden;
    weights->text_table = kz_tts_matrix(tts, from, "text.embedding", tts->text_vocabulary, text,
                                        "talker.model.text_embedding.weight", NULL);
    weights->fc1 = kz_tts_matrix(tts, from, "text.fc1", text, text,
                                 "talker.text_projection.linear_fc1.weight", NULL);
    weights->fc1_bias =
        kz_tts_vector(tts, from, "text.fc1.bias", text, "talker.text_projection.linear_fc1.bias");
    weights->fc2 = kz_tts_matrix(tts, from, "text.fc2", hidden, text,
                                 "talker.text_projection.linear_fc2.weight", NULL);
    weights->fc2_bias =
        kz_tts_vector(tts, from, "text.fc2.bias", hidden, "talker.text_projection.linear_fc2.bias");
}

// One table, so that one call looks up the codes of a whole frame.
static void add_code_table(kz_tts *tts, talker_weights *weights) {
    const char *sources[KZ_TTS_GROUP_LIMIT + 1] = {"talker.model.codec_embedding.weight"};
    for (int64_t g = 1; g < tts->groups; g++) {
        sources[g] =
            kz_graph_name(tts->graph, "talker.code_predictor.model.codec_embedding.%lld.weight",
                          (long long)(g - 1));
    }
    weights->code_table =
        kz_model_matrix(tts->graph, tts->checkpoint, "code.embedding",
                        (uint64_t)(tts->vocabulary + (tts->groups - 1) * tts->codes),
                        (uint64_t)tts->talker.hidden, sources);
    kz_tts_mark_odd(tts, weights->code_table);
}

static void add_predictor_weights(kz_tts *tts, talker_weights *weights) {
    static const char *const narrow = "talker.code_predictor.small_to_mtp_projection.weight";
    const kz_checkpoint *from = tts->checkpoint;
    const int64_t hidden = tts->predictor.hidden;
    kz_tts_stack_add(tts, from, &tts->predictor, &weights->predictor);
    for (int64_t g = 1; g < tts->groups; g++) {
        weights->predictor_heads[g] =
            kz_tts_matrix(tts, from, kz_graph_name(tts->graph, "predictor.head.%lld", (long long)g),
                          tts->codes, hidden,
                          kz_graph_name(tts->graph, "talker.code_predictor.lm_head.%lld.weight",
                                        (long long)(g - 1)),
                          NULL);
    }
    weights->narrow = weights->narrow_bias = KZ_NO_VALUE;
    // Where it is not the identity, whatever the widths.
    if (hidden != tts->talker.hidden || kz_checkpoint_find(from, narrow)) {
        weights->narrow =
            kz_tts_matrix(tts, from, "predictor.narrow", hidden, tts->talker.hidden, narrow, NULL);
        weights->narrow_bias = kz_tts_vector(tts, from, "predictor.narrow.bias", hidden,
                                             "talker.code_predictor.small_to_mtp_projection.bias");
    }
}

// --- Methods ------------------------------------------------------------------------------------

static void add_text_rows(kz_tts *tts, const talker_weights *weights) {
    kz_graph_method *method = kz_graph_add_method(tts->graph, "text_rows");
    const kz_dim rows = kz_method_symbol(method, "rows", ROW_LIMIT);
    const uint32_t ids = kz_method_input(method, "ids", KZ_I32, (uint32_t)tts->text_vocabulary, 1,
                                         rows, kz_dim_constant(1));
    const uint32_t out = kz_method_output(method, "rows", rows, (uint32_t)tts->talker.hidden);
    const uint32_t x = kz_node_embed(method, ids, weights->text_table, 1.0f);
    const uint32_t wide = kz_node_linear(
        method, x, weights->fc1,
        &(kz_linear_options){weights->fc1_bias, KZ_NO_VALUE, KZ_NO_VALUE, KZ_ACTIVATION_SILU});
    (void)kz_node_linear(
        method, wide, weights->fc2,
        &(kz_linear_options){weights->fc2_bias, KZ_NO_VALUE, out, KZ_ACTIVATION_NONE});
}

static void add_code_rows(kz_tts *tts, const talker_weights *weights) {
    kz_graph_method *method = kz_graph_add_method(tts->graph, "code_rows");
    const kz_dim rows = kz_method_symbol(method, "rows", ROW_LIMIT);
    const uint32_t limit = (uint32_t)(tts->vocabulary + (tts->groups - 1) * tts->codes);
    const uint32_t ids = kz_method_input(method, "ids", KZ_I32, limit, 1, rows, kz_dim_constant(1));
    const uint32_t out = kz_method_output(method, "rows", rows, (uint32_t)tts->talker.hidden);
    kz_node_copy(method, kz_node_embed(method, ids, weights->code_table, 1.0f), out);
}

// rows [tokens][the talker's hidden] -> hidden [tokens][the stack's own].
static void add_forward(kz_tts *tts, const kz_tts_stack *stack, const char *name,
                        uint32_t token_limit, const talker_weights *weights) {
    kz_graph_method *method = kz_graph_add_method(tts->graph, name);
    const bool is_predictor = stack == &weights->predictor;
    const kz_dim tokens = kz_method_symbol(method, "tokens", token_limit);
    const uint32_t width = (uint32_t)tts->talker.hidden, hidden = (uint32_t)stack->shape.hidden;
    const uint32_t rows =
        kz_method_input(method, "rows", KZ_F32, 0, 2, tokens, kz_dim_constant(width));
    const uint32_t positions = (uint32_t)stack->shape.cache_rows;
    const kz_tts_cache_inputs inputs =
        kz_tts_add_cache_inputs(method, tokens, positions, positions);
    const uint32_t out = kz_method_output(method, "hidden", tokens, hidden);
    uint32_t x = kz_method_rows(method, tokens, hidden);
    if (is_predictor && weights->narrow != KZ_NO_VALUE) {
        (void)kz_node_linear(
            method, rows, weights->narrow,
            &(kz_linear_options){weights->narrow_bias, KZ_NO_VALUE, x, KZ_ACTIVATION_NONE});
    } else {
        kz_node_copy(method, rows, x);
    }
    kz_tts_stack_run(stack, method, x, &inputs);
    (void)kz_node_rms_norm(method, x, stack->final_norm, (float)stack->shape.epsilon, out);
}

static void add_predictor_logits(kz_tts *tts, const talker_weights *weights) {
    const uint32_t hidden = (uint32_t)tts->predictor.hidden;
    const kz_dim one = kz_dim_constant(1);
    for (int64_t g = 1; g < tts->groups; g++) {
        kz_graph_method *method = kz_graph_add_method(
            tts->graph, kz_graph_name(tts->graph, "predict_logits.%lld", (long long)g));
        const uint32_t x =
            kz_method_input(method, "hidden", KZ_F32, 0, 2, one, kz_dim_constant(hidden));
        kz_linear_options options = KZ_LINEAR_PLAIN;
        options.out = kz_method_output(method, "logits", one, (uint32_t)tts->codes);
        (void)kz_node_linear(method, x, weights->predictor_heads[g], &options);
    }
}

void kz_tts_add_talker(kz_tts *tts) {
    talker_weights weights = {0};
    add_text_weights(tts, &weights);
    add_code_table(tts, &weights);
    kz_tts_stack_add(tts, tts->checkpoint, &tts->talker, &weights.talker);
    weights.head = kz_tts_matrix(tts, tts->checkpoint, "talker.head", tts->vocabulary,
                                 tts->talker.hidden, "talker.codec_head.weight", NULL);
    add_predictor_weights(tts, &weights);
    add_text_rows(tts, &weights);
    add_code_rows(tts, &weights);
    if (tts->options->is_hybrid) {
        add_forward(tts, &weights.talker, "talk_prefill", KZ_LANGUAGE_PREFILL_TOKENS, &weights);
    }
    add_forward(tts, &weights.talker, "talk_step", KZ_LANGUAGE_STEP_TOKENS, &weights);
    kz_language_add_logits(tts->graph, weights.head, (uint32_t)tts->talker.hidden,
                           (uint32_t)tts->vocabulary);
    add_forward(tts, &weights.predictor, "predict", KZ_TTS_GROUP_LIMIT, &weights);
    add_predictor_logits(tts, &weights);
}

// --- The definition -----------------------------------------------------------------------------

// `beginnings` ends with NULL.
static bool begins_with_one(const char *name, const char *const *beginnings) {
    for (; *beginnings; beginnings++) {
        if (strncmp(name, *beginnings, strlen(*beginnings)) == 0) {
            return true;
        }
    }
    return false;
}

// What the codec makes of the codes before it stretches them: a twentieth of its work, and a third
// of the noise that eight bits would give it.
static bool is_front_of_codec(const char *name) {
    static const char *const fronts[] = {"codec.pre", "codec.transformer.", "codec.first", NULL};
    return begins_with_one(name, fronts);
}

// Codec and speaker: in four bits their sound has a tenth of itself as noise.
static void mark_fine(kz_graph *graph, size_t first) {
    for (size_t i = first; i < graph->weight_count; i++) {
        graph->weights[i].is_fine = true;
        graph->weights[i].is_half = is_front_of_codec(graph->weights[i].name);
    }
}

// --- Tensors without a place --------------------------------------------------------------------

static void mark_pieces(const kz_tts *tts, const kz_checkpoint *from, bool *are_used) {
    const kz_checkpoint_tensor *first = kz_checkpoint_tensor_at(from, 0);
    const kz_checkpoint_tensor *end = first + kz_checkpoint_tensor_count(from);
    for (size_t i = 0; i < tts->graph->weight_count; i++) {
        const kz_graph_weight *weight = &tts->graph->weights[i];
        for (uint32_t j = 0; j < weight->piece_count; j++) {
            const kz_checkpoint_tensor *tensor = weight->pieces[j].tensor;
            if (tensor && tensor >= first && tensor < end) {
                are_used[tensor - first] = true;
            }
        }
    }
}

// What training leaves behind: the quantisers' other halves, marks, and codebooks beyond those that
// the talker speaks.
static bool may_be_left_out(const char *name) {
    static const char *const parts[] = {"decoder.quantizer.rvq_first.input_proj.",
                                        "decoder.quantizer.rvq_rest.input_proj.",
                                        "encoder.quantizer.", NULL};
    return begins_with_one(name, parts);
}

// A tensor that nothing computes with (a bias, say) would make the voice wrong without a word.
static kazeia_status refuse_leftovers(kz_tts *tts, const kz_checkpoint *from, bool *are_used) {
    mark_pieces(tts, from, are_used);
    for (size_t i = 0; i < kz_checkpoint_tensor_count(from); i++) {
        const char *name = kz_checkpoint_tensor_at(from, i)->name;
        if (!are_used[i] && !may_be_left_out(name)) {
            return kz_fail(KAZEIA_UNSUPPORTED, "%s: tensor '%s' has no place in a Qwen3-TTS voice",
                           kz_checkpoint_path(from), name);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status take_marks(kz_tts *tts) {
    const kz_checkpoint *const both[] = {tts->checkpoint, tts->codec};
    for (size_t i = 0; i < 2; i++) {
        KZ_TRY(kz_bump_take(&tts->graph->memory, kz_checkpoint_tensor_count(both[i]) + 1,
                            sizeof(bool), (void **)&tts->are_read[i]));
    }
    return KAZEIA_OK;
}

static kazeia_status build(kz_checkpoint *checkpoint, const kz_model_options *options,
                           kz_graph *graph) {
    kz_tts tts = {.checkpoint = checkpoint, .options = options, .graph = graph};
    KZ_TRY(kz_tts_read_config(&tts));
    graph->has_fine_activations = tts.talker.hidden < FINE_HIDDEN_LIMIT;
    KZ_TRY(take_marks(&tts));
    KZ_TRY(kz_tts_add_metadata(&tts));
    kz_tts_add_talker(&tts);
    const size_t first = graph->weight_count;
    kz_tts_add_decoder(&tts);
    kz_tts_add_encoder(&tts);
    kz_tts_add_speaker(&tts);
    mark_fine(graph, first);
    KZ_TRY(kz_graph_status(graph));
    KZ_TRY(refuse_leftovers(&tts, checkpoint, tts.are_read[0]));
    return refuse_leftovers(&tts, tts.codec, tts.are_read[1]);
}

const kz_model kz_model_qwen3_tts = {"qwen3_tts", matches, build};
