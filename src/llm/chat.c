// chat.c: the think stage: its parts, and what comes between the steps of a turn.
//   in   a program, bytes of turns
//   out  bytes of replies, statistics
#include "llm/chat.h"

#include <string.h>

#include "base/clock.h"
#include "llm/chat_state.h"
#include "llm/tool_call.h"
#include "text/utf8.h"

#define LONGEST_CHARACTER 4u

// A program of a checkpoint without tokenizer files takes ids only: what measures works, text does
// not.
static kazeia_status refuse_text(void) {
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "chat: the program has no tokenizer: it takes token ids only, no text");
}

// --- The turn's text ----------------------------------------------------------------------------

static bool can_be_fed(const kz_chat *chat) {
    const chat_phase phase = phase_of(chat);
    return phase == PHASE_COLLECTING || phase == PHASE_ENDED;
}

kazeia_status kz_chat_feed(kz_chat *chat, const char *text, size_t bytes, size_t *out_taken) {
    *out_taken = 0;
    if (!chat->tokenizer) {
        return refuse_text();
    }
    if (!can_be_fed(chat)) {
        return KAZEIA_OK;
    }
    if (chat->has_turn_ids) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: text is fed behind ids: give one of them");
    }
    // All or nothing: half a turn would be answered as if it were whole.
    if (bytes > chat->turn.limit - chat->turn.count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: the turn is longer than %zu bytes, more than a context of %u tokens "
                       "holds",
                       chat->turn.limit, kz_session_limit(chat->session));
    }
    KZ_TRY(kz_text_buffer_append(&chat->turn, text, bytes));
    *out_taken = bytes;
    set_phase(chat, PHASE_COLLECTING);
    return KAZEIA_OK;
}

kazeia_status kz_chat_feed_ids(kz_chat *chat, const int32_t *ids, size_t count) {
    if (!can_be_fed(chat)) {
        return kz_fail(KAZEIA_BUSY, "chat: a reply is being written; take it first");
    }
    if (!chat->settings.is_raw || chat->turn.count > 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: ids are a raw prompt: create the stage raw and feed no text");
    }
    const size_t room = kz_session_limit(chat->session) - chat->turn_id_count;
    if (count > room) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: %zu ids are fed, the context has room for %zu",
                       count, room);
    }
    memcpy(chat->turn_ids + chat->turn_id_count, ids, count * sizeof *ids);
    chat->turn_id_count += count;
    chat->has_turn_ids = true;
    set_phase(chat, PHASE_COLLECTING);
    return KAZEIA_OK;
}

kazeia_status kz_chat_finish(kz_chat *chat) {
    if (!chat->tokenizer && !chat->has_turn_ids) {
        return refuse_text();
    }
    if (!can_be_fed(chat)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: the turn is finished already; take the reply "
                                            "until it is done");
    }
    // The first token's time counts from here, the prompt's encoding included: it is what a person
    // waits for.
    chat->finished_ns = kz_clock_now_ns();
    set_phase(chat, PHASE_FINISHED);
    return KAZEIA_OK;
}

// --- The reply ----------------------------------------------------------------------------------

// The detokenizer gives whole characters of at most 4 bytes and `capacity` is no less, so going
// back from inside one ends at its first byte and at least one character is given.
// Gives out waiting bytes, as many whole characters as fit.
static void hand_over(kz_chat *chat, char *out, size_t capacity, size_t *out_bytes) {
    if (chat->waiting_count == 0) {
        return; // without a tokenizer there is no buffer either
    }
    size_t bytes = chat->waiting_count < capacity ? chat->waiting_count : capacity;
    const char *from = chat->waiting + chat->waiting_from;
    while (bytes < chat->waiting_count && ((uint8_t)from[bytes] & 0xc0) == 0x80) {
        bytes--;
    }
    memcpy(out, from, bytes);
    chat->waiting_from += bytes;
    chat->waiting_count -= bytes;
    *out_bytes = bytes;
}

// The pending token belongs to the reply that ends here; it was never computed, so the cache is in
// order without it.
static void make_idle(kz_chat *chat) {
    kz_chat_leave_reply(chat);
    kz_text_buffer_reset(&chat->turn);
    chat->turn_id_count = 0;
    chat->has_turn_ids = false;
    chat->waiting_count = 0;
    set_phase(chat, PHASE_COLLECTING);
}

// The cache keeps what it has: the next turn's prompt is compared with it as always.
// A turn that failed leaves the conversation as it was before it.
static void drop_turn(kz_chat *chat) {
    // While it settles the reply is whole: only the cache is not.
    if (phase_of(chat) != PHASE_SETTLING) {
        kz_history_trim(&present_branch(chat)->history, chat->kept_messages);
    }
    make_idle(chat);
}

kazeia_status kz_chat_next(kz_chat *chat, char *out, size_t capacity, size_t *out_bytes) {
    *out_bytes = 0;
    if (capacity < LONGEST_CHARACTER) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: room for %zu bytes is given, a character may "
                       "have %u",
                       capacity, LONGEST_CHARACTER);
    }
    // Looked at in each call: a cancellation may come where no work is running that would see it.
    const kazeia_status status = kz_session_is_cancelled(chat->session)
                                     ? kz_fail(KAZEIA_CANCELLED, "chat: stopped")
                                     : kz_chat_work(chat);
    // The reply so far stays in the history; end_turn decides how much of it was heard.
    if (status == KAZEIA_CANCELLED) {
        chat->statistics.stop = KZ_CHAT_STOP_CANCEL;
        return status;
    }
    if (status == KAZEIA_OK) {
        hand_over(chat, out, capacity, out_bytes);
        return status;
    }
    if (status != KAZEIA_NEEDS_INPUT && status != KAZEIA_DONE) {
        drop_turn(chat);
    }
    return status;
}

// --- Control ------------------------------------------------------------------------------------

static size_t count_system(const kz_history *history) {
    return history->count > 0 && strcmp(history->messages[0].role, "system") == 0 ? 1 : 0;
}

void kz_chat_cancel(kz_chat *chat) {
    kz_session_cancel(chat->session);
}

void kz_chat_reset(kz_chat *chat) {
    kz_session_resume(chat->session);
    make_idle(chat);
    kz_history *history = &present_branch(chat)->history;
    kz_history_trim(history, count_system(history));
    kz_session_trim(chat->session, chat->present, 0);
    // The same seed gives the same conversation again.
    kz_sampler_reset(chat->sampler);
    chat->statistics = (kz_chat_statistics){.stop = KZ_CHAT_STOP_NONE};
}

// The last message is a reply between turns and while one is written; a question stands last only
// inside start_turn, or when the caller appended it.
static bool has_reply(const kz_chat *chat) {
    return kz_history_ends_with(&present_branch(chat)->history, "assistant");
}

void kz_chat_end_turn(kz_chat *chat, size_t heard_bytes) {
    kz_history *history = &present_branch(chat)->history;
    const chat_phase phase = phase_of(chat);
    size_t reply_bytes = 0;
    (void)kz_chat_reply_part(chat, KZ_PART_TEXT, &reply_bytes);
    const bool is_written = phase >= PHASE_ENDING;
    kz_session_resume(chat->session);
    // A question without a word of an answer would stay in the history as if it had been ignored,
    // and two user messages in a row are nothing that a template knows.
    if (phase == PHASE_PREFILLING || (phase == PHASE_REPLYING && reply_bytes == 0)) {
        kz_history_trim(history, chat->kept_messages);
    } else if (phase == PHASE_REPLYING || (is_written && heard_bytes < reply_bytes)) {
        kz_history_cut(history, heard_bytes);
    }
    make_idle(chat);
}

// --- Between turns ------------------------------------------------------------------------------

kazeia_status kz_chat_require_idle(const kz_chat *chat) {
    const bool is_fed =
        phase_of(chat) == PHASE_COLLECTING && (chat->turn.count > 0 || chat->has_turn_ids);
    return can_be_fed(chat) && !is_fed
               ? KAZEIA_OK
               : kz_fail(KAZEIA_BUSY, "chat: a turn is under way; take its reply until it is done, "
                                      "or end it");
}

static bool is_utf8(const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes;) {
        const kz_utf8_char character = kz_utf8_read_last(text + i, bytes - i);
        if (!character.is_valid) {
            return false;
        }
        i += character.length;
    }
    return true;
}

kazeia_status kz_chat_append(kz_chat *chat, const char *role, const char *text, size_t bytes,
                             const char *tool_calls) {
    KZ_TRY(kz_chat_require_idle(chat));
    kz_history *history = &present_branch(chat)->history;
    const char *known = kz_history_role(role);
    const size_t call_bytes = tool_calls ? strlen(tool_calls) : 0;
    if (!known || chat->settings.is_raw) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: a message of role '%s': expected system, user, assistant or tool, in "
                       "a chat that is not raw",
                       role);
    }
    if (!is_utf8(text, bytes) || (tool_calls && !kz_json_is_whole(tool_calls, call_bytes, '['))) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: the message's text must be UTF-8 and its tool calls a JSON array");
    }
    KZ_TRY(kz_history_begin(history, known));
    if (!kz_history_append(history, KZ_PART_TEXT, text, bytes) ||
        !kz_history_append(history, KZ_PART_CALLS, tool_calls, call_bytes)) {
        kz_history_trim(history, history->count - 1);
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: no room for a message of %zu bytes",
                       bytes + call_bytes);
    }
    set_phase(chat, PHASE_COLLECTING);
    return KAZEIA_OK;
}

kazeia_status kz_chat_rewind(kz_chat *chat, size_t count) {
    KZ_TRY(kz_chat_require_idle(chat));
    kz_history *history = &present_branch(chat)->history;
    const size_t messages = history->count - count_system(history);
    if (count > messages) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: %zu messages to take back, the conversation has %zu", count,
                       messages);
    }
    // The cache is compared with the next prompt: what is not in that goes then.
    kz_history_trim(history, history->count - count);
    set_phase(chat, PHASE_COLLECTING);
    return KAZEIA_OK;
}

static kazeia_status check_branch(const kz_chat *chat, uint32_t branch) {
    return branch < chat->branch_count
               ? KAZEIA_OK
               : kz_fail(KAZEIA_BAD_ARGUMENT, "chat: branch %u, the stage was created with %u",
                         branch, chat->branch_count);
}

kazeia_status kz_chat_fork(kz_chat *chat, uint32_t target) {
    KZ_TRY(kz_chat_require_idle(chat));
    KZ_TRY(check_branch(chat, target));
    chat_branch *from = present_branch(chat), *to = &chat->branches[target];
    if (from == to) {
        return KAZEIA_OK;
    }
    const uint32_t length = kz_session_length(chat->session, chat->present);
    kz_history_copy(&from->history, &to->history);
    memcpy(to->ids, from->ids, length * sizeof *to->ids);
    to->random = kz_sampler_random(chat->sampler);
    kz_cache_rows_fork(kz_session_rows(chat->session), chat->present, target, length);
    return KAZEIA_OK;
}

kazeia_status kz_chat_select(kz_chat *chat, uint32_t branch) {
    KZ_TRY(kz_chat_require_idle(chat));
    KZ_TRY(check_branch(chat, branch));
    present_branch(chat)->random = kz_sampler_random(chat->sampler);
    chat->present = branch;
    chat->loop.sequence = branch;
    chat->loop.ids = present_branch(chat)->ids;
    kz_sampler_set_random(chat->sampler, present_branch(chat)->random);
    set_phase(chat, PHASE_COLLECTING);
    return KAZEIA_OK;
}

kazeia_status kz_chat_save(kz_chat *chat, const char *path) {
    KZ_TRY(kz_chat_require_idle(chat));
    return kz_chat_file_save(chat, path);
}

kazeia_status kz_chat_restore(kz_chat *chat, const char *path) {
    KZ_TRY(kz_chat_require_idle(chat));
    KZ_TRY(kz_chat_file_restore(chat, path));
    set_phase(chat, PHASE_COLLECTING);
    return KAZEIA_OK;
}

// --- What it is ---------------------------------------------------------------------------------

kz_chat_statistics kz_chat_statistics_of(const kz_chat *chat) {
    const kz_program_description *description = kz_program_describe(chat->program);
    kz_chat_statistics statistics = chat->statistics;
    uint64_t row_bytes = 0;
    for (size_t i = 0; i < description->state_count; i++) {
        row_bytes += kz_state_row_bytes(&description->states[i]);
    }
    statistics.context_tokens = kz_session_length(chat->session, chat->present);
    statistics.room_tokens = kz_session_limit(chat->session) - statistics.context_tokens;
    statistics.cache_bytes = statistics.context_tokens * row_bytes;
    return statistics;
}

bool kz_chat_is_reply_given(const kz_chat *chat) {
    const chat_phase phase = phase_of(chat);
    return phase == PHASE_SETTLING || phase == PHASE_ENDED;
}

const uint32_t *kz_chat_reply_ids(const kz_chat *chat, size_t *out_count) {
    *out_count = 0;
    return has_reply(chat) ? kz_history_last_ids(&present_branch(chat)->history, out_count) : NULL;
}

const char *kz_chat_reply_part(const kz_chat *chat, kz_message_part part, size_t *out_bytes) {
    *out_bytes = 0;
    if (!has_reply(chat)) {
        return NULL;
    }
    const kz_history *history = &present_branch(chat)->history;
    const kz_message *reply = &history->messages[history->count - 1];
    const char *const parts[KZ_PART_COUNT] = {reply->reasoning, reply->text, reply->tool_calls};
    const size_t counts[KZ_PART_COUNT] = {reply->reasoning_bytes, reply->bytes,
                                          reply->tool_calls_bytes};
    *out_bytes = counts[part];
    return parts[part];
}

kz_session *kz_chat_session(kz_chat *chat) {
    return chat->session;
}

const kazeia_allocator *kz_chat_allocator(const kz_chat *chat) {
    return &chat->allocator;
}
