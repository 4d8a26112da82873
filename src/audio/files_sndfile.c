// files_sndfile.c: reads audio files through libsndfile.
//
// in:  a path and the wanted rate
// out: mono samples at that rate, and what the file held
// The file is read in small blocks and the result grows with what was really decoded: a header's
// frame count is a hint for the first allocation, and a reason to refuse, never a size to trust.
#include <sndfile.h>
#include <string.h>

#include "audio/files.h"
#include "audio/resample.h"
#include "base/file_system.h"

#define BLOCK_FRAMES 4096u
#define FIRST_CAPACITY_S 60u // the first allocation never holds more sound than this
#define MOST_CHANNELS 64

typedef struct file_reader {
    const char *path;
    kazeia_allocator allocator;
    SNDFILE *file;
    SF_INFO format;
    kz_resampler *resampler; // NULL when the file has the wanted rate
    float *block;            // [BLOCK_FRAMES][channels]
    float *mono;             // [BLOCK_FRAMES]
    kz_samples result;
    size_t capacity; // of result.samples
    size_t limit;    // most samples that the result may hold
    kz_audio_source source;
} file_reader;

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

static kazeia_status check_format(const file_reader *reader, uint32_t wanted_rate_hz) {
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
    const int64_t most_frames = (int64_t)KZ_AUDIO_LONGEST_S * format->samplerate;
    if (format->frames > most_frames && format->frames != SF_COUNT_MAX) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: claims %lld frames at %d Hz, expected at most %u s",
                       reader->path, (long long)format->frames, format->samplerate,
                       KZ_AUDIO_LONGEST_S);
    }
    return KAZEIA_OK;
}

static kazeia_status open_file(file_reader *reader, uint32_t wanted_rate_hz) {
    KZ_TRY(check_path(reader->path));
    // libsndfile keeps the reason of a failed sf_open in one variable for the whole process: two
    // threads that fail at once may see each other's reason. The status is right in any case.
    reader->file = sf_open(reader->path, SFM_READ, &reader->format);
    if (reader->file == NULL) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: is no audio that can be read: %s", reader->path,
                       sf_error_number(sf_error(NULL)));
    }
    KZ_TRY(check_format(reader, wanted_rate_hz));
    reader->source.sample_rate_hz = (uint32_t)reader->format.samplerate;
    reader->source.channel_count = (uint32_t)reader->format.channels;
    return KAZEIA_OK;
}

static kazeia_status allocate_buffers(file_reader *reader, uint32_t wanted_rate_hz) {
    const kazeia_allocator *allocator = &reader->allocator;
    const uint32_t source_rate_hz = reader->source.sample_rate_hz;
    const size_t channels = reader->source.channel_count;
    void *memory;
    KZ_TRY(kz_alloc(allocator, BLOCK_FRAMES * channels, sizeof(float), "audio block", &memory));
    reader->block = memory;
    KZ_TRY(kz_alloc(allocator, BLOCK_FRAMES, sizeof(float), "mono block", &memory));
    reader->mono = memory;
    const uint64_t most = (uint64_t)FIRST_CAPACITY_S * wanted_rate_hz;
    const uint64_t frames = reader->format.frames > 0 ? (uint64_t)reader->format.frames : 0;
    // `most` bounds what a header can make us take before a single frame is decoded.
    uint64_t capacity = most;
    if (frames / source_rate_hz < FIRST_CAPACITY_S) {
        capacity = frames * wanted_rate_hz / source_rate_hz + 1;
    }
    // One more than the longest sound: the resampler may round its last sample up.
    reader->limit = (size_t)KZ_AUDIO_LONGEST_S * wanted_rate_hz + 1;
    reader->capacity = (size_t)capacity;
    reader->result.sample_rate_hz = wanted_rate_hz;
    KZ_TRY(kz_alloc(allocator, reader->capacity, sizeof(float), "audio samples", &memory));
    reader->result.samples = memory;
    if (source_rate_hz == wanted_rate_hz) {
        return KAZEIA_OK;
    }
    return kz_resampler_create(source_rate_hz, wanted_rate_hz, allocator, &reader->resampler);
}

// Makes room for `more` samples after the present ones.
static kazeia_status reserve(file_reader *reader, size_t more) {
    // No overflow: the count is at most the limit, and `more` at most a block.
    const size_t needed = reader->result.count + more;
    if (needed <= reader->capacity) {
        return KAZEIA_OK;
    }
    if (needed > reader->limit) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: holds more than %u s of sound, the most that is read",
                       reader->path, KZ_AUDIO_LONGEST_S);
    }
    size_t grown = reader->capacity * 2;
    grown = grown < needed ? needed : grown;
    grown = grown > reader->limit ? reader->limit : grown;
    void *memory = reader->result.samples;
    KZ_TRY(kz_realloc(&reader->allocator, reader->result.count, grown, sizeof(float),
                      "audio samples", &memory));
    reader->result.samples = memory;
    reader->capacity = grown;
    return KAZEIA_OK;
}

// The mean, not the sum: two channels in phase must not pass full scale.
static void mix_down(file_reader *reader, size_t frames) {
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

static kazeia_status append(file_reader *reader, size_t count) {
    KZ_TRY(reserve(reader, count));
    memcpy(reader->result.samples + reader->result.count, reader->mono, count * sizeof(float));
    reader->result.count += count;
    return KAZEIA_OK;
}

// Sends mono samples through the resampler; NULL asks for the rest at the end.
static kazeia_status append_resampled(file_reader *reader, const float *mono, size_t count) {
    // At least one place is made each round, so that a round without a sample given or taken means
    // that nothing is left, or that the resampler is stuck, never that there was no room.
    for (;;) {
        KZ_TRY(reserve(reader, 1));
        size_t taken = 0;
        size_t given = 0;
        KZ_TRY(kz_resampler_run(reader->resampler, mono, count, &taken,
                                reader->result.samples + reader->result.count,
                                reader->capacity - reader->result.count, &given));
        reader->result.count += given;
        if (mono != NULL) {
            mono += taken;
            count -= taken;
        }
        if (given == 0 && count == 0) {
            return KAZEIA_OK;
        }
        if (given == 0 && taken == 0) {
            return kz_fail(KAZEIA_IO, "%s: the resampler takes no more, %zu samples are left",
                           reader->path, count);
        }
    }
}

static kazeia_status read_all(file_reader *reader) {
    for (;;) {
        // A short count need not be the end; only 0 is.
        const sf_count_t frames = sf_readf_float(reader->file, reader->block, BLOCK_FRAMES);
        if (frames <= 0) {
            break;
        }
        reader->source.frame_count += (uint64_t)frames;
        mix_down(reader, (size_t)frames);
        KZ_TRY(reader->resampler != NULL ? append_resampled(reader, reader->mono, (size_t)frames)
                                         : append(reader, (size_t)frames));
    }
    if (sf_error(reader->file) != SF_ERR_NO_ERROR) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: damaged after %llu frames: %s", reader->path,
                       (unsigned long long)reader->source.frame_count, sf_strerror(reader->file));
    }
    // The filter of the resampler still holds the last milliseconds.
    return reader->resampler != NULL ? append_resampled(reader, NULL, 0) : KAZEIA_OK;
}

static void clear_reader(file_reader *reader) {
    if (reader->file != NULL) {
        sf_close(reader->file);
    }
    kz_resampler_destroy(reader->resampler);
    kz_free(&reader->allocator, reader->block);
    kz_free(&reader->allocator, reader->mono);
}

kazeia_status kz_audio_read_file(const char *path, uint32_t wanted_rate_hz,
                                 const kazeia_allocator *allocator, kz_samples *out_samples,
                                 kz_audio_source *out_source) {
    file_reader reader = {.path = path, .allocator = kz_allocator_or_default(allocator)};
    kazeia_status status;
    KZ_TRY_DONE(status, open_file(&reader, wanted_rate_hz));
    KZ_TRY_DONE(status, allocate_buffers(&reader, wanted_rate_hz));
    KZ_TRY_DONE(status, read_all(&reader));
    *out_samples = reader.result;
    if (out_source != NULL) {
        *out_source = reader.source;
    }
done:
    // On success the samples are the caller's by now.
    if (status != KAZEIA_OK) {
        kz_samples_clear(&reader.result, &reader.allocator);
    }
    clear_reader(&reader);
    return status != KAZEIA_BAD_FILE
               ? status
               : kz_fail_advice(status, "give a sound file: WAV, FLAC, Ogg, MP3 or another that "
                                        "libsndfile reads");
}
