// check_ops.c: do the operands and attributes of an instruction fit its op?
//
// in:  an instruction whose operands are values of its method
// out: a status
// One rule for each line of ops.def, in a table by number.
// Integers of inputs are compared with their limits in each call; here the limits are compared with
// what they index.
#include <float.h>

#include "format/check_parts.h"

static kazeia_status check_embed(const kz_check_site *site) {
    const kz_tensor *table;
    const kz_value *tokens = kz_operand(site, 0);
    KZ_TRY(kz_expect_matrix(site, 1, KZ_TILE16, &table));
    KZ_TRY(kz_expect_tokens(site, 0, 2));
    if (tokens->limit > table->dims[0]) {
        return kz_fail(KAZEIA_BAD_FILE, "tokens below %u, but the table has %llu rows",
                       tokens->limit, (unsigned long long)table->dims[0]);
    }
    KZ_TRY(kz_expect_float(site, 0, "scale", -FLT_MAX));
    // Extents are below 2^31 (check_tables.c), so they fit.
    return kz_expect_rows_like(site, 2, false, 2, (uint32_t)table->dims[1]);
}

static kazeia_status check_add_table(const kz_check_site *site, uint32_t columns) {
    const kz_tensor *table;
    uint64_t least;
    uint64_t greatest;
    // Row t of the table is added to row t, so it needs as many rows as a call can have.
    KZ_TRY(kz_expect_matrix(site, 1, KZ_ROWS, &table));
    if (!kz_dim_range(&kz_operand(site, 0)->dims[0], site->method->symbols,
                      site->method->symbol_count, &least, &greatest) ||
        table->type != KZ_F32 || table->dims[1] != columns || table->dims[0] < greatest) {
        return kz_operand_fail(site, 1, "f32 of the first operand's columns, and all of its rows");
    }
    return KAZEIA_OK;
}

static kazeia_status check_add(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    if (kz_operand(site, 1)->kind == KZ_VALUE_WEIGHT) {
        KZ_TRY(check_add_table(site, columns));
    } else {
        KZ_TRY(kz_expect_rows_like(site, 1, false, 0, columns));
    }
    return kz_expect_rows_like(site, 2, false, 0, columns);
}

static kazeia_status check_rms_norm(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_vector(site, 1, columns));
    KZ_TRY(kz_expect_float(site, 0, "epsilon", 0.0f));
    return kz_expect_rows_like(site, 2, true, 0, columns);
}

static kazeia_status check_layer_norm(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_vector(site, 1, columns));
    KZ_TRY(kz_expect_vector(site, 2, columns));
    KZ_TRY(kz_expect_float(site, 0, "epsilon", 0.0f));
    return kz_expect_rows_like(site, 3, true, 0, columns);
}

static kazeia_status check_head_rms_norm(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_int(site, 0, "head_dim", 1, KZ_HEAD_DIM_LIMIT));
    const uint32_t head_dim = (uint32_t)site->instruction->ints[0];
    // The kernel steps over a row by whole heads.
    if (columns % head_dim != 0) {
        return kz_operand_fail(site, 0, "columns in whole heads");
    }
    KZ_TRY(kz_expect_vector(site, 1, head_dim));
    KZ_TRY(kz_expect_float(site, 0, "epsilon", 0.0f));
    return kz_expect_rows_like(site, 2, false, 0, columns);
}

static kazeia_status check_quantise(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_rows_like(site, 1, true, 0, columns));
    return kz_type_is_activation(kz_operand(site, 1)->type)
               ? KAZEIA_OK
               : kz_operand_fail(site, 1, "a8 or a16 rows");
}

static bool is_plain_float(kz_type type) {
    return type == KZ_F32 || type == KZ_F16 || type == KZ_BF16;
}

static kazeia_status check_linear(const kz_check_site *site) {
    const kz_tensor *weight;
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, true, &columns));
    KZ_TRY(kz_expect_matrix(site, 1, KZ_TILE16, &weight));
    // The kernel is chosen by the weight's type alone, and reads x as that kernel expects.
    const bool is_float = is_plain_float(weight->type);
    if (is_float ? kz_operand(site, 0)->type != KZ_F32
                 : !kz_type_is_activation(kz_operand(site, 0)->type)) {
        return kz_operand_fail(site, 0,
                               is_float ? "f32 rows for a float weight"
                                        : "a8 or a16 rows for a quantised weight");
    }
    if (weight->dims[1] != columns) {
        return kz_operand_fail(site, 1, "as many columns as operand 0");
    }
    const uint32_t rows = (uint32_t)weight->dims[0];
    if (site->instruction->operands[2] != KZ_NO_VALUE) {
        KZ_TRY(kz_expect_vector(site, 2, rows));
    }
    if (site->instruction->operands[3] != KZ_NO_VALUE) {
        KZ_TRY(kz_expect_rows_like(site, 3, false, 0, rows));
    }
    KZ_TRY(kz_expect_int(site, 0, "activation", 0, KZ_ACTIVATION_COUNT - 1));
    return kz_expect_rows_like(site, 4, false, 0, rows);
}

static kazeia_status check_activate(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    // Not `none`: such an instruction would be a copy that nobody exports.
    KZ_TRY(kz_expect_int(site, 0, "activation", 1, KZ_ACTIVATION_COUNT - 1));
    return kz_expect_rows_like(site, 1, true, 0, columns);
}

static kazeia_status check_gate(const kz_check_site *site) {
    uint32_t columns;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_int(site, 0, "activation", KZ_ACTIVATION_GELU_TANH, KZ_ACTIVATION_SILU));
    if (columns % 2 != 0) {
        return kz_operand_fail(site, 0, "an even number of columns (gate and up)");
    }
    return kz_expect_rows_like(site, 1, true, 0, columns / 2);
}

// --- The table ----------------------------------------------------------------------------------

typedef struct op_rule {
    kazeia_status (*check)(const kz_check_site *site);
    uint32_t written;    // operand, or KZ_NO_VALUE
    uint32_t optional;   // bit i: operand i may be absent
    uint32_t may_be_out; // bit i: operand i may be the very value that is written
} op_rule;

static const op_rule rule_EMBED = {check_embed, 2, 0, 0};
static const op_rule rule_ADD = {check_add, 2, 0, 1u << 0 | 1u << 1};
static const op_rule rule_RMS_NORM = {check_rms_norm, 2, 0, 0};
static const op_rule rule_LAYER_NORM = {check_layer_norm, 3, 0, 0};
static const op_rule rule_HEAD_RMS_NORM = {check_head_rms_norm, 2, 0, 0};
static const op_rule rule_QUANTISE = {check_quantise, 1, 0, 0};
static const op_rule rule_LINEAR = {check_linear, 4, 1u << 2 | 1u << 3, 1u << 3};
static const op_rule rule_ROPE = {kz_check_rope, 0, 0, 0};
static const op_rule rule_CACHE_WRITE = {kz_check_cache_write, KZ_NO_VALUE, 0, 0};
static const op_rule rule_ATTENTION = {kz_check_attention, 6, 0, 0};
static const op_rule rule_ATTENTION_FULL = {kz_check_attention_full, 3, 0, 0};
static const op_rule rule_UNFOLD = {kz_check_unfold, 1, 0, 0};
static const op_rule rule_ACTIVATE = {check_activate, 1, 0, 0};
static const op_rule rule_GATE = {check_gate, 1, 0, 0};
static const op_rule rule_MAP = {kz_check_map, 1, 0, 1u << 0};
static const op_rule rule_MUL = {kz_check_mul, 2, 0, 1u << 0 | 1u << 1};
static const op_rule rule_SNAKE = {kz_check_snake, 3, 0, 0};
static const op_rule rule_JOIN_TAIL = {kz_check_join_tail, 2, 0, 0};
static const op_rule rule_FOLD = {kz_check_fold, 2, 1u << 1, 0};
static const op_rule rule_DEPTHWISE = {kz_check_depthwise, 3, 1u << 2, 0};
static const op_rule rule_GATHER = {kz_check_gather, 2, 0, 0};
static const op_rule rule_LSTM = {kz_check_lstm, 4, 1u << 2 | 1u << 3, 0};
static const op_rule rule_COLUMN_NORM = {kz_check_column_norm, 1, 0, 1u << 0};
static const op_rule rule_SCALE_SHIFT = {kz_check_scale_shift, 2, 0, 1u << 0};
static const op_rule rule_COLUMN_POOL = {kz_check_column_pool, 2, 1u << 1, 0};
static const op_rule rule_COLUMN_SOFTMAX = {kz_check_column_softmax, 1, 0, 1u << 0};
static const op_rule rule_COPY = {kz_check_copy, 1, 0, 0};
static const op_rule rule_PAD = {kz_check_pad, 1, 0, 0};
static const op_rule rule_MAGNITUDE = {kz_check_magnitude, 1, 0, 0};
static const op_rule rule_CONVOLVE = {kz_check_convolve, 4, 1u << 2 | 1u << 3, 1u << 3};
static const op_rule rule_POLAR = {kz_check_polar, 2, 0, 0};
static const op_rule rule_SINES = {kz_check_sines, 1, 0, 0};
static const op_rule rule_COLUMN_FIT = {kz_check_column_fit, 2, 0, 0};
static const op_rule rule_ADAPT = {kz_check_adapt, 4, 1u << 2 | 1u << 3, 0};

// Filled from ops.def: an op without a rule above does not compile.
static const op_rule *const rules[] = {
#define KZ_OP(name, number, text, operands, ints, floats) [number] = &rule_##name,
#include "format/ops.def"
#undef KZ_OP
};

uint32_t kz_op_written_operand(kz_op op) {
    return rules[op]->written;
}

// --- What holds for all ops ---------------------------------------------------------------------

// The columns of a root value's rows that an operand covers.
typedef struct column_range {
    uint32_t root;
    uint32_t first;
    uint32_t end; // UINT32_MAX: all
} column_range;

static column_range range_of(const kz_check_site *site, uint32_t i) {
    // Values that are no rows of constant columns count as whole: UINT32_MAX meets every range.
    const uint32_t index = site->instruction->operands[i];
    const kz_value *value = &site->method->values[index];
    const kz_value *root = &site->method->values[kz_value_root(site->method, index)];
    column_range range = {kz_value_root(site->method, index), 0, UINT32_MAX};
    uint32_t columns;
    if (root->rank == 2 && kz_dim_is_constant(&value->dims[1], &columns)) {
        range.first = value->kind == KZ_VALUE_VIEW ? value->column : 0;
        range.end = range.first + columns;
    }
    return range;
}

// Kernels read their operands while they write: only what an op allows by name may share memory.
static kazeia_status check_apart(const kz_check_site *site, const op_rule *rule) {
    const column_range out = range_of(site, rule->written);
    for (uint32_t i = 0; i < site->shape->operand_count; i++) {
        if (i == rule->written || site->instruction->operands[i] == KZ_NO_VALUE) {
            continue;
        }
        const column_range in = range_of(site, i);
        // Element by element in place is safe; a shifted overlap would read what was just written.
        const bool is_same = in.root == out.root && in.first == out.first && in.end == out.end;
        const bool overlaps = in.root == out.root && in.first < out.end && out.first < in.end;
        if (overlaps && !(is_same && (rule->may_be_out >> i & 1) != 0)) {
            return kz_operand_fail(site, i, "memory apart from what the instruction writes");
        }
    }
    return KAZEIA_OK;
}

static kazeia_status check_written(const kz_check_site *site, const op_rule *rule) {
    const uint32_t root = kz_value_root(site->method, site->instruction->operands[rule->written]);
    const kz_value_kind kind = site->method->values[root].kind;
    // Inputs are the caller's, weights are shared and mapped read-only.
    if (kind != KZ_VALUE_ARENA && kind != KZ_VALUE_OUTPUT) {
        return kz_operand_fail(site, rule->written, "arena or output, since it is written");
    }
    return check_apart(site, rule);
}

static kazeia_status check_operands_there(const kz_check_site *site, const op_rule *rule) {
    for (uint32_t i = 0; i < site->shape->operand_count; i++) {
        const uint32_t operand = site->instruction->operands[i];
        const bool may_be_absent = (rule->optional >> i & 1) != 0;
        if (operand == KZ_NO_VALUE ? !may_be_absent : operand >= site->method->value_count) {
            return kz_fail(KAZEIA_BAD_FILE, "operand %u is value %u, the method has %u", i, operand,
                           site->method->value_count);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_op(const kz_check_site *site) {
    const op_rule *rule = rules[site->shape->op];
    // In this order: rules follow indices, and what is written is only looked at once its shape is
    // known.
    KZ_TRY(check_operands_there(site, rule));
    KZ_TRY(rule->check(site));
    return rule->written != KZ_NO_VALUE ? check_written(site, rule) : KAZEIA_OK;
}
