// pace.c: how much sound must be there before it is played.
//   in   work done, sound made
//   out  seconds of sound
#include "pipeline/pace.h"

#define BYTES_PER_SECOND 15.0 // of text, read aloud
#define UNKNOWN_LEAD_S 0.2    // before anything is measured: two or three pieces
#define GAPS 2.0              // a voice's next piece may be twice as long as its last one

void kz_pace_work(kz_pace *pace, double seconds, double made_seconds) {
    pace->waiting_s += seconds;
    if (made_seconds <= 0) {
        return;
    }
    if (pace->spoken_s > 0) {
        pace->work_s += pace->waiting_s;
        pace->made_s += made_seconds;
        pace->gap_s = pace->waiting_s;
    }
    pace->spoken_s += made_seconds;
    pace->waiting_s = 0;
}

void kz_pace_reset(kz_pace *pace) {
    pace->waiting_s = pace->gap_s = pace->spoken_s = 0;
}

double kz_pace_lead_s(const kz_pace *pace, size_t text_bytes) {
    if (pace->made_s <= 0) {
        return UNKNOWN_LEAD_S;
    }
    const double all_s = (double)text_bytes / BYTES_PER_SECOND;
    const double left_s = all_s > pace->spoken_s ? all_s - pace->spoken_s : 0;
    const double behind_s = (pace->work_s / pace->made_s - 1) * left_s;
    // The next piece must be there before the sound that is made has been heard.
    return (behind_s > 0 ? behind_s : 0) + GAPS * pace->gap_s;
}
