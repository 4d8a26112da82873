// vad_rule.h: from probabilities of speech to spans of speech.
//
// A pure function over a small value: no model, no clock. Speech begins with a window whose
// probability reaches `threshold`; it is believed once it has lasted `min_speech` samples, pauses
// included, and forgotten when as many samples of silence come before that. Silence begins with a
// window at least 0.15 below the threshold (Silero's own hysteresis), and ends the span after
// `hang_over` samples without speech; less than three windows of it there are taken for a noise. A
// span begins where the probability first rose above what silence gives, at most five windows
// earlier, and reaches `pre_roll` samples further at both ends, but never into the one before it.
// Positions are samples since the first window.
#ifndef KZ_LISTEN_VAD_RULE_H
#define KZ_LISTEN_VAD_RULE_H

#include "base/status.h"

typedef struct kz_vad_rule {
    // Set by the caller before the first window, in samples but for the threshold.
    float threshold; // 0 to 1
    uint32_t window; // of each step
    uint32_t min_speech, pre_roll, hang_over;
    // The rule's own; zeros at the start.
    uint64_t position;     // end of what was judged
    uint64_t start;        // of the speech that goes on: its first sure window
    uint64_t onset;        // where it began to be likely
    uint64_t stirring;     // since when it is not unlikely
    uint64_t silence;      // where it last fell silent
    uint64_t resumption;   // where it may have gone on after that
    uint64_t previous_end; // of the last span
    bool is_speech, is_sure, is_silent, is_resuming, is_stirring;
    uint32_t calm_windows; // without stirring
} kz_vad_rule;

// Samples [start, end).
typedef struct kz_vad_span {
    uint64_t start, end;
} kz_vad_span;

// Forgets all windows, keeps the settings.
void kz_vad_rule_reset(kz_vad_rule *rule);
// Takes the probability of the next window; true when a span has ended with it, which is then
// written.
bool kz_vad_rule_step(kz_vad_rule *rule, float probability, kz_vad_span *out_span);
// The sound ends at sample `end`, within the last window or at its end; true as above.
bool kz_vad_rule_finish(kz_vad_rule *rule, uint64_t end, kz_vad_span *out_span);
// The part of a span that is not over yet of which no later window can change anything: its end
// only moves on. False when there is no such span.
bool kz_vad_rule_sure(const kz_vad_rule *rule, kz_vad_span *out_span);
// No span that is still to come, or not over, begins before this sample.
uint64_t kz_vad_rule_earliest(const kz_vad_rule *rule);

#endif
