// listen.h: speech to text.
#ifndef KAZEIA_LISTEN_H
#define KAZEIA_LISTEN_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// What was heard in one window (at most 30 s). Pointers are valid until the stage's next call.
typedef struct kazeia_heard {
    const char *text;      // UTF-8, trimmed; "" when nothing was said
    const char *language;  // ISO 639-1; "" when guards are on, nothing was heard and none was given
    const int32_t *tokens; // text ids, without prompt and end-of-text
    size_t token_count;
    float avg_logprob;     // mean over the tokens, end-of-text included; 0 when nothing was decoded
    float no_speech_prob;  // 1 when the sound itself cannot be speech
    double start_s, end_s; // the window's place in what was fed since the last reset
} kazeia_heard;

typedef struct kazeia_listen_settings {
    // ISO codes separated by commas ("fr", "fr,en"), or "auto": one code is taken as given, several
    // are an allow-list for detection. NULL: "auto".
    const char *languages;
    bool has_guards; // no-speech and repetition guards; off: whatever the model writes
    const kazeia_allocator *allocator;
} kazeia_listen_settings;

KAZEIA_API kazeia_listen_settings kazeia_listen_settings_default(void);

// A stage: in: f32 mono samples at 16 kHz; out: kazeia_heard. Windows of 30 s are cut at the
// quietest place of their last 5 s. feed only collects; next transcribes one window.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_listen_create(kazeia_runtime *runtime, kazeia_program *program,
                     const kazeia_listen_settings *settings, kazeia_stage **out_stage);

// Reads an audio file (any format libsndfile knows, any rate, channels averaged) as f32 mono at
// `sample_rate_hz`. Release *out_samples with kazeia_audio_release.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_audio_read(const char *path,
                                                             uint32_t sample_rate_hz,
                                                             float **out_samples,
                                                             size_t *out_count);
KAZEIA_API void kazeia_audio_release(float *samples);

// A 16-bit mono WAV file, written atomically: it appears at close.
typedef struct kazeia_audio_writer kazeia_audio_writer;
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_audio_writer_open(
    const char *path, uint32_t sample_rate_hz, kazeia_audio_writer **out_writer);
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_audio_writer_append(kazeia_audio_writer *writer,
                                                                      const float *samples,
                                                                      size_t count);
// Destroys the writer, also on failure. `keep` false: no file is left.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_audio_writer_close(kazeia_audio_writer *writer,
                                                                     bool keep);

#ifdef __cplusplus
}
#endif

#endif
