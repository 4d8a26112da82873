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

typedef struct kazeia_speak_settings {
    const char *voice;    // "espeak:LANGUAGE", as "espeak:fr" or "espeak:en-us"
    const char *language; // ISO code of the text, for its abbreviations; NULL: the voice's own
    float speed;          // 1: the voice's own; espeak-ng takes 0.46 to 2.57; 0 counts as 1
    // A first fragment is cut at a comma or colon after a few words and spoken before its sentence
    // is whole: sound comes earlier, its melody is a little worse.
    bool cuts_first_early;
    const kazeia_allocator *allocator; // NULL: the runtime's
} kazeia_speak_settings;

// "espeak:fr" at its own speed, whole sentences.
KAZEIA_API kazeia_speak_settings kazeia_speak_settings_default(void);

// A stage: in: bytes of UTF-8 text as they are written (markdown, emoji, thinking and special
// tokens are never spoken); out: f32 mono samples in [-1, 1] at kazeia_speak_sample_rate, any
// number a call. next returns NEEDS_INPUT while no whole sentence waits. After DONE, and after a
// failure of next, only reset leads on.
//
// Creation fails with NOT_FOUND when there is no such voice or its library or data are not
// installed, BAD_ARGUMENT for a name or speed out of range, UNSUPPORTED for a voice that needs
// another program, OUT_OF_MEMORY. espeak-ng has one state for the whole process: stages that use it
// take turns, sentence by sentence.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_speak_create(
    kazeia_runtime *runtime, const kazeia_speak_settings *settings, kazeia_stage **out_stage);
// In Hz, fixed at creation; 0 when `speak` is NULL or another kind of stage.
KAZEIA_API uint32_t kazeia_speak_sample_rate(const kazeia_stage *speak);

#ifdef __cplusplus
}
#endif

#endif
