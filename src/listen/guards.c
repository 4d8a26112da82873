// guards.c: what keeps a recogniser from writing where nothing was said, once it has written.
//   in   text with the decoder's probabilities; tokens
//   out  verdicts
// OpenAI's rule (no speech over 0.6 and log-probability under -1) is one point of a line here: the
// surer the decoder is that nothing was said, the surer it must be of what it wrote.
#include "listen/guards.h"

#include <math.h>
#include <string.h>

// Least log-probability = slope * no_speech_prob + offset: -1 at 0.6, -0.4 at 0.9, -1.6 at 0.3.
#define DOUBT_SLOPE 2.0f
#define DOUBT_OFFSET (-2.2f)
// Speech in strong noise changes shape by 3 dB or more; below that each missing decibel costs.
#define WEAK_CHANGE_DB 3.2f
#define DOUBT_PER_DB 0.625f
// What was written before is easily written again: echoes make a text look surer than it is.
#define DOUBT_PER_ECHO 1.0f

// A letter or digit: anything beyond ASCII counts as a letter but general punctuation (U+2000 to
// U+206F) and musical signs (U+2600 to U+26FF), which stand alone only in invented text.
static bool has_word(const char *text) {
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        const bool is_ascii_word =
            (*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z');
        const bool is_sign = *p == 0xE2 || *p == 0xC2;
        if (is_ascii_word || (*p >= 0xC3 && !is_sign)) {
            return true;
        }
        if (is_sign) {
            p += *p == 0xE2 && p[1] ? 1 : 0;
            p += p[1] ? 1 : 0;
        }
    }
    return false;
}

// Share of the pairs of tokens that stand earlier in the text already.
static float echo_share(const int32_t *tokens, size_t count) {
    size_t echoes = 0;
    for (size_t i = 1; i + 1 < count; i++) {
        size_t k = 0;
        // Quadratic, over the at most 224 tokens of a window.
        while (k < i && (tokens[k] != tokens[i] || tokens[k + 1] != tokens[i + 1])) {
            k++;
        }
        echoes += k < i;
    }
    return count < 2 ? 0.0f : (float)echoes / (float)(count - 1);
}

bool kz_text_is_believable(const kz_verdict *verdict) {
    const float missing_db = fmaxf(0.0f, WEAK_CHANGE_DB - verdict->change_db);
    const float least = DOUBT_SLOPE * verdict->no_speech_prob + DOUBT_OFFSET +
                        DOUBT_PER_DB * missing_db +
                        DOUBT_PER_ECHO * echo_share(verdict->tokens, verdict->token_count);
    return has_word(verdict->text) && verdict->avg_logprob >= least;
}

// True when the last `times` stretches of `length` tokens are equal.
static bool repeats(const int32_t *tokens, size_t count, size_t length, size_t times) {
    if (length * times > count) {
        return false;
    }
    const int32_t *end = tokens + count;
    for (size_t i = 1; i < times; i++) {
        if (memcmp(end - length, end - (i + 1) * length, length * sizeof *tokens) != 0) {
            return false;
        }
    }
    return true;
}

// Short stretches are said several times ("non, non, non"); long ones hardly ever.
static size_t times_of_loop(size_t length) {
    static const size_t times[] = {0, 8, 6, 5, 4, 4, 4};
    return length < sizeof times / sizeof *times ? times[length] : 3;
}

size_t kz_repetition_cut(const int32_t *tokens, size_t count) {
    // The shortest loop first: a run of one word is also a run of two.
    for (size_t length = 1; length * 3 <= count; length++) {
        const size_t times = times_of_loop(length);
        if (repeats(tokens, count, length, times)) {
            // One stretch stays: it may have been said once.
            return count - length * (times - 1);
        }
    }
    return count;
}
