// chat_settle.c: room for the next turn, made when a reply is over.
//   in   a conversation, the policy
//   out  a shorter conversation; what shall be in the cache
// The person hears the reply while what is left is computed again: between a question and its first
// token nothing is dropped.
#include <string.h>

#include "llm/chat_state.h"

#define RESERVE_SHARE 4u  // of the context
#define LAYOUT_TOKENS 32u // around messages; more than any template has

static uint32_t reserve_of(const kz_chat *chat) {
    const uint32_t given = chat->settings.reserve_tokens;
    return given ? given : kz_session_limit(chat->session) / RESERVE_SHARE;
}

// The conversation with a next question, as ids; 0 when it does not fit.
static size_t render_with(kz_chat *chat, const char *question, uint32_t *ids) {
    kz_history *history = &present_branch(chat)->history;
    const size_t messages = history->count;
    size_t count = 0;
    if (kz_history_begin(history, "user") == KAZEIA_OK) {
        const bool has_room = kz_history_append(history, KZ_PART_TEXT, question, strlen(question));
        if (!has_room ||
            kz_template_encode(chat->chat_template, history->messages, history->count, false, ids,
                               kz_session_limit(chat->session), &count) != KAZEIA_OK) {
            count = 0;
        }
        kz_history_trim(history, messages);
    }
    return count;
}

// Tokens with which every next prompt begins, into chat->prompt: what two renderings with different
// questions have in common. Only so a template that renders an old reply otherwise than the newest
// one (without its thoughts, say) is followed.
static bool render_common(kz_chat *chat) {
    const size_t count = render_with(chat, "a", chat->prompt);
    const size_t other = render_with(chat, "b", chat->probe);
    size_t same = 0;
    while (same < count && same < other && chat->prompt[same] == chat->probe[same]) {
        same++;
    }
    chat->prompt_count = same;
    return count > 0 && other > 0;
}

static uint32_t room_of(kz_chat *chat) {
    return render_common(chat) ? kz_session_limit(chat->session) - (uint32_t)chat->prompt_count : 0;
}

static bool is_from(const kz_message *message, const char *role) {
    return strcmp(message->role, role) == 0;
}

// The oldest turn: a question and all that follows it until the next one. *out_first: its place,
// behind a system message. 0 when there is none.
static size_t find_oldest_turn(const kz_history *history, size_t *out_first) {
    const size_t first = history->count > 0 && is_from(&history->messages[0], "system") ? 1 : 0;
    size_t end = first;
    if (end < history->count) {
        end++;
    }
    while (end < history->count && !is_from(&history->messages[end], "user")) {
        end++;
    }
    *out_first = first;
    return end - first;
}

// Twice the reserve, so that not every reply is followed by this work; the newest turn goes only
// when it alone would make the next one fail.
static bool drop_turns(kz_chat *chat, uint32_t reserve) {
    kz_history *history = &present_branch(chat)->history;
    const uint32_t context = kz_session_limit(chat->session);
    const uint32_t wanted = 2 * reserve < context ? 2 * reserve : (reserve + context) / 2;
    uint32_t room = room_of(chat);
    bool has_dropped = false;
    for (uint32_t least = reserve; room < least;) {
        size_t first = 0;
        const size_t count = find_oldest_turn(history, &first);
        if (count == 0 || (first + count == history->count && room >= reserve)) {
            break;
        }
        kz_history_drop(history, first, count);
        has_dropped = true;
        room = room_of(chat);
        least = wanted;
    }
    return has_dropped;
}

bool kz_chat_make_room(kz_chat *chat) {
    if (chat->settings.overflow != KZ_CHAT_OVERFLOW_DROP || chat->settings.is_raw) {
        return false;
    }
    const uint32_t reserve = reserve_of(chat);
    const uint32_t length = kz_session_length(chat->session, chat->present);
    // Thoughts that the next prompt leaves out are counted here; the closer look follows.
    if (kz_session_limit(chat->session) - length >= reserve + LAYOUT_TOKENS) {
        return false;
    }
    if (!drop_turns(chat, reserve) || chat->prompt_count == 0) {
        return false;
    }
    const uint32_t cached = kz_chat_count_cached(chat, chat->prompt, chat->prompt_count);
    kz_session_trim(chat->session, chat->present, cached);
    return true;
}
