// mel_filters.c: the slaney mel filter bank of librosa, which Whisper was trained with.
//
// in:  the number of channels
// out: [channels][201] weights for the bins of a 400-point spectrum at 16 kHz
// Computed in double: a filter's edges lie between bins, and rounding them would move weight.
#include <math.h>

#include "audio/mel.h"

// Slaney's scale is linear to 1000 Hz (15 mel), then logarithmic: 27 mel for a factor of 6.4.
#define LINEAR_HZ_PER_MEL (200.0 / 3.0)
#define KNEE_HZ 1000.0
#define KNEE_MEL (KNEE_HZ / LINEAR_HZ_PER_MEL)
#define LOG_MEL_RANGE 27.0
#define LOG_MEL_FACTOR 6.4

static double mel_from_hz(double hz) {
    if (hz < KNEE_HZ) {
        return hz / LINEAR_HZ_PER_MEL;
    }
    return KNEE_MEL + log(hz / KNEE_HZ) * (LOG_MEL_RANGE / log(LOG_MEL_FACTOR));
}

static double hz_from_mel(double mel) {
    if (mel < KNEE_MEL) {
        return mel * LINEAR_HZ_PER_MEL;
    }
    return KNEE_HZ * exp((mel - KNEE_MEL) * (log(LOG_MEL_FACTOR) / LOG_MEL_RANGE));
}

// Channel c rises from edge c to edge c + 1 and falls to edge c + 2; its area is one.
static double edge_hz(uint32_t edge, uint32_t channel_count) {
    const double highest = mel_from_hz(KZ_MEL_RATE_HZ / 2.0);
    return hz_from_mel(highest * edge / (channel_count + 1.0));
}

void kz_mel_make_slaney_filters(uint32_t channel_count, float *out_filters) {
    const double bin_hz = (double)KZ_MEL_RATE_HZ / KZ_MEL_WINDOW;
    for (uint32_t channel = 0; channel < channel_count; channel++) {
        const double low = edge_hz(channel, channel_count);
        const double middle = edge_hz(channel + 1, channel_count);
        const double high = edge_hz(channel + 2, channel_count);
        for (uint32_t bin = 0; bin < KZ_MEL_BINS; bin++) {
            const double hz = bin * bin_hz;
            // The lower of the two slopes is the triangle: outside it one of them is negative, and
            // fmax cuts it off.
            const double height = fmin((hz - low) / (middle - low), (high - hz) / (high - middle));
            out_filters[channel * KZ_MEL_BINS + bin] =
                // A triangle of height 2 / width has the area one (slaney's norm): wide high
                // channels do not outweigh narrow low ones.
                (float)(fmax(0.0, height) * 2.0 / (high - low));
        }
    }
}
