// test_kokoro_voice.c: sentences become pieces, pieces become sound without silence around it.
//
// in:  sentences; a model that beeps, linked in place of the real one
// out: cmocka's report
// The model here says what it was given: each symbol is one frame of a tone, between frames of
// silence, so that pieces, pauses and cuts can be counted. espeak-ng reads the words; without it
// the tests are skipped.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/writer.h"
#include "speak/kokoro.h"
#include "speak/kokoro_voice.h"
#include "text/espeak_library.h"

#define RATE_HZ 24000u
#define FRAME 600u
#define MOST_SAMPLES 6000000u
#define MOST_PIECES 64u
#define PAD_FRAMES 20u // half a second of silence

// --- The model ----------------------------------------------------------------------------------

struct kz_kokoro {
    kz_kokoro_shape shape;
    const char *speaker, *language;
    int32_t durations[1024];
    uint32_t count;
    bool is_cancelled, is_failing;
    float samples[MOST_SAMPLES];
};

static struct kz_kokoro model;
static uint32_t piece_counts[MOST_PIECES];
static size_t piece_total;
static float last_speed;

static const char *const speakers[][2] = {
    {"af_bella", "en-us"}, {"af_heart", "en-us"}, {"bf_emma", "en-gb"},
    {"ff_siwis", "fr"},    {"jf_alpha", "ja"}, // which nobody reads
};
#define SPEAKERS (sizeof speakers / sizeof speakers[0])

kazeia_status kz_kokoro_create(kz_program *program, kz_pool *pool, kz_priority priority,
                               const kazeia_allocator *allocator, kz_kokoro **out_kokoro) {
    (void)program, (void)pool, (void)priority, (void)allocator;
    model.speaker = speakers[0][0];
    model.language = speakers[0][1];
    model.is_cancelled = false;
    *out_kokoro = &model;
    return KAZEIA_OK;
}

void kz_kokoro_destroy(kz_kokoro *kokoro) {
    (void)kokoro;
}

const kz_kokoro_shape *kz_kokoro_shape_of(const kz_kokoro *kokoro) {
    return &kokoro->shape;
}

kazeia_status kz_kokoro_choose(kz_kokoro *kokoro, const char *speaker) {
    for (size_t i = 0; i < SPEAKERS; i++) {
        if (strcmp(speakers[i][0], speaker) == 0) {
            kokoro->speaker = speakers[i][0];
            kokoro->language = speakers[i][1];
            return KAZEIA_OK;
        }
    }
    return kz_fail(KAZEIA_NOT_FOUND, "no speaker '%s'", speaker);
}

const char *kz_kokoro_speaker_of(const kz_kokoro *kokoro) {
    return kokoro->speaker;
}

const char *kz_kokoro_language_of(const kz_kokoro *kokoro) {
    return kokoro->language;
}

const char *kz_kokoro_speaker_for(const kz_kokoro *kokoro, const char *language) {
    (void)kokoro;
    for (size_t i = 0; i < SPEAKERS; i++) {
        if (strncmp(speakers[i][1], language, strlen(language)) == 0) {
            return speakers[i][0];
        }
    }
    return NULL;
}

kazeia_status kz_kokoro_measure(kz_kokoro *kokoro, const int32_t *ids, uint32_t count, float speed,
                                int32_t **out_durations) {
    assert_in_range(count, 1, kokoro->shape.symbol_limit);
    for (uint32_t i = 0; i < count; i++) {
        assert_in_range(ids[i], 1, kokoro->shape.id_limit - 1);
    }
    last_speed = speed;
    kokoro->count = count;
    kokoro->durations[0] = kokoro->durations[count + 1] = PAD_FRAMES;
    for (uint32_t i = 1; i <= count; i++) {
        kokoro->durations[i] = 1;
    }
    *out_durations = kokoro->durations;
    return kokoro->is_cancelled ? kz_fail(KAZEIA_CANCELLED, "model: cancelled") : KAZEIA_OK;
}

uint64_t kz_kokoro_frames(const int32_t *durations, uint32_t count) {
    uint64_t frames = 0;
    for (uint32_t i = 0; i < count; i++) {
        frames += (uint64_t)durations[i];
    }
    return frames;
}

kazeia_status kz_kokoro_speak(kz_kokoro *kokoro, const float **out_samples, size_t *out_count) {
    if (kokoro->is_failing) {
        return kz_fail(KAZEIA_IO, "model: fails");
    }
    assert_true(piece_total < MOST_PIECES);
    piece_counts[piece_total++] = kokoro->count;
    const size_t pad = (size_t)PAD_FRAMES * FRAME, sound = (size_t)kokoro->count * FRAME;
    assert_true(2 * pad + sound <= MOST_SAMPLES);
    for (size_t i = 0; i < 2 * pad + sound; i++) {
        const bool is_sound = i >= pad && i < pad + sound;
        kokoro->samples[i] = is_sound ? 0.5f : 0.001f;
    }
    *out_samples = kokoro->samples;
    *out_count = 2 * pad + sound;
    return KAZEIA_OK;
}

void kz_kokoro_cancel(kz_kokoro *kokoro) {
    kokoro->is_cancelled = true;
}

void kz_kokoro_resume(kz_kokoro *kokoro) {
    kokoro->is_cancelled = false;
}

// --- The voice ----------------------------------------------------------------------------------

#define SYMBOLS " ;:,.!?()aeiouydbpgktfvszmnlwjAIOQSTWY"

typedef struct fixture {
    uint8_t *bytes;
    kz_program *program;
    kz_voice *voice;
    kazeia_allocator memory;
} fixture;

static float sound[MOST_SAMPLES];

static bool open_voice(fixture *f, const kz_kokoro_settings *settings, kazeia_status expected) {
    static const char *const more[] = {"ɔ", "ɛ", "ʁ", "ʒ", "\u0303", "ə", "ˈ", "ˌ",
                                       "—", "…", "“", "”", "ɡ",      "ð", "ɹ"};
    const char *texts[64];
    char letters[64][2] = {{0}};
    int64_t ids[64];
    size_t count = 0;
    for (const char *p = SYMBOLS; *p; p++, count++) {
        letters[count][0] = *p;
        texts[count] = letters[count];
        ids[count] = (int64_t)count + 1;
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++, count++) {
        texts[count] = more[i];
        ids[count] = (int64_t)count + 1;
    }
    const kz_metadata metadata[] = {
        {.key = "speak.symbols", .type = KZ_METADATA_STRINGS, .strings = texts, .count = count},
        {.key = "speak.symbol_codes",
         .type = KZ_METADATA_INTEGERS,
         .integers = ids,
         .count = count}};
    const kz_program_description description = {.metadata = metadata, .metadata_count = 2};
    size_t byte_count = 0;
    memset(f, 0, sizeof *f);
    f->memory = kz_allocator_or_default(NULL);
    model.shape.id_limit = (uint32_t)count + 1;
    assert_int_equal(
        kz_program_write_memory(&description, NULL, &f->memory, &f->bytes, &byte_count), KAZEIA_OK);
    assert_int_equal(kz_program_open_memory(f->bytes, byte_count, &f->memory, &f->program),
                     KAZEIA_OK);
    assert_true(kz_kokoro_is_spoken_by(f->program));
    const kazeia_status status =
        kz_kokoro_voice_open(f->program, NULL, settings, &f->memory, &f->voice);
    assert_int_equal(status, expected);
    return status == KAZEIA_OK;
}

static void close_fixture(fixture *f) {
    if (f->voice != NULL) {
        kz_voice_close(f->voice);
    }
    kz_program_release(f->program);
    kz_free_aligned(&f->memory, f->bytes);
}

static int set_up(void **state) {
    (void)state;
    model.shape = (kz_kokoro_shape){.symbol_limit = 510,
                                    .frame_limit = 2000,
                                    .samples_per_frame = FRAME,
                                    .sample_rate_hz = RATE_HZ};
    model.is_failing = false;
    piece_total = 0;
    return 0;
}

#define SKIP_WHERE_ABSENT()                             \
    do {                                                \
        uint32_t rate_hz;                               \
        if (kz_espeak_open(&rate_hz) != KAZEIA_OK) {    \
            print_message("%s\n", kazeia_last_error()); \
            skip();                                     \
        }                                               \
        kz_espeak_close();                              \
    } while (0)

static void count_ids(void *context, const int32_t *ids, size_t count) {
    *(size_t *)context += count;
    assert_in_range(ids[0], 1, model.shape.id_limit - 1);
}

// Feeds all, then draws in pieces of a size, until the status is not OK.
static kazeia_status speak(kz_voice *voice, const char *text, size_t size, size_t *out_count) {
    kazeia_status status = KAZEIA_NEEDS_INPUT;
    size_t fed = 0, bytes = strlen(text), total = 0;
    while (status == KAZEIA_OK || status == KAZEIA_NEEDS_INPUT) {
        size_t taken = 0, count = 0;
        if (fed < bytes) {
            assert_int_equal(voice->table->feed(voice, text + fed, bytes - fed, &taken), KAZEIA_OK);
            fed += taken;
        } else if (status == KAZEIA_NEEDS_INPUT) {
            voice->table->finish(voice);
        }
        assert_true(total + size <= MOST_SAMPLES);
        status = voice->table->next(voice, sound + total, size, &count);
        total += count;
    }
    *out_count = total;
    return status;
}

// How many stretches of silence of at least 10 ms lie within, and how long the last one is.
static size_t count_pauses(size_t count, double *out_last_ms) {
    size_t pauses = 0, run = 0;
    *out_last_ms = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_silent = fabsf(sound[i]) < 0.002f;
        if (!is_silent && run > RATE_HZ / 100) {
            pauses += run < i;
            *out_last_ms = (double)run * 1e3 / RATE_HZ;
        }
        run = is_silent ? run + 1 : 0;
    }
    return pauses;
}

static void a_sentence_is_one_piece(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    fixture f;
    size_t count = 0;
    double last_ms = 0;
    size_t seen = 0;
    const kz_kokoro_settings settings = {
        .speaker = "ff_siwis", .see = count_ids, .see_context = &seen};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_int_equal(f.voice->sample_rate_hz, RATE_HZ);
    assert_string_equal(kz_kokoro_voice_language(f.voice), "fr");
    // Two clauses, one sentence: "bɔ̃ʒˈuʁ, madˈam." has 16 symbols.
    assert_int_equal(speak(f.voice, "Bonjour, madame.\n", 4096, &count), KAZEIA_DONE);
    assert_int_equal(piece_total, 1);
    assert_int_equal(piece_counts[0], 16);
    assert_int_equal(seen, 16);
    // The tone and 40 ms on both sides: the rest of the model's second of silence is gone.
    assert_int_equal(count, 16 * FRAME + 2 * RATE_HZ * 40 / 1000);
    assert_true(sound[0] == 0.0f && sound[count - 1] == 0.0f);
    assert_int_equal(count_pauses(count, &last_ms), 0);
    assert_true(last_speed == 1.0f);
    close_fixture(&f);
}

static void pauses_go_by_punctuation(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    static const struct {
        const char *text;
        double ms; // 40 ms of roll on both sides included
    } cases[] = {{"Oui.\nOui.\n", 430},  {"Oui!\nOui.\n", 430}, {"Oui,\nOui.\n", 230},
                 {"Oui;\nOui.\n", 330},  {"Oui…\nOui.\n", 480}, {"Oui\nOui.\n", 430},
                 {"« Oui. »\nOui", 430}, {"(oui,)\nOui", 230}};
    fixture f;
    const kz_kokoro_settings settings = {.language = "fr"};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count = 0;
        double last_ms = 0;
        piece_total = 0;
        assert_int_equal(speak(f.voice, cases[i].text, 4096, &count), KAZEIA_DONE);
        assert_int_equal(piece_total, 2);
        assert_int_equal(count_pauses(count, &last_ms), 1);
        assert_true(fabs(last_ms - cases[i].ms) < 2.0);
        f.voice->table->reset(f.voice);
    }
    close_fixture(&f);
}

static void speed_reaches_the_model_and_the_pauses(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    fixture f;
    size_t count = 0;
    double last_ms = 0;
    kz_kokoro_settings settings = {.speaker = "ff_siwis", .speed = 2.0f};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_int_equal(speak(f.voice, "Oui.\nOui.\n", 4096, &count), KAZEIA_DONE);
    assert_true(last_speed == 2.0f);
    (void)count_pauses(count, &last_ms);
    assert_true(fabs(last_ms - (175 + 80)) < 2.0);
    close_fixture(&f);
    const float wrong[] = {0.4f, 2.1f, -1.0f, NAN, INFINITY};
    for (size_t i = 0; i < 5; i++) {
        settings.speed = wrong[i];
        (void)open_voice(&f, &settings, KAZEIA_BAD_ARGUMENT);
        close_fixture(&f);
    }
}

// Clauses stay whole where they fit; words stay whole in any case.
static void long_sentences_are_cut(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    fixture f;
    size_t count = 0, symbols = 0;
    double last_ms = 0;
    char text[2048] = "";
    const kz_kokoro_settings settings = {.speaker = "ff_siwis"};
    for (int i = 0; i < 12; i++) {
        strcat(text, "un ami vient ici, ");
    }
    model.shape.symbol_limit = 60;
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_int_equal(speak(f.voice, text, 4096, &count), KAZEIA_DONE);
    for (size_t i = 0; i < piece_total; i++) {
        assert_in_range(piece_counts[i], 20, 60);
        symbols += piece_counts[i];
    }
    assert_true(piece_total > 3);
    // Each cut lies behind a comma.
    assert_int_equal(count_pauses(count, &last_ms), piece_total - 1);
    assert_true(fabs(last_ms - 230) < 2.0);
    f.voice->table->reset(f.voice);
    // One clause that is too long: cut between words, with a short pause.
    piece_total = 0;
    memset(text, 0, sizeof text);
    for (int i = 0; i < 40; i++) {
        strcat(text, "ami ");
    }
    assert_int_equal(speak(f.voice, text, 4096, &count), KAZEIA_DONE);
    assert_true(piece_total > 2);
    assert_int_equal(count_pauses(count, &last_ms), piece_total - 1);
    assert_true(fabs(last_ms - 110) < 2.0);
    close_fixture(&f);
    assert_true(symbols > 150);
}

static void long_sound_is_halved(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    fixture f;
    size_t count = 0, whole = 0, symbols = 0;
    double last_ms = 0;
    const char text[] = "Un ami vient ici, une amie va là, et la vie est belle.\n";
    const kz_kokoro_settings settings = {.speaker = "ff_siwis"};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_int_equal(speak(f.voice, text, 4096, &whole), KAZEIA_DONE);
    const uint32_t all = piece_counts[0];
    f.voice->table->reset(f.voice);
    piece_total = 0;
    close_fixture(&f);
    // A little less than it lasts: cut behind the first comma.
    model.shape.frame_limit = 2 * PAD_FRAMES + all - 1;
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_int_equal(speak(f.voice, text, 4096, &count), KAZEIA_DONE);
    assert_int_equal(piece_total, 2);
    (void)count_pauses(count, &last_ms);
    assert_true(fabs(last_ms - 230) < 2.0);
    close_fixture(&f);
    piece_total = 0;
    model.shape.frame_limit = 2 * PAD_FRAMES + 20;
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_int_equal(speak(f.voice, text, 4096, &count), KAZEIA_DONE);
    assert_true(piece_total > 2);
    for (size_t i = 0; i < piece_total; i++) {
        assert_in_range(piece_counts[i], 1, 20);
        symbols += piece_counts[i];
    }
    assert_int_equal(symbols, all);
    close_fixture(&f);
}

static void feeding_and_drawing_sizes_do_not_matter(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    static float first[200000];
    fixture f;
    size_t count = 0, again = 0;
    const char text[] = "Bonjour, mon ami !\nUne « belle » vie…\nOui\n\n";
    const kz_kokoro_settings settings = {.speaker = "ff_siwis"};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_int_equal(speak(f.voice, text, 4096, &count), KAZEIA_DONE);
    assert_true(count < 200000);
    memcpy(first, sound, count * sizeof *sound);
    const size_t sizes[] = {1, 7, 1000};
    for (size_t i = 0; i < 3; i++) {
        f.voice->table->reset(f.voice);
        assert_int_equal(speak(f.voice, text, sizes[i], &again), KAZEIA_DONE);
        assert_int_equal(again, count);
        assert_memory_equal(first, sound, count * sizeof *sound);
    }
    close_fixture(&f);
}

static void speakers_go_with_languages(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    fixture f;
    size_t count = 0;
    kz_kokoro_settings settings = {.language = "en"};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_string_equal(model.speaker, "af_heart");
    assert_string_equal(kz_kokoro_voice_language(f.voice), "en-us");
    assert_int_equal(f.voice->table->set_language(f.voice, "fr"), KAZEIA_OK);
    assert_string_equal(model.speaker, "ff_siwis");
    assert_string_equal(kz_kokoro_voice_language(f.voice), "fr");
    assert_int_equal(f.voice->table->set_language(f.voice, "en-gb"), KAZEIA_OK);
    assert_string_equal(model.speaker, "bf_emma");
    assert_int_equal(f.voice->table->set_language(f.voice, "zh"), KAZEIA_NOT_FOUND);
    assert_int_equal(f.voice->table->set_language(f.voice, "ja"), KAZEIA_UNSUPPORTED);
    assert_string_equal(model.speaker, "bf_emma");
    assert_string_equal(kz_kokoro_voice_language(f.voice), "en-gb");
    assert_int_equal(speak(f.voice, "Bonjour.\n", 4096, &count), KAZEIA_DONE);
    close_fixture(&f);
    settings = (kz_kokoro_settings){.speaker = ""};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_string_equal(model.speaker, "ff_siwis");
    close_fixture(&f);
    // A French speaker may read English.
    settings = (kz_kokoro_settings){.speaker = "ff_siwis", .language = "en"};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    assert_string_equal(kz_kokoro_voice_language(f.voice), "en-us");
    assert_string_equal(model.speaker, "ff_siwis");
    close_fixture(&f);
    settings = (kz_kokoro_settings){.speaker = "af_bella", .language = "tlh"};
    (void)open_voice(&f, &settings, KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "no rules to read 'tlh'"));
    close_fixture(&f);
    settings = (kz_kokoro_settings){.speaker = "nobody"};
    (void)open_voice(&f, &settings, KAZEIA_NOT_FOUND);
    close_fixture(&f);
}

static void failures_and_cancels_leave_a_way_on(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    fixture f;
    size_t count = 0, taken = 0;
    const kz_kokoro_settings settings = {.speaker = "ff_siwis"};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    model.is_failing = true;
    assert_int_equal(speak(f.voice, "Bonjour.\n", 4096, &count), KAZEIA_IO);
    model.is_failing = false;
    // The sentence that failed is left out.
    assert_int_equal(speak(f.voice, "", 4096, &count), KAZEIA_DONE);
    assert_int_equal(count, 0);
    f.voice->table->reset(f.voice);
    f.voice->table->cancel(f.voice);
    assert_int_equal(f.voice->table->next(f.voice, sound, 10, &count), KAZEIA_CANCELLED);
    assert_int_equal(f.voice->table->feed(f.voice, "x", 1, &taken), KAZEIA_CANCELLED);
    f.voice->table->reset(f.voice);
    assert_int_equal(f.voice->table->next(f.voice, sound, 10, &count), KAZEIA_NEEDS_INPUT);
    assert_int_equal(speak(f.voice, "Bonjour.\n", 4096, &count), KAZEIA_DONE);
    assert_true(count > 0);
    assert_int_equal(f.voice->table->feed(f.voice, "x", 1, &taken), KAZEIA_BAD_ARGUMENT);
    close_fixture(&f);
}

static void strange_text_is_harmless(void **state) {
    (void)state;
    SKIP_WHERE_ABSENT();
    static const char *const texts[] = {
        "",      "\n\n",       "...\n",    "—\n!\n?\n",      "\xff\xfe\x80\n",
        "a\xe2", "\x01\x02\n", "日本語\n", "((((((((\n))))", "\u202eoui\u200f\n"};
    fixture f;
    size_t count = 0;
    const kz_kokoro_settings settings = {.speaker = "ff_siwis"};
    assert_true(open_voice(&f, &settings, KAZEIA_OK));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(speak(f.voice, texts[i], 4096, &count), KAZEIA_DONE);
        f.voice->table->reset(f.voice);
    }
    // Marks alone say nothing.
    assert_int_equal(speak(f.voice, "... — !\n", 4096, &count), KAZEIA_DONE);
    assert_int_equal(count, 0);
    f.voice->table->reset(f.voice);
    // A line that is longer than what waits at most, without a space.
    char *longer = malloc(6001);
    assert_non_null(longer);
    memset(longer, 'a', 6000);
    longer[6000] = '\0';
    piece_total = 0;
    assert_int_equal(speak(f.voice, longer, 4096, &count), KAZEIA_DONE);
    assert_true(count > (size_t)6000 * FRAME);
    free(longer);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_sentence_is_one_piece, set_up),
        cmocka_unit_test_setup(pauses_go_by_punctuation, set_up),
        cmocka_unit_test_setup(speed_reaches_the_model_and_the_pauses, set_up),
        cmocka_unit_test_setup(long_sentences_are_cut, set_up),
        cmocka_unit_test_setup(long_sound_is_halved, set_up),
        cmocka_unit_test_setup(feeding_and_drawing_sizes_do_not_matter, set_up),
        cmocka_unit_test_setup(speakers_go_with_languages, set_up),
        cmocka_unit_test_setup(failures_and_cancels_leave_a_way_on, set_up),
        cmocka_unit_test_setup(strange_text_is_harmless, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
