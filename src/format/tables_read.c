// tables_read.c: the bytes of sections -> the description's tables.
//
// in:  section bytes whose checksum was right, but which may still hold anything
// out: arrays and strings; what their numbers mean is checked afterwards (format/check.h)
// A count is refused before memory is taken for it when the section cannot hold that many records.
#include "format/tables.h"

// Smallest records in the file, for kz_take_count.
#define STRING_BYTES 5
#define METADATA_BYTES (STRING_BYTES + 12)
#define TENSOR_BYTES (STRING_BYTES + 4 * 4 + KZ_RANK_LIMIT * 8 + 16)
#define CONTEXT_BYTES (STRING_BYTES + 24)
#define STATE_BYTES (STRING_BYTES + 28)
#define DIM_BYTES (KZ_SYMBOL_LIMIT * 4 + 8)
#define VALUE_BYTES (6 * 4 + 8 + 2 * DIM_BYTES + STRING_BYTES)
#define INSTRUCTION_BYTES (4 + KZ_OPERAND_LIMIT * 4 + KZ_INT_LIMIT * 4 + KZ_FLOAT_LIMIT * 4)
#define SYMBOL_BYTES (STRING_BYTES + 4)
#define METHOD_BYTES (STRING_BYTES + 8 + 5 * 4)

// Reads a count and takes an array for it; NULL and count 0 after a failure.
static void *take_array(kz_byte_reader *reader, kz_chunks *chunks, size_t file_bytes_each,
                        size_t bytes_each, const char *elements, uint32_t *out_count) {
    void *array = NULL;
    const uint32_t count = kz_take_count(reader, file_bytes_each, elements);
    // Chunks come as zeros: what a failed read leaves behind is a table of absent things.
    if (reader->status == KAZEIA_OK) {
        reader->status = kz_chunks_take(chunks, count, bytes_each, elements, &array);
    }
    *out_count = reader->status == KAZEIA_OK ? count : 0;
    return array;
}

// --- Metadata -----------------------------------------------------------------------------------

static void take_strings(kz_byte_reader *reader, kz_chunks *chunks, kz_metadata *entry) {
    uint32_t count;
    const char **strings = take_array(reader, chunks, STRING_BYTES, sizeof *strings,
                                      "strings of a metadata list", &count);
    for (uint32_t i = 0; i < count; i++) {
        // After a failure it gives "": loops need no test of their own and are as long as the
        // section allows.
        strings[i] = kz_take_string(reader);
    }
    entry->strings = strings;
    entry->count = count;
}

static void take_integers(kz_byte_reader *reader, kz_chunks *chunks, kz_metadata *entry) {
    uint32_t count;
    int64_t *integers =
        take_array(reader, chunks, 8, sizeof *integers, "integers of a metadata list", &count);
    for (uint32_t i = 0; i < count; i++) {
        integers[i] = (int64_t)kz_take_u64(reader);
    }
    entry->integers = integers;
    entry->count = count;
}

static void take_scalar(kz_byte_reader *reader, kz_metadata *entry) {
    // 5 bytes are the least a value of any scalar type takes.
    const uint32_t count = kz_take_count(reader, STRING_BYTES, "values of a metadata entry");
    if (reader->status == KAZEIA_OK && count != 1) {
        reader->status = kz_fail(KAZEIA_BAD_FILE, "%s: '%s' has %u values, 1 expected",
                                 reader->what, entry->key, count);
    }
    switch (entry->type) {
    case KZ_METADATA_REAL:
        entry->real = kz_take_f64(reader);
        return;
    case KZ_METADATA_STRING:
        entry->string = kz_take_string(reader);
        return;
    default:
        entry->integer = (int64_t)kz_take_u64(reader);
        return;
    }
}

static void take_metadata(kz_byte_reader *reader, kz_chunks *chunks, kz_metadata *entry) {
    entry->key = kz_take_string(reader);
    const uint32_t type = kz_take_u32(reader);
    const uint32_t reserved = kz_take_u32(reader);
    if (reader->status != KAZEIA_OK) {
        return;
    }
    // Before the cast: the value's layout depends on the type.
    if (type < KZ_METADATA_INTEGER || type > KZ_METADATA_STRINGS || reserved != 0) {
        reader->status = kz_fail(KAZEIA_BAD_FILE,
                                 "%s: '%s' has type %u and %u after it, types %d to %d and 0 "
                                 "expected",
                                 reader->what, entry->key, type, reserved, KZ_METADATA_INTEGER,
                                 KZ_METADATA_STRINGS);
        return;
    }
    entry->type = (kz_metadata_type)type;
    if (entry->type == KZ_METADATA_STRINGS) {
        take_strings(reader, chunks, entry);
    } else if (entry->type == KZ_METADATA_INTEGERS) {
        take_integers(reader, chunks, entry);
    } else {
        take_scalar(reader, entry);
    }
}

kazeia_status kz_decode_metadata(kz_byte_reader *reader, kz_chunks *chunks,
                                 kz_program_description *description) {
    uint32_t count;
    kz_metadata *metadata =
        take_array(reader, chunks, METADATA_BYTES, sizeof *metadata, "metadata entries", &count);
    for (uint32_t i = 0; i < count && reader->status == KAZEIA_OK; i++) {
        take_metadata(reader, chunks, &metadata[i]);
    }
    description->metadata = metadata;
    description->metadata_count = count;
    return kz_take_end(reader);
}

// --- Tensors, contexts, states ------------------------------------------------------------------

kazeia_status kz_decode_tensors(kz_byte_reader *reader, kz_chunks *chunks,
                                kz_program_description *description) {
    uint32_t count;
    kz_tensor *tensors =
        take_array(reader, chunks, TENSOR_BYTES, sizeof *tensors, "tensors", &count);
    for (uint32_t i = 0; i < count; i++) {
        kz_tensor *tensor = &tensors[i];
        tensor->name = kz_take_string(reader);
        // Any number may stand here; check_tables.c compares it with those that are known.
        tensor->type = (kz_type)kz_take_u32(reader);
        tensor->layout = (kz_layout)kz_take_u32(reader);
        tensor->context = kz_take_u32(reader);
        tensor->rank = kz_take_u32(reader);
        for (unsigned d = 0; d < KZ_RANK_LIMIT; d++) {
            tensor->dims[d] = kz_take_u64(reader);
        }
        tensor->offset = kz_take_u64(reader);
        tensor->bytes = kz_take_u64(reader);
    }
    description->tensors = tensors;
    description->tensor_count = count;
    return kz_take_end(reader);
}

kazeia_status kz_decode_contexts(kz_byte_reader *reader, kz_chunks *chunks,
                                 kz_program_description *description) {
    uint32_t count;
    kz_weight_context *contexts =
        take_array(reader, chunks, CONTEXT_BYTES, sizeof *contexts, "weight contexts", &count);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = kz_take_string(reader);
        // An empty name says that the weights are in the program itself.
        contexts[i].file_name = name[0] != '\0' ? name : NULL;
        contexts[i].offset = kz_take_u64(reader);
        contexts[i].bytes = kz_take_u64(reader);
        contexts[i].checksum = kz_take_u64(reader);
    }
    description->contexts = contexts;
    description->context_count = count;
    return kz_take_end(reader);
}

// By number: names are checked later.
static void check_state_width(kz_byte_reader *reader, const kz_state *state, uint32_t index,
                              uint64_t row_bytes) {
    if (reader->status == KAZEIA_OK && row_bytes != kz_state_row_bytes(state)) {
        reader->status =
            kz_fail(KAZEIA_BAD_FILE,
                    "state %u: %u heads of %u %s take %zu bytes a row, the program was exported "
                    "for %llu; the width of its cache was changed",
                    index, state->heads, state->head_dim, kz_type_name(state->type),
                    kz_state_row_bytes(state), (unsigned long long)row_bytes);
    }
}

kazeia_status kz_decode_states(kz_byte_reader *reader, kz_chunks *chunks,
                               kz_program_description *description) {
    uint32_t count;
    kz_state *states = take_array(reader, chunks, STATE_BYTES, sizeof *states, "states", &count);
    for (uint32_t i = 0; i < count; i++) {
        states[i].name = kz_take_string(reader);
        states[i].type = (kz_type)kz_take_u32(reader);
        states[i].rows = kz_take_u64(reader);
        states[i].heads = kz_take_u32(reader);
        states[i].head_dim = kz_take_u32(reader);
        check_state_width(reader, &states[i], i, kz_take_u64(reader));
    }
    description->states = states;
    description->state_count = count;
    return kz_take_end(reader);
}

// --- Methods ------------------------------------------------------------------------------------

static void take_dim(kz_byte_reader *reader, kz_dim *out_dim) {
    for (unsigned i = 0; i < KZ_SYMBOL_LIMIT; i++) {
        out_dim->scale[i] = (int32_t)kz_take_u32(reader);
    }
    out_dim->offset = (int32_t)kz_take_u32(reader);
    out_dim->divisor = kz_take_u32(reader);
}

static void take_value(kz_byte_reader *reader, kz_value *value) {
    value->kind = (kz_value_kind)kz_take_u32(reader);
    value->type = (kz_type)kz_take_u32(reader);
    value->rank = kz_take_u32(reader);
    value->index = kz_take_u32(reader);
    value->column = kz_take_u32(reader);
    value->limit = kz_take_u32(reader);
    value->offset = kz_take_u64(reader);
    take_dim(reader, &value->dims[0]);
    take_dim(reader, &value->dims[1]);
    const char *name = kz_take_string(reader);
    // Values without a name are written with an empty one.
    value->name = name[0] != '\0' ? name : NULL;
}

static void take_instruction(kz_byte_reader *reader, kz_instruction *instruction) {
    instruction->op = (kz_op)kz_take_u32(reader);
    for (unsigned i = 0; i < KZ_OPERAND_LIMIT; i++) {
        instruction->operands[i] = kz_take_u32(reader);
    }
    for (unsigned i = 0; i < KZ_INT_LIMIT; i++) {
        instruction->ints[i] = (int32_t)kz_take_u32(reader);
    }
    for (unsigned i = 0; i < KZ_FLOAT_LIMIT; i++) {
        instruction->floats[i] = kz_take_f32(reader);
    }
}

static const kz_symbol *take_symbols(kz_byte_reader *reader, kz_chunks *chunks,
                                     uint32_t *out_count) {
    kz_symbol *symbols =
        take_array(reader, chunks, SYMBOL_BYTES, sizeof *symbols, "symbols", out_count);
    for (uint32_t i = 0; i < *out_count; i++) {
        symbols[i].name = kz_take_string(reader);
        symbols[i].maximum = kz_take_u32(reader);
    }
    return symbols;
}

static const uint32_t *take_indices(kz_byte_reader *reader, kz_chunks *chunks, const char *elements,
                                    uint32_t *out_count) {
    uint32_t *indices = take_array(reader, chunks, 4, sizeof *indices, elements, out_count);
    for (uint32_t i = 0; i < *out_count; i++) {
        indices[i] = kz_take_u32(reader);
    }
    return indices;
}

static void take_method(kz_byte_reader *reader, kz_chunks *chunks, kz_method *method) {
    method->name = kz_take_string(reader);
    method->arena_bytes = kz_take_u64(reader);
    method->symbols = take_symbols(reader, chunks, &method->symbol_count);
    kz_value *values =
        take_array(reader, chunks, VALUE_BYTES, sizeof *values, "values", &method->value_count);
    for (uint32_t i = 0; i < method->value_count; i++) {
        take_value(reader, &values[i]);
    }
    method->values = values;
    method->inputs = take_indices(reader, chunks, "inputs", &method->input_count);
    method->outputs = take_indices(reader, chunks, "outputs", &method->output_count);
    kz_instruction *instructions =
        take_array(reader, chunks, INSTRUCTION_BYTES, sizeof *instructions, "instructions",
                   &method->instruction_count);
    for (uint32_t i = 0; i < method->instruction_count; i++) {
        take_instruction(reader, &instructions[i]);
    }
    method->instructions = instructions;
}

kazeia_status kz_decode_methods(kz_byte_reader *reader, kz_chunks *chunks,
                                kz_program_description *description) {
    uint32_t count;
    kz_method *methods =
        take_array(reader, chunks, METHOD_BYTES, sizeof *methods, "methods", &count);
    for (uint32_t i = 0; i < count && reader->status == KAZEIA_OK; i++) {
        take_method(reader, chunks, &methods[i]);
    }
    description->methods = methods;
    description->method_count = count;
    return kz_take_end(reader);
}
