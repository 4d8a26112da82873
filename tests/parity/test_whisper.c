// test_whisper.c: an exported Whisper of random weights against transformers' logits.
//
// in:  tests/golden/whisper/tiny, tests/golden/audio/jfk_5s_mel_f32.bin
// out: cmocka's report
// The methods are called as docs/abilities.md states them, without the listening stage: this model
// has no tokenizer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"
#include "runtime/cache_rows.h"
#include "runtime/context.h"

#define GOLDEN "tests/golden/whisper/tiny"
#define MELS 80u
#define FRAMES 3000u
#define POSITIONS 1500u
#define CONTEXT 448u
#define HIDDEN 64u
#define VOCABULARY 2008u
#define LOGITS_ROWS 64u
#define EXACT 1e-4

static float mel[FRAMES * MELS];
static int32_t zeros[POSITIONS], ascending[POSITIONS];

typedef struct listener {
    kz_program *program;
    kz_pool *pool;
    kz_context *context;
    kz_cache_rows *rows;
    uint32_t encode, prefill, step, logits; // methods
} listener;

// The rows that follow the last one stored are equal to it: silence.
static void read_mel(void) {
    FILE *file = fopen("tests/golden/audio/jfk_5s_mel_f32.bin", "rb");
    assert_non_null(file);
    const size_t stored = fread(mel, sizeof(float) * MELS, FRAMES, file);
    fclose(file);
    assert_int_equal(stored, 504);
    for (size_t row = stored; row < FRAMES; row++) {
        memcpy(mel + row * MELS, mel + (stored - 1) * MELS, sizeof(float) * MELS);
    }
    for (uint32_t i = 0; i < POSITIONS; i++) {
        ascending[i] = (int32_t)i;
    }
}

static void open_listener(listener *model, const char *path, const char *cpu) {
    kazeia_runtime_destroy(parity_runtime(cpu)); // sets the environment for the pool
    CHECK(kz_program_open(path, NULL, &model->program));
    CHECK(kz_pool_create(2, NULL, &model->pool));
    CHECK(kz_context_create(model->program, model->pool, KZ_PRIORITY_LISTEN, 0, NULL,
                            &model->context));
    CHECK(kz_cache_rows_create(CONTEXT, 1, CONTEXT, NULL, &model->rows));
    CHECK(kz_program_require_method(model->program, "encode", &model->encode));
    CHECK(kz_program_require_method(model->program, "decode_prefill", &model->prefill));
    CHECK(kz_program_require_method(model->program, "decode_step", &model->step));
    CHECK(kz_program_require_method(model->program, "logits", &model->logits));
}

static void close_listener(listener *model) {
    kz_cache_rows_destroy(model->rows);
    kz_context_destroy(model->context);
    kz_pool_destroy(model->pool);
    kz_program_release(model->program);
}

static void encode(const listener *model) {
    const uint32_t symbols[] = {FRAMES, 1};
    const void *inputs[] = {mel, ascending, zeros, ascending};
    CHECK(kz_context_run(model->context, model->encode, symbols, inputs, NULL));
}

// Appends tokens to the sequence; hidden is [count][HIDDEN].
static void decode(const listener *model, uint32_t method, const int32_t *ids, uint32_t count,
                   float *out_hidden) {
    int32_t last[CONTEXT];
    const uint32_t length = kz_cache_rows_length(model->rows, 0);
    CHECK(kz_cache_rows_extend(model->rows, 0, count));
    for (uint32_t i = 0; i < count; i++) {
        last[i] = POSITIONS - 1;
    }
    const uint32_t symbols[] = {count, 1, 1};
    const void *inputs[] = {
        ids, ascending + length, zeros, kz_cache_rows_table(model->rows), ascending, zeros, last};
    void *outputs[] = {out_hidden};
    CHECK(kz_context_run(model->context, method, symbols, inputs, outputs));
}

static void project(const listener *model, const float *hidden, uint32_t count, float *out_logits) {
    assert_true(count <= LOGITS_ROWS);
    const void *inputs[] = {hidden};
    void *outputs[] = {out_logits};
    CHECK(kz_context_run(model->context, model->logits, &count, inputs, outputs));
}

static void check_logits(const listener *model, uint32_t method, uint32_t call_tokens,
                         double most) {
    static float hidden[LOGITS_ROWS * HIDDEN], logits[LOGITS_ROWS * VOCABULARY];
    size_t count = 0;
    json_t *prefix = parity_read_json(GOLDEN "/prefix.json");
    int32_t *ids = parity_ids(json_object_get(prefix, "ids"), &count);
    parity_rows expected = parity_read_rows(GOLDEN "/logits.npy");
    assert_int_equal(expected.rows, count);
    assert_int_equal(expected.columns, VOCABULARY);
    kz_cache_rows_trim(model->rows, 0, 0);
    for (uint32_t done = 0; done < count; done += call_tokens) {
        const uint32_t left = (uint32_t)count - done;
        decode(model, method, ids + done, left < call_tokens ? left : call_tokens,
               hidden + done * HIDDEN);
    }
    project(model, hidden, (uint32_t)count, logits);
    const double difference = parity_difference(logits, &expected);
    print_message("whisper, %u tokens a call: largest difference %.1e\n", call_tokens, difference);
    assert_true(difference <= most);
    free(expected.values);
    free(ids);
    json_decref(prefix);
}

static int32_t highest(const float *row) {
    size_t best = 0;
    for (size_t i = 1; i < VOCABULARY; i++) {
        best = row[i] > row[best] ? i : best;
    }
    return (int32_t)best;
}

static void check_greedy(const listener *model) {
    static float hidden[LOGITS_ROWS * HIDDEN], logits[VOCABULARY];
    size_t prompt_count = 0, count = 0;
    json_t *greedy = parity_read_json(GOLDEN "/greedy.json");
    int32_t *prompt = parity_ids(json_object_get(greedy, "prompt"), &prompt_count);
    int32_t *wanted = parity_ids(json_object_get(greedy, "ids"), &count);
    assert_int_equal(count, 40);
    kz_cache_rows_trim(model->rows, 0, 0);
    decode(model, model->prefill, prompt, (uint32_t)prompt_count, hidden);
    const float *last = hidden + (prompt_count - 1) * HIDDEN;
    for (size_t i = 0; i < count; i++) {
        project(model, last, 1, logits);
        const int32_t token = highest(logits);
        assert_int_equal(token, wanted[i]);
        decode(model, model->step, &token, 1, hidden);
        last = hidden;
    }
    free(wanted);
    free(prompt);
    json_decref(greedy);
}

static void export_and_check(const char *weights, const char *kv, double most, bool is_exact) {
    static const char *const cpus[] = {"ref", NULL};
    char folder[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = GOLDEN;
    settings.weights = weights;
    settings.kv = kv;
    parity_folder_create(folder);
    parity_export(&settings, folder, path);
    for (size_t i = 0; i < 2; i++) {
        listener model;
        open_listener(&model, path, cpus[i]);
        encode(&model);
        check_logits(&model, model.prefill, CONTEXT, most);
        check_logits(&model, model.step, 16, most);
        check_logits(&model, model.step, 1, most);
        if (is_exact) {
            check_greedy(&model);
        }
        close_listener(&model);
    }
    parity_folder_remove(folder);
}

static void float_weights_give_the_same_logits_and_tokens(void **state) {
    (void)state;
    export_and_check("f32", "f32", EXACT, true);
}

// Rounded weights and caches: two to three times what these random weights show.
static void rounded_weights_stay_near(void **state) {
    (void)state;
    export_and_check("f32", "f16", 1e-3, true);
    export_and_check("f32", "int8", 1.5e-2, false);
    export_and_check("f16", "f16", 3e-3, false);
    export_and_check("bf16", "f16", 2e-2, false);
    export_and_check("q8", "f16", 8e-2, false);
}

static int prepare(void **state) {
    (void)state;
    read_mel();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_weights_give_the_same_logits_and_tokens),
        cmocka_unit_test(rounded_weights_stay_near),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
