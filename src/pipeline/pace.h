// pace.h: how much sound must be there before it is played, so that the rest does not run dry.
//
//   in   text that was fed, and how long a voice worked for how much sound
//   out  seconds of sound
//
// A voice that is faster than speech needs no more than bridges the time to its next piece. One
// that is slower must be ahead by what it will fall behind until the end: so its speed is measured
// as it works, and the end is guessed from the text. What comes before the first sound of a text is
// no measure of speed and is left out. No clock here: the caller tells the time.
#ifndef KZ_PIPELINE_PACE_H
#define KZ_PIPELINE_PACE_H

#include <stddef.h>

// Zeros are a voice that has not spoken yet.
typedef struct kz_pace {
    double work_s, made_s; // work behind the first sounds, and what it made
    double waiting_s;      // work since the last sound
    double gap_s;          // work between the last two sounds
    double spoken_s;       // made of the present text
} kz_pace;

void kz_pace_work(kz_pace *pace, double seconds, double made_seconds);
// Another text; what is known of the speed stays.
void kz_pace_reset(kz_pace *pace);
// Seconds that should be made and not yet played when playing begins, or goes on, of a text of so
// many bytes as far as it is known.
double kz_pace_lead_s(const kz_pace *pace, size_t text_bytes);

#endif
