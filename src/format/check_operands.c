// check_operands.c: the conditions from which the rules of ops are made.
//
// in:  one operand or attribute of an instruction
// out: a status whose sentence says what stands there and what was expected
#include <math.h>
#include <stdio.h>

#include "format/check_parts.h"

// check_operands_there has compared the index; only optional operands may be absent, and their
// rules ask first.
const kz_value *kz_operand(const kz_check_site *site, uint32_t i) {
    return &site->method->values[site->instruction->operands[i]];
}

kazeia_status kz_operand_fail(const kz_check_site *site, uint32_t i, const char *expected) {
    const kz_value *value = kz_operand(site, i);
    if (value->kind == KZ_VALUE_WEIGHT) {
        const kz_tensor *tensor = &site->description->tensors[value->index];
        return kz_fail(KAZEIA_BAD_FILE, "operand %u (weight '%s', %s %s, %llu x %llu): %s expected",
                       i, tensor->name, kz_type_name(tensor->type), kz_layout_name(tensor->layout),
                       (unsigned long long)tensor->dims[0], (unsigned long long)tensor->dims[1],
                       expected);
    }
    if (value->kind == KZ_VALUE_STATE) {
        const kz_state *state = &site->description->states[value->index];
        return kz_fail(KAZEIA_BAD_FILE, "operand %u (state '%s', %s, %u heads of %u): %s expected",
                       i, state->name, kz_type_name(state->type), state->heads, state->head_dim,
                       expected);
    }
    return kz_fail(KAZEIA_BAD_FILE, "operand %u (value %u, %s %s of rank %u): %s expected", i,
                   site->instruction->operands[i], kz_value_kind_name(value->kind),
                   kz_type_name(value->type), value->rank, expected);
}

// Weights and states have shapes of their own, in other tables.
static bool is_memory(const kz_value *value) {
    return value->kind == KZ_VALUE_ARENA || value->kind == KZ_VALUE_INPUT ||
           value->kind == KZ_VALUE_OUTPUT || value->kind == KZ_VALUE_VIEW;
}

kazeia_status kz_expect_rows(const kz_check_site *site, uint32_t i, bool may_be_a8,
                             uint32_t *out_columns) {
    const kz_value *value = kz_operand(site, i);
    const bool has_type =
        value->type == KZ_F32 || (may_be_a8 && kz_type_is_activation(value->type));
    // Constant columns make strides known when the file is opened; rows may follow symbols.
    if (!is_memory(value) || !has_type || value->rank != 2 ||
        !kz_dim_is_constant(&value->dims[1], out_columns) || *out_columns < 1) {
        return kz_operand_fail(site, i, may_be_a8 ? "f32, a8 or a16 rows" : "f32 rows");
    }
    // Such a row is made as floats in a thread's scratch before it is quantised.
    if (kz_type_is_activation(value->type) && *out_columns > KZ_COLUMN_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "operand %u: %s rows of %u columns, at most %u expected", i,
                       kz_type_name(value->type), *out_columns, KZ_COLUMN_LIMIT);
    }
    return KAZEIA_OK;
}

kazeia_status kz_expect_rows_like(const kz_check_site *site, uint32_t i, bool may_be_a8,
                                  uint32_t like, uint32_t columns) {
    char expected[80];
    uint32_t found;
    KZ_TRY(kz_expect_rows(site, i, may_be_a8, &found));
    // Dimensions are compared as expressions: equal values for some symbols would not be enough.
    if (found != columns ||
        !kz_dim_equal(&kz_operand(site, i)->dims[0], &kz_operand(site, like)->dims[0])) {
        (void)snprintf(expected, sizeof expected, "as many rows as operand %u, %u columns (not %u)",
                       like, columns, found);
        return kz_operand_fail(site, i, expected);
    }
    return KAZEIA_OK;
}

kazeia_status kz_expect_tokens(const kz_check_site *site, uint32_t i, uint32_t like) {
    const kz_value *value = kz_operand(site, i);
    // Inputs only: their elements are compared with limits in each call, which computed integers
    // are not.
    if (value->kind != KZ_VALUE_INPUT || value->type != KZ_I32 || value->rank != 1 ||
        !kz_dim_equal(&value->dims[0], &kz_operand(site, like)->dims[0])) {
        return kz_operand_fail(site, i, "an i32 input with one element for each row");
    }
    return KAZEIA_OK;
}

kazeia_status kz_expect_vector(const kz_check_site *site, uint32_t i, uint32_t length) {
    char expected[64];
    const kz_value *value = kz_operand(site, i);
    if (value->kind == KZ_VALUE_WEIGHT) {
        const kz_tensor *tensor = &site->description->tensors[value->index];
        if (tensor->layout == KZ_ROWS && tensor->type == KZ_F32 && tensor->rank == 1 &&
            tensor->dims[0] == length) {
            return KAZEIA_OK;
        }
    }
    (void)snprintf(expected, sizeof expected, "an f32 weight of %u elements in rows", length);
    return kz_operand_fail(site, i, expected);
}

kazeia_status kz_expect_matrix(const kz_check_site *site, uint32_t i, kz_layout layout,
                               const kz_tensor **out_tensor) {
    char expected[64];
    const kz_value *value = kz_operand(site, i);
    if (value->kind == KZ_VALUE_WEIGHT) {
        const kz_tensor *tensor = &site->description->tensors[value->index];
        if (tensor->layout == layout && tensor->rank == 2) {
            *out_tensor = tensor;
            return KAZEIA_OK;
        }
    }
    (void)snprintf(expected, sizeof expected, "a weight matrix in layout %s",
                   kz_layout_name(layout));
    return kz_operand_fail(site, i, expected);
}

kazeia_status kz_expect_state(const kz_check_site *site, uint32_t i, const kz_state **out_state) {
    const kz_value *value = kz_operand(site, i);
    if (value->kind != KZ_VALUE_STATE) {
        return kz_operand_fail(site, i, "a state");
    }
    *out_state = &site->description->states[value->index];
    return KAZEIA_OK;
}

kazeia_status kz_expect_int(const kz_check_site *site, uint32_t k, const char *name, int32_t least,
                            int32_t greatest) {
    const int32_t found = site->instruction->ints[k];
    if (found < least || found > greatest) {
        return kz_fail(KAZEIA_BAD_FILE, "%s is %d, %d to %d expected", name, found, least,
                       greatest);
    }
    return KAZEIA_OK;
}

kazeia_status kz_expect_float(const kz_check_site *site, uint32_t k, const char *name,
                              float least) {
    const float found = site->instruction->floats[k];
    // A scale or epsilon that is no number would turn every result into NaN.
    if (!isfinite(found) || found < least) {
        return kz_fail(KAZEIA_BAD_FILE, "%s is %g, a finite number from %g on expected", name,
                       (double)found, (double)least);
    }
    return KAZEIA_OK;
}
