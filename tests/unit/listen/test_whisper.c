// test_whisper.c: the listening stage over a scripted program: verbs, languages, loops, memory.
//
// in:  programs made by scripted_listener, sounds made here
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../metered_allocator.h"
#include "audio/mel.h"
#include "base/thread.h"
#include "format/tokenizer.h"
#include "listen/whisper.h"
#include "scripted_listener.h"

#define RATE KZ_MEL_RATE_HZ

typedef struct fixture {
    scripted_listener listener;
    kz_pool *pool;
    metered_allocator meter;
    kazeia_allocator memory;
    kz_whisper *whisper;
} fixture;

static const int32_t three_tokens[] = {20, 21, 22};

static void take_threads_and_memory(fixture *f) {
    assert_int_equal(kz_pool_create(2, NULL, &f->pool), KAZEIA_OK);
    f->meter.calls_allowed = SIZE_MAX;
    f->memory = (kazeia_allocator){&f->meter, allocate_metered, release_metered};
}

static void open_program(fixture *f, int32_t language, const int32_t *tokens, size_t count) {
    memset(f, 0, sizeof *f);
    scripted_listener_open(&f->listener, language, tokens, count);
    take_threads_and_memory(f);
}

static kazeia_status create(fixture *f, const char *languages, bool has_guards) {
    const kz_whisper_settings settings = {.languages = languages, .has_guards = has_guards};
    return kz_whisper_create(f->listener.program, f->pool, &settings, &f->memory, &f->whisper);
}

static void open_stage(fixture *f, const char *languages, bool has_guards) {
    open_program(f, SCRIPT_FRENCH, three_tokens, 3);
    assert_int_equal(create(f, languages, has_guards), KAZEIA_OK);
}

static void close_stage(fixture *f) {
    kz_whisper_destroy(f->whisper);
    assert_int_equal(f->meter.live, 0);
    kz_pool_destroy(f->pool);
    scripted_listener_close(&f->listener);
}

static void feed_all(fixture *f, const float *samples, size_t count) {
    size_t taken = 0;
    assert_int_equal(kz_whisper_feed(f->whisper, samples, count, &taken), KAZEIA_OK);
    assert_int_equal(taken, count);
}

// One second of silence.
static void feed_second(fixture *f) {
    static const float samples[RATE];
    feed_all(f, samples, RATE);
}

static kz_heard hear(fixture *f) {
    kz_heard heard;
    feed_second(f);
    assert_int_equal(kz_whisper_finish(f->whisper), KAZEIA_OK);
    assert_int_equal(kz_whisper_next(f->whisper, &heard), KAZEIA_OK);
    return heard;
}

static void the_script_is_heard(void **state) {
    (void)state;
    fixture f;
    open_stage(&f, "fr", false);
    const kz_heard heard = hear(&f);
    assert_int_equal(heard.token_count, 3);
    assert_memory_equal(heard.tokens, three_tokens, sizeof three_tokens);
    assert_string_equal(heard.language, "fr");
    assert_string_equal(heard.text, ""); // the program has no vocabulary
    // Every choice has a logit of 10 beside one of 5 and 62 of 0 (61 where one is suppressed).
    assert_float_equal(heard.avg_logprob, -log(1 + exp(-5) + 61 * exp(-10)), 1e-4);
    assert_float_equal(heard.no_speech_prob, exp(-10) / (1 + exp(-5) + 62 * exp(-10)), 1e-6);
    close_stage(&f);
}

static void a_fitted_context_hears_short_and_long_sounds(void **state) {
    (void)state;
    fixture f;
    open_program(&f, SCRIPT_FRENCH, three_tokens, 3);
    const kz_whisper_settings settings = {.languages = "fr", .fits_context = true};
    assert_int_equal(
        kz_whisper_create(f.listener.program, f.pool, &settings, &f.memory, &f.whisper), KAZEIA_OK);
    for (int seconds = 1; seconds <= 30; seconds += 29) {
        for (int i = 1; i < seconds; i++) {
            feed_second(&f);
        }
        const kz_heard heard = hear(&f);
        assert_float_equal(heard.end_s - heard.start_s, seconds, 1e-9);
        assert_int_equal(heard.token_count, 3);
        assert_memory_equal(heard.tokens, three_tokens, sizeof three_tokens);
        kz_heard end;
        assert_int_equal(kz_whisper_next(f.whisper, &end), KAZEIA_DONE);
    }
    close_stage(&f);
}

// A vocabulary of one-letter tokens but for token 20, which is longer than any that Whisper has.
static void a_long_token_is_written_whole(void **state) {
    (void)state;
    static uint8_t letters[SCRIPT_VOCABULARY], longest[300];
    kz_tokenizer_token tokens[SCRIPT_VOCABULARY];
    memset(longest, 'x', sizeof longest);
    for (uint32_t i = 0; i < SCRIPT_VOCABULARY; i++) {
        letters[i] = (uint8_t)('0' + i);
        tokens[i] = (kz_tokenizer_token){&letters[i], 1, KZ_TOKEN_NORMAL, 0};
    }
    tokens[20] = (kz_tokenizer_token){longest, sizeof longest, KZ_TOKEN_NORMAL, 0};
    const kz_tokenizer_source source = {.kind = KZ_TOKENIZER_BYTE_BPE,
                                        .bos = KZ_NO_TOKEN,
                                        .eos = KZ_NO_TOKEN,
                                        .unknown = KZ_NO_TOKEN,
                                        .tokens = tokens,
                                        .token_count = SCRIPT_VOCABULARY};
    uint8_t *section = NULL;
    size_t bytes = 0;
    fixture f;
    memset(&f, 0, sizeof f);
    assert_int_equal(kz_tokenizer_build(&source, NULL, &section, &bytes), KAZEIA_OK);
    scripted_listener_init(&f.listener, SCRIPT_FRENCH, three_tokens, 3);
    f.listener.builder.description.tokenizer = (kz_bytes){section, bytes};
    scripted_listener_finish(&f.listener);
    take_threads_and_memory(&f);
    assert_int_equal(create(&f, "fr", false), KAZEIA_OK);
    const kz_heard heard = hear(&f);
    assert_int_equal(strlen(heard.text), sizeof longest + 2);
    assert_memory_equal(heard.text, longest, sizeof longest);
    assert_string_equal(heard.text + sizeof longest, "EF"); // tokens 21 and 22
    close_stage(&f);
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_free_aligned(&memory, section);
}

static void suppressed_tokens_are_not_written(void **state) {
    (void)state;
    static const int32_t tokens[] = {SCRIPT_SUPPRESSED_FIRST, SCRIPT_SUPPRESSED,
                                     SCRIPT_SUPPRESSED_FIRST};
    static const int32_t expected[] = {1, 1, SCRIPT_SUPPRESSED_FIRST};
    fixture f;
    open_program(&f, SCRIPT_FRENCH, tokens, 3);
    assert_int_equal(create(&f, "fr", false), KAZEIA_OK);
    const kz_heard heard = hear(&f);
    assert_int_equal(heard.token_count, 3);
    assert_memory_equal(heard.tokens, expected, sizeof expected);
    close_stage(&f);
}

static void check_language(int32_t spoken, const char *allowed, const char *expected) {
    fixture f;
    open_program(&f, spoken, three_tokens, 3);
    assert_int_equal(create(&f, allowed, false), KAZEIA_OK);
    const kz_heard heard = hear(&f);
    assert_string_equal(heard.language, expected);
    assert_int_equal(heard.token_count, 3);
    close_stage(&f);
}

static void a_given_language_is_taken(void **state) {
    (void)state;
    check_language(SCRIPT_ENGLISH, "fr", "fr");
    check_language(SCRIPT_FRENCH, "en", "en");
}

static void a_language_is_found_among_the_allowed(void **state) {
    (void)state;
    check_language(SCRIPT_BRETON, "auto", "br");
    check_language(SCRIPT_BRETON, NULL, "br");
    check_language(SCRIPT_BRETON, "fr,en", "fr"); // equal ones: the first of the program
    check_language(SCRIPT_ENGLISH, "fr,en", "en");
    check_language(SCRIPT_ENGLISH, "en,en", "en");
}

static void unknown_languages_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "xx", "fr,", ",fr", "fr,xx", "French", "fr en"};
    fixture f;
    open_program(&f, SCRIPT_FRENCH, three_tokens, 3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(create(&f, wrong[i], true), KAZEIA_BAD_ARGUMENT);
        assert_non_null(strstr(kazeia_last_error(), "language"));
        assert_int_equal(f.meter.live, 0);
    }
    close_stage(&f);
}

static void silence_has_no_language_but_the_given(void **state) {
    (void)state;
    static const char *const allowed[] = {"en", "fr,en", "auto"};
    static const char *const expected[] = {"en", "", ""};
    for (size_t i = 0; i < 3; i++) {
        fixture f;
        open_stage(&f, allowed[i], true);
        const kz_heard heard = hear(&f);
        assert_int_equal(heard.token_count, 0);
        assert_string_equal(heard.text, "");
        assert_string_equal(heard.language, expected[i]);
        assert_float_equal(heard.no_speech_prob, 1, 0);
        close_stage(&f);
    }
}

static void the_verbs_follow_the_stream(void **state) {
    (void)state;
    fixture f;
    kz_heard heard;
    size_t taken = 0;
    const float sample = 0;
    open_stage(&f, "fr", true);
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_NEEDS_INPUT);
    feed_second(&f);
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_NEEDS_INPUT);
    assert_int_equal(kz_whisper_finish(f.whisper), KAZEIA_OK);
    assert_int_equal(kz_whisper_feed(f.whisper, &sample, 1, &taken), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_OK);
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_DONE);
    // Another utterance; nothing at all is heard as nothing.
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_NEEDS_INPUT);
    assert_int_equal(kz_whisper_finish(f.whisper), KAZEIA_OK);
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_DONE);
    feed_second(&f);
    kz_whisper_reset(f.whisper);
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_NEEDS_INPUT);
    close_stage(&f);
}

// 65 s, quiet only from 27 to 28 s and from 55 to 56 s: two cuts, three windows without a gap.
static void long_sound_is_cut_where_it_is_quiet(void **state) {
    (void)state;
    const size_t count = (size_t)65 * RATE;
    float *samples = malloc(count * sizeof *samples);
    assert_non_null(samples);
    for (size_t i = 0; i < count; i++) {
        const size_t second = i / RATE;
        samples[i] = second == 27 || second == 55 ? 0 : i % 2 ? 0.3f : -0.3f;
    }
    fixture f;
    kz_heard heard;
    double ends[4] = {0};
    size_t windows = 0, fed = 0, tokens = 0;
    open_stage(&f, "fr", false);
    kazeia_status status = KAZEIA_NEEDS_INPUT;
    while (status != KAZEIA_DONE && windows < 4) {
        size_t taken = 0;
        if (fed < count) {
            assert_int_equal(kz_whisper_feed(f.whisper, samples + fed, count - fed, &taken),
                             KAZEIA_OK);
            fed += taken;
        }
        if (fed == count && taken) {
            assert_int_equal(kz_whisper_finish(f.whisper), KAZEIA_OK);
        }
        status = kz_whisper_next(f.whisper, &heard);
        if (status == KAZEIA_OK) {
            assert_float_equal(heard.start_s, windows ? ends[windows - 1] : 0, 1e-9);
            tokens += heard.token_count;
            ends[windows++] = heard.end_s;
        }
    }
    assert_int_equal(windows, 3);
    assert_int_equal(tokens, 9);
    assert_true(ends[0] > 27 && ends[0] < 28 && ends[1] > 55 && ends[1] < 56);
    assert_float_equal(ends[2], 65, 1e-9);
    close_stage(&f);
    free(samples);
}

typedef struct feeding {
    kz_whisper *whisper;
    size_t count;
    bool has_failed;
} feeding;

// Feeds silence in small pieces as fast as it is taken, then ends it.
static void feed_and_finish(void *context) {
    static const float silence[RATE / 100];
    feeding *feeder = context;
    size_t taken = 0;
    for (size_t fed = 0; fed < feeder->count && !feeder->has_failed; fed += taken) {
        const size_t left = feeder->count - fed;
        const size_t piece = left < RATE / 100 ? left : RATE / 100;
        feeder->has_failed =
            kz_whisper_feed(feeder->whisper, silence, piece, &taken) != KAZEIA_OK || taken > piece;
    }
    feeder->has_failed = kz_whisper_finish(feeder->whisper) != KAZEIA_OK || feeder->has_failed;
}

// Twenty minutes of silence, which the guards judge without the model: the windows follow each
// other fast enough for a torn count to lose or to repeat some of it.
static void feeding_and_listening_share_no_race(void **state) {
    (void)state;
    fixture f;
    kz_heard heard = {.end_s = 0};
    double end_s = 0;
    open_stage(&f, "fr", true);
    feeding feeder = {.whisper = f.whisper, .count = (size_t)1200 * RATE};
    kz_thread thread = {.is_running = false};
    assert_int_equal(kz_thread_start(&thread, feed_and_finish, &feeder), KAZEIA_OK);
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK || status == KAZEIA_NEEDS_INPUT) {
        status = kz_whisper_next(f.whisper, &heard);
        if (status == KAZEIA_OK) {
            assert_float_equal(heard.start_s, end_s, 1e-9);
            end_s = heard.end_s;
        }
    }
    kz_thread_join(&thread);
    assert_int_equal(status, KAZEIA_DONE);
    assert_false(feeder.has_failed);
    assert_float_equal(end_s, 1200, 1e-9);
    close_stage(&f);
}

static void a_loop_is_cut(void **state) {
    (void)state;
    int32_t tokens[240];
    fixture f;
    for (size_t i = 0; i < 240; i++) {
        tokens[i] = i < 2 ? 30 + (int32_t)i : 10 + (int32_t)(i % 7);
    }
    open_program(&f, SCRIPT_FRENCH, tokens, 240);
    assert_int_equal(create(&f, "fr", false), KAZEIA_OK);
    kz_heard heard = hear(&f);
    assert_int_equal(heard.token_count, 224); // the limit of a window
    kz_whisper_destroy(f.whisper);
    assert_int_equal(create(&f, "fr", true), KAZEIA_OK);
    float samples[RATE];
    for (size_t i = 0; i < RATE; i++) { // changes shape and level: no guard of the sound speaks up
        const size_t part = i / 1600;
        const double hz = part % 2 ? 300 : 900;
        const double t = (double)i / RATE;
        samples[i] = (float)((part % 3 ? 0.2 : 0.02) *
                             (sin(6.2832 * hz * t) + sin(6.2832 * hz * 2.3 * t) +
                              sin(6.2832 * hz * 3.7 * t) + sin(6.2832 * hz * 5.1 * t)));
    }
    feed_all(&f, samples, RATE);
    assert_int_equal(kz_whisper_finish(f.whisper), KAZEIA_OK);
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_OK);
    assert_int_equal(heard.token_count, 2 + 7);
    assert_memory_equal(heard.tokens, tokens, 9 * sizeof *tokens);
    assert_float_equal(heard.avg_logprob, -log(1 + exp(-5) + 61 * exp(-10)), 1e-4);
    close_stage(&f);
}

static void running_allocates_nothing(void **state) {
    (void)state;
    fixture f;
    kz_heard heard;
    open_stage(&f, "auto", false);
    const size_t calls = f.meter.calls;
    for (size_t i = 0; i < 2; i++) {
        (void)hear(&f);
        assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_DONE);
        kz_whisper_reset(f.whisper);
    }
    assert_int_equal(f.meter.calls, calls);
    close_stage(&f);
}

static void failing_allocations_leave_nothing_behind(void **state) {
    (void)state;
    fixture f;
    open_program(&f, SCRIPT_FRENCH, three_tokens, 3);
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    size_t allowed = 0;
    for (; status != KAZEIA_OK; allowed++) {
        f.meter.calls = 0;
        f.meter.calls_allowed = allowed;
        status = create(&f, "fr", true);
        assert_true(status == KAZEIA_OK || status == KAZEIA_OUT_OF_MEMORY);
        assert_true(status == KAZEIA_OK || f.meter.live == 0);
    }
    assert_true(allowed > 8);
    close_stage(&f);
}

static void cancel_soon(void *context) {
    kz_whisper_cancel(context);
}

static void a_cancelled_stage_stops_until_reset(void **state) {
    (void)state;
    fixture f;
    kz_heard heard;
    kz_thread thread = {0};
    open_stage(&f, "fr", false);
    feed_second(&f);
    assert_int_equal(kz_whisper_finish(f.whisper), KAZEIA_OK);
    assert_int_equal(kz_thread_start(&thread, cancel_soon, f.whisper), KAZEIA_OK);
    // Before, in the midst of, or after the window: a call that follows the cancel always says so.
    const kazeia_status status = kz_whisper_next(f.whisper, &heard);
    assert_true(status == KAZEIA_CANCELLED || status == KAZEIA_OK);
    kz_thread_join(&thread);
    assert_int_equal(kz_whisper_next(f.whisper, &heard), KAZEIA_CANCELLED);
    kz_whisper_reset(f.whisper);
    heard = hear(&f);
    assert_int_equal(heard.token_count, 3);
    assert_float_equal(heard.start_s, 0, 0);
    close_stage(&f);
}

// --- Programs that are no listeners -------------------------------------------------------------

// Expects a refusal of the script's program when dimension `dim` of input `input` of a method grows
// by the method's symbol `symbol`: a call would then read more than it is given.
static void expect_growth_refused(const char *method, uint32_t input, uint32_t dim, uint32_t symbol,
                                  const char *sentence) {
    fixture f;
    memset(&f, 0, sizeof f);
    scripted_listener_init(&f.listener, SCRIPT_FRENCH, three_tokens, 3);
    tiny_method *grown = f.listener.builder.methods;
    while (strcmp(grown->method.name, method) != 0) {
        grown++;
    }
    grown->values[grown->inputs[input]].dims[dim].scale[symbol]++;
    scripted_listener_finish(&f.listener);
    take_threads_and_memory(&f);
    assert_int_equal(create(&f, "fr", false), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), sentence));
    close_stage(&f);
}

static void inputs_that_grow_are_refused(void **state) {
    (void)state;
    expect_growth_refused("encode", 1, 0, 0, "method 'encode' does not take");
    expect_growth_refused("encode", 1, 0, 1, "method 'encode' does not take");
    expect_growth_refused("encode", 1, 1, 1, "method 'encode' does not take");
    expect_growth_refused("decode_step", 3, 0, 0, "'row_table' that is not");
    expect_growth_refused("decode_prefill", 4, 0, 0, "'cross_table' of decode_prefill grows");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_script_is_heard),
        cmocka_unit_test(a_fitted_context_hears_short_and_long_sounds),
        cmocka_unit_test(a_long_token_is_written_whole),
        cmocka_unit_test(suppressed_tokens_are_not_written),
        cmocka_unit_test(a_given_language_is_taken),
        cmocka_unit_test(a_language_is_found_among_the_allowed),
        cmocka_unit_test(unknown_languages_are_refused),
        cmocka_unit_test(silence_has_no_language_but_the_given),
        cmocka_unit_test(the_verbs_follow_the_stream),
        cmocka_unit_test(long_sound_is_cut_where_it_is_quiet),
        cmocka_unit_test(feeding_and_listening_share_no_race),
        cmocka_unit_test(a_loop_is_cut),
        cmocka_unit_test(running_allocates_nothing),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
        cmocka_unit_test(a_cancelled_stage_stops_until_reset),
        cmocka_unit_test(inputs_that_grow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
