// playback.h: what somebody would hear who plays sound while it is made.
//
// in:  when sound came, and how much should be there first
// out: when playing begins, and how often it runs dry
//
// Nothing is played: the program writes files. It follows the same rule as a player would, with the
// voice's own advice, and so tells how that would have gone.
#ifndef CLI_PLAYBACK_H
#define CLI_PLAYBACK_H

#include <stdint.h>

typedef struct cli_playback {
    double start_ms; // < 0: not playing yet
    double made_s, missing_s;
    uint64_t underruns;
} cli_playback;

// Sound that comes at `now_ms`; `lead_s` as the voice's statistics have it after it.
void cli_playback_take(cli_playback *playback, double now_ms, double seconds, double lead_s);
// All sound is there: a short text begins now at the latest.
void cli_playback_end(cli_playback *playback, double now_ms);

#endif
