// test_limits.c: a session takes its printed plan, no more; opening takes little; a limit is kept.
//
// in:  tiny programs
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "api/handles.h"
#include "llm/chat.h"
#include "memory_models.h"
#include "metered.h"

#define LITTLE_BYTES (32 * 1024)

static memory_models models;

static size_t size_of_file(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    (void)fclose(file);
    return (size_t)size;
}

static void opening_takes_little(void **state) {
    (void)state;
    const char *const paths[] = {models.chat, models.listen};
    for (size_t i = 0; i < 2; i++) {
        metered meter;
        metered_init(&meter);
        const kazeia_allocator allocator = metered_allocator(&meter);
        kazeia_program *program = NULL;
        assert_int_equal(kazeia_program_open(paths[i], &allocator, &program), KAZEIA_OK);
        const size_t file_bytes = size_of_file(paths[i]);
        print_message("%zu bytes for a file of %zu\n", atomic_load(&meter.peak_bytes), file_bytes);
        assert_true(meter.peak_bytes > 0);
        assert_true(meter.peak_bytes <= 4 * file_bytes + (1 << 20));
        kazeia_program_close(program);
        assert_int_equal(meter.live_count, 0);
    }
}

// The chat's session, made as kz_chat_create makes it.
static void a_session_takes_its_printed_plan(void **state) {
    (void)state;
    metered meter;
    metered_init(&meter);
    const kazeia_allocator allocator = metered_allocator(&meter);
    const kz_session_settings settings = kz_chat_session_settings();
    kazeia_runtime *runtime = NULL;
    kazeia_program *program = NULL;
    kz_session *session = NULL;
    assert_int_equal(kazeia_runtime_create(NULL, &runtime), KAZEIA_OK);
    assert_int_equal(kazeia_program_open(models.chat, NULL, &program), KAZEIA_OK);
    assert_int_equal(
        kz_session_create(program->loaded, runtime->pool, &settings, &allocator, &session),
        KAZEIA_OK);
    assert_int_equal(meter.live_bytes, kazeia_program_session_bytes(program));
    assert_int_equal(meter.peak_bytes, meter.live_bytes);
    kz_session_destroy(session);
    assert_int_equal(meter.live_count, 0);
    kazeia_program_close(program);
    kazeia_runtime_destroy(runtime);
}

static kazeia_status create_stage(kazeia_runtime *runtime, kazeia_program *program, bool is_chat,
                                  const kazeia_allocator *allocator, kazeia_stage **out_stage) {
    if (is_chat) {
        kazeia_chat_settings settings = kazeia_chat_settings_default();
        settings.allocator = allocator;
        return kazeia_chat_create(runtime, program, &settings, out_stage);
    }
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    settings.allocator = allocator;
    return kazeia_listen_create(runtime, program, &settings, out_stage);
}

static void check_limit(bool is_chat) {
    metered meter;
    metered_init(&meter);
    const kazeia_allocator allocator = metered_allocator(&meter);
    kazeia_program *program = NULL;
    assert_int_equal(kazeia_program_open(is_chat ? models.chat : models.listen, NULL, &program),
                     KAZEIA_OK);
    const uint64_t plan = kazeia_program_session_bytes(program);
    for (int below = 0; below < 2; below++) {
        kazeia_runtime_settings settings = kazeia_runtime_settings_default();
        kazeia_runtime *runtime = NULL;
        kazeia_stage *stage = NULL;
        char number[24];
        settings.session_memory_limit = plan - (uint64_t)below;
        assert_int_equal(kazeia_runtime_create(&settings, &runtime), KAZEIA_OK);
        metered_restart(&meter);
        const kazeia_status status = create_stage(runtime, program, is_chat, &allocator, &stage);
        if (below) {
            assert_int_equal(status, KAZEIA_OUT_OF_MEMORY);
            (void)snprintf(number, sizeof number, "%llu", (unsigned long long)plan);
            assert_non_null(strstr(kazeia_last_error(), number));
            assert_true(meter.peak_bytes < LITTLE_BYTES); // the stage's own, nothing of the plan
        } else if (status != KAZEIA_OK) {
            fail_msg("%s", kazeia_last_error());
        }
        kazeia_stage_destroy(stage);
        assert_int_equal(meter.live_count, 0);
        kazeia_runtime_destroy(runtime);
    }
    kazeia_program_close(program);
}

static void a_chat_above_the_limit_is_refused_first(void **state) {
    (void)state;
    check_limit(true);
}

static void a_listener_above_the_limit_is_refused_first(void **state) {
    (void)state;
    check_limit(false);
}

int main(int argument_count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_takes_little),
        cmocka_unit_test(a_session_takes_its_printed_plan),
        cmocka_unit_test(a_chat_above_the_limit_is_refused_first),
        cmocka_unit_test(a_listener_above_the_limit_is_refused_first),
    };
    if (argument_count != 2) {
        return 2;
    }
    memory_models_init(&models, arguments[1], "limits");
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    memory_models_clear(&models);
    return failures;
}
