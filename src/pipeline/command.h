// command.h: is what was said a command?
//
// Commands are tried before the language model. The grammar says what a sentence means; accepting
// or refusing it is decided here.
#ifndef KZ_PIPELINE_COMMAND_H
#define KZ_PIPELINE_COMMAND_H

#include "text/command_grammar.h"

// `matcher` may be NULL: nothing is a command then. No match is KAZEIA_OK with is_match false, so
// is a sentence that the grammar is too ambiguous for. Placeholders for the time are filled from
// the system's clock. The result's strings belong to matcher and grammar, until the next match.
KAZEIA_MUST_CHECK kazeia_status kz_command_judge(kz_command_matcher *matcher,
                                                 const char *transcript,
                                                 kz_command_result *out_result);

// What a heard sentence needs to be carried out (docs/commands.md has the measured values).
typedef struct kz_command_thresholds {
    float score; // of one word; each further word asks for `word_score` more
    float word_score;
    float end, margin;
    float guarded_score; // for what opens a house: locks, doors, alarms
    // What no other command comes near may have a score that is this much lower, for one word and
    // for each further one: noise takes from every word.
    float lone_score, lone_word_score, lone_margin;
    // With another command nearer than `near_margin`, or an end below `fair_end`, the score must be
    // `near_score` higher; twice that with another nearer than `tie_margin`.
    float near_score, near_margin, tie_margin, fair_end;
} kz_command_thresholds;

kz_command_thresholds kz_command_thresholds_default(void);

typedef enum kz_command_verdict {
    KZ_COMMAND_REFUSED,
    KZ_COMMAND_ACCEPTED,
    KZ_COMMAND_ASK,    // which of the first two is meant
    KZ_COMMAND_CONFIRM // whether this one is meant: it is guarded, or another is near
} kz_command_verdict;

// `found` [count] best first, as hear gives them; `result` is what the first one means.
kz_command_verdict kz_command_decide(const kz_command_thresholds *thresholds,
                                     const kz_command_hypothesis *found, uint32_t count,
                                     const kz_command_result *result);

// How far a hypothesis is above the thresholds it needs to be accepted or confirmed; below 0: it is
// refused or asked about.
float kz_command_slack(const kz_command_thresholds *thresholds, const kz_command_hypothesis *one);

#endif
