// guards.h: what keeps a recogniser from writing where nothing was said, once it has written.
//
// Whisper invents text on noise and tones (thanks, subtitle credits, dots) and repeats itself
// without end. listen/sound.h judges the sound; these guards look at the decoder's own doubts and
// at the form of the text. They hold no list of phrases, which would miss the next language.
// docs/listening.md has the measured values.
#ifndef KZ_LISTEN_GUARDS_H
#define KZ_LISTEN_GUARDS_H

#include "base/status.h"

// What is known of a window after decoding.
typedef struct kz_verdict {
    const char *text;      // UTF-8, NUL-terminated
    const int32_t *tokens; // [token_count], of the text
    size_t token_count;
    float avg_logprob;    // natural, mean over the tokens and the end
    float no_speech_prob; // 0 to 1, of the decoder's first step
    float change_db;      // of the sound (listen/sound.h)
} kz_verdict;
// False: the text is not what was said. It has no letter or digit, or its log-probability is below
// what no_speech_prob, a sound that hardly changes and echoes in the text ask for. OpenAI's own
// rule (whisper/transcribe.py: no_speech_prob > 0.6 and avg_logprob < -1) is one point of the line
// drawn here.
bool kz_text_is_believable(const kz_verdict *verdict);

// Length to which a token list should be cut when its end repeats itself: one of the equal
// stretches stays. `count` when it does not. A single token counts as a loop after 8 times,
// stretches of 7 and more after 3. Made to be called after each token; at worst quadratic in
// `count`.
size_t kz_repetition_cut(const int32_t *tokens, size_t count);

#endif
