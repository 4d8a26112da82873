// test_silero.c: Silero VAD in our runtime against the package's own network.
//
// in:  tests/golden/silero, tests/golden/speech
// out: cmocka's report
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/metered_allocator.h"
#include "kazeia/listen.h"
#include "parity.h"
#include "runtime/context.h"

#define SOURCE "tests/golden/silero/silero_vad_16k.safetensors"
#define GOLDEN "tests/golden/silero/expected.json"
#define WINDOW 512
#define RATE_HZ 16000
#define LARGEST_DIFFERENCE 1e-4 // the task allows ten times as much

typedef struct detector {
    char folder[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
    json_t *golden;
} detector;

static int open_detector(void **state) {
    detector *model = calloc(1, sizeof *model);
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = SOURCE;
    parity_folder_create(model->folder);
    parity_export(&settings, model->folder, model->path);
    model->golden = parity_read_json(GOLDEN);
    *state = model;
    return 0;
}

static int close_detector(void **state) {
    detector *model = *state;
    json_decref(model->golden);
    parity_folder_remove(model->folder);
    free(model);
    return 0;
}

static float *read_clip(const json_t *clip, size_t *out_count) {
    float *samples = NULL;
    CHECK(kazeia_audio_read(json_string_value(json_object_get(clip, "file")), RATE_HZ, &samples,
                            out_count));
    return samples;
}

// --- Probabilities ------------------------------------------------------------------------------

// Largest difference over a clip's windows, in a fresh context.
static double compare_clip(kz_program *program, kz_pool *pool, const json_t *clip) {
    const json_t *expected = json_object_get(clip, "probabilities");
    size_t count = 0;
    float *samples = read_clip(clip, &count);
    kz_context *context = NULL;
    double worst = 0;
    CHECK(kz_context_create(program, pool, KZ_PRIORITY_LISTEN, 0, NULL, &context));
    assert_int_equal(json_array_size(expected), (count + WINDOW - 1) / WINDOW);
    for (size_t i = 0; i * WINDOW < count; i++) {
        float window[WINDOW] = {0};
        float probability = -1;
        const void *inputs[] = {window};
        void *outputs[] = {&probability};
        const size_t left = count - i * WINDOW;
        memcpy(window, samples + i * WINDOW, (left < WINDOW ? left : WINDOW) * sizeof *window);
        CHECK(kz_context_run(context, 0, NULL, inputs, outputs));
        const double difference =
            fabs((double)probability - json_number_value(json_array_get(expected, i)));
        assert_true(difference >= 0); // no NaN
        worst = difference > worst ? difference : worst;
    }
    kz_context_destroy(context);
    kazeia_audio_release(samples);
    return worst;
}

static void probabilities_are_the_originals(void **state) {
    const detector *model = *state;
    const json_t *clips = json_object_get(model->golden, "clips");
    kz_program *program = NULL;
    kz_pool *pool = NULL;
    double worst = 0;
    CHECK(kz_program_open(model->path, NULL, &program));
    CHECK(kz_pool_create(1, NULL, &pool));
    assert_int_equal(json_array_size(clips), 32);
    for (size_t i = 0; i < json_array_size(clips); i++) {
        const double difference = compare_clip(program, pool, json_array_get(clips, i));
        worst = difference > worst ? difference : worst;
    }
    printf("silero: largest difference of a probability %.2g\n", worst);
    assert_true(worst <= LARGEST_DIFFERENCE);
    kz_pool_destroy(pool);
    kz_program_release(program);
}

// --- Spans --------------------------------------------------------------------------------------

typedef struct spans {
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_stage *stage;
    kazeia_speech_span list[16];
    size_t count;
} spans;

static void open_spans(spans *found, const char *path) {
    *found = (spans){.runtime = parity_runtime(NULL)};
    CHECK(kazeia_program_open(path, NULL, &found->program));
    CHECK(kazeia_vad_create(found->runtime, found->program, NULL, &found->stage));
}

static void close_spans(spans *found) {
    kazeia_stage_destroy(found->stage);
    kazeia_program_close(found->program);
    kazeia_runtime_destroy(found->runtime);
}

static void take_spans(spans *found, kazeia_status expected) {
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        size_t count = 0;
        assert_true(found->count < sizeof found->list / sizeof *found->list);
        status = kazeia_stage_next(found->stage, &found->list[found->count], 1, &count);
        found->count += count;
    }
    assert_int_equal(status, expected);
}

// Fed in pieces of `piece` samples.
static void find_spans(spans *found, const float *samples, size_t count, size_t piece) {
    CHECK(kazeia_stage_reset(found->stage));
    found->count = 0;
    for (size_t i = 0; i < count; i += piece) {
        size_t taken = 0;
        const size_t wanted = count - i < piece ? count - i : piece;
        CHECK(kazeia_stage_feed(found->stage, samples + i, wanted, &taken));
        assert_int_equal(taken, wanted);
        take_spans(found, KAZEIA_NEEDS_INPUT);
    }
    CHECK(kazeia_stage_finish(found->stage));
    take_spans(found, KAZEIA_DONE);
}

static void feed_all(spans *found, const float *samples, size_t count) {
    for (size_t fed = 0, taken = 0; fed < count; fed += taken) {
        CHECK(kazeia_stage_feed(found->stage, samples + fed, count - fed, &taken));
        take_spans(found, KAZEIA_NEEDS_INPUT);
    }
}

static void speech_is_found_and_nothing_else(void **state) {
    const detector *model = *state;
    const json_t *clips = json_object_get(model->golden, "clips");
    spans found;
    open_spans(&found, model->path);
    for (size_t i = 0; i < json_array_size(clips); i++) {
        const json_t *clip = json_array_get(clips, i);
        size_t count = 0;
        float *samples = read_clip(clip, &count);
        find_spans(&found, samples, count, 1600);
        const bool has_speech = json_is_true(json_object_get(clip, "has_speech"));
        assert_int_equal(found.count > 0, has_speech);
        for (size_t k = 0; k < found.count; k++) {
            const kazeia_speech_span *span = &found.list[k];
            assert_true(span->start_s >= (k ? found.list[k - 1].end_s : 0.0));
            assert_true(span->end_s - span->start_s >= 0.25);
            assert_true(span->end_s <= (double)count / RATE_HZ);
        }
        kazeia_audio_release(samples);
    }
    close_spans(&found);
}

// Where the voice begins and ends: the first and the last 25 ms between 250 and 5000 Hz that are
// within 30 dB of the loudest quarter of a second, sounds without a voice left aside. Before most
// of these somebody breathes in.
static const struct {
    size_t clip;
    const char *name;
    double start_s, end_s;
} voices[] = {
    {3, "allume le Rez-de-chaussée à 80 pourcent", 0.56, 2.40},
    {7, "combien de temps reste-t-il", 0.46, 1.66},
    {11, "fermer les rideaux", 0.68, 1.60},
    {12, "minuteur 1 heure", 0.70, 1.93},
    {13, "minuteur 10 minutes", 0.79, 2.14},
    {21, "pause", 0.59, 0.94},
    {31, "mer_jaune", 0.82, 3.82},
};

static void spans_are_where_the_voice_is(void **state) {
    const detector *model = *state;
    static const float silence[2 * RATE_HZ];
    const json_t *clips = json_object_get(model->golden, "clips");
    spans found;
    open_spans(&found, model->path);
    for (size_t i = 0; i < sizeof voices / sizeof *voices; i++) {
        const json_t *clip = json_array_get(clips, voices[i].clip);
        size_t count = 0;
        float *samples = read_clip(clip, &count);
        assert_non_null(strstr(json_string_value(json_object_get(clip, "file")), voices[i].name));
        CHECK(kazeia_stage_reset(found.stage));
        found.count = 0;
        feed_all(&found, silence, 2 * RATE_HZ);
        feed_all(&found, samples, count);
        feed_all(&found, silence, RATE_HZ);
        assert_int_equal(found.count, 1);
        assert_true(fabs(found.list[0].start_s - 2 - voices[i].start_s) <= 0.3);
        assert_true(fabs(found.list[0].end_s - 2 - voices[i].end_s) <= 0.3);
        kazeia_audio_release(samples);
    }
    close_spans(&found);
}

static void pieces_of_any_size_give_the_same(void **state) {
    const detector *model = *state;
    static const size_t pieces[] = {1, 511, 513, 16000, 400000};
    const json_t *clip = json_array_get(json_object_get(model->golden, "clips"), 31);
    size_t count = 0;
    float *samples = read_clip(clip, &count);
    spans whole, parts;
    open_spans(&whole, model->path);
    open_spans(&parts, model->path);
    find_spans(&whole, samples, count, count);
    assert_true(whole.count > 0);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        find_spans(&parts, samples, count, pieces[i]);
        assert_int_equal(parts.count, whole.count);
        assert_memory_equal(parts.list, whole.list, whole.count * sizeof *whole.list);
    }
    close_spans(&parts);
    close_spans(&whole);
    kazeia_audio_release(samples);
}

enum { SILENCE, WHITE, LOUD_WHITE, HUM, SINE, BEEPS, SAW, SWEEP, CLICKS, BURSTS, KIND_COUNT };

static double sound_at(int kind, double t, double noise) {
    const double turn = 6.283185307179586;
    double sum = 0;
    switch (kind) {
    case WHITE:
        return 0.01 * noise;
    case LOUD_WHITE:
        return 0.5 * noise;
    case HUM:
        for (int k = 1; k < 10; k++) {
            sum += 0.2 / k * sin(turn * 50 * k * t);
        }
        return sum;
    case SINE:
        return 0.5 * sin(turn * 220 * t);
    case BEEPS:
        return fmod(t, 1) < 0.4 ? 0.5 * sin(turn * 440 * t) : 0;
    case SAW:
        return 0.8 * fmod(120 * t, 1) - 0.4;
    case SWEEP:
        return 0.5 * sin(turn * (100 * t + 150 * t * t));
    case CLICKS:
        return fmod(t, 0.5) < 2e-4 ? 0.9 : 0;
    case BURSTS:
        return fmod(t, 0.5) < 0.2 ? 0.2 * noise : 0;
    default:
        return 0;
    }
}

static void noise_and_tones_are_no_speech(void **state) {
    const detector *model = *state;
    const size_t count = (size_t)10 * RATE_HZ;
    float *samples = malloc(count * sizeof *samples);
    uint32_t random = 1;
    spans found;
    open_spans(&found, model->path);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525u + 1013904223u;
            const double noise = (double)random / 2147483648.0 - 1;
            samples[i] = (float)sound_at(kind, (double)i / RATE_HZ, noise);
        }
        find_spans(&found, samples, count, count);
        if (found.count) {
            fail_msg("sound %d: speech from %.2f to %.2f s", kind, found.list[0].start_s,
                     found.list[0].end_s);
        }
    }
    close_spans(&found);
    free(samples);
}

// Sound of any length is heard in the memory of the start, and its end as well as its beginning.
static void long_sound_takes_no_memory(void **state) {
    const detector *model = *state;
    enum { ROUNDS = 40, PAUSE = 2 * RATE_HZ };
    static const float silence[PAUSE];
    metered_allocator meter = {.calls_allowed = SIZE_MAX};
    const kazeia_allocator memory = {&meter, allocate_metered, release_metered};
    kazeia_vad_settings settings = kazeia_vad_settings_default();
    spans found = {.runtime = parity_runtime(NULL)};
    size_t count = 0, found_count = 0;
    float *samples = NULL;
    settings.allocator = &memory;
    CHECK(kazeia_audio_read("tests/golden/speech/read/mer_jaune.wav", RATE_HZ, &samples, &count));
    CHECK(kazeia_program_open(model->path, NULL, &found.program));
    CHECK(kazeia_vad_create(found.runtime, found.program, &settings, &found.stage));
    const size_t calls = meter.calls;
    for (size_t round = 0; round < ROUNDS; round++) {
        found.count = 0;
        feed_all(&found, samples, count);
        feed_all(&found, silence, PAUSE);
        const double start_s = (double)(round * (count + PAUSE)) / RATE_HZ;
        assert_in_range(found.count, 1, 4);
        assert_true(found.list[0].start_s > start_s);
        assert_true(found.list[found.count - 1].end_s < start_s + (double)count / RATE_HZ + 0.3);
        found_count += found.count;
    }
    assert_true(found_count >= ROUNDS);
    assert_int_equal(meter.calls, calls);
    close_spans(&found);
    assert_int_equal(meter.live, 0);
    kazeia_audio_release(samples);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_the_originals),
        cmocka_unit_test(speech_is_found_and_nothing_else),
        cmocka_unit_test(spans_are_where_the_voice_is),
        cmocka_unit_test(pieces_of_any_size_give_the_same),
        cmocka_unit_test(noise_and_tones_are_no_speech),
        cmocka_unit_test(long_sound_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, open_detector, close_detector);
}
