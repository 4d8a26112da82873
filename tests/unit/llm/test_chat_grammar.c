// test_chat_grammar.c: replies of a chat that must follow a grammar, from a model of random
// weights.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <string.h>

#include <jansson.h>

#include "llm/chat.h"
#include "tiny_chat.h"

#define REPLY_BYTES 4096

static const int64_t stops[] = {TINY_END};
static const char schema[] = "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"},"
                             "\"n\":{\"enum\":[1,22,333]}},"
                             "\"required\":[\"ok\",\"n\"]}";

typedef struct fixture {
    tiny_chat tiny;
    kz_program *program;
    kz_pool *pool;
} fixture;

static void open_fixture(fixture *f) {
    tiny_chat_init(&f->tiny, NULL, true, stops, 1);
    assert_int_equal(
        kz_program_open_memory(f->tiny.llama.bytes, f->tiny.llama.count, NULL, &f->program),
        KAZEIA_OK);
    assert_int_equal(kz_pool_create(2, NULL, &f->pool), KAZEIA_OK);
}

static void close_fixture(fixture *f) {
    kz_pool_destroy(f->pool);
    kz_program_release(f->program);
    tiny_chat_clear(&f->tiny);
}

static kz_chat_settings settings_of(uint64_t seed) {
    return (kz_chat_settings){.sampling = {.temperature = 1.5f, .top_p = 1.0f, .seed = seed}};
}

static void say(kz_chat *chat, const char *text, char *out) {
    size_t taken = 0, length = 0;
    kazeia_status status = KAZEIA_OK;
    assert_int_equal(kz_chat_feed(chat, text, strlen(text), &taken), KAZEIA_OK);
    assert_int_equal(kz_chat_finish(chat), KAZEIA_OK);
    while (status == KAZEIA_OK) {
        size_t bytes = 0;
        assert_true(length + 64 < REPLY_BYTES);
        status = kz_chat_next(chat, out + length, 64, &bytes);
        length += bytes;
    }
    out[length] = '\0';
    if (status != KAZEIA_DONE) {
        fail_msg("%s", kazeia_last_error());
    }
}

static void replies_follow_a_schema(void **state) {
    fixture f;
    char reply[REPLY_BYTES];
    (void)state;
    open_fixture(&f);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        kz_chat *chat = NULL;
        kz_chat_settings settings = settings_of(seed);
        settings.json_schema = schema;
        settings.prompt_lookup = seed % 2 == 0 ? 7 : 0;
        assert_int_equal(kz_chat_create(f.program, f.pool, &settings, NULL, &chat), KAZEIA_OK);
        for (int turn = 0; turn < 3; turn++) {
            say(chat, "et?", reply);
            json_t *value = json_loads(reply, 0, NULL);
            const json_int_t number = json_integer_value(json_object_get(value, "n"));
            assert_true(json_is_boolean(json_object_get(value, "ok")));
            assert_true(number == 1 || number == 22 || number == 333);
            assert_int_equal(kz_chat_statistics_of(chat).stop, KZ_CHAT_STOP_TOKEN);
            json_decref(value);
        }
        kz_chat_destroy(chat);
    }
    close_fixture(&f);
}

static void a_short_reply_begins_as_the_grammar_does(void **state) {
    fixture f;
    char reply[REPLY_BYTES];
    kz_chat *chat = NULL;
    kz_chat_settings settings = settings_of(3);
    (void)state;
    open_fixture(&f);
    settings.grammar = "root ::= \"<\" [a-f]+ \">\" root";
    assert_int_equal(kz_chat_create(f.program, f.pool, &settings, NULL, &chat), KAZEIA_BAD_FILE);
    settings.grammar = "root ::= \"<\" [a-f]{20} \">\"";
    settings.max_tokens = 8;
    assert_int_equal(kz_chat_create(f.program, f.pool, &settings, NULL, &chat), KAZEIA_OK);
    say(chat, "et?", reply);
    assert_int_equal(reply[0], '<');
    assert_int_equal(strspn(reply + 1, "abcdef"), strlen(reply) - 1);
    assert_int_equal(kz_chat_statistics_of(chat).stop, KZ_CHAT_STOP_LENGTH);
    kz_chat_destroy(chat);
    close_fixture(&f);
}

static void one_of_both_is_given(void **state) {
    fixture f;
    kz_chat *chat = NULL;
    kz_chat_settings settings = settings_of(1);
    (void)state;
    open_fixture(&f);
    settings.grammar = "root ::= \"x\"";
    settings.json_schema = schema;
    assert_int_equal(kz_chat_create(f.program, f.pool, &settings, NULL, &chat),
                     KAZEIA_BAD_ARGUMENT);
    settings.grammar = NULL;
    settings.json_schema = "{\"not\":{}}";
    assert_int_equal(kz_chat_create(f.program, f.pool, &settings, NULL, &chat), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "#/not"));
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_follow_a_schema),
        cmocka_unit_test(a_short_reply_begins_as_the_grammar_does),
        cmocka_unit_test(one_of_both_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
