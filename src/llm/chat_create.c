// chat_create.c: the think stage's parts: made, and given back.
//   in   a program, settings
//   out  a stage that will not allocate
// What a setting does not ask for is not allocated: counts for penalties, logits for drafts.
#include <string.h>

#include "llm/chat_state.h"

// Bounds what a hostile or broken caller can make the stage hold, in proportion to the context.
#define TEXT_BYTES_PER_TOKEN 16u // more than any prose has; longer turns are refused
#define TEMPLATE_BYTES 65536u    // of a template's own text in one stretch

kz_session_settings kz_chat_session_settings(void) {
    return (kz_session_settings){.prefill = "prefill_forward",
                                 .step = "kv_forward",
                                 .logits = "logits",
                                 .sequences = 1,
                                 .priority = KZ_PRIORITY_CHAT};
}

static kazeia_status check_program(const kz_program *program, bool is_raw) {
    const char *ability = kz_program_string(program, "ability");
    if (!ability || strcmp(ability, "chat") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "chat: the program's ability is '%s', expected 'chat': give a language "
                       "model",
                       ability ? ability : "");
    }
    // A program of a checkpoint without tokenizer files takes ids only.
    if (kz_program_describe(program)->tokenizer.count == 0 && !is_raw) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "chat: the program has no tokenizer: it takes token ids only, no text");
    }
    return KAZEIA_OK;
}

static kazeia_status check_settings(const kz_chat *chat) {
    const kz_chat_settings *settings = &chat->settings;
    const uint32_t context = kz_session_limit(chat->session);
    if (settings->prompt_lookup > KZ_DRAFT_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat: prompt lookup of %u tokens, at most %u can be",
                       settings->prompt_lookup, KZ_DRAFT_LIMIT);
    }
    if (settings->reserve_tokens >= context) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: a reserve of %u tokens, the program's context has %u",
                       settings->reserve_tokens, context);
    }
    return kz_penalties_check(&settings->penalties, kz_session_vocabulary(chat->session));
}

static size_t text_limit(const kz_chat *chat) {
    return (size_t)kz_session_limit(chat->session) * TEXT_BYTES_PER_TOKEN;
}

// A run may be a whole message between the template's own words, among them the tools, which it may
// set wider than they were given.
static size_t run_limit(const kz_chat *chat) {
    const char *tools = chat->settings.tools;
    return text_limit(chat) + TEMPLATE_BYTES + (tools ? 2 * strlen(tools) : 0);
}

// --- The model ----------------------------------------------------------------------------------

static kazeia_status reserve_penalties(kz_chat *chat) {
    const kazeia_allocator *memory = &chat->allocator;
    kz_penalties *penalties = &chat->settings.penalties;
    KZ_TRY(kz_alloc(memory, penalties->bias_count, sizeof *chat->biases, "biases",
                    (void **)&chat->biases));
    if (penalties->bias_count) {
        memcpy(chat->biases, penalties->biases, penalties->bias_count * sizeof *chat->biases);
    }
    penalties->biases = chat->biases;
    chat->loop.penalties = penalties;
    return kz_penalties_need_counts(penalties)
               ? kz_alloc(memory, kz_session_vocabulary(chat->session), sizeof *chat->loop.counts,
                          "token counts", (void **)&chat->loop.counts)
               : KAZEIA_OK;
}

static kazeia_status reserve_draft(kz_chat *chat) {
    const uint32_t limit = chat->settings.prompt_lookup;
    size_t rows = 0;
    chat->loop.draft.limit = limit;
    if (limit == 0) {
        return KAZEIA_OK;
    }
    if (!kz_size_mul(limit + 1, kz_session_vocabulary(chat->session), &rows)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "chat: %u rows of logits do not fit", limit + 1);
    }
    return kz_alloc(&chat->allocator, rows, sizeof *chat->loop.draft.logits, "guesses' logits",
                    (void **)&chat->loop.draft.logits);
}

static kazeia_status open_model(kz_chat *chat, kz_pool *pool) {
    kz_session_settings session = kz_chat_session_settings();
    session.sequences = chat->branch_count;
    session.memory_limit = chat->settings.memory_limit;
    KZ_TRY(kz_session_create(chat->program, pool, &session, &chat->allocator, &chat->session));
    KZ_TRY(check_settings(chat));
    KZ_TRY(kz_sampler_create(&chat->settings.sampling, kz_session_vocabulary(chat->session),
                             &chat->allocator, &chat->sampler));
    // A program without stop tokens answers until its length ends; that is what a base model does.
    if (!chat->settings.ignores_stop_tokens) {
        kz_program_integers(chat->program, "chat.stop_tokens", &chat->stop_tokens.ids,
                            &chat->stop_tokens.count);
    }
    chat->loop.session = chat->session;
    chat->loop.sampler = chat->sampler;
    chat->loop.stop = kz_stop_rule_tokens(&chat->stop_tokens);
    KZ_TRY(reserve_penalties(chat));
    return reserve_draft(chat);
}

// --- The text -----------------------------------------------------------------------------------

static kazeia_status open_template(kz_chat *chat) {
    const kz_program_description *description = kz_program_describe(chat->program);
    if (description->chat_template.count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "chat: the program has no chat template: it is a base model; it "
                       "goes on with raw text only, as `kazeia generate --raw` gives it");
    }
    kz_chat_template roles;
    KZ_TRY(kz_chat_template_open(&description->chat_template, &roles));
    const kz_template_options rendering = {.longest_run = run_limit(chat),
                                           .thinking = chat->settings.thinking,
                                           .tools = chat->settings.tools,
                                           .variables = chat->settings.variables};
    return kz_template_create(&roles, chat->tokenizer, &rendering, &chat->allocator,
                              &chat->chat_template);
}

static kazeia_status reserve_reply(kz_chat *chat) {
    static const kz_template_marks none = {"", "", "", ""};
    const kazeia_allocator *memory = &chat->allocator;
    const kz_template_marks marks =
        chat->chat_template ? kz_template_marks_of(chat->chat_template) : none;
    const size_t room = kz_detokenizer_room(chat->tokenizer);
    KZ_TRY(kz_splitter_init(&chat->splitter, &marks, chat->settings.stops,
                            chat->settings.stop_count, room, memory));
    KZ_TRY(kz_text_buffer_init(&chat->call, memory, marks.call_open[0] ? text_limit(chat) : 0,
                               text_limit(chat)));
    KZ_TRY(kz_alloc(memory, room, 1, "token text", (void **)&chat->decoded));
    // Of a token, and of the end behind it.
    return kz_alloc(memory, 2, kz_splitter_room(&chat->splitter), "reply text",
                    (void **)&chat->waiting);
}

static kazeia_status open_text(kz_chat *chat) {
    const kz_program_description *description = kz_program_describe(chat->program);
    if (description->tokenizer.count == 0) { // raw: refused otherwise
        return KAZEIA_OK;
    }
    const kz_tokenizer_options options = {.max_text_bytes = run_limit(chat)};
    KZ_TRY(
        kz_tokenizer_open(&description->tokenizer, &options, &chat->allocator, &chat->tokenizer));
    if (!chat->settings.is_raw) {
        KZ_TRY(open_template(chat));
    }
    return reserve_reply(chat);
}

static kazeia_status compile_grammar(kz_chat *chat) {
    const char *grammar = chat->settings.grammar, *schema = chat->settings.json_schema;
    if (grammar && schema) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "chat: a grammar and a JSON schema are given; a reply follows one of both");
    }
    if (!chat->tokenizer) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "chat: the program has no tokenizer: its replies can follow no grammar");
    }
    return schema ? kz_grammar_compile_json_schema(schema, strlen(schema), &chat->allocator,
                                                   &chat->grammar)
                  : kz_grammar_compile_gbnf(grammar, strlen(grammar), &chat->allocator,
                                            &chat->grammar);
}

static kazeia_status open_constraint(kz_chat *chat) {
    const int64_t *stops = NULL;
    size_t stop_count = 0;
    if (!chat->settings.grammar && !chat->settings.json_schema) {
        return KAZEIA_OK;
    }
    KZ_TRY(compile_grammar(chat));
    // Stop tokens that are ignored still tell that a grammar's text is whole.
    kz_program_integers(chat->program, "chat.stop_tokens", &stops, &stop_count);
    KZ_TRY(kz_constrain_create(chat->grammar, chat->tokenizer, stops, stop_count,
                               kz_session_vocabulary(chat->session), &chat->allocator,
                               &chat->constrain));
    chat->mask = kz_constrain_mask(chat->constrain);
    chat->loop.mask = &chat->mask;
    return KAZEIA_OK;
}

static kazeia_status reserve_branch(kz_chat *chat, chat_branch *branch) {
    const kazeia_allocator *memory = &chat->allocator;
    const size_t context = kz_session_limit(chat->session);
    // Each message costs a token at least, so there are never more messages than tokens, but for
    // the system's and the one begun.
    KZ_TRY(kz_history_init(&branch->history, context + 2, text_limit(chat), context, memory));
    // The newest token need not fit the context any more.
    return kz_alloc(memory, context + 1, sizeof *branch->ids, "cached ids", (void **)&branch->ids);
}

static kazeia_status reserve(kz_chat *chat) {
    const kazeia_allocator *memory = &chat->allocator;
    const size_t context = kz_session_limit(chat->session);
    KZ_TRY(kz_text_buffer_init(&chat->turn, memory, text_limit(chat), text_limit(chat)));
    KZ_TRY(kz_alloc(memory, context, sizeof *chat->prompt, "prompt", (void **)&chat->prompt));
    if (chat->settings.is_raw) {
        KZ_TRY(kz_alloc(memory, context, sizeof *chat->turn_ids, "ids", (void **)&chat->turn_ids));
    }
    if (chat->settings.overflow == KZ_CHAT_OVERFLOW_DROP) {
        KZ_TRY(kz_alloc(memory, context, sizeof *chat->probe, "prompt", (void **)&chat->probe));
    }
    KZ_TRY(kz_alloc(memory, chat->branch_count, sizeof *chat->branches, "branches",
                    (void **)&chat->branches));
    for (uint32_t i = 0; i < chat->branch_count; i++) {
        // Set first, so that clearing is right also for those that are never reached.
        chat->branches[i].history.allocator = *memory;
    }
    for (uint32_t i = 0; i < chat->branch_count; i++) {
        KZ_TRY(reserve_branch(chat, &chat->branches[i]));
    }
    return KAZEIA_OK;
}

static kazeia_status add_system(kz_chat *chat) {
    const char *system = chat->settings.system;
    if (!system || chat->settings.is_raw) {
        return KAZEIA_OK;
    }
    // In every branch: reset leaves it in each.
    for (uint32_t i = 0; i < chat->branch_count; i++) {
        kz_history *history = &chat->branches[i].history;
        KZ_TRY(kz_history_begin(history, "system"));
        if (!kz_history_append(history, KZ_PART_TEXT, system, strlen(system))) {
            return kz_fail(KAZEIA_BAD_ARGUMENT,
                           "chat: the system message has %zu bytes, at most %zu fit the context",
                           strlen(system), text_limit(chat));
        }
    }
    return KAZEIA_OK;
}

// --- The whole ----------------------------------------------------------------------------------

static kazeia_status fill_chat(kz_chat *chat, kz_pool *pool) {
    KZ_TRY(check_program(chat->program, chat->settings.is_raw));
    // The session first: when it is above the memory limit, nothing else is taken.
    KZ_TRY(open_model(chat, pool));
    KZ_TRY(open_text(chat));
    KZ_TRY(open_constraint(chat));
    KZ_TRY(reserve(chat));
    KZ_TRY(add_system(chat));
    for (uint32_t i = 0; i < chat->branch_count; i++) {
        chat->branches[i].random = kz_sampler_random(chat->sampler);
    }
    chat->loop.ids = chat->branches[0].ids;
    // All were copied or used up; the caller's may go.
    chat->settings.system = NULL;
    chat->settings.stops = NULL;
    chat->settings.tools = NULL;
    chat->settings.grammar = NULL;
    chat->settings.json_schema = NULL;
    chat->settings.variables = NULL;
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
    chat->branch_count = settings->branches ? settings->branches : 1;
    // destroy clears these also when creation fails before they are made.
    chat->turn.allocator = memory;
    chat->call.allocator = memory;
    chat->splitter.allocator = memory;
    atomic_init(&chat->phase, PHASE_COLLECTING);
    const kazeia_status status = fill_chat(chat, pool);
    if (status != KAZEIA_OK) {
        kz_chat_destroy(chat);
        return status;
    }
    *out_chat = chat;
    return KAZEIA_OK;
}

static void destroy_branches(kz_chat *chat) {
    for (uint32_t i = 0; chat->branches && i < chat->branch_count; i++) {
        kz_history_clear(&chat->branches[i].history);
        kz_free(&chat->allocator, chat->branches[i].ids);
    }
    kz_free(&chat->allocator, chat->branches);
}

void kz_chat_destroy(kz_chat *chat) {
    if (!chat) {
        return;
    }
    const kazeia_allocator memory = chat->allocator;
    kz_constrain_destroy(chat->constrain);
    kz_grammar_destroy(chat->grammar);
    kz_template_destroy(chat->chat_template);
    kz_tokenizer_close(chat->tokenizer);
    kz_sampler_destroy(chat->sampler);
    kz_session_destroy(chat->session);
    destroy_branches(chat);
    kz_splitter_clear(&chat->splitter);
    kz_text_buffer_clear(&chat->turn);
    kz_text_buffer_clear(&chat->call);
    kz_free(&memory, chat->biases);
    kz_free(&memory, chat->loop.counts);
    kz_free(&memory, chat->loop.draft.logits);
    kz_free(&memory, chat->prompt);
    kz_free(&memory, chat->probe);
    kz_free(&memory, chat->turn_ids);
    kz_free(&memory, chat->decoded);
    kz_free(&memory, chat->waiting);
    kz_program_release(chat->program);
    kz_free(&memory, chat);
}
