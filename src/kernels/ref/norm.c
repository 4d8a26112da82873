// norm.c: RMS norm, layer norm and softmax of one row.
//
// in: a row of floats. out: a row of floats. Sums are kept in double, so that the reference is
// closer to the formula than any variant that is tested against it.
#include <math.h>

#include "kernels/variants.h"

void kz_rms_norm__ref(const float *x, const float *weight, size_t columns, float epsilon,
                      float *out) {
    double squares = 0.0;
    for (size_t i = 0; i < columns; i++) {
        squares += (double)x[i] * x[i];
    }
    const float factor = (float)(1.0 / sqrt(squares / (double)columns + epsilon));
    for (size_t i = 0; i < columns; i++) {
        out[i] = x[i] * factor * weight[i];
    }
}

void kz_layer_norm__ref(const float *x, const float *weight, const float *bias, size_t columns,
                        float epsilon, float *out) {
    double sum = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < columns; i++) {
        sum += x[i];
    }
    // Two passes: the one-pass formula loses its digits where the mean is large beside the spread.
    const double mean = sum / (double)columns;
    for (size_t i = 0; i < columns; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
    }
    const float factor = (float)(1.0 / sqrt(squares / (double)columns + epsilon));
    for (size_t i = 0; i < columns; i++) {
        out[i] = (x[i] - (float)mean) * factor * weight[i] + bias[i];
    }
}

// NaN when any entry is.
static float largest_of(const float *x, size_t count) {
    float largest = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!(x[i] <= largest)) {
            largest = x[i];
        }
        if (isnan(largest)) {
            break;
        }
    }
    return largest;
}

// A row of nothing but -inf becomes zeros.
void kz_softmax__ref(float *x, size_t count, float scale) {
    const float largest = largest_of(x, count);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        x[i] = x[i] == -INFINITY ? 0.0f : expf(scale * (x[i] - largest));
        sum += x[i];
    }
    const float inverse = sum == 0.0 ? 0.0f : (float)(1.0 / sum);
    for (size_t i = 0; i < count; i++) {
        x[i] *= inverse;
    }
}
