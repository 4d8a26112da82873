// test_qwen3_tts.c: Qwen3-TTS in our runtime against the package's own classes.
//
// in:  tests/golden/qwen3_tts
// out: cmocka's report
//
// Every run of both checkpoints in f32: rows that the talker is given, its logits, all codes; then
// the codec, cut into chunks of several lengths.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "kazeia/speak.h"
#include "parity.h"
#include "runtime/context.h"

#define FOLDER "tests/golden/qwen3_tts/"
#define EXPECTED FOLDER "expected/"
#define LARGEST_DIFFERENCE 1e-4
#define HEADER_BYTES 128 // of every array here

// 4-byte values of any shape; free() them.
static void *read_values(const char *folder, const char *name, size_t *out_count) {
    char path[PARITY_PATH_BYTES];
    (void)snprintf(path, sizeof path, EXPECTED "%s/%s.npy", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const size_t bytes = (size_t)ftell(file) - HEADER_BYTES;
    assert_int_equal(fseek(file, HEADER_BYTES, SEEK_SET), 0);
    void *values = malloc(bytes);
    assert_non_null(values);
    assert_int_equal(fread(values, 1, bytes, file), bytes);
    (void)fclose(file);
    *out_count = bytes / 4;
    return values;
}

typedef struct voices {
    char folder[2][PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
    kazeia_runtime *runtime;
    kazeia_program *custom, *base;
} voices;

static kazeia_program *export_voice(voices *all, size_t index, const char *source) {
    kazeia_export_settings settings = kazeia_export_settings_default();
    kazeia_program *program = NULL;
    settings.source = source;
    settings.weights = "f32";
    settings.kv = "f32";
    parity_folder_create(all->folder[index]);
    parity_export(&settings, all->folder[index], all->path);
    CHECK(kazeia_program_open(all->path, NULL, &program));
    return program;
}

static int open_voices(void **state) {
    voices *all = calloc(1, sizeof *all);
    all->runtime = parity_runtime(NULL);
    all->custom = export_voice(all, 0, FOLDER "custom");
    all->base = export_voice(all, 1, FOLDER "base");
    *state = all;
    return 0;
}

static int close_voices(void **state) {
    voices *all = *state;
    kazeia_program_close(all->custom);
    kazeia_program_close(all->base);
    kazeia_runtime_destroy(all->runtime);
    parity_folder_remove(all->folder[0]);
    parity_folder_remove(all->folder[1]);
    free(all);
    return 0;
}

// --- Runs ---------------------------------------------------------------------------------------

typedef struct run {
    const char *name; // folder below expected/
    const char *speaker, *instruct;
    const char *reference; // codes of the recording; NULL: none
    bool has_vector;
} run;

static const char reference_text[] = "Il est huit heures trente, le train part.";

// All that the voice shows, one part behind the other.
typedef struct shown {
    float *values[2];  // prefill, logits
    int32_t *codes[2]; // choices, frames
    size_t counts[4];
} shown;

static void keep(void *context, kazeia_speak_part part, const void *values, size_t rows,
                 size_t columns) {
    shown *all = context;
    const size_t count = rows * columns;
    void **place = part < 2 ? (void **)&all->values[part] : (void **)&all->codes[part - 2];
    *place = realloc(*place, 4 * (all->counts[part] + count));
    assert_non_null(*place);
    memcpy((char *)*place + 4 * all->counts[part], values, 4 * count);
    all->counts[part] += count;
}

static double difference(const float *values, const float *expected, size_t count) {
    double worst = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double apart = fabs((double)values[i] - (double)expected[i]);
        assert_false(isnan(apart));
        worst = apart > worst ? apart : worst;
        largest = fabs((double)expected[i]) > largest ? fabs((double)expected[i]) : largest;
    }
    return worst / largest;
}

static void compare_floats(const run *of, const shown *all, size_t part, const char *name) {
    size_t count = 0;
    float *expected = read_values(of->name, name, &count);
    assert_int_equal(all->counts[part], count);
    const double apart = difference(all->values[part], expected, count);
    print_message("%s: %s apart by %.1e\n", of->name, name, apart);
    assert_true(apart <= LARGEST_DIFFERENCE);
    free(expected);
}

static void compare_codes(const run *of, const shown *all, size_t part, const char *name) {
    size_t count = 0;
    int32_t *expected = read_values(of->name, name, &count);
    assert_int_equal(all->counts[part], count);
    assert_memory_equal(all->codes[part - 2], expected, 4 * count);
    free(expected);
}

// All that there is to hear for now; returns what stopped it.
static kazeia_status hear(kazeia_stage *stage, size_t *count) {
    float samples[4096];
    size_t more = 0;
    kazeia_status status = KAZEIA_OK;
    while ((status = kazeia_stage_next(stage, samples, 4096, &more)) == KAZEIA_OK) {
        *count += more;
    }
    return status;
}

// The text comes `piece` bytes at a time, and what can be said of it is said at once. *out_early:
// the samples that were heard before the end of the text was known.
static size_t speak(kazeia_stage *stage, const char *text, size_t piece, size_t *out_early) {
    const size_t length = strlen(text);
    size_t count = 0, taken = 0;
    for (size_t fed = 0; fed < length; fed += taken) {
        const size_t left = length - fed;
        CHECK(kazeia_stage_feed(stage, text + fed, left < piece ? left : piece, &taken));
        assert_true(taken > 0);
        if (piece < length) {
            assert_int_equal(hear(stage, &count), KAZEIA_NEEDS_INPUT);
        }
    }
    *out_early = count;
    CHECK(kazeia_stage_finish(stage));
    assert_int_equal(hear(stage, &count), KAZEIA_DONE);
    return count;
}

static json_t *read_meta(const run *of) {
    char path[PARITY_PATH_BYTES];
    (void)snprintf(path, sizeof path, EXPECTED "%s/meta.json", of->name);
    return parity_read_json(path);
}

static void compare_run(const voices *all, const run *of, size_t piece) {
    json_t *meta = read_meta(of);
    size_t vector_count = 0, code_count = 0, frames = 0, early = 0;
    float *vector = of->has_vector ? read_values("base/speaker", "xvector", &vector_count) : NULL;
    int32_t *codes = of->reference ? read_values("base", of->reference, &code_count) : NULL;
    int32_t *expected = read_values(of->name, "codes", &frames);
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    kazeia_stage *stage = NULL;
    shown seen = {0};
    settings.program = strncmp(of->name, "custom", 6) == 0 ? all->custom : all->base;
    settings.language = json_string_value(json_object_get(meta, "language"));
    settings.speaker = of->speaker;
    settings.instruct = of->instruct;
    settings.is_greedy = settings.is_verbatim = true;
    settings.is_whole = json_is_false(json_object_get(meta, "streaming_layout"));
    // A run that ended by itself must do so again: it may go on.
    settings.max_frames =
        (uint32_t)(frames / 16) + (json_is_true(json_object_get(meta, "ended_by_eos")) ? 5 : 0);
    settings.vector = vector;
    settings.vector_count = vector_count;
    settings.reference_codes = codes;
    settings.reference_frames = code_count / 16;
    settings.reference_text = codes ? reference_text : NULL;
    settings.watch = keep;
    settings.watch_context = &seen;
    CHECK(kazeia_speak_create(all->runtime, &settings, &stage));
    const char *text = json_string_value(json_object_get(meta, "text"));
    assert_true(speak(stage, text, piece, &early) > 0);
    // Speech begins with the first words, but for as much text as a recording has beside it.
    if (!of->reference) {
        assert_int_equal(early > 0, piece < strlen(text) && !settings.is_whole);
    }
    compare_floats(of, &seen, KAZEIA_SPEAK_PREFILL, "prefill");
    compare_floats(of, &seen, KAZEIA_SPEAK_LOGITS, "logits");
    compare_codes(of, &seen, KAZEIA_SPEAK_CODE, "code0");
    compare_codes(of, &seen, KAZEIA_SPEAK_FRAME, "codes");
    kazeia_stage_destroy(stage);
    for (size_t i = 0; i < 2; i++) {
        free(seen.values[i]);
        free(seen.codes[i]);
    }
    free(vector);
    free(codes);
    free(expected);
    json_decref(meta);
}

// Whether the text comes at once or byte by byte, the voice says the same.
static void runs_are_the_originals(void **state) {
    static const run runs[] = {
        {.name = "custom/french_vivian", .speaker = "vivian"},
        {.name = "custom/non_streaming", .speaker = "serena"},
        {.name = "custom/auto_dialect", .speaker = "eric"},
        {.name = "custom/auto", .speaker = "ryan"},
        {.name = "custom/instruct", .speaker = "aiden", .instruct = "Voix calme et lente."},
        {.name = "base/french_xvector", .has_vector = true},
        {.name = "base/icl_streaming", .has_vector = true, .reference = "icl_ref_codes"},
        {.name = "base/icl_streaming_long", .has_vector = true, .reference = "icl_ref_codes_long"},
        {.name = "base/icl_non_streaming", .has_vector = true, .reference = "icl_ref_codes"},
        {.name = "base/no_speaker"},
        {.name = "base/ends_by_eos", .has_vector = true}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        compare_run(*state, &runs[i], SIZE_MAX);
        compare_run(*state, &runs[i], 1);
    }
}

// --- Codec --------------------------------------------------------------------------------------

// Samples of all codes, fed `chunk` frames at a time; free() them.
static float *decode(const voices *all, kazeia_program *program, const int32_t *codes,
                     size_t frames, size_t chunk, size_t *out_count) {
    kazeia_codec_shape shape;
    kazeia_stage *stage = NULL;
    size_t done = 0, taken = 0, count = 0, made = 0;
    CHECK(kazeia_codec_create(all->runtime, program, &shape, &stage));
    assert_int_equal(shape.groups, 16);
    const size_t room = frames * shape.samples_per_frame;
    float *samples = calloc(room + 1, sizeof *samples);
    while (made < room) {
        const size_t left = frames - done, now = left < chunk ? left : chunk;
        if (now > 0) {
            CHECK(kazeia_stage_feed(stage, codes + done * 16, now * 16, &taken));
            assert_int_equal(taken, now * 16);
            done += now;
        }
        while (kazeia_stage_next(stage, samples + made, room - made + 1, &count) == KAZEIA_OK) {
            made += count;
        }
    }
    kazeia_stage_destroy(stage);
    *out_count = made;
    return samples;
}

static void compare_codec(const voices *all, kazeia_program *program, const char *folder,
                          const char *codes_name, const char *wav_name) {
    static const size_t chunks[] = {8, 1, 2, 3, 7};
    size_t code_count = 0, expected_count = 0, count = 0;
    int32_t *codes = read_values(folder, codes_name, &code_count);
    float *expected = read_values(folder, wav_name, &expected_count);
    float *whole = decode(all, program, codes, code_count / 16, chunks[0], &count);
    assert_int_equal(count, expected_count);
    const double apart = difference(whole, expected, count);
    print_message("%s: %s apart by %.1e\n", folder, wav_name, apart);
    assert_true(apart <= LARGEST_DIFFERENCE);
    for (size_t i = 1; i < sizeof chunks / sizeof *chunks; i++) {
        float *cut = decode(all, program, codes, code_count / 16, chunks[i], &count);
        assert_true(difference(cut, whole, count) <= 1e-5);
        free(cut);
    }
    free(whole);
    free(expected);
    free(codes);
}

static void the_codec_is_the_originals_in_any_cutting(void **state) {
    const voices *all = *state;
    compare_codec(all, all->custom, "custom/decoder", "codes", "wav");
    compare_codec(all, all->base, "base/decoder", "codes", "wav");
    compare_codec(all, all->base, "base/decoder", "long_codes", "long_wav_exact");
}

// --- Cloning ------------------------------------------------------------------------------------

// What a recording gives, `count` elements of 4 bytes at most; the number of them.
static size_t copy_voice(const voices *all, kazeia_program *program, kazeia_clone_part part,
                         const float *samples, size_t sample_count, void *out, size_t capacity) {
    kazeia_stage *stage = NULL;
    size_t taken = 0, count = 0, made = 0;
    CHECK(kazeia_clone_create(all->runtime, program, part, &stage));
    CHECK(kazeia_stage_feed(stage, samples, sample_count, &taken));
    assert_int_equal(taken, sample_count);
    CHECK(kazeia_stage_finish(stage));
    while (kazeia_stage_next(stage, (char *)out + 4 * made, capacity - made + 1, &count) ==
           KAZEIA_OK) {
        made += count;
    }
    kazeia_stage_destroy(stage);
    return made;
}

static void compare_encoder(const voices *all, kazeia_program *program, const char *folder) {
    size_t count = 0, expected_count = 0;
    float *samples = read_values(folder, "wav", &count);
    int32_t *expected = read_values(folder, "codes", &expected_count);
    int32_t *codes = calloc(expected_count + 1, sizeof *codes);
    assert_int_equal(
        copy_voice(all, program, KAZEIA_CLONE_CODES, samples, count, codes, expected_count),
        expected_count);
    assert_memory_equal(codes, expected, 4 * expected_count);
    free(samples);
    free(expected);
    free(codes);
}

static void recordings_have_the_originals_codes(void **state) {
    const voices *all = *state;
    compare_encoder(all, all->custom, "custom/encoder");
    compare_encoder(all, all->base, "base/encoder");
}

static void a_speaker_has_the_originals_vector(void **state) {
    const voices *all = *state;
    size_t count = 0, expected_count = 0;
    float *samples = read_values("base/speaker", "wav", &count);
    float *expected = read_values("base/speaker", "xvector", &expected_count);
    float *vector = calloc(expected_count + 1, sizeof *vector);
    assert_int_equal(
        copy_voice(all, all->base, KAZEIA_CLONE_VECTOR, samples, count, vector, expected_count),
        expected_count);
    const double apart = difference(vector, expected, expected_count);
    print_message("vector apart by %.1e\n", apart);
    assert_true(apart <= LARGEST_DIFFERENCE);
    free(samples);
    free(expected);
    free(vector);
}

// The method alone: no stage shows its rows.
static void a_speakers_spectrum_is_the_originals(void **state) {
    const voices *all = *state;
    kz_program *program = NULL;
    kz_pool *pool = NULL;
    kz_context *context = NULL;
    uint32_t method = 0;
    size_t count = 0, expected_count = 0;
    float *samples = read_values("base/speaker", "wav", &count);
    float *expected = read_values("base/speaker", "mel", &expected_count);
    float *mel = calloc(expected_count, sizeof *mel);
    CHECK(kz_program_open(all->path, NULL, &program));
    CHECK(kz_pool_create(1, NULL, &pool));
    CHECK(kz_context_create(program, pool, KZ_PRIORITY_SPEAK, 0, NULL, &context));
    CHECK(kz_program_require_method(program, "voice_mel", &method));
    const uint32_t symbols[] = {(uint32_t)count};
    const kz_method *described = &kz_program_describe(program)->methods[method];
    assert_int_equal(kz_value_bytes(&described->values[described->outputs[0]], symbols, 1),
                     4 * expected_count);
    const void *inputs[] = {samples};
    void *outputs[] = {mel};
    CHECK(kz_context_run(context, method, symbols, inputs, outputs));
    const double apart = difference(mel, expected, expected_count);
    print_message("mel apart by %.1e\n", apart);
    assert_true(apart <= LARGEST_DIFFERENCE);
    kz_context_destroy(context);
    kz_pool_destroy(pool);
    kz_program_release(program);
    free(samples);
    free(expected);
    free(mel);
}

// --- Refusals -----------------------------------------------------------------------------------

static void what_does_not_fit_gets_a_sentence(void **state) {
    const voices *all = *state;
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    kazeia_stage *stage = NULL;
    const float vector[3] = {0};
    settings.program = all->custom;
    settings.speaker = "nobody";
    assert_int_equal(kazeia_speak_create(all->runtime, &settings, &stage), KAZEIA_NOT_FOUND);
    assert_non_null(strstr(kazeia_last_error(), "vivian"));
    settings.speaker = NULL;
    settings.language = "klingon";
    assert_int_equal(kazeia_speak_create(all->runtime, &settings, &stage), KAZEIA_NOT_FOUND);
    assert_non_null(strstr(kazeia_last_error(), "french"));
    settings.language = "fr";
    settings.vector = vector;
    settings.vector_count = 3;
    assert_int_equal(kazeia_speak_create(all->runtime, &settings, &stage), KAZEIA_BAD_ARGUMENT);
    assert_null(stage);
}

static void *count_and_allocate(void *context, size_t bytes) {
    ++*(size_t *)context;
    return malloc(bytes);
}

static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}

typedef struct canceller {
    kazeia_stage *stage;
    unsigned after_us;
} canceller;

static void cancel_later(void *context) {
    const canceller *at = context;
    (void)usleep(at->after_us);
    kazeia_stage_cancel(at->stage);
}

// A cancel by another thread at some moment of the work, then a reset. No end is in sight: the text
// is not finished.
static void speak_a_little(kazeia_stage *stage, unsigned after_us) {
    canceller at = {stage, after_us};
    kz_thread thread;
    size_t taken = 0, count = 0;
    kazeia_status status = KAZEIA_OK;
    CHECK(kazeia_stage_feed(stage, "Autre chose, de plus long. ", 27, &taken));
    CHECK(kz_thread_start(&thread, cancel_later, &at));
    do {
        status = hear(stage, &count);
    } while (status == KAZEIA_NEEDS_INPUT);
    assert_int_equal(status, KAZEIA_CANCELLED);
    kz_thread_join(&thread);
    CHECK(kazeia_stage_reset(stage));
}

// Cancels leave nothing behind: the next utterance is as in a fresh voice, and nothing was
// allocated.
static void a_cancelled_voice_speaks_as_before(void **state) {
    const voices *all = *state;
    size_t allocations = 0, early = 0;
    const kazeia_allocator allocator = {&allocations, count_and_allocate, release};
    const run of = {.name = "custom/auto"};
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    kazeia_stage *stage = NULL;
    shown seen = {0};
    settings.program = all->custom;
    settings.speaker = "ryan";
    settings.is_greedy = settings.is_verbatim = true;
    settings.max_frames = 4;
    settings.watch = keep;
    settings.watch_context = &seen;
    settings.allocator = &allocator;
    CHECK(kazeia_speak_create(all->runtime, &settings, &stage));
    const size_t at_opening = allocations;
    for (int i = 0; i < 200; i++) {
        speak_a_little(stage, (unsigned)(i * 7919 % 3000));
    }
    memset(seen.counts, 0, sizeof seen.counts);
    json_t *meta = read_meta(&of);
    (void)speak(stage, json_string_value(json_object_get(meta, "text")), SIZE_MAX, &early);
    compare_floats(&of, &seen, KAZEIA_SPEAK_LOGITS, "logits");
    compare_codes(&of, &seen, KAZEIA_SPEAK_FRAME, "codes");
    assert_int_equal(allocations, at_opening);
    kazeia_stage_destroy(stage);
    json_decref(meta);
    for (size_t i = 0; i < 2; i++) {
        free(seen.values[i]);
        free(seen.codes[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_the_originals),
        cmocka_unit_test(the_codec_is_the_originals_in_any_cutting),
        cmocka_unit_test(recordings_have_the_originals_codes),
        cmocka_unit_test(a_speaker_has_the_originals_vector),
        cmocka_unit_test(a_speakers_spectrum_is_the_originals),
        cmocka_unit_test(what_does_not_fit_gets_a_sentence),
        cmocka_unit_test(a_cancelled_voice_speaks_as_before),
    };
    return cmocka_run_group_tests(tests, open_voices, close_voices);
}
