// resample_missing.c: the resampler of a build without libsoxr: says so.
//
// in:  a wish for another sample rate
// out: a refusal that names the package; sound that has the wanted rate already never comes here
#include "audio/resample.h"

kazeia_status kz_resampler_create(uint32_t in_rate_hz, uint32_t out_rate_hz,
                                  const kazeia_allocator *allocator, kz_resampler **out_resampler) {
    (void)allocator;
    *out_resampler = NULL;
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "resampler: %u Hz to %u Hz needs libsoxr, which this build lacks: install "
                   "libsoxr-dev and build again, or give sound at %u Hz",
                   in_rate_hz, out_rate_hz, out_rate_hz);
}

void kz_resampler_destroy(kz_resampler *resampler) {
    (void)resampler;
}

kazeia_status kz_resampler_run(kz_resampler *resampler, const float *samples, size_t count,
                               size_t *out_taken, float *out_samples, size_t capacity,
                               size_t *out_count) {
    (void)resampler, (void)samples, (void)count, (void)out_taken;
    (void)out_samples, (void)capacity, (void)out_count;
    return kz_fail(KAZEIA_UNSUPPORTED, "resampler: this build lacks libsoxr");
}
