// chat.h: the think stage: a conversation with a language model.
//
//   in   bytes of the user's turn (feed, finish)
//   out  bytes of the reply: whole UTF-8 characters, never a special token, never the prompt
//
// The history is kept as messages; each turn is rendered whole by the program's template, and only
// what differs from what the cache already holds is computed. So the cache can never disagree with
// the template, and a reply that was cut short costs what comes after the cut.
//
// All memory is taken at creation. feed and next may run on two threads; cancel may come from any;
// all else from one at a time.
#ifndef KZ_LLM_CHAT_H
#define KZ_LLM_CHAT_H

#include "generate/loop.h"
#include "text/tokenizer.h"

typedef struct kz_chat kz_chat;

typedef struct kz_chat_settings {
    const char *system;  // the first message, copied; NULL: the template's own, if it has one
    bool is_raw;         // the text is the prompt itself: no template, no history, `system` ignored
    uint32_t max_tokens; // of a reply; 0: as many as fit
    kz_sampling sampling;
    uint64_t memory_limit; // of the session; 0: none
} kz_chat_settings;

// Why a reply ended; NONE while it is written.
typedef enum kz_chat_stop {
    KZ_CHAT_STOP_NONE,
    KZ_CHAT_STOP_TOKEN,
    KZ_CHAT_STOP_LENGTH,
    KZ_CHAT_STOP_CONTEXT,
    KZ_CHAT_STOP_CANCEL,
} kz_chat_stop;

// Of the last reply.
typedef struct kz_chat_statistics {
    uint32_t prompt_tokens; // of the conversation, the new turn included
    uint32_t cached_tokens; // of these, not computed again
    uint32_t generated_tokens;
    double prefill_tokens_per_s;
    double ttft_ms; // from finish to the first token
    double decode_tokens_per_s;
    kz_chat_stop stop;
} kz_chat_statistics;

// UNSUPPORTED when the program is no language model or, unless is_raw is set, has no tokenizer or
// no chat template; BAD_ARGUMENT when a sampling number is out of its range or the system message
// is too long; OUT_OF_MEMORY, also for a session over the limit. Retains the program; the pool must
// outlive the chat.
KAZEIA_MUST_CHECK kazeia_status kz_chat_create(kz_program *program, kz_pool *pool,
                                               const kz_chat_settings *settings,
                                               const kazeia_allocator *allocator,
                                               kz_chat **out_chat);
// NULL is fine. No other call may be running.
void kz_chat_destroy(kz_chat *chat);
// The session that kz_chat_create makes for a program (its plan is kz_session_plan's).
kz_session_settings kz_chat_session_settings(void);

// Takes all or nothing. *out_taken is 0 while a reply is being written. BAD_ARGUMENT when the turn
// is longer than any that the context can hold.
KAZEIA_MUST_CHECK kazeia_status kz_chat_feed(kz_chat *chat, const char *text, size_t bytes,
                                             size_t *out_taken);
// Does a bounded piece of work: one chunk of the prompt, or one token. KAZEIA_OK (perhaps with 0
// bytes), NEEDS_INPUT before finish, DONE after the reply (again and again, until feed), CANCELLED
// until reset or end_turn. BAD_ARGUMENT when the turn does not fit the context or `capacity` is
// below 4, the longest character; the latter changes nothing, any other failure but CANCELLED drops
// the turn: the conversation is as before it and feed may begin another.
KAZEIA_MUST_CHECK kazeia_status kz_chat_next(kz_chat *chat, char *out, size_t capacity,
                                             size_t *out_bytes);
// The turn is whole. BAD_ARGUMENT while a reply is being written.
KAZEIA_MUST_CHECK kazeia_status kz_chat_finish(kz_chat *chat);
// From any thread: seen within some milliseconds, in the prompt too.
void kz_chat_cancel(kz_chat *chat);
// Forgets the conversation and starts the random numbers again; the system message stays. Ends a
// cancellation.
void kz_chat_reset(kz_chat *chat);
// Ends the present turn in whatever state it is, and a cancellation with it; the conversation goes
// on from there. A turn whose reply has not begun is dropped, as if it had not been fed. A reply
// ends after `heard_bytes` bytes, back to a whole character; SIZE_MAX leaves what is written.
// Before a turn is fed there is nothing to end but a cancellation: replies of earlier turns stay.
void kz_chat_end_turn(kz_chat *chat, size_t heard_bytes);

kz_chat_statistics kz_chat_statistics_of(const kz_chat *chat);
// Ids of the last reply, without the token that ended it: [*out_count], valid until the next call.
// 0 of them when there is no reply or end_turn has cut it: then its text alone is kept.
const uint32_t *kz_chat_reply_ids(const kz_chat *chat, size_t *out_count);
// For measuring (llm/measure.h), between turns.
kz_session *kz_chat_session(kz_chat *chat);
const kazeia_allocator *kz_chat_allocator(const kz_chat *chat);

#endif
