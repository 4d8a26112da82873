// guards.h: what keeps a recogniser from writing where nothing was said, once it has written.
//
// Whisper invents text on noise and tones (thanks, subtitle credits, dots) and repeats itself
// without end. listen/sound.h judges the sound; these guards look at the decoder's own doubts and
// at the form of the text. They hold no list of phrases, which would miss the next language.
// docs/listening.md has the measured values.
#ifndef KZ_LISTEN_GUARDS_H
#define KZ_LISTEN_GUARDS_H

#include "base/status.h"

typedef struct kz_verdict {
    const char *text;
    const int32_t *tokens; // of the text
    size_t token_count;
    float avg_logprob;
    float no_speech_prob;
    float change_db; // of the sound (listen/sound.h)
} kz_verdict;
// False: the text is not what was said.
bool kz_text_is_believable(const kz_verdict *verdict);

// Length to which a token list should be cut when its end repeats itself: one of the equal
// stretches stays. `count` when it does not.
size_t kz_repetition_cut(const int32_t *tokens, size_t count);

#endif
