// context.c: one timeline of a program: its states, its arena, its calls.
//   in   a program, a pool; per call: symbols, input and output pointers
//   out  outputs written, states advanced
// Where each value lies is worked out again only when a method's symbols change, so that decoding
// one token after another resolves nothing.
#include "runtime/context.h"

#include <string.h>

#include "base/os.h"
#include "runtime/execute.h"

// Where a method's values lie for the symbols of its last call.
typedef struct method_table {
    kz_operand *operands; // [value_count]
    uint32_t symbols[KZ_SYMBOL_LIMIT];
    bool is_resolved;
} method_table;

struct kz_context {
    kazeia_allocator allocator;
    kz_program *program;
    kz_pool *pool;
    kz_priority priority;
    atomic_bool is_cancelled;
    void *memory; // everything below lies in this one allocation
    uint8_t *arena;
    uint8_t **states;      // [state_count]
    method_table *methods; // [method_count]
    kz_rotation rotations[KZ_ROTATION_LIMIT];
    size_t rotation_count;
    float *parts; // [part_floats]
    size_t part_floats;
};

// What kz_alloc_aligned asks for beyond the bytes themselves.
#define ALIGNED_OVERHEAD (KZ_ALIGNMENT + sizeof(void *))

static uint64_t aligned(uint64_t bytes) {
    return (bytes + KZ_ALIGNMENT - 1) / KZ_ALIGNMENT * KZ_ALIGNMENT;
}

// Adds up sizes; a sum that would overflow sticks at UINT64_MAX.
static void grow(uint64_t *total, uint64_t count, uint64_t bytes_each) {
    // A quarter of the range, so that adding up the parts of a plan cannot wrap either.
    const uint64_t ceiling = UINT64_MAX / 4;
    if (bytes_each && count > ceiling / bytes_each) {
        *total = UINT64_MAX;
        return;
    }
    const uint64_t bytes = aligned(count * bytes_each);
    *total = *total > ceiling ? UINT64_MAX : *total + bytes;
}

typedef struct rotation_need {
    uint32_t tensor;
    uint64_t tokens, half;
} rotation_need;

// ROPEs with one inv_freq tensor rotate equally many dimensions (its length is rotary / 2), so only
// the number of tokens differs. `needs` has a place for each tensor that kz_check_description lets
// pass.
static void note_rotation(const kz_method *method, const kz_instruction *instruction,
                          rotation_need *needs, size_t *count) {
    uint32_t maxima[KZ_SYMBOL_LIMIT] = {0};
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        maxima[i] = method->symbols[i].maximum;
    }
    const kz_value *x = &method->values[instruction->operands[0]];
    const uint32_t tensor = method->values[instruction->operands[2]].index;
    const uint64_t tokens = kz_dim_value(&x->dims[0], maxima, method->symbol_count);
    const uint64_t half = (uint64_t)instruction->ints[1] / 2;
    size_t slot = 0;
    while (slot < *count && needs[slot].tensor != tensor) {
        slot++;
    }
    if (slot == *count) {
        needs[(*count)++] = (rotation_need){tensor, 0, half};
    }
    needs[slot].tokens = tokens > needs[slot].tokens ? tokens : needs[slot].tokens;
}

static size_t find_rotations(const kz_program_description *description, rotation_need *needs) {
    size_t count = 0;
    for (size_t m = 0; m < description->method_count; m++) {
        const kz_method *method = &description->methods[m];
        for (uint32_t i = 0; i < method->instruction_count; i++) {
            if (method->instructions[i].op == KZ_OP_ROPE) {
                note_rotation(method, &method->instructions[i], needs, &count);
            }
        }
    }
    return count;
}

// Of one token that sees all rows of a cache, for the widest attention of the program.
static uint64_t part_floats(const kz_program_description *description) {
    uint64_t most = 0;
    for (size_t m = 0; m < description->method_count; m++) {
        const kz_method *method = &description->methods[m];
        for (uint32_t i = 0; i < method->instruction_count; i++) {
            const kz_instruction *instruction = &method->instructions[i];
            if (instruction->op != KZ_OP_ATTENTION) {
                continue;
            }
            const uint32_t keys = method->values[instruction->operands[1]].index;
            const kz_state *state = &description->states[keys];
            const uint64_t rows = kz_attention_part_rows(state->head_dim);
            // Bounded by the state's own size, which check_limit compares: no overflow.
            const uint64_t floats =
                (state->rows / rows + 1) * (uint64_t)instruction->ints[0] * (state->head_dim + 2);
            most = floats > most ? floats : most;
        }
    }
    return most;
}

static uint64_t work_bytes(const kz_program_description *description) {
    uint64_t total = 0;
    grow(&total, description->state_count, sizeof(uint8_t *));
    grow(&total, description->method_count, sizeof(method_table));
    for (size_t m = 0; m < description->method_count; m++) {
        grow(&total, description->methods[m].value_count, sizeof(kz_operand));
    }
    rotation_need needs[KZ_ROTATION_LIMIT];
    const size_t count = find_rotations(description, needs);
    for (size_t i = 0; i < count; i++) {
        grow(&total, needs[i].tokens * needs[i].half, 2 * sizeof(float));
    }
    grow(&total, part_floats(description), sizeof(float));
    return total;
}

kz_memory_plan kz_context_plan(const kz_program *program) {
    const kz_program_description *description = kz_program_describe(program);
    kz_memory_plan plan = {0};
    for (size_t i = 0; i < description->context_count; i++) {
        plan.weights += description->contexts[i].bytes;
    }
    for (size_t i = 0; i < description->method_count; i++) {
        // Calls of a context follow one another and leave nothing in the arena: one serves all
        // methods.
        const uint64_t bytes = aligned(description->methods[i].arena_bytes);
        plan.arena = bytes > plan.arena ? bytes : plan.arena;
    }
    for (size_t i = 0; i < description->state_count; i++) {
        grow(&plan.states, description->states[i].rows,
             kz_state_row_bytes(&description->states[i]));
    }
    // The context itself is taken apart, from the plain allocator: counted all the same.
    plan.work = work_bytes(description) + sizeof(kz_context) + ALIGNED_OVERHEAD;
    return plan;
}

// Hands out pieces of the context's one allocation.
// The plan counts the same pieces with the same rounding: the cursor ends within the memory.
static void *take(uint8_t **cursor, uint64_t bytes) {
    void *piece = *cursor;
    *cursor += aligned(bytes);
    return piece;
}

static void lay_out(kz_context *context, const kz_memory_plan *plan) {
    const kz_program_description *description = kz_program_describe(context->program);
    uint8_t *cursor = context->memory;
    context->arena = take(&cursor, plan->arena);
    context->states = take(&cursor, description->state_count * sizeof(uint8_t *));
    for (size_t i = 0; i < description->state_count; i++) {
        const kz_state *state = &description->states[i];
        context->states[i] = take(&cursor, state->rows * kz_state_row_bytes(state));
    }
    context->methods = take(&cursor, description->method_count * sizeof(method_table));
    for (size_t m = 0; m < description->method_count; m++) {
        context->methods[m].operands =
            take(&cursor, description->methods[m].value_count * sizeof(kz_operand));
    }
    rotation_need needs[KZ_ROTATION_LIMIT];
    context->rotation_count = find_rotations(description, needs);
    for (size_t i = 0; i < context->rotation_count; i++) {
        const size_t count = (size_t)(needs[i].tokens * needs[i].half);
        float *table = take(&cursor, 2 * count * sizeof(float)); // [2][tokens][half]
        context->rotations[i] = (kz_rotation){.tensor = needs[i].tensor,
                                              .half = (size_t)needs[i].half,
                                              .cosine = table,
                                              .sine = table + count};
    }
    context->part_floats = (size_t)part_floats(description);
    context->parts = take(&cursor, context->part_floats * sizeof(float));
}

static kazeia_status check_limit(const kz_memory_plan *plan, uint64_t memory_limit,
                                 uint64_t *out_bytes) {
    const uint64_t bytes = plan->arena + plan->states + plan->work;
    const bool overflows = plan->states == UINT64_MAX || plan->work >= UINT64_MAX / 4 ||
                           bytes > (uint64_t)SIZE_MAX / 2;
    if (overflows || (memory_limit && bytes > memory_limit)) {
        return kz_fail(
            KAZEIA_OUT_OF_MEMORY,
            "session: the program needs %llu bytes (arena %llu, states %llu, work %llu), "
            "the limit is %llu; export it with a smaller --context",
            (unsigned long long)bytes, (unsigned long long)plan->arena,
            (unsigned long long)plan->states, (unsigned long long)plan->work,
            (unsigned long long)memory_limit);
    }
    *out_bytes = bytes;
    return KAZEIA_OK;
}

kazeia_status kz_context_create(kz_program *program, kz_pool *pool, kz_priority priority,
                                uint64_t memory_limit, const kazeia_allocator *allocator,
                                kz_context **out_context) {
    const kz_memory_plan plan = kz_context_plan(program);
    uint64_t bytes = 0;
    KZ_TRY(check_limit(&plan, memory_limit, &bytes));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_context *context = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *context, "session", (void **)&context));
    context->allocator = memory;
    // From here on destroying the context releases the program, on failure too.
    context->program = kz_program_retain(program);
    context->pool = pool;
    context->priority = priority;
    atomic_init(&context->is_cancelled, false);
    // The plan counts the context itself and what aligning costs.
    const size_t pieces = (size_t)bytes - sizeof *context - ALIGNED_OVERHEAD;
    const kazeia_status status =
        kz_alloc_aligned(&memory, pieces, KZ_ALIGNMENT, "session memory", &context->memory);
    if (status != KAZEIA_OK) {
        kz_context_destroy(context);
        return status;
    }
    // A deep cache is read whole for every token: with small pages it takes longer to find them
    // than to read them.
    kz_os_advise_large_pages(context->memory, pieces);
    // The memory came as zeros, and so do the states begin.
    lay_out(context, &plan);
    *out_context = context;
    return KAZEIA_OK;
}

void kz_context_destroy(kz_context *context) {
    if (!context) {
        return;
    }
    const kazeia_allocator memory = context->allocator;
    kz_program_release(context->program);
    kz_free_aligned(&memory, context->memory);
    kz_free(&memory, context);
}

kz_program *kz_context_program(const kz_context *context) {
    return context->program;
}

void *kz_context_state(kz_context *context, uint32_t state) {
    return context->states[state];
}

// The flag guards no other data: that it is seen soon is all that is needed of it.
void kz_context_cancel(kz_context *context) {
    atomic_store(&context->is_cancelled, true);
}

void kz_context_resume(kz_context *context) {
    atomic_store(&context->is_cancelled, false);
}

bool kz_context_is_cancelled(const kz_context *context) {
    return atomic_load(&context->is_cancelled);
}

static void resolve_stored(kz_context *context, const kz_value *value, kz_operand *operand) {
    const kz_program_description *description = kz_program_describe(context->program);
    if (value->kind == KZ_VALUE_WEIGHT) {
        const kz_tensor *tensor = &description->tensors[value->index];
        operand->tensor_index = value->index;
        operand->type = tensor->type;
        operand->rows = tensor->rank == 1 ? 1 : (size_t)tensor->dims[0];
        operand->columns = (size_t)(tensor->rank == 1 ? tensor->dims[0] : tensor->dims[1]);
        // Of the row form. A tiled weight has no rows in memory: its kernels reckon in panels.
        operand->stride = operand->columns * kz_type_block_bytes(tensor->type) /
                          kz_type_block_elements(tensor->type);
        // Weights are never written; the table has one pointer type for all values.
        operand->bytes = (void *)(uintptr_t)kz_program_tensor(context->program, value->index);
        return;
    }
    const kz_state *state = &description->states[value->index];
    operand->state = state;
    operand->type = state->type;
    operand->rows = (size_t)state->rows;
    operand->columns = (size_t)state->heads * state->head_dim;
    operand->stride = kz_state_row_bytes(state);
    operand->bytes = context->states[value->index];
}

static void resolve_value(kz_context *context, const kz_method *method, const uint32_t *symbols,
                          const kz_value *value, kz_operand *operand) {
    if (value->kind == KZ_VALUE_WEIGHT || value->kind == KZ_VALUE_STATE) {
        resolve_stored(context, value, operand);
        return;
    }
    // Within the sizes that were checked at the maxima: check_symbols has compared the symbols.
    const size_t first = (size_t)kz_dim_value(&value->dims[0], symbols, method->symbol_count);
    const size_t second =
        value->rank > 1 ? (size_t)kz_dim_value(&value->dims[1], symbols, method->symbol_count) : 1;
    operand->type = value->type;
    operand->rows = first;
    operand->columns = second;
    operand->stride = (size_t)kz_value_row_bytes(value->type, second);
    // Inputs and outputs lie where the caller says in each call: bind sets them.
    if (value->kind == KZ_VALUE_ARENA) {
        operand->bytes = context->arena + value->offset;
    }
}

// A method of constant shapes has no symbols, and its caller may give no array.
static bool is_bound_to(const method_table *table, const uint32_t *symbols, uint32_t count) {
    return count == 0 || memcmp(table->symbols, symbols, count * sizeof *symbols) == 0;
}

static void resolve_method(kz_context *context, uint32_t index, const uint32_t *symbols) {
    const kz_method *method = &kz_program_describe(context->program)->methods[index];
    method_table *table = &context->methods[index];
    if (table->is_resolved && is_bound_to(table, symbols, method->symbol_count)) {
        return;
    }
    for (uint32_t i = 0; i < method->value_count; i++) {
        resolve_value(context, method, symbols, &method->values[i], &table->operands[i]);
    }
    // A symbol may make a row table smaller than the file's limit for its indices.
    for (uint32_t i = 0; i < method->input_count; i++) {
        table->operands[method->inputs[i]].limit =
            kz_input_limit(method, method->inputs[i], symbols);
    }
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        table->symbols[i] = symbols[i];
    }
    table->is_resolved = true;
}

// Views follow their parents, whose place may be the caller's and so change with every call.
// A view's parent is never a view (check_values.c), so one pass in any order does.
static void place_views(const kz_method *method, method_table *table) {
    for (uint32_t i = 0; i < method->value_count; i++) {
        const kz_value *value = &method->values[i];
        if (value->kind == KZ_VALUE_VIEW) {
            const kz_operand *parent = &table->operands[value->index];
            table->operands[i].stride = parent->stride;
            table->operands[i].bytes = (uint8_t *)parent->bytes + value->column * sizeof(float);
        }
    }
}

// Ids, positions and row numbers index weights and states without a further check, so every element
// is compared, in every call. A table of rows is small beside a forward pass.
static kazeia_status check_integers(const kz_method *method, const kz_value *value,
                                    const kz_operand *operand) {
    const int32_t *elements = operand->bytes;
    const size_t count = operand->rows * operand->columns;
    for (size_t i = 0; i < count; i++) {
        if (elements[i] < 0 || (uint64_t)elements[i] >= operand->limit) {
            return kz_fail(KAZEIA_BAD_ARGUMENT,
                           "%s: '%s'[%zu] is %d, expected 0 or more and "
                           "below %llu",
                           method->name, value->name, i, elements[i],
                           (unsigned long long)operand->limit);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status bind(const kz_method *method, method_table *table, const void *const *inputs,
                          void *const *outputs) {
    for (uint32_t i = 0; i < method->input_count; i++) {
        kz_operand *operand = &table->operands[method->inputs[i]];
        operand->bytes = (void *)(uintptr_t)inputs[i]; // inputs are only read
        if (operand->type == KZ_I32) {
            KZ_TRY(check_integers(method, &method->values[method->inputs[i]], operand));
        }
    }
    for (uint32_t i = 0; i < method->output_count; i++) {
        table->operands[method->outputs[i]].bytes = outputs[i];
    }
    place_views(method, table);
    return KAZEIA_OK;
}

static kazeia_status check_symbols(const kz_method *method, const uint32_t *symbols) {
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        if (symbols[i] > method->symbols[i].maximum) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "%s: %u %s asked for, at most %u fit", method->name,
                           symbols[i], method->symbols[i].name, method->symbols[i].maximum);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status execute(kz_context *context, const kz_method *method,
                             const method_table *table) {
    kz_call call = {.pool = context->pool,
                    .kernels = kz_pool_kernels(context->pool),
                    .priority = context->priority,
                    .cancel = &context->is_cancelled,
                    .rotations = context->rotations,
                    .rotation_count = context->rotation_count,
                    .parts = context->parts,
                    .part_floats = context->part_floats};
    // The caller may have put other positions where the last call's were: its tables are stale.
    for (size_t i = 0; i < context->rotation_count; i++) {
        context->rotations[i].positions = NULL;
    }
    for (uint32_t i = 0; i < method->instruction_count; i++) {
        // The pool asks before each chunk as well: one instruction of a long prefill can take
        // longer than a caller waits.
        if (kz_context_is_cancelled(context)) {
            return kz_fail(KAZEIA_CANCELLED, "%s: stopped", method->name);
        }
        const kz_instruction *instruction = &method->instructions[i];
        kz_operand *operands[KZ_OPERAND_LIMIT] = {NULL};
        const uint32_t count = kz_op_find((uint32_t)instruction->op)->operand_count;
        for (uint32_t j = 0; j < count; j++) {
            const uint32_t value = instruction->operands[j];
            operands[j] = value == KZ_NO_VALUE ? NULL : &table->operands[value];
        }
        kz_op_function_find(instruction->op)(&call, instruction, operands);
    }
    // A cancel during the last instruction may have dropped some of its chunks: the outputs are
    // then not whole.
    return kz_context_is_cancelled(context) ? kz_fail(KAZEIA_CANCELLED, "%s: stopped", method->name)
                                            : KAZEIA_OK;
}

kazeia_status kz_context_run(kz_context *context, uint32_t method_index, const uint32_t *symbols,
                             const void *const *inputs, void *const *outputs) {
    const kz_method *method = &kz_program_describe(context->program)->methods[method_index];
    method_table *table = &context->methods[method_index];
    // First of all: shapes are sound for symbols up to their maxima only.
    KZ_TRY(check_symbols(method, symbols));
    resolve_method(context, method_index, symbols);
    KZ_TRY(bind(method, table, inputs, outputs));
    return execute(context, method, table);
}
