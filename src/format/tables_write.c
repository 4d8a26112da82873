// tables_write.c: the description's tables -> the bytes of their sections.
//
// in:  a checked description
// out: section bytes in a kz_byte_writer
// Records have fixed sizes even where most of their fields are unused: a description read back then
// never needs more than four times the memory of its bytes, whatever a hostile file holds.
#include "format/tables.h"

// The j-th value of an entry; scalars have one.
static void put_metadata_value(kz_byte_writer *writer, const kz_metadata *entry, size_t j) {
    switch (entry->type) {
    case KZ_METADATA_INTEGER:
    case KZ_METADATA_BOOL:
        kz_put_u64(writer, (uint64_t)entry->integer);
        return;
    case KZ_METADATA_REAL:
        kz_put_f64(writer, entry->real);
        return;
    case KZ_METADATA_STRING:
        kz_put_string(writer, entry->string);
        return;
    case KZ_METADATA_INTEGERS:
        kz_put_u64(writer, (uint64_t)entry->integers[j]);
        return;
    case KZ_METADATA_STRINGS:
        kz_put_string(writer, entry->strings[j]);
        return;
    }
}

void kz_encode_metadata(kz_byte_writer *writer, const kz_program_description *description) {
    kz_put_count(writer, description->metadata_count);
    for (size_t i = 0; i < description->metadata_count; i++) {
        const kz_metadata *entry = &description->metadata[i];
        const bool is_list =
            entry->type == KZ_METADATA_INTEGERS || entry->type == KZ_METADATA_STRINGS;
        const size_t count = is_list ? entry->count : 1;
        kz_put_string(writer, entry->key);
        kz_put_u32(writer, entry->type);
        kz_put_u32(writer, 0); // keeps the record at least a quarter of its struct
        kz_put_count(writer, count);
        for (size_t j = 0; j < count; j++) {
            put_metadata_value(writer, entry, j);
        }
    }
}

void kz_encode_tensors(kz_byte_writer *writer, const kz_program_description *description) {
    kz_put_count(writer, description->tensor_count);
    for (size_t i = 0; i < description->tensor_count; i++) {
        const kz_tensor *tensor = &description->tensors[i];
        kz_put_string(writer, tensor->name);
        kz_put_u32(writer, tensor->type);
        kz_put_u32(writer, tensor->layout);
        kz_put_u32(writer, tensor->context);
        kz_put_u32(writer, tensor->rank);
        for (unsigned d = 0; d < KZ_RANK_LIMIT; d++) {
            kz_put_u64(writer, tensor->dims[d]);
        }
        kz_put_u64(writer, tensor->offset);
        kz_put_u64(writer, tensor->bytes);
    }
}

void kz_encode_contexts(kz_byte_writer *writer, const kz_program_description *description) {
    kz_put_count(writer, description->context_count);
    for (size_t i = 0; i < description->context_count; i++) {
        const kz_weight_context *context = &description->contexts[i];
        kz_put_string(writer, context->file_name);
        kz_put_u64(writer, context->offset);
        kz_put_u64(writer, context->bytes);
        kz_put_u64(writer, context->checksum);
    }
}

void kz_encode_states(kz_byte_writer *writer, const kz_program_description *description) {
    kz_put_count(writer, description->state_count);
    for (size_t i = 0; i < description->state_count; i++) {
        const kz_state *state = &description->states[i];
        kz_put_string(writer, state->name);
        kz_put_u32(writer, state->type);
        kz_put_u64(writer, state->rows);
        kz_put_u32(writer, state->heads);
        kz_put_u32(writer, state->head_dim);
        // It follows from the rest, and so tells when one of these was changed alone.
        kz_put_u64(writer, kz_state_row_bytes(state));
    }
}

static void put_dim(kz_byte_writer *writer, const kz_dim *dim) {
    for (unsigned i = 0; i < KZ_SYMBOL_LIMIT; i++) {
        kz_put_u32(writer, (uint32_t)dim->scale[i]);
    }
    kz_put_u32(writer, (uint32_t)dim->offset);
    kz_put_u32(writer, dim->divisor);
}

static void put_value(kz_byte_writer *writer, const kz_value *value) {
    kz_put_u32(writer, value->kind);
    kz_put_u32(writer, value->type);
    kz_put_u32(writer, value->rank);
    kz_put_u32(writer, value->index);
    kz_put_u32(writer, value->column);
    kz_put_u32(writer, value->limit);
    kz_put_u64(writer, value->offset);
    put_dim(writer, &value->dims[0]);
    put_dim(writer, &value->dims[1]);
    kz_put_string(writer, value->name);
}

// What an op does not use is written in one fixed way, so that equal programs have equal bytes.
static void put_instruction(kz_byte_writer *writer, const kz_instruction *instruction) {
    const kz_op_shape *shape = kz_op_find((uint32_t)instruction->op);
    kz_put_u32(writer, instruction->op);
    for (unsigned i = 0; i < KZ_OPERAND_LIMIT; i++) {
        // Unused places are fixed, so that equal programs are equal bytes and have one id.
        kz_put_u32(writer, i < shape->operand_count ? instruction->operands[i] : KZ_NO_VALUE);
    }
    for (unsigned i = 0; i < KZ_INT_LIMIT; i++) {
        kz_put_u32(writer, i < shape->int_count ? (uint32_t)instruction->ints[i] : 0);
    }
    for (unsigned i = 0; i < KZ_FLOAT_LIMIT; i++) {
        kz_put_f32(writer, i < shape->float_count ? instruction->floats[i] : 0.0f);
    }
}

static void put_indices(kz_byte_writer *writer, const uint32_t *indices, uint32_t count) {
    kz_put_count(writer, count);
    for (uint32_t i = 0; i < count; i++) {
        kz_put_u32(writer, indices[i]);
    }
}

static void put_method(kz_byte_writer *writer, const kz_method *method) {
    kz_put_string(writer, method->name);
    kz_put_u64(writer, method->arena_bytes);
    kz_put_count(writer, method->symbol_count);
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        kz_put_string(writer, method->symbols[i].name);
        kz_put_u32(writer, method->symbols[i].maximum);
    }
    kz_put_count(writer, method->value_count);
    for (uint32_t i = 0; i < method->value_count; i++) {
        put_value(writer, &method->values[i]);
    }
    put_indices(writer, method->inputs, method->input_count);
    put_indices(writer, method->outputs, method->output_count);
    kz_put_count(writer, method->instruction_count);
    for (uint32_t i = 0; i < method->instruction_count; i++) {
        put_instruction(writer, &method->instructions[i]);
    }
}

void kz_encode_methods(kz_byte_writer *writer, const kz_program_description *description) {
    kz_put_count(writer, description->method_count);
    for (size_t i = 0; i < description->method_count; i++) {
        put_method(writer, &description->methods[i]);
    }
}
