// tiny_builder.h: small programs built by hand, whose weights the test knows as plain floats.
//
// A builder keeps, for each weight, the floats that the program's bytes decode to, so that a
// reference computed from them differs from the runtime by its arithmetic alone. Helpers end the
// test program when memory is missing or a limit is passed.
#ifndef KZ_TEST_RUNTIME_TINY_BUILDER_H
#define KZ_TEST_RUNTIME_TINY_BUILDER_H

#include "format/program.h"

#define TINY_TENSORS 64
#define TINY_STATES 16
#define TINY_METHODS 4
#define TINY_VALUES 160
#define TINY_INSTRUCTIONS 96
#define TINY_METADATA 16

typedef struct tiny_method {
    kz_symbol symbols[KZ_SYMBOL_LIMIT];
    kz_value values[TINY_VALUES];
    kz_instruction instructions[TINY_INSTRUCTIONS];
    uint32_t inputs[8], outputs[2];
    kz_method method;
} tiny_method;

typedef struct tiny_builder {
    kz_tensor tensors[TINY_TENSORS];
    float *floats[TINY_TENSORS]; // [rows][columns] of each tensor
    kz_state states[TINY_STATES];
    kz_metadata metadata[TINY_METADATA];
    tiny_method methods[TINY_METHODS];
    kz_program_description description;
    uint8_t *weights; // tensors' bytes one after the other
    size_t weight_bytes;
    uint64_t random;
} tiny_builder;

void tiny_builder_init(tiny_builder *builder, uint64_t seed);
void tiny_builder_clear(tiny_builder *builder);

// A number in [-1, 1) from a fixed sequence.
float tiny_random(tiny_builder *builder);

// Weights. `scale` bounds the values' magnitude; `centre` is added. Names must stay.
uint32_t tiny_matrix(tiny_builder *builder, const char *name, kz_type type, uint32_t rows,
                     uint32_t columns, float scale);
uint32_t tiny_vector(tiny_builder *builder, const char *name, uint32_t count, float centre,
                     float scale);
uint32_t tiny_table(tiny_builder *builder, const char *name, uint32_t rows, uint32_t columns);
// A vector with given values.
uint32_t tiny_constant(tiny_builder *builder, const char *name, const float *values,
                       uint32_t count);
uint32_t tiny_state(tiny_builder *builder, const char *name, kz_type type, uint32_t rows,
                    uint32_t heads, uint32_t head_dim);
void tiny_set_integer(tiny_builder *builder, const char *key, int64_t value);
void tiny_set_string(tiny_builder *builder, const char *key, const char *value);

tiny_method *tiny_begin_method(tiny_builder *builder, const char *name);
uint32_t tiny_symbol(tiny_method *method, const char *name, uint32_t maximum);
uint32_t tiny_input(tiny_method *method, const char *name, kz_type type, uint32_t limit,
                    uint32_t rank, kz_dim first, kz_dim second);
uint32_t tiny_output(tiny_method *method, const char *name, kz_dim rows, uint32_t columns);
uint32_t tiny_weight_value(tiny_method *method, uint32_t tensor);
uint32_t tiny_state_value(tiny_method *method, uint32_t state);
// Rows in the arena; each value has a place of its own.
uint32_t tiny_rows(tiny_method *method, kz_type type, kz_dim rows, uint32_t columns);
uint32_t tiny_view(tiny_method *method, uint32_t parent, uint32_t column, uint32_t columns);
// Adds an instruction; set ints and floats in what is returned.
kz_instruction *tiny_add(tiny_method *method, kz_op op, const uint32_t *operands, uint32_t count);

// Writes the program's bytes; free with kz_free_aligned(NULL's allocator). The status of the check
// is passed up, so that a test may expect a refusal.
kazeia_status tiny_write(tiny_builder *builder, uint8_t **out_bytes, size_t *out_count);

#endif
