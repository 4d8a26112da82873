// qwen3_tts.h: a voice whose program writes codes of sound as a language model writes words.
//
//   in   sentences as they are written, each ended by a line break: speech begins with the first
//        word, where the layout allows it, and waits for text that is late
//   out  mono samples at the program's rate
//
// Talker, code predictor and codec of Qwen3-TTS (docs/models/qwen3_tts.md): an utterance is rows of
// summed embeddings; the talker gives the first code of each frame, the predictor the others, one
// after the other; the codec turns frames into sound as they come.
#ifndef KZ_SPEAK_QWEN3_TTS_H
#define KZ_SPEAK_QWEN3_TTS_H

#include "runtime/load.h"
#include "runtime/pool.h"
#include "speak/voice.h"

// What a tap is shown, in the order in which an utterance makes it.
typedef enum kz_tts_tap_kind {
    KZ_TTS_TAP_PREFILL, // f32 [rows][hidden]: what the talker is given first
    KZ_TTS_TAP_LOGITS,  // f32 [1][vocabulary]: the talker's, as computed, before each choice
    KZ_TTS_TAP_CODE,    // i32 [1][1]: what was chosen, the end too
    KZ_TTS_TAP_FRAME,   // i32 [1][groups]
} kz_tts_tap_kind;

// Sees an utterance being made; for tests and measurements. Values are valid during the call.
typedef struct kz_tts_tap {
    void *context;
    void (*see)(void *context, kz_tts_tap_kind kind, const void *values, size_t rows,
                size_t columns);
} kz_tts_tap;

// Strings and arrays may go when the voice is open.
typedef struct kz_tts_settings {
    const char *language; // as the program calls it, an ISO 639-1 code, or "auto"; NULL: "auto"
    const char *speaker;  // one of the program's; NULL or "": none
    const char *instruct; // how to speak; NULL: nothing is said of it
    const float *vector;  // [vector_count]: the speaker's vector for a program that clones; or NULL
    size_t vector_count;
    // A recording in codes [reference_frames][groups] and what is said in it, which the voice goes
    // on from; NULL: none.
    const int32_t *reference_codes;
    uint32_t reference_frames;
    const char *reference_text;
    uint64_t seed;
    bool is_greedy;      // the most probable codes, for tests: voices sound dull so
    bool is_whole;       // the layout that is given all text before it speaks
    bool is_verbatim;    // all text up to finish is one utterance, line breaks included
    uint32_t max_frames; // of an utterance; 0: by the length of its text
    kz_tts_tap tap;      // see NULL: none
    uint64_t memory_limit;
} kz_tts_settings;

// What an open voice has done since it was opened.
typedef struct kz_tts_counts {
    uint64_t frames;
    double talker_ms, predictor_ms, codec_ms; // in all
    uint64_t silence_ends, length_ends;       // utterances that were ended because they did not end
} kz_tts_counts;

// UNSUPPORTED when the program has no such voice; NOT_FOUND names languages or speakers;
// BAD_ARGUMENT what does not fit the program; OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_qwen3_tts_open(kz_program *program, kz_pool *pool,
                                                  const kz_tts_settings *settings,
                                                  const kazeia_allocator *allocator,
                                                  kz_voice **out_voice);
// The ISO 639-1 code of a language that programs name, as "fr" for "french"; the name itself when
// it is none of them, NULL for NULL and "auto".
const char *kz_tts_language_code(const char *name);
// The voice must be of this kind, which is not checked.
kz_tts_counts kz_qwen3_tts_counts(const kz_voice *voice);

#endif
