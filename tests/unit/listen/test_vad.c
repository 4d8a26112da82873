// test_vad.c: from probabilities to spans; and programs that are none of voice activity.
//
// in:  probabilities; programs built by hand
// out: cmocka's report
// The real network is held in tests/parity/test_silero.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "listen/sample_queue.h"
#include "listen/vad.h"
#include "tiny_builder.h"

#define WINDOW 10u
#define SPAN_LIMIT 64

typedef struct spans {
    kz_vad_span list[SPAN_LIMIT];
    size_t count;
} spans;

// Speech counts from 30 samples on, reaches 20 further, and ends after 50 of silence.
static kz_vad_rule make_rule(void) {
    return (kz_vad_rule){
        .threshold = 0.5f, .window = WINDOW, .min_speech = 30, .pre_roll = 20, .hang_over = 50};
}

// One letter a window: '#' speech, '+' between the two limits, '-' unlikely, '.' silence, '?' no
// number.
static float probability_of(char letter) {
    switch (letter) {
    case '#':
        return 0.9f;
    case '+':
        return 0.4f;
    case '-':
        return 0.1f;
    case '?':
        return NAN;
    default:
        return 0.02f;
    }
}

static spans find(kz_vad_rule *rule, const char *windows) {
    spans found = {.count = 0};
    for (const char *p = windows; *p; p++) {
        found.count += kz_vad_rule_step(rule, probability_of(*p), &found.list[found.count]);
        assert_true(found.count < SPAN_LIMIT);
    }
    found.count +=
        kz_vad_rule_finish(rule, strlen(windows) * (uint64_t)WINDOW, &found.list[found.count]);
    return found;
}

static void expect_spans(const char *windows, const uint64_t *edges, size_t count) {
    kz_vad_rule rule = make_rule();
    const spans found = find(&rule, windows);
    assert_int_equal(found.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found.list[i].start, edges[2 * i]);
        assert_int_equal(found.list[i].end, edges[2 * i + 1]);
    }
}
#define EXPECT(windows, ...)                                            \
    do {                                                                \
        const uint64_t edges[] = {__VA_ARGS__};                         \
        expect_spans(windows, edges, sizeof edges / sizeof *edges / 2); \
    } while (0)

// The network is sure a little late: what stirred before belongs to the span.
static void spans_begin_where_speech_stirs(void **state) {
    (void)state;
    EXPECT(".....--+###.......", 30, 130);             // with 20 of pre-roll
    EXPECT(".....-.+###.......", 30, 130);             // one calm window is within
    EXPECT(".....-..###.......", 60, 130);             // two are not
    EXPECT("--------------------###......", 130, 250); // at most five windows
    EXPECT("--..###----###......", 20, 160);
    // Never into the span before, whose roll ends here.
    EXPECT("###------###......", 0, 50, 50, 140);
    // Stirring alone is no speech.
    expect_spans("----++++--------", NULL, 0);
}

static void speech_becomes_spans(void **state) {
    (void)state;
    EXPECT("...###.......", 10, 80);
    // Rolls end where the sound does.
    EXPECT("####", 0, 40);
    EXPECT("#####.", 0, 60);
    // A pause shorter than the hang-over is within a span, one as long is not.
    EXPECT("...###....###......", 10, 150);
    EXPECT("...###.....###......", 10, 80, 90, 160);
    // The hang-over lets both rolls fit here; with less silence they would meet, not cross.
    kz_vad_rule rule = make_rule();
    rule.hang_over = 30;
    const spans close = find(&rule, "...###...###....");
    assert_int_equal(close.count, 2);
    assert_int_equal(close.list[0].end, 80);
    assert_int_equal(close.list[1].start, 80);
}

static void short_sounds_are_no_speech(void **state) {
    (void)state;
    expect_spans("", NULL, 0);
    expect_spans("...............", NULL, 0);
    expect_spans("...##..........##.......", NULL, 0);
    expect_spans(".....##", NULL, 0);
    // Forgotten after as much silence as speech must last, so that it begins no later span.
    EXPECT("#......####......", 50, 130);
    // Two halves of a word make one.
    EXPECT("...##.##.......", 10, 100);
}

static void doubtful_windows_change_nothing(void **state) {
    (void)state;
    expect_spans("+++++++++++", NULL, 0);
    EXPECT("...#++.......", 10, 80);
    EXPECT("...###.++++++", 10, 80);
    // A click in a pause joins nothing; a word does, and so does a longer pause after it.
    EXPECT("...###..#..###....##......", 10, 80, 90, 160);
    EXPECT("...###..##..###......", 10, 80, 100, 170);
    EXPECT("...###..###..###......", 10, 180);
    // It may begin with the hang-over's last window, and need not be loud throughout.
    EXPECT("...###....####......", 10, 160);
    EXPECT("...###...##+###......", 10, 170);
    EXPECT("...###...#++++++......", 10, 180);
    // What is no number is silence.
    EXPECT("...###???????", 10, 80);
    expect_spans("?????????", NULL, 0);
}

// Whatever is told early stays true, and spans come in order.
static void what_is_sure_stays_true(void **state) {
    (void)state;
    uint32_t random = 7;
    for (size_t round = 0; round < 200; round++) {
        kz_vad_rule rule = make_rule();
        rule.hang_over = 10 * (round % 9);
        rule.pre_roll = 7 * (round % 8);
        rule.min_speech = 10 * (round % 5);
        uint64_t told_start = 0, told_end = 0, last_end = 0;
        bool is_told = false;
        for (size_t i = 0; i < 300; i++) {
            kz_vad_span span;
            const uint64_t earliest = kz_vad_rule_earliest(&rule);
            random = random * 1664525u + 1013904223u;
            // Runs of some windows, so that all lengths occur.
            const float probability = (random >> 28) < 5 ? 0.9f : (random >> 28) < 8 ? 0.4f : 0.1f;
            if (kz_vad_rule_step(&rule, probability, &span)) {
                assert_true(span.start >= last_end && span.start >= earliest);
                assert_true(span.end > span.start && span.end <= rule.position);
                assert_true(!is_told || (span.start == told_start && span.end >= told_end));
                last_end = span.end;
                is_told = false;
            } else if (kz_vad_rule_sure(&rule, &span)) {
                assert_true(!is_told || (span.start == told_start && span.end >= told_end));
                assert_true(span.start >= last_end && span.end <= rule.position);
                told_start = span.start;
                told_end = span.end;
                is_told = true;
            } else {
                assert_false(is_told);
            }
        }
    }
}

static void samples_wait_in_order(void **state) {
    (void)state;
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_sample_queue queue = {0};
    float piece[8], next = 0;
    uint64_t seen = 0;
    assert_int_equal(kz_sample_queue_init(&queue, 10, &memory), KAZEIA_OK);
    for (size_t round = 0; round < 100; round++) {
        size_t taken = 0;
        for (size_t i = 0; i < 8; i++) {
            piece[i] = next + (float)i;
        }
        assert_int_equal(kz_sample_queue_feed(&queue, piece, round % 9, &taken), KAZEIA_OK);
        next += (float)taken;
        const kz_sample_view view = kz_sample_queue_look(&queue);
        assert_true(view.end - view.begin <= 10);
        assert_true(taken == round % 9 || view.end - view.begin == 10);
        const size_t count = view.end - seen < 5 ? (size_t)(view.end - seen) : 5;
        kz_sample_queue_copy(&queue, seen, count, piece);
        for (size_t i = 0; i < count; i++) {
            assert_true(piece[i] == (float)(seen + i));
        }
        seen += count;
        kz_sample_queue_drop(&queue, seen);
    }
    assert_true(seen > 300);
    size_t taken = 1;
    kz_sample_queue_finish(&queue);
    assert_int_equal(kz_sample_queue_feed(&queue, piece, 1, &taken), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(taken, 0);
    kz_sample_queue_restart(&queue);
    assert_int_equal(kz_sample_queue_feed(&queue, piece, 1, &taken), KAZEIA_OK);
    assert_int_equal(kz_sample_queue_look(&queue).end, 1);
    kz_sample_queue_clear(&queue);
}

// --- Programs -----------------------------------------------------------------------------------

typedef struct detector {
    tiny_builder builder;
    uint8_t *bytes;
    kz_program *program;
    kz_pool *pool;
} detector;

// A window of 64 samples times a vector: no model, but all that a stage asks for.
static void open_detector(detector *d, const char *method_name, int64_t rate, int64_t window) {
    size_t count = 0;
    tiny_builder_init(&d->builder, 1);
    const uint32_t weight = tiny_matrix(&d->builder, "weight", KZ_F32, 1, 64, 0.1f);
    tiny_set_integer(&d->builder, "vad.sample_rate_hz", rate);
    tiny_set_integer(&d->builder, "vad.window", window);
    tiny_method *method = tiny_begin_method(&d->builder, method_name);
    const uint32_t x =
        tiny_input(method, "samples", KZ_F32, 0, 2, kz_dim_constant(1), kz_dim_constant(64));
    const uint32_t out = tiny_output(method, "probability", kz_dim_constant(1), 1);
    const uint32_t operands[] = {x, tiny_weight_value(method, weight), KZ_NO_VALUE, KZ_NO_VALUE,
                                 out};
    (void)tiny_add(method, KZ_OP_LINEAR, operands, 5);
    assert_int_equal(tiny_write(&d->builder, &d->bytes, &count), KAZEIA_OK);
    assert_int_equal(kz_program_open_memory(d->bytes, count, NULL, &d->program), KAZEIA_OK);
    assert_int_equal(kz_pool_create(1, NULL, &d->pool), KAZEIA_OK);
}

static void close_detector(detector *d) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_pool_destroy(d->pool);
    kz_program_release(d->program);
    kz_free_aligned(&memory, d->bytes);
    tiny_builder_clear(&d->builder);
}

static const kz_vad_settings usual = {
    .threshold = 0.5f, .min_speech_ms = 250, .pre_roll_ms = 100, .hang_over_ms = 300};

static void expect_refusal(const char *method, int64_t rate, int64_t window, kazeia_status status,
                           const char *words) {
    detector d;
    kz_vad *vad = NULL;
    open_detector(&d, method, rate, window);
    assert_int_equal(kz_vad_create(d.program, d.pool, &usual, NULL, &vad), status);
    assert_non_null(strstr(kazeia_last_error(), words));
    close_detector(&d);
}

static void other_programs_are_refused(void **state) {
    (void)state;
    expect_refusal("speak", 16000, 64, KAZEIA_UNSUPPORTED, "speech");
    expect_refusal("speech", 8000, 64, KAZEIA_BAD_FILE, "vad.sample_rate_hz");
    expect_refusal("speech", 16000, 0, KAZEIA_BAD_FILE, "vad.window");
    expect_refusal("speech", 16000, 1 << 20, KAZEIA_BAD_FILE, "vad.window");
    expect_refusal("speech", 16000, 65, KAZEIA_BAD_FILE, "65 samples");
}

static void settings_have_limits(void **state) {
    (void)state;
    detector d;
    kz_vad *vad = NULL;
    kz_vad_settings wrong[5] = {usual, usual, usual, usual, usual};
    wrong[0].threshold = NAN;
    wrong[1].threshold = 1.5f;
    wrong[2].min_speech_ms = 2001;
    wrong[3].pre_roll_ms = UINT32_MAX;
    wrong[4].hang_over_ms = 20001;
    open_detector(&d, "speech", 16000, 64);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(kz_vad_create(d.program, d.pool, &wrong[i], NULL, &vad),
                         KAZEIA_BAD_ARGUMENT);
    }
    assert_int_equal(kz_vad_create(d.program, d.pool, &usual, NULL, &vad), KAZEIA_OK);
    kz_vad_destroy(vad);
    close_detector(&d);
}

// Fed for ever and asked for ever, it never fills up; a cancellation lasts until reset.
static void long_sound_fits(void **state) {
    (void)state;
    static float samples[16000];
    detector d;
    kz_vad *vad = NULL;
    double start = 0, end = 0;
    size_t taken = 0;
    open_detector(&d, "speech", 16000, 64);
    assert_int_equal(kz_vad_create(d.program, d.pool, &usual, NULL, &vad), KAZEIA_OK);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(kz_vad_feed(vad, samples, 16000, &taken), KAZEIA_OK);
        assert_int_equal(taken, 16000);
        assert_int_equal(kz_vad_next(vad, &start, &end), KAZEIA_NEEDS_INPUT);
    }
    kz_vad_cancel(vad);
    assert_int_equal(kz_vad_next(vad, &start, &end), KAZEIA_CANCELLED);
    kz_vad_reset(vad);
    kz_vad_finish(vad);
    assert_int_equal(kz_vad_feed(vad, samples, 1, &taken), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_vad_next(vad, &start, &end), KAZEIA_DONE);
    assert_int_equal(kz_vad_feed(vad, samples, 1, &taken), KAZEIA_OK);
    kz_vad_destroy(vad);
    close_detector(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speech_becomes_spans),
        cmocka_unit_test(spans_begin_where_speech_stirs),
        cmocka_unit_test(short_sounds_are_no_speech),
        cmocka_unit_test(doubtful_windows_change_nothing),
        cmocka_unit_test(what_is_sure_stays_true),
        cmocka_unit_test(samples_wait_in_order),
        cmocka_unit_test(other_programs_are_refused),
        cmocka_unit_test(settings_have_limits),
        cmocka_unit_test(long_sound_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
