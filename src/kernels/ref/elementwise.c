// elementwise.c: sums, activations, gates and rotary positions, one element at a time.
//
// in: float arrays. out: float arrays; `out` may be an input's own memory.
#include "kernels/ref/scalar.h"
#include "kernels/variants.h"

void kz_add__ref(const float *a, const float *b, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = a[i] + b[i];
    }
}

void kz_gelu__ref(const float *x, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = kz_scalar_gelu(x[i]);
    }
}

void kz_gelu_tanh__ref(const float *x, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = kz_scalar_gelu_tanh(x[i]);
    }
}

void kz_silu__ref(const float *x, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = kz_scalar_silu(x[i]);
    }
}

// Gated linear units: Shazeer, "GLU Variants Improve Transformer", 2020.
void kz_gate_gelu_tanh__ref(const float *gate, const float *up, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = kz_scalar_gelu_tanh(gate[i]) * up[i];
    }
}

void kz_gate_silu__ref(const float *gate, const float *up, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = kz_scalar_silu(gate[i]) * up[i];
    }
}

// Both elements are read before either is written: a head is rotated in place.
static void rotate(float *first, float *second, float cosine, float sine) {
    const float a = *first;
    const float b = *second;
    *first = a * cosine - b * sine;
    *second = b * cosine + a * sine;
}

// Pairs lie half of `rotary` apart, as in GPT-NeoX and in Hugging Face's layouts.
void kz_rope_split__ref(float *head, size_t rotary, const float *cosine, const float *sine) {
    for (size_t i = 0; i < rotary / 2; i++) {
        rotate(&head[i], &head[i + rotary / 2], cosine[i], sine[i]);
    }
}

// Pairs are neighbours, as in RoFormer (Su et al. 2021) and in GGUF's Llama.
void kz_rope_pairs__ref(float *head, size_t rotary, const float *cosine, const float *sine) {
    for (size_t i = 0; i < rotary / 2; i++) {
        rotate(&head[2 * i], &head[2 * i + 1], cosine[i], sine[i]);
    }
}
