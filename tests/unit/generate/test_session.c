// test_session.c: token sessions and the loop over a tiny program.
//
// in:  tiny programs made here
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
#include "base/thread.h"
#include "generate/loop.h"
#include "tiny_run.h"

#define VOCABULARY 100
#define COUNT 90 // more than one chunk of prefill_forward

typedef struct fixture {
    tiny_llama llama;
    kz_program *program;
    kz_pool *pool;
    metered_allocator meter;
    kazeia_allocator memory;
    kz_session *session;
} fixture;

static kz_session_settings session_settings(uint32_t sequences) {
    return (kz_session_settings){.prefill = "prefill_forward",
                                 .step = "kv_forward",
                                 .logits = "logits",
                                 .sequences = sequences,
                                 .priority = KZ_PRIORITY_CHAT};
}

static void open_fixture(fixture *f, bool has_prefill, uint32_t sequences) {
    tiny_llama_shape shape = tiny_llama_shape_default();
    shape.has_prefill = has_prefill;
    memset(f, 0, sizeof *f);
    tiny_llama_init(&f->llama, &shape);
    tiny_llama_finish(&f->llama);
    f->meter.calls_allowed = SIZE_MAX;
    f->memory = (kazeia_allocator){&f->meter, allocate_metered, release_metered};
    assert_int_equal(kz_program_open_memory(f->llama.bytes, f->llama.count, NULL, &f->program),
                     KAZEIA_OK);
    assert_int_equal(kz_pool_create(2, NULL, &f->pool), KAZEIA_OK);
    const kz_session_settings settings = session_settings(sequences);
    assert_int_equal(kz_session_create(f->program, f->pool, &settings, &f->memory, &f->session),
                     KAZEIA_OK);
}

static void close_fixture(fixture *f) {
    kz_session_destroy(f->session);
    assert_int_equal(f->meter.live, 0);
    kz_pool_destroy(f->pool);
    kz_program_release(f->program);
    tiny_llama_clear(&f->llama);
}

static void a_session_takes_exactly_its_plan(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, true, 3);
    kz_session_settings settings = session_settings(3);
    kz_memory_plan plan;
    assert_int_equal(kz_session_plan(f.program, &settings, &plan), KAZEIA_OK);
    const uint64_t bytes = plan.arena + plan.states + plan.work;
    assert_int_equal(f.meter.bytes, bytes);
    const size_t calls = f.meter.calls;
    kz_session *refused = NULL;
    settings.memory_limit = bytes - 1;
    assert_int_equal(kz_session_create(f.program, f.pool, &settings, &f.memory, &refused),
                     KAZEIA_OUT_OF_MEMORY);
    assert_int_equal(f.meter.calls, calls);
    settings.memory_limit = bytes;
    assert_int_equal(kz_session_create(f.program, f.pool, &settings, &f.memory, &refused),
                     KAZEIA_OK);
    kz_session_destroy(refused);
    close_fixture(&f);
}

static void failing_allocations_leave_nothing_behind(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, true, 1);
    const kz_session_settings settings = session_settings(1);
    const size_t live = f.meter.live;
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    for (size_t allowed = 0; status != KAZEIA_OK; allowed++) {
        kz_session *session = NULL;
        f.meter.calls = 0;
        f.meter.calls_allowed = allowed;
        status = kz_session_create(f.program, f.pool, &settings, &f.memory, &session);
        kz_session_destroy(session);
        assert_int_equal(f.meter.live, live);
        assert_true(status == KAZEIA_OK || status == KAZEIA_OUT_OF_MEMORY);
    }
    close_fixture(&f);
}

static double error_of_last(fixture *f, const double *expected) {
    float *logits = NULL;
    double difference = 0.0, size = 0.0;
    assert_int_equal(kz_session_last_logits(f->session, &logits), KAZEIA_OK);
    for (size_t i = 0; i < VOCABULARY; i++) {
        difference += pow((double)logits[i] - expected[i], 2.0);
        size += expected[i] * expected[i];
    }
    return sqrt(difference / size);
}

static void check_prompts(bool has_prefill) {
    static double hidden[COUNT * 64], logits[COUNT * VOCABULARY];
    fixture f;
    int32_t ids[COUNT];
    open_fixture(&f, has_prefill, 2);
    tiny_ids(VOCABULARY, 7, ids, COUNT);
    tiny_llama_forward(&f.llama, ids, COUNT, hidden, logits);
    assert_int_equal(kz_session_chunk(f.session, COUNT), has_prefill ? TINY_PREFILL : 1);
    assert_int_equal(kz_session_extend(f.session, 0, ids, COUNT - 1), KAZEIA_OK);
    assert_int_equal(kz_session_extend(f.session, 0, ids + COUNT - 1, 1), KAZEIA_OK);
    assert_int_equal(kz_session_length(f.session, 0), COUNT);
    assert_true(error_of_last(&f, logits + (COUNT - 1) * VOCABULARY) < 2e-6);
    kz_session_trim(f.session, 0, 30);
    assert_int_equal(kz_session_extend(f.session, 0, ids + 30, 40), KAZEIA_OK);
    assert_true(error_of_last(&f, logits + 69 * VOCABULARY) < 2e-6);
    close_fixture(&f);
}

static void prompts_are_computed_in_chunks(void **state) {
    (void)state;
    check_prompts(true);
    check_prompts(false);
}

static void failures_leave_the_sequence_as_it_was(void **state) {
    (void)state;
    fixture f;
    int32_t ids[COUNT];
    open_fixture(&f, true, 2);
    tiny_ids(VOCABULARY, 7, ids, COUNT);
    const size_t calls = f.meter.calls;
    assert_int_equal(kz_session_extend(f.session, 0, ids, 10), KAZEIA_OK);
    assert_int_equal(kz_session_extend(f.session, 0, ids, COUNT), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_session_extend(f.session, 0, ids, 0), KAZEIA_BAD_ARGUMENT);
    ids[75] = VOCABULARY; // in the second chunk
    assert_int_equal(kz_session_extend(f.session, 0, ids, 80), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_session_length(f.session, 0), 10);
    // 128 rows are shared by all sequences.
    assert_int_equal(kz_session_extend(f.session, 1, ids, 70), KAZEIA_OK);
    assert_int_equal(kz_session_extend(f.session, 0, ids, 60), KAZEIA_BUSY);
    assert_int_equal(kz_session_length(f.session, 0), 10);
    kz_session_cancel(f.session);
    assert_int_equal(kz_session_extend(f.session, 0, ids, 5), KAZEIA_CANCELLED);
    assert_int_equal(kz_session_length(f.session, 0), 10);
    float *logits = NULL;
    assert_int_equal(kz_session_last_logits(f.session, &logits), KAZEIA_BAD_ARGUMENT);
    kz_session_resume(f.session);
    assert_int_equal(kz_session_extend(f.session, 0, ids, 5), KAZEIA_OK);
    assert_int_equal(f.meter.calls, calls);
    close_fixture(&f);
}

static void sequences_step_together(void **state) {
    (void)state;
    fixture f;
    int32_t ids[20];
    static float alone[3 * VOCABULARY], together[3 * VOCABULARY];
    const uint32_t sequences[] = {2, 0, 1};
    open_fixture(&f, true, 3);
    tiny_ids(VOCABULARY, 8, ids, 20);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(kz_session_extend(f.session, sequences[i], ids + i, 5 + i), KAZEIA_OK);
        assert_int_equal(kz_session_extend(f.session, sequences[i], ids + 10 + i, 1), KAZEIA_OK);
        assert_int_equal(kz_session_logits(f.session, 0, 1, alone + i * VOCABULARY), KAZEIA_OK);
        kz_session_trim(f.session, sequences[i], 5 + i);
    }
    assert_int_equal(kz_session_step(f.session, sequences, ids + 10, 3), KAZEIA_OK);
    assert_int_equal(kz_session_logits(f.session, 0, 3, together), KAZEIA_OK);
    assert_memory_equal(alone, together, sizeof alone);
    assert_int_equal(kz_session_logits(f.session, 1, 3, together), KAZEIA_BAD_ARGUMENT);
    close_fixture(&f);
}

// --- The loop -----------------------------------------------------------------------------------

static void forbid_even(void *context, uint32_t step, float *logits, size_t vocabulary) {
    assert_int_equal(step, *(uint32_t *)context);
    for (size_t i = 0; i < vocabulary; i += 2) {
        logits[i] = -INFINITY;
    }
}

static kz_stop_action stop_after_six(void *context, int32_t token) {
    (void)token;
    uint32_t *step = context;
    return ++*step == 7 ? KZ_STOP_END : KZ_STOP_CONTINUE;
}

// Greedy choice from the reference, among odd ids.
static int32_t expected_token(const tiny_llama *llama, const int32_t *ids, size_t count) {
    static double hidden[COUNT * 64], logits[COUNT * VOCABULARY];
    tiny_llama_forward(llama, ids, count, hidden, logits);
    const double *row = logits + (count - 1) * VOCABULARY;
    int32_t best = 1;
    for (int32_t i = 3; i < VOCABULARY; i += 2) {
        best = row[i] > row[best] ? i : best;
    }
    return best;
}

static void the_loop_writes_what_the_reference_would(void **state) {
    (void)state;
    fixture f;
    int32_t ids[COUNT];
    kz_sampler *sampler = NULL;
    uint32_t step = 0;
    const kz_sampling greedy = {.temperature = 0.0f, .top_p = 1.0f};
    open_fixture(&f, true, 1);
    tiny_ids(VOCABULARY, 10, ids, 20);
    assert_int_equal(kz_sampler_create(&greedy, VOCABULARY, NULL, &sampler), KAZEIA_OK);
    kz_loop loop = {.session = f.session,
                    .sampler = sampler,
                    .stop = {.context = &step, .judge = stop_after_six},
                    .processor = {.context = &step, .process = forbid_even},
                    .has_log_probability = true};
    assert_int_equal(kz_loop_start(&loop, ids, 20), KAZEIA_OK);
    for (size_t count = 20; count < 27; count++) {
        int32_t token = -1;
        kz_stop_action action = KZ_STOP_CONTINUE;
        assert_int_equal(kz_loop_next(&loop, &token, &action), KAZEIA_OK);
        assert_int_equal(token, expected_token(&f.llama, ids, count));
        assert_true(loop.log_probability < 0.0 && loop.log_probability > log(0.001));
        assert_int_equal(action, count == 26 ? KZ_STOP_END : KZ_STOP_CONTINUE);
        assert_int_equal(kz_session_length(f.session, 0), count);
        ids[count] = token;
    }
    assert_false(loop.has_pending);
    kz_sampler_destroy(sampler);
    close_fixture(&f);
}

typedef struct counting_mask {
    uint32_t bits[(VOCABULARY + 31) / 32];
    bool is_open; // every token may come
    uint32_t advances;
} counting_mask;

static const uint32_t *allow_counted(void *context) {
    const counting_mask *mask = context;
    return mask->is_open ? NULL : mask->bits;
}

static void count_advances(void *context, int32_t token) {
    counting_mask *mask = context;
    assert_true(mask->is_open || (mask->bits[token / 32] >> (token % 32)) & 1);
    mask->advances++;
}

static bool is_masked_in(int32_t token) {
    return token < 3 || token == 64 || token == 99;
}

static void a_mask_bounds_every_choice(void **state) {
    (void)state;
    fixture f;
    int32_t ids[20];
    kz_sampler *sampler = NULL;
    bool has_left = false;
    counting_mask counting = {.bits = {7, 0, 1, 8}}; // 0, 1, 2, 64, 99
    const kz_sampling hot = {.temperature = 5.0f, .top_p = 1.0f, .seed = 3};
    const kz_token_mask mask = {&counting, allow_counted, count_advances};
    open_fixture(&f, true, 1);
    tiny_ids(VOCABULARY, 10, ids, 20);
    assert_int_equal(kz_sampler_create(&hot, VOCABULARY, NULL, &sampler), KAZEIA_OK);
    kz_loop loop = {.session = f.session, .sampler = sampler, .mask = &mask};
    assert_int_equal(kz_loop_start(&loop, ids, 20), KAZEIA_OK);
    for (uint32_t i = 0; i < 30; i++) {
        int32_t token = -1;
        kz_stop_action action = KZ_STOP_END;
        assert_int_equal(kz_loop_next(&loop, &token, &action), KAZEIA_OK);
        assert_true(is_masked_in(token));
        assert_int_equal(action, KZ_STOP_CONTINUE);
    }
    assert_int_equal(counting.advances, 30);
    counting.is_open = true;
    for (uint32_t i = 0; i < 30; i++) {
        int32_t token = -1;
        kz_stop_action action = KZ_STOP_END;
        assert_int_equal(kz_loop_next(&loop, &token, &action), KAZEIA_OK);
        has_left = has_left || !is_masked_in(token);
    }
    assert_true(has_left);
    kz_sampler_destroy(sampler);
    close_fixture(&f);
}

// --- Drafts -------------------------------------------------------------------------------------

#define DRAFTED_COUNT 60

typedef struct drafted_text {
    int32_t ids[97];
    uint64_t drafted, confirmed;
    kz_random random; // after the last draw
} drafted_text;

// A prompt of 30 tokens that repeats itself, and as many more as fit.
static void write_text(fixture *f, const kz_sampling *sampling, uint32_t draft_limit,
                       drafted_text *out_text) {
    static float rows[(KZ_DRAFT_LIMIT + 1) * VOCABULARY];
    static uint32_t counts[VOCABULARY];
    const kz_penalties penalties = {.repetition = 1.05f, .window = 8};
    kz_sampler *sampler = NULL;
    assert_int_equal(kz_sampler_create(sampling, VOCABULARY, NULL, &sampler), KAZEIA_OK);
    tiny_ids(VOCABULARY, 4, out_text->ids, 10);
    memcpy(out_text->ids + 10, out_text->ids, 10 * sizeof(int32_t));
    memcpy(out_text->ids + 20, out_text->ids, 10 * sizeof(int32_t));
    kz_loop loop = {.session = f->session,
                    .sampler = sampler,
                    .ids = out_text->ids,
                    .id_count = 30,
                    .penalties = &penalties,
                    .counts = counts,
                    .draft = {.limit = draft_limit, .logits = rows}};
    kz_session_trim(f->session, 0, 0);
    assert_int_equal(kz_loop_start(&loop, out_text->ids, 30), KAZEIA_OK);
    for (uint32_t i = 0; i < DRAFTED_COUNT; i++) {
        int32_t token = -1;
        kz_stop_action action = KZ_STOP_END;
        loop.draft.room = DRAFTED_COUNT - 1 - i;
        assert_int_equal(kz_loop_next(&loop, &token, &action), KAZEIA_OK);
        assert_int_equal(loop.ids[30 + i], token);
        assert_int_equal(loop.id_count, 31 + i);
        assert_int_equal(kz_loop_length(&loop), 30 + i + !loop.has_pending);
    }
    kz_loop_leave(&loop);
    assert_int_equal(kz_session_length(f->session, 0), loop.id_count);
    out_text->drafted = loop.draft.drafted;
    out_text->confirmed = loop.draft.confirmed;
    out_text->random = kz_sampler_random(sampler);
    kz_sampler_destroy(sampler);
}

static void drafts_do_not_change_the_text(void **state) {
    (void)state;
    const kz_sampling samplings[] = {{.temperature = 0.0f, .top_p = 1.0f},
                                     {.temperature = 0.05f, .top_p = 0.9f, .seed = 7},
                                     {.temperature = 1.5f, .top_p = 1.0f, .seed = 8}};
    static const uint32_t limits[] = {1, 3, KZ_DRAFT_LIMIT};
    for (int mode = 0; mode < 2; mode++) {
        fixture f;
        uint64_t confirmed = 0, refused = 0;
        open_fixture(&f, mode == 0, 1);
        for (size_t i = 0; i < 9; i++) {
            drafted_text plain, guessed;
            write_text(&f, &samplings[i / 3], 0, &plain);
            write_text(&f, &samplings[i / 3], limits[i % 3], &guessed);
            assert_memory_equal(guessed.ids, plain.ids, 90 * sizeof(int32_t));
            assert_true(guessed.random.state == plain.random.state);
            assert_int_equal(plain.drafted, 0);
            confirmed += guessed.confirmed;
            refused += guessed.drafted - guessed.confirmed;
        }
        // Both ways were gone.
        assert_true(confirmed > 20 && refused > 5);
        close_fixture(&f);
    }
}

// --- Programs that are no token models ----------------------------------------------------------

static void other_programs_are_refused(void **state) {
    (void)state;
    fixture f;
    kz_memory_plan plan;
    open_fixture(&f, true, 1);
    kz_session_settings settings = session_settings(1);
    settings.step = "decode_step";
    assert_int_equal(kz_session_plan(f.program, &settings, &plan), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "kv_forward"));
    settings = session_settings(1);
    settings.step = "logits";
    assert_int_equal(kz_session_plan(f.program, &settings, &plan), KAZEIA_BAD_FILE);
    settings = session_settings(1);
    settings.logits = "kv_forward";
    assert_int_equal(kz_session_plan(f.program, &settings, &plan), KAZEIA_BAD_FILE);
    settings = session_settings(4); // the program has at most three
    assert_int_equal(kz_session_plan(f.program, &settings, &plan), KAZEIA_BAD_ARGUMENT);
    settings = session_settings(0);
    assert_int_equal(kz_session_plan(f.program, &settings, &plan), KAZEIA_BAD_ARGUMENT);
    close_fixture(&f);
}

// A row table that has more rows the more tokens a call takes would be read beyond its end.
static void a_row_table_that_grows_is_refused(void **state) {
    (void)state;
    tiny_llama llama;
    kz_program *program = NULL;
    kz_memory_plan plan;
    const tiny_llama_shape shape = tiny_llama_shape_default();
    const kz_session_settings settings = session_settings(1);
    tiny_llama_init(&llama, &shape);
    tiny_method *step = llama.builder.methods;
    while (strcmp(step->method.name, "kv_forward") != 0) {
        step++;
    }
    for (uint32_t i = 0; i < step->method.input_count; i++) {
        kz_value *value = &step->values[step->inputs[i]];
        value->dims[0].scale[0] += strcmp(value->name, "row_table") == 0;
    }
    tiny_llama_finish(&llama);
    assert_int_equal(kz_program_open_memory(llama.bytes, llama.count, NULL, &program), KAZEIA_OK);
    assert_int_equal(kz_session_plan(program, &settings, &plan), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "row_table"));
    kz_program_release(program);
    tiny_llama_clear(&llama);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_takes_exactly_its_plan),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
        cmocka_unit_test(prompts_are_computed_in_chunks),
        cmocka_unit_test(failures_leave_the_sequence_as_it_was),
        cmocka_unit_test(sequences_step_together),
        cmocka_unit_test(the_loop_writes_what_the_reference_would),
        cmocka_unit_test(a_mask_bounds_every_choice),
        cmocka_unit_test(drafts_do_not_change_the_text),
        cmocka_unit_test(other_programs_are_refused),
        cmocka_unit_test(a_row_table_that_grows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
