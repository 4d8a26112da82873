// chat_turn.c: one turn of the think stage, step by step.
//   in   a turn that was fed and finished
//   out  the reply's bytes, waiting to be taken; the history, the statistics
// The cache is compared with the ids themselves, not with what it is believed to hold: a template
// may render an earlier turn differently once another follows it.
#include <string.h>

#include "base/clock.h"
#include "llm/chat_state.h"
#include "llm/tool_call.h"

// --- The prompt ---------------------------------------------------------------------------------

static kazeia_status take_ids(kz_chat *chat, size_t capacity) {
    if (chat->turn_id_count > capacity) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: %zu ids, at most %zu fit", chat->turn_id_count,
                       capacity);
    }
    // A negative one is a large number: the session refuses it by value.
    memcpy(chat->prompt, chat->turn_ids, chat->turn_id_count * sizeof *chat->prompt);
    chat->prompt_count = chat->turn_id_count;
    return KAZEIA_OK;
}

// Messages that the caller appended are a turn of their own when they are all there is.
static bool has_question(const kz_chat *chat) {
    const kz_history *history = &present_branch(chat)->history;
    return kz_history_ends_with(history, "user") || kz_history_ends_with(history, "tool");
}

static kazeia_status encode_turn(kz_chat *chat) {
    kz_history *history = &present_branch(chat)->history;
    // The prompt's array holds one more, but a prompt of that length could not be answered.
    const size_t capacity = kz_session_limit(chat->session) - 1; // a reply has one token at least
    if (chat->has_turn_ids) {
        return take_ids(chat, capacity);
    }
    if (chat->settings.is_raw) {
        return kz_tokenizer_encode(chat->tokenizer, chat->turn.bytes, chat->turn.count,
                                   KZ_ENCODE_PARSE_SPECIAL | KZ_ENCODE_ADD_BOS_EOS, chat->prompt,
                                   capacity, &chat->prompt_count);
    }
    if (chat->turn.count > 0 || !has_question(chat)) {
        KZ_TRY(kz_history_begin(history, "user"));
        if (!kz_history_append(history, KZ_PART_TEXT, chat->turn.bytes, chat->turn.count)) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: no room for the turn's text");
        }
    }
    return kz_template_encode(chat->chat_template, history->messages, history->count, true,
                              chat->prompt, capacity, &chat->prompt_count);
}

uint32_t kz_chat_count_cached(const kz_chat *chat, const uint32_t *ids, size_t count) {
    const uint32_t length = kz_session_length(chat->session, chat->present);
    const int32_t *cached = present_branch(chat)->ids;
    uint32_t same = 0;
    while (same < length && same < count && cached[same] == (int32_t)ids[same]) {
        same++;
    }
    return same == count ? same - 1 : same;
}

static kazeia_status render_turn(kz_chat *chat) {
    const kazeia_status status = encode_turn(chat);
    if (status != KAZEIA_OK) {
        return kz_fail_context(
            status,
            "chat: the turn does not fit the program's context of %u tokens with "
            "what was said before: reset the conversation, or export with a "
            "larger --context",
            kz_session_limit(chat->session));
    }
    return chat->prompt_count
               ? KAZEIA_OK
               : kz_fail(KAZEIA_BAD_ARGUMENT, "chat: the prompt is empty: give some text");
}

static kazeia_status start_turn(kz_chat *chat) {
    kz_history *history = &present_branch(chat)->history;
    // A raw prompt is all there is: nothing of the last one stays but its tokens in the cache,
    // should they begin alike.
    if (chat->settings.is_raw) {
        kz_history_trim(history, 0);
    }
    // What drop_turn and end_turn return to.
    chat->kept_messages = history->count;
    KZ_TRY(render_turn(chat));
    // Begun before the first token: from here on the last message is the reply, empty or not.
    KZ_TRY(kz_history_begin(history, "assistant"));
    const uint32_t cached = kz_chat_count_cached(chat, chat->prompt, chat->prompt_count);
    kz_session_trim(chat->session, chat->present, cached);
    kz_text_buffer_reset(&chat->turn);
    chat->has_turn_ids = false;
    chat->statistics = (kz_chat_statistics){.prompt_tokens = (uint32_t)chat->prompt_count,
                                            .cached_tokens = cached};
    chat->prefill_ns = 0;
    chat->decode_ns = 0;
    if (chat->tokenizer) {
        kz_detokenizer_init(&chat->detokenizer, chat->tokenizer, KZ_DECODE_TEXT);
        chat->thinks_first = chat->chat_template && kz_template_opens_thinking(chat->chat_template);
        kz_splitter_start(&chat->splitter, chat->thinks_first);
    }
    set_phase(chat, PHASE_PREFILLING);
    return KAZEIA_OK;
}

kazeia_status kz_chat_compute_chunk(kz_chat *chat, bool is_reply) {
    const uint32_t length = kz_session_length(chat->session, chat->present);
    const size_t left = chat->prompt_count - length;
    const uint32_t chunk = kz_session_chunk(chat->session, left);
    // Written before the call: should it fail, the session's length stays, and entries beyond it
    // are never compared.
    int32_t *ids = present_branch(chat)->ids + length;
    memcpy(ids, chat->prompt + length, chunk * sizeof *ids);
    if (chunk < left || !is_reply) {
        return kz_session_extend(chat->session, chat->present, ids, chunk);
    }
    chat->loop.id_count = chat->prompt_count;
    if (chat->constrain) {
        kz_constrain_reset(chat->constrain);
    }
    return kz_loop_start(&chat->loop, ids, chunk);
}

static kazeia_status prefill_chunk(kz_chat *chat) {
    const uint64_t start_ns = kz_clock_now_ns();
    KZ_TRY(kz_chat_compute_chunk(chat, true));
    chat->prefill_ns += kz_clock_now_ns() - start_ns;
    // The rate counts what was computed; tokens from the cache cost no time.
    if (kz_session_length(chat->session, chat->present) == chat->prompt_count) {
        const uint32_t computed = chat->statistics.prompt_tokens - chat->statistics.cached_tokens;
        chat->statistics.prefill_tokens_per_s = computed * 1e9 / (double)(chat->prefill_ns + 1);
        set_phase(chat, PHASE_REPLYING);
    }
    return KAZEIA_OK;
}

// --- The reply's text ---------------------------------------------------------------------------

static void keep_call(kz_chat *chat) {
    // What is no JSON object is no call; it was not spoken either.
    (void)kz_tool_call_append(&present_branch(chat)->history, chat->call.bytes, chat->call.count);
    kz_text_buffer_reset(&chat->call);
}

// False when there is no room for it.
static bool keep_text(kz_chat *chat, const kz_split_piece *piece) {
    if (piece->part == KZ_PART_CALLS) {
        return kz_text_buffer_append(&chat->call, piece->bytes, piece->count) == KAZEIA_OK;
    }
    if (!kz_history_append(&present_branch(chat)->history, piece->part, piece->bytes,
                           piece->count)) {
        return false;
    }
    if (piece->part == KZ_PART_TEXT) {
        memcpy(chat->waiting + chat->waiting_from + chat->waiting_count, piece->bytes,
               piece->count);
        chat->waiting_count += piece->count;
    }
    return true;
}

// Takes what the splitter has decided. NONE: the reply goes on.
static kz_chat_stop take_pieces(kz_chat *chat) {
    kz_history *history = &present_branch(chat)->history;
    for (;;) {
        const kz_split_piece piece = kz_splitter_next(&chat->splitter);
        if (piece.event == KZ_SPLIT_NOTHING) {
            return KZ_CHAT_STOP_NONE;
        }
        if (piece.event == KZ_SPLIT_TEXT && !keep_text(chat, &piece)) {
            return KZ_CHAT_STOP_CONTEXT;
        }
        // The ids spell the marks or the stop string, too, and templates set those themselves.
        if (piece.event != KZ_SPLIT_TEXT || piece.part != KZ_PART_TEXT) {
            kz_history_spell(history);
        }
        if (piece.event == KZ_SPLIT_STOPPED) {
            return KZ_CHAT_STOP_STRING;
        }
        if (piece.event == KZ_SPLIT_CLOSED && piece.part == KZ_PART_CALLS) {
            keep_call(chat);
        }
    }
}

void kz_chat_leave_reply(kz_chat *chat) {
    if (phase_of(chat) == PHASE_REPLYING) {
        chat->statistics.drafted_tokens = (uint32_t)chat->loop.draft.drafted;
        chat->statistics.confirmed_tokens = (uint32_t)chat->loop.draft.confirmed;
        kz_loop_leave(&chat->loop);
    }
}

// What is held back is text after all. Without room the history lacks what the ids beside it still
// hold.
static void flush_text(kz_chat *chat) {
    const size_t bytes = kz_detokenizer_flush(&chat->detokenizer, chat->decoded);
    kz_splitter_push(&chat->splitter, chat->decoded, bytes);
    kz_splitter_finish(&chat->splitter);
    (void)take_pieces(chat);
    // A model may stop right behind a call.
    keep_call(chat);
}

static void end_reply(kz_chat *chat, kz_chat_stop stop) {
    if (chat->tokenizer && stop != KZ_CHAT_STOP_STRING) {
        flush_text(chat);
    }
    kz_chat_leave_reply(chat);
    chat->statistics.stop = stop;
    set_phase(chat, PHASE_ENDING);
}

// --- The reply ----------------------------------------------------------------------------------

static void note_token_time(kz_chat *chat, uint64_t start_ns) {
    const uint64_t now_ns = kz_clock_now_ns();
    kz_chat_statistics *statistics = &chat->statistics;
    // The first token comes out of the prefill; its time is no decoding's.
    if (chat->loop.step == 1) {
        statistics->ttft_ms = (double)(now_ns - chat->finished_ns) / 1e6;
        return;
    }
    chat->decode_ns += now_ns - start_ns;
    statistics->decode_tokens_per_s =
        (double)(chat->loop.step - 1) * 1e9 / (double)(chat->decode_ns + 1);
}

// The id first: when neither fits, the reply ends at its last whole token.
static void keep_token(kz_chat *chat, uint32_t token) {
    if (!kz_history_append_id(&present_branch(chat)->history, token)) {
        end_reply(chat, KZ_CHAT_STOP_CONTEXT);
        return;
    }
    chat->statistics.generated_tokens++;
    if (!chat->tokenizer) {
        return;
    }
    const size_t bytes = kz_detokenizer_push(&chat->detokenizer, token, chat->decoded);
    kz_splitter_push(&chat->splitter, chat->decoded, bytes);
    const kz_chat_stop stop = take_pieces(chat);
    if (stop != KZ_CHAT_STOP_NONE) {
        end_reply(chat, stop);
    }
}

// Why no further token can come; NONE when one can.
static kz_chat_stop find_end(const kz_chat *chat) {
    const uint32_t most = chat->settings.max_tokens;
    // Asked before computing: the token over the limit is never chosen.
    if (most && chat->statistics.generated_tokens == most) {
        return KZ_CHAT_STOP_LENGTH;
    }
    // The token that was chosen last is computed by the next step and needs a row of the cache for
    // it.
    const uint32_t length = kz_session_length(chat->session, chat->present);
    return chat->loop.has_pending && length == kz_session_limit(chat->session)
               ? KZ_CHAT_STOP_CONTEXT
               : KZ_CHAT_STOP_NONE;
}

static kazeia_status write_token(kz_chat *chat) {
    const uint32_t most = chat->settings.max_tokens;
    const kz_chat_stop end = find_end(chat);
    chat->waiting_from = 0;
    if (end != KZ_CHAT_STOP_NONE) {
        end_reply(chat, end);
        return KAZEIA_OK;
    }
    // A grammar is the answer's: a model whose prompt opens a thought may think first.
    chat->thinks_first = chat->thinks_first && chat->splitter.part == KZ_PART_REASONING;
    chat->loop.mask = chat->constrain && !chat->thinks_first ? &chat->mask : NULL;
    // The chosen token itself is the first of those that may come.
    chat->loop.draft.room = most ? most - chat->statistics.generated_tokens : UINT32_MAX;
    const uint64_t start_ns = kz_clock_now_ns();
    int32_t token = 0;
    kz_stop_action action = KZ_STOP_CONTINUE;
    const kazeia_status status = kz_loop_next(&chat->loop, &token, &action);
    if (status != KAZEIA_OK && status != KAZEIA_CANCELLED && chat->constrain) {
        // An empty mask is the grammar's failure; the loop only sees that no token is left.
        KZ_TRY(kz_constrain_check(chat->constrain));
    }
    KZ_TRY(status);
    // The token that ends the reply was computed, too, and counts.
    note_token_time(chat, start_ns);
    if (action == KZ_STOP_END) {
        end_reply(chat, KZ_CHAT_STOP_TOKEN);
    } else {
        keep_token(chat, (uint32_t)token);
    }
    return KAZEIA_OK;
}

// --- After the reply ----------------------------------------------------------------------------

static kazeia_status end_turn(kz_chat *chat) {
    if (chat->waiting_count) {
        return KAZEIA_OK;
    }
    const bool is_unsettled = kz_chat_make_room(chat);
    set_phase(chat, is_unsettled ? PHASE_SETTLING : PHASE_ENDED);
    return is_unsettled ? KAZEIA_OK : KAZEIA_DONE;
}

static kazeia_status settle(kz_chat *chat) {
    KZ_TRY(kz_chat_compute_chunk(chat, false));
    if (kz_session_length(chat->session, chat->present) == chat->prompt_count) {
        set_phase(chat, PHASE_ENDED);
    }
    return KAZEIA_OK;
}

kazeia_status kz_chat_work(kz_chat *chat) {
    switch (phase_of(chat)) {
    case PHASE_COLLECTING:
        return KAZEIA_NEEDS_INPUT;
    case PHASE_FINISHED:
        return start_turn(chat);
    case PHASE_PREFILLING:
        return prefill_chunk(chat);
    // Nothing new while bytes wait: the buffer holds one token's.
    case PHASE_REPLYING:
        return chat->waiting_count ? KAZEIA_OK : write_token(chat);
    case PHASE_ENDING:
        return end_turn(chat);
    case PHASE_SETTLING:
        return settle(chat);
    default:
        return KAZEIA_DONE;
    }
}
