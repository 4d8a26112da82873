// history.h: the messages of a conversation, in memory that is taken once.
//
// Texts lie one after the other in one buffer, the ids of replies in another; both have the size of
// the longest conversation that the context can hold. Of one message the reasoning comes first,
// then the text, then the calls of tools.
#ifndef KZ_LLM_HISTORY_H
#define KZ_LLM_HISTORY_H

#include "llm/template.h"

typedef enum kz_message_part {
    KZ_PART_REASONING,
    KZ_PART_TEXT,
    KZ_PART_CALLS,
    KZ_PART_COUNT
} kz_message_part;

// The caller's memory; one thread at a time. Readers go through `messages`; only the functions
// below change it. Messages and texts lie in the same order, so that the last one can grow and
// shrink. An absent reasoning and absent calls are NULL.
typedef struct kz_history {
    kazeia_allocator allocator;
    kz_message *messages; // [message_limit]; texts and ids point into the buffers below
    size_t count, message_limit;
    char *text; // [text_limit]
    size_t text_bytes, text_limit;
    uint32_t *ids; // [id_limit]
    size_t id_count, id_limit;
} kz_history;

// Takes all memory. `allocator` is set even on failure, so that clear is right in any case.
KAZEIA_MUST_CHECK kazeia_status kz_history_init(kz_history *history, size_t message_limit,
                                                size_t text_limit, size_t id_limit,
                                                const kazeia_allocator *allocator);
void kz_history_clear(kz_history *history);

// The role of that name as a string that lives for ever; NULL when there is no such role.
const char *kz_history_role(const char *name);
// Whether the last message, which need not be there, is of that role.
bool kz_history_ends_with(const kz_history *history, const char *role);

// Keeps the first `count` messages, text and ids of the others being forgotten.
void kz_history_trim(kz_history *history, size_t count);
// Forgets messages [first, first + count); those behind move up.
void kz_history_drop(kz_history *history, size_t first, size_t count);
// `target`, made with the same limits, becomes the same conversation.
void kz_history_copy(const kz_history *source, kz_history *target);
// After messages and buffers were written from outside: sets where each message's parts and ids
// lie. Absent ids are NULL, others anything else.
void kz_history_point(kz_history *history);
// Begins a message. `role` must outlive the history. BAD_ARGUMENT when there is no room.
KAZEIA_MUST_CHECK kazeia_status kz_history_begin(kz_history *history, const char *role);
// Appends to a part of the last message, which must be there; false, and nothing changed, when
// there is no room. A message with ids is rendered by them (kz_message).
bool kz_history_append(kz_history *history, kz_message_part part, const char *text, size_t bytes);
// Takes back the last byte of the last message's calls, the last bytes that were appended.
void kz_history_shorten_calls(kz_history *history);
bool kz_history_append_id(kz_history *history, uint32_t id);
// From now on the last message is rendered by its text; kz_history_last_ids still has its ids.
void kz_history_spell(kz_history *history);
const uint32_t *kz_history_last_ids(const kz_history *history, size_t *out_count);
// The last message becomes the first `bytes` bytes of its text (back to a whole character; all when
// it has fewer), without ids, reasoning and calls: ids may end in the middle of a word that was
// cut, and what was not heard was not said.
void kz_history_cut(kz_history *history, size_t bytes);

#endif
