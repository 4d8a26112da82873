// quantise.c: activations for quantised weights.
//   in   LINEARs whose x is f32 everywhere
//   out  x is KZ_A8, or KZ_A16 in a graph of fine activations, where the weight is quantised, and
//        where UNFOLD makes that x from whole blocks, what it reads is too
// A value that only they read is quantised by the op that makes it; any other gets a
// QUANTISE in front of its first reader.
#include <string.h>

#include "exporter/passes/passes.h"

// Those that ops.def marks a8: EMBED, ADD and attention write floats that others read too.
static bool can_quantise(kz_op op) {
    return op == KZ_OP_RMS_NORM || op == KZ_OP_LAYER_NORM || op == KZ_OP_UNFOLD ||
           op == KZ_OP_ACTIVATE || op == KZ_OP_GATE || op == KZ_OP_MAP || op == KZ_OP_SNAKE ||
           op == KZ_OP_SCALE_SHIFT || op == KZ_OP_JOIN_TAIL || op == KZ_OP_ADAPT;
}

// What the instruction's x becomes: as wide as UNFOLD's rows are; CONVOLVE reads one part only.
static kz_type activation_type(const kz_graph_method *method, const kz_instruction *instruction) {
    if (instruction->op == KZ_OP_UNFOLD) {
        return method->values[instruction->operands[1]].type;
    }
    return method->graph->has_fine_activations && instruction->op != KZ_OP_CONVOLVE ? KZ_A16
                                                                                    : KZ_A8;
}

// The value in whose memory `value` lies.
static uint32_t stored_in(const kz_graph_method *method, uint32_t value) {
    return method->values[value].kind == KZ_VALUE_VIEW ? method->values[value].index : value;
}

static bool writes(const kz_graph_method *method, const kz_instruction *instruction,
                   uint32_t value) {
    const uint32_t operand = kz_op_written_operand(instruction->op);
    return operand != KZ_NO_VALUE &&
           stored_in(method, instruction->operands[operand]) == stored_in(method, value);
}

static bool has_quantised_weight(const kz_graph_method *method, const kz_instruction *instruction) {
    if (instruction->op != KZ_OP_LINEAR && instruction->op != KZ_OP_CONVOLVE) {
        return false;
    }
    const uint32_t weight = method->values[instruction->operands[1]].index;
    return kz_type_block_elements(method->graph->weights[weight].type) > 1;
}

// Windows of quantised rows: blocks stay whole.
static bool is_quantised_unfold(const kz_graph_method *method, const kz_instruction *instruction) {
    return instruction->op == KZ_OP_UNFOLD &&
           kz_type_is_activation(method->values[instruction->operands[1]].type) &&
           kz_method_columns_of(method, instruction->operands[0]) % KZ_BLOCK == 0;
}

static bool reads_quantised(const kz_graph_method *method, const kz_instruction *instruction) {
    return has_quantised_weight(method, instruction) || is_quantised_unfold(method, instruction);
}

// True when every use of `value` is as x of what reads rows of `type`, and one op that can quantise
// makes it.
static bool can_become_quantised(const kz_graph_method *method, uint32_t value, kz_type type) {
    bool is_made = false;
    if (method->values[value].kind != KZ_VALUE_ARENA) {
        return false;
    }
    for (size_t i = 0; i < method->value_count; i++) {
        // A view takes columns of floats; quantised rows have none.
        if (method->values[i].kind == KZ_VALUE_VIEW && method->values[i].index == value) {
            return false;
        }
    }
    for (size_t i = 0; i < method->instruction_count; i++) {
        const kz_instruction *instruction = &method->instructions[i];
        const uint32_t count = kz_op_find((uint32_t)instruction->op)->operand_count;
        for (uint32_t j = 0; j < count; j++) {
            if (instruction->operands[j] != value) {
                continue;
            }
            // The written operand of these ops is their last.
            const bool is_maker = j == count - 1 && can_quantise(instruction->op) && !is_made;
            if (!is_maker && !(j == 0 && reads_quantised(method, instruction) &&
                               activation_type(method, instruction) == type)) {
                return false;
            }
            is_made = is_made || is_maker;
        }
    }
    return is_made;
}

static bool is_written_between(const kz_graph_method *method, uint32_t value, size_t from,
                               size_t to) {
    for (size_t i = from; i < to; i++) {
        if (writes(method, &method->instructions[i], value)) {
            return true;
        }
    }
    return false;
}

// A QUANTISE of the same value to `type` that still holds; KZ_NO_VALUE when there is none.
static uint32_t find_quantised(const kz_graph_method *method, uint32_t value, kz_type type,
                               size_t place) {
    for (size_t i = place; i-- > 0;) {
        const kz_instruction *instruction = &method->instructions[i];
        // The nearest one decides: an older one would hold no longer either.
        if (instruction->op == KZ_OP_QUANTISE && instruction->operands[0] == value &&
            method->values[instruction->operands[1]].type == type) {
            return is_written_between(method, value, i + 1, place) ? KZ_NO_VALUE
                                                                   : instruction->operands[1];
        }
    }
    return KZ_NO_VALUE;
}

static kazeia_status insert_quantise(kz_graph_method *method, uint32_t value, kz_type type,
                                     size_t place, uint32_t *out_value) {
    kz_graph *graph = method->graph;
    const uint32_t quantised = kz_method_rows(method, kz_method_rows_of(method, value),
                                              kz_method_columns_of(method, value));
    KZ_TRY(graph->status);
    // After the status: a failure gives no value to change.
    method->values[quantised].type = type;
    KZ_TRY(kz_bump_grow(&graph->memory, method->instruction_count, sizeof(kz_instruction),
                        &method->instruction_capacity, (void **)&method->instructions));
    memmove(&method->instructions[place + 1], &method->instructions[place],
            (method->instruction_count - place) * sizeof(kz_instruction));
    method->instructions[place] =
        (kz_instruction){.op = KZ_OP_QUANTISE, .operands = {value, quantised}};
    method->instruction_count++;
    *out_value = quantised;
    return KAZEIA_OK;
}

// Gives the instruction at *place, which may move on by one, an x that is quantised.
static kazeia_status quantise_x(kz_graph_method *method, size_t *place) {
    const uint32_t x = method->instructions[*place].operands[0];
    const kz_type type = activation_type(method, &method->instructions[*place]);
    // A reader before this one has settled it.
    if (kz_type_is_activation(method->values[x].type)) {
        return KAZEIA_OK;
    }
    if (can_become_quantised(method, x, type)) {
        method->values[x].type = type;
        return KAZEIA_OK;
    }
    uint32_t quantised = find_quantised(method, x, type, *place);
    if (quantised == KZ_NO_VALUE) {
        KZ_TRY(insert_quantise(method, x, type, *place, &quantised));
        (*place)++;
    }
    method->instructions[*place].operands[0] = quantised;
    return KAZEIA_OK;
}

static kazeia_status quantise_method(kz_graph_method *method) {
    for (size_t i = 0; i < method->instruction_count; i++) {
        if (has_quantised_weight(method, &method->instructions[i])) {
            KZ_TRY(quantise_x(method, &i));
        }
    }
    // Once it is known which windows are quantised: their rows then are, before they are repeated.
    for (size_t i = 0; i < method->instruction_count; i++) {
        if (is_quantised_unfold(method, &method->instructions[i])) {
            KZ_TRY(quantise_x(method, &i));
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_pass_quantise(kz_graph *graph) {
    for (size_t i = 0; i < graph->method_count; i++) {
        KZ_TRY(quantise_method(&graph->methods[i]));
    }
    return KAZEIA_OK;
}
