// tiny_builder.c: small programs built by hand.
//
// in:  shapes, a seed
// out: a program's bytes, and its weights as floats
#include "tiny_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "format/writer.h"

static void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "tiny program: %s\n", what);
        abort();
    }
}

static void *take(size_t count, size_t bytes_each) {
    void *memory = calloc(count ? count : 1, bytes_each);
    require(memory != NULL, "no memory");
    return memory;
}

void tiny_builder_init(tiny_builder *builder, uint64_t seed) {
    *builder = (tiny_builder){.random = seed * 2 + 1};
    builder->description = (kz_program_description){
        .metadata = builder->metadata, .tensors = builder->tensors, .states = builder->states};
}

void tiny_builder_clear(tiny_builder *builder) {
    for (size_t i = 0; i < builder->description.tensor_count; i++) {
        free(builder->floats[i]);
    }
    free(builder->weights);
}

// xorshift64*: enough for weights, and the same everywhere.
float tiny_random(tiny_builder *builder) {
    builder->random ^= builder->random >> 12;
    builder->random ^= builder->random << 25;
    builder->random ^= builder->random >> 27;
    const uint32_t bits = (uint32_t)((builder->random * 2685821657736338717u) >> 40);
    return (float)bits / 8388608.0f - 1.0f;
}

// --- Weights ------------------------------------------------------------------------------------

static uint8_t *add_tensor(tiny_builder *builder, const kz_tensor *tensor, float *floats) {
    const size_t index = builder->description.tensor_count++;
    require(index < TINY_TENSORS, "too many tensors");
    builder->tensors[index] = *tensor;
    builder->floats[index] = floats;
    uint8_t *grown = realloc(builder->weights, builder->weight_bytes + tensor->bytes);
    require(grown != NULL, "no memory");
    builder->weights = grown;
    uint8_t *place = grown + builder->weight_bytes;
    builder->weight_bytes += tensor->bytes;
    return place;
}

static uint32_t last_tensor(const tiny_builder *builder) {
    return (uint32_t)builder->description.tensor_count - 1;
}

static void pack(const kz_tensor *tensor, const float *floats, uint8_t *out) {
    const size_t rows = tensor->dims[0], columns = tensor->dims[1];
    const size_t row_bytes = kz_type_row_bytes(tensor->type, columns);
    uint8_t *encoded = take(KZ_PANEL_ROWS, row_bytes);
    const size_t panel_bytes = kz_layout_panel_bytes(tensor->type, columns);
    for (size_t row = 0; row < rows; row += KZ_PANEL_ROWS) {
        const void *pointers[KZ_PANEL_ROWS] = {NULL};
        const size_t count = rows - row < KZ_PANEL_ROWS ? rows - row : KZ_PANEL_ROWS;
        for (size_t i = 0; i < count; i++) {
            uint8_t *place = encoded + i * row_bytes;
            pointers[i] = place;
            if (tensor->type == KZ_F32) {
                memcpy(place, floats + (row + i) * columns, row_bytes);
            } else {
                require(
                    kz_quant_encode_row(tensor->type, floats + (row + i) * columns, columns, place),
                    "a row cannot be encoded");
            }
        }
        kz_layout_pack_panel(tensor->type, pointers, count, columns,
                             out + row / KZ_PANEL_ROWS * panel_bytes);
    }
    free(encoded);
}

// The floats that the program's bytes stand for.
static void unpack(const kz_tensor *tensor, const uint8_t *bytes, float *out_floats) {
    const size_t columns = tensor->dims[1];
    const size_t panel_bytes = kz_layout_panel_bytes(tensor->type, columns);
    for (size_t row = 0; row < tensor->dims[0]; row++) {
        kz_layout_unpack_row(tensor->type, bytes + row / KZ_PANEL_ROWS * panel_bytes,
                             row % KZ_PANEL_ROWS, columns, out_floats + row * columns);
    }
}

uint32_t tiny_matrix(tiny_builder *builder, const char *name, kz_type type, uint32_t rows,
                     uint32_t columns, float scale) {
    kz_tensor tensor = {
        .name = name, .type = type, .layout = KZ_TILE16, .rank = 2, .dims = {rows, columns, 1, 1}};
    size_t bytes = 0;
    require(kz_layout_tensor_bytes(KZ_TILE16, type, rows, columns, &bytes) == KAZEIA_OK, "layout");
    tensor.bytes = bytes;
    float *floats = take((size_t)rows * columns, sizeof *floats);
    for (size_t i = 0; i < (size_t)rows * columns; i++) {
        floats[i] = scale * tiny_random(builder);
    }
    uint8_t *place = add_tensor(builder, &tensor, floats);
    pack(&tensor, floats, place);
    unpack(&tensor, place, floats);
    return last_tensor(builder);
}

static uint32_t add_plain(tiny_builder *builder, const char *name, uint32_t rank, uint32_t rows,
                          uint32_t columns, float *floats) {
    const kz_tensor tensor = {.name = name,
                              .type = KZ_F32,
                              .layout = KZ_ROWS,
                              .rank = rank,
                              .dims = {rows, columns, 1, 1},
                              .bytes = (uint64_t)rows * columns * sizeof(float)};
    memcpy(add_tensor(builder, &tensor, floats), floats, tensor.bytes);
    return last_tensor(builder);
}

uint32_t tiny_vector(tiny_builder *builder, const char *name, uint32_t count, float centre,
                     float scale) {
    float *floats = take(count, sizeof *floats);
    for (uint32_t i = 0; i < count; i++) {
        floats[i] = centre + scale * tiny_random(builder);
    }
    return add_plain(builder, name, 1, count, 1, floats);
}

uint32_t tiny_table(tiny_builder *builder, const char *name, uint32_t rows, uint32_t columns) {
    float *floats = take((size_t)rows * columns, sizeof *floats);
    for (size_t i = 0; i < (size_t)rows * columns; i++) {
        floats[i] = 0.5f * tiny_random(builder);
    }
    return add_plain(builder, name, 2, rows, columns, floats);
}

uint32_t tiny_constant(tiny_builder *builder, const char *name, const float *values,
                       uint32_t count) {
    float *floats = take(count, sizeof *floats);
    memcpy(floats, values, count * sizeof *floats);
    return add_plain(builder, name, 1, count, 1, floats);
}

uint32_t tiny_state(tiny_builder *builder, const char *name, kz_type type, uint32_t rows,
                    uint32_t heads, uint32_t head_dim) {
    const size_t index = builder->description.state_count++;
    require(index < TINY_STATES, "too many states");
    builder->states[index] =
        (kz_state){.name = name, .type = type, .rows = rows, .heads = heads, .head_dim = head_dim};
    return (uint32_t)index;
}

static kz_metadata *add_metadata(tiny_builder *builder, const char *key, kz_metadata_type type) {
    const size_t index = builder->description.metadata_count++;
    require(index < TINY_METADATA, "too much metadata");
    builder->metadata[index] = (kz_metadata){.key = key, .type = type};
    return &builder->metadata[index];
}

void tiny_set_integer(tiny_builder *builder, const char *key, int64_t value) {
    add_metadata(builder, key, KZ_METADATA_INTEGER)->integer = value;
}

void tiny_set_string(tiny_builder *builder, const char *key, const char *value) {
    add_metadata(builder, key, KZ_METADATA_STRING)->string = value;
}

// --- Methods ------------------------------------------------------------------------------------

tiny_method *tiny_begin_method(tiny_builder *builder, const char *name) {
    const size_t index = builder->description.method_count++;
    require(index < TINY_METHODS, "too many methods");
    tiny_method *method = &builder->methods[index];
    method->method = (kz_method){.name = name,
                                 .symbols = method->symbols,
                                 .values = method->values,
                                 .instructions = method->instructions,
                                 .inputs = method->inputs,
                                 .outputs = method->outputs};
    return method;
}

uint32_t tiny_symbol(tiny_method *method, const char *name, uint32_t maximum) {
    const uint32_t index = method->method.symbol_count++;
    require(index < KZ_SYMBOL_LIMIT, "too many symbols");
    method->symbols[index] = (kz_symbol){.name = name, .maximum = maximum};
    return index;
}

static uint32_t add_value(tiny_method *method, const kz_value *value) {
    const uint32_t index = method->method.value_count++;
    require(index < TINY_VALUES, "too many values");
    method->values[index] = *value;
    return index;
}

uint32_t tiny_input(tiny_method *method, const char *name, kz_type type, uint32_t limit,
                    uint32_t rank, kz_dim first, kz_dim second) {
    kz_value value = {
        .kind = KZ_VALUE_INPUT, .type = type, .rank = rank, .limit = limit, .name = name};
    value.dims[0] = first;
    value.dims[1] = second;
    const uint32_t index = add_value(method, &value);
    method->inputs[method->method.input_count++] = index;
    return index;
}

uint32_t tiny_output(tiny_method *method, const char *name, kz_dim rows, uint32_t columns) {
    kz_value value = {.kind = KZ_VALUE_OUTPUT, .type = KZ_F32, .rank = 2, .name = name};
    value.dims[0] = rows;
    value.dims[1] = kz_dim_constant(columns);
    const uint32_t index = add_value(method, &value);
    method->outputs[method->method.output_count++] = index;
    return index;
}

uint32_t tiny_weight_value(tiny_method *method, uint32_t tensor) {
    return add_value(method, &(kz_value){.kind = KZ_VALUE_WEIGHT, .index = tensor});
}

uint32_t tiny_state_value(tiny_method *method, uint32_t state) {
    return add_value(method, &(kz_value){.kind = KZ_VALUE_STATE, .index = state});
}

uint32_t tiny_rows(tiny_method *method, kz_type type, kz_dim rows, uint32_t columns) {
    kz_value value = {
        .kind = KZ_VALUE_ARENA, .type = type, .rank = 2, .offset = method->method.arena_bytes};
    value.dims[0] = rows;
    value.dims[1] = kz_dim_constant(columns);
    uint32_t maxima[KZ_SYMBOL_LIMIT] = {0};
    for (uint32_t i = 0; i < method->method.symbol_count; i++) {
        maxima[i] = method->symbols[i].maximum;
    }
    const uint64_t bytes = kz_value_bytes(&value, maxima, method->method.symbol_count);
    method->method.arena_bytes += (bytes + KZ_ALIGNMENT - 1) / KZ_ALIGNMENT * KZ_ALIGNMENT;
    return add_value(method, &value);
}

uint32_t tiny_view(tiny_method *method, uint32_t parent, uint32_t column, uint32_t columns) {
    kz_value value = {
        .kind = KZ_VALUE_VIEW, .type = KZ_F32, .rank = 2, .index = parent, .column = column};
    value.dims[0] = method->values[parent].dims[0];
    value.dims[1] = kz_dim_constant(columns);
    return add_value(method, &value);
}

kz_instruction *tiny_add(tiny_method *method, kz_op op, const uint32_t *operands, uint32_t count) {
    const uint32_t index = method->method.instruction_count++;
    require(index < TINY_INSTRUCTIONS, "too many instructions");
    kz_instruction *instruction = &method->instructions[index];
    instruction->op = op;
    for (uint32_t i = 0; i < KZ_OPERAND_LIMIT; i++) {
        instruction->operands[i] = i < count ? operands[i] : KZ_NO_VALUE;
    }
    return instruction;
}

kazeia_status tiny_write(tiny_builder *builder, uint8_t **out_bytes, size_t *out_count) {
    kz_method methods[TINY_METHODS];
    for (size_t i = 0; i < builder->description.method_count; i++) {
        methods[i] = builder->methods[i].method;
    }
    builder->description.methods = methods;
    const kazeia_status status = kz_program_write_memory(&builder->description, builder->weights,
                                                         NULL, out_bytes, out_count);
    builder->description.methods = NULL;
    return status;
}
