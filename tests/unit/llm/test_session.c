// test_session.c: a conversation that is rewound, forked, saved, restored, shortened; and the
// settings that change what is written.
//
// in:  a tiny program made here
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../metered_allocator.h"
#include "llm/chat.h"
#include "tiny_chat.h"

#define REPLY_BYTES 4096

typedef struct fixture {
    tiny_chat tiny;
    kz_program *program;
    kz_pool *pool;
    metered_allocator meter;
    kazeia_allocator memory;
    kz_chat *chat;
    char path[64];
} fixture;

static void open_program(fixture *f) {
    memset(f, 0, sizeof *f);
    tiny_chat_init(&f->tiny, "Sois bref.", true, NULL, 0);
    f->meter.calls_allowed = SIZE_MAX;
    f->memory = (kazeia_allocator){&f->meter, allocate_metered, release_metered};
    assert_int_equal(
        kz_program_open_memory(f->tiny.llama.bytes, f->tiny.llama.count, NULL, &f->program),
        KAZEIA_OK);
    assert_int_equal(kz_pool_create(2, NULL, &f->pool), KAZEIA_OK);
    snprintf(f->path, sizeof f->path, "%s/kazeia_session_%d", P_tmpdir, (int)getpid());
}

static kz_chat *open_chat(fixture *f, const kz_chat_settings *settings) {
    kz_chat *chat = NULL;
    if (kz_chat_create(f->program, f->pool, settings, &f->memory, &chat) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    return chat;
}

static void close_fixture(fixture *f) {
    kz_chat_destroy(f->chat);
    assert_int_equal(f->meter.live, 0);
    kz_pool_destroy(f->pool);
    kz_program_release(f->program);
    tiny_chat_clear(&f->tiny);
    remove(f->path);
}

static kz_chat_settings warm(uint32_t max_tokens) {
    return (kz_chat_settings){.max_tokens = max_tokens,
                              .sampling = {.temperature = 1.0f, .top_p = 0.9f, .seed = 5}};
}

static void take_reply(kz_chat *chat, char *out) {
    size_t length = 0, bytes = 0;
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        status = kz_chat_next(chat, out + length, 64, &bytes);
        length += bytes;
        assert_true(length + 64 < REPLY_BYTES);
    }
    out[length] = '\0';
    if (status != KAZEIA_DONE) {
        fail_msg("%s", kazeia_last_error());
    }
}

static void say(kz_chat *chat, const char *text, char *out) {
    size_t taken = 0;
    assert_int_equal(kz_chat_feed(chat, text, strlen(text), &taken), KAZEIA_OK);
    assert_int_equal(taken, strlen(text));
    assert_int_equal(kz_chat_finish(chat), KAZEIA_OK);
    take_reply(chat, out);
}

static uint32_t cached(const kz_chat *chat) {
    return kz_chat_statistics_of(chat).cached_tokens;
}

// --- Back and aside -----------------------------------------------------------------------------

static void a_rewind_takes_messages_back(void **state) {
    (void)state;
    fixture f;
    char first[REPLY_BYTES], again[REPLY_BYTES], reply[REPLY_BYTES];
    const kz_chat_settings settings = {.max_tokens = 8, .sampling = {.top_p = 1.0f}};
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    say(f.chat, "Bonjour", reply);
    say(f.chat, "Et toi ?", first);
    say(f.chat, "Quoi ?", reply);
    assert_int_equal(kz_chat_rewind(f.chat, 4), KAZEIA_OK);
    say(f.chat, "Et toi ?", again);
    assert_string_equal(again, first);
    // The prompt's last token is computed in any case, all before it is there.
    assert_int_equal(cached(f.chat), kz_chat_statistics_of(f.chat).prompt_tokens - 1);
    assert_int_equal(kz_chat_rewind(f.chat, 5), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_chat_rewind(f.chat, 4), KAZEIA_OK);
    assert_int_equal(kz_chat_rewind(f.chat, 1), KAZEIA_BAD_ARGUMENT);
    close_fixture(&f);
}

static void given_messages_are_as_said_ones(void **state) {
    (void)state;
    fixture f;
    char said[REPLY_BYTES], given[REPLY_BYTES];
    kz_chat_settings settings = {.max_tokens = 8, .sampling = {.top_p = 1.0f}};
    settings.system = "Toi.";
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    assert_int_equal(kz_chat_append(f.chat, "user", "Bonjour", 7, NULL), KAZEIA_OK);
    assert_int_equal(kz_chat_append(f.chat, "assistant", "Salut", 5, NULL), KAZEIA_OK);
    say(f.chat, "Et toi ?", said);
    kz_chat_reset(f.chat);
    assert_int_equal(kz_chat_append(f.chat, "user", "Bonjour", 7, NULL), KAZEIA_OK);
    assert_int_equal(kz_chat_append(f.chat, "assistant", "Salut", 5, NULL), KAZEIA_OK);
    assert_int_equal(kz_chat_append(f.chat, "user", "Et toi ?", 8, NULL), KAZEIA_OK);
    // Nothing is fed: what was given last is the turn.
    assert_int_equal(kz_chat_finish(f.chat), KAZEIA_OK);
    assert_int_equal(kz_chat_append(f.chat, "user", "Non", 3, NULL), KAZEIA_BUSY);
    take_reply(f.chat, given);
    assert_string_equal(given, said);
    assert_int_equal(kz_chat_append(f.chat, "robot", "?", 1, NULL), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_chat_append(f.chat, "user", "\xff", 1, NULL), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_chat_append(f.chat, "assistant", "", 0, "{}"), KAZEIA_BAD_ARGUMENT);
    close_fixture(&f);
}

static void forks_share_the_past_and_go_on_apart(void **state) {
    (void)state;
    fixture f;
    char one[REPLY_BYTES], other[REPLY_BYTES], alone[REPLY_BYTES], reply[REPLY_BYTES];
    kz_chat_settings settings = warm(8);
    settings.branches = 3;
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    kz_cache_rows *rows = kz_session_rows(kz_chat_session(f.chat));
    say(f.chat, "Bonjour tout le monde", reply);
    const uint32_t free_rows = kz_cache_rows_free(rows);
    const uint32_t length = kz_chat_statistics_of(f.chat).context_tokens;
    assert_int_equal(kz_chat_fork(f.chat, 2), KAZEIA_OK);
    assert_int_equal(kz_cache_rows_free(rows), free_rows);
    say(f.chat, "Un", one);
    assert_int_equal(cached(f.chat), length);
    assert_int_equal(kz_chat_select(f.chat, 2), KAZEIA_OK);
    say(f.chat, "Deux", other);
    assert_int_equal(cached(f.chat), length);
    assert_int_equal(kz_chat_select(f.chat, 0), KAZEIA_OK);
    say(f.chat, "Trois", one);
    assert_int_equal(kz_chat_select(f.chat, 1), KAZEIA_OK);
    say(f.chat, "Bonjour tout le monde", reply); // the random numbers begin as the first one's
    assert_int_equal(kz_chat_fork(f.chat, 3), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_chat_select(f.chat, 3), KAZEIA_BAD_ARGUMENT);
    kz_chat_destroy(f.chat);
    // The same without the branch beside it.
    f.chat = open_chat(&f, &settings);
    say(f.chat, "Bonjour tout le monde", alone);
    assert_string_equal(alone, reply);
    say(f.chat, "Deux", alone);
    assert_string_equal(alone, other);
    close_fixture(&f);
}

// --- Files --------------------------------------------------------------------------------------

static void a_restored_conversation_goes_on_the_same(void **state) {
    (void)state;
    fixture f;
    char expected[2][REPLY_BYTES], reply[REPLY_BYTES];
    const kz_chat_settings settings = warm(12);
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    say(f.chat, "Bonjour", reply);
    say(f.chat, "Raconte", reply);
    assert_int_equal(kz_chat_save(f.chat, f.path), KAZEIA_OK);
    const uint32_t length = kz_chat_statistics_of(f.chat).context_tokens;
    say(f.chat, "Encore", expected[0]);
    say(f.chat, "Et puis ?", expected[1]);
    for (int kind = 0; kind < 2; kind++) {
        // Into the conversation that went on, then into a new one.
        assert_int_equal(kz_chat_restore(f.chat, f.path), KAZEIA_OK);
        assert_int_equal(kz_chat_statistics_of(f.chat).context_tokens, length);
        say(f.chat, "Encore", reply);
        assert_string_equal(reply, expected[0]);
        assert_int_equal(cached(f.chat), length);
        say(f.chat, "Et puis ?", reply);
        assert_string_equal(reply, expected[1]);
        kz_chat_destroy(f.chat);
        f.chat = open_chat(&f, &settings);
    }
    close_fixture(&f);
}

static uint8_t *read_all(const char *path, size_t *out_count) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *out_count = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void write_all(const char *path, const uint8_t *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void damaged_and_foreign_files_are_refused(void **state) {
    (void)state;
    fixture f;
    char reply[REPLY_BYTES], expected[REPLY_BYTES];
    size_t count = 0;
    const kz_chat_settings settings = warm(4);
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    say(f.chat, "Bonjour", reply);
    assert_int_equal(kz_chat_save(f.chat, f.path), KAZEIA_OK);
    uint8_t *bytes = read_all(f.path, &count);
    for (size_t i = 0; i < count; i += i < 400 ? 1 : 211) {
        bytes[i] ^= 0x20;
        write_all(f.path, bytes, count);
        const kazeia_status status = kz_chat_restore(f.chat, f.path);
        // The header's unused bytes say nothing.
        const bool is_unused = (i >= 12 && i < 16) || (i >= 48 && i < 64);
        assert_true(is_unused ? status == KAZEIA_OK
                              : status == KAZEIA_BAD_FILE || status == KAZEIA_UNSUPPORTED ||
                                    status == KAZEIA_BAD_ARGUMENT);
        bytes[i] ^= 0x20;
        if (i % 29 == 0) {
            write_all(f.path, bytes, i);
            assert_int_equal(kz_chat_restore(f.chat, f.path), KAZEIA_BAD_FILE);
        }
    }
    bytes[24] ^= 1; // the program's id
    write_all(f.path, bytes, count);
    assert_int_equal(kz_chat_restore(f.chat, f.path), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "program"));
    assert_int_equal(kz_chat_restore(f.chat, "no such file"), KAZEIA_NOT_FOUND);
    // All of these left the conversation as it was.
    say(f.chat, "Encore", reply);
    bytes[24] ^= 1;
    write_all(f.path, bytes, count);
    assert_int_equal(kz_chat_restore(f.chat, f.path), KAZEIA_OK);
    say(f.chat, "Encore", expected);
    assert_string_equal(reply, expected);
    free(bytes);
    close_fixture(&f);
}

// --- Room ---------------------------------------------------------------------------------------

static void old_turns_go_between_the_turns(void **state) {
    (void)state;
    fixture f;
    char reply[REPLY_BYTES], text[64];
    kz_chat_settings settings = warm(10);
    settings.overflow = KZ_CHAT_OVERFLOW_DROP;
    settings.system = "Tu es bref.";
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    const size_t calls = f.meter.calls;
    size_t drops = 0;
    uint32_t last = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "Question %d", i);
        say(f.chat, text, reply);
        const kz_chat_statistics statistics = kz_chat_statistics_of(f.chat);
        assert_int_equal(statistics.generated_tokens, 10);
        // All but the question was there: dropping has been paid for before.
        assert_true(statistics.prompt_tokens - statistics.cached_tokens <= 60);
        assert_true(statistics.room_tokens >= TINY_CONTEXT / 4 - 32);
        drops += statistics.prompt_tokens < last;
        last = statistics.prompt_tokens;
    }
    assert_true(drops > 10);
    assert_int_equal(f.meter.calls, calls);
    // The system message is still the first: the cache of a new conversation begins with it.
    assert_int_equal(kz_chat_rewind(f.chat, 2), KAZEIA_OK);
    kz_chat_destroy(f.chat);
    settings.overflow = KZ_CHAT_OVERFLOW_REFUSE;
    f.chat = open_chat(&f, &settings);
    size_t taken = 0;
    kazeia_status status = KAZEIA_DONE;
    for (int i = 0; i < 20 && status == KAZEIA_DONE; i++) {
        assert_int_equal(kz_chat_feed(f.chat, "Question", 8, &taken), KAZEIA_OK);
        assert_int_equal(kz_chat_finish(f.chat), KAZEIA_OK);
        do {
            status = kz_chat_next(f.chat, reply, 64, &taken);
        } while (status == KAZEIA_OK);
    }
    assert_int_equal(status, KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "context of 240 tokens"));
    close_fixture(&f);
}

static void a_turn_that_fills_the_context_makes_room(void **state) {
    (void)state;
    fixture f;
    char reply[REPLY_BYTES];
    kz_chat_settings settings = warm(0);
    settings.overflow = KZ_CHAT_OVERFLOW_DROP;
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    for (int i = 0; i < 5; i++) {
        say(f.chat, "Parle sans fin", reply);
        assert_int_equal(kz_chat_statistics_of(f.chat).stop, KZ_CHAT_STOP_CONTEXT);
    }
    // A cancellation between the turns costs nothing but time.
    say(f.chat, "Parle", reply);
    kz_chat_cancel(f.chat);
    kz_chat_end_turn(f.chat, SIZE_MAX);
    say(f.chat, "Parle", reply);
    close_fixture(&f);
}

// --- What is written ----------------------------------------------------------------------------

static void prompt_lookup_writes_the_same(void **state) {
    (void)state;
    fixture f;
    open_program(&f);
    uint32_t confirmed = 0;
    for (int kind = 0; kind < 2; kind++) {
        char expected[3][REPLY_BYTES], reply[REPLY_BYTES];
        kz_chat_settings settings = {
            .max_tokens = 30,
            .sampling = {.temperature = kind ? 0.3f : 0.0f, .top_p = 1.0f, .seed = 2},
            .penalties = {.repetition = 1.02f, .window = 16}};
        for (uint32_t lookup = 0; lookup <= KZ_DRAFT_LIMIT; lookup += 5) {
            settings.prompt_lookup = lookup;
            f.chat = open_chat(&f, &settings);
            const size_t calls = f.meter.calls;
            for (int turn = 0; turn < 3; turn++) {
                say(f.chat, "la la la la la la", lookup ? reply : expected[turn]);
                if (lookup) {
                    assert_string_equal(reply, expected[turn]);
                }
                const kz_chat_statistics statistics = kz_chat_statistics_of(f.chat);
                assert_true(statistics.confirmed_tokens <= statistics.drafted_tokens);
                assert_true(lookup || statistics.drafted_tokens == 0);
                confirmed += statistics.confirmed_tokens;
            }
            assert_int_equal(f.meter.calls, calls);
            kz_chat_destroy(f.chat);
        }
    }
    assert_true(confirmed > 0);
    f.chat = NULL;
    close_fixture(&f);
}

// Guesses take rows of the cache; where branches leave few, they must not take the last ones.
static void prompt_lookup_fails_no_sooner(void **state) {
    (void)state;
    fixture f;
    char expected[16][REPLY_BYTES], reply[REPLY_BYTES];
    kazeia_status ends[16];
    kz_chat_settings settings = {
        .max_tokens = 30, .branches = 2, .sampling = {.temperature = 0.3f, .top_p = 1.0f}};
    open_program(&f);
    uint32_t drafted = 0, busy = 0;
    for (int kind = 0; kind < 2; kind++) {
        settings.prompt_lookup = kind ? KZ_DRAFT_LIMIT : 0;
        f.chat = open_chat(&f, &settings);
        for (uint32_t turn = 0; turn < 16; turn++) {
            size_t length = 0, bytes = 0;
            assert_int_equal(kz_chat_select(f.chat, turn % 2), KAZEIA_OK);
            assert_int_equal(kz_chat_feed(f.chat, "la la la la", 11, &bytes), KAZEIA_OK);
            assert_int_equal(kz_chat_finish(f.chat), KAZEIA_OK);
            kazeia_status status = KAZEIA_OK;
            while (status == KAZEIA_OK && length + 64 < REPLY_BYTES) {
                status = kz_chat_next(f.chat, reply + length, 64, &bytes);
                length += bytes;
            }
            reply[length] = '\0';
            if (kind == 0) {
                ends[turn] = status;
                memcpy(expected[turn], reply, length + 1);
                busy += status == KAZEIA_BUSY;
            }
            assert_int_equal(status, ends[turn]);
            assert_string_equal(reply, expected[turn]);
            drafted += kz_chat_statistics_of(f.chat).drafted_tokens;
        }
        kz_chat_destroy(f.chat);
    }
    assert_true(drafted > 0 && busy > 0);
    f.chat = NULL;
    close_fixture(&f);
}

static void stop_strings_end_a_reply_before_them(void **state) {
    (void)state;
    fixture f;
    char whole[REPLY_BYTES], reply[REPLY_BYTES];
    kz_chat_settings settings = warm(40);
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    say(f.chat, "Bonjour", whole);
    kz_chat_destroy(f.chat);
    // Of random bytes: any stretch in the middle that is made of ASCII and begins there.
    size_t at = 8;
    while (whole[at] != '\0' && !(whole[at] > ' ' && whole[at + 1] > ' ')) {
        at++;
    }
    assert_true(whole[at] != '\0');
    const char stop[] = {whole[at], whole[at + 1], '\0'};
    const char *const stops[] = {"no such thing", stop};
    settings.stops = stops;
    settings.stop_count = 2;
    f.chat = open_chat(&f, &settings);
    say(f.chat, "Bonjour", reply);
    const char *first = strstr(whole, stop);
    assert_int_equal(strlen(reply), first - whole);
    assert_memory_equal(reply, whole, first - whole);
    assert_int_equal(kz_chat_statistics_of(f.chat).stop, KZ_CHAT_STOP_STRING);
    close_fixture(&f);
}

static void biases_and_penalties_reach_the_choice(void **state) {
    (void)state;
    fixture f;
    char reply[REPLY_BYTES];
    const kz_bias bias = {'x', 1000.0f};
    kz_chat_settings settings = {.max_tokens = 6, .sampling = {.top_p = 1.0f}};
    settings.penalties = (kz_penalties){.biases = &bias, .bias_count = 1};
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    say(f.chat, "Bonjour", reply);
    assert_string_equal(reply, "xxxxxx");
    kz_chat_destroy(f.chat);
    settings.penalties.presence = 2000.0f;
    f.chat = open_chat(&f, &settings);
    say(f.chat, "Bonjour", reply);
    assert_true(reply[0] == 'x' && strchr(reply + 1, 'x') == NULL);
    kz_chat_destroy(f.chat);
    const kz_bias wrong = {TINY_VOCABULARY, 1.0f};
    settings.penalties.biases = &wrong;
    f.chat = NULL;
    assert_int_equal(kz_chat_create(f.program, f.pool, &settings, &f.memory, &f.chat),
                     KAZEIA_BAD_ARGUMENT);
    close_fixture(&f);
}

static void require_part(const kz_chat *chat, kz_message_part part, const char *expected) {
    size_t bytes = 0;
    const char *text = kz_chat_reply_part(chat, part, &bytes);
    assert_int_equal(bytes, strlen(expected));
    assert_true(bytes == 0 || memcmp(text, expected, bytes) == 0);
}

// A grammar makes the random model say what is wanted.
static void thoughts_and_calls_are_not_spoken(void **state) {
    (void)state;
    fixture f;
    char reply[REPLY_BYTES];
    const int64_t stops[] = {TINY_END};
    kz_chat_settings settings = warm(0);
    settings.grammar = "root ::= \"<think>\\nHm.\\n</think>\\n\\nOui.\" "
                       "\"<call>\\n{\\\"name\\\": \\\"f\\\"}\\n</call><call>{}</call>\"\n";
    open_program(&f);
    tiny_chat_clear(&f.tiny);
    kz_program_release(f.program);
    tiny_chat_init(&f.tiny, "Sois bref.", true, stops, 1);
    assert_int_equal(
        kz_program_open_memory(f.tiny.llama.bytes, f.tiny.llama.count, NULL, &f.program),
        KAZEIA_OK);
    f.chat = open_chat(&f, &settings);
    for (int turn = 0; turn < 2; turn++) {
        say(f.chat, "Quoi ?", reply);
        assert_string_equal(reply, "Oui.");
        require_part(f.chat, KZ_PART_TEXT, "Oui.");
        require_part(f.chat, KZ_PART_REASONING, "Hm.\n");
        require_part(f.chat, KZ_PART_CALLS, "[{\"name\": \"f\"},{}]");
        assert_int_equal(kz_chat_statistics_of(f.chat).stop, KZ_CHAT_STOP_TOKEN);
        kz_chat_reset(f.chat);
    }
    // What was heard is all that is kept.
    say(f.chat, "Quoi ?", reply);
    kz_chat_end_turn(f.chat, 2);
    require_part(f.chat, KZ_PART_TEXT, "Ou");
    require_part(f.chat, KZ_PART_REASONING, "");
    require_part(f.chat, KZ_PART_CALLS, "");
    close_fixture(&f);
}

static void ids_are_a_raw_prompt(void **state) {
    (void)state;
    fixture f;
    char reply[REPLY_BYTES], again[REPLY_BYTES];
    const int32_t ids[] = {'a', 'b', 'c', 260, 'd'};
    const int32_t wrong[] = {'a', TINY_VOCABULARY};
    size_t taken = 0;
    const kz_chat_settings settings = {
        .is_raw = true, .max_tokens = 5, .sampling = {.top_p = 1.0f}};
    open_program(&f);
    f.chat = open_chat(&f, &settings);
    assert_int_equal(kz_chat_feed_ids(f.chat, ids, 3), KAZEIA_OK);
    assert_int_equal(kz_chat_feed_ids(f.chat, ids + 3, 2), KAZEIA_OK);
    assert_int_equal(kz_chat_feed(f.chat, "x", 1, &taken), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_chat_finish(f.chat), KAZEIA_OK);
    take_reply(f.chat, reply);
    assert_int_equal(kz_chat_statistics_of(f.chat).prompt_tokens, 5);
    say(f.chat, "abcstd", again); // "st" is token 260 - but for the merges the same text
    assert_int_equal(kz_chat_feed_ids(f.chat, wrong, 2), KAZEIA_OK);
    assert_int_equal(kz_chat_finish(f.chat), KAZEIA_OK);
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        status = kz_chat_next(f.chat, reply, sizeof reply, &taken);
    }
    assert_int_equal(status, KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_chat_feed_ids(f.chat, ids, 5), KAZEIA_OK);
    assert_int_equal(kz_chat_finish(f.chat), KAZEIA_OK);
    take_reply(f.chat, again);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rewind_takes_messages_back),
        cmocka_unit_test(given_messages_are_as_said_ones),
        cmocka_unit_test(forks_share_the_past_and_go_on_apart),
        cmocka_unit_test(a_restored_conversation_goes_on_the_same),
        cmocka_unit_test(damaged_and_foreign_files_are_refused),
        cmocka_unit_test(old_turns_go_between_the_turns),
        cmocka_unit_test(a_turn_that_fills_the_context_makes_room),
        cmocka_unit_test(prompt_lookup_writes_the_same),
        cmocka_unit_test(prompt_lookup_fails_no_sooner),
        cmocka_unit_test(stop_strings_end_a_reply_before_them),
        cmocka_unit_test(biases_and_penalties_reach_the_choice),
        cmocka_unit_test(thoughts_and_calls_are_not_spoken),
        cmocka_unit_test(ids_are_a_raw_prompt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
