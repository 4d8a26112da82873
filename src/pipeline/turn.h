// turn.h: who does what when, in one turn of a conversation.
//
//   in   a turn, an event, the time
//   out  the turn after it, and actions for the loop to carry out
//
// A pure function over a table: no clock, no thread, no model. Time arrives with each event, so
// that a script of events is a test, and the times of the stages come out of the same steps.
#ifndef KZ_PIPELINE_TURN_H
#define KZ_PIPELINE_TURN_H

#include "base/status.h"

// What the turn waits for.
typedef enum kz_turn_state {
    KZ_TURN_IDLE,       // the person speaks
    KZ_TURN_HEARING,    // the listen stage works on what was said
    KZ_TURN_JUDGING,    // is it a command?
    KZ_TURN_THINKING,   // the language model writes; the voice speaks what is whole
    KZ_TURN_CONFIRMING, // a command's answer goes to the voice
    KZ_TURN_FINISHING,  // all is written; the voice speaks the rest
    KZ_TURN_OVER,
    KZ_TURN_STATE_COUNT
} kz_turn_state;

// What came of a piece of work.
typedef enum kz_turn_event {
    KZ_EVENT_NOTHING,     // a piece of work without a result; no state expects it
    KZ_EVENT_SOUND_ENDED, // the last sample of the person's turn was fed
    KZ_EVENT_HEARD,       // a transcript with words
    KZ_EVENT_HEARD_NOTHING,
    KZ_EVENT_COMMAND,
    KZ_EVENT_NO_COMMAND,
    KZ_EVENT_REPLY_TEXT, // some text of the reply
    KZ_EVENT_REPLY_ENDED,
    KZ_EVENT_AUDIO, // some samples of the reply
    KZ_EVENT_AUDIO_ENDED,
    KZ_EVENT_STOPPED, // cancelled, or a stage failed
    KZ_EVENT_COUNT
} kz_turn_event;

// What is to be done now; a step may ask for several, which are carried out from the lowest bit up.
typedef enum kz_turn_action {
    KZ_ACTION_LISTEN = 1,         // tell the listen stage that the person's turn has ended
    KZ_ACTION_MATCH = 2,          // compare the transcript with the commands
    KZ_ACTION_THINK = 4,          // give the transcript to the language model
    KZ_ACTION_CONFIRM = 8,        // give the command's response to the voice
    KZ_ACTION_SPEAK = 16,         // give the reply's text to the voice
    KZ_ACTION_FINISH_SPEECH = 32, // no more text comes
    KZ_ACTION_PLAY = 64,          // hand the samples over
    KZ_ACTION_FORGET = 128,       // the conversation keeps only what was heard
} kz_turn_action;

// Whose times are kept.
typedef enum kz_turn_stage {
    KZ_STAGE_LISTEN,
    KZ_STAGE_COMMAND,
    KZ_STAGE_THINK,
    KZ_STAGE_SPEAK,
    KZ_STAGE_COUNT
} kz_turn_stage;

// In ms since the turn's last sample was fed; -1: it did not happen. A start and a first result
// keep their first time, an end its last.
typedef struct kz_turn_times {
    double start_ms, first_ms, end_ms;
} kz_turn_times;

// A plain value: copying it is a snapshot.
typedef struct kz_turn {
    kz_turn_state state;
    double origin_ms; // when the last sample was fed, in the time of the events
    kz_turn_times stages[KZ_STAGE_COUNT];
} kz_turn;

// IDLE, no times.
kz_turn kz_turn_initial(void);
// The turn after `event` at `at_ms` (any origin), and the actions it asks for. An event that the
// state does not expect changes nothing and asks for nothing. *out_actions is of kz_turn_action.
kz_turn kz_turn_step(const kz_turn *turn, kz_turn_event event, double at_ms, uint32_t *out_actions);

#endif
