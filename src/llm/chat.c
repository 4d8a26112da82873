// chat.c: the think stage.
//   in   a program, bytes of turns
//   out  bytes of replies, statistics
// The phase is the one thing that feed and next share: whoever may act in a phase owns the buffers
// that belong to it, so no lock is needed.
#include "llm/chat.h"

#include <string.h>

#include "base/clock.h"
#include "llm/history.h"
#include "text/detokenizer.h"

// Bounds what a hostile or broken caller can make the stage hold, in proportion to the context.
#define TEXT_BYTES_PER_TOKEN 16u // more than any prose has; longer turns are refused
#define LONGEST_CHARACTER 4u

typedef enum chat_phase {
    PHASE_COLLECTING, // feed fills the turn
    PHASE_FINISHED,   // the turn is whole; next renders it
    PHASE_PREFILLING,
    PHASE_REPLYING,
    PHASE_ENDING, // the last bytes wait to be taken
    PHASE_ENDED,
} chat_phase;

struct kz_chat {
    kazeia_allocator allocator;
    kz_program *program;
    kz_chat_settings settings;
    kz_session *session;
    kz_sampler *sampler;
    kz_tokenizer *tokenizer;
    kz_template *chat_template; // NULL when raw
    kz_stop_tokens stop_tokens;
    kz_loop loop;
    atomic_int phase;
    kz_text_buffer turn;
    kz_history history;
    size_t kept_messages; // those before the present turn
    uint32_t *prompt;     // [context]
    size_t prompt_count;
    uint32_t *cached; // [context]: ids of the tokens that the session holds
    kz_detokenizer detokenizer;
    char *waiting; // bytes of the reply not taken yet
    size_t waiting_from, waiting_count;
    kz_chat_statistics statistics;
    uint64_t finished_ns, prefill_ns, decode_ns;
};

// --- Creation -----------------------------------------------------------------------------------

kz_session_settings kz_chat_session_settings(void) {
    return (kz_session_settings){.prefill = "prefill_forward",
                                 .step = "kv_forward",
                                 .logits = "logits",
                                 .sequences = 1,
                                 .priority = KZ_PRIORITY_CHAT};
}

// A program of a checkpoint without tokenizer files takes ids only: what measures works, text does
// not.
static kazeia_status refuse_text(void) {
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "chat: the program has no tokenizer: it takes token ids only, no text");
}

static kazeia_status check_program(const kz_program *program, bool is_raw) {
    const char *ability = kz_program_string(program, "ability");
    if (!ability || strcmp(ability, "chat") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "chat: the program's ability is '%s', expected 'chat': give a language "
                       "model",
                       ability ? ability : "");
    }
    if (kz_program_describe(program)->tokenizer.count == 0 && !is_raw) {
        return refuse_text();
    }
    return KAZEIA_OK;
}

static size_t text_limit(const kz_chat *chat) {
    return (size_t)kz_session_limit(chat->session) * TEXT_BYTES_PER_TOKEN;
}

static size_t run_limit(const kz_chat *chat) {
    // A run may be a whole message between the template's parts: a prefix and a suffix on each side
    // of it.
    return text_limit(chat) + 4 * (size_t)KZ_CHAT_PART_BYTES;
}

static kazeia_status open_text(kz_chat *chat) {
    const kz_program_description *description = kz_program_describe(chat->program);
    if (description->tokenizer.count == 0) { // raw: refused otherwise
        return KAZEIA_OK;
    }
    const kz_tokenizer_options options = {.max_text_bytes = run_limit(chat)};
    KZ_TRY(
        kz_tokenizer_open(&description->tokenizer, &options, &chat->allocator, &chat->tokenizer));
    if (chat->settings.is_raw) {
        return KAZEIA_OK;
    }
    if (description->chat_template.count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "chat: the program has no chat template: it is a base model; give the "
                       "prompt raw");
    }
    kz_chat_template roles;
    KZ_TRY(kz_chat_template_open(&description->chat_template, &roles));
    const kz_template_options rendering = {.longest_run = run_limit(chat)};
    return kz_template_create(&roles, chat->tokenizer, &rendering, &chat->allocator,
                              &chat->chat_template);
}

static kazeia_status reserve(kz_chat *chat) {
    const kazeia_allocator *memory = &chat->allocator;
    const size_t context = kz_session_limit(chat->session);
    KZ_TRY(kz_text_buffer_init(&chat->turn, memory, text_limit(chat), text_limit(chat)));
    // Each message costs a token at least, so there are never more messages than tokens, but for
    // the system's and the one begun.
    KZ_TRY(kz_history_init(&chat->history, context + 2, text_limit(chat), context, memory));
    KZ_TRY(kz_alloc(memory, context, sizeof *chat->prompt, "prompt", (void **)&chat->prompt));
    KZ_TRY(kz_alloc(memory, context, sizeof *chat->cached, "cached ids", (void **)&chat->cached));
    if (!chat->tokenizer) {
        return KAZEIA_OK;
    }
    // One to hold the last token's bytes, one for the half character that a flush adds behind them.
    // A token's text and what the end may add to it.
    return kz_alloc(memory, 2, kz_detokenizer_room(chat->tokenizer), "reply text",
                    (void **)&chat->waiting);
}

static kazeia_status open_model(kz_chat *chat, kz_pool *pool) {
    kz_session_settings session = kz_chat_session_settings();
    session.memory_limit = chat->settings.memory_limit;
    KZ_TRY(kz_session_create(chat->program, pool, &session, &chat->allocator, &chat->session));
    KZ_TRY(kz_sampler_create(&chat->settings.sampling, kz_session_vocabulary(chat->session),
                             &chat->allocator, &chat->sampler));
    // A program without stop tokens answers until its length ends; that is what a base model does.
    kz_program_integers(chat->program, "chat.stop_tokens", &chat->stop_tokens.ids,
                        &chat->stop_tokens.count);
    chat->loop = (kz_loop){.session = chat->session,
                           .sampler = chat->sampler,
                           .stop = kz_stop_rule_tokens(&chat->stop_tokens)};
    return KAZEIA_OK;
}

static kazeia_status add_system(kz_chat *chat) {
    const char *system = chat->settings.system;
    if (!system || chat->settings.is_raw) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_history_begin(&chat->history, "system"));
    if (!kz_history_append(&chat->history, system, strlen(system))) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: the system message has %zu bytes, at most %zu fit the context",
                       strlen(system), text_limit(chat));
    }
    return KAZEIA_OK;
}

static kazeia_status fill_chat(kz_chat *chat, kz_pool *pool) {
    KZ_TRY(check_program(chat->program, chat->settings.is_raw));
    // The session first: when it is above the memory limit, nothing else is taken.
    KZ_TRY(open_model(chat, pool));
    KZ_TRY(open_text(chat));
    KZ_TRY(reserve(chat));
    KZ_TRY(add_system(chat));
    chat->settings.system = NULL; // the history has it; the caller's string may go
    return KAZEIA_OK;
}

kazeia_status kz_chat_create(kz_program *program, kz_pool *pool, const kz_chat_settings *settings,
                             const kazeia_allocator *allocator, kz_chat **out_chat) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_chat *chat = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *chat, "chat", (void **)&chat));
    chat->allocator = memory;
    chat->program = kz_program_retain(program);
    chat->settings = *settings;
    // destroy clears both also when creation fails before they are made.
    chat->history.allocator = memory;
    chat->turn.allocator = memory;
    atomic_init(&chat->phase, PHASE_COLLECTING);
    const kazeia_status status = fill_chat(chat, pool);
    if (status != KAZEIA_OK) {
        kz_chat_destroy(chat);
        return status;
    }
    *out_chat = chat;
    return KAZEIA_OK;
}

void kz_chat_destroy(kz_chat *chat) {
    if (!chat) {
        return;
    }
    const kazeia_allocator memory = chat->allocator;
    kz_template_destroy(chat->chat_template);
    kz_tokenizer_close(chat->tokenizer);
    kz_sampler_destroy(chat->sampler);
    kz_session_destroy(chat->session);
    kz_text_buffer_clear(&chat->turn);
    kz_history_clear(&chat->history);
    kz_free(&memory, chat->prompt);
    kz_free(&memory, chat->cached);
    kz_free(&memory, chat->waiting);
    kz_program_release(chat->program);
    kz_free(&memory, chat);
}

// --- The turn's text ----------------------------------------------------------------------------

// Sequentially consistent: what one side wrote to a buffer before it changed the phase is seen by
// the other side after it has read the phase.
static chat_phase phase_of(const kz_chat *chat) {
    return (chat_phase)atomic_load(&chat->phase);
}

static void set_phase(kz_chat *chat, chat_phase phase) {
    atomic_store(&chat->phase, (int)phase);
}

kazeia_status kz_chat_feed(kz_chat *chat, const char *text, size_t bytes, size_t *out_taken) {
    *out_taken = 0;
    if (!chat->tokenizer) {
        return refuse_text();
    }
    const chat_phase phase = phase_of(chat);
    if (phase != PHASE_COLLECTING && phase != PHASE_ENDED) {
        return KAZEIA_OK;
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

kazeia_status kz_chat_finish(kz_chat *chat) {
    if (!chat->tokenizer) {
        return refuse_text();
    }
    const chat_phase phase = phase_of(chat);
    if (phase != PHASE_COLLECTING && phase != PHASE_ENDED) {
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

static kazeia_status encode_turn(kz_chat *chat) {
    // The prompt's array holds one more, but a prompt of that length could not be answered.
    const size_t capacity = kz_session_limit(chat->session) - 1; // a reply has one token at least
    if (chat->settings.is_raw) {
        return kz_tokenizer_encode(chat->tokenizer, chat->turn.bytes, chat->turn.count,
                                   KZ_ENCODE_PARSE_SPECIAL | KZ_ENCODE_ADD_BOS_EOS, chat->prompt,
                                   capacity, &chat->prompt_count);
    }
    KZ_TRY(kz_history_begin(&chat->history, "user"));
    if (!kz_history_append(&chat->history, chat->turn.bytes, chat->turn.count)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: no room for the turn's text");
    }
    return kz_template_encode(chat->chat_template, chat->history.messages, chat->history.count,
                              true, chat->prompt, capacity, &chat->prompt_count);
}

// The cache is compared with the ids themselves, not with what it is believed to hold: a template
// may render an earlier turn differently once another follows it.
static uint32_t count_cached(const kz_chat *chat) {
    const uint32_t length = kz_session_length(chat->session, 0);
    uint32_t same = 0;
    while (same < length && same < chat->prompt_count && chat->cached[same] == chat->prompt[same]) {
        same++;
    }
    // The last token is computed in any case: its logits begin the reply.
    return same == chat->prompt_count ? same - 1 : same;
}

static kazeia_status start_turn(kz_chat *chat) {
    // A raw prompt is all there is: nothing of the last one stays but its tokens in the cache,
    // should they begin alike.
    if (chat->settings.is_raw) {
        kz_history_trim(&chat->history, 0);
    }
    // What drop_turn and end_turn return to.
    chat->kept_messages = chat->history.count;
    const kazeia_status status = encode_turn(chat);
    if (status != KAZEIA_OK) {
        return kz_fail_context(
            status,
            "chat: the turn does not fit the program's context of %u tokens with "
            "what was said before: reset the conversation, or export with a "
            "larger --context",
            kz_session_limit(chat->session));
    }
    if (chat->prompt_count == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: the prompt is empty: give some text");
    }
    // Begun before the first token: from here on the last message is the reply, empty or not.
    KZ_TRY(kz_history_begin(&chat->history, "assistant"));
    const uint32_t cached = count_cached(chat);
    kz_session_trim(chat->session, 0, cached);
    kz_text_buffer_reset(&chat->turn);
    chat->statistics = (kz_chat_statistics){.prompt_tokens = (uint32_t)chat->prompt_count,
                                            .cached_tokens = cached};
    chat->prefill_ns = 0;
    chat->decode_ns = 0;
    kz_detokenizer_init(&chat->detokenizer, chat->tokenizer, KZ_DECODE_TEXT);
    set_phase(chat, PHASE_PREFILLING);
    return KAZEIA_OK;
}

static kazeia_status prefill_chunk(kz_chat *chat) {
    const uint32_t length = kz_session_length(chat->session, 0);
    const size_t left = chat->prompt_count - length;
    const uint32_t chunk = kz_session_chunk(chat->session, left);
    const uint64_t start_ns = kz_clock_now_ns();
    // Written before the call: should it fail, the session's length stays, and entries beyond it
    // are never compared.
    memcpy(chat->cached + length, chat->prompt + length, chunk * sizeof *chat->cached);
    // Ids are below 2^31: the session refuses all others.
    const int32_t *ids = (const int32_t *)(const void *)(chat->prompt + length);
    KZ_TRY(chunk == left ? kz_loop_start(&chat->loop, ids, chunk)
                         : kz_session_extend(chat->session, 0, ids, chunk));
    chat->prefill_ns += kz_clock_now_ns() - start_ns;
    // The rate counts what was computed; tokens from the cache cost no time.
    if (chunk == left) {
        const uint32_t computed = chat->statistics.prompt_tokens - chat->statistics.cached_tokens;
        chat->statistics.prefill_tokens_per_s = computed * 1e9 / (double)(chat->prefill_ns + 1);
        set_phase(chat, PHASE_REPLYING);
    }
    return KAZEIA_OK;
}

static void end_reply(kz_chat *chat, kz_chat_stop stop) {
    char *place = chat->waiting + chat->waiting_from + chat->waiting_count;
    // Room: `waiting` is twice a token's most bytes.
    const size_t bytes = kz_detokenizer_flush(&chat->detokenizer, place);
    // Without room the history lacks what the ids beside it still hold.
    if (kz_history_append(&chat->history, place, bytes)) {
        chat->waiting_count += bytes;
    }
    chat->statistics.stop = stop;
    set_phase(chat, PHASE_ENDING);
}

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
    const size_t bytes = kz_detokenizer_push(&chat->detokenizer, token, chat->waiting);
    if (!kz_history_append_id(&chat->history, token) ||
        !kz_history_append(&chat->history, chat->waiting, bytes)) {
        end_reply(chat, KZ_CHAT_STOP_CONTEXT);
        return;
    }
    chat->waiting_count = bytes;
    chat->statistics.generated_tokens++;
}

static kazeia_status write_token(kz_chat *chat) {
    const uint32_t length = kz_session_length(chat->session, 0);
    const uint32_t most = chat->settings.max_tokens;
    chat->waiting_from = 0;
    // Asked before computing: the token over the limit is never chosen.
    if (most && chat->statistics.generated_tokens == most) {
        end_reply(chat, KZ_CHAT_STOP_LENGTH);
        return KAZEIA_OK;
    }
    // The token that was chosen last is computed by the next step and needs a row of the cache for
    // it.
    if (chat->loop.has_pending && length == kz_session_limit(chat->session)) {
        end_reply(chat, KZ_CHAT_STOP_CONTEXT);
        return KAZEIA_OK;
    }
    if (chat->loop.has_pending) {
        chat->cached[length] = (uint32_t)chat->loop.pending;
    }
    const uint64_t start_ns = kz_clock_now_ns();
    int32_t token = 0;
    kz_stop_action action = KZ_STOP_CONTINUE;
    KZ_TRY(kz_loop_next(&chat->loop, &token, &action));
    // The token that ends the reply was computed, too, and counts.
    note_token_time(chat, start_ns);
    if (action == KZ_STOP_END) {
        end_reply(chat, KZ_CHAT_STOP_TOKEN);
    } else {
        keep_token(chat, (uint32_t)token);
    }
    return KAZEIA_OK;
}

static kazeia_status work(kz_chat *chat) {
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
        if (chat->waiting_count == 0) {
            set_phase(chat, PHASE_ENDED);
        }
        return chat->waiting_count ? KAZEIA_OK : KAZEIA_DONE;
    default:
        return KAZEIA_DONE;
    }
}

// The detokenizer gives whole characters of at most 4 bytes and `capacity` is no less, so going
// back from inside one ends at its first byte and at least one character is given.
// Gives out waiting bytes, as many whole characters as fit.
static void hand_over(kz_chat *chat, char *out, size_t capacity, size_t *out_bytes) {
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

// The cache keeps what it has: the next turn's prompt is compared with it as always.
// A turn that failed leaves the conversation as it was before it.
static void drop_turn(kz_chat *chat) {
    kz_history_trim(&chat->history, chat->kept_messages);
    kz_text_buffer_reset(&chat->turn);
    chat->waiting_count = 0;
    set_phase(chat, PHASE_COLLECTING);
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
                                     : work(chat);
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

void kz_chat_cancel(kz_chat *chat) {
    kz_session_cancel(chat->session);
}

// The pending token belongs to the reply that ends here; it was never computed, so the cache is in
// order without it.
static void make_idle(kz_chat *chat) {
    kz_session_resume(chat->session);
    kz_text_buffer_reset(&chat->turn);
    chat->waiting_count = 0;
    chat->loop.has_pending = false;
    set_phase(chat, PHASE_COLLECTING);
}

void kz_chat_reset(kz_chat *chat) {
    make_idle(chat);
    const bool has_system =
        chat->history.count > 0 && strcmp(chat->history.messages[0].role, "system") == 0;
    kz_history_trim(&chat->history, has_system ? 1 : 0);
    kz_session_trim(chat->session, 0, 0);
    // The same seed gives the same conversation again.
    kz_sampler_reset(chat->sampler);
    chat->statistics = (kz_chat_statistics){.stop = KZ_CHAT_STOP_NONE};
}

// The last message is a reply between turns and while one is written; a question stands last only
// inside start_turn.
static bool has_reply(const kz_chat *chat) {
    const kz_history *history = &chat->history;
    return history->count > 0 &&
           strcmp(history->messages[history->count - 1].role, "assistant") == 0;
}

void kz_chat_end_turn(kz_chat *chat, size_t heard_bytes) {
    const chat_phase phase = phase_of(chat);
    const size_t reply_bytes =
        has_reply(chat) ? chat->history.messages[chat->history.count - 1].bytes : 0;
    const bool is_written = phase == PHASE_ENDING || phase == PHASE_ENDED;
    // A question without a word of an answer would stay in the history as if it had been ignored,
    // and two user messages in a row are nothing that a template knows.
    if (phase == PHASE_PREFILLING || (phase == PHASE_REPLYING && reply_bytes == 0)) {
        kz_history_trim(&chat->history, chat->kept_messages);
    } else if (phase == PHASE_REPLYING || (is_written && heard_bytes < reply_bytes)) {
        kz_history_cut(&chat->history, heard_bytes);
    }
    make_idle(chat);
}

kz_chat_statistics kz_chat_statistics_of(const kz_chat *chat) {
    return chat->statistics;
}

const uint32_t *kz_chat_reply_ids(const kz_chat *chat, size_t *out_count) {
    if (!has_reply(chat)) {
        *out_count = 0;
        return NULL;
    }
    const kz_message *reply = &chat->history.messages[chat->history.count - 1];
    *out_count = reply->id_count;
    return reply->ids;
}

kz_session *kz_chat_session(kz_chat *chat) {
    return chat->session;
}

const kazeia_allocator *kz_chat_allocator(const kz_chat *chat) {
    return &chat->allocator;
}
