// fuzz_grammar.c: grammars and schemas, and a text under the masks of those that compile.
//
// in: 's' for a schema or another byte for GBNF, then its text. out: nothing; a crash, a hang, a
// leak or an allowed token that is then refused is the finding.
#include <stdlib.h>

#include "llm/constrain.h"
#include "llm/grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#define STEPS 40
#define STOP 256

// A vocabulary of the single bytes and a stop token.
static kz_bytes make_section(void) {
    static uint8_t letters[256];
    kz_tokenizer_token tokens[257];
    uint8_t *section = NULL;
    size_t count = 0;
    for (unsigned i = 0; i < 256; i++) {
        letters[i] = (uint8_t)i;
        tokens[i] = (kz_tokenizer_token){&letters[i], 1, KZ_TOKEN_NORMAL, 0};
    }
    tokens[STOP] = (kz_tokenizer_token){(const uint8_t *)"<end>", 5, KZ_TOKEN_CONTROL, 0};
    const char *const patterns[] = {"\\s+|\\S+"};
    const kz_tokenizer_source source = {.kind = KZ_TOKENIZER_BYTE_BPE,
                                        .bos = KZ_NO_TOKEN,
                                        .eos = STOP,
                                        .unknown = KZ_NO_TOKEN,
                                        .patterns = patterns,
                                        .pattern_count = 1,
                                        .tokens = tokens,
                                        .token_count = 257};
    if (kz_tokenizer_build(&source, NULL, &section, &count) != KAZEIA_OK) {
        abort();
    }
    return (kz_bytes){section, count};
}

static void write_text(kz_constrain *constrain, uint32_t random) {
    const kz_token_mask mask = kz_constrain_mask(constrain);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t *allowed = mask.allowed(mask.context);
        uint32_t token = 0;
        if (kz_constrain_check(constrain) != KAZEIA_OK) {
            return;
        }
        random = random * 1664525u + 1013904223u;
        token = (random >> 8) % 256;
        for (uint32_t i = 0; i <= STOP && (allowed[token / 32] >> (token % 32) & 1) == 0; i++) {
            token = (token + 1) % (STOP + 1);
        }
        if (token == STOP) {
            return;
        }
        mask.advance(mask.context, (int32_t)token);
        if (kz_constrain_check(constrain) == KAZEIA_BAD_ARGUMENT) {
            abort();
        }
    }
}

static void run(const kz_grammar *grammar, uint32_t random) {
    static kz_bytes section; // made once, kept to the end
    const int64_t stop = STOP;
    kz_tokenizer *tokenizer = NULL;
    kz_constrain *constrain = NULL;
    if (section.count == 0) {
        section = make_section();
    }
    if (kz_tokenizer_open(&section, NULL, NULL, &tokenizer) != KAZEIA_OK) {
        abort();
    }
    if (kz_constrain_create(grammar, tokenizer, &stop, 1, STOP + 1, NULL, &constrain) ==
        KAZEIA_OK) {
        write_text(constrain, random);
    }
    kz_constrain_destroy(constrain);
    kz_tokenizer_close(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    kz_grammar *grammar = NULL;
    if (count == 0) {
        return 0;
    }
    const char *text = (const char *)bytes + 1;
    const kazeia_status status =
        bytes[0] == 's' ? kz_grammar_compile_json_schema(text, count - 1, NULL, &grammar)
                        : kz_grammar_compile_gbnf(text, count - 1, NULL, &grammar);
    if (status == KAZEIA_OK) {
        run(grammar, (uint32_t)count * 2654435761u);
        kz_grammar_destroy(grammar);
    }
    return 0;
}
