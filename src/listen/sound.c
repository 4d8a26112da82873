// sound.c: whether a window's sound can be speech, before anything is decoded.
//   in   samples and their log-mel rows
//   out  four measures and a verdict
// The measures are few and physical, so that noise of a kind that nobody recorded is judged like
// the kinds that were; a trained detector would know only its own.
#include "listen/sound.h"

#include <math.h>

#include "audio/mel.h"

#define BANDS 16      // equal steps on the mel scale
#define SMOOTH_ROWS 5 // 50 ms: longer than the flutter of noise, shorter than a syllable
#define TOP_ROWS 25   // 0.25 s of sound is enough to be a word
#define LOUD_DB 15.0f // rows within this of the top count as loud
#define FLOOR_DB (-120.0f)
#define STRETCH_STEPS 4

#define SILENCE_DB (-70.0f) // a loudest tenth of a second below this holds no word
#define LEAST_SWING_DB 6.0f
#define LEAST_CHANGE_DB 2.2f
#define MOST_TONALITY 0.75f

// Part of the mel channels that lies in the voice's range, about 150 to 6500 Hz, in 1/80.
#define FIRST_CHANNEL 4
#define END_CHANNEL 72
#define LEAST_MELS 20 // fewer cannot fill the bands
#define LEAST_ROWS (KZ_SOUND_LEAST_SAMPLES / KZ_MEL_HOP)

typedef struct mel_view {
    const float *rows; // [count][mels]
    size_t count, mels;
} mel_view;

// One row in powers, not logarithms: those of single channels are too ragged to compare.
typedef struct row_power {
    float bands[BANDS];
    float total;
    float strongest, second; // of the channels
} row_power;

// Sums over the loud rows.
typedef struct loud_sums {
    double shape[BANDS], square[BANDS]; // of each band's level less the row's mean level
    double tonality;
    size_t count;
} loud_sums;

static double energy_of(const float *samples, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double sample = (double)kz_sample_or_silence(samples[i]);
        sum += sample * sample;
    }
    return sum;
}

// RMS of the loudest stretch of 0.1 s, looked for in steps of a quarter of it. 1e-12 is -120 dB:
// digital silence has a level, too, and no infinity enters the verdict.
static float find_loudest_db(const float *samples, size_t count) {
    const size_t step = KZ_SOUND_LEAST_SAMPLES / STRETCH_STEPS;
    double steps[STRETCH_STEPS] = {0};
    double loudest = 0;
    for (size_t i = 0; (i + 1) * step <= count; i++) {
        steps[i % STRETCH_STEPS] = energy_of(samples + i * step, step);
        const double energy = steps[0] + steps[1] + steps[2] + steps[3];
        // Fewer than four steps are not yet a whole stretch.
        loudest = fmax(loudest, i + 1 < STRETCH_STEPS ? 0 : energy);
    }
    return (float)(10.0 * log10(loudest / KZ_SOUND_LEAST_SAMPLES + 1e-12));
}

// Whisper scales its rows as (log10 power + 4) / 4 (audio/mel.h).
static float power_of(float mel) {
    return exp2f((mel * 4.0f - 4.0f) * 3.32192809f);
}

static row_power read_row(const mel_view *mel, size_t row) {
    // The total begins above 0, because it is divided by.
    row_power powers = {{0}, 1e-12f, 0, 0};
    // The range is given for 80 channels; models of 128 spread the same hertz over more.
    const size_t first = mel->mels * FIRST_CHANNEL / 80;
    const size_t width = mel->mels * (END_CHANNEL - FIRST_CHANNEL) / 80;
    for (size_t i = 0; i < width; i++) {
        const float power = power_of(mel->rows[row * mel->mels + first + i]);
        powers.bands[i * BANDS / width] += power;
        powers.total += power;
        powers.second = fmaxf(powers.second, fminf(power, powers.strongest));
        powers.strongest = fmaxf(powers.strongest, power);
    }
    return powers;
}

// The level that `rank` of the levels reach, found by halving: no sorting, no second array.
static float level_of_rank(const float *levels, size_t count, size_t rank) {
    // 20 halvings of 240 dB: to a quarter of a thousandth.
    float low = FLOOR_DB, high = 120.0f;
    for (int i = 0; i < 20; i++) {
        const float middle = (low + high) / 2;
        size_t above = 0;
        for (size_t k = 0; k < count; k++) {
            above += levels[k] >= middle;
        }
        *(above >= rank ? &low : &high) = middle;
    }
    return low;
}

static void add_loud_row(loud_sums *sums, const row_power *powers, const float *bands) {
    float shape[BANDS], mean = 0;
    for (size_t b = 0; b < BANDS; b++) {
        shape[b] = 10.0f * log10f(bands[b] + 1e-12f);
        mean += shape[b] / BANDS;
    }
    for (size_t b = 0; b < BANDS; b++) {
        const double value = (double)(shape[b] - mean);
        sums->shape[b] += value;
        sums->square[b] += value * value;
    }
    sums->tonality += (double)((powers->strongest + powers->second) / powers->total);
    sums->count++;
}

static bool is_near_loud(const float *levels, size_t count, size_t row, float least_level) {
    const size_t half = SMOOTH_ROWS / 2;
    bool is_near = false;
    for (size_t r = row < half ? 0 : row - half; r <= row + half && r < count; r++) {
        is_near = is_near || levels[r] >= least_level;
    }
    return is_near;
}

// Visits the rows once, with the powers of SMOOTH_ROWS of them around each loud one.
static loud_sums sum_loud_rows(const mel_view *mel, const float *levels, float least_level) {
    const size_t half = SMOOTH_ROWS / 2;
    row_power ring[SMOOTH_ROWS] = {0};
    loud_sums sums = {0};
    for (size_t next = 0; next < mel->count + half; next++) {
        // A row that no loud one has within reach is never averaged, so its powers need no
        // computing: what stands in its place of the ring is not read.
        if (is_near_loud(levels, mel->count, next, least_level)) {
            ring[next % SMOOTH_ROWS] = next < mel->count ? read_row(mel, next) : (row_power){0};
        }
        if (next < half || levels[next - half] < least_level) {
            continue;
        }
        float bands[BANDS] = {0};
        for (size_t i = 0; i < SMOOTH_ROWS * BANDS; i++) {
            bands[i % BANDS] += ring[i / BANDS].bands[i % BANDS] / SMOOTH_ROWS;
        }
        add_loud_row(&sums, &ring[(next - half) % SMOOTH_ROWS], bands);
    }
    return sums;
}

static float spread_of(const loud_sums *sums) {
    double spread = 0;
    for (size_t b = 0; b < BANDS; b++) {
        const double mean = sums->shape[b] / (double)sums->count;
        spread += sqrt(fmax(0, sums->square[b] / (double)sums->count - mean * mean));
    }
    return (float)(spread / BANDS);
}

kz_sound kz_sound_measure(const float *samples, size_t count, const float *mel_rows, size_t mels) {
    float levels[KZ_MEL_ROWS];
    const size_t rows = count / KZ_MEL_HOP;
    const mel_view mel = {mel_rows, rows < KZ_MEL_ROWS ? rows : KZ_MEL_ROWS, mels};
    kz_sound sound = {.loudest_db = find_loudest_db(samples, count)};
    if (sound.loudest_db <= SILENCE_DB || mel.count < LEAST_ROWS || mels < LEAST_MELS) {
        return sound;
    }
    for (size_t i = 0; i < mel.count; i++) {
        levels[i] = 10.0f * log10f(read_row(&mel, i).total);
    }
    // Short sounds count their loudest quarter: a word of 0.3 s has no 25 rows at its top.
    const size_t top_rank = mel.count / 4 < TOP_ROWS ? mel.count / 4 : TOP_ROWS;
    const float top = level_of_rank(levels, mel.count, top_rank);
    // At least the rows of top_rank are within LOUD_DB of the top, so the means below are over
    // something.
    const loud_sums sums = sum_loud_rows(&mel, levels, top - LOUD_DB);
    sound.swing_db = top - level_of_rank(levels, mel.count, mel.count - mel.count / 10);
    sound.change_db = spread_of(&sums);
    sound.tonality = (float)(sums.tonality / (double)sums.count);
    return sound;
}

bool kz_sound_may_be_speech(const kz_sound *sound) {
    return sound->loudest_db > SILENCE_DB && sound->swing_db > LEAST_SWING_DB &&
           sound->change_db > LEAST_CHANGE_DB && sound->tonality < MOST_TONALITY;
}
