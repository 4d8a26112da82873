// samples.h: sound in memory: mono float samples with their rate, and a stretch of them.
//
// Full scale is [-1, 1]; louder values may occur (float files, resampler overshoot) and are cut to
// full scale only where 16-bit samples are written.
#ifndef KZ_AUDIO_SAMPLES_H
#define KZ_AUDIO_SAMPLES_H

#include <math.h>

#include "base/alloc.h"

typedef struct kz_samples {
    float *samples; // [count]; owned, freed by kz_samples_clear with the allocator that made it
    size_t count;   // may be 0, samples is then not NULL but empty
    uint32_t sample_rate_hz;
} kz_samples;

// Samples [start, start + count) of some sound.
typedef struct kz_span {
    size_t start;
    size_t count;
} kz_span;

// Beyond this no recording is meant: a million times full scale. Its square, summed over a window,
// still fits in a float.
#define KZ_SAMPLE_LIMIT 1.0e6f

// A sample from outside, made safe to compute with: NaN, infinities and values beyond
// KZ_SAMPLE_LIMIT become silence.
static inline float kz_sample_or_silence(float sample) {
    return fabsf(sample) <= KZ_SAMPLE_LIMIT ? sample : 0.0f;
}

// `allocator` may be NULL, as where it was made.
static inline void kz_samples_clear(kz_samples *samples, const kazeia_allocator *allocator) {
    const kazeia_allocator chosen = kz_allocator_or_default(allocator);
    kz_free(&chosen, samples->samples);
    *samples = (kz_samples){0};
}

#endif
