// test_chat.c: the think stage over a tiny program: turns, reuse of the cache, stops, cancelling,
// memory.
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

#include "../metered_allocator.h"
#include "base/thread.h"
#include "llm/chat.h"
#include "llm/measure.h"
#include "text/utf8.h"
#include "tiny_chat.h"

typedef struct fixture {
    tiny_chat tiny;
    kz_program *program;
    kz_pool *pool;
    metered_allocator meter;
    kazeia_allocator memory;
    kz_chat *chat;
} fixture;

static void open_program(fixture *f, bool has_prefill, const int64_t *stops, size_t stop_count) {
    memset(f, 0, sizeof *f);
    tiny_chat_init(&f->tiny, "Sois bref.", has_prefill, stops, stop_count);
    f->meter.calls_allowed = SIZE_MAX;
    f->memory = (kazeia_allocator){&f->meter, allocate_metered, release_metered};
    assert_int_equal(
        kz_program_open_memory(f->tiny.llama.bytes, f->tiny.llama.count, NULL, &f->program),
        KAZEIA_OK);
    assert_int_equal(kz_pool_create(2, NULL, &f->pool), KAZEIA_OK);
}

static kz_chat_settings greedy(uint32_t max_tokens) {
    return (kz_chat_settings){.max_tokens = max_tokens, .sampling = {.top_p = 1.0f}};
}

static void open_chat(fixture *f, const kz_chat_settings *settings) {
    if (kz_chat_create(f->program, f->pool, settings, &f->memory, &f->chat) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
}

static void close_fixture(fixture *f) {
    kz_chat_destroy(f->chat);
    assert_int_equal(f->meter.live, 0);
    kz_pool_destroy(f->pool);
    kz_program_release(f->program);
    tiny_chat_clear(&f->tiny);
}

// One turn; the reply as text with a NUL. `capacity` bytes are taken at a time.
static kazeia_status say(kz_chat *chat, const char *text, size_t capacity, char *out_reply) {
    size_t taken = 0, length = 0;
    assert_int_equal(kz_chat_feed(chat, text, strlen(text), &taken), KAZEIA_OK);
    assert_int_equal(taken, strlen(text));
    assert_int_equal(kz_chat_finish(chat), KAZEIA_OK);
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        size_t bytes = 0;
        status = kz_chat_next(chat, out_reply + length, capacity, &bytes);
        for (size_t i = length; i < length + bytes;) {
            const kz_utf8_char character = kz_utf8_read(out_reply + i, length + bytes - i);
            assert_true(character.is_valid);
            i += character.length;
        }
        length += bytes;
    }
    out_reply[length] = '\0';
    return status;
}

// --- The reply is the model's -------------------------------------------------------------------

// What the model writes greedily after `ids`, from a session of its own.
static size_t write_plainly(fixture *f, uint32_t *ids, size_t count, size_t most) {
    const kz_session_settings settings = kz_chat_session_settings();
    kz_session *session = NULL;
    assert_int_equal(kz_session_create(f->program, f->pool, &settings, NULL, &session), KAZEIA_OK);
    assert_int_equal(kz_session_extend(session, 0, (const int32_t *)ids, count), KAZEIA_OK);
    size_t written = 0;
    while (written < most) {
        float *logits = NULL;
        assert_int_equal(kz_session_last_logits(session, &logits), KAZEIA_OK);
        const int32_t token = kz_logits_best(logits, TINY_VOCABULARY);
        ids[count + written++] = (uint32_t)token;
        assert_int_equal(kz_session_extend(session, 0, &token, 1), KAZEIA_OK);
    }
    kz_session_destroy(session);
    return written;
}

static size_t spell_prompt(fixture *f, const char *text, uint32_t *out_ids) {
    kz_tokenizer *tokenizer = NULL;
    size_t count = 0;
    assert_int_equal(
        kz_tokenizer_open(&kz_program_describe(f->program)->tokenizer, NULL, NULL, &tokenizer),
        KAZEIA_OK);
    assert_int_equal(kz_tokenizer_encode(tokenizer, text, strlen(text), KZ_ENCODE_PARSE_SPECIAL,
                                         out_ids, TINY_CONTEXT, &count),
                     KAZEIA_OK);
    kz_tokenizer_close(tokenizer);
    return count;
}

static void check_turns(bool has_prefill) {
    fixture f;
    uint32_t ids[2 * TINY_CONTEXT];
    char reply[1024];
    size_t count = 0;
    const kz_chat_settings settings = greedy(8);
    open_program(&f, has_prefill, NULL, 0);
    open_chat(&f, &settings);
    const size_t calls = f.meter.calls;
    assert_int_equal(say(f.chat, "Bonjour !", sizeof reply, reply), KAZEIA_DONE);
    const size_t first = spell_prompt(&f,
                                      "<|im_start|>system\nSois bref.<|im_end|>\n<|im_start|>user\n"
                                      "Bonjour !<|im_end|>\n<|im_start|>assistant\n",
                                      ids);
    write_plainly(&f, ids, first, 8);
    const uint32_t *found = kz_chat_reply_ids(f.chat, &count);
    assert_int_equal(count, 8);
    assert_memory_equal(found, ids + first, 8 * sizeof *ids);
    kz_chat_statistics statistics = kz_chat_statistics_of(f.chat);
    assert_int_equal(statistics.prompt_tokens, first);
    assert_int_equal(statistics.cached_tokens, 0);
    assert_int_equal(statistics.generated_tokens, 8);
    assert_int_equal(statistics.stop, KZ_CHAT_STOP_LENGTH);
    assert_true(statistics.ttft_ms > 0.0 && statistics.prefill_tokens_per_s > 0.0 &&
                statistics.decode_tokens_per_s > 0.0);

    assert_int_equal(say(f.chat, "Et toi ?", 4, reply), KAZEIA_DONE);
    const size_t before = first + 8;
    const size_t second = before + spell_prompt(&f,
                                                "<|im_end|>\n<|im_start|>user\nEt toi ?<|im_end|>\n"
                                                "<|im_start|>assistant\n",
                                                ids + before);
    write_plainly(&f, ids, second, 8);
    found = kz_chat_reply_ids(f.chat, &count);
    assert_int_equal(count, 8);
    assert_memory_equal(found, ids + second, 8 * sizeof *ids);
    statistics = kz_chat_statistics_of(f.chat);
    assert_int_equal(statistics.prompt_tokens, second);
    // The last token of a reply was handed out, not computed.
    assert_int_equal(statistics.cached_tokens, before - 1);
    assert_int_equal(f.meter.calls, calls);
    close_fixture(&f);
}

static void turns_are_the_models_and_reuse_the_cache(void **state) {
    (void)state;
    check_turns(true);
    check_turns(false);
}

// The last place whose id does not stand before it.
static size_t find_new(const uint32_t *ids, size_t count) {
    size_t found = 0;
    for (size_t i = 1; i < count; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i; j++) {
            is_new = is_new && ids[j] != ids[i];
        }
        found = is_new ? i : found;
    }
    assert_true(found > 0);
    return found;
}

static void stop_tokens_end_a_reply(void **state) {
    (void)state;
    fixture f;
    uint32_t ids[TINY_CONTEXT];
    char reply[1024];
    size_t count = 0;
    const kz_chat_settings settings = greedy(0);
    const char *prompt =
        "<|im_start|>system\nSois bref.<|im_end|>\n<|im_start|>user\nOui.<|im_end|>"
        "\n<|im_start|>assistant\n";
    open_program(&f, true, NULL, 0);
    const size_t prompt_count = spell_prompt(&f, prompt, ids);
    write_plainly(&f, ids, prompt_count, 12);
    close_fixture(&f);
    const size_t expected = find_new(ids + prompt_count, 12);
    const int64_t stop = ids[prompt_count + expected];
    open_program(&f, true, &stop, 1);
    open_chat(&f, &settings);
    assert_int_equal(say(f.chat, "Oui.", sizeof reply, reply), KAZEIA_DONE);
    const uint32_t *found = kz_chat_reply_ids(f.chat, &count);
    assert_int_equal(count, expected);
    assert_memory_equal(found, ids + prompt_count, expected * sizeof *ids);
    assert_int_equal(kz_chat_statistics_of(f.chat).stop, KZ_CHAT_STOP_TOKEN);
    close_fixture(&f);
}

static void a_reply_fills_the_context_and_no_more(void **state) {
    (void)state;
    fixture f;
    static char reply[8192];
    const kz_chat_settings settings = greedy(0);
    open_program(&f, true, NULL, 0);
    open_chat(&f, &settings);
    assert_int_equal(say(f.chat, "Raconte.", sizeof reply / 8, reply), KAZEIA_DONE);
    kz_chat_statistics statistics = kz_chat_statistics_of(f.chat);
    assert_int_equal(statistics.stop, KZ_CHAT_STOP_CONTEXT);
    // The last token needs no place: it is never computed.
    assert_int_equal(statistics.prompt_tokens + statistics.generated_tokens, TINY_CONTEXT + 1);
    // Now nothing fits; the conversation stays as it was.
    assert_int_equal(say(f.chat, "Encore.", sizeof reply / 8, reply), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "context of 240 tokens"));
    kz_chat_end_turn(f.chat, 3); // of the turn that was refused: the reply before it stays
    assert_int_equal(say(f.chat, "Encore.", sizeof reply / 8, reply), KAZEIA_BAD_ARGUMENT);
    kz_chat_reset(f.chat);
    assert_int_equal(say(f.chat, "Raconte.", sizeof reply / 8, reply), KAZEIA_DONE);
    kz_chat_end_turn(f.chat, 3);
    assert_int_equal(say(f.chat, "Encore.", sizeof reply / 8, reply), KAZEIA_DONE);
    assert_true(kz_chat_statistics_of(f.chat).cached_tokens >= statistics.prompt_tokens);
    close_fixture(&f);
}

static void what_was_not_heard_is_forgotten(void **state) {
    (void)state;
    fixture f;
    uint32_t ids[TINY_CONTEXT];
    char reply[1024], again[1024], prompt[1024];
    size_t count = 0;
    const kz_chat_settings settings = greedy(10);
    open_program(&f, true, NULL, 0);
    open_chat(&f, &settings);
    kz_chat_end_turn(f.chat, 0); // there is none
    assert_int_equal(say(f.chat, "Un.", sizeof reply, reply), KAZEIA_DONE);
    size_t heard = strlen(reply) / 2;
    kz_chat_end_turn(f.chat, heard);
    while (((uint8_t)reply[heard] & 0xc0) == 0x80) {
        heard--;
    }
    assert_int_equal(say(f.chat, "Deux.", sizeof again, again), KAZEIA_DONE);
    snprintf(prompt, sizeof prompt,
             "<|im_start|>system\nSois bref.<|im_end|>\n<|im_start|>user\nUn.<|im_end|>\n"
             "<|im_start|>assistant\n%.*s<|im_end|>\n<|im_start|>user\nDeux.<|im_end|>\n"
             "<|im_start|>assistant\n",
             (int)heard, reply);
    const size_t prompt_count = spell_prompt(&f, prompt, ids);
    write_plainly(&f, ids, prompt_count, 10);
    const uint32_t *found = kz_chat_reply_ids(f.chat, &count);
    assert_int_equal(kz_chat_statistics_of(f.chat).prompt_tokens, prompt_count);
    assert_memory_equal(found, ids + prompt_count, count * sizeof *ids);
    close_fixture(&f);
}

// --- Order of calls, cancelling -----------------------------------------------------------------

static void calls_out_of_order_are_answered(void **state) {
    (void)state;
    fixture f;
    char reply[64];
    size_t bytes = 1, taken = 1;
    const kz_chat_settings settings = greedy(2);
    open_program(&f, true, NULL, 0);
    open_chat(&f, &settings);
    assert_int_equal(kz_chat_next(f.chat, reply, sizeof reply, &bytes), KAZEIA_NEEDS_INPUT);
    assert_int_equal(kz_chat_next(f.chat, reply, 3, &bytes), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_chat_feed(f.chat, "a", 1, &taken), KAZEIA_OK);
    assert_int_equal(kz_chat_next(f.chat, reply, sizeof reply, &bytes), KAZEIA_NEEDS_INPUT);
    assert_int_equal(kz_chat_finish(f.chat), KAZEIA_OK);
    assert_int_equal(kz_chat_finish(f.chat), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_chat_feed(f.chat, "b", 1, &taken), KAZEIA_OK);
    assert_int_equal(taken, 0);
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        status = kz_chat_next(f.chat, reply, sizeof reply, &bytes);
    }
    assert_int_equal(status, KAZEIA_DONE);
    assert_int_equal(kz_chat_next(f.chat, reply, sizeof reply, &bytes), KAZEIA_DONE);
    close_fixture(&f);
}

static void turns_too_long_are_refused_at_once(void **state) {
    (void)state;
    fixture f;
    static char text[TINY_CONTEXT * 20];
    char reply[1024];
    size_t taken = 0;
    const kz_chat_settings settings = greedy(2);
    memset(text, 'a', sizeof text - 1);
    open_program(&f, true, NULL, 0);
    open_chat(&f, &settings);
    assert_int_equal(kz_chat_feed(f.chat, text, sizeof text - 1, &taken), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(taken, 0);
    text[300] = '\0'; // fits the buffer, not the context
    assert_int_equal(say(f.chat, text, sizeof reply, reply), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_session_length(kz_chat_session(f.chat), 0), 0);
    assert_int_equal(say(f.chat, "a", sizeof reply, reply), KAZEIA_DONE);
    close_fixture(&f);
}

typedef struct canceller {
    kz_chat *chat;
    atomic_bool is_running;
    atomic_bool is_cancelled;
} canceller;

static void cancel_soon(void *context) {
    canceller *job = context;
    while (!atomic_load(&job->is_running)) {
        kz_thread_pause();
    }
    kz_chat_cancel(job->chat);
    atomic_store(&job->is_cancelled, true);
}

// Cancels when `steps` calls of next have come back.
static void check_cancel(fixture *f, int steps) {
    char reply[512];
    size_t taken = 0, bytes = 0;
    canceller job = {.chat = f->chat};
    kz_thread thread = {.is_running = false};
    assert_int_equal(kz_thread_start(&thread, cancel_soon, &job), KAZEIA_OK);
    assert_int_equal(kz_chat_feed(f->chat, "Bonjour", 7, &taken), KAZEIA_OK);
    assert_int_equal(kz_chat_finish(f->chat), KAZEIA_OK);
    kazeia_status status = KAZEIA_OK;
    for (int i = 0; status == KAZEIA_OK || status == KAZEIA_DONE; i++) {
        atomic_store(&job.is_running, i >= steps);
        const bool was_cancelled = atomic_load(&job.is_cancelled);
        status = kz_chat_next(f->chat, reply, sizeof reply, &bytes);
        assert_false(was_cancelled && status != KAZEIA_CANCELLED);
    }
    assert_int_equal(status, KAZEIA_CANCELLED);
    kz_thread_join(&thread);
    assert_int_equal(kz_chat_statistics_of(f->chat).stop, KZ_CHAT_STOP_CANCEL);
    assert_int_equal(kz_chat_next(f->chat, reply, sizeof reply, &bytes), KAZEIA_CANCELLED);
}

static void cancelling_ends_a_reply_and_reset_begins_anew(void **state) {
    (void)state;
    fixture f;
    char expected[1024], reply[1024];
    kz_chat_settings settings = greedy(20);
    settings.sampling.temperature = 1.0f;
    settings.sampling.seed = 4;
    open_program(&f, true, NULL, 0);
    open_chat(&f, &settings);
    assert_int_equal(say(f.chat, "Salut", sizeof expected, expected), KAZEIA_DONE);
    const size_t calls = f.meter.calls;
    for (int steps = 0; steps < 8; steps++) {
        check_cancel(&f, steps);
        kz_chat_reset(f.chat);
        assert_int_equal(say(f.chat, "Salut", sizeof reply, reply), KAZEIA_DONE);
        assert_string_equal(reply, expected);
    }
    check_cancel(&f, 5);
    kz_chat_end_turn(f.chat, 2);
    assert_int_equal(say(f.chat, "Salut", sizeof reply, reply), KAZEIA_DONE);
    assert_int_equal(f.meter.calls, calls);
    close_fixture(&f);
}

// Cancels after `steps` calls of next and ends the turn; the bytes that had been written.
static size_t break_off(kz_chat *chat, int steps, size_t heard) {
    char piece[64];
    size_t taken = 0, bytes = 0, written = 0;
    assert_int_equal(kz_chat_feed(chat, "Bonjour", 7, &taken), KAZEIA_OK);
    assert_int_equal(kz_chat_finish(chat), KAZEIA_OK);
    for (int i = 0; i < steps; i++) {
        assert_int_equal(kz_chat_next(chat, piece, sizeof piece, &bytes), KAZEIA_OK);
        written += bytes;
    }
    kz_chat_cancel(chat);
    assert_int_equal(kz_chat_next(chat, piece, sizeof piece, &bytes), KAZEIA_CANCELLED);
    kz_chat_end_turn(chat, heard);
    return written;
}

static void a_turn_may_be_ended_at_any_moment(void **state) {
    (void)state;
    fixture f;
    char expected[1024], reply[1024];
    const kz_chat_settings settings = greedy(20);
    open_program(&f, true, NULL, 0);
    open_chat(&f, &settings);
    assert_int_equal(say(f.chat, "Salut", sizeof expected, expected), KAZEIA_DONE);
    const uint32_t alone = kz_chat_statistics_of(f.chat).prompt_tokens;
    for (int steps = 0; steps < 12; steps++) {
        kz_chat_reset(f.chat);
        const size_t written = break_off(f.chat, steps, SIZE_MAX);
        kz_chat_cancel(f.chat);
        kz_chat_end_turn(f.chat, 0); // of no turn: ends the cancellation alone
        assert_int_equal(say(f.chat, "Salut", sizeof reply, reply), KAZEIA_DONE);
        if (written == 0) { // the turn never was
            assert_int_equal(kz_chat_statistics_of(f.chat).prompt_tokens, alone);
            assert_string_equal(reply, expected);
        } else {
            assert_true(kz_chat_statistics_of(f.chat).prompt_tokens > alone + 7);
        }
    }
    close_fixture(&f);
}

// --- Creation -----------------------------------------------------------------------------------

static void failing_allocations_leave_nothing_behind(void **state) {
    (void)state;
    fixture f;
    open_program(&f, true, NULL, 0);
    kz_chat_settings settings = greedy(2);
    settings.system = "Réponds en français.";
    settings.sampling.temperature = 1.0f;
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    for (size_t allowed = 0; status != KAZEIA_OK; allowed++) {
        f.meter.calls = 0;
        f.meter.calls_allowed = allowed;
        status = kz_chat_create(f.program, f.pool, &settings, &f.memory, &f.chat);
        assert_true(status == KAZEIA_OK || status == KAZEIA_OUT_OF_MEMORY);
        assert_true(status == KAZEIA_OK || f.meter.live == 0);
    }
    close_fixture(&f);
}

static void raw_prompts_have_no_template_and_no_history(void **state) {
    (void)state;
    fixture f;
    uint32_t ids[TINY_CONTEXT];
    char reply[1024];
    size_t count = 0;
    kz_chat_settings settings = greedy(6);
    settings.is_raw = true;
    open_program(&f, true, NULL, 0);
    open_chat(&f, &settings);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(say(f.chat, "Il pleut<|im_end|>", sizeof reply, reply), KAZEIA_DONE);
        const size_t prompt_count = spell_prompt(&f, "Il pleut<|im_end|>", ids);
        write_plainly(&f, ids, prompt_count, 6);
        const uint32_t *found = kz_chat_reply_ids(f.chat, &count);
        assert_int_equal(count, 6);
        assert_memory_equal(found, ids + prompt_count, 6 * sizeof *ids);
        assert_int_equal(kz_chat_statistics_of(f.chat).prompt_tokens, prompt_count);
    }
    assert_int_equal(say(f.chat, "", sizeof reply, reply), KAZEIA_BAD_ARGUMENT);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_the_models_and_reuse_the_cache),
        cmocka_unit_test(stop_tokens_end_a_reply),
        cmocka_unit_test(a_reply_fills_the_context_and_no_more),
        cmocka_unit_test(what_was_not_heard_is_forgotten),
        cmocka_unit_test(calls_out_of_order_are_answered),
        cmocka_unit_test(turns_too_long_are_refused_at_once),
        cmocka_unit_test(cancelling_ends_a_reply_and_reset_begins_anew),
        cmocka_unit_test(a_turn_may_be_ended_at_any_moment),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
        cmocka_unit_test(raw_prompts_have_no_template_and_no_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
