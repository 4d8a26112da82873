// rotation.h: how far a position turns each pair of a head, and what stretches it.
//
//   in   theta, a scaling as config.json or a GGUF file states it
//   out  a weight [rotary / 2] for the ROPE op
//
// Angles by position: Su et al., "RoFormer", 2021. Scalings as transformers' modeling_rope_utils.py
// computes them: "linear" (Chen et al., "Extending Context Window of Large Language Models via
// Positional Interpolation", 2023) and Llama 3.1's "llama3".
#ifndef KZ_EXPORTER_MODELS_ROTATION_H
#define KZ_EXPORTER_MODELS_ROTATION_H

#include "exporter/models/model.h"

typedef enum kz_rotation_scaling {
    KZ_ROTATION_PLAIN,
    KZ_ROTATION_LINEAR, // every frequency divided by `factor`
    KZ_ROTATION_LLAMA3, // slow frequencies divided, fast ones kept, those between mixed
} kz_rotation_scaling;

typedef struct kz_rotation {
    double theta;
    kz_rotation_scaling scaling;
    double factor;                             // LINEAR and LLAMA3
    double low_frequency, high_frequency;      // LLAMA3: turns within original_context, low < high
    double original_context;                   // LLAMA3: positions before the stretch
    const kz_checkpoint_tensor *extra_factors; // NULL, or [rotary / 2] by which frequencies are
                                               // divided besides: GGUF's rope_freqs
} kz_rotation;

// Reads a scaling of config.json into `rotation`; `scaling` is NULL or null for none. UNSUPPORTED
// names a kind that is neither of the two; BAD_FILE a number that is missing or out of its range.
KAZEIA_MUST_CHECK kazeia_status kz_rotation_read_json(const json_t *scaling, kz_rotation *rotation);
// The same from the keys "ARCHITECTURE.rope.scaling.*" of a GGUF file.
KAZEIA_MUST_CHECK kazeia_status kz_rotation_read_gguf(const kz_checkpoint *checkpoint,
                                                      const char *architecture,
                                                      kz_rotation *rotation);

// The weight [rotary / 2]: theta^(-2 i / rotary), scaled. Follows the graph's rule (model.h).
uint32_t kz_rotation_add(kz_graph *graph, const char *name, const kz_rotation *rotation,
                         uint32_t rotary);

#endif
