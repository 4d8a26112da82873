// tiny_llama.c: a small decoder with random weights.
//
// in:  a shape
// out: program bytes; hidden rows and logits computed in double from the same weights
#include "tiny_llama.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define EPSILON 1e-5f

tiny_llama_shape tiny_llama_shape_default(void) {
    return (tiny_llama_shape){.heads = 4,
                              .kv_heads = 2,
                              .head_dim = 16,
                              .ffn = 96,
                              .vocabulary = 100,
                              .context = 96,
                              .sequences = 3,
                              .rows = 128,
                              .weights = KZ_F32,
                              .cache = KZ_F32,
                              .has_prefill = true,
                              .seed = 5};
}

static uint32_t qkv_rows(const tiny_llama_shape *shape) {
    return (shape->heads + 2 * shape->kv_heads) * shape->head_dim;
}

// --- Weights ------------------------------------------------------------------------------------

typedef struct layer_names {
    const char *attention_norm, *qkv, *q_norm, *k_norm, *out, *ffn_norm, *gate_up, *down, *keys,
        *values;
} layer_names;

static const layer_names names[TINY_LAYERS] = {
    {"0.attention_norm", "0.qkv", "0.q_norm", "0.k_norm", "0.out", "0.ffn_norm", "0.gate_up",
     "0.down", "key.0", "value.0"},
    {"1.attention_norm", "1.qkv", "1.q_norm", "1.k_norm", "1.out", "1.ffn_norm", "1.gate_up",
     "1.down", "key.1", "value.1"},
};

static void make_layer(tiny_llama *llama, uint32_t index) {
    const tiny_llama_shape *shape = &llama->shape;
    tiny_builder *builder = &llama->builder;
    const layer_names *name = &names[index];
    const float scale = 1.7f / sqrtf((float)llama->hidden);
    tiny_layer *layer = &llama->layers[index];
    layer->attention_norm = tiny_vector(builder, name->attention_norm, llama->hidden, 1.0f, 0.3f);
    layer->qkv =
        tiny_matrix(builder, name->qkv, shape->weights, qkv_rows(shape), llama->hidden, scale);
    layer->q_norm = tiny_vector(builder, name->q_norm, shape->head_dim, 1.0f, 0.3f);
    layer->k_norm = tiny_vector(builder, name->k_norm, shape->head_dim, 1.0f, 0.3f);
    layer->out = tiny_matrix(builder, name->out, shape->weights, llama->hidden,
                             shape->heads * shape->head_dim, scale);
    layer->ffn_norm = tiny_vector(builder, name->ffn_norm, llama->hidden, 1.0f, 0.3f);
    layer->gate_up =
        tiny_matrix(builder, name->gate_up, shape->weights, 2 * shape->ffn, llama->hidden, scale);
    layer->down =
        tiny_matrix(builder, name->down, shape->weights, llama->hidden, shape->ffn, scale);
    layer->keys = tiny_state(builder, name->keys, shape->cache, shape->rows, shape->kv_heads,
                             shape->head_dim);
    layer->values = tiny_state(builder, name->values, shape->cache, shape->rows, shape->kv_heads,
                               shape->head_dim);
}

static void make_weights(tiny_llama *llama) {
    const tiny_llama_shape *shape = &llama->shape;
    float inv_freq[64];
    for (uint32_t i = 0; i < shape->head_dim / 2; i++) {
        inv_freq[i] = powf(10000.0f, -2.0f * (float)i / (float)shape->head_dim);
    }
    llama->embedding = tiny_matrix(&llama->builder, "embedding", shape->weights, shape->vocabulary,
                                   llama->hidden, 1.0f);
    llama->inv_freq = tiny_constant(&llama->builder, "inv_freq", inv_freq, shape->head_dim / 2);
    for (uint32_t i = 0; i < TINY_LAYERS; i++) {
        make_layer(llama, i);
    }
    llama->final_norm = tiny_vector(&llama->builder, "final_norm", llama->hidden, 1.0f, 0.3f);
    llama->head = tiny_matrix(&llama->builder, "head", shape->weights, shape->vocabulary,
                              llama->hidden, 0.4f);
}

// --- Methods ------------------------------------------------------------------------------------

typedef struct forward_values {
    tiny_method *method;
    kz_dim tokens;
    uint32_t positions, sequences, table, inv_freq;
    kz_type activation; // of rows that a matrix reads
} forward_values;

static uint32_t norm(forward_values *f, uint32_t x, uint32_t weight, uint32_t columns,
                     uint32_t out) {
    const uint32_t to =
        out != KZ_NO_VALUE ? out : tiny_rows(f->method, f->activation, f->tokens, columns);
    tiny_add(f->method, KZ_OP_RMS_NORM, (uint32_t[]){x, tiny_weight_value(f->method, weight), to},
             3)
        ->floats[0] = EPSILON;
    return to;
}

static uint32_t linear(forward_values *f, uint32_t x, uint32_t weight, uint32_t rows,
                       uint32_t residual) {
    const uint32_t out = tiny_rows(f->method, KZ_F32, f->tokens, rows);
    tiny_add(f->method, KZ_OP_LINEAR,
             (uint32_t[]){x, tiny_weight_value(f->method, weight), KZ_NO_VALUE, residual, out}, 5);
    return out;
}

static void rotate(forward_values *f, const tiny_llama_shape *shape, uint32_t x) {
    kz_instruction *rope =
        tiny_add(f->method, KZ_OP_ROPE, (uint32_t[]){x, f->positions, f->inv_freq}, 3);
    rope->ints[0] = (int32_t)shape->head_dim;
    rope->ints[1] = (int32_t)shape->head_dim;
    rope->ints[2] = shape->rotates_pairs;
}

static uint32_t head_norm(forward_values *f, const tiny_llama_shape *shape, uint32_t x,
                          uint32_t weight, uint32_t heads) {
    if (!shape->has_head_norms) {
        return x;
    }
    const uint32_t out = tiny_rows(f->method, KZ_F32, f->tokens, heads * shape->head_dim);
    kz_instruction *instruction =
        tiny_add(f->method, KZ_OP_HEAD_RMS_NORM,
                 (uint32_t[]){x, tiny_weight_value(f->method, weight), out}, 3);
    instruction->ints[0] = (int32_t)shape->head_dim;
    instruction->floats[0] = EPSILON;
    return out;
}

static uint32_t attend(forward_values *f, const tiny_llama *llama, uint32_t index, uint32_t qkv) {
    const tiny_llama_shape *shape = &llama->shape;
    const tiny_layer *layer = &llama->layers[index];
    const uint32_t q_columns = shape->heads * shape->head_dim;
    const uint32_t kv_columns = shape->kv_heads * shape->head_dim;
    const uint32_t q =
        head_norm(f, shape, tiny_view(f->method, qkv, 0, q_columns), layer->q_norm, shape->heads);
    const uint32_t k = head_norm(f, shape, tiny_view(f->method, qkv, q_columns, kv_columns),
                                 layer->k_norm, shape->kv_heads);
    const uint32_t v = tiny_view(f->method, qkv, q_columns + kv_columns, kv_columns);
    const uint32_t keys = tiny_state_value(f->method, layer->keys);
    const uint32_t values = tiny_state_value(f->method, layer->values);
    rotate(f, shape, q);
    rotate(f, shape, k);
    tiny_add(f->method, KZ_OP_CACHE_WRITE,
             (uint32_t[]){k, f->table, f->sequences, f->positions, keys}, 5);
    tiny_add(f->method, KZ_OP_CACHE_WRITE,
             (uint32_t[]){v, f->table, f->sequences, f->positions, values}, 5);
    const uint32_t out = tiny_rows(f->method, KZ_F32, f->tokens, q_columns);
    kz_instruction *attention =
        tiny_add(f->method, KZ_OP_ATTENTION,
                 (uint32_t[]){q, keys, values, f->table, f->sequences, f->positions, out}, 7);
    attention->ints[0] = (int32_t)shape->heads;
    attention->ints[1] = index == 0 ? (int32_t)shape->window : 0;
    attention->floats[0] = 1.0f / sqrtf((float)shape->head_dim);
    return out;
}

static bool is_float(kz_type type) {
    return type == KZ_F32 || type == KZ_F16 || type == KZ_BF16;
}

static kz_type activation_of(const tiny_llama_shape *shape) {
    if (is_float(shape->weights)) {
        return KZ_F32;
    }
    return shape->has_fine_activations ? KZ_A16 : KZ_A8;
}

static uint32_t as_activation(forward_values *f, uint32_t x, uint32_t columns) {
    if (f->activation == KZ_F32) {
        return x;
    }
    const uint32_t out = tiny_rows(f->method, f->activation, f->tokens, columns);
    tiny_add(f->method, KZ_OP_QUANTISE, (uint32_t[]){x, out}, 2);
    return out;
}

static uint32_t add_layer(forward_values *f, const tiny_llama *llama, uint32_t index, uint32_t x) {
    const tiny_llama_shape *shape = &llama->shape;
    const tiny_layer *layer = &llama->layers[index];
    uint32_t rows = norm(f, x, layer->attention_norm, llama->hidden, KZ_NO_VALUE);
    rows = attend(f, llama, index, linear(f, rows, layer->qkv, qkv_rows(shape), KZ_NO_VALUE));
    rows = as_activation(f, rows, shape->heads * shape->head_dim);
    x = linear(f, rows, layer->out, llama->hidden, x);
    rows = norm(f, x, layer->ffn_norm, llama->hidden, KZ_NO_VALUE);
    rows = linear(f, rows, layer->gate_up, 2 * shape->ffn, KZ_NO_VALUE);
    const uint32_t gated = tiny_rows(f->method, f->activation, f->tokens, shape->ffn);
    tiny_add(f->method, KZ_OP_GATE, (uint32_t[]){rows, gated}, 2)->ints[0] = KZ_ACTIVATION_SILU;
    return linear(f, gated, layer->down, llama->hidden, x);
}

static void make_forward(tiny_llama *llama, const char *name, uint32_t most_tokens) {
    const tiny_llama_shape *shape = &llama->shape;
    tiny_method *method = tiny_begin_method(&llama->builder, name);
    const kz_dim tokens = kz_dim_symbol(tiny_symbol(method, "tokens", most_tokens));
    const kz_dim sequences = kz_dim_symbol(tiny_symbol(method, "sequences", shape->sequences));
    const kz_dim none = kz_dim_constant(1);
    forward_values f = {.method = method, .tokens = tokens, .activation = activation_of(shape)};
    const uint32_t ids = tiny_input(method, "tokens", KZ_I32, shape->vocabulary, 1, tokens, none);
    f.positions = tiny_input(method, "positions", KZ_I32, shape->context, 1, tokens, none);
    f.sequences = tiny_input(method, "sequences", KZ_I32, shape->sequences, 1, tokens, none);
    f.table = tiny_input(method, "row_table", KZ_I32, shape->rows, 2, sequences,
                         kz_dim_constant(shape->context));
    f.inv_freq = tiny_weight_value(method, llama->inv_freq);
    uint32_t x = tiny_rows(method, KZ_F32, tokens, llama->hidden);
    tiny_add(method, KZ_OP_EMBED, (uint32_t[]){ids, tiny_weight_value(method, llama->embedding), x},
             3)
        ->floats[0] = 1.0f;
    for (uint32_t i = 0; i < TINY_LAYERS; i++) {
        x = add_layer(&f, llama, i, x);
    }
    norm(&f, x, llama->final_norm, llama->hidden,
         tiny_output(method, "hidden", tokens, llama->hidden));
}

static void make_logits(tiny_llama *llama) {
    const tiny_llama_shape *shape = &llama->shape;
    tiny_method *method = tiny_begin_method(&llama->builder, "logits");
    const kz_dim rows = kz_dim_symbol(tiny_symbol(method, "rows", 8));
    forward_values f = {.method = method, .tokens = rows, .activation = activation_of(shape)};
    const uint32_t hidden =
        tiny_input(method, "hidden", KZ_F32, 0, 2, rows, kz_dim_constant(llama->hidden));
    const uint32_t out = tiny_output(method, "logits", rows, shape->vocabulary);
    const uint32_t x = as_activation(&f, hidden, llama->hidden);
    tiny_add(method, KZ_OP_LINEAR,
             (uint32_t[]){x, tiny_weight_value(method, llama->head), KZ_NO_VALUE, KZ_NO_VALUE, out},
             5);
}

void tiny_llama_init(tiny_llama *llama, const tiny_llama_shape *shape) {
    memset(llama, 0, sizeof *llama);
    llama->shape = *shape;
    llama->hidden = shape->heads * shape->head_dim;
    tiny_builder_init(&llama->builder, shape->seed);
    make_weights(llama);
    if (shape->has_prefill) {
        make_forward(llama, "prefill_forward", TINY_PREFILL);
    }
    make_forward(llama, "kv_forward", TINY_STEP);
    make_logits(llama);
    tiny_set_string(&llama->builder, "ability", "chat");
    tiny_set_integer(&llama->builder, "model.context", shape->context);
}

void tiny_llama_finish(tiny_llama *llama) {
    if (tiny_write(&llama->builder, &llama->bytes, &llama->count) != KAZEIA_OK) {
        fprintf(stderr, "tiny llama: %s\n", kazeia_last_error());
        abort();
    }
}

void tiny_llama_clear(tiny_llama *llama) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_free_aligned(&memory, llama->bytes);
    tiny_builder_clear(&llama->builder);
}

// --- The reference ------------------------------------------------------------------------------

static double *take(size_t count) {
    double *memory = calloc(count, sizeof *memory);
    if (!memory) {
        abort();
    }
    return memory;
}

static void norm_row(const double *x, const float *weight, size_t count, double *out) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += x[i] * x[i];
    }
    const double scale = 1.0 / sqrt(sum / (double)count + (double)EPSILON);
    for (size_t i = 0; i < count; i++) {
        out[i] = x[i] * scale * (double)weight[i];
    }
}

static void multiply(const double *x, const float *weight, size_t rows, size_t columns,
                     double *out) {
    for (size_t r = 0; r < rows; r++) {
        double sum = 0.0;
        for (size_t k = 0; k < columns; k++) {
            sum += x[k] * (double)weight[r * columns + k];
        }
        out[r] = sum;
    }
}

static void rotate_head(const tiny_llama *llama, double *head, size_t position) {
    const size_t half = llama->shape.head_dim / 2;
    const float *inv_freq = llama->builder.floats[llama->inv_freq];
    for (size_t i = 0; i < half; i++) {
        const size_t first = llama->shape.rotates_pairs ? 2 * i : i;
        const size_t second = llama->shape.rotates_pairs ? 2 * i + 1 : i + half;
        const double angle = (double)position * (double)inv_freq[i];
        const double a = head[first], b = head[second];
        head[first] = a * cos(angle) - b * sin(angle);
        head[second] = a * sin(angle) + b * cos(angle);
    }
}

static void prepare_heads(const tiny_llama *llama, const float *weight, double *heads, size_t count,
                          size_t position) {
    const size_t head_dim = llama->shape.head_dim;
    for (size_t h = 0; h < count; h++) {
        double *head = heads + h * head_dim;
        if (llama->shape.has_head_norms) {
            double normed[64];
            norm_row(head, weight, head_dim, normed);
            memcpy(head, normed, head_dim * sizeof *head);
        }
        rotate_head(llama, head, position);
    }
}

// One query head over positions [first, position]; rows are qkv rows of all positions.
static void attend_head(const tiny_llama *llama, const double *qkv, size_t head, size_t first,
                        size_t position, double *out) {
    const tiny_llama_shape *shape = &llama->shape;
    const size_t stride = qkv_rows(shape), head_dim = shape->head_dim;
    const size_t kv = head / (shape->heads / shape->kv_heads);
    const double *q = qkv + position * stride + head * head_dim;
    const size_t k_column = (shape->heads + kv) * head_dim;
    const size_t v_column = (shape->heads + shape->kv_heads + kv) * head_dim;
    double weights[256], sum = 0.0, best = -INFINITY;
    for (size_t i = first; i <= position; i++) {
        double score = 0.0;
        for (size_t d = 0; d < head_dim; d++) {
            score += q[d] * qkv[i * stride + k_column + d];
        }
        weights[i] = score / sqrt((double)head_dim);
        best = fmax(best, weights[i]);
    }
    memset(out, 0, head_dim * sizeof *out);
    for (size_t i = first; i <= position; i++) {
        weights[i] = exp(weights[i] - best);
        sum += weights[i];
        for (size_t d = 0; d < head_dim; d++) {
            out[d] += weights[i] * qkv[i * stride + v_column + d];
        }
    }
    for (size_t d = 0; d < head_dim; d++) {
        out[d] /= sum;
    }
}

// Keys and values of every position must be there before the first query looks.
static double *make_qkv(const tiny_llama *llama, const tiny_layer *layer, const double *x,
                        size_t count) {
    const tiny_llama_shape *shape = &llama->shape;
    float *const *floats = llama->builder.floats;
    double *qkv = take(count * qkv_rows(shape));
    double *normed = take(llama->hidden);
    for (size_t t = 0; t < count; t++) {
        double *row = qkv + t * qkv_rows(shape);
        norm_row(x + t * llama->hidden, floats[layer->attention_norm], llama->hidden, normed);
        multiply(normed, floats[layer->qkv], qkv_rows(shape), llama->hidden, row);
        prepare_heads(llama, floats[layer->q_norm], row, shape->heads, t);
        prepare_heads(llama, floats[layer->k_norm], row + shape->heads * shape->head_dim,
                      shape->kv_heads, t);
    }
    free(normed);
    return qkv;
}

static void feed_forward(const tiny_llama *llama, const tiny_layer *layer, double *x) {
    const size_t ffn = llama->shape.ffn;
    float *const *floats = llama->builder.floats;
    double *normed = take(llama->hidden), *gate = take(2 * ffn), *down = take(llama->hidden);
    norm_row(x, floats[layer->ffn_norm], llama->hidden, normed);
    multiply(normed, floats[layer->gate_up], 2 * ffn, llama->hidden, gate);
    for (size_t i = 0; i < ffn; i++) {
        gate[i] = gate[i] / (1.0 + exp(-gate[i])) * gate[ffn + i];
    }
    multiply(gate, floats[layer->down], llama->hidden, ffn, down);
    for (size_t i = 0; i < llama->hidden; i++) {
        x[i] += down[i];
    }
    free(normed);
    free(gate);
    free(down);
}

static void run_layer(const tiny_llama *llama, uint32_t index, double *x, size_t count) {
    const tiny_llama_shape *shape = &llama->shape;
    const tiny_layer *layer = &llama->layers[index];
    const size_t window = index == 0 ? shape->window : 0;
    double *qkv = make_qkv(llama, layer, x, count);
    double *heads = take(shape->heads * shape->head_dim), *out = take(llama->hidden);
    for (size_t t = 0; t < count; t++) {
        const size_t first = window && t + 1 > window ? t + 1 - window : 0;
        for (size_t h = 0; h < shape->heads; h++) {
            attend_head(llama, qkv, h, first, t, heads + h * shape->head_dim);
        }
        multiply(heads, llama->builder.floats[layer->out], llama->hidden,
                 shape->heads * shape->head_dim, out);
        for (size_t i = 0; i < llama->hidden; i++) {
            x[t * llama->hidden + i] += out[i];
        }
        feed_forward(llama, layer, x + t * llama->hidden);
    }
    free(qkv);
    free(heads);
    free(out);
}

void tiny_llama_forward(const tiny_llama *llama, const int32_t *ids, size_t count,
                        double *out_hidden, double *out_logits) {
    float *const *floats = llama->builder.floats;
    double *x = take(count * llama->hidden);
    for (size_t t = 0; t < count; t++) {
        for (size_t i = 0; i < llama->hidden; i++) {
            x[t * llama->hidden + i] =
                (double)floats[llama->embedding][(size_t)ids[t] * llama->hidden + i];
        }
    }
    for (uint32_t layer = 0; layer < TINY_LAYERS; layer++) {
        run_layer(llama, layer, x, count);
    }
    for (size_t t = 0; t < count; t++) {
        double *hidden = out_hidden + t * llama->hidden;
        norm_row(x + t * llama->hidden, floats[llama->final_norm], llama->hidden, hidden);
        multiply(hidden, floats[llama->head], llama->shape.vocabulary, llama->hidden,
                 out_logits + t * llama->shape.vocabulary);
    }
    free(x);
}
