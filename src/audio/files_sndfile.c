// files_sndfile.c: reads audio files through libsndfile.
//
// in:  a path and the wanted rate
// out: mono samples at that rate, in pieces, and what the file held
// The file is read in small blocks; files.c puts them together for those who want it whole.
#include <sndfile.h>
#include <string.h>

#include "audio/files.h"
#include "audio/resample.h"
#include "base/file_system.h"

#define BLOCK_FRAMES 4096u
#define MOST_CHANNELS 64
#define ADVICE "give a sound file: WAV, FLAC, Ogg, MP3 or another that libsndfile reads"

struct kz_audio_reader {
    kazeia_allocator allocator;
    char *path;
    uint32_t wanted_rate_hz, most_s;
    SNDFILE *file;
    SF_INFO format;
    kz_resampler *resampler;     // NULL when the file has the wanted rate
    float *block;                // [BLOCK_FRAMES][channels]
    float *mono;                 // [BLOCK_FRAMES]
    size_t mono_begin, mono_end; // what of it was not given yet
    bool is_at_end;              // of the file; the resampler may hold more
    kz_audio_source source;
};

// Asked before libsndfile, whose own sentence for a missing file or a folder says no more than
// "System error".
static kazeia_status check_path(const char *path) {
    uint64_t size = 0;
    KZ_TRY(kz_path_check_readable(path, &size));
    if (size == 0) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: the file has 0 bytes: expected audio", path);
    }
    return KAZEIA_OK;
}

static kazeia_status check_format(const kz_audio_reader *reader) {
    const uint32_t wanted_rate_hz = reader->wanted_rate_hz;
    const SF_INFO *format = &reader->format;
    if (format->channels < 1 || format->channels > MOST_CHANNELS) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%s: has %d channels, expected 1 to %d", reader->path,
                       format->channels, MOST_CHANNELS);
    }
    // A rate of 1 Hz would let a small file claim days of sound.
    if (format->samplerate < (int)KZ_LOWEST_RATE_HZ ||
        format->samplerate > (int)KZ_HIGHEST_RATE_HZ) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%s: its sample rate is %d Hz, expected %u to %u",
                       reader->path, format->samplerate, KZ_LOWEST_RATE_HZ, KZ_HIGHEST_RATE_HZ);
    }
    if (wanted_rate_hz < KZ_LOWEST_RATE_HZ || wanted_rate_hz > KZ_HIGHEST_RATE_HZ) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "%s: wanted at %u Hz, expected %u to %u", reader->path,
                       wanted_rate_hz, KZ_LOWEST_RATE_HZ, KZ_HIGHEST_RATE_HZ);
    }
    // Formats without a length claim SF_COUNT_MAX; what they hold is only known after reading.
    const int64_t most_frames = (int64_t)reader->most_s * format->samplerate;
    if (reader->most_s && format->frames > most_frames && format->frames != SF_COUNT_MAX) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: claims %lld frames at %d Hz, expected at most %u s",
                       reader->path, (long long)format->frames, format->samplerate, reader->most_s);
    }
    return KAZEIA_OK;
}

static kazeia_status open_file(kz_audio_reader *reader) {
    KZ_TRY(check_path(reader->path));
    // libsndfile keeps the reason of a failed sf_open in one variable for the whole process: two
    // threads that fail at once may see each other's reason. The status is right in any case.
    reader->file = sf_open(reader->path, SFM_READ, &reader->format);
    if (reader->file == NULL) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: is no audio that can be read: %s", reader->path,
                       sf_error_number(sf_error(NULL)));
    }
    KZ_TRY(check_format(reader));
    reader->source.sample_rate_hz = (uint32_t)reader->format.samplerate;
    reader->source.channel_count = (uint32_t)reader->format.channels;
    return KAZEIA_OK;
}

static kazeia_status allocate_buffers(kz_audio_reader *reader) {
    const kazeia_allocator *allocator = &reader->allocator;
    const uint32_t source_rate_hz = reader->source.sample_rate_hz;
    const size_t channels = reader->source.channel_count;
    void *memory;
    KZ_TRY(kz_alloc(allocator, BLOCK_FRAMES * channels, sizeof(float), "audio block", &memory));
    reader->block = memory;
    KZ_TRY(kz_alloc(allocator, BLOCK_FRAMES, sizeof(float), "mono block", &memory));
    reader->mono = memory;
    if (source_rate_hz == reader->wanted_rate_hz) {
        return KAZEIA_OK;
    }
    return kz_resampler_create(source_rate_hz, reader->wanted_rate_hz, allocator,
                               &reader->resampler);
}

// What is no sound gets a word on what is; other failures explain themselves.
static kazeia_status advise(kazeia_status status) {
    return status == KAZEIA_BAD_FILE ? kz_fail_advice(status, ADVICE) : status;
}

kazeia_status kz_audio_reader_open(const char *path, uint32_t wanted_rate_hz, uint32_t most_s,
                                   const kazeia_allocator *allocator,
                                   kz_audio_reader **out_reader) {
    const kazeia_allocator chosen = kz_allocator_or_default(allocator);
    kz_audio_reader *reader = NULL;
    KZ_TRY(kz_alloc(&chosen, 1, sizeof *reader, "audio reader", (void **)&reader));
    reader->allocator = chosen;
    reader->wanted_rate_hz = wanted_rate_hz;
    reader->most_s = most_s;
    kazeia_status status;
    KZ_TRY_DONE(status, kz_copy_string(&chosen, path, strlen(path), &reader->path));
    KZ_TRY_DONE(status, open_file(reader));
    KZ_TRY_DONE(status, allocate_buffers(reader));
    *out_reader = reader;
done:
    if (status != KAZEIA_OK) {
        kz_audio_reader_close(reader);
    }
    return advise(status);
}

uint64_t kz_audio_reader_claim(const kz_audio_reader *reader) {
    const sf_count_t frames = reader->format.frames;
    // Beyond a century at any rate it is no length, but a word for "unknown".
    if (frames <= 0 || frames > (sf_count_t)1 << 46) {
        return 0;
    }
    return (uint64_t)((double)frames * reader->wanted_rate_hz / reader->source.sample_rate_hz);
}

kz_audio_source kz_audio_reader_source(const kz_audio_reader *reader) {
    return reader->source;
}

void kz_audio_reader_close(kz_audio_reader *reader) {
    if (reader == NULL) {
        return;
    }
    const kazeia_allocator allocator = reader->allocator;
    if (reader->file != NULL) {
        sf_close(reader->file);
    }
    kz_resampler_destroy(reader->resampler);
    kz_free(&allocator, reader->block);
    kz_free(&allocator, reader->mono);
    kz_free(&allocator, reader->path);
    kz_free(&allocator, reader);
}

// The mean, not the sum: two channels in phase must not pass full scale.
static void mix_down(kz_audio_reader *reader, size_t frames) {
    const size_t channels = reader->source.channel_count;
    for (size_t frame = 0; frame < frames; frame++) {
        const float *values = reader->block + frame * channels;
        float sum = 0.0f;
        for (size_t channel = 0; channel < channels; channel++) {
            const float value = kz_sample_or_silence(values[channel]);
            reader->source.silenced_count += value != values[channel]; // true for NaN, too
            sum += value;
        }
        reader->mono[frame] = sum / (float)channels;
    }
}

static kazeia_status check_length(const kz_audio_reader *reader) {
    const uint64_t most = (uint64_t)reader->most_s * reader->source.sample_rate_hz;
    return reader->most_s == 0 || reader->source.frame_count <= most
               ? KAZEIA_OK
               : kz_fail(KAZEIA_BAD_FILE,
                         "%s: holds more than %u s of sound, the most that is read", reader->path,
                         reader->most_s);
}

static kazeia_status read_block(kz_audio_reader *reader) {
    // A short count need not be the end; only 0 is.
    const sf_count_t frames = sf_readf_float(reader->file, reader->block, BLOCK_FRAMES);
    reader->mono_begin = 0;
    reader->mono_end = 0;
    if (frames > 0) {
        reader->source.frame_count += (uint64_t)frames;
        reader->mono_end = (size_t)frames;
        mix_down(reader, (size_t)frames);
        return check_length(reader);
    }
    reader->is_at_end = true;
    if (sf_error(reader->file) != SF_ERR_NO_ERROR) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: damaged after %llu frames: %s", reader->path,
                       (unsigned long long)reader->source.frame_count, sf_strerror(reader->file));
    }
    return KAZEIA_OK;
}

// One step through the resampler; NULL tells it that the sound is over, and its filter still holds
// the last milliseconds.
static kazeia_status resample(kz_audio_reader *reader, float *out_samples, size_t capacity,
                              size_t *out_taken, size_t *out_count) {
    const size_t left = reader->mono_end - reader->mono_begin;
    const float *mono = reader->is_at_end ? NULL : reader->mono + reader->mono_begin;
    KZ_TRY(kz_resampler_run(reader->resampler, mono, reader->is_at_end ? 0 : left, out_taken,
                            out_samples, capacity, out_count));
    if (*out_count == 0 && *out_taken == 0 && left > 0) {
        return kz_fail(KAZEIA_IO, "%s: the resampler takes no more, %zu samples are left",
                       reader->path, left);
    }
    return KAZEIA_OK;
}

static kazeia_status give(kz_audio_reader *reader, float *out_samples, size_t capacity,
                          size_t *out_count) {
    const size_t left = reader->mono_end - reader->mono_begin;
    size_t taken = left < capacity ? left : capacity;
    if (reader->resampler != NULL) {
        KZ_TRY(resample(reader, out_samples, capacity, &taken, out_count));
    } else {
        memcpy(out_samples, reader->mono + reader->mono_begin, taken * sizeof(float));
        *out_count = taken;
    }
    reader->mono_begin += reader->is_at_end ? 0 : taken;
    return KAZEIA_OK;
}

kazeia_status kz_audio_reader_next(kz_audio_reader *reader, float *out_samples, size_t capacity,
                                   size_t *out_count) {
    *out_count = 0;
    do {
        if (reader->mono_begin == reader->mono_end && !reader->is_at_end) {
            const kazeia_status status = read_block(reader);
            if (status != KAZEIA_OK) {
                return advise(status);
            }
        }
        KZ_TRY(give(reader, out_samples, capacity, out_count));
        // A resampler may take a block and give nothing yet.
    } while (*out_count == 0 && !reader->is_at_end);
    return KAZEIA_OK;
}
