// session.c: a token session: states, cache rows and buffers of one call.
//   in   token ids
//   out  hidden rows, logits
// A prompt of up to as many tokens as the step method holds goes through that one, whose results do
// not depend on the number of tokens; only longer ones go through the prefill method.
#include "generate/session.h"

#include <string.h>

#include "generate/session_methods.h"

struct kz_session {
    kazeia_allocator allocator;
    kz_context *context;
    kz_cache_rows *rows;
    kz_session_shape shape;
    void *memory; // the buffers below
    // Bound inputs by method: pointers into the buffers, the row table, or the caller's tables.
    const void *prefill_inputs[KZ_SESSION_INPUT_LIMIT];
    const void *step_inputs[KZ_SESSION_INPUT_LIMIT];
    int32_t *columns[KZ_SESSION_INPUT_LIMIT]; // per-token inputs by role: [token limit] each
    int32_t *values;                          // [sequences][given inputs]
    float *hidden;                            // [token limit][hidden]
    float *logits;                            // [vocabulary]
    uint32_t hidden_rows;                     // of the last call
};

// --- Memory -------------------------------------------------------------------------------------

static uint64_t aligned(uint64_t bytes) {
    return (bytes + KZ_ALIGNMENT - 1) / KZ_ALIGNMENT * KZ_ALIGNMENT;
}

static uint64_t column_bytes(const kz_session_shape *shape) {
    return aligned((uint64_t)shape->token_limit * sizeof(int32_t));
}

static uint64_t value_bytes(const kz_session_shape *shape) {
    return aligned((uint64_t)shape->sequences * shape->given_count * sizeof(int32_t));
}

static uint64_t hidden_bytes(const kz_session_shape *shape) {
    return aligned((uint64_t)shape->token_limit * shape->hidden * sizeof(float));
}

static uint64_t logits_bytes(const kz_session_shape *shape) {
    return aligned((uint64_t)shape->vocabulary * sizeof(float));
}

static uint64_t buffer_bytes(const kz_session_shape *shape) {
    return KZ_SESSION_INPUT_LIMIT * column_bytes(shape) + value_bytes(shape) + hidden_bytes(shape) +
           logits_bytes(shape);
}

// What kz_alloc_aligned asks for beyond the bytes themselves.
#define ALIGNED_OVERHEAD (KZ_ALIGNMENT + sizeof(void *))

static kz_memory_plan plan_for(const kz_program *program, const kz_session_shape *shape) {
    kz_memory_plan plan = kz_context_plan(program);
    plan.work += sizeof(kz_session) + buffer_bytes(shape) + ALIGNED_OVERHEAD +
                 kz_cache_rows_bytes(shape->rows, shape->sequences, shape->context);
    return plan;
}

kazeia_status kz_session_plan(kz_program *program, const kz_session_settings *settings,
                              kz_memory_plan *out_plan) {
    kz_session_shape shape;
    KZ_TRY(kz_session_shape_find(program, settings, &shape));
    *out_plan = plan_for(program, &shape);
    return KAZEIA_OK;
}

static void lay_out(kz_session *session) {
    const kz_session_shape *shape = &session->shape;
    uint8_t *cursor = session->memory;
    // By role, so the row table's and the callers' tables' columns stay unused: a page or two, for
    // plain indexing.
    for (uint32_t i = 0; i < KZ_SESSION_INPUT_LIMIT; i++) {
        session->columns[i] = (int32_t *)(void *)cursor;
        cursor += column_bytes(shape);
    }
    session->values = (int32_t *)(void *)cursor;
    cursor += value_bytes(shape);
    session->hidden = (float *)(void *)cursor;
    cursor += hidden_bytes(shape);
    session->logits = (float *)(void *)cursor;
}

// Once for all calls: the addresses last as long as the session, only their content changes.
static void bind_inputs(kz_session *session, const kz_session_forward *forward,
                        const kz_session_settings *settings, const void **inputs) {
    for (uint32_t i = 0; i < forward->input_count; i++) {
        const uint32_t role = forward->roles[i];
        if (role == KZ_SESSION_ROW_TABLE) {
            inputs[i] = kz_cache_rows_table(session->rows);
        } else if (role >= KZ_SESSION_GIVEN && settings->inputs[role - KZ_SESSION_GIVEN].table) {
            inputs[i] = settings->inputs[role - KZ_SESSION_GIVEN].table;
        } else {
            inputs[i] = session->columns[role];
        }
    }
}

// The context is made without a limit of its own: check_limit has compared the whole, of which it
// is a part. A failure leaves the parts to kz_session_destroy.
static kazeia_status fill_session(kz_session *session, kz_program *program, kz_pool *pool,
                                  const kz_session_settings *settings) {
    const kz_session_shape *shape = &session->shape;
    KZ_TRY(kz_context_create(program, pool, settings->priority, 0, &session->allocator,
                             &session->context));
    KZ_TRY(kz_cache_rows_create(shape->rows, shape->sequences, shape->context, &session->allocator,
                                &session->rows));
    KZ_TRY(kz_alloc_aligned(&session->allocator, (size_t)buffer_bytes(shape), KZ_ALIGNMENT,
                            "session buffers", &session->memory));
    lay_out(session);
    if (shape->has_prefill) {
        bind_inputs(session, &shape->prefill, settings, session->prefill_inputs);
    }
    bind_inputs(session, &shape->step, settings, session->step_inputs);
    return KAZEIA_OK;
}

static kazeia_status check_limit(const kz_memory_plan *plan, uint64_t limit) {
    // Each part is below a quarter of the number range (kz_context_plan, the shape's limits), but
    // for states that overflow: kz_context_create refuses those, limit or not.
    const uint64_t bytes = plan->arena + plan->states + plan->work;
    if (limit && bytes > limit) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY,
                       "session: the program needs %llu bytes (arena %llu, states %llu, work "
                       "%llu), the limit is %llu; export it with a smaller --context",
                       (unsigned long long)bytes, (unsigned long long)plan->arena,
                       (unsigned long long)plan->states, (unsigned long long)plan->work,
                       (unsigned long long)limit);
    }
    return KAZEIA_OK;
}

kazeia_status kz_session_create(kz_program *program, kz_pool *pool,
                                const kz_session_settings *settings,
                                const kazeia_allocator *allocator, kz_session **out_session) {
    kz_session_shape shape;
    KZ_TRY(kz_session_shape_find(program, settings, &shape));
    const kz_memory_plan plan = plan_for(program, &shape);
    KZ_TRY(check_limit(&plan, settings->memory_limit));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_session *session = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *session, "session", (void **)&session));
    session->allocator = memory;
    session->shape = shape;
    const kazeia_status status = fill_session(session, program, pool, settings);
    if (status != KAZEIA_OK) {
        kz_session_destroy(session);
        return status;
    }
    *out_session = session;
    return KAZEIA_OK;
}

void kz_session_destroy(kz_session *session) {
    if (!session) {
        return;
    }
    const kazeia_allocator memory = session->allocator;
    kz_context_destroy(session->context);
    kz_cache_rows_destroy(session->rows);
    kz_free_aligned(&memory, session->memory);
    kz_free(&memory, session);
}

// --- What it is ---------------------------------------------------------------------------------

kz_context *kz_session_context(kz_session *session) {
    return session->context;
}

kz_cache_rows *kz_session_rows(kz_session *session) {
    return session->rows;
}

uint32_t kz_session_limit(const kz_session *session) {
    return session->shape.context;
}

uint32_t kz_session_hidden(const kz_session *session) {
    return session->shape.hidden;
}

uint32_t kz_session_vocabulary(const kz_session *session) {
    return session->shape.vocabulary;
}

uint32_t kz_session_length(const kz_session *session, uint32_t sequence) {
    return kz_cache_rows_length(session->rows, sequence);
}

void kz_session_set_input(kz_session *session, size_t input, uint32_t sequence, int32_t value) {
    session->values[sequence * session->shape.given_count + input] = value;
}

void kz_session_trim(kz_session *session, uint32_t sequence, uint32_t length) {
    // Chunks that were computed go too: the caller sees all of its tokens or none.
    kz_cache_rows_trim(session->rows, sequence, length);
}

void kz_session_cancel(kz_session *session) {
    kz_context_cancel(session->context);
}

void kz_session_resume(kz_session *session) {
    kz_context_resume(session->context);
}

bool kz_session_is_cancelled(const kz_session *session) {
    return kz_context_is_cancelled(session->context);
}

// --- Calls --------------------------------------------------------------------------------------

// One token of a call, all but what it is: each input's column at `place`.
static void put_place(kz_session *session, uint32_t place, uint32_t sequence, uint32_t position) {
    session->columns[KZ_SESSION_POSITIONS][place] = (int32_t)position;
    session->columns[KZ_SESSION_SEQUENCES][place] = (int32_t)sequence;
    const uint32_t given = session->shape.given_count;
    for (uint32_t i = 0; i < given; i++) {
        session->columns[KZ_SESSION_GIVEN + i][place] = session->values[sequence * given + i];
    }
}

static kazeia_status run_forward(kz_session *session, const kz_session_forward *forward,
                                 const void *const *inputs, uint32_t count) {
    uint32_t symbols[KZ_SYMBOL_LIMIT];
    memcpy(symbols, forward->symbols, sizeof symbols);
    symbols[forward->token_symbol] = count;
    void *outputs[1] = {session->hidden};
    // A call that fails leaves rows of no token: nothing may be read from them.
    session->hidden_rows = 0;
    KZ_TRY(kz_context_run(session->context, forward->method, symbols, inputs, outputs));
    session->hidden_rows = count;
    return KAZEIA_OK;
}

// A program without a prefill method was exported to run one token at a time (`--mode kv`),
// whatever its step method could hold: that has places for several sequences.
uint32_t kz_session_chunk(const kz_session *session, size_t count) {
    const kz_session_shape *shape = &session->shape;
    if (!shape->has_prefill) {
        return count ? 1 : 0;
    }
    if (count <= shape->step.token_limit) {
        return (uint32_t)count;
    }
    return count < shape->prefill.token_limit ? (uint32_t)count : shape->prefill.token_limit;
}

// What tokens are: ids, or rows of numbers. One of the two is NULL.
typedef struct token_source {
    const int32_t *ids;
    const float *rows;
} token_source;

static kazeia_status check_source(const kz_session *session, bool has_rows) {
    const uint32_t width = session->shape.row_width;
    if (has_rows != (width > 0)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "session: the program takes %s, %s are given",
                       width > 0 ? "rows" : "token ids", has_rows ? "rows" : "token ids");
    }
    return KAZEIA_OK;
}

static kazeia_status extend_chunk(kz_session *session, uint32_t sequence, token_source source,
                                  uint32_t count) {
    const uint32_t length = kz_cache_rows_length(session->rows, sequence);
    // Taken before the run, which writes them. On failure the caller trims them off again.
    KZ_TRY(kz_cache_rows_extend(session->rows, sequence, count));
    for (uint32_t i = 0; i < count; i++) {
        put_place(session, i, sequence, length + i);
        if (source.ids) {
            session->columns[KZ_SESSION_TOKENS][i] = source.ids[i];
        }
    }
    const bool is_step = count <= session->shape.step.token_limit;
    const kz_session_forward *forward = is_step ? &session->shape.step : &session->shape.prefill;
    const void **inputs = is_step ? session->step_inputs : session->prefill_inputs;
    if (source.rows) {
        // In place: rows are wide, and the caller keeps them through the call.
        inputs[forward->tokens_place] = source.rows;
    }
    return run_forward(session, forward, inputs, count);
}

static kazeia_status extend(kz_session *session, uint32_t sequence, token_source source,
                            size_t count) {
    const uint32_t length = kz_cache_rows_length(session->rows, sequence);
    // The whole count at once: a prompt that cannot fit is refused before seconds are spent on it.
    if (count == 0 || count > session->shape.context - length) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "context: %zu tokens do not fit: %u of %u are in use; at least one token "
                       "is needed",
                       count, length, session->shape.context);
    }
    size_t done = 0;
    while (done < count) {
        const uint32_t chunk = kz_session_chunk(session, count - done);
        const kazeia_status status = extend_chunk(session, sequence, source, chunk);
        if (status != KAZEIA_OK) {
            kz_cache_rows_trim(session->rows, sequence, length);
            return status;
        }
        done += chunk;
        source.ids = source.ids ? source.ids + chunk : NULL;
        source.rows = source.rows ? source.rows + (size_t)chunk * session->shape.row_width : NULL;
    }
    return KAZEIA_OK;
}

kazeia_status kz_session_extend(kz_session *session, uint32_t sequence, const int32_t *ids,
                                size_t count) {
    KZ_TRY(check_source(session, false));
    return extend(session, sequence, (token_source){.ids = ids}, count);
}

kazeia_status kz_session_extend_rows(kz_session *session, uint32_t sequence, const float *rows,
                                     size_t count) {
    KZ_TRY(check_source(session, true));
    return extend(session, sequence, (token_source){.rows = rows}, count);
}

uint32_t kz_session_row_width(const kz_session *session) {
    return session->shape.row_width;
}

uint32_t kz_session_step_limit(const kz_session *session) {
    return session->shape.step.token_limit;
}

kazeia_status kz_session_extend_at_once(kz_session *session, uint32_t sequence, const int32_t *ids,
                                        uint32_t count) {
    const uint32_t length = kz_cache_rows_length(session->rows, sequence);
    KZ_TRY(check_source(session, false));
    if (count == 0 || count > session->shape.step.token_limit) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "step: %u tokens asked for, expected 1 to %u", count,
                       session->shape.step.token_limit);
    }
    const kazeia_status status = extend_chunk(session, sequence, (token_source){.ids = ids}, count);
    if (status != KAZEIA_OK) {
        kz_cache_rows_trim(session->rows, sequence, length);
    }
    return status;
}

kazeia_status kz_session_step(kz_session *session, const uint32_t *sequences, const int32_t *ids,
                              uint32_t count) {
    if (count == 0 || count > session->shape.step.token_limit) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "step: %u sequences asked for, expected 1 to %u", count,
                       session->shape.step.token_limit);
    }
    kazeia_status status = KAZEIA_OK;
    uint32_t taken = 0;
    // Rows may run out on the way: what was taken so far is given back below.
    while (taken < count && status == KAZEIA_OK) {
        const uint32_t sequence = sequences[taken];
        const uint32_t length = kz_cache_rows_length(session->rows, sequence);
        status = kz_cache_rows_extend(session->rows, sequence, 1);
        if (status == KAZEIA_OK) {
            put_place(session, taken, sequence, length);
            session->columns[KZ_SESSION_TOKENS][taken] = ids[taken];
            taken++;
        }
    }
    if (status == KAZEIA_OK) {
        status = run_forward(session, &session->shape.step, session->step_inputs, count);
    }
    for (uint32_t i = 0; i < taken && status != KAZEIA_OK; i++) {
        const uint32_t length = kz_cache_rows_length(session->rows, sequences[i]);
        kz_cache_rows_trim(session->rows, sequences[i], length - 1);
    }
    return status;
}

const float *kz_session_hidden_rows(const kz_session *session, uint32_t *out_rows) {
    *out_rows = session->hidden_rows;
    return session->hidden;
}

kazeia_status kz_session_logits(kz_session *session, uint32_t row, uint32_t count,
                                float *out_logits) {
    const kz_session_shape *shape = &session->shape;
    if (row > session->hidden_rows || count > session->hidden_rows - row) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "logits: rows %u to %u asked for, the last call has %u",
                       row, row + count, session->hidden_rows);
    }
    // A logits method takes few rows at a time: a large vocabulary's rows are megabytes each in its
    // arena.
    for (uint32_t done = 0; done < count;) {
        const uint32_t left = count - done;
        const uint32_t rows = left < shape->logits_limit ? left : shape->logits_limit;
        const void *inputs[1] = {session->hidden + (size_t)(row + done) * shape->hidden};
        void *outputs[1] = {out_logits + (size_t)done * shape->vocabulary};
        KZ_TRY(kz_context_run(session->context, shape->logits_method, &rows, inputs, outputs));
        done += rows;
    }
    return KAZEIA_OK;
}

kazeia_status kz_session_last_logits(kz_session *session, float **out_logits) {
    if (session->hidden_rows == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "logits: nothing has been computed since the last "
                                            "failure or since creation");
    }
    // The newest token's row is the last one of the call.
    KZ_TRY(kz_session_logits(session, session->hidden_rows - 1, 1, session->logits));
    *out_logits = session->logits;
    return KAZEIA_OK;
}
