// test_encoder.c: the ops of an encoder (unfold, gelu, tables, layer norm, full attention, plain
// activations) against the same computed in double.
//
// in:  a tiny program made here
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "tiny_builder.h"

#define FRAMES 230 // more than one chunk of full attention
#define CHANNELS 8
#define WIDTH 32
#define HEADS 4
#define KERNEL 3
#define EPSILON 1e-5f

typedef struct encoder {
    tiny_builder builder;
    uint32_t first, first_bias, second, second_bias, places, norm, norm_bias, qkv, out, out_bias;
    uint8_t *bytes;
    size_t count;
} encoder;

// ceil((frames + 2 - 2) / 2): a window of 3 moved by 2 with padding 1.
static kz_dim half_of(kz_dim frames) {
    kz_dim half;
    assert_true(kz_dim_window(&frames, 0, 2, &half));
    return half;
}

static void make_weights(encoder *e, kz_type type) {
    tiny_builder *b = &e->builder;
    e->first = tiny_matrix(b, "first", type, WIDTH, KERNEL * CHANNELS, 0.35f);
    e->first_bias = tiny_vector(b, "first_bias", WIDTH, 0.0f, 0.5f);
    e->second = tiny_matrix(b, "second", type, WIDTH, KERNEL * WIDTH, 0.2f);
    e->second_bias = tiny_vector(b, "second_bias", WIDTH, 0.0f, 0.5f);
    e->places = tiny_table(b, "places", FRAMES / 2, WIDTH);
    e->norm = tiny_vector(b, "norm", WIDTH, 1.0f, 0.3f);
    e->norm_bias = tiny_vector(b, "norm_bias", WIDTH, 0.0f, 0.3f);
    e->qkv = tiny_matrix(b, "qkv", type, 3 * WIDTH, WIDTH, 0.5f);
    e->out = tiny_matrix(b, "out", type, WIDTH, WIDTH, 0.4f);
    e->out_bias = tiny_vector(b, "out_bias", WIDTH, 0.0f, 0.5f);
}

static uint32_t convolve(tiny_method *m, uint32_t x, kz_dim rows, uint32_t channels, int32_t stride,
                         uint32_t weight, uint32_t bias) {
    const uint32_t unfolded = tiny_rows(m, KZ_F32, rows, KERNEL * channels);
    const uint32_t out = tiny_rows(m, KZ_F32, rows, WIDTH);
    kz_instruction *unfold = tiny_add(m, KZ_OP_UNFOLD, (uint32_t[]){x, unfolded}, 2);
    unfold->ints[0] = KERNEL;
    unfold->ints[1] = stride;
    unfold->ints[2] = 1; // dilation
    unfold->ints[3] = 1;
    unfold->ints[4] = 1;
    tiny_add(m, KZ_OP_LINEAR,
             (uint32_t[]){unfolded, tiny_weight_value(m, weight), tiny_weight_value(m, bias),
                          KZ_NO_VALUE, out},
             5)
        ->ints[0] = KZ_ACTIVATION_GELU;
    return out;
}

static uint32_t attend(const encoder *e, tiny_method *m, kz_dim rows, uint32_t x) {
    const uint32_t normed = tiny_rows(m, KZ_F32, rows, WIDTH);
    const uint32_t qkv = tiny_rows(m, KZ_F32, rows, 3 * WIDTH);
    const uint32_t attended = tiny_rows(m, KZ_F32, rows, WIDTH);
    tiny_add(
        m, KZ_OP_LAYER_NORM,
        (uint32_t[]){x, tiny_weight_value(m, e->norm), tiny_weight_value(m, e->norm_bias), normed},
        4)
        ->floats[0] = EPSILON;
    tiny_add(m, KZ_OP_LINEAR,
             (uint32_t[]){normed, tiny_weight_value(m, e->qkv), KZ_NO_VALUE, KZ_NO_VALUE, qkv}, 5);
    kz_instruction *full =
        tiny_add(m, KZ_OP_ATTENTION_FULL,
                 (uint32_t[]){tiny_view(m, qkv, 0, WIDTH), tiny_view(m, qkv, WIDTH, WIDTH),
                              tiny_view(m, qkv, 2 * WIDTH, WIDTH), attended},
                 4);
    full->ints[0] = HEADS;
    full->floats[0] = 1.0f / sqrtf(WIDTH / HEADS);
    return attended;
}

static void make_encoder(encoder *e, kz_type type) {
    tiny_builder_init(&e->builder, 11);
    make_weights(e, type);
    tiny_method *m = tiny_begin_method(&e->builder, "encode");
    const kz_dim frames = kz_dim_symbol(tiny_symbol(m, "frames", FRAMES));
    const kz_dim half = half_of(frames);
    uint32_t x = tiny_input(m, "mel", KZ_F32, 0, 2, frames, kz_dim_constant(CHANNELS));
    x = convolve(m, x, frames, CHANNELS, 1, e->first, e->first_bias);
    x = convolve(m, x, half, WIDTH, 2, e->second, e->second_bias);
    const uint32_t placed = tiny_rows(m, KZ_F32, half, WIDTH);
    tiny_add(m, KZ_OP_ADD, (uint32_t[]){x, tiny_weight_value(m, e->places), placed}, 3);
    const uint32_t attended = attend(e, m, half, placed);
    const uint32_t sum = tiny_rows(m, KZ_F32, half, WIDTH);
    tiny_add(m, KZ_OP_LINEAR,
             (uint32_t[]){attended, tiny_weight_value(m, e->out), tiny_weight_value(m, e->out_bias),
                          placed, sum},
             5);
    tiny_add(m, KZ_OP_ACTIVATE, (uint32_t[]){sum, tiny_output(m, "encoded", half, WIDTH)}, 2)
        ->ints[0] = KZ_ACTIVATION_GELU_TANH;
    if (tiny_write(&e->builder, &e->bytes, &e->count) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
}

// --- The reference ------------------------------------------------------------------------------

static double gelu(double x) {
    return 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
}

static double gelu_tanh(double x) {
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static double dot(const double *x, const float *weight, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += x[i] * (double)weight[i];
    }
    return sum;
}

static void convolve_plainly(const double *x, size_t rows, size_t channels, size_t stride,
                             const float *weight, const float *bias, double *out) {
    for (size_t t = 0; t * stride < rows; t++) {
        double window[KERNEL * WIDTH] = {0};
        for (size_t j = 0; j < KERNEL; j++) {
            const size_t place = t * stride + j;
            if (place >= 1 && place - 1 < rows) {
                memcpy(window + j * channels, x + (place - 1) * channels, channels * sizeof *x);
            }
        }
        for (size_t n = 0; n < WIDTH; n++) {
            const double sum = dot(window, weight + n * KERNEL * channels, KERNEL * channels);
            out[t * WIDTH + n] = gelu(sum + (double)bias[n]);
        }
    }
}

static void norm_plainly(const double *x, const float *weight, const float *bias, double *out) {
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < WIDTH; i++) {
        mean += x[i] / WIDTH;
    }
    for (size_t i = 0; i < WIDTH; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / WIDTH;
    }
    for (size_t i = 0; i < WIDTH; i++) {
        out[i] =
            (x[i] - mean) / sqrt(variance + (double)EPSILON) * (double)weight[i] + (double)bias[i];
    }
}

static void attend_plainly(const double *qkv, size_t rows, size_t row, double *out) {
    const size_t head_dim = WIDTH / HEADS;
    for (size_t h = 0; h < HEADS; h++) {
        const double *q = qkv + row * 3 * WIDTH + h * head_dim;
        double total = 0.0;
        memset(out + h * head_dim, 0, head_dim * sizeof *out);
        for (size_t i = 0; i < rows; i++) {
            const double *k = qkv + i * 3 * WIDTH + WIDTH + h * head_dim;
            double score = 0.0;
            for (size_t d = 0; d < head_dim; d++) {
                score += q[d] * k[d];
            }
            const double weight = exp(score / sqrt((double)head_dim));
            total += weight;
            for (size_t d = 0; d < head_dim; d++) {
                out[h * head_dim + d] += weight * k[WIDTH + d];
            }
        }
        for (size_t d = 0; d < head_dim; d++) {
            out[h * head_dim + d] /= total;
        }
    }
}

static void encode_plainly(const encoder *e, const float *mel, size_t frames, double *out) {
    static double x[FRAMES * WIDTH], y[FRAMES * WIDTH], qkv[FRAMES * 3 * WIDTH];
    float *const *floats = e->builder.floats;
    const size_t half = (frames + 1) / 2;
    for (size_t i = 0; i < frames * CHANNELS; i++) {
        x[i] = (double)mel[i];
    }
    convolve_plainly(x, frames, CHANNELS, 1, floats[e->first], floats[e->first_bias], y);
    convolve_plainly(y, frames, WIDTH, 2, floats[e->second], floats[e->second_bias], x);
    for (size_t t = 0; t < half; t++) {
        double normed[WIDTH];
        for (size_t i = 0; i < WIDTH; i++) {
            x[t * WIDTH + i] += (double)floats[e->places][t * WIDTH + i];
        }
        norm_plainly(x + t * WIDTH, floats[e->norm], floats[e->norm_bias], normed);
        for (size_t n = 0; n < (size_t)3 * WIDTH; n++) {
            qkv[t * 3 * WIDTH + n] = dot(normed, floats[e->qkv] + n * WIDTH, WIDTH);
        }
    }
    for (size_t t = 0; t < half; t++) {
        double attended[WIDTH];
        attend_plainly(qkv, half, t, attended);
        for (size_t n = 0; n < WIDTH; n++) {
            const double sum = dot(attended, floats[e->out] + n * WIDTH, WIDTH);
            out[t * WIDTH + n] = gelu_tanh(sum + (double)floats[e->out_bias][n] + x[t * WIDTH + n]);
        }
    }
}

// --- Tests --------------------------------------------------------------------------------------

static void check_frames(kz_context *context, const encoder *e, const float *mel, uint32_t frames,
                         double limit) {
    static double expected[FRAMES * WIDTH];
    static float found[FRAMES * WIDTH];
    const void *inputs[] = {mel};
    void *outputs[] = {found};
    double difference = 0.0, size = 0.0;
    encode_plainly(e, mel, frames, expected);
    assert_int_equal(kz_context_run(context, 0, &frames, inputs, outputs), KAZEIA_OK);
    for (size_t i = 0; i < (size_t)(frames + 1) / 2 * WIDTH; i++) {
        difference += pow((double)found[i] - expected[i], 2.0);
        size += expected[i] * expected[i];
    }
    assert_true(sqrt(difference / size) < limit);
}

static void check_type(kz_type type, double limit) {
    static encoder e;
    static float mel[FRAMES * CHANNELS];
    kz_program *program = NULL;
    kz_pool *pool = NULL;
    kz_context *context = NULL;
    make_encoder(&e, type);
    for (size_t i = 0; i < FRAMES * CHANNELS; i++) {
        mel[i] = tiny_random(&e.builder);
    }
    assert_int_equal(kz_program_open_memory(e.bytes, e.count, NULL, &program), KAZEIA_OK);
    assert_int_equal(kz_pool_create(2, NULL, &pool), KAZEIA_OK);
    assert_int_equal(kz_context_create(program, pool, KZ_PRIORITY_LISTEN, 0, NULL, &context),
                     KAZEIA_OK);
    const uint32_t frames[] = {FRAMES, 1, 2, 17, FRAMES - 1};
    for (size_t i = 0; i < 5; i++) {
        check_frames(context, &e, mel, frames[i], limit);
    }
    kz_context_destroy(context);
    kz_pool_destroy(pool);
    kz_program_release(program);
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_free_aligned(&memory, e.bytes);
    tiny_builder_clear(&e.builder);
}

static void an_encoder_is_its_reference(void **state) {
    (void)state;
    check_type(KZ_F32, 2e-6);
    check_type(KZ_F16, 2e-3);
    check_type(KZ_BF16, 2e-2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_encoder_is_its_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
