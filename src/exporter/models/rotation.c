// rotation.c: how far a position turns each pair of a head, and what stretches it.
//   in   theta, a scaling as config.json or a GGUF file states it
//   out  a weight [rotary / 2] for the ROPE op
// Scaled at export, so that the runtime knows one rotation only. GGUF states Llama 3.1's scaling as
// a tensor of factors and everything else by keys; config.json states it by its four numbers.
#include "exporter/models/rotation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEY_BYTES 128
#define PI 3.14159265358979323846

// --- config.json --------------------------------------------------------------------------------

static kazeia_status require_real(const json_t *scaling, const char *key, double *out_value) {
    const json_t *member = json_object_get(scaling, key);
    const double value = json_number_value(member); // 0 for anything else
    if (!json_is_number(member) || !(value > 0) || !isfinite(value)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "config.json: rope_scaling has no '%s' above 0, which its kind needs", key);
    }
    *out_value = value;
    return KAZEIA_OK;
}

static kazeia_status read_llama3(const json_t *scaling, kz_rotation *rotation) {
    rotation->scaling = KZ_ROTATION_LLAMA3;
    KZ_TRY(require_real(scaling, "factor", &rotation->factor));
    KZ_TRY(require_real(scaling, "low_freq_factor", &rotation->low_frequency));
    KZ_TRY(require_real(scaling, "high_freq_factor", &rotation->high_frequency));
    KZ_TRY(require_real(scaling, "original_max_position_embeddings", &rotation->original_context));
    if (rotation->low_frequency >= rotation->high_frequency) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "config.json: rope_scaling: low_freq_factor is %g, expected below "
                       "high_freq_factor, %g",
                       rotation->low_frequency, rotation->high_frequency);
    }
    return KAZEIA_OK;
}

kazeia_status kz_rotation_read_json(const json_t *scaling, kz_rotation *rotation) {
    rotation->scaling = KZ_ROTATION_PLAIN;
    if (!json_is_object(scaling)) {
        return KAZEIA_OK;
    }
    if (kz_config_real(scaling, "partial_rotary_factor", 1.0) != 1.0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "config.json: partial_rotary_factor of %g is not "
                       "supported",
                       kz_config_real(scaling, "partial_rotary_factor", 1.0));
    }
    const json_t *kind = json_object_get(scaling, "rope_type");
    kind = kind ? kind : json_object_get(scaling, "type"); // as older files call it
    const char *name = json_is_string(kind) ? json_string_value(kind) : "unnamed";
    if (strcmp(name, "default") == 0) {
        return KAZEIA_OK;
    }
    if (strcmp(name, "linear") == 0) {
        rotation->scaling = KZ_ROTATION_LINEAR;
        return require_real(scaling, "factor", &rotation->factor);
    }
    if (strcmp(name, "llama3") == 0) {
        return read_llama3(scaling, rotation);
    }
    // A scaling changes every angle, so an unknown kind is refused and not passed over.
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "config.json: rope_scaling '%s' is not supported; supported: linear, llama3",
                   name);
}

// --- GGUF ---------------------------------------------------------------------------------------

kazeia_status kz_rotation_read_gguf(const kz_checkpoint *checkpoint, const char *architecture,
                                    kz_rotation *rotation) {
    char kind[KEY_BYTES], factor[KEY_BYTES], old_factor[KEY_BYTES];
    snprintf(kind, sizeof kind, "%s.rope.scaling.type", architecture);
    snprintf(factor, sizeof factor, "%s.rope.scaling.factor", architecture);
    snprintf(old_factor, sizeof old_factor, "%s.rope.scale_linear", architecture);
    // A file that gives a factor without a kind means linear, as llama.cpp reads it.
    const char *found = kz_checkpoint_string(checkpoint, kind);
    const char *name = found ? found : "linear";
    if (strcmp(name, "none") != 0 && strcmp(name, "linear") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%s: %s '%s' is not supported; supported: none, linear",
                       kz_checkpoint_path(checkpoint), kind, name);
    }
    double value = 1.0;
    const bool is_there = kz_checkpoint_real(checkpoint, factor, &value) ||
                          kz_checkpoint_real(checkpoint, old_factor, &value);
    rotation->scaling = KZ_ROTATION_PLAIN;
    // 0 is written for "not scaled".
    if (!is_there || strcmp(name, "none") == 0 || value == 0.0) {
        return KAZEIA_OK;
    }
    if (!(value > 0) || !isfinite(value)) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: the factor of %s is %g, expected above 0",
                       kz_checkpoint_path(checkpoint), kind, value);
    }
    rotation->scaling = KZ_ROTATION_LINEAR;
    rotation->factor = value;
    return KAZEIA_OK;
}

// --- The weight ---------------------------------------------------------------------------------

static double scale_llama3(const kz_rotation *rotation, double frequency) {
    const double turns = rotation->original_context * frequency / (2.0 * PI);
    const double slow = frequency / rotation->factor;
    if (turns < rotation->low_frequency) {
        return slow;
    }
    if (turns > rotation->high_frequency) {
        return frequency;
    }
    const double share =
        (turns - rotation->low_frequency) / (rotation->high_frequency - rotation->low_frequency);
    return (1.0 - share) * slow + share * frequency;
}

static double scaled(const kz_rotation *rotation, double frequency) {
    switch (rotation->scaling) {
    case KZ_ROTATION_LINEAR:
        return frequency / rotation->factor;
    case KZ_ROTATION_LLAMA3:
        return scale_llama3(rotation, frequency);
    default:
        return frequency;
    }
}

// Factors are one row: an extent of 0 in front of the right columns leaves none to read.
static void read_factors(kz_graph *graph, const kz_checkpoint_tensor *factors, uint32_t count,
                         float *out_factors) {
    const uint64_t rows = kz_checkpoint_row_count(factors);
    const uint64_t elements = kz_checkpoint_row_elements(factors);
    if (rows == 1 && elements == count) {
        kz_graph_note(graph, kz_checkpoint_decode_row(factors, 0, out_factors));
    } else {
        kz_graph_note(graph, kz_fail(KAZEIA_BAD_FILE, "tensor '%s' has %llu elements, expected %u",
                                     factors->name, (unsigned long long)(rows * elements), count));
    }
}

uint32_t kz_rotation_add(kz_graph *graph, const char *name, const kz_rotation *rotation,
                         uint32_t rotary) {
    // One array for both: the frequencies, and behind them the factors that they are divided by.
    float *values = NULL;
    const uint32_t half = rotary / 2;
    if (kz_graph_status(graph) == KAZEIA_OK) {
        kz_graph_note(graph, kz_bump_take(&graph->memory, 2 * (size_t)half, sizeof *values,
                                          (void **)&values));
    }
    if (!values) {
        return KZ_NO_VALUE;
    }
    float *divisors = values + half;
    if (rotation->extra_factors) {
        read_factors(graph, rotation->extra_factors, half, divisors);
    }
    if (kz_graph_status(graph) != KAZEIA_OK) {
        return KZ_NO_VALUE;
    }
    for (uint32_t i = 0; i < half; i++) {
        const double divisor = rotation->extra_factors ? (double)divisors[i] : 1.0;
        // In double and rounded once: within a unit in the last place of the references' float32.
        values[i] = (float)(scaled(rotation, pow(rotation->theta, -2.0 * i / rotary)) / divisor);
        if (!isfinite(values[i])) {
            kz_graph_note(graph, kz_fail(KAZEIA_BAD_FILE,
                                         "weight '%s': theta %g and a divisor of %g give no angle",
                                         name, rotation->theta, divisor));
            return KZ_NO_VALUE;
        }
    }
    return kz_graph_add_weight(
        graph, &(kz_graph_weight){.name = name,
                                  .rank = 1,
                                  .rows = 1,
                                  .columns = half,
                                  .pieces = {{.constant = values, .row_count = half}},
                                  .piece_count = 1});
}
