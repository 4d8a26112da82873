// program.h: the program file's content as plain structs: what the exporter writes and the runtime
// runs. docs/format.md has the bytes.
//
// The description is filled by the exporter (then written) or by the reader (then checked). All
// pointers of a description that was read belong to the reader's object; names are NUL-terminated.
#ifndef KZ_FORMAT_PROGRAM_H
#define KZ_FORMAT_PROGRAM_H

#include "format/layout.h"

#define KZ_FORMAT_VERSION 3u
#define KZ_SYMBOL_LIMIT 4u // symbols of one method
#define KZ_RANK_LIMIT 4u
#define KZ_OPERAND_LIMIT 8u
#define KZ_INT_LIMIT 6u
#define KZ_FLOAT_LIMIT 2u
#define KZ_ROTATION_LIMIT 4u      // distinct inv_freq tensors of one program
#define KZ_COLUMN_LIMIT 65536u    // columns of a KZ_A8 value
#define KZ_HEAD_DIM_LIMIT 1024    // elements of one attention head
#define KZ_HEAD_GROUP_LIMIT 1024u // query heads that share one key and value head
#define KZ_HARMONIC_LIMIT 32      // of SINES
#define KZ_LSTM_LIMIT 1024u       // hidden elements of an LSTM
#define KZ_KERNEL_LIMIT 65536     // kernel, stride, dilation and padding of windows over rows
#define KZ_NO_VALUE 0xffffffffu   // an absent operand
#define KZ_PAGE 4096u             // weight contexts start at multiples of this
#define KZ_ALIGNMENT 64u          // tensors, arena values and states start at multiples of this

// The op set; what each computes and takes is in ops.def.
typedef enum kz_op {
#define KZ_OP(name, number, text, operands, ints, floats) KZ_OP_##name = number,
#include "format/ops.def"
#undef KZ_OP
} kz_op;

// Numbers stand in program files. GELU is that of Hendrycks and Gimpel, "Gaussian Error Linear
// Units", 2016, in both its forms.
typedef enum kz_activation {
    KZ_ACTIVATION_NONE = 0,
    KZ_ACTIVATION_GELU = 1,      // exact: x * (1 + erf(x / sqrt 2)) / 2
    KZ_ACTIVATION_GELU_TANH = 2, // the tanh approximation
    KZ_ACTIVATION_SILU = 3,      // x / (1 + e^-x)
    KZ_ACTIVATION_COUNT
} kz_activation;

// As "gelu_tanh"; a constant string.
const char *kz_activation_name(kz_activation activation);

// What MAP applies to each element; a and b are its two floats. Numbers stand in program files.
typedef enum kz_map {
    KZ_MAP_RELU = 1,
    KZ_MAP_LEAKY_RELU = 2, // x below 0: a * x
    KZ_MAP_SIGMOID = 3,
    KZ_MAP_TANH = 4,
    KZ_MAP_ELU = 5, // x below 0: a * (e^x - 1)
    KZ_MAP_EXP = 6,
    KZ_MAP_SIN = 7,
    KZ_MAP_COS = 8,
    KZ_MAP_CLAMP = 9,  // within [a, b]
    KZ_MAP_LOG = 10,   // log(max(x, a)), a > 0
    KZ_MAP_SQRT = 11,  // sqrt(x + a)
    KZ_MAP_SCALE = 12, // a * x + b
    KZ_MAP_COUNT
} kz_map;

// What PAD puts around rows. Numbers stand in program files.
typedef enum kz_pad {
    KZ_PAD_ZERO = 0,
    KZ_PAD_REFLECT = 1, // mirrored at the first and last row, which are not repeated
    KZ_PAD_REPLICATE = 2,
    KZ_PAD_COUNT
} kz_pad;

// --- Metadata -----------------------------------------------------------------------------------
// Which of a metadata entry's members counts. Numbers stand in program files.
typedef enum kz_metadata_type {
    KZ_METADATA_INTEGER = 1,
    KZ_METADATA_REAL = 2,
    KZ_METADATA_BOOL = 3,
    KZ_METADATA_STRING = 4,
    KZ_METADATA_INTEGERS = 5,
    KZ_METADATA_STRINGS = 6,
} kz_metadata_type;

// One key and its value; keys are unique. docs/abilities.md says what a stage looks for.
typedef struct kz_metadata {
    const char *key; // dotted words, as "model.context_length"
    kz_metadata_type type;
    int64_t integer;            // INTEGER, BOOL
    double real;                // REAL
    const char *string;         // STRING
    const int64_t *integers;    // INTEGERS [count]
    const char *const *strings; // STRINGS [count]
    size_t count;
} kz_metadata;

// --- Tensors, weight contexts, states -----------------------------------------------------------
// A tensor of weights, in the tiles or rows that kernels read (format/layout.h).
typedef struct kz_tensor {
    const char *name;
    kz_type type;
    kz_layout layout;
    uint32_t context;             // weight context it lies in
    uint32_t rank;                // 1 or 2 for KZ_TILE16 (2) and up to 4 for KZ_ROWS
    uint64_t dims[KZ_RANK_LIMIT]; // outermost first; unused ones are 1
    uint64_t offset;              // within the context
    uint64_t bytes;
} kz_tensor;

// A region of weights that is mapped and paid for as one: all of them, or one shard.
typedef struct kz_weight_context {
    const char *file_name; // sibling in the program's folder; NULL: inside the program file
    uint64_t offset;       // in that file
    uint64_t bytes;
    uint64_t checksum; // XXH3-64 of the bytes
} kz_weight_context;

// Memory that a session owns and that lives across calls: [rows][heads][head_dim]. I8 rows hold for
// each head one f32 scale followed by head_dim integers.
typedef struct kz_state {
    const char *name; // as "key.0"
    kz_type type;     // F32, F16 or I8
    uint64_t rows;
    uint32_t heads;
    uint32_t head_dim;
} kz_state;

// Bytes of one head in one row, of one row, and of all rows; the largest number of their type when
// they overflow.
size_t kz_state_head_bytes(const kz_state *state);
size_t kz_state_row_bytes(const kz_state *state);
uint64_t kz_state_bytes(const kz_state *state);

// --- Methods ------------------------------------------------------------------------------------
// ceil((sum of scale[i] * symbol[i] + offset) / divisor); divisor >= 1.
typedef struct kz_dim {
    int32_t scale[KZ_SYMBOL_LIMIT];
    int32_t offset;
    uint32_t divisor;
} kz_dim;

// A number that each call of a method binds, from 0 to its maximum: tokens, frames, sequences.
typedef struct kz_symbol {
    const char *name; // as "tokens"
    uint32_t maximum; // largest value a call may bind
} kz_symbol;

// Where a value's bytes are. Numbers stand in program files.
typedef enum kz_value_kind {
    KZ_VALUE_ARENA = 1,  // in the arena, at `offset`
    KZ_VALUE_INPUT = 2,  // the caller's memory, read
    KZ_VALUE_OUTPUT = 3, // the caller's memory, written
    KZ_VALUE_WEIGHT = 4, // tensor `index`
    KZ_VALUE_STATE = 5,  // state `index`
    KZ_VALUE_VIEW = 6,   // columns [column, column + dims[last]) of the 2-dimensional value `index`
} kz_value_kind;

// What instructions read and write: a piece of memory with a type and a shape over the symbols.
typedef struct kz_value {
    kz_value_kind kind;
    kz_type type;
    uint32_t rank; // 1 or 2 for what is no weight or state (theirs is 0: see the table)
    kz_dim dims[KZ_RANK_LIMIT];
    uint32_t index;   // tensor, state or parent value
    uint32_t column;  // views
    uint64_t offset;  // arena values: place of the first byte
    uint32_t limit;   // I32 inputs: every element is >= 0 and < limit; checked at each call
    const char *name; // inputs and outputs
} kz_value;

// One op with its operands and attributes, in the order of ops.def.
typedef struct kz_instruction {
    kz_op op;
    uint32_t operands[KZ_OPERAND_LIMIT]; // values of the method, or KZ_NO_VALUE
    int32_t ints[KZ_INT_LIMIT];
    float floats[KZ_FLOAT_LIMIT];
} kz_instruction;

// A list of instructions that runs from first to last, without branches, and its plan of the arena.
typedef struct kz_method {
    const char *name; // as "prefill_forward"
    const kz_symbol *symbols;
    uint32_t symbol_count;
    const kz_value *values;
    uint32_t value_count;
    const uint32_t *inputs; // values, in the order in which a caller binds them
    uint32_t input_count;
    const uint32_t *outputs;
    uint32_t output_count;
    const kz_instruction *instructions;
    uint32_t instruction_count;
    uint64_t arena_bytes; // at the symbols' maxima
} kz_method;

// Bytes that belong to somebody else.
typedef struct kz_bytes {
    const uint8_t *bytes;
    size_t count;
} kz_bytes;

// A whole program but its weights' bytes. Counts stand behind their arrays; empty arrays may be
// NULL.
typedef struct kz_program_description {
    const kz_metadata *metadata;
    size_t metadata_count;
    const kz_tensor *tensors;
    size_t tensor_count;
    const kz_weight_context *contexts;
    size_t context_count;
    const kz_state *states;
    size_t state_count;
    const kz_method *methods;
    size_t method_count;
    kz_bytes tokenizer;     // empty when the program has none (format/tokenizer.h)
    kz_bytes chat_template; // likewise (format/chat_template.h)
} kz_program_description;

// The value of a dimension for given symbol values (missing ones are 0). Negative results and
// results over 2^40 give UINT64_MAX.
uint64_t kz_dim_value(const kz_dim *dim, const uint32_t *symbols, uint32_t symbol_count);
// `value` <= INT32_MAX; a larger one gives a dimension that has no value.
kz_dim kz_dim_constant(uint32_t value);
kz_dim kz_dim_symbol(uint32_t symbol); // `symbol` < KZ_SYMBOL_LIMIT, else likewise
// Equal as expressions in lowest terms: same coefficients, offset and divisor once what divides all
// coefficients and the divisor is taken out, ceil((4 * S + 3) / 2) = 2 * S + 2.
bool kz_dim_equal(const kz_dim *a, const kz_dim *b);
// True, and *out_value set, when no symbol takes part and the value fits an int32.
bool kz_dim_is_constant(const kz_dim *dim, uint32_t *out_value);
// ceil((dim + added) / stride) as one dimension in lowest terms: the rows that a window moved by
// `stride` gives, with added = left + right - dilation * (kernel - 1) (op UNFOLD). False when its
// numbers do not fit.
bool kz_dim_window(const kz_dim *dim, int32_t added, uint32_t stride, kz_dim *out_dim);
// factor * dim + added: the rows of a transposed convolution (op FOLD). False when its numbers do
// not fit or `dim` keeps a divisor in lowest terms: such a product is no dimension.
bool kz_dim_stretch(const kz_dim *dim, uint32_t factor, int32_t added, kz_dim *out_dim);
// Least and greatest value over all symbol values from 0 to their maxima (a dimension rises or
// falls with each symbol, so these lie at corners). False when some value is negative or over 2^40,
// or a symbol that the method lacks takes part.
bool kz_dim_range(const kz_dim *dim, const kz_symbol *symbols, uint32_t symbol_count,
                  uint64_t *out_least, uint64_t *out_greatest);

// Bytes from one row of a 2-dimensional value to the next (A8 rows are padded, see quant.h), and
// the bytes of the whole value, for given symbols (a view's as if it stood alone). UINT64_MAX when
// it overflows, and for weights and states, which have no dimensions of their own.
uint64_t kz_value_row_bytes(kz_type type, uint64_t columns);
uint64_t kz_value_bytes(const kz_value *value, const uint32_t *symbols, uint32_t symbol_count);

// What ops.def says of an op.
typedef struct kz_op_shape {
    kz_op op;
    const char *name;
    uint32_t operand_count;
    uint32_t int_count;
    uint32_t float_count;
} kz_op_shape;
// NULL when the number is no op.
const kz_op_shape *kz_op_find(uint32_t number);
// Which of its operands an op writes; KZ_NO_VALUE for one that writes states only.
uint32_t kz_op_written_operand(kz_op op);
// As "linear"; a constant string, for any number.
const char *kz_op_name(kz_op op);

// By name; NULL when there is none. Linear in the table's length: ask at creation, not while
// running.
const kz_metadata *kz_metadata_find(const kz_program_description *description, const char *key);
const kz_method *kz_method_find(const kz_program_description *description, const char *name);

// What each element of the I32 input `input` (a value) must stay below in a call with these symbol
// values: its limit or, where it indexes a row table or the rows of a GATHER that a symbol makes
// fewer, their number. `symbols` has method->symbol_count values; the method was checked.
uint64_t kz_input_limit(const kz_method *method, uint32_t input, const uint32_t *symbols);

#endif
