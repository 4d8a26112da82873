// ops_signal_source.c: the ops that make a harmonic source and its spectrum.
//   in   frequencies, or spectra as real and imaginary parts
//   out  sines of their multiples; magnitudes and phases
#include <math.h>

#include "runtime/row_job.h"

#define TURN 6.28318530717958647692 // radians

static void make_polar(const kz_row_job *job, size_t row, float *out) {
    const size_t columns = job->out->columns / 2;
    const float *x = kz_row_of(job->a, row);
    const float *rest = job->b->bytes;
    const float least = job->instruction->floats[0];
    for (size_t i = 0; i < columns; i++) {
        const float real = x[i], imaginary = x[columns + i];
        const float magnitude = sqrtf(real * real + imaginary * imaginary);
        out[i] = magnitude;
        out[columns + i] = magnitude < least ? rest[i] : atan2f(imaginary, real);
    }
}

void kz_op_polar(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    kz_row_job job = {.instruction = instruction,
                      .a = operands[0],
                      .b = operands[1],
                      .out = operands[2],
                      .make = make_polar};
    kz_run_rows(call, &job);
}

// --- Sines --------------------------------------------------------------------------------------
//
// With a stretch of S, the rows S * t + S / 2 and on read between the phases of frames t and t + 1:
// they are segment t. The first rows have the phase of frame 0 alone and go with segment 0.

typedef struct sines_job {
    const kz_operand *hz, *out;
    size_t stretch, harmonics;
    double rate;
    float threshold;
} sines_job;

static float *row_at(const sines_job *job, size_t row) {
    return (float *)((uint8_t *)job->out->bytes + row * job->out->stride);
}

// Turns of harmonic h in a sample of frame t, without the whole ones.
static double turns_a_sample(const sines_job *job, size_t t, size_t h) {
    const double turns = (double)*kz_row_of(job->hz, t) * (double)(h + 1) / job->rate;
    return turns - floor(turns);
}

// Each frame's phases, in turns, into the first row of its segment, where its maker reads them
// before it writes: the sums need every frame before, the segments then need no other.
static void sum_phases(const sines_job *job) {
    double sums[KZ_HARMONIC_LIMIT] = {0};
    for (size_t t = 0; t < job->hz->rows; t++) {
        float *phases = row_at(job, t * job->stretch + job->stretch / 2);
        for (size_t h = 0; h < job->harmonics; h++) {
            sums[h] += turns_a_sample(job, t, h) * (double)job->stretch;
            sums[h] -= floor(sums[h]);
            phases[h] = (float)sums[h];
        }
    }
}

// `turns` more than `phases` after one whole frame; `along` frames of it.
static void make_sines(const sines_job *job, size_t row, const float *phases, const double *turns,
                       double along) {
    float *out = row_at(job, row);
    const bool is_silent = !(*kz_row_of(job->hz, row / job->stretch) > job->threshold);
    for (size_t h = 0; h < job->harmonics; h++) {
        const double phase = (double)phases[h] + along * turns[h];
        out[h] = is_silent ? 0.0f : sinf((float)((phase - floor(phase)) * TURN));
    }
}

static void make_segments(void *context, size_t t, size_t end, void *scratch) {
    const sines_job *job = context;
    const size_t stretch = job->stretch;
    (void)scratch;
    for (; t < end; t++) {
        const size_t first = t * stretch + stretch / 2;
        const bool is_last = t + 1 == job->hz->rows;
        const size_t next = is_last ? job->hz->rows * stretch : first + stretch;
        float phases[KZ_HARMONIC_LIMIT];
        double turns[KZ_HARMONIC_LIMIT] = {0};
        for (size_t h = 0; h < job->harmonics; h++) {
            phases[h] = row_at(job, first)[h];
            turns[h] = is_last ? 0.0 : turns_a_sample(job, t + 1, h) * (double)stretch;
        }
        for (size_t row = t == 0 ? 0 : first; row < next; row++) {
            const double along = ((double)row + 0.5) / (double)stretch - 0.5 - (double)t;
            make_sines(job, row, phases, turns, along > 0.0 ? along : 0.0);
        }
    }
}

void kz_op_sines(kz_call *call, const kz_instruction *instruction, kz_operand *const *operands) {
    sines_job job = {.hz = operands[0],
                     .out = operands[1],
                     .stretch = (size_t)instruction->ints[0],
                     .harmonics = (size_t)instruction->ints[1],
                     .rate = (double)instruction->floats[0],
                     .threshold = instruction->floats[1]};
    sum_phases(&job);
    kz_call_run(call, make_segments, &job, job.hz->rows, 4);
}
