// test_failing.c: each creator of the public interface with each of its allocations failing in
// turn.
//
// in:  tiny programs
// out: cmocka's report
// Once the allocation fails alone, so that none whose failure is passed over stays hidden, and once
// with all later ones, as when memory has run out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "kazeia/text.h"
#include "memory_models.h"
#include "metered.h"

typedef struct fixture {
    memory_models models;
    kazeia_runtime *runtime;
    kazeia_program *chat_program, *listen_program;
    kazeia_stage *listen, *chat, *speak;
    bool has_voice;
} fixture;

static fixture shared;

typedef struct creator {
    const char *name;
    bool needs_voice;
    size_t optional_count; // allocations that may fail without consequence
    // Creates and, on KAZEIA_OK, destroys again.
    kazeia_status (*create)(const kazeia_allocator *allocator);
} creator;

static kazeia_status create_runtime(const kazeia_allocator *allocator) {
    kazeia_runtime_settings settings = kazeia_runtime_settings_default();
    kazeia_runtime *runtime = NULL;
    settings.thread_count = 3;
    settings.allocator = allocator;
    const kazeia_status status = kazeia_runtime_create(&settings, &runtime);
    kazeia_runtime_destroy(runtime);
    return status;
}

static kazeia_status open_program(const char *path, const kazeia_allocator *allocator) {
    kazeia_program *program = NULL;
    const kazeia_status status = kazeia_program_open(path, allocator, &program);
    kazeia_program_close(program);
    return status;
}

static kazeia_status open_chat_program(const kazeia_allocator *allocator) {
    return open_program(shared.models.chat, allocator);
}

static kazeia_status open_listen_program(const kazeia_allocator *allocator) {
    return open_program(shared.models.listen, allocator);
}

static kazeia_status create_tokenizer(const kazeia_allocator *allocator) {
    kazeia_tokenizer *tokenizer = NULL;
    const kazeia_status status =
        kazeia_tokenizer_create(shared.chat_program, allocator, &tokenizer);
    kazeia_tokenizer_destroy(tokenizer);
    return status;
}

static kazeia_status create_listen(const kazeia_allocator *allocator) {
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    kazeia_stage *stage = NULL;
    settings.allocator = allocator;
    const kazeia_status status =
        kazeia_listen_create(shared.runtime, shared.listen_program, &settings, &stage);
    kazeia_stage_destroy(stage);
    return status;
}

static kazeia_status create_chat(const kazeia_allocator *allocator) {
    kazeia_chat_settings settings = kazeia_chat_settings_default();
    kazeia_stage *stage = NULL;
    settings.system = "Réponds en français.";
    settings.sampling.temperature = 1.0f;
    settings.allocator = allocator;
    const kazeia_status status =
        kazeia_chat_create(shared.runtime, shared.chat_program, &settings, &stage);
    kazeia_stage_destroy(stage);
    return status;
}

static kazeia_status create_speak(const kazeia_allocator *allocator) {
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    kazeia_stage *stage = NULL;
    settings.allocator = allocator;
    const kazeia_status status = kazeia_speak_create(shared.runtime, &settings, &stage);
    kazeia_stage_destroy(stage);
    return status;
}

static kazeia_status open_commands(const kazeia_allocator *allocator) {
    kazeia_commands *commands = NULL;
    const kazeia_status status =
        kazeia_commands_open("examples/commandes.yaml", NULL, allocator, &commands);
    kazeia_commands_close(commands);
    return status;
}

static kazeia_status create_voice(const kazeia_allocator *allocator) {
    const kazeia_voice_parts parts = {.listen = shared.listen,
                                      .chat = shared.chat,
                                      .speak = shared.speak,
                                      .allocator = allocator};
    kazeia_voice *voice = NULL;
    const kazeia_status status = kazeia_voice_create(&parts, &voice);
    kazeia_voice_destroy(voice);
    return status;
}

static kazeia_status export_program(const char *source, const kazeia_allocator *allocator) {
    const kazeia_export_settings settings =
        memory_export_settings(source, shared.models.scratch, allocator);
    (void)remove(shared.models.scratch);
    const kazeia_status status = kazeia_export(&settings);
    FILE *file = fopen(shared.models.scratch, "rb"); // there is one after success alone
    assert_int_equal(file != NULL, status == KAZEIA_OK);
    if (file) {
        (void)fclose(file);
    }
    return status;
}

static kazeia_status export_chat(const kazeia_allocator *allocator) {
    return export_program(shared.models.chat_source, allocator);
}

static kazeia_status export_listen(const kazeia_allocator *allocator) {
    return export_program(shared.models.listen_source, allocator);
}

// A folder is tidied before and after a program is written; that may stay undone.
#define TIDYING 8

static const creator creators[] = {
    {"runtime", false, 0, create_runtime},
    {"chat program", false, 0, open_chat_program},
    {"listen program", false, 0, open_listen_program},
    {"tokenizer", false, 0, create_tokenizer},
    {"listen", false, 0, create_listen},
    {"chat", false, 0, create_chat},
    {"speak", true, 0, create_speak},
    {"commands", false, 0, open_commands},
    {"voice", true, 0, create_voice},
    {"export of chat", false, TIDYING, export_chat},
    {"export of listen", false, TIDYING, export_listen},
};

// Fails one allocation after the other until none is left to fail; the number of allocations.
static size_t fail_each(const creator *made, bool fails_beyond) {
    metered meter;
    metered_init(&meter);
    const kazeia_allocator allocator = metered_allocator(&meter);
    meter.fails_beyond = fails_beyond;
    size_t optional_left = made->optional_count;
    for (meter.fails_at = 0;; meter.fails_at++) {
        metered_restart(&meter);
        const kazeia_status status = made->create(&allocator);
        const bool has_failed = atomic_load(&meter.calls) > meter.fails_at;
        if (atomic_load(&meter.live_count) != 0) {
            fail_msg("%s: %zu allocations are left when number %zu fails", made->name,
                     atomic_load(&meter.live_count), meter.fails_at);
        }
        if (has_failed && status == KAZEIA_OK && optional_left > 0) {
            optional_left--;
            continue;
        }
        if (status != (has_failed ? KAZEIA_OUT_OF_MEMORY : KAZEIA_OK)) {
            fail_msg("%s: %s when allocation %zu of %zu fails: %s", made->name,
                     kazeia_status_name(status), meter.fails_at, atomic_load(&meter.calls),
                     kazeia_last_error());
        }
        if (!has_failed) {
            return atomic_load(&meter.calls);
        }
        assert_true(strlen(kazeia_last_error()) > 10);
    }
}

static void each_failure_is_told_and_leaves_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof creators / sizeof *creators; i++) {
        if (creators[i].needs_voice && !shared.has_voice) {
            print_message("%s: espeak-ng is not installed\n", creators[i].name);
            continue;
        }
        const size_t count = fail_each(&creators[i], true);
        assert_int_equal(fail_each(&creators[i], false), count);
        assert_true(count > 0);
        print_message("%s: %zu allocations\n", creators[i].name, count);
    }
}

static int open_shared(void) {
    kazeia_status status = kazeia_runtime_create(NULL, &shared.runtime);
    if (status == KAZEIA_OK) {
        status = kazeia_program_open(shared.models.chat, NULL, &shared.chat_program);
    }
    if (status == KAZEIA_OK) {
        status = kazeia_program_open(shared.models.listen, NULL, &shared.listen_program);
    }
    if (status == KAZEIA_OK) {
        status = kazeia_listen_create(shared.runtime, shared.listen_program, NULL, &shared.listen);
    }
    if (status == KAZEIA_OK) {
        status = kazeia_chat_create(shared.runtime, shared.chat_program, NULL, &shared.chat);
    }
    if (status != KAZEIA_OK) {
        fprintf(stderr, "memory tests: %s\n", kazeia_last_error());
        return 1;
    }
    shared.has_voice = kazeia_speak_create(shared.runtime, NULL, &shared.speak) == KAZEIA_OK;
    return 0;
}

static void close_shared(void) {
    kazeia_stage_destroy(shared.speak);
    kazeia_stage_destroy(shared.chat);
    kazeia_stage_destroy(shared.listen);
    kazeia_program_close(shared.listen_program);
    kazeia_program_close(shared.chat_program);
    kazeia_runtime_destroy(shared.runtime);
}

int main(int argument_count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_is_told_and_leaves_nothing),
    };
    if (argument_count != 2) {
        return 2;
    }
    memory_models_init(&shared.models, arguments[1], "failing");
    const int failures = open_shared() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    close_shared();
    memory_models_clear(&shared.models);
    return failures;
}
