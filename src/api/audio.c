// audio.c: audio files behind the public interface.
//   in   paths, samples
//   out  samples, WAV files
#include "api/handles.h"
#include "audio/files.h"
#include "audio/wav_writer.h"
#include "kazeia/listen.h"

kazeia_status kazeia_audio_read(const char *path, uint32_t sample_rate_hz, float **out_samples,
                                size_t *out_count) {
    KZ_TRY(kz_require(path, "audio: path"));
    KZ_TRY(kz_require(out_samples, "audio: out_samples"));
    KZ_TRY(kz_require(out_count, "audio: out_count"));
    // malloc's memory, which kazeia_audio_release gives back without being told where it came from:
    // the caller holds a bare pointer.
    kz_samples samples = {0};
    KZ_TRY(kz_audio_read_file(path, sample_rate_hz, NULL, &samples, NULL));
    *out_samples = samples.samples;
    *out_count = samples.count;
    return KAZEIA_OK;
}

void kazeia_audio_release(float *samples) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_free(&memory, samples);
}

// A kazeia_audio_writer is a kz_wav_writer under its public name.
static kz_wav_writer *writer_of(kazeia_audio_writer *writer) {
    return (kz_wav_writer *)writer;
}

kazeia_status kazeia_audio_writer_open(const char *path, uint32_t sample_rate_hz,
                                       kazeia_audio_writer **out_writer) {
    KZ_TRY(kz_require(path, "audio writer: path"));
    KZ_TRY(kz_require(out_writer, "audio writer: out_writer"));
    kz_wav_writer *writer = NULL;
    KZ_TRY(kz_wav_writer_create(path, sample_rate_hz, NULL, &writer));
    *out_writer = (kazeia_audio_writer *)writer;
    return KAZEIA_OK;
}

kazeia_status kazeia_audio_writer_append(kazeia_audio_writer *writer, const float *samples,
                                         size_t count) {
    KZ_TRY(kz_require(writer, "audio writer"));
    if (count) {
        KZ_TRY(kz_require(samples, "audio writer: samples"));
    }
    return kz_wav_writer_append(writer_of(writer), samples, count);
}

kazeia_status kazeia_audio_writer_close(kazeia_audio_writer *writer, bool keep) {
    if (writer && keep) {
        return kz_wav_writer_commit(writer_of(writer));
    }
    // NULL is fine here: closing what was never opened is no failure.
    kz_wav_writer_abandon(writer_of(writer));
    return KAZEIA_OK;
}
