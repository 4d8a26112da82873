// test_turn.c: the turn's table: every state with every event, conversations as scripts of events,
// the stages' times.
//
// in:  scripts
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/turn.h"

// --- Every state with every event ---------------------------------------------------------------

static const char *const state_names[KZ_TURN_STATE_COUNT] = {
    "idle", "hearing", "judging", "thinking", "confirming", "finishing", "over"};

// One row a state, one column an event in the order of kz_turn_event: the state that follows, by
// its first letter, '.' where the event is not expected.
static const char *const expected_states[KZ_TURN_STATE_COUNT] = {
    [KZ_TURN_IDLE] = ".h........o",       //
    [KZ_TURN_HEARING] = "..jo......o",    //
    [KZ_TURN_JUDGING] = "....ct....o",    //
    [KZ_TURN_THINKING] = "......tft.o",   //
    [KZ_TURN_CONFIRMING] = "........coo", //
    [KZ_TURN_FINISHING] = "........foo",  //
    [KZ_TURN_OVER] = "...........",
};

// The actions of the step, by letters: Listen Match Think Confirm Speak finish(E) Play Forget.
static const char *const expected_actions[KZ_TURN_STATE_COUNT][KZ_EVENT_COUNT] = {
    [KZ_TURN_IDLE] = {[KZ_EVENT_SOUND_ENDED] = "L", [KZ_EVENT_STOPPED] = "F"},
    [KZ_TURN_HEARING] = {[KZ_EVENT_HEARD] = "M", [KZ_EVENT_STOPPED] = "F"},
    [KZ_TURN_JUDGING] =
        {[KZ_EVENT_COMMAND] = "CE", [KZ_EVENT_NO_COMMAND] = "T", [KZ_EVENT_STOPPED] = "F"},
    [KZ_TURN_THINKING] = {[KZ_EVENT_REPLY_TEXT] = "S",
                          [KZ_EVENT_REPLY_ENDED] = "E",
                          [KZ_EVENT_AUDIO] = "P",
                          [KZ_EVENT_STOPPED] = "F"},
    [KZ_TURN_CONFIRMING] = {[KZ_EVENT_AUDIO] = "P", [KZ_EVENT_STOPPED] = "F"},
    [KZ_TURN_FINISHING] = {[KZ_EVENT_AUDIO] = "P", [KZ_EVENT_STOPPED] = "F"},
};

static uint32_t actions_of(const char *letters) {
    static const char order[] = "LMTCSEPF";
    uint32_t actions = 0;
    for (; letters && *letters; letters++) {
        for (uint32_t i = 0; order[i]; i++) {
            actions |= order[i] == *letters ? UINT32_C(1) << i : 0;
        }
    }
    return actions;
}

static void every_state_answers_every_event(void **context) {
    (void)context;
    for (int state = 0; state < KZ_TURN_STATE_COUNT; state++) {
        for (int event = 0; event < KZ_EVENT_COUNT; event++) {
            kz_turn turn = kz_turn_initial();
            uint32_t actions = UINT32_MAX;
            turn.state = (kz_turn_state)state;
            const kz_turn next = kz_turn_step(&turn, (kz_turn_event)event, 5, &actions);
            const char follows = expected_states[state][event];
            assert_int_equal(state_names[next.state][0],
                             follows == '.' ? state_names[state][0] : follows);
            assert_int_equal(actions, actions_of(expected_actions[state][event]));
            if (follows == '.') { // nothing changes, no time either
                assert_memory_equal(&next.stages, &turn.stages, sizeof turn.stages);
            }
        }
    }
}

// --- Conversations ------------------------------------------------------------------------------

typedef struct script_step {
    kz_turn_event event;
    double at_ms;
} script_step;

typedef struct script {
    const char *what;
    script_step steps[12]; // up to the first at 0
    kz_turn_state ends_as;
    kz_turn_times times[KZ_STAGE_COUNT];
} script;

#define NEVER \
    { -1, -1, -1 }

static const script scripts[] = {
    {"an answer in two sentences",
     {{KZ_EVENT_SOUND_ENDED, 1000},
      {KZ_EVENT_HEARD, 1100},
      {KZ_EVENT_NO_COMMAND, 1101},
      {KZ_EVENT_REPLY_TEXT, 1200},
      {KZ_EVENT_REPLY_TEXT, 1210},
      {KZ_EVENT_AUDIO, 1250},
      {KZ_EVENT_REPLY_TEXT, 1260},
      {KZ_EVENT_REPLY_ENDED, 1300},
      {KZ_EVENT_AUDIO, 1400},
      {KZ_EVENT_AUDIO_ENDED, 1500}},
     KZ_TURN_OVER,
     {{0, 100, 100}, {100, -1, 101}, {101, 200, 300}, {200, 250, 500}}},
    {"a command",
     {{KZ_EVENT_SOUND_ENDED, 10},
      {KZ_EVENT_HEARD, 20},
      {KZ_EVENT_COMMAND, 21},
      {KZ_EVENT_AUDIO, 30},
      {KZ_EVENT_AUDIO, 31},
      {KZ_EVENT_AUDIO_ENDED, 40}},
     KZ_TURN_OVER,
     {{0, 10, 10}, {10, 11, 11}, NEVER, {11, 20, 30}}},
    {"silence",
     {{KZ_EVENT_SOUND_ENDED, 10}, {KZ_EVENT_HEARD_NOTHING, 30}},
     KZ_TURN_OVER,
     {{0, -1, 20}, NEVER, NEVER, NEVER}},
    {"an empty reply",
     {{KZ_EVENT_SOUND_ENDED, 10},
      {KZ_EVENT_HEARD, 20},
      {KZ_EVENT_NO_COMMAND, 20},
      {KZ_EVENT_REPLY_ENDED, 50},
      {KZ_EVENT_AUDIO_ENDED, 50}},
     KZ_TURN_OVER,
     {{0, 10, 10}, {10, -1, 10}, {10, -1, 40}, NEVER}},
    {"stopped while thinking; what comes after is ignored",
     {{KZ_EVENT_SOUND_ENDED, 10},
      {KZ_EVENT_HEARD, 20},
      {KZ_EVENT_NO_COMMAND, 21},
      {KZ_EVENT_STOPPED, 25},
      {KZ_EVENT_REPLY_TEXT, 30},
      {KZ_EVENT_AUDIO, 31}},
     KZ_TURN_OVER,
     {{0, 10, 10}, {10, -1, 11}, {11, -1, -1}, NEVER}},
    {"stopped before the person had ended",
     {{KZ_EVENT_STOPPED, 5}},
     KZ_TURN_OVER,
     {NEVER, NEVER, NEVER, NEVER}},
    {"out of order",
     {{KZ_EVENT_AUDIO, 5}, {KZ_EVENT_HEARD, 6}, {KZ_EVENT_SOUND_ENDED, 7}, {KZ_EVENT_COMMAND, 9}},
     KZ_TURN_HEARING,
     {{0, -1, -1}, NEVER, NEVER, NEVER}},
};

static void check_times(const kz_turn_times *times) {
    if (times->start_ms < 0) {
        assert_true(times->first_ms < 0 && times->end_ms < 0);
    }
    if (times->first_ms >= 0) {
        assert_true(times->first_ms >= times->start_ms);
    }
    if (times->end_ms >= 0) {
        assert_true(times->end_ms >= times->start_ms && times->end_ms >= times->first_ms);
    }
}

static void conversations_run_as_written(void **context) {
    (void)context;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const script *play = &scripts[i];
        kz_turn turn = kz_turn_initial();
        for (const script_step *step = play->steps; step->at_ms > 0; step++) {
            uint32_t actions = 0;
            turn = kz_turn_step(&turn, step->event, step->at_ms, &actions);
        }
        assert_int_equal(turn.state, play->ends_as);
        for (size_t stage = 0; stage < KZ_STAGE_COUNT; stage++) {
            const kz_turn_times *found = &turn.stages[stage], *expected = &play->times[stage];
            check_times(found);
            if (found->start_ms != expected->start_ms || found->first_ms != expected->first_ms ||
                found->end_ms != expected->end_ms) {
                fail_msg("%s, stage %zu: %g %g %g, expected %g %g %g", play->what, stage,
                         found->start_ms, found->first_ms, found->end_ms, expected->start_ms,
                         expected->first_ms, expected->end_ms);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_answers_every_event),
        cmocka_unit_test(conversations_run_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
