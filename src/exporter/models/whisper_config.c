// whisper_config.c: Whisper's shape and token ids, from whatever a container has to say of them.
//   in   config.json, generation_config.json and tokenizer.json, or ggml's header
//   out  kz_whisper_shape, kz_whisper_tokens
// Layer counts and widths are read off the tensors where no file states them (CTranslate2).
#include <stdio.h>
#include <string.h>

#include "exporter/models/whisper.h"

#define LAYER_LIMIT 64
// 30 s in steps of 10 ms: positions were trained for exactly that.
#define MEL_FRAMES 3000

// --- Shape --------------------------------------------------------------------------------------

static kazeia_status tensor_dims(const kz_checkpoint *checkpoint, const char *name, uint32_t rank,
                                 const uint64_t **out_dims) {
    const kz_checkpoint_tensor *tensor = NULL;
    const uint64_t any[4] = {0, 0, 0, 0};
    KZ_TRY(kz_checkpoint_require(checkpoint, name, rank, any, &tensor));
    *out_dims = tensor->dims;
    return KAZEIA_OK;
}

static int64_t count_layers(const kz_checkpoint *checkpoint, kz_graph *graph, const char *pattern,
                            const char *ending) {
    int64_t count = 0;
    // One more than allowed may be counted: the shape is then refused.
    while (count <= LAYER_LIMIT) {
        char name[128];
        (void)snprintf(name, sizeof name, "%s%s", kz_layer_name(graph, pattern, (uint32_t)count),
                       ending);
        if (!kz_checkpoint_find(checkpoint, name)) {
            break;
        }
        count++;
    }
    return count;
}

// What the tensors themselves tell; everything but the numbers of heads.
static kazeia_status read_tensor_shape(kz_checkpoint *checkpoint, kz_graph *graph,
                                       kz_whisper_shape *shape) {
    const kz_whisper_names *names = kz_whisper_names_of(kz_checkpoint_kind_of(checkpoint));
    const uint64_t *dims = NULL;
    KZ_TRY(tensor_dims(checkpoint, kz_graph_name(graph, "%s%s", names->conv1, names->weight), 3,
                       &dims));
    shape->hidden = (int64_t)dims[0];
    shape->mels = (int64_t)dims[1];
    KZ_TRY(tensor_dims(checkpoint, names->encoder_positions, 2, &dims));
    shape->positions = (int64_t)dims[0];
    KZ_TRY(tensor_dims(checkpoint, names->decoder_positions, 2, &dims));
    shape->text_context = (int64_t)dims[0];
    KZ_TRY(tensor_dims(checkpoint, names->embedding, 2, &dims));
    shape->vocabulary = (int64_t)dims[0];
    shape->encoder_layers = count_layers(checkpoint, graph, names->encoder_up, names->weight);
    shape->decoder_layers = count_layers(checkpoint, graph, names->decoder_up, names->weight);
    KZ_TRY(tensor_dims(
        checkpoint,
        kz_graph_name(graph, "%s%s", kz_layer_name(graph, names->encoder_up, 0), names->weight), 2,
        &dims));
    shape->encoder_mlp = (int64_t)dims[0];
    KZ_TRY(tensor_dims(
        checkpoint,
        kz_graph_name(graph, "%s%s", kz_layer_name(graph, names->decoder_up, 0), names->weight), 2,
        &dims));
    shape->decoder_mlp = (int64_t)dims[0];
    shape->frames = 2 * shape->positions;
    return KAZEIA_OK;
}

static kazeia_status read_scalar(const kz_checkpoint *checkpoint, const char *name,
                                 int64_t *out_value) {
    const kz_checkpoint_tensor *tensor = kz_checkpoint_find(checkpoint, name);
    int64_t value = 0;
    if (!tensor || tensor->byte_count < 1 || tensor->byte_count > 8) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no scalar '%s'", kz_checkpoint_path(checkpoint), name);
    }
    // Little-endian, of whatever width the converter chose.
    for (size_t i = (size_t)tensor->byte_count; i-- > 0;) {
        value = value << 8 | tensor->bytes[i];
    }
    *out_value = value;
    return KAZEIA_OK;
}

static kazeia_status read_config_heads(kz_checkpoint *checkpoint, kz_whisper_shape *shape) {
    const char *file = "config.json";
    const json_t *config = NULL;
    KZ_TRY(kz_checkpoint_json(checkpoint, file, &config));
    const char *activation = json_string_value(json_object_get(config, "activation_function"));
    if (activation && strcmp(activation, "gelu") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%s: activation_function is '%s', expected 'gelu'", file,
                       activation);
    }
    if (json_is_true(json_object_get(config, "scale_embedding"))) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%s: scale_embedding is true, expected false", file);
    }
    KZ_TRY(
        kz_config_require(config, file, "encoder_attention_heads", 1, 1024, &shape->encoder_heads));
    return kz_config_require(config, file, "decoder_attention_heads", 1, 1024,
                             &shape->decoder_heads);
}

static kazeia_status read_heads(kz_checkpoint *checkpoint, kz_whisper_shape *shape) {
    switch (kz_checkpoint_kind_of(checkpoint)) {
    case KZ_CHECKPOINT_CTRANSLATE2:
        KZ_TRY(read_scalar(checkpoint, "encoder/num_heads", &shape->encoder_heads));
        return read_scalar(checkpoint, "decoder/num_heads", &shape->decoder_heads);
    case KZ_CHECKPOINT_WHISPER_GGML:
        // A header always has them; 0 is refused with the shape.
        (void)kz_checkpoint_integer(checkpoint, "n_audio_head", &shape->encoder_heads);
        (void)kz_checkpoint_integer(checkpoint, "n_text_head", &shape->decoder_heads);
        return KAZEIA_OK;
    default:
        return read_config_heads(checkpoint, shape);
    }
}

static bool is_between(int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high;
}

kazeia_status kz_whisper_read_shape(kz_checkpoint *checkpoint, kz_graph *graph,
                                    kz_whisper_shape *out_shape) {
    kz_whisper_shape shape = {0};
    KZ_TRY(read_tensor_shape(checkpoint, graph, &shape));
    KZ_TRY(read_heads(checkpoint, &shape));
    // Products of any two of these stay far below 2^63; 80 and 128 mels are what the front end
    // makes.
    const bool is_sound =
        is_between(shape.hidden, 8, 16384) && (shape.mels == 80 || shape.mels == 128) &&
        shape.frames == MEL_FRAMES && is_between(shape.encoder_layers, 1, LAYER_LIMIT) &&
        is_between(shape.decoder_layers, 1, LAYER_LIMIT) &&
        is_between(shape.encoder_heads, 1, shape.hidden) &&
        is_between(shape.decoder_heads, 1, shape.hidden) &&
        shape.hidden % shape.encoder_heads == 0 && shape.hidden % shape.decoder_heads == 0 &&
        is_between(shape.encoder_mlp, 1, 65536) && is_between(shape.decoder_mlp, 1, 65536) &&
        is_between(shape.text_context, 8, 65536) && is_between(shape.vocabulary, 8, 1 << 20);
    if (!is_sound) {
        return kz_fail(
            KAZEIA_BAD_FILE,
            "%s: hidden %lld, mels %lld, positions %lld, layers %lld and %lld, heads %lld "
            "and %lld: these do not make a Whisper",
            kz_checkpoint_path(checkpoint), (long long)shape.hidden, (long long)shape.mels,
            (long long)shape.positions, (long long)shape.encoder_layers,
            (long long)shape.decoder_layers, (long long)shape.encoder_heads,
            (long long)shape.decoder_heads);
    }
    *out_shape = shape;
    return KAZEIA_OK;
}

// --- Token ids ----------------------------------------------------------------------------------

static void add_language(kz_graph *graph, kz_whisper_tokens *tokens, const char *code,
                         int64_t token) {
    // More than Whisper has: the rest of a hostile list is dropped.
    if (tokens->language_count < KZ_WHISPER_LANGUAGE_LIMIT) {
        tokens->languages[tokens->language_count] = kz_graph_name(graph, "%s", code);
        tokens->language_tokens[tokens->language_count++] = token;
    }
}

static size_t copy_ids(const json_t *ids, int64_t *out_ids, size_t capacity) {
    size_t count = 0, index = 0;
    const json_t *id = NULL;
    json_array_foreach(ids, index, id) {
        if (json_is_integer(id) && count < capacity) {
            out_ids[count++] = (int64_t)json_integer_value(id);
        }
    }
    return count;
}

// The order of OpenAI's tokenizer.py: ... nospeech, notimestamps, then 1501 timestamps.
static void set_from_no_timestamps(kz_whisper_tokens *tokens, int64_t no_timestamps) {
    tokens->no_timestamps = no_timestamps;
    tokens->no_speech = no_timestamps - 1;
    tokens->timestamp_begin = no_timestamps + 1;
}

static kazeia_status read_generation_config(kz_checkpoint *checkpoint, kz_graph *graph,
                                            kz_whisper_tokens *tokens) {
    const char *file = "generation_config.json";
    const json_t *config = NULL;
    KZ_TRY(kz_checkpoint_json(checkpoint, file, &config));
    if (!config) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no generation_config.json, which names the tokens",
                       kz_checkpoint_path(checkpoint));
    }
    int64_t no_timestamps = 0;
    KZ_TRY(kz_config_require(config, file, "decoder_start_token_id", 0, 1 << 20, &tokens->start));
    KZ_TRY(kz_config_require(config, file, "eos_token_id", 0, 1 << 20, &tokens->end));
    KZ_TRY(kz_config_require(config, file, "no_timestamps_token_id", 1, 1 << 20, &no_timestamps));
    KZ_TRY(kz_config_require(json_object_get(config, "task_to_id"), file, "transcribe", 0, 1 << 20,
                             &tokens->transcribe));
    set_from_no_timestamps(tokens, no_timestamps);
    void *place = NULL;
    json_t *ids = json_object_get(config, "lang_to_id");
    for (place = json_object_iter(ids); place; place = json_object_iter_next(ids, place)) {
        char code[16];
        const json_t *id = json_object_iter_value(place);
        // "<|fr|>": 15 characters and a NUL fill the array.
        if (sscanf(json_object_iter_key(place), "<|%15[^|]|>", code) == 1 && json_is_integer(id)) {
            add_language(graph, tokens, code, (int64_t)json_integer_value(id));
        }
    }
    tokens->suppress_count = copy_ids(json_object_get(config, "suppress_tokens"), tokens->suppress,
                                      KZ_WHISPER_SUPPRESS_LIMIT);
    tokens->suppress_begin_count = copy_ids(json_object_get(config, "begin_suppress_tokens"),
                                            tokens->suppress_begin, KZ_WHISPER_SUPPRESS_LIMIT);
    return KAZEIA_OK;
}

static kazeia_status find_added_token(const json_t *added, const char *text, int64_t *out_id) {
    size_t index = 0;
    const json_t *token = NULL;
    json_array_foreach(added, index, token) {
        const char *content = json_string_value(json_object_get(token, "content"));
        if (content && strcmp(content, text) == 0) {
            *out_id = kz_config_integer(token, "id", -1);
            return KAZEIA_OK;
        }
    }
    return kz_fail(KAZEIA_BAD_FILE, "tokenizer.json: no added token '%s'", text);
}

// CTranslate2's config.json has the ids, tokenizer.json their texts.
static void add_language_by_id(kz_graph *graph, const json_t *added, int64_t id,
                               kz_whisper_tokens *tokens) {
    size_t index = 0;
    const json_t *token = NULL;
    json_array_foreach(added, index, token) {
        const char *content = json_string_value(json_object_get(token, "content"));
        char code[16];
        if (kz_config_integer(token, "id", -1) == id && content &&
            sscanf(content, "<|%15[^|]|>", code) == 1) {
            add_language(graph, tokens, code, id);
            return;
        }
    }
}

static kazeia_status read_ctranslate2_tokens(kz_checkpoint *checkpoint, kz_graph *graph,
                                             kz_whisper_tokens *tokens) {
    const json_t *config = NULL, *tokenizer = NULL;
    KZ_TRY(kz_checkpoint_json(checkpoint, "config.json", &config));
    KZ_TRY(kz_checkpoint_json(checkpoint, "tokenizer.json", &tokenizer));
    if (!config || !tokenizer) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "%s: config.json and tokenizer.json are needed beside model.bin",
                       kz_checkpoint_path(checkpoint));
    }
    const json_t *added = json_object_get(tokenizer, "added_tokens");
    int64_t no_timestamps = 0;
    KZ_TRY(find_added_token(added, "<|startoftranscript|>", &tokens->start));
    KZ_TRY(find_added_token(added, "<|endoftext|>", &tokens->end));
    KZ_TRY(find_added_token(added, "<|transcribe|>", &tokens->transcribe));
    KZ_TRY(find_added_token(added, "<|notimestamps|>", &no_timestamps));
    set_from_no_timestamps(tokens, no_timestamps);
    size_t index = 0;
    const json_t *id = NULL;
    json_array_foreach(json_object_get(config, "lang_ids"), index, id) {
        add_language_by_id(graph, added, (int64_t)json_integer_value(id), tokens);
    }
    tokens->suppress_count = copy_ids(json_object_get(config, "suppress_ids"), tokens->suppress,
                                      KZ_WHISPER_SUPPRESS_LIMIT);
    tokens->suppress_begin_count = copy_ids(json_object_get(config, "suppress_ids_begin"),
                                            tokens->suppress_begin, KZ_WHISPER_SUPPRESS_LIMIT);
    return KAZEIA_OK;
}

// whisper.cpp writes no special tokens: their numbers follow from the vocabulary's size.
static kazeia_status number_ggml_tokens(const kz_checkpoint *checkpoint, kz_graph *graph,
                                        const kz_whisper_shape *shape, kz_whisper_tokens *tokens) {
    // 50,257 tokens of text, 2 + 6 others and 1501 timestamps: what is left are languages, 99 or
    // 100 of them.
    const int64_t language_count = shape->vocabulary - 51766;
    if (!is_between(language_count, 99, KZ_WHISPER_LANGUAGES)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "%s: a vocabulary of %lld; multilingual ones have 51865 or 51866 tokens",
                       kz_checkpoint_path(checkpoint), (long long)shape->vocabulary);
    }
    tokens->end = 50257;
    tokens->start = 50258;
    for (int64_t i = 0; i < language_count; i++) {
        add_language(graph, tokens, kz_whisper_language((size_t)i), tokens->start + 1 + i);
    }
    // Then transcribe, startoflm, startofprev, nospeech, notimestamps.
    const int64_t translate = tokens->start + 1 + language_count;
    tokens->transcribe = translate + 1;
    set_from_no_timestamps(tokens, translate + 5);
    return kz_whisper_find_suppressed(checkpoint, &graph->memory.allocator, tokens);
}

static kazeia_status check_id(const kz_whisper_shape *shape, const char *what, int64_t id) {
    if (!is_between(id, 0, shape->vocabulary - 1)) {
        return kz_fail(KAZEIA_BAD_FILE, "whisper: token %s is %lld, the vocabulary has %lld", what,
                       (long long)id, (long long)shape->vocabulary);
    }
    return KAZEIA_OK;
}

// The runtime indexes logits by these ids without another look.
static kazeia_status check_tokens(const kz_whisper_shape *shape, const kz_whisper_tokens *tokens) {
    KZ_TRY(check_id(shape, "start", tokens->start));
    KZ_TRY(check_id(shape, "end", tokens->end));
    KZ_TRY(check_id(shape, "transcribe", tokens->transcribe));
    KZ_TRY(check_id(shape, "no_speech", tokens->no_speech));
    KZ_TRY(check_id(shape, "timestamp_begin", tokens->timestamp_begin));
    for (size_t i = 0; i < tokens->language_count; i++) {
        KZ_TRY(check_id(shape, tokens->languages[i], tokens->language_tokens[i]));
    }
    for (size_t i = 0; i < tokens->suppress_count; i++) {
        KZ_TRY(check_id(shape, "to suppress", tokens->suppress[i]));
    }
    for (size_t i = 0; i < tokens->suppress_begin_count; i++) {
        KZ_TRY(check_id(shape, "to suppress first", tokens->suppress_begin[i]));
    }
    if (!tokens->language_count) {
        return kz_fail(KAZEIA_UNSUPPORTED, "whisper: no language tokens: an English-only model");
    }
    return KAZEIA_OK;
}

kazeia_status kz_whisper_read_tokens(kz_checkpoint *checkpoint, kz_graph *graph,
                                     const kz_whisper_shape *shape, kz_whisper_tokens *out_tokens) {
    switch (kz_checkpoint_kind_of(checkpoint)) {
    case KZ_CHECKPOINT_CTRANSLATE2:
        KZ_TRY(read_ctranslate2_tokens(checkpoint, graph, out_tokens));
        break;
    case KZ_CHECKPOINT_WHISPER_GGML:
        KZ_TRY(number_ggml_tokens(checkpoint, graph, shape, out_tokens));
        break;
    default:
        KZ_TRY(read_generation_config(checkpoint, graph, out_tokens));
    }
    KZ_TRY(kz_graph_status(graph));
    return check_tokens(shape, out_tokens);
}
