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

const char *kz_history_role(const char *name) {
    static const char *const roles[] = {"system", "user", "assistant", "tool"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(roles[i], name) == 0) {
            return roles[i];
        }
    }
    return NULL;
}

static kz_message *last(const kz_history *history) {
    return &history->messages[history->count - 1];
}

bool kz_history_ends_with(const kz_history *history, const char *role) {
    return history->count > 0 && strcmp(last(history)->role, role) == 0;
}

static size_t bytes_of(const kz_message *message) {
    return message->reasoning_bytes + message->bytes + message->tool_calls_bytes;
}

// Where the message's parts lie, from where it begins.
static void point_text(kz_message *message, const char *start) {
    const char *text = start + message->reasoning_bytes;
    message->reasoning = message->reasoning_bytes ? start : NULL;
    message->text = text;
    message->tool_calls = message->tool_calls_bytes ? text + message->bytes : NULL;
}

// All pointers anew, after messages have moved.
void kz_history_point(kz_history *history) {
    const char *text = history->text;
    const uint32_t *ids = history->ids;
    for (size_t i = 0; i < history->count; i++) {
        kz_message *message = &history->messages[i];
        point_text(message, text);
        message->ids = message->ids ? ids : NULL;
        text += bytes_of(message);
        ids += message->id_count;
    }
}

// Only from the end: texts lie one after the other, so that giving back is a subtraction.
void kz_history_trim(kz_history *history, size_t count) {
    while (history->count > count) {
        history->text_bytes -= bytes_of(last(history));
        history->id_count -= last(history)->id_count;
        history->count--;
    }
}

void kz_history_drop(kz_history *history, size_t first, size_t count) {
    size_t text_before = 0, ids_before = 0, text_bytes = 0, id_count = 0;
    for (size_t i = 0; i < first + count; i++) {
        const kz_message *message = &history->messages[i];
        text_before += i < first ? bytes_of(message) : 0;
        ids_before += i < first ? message->id_count : 0;
        text_bytes += i < first ? 0 : bytes_of(message);
        id_count += i < first ? 0 : message->id_count;
    }
    history->count -= count;
    history->text_bytes -= text_bytes;
    history->id_count -= id_count;
    memmove(history->messages + first, history->messages + first + count,
            (history->count - first) * sizeof *history->messages);
    memmove(history->text + text_before, history->text + text_before + text_bytes,
            history->text_bytes - text_before);
    memmove(history->ids + ids_before, history->ids + ids_before + id_count,
            (history->id_count - ids_before) * sizeof *history->ids);
    kz_history_point(history);
}

void kz_history_copy(const kz_history *source, kz_history *target) {
    target->count = source->count;
    target->text_bytes = source->text_bytes;
    target->id_count = source->id_count;
    memcpy(target->messages, source->messages, source->count * sizeof *source->messages);
    memcpy(target->text, source->text, source->text_bytes);
    memcpy(target->ids, source->ids, source->id_count * sizeof *source->ids);
    kz_history_point(target);
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

bool kz_history_append(kz_history *history, kz_message_part part, const char *text, size_t bytes) {
    if (bytes == 0) {
        return true; // of an absent part, which has no address
    }
    if (bytes > history->text_limit - history->text_bytes) {
        return false;
    }
    kz_message *message = last(history);
    char *start = history->text + (history->text_bytes - bytes_of(message));
    size_t *const counts[KZ_PART_COUNT] = {&message->reasoning_bytes, &message->bytes,
                                           &message->tool_calls_bytes};
    size_t place = 0, behind = 0;
    for (size_t i = 0; i < KZ_PART_COUNT; i++) {
        *(i <= (size_t)part ? &place : &behind) += *counts[i];
    }
    // Nearly always nothing lies behind: a reply thinks, answers, calls.
    memmove(start + place + bytes, start + place, behind);
    memcpy(start + place, text, bytes);
    *counts[part] += bytes;
    history->text_bytes += bytes;
    point_text(message, start);
    return true;
}

void kz_history_shorten_calls(kz_history *history) {
    last(history)->tool_calls_bytes--;
    history->text_bytes--;
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

void kz_history_spell(kz_history *history) {
    last(history)->ids = NULL;
}

const uint32_t *kz_history_last_ids(const kz_history *history, size_t *out_count) {
    *out_count = last(history)->id_count;
    return history->ids + (history->id_count - *out_count);
}

static bool continues_character(char byte) {
    return ((uint8_t)byte & 0xc0) == 0x80;
}

// The ids go even when no byte does: they may hold what the text does not show, such as half a
// character or a token that is not printed.
void kz_history_cut(kz_history *history, size_t bytes) {
    kz_message *message = last(history);
    char *start = history->text + (history->text_bytes - bytes_of(message));
    history->id_count -= message->id_count;
    message->ids = NULL;
    message->id_count = 0;
    bytes = bytes < message->bytes ? bytes : message->bytes;
    // The caller counts bytes that were spoken, whose border may lie inside a character.
    while (bytes > 0 && bytes < message->bytes && continues_character(message->text[bytes])) {
        bytes--;
    }
    memmove(start, message->text, bytes);
    history->text_bytes -= bytes_of(message) - bytes;
    message->reasoning_bytes = 0;
    message->tool_calls_bytes = 0;
    message->bytes = bytes;
    point_text(message, start);
}
