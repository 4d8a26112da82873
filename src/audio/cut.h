// cut.h: where to cut long sound into windows, so that no word is cut in two.
#ifndef KZ_AUDIO_CUT_H
#define KZ_AUDIO_CUT_H

#include "audio/samples.h"

typedef struct kz_cut_rule {
    size_t window_count; // longest window, in samples; at least 1
    size_t search_count; // the cut lies in this many last samples of the window; <= window_count
    size_t quiet_count;  // length of the stretch whose energy is compared; <= search_count
} kz_cut_rule;

// Whisper's: windows of 30 s cut in their last 5 s, at the middle of the quietest 0.2 s.
kz_cut_rule kz_cut_rule_whisper(uint32_t sample_rate_hz);

// How many of `samples` belong to the first window: `count` when all fit, else a count in
// [window_count - search_count, window_count], the middle of the quietest stretch (the latest of
// equally quiet ones). Never 0 unless `count` is 0 or the rule searches the whole window. Reads the
// search range only, allocates nothing.
size_t kz_audio_find_quiet_cut(const float *samples, size_t count, const kz_cut_rule *rule);

#endif
