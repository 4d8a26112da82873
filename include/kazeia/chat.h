// chat.h: conversation with a language model, and the model's bare logits.
#ifndef KAZEIA_CHAT_H
#define KAZEIA_CHAT_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// How the next token is chosen. In this order: temperature, top-k, top-p, min-p, then a draw.
typedef struct kazeia_sampling {
    float temperature; // 0: greedy, the rest is then ignored
    uint32_t top_k;    // 0: off
    float top_p;       // 1: off
    float min_p;       // 0: off
    uint64_t seed;     // the same seed gives the same text on any thread count
} kazeia_sampling;

typedef enum kazeia_stop_reason {
    KAZEIA_STOP_NONE,    // still writing
    KAZEIA_STOP_TOKEN,   // one of the model's stop tokens
    KAZEIA_STOP_LENGTH,  // max_tokens
    KAZEIA_STOP_CONTEXT, // the context is full
    KAZEIA_STOP_CANCEL,
} kazeia_stop_reason;

// Of the last reply.
typedef struct kazeia_chat_statistics {
    uint32_t prompt_tokens; // of the whole conversation so far, the new turn included
    uint32_t cached_tokens; // of these, not computed again
    uint32_t generated_tokens;
    double prefill_tokens_per_s;
    double ttft_ms; // from finish to the first token
    double decode_tokens_per_s;
    kazeia_stop_reason stop_reason;
} kazeia_chat_statistics;

typedef struct kazeia_chat_settings {
    const char *system;  // NULL: the program's own default
    bool is_raw;         // the text is the prompt itself: no template, no history
    uint32_t max_tokens; // of a reply; 0: as many as fit
    kazeia_sampling sampling;
    const kazeia_allocator *allocator;
} kazeia_chat_settings;

KAZEIA_API kazeia_chat_settings kazeia_chat_settings_default(void);

// A stage: in: bytes of the user's turn (finish ends it); out: bytes of the reply, whole UTF-8
// characters, special tokens never among them. After DONE the next turn may be fed: history and
// cache are kept, and only new tokens are computed. reset forgets the conversation.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_create(kazeia_runtime *runtime,
                                                              kazeia_program *program,
                                                              const kazeia_chat_settings *settings,
                                                              kazeia_stage **out_stage);
KAZEIA_API kazeia_chat_statistics kazeia_chat_statistics_of(const kazeia_stage *chat);
// Generated ids of the last reply, without the stop token; valid until the next call.
KAZEIA_API const int32_t *kazeia_chat_tokens_of(const kazeia_stage *chat, size_t *out_count);
// Ends the present turn in whatever state it is, and a cancellation with it; the conversation goes
// on from there. A turn whose reply has not begun is dropped. A reply becomes its first
// `heard_bytes` bytes: what was heard before the person interrupted; SIZE_MAX leaves what is
// written.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_end_turn(kazeia_stage *chat,
                                                                size_t heard_bytes);
KAZEIA_API const char *kazeia_stop_reason_name(kazeia_stop_reason reason);

// --- Measuring ----------------------------------------------------------------------------------

// Receives one row of logits after another; a status other than KAZEIA_OK ends the call.
typedef kazeia_status (*kazeia_logits_sink)(void *context, size_t position, const float *logits,
                                            size_t vocabulary_size);
// Runs `ids` from an empty cache and hands over the logits of positions >= first.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_logits(kazeia_stage *chat,
                                                              const int32_t *ids, size_t count,
                                                              size_t first, kazeia_logits_sink sink,
                                                              void *context);
// Perplexity of a text as llama.cpp's tool measures it: chunks of `context` tokens, the second half
// of each scored, BOS put first where the model wants it.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_perplexity(kazeia_stage *chat,
                                                                  const char *text, size_t bytes,
                                                                  uint32_t context,
                                                                  double *out_perplexity,
                                                                  size_t *out_tokens);
// Times one prefill of `prefill` tokens and `decode` steps after `depth` tokens already in the
// cache.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_bench(kazeia_stage *chat, uint32_t prefill,
                                                             uint32_t decode, uint32_t depth,
                                                             double *out_prefill_tokens_per_s,
                                                             double *out_decode_tokens_per_s);

#ifdef __cplusplus
}
#endif

#endif
