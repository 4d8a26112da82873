// check_ops_cache.c: rules of the ops that know heads, positions and states.
//
// in:  an instruction whose operands are values of its method
// out: a status
// The chain that keeps a call inside a cache: sequences < rows of the row table, positions < its
// columns, its elements < rows of the state. Where a symbol makes the table smaller in a call, the
// call compares with the smaller extent (kz_input_limit).
#include <float.h>

#include "format/check_parts.h"

kazeia_status kz_check_rope(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_tokens(site, 1, 0));
    KZ_TRY(kz_expect_int(site, 0, "head_dim", 2, KZ_HEAD_DIM_LIMIT));
    const int32_t head_dim = site->instruction->ints[0];
    // Fewer than head_dim rotate a part of each head; more would reach into the next one.
    KZ_TRY(kz_expect_int(site, 1, "rotary", 2, head_dim));
    KZ_TRY(kz_expect_int(site, 2, "pairing", 0, 1));
    const int32_t rotary = site->instruction->ints[1];
    if (columns % (uint32_t)head_dim != 0 || rotary % 2 != 0) {
        return kz_operand_fail(site, 0, "columns in whole heads, and an even number rotated");
    }
    // Hence one tensor always means one number of rotated dimensions (context.c relies on it).
    return kz_expect_vector(site, 2, (uint32_t)rotary / 2);
}

// Operands `first`.. are row table, sequences and positions; `rows_from` has one row a token.
static kazeia_status check_row_table(const kz_check_site *site, uint32_t first, uint32_t rows_from,
                                     uint64_t state_rows) {
    const kz_value *table = kz_operand(site, first);
    if (table->kind != KZ_VALUE_INPUT || table->type != KZ_I32 || table->rank != 2) {
        return kz_operand_fail(site, first, "an i32 input of rank 2 (a row table)");
    }
    if (table->limit > state_rows) {
        return kz_fail(KAZEIA_BAD_FILE, "a row table of rows below %u, but the state has %llu",
                       table->limit, (unsigned long long)state_rows);
    }
    // The largest extent over all symbols; a call with a smaller table compares with that one.
    for (uint32_t d = 0; d < 2; d++) {
        uint64_t least;
        uint64_t greatest;
        KZ_TRY(kz_expect_tokens(site, first + 1 + d, rows_from));
        const uint32_t limit = kz_operand(site, first + 1 + d)->limit;
        if (!kz_dim_range(&table->dims[d], site->method->symbols, site->method->symbol_count,
                          &least, &greatest) ||
            limit > greatest) {
            return kz_fail(KAZEIA_BAD_FILE, "%s below %u, but the row table has at most %llu",
                           d == 0 ? "sequences" : "positions", limit, (unsigned long long)greatest);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_cache_write(const kz_check_site *site) {
    const kz_state *state;
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_state(site, 4, &state));
    if (columns != (uint64_t)state->heads * state->head_dim) {
        return kz_operand_fail(site, 4, "heads that make up the columns of operand 0");
    }
    return check_row_table(site, 1, 0, state->rows);
}

// Keys and values are read with the same strides.
static kazeia_status check_states_alike(const kz_check_site *site, const kz_state *keys,
                                        const kz_state *values) {
    if (keys->type != values->type || keys->heads != values->heads ||
        keys->head_dim != values->head_dim) {
        return kz_operand_fail(site, 2, "the type, heads and head size of operand 1");
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_attention(const kz_check_site *site) {
    const kz_state *keys;
    const kz_state *values;
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_state(site, 1, &keys));
    KZ_TRY(kz_expect_state(site, 2, &values));
    KZ_TRY(check_states_alike(site, keys, values));
    // Keys and values share the table, so the shorter state counts.
    KZ_TRY(check_row_table(site, 3, 0, keys->rows < values->rows ? keys->rows : values->rows));
    KZ_TRY(kz_expect_int(site, 0, "heads", 1, INT32_MAX));
    KZ_TRY(kz_expect_int(site, 1, "window", 0, INT32_MAX));
    KZ_TRY(kz_expect_float(site, 0, "scale", -FLT_MAX));
    const uint32_t heads = (uint32_t)site->instruction->ints[0];
    // Kernels keep a running softmax for each of them in a thread's scratch.
    if (heads / keys->heads > KZ_HEAD_GROUP_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "heads is %u for states of %u, at most %u to one expected",
                       heads, keys->heads, KZ_HEAD_GROUP_LIMIT);
    }
    if (columns != (uint64_t)heads * keys->head_dim || heads % keys->heads != 0) {
        return kz_operand_fail(site, 0, "heads of the states' size, a multiple of their number");
    }
    return kz_expect_rows_like(site, 6, false, 0, columns);
}

kazeia_status kz_check_attention_full(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    // Keys and values have as many heads as queries here: encoders do not group them.
    KZ_TRY(kz_expect_rows_like(site, 1, false, 0, columns));
    KZ_TRY(kz_expect_rows_like(site, 2, false, 0, columns));
    KZ_TRY(kz_expect_int(site, 0, "heads", 1, INT32_MAX));
    KZ_TRY(kz_expect_float(site, 0, "scale", -FLT_MAX));
    const uint32_t heads = (uint32_t)site->instruction->ints[0];
    if (columns % heads != 0 || columns / heads > KZ_HEAD_DIM_LIMIT) {
        return kz_operand_fail(site, 0, "columns in whole heads of bounded size");
    }
    return kz_expect_rows_like(site, 3, false, 0, columns);
}
