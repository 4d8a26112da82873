// test_espeak.c: the espeak-ng voice and the library under it. Skipped where espeak-ng is absent.
//
// in:  sentences
// out: cmocka's report
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/thread.h"
#include "speak/voice.h"
#include "text/espeak_library.h"
#include "text/espeak_text.h"

#define MOST_SAMPLES 4000000u

static float sound[MOST_SAMPLES];

static bool is_absent(void) {
    uint32_t rate_hz;
    if (kz_espeak_open(&rate_hz) == KAZEIA_OK) {
        kz_espeak_close();
        return false;
    }
    print_message("espeak-ng is not there: %s\n", kazeia_last_error());
    assert_non_null(strstr(kazeia_last_error(), "install the package"));
    return true;
}

#define SKIP_WHERE_ABSENT() \
    do {                    \
        if (is_absent()) {  \
            skip();         \
        }                   \
    } while (0)

static kz_voice *open_or_fail(const char *name, float speed) {
    kz_voice *voice;
    const kz_voice_options options = {.speed = speed};
    if (kz_voice_open(name, &options, NULL, &voice) != KAZEIA_OK) {
        fail_msg("%s: %s", name, kazeia_last_error());
    }
    return voice;
}

static void feed_all(kz_voice *voice, const char *text) {
    size_t taken;
    assert_int_equal(voice->table->feed(voice, text, strlen(text), &taken), KAZEIA_OK);
    assert_int_equal(taken, strlen(text));
}

// Speaks until something other than OK; returns it.
static kazeia_status drain(kz_voice *voice, size_t *out_count) {
    *out_count = 0;
    for (;;) {
        size_t count;
        const size_t room = MOST_SAMPLES - *out_count;
        const kazeia_status status =
            voice->table->next(voice, sound + *out_count, room < 1000 ? room : 1000, &count);
        if (status != KAZEIA_OK) {
            return status;
        }
        *out_count += count;
    }
}

static double loudness(size_t count) {
    double energy = 0.0;
    for (size_t i = 0; i < count; i++) {
        assert_true(fabsf(sound[i]) <= 1.0f);
        energy += (double)(sound[i] * sound[i]);
    }
    return count > 0 ? sqrt(energy / (double)count) : 0.0;
}

static size_t speak(kz_voice *voice, const char *text) {
    size_t count;
    feed_all(voice, text);
    voice->table->finish(voice);
    assert_int_equal(drain(voice, &count), KAZEIA_DONE);
    voice->table->reset(voice);
    return count;
}

static void bonjour_can_be_heard(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    kz_voice *voice = open_or_fail("espeak:fr", 0.0f);
    assert_int_equal(voice->sample_rate_hz, 22050);
    feed_all(voice, "Bonjour.\n");
    size_t first;
    assert_int_equal(voice->table->next(voice, sound, 100, &first), KAZEIA_OK);
    assert_int_equal(first, 100);
    size_t count;
    assert_int_equal(drain(voice, &count), KAZEIA_NEEDS_INPUT);
    voice->table->finish(voice);
    assert_int_equal(drain(voice, &first), KAZEIA_DONE);
    assert_int_equal(first, 0);
    assert_true(count > 22050 * 3 / 10 && count < 22050 * 3);
    assert_true(loudness(count) > 0.01);
    size_t taken;
    assert_int_equal(voice->table->feed(voice, "x", 1, &taken), KAZEIA_BAD_ARGUMENT);
    kz_voice_close(voice);
}

static void sound_is_the_same_every_time(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    kz_voice *french = open_or_fail("espeak:fr", 0.0f);
    kz_voice *english = open_or_fail("espeak:en", 0.0f);
    const size_t count = speak(french, "Il fait beau aujourd'hui.\n");
    const double level = loudness(count);
    (void)speak(english, "Il fait beau aujourd'hui.\n");
    // Not sample for sample: espeak-ng carries its oscillator's phase over.
    const size_t again = speak(french, "Il fait beau aujourd'hui."); // finish ends it as well
    assert_in_range(again, count - count / 100, count + count / 100);
    assert_float_equal(loudness(again), level, 0.02 * level);
    kz_voice_close(french);
    kz_voice_close(english);
}

static void sentences_are_spoken_as_they_end(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    kz_voice *voice = open_or_fail("espeak:en", 0.0f);
    size_t first, second, both;
    feed_all(voice, "It is late.");
    assert_int_equal(drain(voice, &first), KAZEIA_NEEDS_INPUT);
    assert_int_equal(first, 0);
    feed_all(voice, "\nGood ");
    assert_int_equal(drain(voice, &first), KAZEIA_NEEDS_INPUT);
    assert_true(first > 6000);
    feed_all(voice, "night.");
    voice->table->finish(voice);
    assert_int_equal(drain(voice, &second), KAZEIA_DONE);
    assert_true(second > 6000);
    voice->table->reset(voice);
    both = speak(voice, "It is late.\nGood night.\n");
    assert_in_range(both, (first + second) * 99 / 100, (first + second) * 101 / 100);
    kz_voice_close(voice);
}

static void speed_changes_the_length(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    const char text[] = "Le train de dix heures a vingt minutes de retard.\n";
    kz_voice *normal = open_or_fail("espeak:fr", 1.0f);
    kz_voice *fast = open_or_fail("espeak:fr", 2.0f);
    kz_voice *slow = open_or_fail("espeak:fr", 0.5f);
    const double count = (double)speak(normal, text);
    const double fast_part = (double)speak(fast, text) / count;
    const double slow_part = (double)speak(slow, text) / count;
    print_message("speed 2 takes %.2f of the time, speed 0.5 takes %.2f\n", fast_part, slow_part);
    assert_true(fast_part > 0.4 && fast_part < 0.7);
    assert_true(slow_part > 1.6 && slow_part < 2.4);
    kz_voice_close(normal);
    kz_voice_close(fast);
    kz_voice_close(slow);
}

// Digits at the slowest speed: a piece of them is more sound than the buffer holds.
static void long_text_is_bounded_and_whole(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    kz_voice *voice = open_or_fail("espeak:fr", 0.46f);
    char text[6000];
    memset(text, 'a', sizeof text);
    size_t taken;
    assert_int_equal(voice->table->feed(voice, text, sizeof text, &taken), KAZEIA_OK);
    assert_int_equal(taken, 4096);
    assert_int_equal(voice->table->feed(voice, text, sizeof text, &taken), KAZEIA_OK);
    assert_int_equal(taken, 0);
    voice->table->reset(voice);
    for (size_t i = 0; i < 480; i++) {
        text[i] = i % 8 == 7 ? ',' : (char)('1' + i % 8);
    }
    text[480] = '\0';
    size_t total = 0, unfruitful = 0;
    feed_all(voice, text);
    voice->table->finish(voice);
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        size_t count;
        status = voice->table->next(voice, sound, MOST_SAMPLES, &count);
        total += count;
        unfruitful += status == KAZEIA_OK && count == 0;
    }
    assert_int_equal(status, KAZEIA_DONE);
    assert_true(unfruitful > 0);
    assert_true(total > 22050u * 80);
    kz_voice_close(voice);
}

typedef struct cancelling {
    kz_voice *voice;
    atomic_bool is_speaking, is_cancelled;
} cancelling;

static void cancel_soon(void *context) {
    cancelling *run = context;
    while (!atomic_load(&run->is_speaking)) {
        kz_thread_pause();
    }
    kz_thread_yield();
    run->voice->table->cancel(run->voice);
    atomic_store(&run->is_cancelled, true);
}

// Speaks on until a cancel from another thread is seen: in a synthesis, or between two.
static void speak_until_cancelled(kz_voice *voice) {
    cancelling run = {.voice = voice};
    kz_thread canceller = {0};
    assert_int_equal(kz_thread_start(&canceller, cancel_soon, &run), KAZEIA_OK);
    kazeia_status status = KAZEIA_OK;
    while (status != KAZEIA_CANCELLED) {
        const char sentence[] = "On arrête cette phrase en chemin, car elle est assez longue.\n";
        const bool was_cancelled = atomic_load(&run.is_cancelled);
        size_t count;
        status = voice->table->feed(voice, sentence, sizeof sentence - 1, &count);
        atomic_store(&run.is_speaking, true);
        status = status == KAZEIA_OK ? voice->table->next(voice, sound, 100000, &count) : status;
        assert_false(was_cancelled && status != KAZEIA_CANCELLED);
        assert_true(status != KAZEIA_CANCELLED || count == 0);
    }
    kz_thread_join(&canceller);
}

static void cancel_stops_a_running_synthesis(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    kz_voice *voice = open_or_fail("espeak:fr", 0.5f);
    for (int round = 0; round < 5; round++) {
        speak_until_cancelled(voice);
        size_t count;
        assert_int_equal(voice->table->next(voice, sound, 100, &count), KAZEIA_CANCELLED);
        assert_int_equal(count, 0);
        assert_int_equal(voice->table->feed(voice, "x", 1, &count), KAZEIA_CANCELLED);
        voice->table->reset(voice);
        assert_true(speak(voice, "Bonjour.\n") > 22050 * 3 / 10); // as if nothing had been
    }
    kz_voice_close(voice);
}

static void strange_text_is_harmless(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    kz_voice *voice = open_or_fail("espeak:fr", 0.0f);
    const char *const texts[] = {"",
                                 "\n\n\n",
                                 "...",
                                 "\xf0\x9f",
                                 "a\xe2",
                                 "\xff\xfe\x80",
                                 "[[p]]",
                                 "<speak><audio src='x'/></speak>",
                                 "\x01\x02\x1b[31m",
                                 "日本語",
                                 "&lt;&#x1f600;",
                                 "😀😀"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_true(speak(voice, texts[i]) < 22050u * 30);
    }
    char long_word[237] = {0}; // kills espeak-ng 1.51 when it gets through
    for (size_t i = 0; i < 236; i++) {
        long_word[i] = i % 2 == 0 ? 'W' : '.';
    }
    assert_true(speak(voice, long_word) > 22050);
    size_t taken, count;
    assert_int_equal(voice->table->feed(voice, "a\0b\0", 4, &taken), KAZEIA_OK);
    voice->table->finish(voice);
    assert_int_equal(drain(voice, &count), KAZEIA_DONE);
    assert_true(count > 6000);
    voice->table->reset(voice);
    uint32_t random = 3;
    char noise[240];
    for (int round = 0; round < 40; round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            random = random * 1664525u + 1013904223u;
            noise[i] = (char)(random >> 24);
        }
        assert_int_equal(voice->table->feed(voice, noise, sizeof noise, &taken), KAZEIA_OK);
        voice->table->finish(voice);
        assert_int_equal(drain(voice, &count), KAZEIA_DONE);
        voice->table->reset(voice);
    }
    kz_voice_close(voice);
}

static void only_readable_text_passes(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"fr", "Ça coûte 3,50\u00a0€ — n'est-ce pas\u2009?", "Ça coûte 3,50 € — n'est-ce pas ?"},
        {"fr", "oui -- \u0434\u0430 - \u4e2d", "oui          "},
        {"ru", "\u0434\u0430 ok \u0915", "\u0434\u0430 ok  "},
        {"fr-be+f3", "a\xe2\x82\tb\xffé", "a   b é"},
        {"en", "", ""},
    };
    char out[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t count = strlen(cases[i][1]);
        const size_t written = kz_espeak_prepare_text(cases[i][0], cases[i][1], count, out);
        assert_int_equal(written, strlen(out));
        assert_string_equal(out, cases[i][2]);
    }
    char word[100];
    memset(word, 'w', sizeof word);
    assert_int_equal(kz_espeak_prepare_text("fr", word, sizeof word, out), 102);
    assert_int_equal(strcspn(out, " "), KZ_ESPEAK_WORD_BYTES);
}

static void wrong_names_are_refused(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    kz_voice *voice;
    assert_true(kz_voice_is_built_in("espeak:fr"));
    assert_false(kz_voice_is_built_in("espeakfr"));
    assert_int_equal(kz_voice_open("nobody:fr", NULL, NULL, &voice), KAZEIA_NOT_FOUND);
    assert_int_equal(kz_voice_open("espeak:xx-nowhere", NULL, NULL, &voice), KAZEIA_NOT_FOUND);
    assert_non_null(strstr(kazeia_last_error(), "xx-nowhere"));
    assert_int_equal(kz_voice_open("espeak:../fr", NULL, NULL, &voice), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_voice_open("espeak:mb-fr1", NULL, NULL, &voice), KAZEIA_UNSUPPORTED);
    assert_int_equal(kz_voice_open("espeak", NULL, NULL, &voice), KAZEIA_BAD_ARGUMENT);
    const float speeds[] = {0.1f, -1.0f, 9.0f, NAN, INFINITY};
    for (size_t i = 0; i < 5; i++) {
        const kz_voice_options options = {.speed = speeds[i]};
        assert_int_equal(kz_voice_open("espeak:fr", &options, NULL, &voice), KAZEIA_BAD_ARGUMENT);
    }
    const kz_voice_options options = {.language = "de"};
    assert_int_equal(kz_voice_open("espeak", &options, NULL, &voice), KAZEIA_OK);
    kz_voice_close(voice);
}

static void opening_again_and_again_works(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    for (int round = 0; round < 20; round++) {
        kz_voice *voice = open_or_fail(round % 2 ? "espeak:en" : "espeak:fr", 0.0f);
        assert_true(speak(voice, "Bonjour.\n") > 6000);
        kz_voice_close(voice);
    }
}

static void text_becomes_phonemes(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    uint32_t rate_hz;
    assert_int_equal(kz_espeak_open(&rate_hz), KAZEIA_OK);
    const kazeia_allocator allocator = kz_allocator_or_default(NULL);
    kz_text_buffer phonemes;
    assert_int_equal(kz_text_buffer_init(&phonemes, &allocator, 64, 4096), KAZEIA_OK);
    assert_int_equal(kz_espeak_phonemes("fr", "Bonjour, madame.", 16, &phonemes), KAZEIA_OK);
    print_message("phonemes: %s\n", phonemes.bytes);
    assert_non_null(strstr(phonemes.bytes, "b\u0254\u0303")); // bon
    assert_non_null(strstr(phonemes.bytes, "\n"));
    assert_non_null(strstr(phonemes.bytes, "mad"));
    kz_text_buffer_reset(&phonemes); // dashes inside words stay, others go
    assert_int_equal(kz_espeak_phonemes("fr", "peut-être -- oui", 17, &phonemes), KAZEIA_OK);
    const size_t whole_count = phonemes.count;
    assert_int_equal(kz_espeak_phonemes("fr", "peut-être oui", 14, &phonemes), KAZEIA_OK);
    assert_int_equal(phonemes.count, 2 * whole_count);
    assert_memory_equal(phonemes.bytes, phonemes.bytes + whole_count, whole_count);
    char long_text[KZ_ESPEAK_TEXT_BYTES + 1] = {0};
    assert_int_equal(kz_espeak_phonemes("fr", long_text, sizeof long_text, &phonemes),
                     KAZEIA_BAD_ARGUMENT);
    kz_text_buffer_clear(&phonemes);
    kz_espeak_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bonjour_can_be_heard),
        cmocka_unit_test(sound_is_the_same_every_time),
        cmocka_unit_test(sentences_are_spoken_as_they_end),
        cmocka_unit_test(speed_changes_the_length),
        cmocka_unit_test(long_text_is_bounded_and_whole),
        cmocka_unit_test(cancel_stops_a_running_synthesis),
        cmocka_unit_test(strange_text_is_harmless),
        cmocka_unit_test(only_readable_text_passes),
        cmocka_unit_test(wrong_names_are_refused),
        cmocka_unit_test(opening_again_and_again_works),
        cmocka_unit_test(text_becomes_phonemes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
