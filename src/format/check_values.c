// check_values.c: are a method's symbols, values, inputs and outputs sound?
//
// in:  one method of a description whose tensors and states were checked
// out: a status
// A dimension rises or falls with each of its symbols, so its least and greatest value lie at
// corners: what holds there holds for every call. Sizes are taken from the greatest dimensions.
#include "format/check_parts.h"

// Far more tokens or frames than a call has, and small enough that four terms of a dimension fit 63
// bits.
#define SYMBOL_MAXIMUM_LIMIT ((uint32_t)1 << 20)
#define ARENA_BYTES_LIMIT ((uint64_t)1 << 46)

const char *kz_value_kind_name(kz_value_kind kind) {
    static const char *const names[] = {
        [KZ_VALUE_ARENA] = "arena",   [KZ_VALUE_INPUT] = "input", [KZ_VALUE_OUTPUT] = "output",
        [KZ_VALUE_WEIGHT] = "weight", [KZ_VALUE_STATE] = "state", [KZ_VALUE_VIEW] = "view",
    };
    return kind >= KZ_VALUE_ARENA && kind <= KZ_VALUE_VIEW ? names[kind] : "unknown";
}

// Views of views are refused below, so one step is enough.
uint32_t kz_value_root(const kz_method *method, uint32_t value) {
    return method->values[value].kind == KZ_VALUE_VIEW ? method->values[value].index : value;
}

static kazeia_status check_symbols(const kz_method *method, const kazeia_allocator *allocator) {
    if (method->symbol_count > KZ_SYMBOL_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "%u symbols, at most %u expected", method->symbol_count,
                       KZ_SYMBOL_LIMIT);
    }
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        const kz_symbol *symbol = &method->symbols[i];
        if (symbol->maximum < 1 || symbol->maximum > SYMBOL_MAXIMUM_LIMIT) {
            return kz_fail(KAZEIA_BAD_FILE, "symbol %u: its maximum is %u, 1 to %u expected", i,
                           symbol->maximum, SYMBOL_MAXIMUM_LIMIT);
        }
    }
    return kz_check_names(method->symbols, method->symbol_count, sizeof(kz_symbol), "symbol",
                          allocator);
}

// --- Shapes -------------------------------------------------------------------------------------

// Checks rank and dimensions; *out_bytes is the size at the greatest dimensions.
static kazeia_status check_shape(const kz_method *method, const kz_value *value,
                                 uint64_t *out_bytes) {
    uint64_t greatest[2] = {1, 1}; // rows, columns; a vector is one row
    if (value->rank != 1 && value->rank != 2) {
        return kz_fail(KAZEIA_BAD_FILE, "rank %u, 1 or 2 expected", value->rank);
    }
    for (uint32_t d = 0; d < value->rank; d++) {
        uint64_t least;
        // A call may bind any symbol to 0, so the least value counts too: below 0 is refused.
        if (!kz_dim_range(&value->dims[d], method->symbols, method->symbol_count, &least,
                          &greatest[d + 2 - value->rank])) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "dimension %u is negative, too large or without meaning for some values "
                           "of the method's symbols",
                           d);
        }
    }
    const uint64_t row_bytes = kz_value_row_bytes(value->type, greatest[1]);
    if (row_bytes == UINT64_MAX || (row_bytes > 0 && greatest[0] > ARENA_BYTES_LIMIT / row_bytes)) {
        return kz_fail(KAZEIA_BAD_FILE, "%llu x %llu %s are too large",
                       (unsigned long long)greatest[0], (unsigned long long)greatest[1],
                       kz_type_name(value->type));
    }
    *out_bytes = greatest[0] * row_bytes;
    return KAZEIA_OK;
}

// --- Values by kind -----------------------------------------------------------------------------

static kazeia_status check_arena_value(const kz_method *method, const kz_value *value) {
    uint64_t bytes = 0;
    if (value->type != KZ_F32 && !kz_type_is_activation(value->type)) {
        return kz_fail(KAZEIA_BAD_FILE, "type %s in the arena, f32, a8 or a16 expected",
                       kz_type_name(value->type));
    }
    KZ_TRY(check_shape(method, value, &bytes));
    // Compared without adding: offset + bytes could wrap.
    if (value->offset % KZ_ALIGNMENT != 0 || value->offset > method->arena_bytes ||
        bytes > method->arena_bytes - value->offset) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "%llu bytes at %llu, expected at a multiple of %u within the arena's %llu",
                       (unsigned long long)bytes, (unsigned long long)value->offset, KZ_ALIGNMENT,
                       (unsigned long long)method->arena_bytes);
    }
    return KAZEIA_OK;
}

static kazeia_status check_input(const kz_method *method, const kz_value *value) {
    uint64_t bytes = 0;
    if (value->type != KZ_F32 && value->type != KZ_I32) {
        return kz_fail(KAZEIA_BAD_FILE, "type %s, f32 or i32 expected", kz_type_name(value->type));
    }
    // A limit of 0 would allow no element, and one over INT32_MAX every one.
    if (value->type == KZ_I32 && (value->limit < 1 || value->limit > INT32_MAX)) {
        return kz_fail(KAZEIA_BAD_FILE, "limit %u of its elements, 1 to %d expected", value->limit,
                       INT32_MAX);
    }
    return check_shape(method, value, &bytes);
}

static kazeia_status check_output(const kz_method *method, const kz_value *value) {
    uint64_t bytes = 0;
    if (value->type != KZ_F32) {
        return kz_fail(KAZEIA_BAD_FILE, "type %s, f32 expected", kz_type_name(value->type));
    }
    return check_shape(method, value, &bytes);
}

// A view takes whole columns of rows that lie in memory as they are: no view of a view, whose
// places would have to be followed, and none of quantised rows, which have no column stride.
static kazeia_status check_view(const kz_method *method, const kz_value *value) {
    uint32_t columns;
    uint32_t parent_columns;
    if (value->index >= method->value_count) {
        return kz_fail(KAZEIA_BAD_FILE, "view of value %u of %u", value->index,
                       method->value_count);
    }
    const kz_value *parent = &method->values[value->index];
    const bool is_memory = parent->kind == KZ_VALUE_ARENA || parent->kind == KZ_VALUE_INPUT ||
                           parent->kind == KZ_VALUE_OUTPUT;
    if (!is_memory || parent->type != KZ_F32 || parent->rank != 2 || value->type != KZ_F32 ||
        value->rank != 2 || !kz_dim_equal(&parent->dims[0], &value->dims[0])) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "view of value %u (%s %s of rank %u), expected f32 rows of the same number "
                       "in arena, input or output",
                       value->index, kz_value_kind_name(parent->kind), kz_type_name(parent->type),
                       parent->rank);
    }
    if (!kz_dim_is_constant(&value->dims[1], &columns) ||
        !kz_dim_is_constant(&parent->dims[1], &parent_columns) || columns < 1 ||
        value->column > parent_columns || columns > parent_columns - value->column) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "view from column %u on, expected constant columns within value %u",
                       value->column, value->index);
    }
    return KAZEIA_OK;
}

static kazeia_status check_index(const kz_value *value, size_t count, const char *what) {
    // Shapes of weights and states stand in their own tables: a second one here could contradict.
    if (value->index >= count || value->rank != 0) {
        return kz_fail(KAZEIA_BAD_FILE, "%s %u of %zu with rank %u, rank 0 expected", what,
                       value->index, count, value->rank);
    }
    return KAZEIA_OK;
}

static kazeia_status check_value(const kz_program_description *description, const kz_method *method,
                                 const kz_value *value) {
    // Names are what callers bind by; a name elsewhere would have no meaning.
    const bool is_named = value->kind == KZ_VALUE_INPUT || value->kind == KZ_VALUE_OUTPUT;
    if (is_named != (value->name != NULL)) {
        return kz_fail(KAZEIA_BAD_FILE, "%s a name, which inputs and outputs have and others not",
                       is_named ? "it lacks" : "it has");
    }
    switch (value->kind) {
    case KZ_VALUE_ARENA:
        return check_arena_value(method, value);
    case KZ_VALUE_INPUT:
        return check_input(method, value);
    case KZ_VALUE_OUTPUT:
        return check_output(method, value);
    case KZ_VALUE_WEIGHT:
        return check_index(value, description->tensor_count, "tensor");
    case KZ_VALUE_STATE:
        return check_index(value, description->state_count, "state");
    case KZ_VALUE_VIEW:
        return check_view(method, value);
    }
    return kz_fail(KAZEIA_BAD_FILE, "kind %u is unknown", (unsigned)value->kind);
}

// --- Inputs and outputs -------------------------------------------------------------------------

// Each listed value is of `kind`; the list holds each value of that kind once. `is_listed` is
// scratch [value_count], zeroed.
static kazeia_status check_binding(const kz_method *method, const uint32_t *list, uint32_t count,
                                   kz_value_kind kind, uint8_t *is_listed) {
    const char *what = kz_value_kind_name(kind);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t v = list[i];
        // Marks of inputs and outputs share the scratch: no value has both kinds.
        if (v >= method->value_count || method->values[v].kind != kind || is_listed[v]) {
            return kz_fail(KAZEIA_BAD_FILE, "%s %u: value %u of %u is no %s or is listed twice",
                           what, i, v, method->value_count, what);
        }
        is_listed[v] = 1;
    }
    for (uint32_t v = 0; v < method->value_count; v++) {
        if (method->values[v].kind == kind && !is_listed[v]) {
            return kz_fail(KAZEIA_BAD_FILE, "value %u ('%s') is missing in the list of %ss", v,
                           method->values[v].name, what);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status check_bindings(const kz_method *method, const kazeia_allocator *allocator) {
    void *memory = NULL;
    KZ_TRY(kz_alloc(allocator, method->value_count, 1, "marks of a method's values", &memory));
    kazeia_status status =
        check_binding(method, method->inputs, method->input_count, KZ_VALUE_INPUT, memory);
    if (status == KAZEIA_OK) {
        status =
            check_binding(method, method->outputs, method->output_count, KZ_VALUE_OUTPUT, memory);
    }
    kz_free(allocator, memory);
    return status;
}

// Inputs and outputs share one space of names, as a caller sees them.
static kazeia_status check_binding_names(const kz_method *method,
                                         const kazeia_allocator *allocator) {
    void *memory = NULL;
    const size_t count = (size_t)method->input_count + method->output_count;
    KZ_TRY(kz_alloc(allocator, count, sizeof(char *), "names of inputs and outputs", &memory));
    const char **names = memory;
    for (uint32_t i = 0; i < method->input_count; i++) {
        names[i] = method->values[method->inputs[i]].name;
    }
    for (uint32_t i = 0; i < method->output_count; i++) {
        names[method->input_count + i] = method->values[method->outputs[i]].name;
    }
    const kazeia_status status = kz_check_name_list(names, count, "input or output");
    kz_free(allocator, memory);
    return status;
}

kazeia_status kz_check_values(const kz_program_description *description, const kz_method *method,
                              const kazeia_allocator *allocator) {
    KZ_TRY(check_symbols(method, allocator));
    if (method->arena_bytes > ARENA_BYTES_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "an arena of %llu bytes is too large",
                       (unsigned long long)method->arena_bytes);
    }
    for (uint32_t i = 0; i < method->value_count; i++) {
        const kazeia_status status = check_value(description, method, &method->values[i]);
        if (status != KAZEIA_OK) {
            return kz_fail_context(status, "value %u (%s)", i,
                                   kz_value_kind_name(method->values[i].kind));
        }
    }
    // Before the names, which are reached through the lists.
    KZ_TRY(check_bindings(method, allocator));
    return check_binding_names(method, allocator);
}
