// listen.h: speech to text.
//
//     kazeia_heard heard;
//     size_t count = 0;
//     kazeia_status status = KAZEIA_OK;
//     TRY(kazeia_stage_feed(listen, samples, sample_count, &taken));
//     TRY(kazeia_stage_finish(listen));
//     while ((status = kazeia_stage_next(listen, &heard, 1, &count)) == KAZEIA_OK) {
//         printf("%.1f s: %s\n", heard.start_s, heard.text);
//     }
//
// The stage holds 31 s of sound: feed longer sound in a loop, with next whenever feed takes less.
#ifndef KAZEIA_LISTEN_H
#define KAZEIA_LISTEN_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// What was heard in one window (at most 30 s of sound). Pointers are valid until the stage's next
// call.
typedef struct kazeia_heard {
    const char *text;      // UTF-8, trimmed; "" when nothing was said
    const char *language;  // ISO 639-1; "" when guards are on, nothing was heard and none was given
    const int32_t *tokens; // [token_count]: text ids, without prompt and end-of-text
    size_t token_count;
    // Mean natural log-probability of the decoded tokens, end-of-text included, also where the
    // guards then threw the text away; 0 when nothing was decoded.
    float avg_logprob;
    float no_speech_prob;  // the model's, 0 to 1; 1 when the sound itself cannot be speech
    double start_s, end_s; // the window's place in what was fed since creation or the last reset
} kazeia_heard;

// How much of a window of 30 s the encoder sees. Whisper was trained on whole windows, silence
// behind a short sound included.
typedef enum kazeia_audio_context {
    KAZEIA_AUDIO_CONTEXT_FULL, // all
    KAZEIA_AUDIO_CONTEXT_AUTO, // the sound and 1 s, at least 8 s: several times as fast where short
} kazeia_audio_context;

typedef struct kazeia_listen_settings {
    // ISO codes separated by commas ("fr", "fr,en"), or "auto": one code is taken as given, several
    // are an allow-list for detection, which happens in each window anew. NULL: "auto".
    const char *languages;
    // Silence, noise and tones give "" instead of invented text, and endless repetitions are cut
    // (docs/listening.md). Off: whatever the model writes.
    bool has_guards;
    kazeia_audio_context audio_context;
    // A program with the ability "vad", which the stage then shares: windows are the stretches in
    // which somebody speaks, `start_s` and `end_s` are those of the speech, and sound without
    // speech gives no window at all. NULL: none.
    kazeia_program *vad;
    // With `vad`: silence that parts two windows, at most 20,000. Less than that is within one.
    uint32_t pause_ms;
    const kazeia_allocator *allocator; // NULL: the runtime's
} kazeia_listen_settings;

// Every language of the program, with guards, whole windows, without voice activity; a pause of
// 800 ms.
KAZEIA_API kazeia_listen_settings kazeia_listen_settings_default(void);

// A stage: in: f32 mono samples at 16 kHz, full scale 1; out: kazeia_heard, one a call, so that a
// `capacity` of 1 suffices. Windows of 30 s are cut at the quietest place of their last 5 s. feed
// only collects; next transcribes one window once more than 30 s are there or finish was called: it
// does so greedily, without timestamps, up to 224 tokens. After a failure of next the window is
// still there and next may be called again.
//
// Creation fails with BAD_FILE or UNSUPPORTED when the program is not one that listens
// (docs/abilities.md), BAD_ARGUMENT when a language is none of the program's or the pause too long,
// OUT_OF_MEMORY.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_listen_create(kazeia_runtime *runtime, kazeia_program *program,
                     const kazeia_listen_settings *settings, kazeia_stage **out_stage);

// --- Voice activity -----------------------------------------------------------------------------

// A stretch of sound in which somebody speaks, in seconds since creation or the last reset.
typedef struct kazeia_speech_span {
    double start_s, end_s;
} kazeia_speech_span;

typedef struct kazeia_vad_settings {
    float threshold;        // probability from which a window of 32 ms is speech: 0.15 to 1
    uint32_t min_speech_ms; // what is shorter is no speech: at most 2,000
    uint32_t pre_roll_ms;   // spans reach this far further at both ends: at most 2,000
    uint32_t hang_over_ms;  // silence that ends a span: at most 20,000
    const kazeia_allocator *allocator; // NULL: the runtime's
} kazeia_vad_settings;

// 0.5; 250, 100 and 300 ms.
KAZEIA_API kazeia_vad_settings kazeia_vad_settings_default(void);

// A stage: in: f32 mono samples at 16 kHz; out: kazeia_speech_span, one a call. A span is given
// once the silence behind it is long enough, or at finish. The stage holds 31 s of sound. Creation
// fails with BAD_FILE or UNSUPPORTED when the program is not one of voice activity
// (docs/abilities.md), BAD_ARGUMENT for a setting, OUT_OF_MEMORY.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_vad_create(kazeia_runtime *runtime,
                                                             kazeia_program *program,
                                                             const kazeia_vad_settings *settings,
                                                             kazeia_stage **out_stage);

// --- Audio files --------------------------------------------------------------------------------

// Reads an audio file whole (any format libsndfile knows, channels averaged) as f32 mono at
// `sample_rate_hz`, 1,000 to 768,000. Release *out_samples [*out_count] with kazeia_audio_release;
// a file without sound gives 0 samples. Values that are no numbers are read as silence. NOT_FOUND;
// BAD_ARGUMENT for a folder or the rate asked for; BAD_FILE for what is damaged, no audio, or
// longer than four hours; UNSUPPORTED for the file's own rate, more than 64 channels, or a build
// without the library; OUT_OF_MEMORY.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_audio_read(const char *path,
                                                             uint32_t sample_rate_hz,
                                                             float **out_samples,
                                                             size_t *out_count);
// Frees what kazeia_audio_read gave.
KAZEIA_API void kazeia_audio_release(float *samples);

// The same a piece at a time, as a stage without input: out: f32 samples, memory that does not grow
// with the file. Fails as kazeia_audio_read does; next also with BAD_FILE where the file is
// damaged: the samples before are good. A file is read once: reset is UNSUPPORTED. *out_claimed is
// how many samples the file says it holds, for a bar: 0 when it does not say, and not to be
// trusted; NULL: not wanted.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_audio_reader_create(const char *path,
                                                                      uint32_t sample_rate_hz,
                                                                      uint64_t *out_claimed,
                                                                      kazeia_stage **out_stage);

// A 16-bit mono WAV file as a stage without output: in: f32 samples in [-1, 1]; louder ones are cut
// to full scale, NaN becomes silence. Written atomically: the file takes its name at finish, and
// until then what had the name stays; destroy without finish, and cancel, leave no file. Creation:
// BAD_ARGUMENT for a rate of 0 or a path that is a folder or device; NOT_FOUND for its folder; IO.
// feed takes all: UNSUPPORTED when the file would pass WAV's 4 GB, IO. finish: IO.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_audio_writer_create(const char *path,
                                                                      uint32_t sample_rate_hz,
                                                                      kazeia_stage **out_stage);

#ifdef __cplusplus
}
#endif

#endif
