// resample.h: changes the sample rate of a mono stream (libsoxr, its "very high quality" recipe).
//
// libsoxr allocates for itself, outside the allocator: reading files is not part of running. A
// build without libsoxr refuses with a sentence that names the package; equal rates need no
// resampler.
#ifndef KZ_AUDIO_RESAMPLE_H
#define KZ_AUDIO_RESAMPLE_H

#include "audio/samples.h"

// Rates outside these are refused as UNSUPPORTED: no recording has them, and a hostile ratio would
// ask for endless filters.
#define KZ_LOWEST_RATE_HZ 1000u
#define KZ_HIGHEST_RATE_HZ 768000u

typedef struct kz_resampler kz_resampler;

KAZEIA_MUST_CHECK kazeia_status kz_resampler_create(uint32_t in_rate_hz, uint32_t out_rate_hz,
                                                    const kazeia_allocator *allocator,
                                                    kz_resampler **out_resampler);
// NULL is fine.
void kz_resampler_destroy(kz_resampler *resampler);

// Takes up to `count` samples and gives up to `capacity`; both may be fewer than offered. With
// `samples` NULL the input has ended: call until *out_count is 0 to get the rest. All output put
// together is round(count * out_rate / in_rate) samples long and in step with the input (no delay).
KAZEIA_MUST_CHECK kazeia_status kz_resampler_run(kz_resampler *resampler, const float *samples,
                                                 size_t count, size_t *out_taken,
                                                 float *out_samples, size_t capacity,
                                                 size_t *out_count);

#endif
