// history.h: the messages of a conversation, in memory that is taken once.
//
// Texts lie one after the other in one buffer, the ids of replies in another; both have the size of
// the longest conversation that the context can hold.
#ifndef KZ_LLM_HISTORY_H
#define KZ_LLM_HISTORY_H

#include "llm/template.h"

// The caller's memory; one thread at a time. Readers go through `messages`; only the functions
// below change it. Messages and texts lie in the same order, so that the last one can grow and
// shrink.
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

// Keeps the first `count` messages, text and ids of the others being forgotten.
void kz_history_trim(kz_history *history, size_t count);
// Begins a message. `role` must outlive the history. BAD_ARGUMENT when there is no room.
KAZEIA_MUST_CHECK kazeia_status kz_history_begin(kz_history *history, const char *role);
// Appends to the last message, which must be there; false, and nothing changed, when there is no
// room. A message with ids is rendered by them (kz_message).
bool kz_history_append(kz_history *history, const char *text, size_t bytes);
bool kz_history_append_id(kz_history *history, uint32_t id);
// The last message becomes its first `bytes` bytes (back to a whole character; all when it has
// fewer), as text without ids: ids may end in the middle of a word that was cut.
void kz_history_cut(kz_history *history, size_t bytes);

#endif
