// sound.h: whether a window's sound can be speech, before anything is decoded.
//
// A voice moves: within a second its level rises and falls, and its spectrum changes shape from
// sound to sound. Noise keeps its shape however its level swings; a tone, a beep and a sweep keep
// nearly all their power in one place. docs/listening.md has the measured values behind the limits.
#ifndef KZ_LISTEN_SOUND_H
#define KZ_LISTEN_SOUND_H

#include "base/status.h"

// What is measured; the last three are 0 where the sound is silent or too short to look at.
typedef struct kz_sound {
    float loudest_db; // RMS of the loudest 0.1 s, dB of full scale
    float swing_db;   // level of the loudest quarter second above the window's floor
    float change_db;  // how far the shape of the spectrum moves while the sound is loud
    float tonality; // 0 to 1: share of the power in the two strongest mel channels while it is loud
} kz_sound;

// Shorter than any word: 0.1 s at 16 kHz.
#define KZ_SOUND_LEAST_SAMPLES 1600u

// `samples` [count] at 16 kHz and their log-mel rows [KZ_MEL_ROWS][mels] (audio/mel.h), of which
// those under the samples are read. Samples that are no numbers count as silence. Allocates
// nothing; some 2 ms for 30 s.
kz_sound kz_sound_measure(const float *samples, size_t count, const float *mel_rows, size_t mels);

// False: nothing in it can be speech; there is no need to decode.
bool kz_sound_may_be_speech(const kz_sound *sound);

#endif
