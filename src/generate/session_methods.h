// session_methods.h: what a program's forward and logits methods look like to a session. Inside
// generate/ only.
//
//   in   a program's description, the session's settings: names of methods, inputs and symbols
//   out  method numbers, and for each input what it means
//
// Methods are found and checked once, at creation, so that a call binds by number.
#ifndef KZ_GENERATE_SESSION_METHODS_H
#define KZ_GENERATE_SESSION_METHODS_H

#include "generate/session.h"

// What an input means; KZ_SESSION_GIVEN + i is the settings' input i.
enum {
    KZ_SESSION_TOKENS,
    KZ_SESSION_POSITIONS,
    KZ_SESSION_SEQUENCES,
    KZ_SESSION_ROW_TABLE,
    KZ_SESSION_GIVEN,
};

#define KZ_SESSION_GIVEN_LIMIT (KZ_SESSION_INPUT_LIMIT - KZ_SESSION_GIVEN)

// The prefill or the step method.
typedef struct kz_session_forward {
    uint32_t method;
    uint32_t token_limit;  // maximum of the symbol "tokens"
    uint32_t token_symbol; // its place
    // What a call binds, in the method's order; the place of "tokens" is filled at each call.
    uint32_t symbols[KZ_SYMBOL_LIMIT];
    uint32_t roles[KZ_SESSION_INPUT_LIMIT]; // [input_count]
    uint32_t input_count;
    uint32_t tokens_place; // of "tokens" or "rows" among the inputs
    uint32_t row_width;    // 0: the input is "tokens"
} kz_session_forward;

// All that a session knows of its program.
typedef struct kz_session_shape {
    kz_session_forward prefill, step;
    bool has_prefill;                     // else `prefill` is zeros
    uint32_t logits_method, logits_limit; // the method, and the most rows that it takes at once
    uint32_t token_limit;                 // the larger of the two methods'
    uint32_t row_width;                   // of both; 0: they take token ids
    uint32_t context;                     // width of the row table
    uint32_t rows;                        // cache rows
    uint32_t sequences;
    uint32_t hidden, vocabulary; // columns of hidden rows and of logits
    uint32_t given_count;        // inputs of the settings
} kz_session_shape;

// Fails with BAD_FILE when the methods are not those of a token model, UNSUPPORTED when one is
// missing, BAD_ARGUMENT when the settings do not fit them.
KAZEIA_MUST_CHECK kazeia_status kz_session_shape_find(const kz_program *program,
                                                      const kz_session_settings *settings,
                                                      kz_session_shape *out_shape);

#endif
