// graph.h: a program being built: weights still in the checkpoint, states, metadata, methods.
//
// Model definitions call the functions below; each adds one value or instruction and gives its
// number. The first failure is kept in the graph and later calls do nothing, so that a definition
// reads as the model does; kz_graph_status is asked once at the end. Instructions and values are
// the format's own structs: passes edit them in place until they are written.
#ifndef KZ_EXPORTER_GRAPH_GRAPH_H
#define KZ_EXPORTER_GRAPH_GRAPH_H

#include "exporter/checkpoint/checkpoint.h"
#include "exporter/graph/bump.h"
#include "format/program.h"

#define KZ_PIECE_LIMIT 16

// Rows of a matrix, or elements of a vector (rank 1), that come from one place. Pieces follow one
// another; only one of tensor and constant is set, and neither stands for zeros.
typedef struct kz_weight_piece {
    const kz_checkpoint_tensor *tensor; // or NULL:
    const float *constant;              // [row_count][columns], graph memory; NULL: zeros
    uint64_t first_row;                 // in `tensor`
    uint64_t row_count;                 // vectors: elements
} kz_weight_piece;

// How a row of the checkpoint becomes a row of the program.
typedef enum kz_weight_shape {
    KZ_WEIGHT_PLAIN, // rows as they are
    KZ_WEIGHT_CONV,  // row [channels][kernel] becomes [kernel][channels], as UNFOLD lays out x
    // A transposed convolution [columns][channels][kernel], its one piece: row j * channels + c is
    // element [.][c][j] of every row of the checkpoint, as FOLD adds up what the LINEAR made.
    KZ_WEIGHT_TRANSPOSED,
    // A matrix that the checkpoint has the other way round, [columns][rows]: row r of a piece is
    // its column first_row + r.
    KZ_WEIGHT_TURNED,
} kz_weight_shape;

// A tensor of the program before its bytes are read. The checkpoint must outlive the graph.
typedef struct kz_graph_weight {
    const char *name;       // in the program; graph memory or constant
    bool is_matrix;         // KZ_TILE16, format chosen by recipe; else KZ_ROWS f32
    bool is_precise;        // a matrix that q4 and q8 leave in f32 (positions, a first convolution)
    bool is_fine;           // a matrix that q4 leaves in q8 (sound, where four bits are heard)
    bool is_half;           // a matrix that q8 and q4 leave in f16 (whose noise much comes after)
    uint32_t rank;          // of the tensor: 1 or 2
    uint64_t rows, columns; // vectors: 1, elements
    kz_weight_piece pieces[KZ_PIECE_LIMIT];
    uint32_t piece_count;
    kz_weight_shape shape;
    uint32_t kernel; // KZ_WEIGHT_CONV, KZ_WEIGHT_TRANSPOSED
    // KZ_WEIGHT_CONV: channels of the checkpoint, those behind them being zeros; 0: all.
    uint64_t channels;
    float added; // to each element of a tensor's rows; rank 1 only
    // Factors of the rows, of a vector's elements: [rows] or [columns] in graph memory; NULL: none.
    const float *factors;
    kz_type type; // set by the formats pass
} kz_graph_weight;

typedef struct kz_graph kz_graph;

// A method as it grows. Values and instructions are numbered from 0 in the order in which they are
// added; passes may insert and rewrite them.
typedef struct kz_graph_method {
    kz_graph *graph;
    const char *name;
    kz_symbol symbols[KZ_SYMBOL_LIMIT];
    uint32_t symbol_count;
    kz_value *values;
    size_t value_count, value_capacity;
    kz_instruction *instructions;
    size_t instruction_count, instruction_capacity;
    uint32_t inputs[16], outputs[8];
    uint32_t input_count, output_count;
    uint64_t arena_bytes; // set by the plan_memory pass
} kz_graph_method;

#define KZ_GRAPH_METHOD_LIMIT 64

// The caller's memory: init, build, passes, describe, clear. One thread at a time.
struct kz_graph {
    kz_bump memory;       // of all names and tables below
    kazeia_status status; // of the first failure; its sentence is the thread's
    kz_graph_weight *weights;
    size_t weight_count, weight_capacity;
    kz_state *states;
    size_t state_count, state_capacity;
    kz_metadata *metadata;
    size_t metadata_count, metadata_capacity;
    kz_graph_method methods[KZ_GRAPH_METHOD_LIMIT];
    size_t method_count;
    kz_bytes tokenizer, chat_template; // sections in graph memory; empty: none
    const char *template_family; // instead of the checkpoint's own; "none": none; NULL: its own
    bool has_fine_activations;   // quantised weights multiply KZ_A16, else KZ_A8
};

void kz_graph_init(kz_graph *graph, const kazeia_allocator *allocator);
// Frees all at once; what kz_graph_describe gave ends with it.
void kz_graph_clear(kz_graph *graph);
// KAZEIA_OK, or the first failure.
kazeia_status kz_graph_status(const kz_graph *graph);
// Keeps the first failure.
void kz_graph_note(kz_graph *graph, kazeia_status status);

// --- Program-wide -------------------------------------------------------------------------------
// Metadata: keys and values are copied.
void kz_graph_set_integer(kz_graph *graph, const char *key, int64_t value);
void kz_graph_set_real(kz_graph *graph, const char *key, double value);
void kz_graph_set_string(kz_graph *graph, const char *key, const char *value); // NULL: left out
void kz_graph_set_integers(kz_graph *graph, const char *key, const int64_t *values, size_t count);
void kz_graph_set_strings(kz_graph *graph, const char *key, const char *const *values,
                          size_t count);
// A name in graph memory, formatted; at most 255 bytes. "" after a failure.
const char *kz_graph_name(kz_graph *graph, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Adds a weight or a state (the structs are copied, what they point to is not); gives its number,
// by which methods name it, or KZ_NO_VALUE after a failure.
uint32_t kz_graph_add_weight(kz_graph *graph, const kz_graph_weight *weight);
uint32_t kz_graph_add_state(kz_graph *graph, const kz_state *state);
// An f32 state of [rows][columns] that is no cache: a convolution's tail, an LSTM's memory.
uint32_t kz_graph_add_tail(kz_graph *graph, const char *name, uint32_t rows, uint32_t columns);

// --- One method ---------------------------------------------------------------------------------
// NULL after a failure; the functions below take NULL and do nothing. `name` must outlive the
// graph. A method that has been given stays where it is.
kz_graph_method *kz_graph_add_method(kz_graph *graph, const char *name);
// A new symbol of the method, from 0 to `maximum` in each call, as a dimension.
kz_dim kz_method_symbol(kz_graph_method *method, const char *name, uint32_t maximum);

// The next input: [first], or [first][second] with rank 2. limit: for KZ_I32 every element is below
// it (format/program.h); ignored for f32.
uint32_t kz_method_input(kz_graph_method *method, const char *name, kz_type type, uint32_t limit,
                         uint32_t rank, kz_dim first, kz_dim second);
// The next output: f32 [rows][columns], to be written by an op's `out`.
uint32_t kz_method_output(kz_graph_method *method, const char *name, kz_dim rows, uint32_t columns);
// The value that stands for a weight or state of the graph in this method, one for each however
// often it is asked for. KZ_NO_VALUE gives KZ_NO_VALUE.
uint32_t kz_method_weight(kz_graph_method *method, uint32_t weight);
uint32_t kz_method_state(kz_graph_method *method, uint32_t state);
// Fresh f32 [rows][columns] in the arena.
uint32_t kz_method_rows(kz_graph_method *method, kz_dim rows, uint32_t columns);
// Columns [column, column + columns) of a value of two dimensions, in the same memory.
uint32_t kz_method_view(kz_graph_method *method, uint32_t value, uint32_t column, uint32_t columns);
// The first dimension and the constant second one of a value.
kz_dim kz_method_rows_of(const kz_graph_method *method, uint32_t value);
uint32_t kz_method_columns_of(const kz_graph_method *method, uint32_t value);

// Ops. Weights and states are given by their graph numbers, results are value numbers. `out`
// KZ_NO_VALUE makes fresh rows; else that value is written (in place where format/ops.def allows).
// Shapes below are [rows][columns] of f32; T is the first dimension of the op's first operand.
// format/ops.def says what each op computes. Nothing is checked here: format/check.h looks at the
// finished program, before a byte of it is written.

// tokens i32 [T], table [vocabulary][d] -> [T][d], times `scale`.
uint32_t kz_node_embed(kz_graph_method *method, uint32_t tokens, uint32_t table, float scale);
// a [T][d] + b -> [T][d]; b is a value of rows [T][d], or a table of at least T rows
// (kz_method_weight).
uint32_t kz_node_add(kz_graph_method *method, uint32_t a, uint32_t b, uint32_t out);
// x [T][d], weight [d] -> [T][d].
uint32_t kz_node_rms_norm(kz_graph_method *method, uint32_t x, uint32_t weight, float epsilon,
                          uint32_t out);
// Each head of `head_dim` columns by itself, weight [head_dim]. `out` [T][heads * head_dim] is a
// value apart from x.
void kz_node_head_rms_norm(kz_graph_method *method, uint32_t x, uint32_t weight, uint32_t head_dim,
                           float epsilon, uint32_t out);
// x [T][d], weight [d], bias [d] -> [T][d].
uint32_t kz_node_layer_norm(kz_graph_method *method, uint32_t x, uint32_t weight, uint32_t bias,
                            float epsilon, uint32_t out);

// x [T][K], weight [N][K] -> activation(x w^T + bias) + residual, [T][N].
typedef struct kz_linear_options {
    uint32_t bias;     // [N]: weight number or KZ_NO_VALUE
    uint32_t residual; // [T][N]: value or KZ_NO_VALUE; may be `out`
    uint32_t out;      // value or KZ_NO_VALUE
    kz_activation activation;
} kz_linear_options;
#define KZ_LINEAR_PLAIN \
    ((kz_linear_options){KZ_NO_VALUE, KZ_NO_VALUE, KZ_NO_VALUE, KZ_ACTIVATION_NONE})
uint32_t kz_node_linear(kz_graph_method *method, uint32_t x, uint32_t weight,
                        const kz_linear_options *options);

// Rotates the first `rotary` columns of each head of x [T][heads * head_dim] in place; positions
// i32 [T], inv_freq [rotary / 2]. Pairs are neighbours when interleaved, else half of `rotary`
// apart.
void kz_node_rope(kz_graph_method *method, uint32_t x, uint32_t positions, uint32_t inv_freq,
                  uint32_t head_dim, uint32_t rotary, bool is_interleaved);
// x [T][heads * head_dim] into the rows of `state` that table i32 [S][C] names for sequences and
// positions, i32 [T] each.
void kz_node_cache_write(kz_graph_method *method, uint32_t x, uint32_t table, uint32_t sequences,
                         uint32_t positions, uint32_t state);

// q [T][heads * head_dim] over a cache -> [T][heads * head_dim]. window 0: all earlier positions.
typedef struct kz_attention_options {
    uint32_t keys, values;                // states
    uint32_t table, sequences, positions; // inputs
    uint32_t heads, window;
    float scale;
} kz_attention_options;
uint32_t kz_node_attention(kz_graph_method *method, uint32_t q,
                           const kz_attention_options *options);
// q, k, v [T][heads * head_dim] -> alike; every token sees every token.
uint32_t kz_node_attention_full(kz_graph_method *method, uint32_t q, uint32_t k, uint32_t v,
                                uint32_t heads, float scale);
// A window over rows, as a convolution has one: `kernel` rows, `dilation` apart, moved by `stride`,
// over rows with `left` and `right` rows of zeros around them.
typedef struct kz_window {
    uint32_t kernel, stride, dilation, left, right;
} kz_window;
// x [T][C] -> [windows][kernel * C]: what such a convolution multiplies. UNSUPPORTED is noted when
// the number of windows is no dimension of the format.
uint32_t kz_node_unfold(kz_graph_method *method, uint32_t x, const kz_window *window);
// The product of such windows with a weight [N][kernel * C] -> [windows][N], without laying them
// out: UNFOLD and LINEAR in one. Where the weight may be quantised, C is a multiple of 32. The
// options' activation must be none.
uint32_t kz_node_convolve(kz_graph_method *method, uint32_t x, uint32_t weight,
                          const kz_window *window, const kz_linear_options *options);
// x [T][2 * F] = gate | up -> activation(gate) * up, [T][F].
uint32_t kz_node_gate(kz_graph_method *method, uint32_t x, kz_activation activation);
// x [T][d] -> function(x), a and b as kz_map says; `out` may be x.
uint32_t kz_node_map(kz_graph_method *method, uint32_t x, kz_map function, float a, float b,
                     uint32_t out);
// a [T][d] * b, b a value of [T][d] or [1][d] rows or a vector [d] (kz_method_weight); `out` may be
// a or b.
uint32_t kz_node_mul(kz_graph_method *method, uint32_t a, uint32_t b, uint32_t out);
// x [T][d], weights alpha and beta [d] -> x + sin(alpha * x)^2 * beta.
uint32_t kz_node_snake(kz_graph_method *method, uint32_t x, uint32_t alpha, uint32_t beta);
// x [T][d] -> [tail + T][d]: the rows that earlier calls left in `state` (kz_graph_add_tail), then
// x.
uint32_t kz_node_join_tail(kz_graph_method *method, uint32_t x, uint32_t state);
// x [T][kernel * C] -> [(T - 1) * stride + kernel - left - right][C], the sums of a transposed
// convolution whose LINEAR made x; bias [C] or KZ_NO_VALUE. The window's dilation is 1.
// UNSUPPORTED is noted when the number of rows is no dimension of the format.
uint32_t kz_node_fold(kz_graph_method *method, uint32_t x, uint32_t bias, const kz_window *window);
// x [T][C], weight [multiplier * kernel][C] in rows, bias [multiplier * C] or KZ_NO_VALUE ->
// [windows] [multiplier * C]. The window's stride is 1.
uint32_t kz_node_depthwise(kz_graph_method *method, uint32_t x, uint32_t weight, uint32_t bias,
                           const kz_window *window);
// x [S][d], index i32 input [T] -> [T][d]: row t is x[index[t]].
uint32_t kz_node_gather(kz_graph_method *method, uint32_t x, uint32_t index);

// x [T][4 * H], weight [4 * H][H] -> [T][H].
typedef struct kz_lstm_options {
    uint32_t h, c;         // states of one row of H f32, or KZ_NO_VALUE: zeros in each call
    uint32_t out;          // value or KZ_NO_VALUE
    bool is_reversed;      // from the last row to the first
    bool is_output_second; // gates input, output, forget, cell (ONNX); else input, forget, cell,
                           // output (torch)
} kz_lstm_options;
#define KZ_LSTM_PLAIN ((kz_lstm_options){KZ_NO_VALUE, KZ_NO_VALUE, KZ_NO_VALUE, false, false})
uint32_t kz_node_lstm(kz_graph_method *method, uint32_t x, uint32_t weight,
                      const kz_lstm_options *options);

// Each column of x [T][C] to mean 0 and variance 1; `out` may be x.
uint32_t kz_node_column_norm(kz_graph_method *method, uint32_t x, float epsilon, uint32_t out);
// x [T][C], gamma_beta [T][2 * C] or [1][2 * C] -> x * (1 + gamma) + beta; `out` may be x.
uint32_t kz_node_scale_shift(kz_graph_method *method, uint32_t x, uint32_t gamma_beta,
                             uint32_t out);
// x [T][C], gamma_beta [1][2 * C] -> mean | factor | offset, [1][3 * C]: (x - mean) * factor +
// offset is the scale and shift of x's columns at mean 0 and variance 1.
uint32_t kz_node_column_fit(kz_graph_method *method, uint32_t x, uint32_t gamma_beta,
                            float epsilon);
// x [T][C], fit [1][3 * C] -> (x - mean) * factor + offset, then the snake of weights alpha and
// beta [C], or, where they are KZ_NO_VALUE, what is below 0 times `slope`.
uint32_t kz_node_adapt(kz_graph_method *method, uint32_t x, uint32_t fit, uint32_t alpha,
                       uint32_t beta, float slope);
// x [T][C], weights [T][C] (a value) or KZ_NO_VALUE -> [1][2 * C]: mean and deviation of each
// column; `epsilon` is the least variance.
uint32_t kz_node_column_pool(kz_graph_method *method, uint32_t x, uint32_t weights, float epsilon);
// The softmax of each column of x [T][C] over its rows; `out` may be x.
uint32_t kz_node_column_softmax(kz_graph_method *method, uint32_t x, uint32_t out);
// x [T][d] or [1][d] into `out` [T][d], as a rule a view of a joined value.
void kz_node_copy(kz_graph_method *method, uint32_t x, uint32_t out);
// x [T][C] -> [left + T + right][C].
uint32_t kz_node_pad(kz_graph_method *method, uint32_t x, kz_pad mode, uint32_t left,
                     uint32_t right);
// x [T][2 * C] = a | b -> sqrt(a^2 + b^2 + epsilon), [T][C].
uint32_t kz_node_magnitude(kz_graph_method *method, uint32_t x, float epsilon);
// x [T][2 * C] = real | imaginary, weight rest [C] -> magnitude | phase, [T][2 * C]; where the
// magnitude is below `least` the phase is that of `rest`.
uint32_t kz_node_polar(kz_graph_method *method, uint32_t x, uint32_t rest, float least);
// x [T][1] in Hz -> sines of its first `harmonics` multiples, [T * stretch][harmonics], zeros where
// it is not above `threshold`; `rate` samples of the output are a second.
uint32_t kz_node_sines(kz_graph_method *method, uint32_t x, uint32_t stretch, uint32_t harmonics,
                       float rate, float threshold);

// --- The finished description -------------------------------------------------------------------
// Fills tensors from weights (types chosen, places not) and gathers all tables; `out_description`
// points into graph memory. Gives the graph's first failure if there was one, or OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_graph_describe(kz_graph *graph,
                                                  kz_program_description *out_description);

#endif
