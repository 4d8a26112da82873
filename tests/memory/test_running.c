// test_running.c: opening allocates, running does not.
//
// in:  tiny programs, samples in memory
// out: cmocka's report
// Two counts: of what goes through the allocator given at creation, and, without sanitizers, of
// every malloc of the process. espeak-ng allocates as it likes, so that the latter leaves it out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "counted_malloc.h"
#include "memory_models.h"
#include "metered.h"

static memory_models models;

typedef struct fixture {
    metered meter;
    kazeia_allocator memory;
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_stage *stage;
} fixture;

static void open_fixture(fixture *f, const char *path) {
    memset(f, 0, sizeof *f);
    metered_init(&f->meter);
    f->memory = metered_allocator(&f->meter);
    kazeia_runtime_settings settings = kazeia_runtime_settings_default();
    settings.thread_count = 2;
    settings.allocator = &f->memory;
    assert_int_equal(kazeia_runtime_create(&settings, &f->runtime), KAZEIA_OK);
    assert_int_equal(kazeia_program_open(path, &f->memory, &f->program), KAZEIA_OK);
}

static void close_fixture(fixture *f) {
    kazeia_stage_destroy(f->stage);
    kazeia_program_close(f->program);
    kazeia_runtime_destroy(f->runtime);
    assert_int_equal(f->meter.live_count, 0);
}

static size_t malloc_calls(void) {
#ifdef KZ_TEST_COUNTS_MALLOC
    return counted_malloc_calls();
#else
    return 0;
#endif
}

#ifdef KZ_TEST_COUNTS_MALLOC
// The count would be worth nothing if malloc were not this program's.
static void malloc_is_counted(void **state) {
    (void)state;
    const size_t before = malloc_calls();
    kazeia_program *program = NULL;
    assert_int_equal(kazeia_program_open(models.chat, NULL, &program), KAZEIA_OK);
    kazeia_program_close(program);
    assert_true(malloc_calls() > before);
}
#endif

// Takes one turn; the number of tokens.
static size_t take_reply(kazeia_stage *chat, const char *text) {
    char piece[64];
    size_t bytes = 0;
    kazeia_status status = KAZEIA_OK;
    feed_whole(chat, text, strlen(text));
    while (status == KAZEIA_OK) {
        status = kazeia_stage_next(chat, piece, sizeof piece, &bytes);
    }
    assert_int_equal(status, KAZEIA_DONE);
    return kazeia_chat_statistics_of(chat).generated_tokens;
}

static void generating_allocates_nothing(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, models.chat);
    kazeia_chat_settings settings = kazeia_chat_settings_default();
    settings.max_tokens = 24;
    settings.sampling =
        (kazeia_sampling){.temperature = 1.0f, .top_k = 20, .top_p = 0.9f, .seed = 3};
    settings.allocator = &f.memory;
    assert_int_equal(kazeia_chat_create(f.runtime, f.program, &settings, &f.stage), KAZEIA_OK);
    metered_restart(&f.meter);
    const size_t before = malloc_calls();
    size_t generated = take_reply(f.stage, "Bonjour, ça va ? L'été est là : 35 °C à l'ombre.");
    generated += take_reply(f.stage, "Et demain ?");
    kazeia_stage_cancel(f.stage);
    assert_int_equal(kazeia_chat_end_turn(f.stage, 2), KAZEIA_OK);
    generated += take_reply(f.stage, "Encore.");
    assert_int_equal(kazeia_stage_reset(f.stage), KAZEIA_OK);
    generated += take_reply(f.stage, "Bonjour");
    assert_int_equal(malloc_calls() - before, 0);
    assert_int_equal(f.meter.calls, 0);
    assert_true(generated > 24);
    close_fixture(&f);
}

static void transcribe(kazeia_stage *listen, const float *samples, size_t sample_count,
                       const char *expected) {
    kazeia_heard heard;
    size_t count = 0;
    feed_whole(listen, samples, sample_count);
    assert_int_equal(kazeia_stage_next(listen, &heard, 1, &count), KAZEIA_OK);
    assert_string_equal(heard.text, expected);
    assert_int_equal(kazeia_stage_next(listen, &heard, 1, &count), KAZEIA_DONE);
}

static void transcribing_allocates_nothing(void **state) {
    (void)state;
    static const float silence[32000];
    size_t count = 0;
    float *speech = read_speech(&count);
    fixture f;
    if (!speech) {
        print_message("%s\n", kazeia_last_error());
        skip();
    }
    open_fixture(&f, models.listen);
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    settings.allocator = &f.memory;
    assert_int_equal(kazeia_listen_create(f.runtime, f.program, &settings, &f.stage), KAZEIA_OK);
    metered_restart(&f.meter);
    const size_t before = malloc_calls();
    transcribe(f.stage, speech, count, "Allume la lumière.");
    transcribe(f.stage, silence, 32000, "");
    assert_int_equal(kazeia_stage_reset(f.stage), KAZEIA_OK);
    transcribe(f.stage, speech, count, "Allume la lumière.");
    assert_int_equal(malloc_calls() - before, 0);
    assert_int_equal(f.meter.calls, 0);
    close_fixture(&f);
    kazeia_audio_release(speech);
}

// --- A spoken turn ------------------------------------------------------------------------------

typedef struct conversation {
    fixture base;
    kazeia_program *listener;
    kazeia_stage *listen, *speak;
    kazeia_commands *commands;
    kazeia_voice *voice;
    size_t sound;
} conversation;

static kazeia_status take_samples(void *context, const float *samples, size_t count) {
    conversation *talk = context;
    (void)samples;
    talk->sound += count;
    return KAZEIA_OK;
}

static void open_conversation(conversation *talk, bool has_commands) {
    fixture *f = &talk->base;
    kazeia_listen_settings listen = kazeia_listen_settings_default();
    kazeia_chat_settings chat = kazeia_chat_settings_default();
    kazeia_speak_settings speak = kazeia_speak_settings_default();
    listen.allocator = chat.allocator = speak.allocator = &f->memory;
    chat.max_tokens = 12;
    assert_int_equal(kazeia_program_open(models.listen, &f->memory, &talk->listener), KAZEIA_OK);
    assert_int_equal(kazeia_listen_create(f->runtime, talk->listener, &listen, &talk->listen),
                     KAZEIA_OK);
    assert_int_equal(kazeia_chat_create(f->runtime, f->program, &chat, &f->stage), KAZEIA_OK);
    assert_int_equal(kazeia_speak_create(f->runtime, &speak, &talk->speak), KAZEIA_OK);
    if (has_commands) {
        assert_int_equal(
            kazeia_commands_open("examples/commandes.yaml", NULL, &f->memory, &talk->commands),
            KAZEIA_OK);
    }
    const kazeia_voice_parts parts = {.listen = talk->listen,
                                      .commands = talk->commands,
                                      .chat = f->stage,
                                      .speak = talk->speak,
                                      .allocator = &f->memory};
    assert_int_equal(kazeia_voice_create(&parts, &talk->voice), KAZEIA_OK);
}

static void close_conversation(conversation *talk) {
    kazeia_voice_destroy(talk->voice);
    kazeia_commands_close(talk->commands);
    kazeia_stage_destroy(talk->speak);
    kazeia_stage_destroy(talk->listen);
    kazeia_program_close(talk->listener);
    close_fixture(&talk->base);
}

static kazeia_status take_turn(conversation *talk, const float *speech, size_t count,
                               kazeia_turn *out_turn) {
    return kazeia_voice_turn(talk->voice, speech, count, take_samples, talk, out_turn);
}

// Opens a conversation with `speech`; false, and why, when this machine cannot hold one.
static bool begin_talk(conversation *talk, bool has_commands, float **out_speech,
                       size_t *out_count) {
    memset(talk, 0, sizeof *talk);
    open_fixture(&talk->base, models.chat);
    *out_speech = read_speech(out_count);
    if (!*out_speech || !has_espeak(talk->base.runtime)) {
        print_message("%s\n", kazeia_last_error());
        close_fixture(&talk->base);
        kazeia_audio_release(*out_speech);
        return false;
    }
    open_conversation(talk, has_commands);
    metered_restart(&talk->base.meter);
    return true;
}

static void end_talk(conversation *talk, float *speech) {
    assert_int_equal(talk->base.meter.calls, 0);
    close_conversation(talk);
    kazeia_audio_release(speech);
}

static void turns_allocate_nothing(void **state) {
    (void)state;
    for (int has_commands = 0; has_commands < 2; has_commands++) {
        conversation talk;
        float *speech = NULL;
        size_t count = 0;
        if (!begin_talk(&talk, has_commands, &speech, &count)) {
            skip();
        }
        for (int i = 0; i < 2; i++) {
            kazeia_turn turn;
            assert_int_equal(take_turn(&talk, speech, count, &turn), KAZEIA_OK);
            assert_string_equal(turn.transcript, "Allume la lumière.");
            assert_int_equal(turn.command.intent != NULL, has_commands);
        }
        assert_true(!has_commands || talk.sound > 0);
        end_talk(&talk, speech);
    }
}

static void commands_want_whole_windows(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, models.listen);
    kazeia_commands *commands = NULL;
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    settings.audio_context = KAZEIA_AUDIO_CONTEXT_AUTO;
    assert_int_equal(kazeia_listen_create(f.runtime, f.program, &settings, &f.stage), KAZEIA_OK);
    assert_int_equal(kazeia_commands_open("examples/commandes.yaml", NULL, &f.memory, &commands),
                     KAZEIA_OK);
    assert_int_equal(kazeia_commands_listen(commands, f.stage, NULL), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "whole windows"));
    kazeia_commands_close(commands);
    close_fixture(&f);
}

typedef struct interruption {
    kazeia_voice *voice;
    uint64_t after_ns;
    atomic_bool is_on;
} interruption;

static void interrupt(void *context) {
    interruption *job = context;
    while (!atomic_load(&job->is_on)) {
        kz_thread_yield();
    }
    const uint64_t start_ns = kz_clock_now_ns();
    while (kz_clock_now_ns() - start_ns < job->after_ns) {
        kz_thread_yield();
    }
    kazeia_voice_cancel(job->voice);
}

// With the real stages, at moments spread over a turn: it ends, and the next is whole.
static void interrupted_turns_leave_all_ready(void **state) {
    (void)state;
    conversation talk;
    float *speech = NULL;
    size_t count = 0, cancelled = 0;
    kazeia_turn turn;
    if (!begin_talk(&talk, false, &speech, &count)) {
        skip();
    }
    uint64_t turn_ns = kz_clock_now_ns();
    assert_int_equal(take_turn(&talk, speech, count, &turn), KAZEIA_OK);
    turn_ns = kz_clock_now_ns() - turn_ns;
    for (uint64_t i = 0; i < 16; i++) {
        // The words are random and many: the tiny context holds two turns.
        assert_int_equal(kazeia_stage_reset(talk.base.stage), KAZEIA_OK);
        interruption job = {.voice = talk.voice, .after_ns = turn_ns * i / 16};
        kz_thread thread = {.is_running = false};
        assert_int_equal(kz_thread_start(&thread, interrupt, &job), KAZEIA_OK);
        atomic_store(&job.is_on, true);
        const kazeia_status status = take_turn(&talk, speech, count, &turn);
        kz_thread_join(&thread);
        if (status != KAZEIA_OK) {
            assert_int_equal(status, KAZEIA_CANCELLED);
            cancelled++;
        }
        talk.sound = 0;
        assert_int_equal(take_turn(&talk, speech, count, &turn), KAZEIA_OK);
        assert_true(talk.sound > 0);
    }
    assert_true(cancelled > 0);
    end_talk(&talk, speech);
}

int main(int argument_count, char **arguments) {
    const struct CMUnitTest tests[] = {
#ifdef KZ_TEST_COUNTS_MALLOC
        cmocka_unit_test(malloc_is_counted),
#endif
        cmocka_unit_test(generating_allocates_nothing),
        cmocka_unit_test(transcribing_allocates_nothing),
        cmocka_unit_test(turns_allocate_nothing),
        cmocka_unit_test(commands_want_whole_windows),
        cmocka_unit_test(interrupted_turns_leave_all_ready),
    };
    if (argument_count != 2) {
        return 2;
    }
    memory_models_init(&models, arguments[1], "running");
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    memory_models_clear(&models);
    return failures;
}
