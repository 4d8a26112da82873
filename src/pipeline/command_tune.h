// command_tune.h: thresholds from sounds of which it is known what they are.
//
// in:  what was heard in each, and whether that was right
// out: thresholds
#ifndef KZ_PIPELINE_COMMAND_TUNE_H
#define KZ_PIPELINE_COMMAND_TUNE_H

#include "pipeline/command.h"

// The best hypothesis of a sound. `is_right`: it is what was said; else it must not be carried out,
// since another command was said, or none.
typedef struct kz_command_label {
    kz_command_hypothesis heard;
    bool is_right;
} kz_command_label;

// What thresholds do to the labels.
typedef struct kz_command_tally {
    uint32_t right, wrong; // accepted, and right; accepted, though it must not be
    // How far the decision that is nearest to falling the other way is from it, at most 3; of what
    // is right and accepted twice as far. Negative with something wrong.
    float clearance;
} kz_command_tally;

kz_command_tally kz_command_tally_of(const kz_command_thresholds *thresholds,
                                     const kz_command_label *labels, uint32_t count);

// Changes `thresholds` until nothing that is near is better: fewer wrong, then more right, then
// more clearance. What is guarded keeps its score: no label is worth an open door. Allocates
// nothing; bounded time.
void kz_command_tune(const kz_command_label *labels, uint32_t count,
                     kz_command_thresholds *thresholds);

#endif
