// utterance.h: the plain struct that crosses the border between listening and what follows.
//
// Declared below both sides, so that no ability includes another.
#ifndef KZ_TEXT_UTTERANCE_H
#define KZ_TEXT_UTTERANCE_H

#include "base/status.h"

// What was heard in one span of sound. All pointers belong to the stage that gave them and are
// valid until its next call.
typedef struct kz_utterance {
    const char *text;      // UTF-8, trimmed; "" when nothing was said
    const char *language;  // ISO 639-1 code, as "fr"
    double start_s, end_s; // in what was fed since the stage was made or reset
    float avg_logprob;     // mean natural log-probability of the tokens, end-of-text included
    float no_speech_prob;  // 0 to 1
} kz_utterance;

#endif
