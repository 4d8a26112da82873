// check_attention.c: attention against softmax in double: see checks.h.
//
// Caches are written by the reference writer and decoded by their formula. Rows are shuffled,
// several sequences share the cache, and a row that nobody may see holds NaN.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "checks.h"

#define SPARE 7
#define SEQUENCES 2

typedef struct attention_case {
    kz_type type;
    kz_attention a;
    size_t tokens, rows;
} attention_case;

static size_t head_bytes(kz_type type, size_t head_dim) {
    return type == KZ_F32 ? head_dim * 4 : type == KZ_F16 ? head_dim * 2 : head_dim + 4;
}

static void write_row(kz_type type, const float *x, size_t heads, size_t head_dim, void *out_row) {
    if (type == KZ_F32) {
        kz_cache_write_f32__ref(x, heads, head_dim, out_row);
    } else if (type == KZ_F16) {
        kz_cache_write_f16__ref(x, heads, head_dim, out_row);
    } else {
        kz_cache_write_i8__ref(x, heads, head_dim, out_row);
    }
}

static double cached(kz_type type, const uint8_t *head, size_t at) {
    float scale;
    uint16_t half;
    if (type == KZ_F32) {
        memcpy(&scale, head + 4 * at, sizeof scale);
        return scale;
    }
    if (type == KZ_F16) {
        memcpy(&half, head + 2 * at, sizeof half);
        return kz_float_from_f16(half);
    }
    memcpy(&scale, head, sizeof scale);
    return (double)scale * (int8_t)head[sizeof scale + at];
}

// Row 0 holds NaN; no row table names it.
static uint8_t *make_cache(case_random *random, const attention_case *made, float size) {
    const size_t width = made->a.kv_heads * made->a.head_dim;
    uint8_t *cache = case_memory(made->rows * made->a.row_bytes + 64);
    for (size_t i = 0; i < made->rows; i++) {
        float *row = case_floats(random, width, size);
        row[0] = i == 0 ? NAN : row[0];
        write_row(made->type, row, made->a.kv_heads, made->a.head_dim,
                  cache + i * made->a.row_bytes);
        free(row);
    }
    return cache;
}

// A shuffle of the rows 1.. for each sequence.
static int32_t *make_table(case_random *random, size_t columns) {
    int32_t *table = case_memory(SEQUENCES * columns * sizeof *table);
    for (size_t s = 0; s < SEQUENCES; s++) {
        int32_t *rows = table + s * columns;
        for (size_t i = 0; i < columns; i++) {
            const size_t other = case_below(random, i + 1);
            rows[i] = rows[other];
            rows[other] = (int32_t)(i + 1);
        }
    }
    return table;
}

// Runs of tokens of a sequence, positions up to the last; short contexts repeat positions.
static void make_positions(case_random *random, attention_case *made, size_t context) {
    int32_t *sequences = case_memory(made->tokens * sizeof *sequences);
    int32_t *positions = case_memory(made->tokens * sizeof *positions);
    const size_t turn = made->tokens > 20 ? made->tokens * 2 / 3 : 1 + case_below(random, 4);
    for (size_t t = 0; t < made->tokens; t++) {
        const size_t back = made->tokens - 1 - t;
        sequences[t] = (int32_t)(t / turn % SEQUENCES);
        positions[t] = (int32_t)(back < context ? context - 1 - back : 0);
    }
    made->a.sequences = sequences;
    made->a.positions = positions;
}

static attention_case make_case(case_random *random, kz_type type, size_t heads, size_t kv_heads,
                                size_t head_dim, size_t context, size_t tokens, size_t number) {
    attention_case made = {.type = type, .tokens = tokens, .rows = context + 1};
    const size_t width = heads * head_dim;
    static const size_t windows[] = {0, 0, 1, 40, 300};
    made.a = (kz_attention){.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim};
    made.a.head_bytes = head_bytes(type, head_dim);
    made.a.row_bytes = kv_heads * made.a.head_bytes;
    made.a.window = windows[number % 5];
    made.a.scale = number % 4 == 3 ? 3.0f : 0.125f;
    made.a.q = case_floats(random, tokens * width, 2.0f);
    made.a.q_stride = width * sizeof(float);
    made.a.keys = make_cache(random, &made, 2.0f);
    made.a.values = make_cache(random, &made, 1.0f);
    made.a.row_table = make_table(random, context);
    made.a.row_table_columns = context;
    make_positions(random, &made, context);
    made.a.out_stride = (width + SPARE) * sizeof(float);
    made.a.out = guarded_floats((tokens + 1) * (width + SPARE));
    return made;
}

static void free_case(attention_case *made) {
    void *used[] = {(void *)made->a.q,
                    (void *)made->a.keys,
                    (void *)made->a.values,
                    (void *)made->a.row_table,
                    (void *)made->a.sequences,
                    (void *)made->a.positions,
                    made->a.out};
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
        free(used[i]);
    }
}

typedef struct expected_head {
    double *values; // [head_dim]
    double tolerance;
} expected_head;

// Scores [count] and the largest sum of absolute products, scaled.
static double find_scores(const attention_case *made, size_t token, size_t head, size_t first,
                          size_t count, double *out_scores) {
    const kz_attention *a = &made->a;
    const float *q = (const float *)((const char *)a->q + token * a->q_stride) + head * a->head_dim;
    const int32_t *rows = a->row_table + (size_t)a->sequences[token] * a->row_table_columns + first;
    const size_t kv = head * a->kv_heads / a->heads * a->head_bytes;
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *key = a->keys + (size_t)rows[i] * a->row_bytes + kv;
        double size = 0.0;
        out_scores[i] = 0.0;
        for (size_t d = 0; d < a->head_dim; d++) {
            const double product = a->scale * q[d] * cached(made->type, key, d);
            out_scores[i] += product;
            size += fabs(product);
        }
        largest = fmax(largest, size);
    }
    return largest;
}

static expected_head expect_head(const attention_case *made, size_t token, size_t head) {
    const kz_attention *a = &made->a;
    const size_t end = (size_t)a->positions[token] + 1;
    const size_t first = a->window > 0 && end > a->window ? end - a->window : 0;
    const int32_t *rows = a->row_table + (size_t)a->sequences[token] * a->row_table_columns + first;
    double *scores = case_memory((end - first) * sizeof *scores);
    expected_head expected = {case_memory(a->head_dim * sizeof(double)), 0.0};
    const double size = find_scores(made, token, head, first, end - first, scores);
    double largest = -INFINITY;
    double total = 0.0;
    for (size_t i = 0; i < end - first; i++) {
        largest = fmax(largest, scores[i]);
    }
    for (size_t i = 0; i < end - first; i++) {
        scores[i] = exp(scores[i] - largest);
        total += scores[i];
    }
    for (size_t i = 0; i < end - first; i++) {
        const uint8_t *value = a->values + (size_t)rows[i] * a->row_bytes +
                               head * a->kv_heads / a->heads * a->head_bytes;
        for (size_t d = 0; d < a->head_dim; d++) {
            expected.values[d] += scores[i] / total * cached(made->type, value, d);
        }
    }
    expected.tolerance = 4e-6 + 4e-7 * size; // values are within 1
    free(scores);
    return expected;
}

// Of kv heads [kv_head, kv_head_end); all others' outputs are untouched.
static void check_outputs(const kz_kernel_variant *variant, const attention_case *made,
                          size_t kv_head, size_t kv_head_end, size_t token, size_t token_end) {
    const kz_attention *a = &made->a;
    const size_t width = a->heads * a->head_dim + SPARE;
    for (size_t t = 0; t < made->tokens + 1; t++) {
        for (size_t h = 0; h * a->head_dim < width; h++) {
            const size_t own = h * a->kv_heads / a->heads;
            const bool is_mine =
                t >= token && t < token_end && h < a->heads && own >= kv_head && own < kv_head_end;
            const expected_head expected =
                is_mine ? expect_head(made, t, h) : (expected_head){NULL, 0.0};
            for (size_t d = 0; d < a->head_dim && h * a->head_dim + d < width; d++) {
                const float found = a->out[t * width + h * a->head_dim + d];
                char what[160];
                snprintf(what, sizeof what,
                         "heads %zu/%zu x %zu, window %zu, token %zu at %d, head %zu element %zu",
                         a->heads, a->kv_heads, a->head_dim, a->window, t,
                         t < made->tokens ? a->positions[t] : -1, h, d);
                if (is_mine) {
                    expect_close(variant, what, found, expected.values[d], expected.tolerance);
                } else if (!is_guard(found)) {
                    fail_msg("%s: %s: written, but not asked for", variant->name, what);
                }
            }
            free(expected.values);
        }
    }
}

static void *filled_scratch(void) {
    void *scratch = case_memory(KZ_KERNEL_SCRATCH_BYTES);
    memset(scratch, 0xff,
           KZ_KERNEL_SCRATCH_BYTES); // NaN, should a kernel read what it did not write
    return scratch;
}

// Ranges of `step` tokens give the same bits as one range of all.
static void check_cuts(const kz_kernel_variant *variant, const attention_case *made, size_t kv_head,
                       size_t step, void *scratch) {
    kz_attention cut = made->a;
    const size_t floats = (made->tokens + 1) * (cut.heads * cut.head_dim + SPARE);
    cut.out = guarded_floats(floats);
    for (size_t t = 0; t < made->tokens; t += step) {
        const size_t end = t + step < made->tokens ? t + step : made->tokens;
        ((kz_attention_kernel)variant->function)(&cut, kv_head, t, end, scratch);
    }
    const bool is_same = memcmp(cut.out, made->a.out, floats * sizeof(float)) == 0;
    free(cut.out);
    if (!is_same) {
        fail_msg("%s: the result depends on the range of tokens", variant->name);
    }
}

static void check_case(const kz_kernel_variant *variant, attention_case *made) {
    const size_t kv_head = made->a.kv_heads - 1;
    void *scratch = filled_scratch();
    ((kz_attention_kernel)variant->function)(&made->a, kv_head, 0, made->tokens, scratch);
    check_outputs(variant, made, kv_head, kv_head + 1, 0, made->tokens);
    check_cuts(variant, made, kv_head, 1, scratch);
    check_cuts(variant, made, kv_head, 7, scratch);
    free(scratch);
}

// NaN in one row shows in the tokens that see it and in no other; bulk kernels, which multiply
// hidden values by 0, may show it in other tokens of the call.
static void check_not_finite(const kz_kernel_variant *variant, case_random *random) {
    const bool is_bulk = case_slot_starts(variant->slot, "attention_bulk");
    const size_t context = 90;
    attention_case made =
        make_case(random, case_cache_type(variant->slot), 2, 1, 32, context, 30, 0);
    void *scratch = filled_scratch();
    int32_t *table = (int32_t *)(uintptr_t)made.a.row_table;
    const size_t hidden_until = 75; // of sequence 0: the row of NaN stands there
    table[hidden_until] = 0;
    ((kz_attention_kernel)variant->function)(&made.a, 0, 0, made.tokens, scratch);
    for (size_t t = 0; t < made.tokens; t++) {
        const bool sees = made.a.sequences[t] == 0 && made.a.positions[t] >= (int32_t)hidden_until;
        const float found = made.a.out[t * (2 * 32 + SPARE)];
        if (isnan(found) != sees && (sees || !is_bulk)) {
            fail_msg("%s: NaN in row %zu: token %zu at %d gives %g", variant->name, hidden_until, t,
                     made.a.positions[t], (double)found);
        }
    }
    free(scratch);
    free_case(&made);
}

void check_attention(const kz_kernel_variant *variant) {
    static const size_t shapes[][3] = {{1, 1, 16},  {4, 2, 64}, {9, 3, 64}, {8, 1, 32},
                                       {3, 3, 8},   {2, 1, 20}, {4, 2, 80}, {2, 2, 128},
                                       {6, 1, 256}, {4, 2, 16}};
    static const size_t contexts[] = {1, 15, 16, 17, 63, 64, 65, 129, 255, 256, 257, 530};
    const bool is_bulk = case_slot_starts(variant->slot, "attention_bulk");
    case_random random = {4711};
    for (size_t i = 0; i < 36; i++) {
        const size_t *shape = shapes[i % 10];
        const size_t tokens = is_bulk ? 17 + case_below(&random, 20) : 1 + case_below(&random, 16);
        attention_case made = make_case(&random, case_cache_type(variant->slot), shape[0], shape[1],
                                        shape[2], contexts[i % 12], tokens, i);
        check_case(variant, &made);
        free_case(&made);
    }
    check_not_finite(variant, &random);
}

static kz_attention_kernel whole_kernel(const kz_kernels *kernels, kz_type type) {
    return type == KZ_F32   ? kernels->attention_f32
           : type == KZ_F16 ? kernels->attention_f16
                            : kernels->attention_i8;
}

// Every part by itself, last first, kv heads together or apart, then joined: the same bits as the
// whole.
static void check_parts_of(const kz_kernel_variant *variant, const attention_case *made,
                           kz_attention_kernel whole, kz_attention_part_kernel part_kernel,
                           kz_attention_join_kernel join, size_t heads_at_once) {
    kz_attention joined = made->a;
    const size_t kv_heads = made->a.kv_heads;
    const size_t part_floats = kz_attention_part_floats(&joined);
    const size_t floats = (made->tokens + 1) * (joined.heads * joined.head_dim + SPARE);
    void *scratch = filled_scratch();
    joined.out = guarded_floats(floats);
    for (size_t h = 0; h < kv_heads; h++) {
        whole(&made->a, h, 0, made->tokens, scratch);
    }
    for (size_t t = 0; t < made->tokens; t++) {
        const kz_part_range range = kz_attention_parts(&joined, t);
        const size_t count = range.end - range.first;
        float *parts = guarded_floats(count * kv_heads * part_floats + 1);
        for (size_t p = count; p-- > 0;) {
            for (size_t h = 0; h < kv_heads; h += heads_at_once) {
                const size_t end = h + heads_at_once < kv_heads ? h + heads_at_once : kv_heads;
                part_kernel(&joined, t, range.first + p, h, end,
                            parts + (p * kv_heads + h) * part_floats);
            }
        }
        if (!is_guard(parts[count * kv_heads * part_floats])) {
            fail_msg("%s: more than a part is written", variant->name);
        }
        for (size_t h = 0; h < kv_heads; h++) {
            join(&joined, h, t, count, parts + h * part_floats);
        }
        free(parts);
    }
    check_outputs(variant, made, 0, kv_heads, 0, made->tokens);
    const bool is_same = memcmp(joined.out, made->a.out, floats * sizeof(float)) == 0;
    free(joined.out);
    free(scratch);
    if (!is_same) {
        fail_msg("%s: joined parts differ from the whole", variant->name);
    }
}

void check_attention_parts(const kz_kernel_variant *variant) {
    static const size_t shapes[][3] = {{1, 1, 16},  {9, 3, 64},  {3, 3, 8},
                                       {2, 2, 128}, {6, 1, 256}, {80, 20, 16}};
    static const size_t contexts[] = {1, 16, 127, 128, 129, 255, 256, 257, 530};
    const bool is_join = variant->slot == KZ_SLOT_attention_join;
    const kz_type type = is_join ? KZ_F32 : case_cache_type(variant->slot);
    kz_kernels kernels;
    kz_kernels_select(variant->level, &kernels);
    const kz_attention_part_kernel part =
        is_join ? kernels.attention_part_f32 : (kz_attention_part_kernel)variant->function;
    const kz_attention_join_kernel join =
        is_join ? (kz_attention_join_kernel)variant->function : kernels.attention_join;
    case_random random = {4712};
    for (size_t i = 0; i < 18; i++) {
        const size_t *shape = shapes[i % 6];
        attention_case made = make_case(&random, type, shape[0], shape[1], shape[2],
                                        contexts[i % 9], 1 + case_below(&random, 5), i);
        check_parts_of(variant, &made, whole_kernel(&kernels, type), part, join, 1 + i % 3);
        free_case(&made);
    }
}
