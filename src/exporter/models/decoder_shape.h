// decoder_shape.h: the numbers of a decoder, whatever container states them.
//
//   in   config.json, or the keys of a GGUF file; how the family differs (decoder.h)
//   out  a kz_decoder_shape that has been checked
#ifndef KZ_EXPORTER_MODELS_DECODER_SHAPE_H
#define KZ_EXPORTER_MODELS_DECODER_SHAPE_H

#include "exporter/models/decoder.h"
#include "exporter/models/rotation.h"

// Several times the layers of the largest models; a hostile count ends here.
#define KZ_DECODER_LAYER_LIMIT 512

typedef struct kz_decoder_shape {
    int64_t layers, hidden, mlp, heads, kv_heads, head_dim, context;
    int64_t rotary; // columns of a head that are rotated
    double epsilon;
    double query_scalar; // attention divides by its square root
    kz_rotation global, local;
    int64_t window;                        // positions that local layers see; 0: no layer is local
    bool is_local[KZ_DECODER_LAYER_LIMIT]; // of the first `layers`
    bool is_tie_stated;                    // else the head is tied where there is no tensor for it
    bool is_tied;                          // where stated: the head is the embedding
    bool is_part;                          // of a model that also sees or hears
} kz_decoder_shape;

// UNSUPPORTED names what the family's configuration allows and the decoder does not compute;
// BAD_FILE what is missing or out of its range. The vocabulary is the embedding's, not said here.
KAZEIA_MUST_CHECK kazeia_status kz_decoder_read_shape(const kz_decoder_traits *traits,
                                                      kz_checkpoint *checkpoint,
                                                      kz_decoder_shape *out_shape);

#endif
