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

// A kazeia_audio_reader is a kz_audio_reader under its public name.
static kz_audio_reader *reader_of(kazeia_audio_reader *reader) {
    return (kz_audio_reader *)reader;
}

kazeia_status kazeia_audio_reader_open(const char *path, uint32_t sample_rate_hz,
                                       kazeia_audio_reader **out_reader, uint64_t *out_claimed) {
    KZ_TRY(kz_require(path, "audio reader: path"));
    KZ_TRY(kz_require(out_reader, "audio reader: out_reader"));
    kz_audio_reader *reader = NULL;
    KZ_TRY(kz_audio_reader_open(path, sample_rate_hz, 0, NULL, &reader));
    if (out_claimed) {
        *out_claimed = kz_audio_reader_claim(reader);
    }
    *out_reader = (kazeia_audio_reader *)reader;
    return KAZEIA_OK;
}

kazeia_status kazeia_audio_reader_next(kazeia_audio_reader *reader, float *out_samples,
                                       size_t capacity, size_t *out_count) {
    KZ_TRY(kz_require(reader, "audio reader"));
    KZ_TRY(kz_require(out_samples, "audio reader: out_samples"));
    KZ_TRY(kz_require(out_count, "audio reader: out_count"));
    if (capacity == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "audio reader: room for 0 samples, 1 is needed");
    }
    return kz_audio_reader_next(reader_of(reader), out_samples, capacity, out_count);
}

void kazeia_audio_reader_close(kazeia_audio_reader *reader) {
    kz_audio_reader_close(reader_of(reader));
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
