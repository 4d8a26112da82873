// files_missing.c: reading audio files in a build without libsndfile: says so.
//
// in:  a path
// out: a refusal that names the package
#include "audio/files.h"

kazeia_status kz_audio_reader_open(const char *path, uint32_t wanted_rate_hz, uint32_t most_s,
                                   const kazeia_allocator *allocator,
                                   kz_audio_reader **out_reader) {
    (void)wanted_rate_hz, (void)most_s, (void)allocator, (void)out_reader;
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "%s: reading audio files needs libsndfile, which this build lacks: install "
                   "libsndfile1-dev and build again",
                   path);
}

// No reader is ever opened, so that the rest is never called with one.

uint64_t kz_audio_reader_claim(const kz_audio_reader *reader) {
    (void)reader;
    return 0;
}

kazeia_status kz_audio_reader_next(kz_audio_reader *reader, float *out_samples, size_t capacity,
                                   size_t *out_count) {
    (void)reader, (void)out_samples, (void)capacity;
    *out_count = 0;
    return KAZEIA_OK;
}

kz_audio_source kz_audio_reader_source(const kz_audio_reader *reader) {
    (void)reader;
    return (kz_audio_source){0};
}

void kz_audio_reader_close(kz_audio_reader *reader) {
    (void)reader;
}
