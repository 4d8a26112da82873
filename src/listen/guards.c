// guards.c: what keeps a recogniser from writing where nothing was said.
//   in   samples; text with the decoder's probabilities
//   out  verdicts
// The thresholds for the decoder's doubts are OpenAI's (no_speech 0.6 with log-probability -1.0),
// those for the sound were set on recorded commands, room noise, tones and white noise.
#include "listen/guards.h"

#include <math.h>
#include <string.h>

#define FRAME 400           // 25 ms at 16 kHz
#define FRAME_LIMIT 1200    // 30 s
#define LEAST_SAMPLES 1600  // 0.1 s: shorter than any word
#define SILENCE_DB (-60.0f) // a loudest tenth of a second below this holds no word
#define STEADY_DB 3.0f      // levels that stay within this are noise or a tone

static float level_db(const float *samples, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)samples[i] * samples[i];
    }
    return (float)(10.0 * log10(sum / (double)count + 1e-12));
}

static void sort_levels(float *levels, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const float level = levels[i];
        size_t place = i;
        for (; place > 0 && levels[place - 1] > level; place--) {
            levels[place] = levels[place - 1];
        }
        levels[place] = level;
    }
}

kz_sound kz_sound_measure(const float *samples, size_t count) {
    float levels[FRAME_LIMIT];
    size_t frames = 0;
    kz_sound sound = {.loudest_db = -120.0f};
    for (size_t first = 0; first + FRAME <= count && frames < FRAME_LIMIT; first += FRAME) {
        levels[frames++] = level_db(samples + first, FRAME);
    }
    for (size_t i = 0; i + 4 <= frames; i++) {
        const float level = level_db(samples + i * FRAME, 4 * (size_t)FRAME);
        sound.loudest_db = level > sound.loudest_db ? level : sound.loudest_db;
    }
    if (frames == 0) {
        return sound;
    }
    sort_levels(levels, frames);
    const float floor_db = levels[frames / 10];
    sound.swing_db = levels[frames - 1 - frames / 20] - floor_db;
    for (size_t i = 0; i < frames; i++) {
        sound.voiced_s += levels[i] > floor_db + STEADY_DB ? FRAME / 16000.0 : 0.0;
    }
    return sound;
}

bool kz_sound_may_be_speech(const kz_sound *sound, size_t count) {
    return count >= LEAST_SAMPLES && sound->loudest_db > SILENCE_DB && sound->swing_db > STEADY_DB;
}

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

bool kz_text_is_believable(const kz_verdict *verdict) {
    if (!has_word(verdict->text)) {
        return false;
    }
    return !(verdict->no_speech_prob > 0.6f && verdict->avg_logprob < -1.0f);
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

size_t kz_repetition_cut(const int32_t *tokens, size_t count) {
    // Short stretches are said several times ("non, non, non"); long ones hardly ever.
    static const struct {
        size_t length, times;
    } limits[] = {{1, 8}, {2, 6}, {3, 5},  {4, 4},  {5, 4},
                  {6, 4}, {8, 3}, {10, 3}, {12, 3}, {16, 3}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (repeats(tokens, count, limits[i].length, limits[i].times)) {
            return count - limits[i].length * (limits[i].times - 1);
        }
    }
    return count;
}
