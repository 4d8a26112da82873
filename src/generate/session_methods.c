// session_methods.c: what a program's forward and logits methods look like to a session.
//   in   a program, method names
//   out  places of symbols and inputs, sizes
// The runtime checked that the methods are sound; here it is checked that they are a token model's:
// every buffer of a session is as large as a call reads or writes.
#include "generate/session_methods.h"

#include <string.h>

static const char *const input_names[KZ_SESSION_GIVEN] = {"tokens", "positions", "sequences",
                                                          "row_table"};

static const kz_method *method_at(const kz_program *program, uint32_t index) {
    return &kz_program_describe(program)->methods[index];
}

static bool find_symbol(const kz_method *method, const char *name, uint32_t *out_symbol) {
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        if (strcmp(method->symbols[i].name, name) == 0) {
            *out_symbol = i;
            return true;
        }
    }
    return false;
}

static kazeia_status bind_symbol(const kz_method *method, uint32_t symbol,
                                 const kz_session_settings *settings, uint32_t *out_value) {
    const char *name = method->symbols[symbol].name;
    *out_value = 0;
    if (strcmp(name, "tokens") == 0) {
        // The shapes below are asked for with 0 tokens: they may not depend on them.
        return KAZEIA_OK; // bound by each call
    }
    bool is_known = strcmp(name, "sequences") == 0;
    uint32_t value = settings->sequences;
    for (size_t i = 0; i < settings->symbol_count && !is_known; i++) {
        is_known = strcmp(name, settings->symbols[i].name) == 0;
        value = settings->symbols[i].value;
    }
    if (!is_known) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: %s has a symbol '%s' that this stage does not "
                       "know",
                       method->name, name);
    }
    if (value == 0 || value > method->symbols[symbol].maximum) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "session: %u %s asked for, %s holds 1 to %u", value,
                       name, method->name, method->symbols[symbol].maximum);
    }
    *out_value = value;
    return KAZEIA_OK;
}

static kazeia_status bind_symbols(const kz_method *method, const kz_session_settings *settings,
                                  kz_session_forward *out_forward) {
    if (!find_symbol(method, "tokens", &out_forward->token_symbol)) {
        return kz_fail(KAZEIA_BAD_FILE, "program: %s has no symbol 'tokens'", method->name);
    }
    out_forward->token_limit = method->symbols[out_forward->token_symbol].maximum;
    if (out_forward->token_limit == 0) {
        return kz_fail(KAZEIA_BAD_FILE, "program: %s holds no tokens", method->name);
    }
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        KZ_TRY(bind_symbol(method, i, settings, &out_forward->symbols[i]));
    }
    return KAZEIA_OK;
}

static bool find_role(const char *name, const kz_session_settings *settings, uint32_t *out_role) {
    for (uint32_t role = 0; role < KZ_SESSION_GIVEN; role++) {
        if (strcmp(name, input_names[role]) == 0) {
            *out_role = role;
            return true;
        }
    }
    for (size_t i = 0; i < settings->input_count; i++) {
        if (strcmp(name, settings->inputs[i].name) == 0) {
            *out_role = KZ_SESSION_GIVEN + (uint32_t)i;
            return true;
        }
    }
    return false;
}

// A table is given whole, once for all calls, so its size may not follow what a call binds.
static bool changes_with_tokens(const kz_value *value, const kz_session_forward *forward) {
    bool changes = false;
    for (uint32_t i = 0; i < value->rank; i++) {
        changes = changes || value->dims[i].scale[forward->token_symbol] != 0;
    }
    return changes;
}

static kazeia_status check_table(const kz_method *method, const kz_value *value, size_t count,
                                 const kz_session_forward *forward) {
    if (changes_with_tokens(value, forward)) {
        return kz_fail(KAZEIA_BAD_FILE, "program: the table '%s' of %s grows with the tokens",
                       value->name, method->name);
    }
    // Sequences and given symbols are bound by now, so the size is that of every call.
    const uint64_t needed =
        kz_value_bytes(value, forward->symbols, method->symbol_count) / sizeof(int32_t);
    if (count < needed) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "session: %s reads %llu integers of '%s', %zu are given", method->name,
                       (unsigned long long)needed, value->name, count);
    }
    return KAZEIA_OK;
}

static kazeia_status check_row_table(const kz_method *method, const kz_value *value,
                                     const kz_session_forward *forward, kz_session_shape *shape) {
    uint32_t context = 0;
    // The table is the cache rows' own, [sequences][context]: another height or width would be read
    // with wrong strides.
    const uint64_t height = kz_dim_value(&value->dims[0], forward->symbols, method->symbol_count);
    if (value->rank != 2 || !kz_dim_is_constant(&value->dims[1], &context) || context == 0 ||
        changes_with_tokens(value, forward) || height != shape->sequences) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: %s has a 'row_table' that is not [sequences]"
                       "[context]",
                       method->name);
    }
    // A longer table than the cache has rows would promise tokens that can never be kept.
    // Prefill and step write and read the same caches by the same table.
    if (shape->context && (shape->context != context || shape->rows != value->limit)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: %s has a row table of %u positions and %u rows, "
                       "another method of %u and %u",
                       method->name, context, value->limit, shape->context, shape->rows);
    }
    shape->context = context;
    shape->rows = value->limit;
    return KAZEIA_OK;
}

// Rows of numbers in place of ids: f32 [tokens][constant].
static kazeia_status check_rows(const kz_method *method, uint32_t place,
                                kz_session_forward *forward) {
    const kz_value *value = &method->values[method->inputs[place]];
    const kz_dim tokens = kz_dim_symbol(forward->token_symbol);
    if (value->type != KZ_F32 || value->rank != 2 || !kz_dim_equal(&value->dims[0], &tokens) ||
        !kz_dim_is_constant(&value->dims[1], &forward->row_width) || forward->row_width == 0) {
        return kz_fail(KAZEIA_BAD_FILE, "program: input 'rows' of %s is not f32 [tokens][width]",
                       method->name);
    }
    forward->roles[place] = KZ_SESSION_TOKENS;
    forward->tokens_place = place;
    return KAZEIA_OK;
}

static kazeia_status check_input(const kz_method *method, uint32_t place,
                                 const kz_session_settings *settings, kz_session_forward *forward,
                                 kz_session_shape *shape) {
    const kz_value *value = &method->values[method->inputs[place]];
    uint32_t role = 0;
    if (strcmp(value->name, "rows") == 0) {
        return check_rows(method, place, forward);
    }
    // An unknown input has no value that could be guessed.
    if (value->type != KZ_I32 || !find_role(value->name, settings, &role)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: %s has an input '%s' that this stage does not know", method->name,
                       value->name);
    }
    forward->roles[place] = role;
    if (role == KZ_SESSION_TOKENS) {
        forward->tokens_place = place;
    }
    if (role == KZ_SESSION_ROW_TABLE) {
        return check_row_table(method, value, forward, shape);
    }
    if (role >= KZ_SESSION_GIVEN && settings->inputs[role - KZ_SESSION_GIVEN].table) {
        return check_table(method, value, settings->inputs[role - KZ_SESSION_GIVEN].table_count,
                           forward);
    }
    // Columns are as long as the token limit and filled for each token of a call: no other length
    // would be read whole.
    const kz_dim tokens = kz_dim_symbol(forward->token_symbol);
    if (value->rank != 1 || !kz_dim_equal(&value->dims[0], &tokens)) {
        return kz_fail(KAZEIA_BAD_FILE, "program: input '%s' of %s is not [tokens]", value->name,
                       method->name);
    }
    return KAZEIA_OK;
}

// The one f32 output [symbol][constant], whose width must be the same in all methods.
// Hidden rows of prefill and step share one buffer, and the logits method reads it.
static kazeia_status check_output(const kz_method *method, uint32_t symbol, uint32_t *width) {
    const kz_value *value = method->output_count == 1 ? &method->values[method->outputs[0]] : NULL;
    const kz_dim rows = kz_dim_symbol(symbol);
    uint32_t columns = 0;
    if (!value || value->type != KZ_F32 || value->rank != 2 ||
        !kz_dim_equal(&value->dims[0], &rows) || !kz_dim_is_constant(&value->dims[1], &columns) ||
        columns == 0 || (*width && *width != columns)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: %s does not have one output of f32 rows as wide "
                       "as the other methods'",
                       method->name);
    }
    *width = columns;
    return KAZEIA_OK;
}

static kazeia_status find_forward(const kz_program *program, const char *name,
                                  const kz_session_settings *settings, kz_session_shape *shape,
                                  kz_session_forward *out_forward) {
    KZ_TRY(kz_program_require_method(program, name, &out_forward->method));
    const kz_method *method = method_at(program, out_forward->method);
    KZ_TRY(bind_symbols(method, settings, out_forward));
    const uint32_t expected = KZ_SESSION_GIVEN + (uint32_t)settings->input_count;
    if (method->input_count != expected) {
        return kz_fail(KAZEIA_BAD_FILE, "program: %s has %u inputs, expected %u", name,
                       method->input_count, expected);
    }
    out_forward->input_count = expected;
    for (uint32_t i = 0; i < expected; i++) {
        KZ_TRY(check_input(method, i, settings, out_forward, shape));
    }
    // Names are unique within a method, so as many known ones as expected are all of them.
    KZ_TRY(check_output(method, out_forward->token_symbol, &shape->hidden));
    if (out_forward->token_limit > shape->token_limit) {
        shape->token_limit = out_forward->token_limit;
    }
    return KAZEIA_OK;
}

static kazeia_status find_logits(const kz_program *program, const char *name,
                                 kz_session_shape *shape) {
    KZ_TRY(kz_program_require_method(program, name, &shape->logits_method));
    const kz_method *method = method_at(program, shape->logits_method);
    const kz_value *hidden = method->input_count == 1 ? &method->values[method->inputs[0]] : NULL;
    const kz_dim rows = kz_dim_symbol(0);
    uint32_t columns = 0;
    if (method->symbol_count != 1 || method->symbols[0].maximum == 0 || !hidden ||
        hidden->type != KZ_F32 || hidden->rank != 2 || !kz_dim_equal(&hidden->dims[0], &rows) ||
        !kz_dim_is_constant(&hidden->dims[1], &columns) || columns != shape->hidden) {
        return kz_fail(KAZEIA_BAD_FILE, "program: %s does not take hidden rows of %u columns", name,
                       shape->hidden);
    }
    shape->logits_limit = method->symbols[0].maximum;
    return check_output(method, 0, &shape->vocabulary);
}

static kazeia_status check_settings(const kz_session_settings *settings) {
    if (settings->sequences == 0 || settings->input_count > KZ_SESSION_GIVEN_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "session: %u sequences and %zu further inputs, expected 1 or more and at "
                       "most %u",
                       settings->sequences, settings->input_count, KZ_SESSION_GIVEN_LIMIT);
    }
    return KAZEIA_OK;
}

// Sizes that the file promises are multiplied later: 2^40 bytes are more than any machine has.
static kazeia_status check_sizes(const kz_session_shape *shape) {
    const uint64_t limit = (uint64_t)1 << 38;
    if ((uint64_t)shape->token_limit * shape->hidden > limit ||
        (uint64_t)shape->sequences * shape->context > limit || shape->vocabulary > INT32_MAX) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY,
                       "session: %u tokens of %u, %u sequences of %u and a vocabulary of %u do not "
                       "fit in memory",
                       shape->token_limit, shape->hidden, shape->sequences, shape->context,
                       shape->vocabulary);
    }
    return KAZEIA_OK;
}

kazeia_status kz_session_shape_find(const kz_program *program, const kz_session_settings *settings,
                                    kz_session_shape *out_shape) {
    KZ_TRY(check_settings(settings));
    kz_session_shape shape = {.sequences = settings->sequences,
                              .given_count = (uint32_t)settings->input_count};
    const kz_program_description *description = kz_program_describe(program);
    shape.has_prefill = settings->prefill && kz_method_find(description, settings->prefill);
    // The step method must be there. It sets widths and rows; the others are compared with them.
    KZ_TRY(find_forward(program, settings->step, settings, &shape, &shape.step));
    if (shape.has_prefill) {
        KZ_TRY(find_forward(program, settings->prefill, settings, &shape, &shape.prefill));
    }
    shape.row_width = shape.step.row_width;
    if (shape.has_prefill && shape.prefill.row_width != shape.row_width) {
        return kz_fail(KAZEIA_BAD_FILE, "program: %s and %s do not take rows of one width",
                       settings->prefill, settings->step);
    }
    KZ_TRY(find_logits(program, settings->logits, &shape));
    KZ_TRY(check_sizes(&shape));
    *out_shape = shape;
    return KAZEIA_OK;
}
