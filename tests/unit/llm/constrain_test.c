// constrain_test.c: vocabularies, compilation and verdicts for the tests of constraints.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include "constrain_test.h"

#include <string.h>

static void open_vocabulary(kz_bytes section, test_vocabulary *out) {
    out->section = section;
    out->stop = -1;
    assert_int_equal(kz_tokenizer_open(&out->section, NULL, NULL, &out->tokenizer), KAZEIA_OK);
    out->count = kz_tokenizer_token_count(out->tokenizer);
    for (uint32_t id = 0; id < out->count && out->stop < 0; id++) {
        out->stop =
            kz_tokenizer_token_kind(out->tokenizer, id) == KZ_TOKEN_CONTROL ? (int64_t)id : -1;
    }
    assert_true(out->stop >= 0);
}

void open_small_vocabulary(test_vocabulary *out) {
    static const char *const patterns[] = {"\\s+|\\S+"};
    open_vocabulary(make_small_byte_section(0, patterns, 1), out);
}

void open_gpt2_vocabulary(test_vocabulary *out) {
    open_vocabulary(make_gpt2_section(), out);
}

void close_vocabulary(test_vocabulary *vocabulary) {
    kz_tokenizer_close(vocabulary->tokenizer);
    free_section(vocabulary->section);
}

static kz_grammar *compile(const char *text, bool is_schema) {
    kz_grammar *grammar = NULL;
    const kazeia_status status =
        is_schema ? kz_grammar_compile_json_schema(text, strlen(text), NULL, &grammar)
                  : kz_grammar_compile_gbnf(text, strlen(text), NULL, &grammar);
    if (status != KAZEIA_OK) {
        fail_msg("%s\n%s", kazeia_last_error(), text);
    }
    return grammar;
}

kz_grammar *compile_gbnf(const char *text) {
    return compile(text, false);
}

kz_grammar *compile_schema(const char *text) {
    return compile(text, true);
}

kz_constrain *make_constrain(const kz_grammar *grammar, const test_vocabulary *vocabulary) {
    kz_constrain *constrain = NULL;
    // More logits than tokens, as models have that pad their vocabulary.
    if (kz_constrain_create(grammar, vocabulary->tokenizer, &vocabulary->stop, 1,
                            vocabulary->count + 70, NULL, &constrain) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    return constrain;
}

bool has_token(const uint32_t *mask, uint32_t token) {
    return (mask[token / 32] >> (token % 32) & 1) != 0;
}

uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// A random token that is allowed and continues with the text's own bytes; -1: none.
static int32_t choose_piece(const test_vocabulary *vocabulary, const uint32_t *mask,
                            const char *text, uint32_t *random) {
    int32_t chosen = -1;
    uint32_t found = 0;
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        const kz_bytes bytes = kz_tokenizer_token_bytes(vocabulary->tokenizer, id);
        if (has_token(mask, id) && id != (uint32_t)vocabulary->stop &&
            bytes.count <= strlen(text) && memcmp(bytes.bytes, text, bytes.count) == 0 &&
            next_random(random) % ++found == 0) {
            chosen = (int32_t)id;
        }
    }
    return chosen;
}

static bool takes_pieces(kz_constrain *constrain, const test_vocabulary *vocabulary,
                         const char *text, uint32_t seed) {
    const kz_token_mask mask = kz_constrain_mask(constrain);
    kz_constrain_reset(constrain);
    for (const char *rest = text;;) {
        const uint32_t *allowed = mask.allowed(mask.context);
        assert_int_equal(has_token(allowed, (uint32_t)vocabulary->stop),
                         kz_constrain_is_complete(constrain));
        const int32_t token = *rest ? choose_piece(vocabulary, allowed, rest, &seed) : -1;
        if (token < 0) {
            return *rest == '\0' && kz_constrain_is_complete(constrain);
        }
        rest += kz_tokenizer_token_bytes(vocabulary->tokenizer, (uint32_t)token).count;
        mask.advance(mask.context, token);
        assert_int_equal(kz_constrain_check(constrain), KAZEIA_OK);
    }
}

bool takes_text(kz_constrain *constrain, const test_vocabulary *vocabulary, const char *text) {
    kz_constrain_reset(constrain);
    const bool takes =
        kz_constrain_feed(constrain, text, strlen(text)) && kz_constrain_is_complete(constrain);
    for (uint32_t seed = 1; seed <= 3; seed++) {
        if (takes_pieces(constrain, vocabulary, text, seed) != takes) {
            fail_msg("bytes and tokens do not agree: %s", text);
        }
    }
    return takes;
}
