// kokoro_voice.h: a Kokoro as a voice: sentences -> sound.
//
// Each sentence is read clause by clause (text/phonemes.h, speak/kokoro_symbols.h); as many clauses
// as the model takes at once are one piece, whose melody is the model's. What is longer is cut
// between clauses, or words. The silence that the model puts around a piece is taken off, and the
// pause between two pieces goes by the punctuation between them. docs/speaking.md tells the whole.
#ifndef KZ_SPEAK_KOKORO_VOICE_H
#define KZ_SPEAK_KOKORO_VOICE_H

#include "runtime/load.h"
#include "runtime/pool.h"
#include "speak/voice.h"

// The strings may go after opening.
typedef struct kz_kokoro_settings {
    const char *speaker;  // NULL or "": the usual one of the language, or of French
    const char *language; // of the text, as "fr" or "en-gb"; NULL: the speaker's
    float speed;          // 0.5 to 2; 0 counts as 1
    // Is shown the ids of each piece before it is said; NULL: nobody. For tests and measurements.
    void (*see)(void *context, const int32_t *ids, size_t count);
    void *see_context;
} kz_kokoro_settings;

// Whether the program is one that this voice drives.
bool kz_kokoro_is_spoken_by(const kz_program *program);
// NOT_FOUND lists the speakers, or tells that espeak-ng is missing; UNSUPPORTED for a language that
// is not read; BAD_ARGUMENT for a speed; BAD_FILE; OUT_OF_MEMORY. The pool outlives the voice.
KAZEIA_MUST_CHECK kazeia_status kz_kokoro_voice_open(kz_program *program, kz_pool *pool,
                                                     const kz_kokoro_settings *settings,
                                                     const kazeia_allocator *allocator,
                                                     kz_voice **out_voice);
// The language that it reads now, as "en-us". The voice must be of this kind, which is not checked.
const char *kz_kokoro_voice_language(const kz_voice *voice);

#endif
