// test_mel.c: the log-mel front end against what the original framework computed.
//
// in:  tests/golden/audio
// out: cmocka's report
#include "audio/files.h"
#include "audio/mel.h"
#include "audio_test.h"
#include "base/half.h"

#define CHANNELS 80u

static float rows[KZ_MEL_ROWS * KZ_MEL_MOST_CHANNELS];

static kz_samples read_speech(void) {
    kz_samples samples;
    assert_int_equal(
        kz_audio_read_file("tests/golden/audio/jfk.wav", KZ_MEL_RATE_HZ, NULL, &samples, NULL),
        KAZEIA_OK);
    assert_int_equal(samples.count, 176000);
    return samples;
}

static size_t compute(const float *samples, size_t count) {
    kz_mel *mel;
    assert_int_equal(kz_mel_create(CHANNELS, NULL, NULL, &mel), KAZEIA_OK);
    assert_int_equal(kz_mel_channel_count(mel), CHANNELS);
    const size_t sounding = kz_mel_compute(mel, samples, count, rows);
    kz_mel_destroy(mel);
    return sounding;
}

// Compares all 3000 rows with a golden whose last row stands for all after it.
static float largest_difference(const float *golden, size_t golden_rows) {
    float largest = 0.0f;
    for (size_t row = 0; row < KZ_MEL_ROWS; row++) {
        const size_t golden_row = row < golden_rows ? row : golden_rows - 1;
        for (size_t channel = 0; channel < CHANNELS; channel++) {
            const float difference =
                rows[row * CHANNELS + channel] - golden[golden_row * CHANNELS + channel];
            largest = fmaxf(largest, fabsf(difference));
        }
    }
    return largest;
}

static void five_seconds_match_the_float64_golden(void **state) {
    (void)state;
    size_t bytes;
    float *golden = read_test_file("tests/golden/audio/jfk_5s_mel_f32.bin", &bytes);
    kz_samples samples = read_speech();
    assert_int_equal(compute(samples.samples, 80000), 502);
    const float largest = largest_difference(golden, bytes / sizeof(float) / CHANNELS);
    print_message("mel, 5 s of speech: largest difference %.2e\n", (double)largest);
    assert_true(largest < 1.0e-4f);
    kz_samples_clear(&samples, NULL);
    free(golden);
}

static void a_whole_clip_matches_the_extractor(void **state) {
    (void)state;
    size_t bytes;
    uint16_t *half = read_test_file("tests/golden/audio/jfk_mel_f16.bin", &bytes);
    const size_t count = bytes / sizeof(uint16_t);
    float *golden = malloc(count * sizeof(float));
    assert_non_null(golden);
    for (size_t i = 0; i < count; i++) {
        golden[i] = kz_float_from_f16(half[i]);
    }
    kz_samples samples = read_speech();
    compute(samples.samples, samples.count);
    const float largest = largest_difference(golden, count / CHANNELS);
    print_message("mel, 11 s of speech: largest difference %.2e\n", (double)largest);
    assert_true(largest < 1.0e-3f);
    double sum = 0.0;
    float lowest = rows[0];
    for (size_t i = 0; i < KZ_MEL_ROWS * CHANNELS; i++) {
        sum += (double)rows[i];
        lowest = fminf(lowest, rows[i]);
    }
    assert_float_equal(sum / (KZ_MEL_ROWS * CHANNELS), -0.295029, 2.0e-6);
    assert_float_equal(lowest, -0.538742, 2.0e-6);
    kz_samples_clear(&samples, NULL);
    free(golden);
    free(half);
}

static void silence_is_flat(void **state) {
    (void)state;
    assert_int_equal(compute(NULL, 0), 0);
    for (size_t i = 0; i < KZ_MEL_ROWS * CHANNELS; i++) {
        assert_float_equal(rows[i], -1.5f, 0.0f);
    }
}

// A row is the window's own power: checked against a transform written out, at the left edge
// (mirrored), inside, and at the right edge (mirrored).
static void edges_are_mirrored(void **state) {
    (void)state;
    static float samples[KZ_MEL_SAMPLES + 400];
    uint32_t random = 1;
    for (size_t i = 0; i < KZ_MEL_SAMPLES + 400; i++) {
        random = random * 1664525u + 1013904223u;
        samples[i] = (float)(int32_t)random / 4.0e9f;
    }
    static float filters[CHANNELS * KZ_MEL_BINS];
    kz_mel_make_slaney_filters(CHANNELS, filters);
    assert_int_equal(compute(samples, KZ_MEL_SAMPLES + 400), KZ_MEL_ROWS);
    const int tested[] = {0, 1, 1500, KZ_MEL_ROWS - 1};
    for (size_t t = 0; t < 4; t++) {
        double power[KZ_MEL_BINS];
        for (int bin = 0; bin < (int)KZ_MEL_BINS; bin++) {
            double real = 0.0, imaginary = 0.0;
            for (int i = 0; i < 400; i++) {
                int at = abs(tested[t] * 160 - 200 + i);
                at = at >= 480000 ? 2 * 479999 - at : at;
                const double turn = 2.0 * 3.14159265358979323846 * i / 400.0;
                const double value = (double)samples[at] * (0.5 - 0.5 * cos(turn));
                real += value * cos(turn * bin);
                imaginary -= value * sin(turn * bin);
            }
            power[bin] = real * real + imaginary * imaginary;
        }
        for (size_t channel = 0; channel < CHANNELS; channel++) {
            double sum = 0.0;
            for (size_t bin = 0; bin < KZ_MEL_BINS; bin++) {
                sum += power[bin] * (double)filters[channel * KZ_MEL_BINS + bin];
            }
            assert_float_equal(rows[(size_t)tested[t] * CHANNELS + channel],
                               (log10(sum) + 4.0) / 4.0, 1.0e-5);
        }
    }
}

// Values of librosa.filters.mel(sr=16000, n_fft=400, n_mels=N), as published in Whisper's assets.
static void filters_have_unit_area(void **state) {
    (void)state;
    static float filters[128 * KZ_MEL_BINS];
    kz_mel_make_slaney_filters(80, filters);
    assert_float_equal(filters[1], 0.02486259490251541, 1.0e-8);
    assert_float_equal(filters[KZ_MEL_BINS + 1], 0.001990821911022067, 1.0e-8);
    assert_float_equal(filters[KZ_MEL_BINS + 2], 0.022871773689985275, 1.0e-8);
    kz_mel_make_slaney_filters(128, filters);
    for (size_t channel = 100; channel < 128; channel++) {
        double area = 0.0;
        for (size_t bin = 0; bin < KZ_MEL_BINS; bin++) {
            area += (double)filters[channel * KZ_MEL_BINS + bin] * 40.0;
        }
        assert_float_equal(area, 1.0, 0.05);
    }
}

static void given_filters_are_used(void **state) {
    (void)state;
    static float filters[2 * KZ_MEL_BINS];
    filters[25] = 1.0f; // 1000 Hz
    static float tone[KZ_MEL_SAMPLES];
    for (size_t i = 0; i < KZ_MEL_SAMPLES; i++) {
        tone[i] = (float)sin(2.0 * 3.14159265358979323846 * (double)(i % 16) / 16.0);
    }
    kz_mel *mel;
    assert_int_equal(kz_mel_create(2, filters, NULL, &mel), KAZEIA_OK);
    kz_mel_compute(mel, tone, KZ_MEL_SAMPLES, rows);
    // A sine of 1 under a window whose mean is 1/2 gives |X| = 400 / 4.
    assert_float_equal(rows[2 * 1000], (4.0 + 4.0) / 4.0, 1.0e-5);
    assert_float_equal(rows[2 * 1000 + 1], (-4.0 + 4.0) / 4.0, 1.0e-5); // loudest less 8
    kz_mel_destroy(mel);
    filters[30] = NAN;
    assert_int_equal(kz_mel_create(2, filters, NULL, &mel), KAZEIA_BAD_ARGUMENT);
    assert_sentence_has("channel 0 is not finite at bin 30");
    assert_int_equal(kz_mel_create(0, NULL, NULL, &mel), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_mel_create(257, NULL, NULL, &mel), KAZEIA_BAD_ARGUMENT);
}

static void damaged_samples_stay_finite(void **state) {
    (void)state;
    float samples[1000] = {0};
    samples[100] = NAN;
    samples[200] = INFINITY;
    samples[300] = -3.0e38f;
    samples[400] = 1.0e6f;
    compute(samples, 1000);
    for (size_t i = 0; i < KZ_MEL_ROWS * CHANNELS; i++) {
        assert_true(isfinite(rows[i]));
    }
}

static void computing_allocates_nothing(void **state) {
    (void)state;
    kz_samples samples = read_speech();
    counting_memory memory = {0};
    const kazeia_allocator allocator = counting_allocator(&memory);
    kz_mel *mel;
    assert_int_equal(kz_mel_create(CHANNELS, NULL, &allocator, &mel), KAZEIA_OK);
    const size_t after_create = memory.allocation_count;
    assert_true(after_create > 0);
    kz_mel_compute(mel, samples.samples, samples.count, rows);
    assert_int_equal(memory.allocation_count, after_create);
    kz_mel_destroy(mel);
    assert_int_equal(memory.live_count, 0);
    for (size_t failing = 1; failing <= after_create; failing++) {
        memory = (counting_memory){.failing_allocation = failing};
        assert_int_equal(kz_mel_create(CHANNELS, NULL, &allocator, &mel), KAZEIA_OUT_OF_MEMORY);
        assert_int_equal(memory.live_count, 0);
    }
    kz_samples_clear(&samples, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_seconds_match_the_float64_golden),
        cmocka_unit_test(a_whole_clip_matches_the_extractor),
        cmocka_unit_test(silence_is_flat),
        cmocka_unit_test(edges_are_mirrored),
        cmocka_unit_test(filters_have_unit_area),
        cmocka_unit_test(given_filters_are_used),
        cmocka_unit_test(damaged_samples_stay_finite),
        cmocka_unit_test(computing_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
