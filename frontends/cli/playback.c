// playback.c: what somebody would hear who plays sound while it is made.
//
// in:  when sound came
// out: when playing begins, and how often it runs dry
#include "playback.h"

#include <stdbool.h>

void cli_playback_take(cli_playback *playback, double now_ms, double seconds, double lead_s) {
    const bool is_playing = playback->start_ms >= 0;
    const double heard_s = (now_ms - playback->start_ms) / 1e3 - playback->missing_s;
    if (is_playing && heard_s > playback->made_s) {
        playback->missing_s += heard_s - playback->made_s;
        playback->underruns++;
    }
    playback->made_s += seconds;
    if (!is_playing && playback->made_s >= lead_s) {
        playback->start_ms = now_ms;
    }
}

void cli_playback_end(cli_playback *playback, double now_ms) {
    if (playback->start_ms < 0 && playback->made_s > 0) {
        playback->start_ms = now_ms;
    }
}
