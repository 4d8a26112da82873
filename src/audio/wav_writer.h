// wav_writer.h: writes mono samples as a 16-bit PCM wav file, while they come.
//
// The file appears under its name only at commit, whole (base/file_write.h): a kill before leaves
// what was there. Needs no audio library.
#ifndef KZ_AUDIO_WAV_WRITER_H
#define KZ_AUDIO_WAV_WRITER_H

#include "audio/samples.h"

typedef struct kz_wav_writer kz_wav_writer;

// Fails with NOT_FOUND (no such folder), BAD_ARGUMENT (a rate of 0), IO or OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_wav_writer_create(const char *path, uint32_t sample_rate_hz,
                                                     const kazeia_allocator *allocator,
                                                     kz_wav_writer **out_writer);
// Louder samples are cut to full scale; NaN becomes silence. The scale is 32768, as readers divide
// by, so that -1 is -32768 and 16-bit sound comes back unchanged. Fails with UNSUPPORTED when the
// file would pass wav's 4 GB, or IO; the samples written before stay good.
KAZEIA_MUST_CHECK kazeia_status kz_wav_writer_append(kz_wav_writer *writer, const float *samples,
                                                     size_t count);
uint64_t kz_wav_writer_sample_count(const kz_wav_writer *writer);
// Completes the header, renames into place and destroys the writer, also on failure.
KAZEIA_MUST_CHECK kazeia_status kz_wav_writer_commit(kz_wav_writer *writer);
// Leaves no file and destroys the writer. NULL is fine.
void kz_wav_writer_abandon(kz_wav_writer *writer);

#endif
