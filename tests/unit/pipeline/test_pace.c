// test_pace.c: when sound may be played that is still being made.
//
// in:  voices of known speed, and the wait that they are told
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/pace.h"

// A voice that makes pieces of `piece_s` at `factor` seconds of work for a second of sound, heard
// by somebody who begins when he is told; the seconds that he then waits for sound.
static double listen(kz_pace *pace, double factor, double piece_s, double all_s,
                     double *out_start_s) {
    double now_s = 1.0, made_s = 0, start_s = -1, missing_s = 0;
    kz_pace_work(pace, now_s, piece_s); // the first sound is late
    for (made_s = piece_s; made_s < all_s; made_s += piece_s) {
        if (start_s < 0 && made_s >= kz_pace_lead_s(pace, (size_t)(15 * all_s))) {
            start_s = now_s;
        }
        now_s += factor * piece_s;
        kz_pace_work(pace, factor * piece_s, piece_s);
        const double played_s = start_s < 0 ? 0 : now_s - start_s - missing_s;
        missing_s += played_s > made_s ? played_s - made_s : 0;
    }
    *out_start_s = start_s < 0 ? now_s : start_s;
    return missing_s;
}

static void nothing_runs_dry(void **state) {
    static const double factors[] = {0.1, 0.5, 0.9, 1.2, 2.0, 4.0};
    (void)state;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        kz_pace pace = {0};
        double start_s = 0;
        assert_true(listen(&pace, factors[i], 0.08, 10.0, &start_s) <= 1e-9);
    }
}

static void fast_voices_are_heard_at_once(void **state) {
    kz_pace pace = {0};
    double start_s = 0;
    (void)state;
    assert_true(listen(&pace, 0.4, 0.08, 10.0, &start_s) <= 1e-9);
    assert_true(start_s < 1.3);
    // Its speed is known from then on.
    kz_pace_reset(&pace);
    assert_true(kz_pace_lead_s(&pace, 15) < 0.08);
}

static void slow_voices_wait_for_what_they_lack(void **state) {
    kz_pace pace = {0};
    double start_s = 0;
    (void)state;
    assert_true(listen(&pace, 2.0, 0.08, 10.0, &start_s) <= 1e-9);
    // 20 seconds of work, 10 of sound.
    assert_true(start_s > 10.0 && start_s < 12.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_runs_dry),
        cmocka_unit_test(fast_voices_are_heard_at_once),
        cmocka_unit_test(slow_voices_wait_for_what_they_lack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
