// espeak.h: the fallback voice: espeak-ng, by sentences.
//
// Names are "espeak:VOICE" with espeak-ng's own voice names ("espeak:fr", "espeak:en-us"); without
// one, the options' language is taken. Speed is 0.46 to 2.57 (80 to 450 words a minute). Sound is
// at espeak-ng's rate, 22050 Hz.
#ifndef KZ_SPEAK_ESPEAK_H
#define KZ_SPEAK_ESPEAK_H

#include "speak/voice.h"

extern const kz_voice_table kz_espeak_voice_table;

#endif
