// programs.c: a small program that uses every op, and mending of damaged ones.
#include "programs.h"

#include <stdlib.h>
#include <string.h>

#include "format/byte_stream.h"
#include "format/checksum.h"
#include "format/chunks.h"
#include "format/file_parts.h"
#include "format/tables.h"

#define ABSENT KZ_NO_VALUE

// --- Building -----------------------------------------------------------------------------------

static void *take(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static uint32_t add_tensor(sample_program *sample, const char *name, kz_type type, kz_layout layout,
                           uint64_t rows, uint64_t columns) {
    const uint32_t index = (uint32_t)sample->description.tensor_count++;
    kz_tensor *tensor = &sample->tensors[index];
    size_t bytes;
    *tensor = (kz_tensor){.name = name, .type = type, .layout = layout, .dims = {1, 1, 1, 1}};
    tensor->rank = rows == 0 ? 1 : 2;
    tensor->dims[0] = rows == 0 ? columns : rows;
    tensor->dims[1] = rows == 0 ? 1 : columns;
    if (kz_layout_tensor_bytes(layout, type, rows == 0 ? 1 : rows, columns, &bytes) != KAZEIA_OK) {
        abort();
    }
    tensor->bytes = bytes;
    sample->weight_bytes += bytes;
    return index;
}

typedef struct method_builder {
    sample_program *sample;
    kz_method *method;
    sample_method *parts;
} method_builder;

static method_builder begin_method(sample_program *sample, const char *name) {
    const size_t index = sample->description.method_count++;
    kz_method *method = &sample->methods[index];
    sample_method *parts = &sample->parts[index];
    *method = (kz_method){.name = name,
                          .symbols = parts->symbols,
                          .values = parts->values,
                          .inputs = parts->inputs,
                          .outputs = parts->outputs,
                          .instructions = parts->instructions};
    return (method_builder){sample, method, parts};
}

static uint32_t add_symbol(method_builder *builder, const char *name, uint32_t maximum) {
    builder->parts->symbols[builder->method->symbol_count] = (kz_symbol){name, maximum};
    return builder->method->symbol_count++;
}

static uint32_t add_value(method_builder *builder, kz_value value) {
    builder->parts->values[builder->method->value_count] = value;
    return builder->method->value_count++;
}

static uint32_t add_weight(method_builder *builder, const char *name, kz_type type,
                           kz_layout layout, uint64_t rows, uint64_t columns) {
    const uint32_t index = add_tensor(builder->sample, name, type, layout, rows, columns);
    return add_value(builder, (kz_value){.kind = KZ_VALUE_WEIGHT, .index = index});
}

static uint32_t add_arena(method_builder *builder, kz_type type, kz_dim rows, uint32_t columns) {
    kz_value value = {.kind = KZ_VALUE_ARENA, .type = type, .rank = 2};
    uint32_t maxima[KZ_SYMBOL_LIMIT] = {0};
    for (uint32_t i = 0; i < builder->method->symbol_count; i++) {
        maxima[i] = builder->parts->symbols[i].maximum;
    }
    value.dims[0] = rows;
    value.dims[1] = kz_dim_constant(columns);
    value.offset = builder->method->arena_bytes;
    builder->method->arena_bytes +=
        (kz_value_bytes(&value, maxima, builder->method->symbol_count) + 63) / 64 * 64;
    return add_value(builder, value);
}

static uint32_t add_input(method_builder *builder, const char *name, kz_type type, uint32_t rank,
                          kz_dim first, kz_dim second, uint32_t limit) {
    kz_value value = {
        .kind = KZ_VALUE_INPUT, .type = type, .rank = rank, .limit = limit, .name = name};
    value.dims[0] = first;
    value.dims[1] = second;
    const uint32_t index = add_value(builder, value);
    builder->parts->inputs[builder->method->input_count++] = index;
    return index;
}

static uint32_t add_output(method_builder *builder, const char *name, kz_dim rows,
                           uint32_t columns) {
    kz_value value = {.kind = KZ_VALUE_OUTPUT, .type = KZ_F32, .rank = 2, .name = name};
    value.dims[0] = rows;
    value.dims[1] = kz_dim_constant(columns);
    const uint32_t index = add_value(builder, value);
    builder->parts->outputs[builder->method->output_count++] = index;
    return index;
}

static uint32_t add_view(method_builder *builder, uint32_t parent, uint32_t column,
                         uint32_t columns) {
    kz_value value = {
        .kind = KZ_VALUE_VIEW, .type = KZ_F32, .rank = 2, .index = parent, .column = column};
    value.dims[0] = builder->parts->values[parent].dims[0];
    value.dims[1] = kz_dim_constant(columns);
    return add_value(builder, value);
}

static void add_op(method_builder *builder, kz_instruction instruction) {
    const kz_op_shape *shape = kz_op_find(instruction.op);
    for (uint32_t i = shape->operand_count; i < KZ_OPERAND_LIMIT; i++) {
        instruction.operands[i] = KZ_NO_VALUE;
    }
    builder->parts->instructions[builder->method->instruction_count++] = instruction;
}

// --- The sample ---------------------------------------------------------------------------------

// A decoder layer in small, with every format of weight.
typedef struct layer_values {
    uint32_t tokens, positions, sequences, rows, hidden, normed, q, k, v, keys, values;
} layer_values;

static void add_embedding(method_builder *builder, layer_values *at, kz_dim t) {
    const uint32_t table = add_weight(builder, "embedding", KZ_Q8_0, KZ_TILE16, 40, 64);
    const uint32_t places = add_weight(builder, "places", KZ_F32, KZ_ROWS, 8, 64);
    const uint32_t norm = add_weight(builder, "norm", KZ_F32, KZ_ROWS, 0, 64);
    at->hidden = add_arena(builder, KZ_F32, t, 64);
    at->normed = add_arena(builder, KZ_A8, t, 64);
    add_op(builder, (kz_instruction){KZ_OP_EMBED, {at->tokens, table, at->hidden}, {0}, {1.0f}});
    add_op(builder, (kz_instruction){KZ_OP_ADD, {at->hidden, places, at->hidden}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_RMS_NORM, {at->hidden, norm, at->normed}, {0}, {1e-5f}});
}

static void add_attention(method_builder *builder, layer_values *at, kz_dim t) {
    const uint32_t weight = add_weight(builder, "qkv", KZ_Q4_0, KZ_TILE16, 128, 64);
    const uint32_t bias = add_weight(builder, "qkv.bias", KZ_F32, KZ_ROWS, 0, 128);
    const uint32_t head_norm = add_weight(builder, "q_norm", KZ_F32, KZ_ROWS, 0, 16);
    const uint32_t frequencies = add_weight(builder, "inv_freq", KZ_F32, KZ_ROWS, 0, 8);
    const uint32_t qkv = add_arena(builder, KZ_F32, t, 128);
    const uint32_t q = add_view(builder, qkv, 0, 64);
    const uint32_t k = add_view(builder, qkv, 64, 32);
    const uint32_t v = add_view(builder, qkv, 96, 32);
    const uint32_t q2 = add_arena(builder, KZ_F32, t, 64);
    const uint32_t keys = add_value(builder, (kz_value){.kind = KZ_VALUE_STATE, .index = 0});
    const uint32_t values = add_value(builder, (kz_value){.kind = KZ_VALUE_STATE, .index = 1});
    const uint32_t seen = add_arena(builder, KZ_F32, t, 64);
    const uint32_t seen8 = add_arena(builder, KZ_A8, t, 64);
    const uint32_t out = add_weight(builder, "attention.out", KZ_Q4_1, KZ_TILE16, 64, 64);
    add_op(builder,
           (kz_instruction){KZ_OP_LINEAR, {at->normed, weight, bias, ABSENT, qkv}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_HEAD_RMS_NORM, {q, head_norm, q2}, {16}, {1e-6f}});
    add_op(builder,
           (kz_instruction){KZ_OP_ROPE, {q2, at->positions, frequencies}, {16, 16, 0}, {0}});
    add_op(builder,
           (kz_instruction){KZ_OP_ROPE, {k, at->positions, frequencies}, {16, 16, 1}, {0}});
    add_op(builder,
           (kz_instruction){
               KZ_OP_CACHE_WRITE, {k, at->rows, at->sequences, at->positions, keys}, {0}, {0}});
    add_op(builder,
           (kz_instruction){
               KZ_OP_CACHE_WRITE, {v, at->rows, at->sequences, at->positions, values}, {0}, {0}});
    add_op(builder,
           (kz_instruction){KZ_OP_ATTENTION,
                            {q2, keys, values, at->rows, at->sequences, at->positions, seen},
                            {4, 16},
                            {0.25f}});
    add_op(builder, (kz_instruction){KZ_OP_QUANTISE, {seen, seen8}, {0}, {0}});
    add_op(builder,
           (kz_instruction){KZ_OP_LINEAR, {seen8, out, ABSENT, at->hidden, at->hidden}, {0}, {0}});
}

static void add_feed_forward(method_builder *builder, layer_values *at, kz_dim t) {
    const uint32_t norm = add_weight(builder, "ffn_norm", KZ_F32, KZ_ROWS, 0, 64);
    const uint32_t bias = add_weight(builder, "ffn_norm.bias", KZ_F32, KZ_ROWS, 0, 64);
    const uint32_t gate_up = add_weight(builder, "gate_up", KZ_F16, KZ_TILE16, 128, 64);
    const uint32_t down = add_weight(builder, "down", KZ_Q8_0, KZ_TILE16, 64, 64);
    const uint32_t normed = add_arena(builder, KZ_F32, t, 64);
    const uint32_t both = add_arena(builder, KZ_F32, t, 128);
    const uint32_t gated = add_arena(builder, KZ_A8, t, 64);
    const uint32_t hidden = add_output(builder, "hidden", t, 64);
    add_op(builder,
           (kz_instruction){KZ_OP_LAYER_NORM, {at->hidden, norm, bias, normed}, {0}, {1e-5f}});
    add_op(builder,
           (kz_instruction){KZ_OP_LINEAR, {normed, gate_up, ABSENT, ABSENT, both}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_GATE, {both, gated}, {KZ_ACTIVATION_SILU}, {0}});
    add_op(builder,
           (kz_instruction){KZ_OP_LINEAR, {gated, down, ABSENT, at->hidden, hidden}, {0}, {0}});
}

static void add_forward(sample_program *sample) {
    method_builder builder = begin_method(sample, "forward");
    layer_values at = {0};
    const kz_dim t = kz_dim_symbol(add_symbol(&builder, "tokens", 8));
    const kz_dim s = kz_dim_symbol(add_symbol(&builder, "sequences", 2));
    const kz_dim none = {.divisor = 1};
    at.tokens = add_input(&builder, "tokens", KZ_I32, 1, t, none, 40);
    at.positions = add_input(&builder, "positions", KZ_I32, 1, t, none, 32);
    at.sequences = add_input(&builder, "sequences", KZ_I32, 1, t, none, 2);
    at.rows = add_input(&builder, "rows", KZ_I32, 2, s, kz_dim_constant(32), 64);
    add_embedding(&builder, &at, t);
    add_attention(&builder, &at, t);
    add_feed_forward(&builder, &at, t);
}

// A convolution and one encoder layer's attention.
static void add_encode(sample_program *sample) {
    method_builder builder = begin_method(sample, "encode");
    const kz_dim frames = kz_dim_symbol(add_symbol(&builder, "frames", 20));
    kz_dim halved;
    if (!kz_dim_window(&frames, 0, 2, &halved)) {
        abort();
    }
    const uint32_t mel = add_input(&builder, "mel", KZ_F32, 2, frames, kz_dim_constant(16), 0);
    const uint32_t kernel = add_weight(&builder, "conv", KZ_BF16, KZ_TILE16, 32, 48);
    const uint32_t last = add_weight(&builder, "conv.out", KZ_F32, KZ_TILE16, 24, 32);
    const uint32_t unfolded = add_arena(&builder, KZ_F32, halved, 48);
    const uint32_t rows = add_arena(&builder, KZ_F32, halved, 32);
    const uint32_t active = add_arena(&builder, KZ_F32, halved, 32);
    const uint32_t mixed = add_arena(&builder, KZ_F32, halved, 32);
    const uint32_t out = add_output(&builder, "encoded", halved, 24);
    add_op(&builder, (kz_instruction){KZ_OP_UNFOLD, {mel, unfolded}, {3, 2, 1, 1, 1}, {0}});
    add_op(&builder,
           (kz_instruction){KZ_OP_LINEAR, {unfolded, kernel, ABSENT, ABSENT, rows}, {0}, {0}});
    add_op(&builder, (kz_instruction){KZ_OP_ACTIVATE, {rows, active}, {KZ_ACTIVATION_GELU}, {0}});
    add_op(&builder,
           (kz_instruction){KZ_OP_ATTENTION_FULL, {active, active, active, mixed}, {2}, {0.25f}});
    add_op(&builder,
           (kz_instruction){
               KZ_OP_LINEAR, {mixed, last, ABSENT, ABSENT, out}, {KZ_ACTIVATION_NONE}, {0}});
}

// Values of the method "signal", as it grows.
typedef struct signal_values {
    uint32_t x, joined, mixed, up;
} signal_values;

static uint32_t add_state(method_builder *builder, uint32_t index) {
    return add_value(builder, (kz_value){.kind = KZ_VALUE_STATE, .index = index});
}

// A causal convolution by channel, a step down and a step up again.
static void add_windows(method_builder *builder, signal_values *at, kz_dim t) {
    const kz_dim longer = {.scale = {1}, .offset = 4, .divisor = 1};
    const kz_dim twice = {.scale = {2}, .offset = 1, .divisor = 1};
    const kz_dim padded = {.scale = {1}, .offset = 3, .divisor = 1};
    const uint32_t taps = add_weight(builder, "taps", KZ_F32, KZ_ROWS, 6, 16);
    const uint32_t taps_bias = add_weight(builder, "taps.bias", KZ_F32, KZ_ROWS, 0, 32);
    const uint32_t up_bias = add_weight(builder, "up.bias", KZ_F32, KZ_ROWS, 0, 8);
    at->joined = add_arena(builder, KZ_F32, longer, 16);
    at->mixed = add_arena(builder, KZ_F32, t, 32);
    at->up = add_arena(builder, KZ_F32, twice, 8);
    const uint32_t wide = add_arena(builder, KZ_F32, padded, 16);
    add_op(builder,
           (kz_instruction){KZ_OP_JOIN_TAIL, {at->x, add_state(builder, 2), at->joined}, {0}, {0}});
    add_op(builder,
           (kz_instruction){
               KZ_OP_DEPTHWISE, {at->joined, taps, taps_bias, at->mixed}, {3, 2, 0, 0, 2}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_FOLD, {at->mixed, up_bias, at->up}, {4, 2, 1, 0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_PAD, {at->x, wide}, {KZ_PAD_REFLECT, 1, 2}, {0}});
}

static void add_elementwise(method_builder *builder, const signal_values *at, kz_dim t) {
    const uint32_t alpha = add_weight(builder, "alpha", KZ_F32, KZ_ROWS, 0, 16);
    const uint32_t beta = add_weight(builder, "beta", KZ_F32, KZ_ROWS, 0, 16);
    const uint32_t waved = add_arena(builder, KZ_A8, t, 16);
    const uint32_t mapped = add_arena(builder, KZ_F32, t, 16);
    const uint32_t scaled = add_arena(builder, KZ_A16, t, 16);
    const uint32_t sizes = add_arena(builder, KZ_F32, t, 16);
    add_op(builder, (kz_instruction){KZ_OP_SNAKE, {at->x, alpha, beta, waved}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_MAP, {at->x, mapped}, {KZ_MAP_CLAMP}, {-1.0f, 1.0f}});
    add_op(builder, (kz_instruction){KZ_OP_MUL, {mapped, alpha, mapped}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_SCALE_SHIFT, {at->x, at->mixed, scaled}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_MAGNITUDE, {at->mixed, sizes}, {0}, {1e-9f}});
}

static void add_columns(method_builder *builder, const signal_values *at, kz_dim t, kz_dim frames) {
    const kz_dim one = kz_dim_constant(1);
    const uint32_t index = add_input(builder, "index", KZ_I32, 1, frames, one, 8);
    const uint32_t recurrent = add_weight(builder, "recurrent", KZ_F32, KZ_TILE16, 32, 8);
    const uint32_t hidden = add_arena(builder, KZ_F32, t, 16);
    const uint32_t forth = add_view(builder, hidden, 0, 8);
    const uint32_t back = add_view(builder, hidden, 8, 8);
    const uint32_t shares = add_arena(builder, KZ_F32, t, 16);
    const uint32_t pooled = add_arena(builder, KZ_F32, one, 32);
    const uint32_t spread = add_arena(builder, KZ_F32, frames, 32);
    const uint32_t out = add_output(builder, "picked", frames, 16);
    const uint32_t h = add_state(builder, 3);
    const uint32_t c = add_state(builder, 4);
    add_op(builder, (kz_instruction){KZ_OP_LSTM, {at->mixed, recurrent, h, c, forth}, {0, 1}, {0}});
    add_op(builder,
           (kz_instruction){KZ_OP_LSTM, {at->mixed, recurrent, ABSENT, ABSENT, back}, {1, 0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_COLUMN_NORM, {hidden, hidden}, {0}, {1e-5f}});
    add_op(builder, (kz_instruction){KZ_OP_COLUMN_SOFTMAX, {hidden, shares}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_COLUMN_POOL, {hidden, shares, pooled}, {0}, {1e-9f}});
    add_op(builder, (kz_instruction){KZ_OP_COPY, {pooled, spread}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_GATHER, {hidden, index, out}, {0}, {0}});
}

static void add_source(method_builder *builder, const signal_values *at, kz_dim t) {
    const kz_dim stretched = {.scale = {6}, .divisor = 1};
    const uint32_t rest = add_weight(builder, "rest", KZ_F32, KZ_ROWS, 0, 16);
    const uint32_t kernel = add_weight(builder, "kernel", KZ_F32, KZ_TILE16, 8, 48);
    const uint32_t kernel_bias = add_weight(builder, "kernel.bias", KZ_F32, KZ_ROWS, 0, 8);
    const uint32_t pitch = add_view(builder, at->x, 0, 1);
    const uint32_t sines = add_arena(builder, KZ_F32, stretched, 3);
    const uint32_t polar = add_arena(builder, KZ_F32, t, 32);
    const uint32_t convolved = add_arena(builder, KZ_F32, t, 8);
    add_op(builder, (kz_instruction){KZ_OP_SINES, {pitch, sines}, {6, 3}, {24000.0f, 10.0f}});
    add_op(builder, (kz_instruction){KZ_OP_POLAR, {at->mixed, rest, polar}, {0}, {1e-5f}});
    add_op(builder, (kz_instruction){KZ_OP_CONVOLVE,
                                     {at->x, kernel, kernel_bias, ABSENT, convolved},
                                     {3, 1, 1, 1, 1},
                                     {0}});
    const kz_dim one = kz_dim_constant(1);
    const uint32_t wish = add_input(builder, "wish", KZ_F32, 2, one, kz_dim_constant(32), 0);
    const uint32_t fit = add_arena(builder, KZ_F32, one, 48);
    const uint32_t adapted = add_arena(builder, KZ_A8, t, 16);
    add_op(builder, (kz_instruction){KZ_OP_COLUMN_FIT, {at->x, wish, fit}, {0}, {1e-5f}});
    add_op(builder, (kz_instruction){KZ_OP_ADAPT, {at->x, fit, rest, rest, adapted}, {0}, {0}});
    add_op(builder, (kz_instruction){KZ_OP_CONVOLVE,
                                     {at->x, kernel, ABSENT, convolved, convolved},
                                     {3, 1, 2, 4, 0},
                                     {0}});
}

static void add_signal(sample_program *sample) {
    method_builder builder = begin_method(sample, "signal");
    signal_values at = {0};
    const kz_dim t = kz_dim_symbol(add_symbol(&builder, "samples", 8));
    const kz_dim frames = kz_dim_symbol(add_symbol(&builder, "frames", 12));
    at.x = add_input(&builder, "signal", KZ_F32, 2, t, kz_dim_constant(16), 0);
    add_windows(&builder, &at, t);
    add_elementwise(&builder, &at, t);
    add_columns(&builder, &at, t, frames);
    add_source(&builder, &at, t);
}

static void add_metadata(sample_program *sample) {
    static const int64_t stops[] = {1, 2, -3};
    static const char *const languages[] = {"fr", "en", "\xc3\xa9t\xc3\xa9"};
    const kz_metadata entries[] = {
        {.key = "model.layers", .type = KZ_METADATA_INTEGER, .integer = INT64_MIN},
        {.key = "model.scale", .type = KZ_METADATA_REAL, .real = 0.1},
        {.key = "model.tied", .type = KZ_METADATA_BOOL, .integer = 1},
        {.key = "licence", .type = KZ_METADATA_STRING, .string = "free\nas air"},
        {.key = "stops", .type = KZ_METADATA_INTEGERS, .integers = stops, .count = 3},
        {.key = "languages", .type = KZ_METADATA_STRINGS, .strings = languages, .count = 3},
    };
    memcpy(sample->metadata, entries, sizeof entries);
    sample->description.metadata_count = sizeof entries / sizeof entries[0];
}

void sample_program_make(sample_program *sample) {
    static const uint8_t tokenizer[] = "tokens of a tokenizer";
    memset(sample, 0, sizeof *sample);
    kz_program_description *description = &sample->description;
    description->metadata = sample->metadata;
    description->tensors = sample->tensors;
    description->states = sample->states;
    description->state_count = 5;
    description->methods = sample->methods;
    description->tokenizer = (kz_bytes){tokenizer, sizeof tokenizer};
    description->chat_template = (kz_bytes){tokenizer, 7};
    sample->states[0] = (kz_state){"key.0", KZ_I8, 64, 2, 16};
    sample->states[1] = (kz_state){"value.0", KZ_I8, 64, 2, 16};
    sample->states[2] = (kz_state){"tail", KZ_F32, 4, 2, 8};
    sample->states[3] = (kz_state){"h", KZ_F32, 1, 1, 8};
    sample->states[4] = (kz_state){"c", KZ_F32, 1, 1, 8};
    add_metadata(sample);
    add_forward(sample);
    add_encode(sample);
    add_signal(sample);
    sample->weights = take(sample->weight_bytes);
    for (size_t i = 0; i < sample->weight_bytes; i++) {
        sample->weights[i] = (uint8_t)(i * 7 + i / 256 + 1);
    }
}

void sample_program_clear(sample_program *sample) {
    free(sample->weights);
    sample->weights = NULL;
}

kz_instruction *sample_find(sample_program *sample, uint32_t method, kz_op op, uint32_t n) {
    for (uint32_t i = 0; i < sample->methods[method].instruction_count; i++) {
        if (sample->parts[method].instructions[i].op == op && n-- == 0) {
            return &sample->parts[method].instructions[i];
        }
    }
    abort();
}

kz_value *sample_value(sample_program *sample, uint32_t method, const char *name) {
    for (uint32_t i = 0; i < sample->methods[method].value_count; i++) {
        kz_value *value = &sample->parts[method].values[i];
        if (value->name != NULL && strcmp(value->name, name) == 0) {
            return value;
        }
    }
    abort();
}

// --- Mending ------------------------------------------------------------------------------------

// The entry of section i when it lies inside the file; its checksum is made right.
static bool mend_section(uint8_t *bytes, size_t count, uint32_t i, kz_section *out_section) {
    uint8_t *entry = bytes + KZ_HEADER_BYTES + (size_t)i * KZ_SECTION_BYTES;
    kz_section section = {kz_load_u32(entry), kz_load_u64(entry + 8), kz_load_u64(entry + 16), 0};
    if (section.offset > count || section.length > count - section.offset) {
        return false;
    }
    section.checksum = section.kind == KZ_SECTION_WEIGHTS
                           ? kz_load_u64(entry + 24)
                           : kz_checksum(bytes + section.offset, (size_t)section.length);
    kz_store_u64(entry + 24, section.checksum);
    *out_section = section;
    return true;
}

// The id that the content makes; contexts are decoded as far as they can be.
static uint64_t find_id(const uint8_t *bytes, const kz_section *sections, uint32_t count) {
    kz_chunks chunks;
    kz_program_description description = {0};
    kz_chunks_init(&chunks, NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (sections[i].kind == KZ_SECTION_CONTEXTS) {
            kz_byte_reader reader = {.bytes = bytes + sections[i].offset,
                                     .count = (size_t)sections[i].length,
                                     .what = "contexts"};
            if (kz_decode_contexts(&reader, &chunks, &description) != KAZEIA_OK) {
                description.context_count = 0;
            }
        }
    }
    const uint64_t id =
        kz_content_id(sections, count, description.contexts, description.context_count);
    kz_chunks_clear(&chunks);
    return id;
}

bool program_image_mend(uint8_t *bytes, size_t count) {
    kz_section sections[KZ_SECTION_LIMIT];
    uint8_t header[KZ_HEADER_BYTES + KZ_SECTION_LIMIT * KZ_SECTION_BYTES];
    if (count < KZ_HEADER_BYTES) {
        return false;
    }
    const uint32_t section_count = kz_load_u32(bytes + 32);
    if (section_count > KZ_SECTION_LIMIT || kz_header_bytes(section_count) > count) {
        return false;
    }
    for (uint32_t i = 0; i < section_count; i++) {
        if (!mend_section(bytes, count, i, &sections[i])) {
            return false;
        }
    }
    kz_store_u64(bytes + 16, count);
    kz_store_u64(bytes + 24, find_id(bytes, sections, section_count));
    kz_store_u64(bytes + 40, 0);
    memcpy(header, bytes, kz_header_bytes(section_count));
    kz_store_u64(bytes + 40, kz_checksum(header, kz_header_bytes(section_count)));
    return true;
}

// --- Comparing ----------------------------------------------------------------------------------

typedef void (*table_encoder)(kz_byte_writer *writer, const kz_program_description *description);

static bool tables_equal(table_encoder encode, const kz_program_description *a,
                         const kz_program_description *b) {
    kz_byte_writer writers[2];
    kz_byte_writer_init(&writers[0], NULL);
    kz_byte_writer_init(&writers[1], NULL);
    encode(&writers[0], a);
    encode(&writers[1], b);
    const kz_text_buffer *first = &writers[0].buffer;
    const kz_text_buffer *second = &writers[1].buffer;
    const bool equal = writers[0].status == KAZEIA_OK && writers[1].status == KAZEIA_OK &&
                       first->count == second->count &&
                       memcmp(first->bytes, second->bytes, first->count) == 0;
    kz_byte_writer_clear(&writers[0]);
    kz_byte_writer_clear(&writers[1]);
    return equal;
}

static bool bytes_equal(kz_bytes a, kz_bytes b) {
    return a.count == b.count && (a.count == 0 || memcmp(a.bytes, b.bytes, a.count) == 0);
}

bool descriptions_equal(const kz_program_description *a, const kz_program_description *b) {
    return tables_equal(kz_encode_metadata, a, b) && tables_equal(kz_encode_tensors, a, b) &&
           tables_equal(kz_encode_states, a, b) && tables_equal(kz_encode_methods, a, b) &&
           bytes_equal(a->tokenizer, b->tokenizer) &&
           bytes_equal(a->chat_template, b->chat_template);
}
