// utterance.h: the plain structs that cross the border between abilities.
//
// Declared below both sides, so that neither listen nor llm nor speak includes another.
#ifndef KZ_TEXT_UTTERANCE_H
#define KZ_TEXT_UTTERANCE_H

#include "base/status.h"

// What was heard in one span of sound. All pointers belong to the stage that gave them and are
// valid until its next call.
typedef struct kz_utterance {
    const char *text;     // UTF-8, trimmed; "" when nothing was said
    const char *language; // ISO 639-1 code, as "fr"
    double start_s, end_s;
    float avg_logprob; // mean log-probability of the tokens, end-of-text included
    float no_speech_prob;
} kz_utterance;

// One turn of a conversation, as a chat template sees it.
typedef struct kz_message {
    const char *role; // "system", "user" or "assistant"
    const char *content;
} kz_message;

#endif
