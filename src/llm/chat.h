// chat.h: the think stage: a conversation with a language model.
//
//   in   bytes of the user's turn (feed, finish)
//   out  bytes of the answer: whole UTF-8 characters, never a special token, never the prompt,
//        never thoughts or calls of tools
//
// The history is kept as messages; each turn is rendered whole by the program's template, and only
// what differs from what the cache already holds is computed. So the cache can never disagree with
// the template, and a reply that was cut short costs what comes after the cut.
//
// All memory is taken at creation; only save and restore open a file. feed and next may run on two
// threads; cancel may come from any; all else from one at a time.
#ifndef KZ_LLM_CHAT_H
#define KZ_LLM_CHAT_H

#include "generate/loop.h"
#include "llm/history.h"
#include "text/tokenizer.h"

typedef struct kz_chat kz_chat;

// What happens when the context becomes full.
typedef enum kz_chat_overflow {
    KZ_CHAT_OVERFLOW_REFUSE, // a turn that does not fit fails before work begins
    // As well; and after a reply that leaves less than the reserve, the oldest turns go until there
    // is twice as much, the system message stays.
    KZ_CHAT_OVERFLOW_DROP,
} kz_chat_overflow;

typedef struct kz_chat_settings {
    const char *system;  // the first message, copied; NULL: the template's own, if it has one
    bool is_raw;         // the text is the prompt itself: no template, no history, `system` ignored
    uint32_t max_tokens; // of a reply; 0: as many as fit
    kz_sampling sampling;
    kz_penalties penalties;   // the biases are copied
    const char *const *stops; // [stop_count] copied: strings that end a reply and are not given
    size_t stop_count;
    bool ignores_stop_tokens;
    // What a reply must be, thoughts included: GBNF or a JSON schema, one of both, used up at
    // creation (docs/constrain.md).
    const char *grammar, *json_schema;
    uint32_t prompt_lookup; // most guessed tokens at once, up to KZ_DRAFT_LIMIT; 0: none
    // The template's. `tools`: a JSON array, `variables`: a JSON object, both read at creation.
    kz_thinking thinking;
    const char *tools, *variables;
    kz_chat_overflow overflow;
    uint32_t reserve_tokens; // 0: a quarter of the context
    uint32_t branches;       // conversations at the same time; 0: one
    uint64_t memory_limit;   // of the session; 0: none
} kz_chat_settings;

// Why a reply ended; NONE while it is written.
typedef enum kz_chat_stop {
    KZ_CHAT_STOP_NONE,
    KZ_CHAT_STOP_TOKEN,
    KZ_CHAT_STOP_LENGTH,
    KZ_CHAT_STOP_CONTEXT,
    KZ_CHAT_STOP_CANCEL,
    KZ_CHAT_STOP_STRING,
    KZ_CHAT_STOP_COUNT
} kz_chat_stop;

// Of the last reply, but for the last three.
typedef struct kz_chat_statistics {
    uint32_t prompt_tokens; // of the conversation, the new turn included
    uint32_t cached_tokens; // of these, not computed again
    uint32_t generated_tokens;
    double prefill_tokens_per_s;
    double ttft_ms; // from finish to the first token
    double decode_tokens_per_s;
    kz_chat_stop stop;
    uint32_t drafted_tokens, confirmed_tokens; // of prompt lookup
    uint32_t context_tokens, room_tokens;      // of the context: in the cache, and left
    uint64_t cache_bytes;                      // of the states' rows that are in use
} kz_chat_statistics;

// UNSUPPORTED when the program is no language model or, unless is_raw is set, has no tokenizer or
// no chat template; BAD_ARGUMENT when a setting is out of its range or the system message is too
// long; OUT_OF_MEMORY, also for a session over the limit. Retains the program; the pool must
// outlive the chat.
KAZEIA_MUST_CHECK kazeia_status kz_chat_create(kz_program *program, kz_pool *pool,
                                               const kz_chat_settings *settings,
                                               const kazeia_allocator *allocator,
                                               kz_chat **out_chat);
// NULL is fine. No other call may be running.
void kz_chat_destroy(kz_chat *chat);
// The session that kz_chat_create makes for a program (its plan is kz_session_plan's) when there is
// one branch.
kz_session_settings kz_chat_session_settings(void);

// Takes all or nothing. *out_taken is 0 while a reply is being written. BAD_ARGUMENT when the turn
// is longer than any that the context can hold.
KAZEIA_MUST_CHECK kazeia_status kz_chat_feed(kz_chat *chat, const char *text, size_t bytes,
                                             size_t *out_taken);
// The same with ids, when raw: they are the prompt as it is, and no text may be fed beside them.
KAZEIA_MUST_CHECK kazeia_status kz_chat_feed_ids(kz_chat *chat, const int32_t *ids, size_t count);
// Does a bounded piece of work: one chunk of the prompt, or one token. KAZEIA_OK (perhaps with 0
// bytes), NEEDS_INPUT before finish, DONE after the reply (again and again, until feed), CANCELLED
// until reset or end_turn. BAD_ARGUMENT when the turn does not fit the context or `capacity` is
// below 4, the longest character; the latter changes nothing, any other failure but CANCELLED drops
// the turn: the conversation is as before it and feed may begin another. Between the last bytes and
// DONE the room for the next turn is made (overflow), with OK and 0 bytes for each chunk.
KAZEIA_MUST_CHECK kazeia_status kz_chat_next(kz_chat *chat, char *out, size_t capacity,
                                             size_t *out_bytes);
// True from the reply's last bytes on: what next still does is for the next turn.
bool kz_chat_is_reply_given(const kz_chat *chat);
// The turn is whole. Where nothing was fed and the conversation ends with something to answer (a
// tool's result, say), that is the turn. BAD_ARGUMENT while a reply is being written.
KAZEIA_MUST_CHECK kazeia_status kz_chat_finish(kz_chat *chat);
// From any thread: seen within some milliseconds, in the prompt too.
void kz_chat_cancel(kz_chat *chat);
// Forgets the present conversation and starts the random numbers again; the system message stays.
// Ends a cancellation.
void kz_chat_reset(kz_chat *chat);
// Ends the present turn in whatever state it is, and a cancellation with it; the conversation goes
// on from there. A turn whose reply has not begun is dropped, as if it had not been fed. A reply
// ends after `heard_bytes` bytes, back to a whole character; SIZE_MAX leaves what is written.
// Before a turn is fed there is nothing to end but a cancellation: replies of earlier turns stay.
void kz_chat_end_turn(kz_chat *chat, size_t heard_bytes);

// --- Between turns: BUSY while one is under way -------------------------------------------------

// Appends a message that the caller gives. `role`: system, user, assistant or tool; `tool_calls`: a
// JSON array, NULL for none. BAD_ARGUMENT for another role, text that is no UTF-8, calls that are
// no array, or when there is no room; then nothing is appended.
KAZEIA_MUST_CHECK kazeia_status kz_chat_append(kz_chat *chat, const char *role, const char *text,
                                               size_t bytes, const char *tool_calls);
// Takes back the last `count` messages; a reply, its question and a tool's result are one each.
// BAD_ARGUMENT when the conversation has fewer; the system message of the settings counts.
KAZEIA_MUST_CHECK kazeia_status kz_chat_rewind(kz_chat *chat, size_t count);
// Branch `target` becomes a copy of the present conversation, sharing its cache rows; what it held
// is forgotten. Then select goes there and back: each branch goes on for itself.
KAZEIA_MUST_CHECK kazeia_status kz_chat_fork(kz_chat *chat, uint32_t target);
KAZEIA_MUST_CHECK kazeia_status kz_chat_select(kz_chat *chat, uint32_t branch);
// The present conversation to a file, atomically, and back into a chat of the same program:
// history, cache and random numbers, so that it goes on token for token. Restoring replaces the
// present conversation; on failure it stays. NOT_FOUND or IO for the file; BAD_FILE for what is in
// it; BAD_ARGUMENT when it is of another program or does not fit.
KAZEIA_MUST_CHECK kazeia_status kz_chat_save(kz_chat *chat, const char *path);
KAZEIA_MUST_CHECK kazeia_status kz_chat_restore(kz_chat *chat, const char *path);

kz_chat_statistics kz_chat_statistics_of(const kz_chat *chat);
// Ids of the last reply, without the token that ended it: [*out_count], valid until the next call.
// 0 of them when there is no reply or end_turn has cut it: then its text alone is kept.
const uint32_t *kz_chat_reply_ids(const kz_chat *chat, size_t *out_count);
// A part of the last reply, up to where it is written: [*out_bytes], valid until the next call. An
// absent part, and any without a reply, has 0 bytes.
const char *kz_chat_reply_part(const kz_chat *chat, kz_message_part part, size_t *out_bytes);
// For measuring (llm/measure.h), which kz_chat_require_idle allows: BUSY while a turn is under way.
KAZEIA_MUST_CHECK kazeia_status kz_chat_require_idle(const kz_chat *chat);
kz_session *kz_chat_session(kz_chat *chat);
const kazeia_allocator *kz_chat_allocator(const kz_chat *chat);

#endif
