// files.h: reads audio files into mono samples at a wanted rate.
//
// Formats are libsndfile's (wav, flac, ogg, opus, mp3, aiff, au, ...), found by content. Channels
// are mixed down by their mean, then the rate is changed (resample.h). A build without libsndfile
// refuses with a sentence that names the package.
//
// A file is hostile input: nothing is allocated from a size that only its header claims, and
// reading a whole file stops with a refusal at KZ_AUDIO_LONGEST_S seconds of sound.
#ifndef KZ_AUDIO_FILES_H
#define KZ_AUDIO_FILES_H

#include "audio/samples.h"

#define KZ_AUDIO_LONGEST_S 14400u // four hours: 922 MB at 16 kHz

// What the file held before mixing and resampling.
typedef struct kz_audio_source {
    uint32_t sample_rate_hz;
    uint32_t channel_count;
    uint64_t frame_count;    // frames really read; a cut file gives what it has
    uint64_t silenced_count; // values that were NaN, infinite or beyond KZ_SAMPLE_LIMIT: read as 0,
                             // so that one damaged value does not spoil a recording; tell the user
} kz_audio_source;

// A file that is read a piece at a time, in memory that does not grow with it.
typedef struct kz_audio_reader kz_audio_reader;

// `most_s`: the longest sound that is read, in seconds; 0: any. Fails with NOT_FOUND (no such
// file), BAD_ARGUMENT (a folder or device, a wanted rate outside 1,000 to 768,000 Hz), BAD_FILE (0
// bytes, not audio, damaged, a header that claims more than `most_s`), UNSUPPORTED (over 64
// channels, a rate or package, see resample.h), IO, OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_audio_reader_open(const char *path, uint32_t wanted_rate_hz,
                                                     uint32_t most_s,
                                                     const kazeia_allocator *allocator,
                                                     kz_audio_reader **out_reader);
// Samples that the header promises, at the wanted rate: for a bar, never for memory. 0: unknown.
uint64_t kz_audio_reader_claim(const kz_audio_reader *reader);
// Up to `capacity` samples (at least 1); *out_count 0 is the end. BAD_FILE for what is damaged or
// too long; the samples before it were good.
KAZEIA_MUST_CHECK kazeia_status kz_audio_reader_next(kz_audio_reader *reader, float *out_samples,
                                                     size_t capacity, size_t *out_count);
// What was read so far.
kz_audio_source kz_audio_reader_source(const kz_audio_reader *reader);
// NULL is fine.
void kz_audio_reader_close(kz_audio_reader *reader);

// The whole file, of at most KZ_AUDIO_LONGEST_S seconds. Fails as the reader does. A sound file of
// 0 samples is fine: count 0. `out_source` may be NULL.
KAZEIA_MUST_CHECK kazeia_status kz_audio_read_file(const char *path, uint32_t wanted_rate_hz,
                                                   const kazeia_allocator *allocator,
                                                   kz_samples *out_samples,
                                                   kz_audio_source *out_source);

#endif
