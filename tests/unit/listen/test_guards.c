// test_guards.c: what the guards make of synthetic sound, of doubts, and of loops.
//
// in:  signals made here, with values that docs/listening.md explains
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "listen/guards.h"
#include "listen/sound.h"

#define RATE 16000
#define SECONDS 4
#define COUNT (RATE * SECONDS)
#define MELS 80
#define PI 3.14159265358979323846

typedef struct fixture {
    kz_mel *mel;
    float *rows;    // [KZ_MEL_ROWS][MELS]
    float *samples; // [KZ_MEL_SAMPLES]
    uint32_t random;
} fixture;

static void *allocate(size_t count) {
    void *memory = calloc(count, sizeof(float));
    assert_non_null(memory);
    return memory;
}

static int open_fixture(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->rows = allocate(KZ_MEL_ROWS * MELS);
    f->samples = allocate(KZ_MEL_SAMPLES);
    f->random = 1;
    *state = f;
    return kz_mel_create(MELS, NULL, NULL, &f->mel) == KAZEIA_OK ? 0 : -1;
}

static int close_fixture(void **state) {
    fixture *f = *state;
    kz_mel_destroy(f->mel);
    free(f->rows);
    free(f->samples);
    free(f);
    return 0;
}

static float noise(fixture *f) {
    f->random = f->random * 1664525u + 1013904223u;
    return (float)(f->random >> 8) / 8388608.0f - 1.0f;
}

static float sine(double hz, size_t i) {
    return (float)sin(2 * PI * hz * (double)i / RATE);
}

static kz_sound measure(fixture *f, size_t count) {
    (void)kz_mel_compute(f->mel, f->samples, count, f->rows);
    return kz_sound_measure(f->samples, count, f->rows, MELS);
}

static bool may_be_speech(fixture *f, size_t count) {
    const kz_sound sound = measure(f, count);
    return kz_sound_may_be_speech(&sound);
}

// A voice as acoustics draws it: a pulse train with a gliding pitch through two resonances that
// jump to another vowel every 0.2 s, and a hiss between the vowels.
static void speak(fixture *f, float *samples, size_t count, float gain) {
    static const double vowels[][2] = {{300, 2300}, {700, 1200}, {350, 800}, {500, 1800}};
    double memory[2][2] = {{0}};
    double phase = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t sound = i / (RATE / 5), place = i % (RATE / 5);
        const double *formants = vowels[sound % 4];
        const bool is_hiss = place < RATE / 25;
        phase += (120 + 30 * (double)sine(1.3, i)) / RATE;
        double value = phase >= 1 ? 1 : 0;
        phase -= phase >= 1 ? 1 : 0;
        for (size_t k = 0; k < 2; k++) {
            const double radius = exp(-PI * 90 / RATE);
            const double next = value +
                                2 * radius * cos(2 * PI * formants[k] / RATE) * memory[k][0] -
                                radius * radius * memory[k][1];
            memory[k][1] = memory[k][0];
            memory[k][0] = next;
            value = next;
        }
        const float fade = (float)sin(PI * (double)place / (RATE / 5.0));
        samples[i] += gain * (is_hiss ? 0.2f * noise(f) : fade * (float)value / 30);
    }
}

// --- Sound --------------------------------------------------------------------------------------

static void silence_is_no_speech(void **state) {
    fixture *f = *state;
    assert_false(may_be_speech(f, 0));
    assert_false(may_be_speech(f, 1));
    assert_false(may_be_speech(f, COUNT));
    const kz_sound sound = measure(f, COUNT);
    assert_float_equal(sound.loudest_db, -120, 0.1);
    for (size_t i = 0; i < COUNT; i++) {
        f->samples[i] = noise(f) / 32768;
    }
    assert_false(may_be_speech(f, COUNT));
}

static void noise_of_any_level_keeps_its_shape(void **state) {
    fixture *f = *state;
    for (float gain = 1.0f; gain > 0.001f; gain /= 4) {
        float brown = 0;
        for (size_t i = 0; i < COUNT; i++) {
            const float white = noise(f);
            brown = 0.99f * brown + 0.05f * white;
            f->samples[i] = gain * (i < COUNT / 2 ? white : brown * 3);
        }
        const kz_sound white = measure(f, COUNT / 2);
        assert_true(white.change_db < 1.6f && white.swing_db < 4);
        memmove(f->samples, f->samples + COUNT / 2, COUNT / 2 * sizeof(float));
        const kz_sound dark = measure(f, COUNT / 2);
        assert_true(dark.change_db < 1.6f);
        assert_false(kz_sound_may_be_speech(&white) || kz_sound_may_be_speech(&dark));
    }
}

static void swelling_noise_is_no_speech(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < COUNT; i++) {
        f->samples[i] = 0.3f * noise(f) * (0.5f + 0.5f * sine(4, i));
    }
    const kz_sound sound = measure(f, COUNT);
    assert_true(sound.swing_db > 20); // as much as speech has
    assert_true(sound.change_db < 1.8f);
    assert_false(kz_sound_may_be_speech(&sound));
}

static void tones_and_beeps_are_no_speech(void **state) {
    fixture *f = *state;
    static const double pitches[] = {50, 440, 1000, 3000, 7900};
    for (size_t p = 0; p < sizeof pitches / sizeof *pitches; p++) {
        for (size_t i = 0; i < COUNT; i++) {
            f->samples[i] = 0.3f * sine(pitches[p], i);
        }
        assert_false(may_be_speech(f, COUNT));
        for (size_t i = 0; i < COUNT; i++) {
            f->samples[i] *= i % 6400 < 3200 ? 1 : 0;
        }
        assert_false(may_be_speech(f, COUNT));
    }
}

static void a_sweep_changes_but_is_one_tone(void **state) {
    fixture *f = *state;
    double phase = 0;
    for (size_t i = 0; i < COUNT; i++) {
        phase += (100 + 7000.0 * (double)i / COUNT) / RATE;
        f->samples[i] = 0.3f * (float)sin(2 * PI * phase);
    }
    const kz_sound sound = measure(f, COUNT);
    assert_true(sound.change_db > 10);
    assert_true(sound.tonality > 0.85f);
    assert_false(kz_sound_may_be_speech(&sound));
}

static void clicks_are_no_speech(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < COUNT; i += 1600) {
        f->samples[i] = 0.8f;
    }
    assert_false(may_be_speech(f, COUNT));
}

static void a_voice_passes(void **state) {
    fixture *f = *state;
    speak(f, f->samples, COUNT, 1);
    const kz_sound sound = measure(f, COUNT);
    assert_true(sound.change_db > 4 && sound.tonality < 0.65f && sound.swing_db > 10);
    assert_true(kz_sound_may_be_speech(&sound));
}

static void a_quiet_voice_passes(void **state) {
    fixture *f = *state;
    speak(f, f->samples, COUNT, 0.02f);
    assert_true(may_be_speech(f, COUNT));
}

static void a_short_voice_in_a_long_silence_passes(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < KZ_MEL_SAMPLES; i++) {
        f->samples[i] = noise(f) / 8192;
    }
    speak(f, f->samples + KZ_MEL_SAMPLES - RATE, RATE, 1);
    assert_true(may_be_speech(f, KZ_MEL_SAMPLES));
}

static void a_voice_in_noise_passes(void **state) {
    fixture *f = *state;
    speak(f, f->samples, COUNT, 1);
    double power = 0;
    for (size_t i = 0; i < COUNT; i++) {
        power += (double)(f->samples[i] * f->samples[i]);
    }
    // White noise of 10 dB less; its own power is a third.
    const float gain = (float)sqrt(3 * power / COUNT / 10);
    for (size_t i = 0; i < COUNT; i++) {
        f->samples[i] += gain * noise(f);
    }
    assert_true(may_be_speech(f, COUNT));
}

static void damaged_samples_are_silence(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < COUNT; i++) {
        f->samples[i] = i % 2 ? NAN : INFINITY;
    }
    assert_false(may_be_speech(f, COUNT));
}

// --- Doubts -------------------------------------------------------------------------------------

static bool believes(const char *text, float avg_logprob, float no_speech_prob, float change_db) {
    const kz_verdict verdict = {.text = text,
                                .avg_logprob = avg_logprob,
                                .no_speech_prob = no_speech_prob,
                                .change_db = change_db};
    return kz_text_is_believable(&verdict);
}

static void whispers_own_rule_holds(void **state) {
    (void)state;
    assert_false(believes("Merci.", -1.01f, 0.61f, 6));
    assert_false(believes("Merci.", -1.01f, 0.99f, 6));
    assert_true(believes("Merci.", -0.99f, 0.59f, 6));
}

static void the_surer_of_silence_the_surer_the_text_must_be(void **state) {
    (void)state;
    assert_true(believes("Puzz !", -1.15f, 0.23f, 6));
    assert_true(believes("Allume.", -0.2f, 0.9f, 6));
    assert_false(believes("Thank you.", -0.98f, 0.72f, 6));
    assert_false(believes("Thanks.", -1.30f, 0.43f, 2.6f));
    assert_true(believes("Ouvre les volets.", -1.25f, 0.34f, 3.5f));
}

static void an_echo_must_be_surer(void **state) {
    (void)state;
    static const int32_t echo[] = {9, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 4};
    static const int32_t plain[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    kz_verdict verdict = {"Boop, boop, boop, boop.", echo, 12, -0.59f, 0.68f, 3.9f};
    assert_false(kz_text_is_believable(&verdict));
    verdict.tokens = plain;
    assert_true(kz_text_is_believable(&verdict));
    verdict.tokens = echo; // said aloud, it is heard
    verdict.no_speech_prob = 0.2f;
    assert_true(kz_text_is_believable(&verdict));
}

static void a_text_needs_a_word(void **state) {
    (void)state;
    static const char *const empty[] = {
        "", "...", "!?", "\xe2\x80\xa6", "\xe2\x99\xaa", "\xc2\xab \xc2\xbb"};
    static const char *const words[] = {"a", "7", "\xc3\xa9", "\xec\x9d\x8c", "\xe2\x80\xa6 oui"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_false(believes(empty[i], 0, 0, 6));
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_true(believes(words[i], 0, 0, 6));
    }
}

// --- Loops --------------------------------------------------------------------------------------

// Feeds `times` stretches of `length` behind a beginning of 3 tokens, one token at a time as the
// stage does; returns how many tokens are left when a loop is found, or 0.
static size_t left_of_loop(size_t length, size_t times) {
    int32_t tokens[256];
    size_t count = 0;
    for (size_t i = 0; i < 3 + length * times; i++) {
        tokens[count++] = i < 3 ? (int32_t)(1000 + i) : (int32_t)((i - 3) % length);
        const size_t kept = kz_repetition_cut(tokens, count);
        if (kept < count) {
            return kept;
        }
    }
    return 0;
}

static void loops_of_every_length_are_cut(void **state) {
    (void)state;
    for (size_t length = 1; length <= 70; length++) {
        assert_int_equal(left_of_loop(length, length < 7 ? 9 : 3), 3 + length);
    }
}

static void what_people_repeat_stays(void **state) {
    (void)state;
    assert_int_equal(left_of_loop(1, 7), 0);  // ha ha ha ha ha ha ha
    assert_int_equal(left_of_loop(2, 5), 0);  // non, non, non, non, non,
    assert_int_equal(left_of_loop(4, 3), 0);  // a phrase said three times
    assert_int_equal(left_of_loop(12, 2), 0); // a sentence said twice
    assert_int_equal(kz_repetition_cut(NULL, 0), 0);
}

#define SOUND_TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void) {
    const struct CMUnitTest tests[] = {
        SOUND_TEST(silence_is_no_speech),
        SOUND_TEST(noise_of_any_level_keeps_its_shape),
        SOUND_TEST(swelling_noise_is_no_speech),
        SOUND_TEST(tones_and_beeps_are_no_speech),
        SOUND_TEST(a_sweep_changes_but_is_one_tone),
        SOUND_TEST(clicks_are_no_speech),
        SOUND_TEST(a_voice_passes),
        SOUND_TEST(a_quiet_voice_passes),
        SOUND_TEST(a_short_voice_in_a_long_silence_passes),
        SOUND_TEST(a_voice_in_noise_passes),
        SOUND_TEST(damaged_samples_are_silence),
        cmocka_unit_test(whispers_own_rule_holds),
        cmocka_unit_test(the_surer_of_silence_the_surer_the_text_must_be),
        cmocka_unit_test(an_echo_must_be_surer),
        cmocka_unit_test(a_text_needs_a_word),
        cmocka_unit_test(loops_of_every_length_are_cut),
        cmocka_unit_test(what_people_repeat_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
