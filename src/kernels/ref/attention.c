// attention.c: plain attention, over cache rows and over all tokens of an encoder.
//
// in: queries, and keys and values in the cache's type. out: [heads][head_dim] floats a token. One
// token, one head at a time, in parts of rows (kernels.h), each with a maximum of its own, so that
// memory does not grow with the context.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/variants.h"

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

// Turns scores into weights, relative to exp(their maximum).
static kz_part_softmax soften(float *scores, size_t count) {
    kz_part_softmax softmax = {-INFINITY, 0.0f};
    for (size_t i = 0; i < count; i++) {
        softmax.largest = scores[i] <= softmax.largest ? softmax.largest : scores[i];
    }
    for (size_t i = 0; i < count; i++) {
        // A score that is NaN reaches the total through its own weight, whatever the maximum is.
        scores[i] = scores[i] == -INFINITY ? 0.0f : expf(scores[i] - softmax.largest);
        softmax.total += scores[i];
    }
    return softmax;
}

// Brings the running sums [head_dim] and those of a part to their common maximum.
static void join(kz_part_softmax *running, float *sums, kz_part_softmax part, const float *added,
                 size_t head_dim) {
    const float largest = part.largest <= running->largest ? running->largest : part.largest;
    const bool is_empty = largest == -INFINITY;
    const float before = is_empty ? 1.0f : expf(running->largest - largest);
    const float now = is_empty ? 1.0f : expf(part.largest - largest);
    running->total = running->total * before + part.total * now;
    running->largest = largest;
    for (size_t i = 0; i < head_dim; i++) {
        sums[i] = sums[i] * before + added[i] * now;
    }
}

// A token always sees its own row, so the total is at least 1, the weight of the largest score.
static void divide(float *sums, float total, size_t head_dim) {
    for (size_t i = 0; i < head_dim; i++) {
        sums[i] /= total;
    }
}

// One query head over one part, into sums [head_dim].
static kz_part_softmax attend_head(const kz_attention *attention, size_t head, size_t token,
                                   size_t part, dot_head dot, add_head add, float *sums) {
    const size_t head_dim = attention->head_dim;
    // Neighbouring query heads share a kv head (grouped queries, Ainslie et al. 2023).
    const size_t kv_offset = head * attention->kv_heads / attention->heads * attention->head_bytes;
    const int32_t *rows =
        attention->row_table + (size_t)attention->sequences[token] * attention->row_table_columns;
    const float *q = (const float *)((const char *)attention->q + token * attention->q_stride);
    // Sequences, positions and table entries were compared with their limits before the call
    // (kz_input_limit in format/program.h): no index below leaves the state.
    const size_t end = (size_t)attention->positions[token] + 1;
    const size_t window = attention->window;
    const size_t seen = window > 0 && end > window ? end - window : 0;
    const size_t part_first = part * kz_attention_part_rows(head_dim);
    const size_t part_end = part_first + kz_attention_part_rows(head_dim);
    const size_t first = seen > part_first ? seen : part_first;
    const size_t count = (end < part_end ? end : part_end) - first;
    float scores[KZ_PART_ROWS];
    for (size_t i = 0; i < count; i++) {
        const size_t at = (size_t)rows[first + i] * attention->row_bytes + kv_offset;
        scores[i] = attention->scale * dot(q + head * head_dim, attention->keys + at, head_dim);
    }
    const kz_part_softmax softmax = soften(scores, count);
    memset(sums, 0, head_dim * sizeof *sums);
    for (size_t i = 0; i < count; i++) {
        const size_t at = (size_t)rows[first + i] * attention->row_bytes + kv_offset;
        add(scores[i], attention->values + at, head_dim, sums);
    }
    return softmax;
}

static void attend_part(const kz_attention *attention, size_t kv_head, size_t token, size_t part,
                        dot_head dot, add_head add, float *out_part) {
    const size_t group = attention->heads / attention->kv_heads;
    for (size_t g = 0; g < group; g++) {
        const kz_part_softmax softmax = attend_head(attention, kv_head * group + g, token, part,
                                                    dot, add, out_part + g * attention->head_dim);
        memcpy(out_part + group * attention->head_dim + 2 * g, &softmax, sizeof softmax);
    }
}

// `added` is scratch.
static void attend(const kz_attention *attention, size_t kv_head, size_t token, size_t token_end,
                   dot_head dot, add_head add, float *added) {
    const size_t group = attention->heads / attention->kv_heads;
    const size_t head_dim = attention->head_dim;
    for (size_t t = token; t < token_end; t++) {
        const kz_part_range parts = kz_attention_parts(attention, t);
        for (size_t head = kv_head * group; head < (kv_head + 1) * group; head++) {
            float *sums =
                (float *)((char *)attention->out + t * attention->out_stride) + head * head_dim;
            kz_part_softmax running = {-INFINITY, 0.0f};
            memset(sums, 0, head_dim * sizeof *sums);
            for (size_t p = parts.first; p < parts.end; p++) {
                const kz_part_softmax softmax = attend_head(attention, head, t, p, dot, add, added);
                join(&running, sums, softmax, added, head_dim);
            }
            divide(sums, running.total, head_dim);
        }
    }
}

void kz_attention_join__ref(const kz_attention *attention, size_t kv_head, size_t token,
                            size_t part_count, const float *parts) {
    const size_t group = attention->heads / attention->kv_heads;
    const size_t head_dim = attention->head_dim;
    float *out = (float *)((char *)attention->out + token * attention->out_stride) +
                 kv_head * group * head_dim;
    memset(out, 0, group * head_dim * sizeof *out);
    for (size_t g = 0; g < group; g++) {
        kz_part_softmax running = {-INFINITY, 0.0f};
        for (size_t p = 0; p < part_count; p++) {
            const float *part =
                parts + p * attention->kv_heads * kz_attention_part_floats(attention);
            kz_part_softmax softmax;
            memcpy(&softmax, part + group * head_dim + 2 * g, sizeof softmax);
            join(&running, out + g * head_dim, softmax, part + g * head_dim, head_dim);
        }
        divide(out + g * head_dim, running.total, head_dim);
    }
}

#define ATTENTION_KERNELS(type)                                                                    \
    void kz_attention_##type##__ref(const kz_attention *attention, size_t kv_head, size_t token,   \
                                    size_t token_end, void *scratch) {                             \
        attend(attention, kv_head, token, token_end, dot_##type, add_##type, scratch);             \
    }                                                                                              \
    void kz_attention_part_##type##__ref(const kz_attention *attention, size_t token, size_t part, \
                                         size_t kv_head, size_t kv_head_end, float *out_parts) {   \
        for (; kv_head < kv_head_end; kv_head++) {                                                 \
            attend_part(attention, kv_head, token, part, dot_##type, add_##type, out_parts);       \
            out_parts += kz_attention_part_floats(attention);                                      \
        }                                                                                          \
    }

ATTENTION_KERNELS(f32)
ATTENTION_KERNELS(f16)
ATTENTION_KERNELS(i8)

// `base` is a head's place in token 0.
static const float *head_at(const float *base, size_t stride, size_t token) {
    return (const float *)((const char *)base + token * stride);
}

// scratch: floats [head_dim].
static void attend_all(const kz_attention_full *attention, size_t head, size_t token,
                       float *scratch) {
    const size_t head_dim = attention->head_dim;
    const size_t offset = head * head_dim;
    const float *q = head_at(attention->q + offset, attention->q_stride, token);
    float *out = (float *)((char *)attention->out + token * attention->out_stride) + offset;
    kz_part_softmax running = {-INFINITY, 0.0f};
    memset(out, 0, head_dim * sizeof *out);
    for (size_t i = 0; i < attention->tokens; i += KZ_PART_ROWS) {
        const size_t left = attention->tokens - i;
        const size_t count = left < KZ_PART_ROWS ? left : KZ_PART_ROWS;
        float scores[KZ_PART_ROWS];
        for (size_t j = 0; j < count; j++) {
            const float *key = head_at(attention->k + offset, attention->k_stride, i + j);
            scores[j] = attention->scale * dot_f32(q, key, head_dim);
        }
        const kz_part_softmax softmax = soften(scores, count);
        memset(scratch, 0, head_dim * sizeof *scratch);
        for (size_t j = 0; j < count; j++) {
            const float *value = head_at(attention->v + offset, attention->v_stride, i + j);
            add_f32(scores[j], value, head_dim, scratch);
        }
        join(&running, out, softmax, scratch, head_dim);
    }
    divide(out, running.total, head_dim);
}

void kz_attention_full__ref(const kz_attention_full *attention, size_t head, size_t token,
                            size_t token_end, void *scratch) {
    for (size_t t = token; t < token_end; t++) {
        attend_all(attention, head, t, scratch);
    }
}
