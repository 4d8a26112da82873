// tails.c: reset, save and restore of the states that are no caches.
//   in   a context
//   out  its tails, one after the other in the order of the program
#include "runtime/tails.h"

#include <string.h>

static bool uses(const kz_method *method, const kz_instruction *instruction, uint32_t state) {
    if (instruction->op != KZ_OP_CACHE_WRITE && instruction->op != KZ_OP_ATTENTION) {
        return false;
    }
    const uint32_t count = kz_op_find((uint32_t)instruction->op)->operand_count;
    for (uint32_t i = 0; i < count; i++) {
        const kz_value *value = &method->values[instruction->operands[i]];
        if (value->kind == KZ_VALUE_STATE && value->index == state) {
            return true;
        }
    }
    return false;
}

bool kz_state_is_tail(const kz_program_description *description, uint32_t state) {
    for (size_t m = 0; m < description->method_count; m++) {
        const kz_method *method = &description->methods[m];
        for (uint32_t i = 0; i < method->instruction_count; i++) {
            if (uses(method, &method->instructions[i], state)) {
                return false;
            }
        }
    }
    return true;
}

// Does `visit` for each tail with its place in a saved copy; gives the copy's bytes.
static size_t visit_tails(const kz_context *context, kz_context *changed, uint8_t *saved,
                          void (*visit)(uint8_t *tail, uint8_t *saved, size_t bytes)) {
    const kz_program_description *description = kz_program_describe(kz_context_program(context));
    size_t place = 0;
    for (uint32_t i = 0; i < description->state_count; i++) {
        if (!kz_state_is_tail(description, i)) {
            continue;
        }
        // The context holds them: their sum fits a size_t.
        const size_t bytes = (size_t)kz_state_bytes(&description->states[i]);
        if (visit) {
            visit(kz_context_state(changed, i), saved ? saved + place : NULL, bytes);
        }
        place += bytes;
    }
    return place;
}

static void clear_tail(uint8_t *tail, uint8_t *saved, size_t bytes) {
    (void)saved;
    memset(tail, 0, bytes);
}

static void save_tail(uint8_t *tail, uint8_t *saved, size_t bytes) {
    memcpy(saved, tail, bytes);
}

static void restore_tail(uint8_t *tail, uint8_t *saved, size_t bytes) {
    memcpy(tail, saved, bytes);
}

void kz_tails_reset(kz_context *context) {
    (void)visit_tails(context, context, NULL, clear_tail);
}

size_t kz_tails_bytes(const kz_context *context) {
    return visit_tails(context, NULL, NULL, NULL);
}

void kz_tails_save(kz_context *context, void *out_saved) {
    (void)visit_tails(context, context, out_saved, save_tail);
}

void kz_tails_restore(kz_context *context, const void *saved) {
    // restore_tail only reads it.
    (void)visit_tails(context, context, (uint8_t *)(uintptr_t)saved, restore_tail);
}
