// decoder.c: exported decoders against the logits that transformers computed.
//
// in:  checkpoints, ids, expected logits
// out: failed assertions, printed figures
#include "decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT 1e-4 // of a row's largest logit: what two float32 engines may differ by

static const char *const modes[] = {"hybrid", "kv"};
static const char *const cpus[] = {"ref", NULL};

decoder_model decoder_open(const char *path, const char *cpu) {
    decoder_model model = {.runtime = parity_runtime(cpu)};
    CHECK(kazeia_program_open(path, NULL, &model.program));
    kazeia_chat_settings settings = kazeia_chat_settings_default();
    settings.is_raw = true;
    CHECK(kazeia_chat_create(model.runtime, model.program, &settings, &model.chat));
    return model;
}

void decoder_close(decoder_model *model) {
    kazeia_stage_destroy(model->chat);
    kazeia_program_close(model->program);
    kazeia_runtime_destroy(model->runtime);
}

typedef struct logits_rows {
    float *values;
    size_t first;
} logits_rows;

static kazeia_status keep_row(void *context, const kazeia_logits_row *row) {
    const logits_rows *rows = context;
    memcpy(rows->values + (row->position - rows->first) * row->vocabulary_size, row->logits,
           row->vocabulary_size * sizeof *row->logits);
    return KAZEIA_OK;
}

float *decoder_logits(const decoder_model *model, const int32_t *ids, size_t count, size_t first,
                      size_t vocabulary) {
    logits_rows rows = {calloc((count - first) * vocabulary, sizeof(float)), first};
    assert_non_null(rows.values);
    const kazeia_measured measured = {.ids = ids, .id_count = count, .first = first};
    CHECK(kazeia_chat_measure(model->chat, NULL, &measured, keep_row, &rows));
    return rows.values;
}

static double logits_difference(const decoder_model *model, const decoder_case *test) {
    size_t count = 0;
    json_t *sequences = parity_read_json(test->ids);
    int32_t *ids = parity_ids(json_object_get(sequences, test->key), &count);
    parity_rows expected = parity_read_rows(test->expected);
    assert_int_equal(expected.rows, count);
    float *values = decoder_logits(model, ids, count, 0, expected.columns);
    const double difference = parity_difference(values, &expected);
    free(values);
    free(expected.values);
    free(ids);
    json_decref(sequences);
    return difference;
}

static size_t top(const float *row, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = row[i] > row[best] ? i : best;
    }
    return best;
}

void decoder_check_greedy(const decoder_model *model, const char *ids_path, const char *path,
                          const char *key) {
    size_t count = 0, wanted_count = 0;
    json_t *sequences = parity_read_json(ids_path);
    json_t *greedy = parity_read_json(path);
    const size_t vocabulary = (size_t)json_integer_value(json_object_get(greedy, "vocab_size"));
    json_t *entry = json_object_get(json_object_get(greedy, "greedy"), key);
    int32_t *prompt = parity_ids(json_object_get(sequences, key), &count);
    int32_t *wanted = parity_ids(json_object_get(entry, "ids"), &wanted_count);
    int32_t *ids = calloc(count + wanted_count, sizeof *ids);
    assert_non_null(ids);
    assert_int_equal(wanted_count, 32);
    memcpy(ids, prompt, count * sizeof *ids);
    for (size_t i = 0; i < wanted_count; i++) {
        float *row = decoder_logits(model, ids, count + i, count + i - 1, vocabulary);
        ids[count + i] = (int32_t)top(row, vocabulary);
        assert_int_equal(ids[count + i], wanted[i]);
        free(row);
    }
    free(ids);
    free(wanted);
    free(prompt);
    json_decref(greedy);
    json_decref(sequences);
}

// --- Float weights, float cache -----------------------------------------------------------------

static void check_program(const char *path, const decoder_case *test, const char *mode,
                          const char *cpu) {
    decoder_model model = decoder_open(path, cpu);
    const double difference = logits_difference(&model, test);
    print_message("%s, %s tokens, %s, %s: largest difference %.1e\n", test->source, test->key, mode,
                  kazeia_runtime_kernel(model.runtime, NULL), difference);
    assert_true(difference <= EXACT);
    if (test->greedy) {
        decoder_check_greedy(&model, test->ids, test->greedy, "7");
        decoder_check_greedy(&model, test->ids, test->greedy, "64");
    }
    decoder_close(&model);
}

void decoder_check(const decoder_case *cases, size_t count) {
    for (size_t i = 0; i < 2 * count; i++) {
        char folder[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
        const decoder_case *test = &cases[i / 2];
        kazeia_export_settings settings = kazeia_export_settings_default();
        settings.source = test->source;
        settings.weights = "f32";
        settings.kv = "f32";
        settings.mode = modes[i % 2];
        parity_folder_create(folder);
        parity_export(&settings, folder, path);
        for (size_t j = 0; j < 2; j++) {
            check_program(path, test, modes[i % 2], cpus[j]);
        }
        parity_folder_remove(folder);
    }
}

// --- Quantised weights: teacher-forced ----------------------------------------------------------

static double log_of_sum(const float *row, size_t count) {
    double sum = 0.0;
    const double largest = (double)row[top(row, count)];
    for (size_t i = 0; i < count; i++) {
        sum += exp((double)row[i] - largest);
    }
    return largest + log(sum);
}

decoder_agreement decoder_compare(const float *values, const parity_rows *expected) {
    decoder_agreement result = {0};
    const size_t columns = expected->columns;
    for (size_t row = 0; row < expected->rows; row++) {
        const float *wanted = expected->values + row * columns;
        const float *found = values + row * columns;
        const double wanted_norm = log_of_sum(wanted, columns);
        const double found_norm = log_of_sum(found, columns);
        result.top1 += top(wanted, columns) == top(found, columns);
        for (size_t i = 0; i < columns; i++) {
            const double wanted_log = (double)wanted[i] - wanted_norm;
            result.divergence += exp(wanted_log) * (wanted_log - (double)found[i] + found_norm);
        }
    }
    result.top1 /= (double)expected->rows;
    result.divergence /= (double)expected->rows;
    return result;
}

static void check_quantised(const decoder_quantised *test) {
    char folder[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
    size_t count = 0;
    parity_folder_create(folder);
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = test->source;
    settings.weights = test->weights;
    settings.kv = test->kv;
    parity_export(&settings, folder, path);
    json_t *sequences = parity_read_json(test->ids);
    int32_t *ids = parity_ids(json_object_get(sequences, test->key), &count);
    parity_rows expected = parity_read_rows(test->expected);
    assert_int_equal(expected.rows, count);
    for (size_t i = 0; i < 2; i++) {
        decoder_model model = decoder_open(path, cpus[i]);
        float *values = decoder_logits(&model, ids, count, 0, expected.columns);
        const decoder_agreement found = decoder_compare(values, &expected);
        print_message("%s, weights %s, kv %s, %s: top-1 %.3f, KL %.1e\n",
                      strrchr(test->source, '/') + 1, test->weights, test->kv,
                      kazeia_runtime_kernel(model.runtime, NULL), found.top1, found.divergence);
        assert_true(found.top1 >= test->least_top1);
        assert_true(found.divergence <= test->most_divergence);
        free(values);
        decoder_close(&model);
    }
    free(expected.values);
    free(ids);
    json_decref(sequences);
    parity_folder_remove(folder);
}

void decoder_check_quantised(const decoder_quantised *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        check_quantised(&cases[i]);
    }
}
