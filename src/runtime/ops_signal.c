// ops_signal.c: the ops that see a signal along its rows, one output row at a time.
//   in   rows of f32
//   out  rows of f32, or quantised as they are made
// Every output row is computed from the rows that it needs in one fixed order, so that a signal in
// pieces, joined by JOIN_TAIL, gives the bits of the whole.
#include <string.h>

#include "runtime/row_job.h"

// --- Element by element -------------------------------------------------------------------------

static void make_mapped(const kz_row_job *job, size_t row, float *out) {
    const kz_instruction *instruction = job->instruction;
    job->kernels->map((kz_map)instruction->ints[0], instruction->floats[0], instruction->floats[1],
                      kz_row_of(job->a, row), job->out->columns, out);
}

void kz_op_map(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {
        .instruction = instruction, .a = operands[0], .out = operands[1], .make = make_mapped};
    kz_run_rows(call, &job);
}

// A single row serves all others. Where T happens to be 1 it is the row itself.
static const float *row_or_only(const kz_operand *operand, size_t row) {
    return kz_row_of(operand, operand->rows == 1 ? 0 : row);
}

static void make_product(const kz_row_job *job, size_t row, float *out) {
    job->kernels->mul(kz_row_of(job->a, row), row_or_only(job->b, row), job->out->columns, out);
}

void kz_op_mul(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_product};
    kz_run_rows(call, &job);
}

static void make_snake(const kz_row_job *job, size_t row, float *out) {
    job->kernels->snake(kz_row_of(job->a, row), job->b->bytes, job->c->bytes, job->out->columns,
                        out);
}

void kz_op_snake(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .c = operands[2],
                      .out = operands[3],
                      .make = make_snake};
    kz_run_rows(call, &job);
}

// A row of b is gamma | beta.
static void make_scaled(const kz_row_job *job, size_t row, float *out) {
    const size_t columns = job->out->columns;
    const float *gamma = row_or_only(job->b, row);
    job->kernels->scale_shift(kz_row_of(job->a, row), gamma, gamma + columns, columns, out);
}

void kz_op_scale_shift(kz_call *call, const kz_instruction *instruction,
                       kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_scaled};
    kz_run_rows(call, &job);
}

static void make_adapted(const kz_row_job *job, size_t row, float *out) {
    const size_t columns = job->out->columns;
    const float *means = kz_row_of(job->b, 0);
    job->kernels->centre(kz_row_of(job->a, row), means, means + columns, columns, out);
    job->kernels->add(out, means + 2 * columns, columns, out);
    if (job->c) {
        job->kernels->snake(out, job->c->bytes, job->d->bytes, columns, out);
    } else {
        job->kernels->map(KZ_MAP_LEAKY_RELU, job->instruction->floats[0], 0, out, columns, out);
    }
}

void kz_op_adapt(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .c = operands[2],
                      .d = operands[3],
                      .out = operands[4],
                      .make = make_adapted};
    kz_run_rows(call, &job);
}

static void make_magnitude(const kz_row_job *job, size_t row, float *out) {
    const size_t columns = job->out->columns;
    const float *x = kz_row_of(job->a, row);
    job->kernels->magnitude(x, x + columns, job->instruction->floats[0], columns, out);
}

void kz_op_magnitude(kz_call *call, const kz_instruction *instruction,
                     kz_operand *const *operands) {
    kz_row_job job = {
        .instruction = instruction, .a = operands[0], .out = operands[1], .make = make_magnitude};
    kz_run_rows(call, &job);
}

// --- Rows from elsewhere ------------------------------------------------------------------------

static void copy_row(const kz_row_job *job, const float *from, float *out) {
    memcpy(out, from, job->out->columns * sizeof *out);
}

static void make_copy(const kz_row_job *job, size_t row, float *out) {
    copy_row(job, row_or_only(job->a, row), out);
}

void kz_op_copy(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {
        .instruction = instruction, .a = operands[0], .out = operands[1], .make = make_copy};
    kz_run_rows(call, &job);
}

// The elements were compared with the rows of x (kz_input_limit).
static void make_gathered(const kz_row_job *job, size_t row, float *out) {
    const int32_t index = ((const int32_t *)job->b->bytes)[row];
    copy_row(job, kz_row_of(job->a, (size_t)index), out);
}

void kz_op_gather(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_gathered};
    kz_run_rows(call, &job);
}

static void make_joined(const kz_row_job *job, size_t row, float *out) {
    const size_t tail = job->b->rows;
    copy_row(job, row < tail ? kz_row_of(job->b, row) : kz_row_of(job->a, row - tail), out);
}

// The last rows of the joined ones become the state. They are not read from out, which may be
// quantised; where x is shorter than the tail, the state's own rows move up.
static void keep_tail(const kz_operand *x, const kz_operand *state) {
    for (size_t row = 0; row < state->rows; row++) {
        const size_t from = row + x->rows;
        memcpy((uint8_t *)state->bytes + row * state->stride,
               from < state->rows ? kz_row_of(state, from) : kz_row_of(x, from - state->rows),
               state->columns * sizeof(float));
    }
}

void kz_op_join_tail(kz_call *call, const kz_instruction *instruction,
                     kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_joined};
    kz_run_rows(call, &job);
    keep_tail(operands[0], operands[1]);
}

// The row of x at `place`, which may lie before the first or behind the last: turned round at both
// as often as it takes.
static size_t reflected(ptrdiff_t place, size_t rows) {
    if (rows == 1) {
        return 0;
    }
    const ptrdiff_t last = (ptrdiff_t)rows - 1;
    const ptrdiff_t turn = place % (2 * last);
    const ptrdiff_t along = turn < 0 ? turn + 2 * last : turn;
    return (size_t)(along <= last ? along : 2 * last - along);
}

static void make_padded(const kz_row_job *job, size_t row, float *out) {
    const size_t rows = job->a->rows;
    const kz_pad mode = (kz_pad)job->instruction->ints[0];
    const ptrdiff_t place = (ptrdiff_t)row - job->instruction->ints[1];
    const bool is_inside = place >= 0 && (size_t)place < rows;
    if (is_inside) {
        copy_row(job, kz_row_of(job->a, (size_t)place), out);
    } else if (mode == KZ_PAD_ZERO || rows == 0) {
        memset(out, 0, job->out->columns * sizeof *out);
    } else if (mode == KZ_PAD_REFLECT) {
        copy_row(job, kz_row_of(job->a, reflected(place, rows)), out);
    } else {
        copy_row(job, kz_row_of(job->a, place < 0 ? 0 : rows - 1), out);
    }
}

void kz_op_pad(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {
        .instruction = instruction, .a = operands[0], .out = operands[1], .make = make_padded};
    kz_run_rows(call, &job);
}

// --- Windows ------------------------------------------------------------------------------------

static void make_unfolded(const kz_row_job *job, size_t row, float *out) {
    const size_t kernel = (size_t)job->instruction->ints[0];
    const size_t stride = (size_t)job->instruction->ints[1];
    const size_t dilation = (size_t)job->instruction->ints[2];
    const size_t padding = (size_t)job->instruction->ints[3];
    const size_t channels = job->a->columns;
    for (size_t j = 0; j < kernel; j++) {
        const size_t place = row * stride + j * dilation;
        // Places count from the first padding row, so that they never go below zero.
        if (place < padding || place - padding >= job->a->rows) {
            memset(out + j * channels, 0, channels * sizeof *out);
        } else {
            memcpy(out + j * channels, kz_row_of(job->a, place - padding), channels * sizeof *out);
        }
    }
}

// A KZ_A8 row by its planes: bytes, then three of four bytes a block.
typedef struct a8_planes {
    uint8_t *bytes, *numbers;
    size_t blocks;
} a8_planes;

static a8_planes planes_of(const void *row, size_t columns) {
    const size_t padded = kz_a8_padded(columns);
    uint8_t *bytes = (uint8_t *)(uintptr_t)row;
    return (a8_planes){bytes, bytes + padded, padded / KZ_BLOCK};
}

static void copy_blocks(const a8_planes *from, size_t count, size_t block, const a8_planes *out) {
    memcpy(out->bytes + block * KZ_BLOCK, from->bytes, count * KZ_BLOCK);
    for (size_t plane = 0; plane < 3; plane++) {
        const uint8_t *numbers = from->numbers + 4 * plane * from->blocks;
        uint8_t *out_numbers = out->numbers + 4 * (plane * out->blocks + block);
        // Rows have few blocks: a call would cost more than the copying.
        for (size_t i = 0; i < count; i++) {
            memcpy(out_numbers + 4 * i, numbers + 4 * i, 4);
        }
    }
}

static void clear_blocks(size_t count, size_t block, const a8_planes *out) {
    memset(out->bytes + block * KZ_BLOCK, 0, count * KZ_BLOCK);
    for (size_t plane = 0; plane < 3; plane++) {
        memset(out->numbers + 4 * (plane * out->blocks + block), 0, 4 * count);
    }
}

// One row of KZ_A8, or half of one of KZ_A16; `part` is where it begins in a row of x.
static void unfold_a8(const kz_row_job *job, size_t row, size_t part, void *out_row) {
    const int32_t *ints = job->instruction->ints;
    const size_t kernel = (size_t)ints[0], padding = (size_t)ints[3];
    const size_t count = job->a->columns / KZ_BLOCK;
    const a8_planes out = planes_of(out_row, job->out->columns);
    for (size_t j = 0; j < kernel; j++) {
        const size_t place = row * (size_t)ints[1] + j * (size_t)ints[2];
        if (place < padding || place - padding >= job->a->rows) {
            clear_blocks(count, j * count, &out);
        } else {
            const uint8_t *x = (const uint8_t *)kz_row_of(job->a, place - padding) + part;
            const a8_planes from = planes_of(x, job->a->columns);
            copy_blocks(&from, count, j * count, &out);
        }
    }
    clear_blocks(out.blocks - kernel * count, kernel * count, &out);
}

// Blocks of x are blocks of out (check_ops_signal.c), so that each is quantised once for all the
// windows that hold it.
void kz_unfold_row(const kz_row_job *job, size_t row, void *out) {
    if (job->out->type == KZ_F32) {
        make_unfolded(job, row, out);
        return;
    }
    const size_t parts = job->out->type == KZ_A16 ? 2 : 1;
    for (size_t part = 0; part < parts; part++) {
        unfold_a8(job, row, part * kz_a8_row_bytes(job->a->columns),
                  (uint8_t *)out + part * kz_a8_row_bytes(job->out->columns));
    }
}

static void unfold_quantised(void *context, size_t row, size_t row_end, void *scratch) {
    const kz_row_job *job = context;
    (void)scratch;
    for (; row < row_end; row++) {
        kz_unfold_row(job, row, (uint8_t *)job->out->bytes + row * job->out->stride);
    }
}

void kz_op_unfold(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {
        .instruction = instruction, .a = operands[0], .out = operands[1], .make = make_unfolded};
    if (kz_type_is_activation(job.a->type)) {
        kz_call_run(call, unfold_quantised, &job, job.out->rows, kz_row_grain(job.out));
    } else {
        kz_run_rows(call, &job);
    }
}

// Terms are added from the last row of x that reaches this one to the first, j rising.
static void make_folded(const kz_row_job *job, size_t row, float *out) {
    const size_t kernel = (size_t)job->instruction->ints[0];
    const size_t stride = (size_t)job->instruction->ints[1];
    const size_t place = row + (size_t)job->instruction->ints[2];
    const size_t channels = job->out->columns;
    const float *sum = job->b ? job->b->bytes : NULL; // NULL: nothing yet
    for (size_t j = place % stride; j < kernel && j <= place; j += stride) {
        const size_t t = (place - j) / stride;
        if (t >= job->a->rows) {
            continue;
        }
        const float *term = kz_row_of(job->a, t) + j * channels;
        if (sum) {
            job->kernels->add(sum, term, channels, out);
        } else {
            memcpy(out, term, channels * sizeof *out);
        }
        sum = out;
    }
    if (!sum) {
        memset(out, 0, channels * sizeof *out);
    } else if (sum != out) {
        memcpy(out, sum, channels * sizeof *out);
    }
}

void kz_op_fold(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_folded};
    kz_run_rows(call, &job);
}

// Taps [first, end) of a row are those that meet rows of x.
static void make_depthwise(const kz_row_job *job, size_t row, float *out) {
    const int32_t *ints = job->instruction->ints;
    const size_t kernel = (size_t)ints[0];
    const size_t dilation = (size_t)ints[1];
    const size_t left = (size_t)ints[2];
    const size_t rows = job->a->rows;
    const size_t columns = job->a->columns;
    const float *weights = job->b->bytes;
    const float *bias = job->c ? job->c->bytes : NULL;
    const size_t missing = left > row ? (left - row + dilation - 1) / dilation : 0;
    const size_t first = missing < kernel ? missing : kernel;
    const size_t reach = rows + left > row ? (rows + left - row + dilation - 1) / dilation : 0;
    const size_t end = reach < first ? first : reach < kernel ? reach : kernel;
    const float *x = first < end ? kz_row_of(job->a, row + first * dilation - left) : NULL;
    for (size_t m = 0; m < (size_t)ints[4]; m++) {
        job->kernels->depthwise(
            x, dilation * job->a->stride, weights + (m * kernel + first) * columns,
            bias ? bias + m * columns : NULL, end - first, columns, out + m * columns);
    }
}

void kz_op_depthwise(kz_call *call, const kz_instruction *instruction,
                     kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .c = operands[2],
                      .out = operands[3],
                      .make = make_depthwise};
    kz_run_rows(call, &job);
}
