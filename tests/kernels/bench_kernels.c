// bench_kernels.c: how fast each variant in kernels.def is on this machine, on one thread.
//
// in: optional words: the start of the slots to run, and a level. out: a line a variant and shape:
// its typical speed in GMAC/s, and GB/s of what is read once (weights or cache). Not run
// by ctest.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/half.h"
#include "cases.h"

// Of this thread's own processor time, so that neighbours take only caches and clock from it.
static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

typedef void (*work)(const kz_kernel_variant *variant, void *arguments);

static int compare_times(const void *a, const void *b) {
    const double first = *(const double *)a;
    const double second = *(const double *)b;
    return (first > second) - (first < second);
}

#define CALLS_MOST 4096

// Nanoseconds of a call: the lower quartile over some 0.15 s. (The least of all would be what the
// system once forgot to count.)
static double typical_ns(const kz_kernel_variant *variant, work run, void *arguments) {
    double times[CALLS_MOST];
    size_t count = 0;
    run(variant, arguments);
    const double start = now_ns();
    do {
        const double before = now_ns();
        run(variant, arguments);
        times[count++] = now_ns() - before;
    } while (count < CALLS_MOST && now_ns() - start < 1.5e8);
    qsort(times, count, sizeof times[0], compare_times);
    return times[count / 4];
}

typedef struct matmul_run {
    kz_matmul matmul;
    size_t panels, tokens;
} matmul_run;

static void run_matmul(const kz_kernel_variant *variant, void *arguments) {
    const matmul_run *run = arguments;
    ((kz_matmul_kernel)variant->function)(&run->matmul, 0, run->panels, 0, run->tokens);
}

static void bench_matmul(const kz_kernel_variant *variant, size_t rows, size_t columns,
                         size_t tokens) {
    case_random random = {77};
    const kz_type type = case_matmul_type(variant->slot);
    float *values = case_floats(&random, tokens * columns, 1.0f);
    void *quantised = case_a8_rows(values, tokens, columns);
    const bool is_a8 = case_is_quantised(type);
    matmul_run run = {.panels = rows / KZ_PANEL_ROWS, .tokens = tokens};
    run.matmul = (kz_matmul){.x = is_a8 ? quantised : (void *)values,
                             .x_stride = is_a8 ? kz_a8_row_bytes(columns) : columns * 4,
                             .weights = case_weights(&random, type, CASE_RANDOM, rows, columns),
                             .columns = columns,
                             .rows = rows,
                             .out = case_memory(tokens * rows * 4),
                             .out_stride = rows * 4};
    const double ns = typical_ns(variant, run_matmul, &run);
    const double bytes = (double)(kz_layout_panel_bytes(type, columns) * run.panels);
    printf("%-36s N %5zu K %5zu T %4zu  %12.0f ns  %7.1f GMAC/s  %6.1f GB/s\n", variant->name, rows,
           columns, tokens, ns, (double)rows * (double)columns * (double)tokens / ns, bytes / ns);
    free((void *)run.matmul.weights);
    free(run.matmul.out);
    free(quantised);
    free(values);
}

static void bench_matmuls(const kz_kernel_variant *variant) {
    if (case_slot_starts(variant->slot, "matmul_bulk")) {
        bench_matmul(variant, 512, 576, 128);
        bench_matmul(variant, 1536, 576, 128);
        bench_matmul(variant, 2048, 2048, 128);
        bench_matmul(variant, 512, 2048, 1500);
        return;
    }
    bench_matmul(variant, 16384, 4096, 1);
    bench_matmul(variant, 1536, 576, 1);
    bench_matmul(variant, 2048, 2048, 4);
    bench_matmul(variant, 2048, 2048, 16);
}

typedef struct attention_run {
    kz_attention attention;
    size_t tokens;
    void *scratch;
} attention_run;

static void run_attention(const kz_kernel_variant *variant, void *arguments) {
    const attention_run *run = arguments;
    for (size_t h = 0; h < run->attention.kv_heads; h++) {
        ((kz_attention_kernel)variant->function)(&run->attention, h, 0, run->tokens, run->scratch);
    }
}

static size_t head_bytes(kz_type type, size_t head_dim) {
    return type == KZ_F32 ? head_dim * 4 : type == KZ_F16 ? head_dim * 2 : head_dim + 4;
}

static uint8_t *random_cache(case_random *random, kz_type type, size_t rows, size_t heads,
                             size_t head_dim) {
    const size_t row_bytes = heads * head_bytes(type, head_dim);
    uint8_t *cache = case_memory(rows * row_bytes);
    float *row = case_memory(heads * head_dim * sizeof *row);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < heads * head_dim; j++) {
            row[j] = case_float(random);
        }
        void *to = cache + i * row_bytes;
        if (type == KZ_F32) {
            kz_cache_write_f32__ref(row, heads, head_dim, to);
        } else if (type == KZ_F16) {
            kz_cache_write_f16__ref(row, heads, head_dim, to);
        } else {
            kz_cache_write_i8__ref(row, heads, head_dim, to);
        }
    }
    free(row);
    return cache;
}

// The last `tokens` of `context` positions.
static void bench_attention(const kz_kernel_variant *variant, size_t heads, size_t kv_heads,
                            size_t head_dim, size_t context, size_t tokens) {
    case_random random = {78};
    const kz_type type = case_cache_type(variant->slot);
    int32_t *rows = case_memory(context * sizeof *rows);
    int32_t *positions = case_memory(tokens * sizeof *positions);
    double seen = 0;
    for (size_t i = 0; i < context; i++) {
        rows[i] = (int32_t)i;
    }
    for (size_t t = 0; t < tokens; t++) {
        positions[t] = (int32_t)(context - tokens + t);
        seen += positions[t] + 1;
    }
    attention_run run = {.tokens = tokens, .scratch = case_memory(KZ_KERNEL_SCRATCH_BYTES)};
    run.attention =
        (kz_attention){.q = case_floats(&random, tokens * heads * head_dim, 1.0f),
                       .q_stride = heads * head_dim * 4,
                       .keys = random_cache(&random, type, context, kv_heads, head_dim),
                       .values = random_cache(&random, type, context, kv_heads, head_dim),
                       .head_bytes = head_bytes(type, head_dim),
                       .row_bytes = kv_heads * head_bytes(type, head_dim),
                       .heads = heads,
                       .kv_heads = kv_heads,
                       .head_dim = head_dim,
                       .row_table = rows,
                       .row_table_columns = context,
                       .sequences = case_memory(tokens * sizeof(int32_t)),
                       .positions = positions,
                       .scale = 0.125f,
                       .out = case_memory(tokens * heads * head_dim * 4),
                       .out_stride = heads * head_dim * 4};
    const double ns = typical_ns(variant, run_attention, &run);
    const double macs = 2.0 * seen * (double)(heads * head_dim);
    const double bytes = 2.0 * (double)(context * run.attention.row_bytes);
    printf("%-36s heads %zu/%zu x %zu, context %zu, T %zu  %12.0f ns  %7.1f GMAC/s  %6.1f GB/s\n",
           variant->name, heads, kv_heads, head_dim, context, tokens, ns, macs / ns, bytes / ns);
    void *used[] = {(void *)run.attention.q,
                    (void *)run.attention.keys,
                    (void *)run.attention.values,
                    (void *)run.attention.sequences,
                    run.attention.out,
                    run.scratch,
                    rows,
                    positions};
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
        free(used[i]);
    }
}

typedef struct full_run {
    kz_attention_full attention;
    size_t heads, cut;
    void *scratch;
} full_run;

static void run_full(const kz_kernel_variant *variant, void *arguments) {
    const full_run *run = arguments;
    for (size_t h = 0; h < run->heads; h++) {
        for (size_t t = 0; t < run->attention.tokens; t += run->cut) {
            const size_t left = run->attention.tokens - t;
            ((kz_attention_full_kernel)variant->function)(
                &run->attention, h, t, t + (left < run->cut ? left : run->cut), run->scratch);
        }
    }
}

static void bench_full(const kz_kernel_variant *variant, size_t tokens, size_t heads,
                       size_t head_dim, size_t cut) {
    case_random random = {79};
    const size_t width = heads * head_dim;
    const size_t stride = width * sizeof(float);
    float *q = case_floats(&random, tokens * width, 1.0f);
    float *k = case_floats(&random, tokens * width, 1.0f);
    float *v = case_floats(&random, tokens * width, 1.0f);
    full_run run = {.heads = heads, .cut = cut, .scratch = case_memory(KZ_KERNEL_SCRATCH_BYTES)};
    run.attention = (kz_attention_full){.q = q,
                                        .k = k,
                                        .v = v,
                                        .q_stride = stride,
                                        .k_stride = stride,
                                        .v_stride = stride,
                                        .tokens = tokens,
                                        .head_dim = head_dim,
                                        .scale = 0.125f,
                                        .out = case_memory(tokens * stride),
                                        .out_stride = stride};
    const double ns = typical_ns(variant, run_full, &run);
    printf("%-36s %zu tokens, %zu heads x %zu, cut %zu  %12.0f ns  %7.1f GMAC/s\n", variant->name,
           tokens, heads, head_dim, cut, ns, 2.0 * (double)tokens * (double)(tokens * width) / ns);
    free(q);
    free(k);
    free(v);
    free(run.attention.out);
    free(run.scratch);
}

#define ROW_COLUMNS 2048

typedef struct row_run {
    float *x, *y, *z, *out;
} row_run;

// Kernels of one row, each with arguments of its slot's type.
static void run_row(const kz_kernel_variant *variant, void *arguments) {
    const row_run *r = arguments;
    const size_t n = ROW_COLUMNS;
    switch (variant->slot) {
    case KZ_SLOT_quantise_a8:
    case KZ_SLOT_quantise_a16:
        ((kz_quantise_kernel)variant->function)(r->x, n, r->out);
        break;
    case KZ_SLOT_rms_norm:
        ((kz_rms_norm_kernel)variant->function)(r->x, r->y, n, 1e-6f, r->out);
        break;
    case KZ_SLOT_layer_norm:
        ((kz_layer_norm_kernel)variant->function)(r->x, r->y, r->z, n, 1e-6f, r->out);
        break;
    case KZ_SLOT_add:
        ((kz_add_kernel)variant->function)(r->x, r->y, n, r->out);
        break;
    case KZ_SLOT_gelu:
    case KZ_SLOT_gelu_tanh:
    case KZ_SLOT_silu:
        ((kz_activate_kernel)variant->function)(r->x, n, r->out);
        break;
    case KZ_SLOT_gate_gelu_tanh:
    case KZ_SLOT_gate_silu:
        ((kz_gate_kernel)variant->function)(r->x, r->y, n, r->out);
        break;
    case KZ_SLOT_softmax:
        ((kz_softmax_kernel)variant->function)(r->out, n, 1.0f);
        break;
    case KZ_SLOT_rope_split:
    case KZ_SLOT_rope_pairs:
        ((kz_rope_kernel)variant->function)(r->out, n, r->y, r->z);
        break;
    case KZ_SLOT_cache_write_f32:
    case KZ_SLOT_cache_write_f16:
    case KZ_SLOT_cache_write_i8:
        ((kz_cache_write_kernel)variant->function)(r->x, n / 64, 64, r->out);
        break;
    default:
        break;
    }
}

static void bench_row(const kz_kernel_variant *variant) {
    case_random random = {80};
    row_run run = {case_floats(&random, ROW_COLUMNS, 4.0f), case_floats(&random, ROW_COLUMNS, 1.0f),
                   case_floats(&random, ROW_COLUMNS, 1.0f), case_memory(ROW_COLUMNS * 8)};
    const double ns = typical_ns(variant, run_row, &run);
    printf("%-36s %d elements  %12.0f ns  %7.2f ns an element\n", variant->name, ROW_COLUMNS, ns,
           ns / ROW_COLUMNS);
    free(run.x);
    free(run.y);
    free(run.z);
    free(run.out);
}

static void bench_variant(const kz_kernel_variant *variant) {
    if (case_slot_starts(variant->slot, "matmul")) {
        bench_matmuls(variant);
    } else if (variant->slot == KZ_SLOT_attention_full) {
        bench_full(variant, 1500, 8, 64, 128);
    } else if (case_slot_starts(variant->slot, "attention_part") ||
               variant->slot == KZ_SLOT_attention_join) {
        return; // the time is that of the whole
    } else if (case_slot_starts(variant->slot, "attention_bulk")) {
        bench_attention(variant, 9, 3, 64, 512, 128);
        bench_attention(variant, 16, 8, 128, 1024, 128);
        bench_attention(variant, 32, 8, 128, 4096, 96);
    } else if (case_slot_starts(variant->slot, "attention")) {
        bench_attention(variant, 9, 3, 64, 512, 1);
        bench_attention(variant, 16, 8, 128, 4096, 1);
        bench_attention(variant, 32, 8, 128, 4096, 1);
        bench_attention(variant, 4, 1, 256, 4096, 1);
    } else if (!case_slot_starts(variant->slot, "embed")) {
        bench_row(variant);
    }
}

int main(int count, char **words) {
    for (size_t i = 0; i < kz_kernel_variant_count; i++) {
        const kz_kernel_variant *variant = &kz_kernel_variants[i];
        const char *start = count > 1 ? words[1] : "";
        const char *level = count > 2 ? words[2] : NULL;
        if (kz_cpu_has(variant->level) && case_slot_starts(variant->slot, start) &&
            (level == NULL || strcmp(level, kz_cpu_level_name(variant->level)) == 0)) {
            bench_variant(variant);
            fflush(stdout);
        }
    }
    return 0;
}
