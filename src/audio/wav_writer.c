// wav_writer.c: 16-bit PCM wav, written as a stream.
//
// in:  float samples, piece by piece
// out: a wav file that appears when complete
// The 44 bytes of header are ours rather than libsndfile's: its virtual IO would need seeking
// through the atomic writer for no gain. Layout: RIFF chunk, "fmt " of 16 bytes, "data";
// little-endian.
#include "audio/wav_writer.h"

#include <string.h>

#include "base/file_write.h"

#define HEADER_BYTES 44u
#define BLOCK_SAMPLES 2048u
#define BYTES_PER_SAMPLE 2u
// RIFF's size field holds the file's size less 8.
#define MOST_SAMPLES ((UINT32_MAX - HEADER_BYTES) / BYTES_PER_SAMPLE)

struct kz_wav_writer {
    kazeia_allocator allocator;
    kz_file_writer *file;
    uint32_t sample_rate_hz;
    uint64_t sample_count;
    uint8_t block[BLOCK_SAMPLES * BYTES_PER_SAMPLE];
};

static void put_u16(uint8_t *out_bytes, uint32_t value) {
    out_bytes[0] = (uint8_t)value;
    out_bytes[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *out_bytes, uint32_t value) {
    put_u16(out_bytes, value);
    put_u16(out_bytes + 2, value >> 16);
}

static void make_header(uint32_t sample_rate_hz, uint32_t sample_count, uint8_t *out_header) {
    const uint32_t data_bytes = sample_count * BYTES_PER_SAMPLE;
    memcpy(out_header, "RIFF", 4);
    put_u32(out_header + 4, data_bytes + HEADER_BYTES - 8);
    memcpy(out_header + 8, "WAVEfmt ", 8);
    put_u32(out_header + 16, 16); // bytes of the format that follow
    put_u16(out_header + 20, 1);  // PCM
    put_u16(out_header + 22, 1);  // channels
    put_u32(out_header + 24, sample_rate_hz);
    // Bytes a second, then bytes and bits of a frame.
    put_u32(out_header + 28, sample_rate_hz * BYTES_PER_SAMPLE);
    put_u16(out_header + 32, BYTES_PER_SAMPLE);
    put_u16(out_header + 34, 8 * BYTES_PER_SAMPLE);
    memcpy(out_header + 36, "data", 4);
    put_u32(out_header + 40, data_bytes);
}

kazeia_status kz_wav_writer_create(const char *path, uint32_t sample_rate_hz,
                                   const kazeia_allocator *allocator, kz_wav_writer **out_writer) {
    if (sample_rate_hz == 0 || sample_rate_hz > UINT32_MAX / BYTES_PER_SAMPLE) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "%s: cannot write a wav at %u Hz", path,
                       sample_rate_hz);
    }
    const kazeia_allocator chosen = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&chosen, 1, sizeof(kz_wav_writer), "wav writer", &memory));
    kz_wav_writer *writer = memory;
    writer->allocator = chosen;
    writer->sample_rate_hz = sample_rate_hz;
    uint8_t header[HEADER_BYTES];
    // The sizes are known at commit and patched in then; the file has its name only after that, so
    // nobody sees zeros.
    make_header(sample_rate_hz, 0, header);
    kazeia_status status;
    KZ_TRY_DONE(status, kz_file_writer_create(path, &chosen, &writer->file));
    KZ_TRY_DONE(status, kz_file_writer_append(writer->file, header, sizeof header));
    *out_writer = writer;
    return KAZEIA_OK;
done:
    kz_wav_writer_abandon(writer);
    return status;
}

// Full scale is 32768 on the negative side only; a sample of 1.0 is cut by one step.
static int16_t pcm16_from_float(float sample) {
    const float scaled = sample * 32768.0f;
    if (!(scaled > -32768.0f)) { // NaN comes here, too
        return sample < 0.0f ? INT16_MIN : 0;
    }
    return scaled >= 32767.0f ? INT16_MAX : (int16_t)lrintf(scaled);
}

kazeia_status kz_wav_writer_append(kz_wav_writer *writer, const float *samples, size_t count) {
    // Refused before anything of the piece is written: what was appended so far can still be
    // committed.
    if (count > MOST_SAMPLES - writer->sample_count) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "wav: %llu samples and %zu more pass the 4 GB that a wav file can hold",
                       (unsigned long long)writer->sample_count, count);
    }
    while (count > 0) {
        const size_t now = count < BLOCK_SAMPLES ? count : BLOCK_SAMPLES;
        for (size_t i = 0; i < now; i++) {
            put_u16(writer->block + i * BYTES_PER_SAMPLE, (uint16_t)pcm16_from_float(samples[i]));
        }
        KZ_TRY(kz_file_writer_append(writer->file, writer->block, now * BYTES_PER_SAMPLE));
        writer->sample_count += now;
        samples += now;
        count -= now;
    }
    return KAZEIA_OK;
}

uint64_t kz_wav_writer_sample_count(const kz_wav_writer *writer) {
    return writer->sample_count;
}

kazeia_status kz_wav_writer_commit(kz_wav_writer *writer) {
    uint8_t header[HEADER_BYTES];
    make_header(writer->sample_rate_hz, (uint32_t)writer->sample_count, header);
    // The writer is destroyed in any case; commit of the file has destroyed that one, hence NULL
    // for the abandon below.
    kazeia_status status = kz_file_writer_patch(writer->file, 0, header, sizeof header);
    if (status == KAZEIA_OK) {
        status = kz_file_writer_commit(writer->file);
        writer->file = NULL;
    }
    kz_wav_writer_abandon(writer);
    return status;
}

void kz_wav_writer_abandon(kz_wav_writer *writer) {
    if (writer == NULL) {
        return;
    }
    kz_file_writer_abandon(writer->file);
    const kazeia_allocator allocator = writer->allocator;
    kz_free(&allocator, writer);
}
