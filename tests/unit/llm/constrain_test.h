// constrain_test.h: what the tests of grammars and constraints share.
//
// in:  grammars and schemas as texts, two vocabularies
// out: verdicts about texts, in two ways that must agree
#ifndef CONSTRAIN_TEST_H
#define CONSTRAIN_TEST_H

#include "../text/tokenizer_fixture.h"
#include "llm/constrain.h"
#include "llm/grammar.h"

typedef struct test_vocabulary {
    kz_bytes section;
    kz_tokenizer *tokenizer;
    uint32_t count;
    int64_t stop; // the first control token, which ends replies
} test_vocabulary;

// The bytes and a few pieces.
void open_small_vocabulary(test_vocabulary *out);
// GPT-2's 50,257 tokens.
void open_gpt2_vocabulary(test_vocabulary *out);
void close_vocabulary(test_vocabulary *vocabulary);

// Fails the test with the sentence when the text cannot be compiled.
kz_grammar *compile_gbnf(const char *text);
kz_grammar *compile_schema(const char *text);
kz_constrain *make_constrain(const kz_grammar *grammar, const test_vocabulary *vocabulary);

// True when the grammar takes the whole text and may end behind it: byte by byte, and by tokens
// that the masks allow, cut at random. Fails the test when the two do not agree.
bool takes_text(kz_constrain *constrain, const test_vocabulary *vocabulary, const char *text);

bool has_token(const uint32_t *mask, uint32_t token);
uint32_t next_random(uint32_t *state);

#endif
