// files_missing.c: reading audio files in a build without libsndfile: says so.
//
// in:  a path
// out: a refusal that names the package
#include "audio/files.h"

kazeia_status kz_audio_read_file(const char *path, uint32_t wanted_rate_hz,
                                 const kazeia_allocator *allocator, kz_samples *out_samples,
                                 kz_audio_source *out_source) {
    (void)wanted_rate_hz, (void)allocator, (void)out_samples, (void)out_source;
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "%s: reading audio files needs libsndfile, which this build lacks: install "
                   "libsndfile1-dev and build again",
                   path);
}
