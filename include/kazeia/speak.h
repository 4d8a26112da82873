// speak.h: text to speech.
//
//     float samples[4096];
//     size_t count = 0;
//     kazeia_status status = KAZEIA_OK;
//     TRY(kazeia_stage_feed(speak, text, bytes, &taken));
//     TRY(kazeia_stage_finish(speak));
//     while ((status = kazeia_stage_next(speak, samples, 4096, &count)) == KAZEIA_OK) {
//         play(samples, count);
//     }
//
// Text may come in pieces of any size, as a model writes it: a sentence is spoken once it is whole.
#ifndef KAZEIA_SPEAK_H
#define KAZEIA_SPEAK_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the voice of a program shows of an utterance while it makes it, in this order.
typedef enum kazeia_speak_part {
    KAZEIA_SPEAK_PREFILL = 0, // f32 [rows][columns]: what it is given first
    KAZEIA_SPEAK_LOGITS = 1,  // f32 [1][columns]: before each choice of a frame's first code
    KAZEIA_SPEAK_CODE = 2,    // i32 [1][1]: that choice, the end too
    KAZEIA_SPEAK_FRAME = 3,   // i32 [1][columns]: all codes of the frame
    // Of a voice that reads phonemes, instead of those:
    KAZEIA_SPEAK_SYMBOLS = 4, // i32 [rows][1]: what it says in one go, in the program's ids
} kazeia_speak_part;

// `values` are valid during the call, which holds the voice up.
typedef void (*kazeia_speak_watch)(void *context, kazeia_speak_part part, const void *values,
                                   size_t rows, size_t columns);

typedef struct kazeia_speak_settings {
    const char *voice;    // "espeak:LANGUAGE", as "espeak:fr"; unused where a program speaks
    const char *language; // ISO code of the text, for its abbreviations; NULL: the voice's own
    float speed;          // 1: the voice's own; espeak-ng takes 0.46 to 2.57; 0 counts as 1
    // A first fragment is cut at a comma or colon after a few words and spoken before its sentence
    // is whole: sound comes earlier, its melody is a little worse. A program whose text follows
    // frame by frame is given each sentence's words as they come instead; it waits for late ones.
    bool cuts_first_early;
    // In a spoken conversation each reply is said in the language of its question, where the voice
    // has it; `voice`, `speaker` and `language` hold until the first one.
    bool follows_turn;
    const kazeia_allocator *allocator; // NULL: the runtime's

    // A program of ability "speak"; NULL: `voice`. What follows is read for it alone.
    kazeia_program *program;
    const char *speaker;  // one that it knows; NULL or "": none
    const char *instruct; // how to speak, in words; NULL: as it likes
    uint64_t seed;        // of its draws
    bool is_greedy;       // the most probable codes: for tests
    bool is_whole;        // it is given all of a sentence before it speaks
    bool is_verbatim;     // all text is one utterance, not cut into sentences nor rewritten
    uint32_t max_frames;  // of an utterance; 0: by the length of its text
    const float *vector;  // [vector_count]: the speaker to be cloned; NULL: none
    size_t vector_count;
    const int32_t *reference_codes; // [reference_frames][groups]: a recording to go on from, ...
    size_t reference_frames;
    const char *reference_text; // ... and what is said in it
    kazeia_speak_watch watch;   // NULL: none
    void *watch_context;
} kazeia_speak_settings;

// "espeak:fr" at its own speed, whole sentences.
KAZEIA_API kazeia_speak_settings kazeia_speak_settings_default(void);

// A stage: in: bytes of UTF-8 text as they are written (markdown, emoji, thinking and special
// tokens are never spoken); out: f32 mono samples in [-1, 1] at its sample_rate_hz, any
// number a call. next returns NEEDS_INPUT while no whole sentence waits. After DONE, and after a
// failure of next, only reset leads on.
//
// Creation fails with NOT_FOUND when there is no such voice or its library or data are not
// installed, BAD_ARGUMENT for a name or speed out of range, UNSUPPORTED for a voice that needs
// another program, OUT_OF_MEMORY. espeak-ng has one state for the whole process: stages that use it
// take turns, sentence by sentence.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_speak_create(
    kazeia_runtime *runtime, const kazeia_speak_settings *settings, kazeia_stage **out_stage);
// What a voice is, and what the voice of a program has done since its creation.
typedef struct kazeia_speak_statistics {
    uint32_t sample_rate_hz; // fixed at creation
    const char *language;    // of the text, as it is read now: "fr", "en-us"; "" when unknown
    // Sound that should be there before it is played, so that the rest does not run dry: by the
    // speed that was measured so far, and the text. From the thread of next.
    double lead_s;
    // Zeros where no program speaks:
    uint64_t frames;
    double talker_ms, predictor_ms, codec_ms; // in all
    uint64_t length_ends;  // utterances that were ended because they were too long for their text,
    uint64_t silence_ends; // or had fallen silent
} kazeia_speak_statistics;
// All zeros when `speak` is NULL or another kind of stage.
KAZEIA_API kazeia_speak_statistics kazeia_speak_statistics_of(const kazeia_stage *speak);

// The codec of a program of ability "speak".
typedef struct kazeia_codec_shape {
    uint32_t groups, codes; // codes of a frame; each is below `codes`
    uint32_t samples_per_frame, sample_rate_hz;
} kazeia_codec_shape;
// A stage that decodes: in: i32 codes, frame after frame of `groups` each; out: f32 mono samples.
// What was fed between two calls of next is decoded at once; the sound does not depend on it.
// UNSUPPORTED when the program has no codec. `out_shape` may be NULL.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_codec_create(kazeia_runtime *runtime,
                                                               kazeia_program *program,
                                                               kazeia_codec_shape *out_shape,
                                                               kazeia_stage **out_stage);
// What a recording gives a voice that clones: a stage that takes f32 mono samples at the codec's
// rate and, after finish, gives i32 codes, frame after frame, or the f32 numbers of the speaker's
// vector. Unlike other stages it takes memory as the recording grows. UNSUPPORTED when the program
// cannot.
typedef enum kazeia_clone_part {
    KAZEIA_CLONE_CODES = 0,
    KAZEIA_CLONE_VECTOR = 1,
} kazeia_clone_part;
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_clone_create(kazeia_runtime *runtime,
                                                               kazeia_program *program,
                                                               kazeia_clone_part part,
                                                               kazeia_stage **out_stage);

#ifdef __cplusplus
}
#endif

#endif
