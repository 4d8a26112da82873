// test_api.c: the public interface over a tiny program in a file: describing, tokenising, a chat
// stage, and measurements against the reference.
//
// in:  a tiny program made here, written to a temporary file
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kazeia/chat.h"
#include "kazeia/text.h"
#include "tiny_chat.h"

#define CHUNK 32u
#define TEXT "Il etait une fois un petit robot sans nom, assis au bord du temps, et qui pensait."

static tiny_chat tiny;
static char path[64];
static kazeia_runtime *runtime;
static kazeia_program *program;

static int open_all(void **state) {
    (void)state;
    static const int64_t stops[] = {TINY_END};
    tiny_chat_init(&tiny, "Sois bref.", true, stops, 1);
    snprintf(path, sizeof path, "/tmp/kazeia-api-XXXXXX");
    const int file = mkstemp(path);
    if (file < 0 || write(file, tiny.llama.bytes, tiny.llama.count) != (ssize_t)tiny.llama.count) {
        return -1;
    }
    close(file);
    kazeia_runtime_settings settings = kazeia_runtime_settings_default();
    settings.thread_count = 2;
    return kazeia_runtime_create(&settings, &runtime) != KAZEIA_OK ||
           kazeia_program_open(path, NULL, &program) != KAZEIA_OK;
}

static int close_all(void **state) {
    (void)state;
    kazeia_program_close(program);
    kazeia_runtime_destroy(runtime);
    unlink(path);
    tiny_chat_clear(&tiny);
    return 0;
}

static kazeia_stage *open_chat(void) {
    kazeia_stage *chat = NULL;
    kazeia_chat_settings settings = kazeia_chat_settings_default();
    settings.max_tokens = 5;
    if (kazeia_chat_create(runtime, program, &settings, &chat) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    return chat;
}

// --- Programs -----------------------------------------------------------------------------------

static kazeia_status collect(void *context, const char *text, size_t bytes) {
    json_error_t error;
    *(json_t **)context = json_loadb(text, bytes, 0, &error);
    return KAZEIA_OK;
}

static json_int_t integer_at(json_t *object, const char *first, const char *second) {
    return json_integer_value(json_object_get(json_object_get(object, first), second));
}

static void a_program_describes_itself(void **state) {
    (void)state;
    json_t *json = NULL;
    assert_int_equal(kazeia_program_describe(program, collect, &json), KAZEIA_OK);
    assert_non_null(json);
    assert_int_equal(json_integer_value(json_object_get(json, "format_version")), 3);
    assert_int_equal(json_string_length(json_object_get(json, "id")), 16);
    assert_int_equal(integer_at(json, "metadata", "model.context"), TINY_CONTEXT);
    json_t *methods = json_object_get(json, "methods");
    assert_int_equal(json_array_size(methods), 3);
    json_t *prefill = json_array_get(methods, 0);
    assert_string_equal(json_string_value(json_object_get(prefill, "name")), "prefill_forward");
    assert_int_equal(json_array_size(json_object_get(prefill, "inputs")), 4);
    assert_int_equal(json_array_size(json_object_get(prefill, "outputs")), 1);
    json_t *embed = json_array_get(json_object_get(prefill, "instructions"), 0);
    assert_string_equal(json_string_value(json_object_get(embed, "op")), "embed");
    assert_string_equal(json_string_value(json_array_get(json_object_get(embed, "operands"), 1)),
                        "embedding");
    json_t *key = json_array_get(json_object_get(json, "states"), 0);
    assert_string_equal(json_string_value(json_object_get(key, "name")), "key.0");
    assert_int_equal(json_integer_value(json_object_get(key, "bytes")),
                     TINY_CONTEXT * 2 * 16 * (int)sizeof(float));
    json_t *tensor = json_array_get(json_object_get(json, "tensors"), 0);
    assert_string_equal(json_string_value(json_object_get(tensor, "format")), "f32");
    assert_true(json_number_value(json_object_get(tensor, "bits_per_weight")) == 32.0);
    const json_int_t session = integer_at(json, "memory", "arena") +
                               integer_at(json, "memory", "states") +
                               integer_at(json, "memory", "work");
    assert_int_equal(session, kazeia_program_session_bytes(program));
    assert_true(integer_at(json, "memory", "weights") > 0);
    json_decref(json);
    assert_int_equal(kazeia_program_verify(program), KAZEIA_OK);
    assert_string_equal(kazeia_program_ability(program), "chat");
}

static void what_is_no_program_is_refused(void **state) {
    (void)state;
    kazeia_program *opened = NULL;
    assert_int_equal(kazeia_program_open("tests/golden/chat/README.md", NULL, &opened),
                     KAZEIA_BAD_FILE);
    assert_int_equal(kazeia_program_open("tests/golden/chat/nothing.kzp", NULL, &opened),
                     KAZEIA_NOT_FOUND);
    assert_int_equal(kazeia_program_open(NULL, NULL, &opened), KAZEIA_BAD_ARGUMENT);
}

static void a_session_over_the_limit_is_refused(void **state) {
    (void)state;
    kazeia_runtime *small = NULL;
    kazeia_stage *chat = NULL;
    kazeia_runtime_settings settings = kazeia_runtime_settings_default();
    settings.thread_count = 1;
    settings.session_memory_limit = kazeia_program_session_bytes(program) - 1;
    assert_int_equal(kazeia_runtime_create(&settings, &small), KAZEIA_OK);
    uint32_t threads = 0;
    assert_non_null(kazeia_runtime_kernel(small, &threads));
    assert_int_equal(threads, 1);
    assert_int_equal(kazeia_chat_create(small, program, NULL, &chat), KAZEIA_OUT_OF_MEMORY);
    kazeia_runtime_destroy(small);
}

// --- Tokens and the stage -----------------------------------------------------------------------

static void text_and_tokens_are_inverse(void **state) {
    (void)state;
    kazeia_tokenizer *tokenizer = NULL;
    const int32_t *ids = NULL;
    const char *text = NULL;
    size_t count = 0, bytes = 0;
    assert_int_equal(kazeia_tokenizer_create(program, NULL, &tokenizer), KAZEIA_OK);
    assert_int_equal(kazeia_tokenizer_encode(tokenizer, "us<|im_end|>", 12, true, &ids, &count),
                     KAZEIA_OK);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 256);
    assert_int_equal(ids[1], TINY_END);
    const int32_t again[] = {256, TINY_END};
    assert_int_equal(kazeia_tokenizer_decode(tokenizer, again, 2, &text, &bytes), KAZEIA_OK);
    assert_string_equal(text, "us<|im_end|>");
    assert_int_equal(kazeia_tokenizer_encode(tokenizer, "us<|im_end|>", 12, false, &ids, &count),
                     KAZEIA_OK);
    assert_int_equal(count, 11);
    const int32_t wrong[] = {TINY_VOCABULARY};
    assert_int_equal(kazeia_tokenizer_decode(tokenizer, wrong, 1, &text, &bytes),
                     KAZEIA_BAD_ARGUMENT);
    // Longer than the room at first.
    static char longer[600000];
    memset(longer, 'a', sizeof longer);
    assert_int_equal(kazeia_tokenizer_encode(tokenizer, longer, sizeof longer, false, &ids, &count),
                     KAZEIA_OK);
    assert_int_equal(count, sizeof longer);
    kazeia_tokenizer_destroy(tokenizer);
}

static void a_stage_answers(void **state) {
    (void)state;
    kazeia_stage *chat = open_chat();
    char reply[256];
    size_t taken = 0, bytes = 0, length = 0, count = 0;
    kazeia_status status = KAZEIA_OK;
    assert_int_equal(kazeia_stage_feed(chat, "Salut", 5, &taken), KAZEIA_OK);
    assert_int_equal(taken, 5);
    assert_int_equal(kazeia_stage_finish(chat), KAZEIA_OK);
    while (status == KAZEIA_OK) {
        status = kazeia_stage_next(chat, reply + length, sizeof reply - length, &bytes);
        length += bytes;
    }
    assert_int_equal(status, KAZEIA_DONE);
    const kazeia_chat_statistics statistics = kazeia_chat_statistics_of(chat);
    assert_non_null(kazeia_chat_tokens_of(chat, &count));
    assert_int_equal(count, statistics.generated_tokens);
    assert_int_equal(count, 5);
    assert_string_equal(kazeia_stop_reason_name(statistics.stop_reason), "length");
    assert_int_equal(kazeia_chat_end_turn(chat, 1), KAZEIA_OK);
    kazeia_stage_cancel(chat);
    assert_int_equal(kazeia_stage_next(chat, reply, sizeof reply, &bytes), KAZEIA_CANCELLED);
    assert_int_equal(kazeia_stage_reset(chat), KAZEIA_OK);
    assert_int_equal(kazeia_stage_next(chat, reply, sizeof reply, &bytes), KAZEIA_NEEDS_INPUT);
    assert_int_equal(kazeia_stage_next(NULL, reply, sizeof reply, &bytes), KAZEIA_BAD_ARGUMENT);
    kazeia_stage_destroy(chat);
}

static void drain(kazeia_stage *chat) {
    char reply[64];
    size_t bytes = 0;
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        status = kazeia_stage_next(chat, reply, sizeof reply, &bytes);
    }
    assert_int_equal(status, KAZEIA_DONE);
}

static void a_conversation_has_a_life(void **state) {
    (void)state;
    kazeia_stage *chat = open_chat();
    char saved[64], answer[256];
    size_t bytes = 0;
    snprintf(saved, sizeof saved, "%s/kazeia_life_%d", P_tmpdir, (int)getpid());
    assert_int_equal(kazeia_chat_append(chat, "user", "Salut", 5, NULL), KAZEIA_OK);
    assert_int_equal(kazeia_stage_finish(chat), KAZEIA_OK);
    assert_int_equal(kazeia_chat_save(chat, saved), KAZEIA_BUSY);
    drain(chat);
    const char *part = kazeia_chat_part_of(chat, KAZEIA_PART_ANSWER, &bytes);
    assert_true(part && bytes > 0 && bytes < sizeof answer);
    memcpy(answer, part, bytes);
    const size_t answer_bytes = bytes;
    assert_null(kazeia_chat_part_of(chat, KAZEIA_PART_THINKING, &bytes));
    assert_int_equal(bytes, 0);
    assert_null(kazeia_chat_part_of(chat, (kazeia_reply_part)3, &bytes));
    const kazeia_chat_statistics statistics = kazeia_chat_statistics_of(chat);
    assert_int_equal(statistics.context_tokens + statistics.room_tokens, TINY_CONTEXT);
    // Keys and values of two layers: 2 heads of 16.
    assert_true(statistics.cache_bytes >= statistics.context_tokens * 2u * 2u * 2u * 16u);
    assert_int_equal(kazeia_chat_save(chat, saved), KAZEIA_OK);
    assert_int_equal(kazeia_chat_rewind(chat, 2), KAZEIA_OK);
    assert_null(kazeia_chat_part_of(chat, KAZEIA_PART_ANSWER, &bytes));
    assert_int_equal(kazeia_chat_restore(chat, saved), KAZEIA_OK);
    part = kazeia_chat_part_of(chat, KAZEIA_PART_ANSWER, &bytes);
    assert_int_equal(bytes, answer_bytes);
    assert_memory_equal(part, answer, bytes);
    assert_int_equal(kazeia_chat_fork(chat, 1), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kazeia_chat_select(chat, 0), KAZEIA_OK);
    const int32_t id = 1;
    assert_int_equal(kazeia_chat_feed_ids(chat, &id, 1), KAZEIA_BAD_ARGUMENT); // is not raw
    assert_int_equal(kazeia_chat_save(NULL, saved), KAZEIA_BAD_ARGUMENT);
    kazeia_stage_destroy(chat);
    remove(saved);
}

// --- Measuring ----------------------------------------------------------------------------------

typedef struct row_check {
    const double *expected; // [count][vocabulary]
    size_t next;
    double largest;
} row_check;

static kazeia_status check_row(void *context, const kazeia_logits_row *row) {
    row_check *check = context;
    const double *expected_row = check->expected + row->position * row->vocabulary_size;
    assert_int_equal(row->position, check->next);
    check->next++;
    for (size_t i = 0; i < row->vocabulary_size; i++) {
        check->largest = fmax(check->largest, fabs((double)row->logits[i] - expected_row[i]));
    }
    return KAZEIA_OK;
}

static double hidden[100 * 64], expected[100 * TINY_VOCABULARY];

static void logits_are_the_references(void **state) {
    (void)state;
    int32_t ids[100];
    kazeia_stage *chat = open_chat();
    for (int32_t i = 0; i < 100; i++) {
        ids[i] = (i * 37) % TINY_VOCABULARY;
    }
    tiny_llama_forward(&tiny.llama, ids, 100, hidden, expected);
    for (size_t first = 0; first <= 90; first += 30) {
        row_check check = {.expected = expected, .next = first};
        const kazeia_measured measured = {.ids = ids, .id_count = 100, .first = first};
        assert_int_equal(kazeia_chat_measure(chat, NULL, &measured, check_row, &check), KAZEIA_OK);
        assert_int_equal(check.next, 100);
        assert_true(check.largest < 1e-4);
    }
    kazeia_stage_destroy(chat);
}

typedef struct pair_check {
    size_t next, count;
    bool has_others;
} pair_check;

// A model beside itself gives each row twice.
static kazeia_status check_pair(void *context, const kazeia_logits_row *row) {
    pair_check *check = context;
    assert_int_equal(row->position, check->next++);
    assert_int_equal(row->count, check->count);
    assert_int_equal(row->vocabulary_size, TINY_VOCABULARY);
    assert_int_equal(row->next_token >= 0, row->position + 1 < row->count);
    assert_int_equal(row->is_scored, row->next_token >= 0);
    assert_int_equal(row->others != NULL, check->has_others);
    if (row->others) {
        assert_memory_equal(row->logits, row->others, TINY_VOCABULARY * sizeof *row->logits);
    }
    return KAZEIA_OK;
}

static void two_chats_are_measured_side_by_side(void **state) {
    (void)state;
    int32_t ids[100];
    kazeia_stage *chat = open_chat(), *other = open_chat();
    for (int32_t i = 0; i < 100; i++) {
        ids[i] = (i * 37) % TINY_VOCABULARY;
    }
    kazeia_measured measured = {.ids = ids, .id_count = 100};
    pair_check check = {.count = 100, .has_others = true};
    assert_int_equal(kazeia_chat_measure(chat, other, &measured, check_pair, &check), KAZEIA_OK);
    assert_int_equal(check.next, 100);
    check = (pair_check){.count = 100};
    assert_int_equal(kazeia_chat_measure(chat, NULL, &measured, check_pair, &check), KAZEIA_OK);
    assert_int_equal(check.next, 100);
    assert_int_equal(kazeia_chat_measure(chat, chat, &measured, check_pair, &check),
                     KAZEIA_BAD_ARGUMENT);
    measured.text = TEXT; // both
    assert_int_equal(kazeia_chat_measure(chat, NULL, &measured, check_pair, &check),
                     KAZEIA_BAD_ARGUMENT);
    measured = (kazeia_measured){0}; // neither
    assert_int_equal(kazeia_chat_measure(chat, NULL, &measured, check_pair, &check),
                     KAZEIA_BAD_ARGUMENT);
    kazeia_stage_destroy(chat);
    kazeia_stage_destroy(other);
}

// As llama.cpp: whole chunks, of each the tokens after chunk / 2.
static double perplexity_plainly(const int32_t *ids, size_t count, size_t *out_tokens) {
    double sum = 0.0;
    *out_tokens = 0;
    for (size_t start = 0; start + CHUNK <= count; start += CHUNK) {
        tiny_llama_forward(&tiny.llama, ids + start, CHUNK, hidden, expected);
        for (size_t i = CHUNK / 2; i + 1 < CHUNK; i++) {
            const double *row = expected + i * TINY_VOCABULARY;
            double total = 0.0;
            for (size_t j = 0; j < TINY_VOCABULARY; j++) {
                total += exp(row[j]);
            }
            sum += log(total) - row[ids[start + i + 1]];
            ++*out_tokens;
        }
    }
    return exp(sum / (double)*out_tokens);
}

static void perplexity_is_the_references(void **state) {
    (void)state;
    kazeia_tokenizer *tokenizer = NULL;
    const int32_t *ids = NULL;
    size_t count = 0, expected_tokens = 0, tokens = 0;
    double perplexity = 0.0;
    kazeia_stage *chat = open_chat();
    assert_int_equal(kazeia_tokenizer_create(program, NULL, &tokenizer), KAZEIA_OK);
    assert_int_equal(kazeia_tokenizer_encode(tokenizer, TEXT, strlen(TEXT), false, &ids, &count),
                     KAZEIA_OK);
    assert_true(count > 2 * CHUNK && count < 3 * CHUNK);
    const double by_reference = perplexity_plainly(ids, count, &expected_tokens);
    assert_int_equal(kazeia_chat_perplexity(chat, TEXT, strlen(TEXT), CHUNK, &perplexity, &tokens),
                     KAZEIA_OK);
    assert_int_equal(tokens, expected_tokens);
    assert_int_equal(tokens, 2 * (CHUNK - CHUNK / 2 - 1));
    assert_true(fabs(perplexity / by_reference - 1.0) < 1e-5);
    assert_int_equal(kazeia_chat_perplexity(chat, "court", 5, CHUNK, &perplexity, &tokens),
                     KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kazeia_chat_perplexity(chat, TEXT, 5, TINY_CONTEXT + 1, &perplexity, &tokens),
                     KAZEIA_BAD_ARGUMENT);
    kazeia_tokenizer_destroy(tokenizer);
    kazeia_stage_destroy(chat);
}

// A call that came between prompt and reply would take the cache away from under the reply.
static void measuring_waits_for_the_turn(void **state) {
    (void)state;
    const int32_t ids[] = {1, 2, 3, 4};
    double number = 0.0;
    size_t count = 0;
    kazeia_stage *chat = open_chat();
    assert_int_equal(kazeia_stage_feed(chat, "Salut", 5, &count), KAZEIA_OK);
    assert_int_equal(kazeia_stage_finish(chat), KAZEIA_OK);
    assert_int_equal(kazeia_chat_bench(chat, 8, 1, 0, &number, &number), KAZEIA_BUSY);
    assert_int_equal(kazeia_chat_perplexity(chat, TEXT, strlen(TEXT), CHUNK, &number, &count),
                     KAZEIA_BUSY);
    kazeia_stage *other = open_chat();
    const kazeia_measured measured = {.ids = ids, .id_count = 4};
    pair_check pair = {.count = 4};
    assert_int_equal(kazeia_chat_measure(chat, NULL, &measured, check_pair, &pair), KAZEIA_BUSY);
    assert_int_equal(kazeia_chat_measure(other, chat, &measured, check_pair, &pair), KAZEIA_BUSY);
    kazeia_stage_destroy(other);
    drain(chat);
    assert_int_equal(kazeia_chat_measure(chat, NULL, &measured, check_pair, &pair), KAZEIA_OK);
    kazeia_stage_destroy(chat);
}

// The ids that a greedy chat answers with.
static size_t answer(kazeia_stage *chat, const char *text, int32_t *out_ids, size_t capacity) {
    char piece[64];
    size_t taken = 0, bytes = 0, count = 0;
    kazeia_status status = KAZEIA_OK;
    assert_int_equal(kazeia_stage_feed(chat, text, strlen(text), &taken), KAZEIA_OK);
    assert_int_equal(kazeia_stage_finish(chat), KAZEIA_OK);
    while (status == KAZEIA_OK) {
        status = kazeia_stage_next(chat, piece, sizeof piece, &bytes);
    }
    assert_int_equal(status, KAZEIA_DONE);
    const int32_t *ids = kazeia_chat_tokens_of(chat, &count);
    assert_true(count > 0 && count <= capacity);
    memcpy(out_ids, ids, count * sizeof *ids);
    return count;
}

static kazeia_status stop_at_once(void *context, const kazeia_logits_row *row) {
    (void)context, (void)row;
    return KAZEIA_CANCELLED;
}

// What was measured must not be taken for what was said, even where measuring ended early.
static void measuring_leaves_the_conversation_alone(void **state) {
    (void)state;
    int32_t expected_ids[2][8], ids[2][8], others[60];
    for (int32_t i = 0; i < 60; i++) {
        others[i] = (i * 37) % TINY_VOCABULARY;
    }
    kazeia_stage *chat = open_chat();
    const size_t count = answer(chat, "Salut", expected_ids[0], 8);
    const size_t next_count = answer(chat, "Encore", expected_ids[1], 8);
    kazeia_stage_destroy(chat);
    chat = open_chat();
    assert_int_equal(answer(chat, "Salut", ids[0], 8), count);
    const kazeia_measured measured = {.ids = others, .id_count = 60};
    assert_int_equal(kazeia_chat_measure(chat, NULL, &measured, stop_at_once, NULL),
                     KAZEIA_CANCELLED);
    assert_int_equal(answer(chat, "Encore", ids[1], 8), next_count);
    assert_memory_equal(ids[1], expected_ids[1], next_count * sizeof ids[1][0]);
    assert_int_equal(kazeia_chat_statistics_of(chat).cached_tokens, 0);
    kazeia_stage_destroy(chat);
}

static void speed_is_measured_within_the_context(void **state) {
    (void)state;
    double prefill = 0.0, decode = 0.0;
    kazeia_stage *chat = open_chat();
    assert_int_equal(kazeia_chat_bench(chat, 100, 20, 30, &prefill, &decode), KAZEIA_OK);
    assert_true(prefill > 0.0 && decode > 0.0);
    assert_int_equal(kazeia_chat_bench(chat, TINY_CONTEXT, 1, 1, &prefill, &decode),
                     KAZEIA_BAD_ARGUMENT);
    kazeia_stage_destroy(chat);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_describes_itself),
        cmocka_unit_test(what_is_no_program_is_refused),
        cmocka_unit_test(a_session_over_the_limit_is_refused),
        cmocka_unit_test(text_and_tokens_are_inverse),
        cmocka_unit_test(a_stage_answers),
        cmocka_unit_test(a_conversation_has_a_life),
        cmocka_unit_test(logits_are_the_references),
        cmocka_unit_test(two_chats_are_measured_side_by_side),
        cmocka_unit_test(perplexity_is_the_references),
        cmocka_unit_test(speed_is_measured_within_the_context),
        cmocka_unit_test(measuring_leaves_the_conversation_alone),
        cmocka_unit_test(measuring_waits_for_the_turn),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
