// test_qwen3.c: exported Qwen3s against transformers' logits.
//
// in:  tests/golden/qwen3; tests/golden/checkpoint for the weights that are there already
// out: cmocka's report, and the figures of quantised weights
#include "decoder.h"
#include "parity.h"

#define GOLDEN "tests/golden/qwen3/"
#define CHECKPOINTS "tests/golden/checkpoint/qwen3-tiny-"
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define EXPECTED(source, variant)                                                              \
    {                                                                                          \
        source, GOLDEN "expected/ids.json", "64", GOLDEN "expected/" variant "/logits_64.npy", \
            GOLDEN "expected/" variant "/greedy.json"                                          \
    }

static void checkpoints_give_the_same_logits_and_tokens(void **state) {
    static const decoder_case cases[] = {
        EXPECTED(CHECKPOINTS "F32.gguf", "f32"),
        EXPECTED(CHECKPOINTS "sharded", "bf16"),
        EXPECTED(GOLDEN "bf16-untied", "bf16-untied"),
        {CHECKPOINTS "F32.gguf", GOLDEN "expected/ids.json", "300",
         GOLDEN "expected/f32/logits_300.npy", NULL},
    };
    (void)state;
    decoder_check(cases, COUNT_OF(cases));
}

#define GGUF(type)                                                    \
    {                                                                 \
        CHECKPOINTS type ".gguf", GOLDEN "gguf/ids.json", "40",       \
            GOLDEN "gguf/qwen3-tiny-" type ".logits_f32_40.npy", NULL \
    }

static void gguf_files_mean_what_they_dequantise_to(void **state) {
    static const decoder_case cases[] = {GGUF("F16"), GGUF("BF16"), GGUF("Q8_0"), GGUF("Q4_0"),
                                         GGUF("Q4_1")};
    (void)state;
    decoder_check(cases, COUNT_OF(cases));
}

#define KEPT_GGUF(type, kv, top1, divergence)                                                 \
    {                                                                                         \
        CHECKPOINTS type ".gguf", GOLDEN "gguf/ids.json", "40",                               \
            GOLDEN "gguf/qwen3-tiny-" type ".logits_f32_40.npy", "keep", kv, top1, divergence \
    }
#define ROUNDED(weights, kv, top1, divergence)                                 \
    {                                                                          \
        CHECKPOINTS "F32.gguf", GOLDEN "expected/ids.json", "64",              \
            GOLDEN "expected/f32/logits_64.npy", weights, kv, top1, divergence \
    }

// llama.cpp's own distance from these logits: top-1 1.000, 0.950, 1.000 and KL 6.1e-3, 6.0e-3,
// 7.4e-3 for Q8_0, Q4_0, Q4_1 (its activations are rounded too). Its own Q8_0 weights, computed
// in float32, are at 0.953 and 1.4e-2 from the logits of the weights that they were made of: that
// is the part of "q8" which no engine can avoid.
static void quantised_weights_stay_near(void **state) {
    static const decoder_quantised cases[] = {
        KEPT_GGUF("F16", "f16", 1.0, 1e-4),      KEPT_GGUF("Q8_0", "f16", 0.925, 1.2e-2),
        KEPT_GGUF("Q4_0", "f16", 0.925, 1.2e-2), KEPT_GGUF("Q4_1", "f16", 0.925, 1.2e-2),
        ROUNDED("f32", "int8", 0.95, 7e-3),      ROUNDED("bf16", "f16", 0.95, 3e-3),
        ROUNDED("q8", "f16", 0.9, 4e-2),
    };
    (void)state;
    decoder_check_quantised(cases, COUNT_OF(cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoints_give_the_same_logits_and_tokens),
        cmocka_unit_test(gguf_files_mean_what_they_dequantise_to),
        cmocka_unit_test(quantised_weights_stay_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
