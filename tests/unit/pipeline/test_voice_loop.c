// test_voice_loop.c: whole turns with scripted stages: what is said and when, commands, what the
// conversation remembers, cancelling and failing at every moment, times, memory.
//
// in:  scripts
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "pipeline/say.h"
#include "pipeline/voice_loop.h"
#include "scripted_stages.h"

static const char grammar_text[] = "language: fr\n"
                                   "intents:\n"
                                   "  Lumiere:\n"
                                   "    data:\n"
                                   "      - sentences: [\"allume la lumière\"]\n"
                                   "        response: allumee\n"
                                   "  Muet:\n"
                                   "    data:\n"
                                   "      - sentences: [\"tais toi\"]\n"
                                   "responses:\n"
                                   "  intents:\n"
                                   "    Lumiere:\n"
                                   "      allumee: \"J'ai allumé la lumière.\"\n";

typedef struct meter {
    atomic_size_t calls, live;
} meter;

static void *allocate(void *context, size_t bytes) {
    meter *counted = context;
    atomic_fetch_add(&counted->calls, 1);
    atomic_fetch_add(&counted->live, 1);
    return malloc(bytes);
}

static void release(void *context, void *memory) {
    meter *counted = context;
    if (memory) {
        atomic_fetch_sub(&counted->live, 1);
    }
    free(memory);
}

typedef struct fixture {
    script_trouble trouble;
    script_listener listener;
    script_thinker thinker;
    script_voice voice;
    kz_say *say;
    kz_command_grammar *grammar;
    kz_command_matcher *matcher;
    kz_voice_loop loop;
    meter counted;
    kazeia_allocator memory;
    size_t sink_samples;
    size_t thinker_had_given; // when the first sample came
} fixture;

static kazeia_status feed_say(void *self, const char *text, size_t bytes, size_t *out_taken) {
    return kz_say_feed(self, text, bytes, out_taken);
}

static kazeia_status next_of_say(void *self, float *out, size_t capacity, size_t *out_count) {
    return kz_say_next(self, out, capacity, out_count);
}

static kazeia_status finish_say(void *self) {
    return kz_say_finish(self);
}

static void cancel_say(void *self) {
    kz_say_cancel(self);
}

static kazeia_status reset_say(void *self) {
    return kz_say_reset(self);
}

static size_t begun_of_say(const void *self) {
    return kz_say_begun_bytes(self);
}

static void open_loop(fixture *f) {
    memset(f, 0, sizeof *f);
    f->memory = (kazeia_allocator){&f->counted, allocate, release};
    f->listener = (script_listener){.trouble = &f->trouble, .texts = {"Bonjour"}};
    f->thinker = (script_thinker){.trouble = &f->trouble,
                                  .reply = "Salut. Ça va bien ? Dis-moi tout.",
                                  .bytes_per_call = 3,
                                  .prefill_calls = 2};
    f->voice.trouble = &f->trouble;
    const kz_speak_table voice = script_voice_table(&f->voice);
    const kz_say_options options = {.language = "fr"};
    assert_int_equal(kz_say_create(&voice, &options, &f->memory, &f->say), KAZEIA_OK);
    assert_int_equal(kz_command_grammar_read(grammar_text, strlen(grammar_text), "test", &f->memory,
                                             &f->grammar),
                     KAZEIA_OK);
    assert_int_equal(kz_command_matcher_create(f->grammar, &f->memory, &f->matcher), KAZEIA_OK);
    assert_int_equal(kz_voice_loop_init(&f->loop, &f->memory), KAZEIA_OK);
    f->loop.listen = script_listener_table(&f->listener);
    f->loop.think = script_thinker_table(&f->thinker);
    f->loop.speak = (kz_speak_table){.self = f->say,
                                     .feed = feed_say,
                                     .next = next_of_say,
                                     .finish = finish_say,
                                     .cancel = cancel_say,
                                     .reset = reset_say,
                                     .begun_bytes = begun_of_say};
    f->loop.matcher = f->matcher;
}

static void close_loop(fixture *f) {
    kz_voice_loop_clear(&f->loop);
    kz_say_destroy(f->say);
    kz_command_matcher_destroy(f->matcher);
    kz_command_grammar_close(f->grammar);
    assert_int_equal(f->counted.live, 0);
}

static kazeia_status take_samples(void *context, const float *samples, size_t count) {
    fixture *f = context;
    assert_true(count > 0 && samples[count - 1] == 0.5f);
    if (f->sink_samples == 0) {
        f->thinker_had_given = f->thinker.given;
    }
    f->sink_samples += count;
    return script_reach(&f->trouble, MOMENT_SINK, &f->thinker.is_cancelled);
}

static kazeia_status take_turn(fixture *f) {
    static const float sound[100];
    f->sink_samples = 0;
    return kz_voice_loop_turn(&f->loop, sound, 100, take_samples, f);
}

// What the voice was told, a space before each.
static char told_languages[64];

static void note_language(void *self, const char *language) {
    (void)self;
    strcat(strcat(told_languages, " "), language);
}

static void check_times(const kz_turn *turn) {
    double last_start = 0;
    for (size_t i = 0; i < KZ_STAGE_COUNT; i++) {
        const kz_turn_times *times = &turn->stages[i];
        if (times->start_ms >= 0) {
            assert_true(times->start_ms >= last_start);
            assert_true(times->first_ms < 0 || times->first_ms >= times->start_ms);
            assert_true(times->end_ms < 0 || times->end_ms >= times->first_ms);
            last_start = times->start_ms;
        } else {
            assert_true(times->first_ms < 0 && times->end_ms < 0);
        }
    }
}

// --- Turns --------------------------------------------------------------------------------------

static void an_answer_is_spoken_while_it_is_written(void **state) {
    (void)state;
    fixture f;
    open_loop(&f);
    const size_t calls = f.counted.calls;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take_turn(&f), KAZEIA_OK);
        assert_string_equal(f.loop.transcript.bytes, "Bonjour");
        assert_string_equal(f.loop.language, "fr");
        assert_string_equal(f.loop.reply.bytes, f.thinker.reply);
        assert_false(f.loop.command.is_match);
        // Sound came after the first sentence, long before the reply was whole.
        assert_true(f.thinker_had_given > 0 && f.thinker_had_given < 12);
        assert_int_equal(f.sink_samples, f.loop.spoken_count);
        assert_int_equal(f.loop.heard_bytes, strlen(f.thinker.reply));
        assert_true(f.loop.turn.stages[KZ_STAGE_SPEAK].first_ms >= 0);
        check_times(&f.loop.turn);
    }
    assert_int_equal(f.counted.calls, calls); // turns allocate nothing
    assert_int_equal(f.thinker.asked, 3);
    assert_int_equal(f.thinker.ends, 0);
    close_loop(&f);
}

static void a_command_is_confirmed_without_the_model(void **state) {
    (void)state;
    fixture f;
    open_loop(&f);
    f.listener.texts[0] = "Allume la lumière.";
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    assert_true(f.loop.command.is_match);
    assert_string_equal(f.loop.command.intent, "Lumiere");
    assert_string_equal(f.loop.reply.bytes, "J'ai allumé la lumière.");
    assert_int_equal(f.sink_samples, SAMPLES_PER_BYTE * (strlen("J'ai allumé la lumière.") + 1));
    assert_int_equal(f.thinker.asked, 0);
    assert_true(f.loop.turn.stages[KZ_STAGE_THINK].start_ms < 0);
    check_times(&f.loop.turn);
    f.listener.texts[0] = "Tais-toi !"; // understood, and nothing to say
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    assert_string_equal(f.loop.command.intent, "Muet");
    assert_int_equal(f.sink_samples, 0);
    assert_true(f.loop.turn.stages[KZ_STAGE_SPEAK].first_ms < 0);
    close_loop(&f);
}

static void silence_is_no_turn(void **state) {
    (void)state;
    fixture f;
    open_loop(&f);
    f.listener.texts[0] = NULL;
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    f.listener.texts[0] = "";
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    assert_int_equal(kz_voice_loop_turn(&f.loop, NULL, 0, take_samples, &f), KAZEIA_OK);
    assert_string_equal(f.loop.transcript.bytes, "");
    assert_string_equal(f.loop.reply.bytes, "");
    assert_int_equal(f.thinker.asked, 0);
    assert_int_equal(f.sink_samples, 0);
    check_times(&f.loop.turn);
    close_loop(&f);
}

static void long_speech_is_heard_in_windows(void **state) {
    (void)state;
    fixture f;
    open_loop(&f);
    f.listener = (script_listener){
        .trouble = &f.trouble, .texts = {"Un", "", "deux", NULL}, .window_samples = 40};
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    assert_string_equal(f.loop.transcript.bytes, "Un deux");
    close_loop(&f);
}

static void an_empty_reply_ends_the_turn(void **state) {
    (void)state;
    fixture f;
    open_loop(&f);
    f.thinker.reply = "";
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    f.thinker.reply = "<think>Hmm.</think>";
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    assert_int_equal(f.sink_samples, 0);
    check_times(&f.loop.turn);
    close_loop(&f);
}

// --- Cancelling and failing ---------------------------------------------------------------------

// What the conversation holds after a turn that ended at a moment: nothing, or the reply to the end
// of the sentence that was being handed over.
static const struct {
    script_moment moment;
    const char *history;
} moments[] = {
    {MOMENT_LISTEN_FEED, ""},     {MOMENT_LISTEN, ""},
    {MOMENT_THINK_FEED, ""},      {MOMENT_PREFILL, ""},
    {MOMENT_DECODE, "Bonjour>;"}, {MOMENT_SPEAK_FEED, "Bonjour>;"},
    {MOMENT_SPEAK, "Bonjour>;"},  {MOMENT_SINK, "Bonjour>Salut. ;"},
};

static void check_next_turn(fixture *f, const char *history) {
    char expected[SCRIPT_BYTES];
    assert_string_equal(f->thinker.history, history);
    f->trouble.waits_at = f->trouble.fails_at = MOMENT_NEVER;
    assert_int_equal(take_turn(f), KAZEIA_OK);
    assert_string_equal(f->loop.reply.bytes, f->thinker.reply);
    assert_true(f->sink_samples > 0);
    strcpy(expected, history);
    strcat(expected, "Bonjour>");
    strcat(expected, f->thinker.reply);
    strcat(expected, ";");
    assert_string_equal(f->thinker.history, expected);
    assert_int_equal(f->listener.resets, f->voice.resets);
}

static void cancel_when_it_waits(void *context) {
    fixture *f = context;
    while (atomic_load(&f->trouble.waiting) == MOMENT_NEVER) {
        kz_thread_yield();
    }
    kz_voice_loop_cancel(&f->loop);
}

static void a_turn_may_be_cancelled_at_any_moment(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        fixture f;
        kz_thread thread = {.is_running = false};
        open_loop(&f);
        f.trouble.waits_at = moments[i].moment;
        assert_int_equal(kz_thread_start(&thread, cancel_when_it_waits, &f), KAZEIA_OK);
        assert_int_equal(take_turn(&f), KAZEIA_CANCELLED);
        kz_thread_join(&thread);
        check_times(&f.loop.turn);
        check_next_turn(&f, moments[i].history);
        close_loop(&f);
    }
}

static void a_turn_may_fail_at_any_moment(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        fixture f;
        open_loop(&f);
        f.trouble.fails_at = moments[i].moment;
        assert_int_equal(take_turn(&f), KAZEIA_IO);
        assert_non_null(strstr(kazeia_last_error(), "script: moment"));
        check_next_turn(&f, moments[i].history);
        close_loop(&f);
    }
}

static kazeia_status cancel_in_sink(void *context, const float *samples, size_t count) {
    fixture *f = context;
    (void)samples;
    f->sink_samples += count;
    if (f->sink_samples > 60) { // in the second sentence
        kz_voice_loop_cancel(&f->loop);
    }
    return KAZEIA_OK;
}

static void what_was_heard_is_kept_by_sentences(void **state) {
    (void)state;
    static const float sound[10];
    for (size_t bytes_per_call = 3; bytes_per_call < 100; bytes_per_call += 60) {
        fixture f;
        open_loop(&f);
        f.voice.samples_per_call = 10;
        f.thinker.bytes_per_call = bytes_per_call; // 63: the reply is whole when it is cut
        assert_int_equal(kz_voice_loop_turn(&f.loop, sound, 10, cancel_in_sink, &f),
                         KAZEIA_CANCELLED);
        check_next_turn(&f, "Bonjour>Salut. Ça va bien ? ;");
        close_loop(&f);
    }
}

static void cancelling_a_later_turn_keeps_the_earlier_ones(void **state) {
    (void)state;
    fixture f;
    char history[256] = "Bonjour>";
    open_loop(&f);
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    strcat(history, f.thinker.reply);
    strcat(history, ";");
    f.trouble.fails_at = MOMENT_LISTEN; // not asked yet
    assert_int_equal(take_turn(&f), KAZEIA_IO);
    check_next_turn(&f, history);
    close_loop(&f);
}

static void between_turns_there_is_nothing_to_cancel(void **state) {
    (void)state;
    fixture f;
    open_loop(&f);
    kz_voice_loop_cancel(&f.loop);
    check_next_turn(&f, "");
    kz_voice_loop_cancel(&f.loop);
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    close_loop(&f);
}

typedef struct pesterer {
    fixture *f;
    atomic_bool is_over;
} pesterer;

static void cancel_for_ever(void *context) {
    pesterer *job = context;
    while (!atomic_load(&job->is_over)) {
        kz_voice_loop_cancel(&job->f->loop);
        kz_thread_yield();
    }
}

// Whenever it comes, a turn is whole or cancelled, and afterwards all is as it should be.
static void cancellations_at_random_leave_the_loop_sound(void **state) {
    (void)state;
    fixture f;
    open_loop(&f);
    pesterer job = {.f = &f};
    kz_thread thread = {.is_running = false};
    atomic_init(&job.is_over, false);
    assert_int_equal(kz_thread_start(&thread, cancel_for_ever, &job), KAZEIA_OK);
    for (int i = 0; i < 200; i++) {
        const kazeia_status status = take_turn(&f);
        assert_true(status == KAZEIA_OK || status == KAZEIA_CANCELLED);
        f.thinker.history[0] = '\0';
    }
    atomic_store(&job.is_over, true);
    kz_thread_join(&thread);
    check_next_turn(&f, "");
    close_loop(&f);
}

static void the_voice_is_told_the_language_of_the_question(void **state) {
    (void)state;
    fixture f;
    open_loop(&f);
    told_languages[0] = '\0';
    f.loop.speak.set_language = note_language;
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    assert_string_equal(told_languages, " fr");
    // Nothing was heard: there is nothing to answer, nor a language.
    f.listener.texts[0] = "";
    assert_int_equal(take_turn(&f), KAZEIA_OK);
    assert_string_equal(told_languages, " fr");
    close_loop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_spoken_while_it_is_written),
        cmocka_unit_test(a_command_is_confirmed_without_the_model),
        cmocka_unit_test(silence_is_no_turn),
        cmocka_unit_test(long_speech_is_heard_in_windows),
        cmocka_unit_test(an_empty_reply_ends_the_turn),
        cmocka_unit_test(a_turn_may_be_cancelled_at_any_moment),
        cmocka_unit_test(a_turn_may_fail_at_any_moment),
        cmocka_unit_test(what_was_heard_is_kept_by_sentences),
        cmocka_unit_test(cancelling_a_later_turn_keeps_the_earlier_ones),
        cmocka_unit_test(between_turns_there_is_nothing_to_cancel),
        cmocka_unit_test(cancellations_at_random_leave_the_loop_sound),
        cmocka_unit_test(the_voice_is_told_the_language_of_the_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
