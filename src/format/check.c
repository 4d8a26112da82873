// check.c: is a description sound?
//
// in:  a description from a file, or one about to be written
// out: a status; after OK the runtime runs every method without a further bounds check
// The whole is a list of parts, from what stands alone (tables) to what refers to it (methods). An
// arena value may share memory with another one: that is how the exporter plans the arena, and its
// planner has its own test. What is read here must have been written before, so that no call shows
// bytes of an earlier one.
#include "format/check.h"

#include "format/check_parts.h"

// True when the instruction's operand i is read; the written one is not, but by ROPE, in place.
// Caches are written but have no operand of that kind: they live from call to call.
static bool is_read(const kz_instruction *instruction, uint32_t i) {
    return i != kz_op_written_operand(instruction->op) || instruction->op == KZ_OP_ROPE;
}

// Refuses operands that nothing has written yet, then marks what the instruction writes. A view
// marks its parent: halves of a value may be written by several instructions.
static kazeia_status follow_writes(const kz_check_site *site, uint8_t *is_written) {
    const kz_instruction *instruction = site->instruction;
    for (uint32_t i = 0; i < site->shape->operand_count; i++) {
        if (instruction->operands[i] == KZ_NO_VALUE || !is_read(instruction, i)) {
            continue;
        }
        const uint32_t root = kz_value_root(site->method, instruction->operands[i]);
        const kz_value_kind kind = site->method->values[root].kind;
        // Inputs, weights and states are there from the start; the rest holds an earlier call's
        // bytes until written.
        if ((kind == KZ_VALUE_ARENA || kind == KZ_VALUE_OUTPUT) && !is_written[root]) {
            return kz_operand_fail(site, i, "a value that an earlier instruction writes");
        }
    }
    const uint32_t written = kz_op_written_operand(instruction->op);
    if (written != KZ_NO_VALUE) {
        is_written[kz_value_root(site->method, instruction->operands[written])] = 1;
    }
    return KAZEIA_OK;
}

static kazeia_status check_instruction(const kz_check_site *site, uint8_t *is_written) {
    KZ_TRY(kz_check_op(site));
    return follow_writes(site, is_written);
}

static kazeia_status check_outputs_written(const kz_method *method, const uint8_t *is_written) {
    for (uint32_t i = 0; i < method->output_count; i++) {
        if (!is_written[method->outputs[i]]) {
            return kz_fail(KAZEIA_BAD_FILE, "output '%s' is written by no instruction",
                           method->values[method->outputs[i]].name);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status check_instructions(const kz_program_description *description,
                                        const kz_method *method, uint8_t *is_written) {
    for (uint32_t i = 0; i < method->instruction_count; i++) {
        const kz_instruction *instruction = &method->instructions[i];
        // Before all else: every look-up below is by op.
        const kz_op_shape *shape = kz_op_find((uint32_t)instruction->op);
        if (shape == NULL) {
            return kz_fail(KAZEIA_UNSUPPORTED, "instruction %u: op %u is not known to this library",
                           i, (unsigned)instruction->op);
        }
        const kz_check_site site = {description, method, instruction, shape};
        const kazeia_status status = check_instruction(&site, is_written);
        if (status != KAZEIA_OK) {
            return kz_fail_context(status, "instruction %u (%s)", i, shape->name);
        }
    }
    return check_outputs_written(method, is_written);
}

static kazeia_status check_method(const kz_program_description *description,
                                  const kz_method *method, const kazeia_allocator *allocator) {
    void *is_written = NULL;
    KZ_TRY(kz_check_values(description, method, allocator));
    // One byte a value, zeroed: nothing is written at the start of a call.
    KZ_TRY(kz_alloc(allocator, method->value_count, 1, "marks of a method's values", &is_written));
    const kazeia_status status = check_instructions(description, method, is_written);
    kz_free(allocator, is_written);
    return status;
}

// The runtime keeps cosines and sines for each inv_freq tensor, in KZ_ROTATION_LIMIT places. All
// methods were checked before, so operand 2 of a ROPE is a weight.
static kazeia_status check_rotations(const kz_program_description *description) {
    uint32_t seen[KZ_ROTATION_LIMIT];
    uint32_t count = 0;
    for (size_t m = 0; m < description->method_count; m++) {
        const kz_method *method = &description->methods[m];
        for (uint32_t i = 0; i < method->instruction_count; i++) {
            if (method->instructions[i].op != KZ_OP_ROPE) {
                continue;
            }
            const uint32_t tensor = method->values[method->instructions[i].operands[2]].index;
            uint32_t place = 0;
            while (place < count && seen[place] != tensor) {
                place++;
            }
            if (place == KZ_ROTATION_LIMIT) {
                return kz_fail(KAZEIA_BAD_FILE,
                               "method '%s', instruction %u (rope): '%s' is one inverse frequency "
                               "tensor more than the %u that a program may have",
                               method->name, i, description->tensors[tensor].name,
                               KZ_ROTATION_LIMIT);
            }
            if (place == count) {
                seen[count++] = tensor;
            }
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_description(const kz_program_description *description,
                                   const kazeia_allocator *allocator) {
    const kazeia_allocator source = kz_allocator_or_default(allocator);
    // Methods come last: their rules index tensors and states that must be sound by then.
    KZ_TRY(kz_check_metadata(description, &source));
    KZ_TRY(kz_check_tokenizer(description));
    KZ_TRY(kz_check_tensors(description, &source));
    KZ_TRY(kz_check_states(description, &source));
    KZ_TRY(kz_check_names(description->methods, description->method_count, sizeof(kz_method),
                          "method", &source));
    for (size_t i = 0; i < description->method_count; i++) {
        const kazeia_status status = check_method(description, &description->methods[i], &source);
        if (status != KAZEIA_OK) {
            return kz_fail_context(status, "method '%s'", description->methods[i].name);
        }
    }
    return check_rotations(description);
}
