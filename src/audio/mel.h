// mel.h: Whisper's log-mel spectrogram: what its encoder hears.
//
// 30 s of 16 kHz sound -> 3000 rows of 80 or 128 values. Source: openai/whisper audio.py and
// transformers WhisperFeatureExtractor: periodic Hann window of 400, hop 160, centred with
// reflected edges, the last frame dropped; power spectrum; slaney mel filters (librosa); log10 of
// at least 1e-10; at least the loudest value less 8; (x + 4) / 4.
#ifndef KZ_AUDIO_MEL_H
#define KZ_AUDIO_MEL_H

#include "audio/samples.h"

#define KZ_MEL_RATE_HZ 16000u
#define KZ_MEL_WINDOW 400u     // samples under one row
#define KZ_MEL_HOP 160u        // samples from row to row: 10 ms
#define KZ_MEL_ROWS 3000u      // of one 30 s window
#define KZ_MEL_SAMPLES 480000u // KZ_MEL_ROWS * KZ_MEL_HOP
#define KZ_MEL_BINS 201u       // spectrum bins, 40 Hz apart: KZ_MEL_WINDOW / 2 + 1
#define KZ_MEL_MOST_CHANNELS 256u

typedef struct kz_mel kz_mel;

// `filters` is [channel_count][KZ_MEL_BINS] as a checkpoint carries it, copied; NULL: the slaney
// filters for 0 to 8000 Hz are computed. Fails with BAD_ARGUMENT (channel_count not 1 to
// KZ_MEL_MOST_CHANNELS, a filter value that is not finite), OUT_OF_MEMORY, UNSUPPORTED (a build
// without kissfft).
KAZEIA_MUST_CHECK kazeia_status kz_mel_create(uint32_t channel_count, const float *filters,
                                              const kazeia_allocator *allocator, kz_mel **out_mel);
// NULL is fine.
void kz_mel_destroy(kz_mel *mel);
uint32_t kz_mel_channel_count(const kz_mel *mel);

// Fills out_rows [KZ_MEL_ROWS][channel_count] (time-major: one row every 10 ms) from the first
// KZ_MEL_SAMPLES of `samples`, mono at KZ_MEL_RATE_HZ; fewer are followed by silence. Returns how
// many leading rows hold sound; the rows after it are equal silence, so that a caller may give
// the encoder fewer. Damaged samples count as silence (kz_sample_or_silence). Allocates nothing;
// cost grows with the sound, not with the 30 s. One thread at a time per kz_mel.
size_t kz_mel_compute(kz_mel *mel, const float *samples, size_t count, float *out_rows);

// The slaney filters, for checking a file's: out_filters [channel_count][KZ_MEL_BINS].
void kz_mel_make_slaney_filters(uint32_t channel_count, float *out_filters);

#endif
