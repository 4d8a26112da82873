// history.c: the messages of a conversation.
//   in   texts and ids, piece by piece
//   out  messages for the template
#include "llm/history.h"

#include <string.h>

kazeia_status kz_history_init(kz_history *history, size_t message_limit, size_t text_limit,
                              size_t id_limit, const kazeia_allocator *allocator) {
    *history = (kz_history){.allocator = kz_allocator_or_default(allocator),
                            .message_limit = message_limit,
                            .text_limit = text_limit,
                            .id_limit = id_limit};
    const kazeia_allocator *memory = &history->allocator;
    KZ_TRY(kz_alloc(memory, message_limit, sizeof *history->messages, "messages",
                    (void **)&history->messages));
    // One block for all texts and one for all ids: messages point into them, so neither may ever
    // move.
    KZ_TRY(kz_alloc(memory, text_limit, 1, "conversation text", (void **)&history->text));
    return kz_alloc(memory, id_limit, sizeof *history->ids, "reply tokens", (void **)&history->ids);
}

void kz_history_clear(kz_history *history) {
    kz_free(&history->allocator, history->messages);
    kz_free(&history->allocator, history->text);
    kz_free(&history->allocator, history->ids);
}

static kz_message *last(kz_history *history) {
    return &history->messages[history->count - 1];
}

// Only from the end: texts lie one after the other, so that giving back is a subtraction.
void kz_history_trim(kz_history *history, size_t count) {
    while (history->count > count) {
        history->text_bytes -= last(history)->bytes;
        history->id_count -= last(history)->id_count;
        history->count--;
    }
}

kazeia_status kz_history_begin(kz_history *history, const char *role) {
    if (history->count == history->message_limit) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: the conversation has %zu messages, more do not fit; reset it",
                       history->count);
    }
    // The role is kept as a pointer: callers give literals.
    history->messages[history->count++] =
        (kz_message){.role = role, .text = history->text + history->text_bytes};
    return KAZEIA_OK;
}

bool kz_history_append(kz_history *history, const char *text, size_t bytes) {
    if (bytes > history->text_limit - history->text_bytes) {
        return false;
    }
    memcpy(history->text + history->text_bytes, text, bytes);
    history->text_bytes += bytes;
    last(history)->bytes += bytes;
    return true;
}

bool kz_history_append_id(kz_history *history, uint32_t id) {
    if (history->id_count == history->id_limit) {
        return false;
    }
    kz_message *message = last(history);
    // Only messages with ids point to them; NULL makes the template encode the text instead.
    if (message->id_count == 0) {
        message->ids = history->ids + history->id_count;
    }
    history->ids[history->id_count++] = id;
    message->id_count++;
    return true;
}

static bool continues_character(char byte) {
    return ((uint8_t)byte & 0xc0) == 0x80;
}

// The ids go even when no byte does: they may hold what the text does not show, such as half a
// character or a token that is not printed.
void kz_history_cut(kz_history *history, size_t bytes) {
    kz_message *message = last(history);
    history->id_count -= message->id_count;
    message->ids = NULL;
    message->id_count = 0;
    if (bytes >= message->bytes) {
        return;
    }
    // The caller counts bytes that were spoken, whose border may lie inside a character.
    while (bytes > 0 && continues_character(message->text[bytes])) {
        bytes--;
    }
    history->text_bytes -= message->bytes - bytes;
    message->bytes = bytes;
}
