// decoder_shape.c: the numbers of a decoder, whatever container states them.
//   in   config.json, or the keys of a GGUF file; how the family differs
//   out  a shape that has been checked
// What a configuration allows and the decoder does not compute is refused here by name: slightly
// wrong arithmetic writes fluent nonsense, and nobody is told.
#include "exporter/models/decoder_shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEY_BYTES 128
#define EXTRA_FACTORS "rope_freqs.weight"

// --- GGUF ---------------------------------------------------------------------------------------

typedef struct gguf_shape {
    const kz_decoder_traits *traits;
    const kz_checkpoint *checkpoint;
    kz_decoder_shape *shape;
    char key[KEY_BYTES]; // the last one asked for, for sentences
} gguf_shape;

// "llama.block_count" for "block_count".
static const char *key_of(gguf_shape *file, const char *key) {
    snprintf(file->key, sizeof file->key, "%s.%s", file->traits->architecture, key);
    return file->key;
}

static kazeia_status require_integer(gguf_shape *file, const char *key, int64_t maximum,
                                     int64_t *out_value) {
    const char *path = kz_checkpoint_path(file->checkpoint);
    if (!kz_checkpoint_integer(file->checkpoint, key_of(file, key), out_value)) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no integer '%s'", path, file->key);
    }
    if (*out_value < 1 || *out_value > maximum) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: '%s' is %lld, expected 1 to %lld", path, file->key,
                       (long long)*out_value, (long long)maximum);
    }
    return KAZEIA_OK;
}

static int64_t integer_or(gguf_shape *file, const char *key, int64_t otherwise) {
    int64_t value = otherwise;
    (void)kz_checkpoint_integer(file->checkpoint, key_of(file, key), &value);
    return value;
}

static double real_or(gguf_shape *file, const char *key, double otherwise) {
    double value = otherwise;
    (void)kz_checkpoint_real(file->checkpoint, key_of(file, key), &value);
    return value;
}

// Each is 0 or absent in models of this arithmetic.
static kazeia_status refuse_gguf_variants(gguf_shape *file) {
    static const struct {
        const char *key, *what;
    } variants[] = {
        {"expert_count", "a mixture of experts"},
        {"attn_logit_softcapping", "capping of scores"},
        {"final_logit_softcapping", "capping of logits"},
        {"attention.clamp_kqv", "clamping of q, k and v"},
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const double value = real_or(file, variants[i].key, 0.0);
        if (value != 0.0) {
            return kz_fail(KAZEIA_UNSUPPORTED, "%s: '%s' is %g: %s is not supported",
                           kz_checkpoint_path(file->checkpoint), file->key, value,
                           variants[i].what);
        }
    }
    return KAZEIA_OK;
}

// One boolean a layer, or a period, or nothing: then the family's own.
static kazeia_status read_gguf_pattern(gguf_shape *file) {
    kz_decoder_shape *shape = file->shape;
    const kz_checkpoint *checkpoint = file->checkpoint;
    const char *key = key_of(file, "attention.sliding_window_pattern");
    const size_t count = kz_checkpoint_array_count(checkpoint, key);
    int64_t period = file->traits->local_pattern;
    (void)kz_checkpoint_integer(checkpoint, key, &period);
    if (period < 1 || (count && count < (uint64_t)shape->layers)) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: '%s' does not say of each of %lld layers what it sees",
                       kz_checkpoint_path(checkpoint), key, (long long)shape->layers);
    }
    for (int64_t i = 0; i < shape->layers; i++) {
        shape->is_local[i] = (i + 1) % period != 0;
        int64_t flag = 0;
        if (count && !kz_checkpoint_array_bool(checkpoint, key, (size_t)i, &shape->is_local[i])) {
            if (!kz_checkpoint_array_integer(checkpoint, key, (size_t)i, &flag)) {
                return kz_fail(KAZEIA_BAD_FILE, "%s: '%s' holds no booleans",
                               kz_checkpoint_path(checkpoint), key);
            }
            shape->is_local[i] = flag != 0;
        }
    }
    return KAZEIA_OK;
}

// A file without a window has no local layers, as llama.cpp reads it.
static kazeia_status read_gguf_window(gguf_shape *file) {
    kz_decoder_shape *shape = file->shape;
    const int64_t window = integer_or(file, "attention.sliding_window", 0);
    if (window == 0) {
        return KAZEIA_OK;
    }
    if (file->traits->local_pattern == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%s: '%s' is %lld, %s has no sliding windows",
                       kz_checkpoint_path(file->checkpoint), file->key, (long long)window,
                       file->traits->title);
    }
    shape->window = window;
    shape->local.theta = real_or(file, "rope.freq_base_swa", file->traits->local_theta);
    return read_gguf_pattern(file);
}

static kazeia_status read_gguf_heads(gguf_shape *file) {
    kz_decoder_shape *shape = file->shape;
    KZ_TRY(require_integer(file, "attention.head_count", 1024, &shape->heads));
    shape->kv_heads = integer_or(file, "attention.head_count_kv", shape->heads);
    shape->head_dim = integer_or(file, "attention.key_length", shape->hidden / shape->heads);
    const int64_t value_length = integer_or(file, "attention.value_length", shape->head_dim);
    if (value_length != shape->head_dim) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "%s: '%s' is %lld: values are as wide as keys here, %lld",
                       kz_checkpoint_path(file->checkpoint), file->key, (long long)value_length,
                       (long long)shape->head_dim);
    }
    shape->rotary = integer_or(file, "rope.dimension_count", shape->head_dim);
    const bool is_odd = shape->layers == file->traits->odd_gguf_layers;
    shape->query_scalar = is_odd ? (double)(shape->hidden / shape->heads) : (double)shape->head_dim;
    return KAZEIA_OK;
}

static kazeia_status read_gguf_shape(const kz_decoder_traits *traits,
                                     const kz_checkpoint *checkpoint, kz_decoder_shape *shape) {
    gguf_shape file = {.traits = traits, .checkpoint = checkpoint, .shape = shape};
    KZ_TRY(refuse_gguf_variants(&file));
    KZ_TRY(require_integer(&file, "block_count", KZ_DECODER_LAYER_LIMIT, &shape->layers));
    KZ_TRY(require_integer(&file, "embedding_length", 65536, &shape->hidden));
    KZ_TRY(require_integer(&file, "feed_forward_length", 65536, &shape->mlp));
    KZ_TRY(require_integer(&file, "context_length", 1 << 24, &shape->context));
    KZ_TRY(read_gguf_heads(&file));
    // RoFormer's base, which files leave out when they use it.
    shape->global.theta = real_or(&file, "rope.freq_base", 10000.0);
    shape->global.extra_factors = kz_checkpoint_find(checkpoint, EXTRA_FACTORS);
    KZ_TRY(kz_rotation_read_gguf(checkpoint, traits->architecture, &shape->global));
    KZ_TRY(read_gguf_window(&file));
    // Without a default: families differ by a factor of ten, and a wrong one goes unnoticed.
    if (!kz_checkpoint_real(checkpoint, key_of(&file, "attention.layer_norm_rms_epsilon"),
                            &shape->epsilon)) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no '%s'", kz_checkpoint_path(checkpoint), file.key);
    }
    return KAZEIA_OK;
}

// --- Hugging Face -------------------------------------------------------------------------------

static kazeia_status refuse_flags(const json_t *config) {
    // A bias would also show as a tensor left over; a window leaves no tensor at all.
    static const char *const flags[] = {"attention_bias", "mlp_bias", "use_sliding_window",
                                        "use_bidirectional_attention"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (json_is_true(json_object_get(config, flags[i]))) {
            return kz_fail(KAZEIA_UNSUPPORTED, "config.json: '%s' is true, expected false",
                           flags[i]);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status refuse_numbers(const json_t *config) {
    static const struct {
        const char *key;
        double plain;
    } numbers[] = {{"attn_logit_softcapping", 0.0},
                   {"final_logit_softcapping", 0.0},
                   {"partial_rotary_factor", 1.0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const double value = kz_config_real(config, numbers[i].key, numbers[i].plain);
        if (value != numbers[i].plain) {
            return kz_fail(KAZEIA_UNSUPPORTED, "config.json: '%s' is %g, which is not supported",
                           numbers[i].key, value);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status refuse_activation(const kz_decoder_traits *traits, const json_t *config) {
    static const char *const keys[] = {"hidden_act", "hidden_activation"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *found = json_string_value(json_object_get(config, keys[i]));
        if (found && strcmp(found, traits->activation_name) != 0) {
            return kz_fail(KAZEIA_UNSUPPORTED, "config.json: %s is '%s', expected '%s'", keys[i],
                           found, traits->activation_name);
        }
    }
    return KAZEIA_OK;
}

// NULL for null, which some files write for "none".
static const json_t *object_of(const json_t *object, const char *key) {
    const json_t *member = json_object_get(object, key);
    return json_is_object(member) ? member : NULL;
}

// transformers 5 gathers theta and scaling in "rope_parameters", of each kind of layer where there
// are two.
static kazeia_status read_positions(const kz_decoder_traits *traits, const json_t *config,
                                    kz_decoder_shape *shape) {
    const json_t *parameters = object_of(config, "rope_parameters");
    const json_t *global = object_of(parameters, "full_attention");
    const json_t *local = object_of(parameters, "sliding_attention");
    const double theta = traits->otherwise.theta ? traits->otherwise.theta : 10000.0;
    global = global ? global : parameters;
    shape->global.theta = kz_config_real(config, "rope_theta", theta);
    shape->global.theta = kz_config_real(global, "rope_theta", shape->global.theta);
    shape->local.theta = kz_config_real(config, "rope_local_base_freq", traits->local_theta);
    shape->local.theta = kz_config_real(local, "rope_theta", shape->local.theta);
    KZ_TRY(kz_rotation_read_json(local, &shape->local));
    // The scaling stretches what global layers see; a window is no longer than before.
    return kz_rotation_read_json(global ? global : object_of(config, "rope_scaling"),
                                 &shape->global);
}

static kazeia_status require_or(const json_t *config, const char *key, int64_t maximum,
                                int64_t otherwise, int64_t *out_value) {
    *out_value = otherwise;
    if (otherwise && !json_object_get(config, key)) {
        return KAZEIA_OK;
    }
    return kz_config_require(config, "config.json", key, 1, maximum, out_value);
}

static kazeia_status read_layer_types(const json_t *types, kz_decoder_shape *shape) {
    if (json_array_size(types) != (size_t)shape->layers) {
        return kz_fail(KAZEIA_BAD_FILE, "config.json: layer_types has %zu entries for %lld layers",
                       json_array_size(types), (long long)shape->layers);
    }
    for (int64_t i = 0; i < shape->layers; i++) {
        const char *name = json_string_value(json_array_get(types, (size_t)i));
        shape->is_local[i] = name && strcmp(name, "sliding_attention") == 0;
        if (!shape->is_local[i] && (!name || strcmp(name, "full_attention") != 0)) {
            return kz_fail(KAZEIA_UNSUPPORTED,
                           "config.json: layer_types[%lld] is '%s'; supported: full_attention, "
                           "sliding_attention",
                           (long long)i, name ? name : "");
        }
    }
    return KAZEIA_OK;
}

static kazeia_status read_pattern(const kz_decoder_traits *traits, const json_t *config,
                                  kz_decoder_shape *shape) {
    // The underscore came when layer_types did.
    int64_t period = kz_config_integer(config, "_sliding_window_pattern", traits->local_pattern);
    period = kz_config_integer(config, "sliding_window_pattern", period);
    if (traits->local_pattern == 0) {
        return KAZEIA_OK;
    }
    if (period < 1) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "config.json: sliding_window_pattern is %lld, expected at "
                       "least 1",
                       (long long)period);
    }
    for (int64_t i = 0; i < shape->layers; i++) {
        shape->is_local[i] = (i + 1) % period != 0;
    }
    return KAZEIA_OK;
}

static kazeia_status read_window(const kz_decoder_traits *traits, const json_t *config,
                                 kz_decoder_shape *shape) {
    const json_t *types = json_object_get(config, "layer_types");
    KZ_TRY(json_is_array(types) ? read_layer_types(types, shape)
                                : read_pattern(traits, config, shape));
    bool has_local = false;
    for (int64_t i = 0; i < shape->layers; i++) {
        has_local = has_local || shape->is_local[i];
    }
    if (!has_local) {
        return KAZEIA_OK;
    }
    if (traits->local_pattern == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "config.json: layer_types names sliding_attention, %s has none here",
                       traits->title);
    }
    return require_or(config, "sliding_window", INT32_MAX, traits->otherwise.window,
                      &shape->window);
}

static kazeia_status read_sizes(const kz_decoder_traits *traits, const json_t *config,
                                kz_decoder_shape *shape) {
    const kz_decoder_defaults *otherwise = &traits->otherwise;
    KZ_TRY(require_or(config, "num_hidden_layers", KZ_DECODER_LAYER_LIMIT, 0, &shape->layers));
    KZ_TRY(require_or(config, "hidden_size", 65536, 0, &shape->hidden));
    KZ_TRY(require_or(config, "intermediate_size", 65536, 0, &shape->mlp));
    KZ_TRY(require_or(config, "num_attention_heads", 1024, otherwise->heads, &shape->heads));
    KZ_TRY(require_or(config, "max_position_embeddings", 1 << 24, otherwise->context,
                      &shape->context));
    shape->kv_heads = kz_config_integer(config, "num_key_value_heads",
                                        otherwise->kv_heads ? otherwise->kv_heads : shape->heads);
    // Qwen3's heads are wider than hidden / heads, and say so.
    shape->head_dim =
        kz_config_integer(config, "head_dim",
                          otherwise->head_dim ? otherwise->head_dim : shape->hidden / shape->heads);
    shape->rotary = shape->head_dim;
    shape->epsilon = kz_config_real(config, "rms_norm_eps", 1e-6);
    shape->query_scalar = (double)shape->head_dim;
    if (traits->query_scalar != 0.0) {
        shape->query_scalar = kz_config_real(config, "query_pre_attn_scalar", traits->query_scalar);
    }
    return KAZEIA_OK;
}

static kazeia_status read_hugging_face_shape(const kz_decoder_traits *traits,
                                             kz_checkpoint *checkpoint, kz_decoder_shape *shape) {
    const json_t *config = NULL;
    KZ_TRY(kz_checkpoint_json(checkpoint, "config.json", &config));
    if (!config) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no config.json beside the tensors",
                       kz_checkpoint_path(checkpoint));
    }
    const json_t *tie = json_object_get(config, "tie_word_embeddings");
    const json_t *text = object_of(config, "text_config");
    shape->is_part = text != NULL;
    if (shape->is_part) {
        tie = tie ? tie : json_object_get(text, "tie_word_embeddings");
        config = text;
    }
    shape->is_tie_stated = json_is_boolean(tie);
    shape->is_tied = json_is_true(tie);
    KZ_TRY(refuse_flags(config));
    KZ_TRY(refuse_numbers(config));
    KZ_TRY(refuse_activation(traits, config));
    KZ_TRY(read_sizes(traits, config, shape));
    KZ_TRY(read_positions(traits, config, shape));
    return read_window(traits, config, shape);
}

// --- Both ---------------------------------------------------------------------------------------

static bool is_angle(double theta) {
    return theta > 0 && isfinite(theta);
}

static bool is_sound(const kz_decoder_shape *shape) {
    const bool are_heads_sound = shape->kv_heads >= 1 && shape->kv_heads <= shape->heads &&
                                 shape->heads % shape->kv_heads == 0 && shape->head_dim >= 2 &&
                                 shape->head_dim <= 1024 && shape->rotary >= 2 &&
                                 shape->rotary % 2 == 0 && shape->rotary <= shape->head_dim;
    const bool are_numbers_sound = is_angle(shape->global.theta) && shape->epsilon >= 0 &&
                                   isfinite(shape->epsilon) && shape->query_scalar > 0 &&
                                   isfinite(shape->query_scalar);
    const bool is_window_sound =
        shape->window == 0 ||
        (shape->window >= 1 && shape->window <= INT32_MAX && is_angle(shape->local.theta));
    // 2^16 columns for the widest rows: those that are quantised must fit a thread's scratch
    // (KZ_COLUMN_LIMIT).
    return are_heads_sound && are_numbers_sound && is_window_sound && 2 * shape->mlp <= 65536 &&
           (shape->heads + 2 * shape->kv_heads) * shape->head_dim <= 65536;
}

kazeia_status kz_decoder_read_shape(const kz_decoder_traits *traits, kz_checkpoint *checkpoint,
                                    kz_decoder_shape *out_shape) {
    *out_shape = (kz_decoder_shape){0};
    KZ_TRY(kz_checkpoint_kind_of(checkpoint) == KZ_CHECKPOINT_GGUF
               ? read_gguf_shape(traits, checkpoint, out_shape)
               : read_hugging_face_shape(traits, checkpoint, out_shape));
    if (!is_sound(out_shape)) {
        return kz_fail(
            KAZEIA_BAD_FILE,
            "%s: %lld heads, %lld key heads of %lld (%lld rotated), theta %g, epsilon %g, window "
            "%lld: these do not make %s",
            kz_checkpoint_path(checkpoint), (long long)out_shape->heads,
            (long long)out_shape->kv_heads, (long long)out_shape->head_dim,
            (long long)out_shape->rotary, out_shape->global.theta, out_shape->epsilon,
            (long long)out_shape->window, traits->title);
    }
    return KAZEIA_OK;
}
