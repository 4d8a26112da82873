// mel_missing.c: the log-mel spectrogram of a build without kissfft: says so.
//
// in:  a wish for Whisper's front end
// out: a refusal that names the package, at create: nothing is computed by another way in silence
#include "audio/mel.h"

kazeia_status kz_mel_create(uint32_t channel_count, const float *filters,
                            const kazeia_allocator *allocator, kz_mel **out_mel) {
    (void)channel_count, (void)filters, (void)allocator, (void)out_mel;
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "mel: listening needs kissfft, which this build lacks: install libkissfft-dev "
                   "and build again");
}

void kz_mel_destroy(kz_mel *mel) {
    (void)mel;
}

uint32_t kz_mel_channel_count(const kz_mel *mel) {
    (void)mel;
    return 0;
}

size_t kz_mel_compute(kz_mel *mel, const float *samples, size_t count, float *out_rows) {
    (void)mel, (void)samples, (void)count, (void)out_rows;
    return 0;
}
