// check_ops_signal.c: rules of the ops that see a signal along its rows.
//
// in:  an instruction whose operands are values of its method
// out: a status
// The rows of an output follow from the rows of an input as expressions over the method's symbols,
// so that no call can write outside of it.
#include <float.h>

#include "format/check_parts.h"

// [rows][columns] with just these dimensions; `expected` says so in words.
static kazeia_status expect_shape(const kz_check_site *site, uint32_t i, bool may_be_a8,
                                  const kz_dim *rows, uint64_t columns, const char *expected) {
    uint32_t found;
    KZ_TRY(kz_expect_rows(site, i, may_be_a8, &found));
    if (found != columns || !kz_dim_equal(rows, &kz_operand(site, i)->dims[0])) {
        return kz_operand_fail(site, i, expected);
    }
    return KAZEIA_OK;
}

// Sets the rows that a window gives whose left and right margins are the attributes `left` and the
// next one; false when they are no dimension.
static bool window_rows(const kz_check_site *site, int32_t kernel, int32_t stride, int32_t dilation,
                        uint32_t left, kz_dim *out_rows) {
    const int32_t *ints = site->instruction->ints;
    // In 64 bits: dilation * kernel goes up to 2^32.
    const int64_t added =
        (int64_t)ints[left] + ints[left + 1] - (int64_t)dilation * ((int64_t)kernel - 1);
    return added >= INT32_MIN &&
           kz_dim_window(&kz_operand(site, 0)->dims[0], (int32_t)added, (uint32_t)stride, out_rows);
}

// Zeros around the rows: attributes `first` and the next one.
static kazeia_status expect_margins(const kz_check_site *site, uint32_t first) {
    KZ_TRY(kz_expect_int(site, first, "left", 0, KZ_KERNEL_LIMIT));
    return kz_expect_int(site, first + 1, "right", 0, KZ_KERNEL_LIMIT);
}

static kazeia_status expect_window(const kz_check_site *site) {
    KZ_TRY(kz_expect_int(site, 0, "kernel", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(kz_expect_int(site, 1, "stride", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(kz_expect_int(site, 2, "dilation", 1, KZ_KERNEL_LIMIT));
    return expect_margins(site, 3);
}

kazeia_status kz_check_unfold(const kz_check_site *site) {
    const char *expected =
        "ceil((rows + left + right - dilation * (kernel - 1)) / stride) rows of kernel * columns";
    const int32_t *ints = site->instruction->ints;
    uint32_t columns;
    kz_dim rows;
    KZ_TRY(kz_expect_rows(site, 0, true, &columns));
    const kz_type type = kz_operand(site, 0)->type;
    if (kz_type_is_activation(type) &&
        (columns % KZ_BLOCK != 0 || kz_operand(site, 1)->type != type)) {
        return kz_operand_fail(site, 1, "quantised as operand 0, whose columns are whole blocks");
    }
    KZ_TRY(expect_window(site));
    if (!window_rows(site, ints[0], ints[1], ints[2], 3, &rows)) {
        return kz_operand_fail(site, 1, expected);
    }
    // In 64 bits: both factors go up to 2^31.
    return expect_shape(site, 1, true, &rows, (uint64_t)columns * (uint32_t)ints[0], expected);
}

// Its x is what a window of it would be multiplied as: f32 by floats, KZ_A8 by integers.
static kazeia_status expect_convolved(const kz_check_site *site, const kz_tensor *weight,
                                      uint32_t columns) {
    const uint64_t window = (uint64_t)columns * (uint32_t)site->instruction->ints[0];
    const bool is_quantised = kz_type_block_elements(weight->type) > 1;
    if (kz_operand(site, 0)->type != (is_quantised ? KZ_A8 : KZ_F32) ||
        (is_quantised && columns % KZ_BLOCK != 0)) {
        return kz_operand_fail(site, 0,
                               is_quantised ? "a8 rows of whole blocks for a quantised weight"
                                            : "f32 rows for a float weight");
    }
    // A window is put together in a thread's scratch.
    return weight->dims[1] == window && window <= KZ_COLUMN_LIMIT
               ? KAZEIA_OK
               : kz_operand_fail(site, 1, "kernel * columns columns, 65536 at most");
}

kazeia_status kz_check_convolve(const kz_check_site *site) {
    const kz_instruction *instruction = site->instruction;
    const int32_t *ints = instruction->ints;
    const kz_tensor *weight;
    uint32_t columns;
    kz_dim rows;
    KZ_TRY(kz_expect_rows(site, 0, true, &columns));
    KZ_TRY(expect_window(site));
    KZ_TRY(kz_expect_matrix(site, 1, KZ_TILE16, &weight));
    KZ_TRY(expect_convolved(site, weight, columns));
    if (instruction->operands[2] != KZ_NO_VALUE) {
        KZ_TRY(kz_expect_vector(site, 2, (uint32_t)weight->dims[0]));
    }
    if (!window_rows(site, ints[0], ints[1], ints[2], 3, &rows)) {
        return kz_operand_fail(site, 4, "as many rows as there are windows");
    }
    KZ_TRY(expect_shape(site, 4, false, &rows, weight->dims[0],
                        "a row a window, a column a row of the weight"));
    return instruction->operands[3] == KZ_NO_VALUE
               ? KAZEIA_OK
               : kz_expect_rows_like(site, 3, false, 4, (uint32_t)weight->dims[0]);
}

// Operand i: rows as operand 0 has them, or one row for all of them.
static kazeia_status expect_rows_or_one(const kz_check_site *site, uint32_t i, uint32_t columns) {
    const kz_dim one = kz_dim_constant(1);
    uint32_t found;
    KZ_TRY(kz_expect_rows(site, i, false, &found));
    return kz_dim_equal(&kz_operand(site, i)->dims[0], &one) && found == columns
               ? KAZEIA_OK
               : kz_expect_rows_like(site, i, false, 0, columns);
}

// --- Element by element -------------------------------------------------------------------------

kazeia_status kz_check_map(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_int(site, 0, "function", KZ_MAP_RELU, KZ_MAP_COUNT - 1));
    // A logarithm's floor is a normal number, so that no result is infinite.
    const kz_instruction *instruction = site->instruction;
    KZ_TRY(kz_expect_float(site, 0, "a", instruction->ints[0] == KZ_MAP_LOG ? FLT_MIN : -FLT_MAX));
    KZ_TRY(kz_expect_float(
        site, 1, "b", instruction->ints[0] == KZ_MAP_CLAMP ? instruction->floats[0] : -FLT_MAX));
    return kz_expect_rows_like(site, 1, true, 0, columns);
}

kazeia_status kz_check_mul(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    if (kz_operand(site, 1)->kind == KZ_VALUE_WEIGHT) {
        KZ_TRY(kz_expect_vector(site, 1, columns));
    } else {
        KZ_TRY(expect_rows_or_one(site, 1, columns));
    }
    return kz_expect_rows_like(site, 2, false, 0, columns);
}

kazeia_status kz_check_snake(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_vector(site, 1, columns));
    KZ_TRY(kz_expect_vector(site, 2, columns));
    return kz_expect_rows_like(site, 3, true, 0, columns);
}

kazeia_status kz_check_scale_shift(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    if (columns > INT32_MAX / 2) {
        return kz_operand_fail(site, 0, "fewer columns");
    }
    KZ_TRY(expect_rows_or_one(site, 1, 2 * columns));
    return kz_expect_rows_like(site, 2, true, 0, columns);
}

// Operand 0: rows of two halves.
static kazeia_status expect_halves(const kz_check_site *site, uint32_t *out_columns) {
    KZ_TRY(kz_expect_rows(site, 0, false, out_columns));
    return *out_columns % 2 == 0 ? KAZEIA_OK : kz_operand_fail(site, 0, "columns in two halves");
}

kazeia_status kz_check_magnitude(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(expect_halves(site, &columns));
    KZ_TRY(kz_expect_float(site, 0, "epsilon", 0.0f));
    return kz_expect_rows_like(site, 1, false, 0, columns / 2);
}

kazeia_status kz_check_polar(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(expect_halves(site, &columns));
    KZ_TRY(kz_expect_vector(site, 1, columns / 2));
    KZ_TRY(kz_expect_float(site, 0, "least magnitude", 0.0f));
    return kz_expect_rows_like(site, 2, false, 0, columns);
}

kazeia_status kz_check_sines(const kz_check_site *site) {
    const int32_t *ints = site->instruction->ints;
    uint32_t columns;
    kz_dim rows;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_int(site, 0, "stretch", 1, KZ_KERNEL_LIMIT));
    // The sums of one row lie on the stack.
    KZ_TRY(kz_expect_int(site, 1, "harmonics", 1, KZ_HARMONIC_LIMIT));
    KZ_TRY(kz_expect_float(site, 0, "rate", 1.0f));
    KZ_TRY(kz_expect_float(site, 1, "threshold", 0.0f));
    if (columns != 1) {
        return kz_operand_fail(site, 0, "one column");
    }
    if (!kz_dim_stretch(&kz_operand(site, 0)->dims[0], (uint32_t)ints[0], 0, &rows)) {
        return kz_operand_fail(site, 1, "stretch rows for each of operand 0's");
    }
    return expect_shape(site, 1, false, &rows, (uint32_t)ints[1],
                        "stretch rows for each of operand 0's, a column a harmonic");
}

// --- Rows from elsewhere ------------------------------------------------------------------------

kazeia_status kz_check_copy(const kz_check_site *site) {
    const kz_dim one = kz_dim_constant(1);
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    if (kz_dim_equal(&kz_operand(site, 0)->dims[0], &one)) {
        return expect_shape(site, 1, false, &kz_operand(site, 1)->dims[0], columns,
                            "as many columns as operand 0");
    }
    return kz_expect_rows_like(site, 1, false, 0, columns);
}

kazeia_status kz_check_pad(const kz_check_site *site) {
    const int32_t *ints = site->instruction->ints;
    uint32_t columns;
    kz_dim rows;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_int(site, 0, "mode", 0, KZ_PAD_COUNT - 1));
    KZ_TRY(expect_margins(site, 1));
    if (!kz_dim_window(&kz_operand(site, 0)->dims[0], ints[1] + ints[2], 1, &rows)) {
        return kz_operand_fail(site, 0, "fewer rows");
    }
    return expect_shape(site, 1, false, &rows, columns, "left + rows + right rows");
}

kazeia_status kz_check_join_tail(const kz_check_site *site) {
    const kz_state *state;
    uint32_t columns;
    kz_dim rows;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_state(site, 1, &state));
    // Its rows are below 2^31 (check_tables.c).
    if (state->type != KZ_F32 || columns != (uint64_t)state->heads * state->head_dim ||
        !kz_dim_window(&kz_operand(site, 0)->dims[0], (int32_t)state->rows, 1, &rows)) {
        return kz_operand_fail(site, 1, "f32 rows of operand 0's columns");
    }
    return expect_shape(site, 2, true, &rows, columns, "the state's rows and operand 0's");
}

kazeia_status kz_check_gather(const kz_check_site *site) {
    uint64_t least;
    uint64_t greatest;
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_tokens(site, 1, 2));
    // Where a symbol makes x smaller, a call compares with its rows (kz_input_limit).
    const uint32_t limit = kz_operand(site, 1)->limit;
    if (!kz_dim_range(&kz_operand(site, 0)->dims[0], site->method->symbols,
                      site->method->symbol_count, &least, &greatest) ||
        limit > greatest) {
        return kz_fail(KAZEIA_BAD_FILE, "an index below %u, but there are at most %llu rows", limit,
                       (unsigned long long)greatest);
    }
    return kz_expect_rows_like(site, 2, false, 2, columns);
}

// --- Windows ------------------------------------------------------------------------------------

kazeia_status kz_check_fold(const kz_check_site *site) {
    const char *expected = "(rows - 1) * stride + kernel - left - right rows";
    const int32_t *ints = site->instruction->ints;
    uint32_t columns;
    kz_dim rows;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_int(site, 0, "kernel", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(kz_expect_int(site, 1, "stride", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(expect_margins(site, 2));
    if (columns % (uint32_t)ints[0] != 0) {
        return kz_operand_fail(site, 0, "columns for each row of the kernel");
    }
    columns /= (uint32_t)ints[0];
    if (site->instruction->operands[1] != KZ_NO_VALUE) {
        KZ_TRY(kz_expect_vector(site, 1, columns));
    }
    // Four numbers below 2^17: the sum fits.
    if (!kz_dim_stretch(&kz_operand(site, 0)->dims[0], (uint32_t)ints[1],
                        ints[0] - ints[1] - ints[2] - ints[3], &rows)) {
        return kz_operand_fail(site, 2, expected);
    }
    return expect_shape(site, 2, false, &rows, columns, expected);
}

static kazeia_status expect_taps(const kz_check_site *site, uint32_t columns) {
    const int32_t *ints = site->instruction->ints;
    const kz_tensor *weight;
    KZ_TRY(kz_expect_matrix(site, 1, KZ_ROWS, &weight));
    if (weight->type != KZ_F32 || weight->dims[1] != columns ||
        weight->dims[0] != (uint64_t)(uint32_t)ints[0] * (uint32_t)ints[4]) {
        return kz_operand_fail(site, 1, "f32, multiplier * kernel rows of operand 0's columns");
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_depthwise(const kz_check_site *site) {
    const char *expected =
        "rows + left + right - dilation * (kernel - 1) rows, multiplier * columns";
    const int32_t *ints = site->instruction->ints;
    uint32_t columns;
    kz_dim rows;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_int(site, 0, "kernel", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(kz_expect_int(site, 1, "dilation", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(expect_margins(site, 2));
    KZ_TRY(kz_expect_int(site, 4, "multiplier", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(expect_taps(site, columns));
    if (!window_rows(site, ints[0], 1, ints[1], 2, &rows)) {
        return kz_operand_fail(site, 3, expected);
    }
    const uint64_t out_columns = (uint64_t)columns * (uint32_t)ints[4];
    KZ_TRY(expect_shape(site, 3, false, &rows, out_columns, expected));
    // The shape has shown that the product is a number of columns.
    return site->instruction->operands[2] == KZ_NO_VALUE
               ? KAZEIA_OK
               : kz_expect_vector(site, 2, (uint32_t)out_columns);
}

// --- Along the rows -----------------------------------------------------------------------------

// Operand i, which may be absent: one f32 row of `hidden` elements.
static kazeia_status expect_memory(const kz_check_site *site, uint32_t i, uint32_t hidden) {
    const kz_state *state;
    if (site->instruction->operands[i] == KZ_NO_VALUE) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_expect_state(site, i, &state));
    if (state->type != KZ_F32 || state->rows != 1 ||
        (uint64_t)state->heads * state->head_dim != hidden) {
        return kz_operand_fail(site, i, "one f32 row of the hidden elements");
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_lstm(const kz_check_site *site) {
    const kz_instruction *instruction = site->instruction;
    const kz_tensor *weight;
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    // The gates of one row lie on the stack.
    if (columns % 4 != 0 || columns / 4 > KZ_LSTM_LIMIT) {
        return kz_operand_fail(site, 0, "four gates of at most 1024 columns");
    }
    KZ_TRY(kz_expect_matrix(site, 1, KZ_TILE16, &weight));
    if (weight->dims[0] != columns || weight->dims[1] != columns / 4) {
        return kz_operand_fail(site, 1, "a row for each gate's element, a column for each element");
    }
    KZ_TRY(expect_memory(site, 2, columns / 4));
    KZ_TRY(expect_memory(site, 3, columns / 4));
    if (instruction->operands[2] != KZ_NO_VALUE && instruction->operands[3] != KZ_NO_VALUE &&
        kz_operand(site, 2)->index == kz_operand(site, 3)->index) {
        return kz_operand_fail(site, 3, "a state apart from operand 2");
    }
    KZ_TRY(kz_expect_int(site, 0, "is_reversed", 0, 1));
    KZ_TRY(kz_expect_int(site, 1, "order", 0, 1));
    return kz_expect_rows_like(site, 4, false, 0, columns / 4);
}

kazeia_status kz_check_column_norm(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_float(site, 0, "epsilon", 0.0f));
    return kz_expect_rows_like(site, 1, false, 0, columns);
}

// Operand i: one row of `times` numbers for each of operand 0's columns.
static kazeia_status expect_one_row(const kz_check_site *site, uint32_t i, uint32_t columns,
                                    uint32_t times) {
    const kz_dim one = kz_dim_constant(1);
    return expect_shape(site, i, false, &one, times * (uint64_t)columns,
                        times == 2 ? "one row of twice operand 0's columns"
                                   : "one row of three times operand 0's columns");
}

kazeia_status kz_check_column_pool(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    if (site->instruction->operands[1] != KZ_NO_VALUE) {
        KZ_TRY(kz_expect_rows_like(site, 1, false, 0, columns));
    }
    KZ_TRY(kz_expect_float(site, 0, "epsilon", 0.0f));
    return expect_one_row(site, 2, columns, 2);
}

kazeia_status kz_check_column_fit(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(expect_one_row(site, 1, columns, 2));
    KZ_TRY(kz_expect_float(site, 0, "epsilon", FLT_MIN));
    return expect_one_row(site, 2, columns, 3);
}

kazeia_status kz_check_adapt(const kz_check_site *site) {
    const kz_instruction *instruction = site->instruction;
    const bool has_alpha = instruction->operands[2] != KZ_NO_VALUE;
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(expect_one_row(site, 1, columns, 3));
    if (has_alpha != (instruction->operands[3] != KZ_NO_VALUE)) {
        return kz_operand_fail(site, has_alpha ? 2 : 3, "alpha and beta, or neither,");
    }
    if (has_alpha) {
        KZ_TRY(kz_expect_vector(site, 2, columns));
        KZ_TRY(kz_expect_vector(site, 3, columns));
    }
    KZ_TRY(kz_expect_float(site, 0, "slope", -FLT_MAX));
    return kz_expect_rows_like(site, 4, true, 0, columns);
}

kazeia_status kz_check_column_softmax(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    return kz_expect_rows_like(site, 1, false, 0, columns);
}
