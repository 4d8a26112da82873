// guards.h: what keeps a recogniser from writing where nothing was said.
//
// Whisper invents text on silence, noise and tones (thanks, subtitle credits, dots) and repeats
// itself without end. These guards look at the sound, at the decoder's own doubts, and at the form
// of the text; they hold no list of phrases, which would miss the next language.
#ifndef KZ_LISTEN_GUARDS_H
#define KZ_LISTEN_GUARDS_H

#include "base/status.h"

// What the sound of a window looks like.
typedef struct kz_sound {
    float loudest_db; // RMS of the loudest 0.1 s, dB below full scale
    float swing_db;   // spread of the short-time level: speech rises and falls
    double voiced_s;  // time that is clearly above the window's floor
} kz_sound;

// 16 kHz mono samples.
kz_sound kz_sound_measure(const float *samples, size_t count);
// False: nothing that could be speech; there is no need to decode.
bool kz_sound_may_be_speech(const kz_sound *sound, size_t count);

typedef struct kz_verdict {
    const char *text;
    size_t token_count;
    float avg_logprob;
    float no_speech_prob;
    kz_sound sound;
} kz_verdict;
// False: the text is not what was said.
bool kz_text_is_believable(const kz_verdict *verdict);

// Length to which a token list should be cut when its end repeats itself; `count` when it does not.
size_t kz_repetition_cut(const int32_t *tokens, size_t count);

#endif
