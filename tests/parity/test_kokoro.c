// test_kokoro.c: Kokoro's real weights in our runtime, against onnxruntime on the same file.
//
// in:  $KAZEIA_MODELS/kokoro (scripts/fetch-models kokoro), tests/golden/kokoro
// out: cmocka's report; skipped, with a sentence, where the model is not there
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/metered_allocator.h"
#include "parity.h"
#include "speak/kokoro.h"

#define SKIPPED_SAMPLES 20 // in front: onnxruntime divides the first 10 by a window (docs)

typedef struct voice {
    char folder[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
    metered_allocator meter;
    kz_program *program;
    kz_pool *pool;
    kz_kokoro *kokoro;
} voice;

typedef struct golden {
    int32_t *ids, *durations;
    int16_t *samples;
    size_t id_count, duration_count, sample_count;
} golden;

// --- Files --------------------------------------------------------------------------------------

static void *read_file(const char *name, const char *ending, size_t element, size_t *out_count) {
    char path[PARITY_PATH_BYTES];
    (void)snprintf(path, sizeof path, "tests/golden/kokoro/%s.%s", name, ending);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const size_t bytes = (size_t)ftell(file);
    void *content = malloc(bytes);
    assert_non_null(content);
    rewind(file);
    assert_int_equal(fread(content, 1, bytes, file), bytes);
    (void)fclose(file);
    *out_count = bytes / element;
    return content;
}

static golden read_golden(const char *name) {
    golden g;
    g.ids = read_file(name, "ids", 4, &g.id_count);
    g.durations = read_file(name, "durations", 4, &g.duration_count);
    g.samples = read_file(name, "samples", 2, &g.sample_count);
    assert_int_equal(g.duration_count, g.id_count + 2);
    return g;
}

static void free_golden(golden *g) {
    free(g->ids);
    free(g->durations);
    free(g->samples);
}

static bool open_voice(voice *v, const char *weights) {
    char source[PARITY_PATH_BYTES];
    memset(v, 0, sizeof *v);
    v->meter.calls_allowed = SIZE_MAX;
    if (!parity_find_model("kokoro", source)) {
        return false;
    }
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = source;
    settings.weights = weights;
    parity_folder_create(v->folder);
    parity_export(&settings, v->folder, v->path);
    const kazeia_allocator allocator = {&v->meter, allocate_metered, release_metered};
    CHECK(kz_program_open(v->path, NULL, &v->program));
    CHECK(kz_pool_create(2, NULL, &v->pool));
    CHECK(kz_kokoro_create(v->program, v->pool, KZ_PRIORITY_SPEAK, &allocator, &v->kokoro));
    return true;
}

static void close_voice(voice *v) {
    kz_kokoro_destroy(v->kokoro);
    kz_pool_destroy(v->pool);
    kz_program_release(v->program);
    parity_folder_remove(v->folder);
    assert_int_equal(v->meter.live, 0);
}

// --- Sound --------------------------------------------------------------------------------------

// How alike two sounds are: 1 for the same, 0 for strangers.
static double correlation(const float *found, const int16_t *expected, size_t count) {
    double products = 0, own = 0, theirs = 0;
    for (size_t i = SKIPPED_SAMPLES; i < count; i++) {
        products += (double)found[i] * expected[i];
        own += (double)found[i] * (double)found[i];
        theirs += (double)expected[i] * expected[i];
    }
    return products / sqrt(own * theirs);
}

// Says the golden's piece with its durations; the durations found differ by `most_wrong` at most.
static void check_piece(voice *v, const char *speaker, const char *name, size_t most_wrong,
                        double least) {
    golden g = read_golden(name);
    int32_t *durations = NULL;
    const float *samples = NULL;
    size_t count = 0, wrong = 0;
    CHECK(kz_kokoro_choose(v->kokoro, speaker));
    const size_t calls = v->meter.calls;
    CHECK(kz_kokoro_measure(v->kokoro, g.ids, (uint32_t)g.id_count, 1.0f, &durations));
    for (size_t i = 0; i < g.duration_count; i++) {
        wrong += durations[i] != g.durations[i];
        durations[i] = g.durations[i];
    }
    CHECK(kz_kokoro_speak(v->kokoro, &samples, &count));
    assert_int_equal(v->meter.calls, calls);
    assert_int_equal(count, g.sample_count);
    const double alike = correlation(samples, g.samples, count);
    print_message("%s: %zu durations differ of %zu, correlation %.4f\n", name, wrong,
                  g.duration_count, alike);
    assert_true(wrong <= most_wrong);
    assert_true(alike >= least);
    free_golden(&g);
}

static void floats_say_what_the_original_says(void **state) {
    (void)state;
    voice v;
    if (!open_voice(&v, "f32")) {
        skip();
    }
    check_piece(&v, "ff_siwis", "bonjour", 1, 0.995);
    check_piece(&v, "af_heart", "hello", 1, 0.995);
    close_voice(&v);
}

static void eight_bits_say_nearly_the_same(void **state) {
    (void)state;
    voice v;
    if (!open_voice(&v, "q8")) {
        skip();
    }
    check_piece(&v, "ff_siwis", "bonjour", 2, 0.8);
    check_piece(&v, "af_heart", "hello", 2, 0.8);
    assert_string_equal(kz_kokoro_language_of(v.kokoro), "en-us");
    assert_string_equal(kz_kokoro_speaker_for(v.kokoro, "fr"), "ff_siwis");
    assert_string_equal(kz_kokoro_speaker_for(v.kokoro, "en"), "af_heart");
    assert_null(kz_kokoro_speaker_for(v.kokoro, "e"));
    close_voice(&v);
}

// --- Edges --------------------------------------------------------------------------------------

static void refuse(kazeia_status found, kazeia_status expected, const char *sentence) {
    assert_int_equal(found, expected);
    assert_non_null(strstr(kazeia_last_error(), sentence));
}

static void pieces_that_cannot_be_are_refused(void **state) {
    (void)state;
    voice v;
    int32_t ids[600];
    int32_t *durations = NULL;
    const float *samples = NULL;
    size_t count = 0;
    if (!open_voice(&v, "q8")) {
        skip();
    }
    for (size_t i = 0; i < 600; i++) {
        ids[i] = 43;
    }
    refuse(kz_kokoro_speak(v.kokoro, &samples, &count), KAZEIA_BAD_ARGUMENT, "0 frames");
    refuse(kz_kokoro_choose(v.kokoro, "nobody"), KAZEIA_NOT_FOUND, "ff_siwis");
    refuse(kz_kokoro_measure(v.kokoro, ids, 0, 1.0f, &durations), KAZEIA_BAD_ARGUMENT, "0 symbols");
    refuse(kz_kokoro_measure(v.kokoro, ids, 511, 1.0f, &durations), KAZEIA_BAD_ARGUMENT, "511");
    refuse(kz_kokoro_measure(v.kokoro, ids, 5, 2.5f, &durations), KAZEIA_BAD_ARGUMENT, "speed 2.5");
    ids[2] = 178;
    refuse(kz_kokoro_measure(v.kokoro, ids, 5, 1.0f, &durations), KAZEIA_BAD_ARGUMENT, "is 178");
    ids[2] = 0;
    CHECK(kz_kokoro_measure(v.kokoro, ids, 5, 1.0f, &durations));
    durations[3] = 100000;
    refuse(kz_kokoro_speak(v.kokoro, &samples, &count), KAZEIA_BAD_ARGUMENT, "frames in a piece");
    durations[3] = 0;
    refuse(kz_kokoro_speak(v.kokoro, &samples, &count), KAZEIA_BAD_ARGUMENT, "lasts 0 frames");
    durations[3] = 1;
    kz_kokoro_cancel(v.kokoro);
    assert_int_equal(kz_kokoro_speak(v.kokoro, &samples, &count), KAZEIA_CANCELLED);
    kz_kokoro_resume(v.kokoro);
    CHECK(kz_kokoro_speak(v.kokoro, &samples, &count));
    assert_int_equal(count, 600 * kz_kokoro_frames(durations, 7));
    close_voice(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_say_what_the_original_says),
        cmocka_unit_test(eight_bits_say_nearly_the_same),
        cmocka_unit_test(pieces_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
