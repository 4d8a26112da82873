// test_whisper_base.c: the real Whisper base against what transformers made of the same clips.
//
// in:  $KAZEIA_MODELS/whisper-base, tests/golden/whisper/base, tests/golden/speech
// out: cmocka's report; without the model, a sentence and nothing tested
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kazeia/listen.h"
#include "parity.h"
#include "text_test.h"

#define GOLDEN "tests/golden/whisper/base/expected.json"
#define TOKEN_LIMIT 512
#define WORD_LIMIT 256
#define TEXT_BYTES 4096
#define SURE_MARGIN 0.02 // below it, two float32 engines may choose differently

typedef struct listener {
    char folder[PARITY_PATH_BYTES];
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_audio_context audio_context;
    json_t *golden;
    int32_t tokens[TOKEN_LIMIT]; // of the last clip
    size_t token_count;
    char text[TEXT_BYTES];
} listener;

static bool open_listener(listener *model, const char *weights, const char *kv) {
    char source[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
    if (!parity_find_model("whisper-base", source)) {
        return false;
    }
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = source;
    settings.weights = weights;
    settings.kv = kv;
    parity_folder_create(model->folder);
    parity_export(&settings, model->folder, path);
    model->runtime = parity_runtime(NULL);
    CHECK(kazeia_program_open(path, NULL, &model->program));
    model->golden = parity_read_json(GOLDEN);
    return true;
}

static void close_listener(listener *model) {
    json_decref(model->golden);
    kazeia_program_close(model->program);
    kazeia_runtime_destroy(model->runtime);
    parity_folder_remove(model->folder);
}

static void feed_all(kazeia_stage *stage, const float *samples, size_t count) {
    size_t taken = 0;
    CHECK(kazeia_stage_feed(stage, samples, count, &taken));
    assert_int_equal(taken, count);
    CHECK(kazeia_stage_finish(stage));
}

static void keep_heard(listener *model, const kazeia_heard *heard) {
    assert_true(model->token_count + heard->token_count <= TOKEN_LIMIT);
    memcpy(model->tokens + model->token_count, heard->tokens,
           heard->token_count * sizeof *heard->tokens);
    model->token_count += heard->token_count;
    snprintf(model->text, sizeof model->text, "%s", heard->text);
}

static void hear(listener *model, const json_t *clip) {
    float *samples = NULL;
    size_t count = 0;
    kazeia_stage *stage = NULL;
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    settings.languages = json_string_value(json_object_get(clip, "language"));
    settings.has_guards = false;
    settings.audio_context = model->audio_context;
    CHECK(kazeia_audio_read(json_string_value(json_object_get(clip, "file")), 16000, &samples,
                            &count));
    CHECK(kazeia_listen_create(model->runtime, model->program, &settings, &stage));
    feed_all(stage, samples, count);
    model->token_count = 0;
    model->text[0] = '\0';
    for (;;) {
        kazeia_heard heard;
        size_t heard_count = 0;
        const kazeia_status status = kazeia_stage_next(stage, &heard, 1, &heard_count);
        if (status == KAZEIA_DONE) {
            break;
        }
        CHECK(status);
        if (heard_count) {
            keep_heard(model, &heard);
        }
    }
    kazeia_stage_destroy(stage);
    kazeia_audio_release(samples);
}

// --- The same tokens ----------------------------------------------------------------------------

static bool has_expected_ids(const listener *model, const json_t *clip) {
    size_t count = 0;
    int32_t *ids = parity_ids(json_object_get(clip, "ids"), &count);
    const bool is_equal =
        count == model->token_count && memcmp(ids, model->tokens, count * sizeof *ids) == 0;
    free(ids);
    return is_equal;
}

static void float_weights_write_the_same_tokens(void **state) {
    listener model;
    (void)state;
    if (!open_listener(&model, "f32", "f32")) {
        skip();
    }
    size_t index = 0, equal = 0, unsure = 0;
    json_t *clip = NULL;
    json_array_foreach(json_object_get(model.golden, "clips"), index, clip) {
        const double margin = json_number_value(json_object_get(clip, "min_top2_margin"));
        hear(&model, clip);
        const bool is_equal = has_expected_ids(&model, clip);
        equal += is_equal;
        if (!is_equal && margin > SURE_MARGIN) {
            fail_msg("%s: '%s', expected '%s'", json_string_value(json_object_get(clip, "file")),
                     model.text, json_string_value(json_object_get(clip, "text")));
        }
        unsure += !is_equal;
    }
    print_message("float weights: %zu of %zu clips have the same tokens, %zu chose another where "
                  "two were as good\n",
                  equal, index, unsure);
    assert_int_equal(index, 34);
    close_listener(&model);
}

// --- The same words -----------------------------------------------------------------------------

static size_t split(char *text, char *words[WORD_LIMIT]) {
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_true(count < WORD_LIMIT);
        words[count++] = word;
    }
    return count;
}

// Words to change, add or leave out to make one text of the other.
static size_t word_distance(const char *found, const char *wanted, size_t *out_wanted_count) {
    static size_t costs[WORD_LIMIT + 1];
    char found_text[TEXT_BYTES], wanted_text[TEXT_BYTES];
    char *found_words[WORD_LIMIT], *wanted_words[WORD_LIMIT];
    fold_for_comparison(found, strlen(found), found_text, sizeof found_text);
    fold_for_comparison(wanted, strlen(wanted), wanted_text, sizeof wanted_text);
    const size_t found_count = split(found_text, found_words);
    const size_t wanted_count = split(wanted_text, wanted_words);
    for (size_t j = 0; j <= wanted_count; j++) {
        costs[j] = j;
    }
    for (size_t i = 1; i <= found_count; i++) {
        size_t diagonal = costs[0];
        costs[0] = i;
        for (size_t j = 1; j <= wanted_count; j++) {
            const size_t change = diagonal + (strcmp(found_words[i - 1], wanted_words[j - 1]) != 0);
            const size_t shorter = costs[j] < costs[j - 1] ? costs[j] + 1 : costs[j - 1] + 1;
            diagonal = costs[j];
            costs[j] = change < shorter ? change : shorter;
        }
    }
    *out_wanted_count = wanted_count;
    return costs[wanted_count];
}

typedef struct word_count {
    size_t words, different;
} word_count;

// Over the French clips, against what the framework wrote with float weights.
static word_count compare_words(listener *model) {
    word_count count = {0, 0};
    size_t index = 0;
    json_t *clip = NULL;
    json_array_foreach(json_object_get(model->golden, "clips"), index, clip) {
        const char *file = json_string_value(json_object_get(clip, "file"));
        const char *wanted = json_string_value(json_object_get(clip, "text"));
        if (strncmp(file, "tests/golden/speech/commands/", 29) != 0 &&
            strncmp(file, "tests/golden/speech/read/", 25) != 0) {
            continue;
        }
        size_t wanted_count = 0;
        hear(model, clip);
        const size_t distance = word_distance(model->text, wanted, &wanted_count);
        count.words += wanted_count;
        count.different += distance;
        if (distance) {
            print_message("%s: '%s', float weights: '%s'\n", file, model->text, wanted);
        }
    }
    print_message("default weights: %zu of %zu words differ\n", count.different, count.words);
    return count;
}

static void default_weights_write_nearly_the_same_words(void **state) {
    listener model;
    (void)state;
    if (!open_listener(&model, NULL, "f16")) {
        skip();
    }
    const word_count whole = compare_words(&model);
    assert_true(whole.words > 150);
    assert_true(100 * whole.different <= 3 * whole.words);
    // Less silence behind the sound changes words that were in doubt.
    model.audio_context = KAZEIA_AUDIO_CONTEXT_AUTO;
    const word_count fitted = compare_words(&model);
    assert_true(fitted.different > 0);
    assert_true(100 * fitted.different <= 20 * fitted.words);
    close_listener(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_weights_write_the_same_tokens),
        cmocka_unit_test(default_weights_write_nearly_the_same_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
