// signal.c: what voices and voice activity compute on signals, one element at a time.
//
// in: float arrays. out: float arrays; where kernels.h says so `out` may be an input's own memory.
#include <math.h>
#include <string.h>

#include "kernels/variants.h"

void kz_mul__ref(const float *a, const float *b, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = a[i] * b[i];
    }
}

static float sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

// Comparisons are written so that NaN stays NaN.
static float map_element(kz_map function, float a, float b, float x) {
    switch (function) {
    case KZ_MAP_RELU:
        return x < 0.0f ? 0.0f : x;
    case KZ_MAP_LEAKY_RELU:
        return x < 0.0f ? a * x : x;
    case KZ_MAP_SIGMOID:
        return sigmoid(x);
    case KZ_MAP_TANH:
        return tanhf(x);
    case KZ_MAP_ELU:
        return x < 0.0f ? a * expm1f(x) : x;
    case KZ_MAP_EXP:
        return expf(x);
    case KZ_MAP_SIN:
        return sinf(x);
    case KZ_MAP_COS:
        return cosf(x);
    case KZ_MAP_CLAMP:
        return x < a ? a : x > b ? b : x;
    case KZ_MAP_LOG:
        return logf(x < a ? a : x);
    case KZ_MAP_SQRT:
        return sqrtf(x + a);
    default:
        return a * x + b; // KZ_MAP_SCALE
    }
}

void kz_map__ref(kz_map function, float a, float b, const float *x, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = map_element(function, a, b, x[i]);
    }
}

void kz_snake__ref(const float *x, const float *alpha, const float *beta, size_t count,
                   float *out) {
    for (size_t i = 0; i < count; i++) {
        const float sine = sinf(alpha[i] * x[i]);
        out[i] = x[i] + sine * sine * beta[i];
    }
}

void kz_scale_shift__ref(const float *x, const float *gamma, const float *beta, size_t count,
                         float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = x[i] * (1.0f + gamma[i]) + beta[i];
    }
}

void kz_centre__ref(const float *x, const float *mean, const float *factor, size_t count,
                    float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = (x[i] - mean[i]) * factor[i];
    }
}

void kz_magnitude__ref(const float *a, const float *b, float epsilon, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = sqrtf(a[i] * a[i] + b[i] * b[i] + epsilon);
    }
}

void kz_depthwise__ref(const float *x, size_t stride, const float *weights, const float *bias,
                       size_t taps, size_t columns, float *out) {
    if (bias) {
        memcpy(out, bias, columns * sizeof *out);
    } else {
        memset(out, 0, columns * sizeof *out);
    }
    for (size_t j = 0; j < taps; j++) {
        const float *row = (const float *)((const uint8_t *)x + j * stride);
        for (size_t c = 0; c < columns; c++) {
            out[c] += weights[j * columns + c] * row[c];
        }
    }
}

void kz_lstm_cell__ref(const float *input, const float *forget, const float *cell,
                       const float *output, size_t count, float *c, float *out_h) {
    for (size_t i = 0; i < count; i++) {
        c[i] = sigmoid(forget[i]) * c[i] + sigmoid(input[i]) * tanhf(cell[i]);
        out_h[i] = sigmoid(output[i]) * tanhf(c[i]);
    }
}

// Differences from the first row: what all rows share would cancel in the squares.
void kz_column_moments__ref(const float *x, size_t stride, size_t rows, size_t columns,
                            float *out_mean, float *out_variance) {
    double sums[64] = {0};
    double squares[64] = {0};
    for (size_t row = 1; row < rows; row++) {
        const float *values = (const float *)((const uint8_t *)x + row * stride);
        for (size_t c = 0; c < columns; c++) {
            const double difference = (double)values[c] - (double)x[c];
            sums[c] += difference;
            squares[c] += difference * difference;
        }
    }
    for (size_t c = 0; c < columns; c++) {
        const double mean = sums[c] / (double)rows;
        const double variance = squares[c] / (double)rows - mean * mean;
        out_mean[c] = (float)((double)x[c] + mean);
        out_variance[c] = variance < 0.0 ? 0.0f : (float)variance;
    }
}
