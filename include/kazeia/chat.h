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

// Added to one token's logit. -INFINITY forbids it.
typedef struct kazeia_logit_bias {
    int32_t token;
    float value;
} kazeia_logit_bias;

// How the next token is chosen. In this order: biases, repetition penalty, frequency and presence
// penalty, temperature, top-k, top-p, min-p, then a draw; each means what it does in Hugging Face's
// transformers (logits processors of the same names), the frequency and presence penalty what they
// do in OpenAI's API. Start from kazeia_chat_settings_default: a struct of zeros has a top_p that
// is out of range.
typedef struct kazeia_sampling {
    float temperature; // 0 or more; 0: the most probable token, the rest is then ignored
    uint32_t top_k;    // the k best, and all that equal the last of them; 0: off
    float top_p;       // the best until they hold this probability, over 0 and up to 1; 1: off
    float min_p;       // at least this share of the best one's probability, 0 to 1; 0: off
    // The same seed gives the same text on any thread count, on one instruction set. It is set at
    // creation and at reset: turns of one conversation continue one sequence of random numbers.
    uint64_t seed;
    // Of tokens that the conversation has already, prompt and reply together: a logit below 0 is
    // multiplied by the first, any other divided by it (over 0; 1: off); then the second is
    // subtracted as often as the token is there, the third once (0: off).
    float repetition_penalty, frequency_penalty, presence_penalty;
    uint32_t penalty_window;         // the newest tokens that count; 0: all
    const kazeia_logit_bias *biases; // [bias_count], copied
    size_t bias_count;
} kazeia_sampling;

// Why a reply ended.
typedef enum kazeia_stop_reason {
    KAZEIA_STOP_NONE,    // still writing, or nothing written yet
    KAZEIA_STOP_TOKEN,   // one of the model's stop tokens
    KAZEIA_STOP_LENGTH,  // max_tokens
    KAZEIA_STOP_CONTEXT, // the context is full
    KAZEIA_STOP_CANCEL,  // kazeia_stage_cancel
    KAZEIA_STOP_STRING,  // one of the stop strings
} kazeia_stop_reason;

// Of the last reply, up to where it is written; the last three of the conversation as it is now.
// Rates are 0 until something was measured.
typedef struct kazeia_chat_statistics {
    uint32_t prompt_tokens; // of the whole conversation so far, the new turn included
    uint32_t cached_tokens; // of these, not computed again
    uint32_t generated_tokens;
    double prefill_tokens_per_s; // of the tokens that were computed, the cached ones not counted
    double ttft_ms;              // from finish to the first token
    double decode_tokens_per_s;  // of the tokens after the first
    kazeia_stop_reason stop_reason;
    uint32_t drafted_tokens;  // that prompt lookup guessed; counted when the reply is over
    uint32_t accepted_tokens; // of these, the model's own choice
    uint32_t context_tokens;  // in the cache
    uint32_t room_tokens;     // left in the context, for the next turn and its reply
    uint64_t cache_bytes;     // of the cache's rows in use
} kazeia_chat_statistics;

// Whether a model that can think before it answers shall do so: what its template calls
// enable_thinking.
typedef enum kazeia_thinking {
    KAZEIA_THINKING_DEFAULT, // as the template decides
    KAZEIA_THINKING_ON,
    KAZEIA_THINKING_OFF,
} kazeia_thinking;

// What happens when a conversation becomes as long as the context.
typedef enum kazeia_overflow {
    // A turn that does not fit fails before work begins; the conversation is as before it.
    KAZEIA_OVERFLOW_REFUSE,
    // As well; but after a reply that leaves less room than reserve_tokens the oldest turns go,
    // until there is twice as much. The system message stays. What is left is computed again before
    // next returns DONE, when all of the reply has been given: never between a question and the
    // first token of its answer.
    KAZEIA_OVERFLOW_DROP,
} kazeia_overflow;

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
    // Strings that end a reply, [stop_string_count], each of 1 to 1,000 bytes. They are looked for
    // in the answer, and neither they nor a beginning of one are given.
    const char *const *stop_strings;
    size_t stop_string_count;
    bool ignores_stop_tokens; // the model's own stop tokens are tokens as others
    // Most tokens, 0 to 15, that are guessed from what was said before and confirmed by the model
    // in one step. The text is the same with every number; it is written faster where it repeats
    // something. 0: none.
    uint32_t prompt_lookup;
    kazeia_thinking thinking;
    const char *tools; // a JSON array of what the model may call, as its template wants it; or NULL
    const char *template_variables; // a JSON object: further variables of the template; or NULL
    kazeia_overflow overflow;
    uint32_t reserve_tokens; // below the context's length; 0: a quarter of it
    uint32_t branch_count;   // conversations that the stage holds, 1 to 32; 0: one
    // What every reply must be, its thoughts included: GBNF as llama.cpp writes it, or a JSON
    // schema; at most one of both (docs/constrain.md). NULL: anything. A reply that max_tokens or
    // the context ends is the beginning of such a text.
    const char *grammar, *json_schema;
} kazeia_chat_settings;

// No system message of its own, the template, as many tokens as fit, greedy.
KAZEIA_API kazeia_chat_settings kazeia_chat_settings_default(void);

// A stage: in: bytes of the user's turn (finish ends it); out: bytes of the answer, whole UTF-8
// characters, not NUL-terminated; special tokens, thoughts and calls of tools are never among them.
// After DONE the next turn may be fed: history and cache are kept, and only new tokens are
// computed. reset forgets the conversation but the system message. All conversations of a stage
// share the rows of one context: what two of them have in common counts once.
//
// Creation fails with UNSUPPORTED when the program is no language model or, unless is_raw is set,
// has no chat template or no tokenizer; BAD_ARGUMENT when a sampling number is out of its range or
// the system message is longer than the context; BAD_FILE when the program's methods or metadata
// are not those of docs/abilities.md; OUT_OF_MEMORY. A grammar or schema that is wrong is
// BAD_FILE, one that is not handled UNSUPPORTED, both by line and column or by name. A raw chat of
// a program without tokenizer measures ids; feed, finish and text to measure are UNSUPPORTED.
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
// A prompt of token ids instead of text, for a stage that is_raw: [count], as they are, no BOS put
// in front; text may not be fed beside them. BUSY while a reply is written.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_feed_ids(kazeia_stage *chat,
                                                                const int32_t *ids, size_t count);
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
// "none", "stop", "length", "context", "cancel", "stop string"; "unknown" for another value. A
// constant string.
KAZEIA_API const char *kazeia_stop_reason_name(kazeia_stop_reason reason);

// The parts of a reply.
typedef enum kazeia_reply_part {
    KAZEIA_PART_THINKING, // what the model thought before it answered, without its marks
    KAZEIA_PART_ANSWER,   // what next has given
    KAZEIA_PART_CALLS,    // calls of tools: a JSON array of {"name", "arguments"}; whole ones only
} kazeia_reply_part;

// A part of the last reply, as far as it is written: [*out_bytes], not NUL-terminated, valid until
// the next call. 0 bytes when there is no such part or no reply, or end_turn has cut it (the answer
// alone is then kept), or `chat` is NULL or another kind of stage.
KAZEIA_API const char *kazeia_chat_part_of(const kazeia_stage *chat, kazeia_reply_part part,
                                           size_t *out_bytes);

// --- A conversation's life ----------------------------------------------------------------------
// Between turns; BUSY while one is under way.

// Appends a message that is not said but given: an earlier turn, an example, a tool's result.
// `role` is "system", "user", "assistant" or "tool"; `tool_calls`, a JSON array or NULL, are an
// assistant's. To have it answered, finish the turn without feeding anything. BAD_ARGUMENT for
// another role, text that is no UTF-8, calls that are no JSON array, and when there is no room;
// nothing is then appended.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_append(kazeia_stage *chat, const char *role,
                                                              const char *text, size_t bytes,
                                                              const char *tool_calls);
// Takes back the last `messages` messages: a question and its reply are two. The system message at
// the beginning stays. BAD_ARGUMENT when there are fewer.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_rewind(kazeia_stage *chat, size_t messages);
// Branch `branch` becomes a copy of the present conversation, over what it held. The cache is
// shared, not copied. The present conversation stays the present one. BAD_ARGUMENT for a number
// that the stage was not created with.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_fork(kazeia_stage *chat, uint32_t branch);
// Goes on with another branch; the stage begins with branch 0. A turn may fail with BUSY when all
// branches together have no room left in the cache: reset or rewind one of them.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_select(kazeia_stage *chat, uint32_t branch);
// Writes the present conversation to a file, atomically: history, cache, random numbers, and the id
// of its program. The file is about as large as the cache in use. NOT_FOUND or IO for the path.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_save(kazeia_stage *chat, const char *path);
// Replaces the present conversation by a saved one, which goes on as if it had never been away.
// Settings are this stage's. NOT_FOUND or IO for the file; BAD_FILE when it is damaged; UNSUPPORTED
// when it is of another version; BAD_ARGUMENT when it belongs to another program, or to a raw chat
// where this is none. A failure leaves the conversation as it was.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_restore(kazeia_stage *chat,
                                                               const char *path);

// --- Measuring ----------------------------------------------------------------------------------
// Between turns; BUSY while one is under way. Each computes from an empty cache and may allocate;
// the conversation keeps its text and is computed again in its next turn. They run to their end
// unless kazeia_stage_cancel stops them: KAZEIA_CANCELLED, until reset or kazeia_chat_end_turn.

// One position of a measurement.
typedef struct kazeia_logits_row {
    size_t position, count; // of all `count` positions that are handed over
    int32_t next_token;     // the token after it; -1 at the end of the ids or of a chunk
    bool is_scored;         // a perplexity counts how probable next_token is
    const float *logits;    // [vocabulary_size] of the chat, valid during the call
    const float *others;    // [vocabulary_size] of the other one; NULL without one
    size_t vocabulary_size;
} kazeia_logits_row;
// What is measured: ids, or a text cut into chunks. The other of the two is NULL.
typedef struct kazeia_measured {
    const int32_t *ids; // all but the last are scored
    size_t id_count;
    size_t first;     // of the ids: rows before this position are not handed over
    const char *text; // cut and scored as kazeia_chat_perplexity does
    size_t text_bytes;
    uint32_t chunk_tokens;
} kazeia_measured;
// A status other than KAZEIA_OK ends kazeia_chat_measure, which returns it.
typedef kazeia_status (*kazeia_measure_sink)(void *context, const kazeia_logits_row *row);
// Hands over every position's logits of one chat, or of two models side by side, in order: `other`
// is NULL or another chat that lets the same tokens run. Memory does not grow with the text's
// length but for its ids. BAD_ARGUMENT when the ids are more than the context
// holds or one is no token of the model, as kazeia_chat_perplexity for a text, when `other` is
// `chat`, and when the two have vocabularies of different sizes.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_chat_measure(kazeia_stage *chat,
                                                               kazeia_stage *other,
                                                               const kazeia_measured *measured,
                                                               kazeia_measure_sink sink,
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

// --- Templates ----------------------------------------------------------------------------------
// A program's chat template by itself: a tool's interface, for text alone. Renders a conversation,
// JSON text: an array of messages with the members that the model's own template reads ("role",
// "content", "tool_calls", "reasoning_content" and so on). `options` is a JSON object of the
// template's other variables, or NULL: "add_generation_prompt", "enable_thinking", "tools",
// "documents", any other; "strftime_now" is the date that the function of that name formats, as
// "2026-01-31". The whole text comes in one call of the sink. Takes memory by the conversation's
// length (`allocator` NULL: malloc) and gives it back. UNSUPPORTED when the program has no chat
// template, BAD_FILE when it is damaged, BAD_ARGUMENT for what is no JSON and for what the template
// refuses, in its words.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_template_render(const kazeia_program *program, const char *messages, const char *options,
                       const kazeia_allocator *allocator, kazeia_text_sink sink, void *context);

#ifdef __cplusplus
}
#endif

#endif
