// speak.h: text to speech.
#ifndef KAZEIA_SPEAK_H
#define KAZEIA_SPEAK_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kazeia_speak_settings {
    const char *voice;     // "espeak:fr"; a program with a voice: "MODEL[:SPEAKER]"
    const char *language;  // ISO code of the text; NULL: the voice's own
    float speed;           // 1: the voice's own
    bool cuts_first_early; // a first short fragment is spoken before its sentence is whole
    const kazeia_allocator *allocator;
} kazeia_speak_settings;

KAZEIA_API kazeia_speak_settings kazeia_speak_settings_default(void);

// A stage: in: bytes of text as they are written (markdown, emoji, thinking and special tokens are
// never spoken); out: f32 mono samples at kazeia_speak_sample_rate.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_speak_create(
    kazeia_runtime *runtime, const kazeia_speak_settings *settings, kazeia_stage **out_stage);
KAZEIA_API uint32_t kazeia_speak_sample_rate(const kazeia_stage *speak);

#ifdef __cplusplus
}
#endif

#endif
