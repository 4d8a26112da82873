// test_beam.c: beam searches over a small trie, against all its sequences scored one by one.
//
// in:  a tiny program; a trie of eight nodes
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "../metered_allocator.h"
#include "generate/beam.h"
#include "tiny_run.h"

enum { VOCABULARY = 100, WIDTH = 4, NODES = 9, PROMPT = 3 };

#define WEIGHT 0.3f

static const int32_t prompt[PROMPT] = {5, 7, 9};
static const int64_t terminators[] = {0, 1};

// The children of 0 are 1, 2, 3; of 1: 4, 5; of 2: 6; of 4: 7; of 5: 8.
static const struct {
    int32_t token;
    uint32_t parent;
    bool is_end;
} nodes[NODES] = {{0, 0, false},  {11, 0, true}, {12, 0, false}, {13, 0, true}, {20, 1, false},
                  {21, 1, false}, {20, 2, true}, {30, 4, true},  {31, 5, true}};

typedef struct fixture {
    tiny_llama llama;
    kz_program *program;
    kz_pool *pool;
    metered_allocator meter;
    kazeia_allocator memory;
    kz_session *session;
    kz_beam *beam;
    kz_beam_prior priors[NODES];
    kz_beam_search search;
    kz_token_trie trie;
    bool has_no_ends;
} fixture;

static size_t list_children(void *context, uint32_t node, kz_token_child *out, size_t capacity) {
    (void)context;
    size_t count = 0;
    for (uint32_t i = 1; i < NODES; i++) {
        if (nodes[i].parent == node && count < capacity) {
            out[count++] = (kz_token_child){nodes[i].token, i};
        }
    }
    return count;
}

static bool is_end(void *context, uint32_t node) {
    return !((const fixture *)context)->has_no_ends && nodes[node].is_end;
}

static kz_beam_prior *prior_of(void *context, uint32_t node) {
    return &((fixture *)context)->priors[node];
}

static void open_fixture(fixture *f) {
    tiny_llama_shape shape = tiny_llama_shape_default();
    shape.weights = KZ_F32;
    shape.cache = KZ_F32;
    shape.sequences = 2 * WIDTH;
    shape.rows = 400;
    memset(f, 0, sizeof *f);
    tiny_llama_init(&f->llama, &shape);
    tiny_llama_finish(&f->llama);
    f->meter.calls_allowed = SIZE_MAX;
    f->memory = (kazeia_allocator){&f->meter, allocate_metered, release_metered};
    const kz_session_settings settings = {.prefill = "prefill_forward",
                                          .step = "kv_forward",
                                          .logits = "logits",
                                          .sequences = 2 * WIDTH,
                                          .priority = KZ_PRIORITY_CHAT};
    assert_int_equal(kz_program_open_memory(f->llama.bytes, f->llama.count, NULL, &f->program),
                     KAZEIA_OK);
    assert_int_equal(kz_pool_create(2, NULL, &f->pool), KAZEIA_OK);
    assert_int_equal(kz_session_create(f->program, f->pool, &settings, &f->memory, &f->session),
                     KAZEIA_OK);
    assert_int_equal(kz_beam_create(WIDTH, VOCABULARY, &f->memory, &f->beam), KAZEIA_OK);
    f->trie = (kz_token_trie){f, list_children, is_end};
    f->search = (kz_beam_search){.trie = &f->trie,
                                 .prior = prior_of,
                                 .prior_context = f,
                                 .prompt = prompt,
                                 .prompt_count = PROMPT,
                                 .terminators = terminators,
                                 .terminator_count = 2,
                                 .prior_weight = WEIGHT,
                                 .margin = 1000,
                                 .rise = 1000,
                                 .end_floor = -1000,
                                 .spread = 1000,
                                 .floor = -1000,
                                 .floor_top = 1000,
                                 .token_limit = 10};
}

static void close_fixture(fixture *f) {
    kz_beam_destroy(f->beam);
    kz_session_destroy(f->session);
    assert_int_equal(f->meter.live, 0);
    kz_pool_destroy(f->pool);
    kz_program_release(f->program);
    tiny_llama_clear(&f->llama);
}

static double log_share(const double *logits, const int64_t *tokens, size_t count) {
    double all = 0, some = 0;
    for (size_t i = 0; i < VOCABULARY; i++) {
        all += exp(logits[i]);
    }
    for (size_t i = 0; i < count; i++) {
        some += exp(logits[tokens[i]]);
    }
    return log(some / all);
}

// Beams and priors see the same here, so the prior takes its share of the whole.
static void expect(const fixture *f, uint32_t node, double *out_score, double *out_end) {
    static double hidden[16 * 64], logits[16 * VOCABULARY];
    int32_t ids[PROMPT + NODES];
    uint32_t path[NODES], depth = 0;
    double sum = 0;
    memcpy(ids, prompt, sizeof prompt);
    for (uint32_t i = node; i != 0; i = nodes[i].parent) {
        path[depth++] = i;
    }
    for (uint32_t i = 0; i < depth; i++) {
        ids[PROMPT + i] = nodes[path[depth - 1 - i]].token;
    }
    tiny_llama_forward(&f->llama, ids, PROMPT + depth, hidden, logits);
    for (uint32_t i = 0; i < depth; i++) {
        const int64_t token = ids[PROMPT + i];
        sum += log_share(logits + (PROMPT - 1 + i) * VOCABULARY, &token, 1);
    }
    *out_end = log_share(logits + (PROMPT - 1 + depth) * VOCABULARY, terminators, 2);
    *out_score = (1 - (double)WEIGHT) * (sum + *out_end);
}

static uint32_t run(fixture *f, const kz_beam_found **out_found, kz_beam_cost *out_cost) {
    uint32_t count = 0;
    const size_t calls = f->meter.calls;
    assert_int_equal(kz_beam_run(f->beam, f->session, &f->search, out_found, &count, out_cost),
                     KAZEIA_OK);
    assert_int_equal(f->meter.calls, calls);
    return count;
}

// All five sequences of the trie, the best first.
static void check_all(const fixture *f, const kz_beam_found *found, uint32_t count) {
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++) {
        double score, end;
        expect(f, found[i].node, &score, &end);
        assert_true(nodes[found[i].node].is_end);
        assert_true(fabs((double)found[i].score - score) < 1e-3);
        assert_true(fabs((double)found[i].end - end) < 1e-3);
        assert_true(i == 0 || found[i - 1].score >= found[i].score);
    }
}

static void a_wide_beam_finds_every_sequence(void **state) {
    (void)state;
    fixture f;
    const kz_beam_found *found = NULL;
    kz_beam_cost cost;
    open_fixture(&f);
    uint32_t count = run(&f, &found, &cost);
    check_all(&f, found, count);
    // The prompt but its last token, then the root and all nodes.
    assert_int_equal(cost.steps, 4);
    assert_int_equal(cost.beam_tokens, PROMPT - 1 + NODES);
    assert_int_equal(cost.prior_tokens, PROMPT - 1 + NODES);
    // What is known of the priors is not computed again.
    count = run(&f, &found, &cost);
    check_all(&f, found, count);
    assert_int_equal(cost.prior_tokens, 0);
    close_fixture(&f);
}

// Priors that are unknown below known ones: their sequences lack what was skipped, and take what
// they can from each other.
static void priors_catch_up(void **state) {
    (void)state;
    fixture f;
    const kz_beam_found *found = NULL;
    kz_beam_cost cost;
    open_fixture(&f);
    (void)run(&f, &found, &cost);
    for (uint32_t i = 4; i <= 6; i++) {
        f.priors[i].is_known = false;
    }
    const uint32_t count = run(&f, &found, &cost);
    check_all(&f, found, count);
    // The prompt and node 1 once for 4 and 5, node 2 for 6, and the three themselves.
    assert_int_equal(cost.prior_tokens, PROMPT + 1 + 1 + 3);
    close_fixture(&f);
}

static void the_hopeless_is_dropped(void **state) {
    (void)state;
    fixture f;
    const kz_beam_found *found = NULL;
    kz_beam_cost cost;
    open_fixture(&f);
    // Nothing was heard.
    f.search.floor = 1000;
    assert_int_equal(run(&f, &found, &cost), 0);
    assert_int_equal(cost.steps, 1);
    // Rising floors end it later.
    f.search.floor = -500;
    f.search.floor_rise = 1000;
    f.has_no_ends = true;
    assert_int_equal(run(&f, &found, &cost), 0);
    assert_int_equal(cost.steps, 2);
    // But not above their top.
    f.search.floor_top = -500;
    assert_int_equal(run(&f, &found, &cost), 0);
    assert_int_equal(cost.steps, 4);
    f.has_no_ends = false;
    f.search.floor = -1000;
    f.search.floor_rise = 0;
    // Only the best of each step goes on.
    f.search.spread = 0;
    (void)run(&f, &found, &cost);
    assert_int_equal(cost.beam_tokens, PROMPT - 1 + cost.steps);
    f.search.spread = 1000;
    // Once something is finished, nothing else is good enough.
    f.search.margin = -1000;
    assert_int_equal(run(&f, &found, &cost), 2);
    assert_int_equal(cost.steps, 2);
    // Unless the sequence goes on behind it.
    f.search.end_floor = 0;
    const uint32_t count = run(&f, &found, &cost);
    check_all(&f, found, count);
    close_fixture(&f);
}

static void tokens_are_counted(void **state) {
    (void)state;
    fixture f;
    const kz_beam_found *found = NULL;
    kz_beam_cost cost;
    open_fixture(&f);
    f.search.token_limit = 1;
    assert_int_equal(run(&f, &found, &cost), 2);
    close_fixture(&f);
}

static void wrong_sizes_are_refused(void **state) {
    (void)state;
    fixture f;
    const kz_beam_found *found = NULL;
    kz_beam_cost cost;
    kz_beam *beam = NULL;
    uint32_t count = 0;
    open_fixture(&f);
    assert_int_equal(kz_beam_create(0, VOCABULARY, NULL, &beam), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_beam_create(KZ_BEAM_WIDTH_LIMIT + 1, VOCABULARY, NULL, &beam),
                     KAZEIA_BAD_ARGUMENT);
    f.search.prompt_count = 0;
    assert_int_equal(kz_beam_run(f.beam, f.session, &f.search, &found, &count, &cost),
                     KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "a prompt of 0 tokens"));
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_beam_finds_every_sequence), cmocka_unit_test(priors_catch_up),
        cmocka_unit_test(the_hopeless_is_dropped), cmocka_unit_test(tokens_are_counted),
        cmocka_unit_test(wrong_sizes_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
