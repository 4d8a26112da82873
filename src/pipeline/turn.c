// turn.c: who does what when, in one turn of a conversation.
//   in   a state, an event, the time
//   out  the next state, actions, the stages' times
#include "pipeline/turn.h"

typedef struct transition {
    bool is_expected;
    kz_turn_state next;
    uint32_t actions;
} transition;

#define GO(state, actions) \
    { true, state, actions }

// A pair that is missing here is no error but no event: a late sample after the turn's end changes
// nothing.
static const transition transitions[KZ_TURN_STATE_COUNT][KZ_EVENT_COUNT] = {
    [KZ_TURN_IDLE] = {[KZ_EVENT_SOUND_ENDED] = GO(KZ_TURN_HEARING, KZ_ACTION_LISTEN),
                      [KZ_EVENT_STOPPED] = GO(KZ_TURN_OVER, KZ_ACTION_FORGET)},
    [KZ_TURN_HEARING] = {[KZ_EVENT_HEARD] = GO(KZ_TURN_JUDGING, KZ_ACTION_MATCH),
                         [KZ_EVENT_HEARD_NOTHING] = GO(KZ_TURN_OVER, 0),
                         [KZ_EVENT_STOPPED] = GO(KZ_TURN_OVER, KZ_ACTION_FORGET)},
    [KZ_TURN_JUDGING] = {[KZ_EVENT_COMMAND] =
                             GO(KZ_TURN_CONFIRMING, KZ_ACTION_CONFIRM | KZ_ACTION_FINISH_SPEECH),
                         [KZ_EVENT_NO_COMMAND] = GO(KZ_TURN_THINKING, KZ_ACTION_THINK),
                         [KZ_EVENT_STOPPED] = GO(KZ_TURN_OVER, KZ_ACTION_FORGET)},
    // Sound may come before the reply is whole: that is what makes the first word early.
    [KZ_TURN_THINKING] = {[KZ_EVENT_REPLY_TEXT] = GO(KZ_TURN_THINKING, KZ_ACTION_SPEAK),
                          [KZ_EVENT_REPLY_ENDED] = GO(KZ_TURN_FINISHING, KZ_ACTION_FINISH_SPEECH),
                          [KZ_EVENT_AUDIO] = GO(KZ_TURN_THINKING, KZ_ACTION_PLAY),
                          [KZ_EVENT_STOPPED] = GO(KZ_TURN_OVER, KZ_ACTION_FORGET)},
    [KZ_TURN_CONFIRMING] = {[KZ_EVENT_AUDIO] = GO(KZ_TURN_CONFIRMING, KZ_ACTION_PLAY),
                            [KZ_EVENT_AUDIO_ENDED] = GO(KZ_TURN_OVER, 0),
                            [KZ_EVENT_STOPPED] = GO(KZ_TURN_OVER, KZ_ACTION_FORGET)},
    [KZ_TURN_FINISHING] = {[KZ_EVENT_AUDIO] = GO(KZ_TURN_FINISHING, KZ_ACTION_PLAY),
                           [KZ_EVENT_AUDIO_ENDED] = GO(KZ_TURN_OVER, 0),
                           [KZ_EVENT_STOPPED] = GO(KZ_TURN_OVER, KZ_ACTION_FORGET)},
};

// Which stage's time an event marks, and which mark: s start, f first result, e end.
typedef struct time_mark {
    kz_turn_stage stage;
    char mark;
} time_mark;

static const time_mark marks[KZ_EVENT_COUNT][4] = {
    [KZ_EVENT_SOUND_ENDED] = {{KZ_STAGE_LISTEN, 's'}},
    [KZ_EVENT_HEARD] = {{KZ_STAGE_LISTEN, 'f'}, {KZ_STAGE_LISTEN, 'e'}, {KZ_STAGE_COMMAND, 's'}},
    [KZ_EVENT_HEARD_NOTHING] = {{KZ_STAGE_LISTEN, 'e'}},
    [KZ_EVENT_COMMAND] = {{KZ_STAGE_COMMAND, 'f'}, {KZ_STAGE_COMMAND, 'e'}, {KZ_STAGE_SPEAK, 's'}},
    [KZ_EVENT_NO_COMMAND] = {{KZ_STAGE_COMMAND, 'e'}, {KZ_STAGE_THINK, 's'}},
    [KZ_EVENT_REPLY_TEXT] = {{KZ_STAGE_THINK, 'f'}, {KZ_STAGE_SPEAK, 's'}},
    [KZ_EVENT_REPLY_ENDED] = {{KZ_STAGE_THINK, 'e'}},
    [KZ_EVENT_AUDIO] = {{KZ_STAGE_SPEAK, 'f'}},
    [KZ_EVENT_AUDIO_ENDED] = {{KZ_STAGE_SPEAK, 'e'}},
};

kz_turn kz_turn_initial(void) {
    // -1, since 0 ms is a time that occurs.
    kz_turn turn = {.state = KZ_TURN_IDLE};
    for (int i = 0; i < KZ_STAGE_COUNT; i++) {
        turn.stages[i] = (kz_turn_times){-1, -1, -1};
    }
    return turn;
}

// Starts and firsts keep their first time, ends their last. What never started does not end: the
// voice, when the reply is empty.
static void set_time(kz_turn *turn, const time_mark *mark, double at_ms) {
    kz_turn_times *times = &turn->stages[mark->stage];
    if (mark->mark == 'e') {
        times->end_ms = times->start_ms < 0 ? -1 : at_ms;
        return;
    }
    double *place = mark->mark == 's' ? &times->start_ms : &times->first_ms;
    *place = *place < 0 ? at_ms : *place;
}

kz_turn kz_turn_step(const kz_turn *turn, kz_turn_event event, double at_ms,
                     uint32_t *out_actions) {
    kz_turn next = *turn;
    const transition *step = &transitions[turn->state][event];
    *out_actions = 0;
    if (!step->is_expected) {
        return next;
    }
    next.state = step->next;
    // All times count from the end of the person's sound, which is what the person waits from.
    next.origin_ms = event == KZ_EVENT_SOUND_ENDED ? at_ms : turn->origin_ms;
    for (size_t i = 0; i < sizeof marks[event] / sizeof *marks[event] && marks[event][i].mark;
         i++) {
        set_time(&next, &marks[event][i], at_ms - next.origin_ms);
    }
    *out_actions = step->actions;
    return next;
}
