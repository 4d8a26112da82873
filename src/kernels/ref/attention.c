// attention.c: plain attention, over cache rows and over all tokens of an encoder.
//
// in: queries, and keys and values in the cache's type. out: [heads][head_dim] floats a token. One
// token, one head at a time, in chunks of rows with a running maximum (the "online softmax" of
// Milakov and Gimelshein, 2018), so that memory does not grow with the context.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/variants.h"

// A chunk's scores are 1 KB of the thread's scratch: they stay in the first cache.
#define CHUNK_ROWS 256

// Dot product with, or weighted addition of, one head of one cache row.
typedef float (*dot_head)(const float *q, const void *head, size_t head_dim);
typedef void (*add_head)(float weight, const void *head, size_t head_dim, float *sums);

static float dot_f32(const float *q, const void *head, size_t head_dim) {
    const float *values = head;
    float sum = 0.0f;
    for (size_t i = 0; i < head_dim; i++) {
        sum += q[i] * values[i];
    }
    return sum;
}

static void add_f32(float weight, const void *head, size_t head_dim, float *sums) {
    const float *values = head;
    for (size_t i = 0; i < head_dim; i++) {
        sums[i] += weight * values[i];
    }
}

static float dot_f16(const float *q, const void *head, size_t head_dim) {
    const uint16_t *values = head;
    float sum = 0.0f;
    for (size_t i = 0; i < head_dim; i++) {
        sum += q[i] * kz_float_from_f16(values[i]);
    }
    return sum;
}

static void add_f16(float weight, const void *head, size_t head_dim, float *sums) {
    const uint16_t *values = head;
    for (size_t i = 0; i < head_dim; i++) {
        sums[i] += weight * kz_float_from_f16(values[i]);
    }
}

static float dot_i8(const float *q, const void *head, size_t head_dim) {
    const int8_t *values = (const int8_t *)head + sizeof(float);
    float scale;
    float sum = 0.0f;
    memcpy(&scale, head, sizeof scale);
    for (size_t i = 0; i < head_dim; i++) {
        sum += q[i] * (float)values[i];
    }
    // One scale serves the whole head, so it is taken out of the sum.
    return sum * scale;
}

static void add_i8(float weight, const void *head, size_t head_dim, float *sums) {
    const int8_t *values = (const int8_t *)head + sizeof(float);
    float scale;
    memcpy(&scale, head, sizeof scale);
    for (size_t i = 0; i < head_dim; i++) {
        sums[i] += weight * scale * (float)values[i];
    }
}

// Sums over rows seen so far: `sums` [head_dim] and `total` are relative to exp(largest).
typedef struct running_softmax {
    float largest;
    float total;
    float *sums;
    size_t head_dim;
} running_softmax;

static running_softmax begin_softmax(float *sums, size_t head_dim) {
    memset(sums, 0, head_dim * sizeof *sums);
    return (running_softmax){-INFINITY, 0.0f, sums, head_dim};
}

// Turns a chunk's scores into weights and brings the older sums to the new maximum.
static void take_chunk(running_softmax *running, float *scores, size_t count) {
    float largest = running->largest;
    for (size_t i = 0; i < count; i++) {
        largest = scores[i] <= largest ? largest : scores[i];
    }
    // As long as every score was -inf, the difference of the maxima is no number; all sums are zero
    // then, and any finite factor keeps them so.
    const float factor = largest == -INFINITY ? 1.0f : expf(running->largest - largest);
    running->total *= factor;
    for (size_t i = 0; i < running->head_dim; i++) {
        running->sums[i] *= factor;
    }
    for (size_t i = 0; i < count; i++) {
        // A score that is NaN reaches the total through its own weight, whatever the maximum is.
        scores[i] = scores[i] == -INFINITY ? 0.0f : expf(scores[i] - largest);
        running->total += scores[i];
    }
    running->largest = largest;
}

// A token always sees its own row, so the total is at least 1, the weight of the largest score.
static void end_softmax(const running_softmax *running) {
    for (size_t i = 0; i < running->head_dim; i++) {
        running->sums[i] /= running->total;
    }
}

static void attend_token(const kz_attention *attention, size_t head, size_t token, dot_head dot,
                         add_head add, float *scores) {
    const size_t head_dim = attention->head_dim;
    // Neighbouring query heads share a kv head (grouped queries, Ainslie et al. 2023).
    const size_t kv_offset = head * attention->kv_heads / attention->heads * attention->head_bytes;
    const int32_t *rows =
        attention->row_table + (size_t)attention->sequences[token] * attention->row_table_columns;
    const float *q = (const float *)((const char *)attention->q + token * attention->q_stride);
    float *out = (float *)((char *)attention->out + token * attention->out_stride);
    running_softmax running = begin_softmax(out + head * head_dim, head_dim);
    // Sequences, positions and table entries were compared with their limits before the call
    // (kz_input_limit in format/program.h): no index below leaves the state.
    const size_t end = (size_t)attention->positions[token] + 1;
    const size_t window = attention->window;
    for (size_t i = window > 0 && end > window ? end - window : 0; i < end; i += CHUNK_ROWS) {
        const size_t count = end - i < CHUNK_ROWS ? end - i : CHUNK_ROWS;
        for (size_t j = 0; j < count; j++) {
            const size_t at = (size_t)rows[i + j] * attention->row_bytes + kv_offset;
            scores[j] = attention->scale * dot(q + head * head_dim, attention->keys + at, head_dim);
        }
        take_chunk(&running, scores, count);
        for (size_t j = 0; j < count; j++) {
            const size_t at = (size_t)rows[i + j] * attention->row_bytes + kv_offset;
            add(scores[j], attention->values + at, head_dim, running.sums);
        }
    }
    end_softmax(&running);
}

static void attend(const kz_attention *attention, size_t kv_head, size_t token, size_t token_end,
                   dot_head dot, add_head add, float *scores) {
    const size_t group = attention->heads / attention->kv_heads;
    for (size_t t = token; t < token_end; t++) {
        for (size_t g = 0; g < group; g++) {
            attend_token(attention, kv_head * group + g, t, dot, add, scores);
        }
    }
}

void kz_attention_f32__ref(const kz_attention *attention, size_t kv_head, size_t token,
                           size_t token_end, void *scratch) {
    attend(attention, kv_head, token, token_end, dot_f32, add_f32, scratch);
}

void kz_attention_f16__ref(const kz_attention *attention, size_t kv_head, size_t token,
                           size_t token_end, void *scratch) {
    attend(attention, kv_head, token, token_end, dot_f16, add_f16, scratch);
}

void kz_attention_i8__ref(const kz_attention *attention, size_t kv_head, size_t token,
                          size_t token_end, void *scratch) {
    attend(attention, kv_head, token, token_end, dot_i8, add_i8, scratch);
}

// `base` is a head's place in token 0.
static const float *head_at(const float *base, size_t stride, size_t token) {
    return (const float *)((const char *)base + token * stride);
}

static void attend_all(const kz_attention_full *attention, size_t head, size_t token,
                       float *scores) {
    const size_t head_dim = attention->head_dim;
    const size_t offset = head * head_dim;
    const float *q = head_at(attention->q + offset, attention->q_stride, token);
    float *out = (float *)((char *)attention->out + token * attention->out_stride) + offset;
    running_softmax running = begin_softmax(out, head_dim);
    for (size_t i = 0; i < attention->tokens; i += CHUNK_ROWS) {
        const size_t left = attention->tokens - i;
        const size_t count = left < CHUNK_ROWS ? left : CHUNK_ROWS;
        for (size_t j = 0; j < count; j++) {
            const float *key = head_at(attention->k + offset, attention->k_stride, i + j);
            scores[j] = attention->scale * dot_f32(q, key, head_dim);
        }
        take_chunk(&running, scores, count);
        for (size_t j = 0; j < count; j++) {
            const float *value = head_at(attention->v + offset, attention->v_stride, i + j);
            add_f32(scores[j], value, head_dim, out);
        }
    }
    end_softmax(&running);
}

void kz_attention_full__ref(const kz_attention_full *attention, size_t head, size_t token,
                            size_t token_end, void *scratch) {
    for (size_t t = token; t < token_end; t++) {
        attend_all(attention, head, t, scratch);
    }
}
