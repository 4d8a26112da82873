// describe.c: a program as JSON.
//   in   a program's description
//   out  one JSON object
// No weight is read. A dimension is written as the formula that the file holds, so that one sees
// how a method scales.
#include "api/describe.h"

#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "listen/whisper.h"
#include "llm/chat.h"

#define DIM_TEXT_BYTES 256

static kazeia_status plan_chat(kz_program *program, kz_memory_plan *out_plan) {
    const kz_session_settings settings = kz_chat_session_settings();
    return kz_session_plan(program, &settings, out_plan);
}

// The same settings as creation uses, each from the stage's own file: what is printed is what will
// be taken.
static const struct {
    const char *ability;
    kazeia_status (*plan)(kz_program *program, kz_memory_plan *out_plan);
} abilities[] = {{"chat", plan_chat}, {"listen", kz_whisper_plan}};

kz_memory_plan kz_describe_memory(kz_program *program) {
    const char *ability = kz_program_string(program, "ability");
    kz_memory_plan plan;
    for (size_t i = 0; ability && i < sizeof abilities / sizeof *abilities; i++) {
        if (strcmp(ability, abilities[i].ability) == 0 &&
            abilities[i].plan(program, &plan) == KAZEIA_OK) {
            return plan;
        }
    }
    // A program without an ability, or without the methods that its ability asks for, has no
    // session beyond its context.
    return kz_context_plan(program);
}

// --- Metadata -----------------------------------------------------------------------------------

static void write_integers(kz_json_writer *json, const kz_metadata *entry) {
    kz_json_begin_array(json, entry->key);
    for (size_t i = 0; i < entry->count; i++) {
        kz_json_put_integer(json, NULL, entry->integers[i]);
    }
    kz_json_end_array(json);
}

static void write_strings(kz_json_writer *json, const kz_metadata *entry) {
    kz_json_begin_array(json, entry->key);
    for (size_t i = 0; i < entry->count; i++) {
        kz_json_put_string(json, NULL, entry->strings[i]);
    }
    kz_json_end_array(json);
}

static void write_entry(kz_json_writer *json, const kz_metadata *entry) {
    switch (entry->type) {
    case KZ_METADATA_INTEGER:
        kz_json_put_integer(json, entry->key, entry->integer);
        break;
    case KZ_METADATA_REAL:
        kz_json_put_real(json, entry->key, entry->real);
        break;
    case KZ_METADATA_BOOL:
        kz_json_put_bool(json, entry->key, entry->integer != 0);
        break;
    case KZ_METADATA_STRING:
        kz_json_put_string(json, entry->key, entry->string);
        break;
    case KZ_METADATA_INTEGERS:
        write_integers(json, entry);
        break;
    case KZ_METADATA_STRINGS:
        write_strings(json, entry);
        break;
    }
}

// Every entry, also those that this library does not know: the file may be newer than it.
static void write_metadata(kz_json_writer *json, const kz_program_description *description) {
    kz_json_begin_object(json, "metadata");
    for (size_t i = 0; i < description->metadata_count; i++) {
        write_entry(json, &description->metadata[i]);
    }
    kz_json_end_object(json);
}

// --- Methods ------------------------------------------------------------------------------------

// "tokens", "2*frames+1", "ceil((frames+1)/2)"
static void write_dim(kz_json_writer *json, const kz_method *method, const kz_dim *dim) {
    char sum[DIM_TEXT_BYTES] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < method->symbol_count && used < sizeof sum; i++) {
        if (dim->scale[i] == 0) {
            continue;
        }
        // A sum that is longer than DIM_TEXT_BYTES is cut, never written past its end.
        char factor[16] = "";
        if (dim->scale[i] != 1) {
            snprintf(factor, sizeof factor, "%d*", dim->scale[i]);
        }
        used += (size_t)snprintf(sum + used, sizeof sum - used, "%s%s%s", used ? "+" : "", factor,
                                 method->symbols[i].name);
    }
    if (used < sizeof sum && (dim->offset != 0 || used == 0)) {
        snprintf(sum + used, sizeof sum - used, used ? "%+d" : "%d", dim->offset);
    }
    uint32_t constant = 0;
    // Room for the sum and for "ceil((" and the divisor around it.
    char text[DIM_TEXT_BYTES + 32];
    snprintf(text, sizeof text, "ceil((%s)/%u)", sum, dim->divisor);
    if (kz_dim_is_constant(dim, &constant)) {
        kz_json_put_unsigned(json, NULL, constant);
    } else {
        kz_json_put_string(json, NULL, dim->divisor == 1 ? sum : text);
    }
}

static void write_ports(kz_json_writer *json, const char *key, const kz_method *method,
                        const uint32_t *values, uint32_t count) {
    kz_json_begin_array(json, key);
    for (uint32_t i = 0; i < count; i++) {
        const kz_value *value = &method->values[values[i]];
        kz_json_begin_object(json, NULL);
        kz_json_put_string(json, "name", value->name);
        kz_json_put_string(json, "type", kz_type_name(value->type));
        kz_json_begin_array(json, "shape");
        for (uint32_t d = 0; d < value->rank; d++) {
            write_dim(json, method, &value->dims[d]);
        }
        kz_json_end_array(json);
        kz_json_end_object(json);
    }
    kz_json_end_array(json);
}

// Numbered values have no names in the file: the arena's places are shared by many.
// Weights, states, inputs and outputs by name, the rest as "%7".
static void write_operand(kz_json_writer *json, const kz_program_description *description,
                          const kz_method *method, uint32_t index) {
    if (index == KZ_NO_VALUE) {
        kz_json_put_string(json, NULL, NULL);
        return;
    }
    const kz_value *value = &method->values[index];
    char number[16];
    snprintf(number, sizeof number, "%%%u", index);
    switch (value->kind) {
    case KZ_VALUE_WEIGHT:
        kz_json_put_string(json, NULL, description->tensors[value->index].name);
        break;
    case KZ_VALUE_STATE:
        kz_json_put_string(json, NULL, description->states[value->index].name);
        break;
    case KZ_VALUE_INPUT:
    case KZ_VALUE_OUTPUT:
        kz_json_put_string(json, NULL, value->name);
        break;
    default:
        kz_json_put_string(json, NULL, number);
        break;
    }
}

static void write_instruction(kz_json_writer *json, const kz_program_description *description,
                              const kz_method *method, const kz_instruction *instruction) {
    // Never NULL: a program with an unknown op does not open.
    const kz_op_shape *shape = kz_op_find((uint32_t)instruction->op);
    kz_json_begin_object(json, NULL);
    kz_json_put_string(json, "op", shape->name);
    kz_json_begin_array(json, "operands");
    for (uint32_t i = 0; i < shape->operand_count; i++) {
        write_operand(json, description, method, instruction->operands[i]);
    }
    kz_json_end_array(json);
    kz_json_begin_array(json, "attributes");
    for (uint32_t i = 0; i < shape->int_count; i++) {
        kz_json_put_integer(json, NULL, instruction->ints[i]);
    }
    for (uint32_t i = 0; i < shape->float_count; i++) {
        kz_json_put_real(json, NULL, (double)instruction->floats[i]);
    }
    kz_json_end_array(json);
    kz_json_end_object(json);
}

static void write_method(kz_json_writer *json, const kz_program_description *description,
                         const kz_method *method) {
    kz_json_begin_object(json, NULL);
    kz_json_put_string(json, "name", method->name);
    kz_json_begin_object(json, "symbols");
    // The maxima are what the memory plan is computed from.
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        kz_json_put_unsigned(json, method->symbols[i].name, method->symbols[i].maximum);
    }
    kz_json_end_object(json);
    write_ports(json, "inputs", method, method->inputs, method->input_count);
    write_ports(json, "outputs", method, method->outputs, method->output_count);
    kz_json_begin_array(json, "instructions");
    for (uint32_t i = 0; i < method->instruction_count; i++) {
        write_instruction(json, description, method, &method->instructions[i]);
    }
    kz_json_end_array(json);
    kz_json_end_object(json);
}

static void write_methods(kz_json_writer *json, const kz_program_description *description) {
    kz_json_begin_array(json, "methods");
    for (size_t i = 0; i < description->method_count; i++) {
        write_method(json, description, &description->methods[i]);
    }
    kz_json_end_array(json);
}

// --- States, tensors, memory --------------------------------------------------------------------

static void write_states(kz_json_writer *json, const kz_program_description *description) {
    kz_json_begin_array(json, "states");
    for (size_t i = 0; i < description->state_count; i++) {
        const kz_state *state = &description->states[i];
        kz_json_begin_object(json, NULL);
        kz_json_put_string(json, "name", state->name);
        kz_json_put_string(json, "type", kz_type_name(state->type));
        kz_json_begin_array(json, "shape");
        // As it lies in memory, from the slowest to the fastest.
        kz_json_put_unsigned(json, NULL, state->rows);
        kz_json_put_unsigned(json, NULL, state->heads);
        kz_json_put_unsigned(json, NULL, state->head_dim);
        kz_json_end_array(json);
        kz_json_put_unsigned(json, "bytes", kz_state_bytes(state));
        kz_json_end_object(json);
    }
    kz_json_end_array(json);
}

static void write_tensor(kz_json_writer *json, const kz_tensor *tensor) {
    kz_json_begin_object(json, NULL);
    kz_json_put_string(json, "name", tensor->name);
    kz_json_put_string(json, "format", kz_type_name(tensor->type));
    kz_json_put_string(json, "layout", kz_layout_name(tensor->layout));
    kz_json_begin_array(json, "shape");
    for (uint32_t d = 0; d < tensor->rank; d++) {
        kz_json_put_unsigned(json, NULL, tensor->dims[d]);
    }
    kz_json_end_array(json);
    // Of the format itself: what padding to whole tiles adds shows in `bytes`.
    kz_json_put_real(json, "bits_per_weight",
                     8.0 * kz_type_block_bytes(tensor->type) /
                         kz_type_block_elements(tensor->type));
    kz_json_put_unsigned(json, "bytes", tensor->bytes);
    kz_json_end_object(json);
}

static void write_tensors(kz_json_writer *json, const kz_program_description *description) {
    kz_json_begin_array(json, "tensors");
    for (size_t i = 0; i < description->tensor_count; i++) {
        write_tensor(json, &description->tensors[i]);
    }
    kz_json_end_array(json);
}

static void write_memory(kz_json_writer *json, const kz_memory_plan *plan) {
    kz_json_begin_object(json, "memory");
    kz_json_put_unsigned(json, "weights", plan->weights);
    kz_json_put_unsigned(json, "arena", plan->arena);
    kz_json_put_unsigned(json, "states", plan->states);
    kz_json_put_unsigned(json, "work", plan->work);
    kz_json_end_object(json);
}

kazeia_status kz_describe_program(kz_program *program, kz_text_buffer *text) {
    const kz_program_description *description = kz_program_describe(program);
    const kz_program_file *file = kz_program_source(program);
    // Before the writing begins: a plan is arithmetic and allocates nothing.
    const kz_memory_plan plan = kz_describe_memory(program);
    char id[17];
    // As hexadecimal text: 64 bits do not survive a JSON reader that keeps numbers as doubles.
    snprintf(id, sizeof id, "%016llx", (unsigned long long)kz_program_file_id(file));
    kz_json_writer json;
    kz_json_writer_init(&json, text);
    kz_json_begin_object(&json, NULL);
    kz_json_put_unsigned(&json, "format_version", kz_program_file_version(file));
    kz_json_put_string(&json, "id", id);
    write_metadata(&json, description);
    write_methods(&json, description);
    write_states(&json, description);
    write_tensors(&json, description);
    write_memory(&json, &plan);
    kz_json_end_object(&json);
    // The writer has kept the first failure; all calls after it wrote nothing.
    return json.status;
}
