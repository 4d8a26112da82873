// clone.h: what a voice that clones needs of a recording: its codes, and its speaker's vector.
//
//   in   mono samples at the program's rate
//   out  codes [frames][groups]; a vector [hidden]
//
// Done once for a voice: both functions work in a context that the caller makes for it, and take
// their memory when they are called.
#ifndef KZ_SPEAK_CLONE_H
#define KZ_SPEAK_CLONE_H

#include "runtime/context.h"

// Codes of a recording; a last frame that is not whole counts. *out_codes is the caller's to free
// with the allocator (kz_free). UNSUPPORTED when the program has no encoder, BAD_ARGUMENT for no
// sound or more than the program holds, CANCELLED.
KAZEIA_MUST_CHECK kazeia_status kz_clone_encode(kz_context *context, const float *samples,
                                                size_t count, const kazeia_allocator *allocator,
                                                int32_t **out_codes, size_t *out_frames);
// The speaker's vector, of the first 20 s or so of a longer recording. *out_vector [*out_count] is
// the caller's to free. Fails as above; BAD_ARGUMENT also for less than a tenth of a second.
KAZEIA_MUST_CHECK kazeia_status kz_clone_vector(kz_context *context, const float *samples,
                                                size_t count, const kazeia_allocator *allocator,
                                                float **out_vector, size_t *out_count);

#endif
