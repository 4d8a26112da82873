// chat.h: conversation with a language model, and the model's bare logits.
//
//     kazeia_chat_settings settings = kazeia_chat_settings_default();
//     settings.system = "You answer in one sentence.";
//     kazeia_stage *chat = NULL;
//     TRY(kazeia_chat_create(runtime, program, &settings, &chat));
//
// program.h shows how a turn is fed and its reply taken. Feeding again after KAZEIA_DONE continues
// the conversation.
#ifndef KAZEIA_CHAT_H
#define KAZEIA_CHAT_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// How the next token is chosen. In this order: temperature, top-k, top-p, min-p, then a draw; each
// means what it does in Hugging Face's transformers (logits processors of the same names). Start
// from kazeia_chat_settings_default: a struct of zeros has a top_p that is out of range.
typedef struct kazeia_sampling {
    float temperature; // 0 or more; 0: the most probable token, the rest is then ignored
    uint32_t top_k;    // the k best, and all that equal the last of them; 0: off
    float top_p;       // the best until they hold this probability, over 0 and up to 1; 1: off
    float min_p;       // at least this share of the best one's probability, 0 to 1; 0: off
    // The same seed gives the same text on any thread count, on one instruction set. It is set at
    // creation and at reset: turns of one conversation continue one sequence of random numbers.
    uint64_t seed;
} kazeia_sampling;

// Why a reply ended.
typedef enum kazeia_stop_reason {
    KAZEIA_STOP_NONE,    // still writing, or nothing written yet
    KAZEIA_STOP_TOKEN,   // one of the model's stop tokens
    KAZEIA_STOP_LENGTH,  // max_tokens
    KAZEIA_STOP_CONTEXT, // the context is full
    KAZEIA_STOP_CANCEL,  // kazeia_stage_cancel
} kazeia_stop_reason;

// Of the last reply, up to where it is written. Rates are 0 until something was measured.
typedef struct kazeia_chat_statistics {
    uint32_t prompt_tokens; // of the whole conversation so far, the new turn included
    uint32_t cached_tokens; // of these, not computed again
    uint32_t generated_tokens;
    double prefill_tokens_per_s; // of the tokens that were computed, the cached ones not counted
    double ttft_ms;              // from finish to the first token
    double decode_tokens_per_s;  // of the tokens after the first
    kazeia_stop_reason stop_reason;
} kazeia_chat_statistics;

typedef struct kazeia_chat_settings {
    // The first message of the conversation, copied. NULL: the program's own default, if it has
    // one.
    const char *system;
    // The text of a turn is the prompt itself: no template, no system message, no history. Special
    // tokens that it spells out are recognised, and the model's rule for BOS is applied. Otherwise
    // whatever a person writes is plain text.
    bool is_raw;
    uint32_t max_tokens; // of a reply; 0: as many as fit the context
    kazeia_sampling sampling;
    const kazeia_allocator *allocator; // NULL: the runtime's
} kazeia_chat_settings;

// No system message of its own, the template, as many tokens as fit, greedy.
KAZEIA_API kazeia_chat_settings kazeia_chat_settings_default(void);

// A stage: in: bytes of the user's turn (finish ends it); out: bytes of the reply, whole UTF-8
// characters, special tokens never among them, not NUL-terminated. After DONE the next turn may be
// fed: history and cache are kept, and only new tokens are computed. reset forgets the conversation
// but the system message.
//
// Creation fails with UNSUPPORTED when the program is no language model or, unless is_raw is set,
// has no chat template or no tokenizer; BAD_ARGUMENT when a sampling number is out of its range or
// the system message is longer than the context; BAD_FILE when the program's methods or metadata
// are not those of docs/abilities.md; OUT_OF_MEMORY. A raw chat of a program without tokenizer
// measures ids; feed, finish and text to measure are UNSUPPORTED.
//
// feed takes all or nothing; BAD_ARGUMENT when the turn is longer than any context could hold. next
// computes one chunk of the prompt or one token; `capacity` must be at least 4, the bytes of the
// longest character. BAD_ARGUMENT when conversation and turn together do not fit the context. After
// any failure of next but CANCELLED the turn is dropped, the conversation is as before it and
// another turn may be fed at once.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_create(kazeia_runtime *runtime,
                                                              kazeia_program *program,
                                                              const kazeia_chat_settings *settings,
                                                              kazeia_stage **out_stage);
// All zeros when `chat` is NULL or another kind of stage.
KAZEIA_API kazeia_chat_statistics kazeia_chat_statistics_of(const kazeia_stage *chat);
// Generated ids of the last reply, without the stop token: [*out_count], valid until the next call.
// NULL and 0 when there is no reply, when kazeia_chat_end_turn cut it (its text is then all that is
// kept), and when `chat` is NULL or another kind of stage. `out_count` must not be NULL.
KAZEIA_API const int32_t *kazeia_chat_tokens_of(const kazeia_stage *chat, size_t *out_count);
// Ends the present turn in whatever state it is, and a cancellation with it; the conversation goes
// on from there. A turn whose reply has not begun is dropped. A reply becomes its first
// `heard_bytes` bytes, back to a whole character: what was heard before the person interrupted;
// SIZE_MAX leaves what is written. Replies of earlier turns are never touched. Not while next runs:
// cancel, wait until next has returned CANCELLED, then call this.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_end_turn(kazeia_stage *chat,
                                                                size_t heard_bytes);
// "none", "stop", "length", "context", "cancel"; "unknown" for another value. A constant string.
KAZEIA_API const char *kazeia_stop_reason_name(kazeia_stop_reason reason);

// --- Measuring ----------------------------------------------------------------------------------
// These calls belong between turns. Each computes from an empty cache and may allocate; the
// conversation keeps its text and is computed again in its next turn. They run to their end unless
// kazeia_stage_cancel stops them: KAZEIA_CANCELLED, until reset or kazeia_chat_end_turn.

// Receives one row of logits after another, `logits` [vocabulary_size] of the token at `position`
// in what was given: they rate the token after it. Valid during the call. A status other than
// KAZEIA_OK ends the call that computes, which returns it.
typedef kazeia_status (*kazeia_logits_sink)(void *context, size_t position, const float *logits,
                                            size_t vocabulary_size);
// Runs `ids` [count] and hands over the logits of positions first to count - 1, in order.
// BAD_ARGUMENT when they are more than the context holds or one is no token of the model.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_logits(kazeia_stage *chat,
                                                              const int32_t *ids, size_t count,
                                                              size_t first, kazeia_logits_sink sink,
                                                              void *context);
// Perplexity of a text as llama.cpp's llama-perplexity measures it: the text's tokens are cut into
// chunks of `context`, what is left over is not used; a chunk's first token becomes BOS where the
// model wants one; the tokens at context / 2 + 1 and after are scored. *out_perplexity is e to the
// mean negative natural log-probability of the *out_tokens that were scored. BAD_ARGUMENT when
// `context` is below 4 or above the program's, or the text fills no chunk.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_perplexity(kazeia_stage *chat,
                                                                  const char *text, size_t bytes,
                                                                  uint32_t context,
                                                                  double *out_perplexity,
                                                                  size_t *out_tokens);
// Times one prefill of `prefill` tokens, and in its place `decode` steps of one token, both after
// `depth` tokens already in the cache. The tokens are fixed random ones: speed does not depend on
// them. A rate is 0 when 0 tokens were asked for. BAD_ARGUMENT when they do not fit the context.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_bench(kazeia_stage *chat, uint32_t prefill,
                                                             uint32_t decode, uint32_t depth,
                                                             double *out_prefill_tokens_per_s,
                                                             double *out_decode_tokens_per_s);

#ifdef __cplusplus
}
#endif

#endif
