// program.c: dimensions, sizes and look-ups of a program's description.
//
// in:  structs of program.h
// out: numbers and pointers into the same structs
// Arithmetic is safe for every value that a file can hold: what does not fit becomes UINT64_MAX, so
// that a caller compares once, at the end.
#include "format/program.h"

#include <string.h>

// Far above any extent; a term of it times bytes of an element stays within 63 bits.
#define DIM_LIMIT ((int64_t)1 << 40)
#define TERM_LIMIT ((int64_t)1 << 60)

static const kz_op_shape op_shapes[] = {
#define KZ_OP(name, number, text, operands, ints, floats) \
    {KZ_OP_##name, text, operands, ints, floats},
#include "format/ops.def"
#undef KZ_OP
};

#define OP_COUNT (sizeof op_shapes / sizeof op_shapes[0])

const kz_op_shape *kz_op_find(uint32_t number) {
    // Some thirty ops: a search costs nothing beside an instruction, and numbers may have gaps.
    for (size_t i = 0; i < OP_COUNT; i++) {
        if ((uint32_t)op_shapes[i].op == number) {
            return &op_shapes[i];
        }
    }
    return NULL;
}

const char *kz_op_name(kz_op op) {
    const kz_op_shape *shape = kz_op_find((uint32_t)op);
    return shape != NULL ? shape->name : "unknown";
}

const char *kz_activation_name(kz_activation activation) {
    static const char *const names[KZ_ACTIVATION_COUNT] = {"none", "gelu", "gelu_tanh", "silu"};
    return (uint32_t)activation < KZ_ACTIVATION_COUNT ? names[activation] : "unknown";
}

// --- Dimensions ---------------------------------------------------------------------------------

uint64_t kz_dim_value(const kz_dim *dim, const uint32_t *symbols, uint32_t symbol_count) {
    int64_t sum = dim->offset;
    for (uint32_t i = 0; i < KZ_SYMBOL_LIMIT && i < symbol_count; i++) {
        const int64_t term = (int64_t)dim->scale[i] * (int64_t)symbols[i];
        // Four terms of 2^60 and an offset fit 63 bits.
        if (term > TERM_LIMIT || term < -TERM_LIMIT) {
            return UINT64_MAX;
        }
        sum += term;
    }
    const int64_t divisor = dim->divisor;
    // ceil of anything above -1 is 0 or more: only a quotient of -1 and below is no extent.
    if (divisor == 0 || sum <= -divisor) {
        return UINT64_MAX;
    }
    // C's division truncates: the ceiling of a positive quotient is written without overflow.
    const int64_t value = sum <= 0 ? 0 : (sum - 1) / divisor + 1;
    return value > DIM_LIMIT ? UINT64_MAX : (uint64_t)value;
}

kz_dim kz_dim_constant(uint32_t value) {
    // Offsets are signed: a larger constant is written as a negative offset would be, so it is
    // refused by every check instead of wrapping.
    return (kz_dim){.offset = value > INT32_MAX ? INT32_MIN : (int32_t)value, .divisor = 1};
}

kz_dim kz_dim_symbol(uint32_t symbol) {
    kz_dim dim = {.divisor = 1};
    if (symbol < KZ_SYMBOL_LIMIT) {
        dim.scale[symbol] = 1;
    } else {
        dim.divisor = 0; // no such symbol: a dimension without value
    }
    return dim;
}

static uint32_t common_divisor(uint32_t a, uint32_t b) {
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t magnitude(int32_t value) {
    return value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
}

static int64_t ceiling(int64_t value, int64_t divisor) {
    return value / divisor + (value % divisor > 0);
}

// ceil((g * n + b) / (g * c)) = ceil((n + ceil(b / g)) / c) for whole n. A dimension without value
// (divisor 0) stays as it is.
static kz_dim lowest_terms(const kz_dim *dim) {
    kz_dim lowest = *dim;
    uint32_t common = dim->divisor;
    for (uint32_t i = 0; i < KZ_SYMBOL_LIMIT && common > 1; i++) {
        common = common_divisor(common, magnitude(dim->scale[i]));
    }
    // A divisor over INT32_MAX is none that an exporter makes: it is compared as it stands.
    if (common <= 1 || common > INT32_MAX) {
        return lowest;
    }
    for (uint32_t i = 0; i < KZ_SYMBOL_LIMIT; i++) {
        lowest.scale[i] /= (int32_t)common;
    }
    lowest.offset = (int32_t)ceiling(dim->offset, common);
    lowest.divisor /= common;
    return lowest;
}

// Expressions, not values: two that differ may still be equal for all symbols, and are then
// refused. Exporters derive both from one.
bool kz_dim_equal(const kz_dim *a, const kz_dim *b) {
    const kz_dim first = lowest_terms(a);
    const kz_dim second = lowest_terms(b);
    return memcmp(first.scale, second.scale, sizeof first.scale) == 0 &&
           first.offset == second.offset && first.divisor == second.divisor;
}

bool kz_dim_is_constant(const kz_dim *dim, uint32_t *out_value) {
    static const int32_t no_symbols[KZ_SYMBOL_LIMIT]; // zeros
    if (memcmp(dim->scale, no_symbols, sizeof no_symbols) != 0) {
        return false;
    }
    const uint64_t value = kz_dim_value(dim, NULL, 0);
    *out_value = value <= INT32_MAX ? (uint32_t)value : 0;
    return value <= INT32_MAX;
}

// ceil((ceil(n / d) + a) / s) = ceil((n + a * d) / (d * s)) for whole a.
bool kz_dim_window(const kz_dim *dim, int32_t added, uint32_t stride, kz_dim *out_dim) {
    // In 64 bits, then compared: both factors are 32-bit numbers of a file.
    const uint64_t divisor = (uint64_t)dim->divisor * stride;
    if (dim->divisor == 0 || stride == 0 || divisor > INT32_MAX) {
        return false;
    }
    const int64_t offset = (int64_t)added * (int64_t)dim->divisor + dim->offset;
    if (offset > INT32_MAX || offset < INT32_MIN) {
        return false;
    }
    kz_dim window = *dim;
    window.offset = (int32_t)offset;
    window.divisor = (uint32_t)divisor;
    *out_dim = lowest_terms(&window);
    return true;
}

bool kz_dim_stretch(const kz_dim *dim, uint32_t factor, int32_t added, kz_dim *out_dim) {
    kz_dim stretched = lowest_terms(dim);
    const int64_t offset = (int64_t)stretched.offset * factor + added;
    if (stretched.divisor != 1 || factor > INT32_MAX || offset > INT32_MAX || offset < INT32_MIN) {
        return false;
    }
    for (uint32_t i = 0; i < KZ_SYMBOL_LIMIT; i++) {
        const int64_t scale = (int64_t)stretched.scale[i] * factor;
        if (scale > INT32_MAX || scale < INT32_MIN) {
            return false;
        }
        stretched.scale[i] = (int32_t)scale;
    }
    stretched.offset = (int32_t)offset;
    *out_dim = stretched;
    return true;
}

bool kz_dim_range(const kz_dim *dim, const kz_symbol *symbols, uint32_t symbol_count,
                  uint64_t *out_least, uint64_t *out_greatest) {
    uint32_t at_least[KZ_SYMBOL_LIMIT] = {0};
    uint32_t at_greatest[KZ_SYMBOL_LIMIT] = {0};
    for (uint32_t i = 0; i < KZ_SYMBOL_LIMIT; i++) {
        // A dimension may not depend on a symbol that the method does not have.
        if (i >= symbol_count) {
            if (dim->scale[i] != 0) {
                return false;
            }
        } else if (dim->scale[i] < 0) {
            at_least[i] = symbols[i].maximum;
        } else {
            at_greatest[i] = symbols[i].maximum;
        }
    }
    const uint32_t count = symbol_count < KZ_SYMBOL_LIMIT ? symbol_count : KZ_SYMBOL_LIMIT;
    *out_least = kz_dim_value(dim, at_least, count);
    *out_greatest = kz_dim_value(dim, at_greatest, count);
    return *out_least != UINT64_MAX && *out_greatest != UINT64_MAX;
}

// --- Sizes --------------------------------------------------------------------------------------

static size_t multiply_or_max(size_t a, size_t b) {
    return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

size_t kz_state_head_bytes(const kz_state *state) {
    if (state->type == KZ_I8) {
        // A scale, then its integers (kz_state).
        return sizeof(float) + (size_t)state->head_dim;
    }
    return multiply_or_max(kz_type_block_bytes(state->type), state->head_dim);
}

size_t kz_state_row_bytes(const kz_state *state) {
    return multiply_or_max(kz_state_head_bytes(state), state->heads);
}

uint64_t kz_state_bytes(const kz_state *state) {
    const uint64_t row_bytes = kz_state_row_bytes(state);
    return state->rows != 0 && row_bytes > UINT64_MAX / state->rows ? UINT64_MAX
                                                                    : row_bytes * state->rows;
}

uint64_t kz_value_row_bytes(kz_type type, uint64_t columns) {
    if (columns > (uint64_t)DIM_LIMIT || !kz_type_is_known(type)) {
        return UINT64_MAX;
    }
    return kz_type_row_bytes(type, (size_t)columns);
}

uint64_t kz_value_bytes(const kz_value *value, const uint32_t *symbols, uint32_t symbol_count) {
    if (value->rank != 1 && value->rank != 2) {
        return UINT64_MAX;
    }
    const uint64_t columns = kz_dim_value(&value->dims[value->rank - 1], symbols, symbol_count);
    const uint64_t rows =
        value->rank == 1 ? 1 : kz_dim_value(&value->dims[0], symbols, symbol_count);
    const uint64_t row_bytes = kz_value_row_bytes(value->type, columns);
    if (rows == UINT64_MAX || row_bytes == UINT64_MAX ||
        (rows != 0 && row_bytes > UINT64_MAX / rows)) {
        return UINT64_MAX;
    }
    return rows * row_bytes;
}

// --- Look-ups -----------------------------------------------------------------------------------

const kz_metadata *kz_metadata_find(const kz_program_description *description, const char *key) {
    for (size_t i = 0; i < description->metadata_count; i++) {
        if (strcmp(description->metadata[i].key, key) == 0) {
            return &description->metadata[i];
        }
    }
    return NULL;
}

const kz_method *kz_method_find(const kz_program_description *description, const char *name) {
    for (size_t i = 0; i < description->method_count; i++) {
        if (strcmp(description->methods[i].name, name) == 0) {
            return &description->methods[i];
        }
    }
    return NULL;
}

// Operands of an instruction that index a row table: its table, and which of them are rows of the
// table and which are columns. False for ops without a table.
static bool table_operands(kz_op op, uint32_t *out_table) {
    if (op == KZ_OP_CACHE_WRITE) {
        *out_table = 1;
        return true;
    }
    if (op == KZ_OP_ATTENTION) {
        *out_table = 3;
        return true;
    }
    return false;
}

// The least of `limit` and the rows that a GATHER picks from by `input`.
static uint64_t gather_limit(const kz_method *method, const kz_instruction *instruction,
                             uint32_t input, const uint32_t *symbols, uint64_t limit) {
    if (instruction->op != KZ_OP_GATHER || instruction->operands[1] != input) {
        return limit;
    }
    const kz_value *x = &method->values[instruction->operands[0]];
    const uint64_t rows = kz_dim_value(&x->dims[0], symbols, method->symbol_count);
    return rows < limit ? rows : limit;
}

uint64_t kz_input_limit(const kz_method *method, uint32_t input, const uint32_t *symbols) {
    // The file's limit holds for the largest table; this call's may be smaller.
    uint64_t limit = method->values[input].limit;
    for (uint32_t i = 0; i < method->instruction_count; i++) {
        const kz_instruction *instruction = &method->instructions[i];
        uint32_t table;
        limit = gather_limit(method, instruction, input, symbols, limit);
        if (!table_operands(instruction->op, &table)) {
            continue;
        }
        // The sequences stand after the table, the positions after the sequences.
        const kz_value *rows = &method->values[instruction->operands[table]];
        for (uint32_t d = 0; d < 2; d++) {
            const uint64_t extent = kz_dim_value(&rows->dims[d], symbols, method->symbol_count);
            if (instruction->operands[table + 1 + d] == input && extent < limit) {
                limit = extent;
            }
        }
    }
    return limit;
}
