// graph.c: the tables of a program being built.
//   in   weights, states, metadata, methods, values, one call each
//   out  a description for passes and writer
#include "exporter/graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void kz_graph_init(kz_graph *graph, const kazeia_allocator *allocator) {
    memset(graph, 0, sizeof *graph);
    kz_bump_init(&graph->memory, allocator);
}

void kz_graph_clear(kz_graph *graph) {
    kz_bump_clear(&graph->memory);
}

kazeia_status kz_graph_status(const kz_graph *graph) {
    return graph->status;
}

// The first failure is the cause; what follows from it says less.
void kz_graph_note(kz_graph *graph, kazeia_status status) {
    if (graph->status == KAZEIA_OK) {
        graph->status = status;
    }
}

const char *kz_graph_name(kz_graph *graph, const char *format, ...) {
    // Longer names are refused by the format anyway (255 bytes).
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text) {
        kz_graph_note(graph, kz_fail(KAZEIA_BAD_FILE, "export: name '%s...' is too long", text));
        return "";
    }
    // Never NULL: callers may print the name even after a failure.
    const char *copy = "";
    kz_graph_note(graph, kz_bump_format(&graph->memory, &copy, "%s", text));
    return copy;
}

// --- Metadata -----------------------------------------------------------------------------------

static kz_metadata *add_metadata(kz_graph *graph, const char *key, kz_metadata_type type) {
    if (graph->status != KAZEIA_OK) {
        return NULL;
    }
    // Growing moves the table, so entries are reached by index until the last is in.
    kz_graph_note(graph, kz_bump_grow(&graph->memory, graph->metadata_count, sizeof(kz_metadata),
                                      &graph->metadata_capacity, (void **)&graph->metadata));
    const char *name = kz_graph_name(graph, "%s", key);
    if (graph->status != KAZEIA_OK) {
        return NULL;
    }
    kz_metadata *entry = &graph->metadata[graph->metadata_count++];
    // `count` matters to lists only, which set it once their copy is there.
    *entry = (kz_metadata){.key = name, .type = type, .count = 1};
    return entry;
}

void kz_graph_set_integer(kz_graph *graph, const char *key, int64_t value) {
    kz_metadata *entry = add_metadata(graph, key, KZ_METADATA_INTEGER);
    if (entry) {
        entry->integer = value;
    }
}

void kz_graph_set_real(kz_graph *graph, const char *key, double value) {
    kz_metadata *entry = add_metadata(graph, key, KZ_METADATA_REAL);
    if (entry) {
        entry->real = value;
    }
}

void kz_graph_set_string(kz_graph *graph, const char *key, const char *value) {
    kz_metadata *entry = value ? add_metadata(graph, key, KZ_METADATA_STRING) : NULL;
    if (entry) {
        // The entry is counted already: whole even if the copy fails.
        entry->string = "";
        kz_graph_note(graph, kz_bump_format(&graph->memory, &entry->string, "%s", value));
    }
}

void kz_graph_set_integers(kz_graph *graph, const char *key, const int64_t *values, size_t count) {
    kz_metadata *entry = add_metadata(graph, key, KZ_METADATA_INTEGERS);
    int64_t *copy = NULL;
    if (!entry) {
        return;
    }
    kz_graph_note(graph, kz_bump_take(&graph->memory, count, sizeof *copy, (void **)&copy));
    if (copy) {
        for (size_t i = 0; i < count; i++) {
            copy[i] = values[i];
        }
        entry->integers = copy;
        entry->count = count;
    }
}

void kz_graph_set_strings(kz_graph *graph, const char *key, const char *const *values,
                          size_t count) {
    kz_metadata *entry = add_metadata(graph, key, KZ_METADATA_STRINGS);
    const char **copies = NULL;
    if (!entry) {
        return;
    }
    kz_graph_note(graph, kz_bump_take(&graph->memory, count, sizeof *copies, (void **)&copies));
    for (size_t i = 0; copies && i < count; i++) {
        copies[i] = kz_graph_name(graph, "%s", values[i]);
    }
    if (copies) {
        entry->strings = copies;
        entry->count = count;
    }
}

// --- Weights, states, methods -------------------------------------------------------------------

uint32_t kz_graph_add_weight(kz_graph *graph, const kz_graph_weight *weight) {
    if (graph->status == KAZEIA_OK) {
        kz_graph_note(graph, kz_bump_grow(&graph->memory, graph->weight_count, sizeof *weight,
                                          &graph->weight_capacity, (void **)&graph->weights));
    }
    if (graph->status != KAZEIA_OK) {
        return KZ_NO_VALUE;
    }
    graph->weights[graph->weight_count] = *weight;
    return (uint32_t)graph->weight_count++;
}

uint32_t kz_graph_add_state(kz_graph *graph, const kz_state *state) {
    if (graph->status == KAZEIA_OK) {
        kz_graph_note(graph, kz_bump_grow(&graph->memory, graph->state_count, sizeof *state,
                                          &graph->state_capacity, (void **)&graph->states));
    }
    if (graph->status != KAZEIA_OK) {
        return KZ_NO_VALUE;
    }
    graph->states[graph->state_count] = *state;
    return (uint32_t)graph->state_count++;
}

uint32_t kz_graph_add_tail(kz_graph *graph, const char *name, uint32_t rows, uint32_t columns) {
    // The format counts a row in heads of bounded size; which ones does not matter here.
    uint32_t heads = 1;
    while (columns % heads != 0 || columns / heads > KZ_HEAD_DIM_LIMIT) {
        heads++;
    }
    return kz_graph_add_state(graph, &(kz_state){name, KZ_F32, rows, heads, columns / heads});
}

kz_graph_method *kz_graph_add_method(kz_graph *graph, const char *name) {
    if (graph->status != KAZEIA_OK) {
        return NULL;
    }
    if (graph->method_count == KZ_GRAPH_METHOD_LIMIT) {
        kz_graph_note(graph, kz_fail(KAZEIA_UNSUPPORTED, "export: more than %d methods",
                                     KZ_GRAPH_METHOD_LIMIT));
        return NULL;
    }
    // Methods have a fixed array, so pointers to them stay while others are added.
    kz_graph_method *method = &graph->methods[graph->method_count++];
    method->graph = graph;
    method->name = name;
    return method;
}

kz_dim kz_method_symbol(kz_graph_method *method, const char *name, uint32_t maximum) {
    if (!method || method->graph->status != KAZEIA_OK) {
        return kz_dim_constant(0);
    }
    if (method->symbol_count == KZ_SYMBOL_LIMIT) {
        kz_graph_note(method->graph, kz_fail(KAZEIA_UNSUPPORTED,
                                             "export: method '%s' has too "
                                             "many symbols",
                                             method->name));
        return kz_dim_constant(0);
    }
    method->symbols[method->symbol_count] = (kz_symbol){name, maximum};
    return kz_dim_symbol(method->symbol_count++);
}

// --- Values -------------------------------------------------------------------------------------

static uint32_t add_value(kz_graph_method *method, const kz_value *value) {
    if (!method || method->graph->status != KAZEIA_OK) {
        return KZ_NO_VALUE;
    }
    kz_graph *graph = method->graph;
    kz_graph_note(graph, kz_bump_grow(&graph->memory, method->value_count, sizeof *value,
                                      &method->value_capacity, (void **)&method->values));
    if (graph->status != KAZEIA_OK) {
        return KZ_NO_VALUE;
    }
    method->values[method->value_count] = *value;
    return (uint32_t)method->value_count++;
}

uint32_t kz_method_input(kz_graph_method *method, const char *name, kz_type type, uint32_t limit,
                         uint32_t rank, kz_dim first, kz_dim second) {
    const uint32_t value = add_value(method, &(kz_value){.kind = KZ_VALUE_INPUT,
                                                         .type = type,
                                                         .rank = rank,
                                                         .dims = {first, second},
                                                         .limit = limit,
                                                         .name = name});
    if (value != KZ_NO_VALUE) {
        // Definitions are our own and have fewer than the arrays hold.
        method->inputs[method->input_count++] = value;
    }
    return value;
}

uint32_t kz_method_output(kz_graph_method *method, const char *name, kz_dim rows,
                          uint32_t columns) {
    const uint32_t value = add_value(method, &(kz_value){.kind = KZ_VALUE_OUTPUT,
                                                         .type = KZ_F32,
                                                         .rank = 2,
                                                         .dims = {rows, kz_dim_constant(columns)},
                                                         .name = name});
    if (value != KZ_NO_VALUE) {
        method->outputs[method->output_count++] = value;
    }
    return value;
}

// A weight or state is one value of a method: checks and passes compare values, not names.
static uint32_t find_or_add(kz_graph_method *method, kz_value_kind kind, uint32_t index) {
    if (!method || index == KZ_NO_VALUE) {
        return KZ_NO_VALUE;
    }
    for (size_t i = 0; i < method->value_count; i++) {
        if (method->values[i].kind == kind && method->values[i].index == index) {
            return (uint32_t)i;
        }
    }
    return add_value(method, &(kz_value){.kind = kind, .index = index});
}

uint32_t kz_method_weight(kz_graph_method *method, uint32_t weight) {
    return find_or_add(method, KZ_VALUE_WEIGHT, weight);
}

uint32_t kz_method_state(kz_graph_method *method, uint32_t state) {
    return find_or_add(method, KZ_VALUE_STATE, state);
}

uint32_t kz_method_rows(kz_graph_method *method, kz_dim rows, uint32_t columns) {
    return add_value(method, &(kz_value){.kind = KZ_VALUE_ARENA,
                                         .type = KZ_F32,
                                         .rank = 2,
                                         .dims = {rows, kz_dim_constant(columns)}});
}

uint32_t kz_method_view(kz_graph_method *method, uint32_t value, uint32_t column,
                        uint32_t columns) {
    return add_value(
        method, &(kz_value){.kind = KZ_VALUE_VIEW,
                            .type = KZ_F32,
                            .rank = 2,
                            .dims = {kz_method_rows_of(method, value), kz_dim_constant(columns)},
                            .index = value,
                            .column = column});
}

kz_dim kz_method_rows_of(const kz_graph_method *method, uint32_t value) {
    if (!method || value >= method->value_count) {
        return kz_dim_constant(0);
    }
    return method->values[value].dims[0];
}

uint32_t kz_method_columns_of(const kz_graph_method *method, uint32_t value) {
    if (!method || value >= method->value_count) {
        return 0;
    }
    // Columns are constants: scale 0, divisor 1, so the offset is the number.
    return (uint32_t)method->values[value].dims[1].offset;
}

// --- The finished description -------------------------------------------------------------------

static void describe_tensor(const kz_graph_weight *weight, kz_tensor *tensor) {
    *tensor = (kz_tensor){.name = weight->name,
                          .type = weight->type,
                          .layout = weight->is_matrix ? KZ_TILE16 : KZ_ROWS,
                          .rank = weight->rank,
                          .dims = {weight->rows, weight->columns, 1, 1}};
    // Vectors are [columns] in the file; the graph counts them as one row.
    if (weight->rank == 1) {
        tensor->dims[0] = weight->columns;
        tensor->dims[1] = 1;
    }
}

static kazeia_status describe_tensors(kz_graph *graph, kz_program_description *description) {
    kz_tensor *tensors = NULL;
    KZ_TRY(kz_bump_take(&graph->memory, graph->weight_count, sizeof *tensors, (void **)&tensors));
    for (size_t i = 0; i < graph->weight_count; i++) {
        describe_tensor(&graph->weights[i], &tensors[i]);
        size_t bytes = 0;
        const kz_tensor *tensor = &tensors[i];
        const bool is_vector = tensor->rank == 1;
        KZ_TRY(kz_layout_tensor_bytes(
            tensor->layout, tensor->type, is_vector ? 1 : (size_t)tensor->dims[0],
            (size_t)(is_vector ? tensor->dims[0] : tensor->dims[1]), &bytes));
        tensors[i].bytes = bytes;
    }
    description->tensors = tensors;
    description->tensor_count = graph->weight_count;
    return KAZEIA_OK;
}

static void describe_method(const kz_graph_method *from, kz_method *to) {
    *to = (kz_method){.name = from->name,
                      .symbols = from->symbols,
                      .symbol_count = from->symbol_count,
                      .values = from->values,
                      .value_count = (uint32_t)from->value_count,
                      .inputs = from->inputs,
                      .input_count = from->input_count,
                      .outputs = from->outputs,
                      .output_count = from->output_count,
                      .instructions = from->instructions,
                      .instruction_count = (uint32_t)from->instruction_count,
                      .arena_bytes = from->arena_bytes};
}

kazeia_status kz_graph_describe(kz_graph *graph, kz_program_description *out_description) {
    // Its sentence is still the thread's last one: nothing fails after the first.
    KZ_TRY(graph->status);
    kz_program_description description = {.metadata = graph->metadata,
                                          .metadata_count = graph->metadata_count,
                                          .states = graph->states,
                                          .state_count = graph->state_count,
                                          .method_count = graph->method_count,
                                          .tokenizer = graph->tokenizer,
                                          .chat_template = graph->chat_template};
    KZ_TRY(describe_tensors(graph, &description));
    kz_method *methods = NULL;
    KZ_TRY(kz_bump_take(&graph->memory, graph->method_count, sizeof *methods, (void **)&methods));
    for (size_t i = 0; i < graph->method_count; i++) {
        describe_method(&graph->methods[i], &methods[i]);
    }
    description.methods = methods;
    *out_description = description;
    return KAZEIA_OK;
}
