// codec.h: the codec of a voice's program: codes of frames to sound, as a stream.
//
//   in   codes [frames][groups], a frame after the other
//   out  samples_per_frame samples for each frame, mono in [-1, 1]
//
// The method "codec_decode" (docs/abilities.md, "speak") is causal and keeps what it needs of
// earlier frames in states of the context, so any cutting into calls gives the same sound.
#ifndef KZ_SPEAK_CODEC_H
#define KZ_SPEAK_CODEC_H

#include "runtime/context.h"

typedef struct kz_codec kz_codec;

// What a program says of its codec.
typedef struct kz_codec_shape {
    uint32_t groups, codes; // codes of a frame, values of each
    uint32_t samples_per_frame, sample_rate_hz;
    uint32_t frame_limit;  // frames of one call
    uint32_t stream_limit; // frames between two resets
} kz_codec_shape;

// Works in the context, which it does not own and which must outlive it. UNSUPPORTED when the
// program has no codec, BAD_FILE when that is not as docs/abilities.md says.
KAZEIA_MUST_CHECK kazeia_status kz_codec_create(kz_context *context,
                                                const kazeia_allocator *allocator,
                                                kz_codec **out_codec);
// NULL is fine.
void kz_codec_destroy(kz_codec *codec);

const kz_codec_shape *kz_codec_shape_of(const kz_codec *codec);
// The next frame is a first one.
void kz_codec_reset(kz_codec *codec);
// Decodes `frames` frames, 1 to frame_limit, into out_samples [frames * samples_per_frame].
// BAD_ARGUMENT for a code that is none, or when the stream is as long as it can be; CANCELLED.
// After a failure only reset leads on.
KAZEIA_MUST_CHECK kazeia_status kz_codec_decode(kz_codec *codec, const int32_t *codes,
                                                uint32_t frames, float *out_samples);

#endif
