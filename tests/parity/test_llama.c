// test_llama.c: exported Llamas against transformers' logits.
//
// in:  tests/golden/llama
// out: cmocka's report, and the figures of quantised weights
#include "decoder.h"
#include "parity.h"

#define GOLDEN "tests/golden/llama/"
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define FOLDER(variant)                                                                            \
    {                                                                                              \
        GOLDEN variant, GOLDEN "expected/ids.json", "64",                                          \
            GOLDEN "expected/" variant "/logits_64.npy", GOLDEN "expected/" variant "/greedy.json" \
    }

static void folders_give_the_same_logits_and_tokens(void **state) {
    static const decoder_case cases[] = {
        FOLDER("f32"),
        FOLDER("bf16"),
        {GOLDEN "f32", GOLDEN "expected/ids.json", "300", GOLDEN "expected/f32/logits_300.npy",
         NULL},
    };
    (void)state;
    decoder_check(cases, COUNT_OF(cases));
}

#define GGUF(type)                                                            \
    {                                                                         \
        GOLDEN "gguf/llama-tiny-" type ".gguf", GOLDEN "gguf/ids.json", "40", \
            GOLDEN "gguf/llama-tiny-" type ".logits_f32_40.npy", NULL         \
    }

static void gguf_files_mean_what_they_dequantise_to(void **state) {
    static const decoder_case cases[] = {GGUF("F32"), GGUF("F16"), GGUF("Q8_0"), GGUF("Q4_0"),
                                         GGUF("Q4_1")};
    (void)state;
    decoder_check(cases, COUNT_OF(cases));
}

#define KEPT_GGUF(type, kv, top1, divergence)                                                 \
    {                                                                                         \
        GOLDEN "gguf/llama-tiny-" type ".gguf", GOLDEN "gguf/ids.json", "40",                 \
            GOLDEN "gguf/llama-tiny-" type ".logits_f32_40.npy", "keep", kv, top1, divergence \
    }
#define ROUNDED_FOLDER(weights, kv, top1, divergence)                                        \
    {                                                                                        \
        GOLDEN "f32", GOLDEN "expected/ids.json", "64", GOLDEN "expected/f32/logits_64.npy", \
            weights, kv, top1, divergence                                                    \
    }

// llama.cpp's own distance from these logits: top-1 0.950 to 0.975, KL 3.2e-3 to 3.5e-3 (its
// activations are rounded too). Random weights are more easily upset than trained ones.
static void quantised_weights_stay_near(void **state) {
    static const decoder_quantised cases[] = {
        KEPT_GGUF("F16", "f16", 1.0, 1e-4),       KEPT_GGUF("Q8_0", "f16", 0.925, 7e-3),
        KEPT_GGUF("Q4_0", "f16", 0.925, 7e-3),    KEPT_GGUF("Q4_1", "f16", 0.925, 7e-3),
        ROUNDED_FOLDER("f32", "f16", 1.0, 1e-4),  ROUNDED_FOLDER("f32", "int8", 0.95, 7e-3),
        ROUNDED_FOLDER("f16", "f16", 1.0, 1e-4),  ROUNDED_FOLDER("bf16", "f16", 0.95, 3e-3),
        ROUNDED_FOLDER("q8", "f16", 0.9, 1.5e-2),
    };
    (void)state;
    decoder_check_quantised(cases, COUNT_OF(cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_give_the_same_logits_and_tokens),
        cmocka_unit_test(gguf_files_mean_what_they_dequantise_to),
        cmocka_unit_test(quantised_weights_stay_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
