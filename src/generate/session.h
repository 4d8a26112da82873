// session.h: a token session: what a program's forward methods have computed so far, and the next
// call.
//
// A session is a context (the states), the cache rows of its sequences, and buffers for one call.
// It knows token ids and methods by name; docs/abilities.md says what inputs and outputs they have.
// All memory is taken at creation; kz_session_plan says how much.
//
//   in   token ids of a sequence, in order; or rows of numbers where the program's methods take an
//        f32 input "rows" [tokens][width] in place of "tokens"
//   out  hidden rows of the last call, and logits of those that are asked for
//
// One thread at a time; kz_session_cancel may come from any.
#ifndef KZ_GENERATE_SESSION_H
#define KZ_GENERATE_SESSION_H

#include "runtime/cache_rows.h"
#include "runtime/context.h"

#define KZ_SESSION_INPUT_LIMIT 8u // inputs of a forward method

typedef struct kz_session kz_session;

// An input of the forward methods beyond tokens, positions, sequences and row_table.
typedef struct kz_session_input {
    const char *name; // as the methods call it; the struct itself may go after creation
    // The whole input, kept by the caller as long as the session. NULL: the input is one integer
    // for each token, the one that kz_session_set_input gave for the token's sequence (0 at first).
    const int32_t *table;
    size_t table_count; // integers in it: at least as many as the method reads
} kz_session_input;

// A symbol of the forward methods beyond tokens and sequences: bound to the same value in each
// call.
typedef struct kz_session_symbol {
    const char *name;
    uint32_t value;
} kz_session_symbol;

// Names and tables of the program's methods. Only tables are kept beyond creation.
typedef struct kz_session_settings {
    const char *prefill; // for many tokens at once; a program that lacks it goes token by token
    const char *step;    // for few tokens, of one sequence or of several
    const char *logits;  // hidden rows -> rows of logits
    uint32_t sequences;  // sequences in use at the same time, at least 1
    kz_priority priority;
    uint64_t memory_limit;          // 0: none
    const kz_session_input *inputs; // [input_count]
    size_t input_count;
    const kz_session_symbol *symbols; // [symbol_count]
    size_t symbol_count;
} kz_session_settings;

// Bytes that kz_session_create takes (arena + states + work), and the weights. UNSUPPORTED when the
// program lacks a method, BAD_FILE when one does not have the inputs and outputs of a token model,
// BAD_ARGUMENT when the settings do not fit them.
KAZEIA_MUST_CHECK kazeia_status kz_session_plan(kz_program *program,
                                                const kz_session_settings *settings,
                                                kz_memory_plan *out_plan);
// All sequences are empty. Fails as kz_session_plan does, and refuses with OUT_OF_MEMORY and both
// numbers when the plan is above the limit, before anything is
// allocated. Retains the program; the pool must outlive the session.
KAZEIA_MUST_CHECK kazeia_status kz_session_create(kz_program *program, kz_pool *pool,
                                                  const kz_session_settings *settings,
                                                  const kazeia_allocator *allocator,
                                                  kz_session **out_session);
// NULL is fine. No call may be running.
void kz_session_destroy(kz_session *session);

// The session's parts, for methods that only a stage knows (an encoder) and for forks of sequences.
kz_context *kz_session_context(kz_session *session);
kz_cache_rows *kz_session_rows(kz_session *session);
uint32_t kz_session_limit(const kz_session *session); // longest sequence in tokens
// Columns of hidden rows and of logits.
uint32_t kz_session_hidden(const kz_session *session);
uint32_t kz_session_vocabulary(const kz_session *session);
// Tokens that the sequence holds.
uint32_t kz_session_length(const kz_session *session, uint32_t sequence);

// The integer of per-token input `input` (its place in the settings) for tokens of a sequence.
void kz_session_set_input(kz_session *session, size_t input, uint32_t sequence, int32_t value);

// How many of `count` tokens the next call takes at once: all up to the step method's limit, whose
// results do not depend on their number, else as many as the prefill method holds; 1 without one.
uint32_t kz_session_chunk(const kz_session *session, size_t count);
// Appends `count` >= 1 tokens to a sequence and computes them, chunk by chunk. After a failure
// (BAD_ARGUMENT: the context is full or an id is no token; BUSY: no cache rows; CANCELLED) the
// sequence is as long as before. Logits are then those of the last chunk's tokens.
KAZEIA_MUST_CHECK kazeia_status kz_session_extend(kz_session *session, uint32_t sequence,
                                                  const int32_t *ids, size_t count);
// Columns of the rows that stand for tokens; 0 for a program of token ids.
uint32_t kz_session_row_width(const kz_session *session);
// As extend, with `rows` [count][row width] in place of ids. Each of the two functions refuses the
// other's programs with BAD_ARGUMENT, as do the functions below those that take rows.
KAZEIA_MUST_CHECK kazeia_status kz_session_extend_rows(kz_session *session, uint32_t sequence,
                                                       const float *rows, size_t count);
// Most tokens of one call of the step method, whose results do not depend on how many they are.
uint32_t kz_session_step_limit(const kz_session *session);
// As extend, but in one call of the step method, so that the hidden rows are those of all `count`
// tokens. BAD_ARGUMENT also for more than the method holds.
KAZEIA_MUST_CHECK kazeia_status kz_session_extend_at_once(kz_session *session, uint32_t sequence,
                                                          const int32_t *ids, uint32_t count);
// Appends one token to each of `count` different sequences in one call of the step method; row i of
// the result is that of sequences[i]. Fails as extend does, and with BAD_ARGUMENT for more
// sequences than the method holds tokens; all sequences are then as long as before.
KAZEIA_MUST_CHECK kazeia_status kz_session_step(kz_session *session, const uint32_t *sequences,
                                                const int32_t *ids, uint32_t count);
// Hidden rows of the last chunk or step: [*out_rows][hidden], valid until the next call; 0 rows
// after a failure and before the first call.
const float *kz_session_hidden_rows(const kz_session *session, uint32_t *out_rows);
// Logits of rows [row, row + count) of the last chunk or step into out_logits [count][vocabulary].
// BAD_ARGUMENT when it has no such rows, CANCELLED.
KAZEIA_MUST_CHECK kazeia_status kz_session_logits(kz_session *session, uint32_t row, uint32_t count,
                                                  float *out_logits);
// The logits of the last row, in the session's own memory: the caller may change them; valid until
// the next call.
KAZEIA_MUST_CHECK kazeia_status kz_session_last_logits(kz_session *session, float **out_logits);

// Shortens a sequence; what comes next is computed from there. A longer `length` changes nothing.
// The hidden rows of the last call stay.
void kz_session_trim(kz_session *session, uint32_t sequence, uint32_t length);

// From any thread: the present call ends within some milliseconds with CANCELLED, later ones at
// once, until kz_session_resume.
void kz_session_cancel(kz_session *session);
void kz_session_resume(kz_session *session);
bool kz_session_is_cancelled(const kz_session *session);

#endif
