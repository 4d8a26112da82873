// kokoro.h: what the files of the Kokoro definition share.
//
// A weight is found under the name of the node that uses it, a bias under its own: a part of the
// network thus has two stems, as "/encoder/F0.0" and "encoder.predictor.F0.0". Its weights are
// called by a third in the program. All functions follow the graph's rule: after a failure they do
// nothing.
#ifndef KZ_EXPORTER_MODELS_KOKORO_H
#define KZ_EXPORTER_MODELS_KOKORO_H

#include "exporter/models/model.h"

#define KZ_KOKORO_EPSILON 1e-5f // of all norms but ALBERT's

typedef struct kz_kokoro_graph {
    kz_checkpoint *checkpoint;
    kz_graph *graph;
    kz_graph_method *method; // the one that grows
    uint32_t style;          // value [1][style]: the half that the present parts hear
    uint32_t voice_rows;     // of the table of styles
    uint32_t voices;         // weight: that table
    uint32_t symbol_limit, frame_limit;
} kz_kokoro_graph;

// Stems of a part: of the program, of nodes, of parameters.
typedef struct kz_kokoro_part {
    const char *name, *node, *parameter;
} kz_kokoro_part;

// --- kokoro_parts.c -----------------------------------------------------------------------------

// A tensor of any shape, or NULL after a failure.
const kz_checkpoint_tensor *kz_kokoro_tensor(kz_kokoro_graph *k, const char *name);
// All of a tensor of `count` elements, in graph memory; NULL after a failure.
float *kz_kokoro_floats(kz_kokoro_graph *k, const char *name, uint64_t count);
// Zeroed floats in graph memory; NULL after a failure.
float *kz_kokoro_room(kz_kokoro_graph *k, uint64_t count);
// A matrix (rows > 0) or a vector (rows 0) of numbers that the definition computed.
uint32_t kz_kokoro_constant(kz_kokoro_graph *k, const char *name, uint64_t rows, uint64_t columns,
                            const float *values);
// "STEM.ENDING" in graph memory.
const char *kz_kokoro_name(kz_kokoro_graph *k, const char *stem, const char *ending);
// A weight of `rows` rows in all, each of `columns` numbers, that the checkpoint has the other way
// round; its rows are then added from one tensor or several.
kz_graph_weight kz_kokoro_turned(const char *name, uint64_t rows, uint64_t columns);
// Adds rows [first, first + count) of a tensor that has as many columns.
void kz_kokoro_add_turned(kz_kokoro_graph *k, kz_graph_weight *weight, const char *source,
                          uint64_t first, uint64_t count);
// Extent `i` of a tensor; 0 after a failure.
uint32_t kz_kokoro_extent(kz_kokoro_graph *k, const char *source, uint32_t i);
uint32_t kz_kokoro_vector(kz_kokoro_graph *k, const char *name, uint64_t count, const char *source);
// A part of a part: "ENDING" is added to all three stems.
kz_kokoro_part kz_kokoro_inner(kz_kokoro_graph *k, const kz_kokoro_part *part, const char *ending);

// x times a matrix that the checkpoint holds as [columns][rows], under NODE/MatMul; bias
// PARAMETER.bias.
uint32_t kz_kokoro_linear(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part,
                          kz_linear_options options);

typedef struct kz_kokoro_convolution {
    uint32_t dilation, stride;
    uint32_t left, right;   // zeros around x
    uint32_t residual, out; // values or KZ_NO_VALUE
    bool has_bias, is_precise;
} kz_kokoro_convolution;
// NODE/Conv over x, whose columns may be more than the checkpoint's channels: those are zeros.
uint32_t kz_kokoro_convolve(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part,
                            const kz_kokoro_convolution *options);
// Rows around x so that a kernel of NODE/Conv with that dilation keeps their number.
uint32_t kz_kokoro_margin(kz_kokoro_graph *k, const kz_kokoro_part *part, uint32_t dilation);
// NODE/LSTM in both directions: x [T][K] -> [T][2 * H], into `out` unless that is KZ_NO_VALUE.
uint32_t kz_kokoro_lstm(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part, uint32_t out);
// x * (1 + gamma) + beta, both from the style (PART.fc), into `out`.
uint32_t kz_kokoro_adapt(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part, uint32_t out);
// The means, factors and offsets that bring each column of x to mean 0 and variance 1 and adapt it.
uint32_t kz_kokoro_fit(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part);
uint32_t kz_kokoro_leaky(kz_kokoro_graph *k, uint32_t x, float slope, uint32_t out);
// A residual block: two convolutions behind adapted norms and leaky ReLUs, beside x itself or what
// a convolution of 1 makes of it, all over sqrt(2). With `is_up` twice as many rows come out. Into
// `out` unless that is KZ_NO_VALUE.
uint32_t kz_kokoro_block(kz_kokoro_graph *k, uint32_t x, const kz_kokoro_part *part, bool is_up,
                         uint32_t out);

// --- kokoro_durations.c, kokoro_waveform.c: one method each -------------------------------------

// The input "voice", and the style that it names, [1][2 * half].
uint32_t kz_kokoro_add_style(kz_kokoro_graph *k);
void kz_kokoro_add_durations(kz_kokoro_graph *k);
void kz_kokoro_add_waveform(kz_kokoro_graph *k);

#endif
