// whisper_state.h: what the listening stage holds. Inside listen/ only: the stage itself, and what
// scores commands against the window that it heard last (listen/hear.h).
#ifndef KZ_LISTEN_WHISPER_STATE_H
#define KZ_LISTEN_WHISPER_STATE_H

#include "audio/mel.h"
#include "base/text_buffer.h"
#include "base/thread.h"
#include "generate/loop.h"
#include "listen/languages.h"
#include "listen/whisper.h"
#include "text/detokenizer.h"

#define MORE_SAMPLES 16000 // beyond a window: enough to know that it is not the last
#define TOKEN_LIMIT 224    // of one window, as in OpenAI's program
#define TEXT_BYTES 8192
#define PROMPT_TOKENS 4
// Sequence 0 transcribes; the others are beams of commands and their priors.
#define HEAR_BEAMS 12
#define SEQUENCES (1 + 2 * HEAR_BEAMS)
// The heard window, and one that holds nothing: each of its positions is the last cache row, which
// hear writes (listen/hear.c).
#define CROSS_SLOTS 2

// The inputs that the decoder's methods take besides the session's own, by their place in the
// settings.
enum { INPUT_CROSS_TABLE, INPUT_CROSS_SEQUENCES, INPUT_CROSS_LAST, INPUT_COUNT };

typedef struct listen_tokens {
    int64_t start, end, transcribe, no_speech, no_timestamps;
    const int64_t *suppress, *suppress_begin;
    size_t suppress_count, suppress_begin_count;
} listen_tokens;

struct kz_whisper {
    kazeia_allocator allocator;
    kz_program *program;
    kz_session *session;
    kz_sampler *sampler;
    kz_tokenizer *tokenizer;
    kz_mel *mel;
    kz_languages languages;
    listen_tokens tokens;
    kz_stop_tokens stop;
    bool has_guards;
    bool can_hear_commands; // the session has sequences and a window for them
    uint32_t encode_method;
    bool fits_context;
    int64_t positions;       // of a whole window
    int32_t *cross_table;    // [CROSS_SLOTS][positions]: every row in order; the last row alone
    int32_t *cross_zeros;    // [positions]
    float *mel_rows;         // [KZ_MEL_ROWS][mels]
    float *samples;          // [KZ_MEL_SAMPLES + MORE_SAMPLES]
    uint64_t samples_before; // given away in earlier windows
    kz_mutex input_lock;     // between the feeding and the listening thread; guards what follows
    bool has_input_lock;
    size_t sample_count; // of `samples`; feed writes behind them, next alone reads them
    bool is_finished;
    int32_t ids[TOKEN_LIMIT];
    size_t id_count;
    float log_probabilities[TOKEN_LIMIT + 1]; // of the ids, and of the end that came after them
    float *start_logits;                      // [vocabulary]: after the start token
    char *piece;                              // one token's text [kz_detokenizer_room]
    kz_text_buffer text;
};

#endif
