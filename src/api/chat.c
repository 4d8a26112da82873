// chat.c: kazeia_chat: the think stage behind the public interface.
//   in   a runtime, a program, settings
//   out  a stage, its statistics, measurements
#include "api/chat.h"

#include "api/handles.h"
#include "api/stage.h"
#include "llm/chat.h"
#include "llm/measure.h"

// The stage comes first, so that a pointer to one is a pointer to the other.
typedef struct chat_stage {
    kazeia_stage stage;
    kazeia_allocator allocator;
    kz_program *program;
    kz_chat *chat;
} chat_stage;

// Only for stages whose table was checked, or that came through it.
static kz_chat *chat_of(const kazeia_stage *stage) {
    return ((const chat_stage *)stage)->chat;
}

static kazeia_status feed_chat(kazeia_stage *stage, const void *in, size_t count,
                               size_t *out_taken) {
    return kz_chat_feed(chat_of(stage), in, count, out_taken);
}

static kazeia_status next_of_chat(kazeia_stage *stage, void *out, size_t capacity,
                                  size_t *out_count) {
    return kz_chat_next(chat_of(stage), out, capacity, out_count);
}

static kazeia_status finish_chat(kazeia_stage *stage) {
    return kz_chat_finish(chat_of(stage));
}

static void cancel_chat(kazeia_stage *stage) {
    kz_chat_cancel(chat_of(stage));
}

static kazeia_status reset_chat(kazeia_stage *stage) {
    kz_chat_reset(chat_of(stage));
    return KAZEIA_OK;
}

// Also the way out of a failed creation: every part takes NULL.
static void destroy_chat(kazeia_stage *stage) {
    chat_stage *chat = (chat_stage *)stage;
    const kazeia_allocator memory = chat->allocator;
    kz_chat_destroy(chat->chat);
    kz_program_release(chat->program);
    kz_free(&memory, chat);
}

const kz_stage_table kz_chat_stage_table = {
    .name = "chat",
    .feed = feed_chat,
    .next = next_of_chat,
    .finish = finish_chat,
    .cancel = cancel_chat,
    .reset = reset_chat,
    .destroy = destroy_chat,
};

// Greedy: the same question gets the same answer until somebody asks for more.
kazeia_chat_settings kazeia_chat_settings_default(void) {
    return (kazeia_chat_settings){
        .sampling = {.temperature = 0.0f, .top_p = 1.0f, .repetition_penalty = 1.0f}};
}

_Static_assert(sizeof(kazeia_logit_bias) == sizeof(kz_bias) &&
                   offsetof(kazeia_logit_bias, value) == offsetof(kz_bias, value),
               "an array of the one is an array of the other");
_Static_assert((int)KAZEIA_PART_THINKING == (int)KZ_PART_REASONING &&
                   (int)KAZEIA_PART_CALLS == (int)KZ_PART_CALLS,
               "parts have the same numbers");
_Static_assert((int)KAZEIA_THINKING_OFF == (int)KZ_THINKING_OFF &&
                   (int)KAZEIA_OVERFLOW_DROP == (int)KZ_CHAT_OVERFLOW_DROP,
               "choices have the same numbers");

static kz_penalties penalties_of(const kazeia_sampling *given) {
    return (kz_penalties){.repetition = given->repetition_penalty,
                          .frequency = given->frequency_penalty,
                          .presence = given->presence_penalty,
                          .window = given->penalty_window,
                          .biases = (const kz_bias *)given->biases,
                          .bias_count = given->biases ? given->bias_count : 0};
}

// Copied field by field: the public struct may grow at its end without the inner one following.
static kz_chat_settings settings_of(const kazeia_runtime *runtime,
                                    const kazeia_chat_settings *given) {
    return (kz_chat_settings){.system = given->system,
                              .is_raw = given->is_raw,
                              .max_tokens = given->max_tokens,
                              .sampling = {.temperature = given->sampling.temperature,
                                           .top_k = given->sampling.top_k,
                                           .top_p = given->sampling.top_p,
                                           .min_p = given->sampling.min_p,
                                           .seed = given->sampling.seed},
                              .penalties = penalties_of(&given->sampling),
                              .stops = given->stop_strings,
                              .stop_count = given->stop_strings ? given->stop_string_count : 0,
                              .ignores_stop_tokens = given->ignores_stop_tokens,
                              .grammar = given->grammar,
                              .json_schema = given->json_schema,
                              .prompt_lookup = given->prompt_lookup,
                              .thinking = (kz_thinking)given->thinking,
                              .tools = given->tools,
                              .variables = given->template_variables,
                              .overflow = (kz_chat_overflow)given->overflow,
                              .reserve_tokens = given->reserve_tokens,
                              .branches = given->branch_count,
                              .memory_limit = runtime->session_memory_limit};
}

kazeia_status kazeia_chat_create(kazeia_runtime *runtime, kazeia_program *program,
                                 const kazeia_chat_settings *settings, kazeia_stage **out_stage) {
    KZ_TRY(kz_require(runtime, "chat: runtime"));
    KZ_TRY(kz_require(program, "chat: program"));
    KZ_TRY(kz_require(out_stage, "chat: out_stage"));
    const kazeia_chat_settings given = settings ? *settings : kazeia_chat_settings_default();
    const kazeia_allocator memory = given.allocator ? *given.allocator : runtime->allocator;
    const kz_chat_settings chat_settings = settings_of(runtime, &given);
    chat_stage *chat = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *chat, "chat stage", (void **)&chat));
    chat->stage.table = &kz_chat_stage_table;
    chat->allocator = memory;
    // Its own hold on the program, as perplexity needs the tokenizer section; the caller may close
    // theirs first.
    chat->program = kz_program_retain(program->loaded);
    const kazeia_status status =
        kz_chat_create(program->loaded, runtime->pool, &chat_settings, &memory, &chat->chat);
    if (status != KAZEIA_OK) {
        destroy_chat(&chat->stage);
        return status;
    }
    *out_stage = &chat->stage;
    return KAZEIA_OK;
}

// The inner enum follows the phases of the work, the public one is part of the interface: either
// may be ordered anew.
static kazeia_stop_reason reason_of(kz_chat_stop stop) {
    static const kazeia_stop_reason reasons[] = {
        [KZ_CHAT_STOP_NONE] = KAZEIA_STOP_NONE,     [KZ_CHAT_STOP_TOKEN] = KAZEIA_STOP_TOKEN,
        [KZ_CHAT_STOP_LENGTH] = KAZEIA_STOP_LENGTH, [KZ_CHAT_STOP_CONTEXT] = KAZEIA_STOP_CONTEXT,
        [KZ_CHAT_STOP_CANCEL] = KAZEIA_STOP_CANCEL, [KZ_CHAT_STOP_STRING] = KAZEIA_STOP_STRING,
    };
    _Static_assert(sizeof reasons / sizeof *reasons == KZ_CHAT_STOP_COUNT, "each has its own");
    return reasons[stop];
}

kazeia_chat_statistics kazeia_chat_statistics_of(const kazeia_stage *chat) {
    if (kz_stage_require(chat, &kz_chat_stage_table) != KAZEIA_OK) {
        // A function without a status answers a wrong stage with zeros.
        return (kazeia_chat_statistics){.stop_reason = KAZEIA_STOP_NONE};
    }
    const kz_chat_statistics statistics = kz_chat_statistics_of(chat_of(chat));
    return (kazeia_chat_statistics){.prompt_tokens = statistics.prompt_tokens,
                                    .cached_tokens = statistics.cached_tokens,
                                    .generated_tokens = statistics.generated_tokens,
                                    .prefill_tokens_per_s = statistics.prefill_tokens_per_s,
                                    .ttft_ms = statistics.ttft_ms,
                                    .decode_tokens_per_s = statistics.decode_tokens_per_s,
                                    .stop_reason = reason_of(statistics.stop),
                                    .drafted_tokens = statistics.drafted_tokens,
                                    .accepted_tokens = statistics.confirmed_tokens,
                                    .context_tokens = statistics.context_tokens,
                                    .room_tokens = statistics.room_tokens,
                                    .cache_bytes = statistics.cache_bytes};
}

const int32_t *kazeia_chat_tokens_of(const kazeia_stage *chat, size_t *out_count) {
    // Before the check, so that a wrong stage leaves a count that fits NULL.
    *out_count = 0;
    if (kz_stage_require(chat, &kz_chat_stage_table) != KAZEIA_OK) {
        return NULL;
    }
    // A vocabulary has less than 2^31 tokens.
    return (const int32_t *)kz_chat_reply_ids(chat_of(chat), out_count);
}

kazeia_status kazeia_chat_end_turn(kazeia_stage *chat, size_t heard_bytes) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    kz_chat_end_turn(chat_of(chat), heard_bytes);
    return KAZEIA_OK;
}

const char *kazeia_stop_reason_name(kazeia_stop_reason reason) {
    switch (reason) {
    case KAZEIA_STOP_NONE:
        return "none";
    case KAZEIA_STOP_TOKEN:
        return "stop";
    case KAZEIA_STOP_LENGTH:
        return "length";
    case KAZEIA_STOP_CONTEXT:
        return "context";
    case KAZEIA_STOP_CANCEL:
        return "cancel";
    case KAZEIA_STOP_STRING:
        return "stop string";
    }
    // Only a number that is no member of the enum comes here.
    return "unknown";
}

bool kz_chat_stage_is_reply_given(const kazeia_stage *chat) {
    return kz_chat_is_reply_given(chat_of(chat));
}

const char *kazeia_chat_part_of(const kazeia_stage *chat, kazeia_reply_part part,
                                size_t *out_bytes) {
    *out_bytes = 0;
    if (kz_stage_require(chat, &kz_chat_stage_table) != KAZEIA_OK ||
        (unsigned)part >= (unsigned)KZ_PART_COUNT) {
        return NULL;
    }
    return kz_chat_reply_part(chat_of(chat), (kz_message_part)part, out_bytes);
}

kazeia_status kazeia_chat_feed_ids(kazeia_stage *chat, const int32_t *ids, size_t count) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    if (count == 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_require(ids, "feed ids: ids"));
    return kz_chat_feed_ids(chat_of(chat), ids, count);
}

// --- A conversation's life ----------------------------------------------------------------------

kazeia_status kazeia_chat_append(kazeia_stage *chat, const char *role, const char *text,
                                 size_t bytes, const char *tool_calls) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    KZ_TRY(kz_require(role, "append: role"));
    // No bytes may come with a NULL pointer.
    if (bytes) {
        KZ_TRY(kz_require(text, "append: text"));
    }
    return kz_chat_append(chat_of(chat), role, bytes ? text : "", bytes, tool_calls);
}

kazeia_status kazeia_chat_rewind(kazeia_stage *chat, size_t messages) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    return kz_chat_rewind(chat_of(chat), messages);
}

kazeia_status kazeia_chat_fork(kazeia_stage *chat, uint32_t branch) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    return kz_chat_fork(chat_of(chat), branch);
}

kazeia_status kazeia_chat_select(kazeia_stage *chat, uint32_t branch) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    return kz_chat_select(chat_of(chat), branch);
}

kazeia_status kazeia_chat_save(kazeia_stage *chat, const char *path) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    KZ_TRY(kz_require(path, "save: path"));
    return kz_chat_save(chat_of(chat), path);
}

kazeia_status kazeia_chat_restore(kazeia_stage *chat, const char *path) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    KZ_TRY(kz_require(path, "restore: path"));
    return kz_chat_restore(chat_of(chat), path);
}

// --- Measuring ----------------------------------------------------------------------------------

typedef struct row_receiver {
    kazeia_measure_sink sink;
    void *context;
} row_receiver;

static kazeia_status pass_row(void *context, const kz_logits_row *row) {
    const row_receiver *receiver = context;
    const kazeia_logits_row given = {.position = row->position,
                                     .count = row->count,
                                     .next_token = row->next,
                                     .is_scored = row->is_scored,
                                     .logits = row->logits,
                                     .others = row->others,
                                     .vocabulary_size = row->vocabulary};
    return receiver->sink(receiver->context, &given);
}

static kazeia_status check_measured(const kazeia_stage *chat, const kazeia_stage *other,
                                    const kazeia_measured *measured) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    KZ_TRY(kz_require(measured, "measure: measured"));
    if (other) {
        KZ_TRY(kz_stage_require(other, &kz_chat_stage_table));
    }
    // One session cannot hold two sequences of the same number.
    if (other == chat) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "measure: other is the chat itself; another expected");
    }
    if ((measured->ids != NULL) == (measured->text != NULL)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "measure: %s ids and text found; one of them expected",
                       measured->ids ? "both" : "neither");
    }
    return KAZEIA_OK;
}

kazeia_status kazeia_chat_measure(kazeia_stage *chat, kazeia_stage *other,
                                  const kazeia_measured *measured, kazeia_measure_sink sink,
                                  void *context) {
    KZ_TRY(check_measured(chat, other, measured));
    KZ_TRY(kz_require((const void *)(uintptr_t)sink, "measure: sink"));
    row_receiver receiver = {.sink = sink, .context = context};
    kz_chat *model = chat_of(chat);
    KZ_TRY(kz_chat_require_idle(model));
    if (other) {
        KZ_TRY(kz_chat_require_idle(chat_of(other)));
    }
    const kz_measurement measurement = {.session = kz_chat_session(model),
                                        .other = other ? kz_chat_session(chat_of(other)) : NULL,
                                        .allocator = kz_chat_allocator(model),
                                        .sink = pass_row,
                                        .context = &receiver};
    if (measured->ids) {
        return kz_measure_ids(&measurement, measured->ids, measured->id_count, measured->first);
    }
    const kz_program *program = ((const chat_stage *)chat)->program;
    return kz_measure_text(&measurement, &kz_program_describe(program)->tokenizer, measured->text,
                           measured->text_bytes, measured->chunk_tokens);
}

kazeia_status kazeia_chat_perplexity(kazeia_stage *chat, const char *text, size_t bytes,
                                     uint32_t context, double *out_perplexity, size_t *out_tokens) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    KZ_TRY(kz_require(text, "perplexity: text"));
    KZ_TRY(kz_require(out_perplexity, "perplexity: out_perplexity"));
    KZ_TRY(kz_require(out_tokens, "perplexity: out_tokens"));
    kz_chat *model = chat_of(chat);
    KZ_TRY(kz_chat_require_idle(model));
    const kz_program *program = ((const chat_stage *)chat)->program;
    kz_perplexity perplexity = {0};
    KZ_TRY(kz_measure_perplexity(kz_chat_session(model), &kz_program_describe(program)->tokenizer,
                                 text, bytes, context, kz_chat_allocator(model), &perplexity));
    *out_perplexity = perplexity.value;
    *out_tokens = perplexity.tokens;
    return KAZEIA_OK;
}

kazeia_status kazeia_chat_bench(kazeia_stage *chat, uint32_t prefill, uint32_t decode,
                                uint32_t depth, double *out_prefill_tokens_per_s,
                                double *out_decode_tokens_per_s) {
    KZ_TRY(kz_stage_require(chat, &kz_chat_stage_table));
    KZ_TRY(kz_require(out_prefill_tokens_per_s, "bench: out_prefill_tokens_per_s"));
    KZ_TRY(kz_require(out_decode_tokens_per_s, "bench: out_decode_tokens_per_s"));
    kz_chat *model = chat_of(chat);
    KZ_TRY(kz_chat_require_idle(model));
    kz_session *session = kz_chat_session(model);
    kz_speed speed = {0};
    KZ_TRY(kz_measure_speed(session, prefill, decode, depth, kz_session_vocabulary(session),
                            kz_chat_allocator(model), &speed));
    *out_prefill_tokens_per_s = speed.prefill_tokens_per_s;
    *out_decode_tokens_per_s = speed.decode_tokens_per_s;
    return KAZEIA_OK;
}
