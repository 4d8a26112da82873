// resample_soxr.c: the resampler over libsoxr.
//
// in:  mono float samples at one rate
// out: the same sound at another
// "Very high quality" (passband to 91 % of the lower Nyquist, 28 bits) costs a few milliseconds per
// minute of sound: no reason for less, and the Whisper goldens were made with it.
#include <soxr.h>

#include "audio/resample.h"

struct kz_resampler {
    kazeia_allocator allocator;
    soxr_t native;
};

static kazeia_status check_rate(uint32_t rate_hz) {
    if (rate_hz < KZ_LOWEST_RATE_HZ || rate_hz > KZ_HIGHEST_RATE_HZ) {
        return kz_fail(KAZEIA_UNSUPPORTED, "resampler: sample rate is %u Hz, expected %u to %u",
                       rate_hz, KZ_LOWEST_RATE_HZ, KZ_HIGHEST_RATE_HZ);
    }
    return KAZEIA_OK;
}

static kazeia_status open_native(uint32_t in_rate_hz, uint32_t out_rate_hz, soxr_t *out_native) {
    const soxr_io_spec_t sample_types = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_VHQ, 0);
    // One, said outright: 0 would let soxr start OpenMP's threads, past the pool that the caller
    // has sized.
    const soxr_runtime_spec_t one_thread = soxr_runtime_spec(1);
    soxr_error_t error = NULL;
    // libsoxr takes its memory from malloc: it has no way to be given an allocator.
    *out_native =
        soxr_create(in_rate_hz, out_rate_hz, 1, &error, &sample_types, &quality, &one_thread);
    if (*out_native == NULL || error != NULL) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "resampler: libsoxr refuses %u Hz to %u Hz: %s",
                       in_rate_hz, out_rate_hz, error != NULL ? error : "no reason given");
    }
    return KAZEIA_OK;
}

kazeia_status kz_resampler_create(uint32_t in_rate_hz, uint32_t out_rate_hz,
                                  const kazeia_allocator *allocator, kz_resampler **out_resampler) {
    KZ_TRY(check_rate(in_rate_hz));
    KZ_TRY(check_rate(out_rate_hz));
    const kazeia_allocator chosen = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&chosen, 1, sizeof(kz_resampler), "resampler", &memory));
    kz_resampler *resampler = memory;
    resampler->allocator = chosen;
    const kazeia_status status = open_native(in_rate_hz, out_rate_hz, &resampler->native);
    if (status != KAZEIA_OK) {
        kz_resampler_destroy(resampler);
        return status;
    }
    *out_resampler = resampler;
    return KAZEIA_OK;
}

void kz_resampler_destroy(kz_resampler *resampler) {
    if (resampler == NULL) {
        return;
    }
    if (resampler->native != NULL) {
        soxr_delete(resampler->native);
    }
    const kazeia_allocator allocator = resampler->allocator;
    kz_free(&allocator, resampler);
}

kazeia_status kz_resampler_run(kz_resampler *resampler, const float *samples, size_t count,
                               size_t *out_taken, float *out_samples, size_t capacity,
                               size_t *out_count) {
    size_t taken = 0;
    size_t given = 0;
    // A NULL input tells libsoxr that the sound is over, and each later call gives more of what it
    // still holds.
    const soxr_error_t error =
        soxr_process(resampler->native, samples, count, &taken, out_samples, capacity, &given);
    if (error != NULL) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "resampler: libsoxr stopped: %s", error);
    }
    *out_taken = taken;
    *out_count = given;
    return KAZEIA_OK;
}
