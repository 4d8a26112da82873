// command_tune.c: a search of thresholds.
//
// in: labels. out: thresholds. Two of them at a time go through all their values while the others
// stand still, until no pair gives more: score and margin, say, can only be judged together, and a
// grid of all of them would take minutes.
#include "pipeline/command_tune.h"

#include <math.h>
#include <stddef.h>

#define MOST_CLEARANCE 3.0f

enum { MOST_ROUNDS = 8 };

static const struct {
    size_t offset;
    float from, to, step;
} knobs[] = {
    {offsetof(kz_command_thresholds, score), -8, 4, 0.5f},
    {offsetof(kz_command_thresholds, word_score), 0, 4, 0.5f},
    {offsetof(kz_command_thresholds, end), -2, -0.25f, 0.25f},
    {offsetof(kz_command_thresholds, margin), 0.1f, 2, 0.1f},
    {offsetof(kz_command_thresholds, lone_score), 0, 4, 0.5f},
    {offsetof(kz_command_thresholds, lone_word_score), 0, 2, 0.25f},
    {offsetof(kz_command_thresholds, lone_margin), 2, 8, 0.5f},
    {offsetof(kz_command_thresholds, near_score), 0, 5, 0.5f},
    {offsetof(kz_command_thresholds, near_margin), 0.5f, 6, 0.5f},
    {offsetof(kz_command_thresholds, tie_margin), 0.25f, 2, 0.25f},
    {offsetof(kz_command_thresholds, fair_end), -2, -0.25f, 0.25f},
};

#define KNOBS (sizeof knobs / sizeof knobs[0])

static float *knob_of(kz_command_thresholds *thresholds, size_t knob) {
    return (float *)(void *)((char *)thresholds + knobs[knob].offset);
}

kz_command_tally kz_command_tally_of(const kz_command_thresholds *thresholds,
                                     const kz_command_label *labels, uint32_t count) {
    kz_command_tally tally = {.clearance = MOST_CLEARANCE};
    for (uint32_t i = 0; i < count; i++) {
        const float slack = kz_command_slack(thresholds, &labels[i].heard);
        if (labels[i].is_right && slack >= 0) {
            tally.right++;
            // What is missed is said again, what is wrong was done: the line is drawn nearer to
            // the right ones.
            tally.clearance = fminf(tally.clearance, 2 * slack);
        } else if (!labels[i].is_right) {
            tally.wrong += slack >= 0;
            tally.clearance = fminf(tally.clearance, -slack);
        }
    }
    return tally;
}

static bool is_better(const kz_command_tally *one, const kz_command_tally *other) {
    if (one->wrong != other->wrong) {
        return one->wrong < other->wrong;
    }
    return one->right != other->right ? one->right > other->right
                                      : one->clearance > other->clearance;
}

static bool tune_pair(const kz_command_label *labels, uint32_t count, size_t first, size_t second,
                      kz_command_thresholds *thresholds) {
    kz_command_tally best = kz_command_tally_of(thresholds, labels, count);
    kz_command_thresholds tried = *thresholds;
    bool is_changed = false;
    for (float a = knobs[first].from; a <= knobs[first].to; a += knobs[first].step) {
        for (float b = knobs[second].from; b <= knobs[second].to; b += knobs[second].step) {
            *knob_of(&tried, first) = a;
            *knob_of(&tried, second) = b;
            const kz_command_tally tally = kz_command_tally_of(&tried, labels, count);
            if (is_better(&tally, &best)) {
                best = tally;
                *thresholds = tried;
                is_changed = true;
            }
        }
    }
    return is_changed;
}

void kz_command_tune(const kz_command_label *labels, uint32_t count,
                     kz_command_thresholds *thresholds) {
    bool is_changed = true;
    for (int round = 0; is_changed && round < MOST_ROUNDS; round++) {
        is_changed = false;
        for (size_t first = 0; first < KNOBS; first++) {
            for (size_t second = first + 1; second < KNOBS; second++) {
                is_changed = tune_pair(labels, count, first, second, thresholds) || is_changed;
            }
        }
    }
}
