// kokoro.h: a Kokoro voice: ids of symbols -> samples, a piece at a time.
//
//   in   ids as the program's table of symbols has them (speak/kokoro_symbols.h), without the pads
//        that the model wants around them: those are put there
//   out  how long each symbol lasts, then the piece's samples
//
// The model normalises over a whole piece, so a piece is spoken in one go: its length bounds the
// memory, and how soon its first sound is there. Durations may be changed between the two calls:
// for a test that imposes another's, or for pauses.
//
// After hexgrad, "Kokoro-82M" (StyleTTS 2 by Li et al., 2023, with an ISTFTNet vocoder by Kaneko et
// al., 2022); docs/models/kokoro.md says what is computed.
#ifndef KZ_SPEAK_KOKORO_H
#define KZ_SPEAK_KOKORO_H

#include "runtime/context.h"

typedef struct kz_kokoro kz_kokoro;

typedef struct kz_kokoro_shape {
    uint32_t id_limit;          // ids are below it
    uint32_t symbol_limit;      // of a piece, pads not counted
    uint32_t frame_limit;       // of a piece: all durations together
    uint32_t samples_per_frame; // a duration of 1
    uint32_t sample_rate_hz;
} kz_kokoro_shape;

// All memory is taken here. The pool outlives the voice. BAD_FILE when the program's methods are
// not those of a Kokoro (docs/abilities.md, "speak", kind "kokoro").
KAZEIA_MUST_CHECK kazeia_status kz_kokoro_create(kz_program *program, kz_pool *pool,
                                                 kz_priority priority,
                                                 const kazeia_allocator *allocator,
                                                 kz_kokoro **out_kokoro);
void kz_kokoro_destroy(kz_kokoro *kokoro); // NULL is fine
const kz_kokoro_shape *kz_kokoro_shape_of(const kz_kokoro *kokoro);

// Chooses a speaker of the program, as "ff_siwis"; the first one is chosen at creation. NOT_FOUND
// lists them.
KAZEIA_MUST_CHECK kazeia_status kz_kokoro_choose(kz_kokoro *kokoro, const char *speaker);
// The chosen speaker.
const char *kz_kokoro_speaker_of(const kz_kokoro *kokoro);
// The chosen speaker's language as the program says it, "fr", "en-us", "en-gb"...
const char *kz_kokoro_language_of(const kz_kokoro *kokoro);
// The name of a speaker of that language, the first one; NULL when there is none.
const char *kz_kokoro_speaker_for(const kz_kokoro *kokoro, const char *language);

// How many frames each of `count` symbols lasts at `speed` (1: as learnt; 0.5 to 2), pads included:
// *out_durations [count + 2], of the pad in front first, the voice's own and open to change until
// kz_kokoro_speak. BAD_ARGUMENT for more symbols than the limit, none, or an id out of range;
// CANCELLED.
KAZEIA_MUST_CHECK kazeia_status kz_kokoro_measure(kz_kokoro *kokoro, const int32_t *ids,
                                                  uint32_t count, float speed,
                                                  int32_t **out_durations);
// Frames of a list of durations.
uint64_t kz_kokoro_frames(const int32_t *durations, uint32_t count);
// Says the piece that was measured last, with its durations as they are now: samples in [-1, 1],
// valid until the next call. BAD_ARGUMENT when they are below 1 or sum up to more than the frame
// limit: the caller says fewer symbols; CANCELLED.
KAZEIA_MUST_CHECK kazeia_status kz_kokoro_speak(kz_kokoro *kokoro, const float **out_samples,
                                                size_t *out_count);

// From any thread: a running call ends within 50 ms, later ones fail at once, until resume.
void kz_kokoro_cancel(kz_kokoro *kokoro);
void kz_kokoro_resume(kz_kokoro *kokoro);

#endif
