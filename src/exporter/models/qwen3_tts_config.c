// qwen3_tts_config.c: shapes and ids of a Qwen3-TTS voice.
//   in   config.json, generation_config.json, speech_tokenizer/config.json
//   out  kz_tts's shapes, metadata "speak.*"
// Every id of text, codec, languages and speakers is the checkpoint's own: they differ from one to
// the next. What the graph does not compute (biases, another activation, a window of the talker) is
// refused.
#include <math.h>
#include <string.h>

#include "exporter/models/language.h"
#include "exporter/models/qwen3_tts.h"
#include "format/tokenizer.h"

#define CONFIG "config.json"
#define CODEC_FOLDER "speech_tokenizer"
#define CODEC_CONFIG CODEC_FOLDER "/config.json"
#define DEFAULT_CONTEXT 2048 // positions: some 160 s of speech in one utterance
#define SPECIAL_CODES 1024   // at the vocabulary's end: never spoken
#define NAME_LIMIT 64        // languages, speakers

// --- Shapes -------------------------------------------------------------------------------------

typedef struct wanted_integer {
    const char *key;
    int64_t minimum, maximum;
    int64_t *value;
} wanted_integer;

static kazeia_status require_all(const json_t *object, const char *file,
                                 const wanted_integer *wanted, size_t count) {
    for (size_t i = 0; i < count; i++) {
        KZ_TRY(kz_config_require(object, file, wanted[i].key, wanted[i].minimum, wanted[i].maximum,
                                 wanted[i].value));
    }
    return KAZEIA_OK;
}

static kazeia_status require_object(const json_t *object, const char *file, const char *key,
                                    const json_t **out_member) {
    *out_member = json_object_get(object, key);
    return json_is_object(*out_member) ? KAZEIA_OK
                                       : kz_fail(KAZEIA_BAD_FILE, "%s: no object '%s'", file, key);
}

static kazeia_status refuse_variants(const json_t *config, const char *file) {
    const char *activation = json_string_value(json_object_get(config, "hidden_act"));
    if (json_is_true(json_object_get(config, "attention_bias")) ||
        json_is_true(json_object_get(config, "use_sliding_window"))) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "%s: 'attention_bias' or 'use_sliding_window' is true, expected false",
                       file);
    }
    if (activation && strcmp(activation, "silu") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%s: hidden_act is '%s', expected 'silu'", file,
                       activation);
    }
    return KAZEIA_OK;
}

// What a transformer's object says; names, caches and the rest are set by the caller before.
static kazeia_status read_stack(const json_t *config, const char *file, double epsilon,
                                double theta, kz_tts_stack_shape *shape) {
    const wanted_integer wanted[] = {{"num_hidden_layers", 1, KZ_TTS_LAYER_LIMIT, &shape->layers},
                                     {"hidden_size", 8, 16384, &shape->hidden},
                                     {"intermediate_size", 8, 32768, &shape->mlp},
                                     {"num_attention_heads", 1, 256, &shape->heads},
                                     {"num_key_value_heads", 1, 256, &shape->kv_heads},
                                     {"head_dim", 2, 1024, &shape->head_dim}};
    KZ_TRY(refuse_variants(config, file));
    KZ_TRY(require_all(config, file, wanted, sizeof wanted / sizeof *wanted));
    shape->epsilon = kz_config_real(config, "rms_norm_eps", epsilon);
    shape->theta = kz_config_real(config, "rope_theta", theta);
    const bool is_sound = shape->heads % shape->kv_heads == 0 && shape->head_dim % 2 == 0 &&
                          shape->epsilon >= 0 && isfinite(shape->epsilon) && shape->theta > 0 &&
                          isfinite(shape->theta) &&
                          (shape->heads + 2 * shape->kv_heads) * shape->head_dim <= 65536;
    return is_sound ? KAZEIA_OK
                    : kz_fail(KAZEIA_BAD_FILE,
                              "%s: %lld heads, %lld key heads of %lld, theta %g, epsilon %g: these "
                              "do not make a transformer",
                              file, (long long)shape->heads, (long long)shape->kv_heads,
                              (long long)shape->head_dim, shape->theta, shape->epsilon);
}

// mRoPE's three rows of positions are equal for sound alone, which is the plain rotation; any other
// scaling is not.
static kazeia_status check_positions(const json_t *config) {
    const json_t *scaling = json_object_get(config, "rope_scaling");
    const char *kind = json_string_value(json_object_get(scaling, "rope_type"));
    if (kind && strcmp(kind, "default") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, CONFIG ": rope_type is '%s', expected 'default'", kind);
    }
    return KAZEIA_OK;
}

static kazeia_status read_talker(kz_tts *tts) {
    const json_t *talker = NULL, *predictor = NULL;
    int64_t positions = 0, predictor_groups = 0;
    KZ_TRY(require_object(tts->config, CONFIG, "talker_config", &talker));
    KZ_TRY(require_object(talker, CONFIG, "code_predictor_config", &predictor));
    const wanted_integer wanted[] = {{"vocab_size", SPECIAL_CODES + 1, 1 << 20, &tts->vocabulary},
                                     {"text_vocab_size", 8, 1 << 22, &tts->text_vocabulary},
                                     {"text_hidden_size", 8, 16384, &tts->text_hidden},
                                     {"num_code_groups", 2, KZ_TTS_GROUP_LIMIT, &tts->groups},
                                     {"max_position_embeddings", 16, 1 << 24, &positions}};
    tts->talker_config = talker;
    KZ_TRY(require_all(talker, CONFIG, wanted, sizeof wanted / sizeof *wanted));
    KZ_TRY(kz_config_require(predictor, CONFIG, "vocab_size", 2, 1 << 16, &tts->codes));
    KZ_TRY(kz_config_require(predictor, CONFIG, "num_code_groups", tts->groups, tts->groups,
                             &predictor_groups));
    KZ_TRY(check_positions(talker));
    const int64_t wished = tts->options->context;
    tts->context = wished ? wished : DEFAULT_CONTEXT < positions ? DEFAULT_CONTEXT : positions;
    if (tts->context > positions) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "context: %lld asked for, the talker has %lld positions",
                       (long long)tts->context, (long long)positions);
    }
    tts->talker = (kz_tts_stack_shape){.name = "talker",
                                       .prefix = "talker.model.",
                                       .cache_rows = tts->context,
                                       .has_head_norms = true,
                                       .kv = tts->options->kv};
    // Sixteen positions a frame: floats cost nothing.
    tts->predictor = (kz_tts_stack_shape){.name = "predictor",
                                          .prefix = "talker.code_predictor.model.",
                                          .cache_rows = tts->groups,
                                          .has_head_norms = true,
                                          .kv = KZ_F32};
    KZ_TRY(read_stack(talker, CONFIG, 1e-6, 1e6, &tts->talker));
    KZ_TRY(read_stack(predictor, CONFIG, 1e-6, 1e6, &tts->predictor));
    return kz_model_check_cache(tts->checkpoint, tts->options->kv, tts->talker.head_dim);
}

static kazeia_status read_rates(const json_t *config, const char *key, int64_t *values,
                                int64_t *out_count, int64_t *product) {
    const json_t *array = json_object_get(config, key);
    const size_t count = json_array_size(array);
    if (count < 1 || count > KZ_TTS_STAGE_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, CODEC_CONFIG ": '%s' has %zu numbers, expected 1 to %d",
                       key, count, KZ_TTS_STAGE_LIMIT);
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = (int64_t)json_integer_value(json_array_get(array, i));
        if (values[i] < 1 || values[i] > 64) {
            return kz_fail(KAZEIA_BAD_FILE, CODEC_CONFIG ": '%s'[%zu] is %lld, expected 1 to 64",
                           key, i, (long long)values[i]);
        }
        *product *= values[i];
    }
    *out_count = (int64_t)count;
    return KAZEIA_OK;
}

static kazeia_status read_codec(kz_tts *tts) {
    const json_t *decoder = NULL;
    kz_tts_codec_shape *shape = &tts->decoder;
    int64_t semantic = 0, samples = 1;
    KZ_TRY(require_object(tts->codec_config, CODEC_CONFIG, "decoder_config", &decoder));
    const wanted_integer wanted[] = {{"num_quantizers", tts->groups, tts->groups, &shape->groups},
                                     {"num_semantic_quantizers", 1, 1, &semantic},
                                     {"codebook_size", tts->codes, tts->codes, &shape->codes},
                                     {"codebook_dim", 2, 8192, &shape->width},
                                     {"latent_dim", 8, 16384, &shape->latent},
                                     {"decoder_dim", 8, 16384, &shape->channels}};
    KZ_TRY(require_all(decoder, CODEC_CONFIG, wanted, sizeof wanted / sizeof *wanted));
    shape->code_width = shape->width / 2;
    shape->stack = (kz_tts_stack_shape){.name = "codec.transformer",
                                        .prefix = "decoder.pre_transformer.",
                                        .has_factors = true,
                                        .kv = KZ_F32};
    KZ_TRY(read_stack(decoder, CODEC_CONFIG, 1e-5, 1e4, &shape->stack));
    KZ_TRY(
        kz_config_require(decoder, CODEC_CONFIG, "sliding_window", 1, 4096, &shape->stack.window));
    // A ring: what a call writes must not reach back into what its first frame still sees.
    shape->stack.cache_rows = shape->stack.window + KZ_TTS_CODEC_FRAMES;
    KZ_TRY(read_rates(decoder, "upsample_rates", shape->rates, &shape->rate_count, &samples));
    KZ_TRY(read_rates(decoder, "upsampling_ratios", shape->ratios, &shape->ratio_count, &samples));
    if (shape->channels >> shape->rate_count << shape->rate_count != shape->channels) {
        return kz_fail(KAZEIA_BAD_FILE,
                       CODEC_CONFIG ": decoder_dim %lld cannot be halved %lld times",
                       (long long)shape->channels, (long long)shape->rate_count);
    }
    KZ_TRY(kz_config_require(tts->codec_config, CODEC_CONFIG, "decode_upsample_rate", samples,
                             samples, &shape->samples_per_frame));
    return kz_config_require(tts->codec_config, CODEC_CONFIG, "output_sample_rate", 8000, 192000,
                             &shape->sample_rate_hz);
}

kazeia_status kz_tts_read_config(kz_tts *tts) {
    KZ_TRY(kz_checkpoint_json(tts->checkpoint, CONFIG, &tts->config));
    KZ_TRY(kz_checkpoint_open_part(tts->checkpoint, CODEC_FOLDER, &tts->codec));
    KZ_TRY(kz_checkpoint_json(tts->codec, "config.json", &tts->codec_config));
    if (!tts->codec_config) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no config.json", kz_checkpoint_path(tts->codec));
    }
    KZ_TRY(read_talker(tts));
    return read_codec(tts);
}

// --- Metadata -----------------------------------------------------------------------------------

typedef struct id_key {
    const char *config, *metadata;
} id_key;

static kazeia_status add_ids(kz_tts *tts, const json_t *object, const id_key *keys, size_t count,
                             int64_t limit) {
    for (size_t i = 0; i < count; i++) {
        int64_t id = 0;
        KZ_TRY(kz_config_require(object, CONFIG, keys[i].config, 0, limit - 1, &id));
        kz_graph_set_integer(tts->graph, keys[i].metadata, id);
    }
    return KAZEIA_OK;
}

static kazeia_status add_all_ids(kz_tts *tts) {
    static const id_key text[] = {
        {"im_start_token_id", "speak.text.start"},      {"im_end_token_id", "speak.text.end"},
        {"assistant_token_id", "speak.text.assistant"}, {"tts_pad_token_id", "speak.text.pad"},
        {"tts_bos_token_id", "speak.text.bos"},         {"tts_eos_token_id", "speak.text.eos"}};
    static const id_key codec[] = {{"codec_pad_id", "speak.code.pad"},
                                   {"codec_bos_id", "speak.code.bos"},
                                   {"codec_eos_token_id", "speak.code.eos"},
                                   {"codec_think_id", "speak.code.think"},
                                   {"codec_nothink_id", "speak.code.nothink"},
                                   {"codec_think_bos_id", "speak.code.think_bos"},
                                   {"codec_think_eos_id", "speak.code.think_eos"}};
    KZ_TRY(add_ids(tts, tts->config, text, sizeof text / sizeof *text, tts->text_vocabulary));
    return add_ids(tts, tts->talker_config, codec, sizeof codec / sizeof *codec, tts->vocabulary);
}

// Names and ids of an object {"name": id}, in the file's order.
static kazeia_status add_names(kz_tts *tts, const char *key, const char *names_key,
                               const char *ids_key) {
    const json_t *object = json_object_get(tts->talker_config, key);
    const char *names[NAME_LIMIT];
    int64_t ids[NAME_LIMIT];
    size_t count = 0;
    for (void *entry = json_object_iter((json_t *)(uintptr_t)object); entry;
         entry = json_object_iter_next((json_t *)(uintptr_t)object, entry)) {
        const char *name = json_object_iter_key(entry);
        if (count == NAME_LIMIT) {
            return kz_fail(KAZEIA_UNSUPPORTED, CONFIG ": '%s' has more than %d names", key,
                           NAME_LIMIT);
        }
        KZ_TRY(kz_config_require(object, CONFIG, name, 0, tts->vocabulary - 1, &ids[count]));
        names[count++] = name;
    }
    kz_graph_set_strings(tts->graph, names_key, names, count);
    kz_graph_set_integers(tts->graph, ids_key, ids, count);
    return KAZEIA_OK;
}

// For each speaker the language that he speaks in place of Chinese, or "".
static void add_dialects(kz_tts *tts) {
    const json_t *speakers = json_object_get(tts->talker_config, "spk_id");
    const json_t *dialects = json_object_get(tts->talker_config, "spk_is_dialect");
    const char *names[NAME_LIMIT];
    size_t count = 0;
    for (void *entry = json_object_iter((json_t *)(uintptr_t)speakers); entry && count < NAME_LIMIT;
         entry = json_object_iter_next((json_t *)(uintptr_t)speakers, entry)) {
        const char *dialect =
            json_string_value(json_object_get(dialects, json_object_iter_key(entry)));
        names[count++] = dialect ? dialect : "";
    }
    kz_graph_set_strings(tts->graph, "speak.speaker_dialects", names, count);
}

// The package's own defaults where the file leaves them out.
static kazeia_status add_sampling(kz_tts *tts) {
    static const struct {
        const char *key, *metadata;
        double otherwise;
    } reals[] = {{"temperature", "speak.temperature", 0.9},
                 {"top_p", "speak.top_p", 1.0},
                 {"repetition_penalty", "speak.repetition_penalty", 1.05},
                 {"subtalker_temperature", "speak.predictor.temperature", 0.9},
                 {"subtalker_top_p", "speak.predictor.top_p", 1.0}};
    const json_t *config = NULL;
    KZ_TRY(kz_checkpoint_json(tts->checkpoint, "generation_config.json", &config));
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        kz_graph_set_real(tts->graph, reals[i].metadata,
                          kz_config_real(config, reals[i].key, reals[i].otherwise));
    }
    kz_graph_set_integer(tts->graph, "speak.top_k", kz_config_integer(config, "top_k", 50));
    kz_graph_set_integer(tts->graph, "speak.predictor.top_k",
                         kz_config_integer(config, "subtalker_top_k", 50));
    kz_graph_set_integer(tts->graph, "speak.frame_limit",
                         kz_config_integer(config, "max_new_tokens", 8192));
    return KAZEIA_OK;
}

// The prompt is made of these tokens: a tokenizer that calls their ids otherwise was made for
// another model, and every text would be read as another one.
static kazeia_status check_tokens(const kz_tts *tts) {
    static const struct {
        const char *key, *text;
    } tokens[] = {{"im_start_token_id", "<|im_start|>"},
                  {"im_end_token_id", "<|im_end|>"},
                  {"assistant_token_id", "assistant"}};
    const kz_bytes *section = &tts->graph->tokenizer;
    kz_tokenizer_view view;
    if (section->count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "a voice without tokenizer files; expected "
                                           "tokenizer.json, or vocab.json and merges.txt");
    }
    KZ_TRY(kz_tokenizer_view_open(section, &view));
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        const json_int_t id = json_integer_value(json_object_get(tts->config, tokens[i].key));
        const kz_bytes found = id >= 0 && id < view.token_count
                                   ? kz_tokenizer_view_token(&view, (uint32_t)id)
                                   : (kz_bytes){NULL, 0};
        if (found.count != strlen(tokens[i].text) ||
            memcmp(found.bytes, tokens[i].text, found.count) != 0) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "token %lld ('%s' of config.json) is '%.*s', expected '%s': the "
                           "tokenizer of another model",
                           (long long)id, tokens[i].key, (int)(found.count < 32 ? found.count : 32),
                           found.bytes ? (const char *)found.bytes : "", tokens[i].text);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_tts_add_metadata(kz_tts *tts) {
    kz_graph *graph = tts->graph;
    const char *kind = json_string_value(json_object_get(tts->config, "tts_model_type"));
    kz_graph_set_string(graph, "ability", "speak");
    KZ_TRY(kz_model_add_general(tts->checkpoint, graph));
    kz_graph_set_integer(graph, "model.hidden", tts->talker.hidden);
    // The tokenizer's words are the text's; the talker has a vocabulary of its own.
    kz_graph_set_integer(graph, "model.vocabulary", tts->text_vocabulary);
    kz_graph_set_integer(graph, "speak.vocabulary", tts->vocabulary);
    kz_graph_set_integer(graph, "model.context", tts->context);
    kz_graph_set_integer(graph, "model.sequences", 1);
    kz_graph_set_string(graph, "speak.kind", kind);
    kz_graph_set_integer(graph, "speak.sample_rate_hz", tts->decoder.sample_rate_hz);
    kz_graph_set_integer(graph, "speak.samples_per_frame", tts->decoder.samples_per_frame);
    kz_graph_set_integer(graph, "speak.groups", tts->groups);
    kz_graph_set_integer(graph, "speak.codes", tts->codes);
    kz_graph_set_integer(graph, "speak.first_suppressed", tts->vocabulary - SPECIAL_CODES);
    KZ_TRY(add_all_ids(tts));
    KZ_TRY(add_names(tts, "codec_language_id", "speak.languages", "speak.language_codes"));
    KZ_TRY(add_names(tts, "spk_id", "speak.speakers", "speak.speaker_codes"));
    add_dialects(tts);
    KZ_TRY(add_sampling(tts));
    // Ids of text are those of the embedding's table; special tokens beyond it would be none.
    KZ_TRY(kz_model_add_tokenizer(tts->checkpoint, graph, (uint32_t)tts->text_vocabulary, 0));
    return check_tokens(tts);
}
