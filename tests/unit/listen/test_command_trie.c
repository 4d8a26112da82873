// test_command_trie.c: the sentences of a grammar as a trie of tokens, and what it keeps of priors.
//
// in:  a small grammar, a tokenizer of one-letter tokens
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "format/tokenizer.h"
#include "listen/command_trie.h"

// Every token is one letter.
static const char letters[] = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%.";

enum { LETTERS = sizeof letters - 1 };

static const char grammar_text[] = "language: fr\n"
                                   "intents:\n"
                                   "  A:\n"
                                   "    data:\n"
                                   "      - sentences:\n"
                                   "          - \"allume [la] lampe\"\n"
                                   "          - \"monte [[de] {n}[ ]%]\"\n"
                                   "          - \"dis {mot}\"\n"
                                   "lists:\n"
                                   "  n:\n"
                                   "    range: {from: 4, to: 5}\n"
                                   "  mot:\n"
                                   "    wildcard: true\n";

typedef struct fixture {
    uint8_t *section;
    kz_tokenizer *tokenizer;
    kz_command_grammar *grammar;
    kz_command_automaton *automaton;
    kz_priors *priors;
    kz_command_trie *trie;
} fixture;

static void open_fixture(fixture *f) {
    kz_tokenizer_token tokens[LETTERS];
    size_t bytes = 0;
    for (uint32_t i = 0; i < LETTERS; i++) {
        tokens[i] = (kz_tokenizer_token){(const uint8_t *)&letters[i], 1, KZ_TOKEN_NORMAL, 0};
    }
    const kz_tokenizer_source source = {.kind = KZ_TOKENIZER_BYTE_BPE,
                                        .bos = KZ_NO_TOKEN,
                                        .eos = KZ_NO_TOKEN,
                                        .unknown = KZ_NO_TOKEN,
                                        .tokens = tokens,
                                        .token_count = LETTERS};
    const kz_tokenizer_options options = {.max_text_bytes = 1024};
    assert_int_equal(kz_tokenizer_build(&source, NULL, &f->section, &bytes), KAZEIA_OK);
    const kz_bytes section = {f->section, bytes};
    assert_int_equal(kz_tokenizer_open(&section, &options, NULL, &f->tokenizer), KAZEIA_OK);
    assert_int_equal(kz_command_grammar_read(grammar_text, sizeof grammar_text - 1, "grammar", NULL,
                                             &f->grammar),
                     KAZEIA_OK);
    assert_int_equal(kz_command_automaton_create(f->grammar, NULL, &f->automaton), KAZEIA_OK);
    assert_int_equal(kz_priors_create(NULL, &f->priors), KAZEIA_OK);
    assert_int_equal(kz_command_trie_create(f->automaton, f->tokenizer, f->priors, NULL, &f->trie),
                     KAZEIA_OK);
}

static void close_fixture(fixture *f) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_command_trie_destroy(f->trie);
    kz_priors_destroy(f->priors);
    kz_command_automaton_destroy(f->automaton);
    kz_command_grammar_close(f->grammar);
    kz_tokenizer_close(f->tokenizer);
    kz_free_aligned(&memory, f->section);
}

// All texts that end somewhere below a node, each once, with their number.
static uint32_t collect(const fixture *f, uint32_t node, char texts[][64], uint32_t count) {
    const kz_token_trie table = kz_command_trie_table(f->trie);
    kz_token_child children[LETTERS];
    const size_t child_count = table.children(table.context, node, children, LETTERS);
    assert_true(child_count <= LETTERS);
    if (table.is_end(table.context, node)) {
        kz_command_trie_text(f->trie, node, texts[count++], 64);
    }
    for (size_t i = 0; i < child_count; i++) {
        count = collect(f, children[i].node, texts, count);
        assert_true(count < 60);
    }
    return count;
}

static bool has(char texts[][64], uint32_t count, const char *text) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += strcmp(texts[i], text) == 0;
    }
    assert_true(found <= 1);
    return found == 1;
}

static void sentences_are_written_as_a_recogniser_does(void **state) {
    (void)state;
    static const char *const wanted[] = {
        "Allume lampe",   "Allume la lampe", "Monte",       "Monte 4%",       "Monte 4%.",
        "Monte de 4%",    "Monte de 4%.",    "Monte 4 %",   "Monte de 4 %",   "Monte quatre%",
        "Monte quatre %", "Monte cinq%.",    "Monte de 5%", "Monte de cinq %"};
    static char texts[64][64];
    fixture f;
    open_fixture(&f);
    // Nothing is opened before it is asked for.
    assert_int_equal(kz_command_trie_node_count(f.trie), 1);
    const uint32_t count = collect(&f, 0, texts, 0);
    assert_int_equal(kz_command_trie_status(f.trie), KAZEIA_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (!has(texts, count, wanted[i])) {
            fail_msg("missing: %s", wanted[i]);
        }
    }
    // What nothing bounds is not looked for.
    assert_false(has(texts, count, "Dis"));
    assert_false(has(texts, count, "allume lampe"));
    close_fixture(&f);
}

static uint32_t first_child(const fixture *f, uint32_t node) {
    const kz_token_trie table = kz_command_trie_table(f->trie);
    kz_token_child children[LETTERS];
    assert_true(table.children(table.context, node, children, LETTERS) > 0);
    return children[0].node;
}

static void priors_outlive_the_nodes(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f);
    uint32_t space = first_child(&f, 0);
    assert_float_equal(kz_command_trie_prior(f.trie, 0)->sum, 0, 0);
    assert_true(isnan(kz_command_trie_prior(f.trie, space)->sum));
    // As a beam learns them: the node's end, and the sums of its children.
    *kz_command_trie_prior(f.trie, 0) = (kz_beam_prior){.sum = 0, .end = -9, .is_known = true};
    kz_command_trie_prior(f.trie, space)->sum = -1;
    kz_command_trie_reset(f.trie);
    assert_int_equal(kz_command_trie_node_count(f.trie), 1);
    assert_true(kz_command_trie_prior(f.trie, 0)->is_known);
    space = first_child(&f, 0);
    assert_float_equal(kz_command_trie_prior(f.trie, space)->sum, -1, 0);
    assert_false(kz_command_trie_prior(f.trie, space)->is_known);
    // A node is known again only with the sums of all its children.
    kz_command_trie_prior(f.trie, space)->end = -8;
    kz_command_trie_prior(f.trie, space)->is_known = true;
    kz_priors_keep(f.priors, kz_prior_key(kz_prior_key(0, -1), 0),
                   kz_command_trie_prior(f.trie, space));
    assert_true(first_child(&f, space) > 0);
    assert_false(kz_command_trie_prior(f.trie, space)->is_known);
    assert_false(kz_command_trie_is_half_full(f.trie));
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sentences_are_written_as_a_recogniser_does),
                                       cmocka_unit_test(priors_outlive_the_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
