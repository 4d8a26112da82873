// cache.c: heads of one token into a cache row.
//
// in: [heads][head_dim] floats. out: the row in the cache's element type, head after head. An i8
// head is one f32 scale, then its integers; the scale is NaN when a value is not finite.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/variants.h"

void kz_cache_write_f32__ref(const float *x, size_t heads, size_t head_dim, void *out_row) {
    memcpy(out_row, x, heads * head_dim * sizeof *x);
}

void kz_cache_write_f16__ref(const float *x, size_t heads, size_t head_dim, void *out_row) {
    uint16_t *row = out_row;
    for (size_t i = 0; i < heads * head_dim; i++) {
        row[i] = kz_f16_from_float(x[i]);
    }
}

static float largest_magnitude(const float *x, size_t count) {
    float largest = 0.0f;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(x[i])) {
            return NAN;
        }
        largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
    }
    return largest;
}

static void write_i8_head(const float *x, size_t head_dim, int8_t *out_head) {
    const float largest = largest_magnitude(x, head_dim);
    const float inverse = 127.0f / largest;
    // 127 / largest is infinite for 0 and for magnitudes below 4e-37: such a head is all zeros with
    // scale 0. A head that is not finite is zeros with scale NaN, which any sum shows.
    const bool is_zero = isnan(largest) || isinf(inverse);
    const float scale = isinf(inverse) ? 0.0f : largest / 127.0f;
    memcpy(out_head, &scale, sizeof scale);
    for (size_t i = 0; i < head_dim; i++) {
        out_head[sizeof scale + i] = is_zero ? 0 : (int8_t)rintf(x[i] * inverse);
    }
}

void kz_cache_write_i8__ref(const float *x, size_t heads, size_t head_dim, void *out_row) {
    for (size_t h = 0; h < heads; h++) {
        write_i8_head(x + h * head_dim, head_dim,
                      (int8_t *)out_row + h * (sizeof(float) + head_dim));
    }
}
