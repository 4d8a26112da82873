// measure.h: a language model's bare numbers: logits, perplexity, speed.
//
// Each call starts from an empty cache and leaves it empty, also when it fails: a conversation is
// computed again afterwards. It may allocate: measuring is not running.
#ifndef KZ_LLM_MEASURE_H
#define KZ_LLM_MEASURE_H

#include "generate/session.h"
#include "text/tokenizer.h"

// One position's logits: they rate the token after it.
typedef struct kz_logits_row {
    size_t position, count; // of the `count` positions that were given
    int32_t next;           // the token after it; -1 at the end of the ids or of a chunk
    // A text's perplexity counts it; of ids, each that has a next one.
    bool is_scored;
    const float *logits; // [vocabulary], valid during the call
    const float *others; // the other session's, as many; NULL where there is none
    size_t vocabulary;
} kz_logits_row;

// A status other than KAZEIA_OK ends the call that computes, which returns it.
typedef kazeia_status (*kz_logits_sink)(void *context, const kz_logits_row *row);

// Who computes, and who receives. All functions here use sequence 0 of a session.
typedef struct kz_measurement {
    kz_session *session;
    kz_session *other; // computes the same beside it; or NULL. Not `session` itself.
    const kazeia_allocator *allocator;
    kz_logits_sink sink;
    void *context;
} kz_measurement;

// Logits of positions [first, count) of `ids` [count], in order. Each session cuts them into calls
// as it does when it is alone, so that its numbers are its own; both keep 16 rows of logits, not
// all. BAD_ARGUMENT when a context holds fewer, an id is no token, or the two have vocabularies of
// different sizes; CANCELLED.
KAZEIA_MUST_CHECK kazeia_status kz_measure_ids(const kz_measurement *measurement,
                                               const int32_t *ids, size_t count, size_t first);

// Of a text, cut as kz_measure_perplexity says: every position of every chunk.
KAZEIA_MUST_CHECK kazeia_status kz_measure_text(const kz_measurement *measurement,
                                                const kz_bytes *tokenizer_section, const char *text,
                                                size_t bytes, uint32_t chunk_tokens);

typedef struct kz_perplexity {
    double value;  // exp of the mean negative log likelihood
    size_t tokens; // that were scored
} kz_perplexity;

// As llama.cpp's llama-perplexity measures it: the text's tokens are cut into chunks of
// `chunk_tokens` (what is left over is not used); in each the first token is BOS where the model
// wants it, and the tokens at chunk_tokens / 2 + 1 and after are scored. BAD_ARGUMENT when
// chunk_tokens is not 4 to the session's limit or the text does not fill one chunk; BAD_FILE when
// the tokenizer has tokens that the model lacks.
KAZEIA_MUST_CHECK kazeia_status kz_measure_perplexity(
    kz_session *session, const kz_bytes *tokenizer_section, const char *text, size_t bytes,
    uint32_t chunk_tokens, const kazeia_allocator *allocator, kz_perplexity *out_perplexity);

typedef struct kz_speed {
    double prefill_tokens_per_s; // 0 where nothing was asked for
    double decode_tokens_per_s;
} kz_speed;

// One prefill of `prefill` tokens and then, in its place, `decode` single steps, each after `depth`
// tokens. The ids are a fixed sequence below `id_limit`, which is at least 1. BAD_ARGUMENT when
// they do not fit the context.
KAZEIA_MUST_CHECK kazeia_status kz_measure_speed(kz_session *session, uint32_t prefill,
                                                 uint32_t decode, uint32_t depth, uint32_t id_limit,
                                                 const kazeia_allocator *allocator,
                                                 kz_speed *out_speed);

#endif
