// files.c: reads a whole audio file.
//
// in:  a path and the wanted rate
// out: mono samples at that rate, and what the file held
// The result grows with what was really decoded: a header's length is a hint for the first
// allocation, never a size to trust.
#include "audio/files.h"

#define FIRST_CAPACITY_S 60u // the first allocation never holds more sound than this
#define LEAST_ROOM 4096u

typedef struct whole_file {
    kazeia_allocator allocator;
    kz_samples samples;
    size_t capacity;
} whole_file;

static kazeia_status allocate(whole_file *whole, uint64_t claim, uint32_t rate_hz) {
    const uint64_t most = (uint64_t)FIRST_CAPACITY_S * rate_hz;
    whole->samples.sample_rate_hz = rate_hz;
    // One more than claimed, so that a true claim is read to its end without growing.
    whole->capacity = (size_t)(claim < most ? claim : most) + 1;
    return kz_alloc(&whole->allocator, whole->capacity, sizeof(float), "audio samples",
                    (void **)&whole->samples.samples);
}

// Doubled, so that hours of sound are copied a dozen times, not thousands; no overflow, since the
// reader stops at KZ_AUDIO_LONGEST_S.
static kazeia_status make_room(whole_file *whole) {
    if (whole->samples.count < whole->capacity) {
        return KAZEIA_OK;
    }
    const size_t grown = whole->capacity * 2 + LEAST_ROOM;
    void *memory = whole->samples.samples;
    KZ_TRY(kz_realloc(&whole->allocator, whole->samples.count, grown, sizeof(float),
                      "audio samples", &memory));
    whole->samples.samples = memory;
    whole->capacity = grown;
    return KAZEIA_OK;
}

static kazeia_status read_all(kz_audio_reader *reader, whole_file *whole) {
    for (size_t count = 1; count > 0;) {
        KZ_TRY(make_room(whole));
        KZ_TRY(kz_audio_reader_next(reader, whole->samples.samples + whole->samples.count,
                                    whole->capacity - whole->samples.count, &count));
        whole->samples.count += count;
    }
    return KAZEIA_OK;
}

kazeia_status kz_audio_read_file(const char *path, uint32_t wanted_rate_hz,
                                 const kazeia_allocator *allocator, kz_samples *out_samples,
                                 kz_audio_source *out_source) {
    whole_file whole = {.allocator = kz_allocator_or_default(allocator)};
    kz_audio_reader *reader = NULL;
    kazeia_status status;
    KZ_TRY_DONE(status,
                kz_audio_reader_open(path, wanted_rate_hz, KZ_AUDIO_LONGEST_S, allocator, &reader));
    KZ_TRY_DONE(status, allocate(&whole, kz_audio_reader_claim(reader), wanted_rate_hz));
    KZ_TRY_DONE(status, read_all(reader, &whole));
    *out_samples = whole.samples;
    if (out_source != NULL) {
        *out_source = kz_audio_reader_source(reader);
    }
done:
    // On success the samples are the caller's by now.
    if (status != KAZEIA_OK) {
        kz_samples_clear(&whole.samples, &whole.allocator);
    }
    kz_audio_reader_close(reader);
    return status;
}
