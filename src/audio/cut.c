// cut.c: finds the quietest place near the end of a window.
//
// in:  mono samples and a rule (window, search range, length of the quiet stretch)
// out: the length of the first window
// The energy of overlapping stretches is compared, not single samples: a zero crossing is no pause.
#include "audio/cut.h"

#include <assert.h>

#define HOPS_PER_STRETCH 16 // step between compared stretches: 12.5 ms for a stretch of 0.2 s

// 30 s is what Whisper hears at once. A pause between sentences is looked for in the last 5 s only:
// an earlier cut would waste a window, since each costs the same however short its sound.
kz_cut_rule kz_cut_rule_whisper(uint32_t sample_rate_hz) {
    return (kz_cut_rule){.window_count = (size_t)30 * sample_rate_hz,
                         .search_count = (size_t)5 * sample_rate_hz,
                         .quiet_count = sample_rate_hz / 5};
}

// In double: the sum of half a million squares in float would lose the quiet ones that decide.
static double energy_of(const float *samples, size_t count) {
    double energy = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double sample = kz_sample_or_silence(samples[i]);
        energy += sample * sample;
    }
    return energy;
}

size_t kz_audio_find_quiet_cut(const float *samples, size_t count, const kz_cut_rule *rule) {
    assert(rule->window_count > 0 && rule->search_count <= rule->window_count);
    assert(rule->quiet_count <= rule->search_count);
    if (count <= rule->window_count) {
        return count;
    }
    const size_t hop = rule->quiet_count / HOPS_PER_STRETCH + 1;
    const size_t first = rule->window_count - rule->search_count;
    size_t start = rule->window_count - rule->quiet_count;
    size_t quietest = start;
    double least = energy_of(samples + start, rule->quiet_count);
    // From the end towards the front, and only a truly quieter place wins: of equal pauses the last
    // gives the longest window.
    while (start >= first + hop) {
        start -= hop;
        const double energy = energy_of(samples + start, rule->quiet_count);
        if (energy < least) {
            least = energy;
            quietest = start;
        }
    }
    // In the middle of the quiet stretch, so that neither side begins or ends in a word.
    return quietest + rule->quiet_count / 2;
}
